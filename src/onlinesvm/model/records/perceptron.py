"""The budget perceptron's learning state: slots with coefficients and outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.kernel.buffers import Buffers
from ...core.sgd.perceptron import CLOCK, HOLE, BudgetArrays, BudgetPerceptron, N
from ..fields import Fields, narrow
from .common import (
    LARGEST_CACHE,
    Context,
    blank,
    keys_of,
    labels_of,
    positives,
    store_fields,
    store_of,
)

_SPARE = 2**16
"""Slots of all machines that there may be place for."""


def perceptron_fields(learner: BudgetPerceptron) -> dict[str, Any]:
    """Everything that the learner needs to go on as if it had never stopped."""
    state = learner.in_use()
    a: BudgetArrays = state["a"]
    return {
        "budget": int(learner.budget),
        "margin": float(learner.margin),
        "cache_size": float(learner.cache_size),
        "store": store_fields(learner.store),
        "alpha": a.alpha,
        "out": a.out,
        "label": narrow(a.label),
        "diagonal": a.diagonal,
        "key": narrow(a.key),
        "stamp": narrow(a.stamp),
        "gram": a.gram,
        "slots": int(state["slots"]),
        "gram_left_out": bool(state["gram_left_out"]),
        "hole": int(a.state[HOLE]),
        "clock": int(a.state[CLOCK]),
    }


def perceptron_of(fields: Fields, context: Context) -> BudgetPerceptron:
    """The learner again."""
    learner = blank(BudgetPerceptron)
    learner.kernel, learner.n_labels = context.kernel, context.n_labels
    learner.budget = fields.whole("budget", 1)
    learner.margin = fields.number("margin", 0.0)
    learner.cache_size = fields.number("cache_size", 0.0, LARGEST_CACHE)
    learner.store, learner.buffers = store_of(fields.record("store"), context), Buffers()
    n, positive = learner.store.n, positives(context.n_labels)
    if n > learner.budget + 1:
        raise fields.wrong("budget", f"is less than the {n} rows held")
    gram = fields.array("gram", np.float32, (None, None))
    if gram.shape not in ((0, 0), (n, n)):
        raise fields.wrong("gram", f"has the shape {gram.shape} for {n} rows")
    learner.gram_left_out = fields.flag("gram_left_out")
    learner.slots = fields.whole("slots", n, max(_SPARE // len(positive), 4 * n))
    if learner.slots > learner.budget + 1:
        raise fields.wrong("slots", "is more than the budget allows")
    hole, clock = fields.whole("hole", -1, n - 1), fields.whole("clock")
    learner.a = BudgetArrays(
        alpha=fields.array("alpha", np.float64, (len(positive), n), -1.0, 1.0),
        out=fields.array("out", np.float64, (len(positive), n)),
        label=labels_of(fields, n, context),
        diagonal=fields.array("diagonal", np.float64, (n,)),
        key=keys_of(fields, n, context),
        stamp=fields.array("stamp", np.int64, (n,), 0, clock),
        column=np.arange(n),
        handle=np.arange(n),
        positive=positive,
        gram=gram,
        state=np.array([n, 0, -1, hole, clock]),
    )
    assert learner.a.state[N] == n
    fields.close()
    return learner
