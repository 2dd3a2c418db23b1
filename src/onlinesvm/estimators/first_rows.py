"""The first examples of a stream, kept until there are enough of them to estimate gamma.

``gamma="scale"`` is 1 / (features * variance), and the variance of one row, or of five, says little
about the stream. Until ``ENOUGH`` rows have come, each call estimates gamma (and the centre of the
rows) from all rows so far and learns them anew; from then on both stay as they are. The model after
the first ``ENOUGH`` rows is therefore the same however they were cut into calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .labels import joined_labels

ENOUGH = 100
"""Rows from which gamma is estimated for good."""


class FirstRows(NamedTuple):
    """Checked rows, their labels or targets, and their weights."""

    X: Any
    y: np.ndarray
    weight: np.ndarray

    @property
    def is_enough(self) -> bool:
        """Whether gamma can be estimated for good."""
        return len(self.y) >= ENOUGH

    def kept(self) -> FirstRows | None:
        """What must be kept for the next call: a copy of these rows, or nothing."""
        return None if self.is_enough else FirstRows(self.X.copy(), self.y.copy(), self.weight)


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


def is_estimated(estimator: Any) -> bool:
    """Whether the estimator's kernel has a gamma that is estimated from the rows."""
    kernel, gamma = getattr(estimator, "kernel", None), getattr(estimator, "gamma", None)
    return isinstance(gamma, str) and gamma == "scale" and kernel in ("rbf", "poly", "sigmoid")
