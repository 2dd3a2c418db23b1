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
    keys_of,
    labels_of,
    positives,
    store_fields,
    store_of,
)

RULES = ("NORMA", "PEGAZ", "HINGE", "REGULARIZED_HINGE", "PERCEPTRON")

_FLAGS = ("average", "has_bias", "cached", "every_column")


def sgd_fields(learner: ExpansionLearner) -> dict[str, Any]:
    """Everything that the learner needs to go on as if it had never stopped."""
    support, k = learner.support, learner.machines
    n = support.n
    return {
        "rule": next(rule for rule in RULES if getattr(steps, rule) == learner.rule),
        "cache_size": float(learner.cache_size),
        **{name: bool(getattr(learner, name)) for name in _FLAGS},
        "step": k.step,
        **{name: getattr(k, name) for name in ("scale", "total", "bias", "bias_past")},
        "store": store_fields(support.store),
        "coef": support.coef[:, :n],
        "past": support.past[:, :n],
        "label": narrow(support.label[:n]),
        "bound": support.bound[:n],
        "key": narrow(support.key[:n]),
    }


def sgd_of(fields: Fields, context: Context) -> ExpansionLearner:
    """The learner again."""
    learner: ExpansionLearner = object.__new__(ExpansionLearner)
    learner.kernel, learner.n_labels = context.kernel, context.n_labels
    learner.rule = getattr(steps, fields.word("rule", *RULES))
    learner.cache_size = fields.number("cache_size", 0.0, LARGEST_CACHE)
    for name in _FLAGS:
        setattr(learner, name, fields.flag(name))
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
    support = learner.support = object.__new__(Expansion)
    support.store = store_of(fields.record("store"), context)
    n = support.n = support.store.n
    support.coef = fields.array("coef", np.float64, (machines, n))
    support.past = fields.array("past", np.float64, (machines, n))
    support.label, support.key = labels_of(fields, n, context), keys_of(fields, n, context)
    support.bound = fields.array("bound", np.float64, (n,), low=0.0)
    learner.at_hand = None
    fields.close()
    return learner
