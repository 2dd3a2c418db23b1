"""Which example next: the criteria of lasvm-2005, section 4, on decision values.

    gradient      k = argmin_k  y_k f(x_k)      (eq. 12)   the most misclassified
    active        k = argmin_k  |f(x_k)|        (eq. 13)   the closest to the boundary

Given decision values, (n,) of one machine or (n, classes) of one machine per class, both return one
number an example, the smallest being the one to choose. With several classes the boundary is
where the two best are equal, and the distance from it is half their difference, which for two
classes with f_2 = -f_1 is |f| again. With several labels per example every label has a boundary,
and the nearest one counts. Plain NumPy: anything with a decision function can use it.
"""

from __future__ import annotations

import numpy as np

RANDOM, GRADIENT, ACTIVE, AUTOACTIVE = "random", "gradient", "active", "autoactive"
SELECTIONS = (RANDOM, GRADIENT, ACTIVE, AUTOACTIVE)

NEAR_ENOUGH = 5
"""AUTOACTIVE stops sampling after this number of examples within 1 + delta / 2 of the boundary ..."""

MOST_SAMPLED = 100
"""... or after this number in all."""


def distance(values: np.ndarray) -> np.ndarray:
    """|f|, or half the difference between the two best classes."""
    if values.ndim == 1 or values.shape[1] == 1:
        return abs(values.reshape(len(values)))
    two = np.partition(values, -2, axis=1)[:, -2:]
    return (two[:, 1] - two[:, 0]) / 2


def nearest_label(values: np.ndarray, started: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of several labels per example: min |f| over the labels, and the column where it is, (n,) each.

    Only the labels that have ``started`` have a boundary; at least one of them has.
    """
    distances = np.where(started, np.abs(values), np.inf)
    column = distances.argmin(axis=1)
    return np.take_along_axis(distances, column[:, None], axis=1)[:, 0], column


def agreement(values: np.ndarray, label: np.ndarray) -> np.ndarray:
    """y f, or half of how far the value of the true class is above the best other one.

    ``label`` is the column of the true class; of one machine, 1 where y = +1.
    """
    if values.ndim == 1 or values.shape[1] == 1:
        return np.where(label == 1, 1.0, -1.0) * values.reshape(len(values))
    own = np.take_along_axis(values, label[:, None], axis=1)[:, 0]
    others = values.copy()
    np.put_along_axis(others, label[:, None], -np.inf, axis=1)
    return (own - others.max(axis=1)) / 2


def sets_of_equal_size(n: int, size: int) -> list[tuple[int, int]]:
    """Candidates in order, ``size`` of them for each choice."""
    return [(first, min(first + size, n)) for first in range(0, n, size)]


def sets_until_enough(values: np.ndarray, reach: float, n_sets: int) -> list[tuple[int, int]]:
    """AUTOACTIVE: each set ends with its fifth example within ``reach``, or its hundredth.

    ``values`` are distances in the order of sampling. At most ``n_sets`` sets; one that the
    candidates do not suffice for is left out, unless it is the only one.
    """
    near = np.append(0, np.cumsum(values < reach))
    sets: list[tuple[int, int]] = []
    first = 0
    while first < len(values) and len(sets) < n_sets:
        last = min(int(np.searchsorted(near, near[first] + NEAR_ENOUGH)), first + MOST_SAMPLED)
        if last > len(values) and sets:
            break
        sets.append((first, min(last, len(values))))
        first = last
    return sets


def best_of(scores: np.ndarray, sets: list[tuple[int, int]]) -> np.ndarray:
    """Place of the smallest score in each set."""
    return np.array([first + scores[first:last].argmin() for first, last in sets], np.int64)
