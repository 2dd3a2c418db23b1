"""What the labels of a regressor and of a novelty detector mean: the kin of ``LabelBook``."""

from __future__ import annotations

from typing import Any

import numpy as np


class Targets:
    """One machine per column of y; the targets are their own numbers."""

    def __init__(self, columns: int, two_dimensional: bool):
        self.columns, self.two_dimensional = columns, two_dimensional
        self.classes = np.empty(0)  # there are none

    def __len__(self) -> int:
        return self.columns

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Targets as the learner takes them, (n, machines)."""
        return np.asarray(y, np.float64).reshape(len(y), self.columns)

    def decode(self, values: np.ndarray) -> np.ndarray:
        """Predictions in the shape of the y that was learned."""
        return values.reshape(len(values), self.columns) if self.two_dimensional else values

    def order(self) -> np.ndarray:
        """Machines in the order of the columns."""
        return np.arange(self.columns)


class NoTargets(Targets):
    """One machine, and labels that say nothing."""

    def __init__(self) -> None:
        super().__init__(1, False)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Zeros, one for each example."""
        return np.zeros(len(y), np.int64)


def check_targets(y: Any, known: Targets | None) -> tuple[np.ndarray, Targets]:
    """Numbers, as many columns as before, and what they mean; or one clear error."""
    try:
        y = np.asarray(y, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers to predict, one per example: {error}.") from error
    found = Targets(y.shape[1] if y.ndim == 2 else 1, y.ndim == 2)
    if known is not None and _shape(known) != _shape(found):
        raise ValueError(
            f"y has {_shape(found)}, but the examples learned so far had {_shape(known)}."
        )
    return y, found


def _shape(targets: Targets) -> str:
    if not targets.two_dimensional:
        return "one dimension"
    return f"two dimensions with {targets.columns} column(s)"
