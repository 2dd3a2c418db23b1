"""Which item to ask about next.

    uncertain    the smallest distance from the boundary in a sample, near the last questions
                 counting against it: the closest ones are often ten of the same
    likely       the largest decision value of a class
    farthest     while fewer than two classes are known: unlike everything asked so far

All are functions of a learner and numbers of items; the same input gives the same choice.
"""

from __future__ import annotations

import numpy as np

from ..active.learner import ActiveLearner
from ..core.lasvm.choose.criteria import distance
from .teaching import class_values

SAMPLE = 256
"""Items among which a question is chosen."""

SHARP = 4
"""Power of the similarity to the last questions: near copies are avoided, others are hardly
affected."""

RECENT = 8
"""Questions that count as the last ones."""


def drawn(open_: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Up to n of the open items, in random order; all of them if there are no more."""
    if len(open_) <= n:
        return rng.permutation(open_)
    found = np.unique(rng.integers(0, len(open_), 2 * n))
    while len(found) < n:
        found = np.unique(np.append(found, rng.integers(0, len(open_), 2 * n)))
    return open_[rng.permutation(found)[:n]]


def uncertain(learner: ActiveLearner, candidates: np.ndarray, recent: np.ndarray) -> int:
    """The candidate to ask about."""
    classes, values = class_values(learner, candidates)
    if len(classes) < 2:
        return farthest(learner, candidates, recent)
    cost = distance(values)
    scale = float(np.median(cost))
    cost = cost / scale if scale > 0 else np.zeros(len(cost))
    if len(recent):
        near = learner.similarities(candidates, recent).max(axis=1)
        cost = cost + np.maximum(near, 0.0) ** SHARP
    return int(candidates[cost.argmin()])


def farthest(learner: ActiveLearner, candidates: np.ndarray, known: np.ndarray) -> int:
    """The candidate that is least similar to the labelled items."""
    if not len(known):
        return int(candidates[0])
    return int(candidates[learner.similarities(candidates, known).max(axis=1).argmin()])


def likely(learner: ActiveLearner, candidates: np.ndarray, label: int) -> np.ndarray:
    """The candidates, those most likely of a class first."""
    classes, values = class_values(learner, candidates)
    if label not in classes:
        return candidates
    if len(classes) < 2:  # nothing to tell it from yet: those most like what was found
        score = learner.similarities(candidates, learner.taught[-RECENT:]).max(axis=1)
    else:
        score = values[:, classes.index(label)]
    return np.asarray(candidates[np.argsort(-score, kind="stable")])
