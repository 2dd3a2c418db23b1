"""A classifier as it stood between two calls, for prediction and for the fitted attributes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ..core.interrupts import Interruptible
from .checks import check_rows
from .objects import asked_rows, check_objects

LARGEST_WEIGHT = 1e30
"""Weight vectors up to this predict in single precision."""


class FittedView(ABC):
    """What predictions and fitted attributes are made of, whatever the algorithm.

    Machines are in the order of ``classes``, support vectors in the order of ``support``.
    """

    classes: np.ndarray
    order: np.ndarray
    """The number of each class."""

    @property
    @abstractmethod
    def kernel(self) -> Any:
        """The kernel."""

    @property
    @abstractmethod
    def support(self) -> np.ndarray:
        """Row indices of the support vectors in ascending order; -1 for a stream's."""

    @abstractmethod
    def vectors(self) -> Any:
        """The support vectors as they were given."""

    @abstractmethod
    def coefficients(self) -> np.ndarray:
        """Coefficients of the support vectors, (machines, n_SV)."""

    @abstractmethod
    def biases(self) -> np.ndarray:
        """Bias of each machine."""

    @abstractmethod
    def weights(self) -> np.ndarray:
        """Weight vectors of the linear kernel, (machines, n_features), machines as learned."""

    @abstractmethod
    def label_numbers(self) -> np.ndarray:
        """The number of the label of each support vector, in any order."""

    @abstractmethod
    def decide(self, X: Any) -> np.ndarray:
        """Decision values, (n,) or (n, classes)."""

    def predict(self, X: Any) -> np.ndarray:
        """The label of each example."""
        return labels_of(self.decide(X), self.classes)

    def to_classes(self, values: np.ndarray) -> np.ndarray:
        """Machines in the order of ``classes``, a copy; two classes: the second is positive."""
        return to_classes(values, self.order)


class View(FittedView):
    """Settings, labels and model of one moment; what is learned afterwards does not change it.

    Settings are those of the estimator: a copy of it without its learner, so that features,
    kernel, labels and model always belong together.
    """

    def __init__(self, estimator: Any):
        from ..core.model import model_of

        self.settings = object.__new__(type(estimator))
        self.settings.__dict__.update(vars(estimator))
        self.settings._kernel = replace(estimator._kernel)  # learning changes its own
        self.model = model_of(self.settings.__dict__.pop("_learner"))
        self.more: dict[str, Any] = estimator._more(estimator._learner)
        self.classes = self.settings._book.classes.copy()
        self.order = self.settings._book.order()

    def decide(self, X: Any) -> np.ndarray:
        """Decision values, (n,) or (n, classes)."""
        with Interruptible():
            kernel, rows = self._asked(X)
            return shaped(self._deciding.decide(kernel, rows), self.order)

    def _asked(self, X: Any) -> tuple[Any, Any]:
        """Checked examples as rows, and the kernel that compares them with support vectors."""
        settings, kernel = self.settings, self.settings._kernel
        if settings._objects is None:
            return kernel, settings._rows(check_rows(settings, X))
        objects = check_objects(settings, X)
        kernel = replace(kernel, function=kernel.function.asking(objects))
        return kernel, settings._rows(asked_rows(len(objects)))

    @cached_property
    def _deciding(self) -> Any:
        """The model that predicts: of the linear kernel, one weight vector per machine."""
        from ..core.kernel.rows import Rows

        if self.settings._kernel.name != "linear":
            return self.model
        weights = self.weights()
        if np.abs(weights).max(initial=0.0) > LARGEST_WEIGHT:
            return self.model
        return self.model._replace(rows=Rows.of(weights), coef=np.eye(len(weights)))

    def weights(self) -> np.ndarray:
        """Weight vectors of the linear kernel, (machines, n_features)."""
        return np.asarray(self.model.coef @ self.model.rows.to_array())

    @property
    def kernel(self) -> Any:
        """The kernel."""
        return self.settings._kernel

    @cached_property
    def _numbers(self) -> np.ndarray:
        """Row indices of the support vectors in the X given to ``fit``; -1 for a stream's."""
        keys, original = self.model.key, self.settings._original
        return np.where(keys >= 0, original[keys], -1) if len(original) else keys

    @cached_property
    def _ascending(self) -> np.ndarray:
        """The order of the support vectors in which users see them."""
        return np.argsort(self._numbers, kind="stable")

    @property
    def support(self) -> np.ndarray:
        """Row indices of the support vectors, in ascending order."""
        return self._numbers[self._ascending]

    def vectors(self) -> Any:
        """The support vectors as they were given."""
        if self.settings._objects is not None:
            return self.settings._objects[self.support]
        vectors = self.model.rows.to_array(self.settings._centre)[self._ascending]
        was_packed = self.settings._packs and sparse.issparse(vectors)
        return vectors.toarray() if was_packed else vectors

    def coefficients(self) -> np.ndarray:
        """Coefficients of the support vectors, (machines, n_SV)."""
        return self.to_classes(self.model.coef)[:, self._ascending]

    def biases(self) -> np.ndarray:
        """Bias of each machine."""
        return self.to_classes(self.model.bias)

    def label_numbers(self) -> np.ndarray:
        """The number of each support vector's label."""
        return self.model.label


def to_classes(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Machines (axis 0) in the order of the classes, a copy; two classes: the second is positive."""
    if len(order) > 2:
        return values[order]
    return -values if len(order) == 2 and order[1] == 0 else values.copy()


def labels_of(values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The labels that decision values, (n,) or (n, classes), stand for."""
    if len(classes) == 1:
        return np.repeat(classes, len(values))
    if values.ndim == 1:
        return classes[(values > 0).astype(int)]
    return classes[values.argmax(axis=1)]


def shaped(values: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Machines (n, machines) in the order of the classes; two classes: one column."""
    values = to_classes(values.T, order)
    return values[0] if len(values) == 1 else values.T
