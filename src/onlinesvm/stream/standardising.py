"""Mean and variance of the features, learned on the stream, and rows scaled by them.

Blocks are merged by the formula of Chan, Golub and LeVeque (1979), which does not cancel: of counts
n and m, means a and b, sums of squared deviations A and B ::

    mean = a + (b - a) m / (n + m),      sum = A + B + (b - a)^2 n m / (n + m)

Sparse rows are divided by the standard deviation and not shifted, so that they stay sparse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


class RunningScale:
    """Count, mean and sum of squared deviations of each feature so far."""

    def __init__(self, numeric: np.ndarray | None = None):
        self.numeric = numeric
        self.count = 0
        self.mean = np.zeros(0)
        self.squares = np.zeros(0)
        self.shifts = True

    @np.errstate(over="ignore", invalid="ignore")  # too large is infinite, and seen at the end
    def update(self, X: Any) -> None:
        """Learn from the rows of a block; an error changes nothing but the number of features."""
        n, width = X.shape
        self._widen(width)
        if sparse.issparse(X):
            self.shifts = False
            mean, squares = _sparse_moments(X)
        else:
            wide = np.asarray(X, np.float64)
            mean = wide.mean(axis=0)
            squares = ((wide - mean) ** 2).sum(axis=0)
        total = self.count + n
        step = mean - self.mean
        squares = self.squares + squares + step**2 * (self.count * n / total)
        if not np.isfinite(squares).all():
            feature = int(np.argmin(np.isfinite(squares)))
            raise ValueError(
                f"Values of feature {feature + 1} are too large to be standardised: their variance "
                "is beyond double precision; correct them."
            )
        self.mean = self.mean + step * (n / total)
        self.squares, self.count = squares, total

    def _widen(self, width: int) -> None:
        """Add features: new ones were zero so far."""
        more = width - len(self.mean)
        if more > 0:
            self.mean = np.append(self.mean, np.zeros(more))
            self.squares = np.append(self.squares, np.zeros(more))

    def scale(self) -> np.ndarray:
        """Standard deviations; 1 for features that are constant or not numbers."""
        deviation = np.sqrt(self.squares / max(self.count, 1))
        # A constant far from zero has rounding errors for a deviation.
        constant = deviation <= 1e-12 * np.abs(self.mean)
        if self.numeric is not None:
            constant |= ~self.numeric
        return np.where(constant, 1.0, deviation)

    def shift(self) -> np.ndarray:
        """What is subtracted: the means, but zero for categories and for sparse rows."""
        if not self.shifts:
            return np.zeros_like(self.mean)
        return self.mean if self.numeric is None else np.where(self.numeric, self.mean, 0.0)

    def apply(self, X: Any) -> Any:
        """The rows of a block, scaled; X itself is not changed."""
        scale = self.scale()
        if sparse.issparse(X):
            # New features have no scale yet.
            known = np.append(scale, np.ones(max(0, X.shape[1] - len(scale))))
            data = X.data / known[X.indices]
            return sparse.csr_matrix((data, X.indices, X.indptr), X.shape)
        return (X - self.shift()) / scale

    def to_json(self) -> dict[str, Any]:
        """All of it, exactly."""
        return {
            "count": self.count,
            "mean": self.mean.tolist(),
            "squares": self.squares.tolist(),
            "shifts": self.shifts,
            "numeric": None if self.numeric is None else self.numeric.tolist(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RunningScale:
        """What ``to_json`` has written."""
        numeric = data["numeric"]
        found = cls(None if numeric is None else np.array(numeric, bool))
        found.count, found.shifts = int(data["count"]), bool(data["shifts"])
        found.mean, found.squares = np.array(data["mean"], float), np.array(data["squares"], float)
        return found


def _sparse_moments(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means and sums of squared deviations of the columns of a CSR matrix, from differences.

    Values are first shifted by their mean in each column, because sums of large numbers lose their
    last digits; zeros that are not stored are a second group of equal values.
    """
    (n, width), where = X.shape, X.indices
    values = X.data.astype(np.float64)
    stored = np.bincount(where, minlength=width)
    share = np.maximum(stored, 1)
    middle = np.bincount(where, values, width) / share
    middle += np.bincount(where, values - middle[where], width) / share
    squares = np.bincount(where, (values - middle[where]) ** 2, width)
    return middle * (stored / n), squares + middle**2 * (stored * ((n - stored) / n))
