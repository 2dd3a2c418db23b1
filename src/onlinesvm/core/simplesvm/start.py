"""Where SimpleSVM starts: a close pair of opposite classes (simplesvm-2003, section 3.1).

``closest_pair``   Algorithm 2: the nearest point of the other class, back and forth
``best_of_pairs``  the closest of 59 random pairs, better than 95 % of all with probability 0.95
``any_pair``       one pair drawn at random

Distances are those of feature space, k(x, x) + k(z, z) - 2 k(x, z).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .kernel_store import KernelStore

N_PAIRS = 59

Draw = tuple[np.ndarray, np.ndarray]


def _sides(y: np.ndarray) -> Draw:
    return np.flatnonzero(y > 0), np.flatnonzero(y < 0)


def any_pair(y: np.ndarray, store: KernelStore, rng: np.random.Generator) -> np.ndarray:
    """A random example of each class."""
    positive, negative = _sides(y)
    return np.array([rng.choice(positive), rng.choice(negative)])


def best_of_pairs(y: np.ndarray, store: KernelStore, rng: np.random.Generator) -> np.ndarray:
    """The closest of 59 random pairs."""
    positive, negative = _sides(y)
    left, right = rng.choice(positive, N_PAIRS), rng.choice(negative, N_PAIRS)
    pairs = [store.values(x, right[q : q + 1])[0] for q, x in enumerate(left)]
    diagonal = store.rows.diagonal()
    distance = diagonal[left] + diagonal[right] - 2 * np.array(pairs)
    best = int(distance.argmin())
    return np.array([left[best], right[best]])


def closest_pair(y: np.ndarray, store: KernelStore, rng: np.random.Generator) -> np.ndarray:
    """Algorithm 2, from a random pair until the distance stays the same."""
    sides = _sides(y)
    diagonal = store.rows.diagonal()
    pair = any_pair(y, store, rng)
    distance = np.inf
    while True:
        for mine, others in ((0, 1), (1, 0)):
            x = pair[mine]
            values = store.values(x, sides[others])
            away = diagonal[x] + diagonal[sides[others]] - 2 * values
            pair[others] = sides[others][away.argmin()]
        if away.min() >= distance:
            return pair
        distance = away.min()


STARTS: dict[str, Callable[..., np.ndarray]] = {
    "closest": closest_pair,
    "pairs": best_of_pairs,
    "random": any_pair,
}
