"""Rows for a model: the first ones of a stream, and rows times weights.

``gamma="scale"`` is 1 / (features * variance), and the variance of one row, or of five, says little
about the stream. Until ``ENOUGH`` rows have come, each call estimates gamma (and the centre of the
rows) from all rows so far and learns them again; from then on both are fixed. The model after the
first ``ENOUGH`` rows is therefore the same however they were divided into calls.

Feature weights are learned once, when ``ENOUGH_FOR_WEIGHTS`` rows have arrived: rows are kept until
then, and are learned again with the weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..core.kernel.kernel import GAMMA_NAMES
from .labels import joined_labels

ENOUGH = 100
"""Number of rows after which gamma is fixed."""

ENOUGH_FOR_WEIGHTS = 1000
"""Number of rows from which feature weights are learned; until then all are one."""


class FirstRows(NamedTuple):
    """Checked rows, their labels or targets, and their weights."""

    X: Any
    y: np.ndarray
    weight: np.ndarray

    def kept(self, needed: int) -> FirstRows | None:
        """What must be kept for the next call: a copy of these rows, or nothing if there are enough."""
        if len(self.y) >= needed:
            return None
        return FirstRows(self.X.copy(), self.y.copy(), self.weight)

    def widened(self, n_features: int) -> FirstRows:
        """The same rows with zeros in the features that are new."""
        if not sparse.issparse(self.X):
            return self._replace(X=np.pad(self.X, ((0, 0), (0, n_features - self.X.shape[1]))))
        X = sparse.csr_matrix(self.X)
        X.resize(X.shape[0], n_features)
        return self._replace(X=X)


def joined(before: FirstRows | None, X: Any, y: np.ndarray, weight: np.ndarray) -> FirstRows:
    """The rows kept so far and those of this call."""
    if before is None:
        return FirstRows(X, y, weight)
    return FirstRows(
        stack(before.X, X), joined_labels(before.y, y), np.append(before.weight, weight)
    )


def stack(first: Any, second: Any) -> Any:
    """Rows of two arrays or CSR matrices, one after the other; sparse if one of them is."""
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([sparse.csr_matrix(first), sparse.csr_matrix(second)], format="csr")
    return np.concatenate([first, second])


def is_estimated(kernel: Any, gamma: Any) -> bool:
    """Whether gamma is estimated from the rows."""
    return isinstance(gamma, str) and gamma == "scale" and kernel in GAMMA_NAMES


# -- features times their weights, and back -----------------------------------------------


def weighted(X: Any, weights: np.ndarray | None) -> Any:
    """Rows, dense or CSR, with each feature multiplied by its weight."""
    if weights is None:
        return X
    if not sparse.issparse(X):
        return X * weights
    X = sparse.csr_matrix(X)
    made = sparse.csr_matrix((X.data * weights[X.indices], X.indices, X.indptr), X.shape)
    if not weights.all():
        made = made.copy()
        made.eliminate_zeros()
    return made


def unweighted(X: Any, factors: np.ndarray | None) -> Any:
    """Rows as they were before they were weighted; what a weight of zero has taken away is zero."""
    if factors is None:
        return X
    return weighted(X, np.divide(1.0, factors, out=np.zeros_like(factors), where=factors != 0.0))
