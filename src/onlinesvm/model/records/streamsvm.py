"""StreamSVM's learning state: the balls of every machine and where their centres are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.streamsvm.balls import MERGES, Balls, N
from ...core.streamsvm.learner import (
    LARGEST_BLOCK,
    SMALLEST_BLOCK,
    Expansions,
    StreamSVM,
    Vectors,
)
from ..fields import Fields, narrow
from .common import Context, blank, keys_of, labels_of, positives, store_fields, store_of

_LARGEST = 1e300
"""Squares of distances of single-precision rows are far below this, and their sums are finite."""


def streamsvm_fields(learner: StreamSVM) -> dict[str, Any]:
    """Everything that StreamSVM needs to go on as if it had never stopped."""
    return {
        "n_balls": int(learner.n_balls),
        "together": bool(learner.together),
        "normalize": bool(learner.normalize),
        "entered": narrow(learner.entered),
        "block": int(learner.block),
        "balls": [_ball_fields(b) for b in learner.balls],
        "centres": _centre_fields(learner.centres),
    }


def _ball_fields(b: Balls) -> dict[str, Any]:
    arrays = {"gram": b.gram, "slack": b.own_axes, "radius": b.radius}
    return arrays | {"n": int(b.state[N]), "merges": int(b.state[MERGES])}


def _centre_fields(centres: Vectors | Expansions) -> dict[str, Any]:
    if isinstance(centres, Vectors):
        return {"table": centres.table}
    return {
        "store": store_fields(centres.store),
        "coef": centres.coef,
        "key": narrow(centres.key),
        "label": narrow(centres.label),
    }


def streamsvm_of(fields: Fields, context: Context) -> StreamSVM:
    """The learner again."""
    learner = blank(StreamSVM)
    learner.kernel, learner.n_labels = context.kernel, context.n_labels
    learner.n_balls = fields.whole("n_balls", 1)
    learner.together, learner.normalize = fields.flag("together"), fields.flag("normalize")
    learner.entered = fields.array("entered", np.int64, (context.n_labels,), 0)
    learner.block = fields.whole("block", SMALLEST_BLOCK, LARGEST_BLOCK)
    learner.positive = positives(context.n_labels).tolist()
    parts = fields.records("balls", len(learner.positive))
    learner.balls = [_balls_of(part, learner.n_balls) for part in parts]
    size = len(learner.positive) * learner.n_balls
    learner.centres = _centres_of(fields.record("centres"), context, size)
    learner.kept_final = None
    fields.close()
    return learner


def _balls_of(fields: Fields, n_balls: int) -> Balls:
    size = n_balls + 1
    state = np.zeros(5, np.int64)
    state[N], state[MERGES] = fields.whole("n", 0, n_balls), fields.whole("merges")
    made = Balls(
        gram=fields.array("gram", np.float64, (size, size), -_LARGEST, _LARGEST),
        own_axes=fields.array("slack", np.float64, (size,), 0.0, _LARGEST),
        radius=fields.array("radius", np.float64, (size,), 0.0, _LARGEST**0.5),
        state=state,
    )
    fields.close()
    n = state[N]
    if n and not ((np.diag(made.gram)[:n] + made.own_axes[:n]) > 0.0).all():
        raise fields.wrong("gram", "has centres of no length")
    return made


def _centres_of(fields: Fields, context: Context, size: int) -> Vectors | Expansions:
    made: Any
    if context.kernel.name == "linear":
        made = blank(Vectors)
        made.table = fields.array("table", np.float64, (size, context.n_features))
    else:
        made = blank(Expansions)
        made.store = store_of(fields.record("store"), context)
        n = made.store.n
        made.coef = fields.array("coef", np.float64, (size, n))
        made.key, made.label = keys_of(fields, n, context), labels_of(fields, n, context)
    made.kernel = context.kernel
    fields.close()
    return made
