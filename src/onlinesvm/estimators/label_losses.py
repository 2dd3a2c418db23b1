"""What models of labels lose on held-out rows: wrong labels, and how sure they were.

Of a hundred rows only those near the boundary tell two models apart by their wrong labels, and often by chance.
So half of a loss is whether the label is wrong, and half the probability that the model gives to all other labels.
That probability is 1 / (1 + exp(slope * margin)), where the margin of a row is the score of its label minus the
largest score of another one, and the slope is the most likely one for all rows that the model is scored on.
"""

from __future__ import annotations

import numpy as np

STEEPEST = 50.0
"""The largest slope, for margins of mean size one: all labels may be right."""

STEPS, CLOSE = 30, 1e-3
"""Number of steps to the most likely slope, and the relative change that ends them."""


def margins_of(scores: np.ndarray, classes: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Margins of rows; negative where another label is predicted.

    ``scores`` are (n, classes), or (n,) for the second of two classes. A label that is none of the classes has
    no score: its margin is as negative as if it had the least.
    """
    order = np.argsort(classes)
    place = order[np.minimum(np.searchsorted(classes, truth, sorter=order), len(classes) - 1)]
    known = classes[place] == truth
    if scores.ndim == 1:
        return np.where(known, np.where(place == 1, scores, -scores), -np.abs(scores))
    rows, others = np.arange(len(scores)), np.array(scores, np.float64)
    own = np.where(known, others[rows, place], others.min(axis=1))
    others[rows[known], place[known]] = -np.inf
    return np.asarray(own - others.max(axis=1))


def losses_of_labels(wrong: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """The loss of each row, from 0 to 1, given whether its label is wrong, and its margin."""
    return np.asarray(0.5 * wrong + 0.5 * doubts(margins))


def doubts(margins: np.ndarray) -> np.ndarray:
    """The probability of all labels but the right one, for each row."""
    size = float(np.abs(margins).mean())
    if not size > 0:
        return np.full(len(margins), 0.5)
    return _logistic(most_likely_slope(margins / size) * margins / size)


def most_likely_slope(margins: np.ndarray) -> float:
    """The slope of the most likely probabilities, from 0 to ``STEEPEST``: safeguarded Newton steps."""
    low, high, slope, squares = 0.0, STEEPEST, 1.0, margins**2
    for _ in range(STEPS):
        doubt = _logistic(slope * margins)
        growth = float(margins @ doubt)
        low, high = (slope, high) if growth > 0 else (low, slope)
        bend = float(squares @ (doubt * (1.0 - doubt)))
        step = slope + growth / bend if bend > 0 else high
        after = step if low < step < high else 0.5 * (low + high)
        if abs(after - slope) <= CLOSE * slope:
            return after
        slope = after
    return slope


def _logistic(values: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(values))."""
    return np.asarray(1.0 / (1.0 + np.exp(np.minimum(values, 500.0))))
