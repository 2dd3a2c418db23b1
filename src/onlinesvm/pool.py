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
from sklearn.utils.validation import validate_data

from .estimators.base import OnlineKernelClassifier
from .estimators.labels import LabelBook, unique_labels

_DTYPES = [np.float64, np.float32]


def make_pool(model: Any, X: Any, classes: np.ndarray | None) -> Any:
    """The pool that fits the model."""
    own = isinstance(model, OnlineKernelClassifier)
    return KernelPool(model, X, classes) if own else ArrayPool(X, classes)


def stack(first: Any, second: Any) -> Any:
    """Rows of both."""
    if sparse.issparse(first):
        return sparse.vstack([first, second]).tocsr()
    return np.concatenate([first, second.toarray() if sparse.issparse(second) else second])


class KernelPool:
    """The pool of one of the library's classifiers."""

    def __init__(self, model: Any, X: Any, classes: np.ndarray | None):
        if getattr(model, "kernel", None) == "precomputed":
            raise ValueError(
                "kernel='precomputed' needs all examples at once; a pool needs the kernel itself."
            )
        model._validate_params()
        first = not hasattr(model, "_learner")
        self.X = validate_data(model, X, accept_sparse="csr", dtype=_DTYPES, reset=first)
        self.classes = classes
        self.settle(model)
        self._model = model  # its gamma, centre and form of rows are those of the pool
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

    def check(self, model: Any, labels: np.ndarray) -> None:
        """Refuse labels that the model could not take."""
        if len(labels):
            model._book.check(labels)
            model._cost(labels, None, None)
            model._check_labels(len(model._book) + len(model._book.missing(labels)))

    def learn(self, model: Any, i: int, label: Any) -> None:
        """One iteration with the label of example i."""
        from .core.lasvm_learner import select

        y = np.array([label])
        labels = y if self.classes is None else np.union1d(self.classes, y)
        data = select(self._fresh, slice(i, i + 1))
        if getattr(model, "class_weight", None) is not None:
            cost = model._cost(y, None, None)
            data = data._replace(bound=data.bound * cost)
        learner = getattr(model, "_learner", None)
        if learner is not None and hasattr(learner, "everything"):
            learner.everything = True  # what was asked for is learned, near or far
        model._learn(data, y, np.ones(1), labels)

    def decide(self, model: Any, which: np.ndarray) -> np.ndarray:
        """Decision values, (n,) or (n, classes)."""
        values = model._to_classes(model._learner.decide(self._fresh.rows.take(which)).T)
        return values[0] if len(values) == 1 else values.T

    def distances(self, which: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Squared distances, (which, known)."""
        kernel = replace(self._model._kernel)  # does not count as training
        values = kernel.block(self._fresh.rows.take(which), self._fresh.rows.take(known))
        diagonal = self._fresh.diagonal
        return diagonal[which][:, None] + diagonal[known][None, :] - 2.0 * values

    def extend(self, model: Any, X: Any) -> int:
        """More examples; returns how many."""
        X = validate_data(model, X, accept_sparse="csr", dtype=_DTYPES, reset=False)
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
        self.X = check_array(X, accept_sparse="csr", dtype=_DTYPES)
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
        X = check_array(X, accept_sparse="csr", dtype=_DTYPES)
        if X.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"The new examples have {X.shape[1]} features; the pool's have {self.X.shape[1]}."
            )
        self.X = stack(self.X, X)
        return X.shape[0]
