"""The weights of the examples that count for the sum of the coefficients of one class.

    sum_i a_i = nu sum_i w_i,   over all examples learned, whether they are stored or not

An example that is forgotten takes nu w_i with it, so the weight of each is kept, by its key
(``core.keys``). With limits, ``online.memory`` knows what each example has brought.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..keys import Leaving, arrival_keys
from ..runtime.compact import Compact


class Counted(Compact):
    """Weights of examples, zero where an example was not learned or is forgotten."""

    def __init__(self) -> None:
        self.of_fit = np.zeros(0)  # by number
        self.of_stream = np.zeros(0)  # in the order of arrival
        self.unnumbered = 0.0  # sum of the weights of examples without a number

    def _in_use(self) -> dict[str, Any]:
        cut = {name: np.trim_zeros(getattr(self, name), "b") for name in ("of_fit", "of_stream")}
        return self.__dict__ | cut

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.of_fit.sum() + self.of_stream.sum() + self.unnumbered)

    def note(self, key: np.ndarray, weight: np.ndarray) -> None:
        """Examples are learned."""
        own, arrived = key >= 0, key < -1
        self.of_fit = _written(self.of_fit, key[own], weight[own])
        self.of_stream = _written(self.of_stream, arrival_keys(key[arrived]), weight[arrived])
        self.unnumbered += float(weight[key == -1].sum())

    def note_one(self, key: int, weight: float) -> None:
        """One example of a stream is learned."""
        number = arrival_keys(key)
        if 0 <= number < len(self.of_stream):
            self.of_stream[number] = weight
        else:
            self.note(np.array([key]), np.array([weight]))

    def forget(self, leaving: Leaving) -> None:
        """These examples no longer count; the others of a data set are renumbered."""
        n = len(leaving.stays)
        known = np.pad(self.of_fit[:n], (0, max(0, n - len(self.of_fit))))
        self.of_fit = known[leaving.stays]
        number = arrival_keys(leaving.arrived)
        self.of_stream[number[number < len(self.of_stream)]] = 0.0


def _written(weights: np.ndarray, number: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The same weights, with those of more examples; at least twice as much space where it is short."""
    needed = int(number.max(initial=-1)) + 1
    if needed > len(weights):
        weights = np.pad(weights, (0, max(needed, 2 * len(weights)) - len(weights)))
    weights[number] = weight
    return weights
