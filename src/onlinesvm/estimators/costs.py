"""Models that differ in C alone, fitted at once as machines of one model, to compare them.

Nothing is kept for streams, probabilities and intervals. Other settings must be those of a single model
of labels, one for each example, or of values, without quantiles or limits of memory. A model with a
machine for each pair of labels has one C.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._lasvm import LASVMEstimator, share_costs
from .base import view_of
from .labels import LabelBook


def fit_costs(model: LASVMEstimator, costs: Sequence[float], X: Any, y: np.ndarray) -> None:
    """Fit the estimator with all of these C, of which its own is the largest."""
    share_costs(model, np.asarray(costs, np.float64) / max(costs))
    model.fit(X, y)


class Answers(NamedTuple):
    """Predictions, and the scores of labels that they are made from: (n, classes), or (n,) for two; or values."""

    predicted: np.ndarray
    scores: np.ndarray


def predict_costs(model: LASVMEstimator, costs: int, X: Any) -> list[Answers]:
    """The answers for each of so many C, in order."""
    view = view_of(model)
    each, encoder = np.split(view.values(X), costs, axis=1), view.encoder
    if isinstance(encoder, LabelBook):
        return [
            Answers(encoder.classes[encoder.winners(values)], encoder.scores(values))
            for values in each
        ]
    return [Answers(encoder.decode(scores), scores) for scores in map(encoder.scores, each)]
