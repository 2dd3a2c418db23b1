"""Statistics of the answers: accuracy, recall, agreement of annotators.

    accuracy_interval     share of correct predictions among random items, with its interval
    recall_p_value        whether enough of a class was found
    cohen_kappa           agreement of two annotators beyond chance

Recall. Of N items, r of a class are found after some answers. If the share found were below the
target, there would be at least ``floor(r / target) + 1`` items of the class. The last n answers are
taken as draws without replacement from the items that were open before them. Had these been drawn at
random, the number k of the class among them would have the hypergeometric distribution, and

    p = P(K <= k)      under the smallest number of items left that contradicts the target

Items that are likely of the class come first, so more of them are found than by chance, if the order
is worth anything: then p is too large rather than too small. Items that were asked about for another
reason (likely of another class, a grid of another class, uncertain) may be less likely of the class than
others: a run of such answers says nothing, and they only leave the items that are open. See Callaghan and Müller-Hansen (2020),
"Statistical stopping criteria for automated screening in systematic reviews".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

LEVEL = 0.9
"""Probability with which an interval of the accuracy covers the truth."""

STABLE = 0.99
"""Agreement (Cohen's kappa) from which predictions before and after count as unchanged ..."""

WINDOWS = 3
"""... if it lasts for this number of comparisons."""


class Accuracy(NamedTuple):
    """Share of correct predictions, and the interval that covers it with probability ``LEVEL``."""

    right: int
    n: int
    value: float
    low: float
    high: float


@lru_cache(4096)  # the panel shows hundreds of earlier ones with each question
def accuracy_interval(right: int, n: int, level: float = LEVEL) -> Accuracy | None:
    """Wilson's score interval; None without any item."""
    if n == 0:
        return None
    z = NormalDist().inv_cdf(0.5 + level / 2)
    share, spread = right / n, z * z / n
    centre = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * np.sqrt(share * (1 - share) / n + spread / (4 * n))
    low = 0.0 if right == 0 else max(0.0, centre - half)
    high = 1.0 if right == n else min(1.0, centre + half)
    return Accuracy(right, n, share, float(low), float(high))


def recall_p_value(
    found: Sequence[bool], pool: int, target: float = 0.95, drawn: Sequence[bool] | None = None
) -> float:
    """p-value of the hypothesis that less than ``target`` of the class was found.

    Parameters
    ----------
    found : sequence of bool
        Whether each answer, in order, was of the class.
    pool : int
        Total number of items, including answered ones.
    target : float, default=0.95
        Share of the class that should be found.
    drawn : sequence of bool or None, default=None
        Whether each answer is about an item drawn at random, or because it is likely of the class;
        others are no evidence. None: all of them are.

    Returns
    -------
    p : float
        Of the answers since the last one that was of the class; 1 if none was found.
    """
    outcomes = np.asarray(found, bool)
    total = int(outcomes.sum())
    if total == 0:
        return 1.0
    fewest = int(np.floor(total / target + 1e-9)) + 1  # of the class, if the target is missed
    missing = fewest - total
    if missing > pool - len(outcomes):
        return 0.0  # there are not so many items left
    since = np.arange(int(np.flatnonzero(outcomes)[-1]) + 1, len(outcomes))  # the last find
    if drawn is not None:
        since = since[np.asarray(drawn, bool)[since]]
    return float(np.prod(1.0 - missing / (pool - since)))  # each misses, of those open before it


def cohen_kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa of pairs of labels; None if it is undefined, or without any pair."""
    if not pairs:
        return None
    first, second = np.array(pairs).T
    agreed = float(np.mean(first == second))
    labels = np.union1d(first, second)
    chance = sum(float(np.mean(first == k) * np.mean(second == k)) for k in labels)
    if chance >= 1.0:
        return 1.0 if agreed == 1.0 else None
    return (agreed - chance) / (1.0 - chance)


def has_settled(agreements: Sequence[float]) -> bool:
    """Whether predictions of the pool have stopped changing."""
    last = agreements[-WINDOWS:]
    return len(last) == WINDOWS and min(last) >= STABLE
