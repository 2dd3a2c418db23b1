"""Input of a learner: examples as parallel arrays, one entry for each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .kernel.rows import Rows


class Examples(NamedTuple):
    """Rows, the numbers of their labels, their bounds C, k(x, x), and their row indices in X."""

    rows: Rows
    label: np.ndarray
    bound: np.ndarray
    diagonal: np.ndarray
    key: np.ndarray  # negative on a stream (``keys``)

    def take(self, which: np.ndarray | slice) -> Examples:
        """Some of them."""
        return Examples(self.rows.take(which), *(array[which] for array in self[1:]))
