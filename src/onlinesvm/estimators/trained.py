"""A trained model: everything that was learned, and all that a prediction needs, in one object.

An estimator has its parameters and one ``Trained``, which it replaces in one assignment. Other
modules use its methods: ``rows`` and ``examples`` convert checked input to what the learner takes,
``learn`` passes it on, ``learn_row`` and ``decide_row`` are for single rows, ``widen`` adds features,
``view`` returns a snapshot between two calls, for predictions and for the fitted attributes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dnrm2

from ..core.kernel.kernel import Kernel, centre_of, check_size
from ..core.keys import arrival_keys
from ..core.runtime.compact import Compact
from ..core.runtime.interrupts import Interruptible
from .checks import Checked, Features, ObjectKernel, asked_rows, check_asked, check_rows
from .explaining import Expansion, alike
from .labels import LabelBook
from .rows import FirstRows, unweighted, weighted

if TYPE_CHECKING:
    from ..core.examples import Examples

SPARSE_BELOW = 0.25
"""Dense input with a smaller share of non-zeros than this is stored sparse, which is faster."""

SPARSE_FROM = 32
"""... if it has at least this number of features."""

SPARSE_ROWS = 8
"""... and at least this number of rows: a stream that is standardised on the fly, or that brings
one row at a time, may begin with a row of zeros, and is faster dense."""

LONGEST = 1e19
"""The squared norm of shorter rows fits in single precision."""

LARGEST_WEIGHT = 1e30
"""Weight vectors up to this size predict in single precision."""

LARGEST_PLAIN = 1e15
"""Numbers up to this size are multiplied by weight vectors as they are; rows of larger ones are checked."""

PLAIN_ROWS = 2**18
"""Numbers of dense rows that are multiplied together: they and their column numbers stay in cache."""

HARD_MARGIN_COST = 1e15
"""Cost that stands for an infinite one: coefficients of classes that can be separated stay below
it, and those of classes that cannot do not grow without end."""


def finite_cost(C: float | None) -> float:
    """The cost of a margin violation as a number to compute with; 1 where there is none.

    The bound of an example is its weight times this.
    """
    if C is None:
        return 1.0
    return HARD_MARGIN_COST if np.isinf(C) else float(C)


@dataclass(eq=False)
class Trained(Compact):
    """A model of rows in single precision, for a learner of a stream (``core.model.Learner``)."""

    kernel: Kernel
    encoder: Any
    """The encoder of y: ``LabelBook``, ``Indicators``, ``Targets`` or ``NoTargets``."""
    features: Features
    centre: np.ndarray | None
    """Subtracted from every row, if that changes no kernel value."""
    packs: bool = False
    """Whether dense rows are kept sparse."""
    sparse: bool = False
    """Whether rows are kept sparse."""
    original: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    """Row indices in the X given to ``fit`` of the examples that the learner knows by number."""
    class_weights: dict[Any, float] | None = None
    """Weight of each class; one for a class that is not in it."""
    first_rows: FirstRows | None = None
    objects: np.ndarray | None = None
    """The examples, if they are not rows of numbers."""
    learner: Any = None
    """None before anything was learned."""
    shape_fit: tuple[int, ...] | None = None
    n_iter: int | None = None
    n_iter_of_labels: np.ndarray | None = None
    """The same for each label, in the order of their numbers; only where machines are pairs."""
    fit_status: int | None = None
    feature_weights: np.ndarray | None = None
    """Factor of each feature, applied before the shift; None: no factors."""
    streamed: int | None = None
    """Number of examples that arrived after ``fit``, or without it; None: they are not counted."""
    copies: np.ndarray | None = None
    """How many of the examples given to ``fit`` each of ``original`` is; None: one each."""
    emptied: tuple[int, ...] = ()
    """Numbers of labels whose examples were all forgotten; those learned again since may be among them."""

    is_single: ClassVar[bool] = True
    """Whether kernel values are in single precision."""

    @classmethod
    def begin(
        cls, kernel: Kernel, given: Checked, encoder: Any, class_weights: Any,
        feature_weights: np.ndarray | None = None,
    ) -> Trained:  # fmt: skip
        """Fix the shift and the row format from the first examples. Nothing is learned.

        Their features have been multiplied by ``feature_weights``.
        """
        X, objects = given.X, given.objects
        if objects is not None:
            kernel.function = ObjectKernel(kernel.function, objects)  # type: ignore[arg-type]
        packs, kept_sparse = cls._forms(kernel, X)
        centre = None
        if kernel.ignores_shift:
            centre = centre_of(X, kernel, kept_sparse)
        return cls(
            kernel, encoder, given.features, centre, packs, kept_sparse,
            class_weights=class_weights, objects=objects, feature_weights=feature_weights,
        )  # fmt: skip

    @staticmethod
    def _forms(kernel: Kernel, X: Any) -> tuple[bool, bool]:
        """Whether dense rows are kept sparse, and whether rows are."""
        dense = not sparse.issparse(X)
        packs = bool(
            dense
            and kernel.is_compiled
            and X.shape[0] >= SPARSE_ROWS
            and X.shape[1] >= SPARSE_FROM
            and np.count_nonzero(X[:1000]) < SPARSE_BELOW * X[:1000].size
        )
        return packs, packs or not dense

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Shape of the X given to ``fit``."""
        return self.shape_fit

    # -- many rows ------------------------------------------------------------------------

    def rows(self, X: Any, key: np.ndarray | None = None) -> Any:
        """Checked input as rows of this model; ``key`` numbers those of a precomputed kernel."""
        from ..core.kernel.rows import Rows

        far, absolute = self.kernel.far, self.kernel.absolute
        if self.feature_weights is not None:
            X = weighted(X, self.feature_weights)
        if self.kernel.name == "precomputed" and sparse.issparse(X):
            X = X.toarray()
        if self.packs and not sparse.issparse(X):
            rows = Rows.packed(X, self.centre, key, far, absolute)
        else:
            if sparse.issparse(X) and self.centre is not None and not self.sparse:
                X = X.toarray()  # The model is dense and shifted; a block at a time, it fits.
            rows = Rows.of(X, self.centre, key, far, absolute)
        check_size(rows.squares)
        return rows

    def examples(
        self, X: Any, y: np.ndarray | None, bound: np.ndarray, number: np.ndarray | None = None
    ) -> Examples:
        """Checked examples as the learner takes them; keys are their numbers. y None: no labels.

        Those whose bound is zero are as if absent. ``number``: 0, 1, ... by default.
        """
        from ..core.examples import Examples

        n = X.shape[0]
        number = np.arange(n) if number is None else number
        rows = self.rows(X, number if self.kernel.name == "precomputed" else None)
        diagonal = self.kernel.diagonal(rows)
        check_size(diagonal)
        if self.kernel.is_compiled:
            check_size(self.kernel.bound(rows))
        label = np.zeros(n, np.int64) if y is None else self.encoder.encode(y)
        data, counts = Examples(rows, label, bound, diagonal, number), bound > 0
        return data if counts.all() else data.take(np.flatnonzero(counts))

    def numbered(self, data: Examples) -> Examples:
        """The examples of ``fit``, possibly merged, renumbered; the model stores their rows."""
        self.original = data.key
        return data._replace(key=np.arange(len(data.key)))

    def unnumbered(self, data: Examples) -> Examples:
        """Examples of a stream, which have no numbers but those of their arrival, if they are counted."""
        if self.streamed is None:
            return data._replace(key=np.full(len(data.key), -1))
        return data._replace(key=arrival_keys(self.streamed + data.key))

    def note_arrived(self, n: int) -> None:
        """So many examples of a stream have arrived, those of weight zero included."""
        if self.streamed is not None:
            self.streamed += n

    def learn(self, data: Examples, due: np.ndarray) -> None:
        """One call of a stream; ``due`` says before which example each new label is added."""
        n, learner, watch = len(data.rows), self.learner, self.learner.watch
        begun = 0 if watch is None else watch.n
        edges = np.unique(np.append(due, 0)).tolist()
        try:
            for begin, end in zip(edges, [*edges[1:], n], strict=True):
                for _ in range(np.count_nonzero(due == begin)):
                    learner.add_label()
                if begin < n or not n:
                    learner.learn(data.take(slice(begin, end)) if len(edges) > 1 else data)
        finally:
            if watch is not None:
                watch.begin(begun)

    # -- single rows ----------------------------------------------------------------------

    def _row(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The row as the learner takes it, float32 and shifted, and what it was before float32.

        None: it needs full validation.
        """
        if not self.kernel.is_compiled or self.sparse:
            return None
        if len(x) != self.features.n_features or x.dtype.kind not in "fiub":
            return None
        x = x if self.feature_weights is None else x * self.feature_weights
        shifted = x if self.centre is None else x - self.centre
        if not dnrm2(shifted) < LONGEST:  # NaN included
            return None
        return np.ascontiguousarray(shifted, np.float32), shifted

    def learn_row(self, x: np.ndarray, y: Any, bound: float) -> bool:
        """Learn one dense row; False, and nothing was learned, if it needs full validation."""
        if self.first_rows is not None:
            return False
        row, label = self._row(x), self.encoder.number(y)
        if row is None or label is None:
            return False
        key = -1 if self.streamed is None else arrival_keys(self.streamed)
        if not self.learner.learn_row(*row, label, bound, key):
            return False
        self.note_arrived(1)
        return True

    def decide_row(self, x: np.ndarray) -> np.ndarray | None:
        """Values of the machines, as learned, for one row; None: ask a view."""
        row = self._row(x)
        values: np.ndarray | None = None if row is None else self.learner.decide_row(*row)
        return values

    # -- for those who read ---------------------------------------------------------------

    def noted(self) -> Any:
        """The calibration of probabilities and prediction sets; None if no scores are recorded."""
        watch = self.learner.watch
        if watch is None or watch.thresholds is None:
            return None
        return watch.snapshot(self.label_weights(), self.remembered())

    def answered(self) -> Any:
        """The calibration from scores kept in passing, made if necessary; None without scores."""
        learner, asides = self.learner, self.learner.asides
        known = None if asides is None else asides.known(learner.n)
        if asides is None or known is not None:
            return known
        weights, present = self.label_weights(), self.remembered()
        if not asides.wants_held:
            return asides.answer_of_stream(weights, present)
        if not learner.n:  # all were forgotten
            return None
        from ..core.lasvm.block.held_out import score_held

        held, keys = score_held(learner, self.copies), learner.support.a.key[: learner.n]
        return asides.answer_of_fit(held, keys, weights, self.copies, present)

    def has_chances(self) -> bool:
        """Whether there is a calibration of probabilities, which is made if necessary."""
        return (self.noted() or self.answered()) is not None

    def held_values(self, view: Any) -> np.ndarray | None:
        """Values of the machines for ``support_vectors_``, as far as the learner knows them; None: it does
        not. The view is of the model as it is.
        """
        slots = view.in_order(self.learner.expansion()[3])
        known: np.ndarray | None = self.learner.held_values(slots)
        return known

    def values_without(self, view: Any) -> Any:
        """A function of positions in ``support_vectors_``: values of the machines for these rows, by the
        model without all of them, or None where they are not known. The view is of the model as it is.
        """

        def values(positions: np.ndarray) -> np.ndarray | None:
            slots = view.in_order(self.learner.expansion()[3])
            found: np.ndarray | None = self.learner.values_without(slots[positions])
            return found

        return values

    def present(self) -> np.ndarray | None:
        """Whether each label, in the order of their numbers, has examples that count; None: all have.

        Others, of which all examples were forgotten or have left the window, are never predicted.
        """
        present = self.remembered()
        if not isinstance(self.encoder, LabelBook):
            return present
        within: np.ndarray | None = self.learner.labels_in_window()
        if within is None or present is None:
            return present if within is None else within
        return present & within if (present & within).any() else within

    def remembered(self) -> np.ndarray | None:
        """Whether each label has examples that were not forgotten; None: all have.

        Recorded scores of the others say nothing any more. Those of a label that has left the window do:
        it may return at any time.

        A label whose examples were forgotten has some again when one of its rows is stored. Where no row
        is stored at all, the biases alone decide, as they do for ``predict``.
        """
        if not self.emptied or not self.learner.n:
            return None
        held = self.learner.labels(np.arange(self.learner.n))
        missing = np.setdiff1d(self.emptied, held)
        if len(missing) in (0, len(self.encoder)):
            return None
        present = np.ones(len(self.encoder), bool)
        present[missing] = False
        return present

    def label_weights(self) -> np.ndarray:
        """The weight of each label, in the order of their numbers."""
        table = self.class_weights or {}
        return np.array([table.get(label, 1.0) or 1.0 for label in self.encoder.numbers])

    def view(self, **more: Any) -> FittedView:
        """The model as it is now; what is learned afterwards does not change it."""
        own = replace(self, kernel=replace(self.kernel), learner=None)
        made = View(own, self.learner, self.noted(), more)
        made.present, made.remembered = self.present(), self.remembered()
        return made

    def finishing_share(self) -> float:
        """The work of the finishing step, as a share of all work so far."""
        if self.learner is None:
            return 0.0
        return float(self.learner.finishing_work()) / max(1, self.kernel.n_evaluations)

    def gap(self) -> float | None:
        """Optimality gap of the model; None if it is not measured."""
        gap: float | None = None if self.learner is None else self.learner.gap()
        return gap

    # -- more features --------------------------------------------------------------------

    def can_widen(self, dense: bool) -> bool:
        """Whether later rows may have more features.

        More features in dense rows are a mistake of the user: a model of dense rows is widened only
        with ``dense``.
        """
        stores = [] if self.learner is None else self.learner.stores()
        kept_sparse = all(store.is_sparse for store in stores) and not self.packs
        return bool(stores) and (dense or kept_sparse)

    def widen(self, n_features: int) -> None:
        """Accept rows with more features from now on.

        The number of features of LIBSVM text is known only at its end, and new names may appear in
        dictionaries at any time. Stored rows have zeros in new features, and zeros change no kernel
        value: nothing has to be recomputed. ``gamma``, once
        fixed, stays as it is.
        """
        for store in self.learner.stores():
            store.widen(n_features)
        self.features = self.features._replace(n_features=n_features)
        if self.centre is not None:
            self.centre = np.pad(self.centre, (0, n_features - len(self.centre)))
        if self.feature_weights is not None:  # new features have no learned weight
            more = 0, n_features - len(self.feature_weights)
            self.feature_weights = np.pad(self.feature_weights, more, constant_values=1.0)
        if self.first_rows is not None:
            self.first_rows = self.first_rows.widened(n_features)


# -- snapshots ----------------------------------------------------------------------------


class FittedView(ABC):
    """The basis of predictions and fitted attributes, for any algorithm.

    Machines are in the order of ``classes``, support vectors in the order of ``support``.
    """

    noted: Any = None
    """The calibration of probabilities and prediction sets (``core.prequential``), if there is
    one."""
    answered: Any = None
    """The same from scores kept in passing, once it was requested."""
    present: np.ndarray | None = None
    """Whether each label, by number, may be predicted (``Trained.present``)."""
    remembered: np.ndarray | None = None
    """Whether each label, by number, may be in prediction sets (``Trained.remembered``)."""
    more: dict[str, Any]
    """What the fitted attributes of a single algorithm need."""

    def __init__(self, trained: Trained):
        self.trained = trained
        self.encoder, self.kernel = trained.encoder, trained.kernel
        self.classes = self.encoder.classes.copy()
        self.order = self.encoder.order()
        """The number of each class."""

    @property
    @abstractmethod
    def support(self) -> np.ndarray:
        """Row indices of the support vectors in ascending order; -1 for a stream's."""

    @abstractmethod
    def vectors(self) -> Any:
        """The support vectors as they were given."""

    @abstractmethod
    def biases(self) -> np.ndarray:
        """Bias of each machine."""

    @abstractmethod
    def weights(self) -> np.ndarray:
        """Weight vectors of the linear kernel, (machines, n_features), machines as learned."""

    @abstractmethod
    def label_numbers(self) -> np.ndarray:
        """The number of the label of each support vector."""

    @abstractmethod
    def diagonal(self) -> np.ndarray:
        """k(x, x) of each support vector."""

    @abstractmethod
    def terms(self) -> np.ndarray:
        """Coefficients of the support vectors, (machines, n_SV), machines as learned."""

    @abstractmethod
    def support_values(self) -> np.ndarray:
        """Values of the machines, as learned, for the support vectors themselves, (n_SV, machines)."""

    @abstractmethod
    def similarities(self, which: np.ndarray) -> np.ndarray:
        """Kernel values of all support vectors with some of them, (n_SV, len(which)) float64."""

    @abstractmethod
    def values(self, X: Any) -> np.ndarray:
        """Values of the machines, as learned, (n, machines)."""

    def decide(self, X: Any) -> np.ndarray:
        """Decision values, (n,) or (n, classes)."""
        scores: np.ndarray = self.encoder.scores(self.values(X))
        return scores

    @abstractmethod
    def expansion(self, X: Any) -> Expansion:
        """The model and these examples as the kernel sees them, in double precision."""

    def coefficients(self) -> np.ndarray:
        """Coefficients of the support vectors, (machines, n_SV), in the order of ``classes``."""
        shown: np.ndarray = self.encoder.shown(self.terms())
        return shown

    def dual_coefficients(self) -> Any:
        """``dual_coef_``: sparse if the rows are."""
        return self.as_given(self.encoder.compressed(self.coefficients(), self.label_numbers()))

    def as_given(self, values: np.ndarray) -> Any:
        """A matrix in the user's format: sparse if the training X is."""
        given_sparse = self.trained.sparse and not self.trained.packs
        rows = self.kernel.name != "precomputed"
        return sparse.csr_matrix(values) if given_sparse and rows else values


class View(FittedView):
    """The model of a learner that continues to learn: a copy of its current state."""

    def __init__(self, trained: Trained, learner: Any, noted: Any, more: dict[str, Any]):
        """``trained`` belongs to the view: learning does not change it."""
        from ..core.model import model_of

        super().__init__(trained)
        self.model, self.noted, self.more = model_of(learner), noted, more

    def values(self, X: Any) -> np.ndarray:
        """Values of the machines, as learned, (n, machines)."""
        with Interruptible():
            if self.trained.objects is None:
                X = check_rows(self.trained.features, X)
                if self._is_plain(X):
                    return self._linear_values(X)
            kernel, rows = self._asked(X)
            values: np.ndarray = self._deciding.decide(kernel, rows)
            return values

    def _is_plain(self, X: Any) -> bool:
        """Whether the model is a weight vector per machine, and checked rows have no huge numbers."""
        if self.kernel.name != "linear" or self.model.unit_length:
            return False
        data = X.data if sparse.issparse(X) else X
        return bool(np.abs(data).max(initial=0.0) <= LARGEST_PLAIN)

    def _linear_values(self, X: Any) -> np.ndarray:
        """Values by the weight vectors in double precision: those of ``coef_``."""
        X = weighted(X, self.trained.feature_weights)
        return np.asarray(products_in_order(X, self._plane) + self.model.bias)

    @cached_property
    def _plane(self) -> np.ndarray:
        """The weight vectors."""
        return self.weights()

    def _asked(self, X: Any) -> tuple[Any, Any]:
        """Checked examples as rows, and the kernel that compares them with support vectors.

        Rows of numbers are checked already.
        """
        trained, kernel = self.trained, self.kernel
        if trained.objects is None:
            return kernel, trained.rows(X)
        objects = check_asked(trained.features.owner, X)
        function: Any = kernel.function  # an ``ObjectKernel``
        kernel = replace(kernel, function=function.asking(objects))
        return kernel, trained.rows(asked_rows(len(objects)))

    @cached_property
    def _deciding(self) -> Any:
        """The model that predicts: of the linear kernel, one weight vector per machine."""
        from ..core.kernel.rows import Rows

        if self.kernel.name != "linear":
            return self.model
        weights = self._plane
        if np.abs(weights).max(initial=0.0) > LARGEST_WEIGHT:
            return self.model
        return self.model.with_rows(self.kernel, Rows.of(weights), np.eye(len(weights)))

    def weights(self) -> np.ndarray:
        """Weight vectors of the linear kernel, (machines, n_features)."""
        return np.asarray(self.model.coef @ self.model.rows.to_array())

    @cached_property
    def _numbers(self) -> np.ndarray:
        """Row indices of the support vectors in the X given to ``fit``; -1 for a stream's."""
        keys, original = np.maximum(self.model.key, -1), self.trained.original
        return np.where(keys >= 0, original[keys], -1) if len(original) else keys

    @cached_property
    def _ascending(self) -> np.ndarray:
        """The order of the support vectors in which users see them."""
        order: np.ndarray = self.encoder.sorted_vectors(self._numbers, self.model.label)
        return order

    @property
    def support(self) -> np.ndarray:
        """Row indices of the support vectors, in ascending order; of pairs of classes, by class."""
        return self._numbers[self._ascending]

    def in_order(self, values: np.ndarray) -> np.ndarray:
        """Values of the support vectors as the learner has them, in the order of ``support``."""
        return values[self._ascending]

    def vectors(self) -> Any:
        """The support vectors as they were given."""
        if self.trained.objects is not None:
            return self.trained.objects[self.support]
        vectors = self.model.rows.to_array(self.trained.centre)[self._ascending]
        vectors = unweighted(vectors, self.trained.feature_weights)
        was_packed = self.trained.packs and sparse.issparse(vectors)
        return vectors.toarray() if was_packed else vectors

    def terms(self) -> np.ndarray:
        """Coefficients of the support vectors, (machines, n_SV), machines as learned."""
        return self.model.coef[:, self._ascending]

    def biases(self) -> np.ndarray:
        """Bias of each machine."""
        shown: np.ndarray = self.encoder.shown(self.model.bias)
        return shown

    def label_numbers(self) -> np.ndarray:
        """The number of each support vector's label."""
        return self.model.label[self._ascending]

    def diagonal(self) -> np.ndarray:
        """k(x, x) of each support vector."""
        return self.kernel.diagonal(self.model.rows)[self._ascending].astype(np.float64)

    def support_values(self) -> np.ndarray:
        """Values of the machines, as learned, for the support vectors themselves, (n_SV, machines)."""
        rows = self.model.rows.take(self._ascending)
        values: np.ndarray = self._deciding.decide(self.kernel, rows)
        return values

    def similarities(self, which: np.ndarray) -> np.ndarray:
        """Kernel values of all support vectors with some of them, (n_SV, len(which)) float64."""
        rows = self.model.rows.take(self._ascending)
        return copy(self.kernel).block(rows, rows.take(which)).astype(np.float64)

    def expansion(self, X: Any) -> Expansion:
        """The model and these examples as the kernel sees them, in double precision."""
        if self.trained.objects is None:
            X = check_rows(self.trained.features, X)
        kernel, rows = self._asked(X)
        asked, vectors = alike(rows.to_array(), self.model.rows.to_array())
        length = None
        if self.model.unit_length:
            length = np.sqrt(np.maximum(kernel.diagonal(rows), 0.0))
            length = np.where(length > 0, length, 1.0)
        return Expansion(
            asked,
            vectors[self._ascending],
            copy(kernel),
            self.encoder.shares(self.terms()),
            self.encoder.shares(self.model.bias),
            length,
        )


def products_in_order(X: Any, weights: np.ndarray) -> np.ndarray:
    """X weights^T in double precision, (n, machines), every sum in the order of the features.

    BLAS adds in an order that depends on the layout and the number of the rows. SciPy's loop over sparse
    rows has one order, so dense rows are multiplied as sparse ones without zeros: a value is the same to
    the last bit whatever the layout and format of X, and whichever rows come with it.
    """
    turned = np.ascontiguousarray(weights.T)
    if sparse.issparse(X):
        return np.asarray(sparse.csr_matrix(X, dtype=np.float64) @ turned)
    n, d = X.shape
    values, part = np.empty((n, len(weights))), max(1, PLAIN_ROWS // d)
    columns = np.tile(np.arange(d, dtype=np.int32), min(part, n))
    for first in range(0, n, part):
        some = np.ascontiguousarray(X[first : first + part], np.float64)
        edges = np.arange(0, some.size + 1, d, dtype=np.int32)
        rows = sparse.csr_matrix((some.ravel(), columns[: some.size], edges), some.shape)
        values[first : first + part] = rows @ turned
    return values
