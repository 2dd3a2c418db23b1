"""Snapshots of a model between two calls, for prediction and for the fitted attributes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..core.runtime.interrupts import Interruptible
from .checks import asked_rows, check_asked, check_rows
from .explaining import Expansion, alike
from .rows import as_array, exact_rows, moved_back, unweighted, weighted

if TYPE_CHECKING:
    from .trained import Trained

LARGEST_WEIGHT = 1e30
"""Weight vectors up to this size predict in single precision."""

LARGEST_PLAIN = 1e15
"""Numbers up to this size are multiplied by weight vectors as they are; rows of larger ones are checked."""


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
    """Whether each label, by number, has examples (``Trained.present``)."""
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
        """Whether checked rows are in double precision, and the model is a weight vector per machine."""
        if self.kernel.name != "linear" or self.model.unit_length or X.dtype != np.float64:
            return False
        data = X.data if sparse.issparse(X) else X
        return bool(np.abs(data).max(initial=0.0) <= LARGEST_PLAIN)

    def _linear_values(self, X: Any) -> np.ndarray:
        """Values by the weight vectors in double precision: exactly those of ``coef_``."""
        return np.asarray(
            weighted(X, self.trained.feature_weights) @ self._plane.T + self.model.bias
        )

    @cached_property
    def _plane(self) -> np.ndarray:
        """The weight vectors."""
        return self.weights()

    def _asked(self, X: Any) -> tuple[Any, Any]:
        """Checked examples as rows, and the kernel that compares them with support vectors."""
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


class ExactView(FittedView):
    """The model of a SimpleSVM estimator, which is immutable."""

    def __init__(self, trained: Trained):
        super().__init__(trained)
        self.learner = trained.learner

    def values(self, X: Any) -> np.ndarray:
        """Values of the machines, as learned, (n, machines)."""
        X = check_rows(self.trained.features, X, dtype=np.float64)
        kernel = copy(self.kernel)  # its count is that of learning
        rows = exact_rows(X, kernel, self.trained.centre, self.trained.sparse)
        values: np.ndarray = self.learner.decide(rows)
        return values

    @cached_property
    def _expansion(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the support vectors and their coefficients."""
        which, coef = self.learner.expansion()
        return which, coef

    @property
    def support(self) -> np.ndarray:
        """Numbers of the support vectors among the examples given."""
        return self.learner.number[self._expansion[0]]

    def vectors(self) -> Any:
        """The support vectors as they were given."""
        return moved_back(self.learner.rows.take(self._expansion[0]).values, self.trained.centre)

    def terms(self) -> np.ndarray:
        """Coefficients of the support vectors, (machines, n_SV), machines as learned."""
        return self._expansion[1]

    def biases(self) -> np.ndarray:
        """Bias of each machine."""
        shown: np.ndarray = self.encoder.shown(self.learner.readings()[0])
        return shown

    def weights(self) -> np.ndarray:
        """Weight vectors of the linear kernel, (machines, n_features)."""
        features = self.learner.features
        if features is not None and features.given is not as_array:
            raise AttributeError("coef_ is not available with a kernel matrix of low rank.")
        return np.asarray(self._expansion[1] @ self.vectors())

    def label_numbers(self) -> np.ndarray:
        """The number of each support vector's label."""
        return self.learner.target[self._expansion[0]]

    def diagonal(self) -> np.ndarray:
        """k(x, x) of each support vector."""
        return self.learner.rows.take(self._expansion[0]).diagonal()

    def support_values(self) -> np.ndarray:
        """Values of the machines, as learned, for the support vectors themselves, (n_SV, machines)."""
        values: np.ndarray = self.learner.decide(self.learner.rows.take(self._expansion[0]))
        return values

    def similarities(self, which: np.ndarray) -> np.ndarray:
        """Kernel values of all support vectors with some of them, (n_SV, len(which)) float64."""
        rows = self.learner.rows.take(self._expansion[0])
        return rows.block(rows.take(which))

    def expansion(self, X: Any) -> Expansion:
        """The model and these examples as the kernel sees them, in double precision."""
        if self.learner.features is not None:
            raise ValueError(
                "explain has no exact result with a kernel matrix of low rank: fit with "
                "low_rank=None."
            )
        X = check_rows(self.trained.features, X, dtype=np.float64)
        rows = exact_rows(X, copy(self.kernel), self.trained.centre, self.trained.sparse)
        asked, vectors = alike(rows.values, self.learner.rows.take(self._expansion[0]).values)
        return Expansion(
            asked, vectors, copy(self.kernel), self.coefficients(), self.biases(), None
        )
