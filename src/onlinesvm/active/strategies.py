"""Which example to ask about next: strategies over a pool, for any classifier.

A strategy is a function of a classifier and candidates that returns their utilities, one number
each, the highest being the one to ask about:

    active   - |f(x)|, the closest to the boundary (lasvm-2005, eq. 13); with several classes, the
             smallest margin between the two best; with several labels per example, the smallest
             |f(x)| of a label

It needs only the classifier's ``decision_function``. ``diverse`` is used while there is no boundary
yet, ``best_of_samples`` is the randomised search of section 4.3.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from ..core.lasvm.choose.criteria import distance, nearest_label
from ..estimators.pool_access import started_labels

Strategy = Callable[[Any, Any], np.ndarray]

Distances = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Squared distances between two lists of candidates, (first, second); not above 0 for copies."""

CANDIDATES = 10
"""Number of best candidates per question of a batch."""

SHARP = 8
"""Power of the similarity to an earlier question of the batch: near duplicates are avoided, and
others are hardly affected. With a power of one, batches were worse than questions asked one by
one."""


def active(estimator: Any, X: Any) -> np.ndarray:
    """Utility of each row of X: minus its distance from the classifier's boundary.

    Parameters
    ----------
    estimator : classifier
        Fitted, with a ``decision_function``.
    X : {array-like, CSR matrix} of shape (n_samples, n_features)
        Candidates.

    Returns
    -------
    utilities : ndarray of shape (n_samples,)
        At most zero; zero on the boundary.
    """
    return -boundary_distance(estimator, np.asarray(estimator.decision_function(X), np.float64))


def boundary_distance(estimator: Any, values: np.ndarray) -> np.ndarray:
    """Distance from the classifier's boundary, (n,), from decision values."""
    started = started_labels(estimator)
    return distance(values) if started is None else nearest_label(values, started)[0]


STRATEGIES = ("active", "random")
"""Names of strategies; ``"random"`` asks in random order."""


def check_selection(selection: Any, sample_size: Any) -> None:
    """Refuse an unknown strategy, or a sample size that is not positive."""
    if not callable(selection) and selection not in STRATEGIES:
        raise ValueError(
            f"selection={selection!r} does not exist; choose one of {', '.join(STRATEGIES)}, or pass "
            "a function of a model and candidates."
        )
    if sample_size is not None and not is_count(sample_size):
        raise ValueError(f"sample_size must be None or at least 1; got {sample_size!r}.")


def is_count(n: Any) -> bool:
    """Whether n is an integer of at least 1."""
    return not isinstance(n, bool) and isinstance(n, Integral) and int(n) >= 1


def check_utilities(utilities: Any, n: int) -> np.ndarray:
    """A strategy's utilities for n candidates; raises an error if invalid."""
    found = np.asarray(utilities, np.float64)
    if found.shape != (n,):
        raise ValueError(
            f"The strategy returned an array of shape {found.shape} for {n} candidates; it must "
            "return one utility for each."
        )
    if np.isnan(found).any():
        raise ValueError("The strategy returned NaN; utilities must be numbers.")
    return found


def best_of_samples(utilities: np.ndarray, n: int, distances: Distances) -> np.ndarray:
    """Positions of n candidates: the best of each of n parts of the randomly ordered candidates.

    A duplicate of another choice is replaced by the next best of its part.
    """
    if n == 1:
        return np.array([utilities.argmax()])
    bounds = np.linspace(0, len(utilities), n + 1).astype(int)
    found = [a + utilities[a:b].argmax() for a, b in zip(bounds[:-1], bounds[1:])]
    for i in range(1, n):
        part = bounds[i] + best(utilities[bounds[i] : bounds[i + 1]], bounds[i + 1] - bounds[i])
        others = np.array(found[:i])
        if distances(part[:1], others).min() <= 0.0:
            new = np.flatnonzero(distances(part, others).min(axis=1) > 0.0)
            found[i] = part[new[0]] if len(new) else found[i]
    return np.array(found)


def best(utilities: np.ndarray, n: int) -> np.ndarray:
    """Positions of the n best candidates, the best first; of ties, the first."""
    if n == 1:
        return np.array([utilities.argmax()])
    return np.argsort(-utilities, kind="stable")[:n]


def best_apart(utilities: np.ndarray, n: int, distances: Distances) -> np.ndarray:
    """Positions of n good candidates that differ from each other, the best first.

    The candidates closest to the boundary may be nearly identical, and so would be their labels.
    Each choice after the first is the candidate with the smallest sum of two numbers between 0 and
    1: its lack of utility, and its similarity to an earlier choice (to the power ``SHARP``).
    Candidates with a utility of minus infinity are chosen only if no others are left.
    """
    if n == 1:
        return best(utilities, 1)
    order, size = best(utilities, len(utilities)), CANDIDATES * n
    wanted = order[utilities[order] > -np.inf]
    if not len(wanted):
        return order[:n]
    while True:
        chosen = _apart(wanted[:size], utilities, n, distances)
        if len(chosen) == n or size >= len(wanted):
            break
        size *= 4  # many copies
    rest = order[~np.isin(order, chosen)]
    return np.concatenate([chosen, rest[: n - len(chosen)]])


def _apart(order: np.ndarray, utilities: np.ndarray, n: int, distances: Distances) -> np.ndarray:
    """Up to n of the candidates ``order`` (best first), without duplicates."""
    highest = utilities[order[0]]
    if highest == np.inf:
        lacks = np.where(utilities[order] == np.inf, 0.0, 1.0)
    else:
        lacks = highest - utilities[order]
    lacks /= max(lacks[-1], 1e-300)
    nearest, chosen = distances(order, order[:1])[:, 0], [0]
    nearest[0] = 0.0
    scale = max(nearest.mean(), 1e-300)
    while len(chosen) < n:
        near = np.maximum(1.0 - nearest / scale, 0.0)
        cost = np.where(nearest > 0.0, lacks + near**SHARP, np.inf)
        k = int(cost.argmin())
        if cost[k] == np.inf:
            break
        chosen.append(k)
        nearest = np.minimum(nearest, distances(order, order[k : k + 1])[:, 0])
        nearest[k] = 0.0
    return order[chosen]


def diverse(nearest: np.ndarray, n: int, distances: Callable[[int], np.ndarray]) -> np.ndarray:
    """Farthest first: each choice is the candidate farthest from all known examples.

    ``nearest`` is each candidate's distance from what is known already (all infinite if that is
    nothing), ``distances(k)`` the one from candidate k.
    """
    nearest = nearest.copy()
    chosen: list[int] = []
    for _ in range(min(n, len(nearest))):
        k = int(nearest.argmax())
        chosen.append(k)
        nearest = np.minimum(nearest, distances(k))
        nearest[chosen] = -np.inf
    return np.array(chosen, np.int64)


def sample(
    open_: np.ndarray,
    n: int,
    strategy: str | Strategy,
    sample_size: int | None,
    rng: np.random.Generator,
) -> np.ndarray:
    """Candidates for n questions, in random order; without sampling all of them, in their order."""
    if strategy == "random":
        return rng.choice(open_, n, replace=False)
    if sample_size is None:
        return open_
    return rng.choice(open_, min(n * sample_size, len(open_)), replace=False)
