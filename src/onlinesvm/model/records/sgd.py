"""The learning state of NORMA, Pegaz, OL SVM and two perceptrons: a kernel expansion."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.sgd import steps
from ...core.sgd.kernel_expansion import Expansion
from ...core.sgd.learner import ExpansionLearner
from ...core.sgd.steps import Machines
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

RULES = {
    "NORMA": steps.NORMA,
    "PEGAZ": steps.PEGAZ,
    "HINGE": steps.HINGE,
    "REGULARIZED_HINGE": steps.REGULARIZED_HINGE,
    "PERCEPTRON": steps.PERCEPTRON,
}
"""Rules of update by name."""


def sgd_fields(learner: ExpansionLearner) -> dict[str, Any]:
    """Everything that the learner needs to go on as if it had never stopped."""
    support, k = learner.support, learner.machines
    n = support.n
    return {
        "rule": next(name for name, rule in RULES.items() if rule == learner.rule),
        "cache_size": float(learner.cache_size),
        "average": bool(learner.average),
        "has_bias": bool(learner.has_bias),
        "cached": bool(learner.cached),
        "every_column": bool(learner.every_column),
        "step": k.step,
        "scale": k.scale,
        "total": k.total,
        "bias": k.bias,
        "bias_past": k.bias_past,
        "store": store_fields(support.store),
        "coef": support.coef[:, :n],
        "past": support.past[:, :n],
        "label": narrow(support.label[:n]),
        "bound": support.bound[:n],
        "key": narrow(support.key[:n]),
    }


def sgd_of(fields: Fields, context: Context) -> ExpansionLearner:
    """The learner again."""
    learner = blank(ExpansionLearner)
    learner.kernel, learner.n_labels = context.kernel, context.n_labels
    learner.rule = RULES[fields.word("rule", *RULES)]
    learner.cache_size = fields.number("cache_size", 0.0, LARGEST_CACHE)
    learner.average, learner.has_bias = fields.flag("average"), fields.flag("has_bias")
    learner.cached, learner.every_column = fields.flag("cached"), fields.flag("every_column")
    positive = positives(context.n_labels)
    machines = len(positive)
    learner.machines = Machines(
        positive=positive,
        step=fields.array("step", np.int64, (machines,), 0, 2**53),
        scale=fields.array("scale", np.float64, (machines,)),
        total=fields.array("total", np.float64, (machines,)),
        bias=fields.array("bias", np.float64, (machines,)),
        bias_past=fields.array("bias_past", np.float64, (machines,)),
        factor=np.ones(machines),
        carried=np.zeros(machines),
    )
    support = learner.support = blank(Expansion)
    support.store = store_of(fields.record("store"), context)
    n = support.n = support.store.n
    support.coef = fields.array("coef", np.float64, (machines, n))
    support.past = fields.array("past", np.float64, (machines, n))
    support.label, support.key = labels_of(fields, n, context), keys_of(fields, n, context)
    support.bound = fields.array("bound", np.float64, (n,), low=0.0)
    learner.at_hand = None
    fields.close()
    return learner
