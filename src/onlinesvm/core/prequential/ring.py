"""Arrays that keep the last examples of a stream: example i has the place i % size."""

from __future__ import annotations

import numpy as np

from ..keys import Leaving


def places(n: int, size: int) -> np.ndarray:
    """The places of the last of n examples, the oldest first."""
    return np.arange(n - min(n, size), n) % size


def places_left(n: int, key: np.ndarray, leaving: Leaving) -> np.ndarray:
    """The same without those of examples that leave; ``key``: the key in each place."""
    order = places(n, len(key))
    return order[~leaving.among(key[order])]


def move_to_front(left: np.ndarray, key: np.ndarray, *arrays: np.ndarray) -> int:
    """Keys and values of the places that are left take the first places; returns their number."""
    n = len(left)
    for array, unused in ((key, -1), *((each, 0.0) for each in arrays)):
        kept = array[left]
        array[:] = unused
        array[:n] = kept
    return n


def padded_keys(key: np.ndarray | None, size: int) -> np.ndarray:
    """Keys of all places, of a state in which those not in use, or all, were left out."""
    key = np.empty(0, np.int64) if key is None else key
    return np.pad(key, (0, size - len(key)), constant_values=-1)
