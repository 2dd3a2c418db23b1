"""Probabilities from scores, in which the most probable label is the predicted one.

    two labels     P(1 | f) = 1 / (1 + exp(-h(f)))
    several        P(k | f) = exp(h(f_k)) / sum_j exp(h(f_j))
    h(f) = u min(f, 0) + v max(f, 0),    u, v > 0

Given: scores of examples predicted before they were learned, with their labels. Returned: the
slopes u and v that maximise the likelihood, found by Newton steps; the problem is convex.

Notes
-----
Platt's sigmoid has a slope and an offset, so that its most probable label may be another than the
predicted one, as in ``SVC``. Two slopes have as many parameters, and h(0) = 0. A score of zero, as
a model gives that has learned nothing, tells nothing about them.
"""

from __future__ import annotations

import numpy as np

_LEAST = 1e-3
"""Smallest slope, in units of 1 / average |f|: labels keep their order even if all were wrong."""

_STEPS = 50
_HALVINGS = 30
_TOLERANCE = 1e-10


def _features(scores: np.ndarray) -> np.ndarray:
    """(n, labels, 2): what u and v multiply, for each label. One column stands for two labels."""
    if scores.shape[1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    return np.stack([np.minimum(scores, 0.0), np.maximum(scores, 0.0)], axis=2)


def _softmax(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def fit_slopes(scores: np.ndarray, label: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """u and v, from scores (n, machines), labels 0, 1, ... and weights."""
    size = np.abs(scores).mean() if len(scores) else 0.0
    if not 0.0 < size < np.inf:
        return np.ones(2)
    phi = _features(scores / size)
    n, labels = phi.shape[:2]
    target = np.full((n, labels), 1.0 / (n + labels))  # not 0 and 1: slopes stay finite
    target[np.arange(n), label] += n / (n + labels)
    return _minimise(phi, target, (weight / weight.sum())[:, None]) / size


def _minimise(phi: np.ndarray, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Projected Newton steps on the cross-entropy, with both slopes at least ``_LEAST``."""
    slopes = np.ones(2)
    loss, chance = _loss(phi, target, weight, slopes)
    for _ in range(_STEPS):
        gradient = np.einsum("nk,nkf->f", weight * (chance - target), phi)
        centred = phi - np.einsum("nk,nkf->nf", chance, phi)[:, None]
        hessian = np.einsum("nk,nkf,nkg->fg", weight * chance, centred, centred)
        free = (slopes > _LEAST) | (gradient < 0.0)
        step = np.where(free, -gradient / np.maximum(hessian.diagonal(), 1e-12), 0.0)
        if free.all() and np.linalg.det(hessian) > 1e-12 * hessian.diagonal().prod() > 0.0:
            step = -np.linalg.solve(hessian, gradient)
        for _ in range(_HALVINGS):
            trial = np.maximum(slopes + step, _LEAST)
            trial_loss, trial_chance = _loss(phi, target, weight, trial)
            if trial_loss < loss:
                break
            step = step / 2
        else:
            break
        gain, loss, slopes, chance = loss - trial_loss, trial_loss, trial, trial_chance
        if gain < _TOLERANCE:
            break
    return slopes


def _loss(
    phi: np.ndarray, target: np.ndarray, weight: np.ndarray, slopes: np.ndarray
) -> tuple[float, np.ndarray]:
    chance = _softmax(phi @ slopes)
    return -float((weight * target * np.log(np.maximum(chance, 1e-300))).sum()), chance


def probabilities(scores: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """P of each label, (n, labels), from scores (n, machines)."""
    return _softmax(_features(scores) @ slopes)


def follow(chance: np.ndarray, winner: np.ndarray) -> np.ndarray:
    """The same where rounding has left a tie: the winner is the first of the largest."""
    rows = np.flatnonzero(chance.argmax(axis=1) != winner)
    largest = chance[rows].max(axis=1)
    chance[rows, winner[rows]] = np.nextafter(largest, 2.0)
    return chance
