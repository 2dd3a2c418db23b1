"""A pool of unlabelled examples, as a model needs it: converted once, asked about many times.

``KernelPool`` serves the library's own classifiers: rows in the learner's form, straight to the
learner, nothing checked twice. ``ArrayPool`` serves anything with ``partial_fit`` and
``decision_function``. Both have the same verbs; neither holds a model.

``settle(model)``             fix on the pool what a model fixes on its first examples
``learn(model, i, label)``    one iteration for one label
``decide(model, which)``      decision values of some examples
``distances(which, known)``   squared distances, (which, known)
``extend(model, X)``          more examples
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .estimators.base import OnlineKernelClassifier
from .estimators.checks import DTYPES, check_rows
from .estimators.labels import LabelBook, unique_labels

_MEGABYTES = 200
"""Memory for kernel rows over the pool, of a model that has no ``cache_size``."""


def make_pool(model: Any, X: Any, classes: np.ndarray | None) -> Any:
    """The pool that fits the model."""
    own = isinstance(model, OnlineKernelClassifier)
    return KernelPool(model, X, classes) if own else ArrayPool(X, classes)


def stack(first: Any, second: Any) -> Any:
    """Rows of both."""
    if sparse.issparse(first):
        return sparse.vstack([first, second]).tocsr()
    return np.concatenate([first, second.toarray() if sparse.issparse(second) else second])


def _form(model: Any) -> tuple[Any, Any, bool]:
    """What a model's rows depend on."""
    return model._kernel, model._centre, model._packs


def _learn_everything(learner: Any) -> None:
    """What was asked for is learned, near the boundary or far."""
    if hasattr(learner, "everything"):
        learner.everything = True


class KernelPool:
    """The pool of one of the library's classifiers."""

    def __init__(self, model: Any, X: Any, classes: np.ndarray | None):
        if getattr(model, "kernel", None) == "precomputed":
            raise ValueError(
                "kernel='precomputed' needs all examples at once; a pool needs the kernel itself."
            )
        model._validate_params()
        first = not hasattr(model, "_learner")
        self.X = check_rows(model, X, reset=first)
        self.classes = classes
        self.settle(model)
        self._model = model  # its gamma, centre and form of rows are those of the pool
        self._own: Any = None  # the LASVM that learned from this pool alone, by its numbers
        self._convert()

    @property
    def in_place(self) -> bool:
        """Whether learning cannot fail half-way."""
        return bool(self._model._kernel.is_compiled)

    def settle(self, model: Any) -> None:
        """Gamma, the shift, dense or sparse: of the whole pool, where a stream has only a row."""
        if not hasattr(model, "_learner"):
            model._settle(self.X, LabelBook())
            model._original = np.empty(0, np.int64)

    def _convert(self) -> None:
        n = self.X.shape[0]
        fresh = self._model._fresh(self.X, None, np.ones(n))
        self._fresh = fresh._replace(key=np.arange(n))
        self._form = _form(self._model)
        self._rows: Any = None  # made when they pay
        self._values: Any = None
        self._row_cost: float | None = None  # of a kernel row over the pool, in kernel values

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_rows": None, "_values": None}  # can be computed again

    def _meet(self, model: Any) -> None:
        """Rows in the form of the model: it has another one if somebody has fitted it anew."""
        kernel, centre, packs = form = _form(model)
        if kernel is self._form[0]:
            return
        same = kernel == self._form[0] and packs == self._form[2]
        if not (same and np.array_equal(centre, self._form[1])):
            self._model = model
            self._convert()
        self._form = form

    def check(self, model: Any, labels: np.ndarray) -> None:
        """Refuse labels that the model could not take."""
        if len(labels):
            model._book.check(labels)
            model._cost(labels, None, None)
            model._check_labels(len(model._book) + len(model._book.missing(labels)))

    def learn(self, model: Any, i: int, label: Any) -> None:
        """One iteration with the label of example i."""
        with model._learning():
            self._learn(model, i, label)

    def _learn(self, model: Any, i: int, label: Any) -> None:
        from .core.lasvm_learner import LASVM

        self._meet(model)
        data = self._fresh.take(slice(i, i + 1))
        if getattr(model, "class_weight", None) is not None:
            data = data._replace(bound=data.bound * model._cost(np.array([label]), None, None))
        learner = getattr(model, "_learner", None)
        number = model._book.numbers.get(label)
        if number is not None and learner is self._own and self.in_place:
            self._learn_again(learner, data._replace(label=np.array([number])))
            return
        _learn_everything(learner)
        y = np.array([label])
        labels = y if self.classes is None else np.union1d(self.classes, y)
        model._learn(data, y, np.ones(1), labels)
        if learner is None and isinstance(model._learner, LASVM):
            self._own = model._learner
            _learn_everything(self._own)

    def _learn_again(self, learner: Any, data: Any) -> None:
        """One iteration, without detours, for a learner that knows the label."""
        from .core.lasvm_pool import is_of_pool, learn_dense, learn_sparse

        if not data.rows.is_sparse:
            learn_dense(learner, data)
        elif self._rows is not None and is_of_pool(learner):
            learn_sparse(learner, data, self._rows[int(data.key[0])])
        else:
            learn_sparse(learner, data, None)

    def decide(self, model: Any, which: np.ndarray) -> np.ndarray:
        """Decision values, (n,) or (n, classes)."""
        self._meet(model)
        values = model._to_classes(self._decide(model, which))
        return values[0] if len(values) == 1 else values.T

    def _decide(self, model: Any, which: np.ndarray) -> np.ndarray:
        """Values of each machine, (machines, n), the cheapest way."""
        learner = model._learner
        if learner is self._own and self.in_place:
            from .core.lasvm_pool import PANEL, few_values

            if self._rows_pay(learner, len(which)):
                return self._followed(learner)[:, which] + learner.support.a.bias[:, None]
            if len(which) <= PANEL:
                return few_values(learner, self._fresh.rows.take(which))
        rows = self._fresh.rows.take(which)
        return model._view().model.decide(model._kernel, rows).T

    def _rows_pay(self, learner: Any, n_asked: int) -> bool:
        """Whether to keep the values of the whole pool up to date."""
        from .core.lasvm_pool import TYPICAL, is_of_pool, row_cost

        if not is_of_pool(learner):
            return False
        if self._row_cost is None:
            self._row_cost = row_cost(self._fresh.rows) / max(1.0, self._fresh.rows.width())
        return self._row_cost <= n_asked * TYPICAL

    def _followed(self, learner: Any) -> np.ndarray:
        """Decision values of the whole pool, less the bias, (machines, n)."""
        from .core.lasvm_pool import PoolRows, PoolValues

        if self._rows is None:
            megabytes = getattr(self._model, "cache_size", _MEGABYTES)
            self._rows = PoolRows(self._fresh.rows, self._form[0], megabytes)
        # An interruption on the way loses the values; they are made anew then.
        values, self._values = self._values, None
        if values is None or len(values.values) != learner.support.machines:
            values = PoolValues(self._rows, learner.support.machines)
        values.follow(learner)
        self._values = values
        return values.values

    def distances(self, which: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Squared distances, (which, known)."""
        kernel = replace(self._model._kernel)  # does not count as training
        values = kernel.block(self._fresh.rows.take(which), self._fresh.rows.take(known))
        diagonal = self._fresh.diagonal
        return diagonal[which][:, None] + diagonal[known][None, :] - 2.0 * values

    def extend(self, model: Any, X: Any) -> int:
        """More examples; returns how many."""
        X = check_rows(model, X)
        before = self.X, self._fresh
        try:
            self.X = stack(self.X, X)
            self._convert()
        except BaseException:
            self.X, self._fresh = before
            raise
        return X.shape[0]


class ArrayPool:
    """The pool of any classifier with ``partial_fit`` and ``decision_function``.

    Labels wait until there are two classes: many classifiers want them at once.
    """

    in_place = False

    def __init__(self, X: Any, classes: np.ndarray | None):
        self.X = check_array(X, accept_sparse="csr", dtype=DTYPES)
        self.classes = classes

    def settle(self, model: Any) -> None:
        """Nothing is fixed by the pool; labels that wait are kept with the model."""
        model._waiting = None if hasattr(model, "classes_") else []

    def check(self, model: Any, labels: np.ndarray) -> None:
        """Anything goes; the model will say."""

    def learn(self, model: Any, i: int, label: Any) -> None:
        """One iteration with the label of example i."""
        if model._waiting is None:
            model.partial_fit(self.X[i : i + 1], np.array([label]))
            return
        model._waiting.append((i, label))
        known = unique_labels(np.array([label for _, label in model._waiting]))
        if len(known) < 2:
            return
        classes = known if self.classes is None else self.classes
        where = [i for i, _ in model._waiting]
        y = np.array([label for _, label in model._waiting])
        model.partial_fit(self.X[where], y, classes=classes)
        model._waiting = None

    def decide(self, model: Any, which: np.ndarray) -> np.ndarray:
        """Decision values, (n,) or (n, classes)."""
        return np.asarray(model.decision_function(self.X[which]), np.float64)

    def distances(self, which: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Squared distances, (which, known)."""
        from sklearn.metrics.pairwise import euclidean_distances

        return euclidean_distances(self.X[which], self.X[known], squared=True)

    def extend(self, model: Any, X: Any) -> int:
        """More examples; returns how many."""
        X = check_array(X, accept_sparse="csr", dtype=DTYPES)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"The new examples have {X.shape[1]} features; the pool's have {self.X.shape[1]}."
            )
        self.X = stack(self.X, X)
        return X.shape[0]
