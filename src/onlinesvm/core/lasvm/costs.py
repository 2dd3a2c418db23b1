"""Several costs at once: the machines of a task, once for each of several C, over one support set.

    machine c M + m      machine m of the task, of M, with the bounds of cost c
    lo, hi               those of the task, times the share that the cost has of the largest

Models that differ in C alone have the same kernel: rows, kernel values and judged examples are shared, and
each machine is optimised by itself. Such a learner fits a data set to compare the costs; it does not
follow a stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .tasks import Classification, Regression, reach_of

if TYPE_CHECKING:
    from .state import Support


def _shared(
    bounds: tuple[np.ndarray, np.ndarray], shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """lo and hi of machines that have these shares of the cost."""
    lo, hi = bounds
    return lo * shares[:, None], hi * shares[:, None]


class ClassificationOfCosts(Classification):
    """One-vs-rest for each cost; ``shares`` are the costs as shares of the largest."""

    overlap = True

    def __init__(self, shares: np.ndarray, n_labels: int):
        self.costs = len(shares)
        self.shares = np.repeat(shares, len(super().positives(n_labels)))

    def positives(self, n_labels: int) -> list[int]:
        """The label that each machine calls +1."""
        return super().positives(n_labels) * self.costs

    def bounds(
        self, linear: np.ndarray, bound: np.ndarray, machines: slice = slice(None)
    ) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi of examples with this p, shaped as p, of all machines or some."""
        return _shared(super().bounds(linear, bound), self.shares[machines])


class RegressionOfCosts(Regression):
    """Each target for each cost; ``shares`` are the costs as shares of the largest."""

    overlap = True

    def __init__(self, epsilon: float, shares: np.ndarray, targets: int):
        super().__init__(epsilon, targets)
        self.costs = len(shares)
        self.shares = np.repeat(shares, targets)

    def positives(self, n_labels: int) -> list[int]:
        """The column that each machine learns."""
        return super().positives(n_labels) * self.costs

    def bounds(
        self, linear: np.ndarray, bound: np.ndarray, machines: slice = slice(None)
    ) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi of examples with this p, shaped as p, of all machines or some."""
        return _shared(super().bounds(linear, bound), self.shares[machines])

    def unit_of(self, targets: np.ndarray, before: np.ndarray) -> np.ndarray:
        """The unit of each machine; ``before`` where all targets are the same."""
        return super().unit_of(np.tile(targets, self.costs), before)

    def make_exact(self, support: Support) -> None:
        """No unit is larger than what few examples can change at the cost of the machine."""
        np.minimum(support.unit, reach_of(support, self.shares), out=support.unit)
