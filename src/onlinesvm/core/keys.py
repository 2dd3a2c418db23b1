"""Keys of examples: what the rows of a learner are known by.

Examples of a data set have their numbers 0, 1, 2, ... as keys; examples of a stream -2, -3, -4, ... in
the order of their arrival. The key of an example that has no number is -1.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

Number = TypeVar("Number", int, np.ndarray)


def arrival_keys(number: Number) -> Number:
    """Keys of examples of a stream, from their numbers in the order of arrival, and back."""
    return -2 - number


class Leaving(NamedTuple):
    """Examples that are forgotten, by their keys; the others of a data set are renumbered, in order."""

    stays: np.ndarray  # of each example of the data set, whether it stays
    arrived: np.ndarray  # keys of those of a stream

    def among(self, keys: np.ndarray) -> np.ndarray:
        """Whether each of these keys is that of an example which leaves."""
        leaves = np.isin(keys, self.arrived)
        own = self._numbered(keys)
        leaves[own] = ~self.stays[keys[own]]
        return leaves

    def renumber(self, keys: np.ndarray) -> None:
        """Give those that stay their new numbers; keys of a stream do not change."""
        own = self._numbered(keys)
        keys[own] = (np.cumsum(self.stays) - 1)[keys[own]]

    def _numbered(self, keys: np.ndarray) -> np.ndarray:
        return (keys >= 0) & (keys < len(self.stays))
