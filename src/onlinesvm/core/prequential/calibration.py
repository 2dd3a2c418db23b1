"""Probabilities from scores, in which the most probable label is the predicted one.

    two labels     P(1 | f) = 1 / (1 + exp(-h(f)))
    several        P(k | f) = exp(h(f_k)) / sum_j exp(h(f_j))

h is a line with bends at 0 and at ``BENDS`` on both sides, the last being the margin: h(0) = 0, and all
slopes are positive.

Given: scores of examples predicted before they were learned, with their labels. Returned: the
slopes of least

    mean cross-entropy + (SIDES * squared differences between the two sides of zero
                          + NEIGHBOURS * those between the first and the second on one side
                          + BEYOND * those of the last from LEVEL times the second) / n

in units of the slope of the best straight line, found by projected Newton steps; the problem is convex.

Notes
-----
Six slopes of a hundred scores follow chance. The differences are those of a normal prior: the two
sides are much alike, neighbours within the margin differ if a few scores say so. Beyond the margin h is
rather level: the hinge loss asks nothing more of such an example, and where labels are noisy a larger
score is hardly a surer one. n is the number of scores of equal weight that would be as precise, so that
scores of very unequal weight count as few, and of thousands the prior is not felt.

Targets are not 0 and 1: of a label that n examples have, the next one has it with a probability of
about 1 - 1 / n, so that few examples of a rare label do not make anybody certain.

Platt's sigmoid has a slope and an offset, so that its most probable label may be another than the
predicted one, as in ``SVC``. Here h rises through zero at zero. Scores of zero, as a model gives
that has learned nothing, tell nothing about the slopes.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

BENDS = (0.5, 1.0)
"""Sizes of scores at which h bends: with one bend on each side, means were off by up to 0.009."""

SLOPES = 2 * len(BENDS) + 2

SIDES, NEIGHBOURS, BEYOND = 0.5, 0.02, 1.0
"""Strength of the prior: standard deviations of about 1, 5 and 0.7 times the slope of the straight line."""

LEVEL = 0.25
"""Slope beyond the margin to be expected, as a share of that before it. Where labels are noisy it is mostly
0 to 0.5, elsewhere up to 1."""

_LEAST = 1e-3
"""Smallest slope, in units of that of the straight line, and smallest of that one in units of
1 / average |f|: labels keep their order even if all were wrong."""

_STEPS = 50
_HALVINGS = 30
_TOLERANCE = 1e-9
_RIDGE = 1e-9

_LARGEST = 1e3
"""Logarithms of odds beyond this are the same: certain."""


def _prior() -> np.ndarray:
    """(slopes, slopes): of the quadratic form that punishes differences."""
    one, form = np.eye(SLOPES), np.zeros((SLOPES, SLOPES))
    pairs = [(i, i + 1, SIDES, 1.0) for i in range(0, SLOPES, 2)]
    pairs += [(i + 2, i, NEIGHBOURS, 1.0) for i in range(SLOPES - 4)]
    pairs += [(i + 2, i, BEYOND, LEVEL) for i in range(SLOPES - 4, SLOPES - 2)]
    for i, j, strength, share in pairs:
        difference = one[i] - share * one[j]
        form += strength * np.outer(difference, difference)
    return form


def _features(scores: np.ndarray) -> np.ndarray:
    """(n, labels, slopes): what the slopes multiply. One column of scores stands for two labels."""
    if scores.shape[1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    size, parts = np.abs(scores), []
    for low, high in pairwise((0.0, *BENDS, np.inf)):
        length = np.clip(size, low, high) - low
        parts += [np.where(scores < 0.0, -length, 0.0), np.where(scores > 0.0, length, 0.0)]
    return np.stack(parts, axis=2)


def _softmax(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def restricted(
    scores: np.ndarray, label: np.ndarray, weight: np.ndarray, present: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores (n, machines), labels and weights of the labels that are ``present`` alone.

    Labels are renumbered, in order; None: all are present. Examples that were forgotten, which have
    weight zero and scores of zero, are left out.
    """
    rows = (weight > 0.0) | scores.any(axis=1)
    if present is not None:
        rows &= present[label]
        label = (np.cumsum(present) - 1)[label]
    if not rows.all():
        scores, label, weight = scores[rows], label[rows], weight[rows]
    if present is not None and scores.shape[1] > 1:
        scores = scores[:, present]
    return scores, label, weight


def fit_slopes(
    scores: np.ndarray, label: np.ndarray, weight: np.ndarray, copies: np.ndarray | None = None
) -> np.ndarray:
    """The slopes of h, from scores (n, machines), labels 0, 1, ... and weights.

    ``copies``: how many examples each of them stands for.
    """
    size = np.abs(scores).mean() if len(scores) else 0.0
    if not 0.0 < size < np.inf:
        return np.ones(SLOPES)
    phi = _features(scores) / size
    n, labels = phi.shape[:2]
    count = np.bincount(label, copies, minlength=labels)[label]
    target = np.repeat(1.0 / (count + labels)[:, None], labels, axis=1)  # as in Platt (1999)
    target[np.arange(n), label] += count / (count + labels)
    share = (weight / weight.sum())[:, None]
    straight = _minimise(phi.sum(axis=2, keepdims=True), target, share, np.zeros((1, 1)))
    prior = _prior() * (share**2).sum()
    return _minimise(phi * straight, target, share, prior) * straight / size


def _minimise(
    phi: np.ndarray, target: np.ndarray, weight: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """The slopes of least loss, all at least ``_LEAST``."""
    slopes = np.ones(phi.shape[2])
    loss, chance = _loss(phi, target, weight, prior, slopes)
    for _ in range(_STEPS):
        step = _step(phi, weight, prior, chance - target, chance, slopes)
        for _ in range(_HALVINGS):
            trial = np.maximum(slopes + step, _LEAST)
            trial_loss, trial_chance = _loss(phi, target, weight, prior, trial)
            if trial_loss < loss:
                break
            step = step / 2
        else:
            break
        gain, loss, slopes, chance = loss - trial_loss, trial_loss, trial, trial_chance
        if gain < _TOLERANCE:
            break
    return slopes


def _step(
    phi: np.ndarray, weight: np.ndarray, prior: np.ndarray, error: np.ndarray,
    chance: np.ndarray, slopes: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """The Newton step of the slopes that may move."""
    d = len(slopes)
    gradient = (weight * error).ravel() @ phi.reshape(-1, d) + 2.0 * prior @ slopes
    centred = (phi - chance[:, None] @ phi).reshape(-1, d)
    hessian = (centred * (weight * chance).reshape(-1, 1)).T @ centred + 2.0 * prior
    free = np.flatnonzero((slopes > _LEAST) | (gradient < 0.0))
    step = np.zeros(d)
    step[free] = -np.linalg.solve(
        hessian[np.ix_(free, free)] + _RIDGE * np.eye(len(free)), gradient[free]
    )
    return step


def _loss(
    phi: np.ndarray, target: np.ndarray, weight: np.ndarray, prior: np.ndarray, slopes: np.ndarray
) -> tuple[float, np.ndarray]:
    chance = _softmax(phi @ slopes)
    surprise = -float((weight * target * np.log(np.maximum(chance, 1e-300))).sum())
    return surprise + float(slopes @ prior @ slopes), chance


def probabilities(scores: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """P of each label, (n, labels), from scores (n, machines)."""
    with np.errstate(over="ignore"):
        logits = _features(scores) @ slopes
    return _softmax(np.clip(logits, -_LARGEST, _LARGEST))


def follow(chance: np.ndarray, winner: np.ndarray) -> np.ndarray:
    """The same where rounding has left a tie: the winner is the first of the largest."""
    rows = np.flatnonzero(chance.argmax(axis=1) != winner)
    largest = chance[rows].max(axis=1)
    chance[rows, winner[rows]] = np.nextafter(largest, 2.0)
    return chance
