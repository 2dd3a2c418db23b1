"""A pool of unlabelled examples in the form that a model needs, converted once.

``KernelPool`` is for the classifiers of this library: its rows have the learner's form and are
validated once. ``ArrayPool`` is for anything with ``partial_fit`` and ``decision_function``. Both
have the same methods; neither contains a model.

``prepare(model)``             fix on the pool what a model fixes on its first examples
``learn(model, i, label, earlier)``   one iteration for one label, after the earlier ones
``decide(model, which)``      decision values of some examples
``decide_anew(model, which)`` the same, from the model only: identical in every process
``shares(model, i)``          what each support vector adds to the decision values of an example
``distances(which, known)``   squared distances, (which, known)
``squared_norms(which)``      squared lengths in the space of the kernel
``sizes(which)``               squared sizes, to which rounding errors of distances are proportional
``calibrate(model, labels, seed)``   calibrate probabilities for the pool
``extend(model, X)``          more examples
``without_examples()``        the pool to be pickled: ``attach`` restores the examples

A pool keeps its own copy of the examples.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ..estimators.checks import DTYPES, Checked
from ..estimators.labels import label_array, unique_labels
from ..estimators.pool_access import PoolModel, has_pool_access, pool_access
from ..estimators.rows import stack

_SHARED = ("X", "_fresh")
"""Attributes that copies of a pool share."""

_AGAIN = ("_rows", "_values")
"""Attributes that are recomputed instead of copied."""

_CHUNK = 1024
"""Number of rows per step when marks are computed."""

_SAME = 1e-5
"""Marks that differ by less belong to the same example."""

_FEWEST_SCORES = 10
"""Number of labels for calibration; with fewer, the scores recorded while learning are used."""

_POOL_SCORES = 4096
"""Maximum number of pool examples whose scores determine the weights of the labelled ones."""

_DOUBLE = 1e-8
"""Rounding errors of double precision in units of those of single precision, about."""

_MANY = 1000
"""Number of examples from which a linear model decides by its weight vector."""

_MEGABYTES = 200
"""Memory for kernel rows over the pool, if the model has no ``cache_size``."""


def make_pool(
    model: Any, X: Any, classes: np.ndarray | None, n_labels: int | None, copy: bool = True
) -> Any:
    """The pool for this model; without ``copy`` the examples are shared with another pool."""
    if has_pool_access(model):
        return KernelPool(model, X, classes, n_labels, copy)
    if n_labels is not None:
        raise ValueError(
            f"n_labels={n_labels} needs a LASVMClassifier: {type(model).__name__} learns one label "
            "per example."
        )
    return ArrayPool(X, classes, copy)


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


class Outline(NamedTuple):
    """Description of examples that are not in memory: ``marks`` is one number for each."""

    shape: tuple[int, int]
    sparse: bool
    marks: np.ndarray

    def difference(self, other: Outline) -> str | None:
        """Description of the first difference to the other; None if there is none."""
        if other.shape != self.shape:
            return f"their shape is {other.shape}, not {self.shape}"
        if other.sparse != self.sparse:
            return "they are sparse, not dense" if other.sparse else "they are dense, not sparse"
        same = np.allclose(self.marks, other.marks, rtol=_SAME, atol=_SAME)
        return None if same else "they have other values"


def outline(X: Any) -> Outline:
    """Shape, form, and a mark of each example: a sum of its features with fixed random weights.

    The last digits of a transformer may differ between computers, so marks are compared with the
    tolerance ``_SAME``, which a digest of the bytes would not allow. Features are scaled to at most
    1.
    """
    largest = abs(X).max(axis=0)
    largest = np.ravel(largest.toarray() if sparse.issparse(largest) else largest)
    weights = np.random.default_rng(0).standard_normal(X.shape[1])
    weights /= np.where(largest > 0, largest, 1.0)
    parts = [X[first : first + _CHUNK] @ weights for first in range(0, X.shape[0], _CHUNK)]
    return Outline(X.shape, sparse.issparse(X), np.concatenate(parts).astype(np.float32))


class Pool:
    """Examples, or their outline while they are not in memory."""

    X: Any
    n_labels: int | None = None
    """Number of labels where examples have several."""
    _outline: Outline | None = None
    _keeps_pace = False

    @property
    def shape(self) -> tuple[int, int]:
        """Examples and features."""
        if self.X is None:
            assert self._outline is not None
            return self._outline.shape
        return self.X.shape

    def without_examples(self) -> Any:
        """The pool with an outline in place of its examples."""
        if self._outline is None:
            self._outline = outline(self.X)
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__ | {"X": None}
        return other

    def attach(self, X: Any) -> None:
        """Give the examples back, or refuse others."""
        X = check_array(X, accept_sparse="csr", dtype=DTYPES, copy=True)
        assert self._outline is not None
        difference = self._outline.difference(outline(X))
        if difference is not None:
            raise ValueError(
                f"These are not the examples of the pool: {difference}. Pass all examples that the "
                "learner had when it was pickled, in the same order."
            )
        self.X = X

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Examples are never changed, so copies share them."""
        other = memo[id(self)] = object.__new__(type(self))
        for name, value in self.__dict__.items():
            if name in _AGAIN:
                value = None
            setattr(other, name, value if name in _SHARED else deepcopy(value, memo))
        other._keeps_pace = False  # the copy has no values yet
        return other


class KernelPool(Pool):
    """The pool of one of the library's classifiers."""

    def __init__(
        self, model: Any, X: Any, classes: np.ndarray | None, n_labels: int | None, copy: bool
    ):
        access = pool_access(model)
        given, self.n_labels = access.check_rows(X, copy), access.check_several(n_labels)
        self.X, self._features, self.classes = given.X, given.features, classes
        self.prepare(model)
        self._model = model  # its gamma, centre and form of rows are those of the pool
        self._own: Any = None  # the LASVM that learned from this pool alone, by its numbers
        self._convert()

    @property
    def in_place(self) -> bool:
        """Whether learning cannot fail half-way."""
        return bool(self._form.kernel.is_compiled)

    def prepare(self, model: Any) -> None:
        """Gamma, the shift, dense or sparse: of the whole pool, where a stream has only a row."""
        pool_access(model).prepare(Checked(self.X, None, self._features), self.n_labels)

    def _convert(self) -> None:
        access = pool_access(self._model)
        self._fresh, self._form = access.examples(self.X), access.form
        self._rows: Any = None  # made when they save time
        self._values: Any = None
        self._row_cost: float | None = None  # of a kernel row over the pool, in kernel values
        self._keeps_pace = False  # whether the values were up to date at the last question

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_fresh", *_AGAIN)
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.X is not None:
            self._convert()

    def attach(self, X: Any) -> None:
        """Give the examples back, or refuse others."""
        super().attach(X)
        self._convert()

    def _meet(self, model: Any) -> None:
        """Rows in the form of the model, which changes if the model was fitted again."""
        form = pool_access(model).form
        if not form.gives_the_same_rows(self._form):
            self._model = model
            self._convert()
        self._form = form

    def check(self, model: Any, labels: np.ndarray) -> None:
        """Refuse labels that the model cannot learn."""
        if len(labels):
            pool_access(model).check_labels(labels)

    def learn(self, model: Any, i: int, label: Any, earlier: dict[int, Any]) -> None:
        """One iteration with the label of example i."""
        self._meet(model)
        access = pool_access(model)
        with access.learning():
            self._learn(access, i, label)

    def _learn(self, access: PoolModel, i: int, label: Any) -> None:
        from ..core.lasvm.learner import LASVM

        bound = np.full(1, access.bound(label))
        data = self._fresh.take(slice(i, i + 1))._replace(bound=bound)
        learner, number = access.learner, access.number(label)
        of_pool = learner is not None and learner is self._own
        if number is not None and of_pool and self.in_place:
            self._learn_again(learner, data._replace(label=np.array([number])))
            return
        access.learn(data, label, self.classes)
        if learner is None and isinstance(access.learner, LASVM):
            self._own = access.learner

    def _learn_again(self, learner: Any, data: Any) -> None:
        """One iteration for a known label, without checks."""
        from ..core.lasvm.choose.pool import is_of_pool, learn_dense, learn_sparse

        if not data.rows.is_sparse:
            learn_dense(learner, data)
        elif self._keeps_pace and is_of_pool(learner):
            learn_sparse(learner, data, self._rows[int(data.key[0])])
        else:
            learn_sparse(learner, data, None)

    def calibrate(self, model: Any, labels: dict[int, Any], seed: int) -> None:
        """Calibrate the probabilities of a model that was taught these labels, for the whole pool.

        For a LASVM that has learned from this pool only; other models use the scores that they have
        recorded. The model is finished first: its scores are calibrated by those of finished models.
        """
        self._meet(model)
        access = pool_access(model)
        if access.learner is not self._own or not access.keeps_scores:
            return
        which = np.array(list(labels), np.int64)
        if len(which) < _FEWEST_SCORES:
            return
        model.finish()
        numbers = np.array([access.number(label) for label in labels.values()])
        bounds = np.array([access.bound(label) for label in labels.values()])
        chosen = self._fresh.take(which)._replace(label=numbers, bound=bounds)
        access.look_again(chosen)
        rest = np.setdiff1d(np.arange(len(self._fresh.rows)), which)
        some = np.random.default_rng(seed).permutation(rest)[:_POOL_SCORES]
        access.calibrate(chosen, self._decide(access, some).T, seed)

    def decide(self, model: Any, which: np.ndarray) -> np.ndarray:
        """Decision values, (n,) or (n, classes)."""
        self._meet(model)
        access = pool_access(model)
        return access.scores(self._decide(access, which))

    def decide_anew(self, model: Any, which: np.ndarray) -> np.ndarray:
        """Decision values that do not depend on earlier questions."""
        self._meet(model)
        access = pool_access(model)
        if self._form.kernel.name == "linear" and len(which) > _MANY and not access.has_pairs:
            weights = _dense(model.coef_).T
            most = 2 * len(which) > self.X.shape[0]  # then a copy of the rows costs more
            products = (self.X @ weights)[which] if most else self.X[which] @ weights
            values = np.asarray(products) + model.intercept_
            return values[:, 0] if values.shape[1] == 1 else values
        return access.scores(access.decide(self._fresh.rows.take(which)))

    def shares(self, model: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Pool indices of the support vectors, and their contributions to the values of example i."""
        self._meet(model)
        access = pool_access(model)
        rows, alpha, _, slots = access.learner.expansion()
        kernel = replace(self._form.kernel)  # does not count as training
        values = kernel.block(rows, self._fresh.rows.take(slice(i, i + 1)))[:, 0]
        return access.learner.keys(slots), access.shares(alpha * values)

    def _decide(self, access: PoolModel, which: np.ndarray) -> np.ndarray:
        """Values of each machine, (machines, n), computed in the cheapest way."""
        learner = access.learner
        if learner is self._own and self.in_place:
            from ..core.lasvm.choose.pool import PANEL, few_values

            self._keeps_pace = self._follow(learner, len(which))
            if self._keeps_pace:
                return self._values.values[:, which] + learner.bias[:, None]
            if len(which) <= PANEL:
                return few_values(learner, self._fresh.rows.take(which))
        rows = self._fresh.rows.take(which)
        return access.decide(rows)

    def _rows_for(self, learner: Any, n_asked: int) -> int:
        """Number of kernel rows over the pool to compute per question; 0: they save no time."""
        from ..core.lasvm.choose.pool import TYPICAL, is_of_pool, row_cost

        if not is_of_pool(learner):
            return 0
        if self._row_cost is None:
            self._row_cost = row_cost(self._fresh.rows) / max(1.0, self._fresh.rows.width())
        return int(n_asked * TYPICAL / max(1.0, self._row_cost))

    def _follow(self, learner: Any, n_asked: int) -> bool:
        """Update the values of the whole pool, if that costs no more than the question itself.

        Returns whether they are up to date. If not, the candidates must be scored directly, and the
        update continues by as many kernel rows as a typical question costs, unless it is too far
        behind.
        """
        from ..core.lasvm.choose.pool import FEW_ROWS, PoolRows, PoolValues

        most, whole = self._rows_for(learner, n_asked), 2 * n_asked >= len(self._fresh.rows)
        too_many = max(FEW_ROWS, learner.n // 4) if whole else FEW_ROWS * most
        if most == 0 or (self._rows is None and not whole and learner.n > too_many):
            return False
        if self._rows is None:
            megabytes = getattr(self._model, "cache_size", _MEGABYTES)
            self._rows = PoolRows(self._fresh.rows, self._form.kernel, megabytes)
        # After an interruption the values are lost and computed again.
        values, self._values = self._values, None
        if values is None or len(values.values) != learner.machines:
            values = PoolValues(self._rows, learner.machines)
        changes, done = values.changes(learner), True
        if values.missing(changes) <= too_many:
            done = values.follow(changes, most)
        elif whole:
            values.restart(learner)
        else:
            done = False
        self._values = values
        return done

    def distances(self, which: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Squared distances, (which, known)."""
        kernel = replace(self._form.kernel)  # does not count as training
        values = kernel.block(self._fresh.rows.take(which), self._fresh.rows.take(known))
        diagonal = self._fresh.diagonal
        return diagonal[which][:, None] + diagonal[known][None, :] - 2.0 * values

    def squared_norms(self, which: np.ndarray) -> np.ndarray:
        """Squared lengths in the space of the kernel."""
        return np.abs(self._fresh.diagonal[which])

    def sizes(self, which: np.ndarray) -> np.ndarray:
        """Squared distances from the origin."""
        return self.squared_norms(which)

    def extend(self, model: Any, X: Any) -> int:
        """More examples; returns how many."""
        X = pool_access(model).check_more(X)
        before = dict(self.__dict__)
        try:
            self.X, self._outline = stack(self.X, X), None
            self._convert()
        except BaseException:
            self.__dict__ = before
            raise
        return X.shape[0]


class ArrayPool(Pool):
    """The pool of any classifier with ``partial_fit`` and ``decision_function``.

    Labels are kept until there are two classes, because many classifiers need both at once.
    """

    in_place = False

    def __init__(self, X: Any, classes: np.ndarray | None, copy: bool):
        self.X = check_array(X, accept_sparse="csr", dtype=DTYPES, copy=copy)
        self.classes = classes

    def prepare(self, model: Any) -> None:
        """Nothing is fixed by the pool."""

    def check(self, model: Any, labels: np.ndarray) -> None:
        """Accept all labels: the model checks them."""

    def calibrate(self, model: Any, labels: dict[int, Any], seed: int) -> None:
        """Do nothing: probabilities are left to the model."""

    def learn(self, model: Any, i: int, label: Any, earlier: dict[int, Any]) -> None:
        """One iteration with the label of example i; the first one is with all ``earlier`` ones."""
        if hasattr(model, "classes_"):
            model.partial_fit(self.X[i : i + 1], np.array([label]))
            return
        pairs = earlier | {i: label}
        labels = label_array(list(pairs.values()))
        known = unique_labels(labels)
        if len(known) > 1:
            classes = known if self.classes is None else self.classes
            model.partial_fit(self.X[list(pairs)], labels, classes=classes)

    def decide(self, model: Any, which: np.ndarray) -> np.ndarray:
        """Decision values, (n,) or (n, classes)."""
        return np.asarray(model.decision_function(self.X[which]), np.float64)

    def decide_anew(self, model: Any, which: np.ndarray) -> np.ndarray:
        """Decision values, (n,) or (n, classes)."""
        return self.decide(model, which)

    def shares(self, model: Any, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Refused: the model's support vectors, if it has any, are not known."""
        raise TypeError(
            f"{type(model).__name__} is not a classifier of this library: the contributions of "
            "its examples are not known."
        )

    def distances(self, which: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Squared distances, (which, known)."""
        from sklearn.metrics.pairwise import euclidean_distances

        return euclidean_distances(self.X[which], self.X[known], squared=True)

    def squared_norms(self, which: np.ndarray) -> np.ndarray:
        """Squared lengths of the rows."""
        from sklearn.utils.extmath import row_norms

        return np.asarray(row_norms(self.X[which], squared=True))

    def sizes(self, which: np.ndarray) -> np.ndarray:
        """Squared distances from the origin, on the scale of rounding errors in double precision."""
        return _DOUBLE * self.squared_norms(which)

    def extend(self, model: Any, X: Any) -> int:
        """More examples; returns how many."""
        X = check_array(X, accept_sparse="csr", dtype=DTYPES)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"The new examples have {X.shape[1]} features; the pool's have {self.X.shape[1]}."
            )
        self.X, self._outline = stack(self.X, X), None
        return X.shape[0]
