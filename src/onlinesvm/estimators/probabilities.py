"""Probabilities and prediction sets from scores of examples by models that had not learned them.

See ``core/prequential``: nothing here computes a kernel value that ``decision_function`` does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import trained_of
from .labels import check_share


def has_probabilities(estimator: Any) -> bool:
    """Whether ``predict_proba`` is available; calibrates it if that was not done yet."""
    trained = trained_of(estimator) if hasattr(estimator, "predict_proba") else None
    return trained is not None and trained.has_chances()


def chances(
    scores: np.ndarray, order: np.ndarray, slopes: np.ndarray, winners: np.ndarray
) -> np.ndarray:
    """Probabilities (n, classes) from scores of the classes; those of ``winners`` are the largest.

    ``order`` is the number of each class: recorded scores are in the order of appearance of the
    labels.
    """
    from ..core.prequential.calibration import follow, probabilities

    if len(order) == 1:
        return np.ones((len(scores), 1))
    if scores.ndim == 2:
        return follow(probabilities(_exchanged(scores, winners), slopes), winners)
    swapped, scores = order[1] == 0, scores[:, None]
    chance = probabilities(-scores if swapped else scores, slopes)
    chance = np.ascontiguousarray(chance[:, ::-1]) if swapped else chance
    return follow(chance, winners)


def _exchanged(scores: np.ndarray, winners: np.ndarray) -> np.ndarray:
    """Scores (n, classes) in which the winners are best.

    Votes may differ from scores if three classes beat each other in a cycle; then the scores of the
    winner and of the best class are swapped.
    """
    best = scores.argmax(axis=1)
    rows = np.flatnonzero(best != winners)
    if len(rows):
        scores, best, own = scores.copy(), best[rows], winners[rows]
        scores[rows, best], scores[rows, own] = scores[rows, own], scores[rows, best]
    return scores


def chances_of_present(
    scores: np.ndarray, present: np.ndarray, slopes: np.ndarray, winners: np.ndarray
) -> np.ndarray:
    """The same where only some classes are ``present``, in the order of the scores: 0 for others."""
    chance = np.zeros((len(winners), len(present)))
    if present.sum() == 1:
        chance[:, present] = 1.0
        return chance
    place = np.maximum(np.cumsum(present) - 1, 0)[winners]
    some = scores[:, present]
    chance[:, present] = chances(some, np.arange(some.shape[1]), slopes, place)
    return chance


def sets_of_present(
    scores: np.ndarray, present: np.ndarray, q: np.ndarray, alpha: float
) -> np.ndarray:
    """As ``sets_of`` where only some classes are ``present``; others are in no set."""
    sets = np.zeros((len(scores), len(present)), bool)
    some = scores if scores.shape[1] == 1 else scores[:, present]
    sets[:, present] = sets_of(some, int(present.sum()), q, alpha)
    return sets


def check_alpha(alpha: Any) -> None:
    """Refuse an alpha that is not between 0 and 1."""
    check_share(alpha, "alpha")


def sets_of(values: np.ndarray, n_classes: int, q: np.ndarray, alpha: float) -> np.ndarray:
    """Whether each class is in the set of each example, (n, classes); ``q`` are thresholds."""
    from ..core.prequential.record import excess
    from ..core.prequential.thresholds import interpolated

    threshold, n = interpolated(q, alpha), len(values)
    if n_classes == 1:
        return np.ones((n, 1), bool)
    columns = [excess(values, np.full(n, k)) <= threshold for k in range(n_classes)]
    return np.stack(columns, axis=1)
