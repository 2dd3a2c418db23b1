"""A trained model: everything that was learned, and all that a prediction needs, in one object.

An estimator has its parameters and one ``Trained``, which it replaces in one assignment. Other
modules use its methods: ``rows`` and ``examples`` convert checked input to what the learner takes,
``learn`` passes it on, ``learn_row`` and ``decide_row`` are for single rows, ``widen`` adds features,
``view`` returns a snapshot for predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.linalg.blas import dnrm2

from ..core.kernel.kernel import Kernel, check_size
from ..core.keys import arrival_keys
from ..core.runtime.compact import Compact
from .checks import Checked, Features, ObjectKernel
from .labels import LabelBook
from .rows import FirstRows, exact_rows, weighted
from .views import ExactView, FittedView, View

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
    emptied: tuple[int, ...] = ()
    """Numbers of labels whose examples were all forgotten; those learned again since may be among them."""

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
            from ..core.kernel.centre import centre_of

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
        return watch.snapshot(self.label_weights(), self.present())

    def answered(self) -> Any:
        """The calibration from scores kept in passing, made if necessary; None without scores."""
        asides = self.learner.asides
        if asides is None or asides.known is not None:
            return None if asides is None else asides.known
        weights, present = self.label_weights(), self.present()
        if not asides.wants_held:
            return asides.answer_of_stream(weights, present)
        if not self.learner.n:  # all were forgotten
            return None
        from ..core.lasvm.block.held_out import score_held

        n = None if self.shape_fit is None else self.shape_fit[0]
        if n == len(self.original):  # no copies were merged
            n = None
        return asides.answer_of_fit(score_held(self.learner, weights, n), weights, n, present)

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
        """Whether each label, in the order of their numbers, has examples; None: none was emptied.

        A label whose examples were forgotten has some again when one of its rows is stored.
        """
        if not self.emptied:
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
        made.present = self.present()
        return made

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


class ExactTrained(Trained):
    """A model of rows in double precision, all of which the learner keeps (``core.simplesvm``)."""

    @staticmethod
    def _forms(kernel: Kernel, X: Any) -> tuple[bool, bool]:
        return False, sparse.issparse(X)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Number of examples kept, and of their features."""
        return len(self.learner.rows), self.learner.rows.values.shape[1]

    def rows(self, X: Any, key: np.ndarray | None = None) -> Any:
        """Checked input as rows of this model, copied."""
        return exact_rows(X, self.kernel, self.centre, self.sparse, key, own=True)

    def examples(
        self, X: Any, y: np.ndarray | None, bound: np.ndarray, number: np.ndarray | None = None
    ) -> Any:
        """Checked examples as the learner takes them; it has their weights in place of bounds."""
        from ..core.simplesvm.learner import Given

        number = np.arange(X.shape[0]) if number is None else number
        rows = self.rows(X, number if self.kernel.name == "precomputed" else None)
        target = self.encoder.encode(y)
        if not isinstance(self.encoder, LabelBook):
            target = np.ravel(target).astype(np.float64)
        return Given(rows, target, bound)

    def numbered(self, data: Any) -> Any:
        """The same: the learner numbers what it is given."""
        return data

    unnumbered = numbered

    def _row(self, x: np.ndarray) -> None:
        """No fast path for single rows: each changes the factor of a linear system."""
        return

    def can_widen(self, dense: bool) -> bool:
        """No: the factor of a linear system is of all rows as they are."""
        return False

    def gap(self) -> None:
        """Not measured: it is at its optimum after every call."""

    def values_without(self, view: Any) -> None:
        """Not known."""

    def view(self, **more: Any) -> FittedView:
        """The model as it is: a learner that an estimator has is never changed."""
        return ExactView(self)
