"""Scores of the examples of a fit, made again after many of its support vectors were forgotten.

Probabilities and quantiles are calibrated on scores of examples by models that have not learned them. Scores of a
model that has changed much since say little about the new one.
"""

from __future__ import annotations

import numpy as np

from ...examples import Examples
from ...prequential.residuals import FEWEST
from ..learner import LASVM
from .held_out import calibrate, held_out
from .slack_bounds import DataSet

MANY = 0.05
"""Forgotten support vectors, as a share of the rows held, from which on scores are made again."""


def score_again(learner: LASVM, left: DataSet) -> None:
    """The examples that are left, with their numbers, are scored by the model as it is now."""
    if learner.asides is not None and learner.asides.beyond is not None:
        _score_beyond(learner, left)
    watch = learner.watch
    if watch is not None and watch.keeps_scores and watch.replaced == watch.n:
        _score_held_out(learner, left)
    elif watch is not None and watch.is_cross_fitted and len(left.key) >= FEWEST:
        data, slacks, rng = _given(learner, left)
        for _ in calibrate(learner, data, slacks, rng):
            pass


def _score_beyond(learner: LASVM, left: DataSet) -> None:
    """Of examples that are not held, those whose scores were kept; held ones are scored on request."""
    beyond, held = learner.asides.beyond, learner.support.a.key[: learner.n]
    away = np.flatnonzero((beyond.key >= 0) & ~np.isin(beyond.key, held))
    beyond = beyond.take(away)
    scores = learner.scores_of(learner.decide(left.take(beyond.key).rows))
    learner.asides.beyond = beyond._replace(scores=scores.astype(np.float32))


def _score_held_out(learner: LASVM, left: DataSet) -> None:
    """Cross-fitted scores, as at the end of a fit."""
    watch, (data, slacks, rng) = learner.watch, _given(learner, left)
    *_, found = held_out(learner, data, slacks, watch.most_scores, rng)
    assert found is not None
    label, bound = data.label[found.which], data.bound[found.which]
    watch.replace(found.scores, label, bound, found.stands_for, found.which)


def _given(learner: LASVM, left: DataSet) -> tuple[Examples, np.ndarray, np.random.RandomState]:
    """The examples, their slacks by the model as it is, as far as they are known, and chance."""
    known = learner.known_slacks()
    slacks = np.full((learner.machines, len(left.key)), np.inf)
    if known is not None:
        slacks = known.slacks.astype(np.float64)
    return left.take(np.arange(len(left.key))), slacks, np.random.RandomState(0)
