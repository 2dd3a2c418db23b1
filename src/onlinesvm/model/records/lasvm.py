"""LASVM's learning state: the support set of every machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.lasvm.choose.criteria import ACTIVE, AUTOACTIVE, GRADIENT
from ...core.lasvm.choose.selection import SelectiveLASVM
from ...core.lasvm.counted import Counted
from ...core.lasvm.learner import BEGINNING, LASVM
from ...core.lasvm.online.memory import SEEDS
from ...core.lasvm.state import STORED, N, Support
from ...core.lasvm.tasks import Regression, SeveralLabels
from ..fields import Fields, narrow
from .bounded import check_bounds, memory_fields, memory_of, older_of
from .common import (
    LARGEST_CACHE,
    Context,
    blank,
    kept_fields,
    kept_of,
    keys_of,
    labels_of,
    store_fields,
    store_of,
)
from .prequential import asides_fields, asides_of, watch_fields, watch_of
from .tasks import task_fields, task_of


def lasvm_fields(learner: LASVM) -> dict[str, Any]:
    """Everything that LASVM needs to go on as if it had never stopped."""
    return {"form": "plain", "state": _state_fields(learner)}


def lasvm_of(fields: Fields, context: Context) -> LASVM:
    """The learner again. Files of an older form have another record where memory is bounded."""
    form = fields.word("form", "plain", "bounded")
    state = fields.record("state")
    fields.close()
    return older_of(state, context) if form == "bounded" else _learner_of(state, context)


def _state_fields(learner: LASVM) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "tau": float(learner.tau),
        "cache_size": float(learner.cache_size),
        "block_size": int(learner.block_size),
        "delta_max": float(learner.delta_max),
        "seeds": narrow(learner.seeds),
        "converged": bool(learner.converged),
        "shallow": int(learner._since_optimised),
        "seen": min(int(learner.seen), BEGINNING),
        "support": support_fields(learner.support),
        "kept": kept_fields(learner.values.kept_rows()),
        **({} if learner.memory is None else {"memory": memory_fields(learner)}),
        **counted_fields(learner.counted),
        **watch_fields(learner.watch),
        **asides_fields(learner.asides),
    }
    if isinstance(learner, SelectiveLASVM):
        fields["selection"] = {
            "criterion": learner.selection,
            "sample_size": int(learner.sample_size),
            "n_looked_at": int(learner.n_looked_at),
            "learned": narrow(learner._learned),
            "set_size": float(learner._set_size),
            "everything": bool(learner.everything),
        }
    else:
        fields["selection"] = None
    return fields


def _learner_of(fields: Fields, context: Context) -> LASVM:
    selects = not fields.absent("selection")
    learner: Any = blank(SelectiveLASVM if selects else LASVM)
    learner.kernel, learner.n_labels = context.kernel, context.n_labels
    learner.tau = fields.number("tau", 0.0)
    learner.cache_size = fields.number("cache_size", 0.0, LARGEST_CACHE)
    learner.block_size = fields.whole("block_size", 1)
    learner.delta_max = fields.number("delta_max", 0.0, infinite=True)
    learner.seeds = fields.array("seeds", np.int64, (context.n_labels,), 0, SEEDS)
    learner.converged = fields.flag("converged")
    learner._since_optimised = fields.whole("shallow")
    learner.seen = fields.whole("seen") if fields.has("seen") else BEGINNING  # not in older files
    learner.judged = None
    bounded = fields.has("memory")
    support = support_of(fields.record("support"), context, not bounded)
    memory = memory_of(fields.record("memory"), context, support) if bounded else None
    learner.hold(support, memory)
    learner.counted = counted_of(fields)
    learner.watch = watch_of(fields, learner.n_scores, context.n_labels, support)
    learner.asides = asides_of(fields, learner.n_scores, context.n_labels)
    if not fields.absent("kept"):
        learner.values.kept = kept_of(fields.record("kept"), support.n, support.machines)
    if selects:
        part = fields.record("selection")
        learner.selection = part.word("criterion", ACTIVE, AUTOACTIVE, GRADIENT)
        learner.sample_size = part.whole("sample_size", 1)
        learner.n_looked_at = part.whole("n_looked_at")
        learner._learned = part.array("learned", np.int64, (context.n_labels,), 0)
        learner._set_size = part.number("set_size", 0.0)
        learner.everything = part.flag("everything")
        part.close()
    fields.close()
    learner.values.restore()
    return learner


def counted_fields(counted: Counted | None) -> dict[str, Any]:
    """Weights of the examples of one class as the field ``counted``; no field where none are kept."""
    if counted is None:
        return {}
    own = counted.in_use()
    parts = {name: _weights_fields(own[name]) for name in ("of_fit", "of_stream")}
    return {"counted": {"unnumbered": counted.unnumbered, **parts}}


def _weights_fields(weight: np.ndarray) -> dict[str, Any]:
    """Most weights are alike: each as its place in a table."""
    table, place = np.unique(weight, return_inverse=True)
    return {"table": table, "place": narrow(place)}


def counted_of(fields: Fields) -> Counted | None:
    """The weights again; files of earlier versions, and of other tasks, have none."""
    if not fields.has("counted"):
        return None
    part, counted = fields.record("counted"), Counted()
    counted.unnumbered = part.number("unnumbered", 0.0)
    counted.of_fit = _weights_of(part.record("of_fit"))
    counted.of_stream = _weights_of(part.record("of_stream"))
    part.close()
    return counted


def _weights_of(fields: Fields) -> np.ndarray:
    table = fields.array("table", np.float64, (None,), low=0.0)
    place = fields.array("place", np.int64, (None,), 0, max(len(table) - 1, 0))
    if len(place) and not len(table):
        raise fields.wrong("table", "is empty")
    fields.close()
    return table[place]


def support_fields(support: Support) -> dict[str, Any]:
    """Rows, coefficients and gradients in use."""
    a, n = support.a, support.n
    label = support.labels(np.arange(n))
    return {
        "task": task_fields(support.task),
        "unit": support.unit,
        "store": store_fields(support.store),
        "alpha": a.alpha[:, :n],
        "grad": a.grad[:, :n],
        "member": a.member[:, :n],
        "label": narrow(label) if label.ndim == 1 else label,
        "bound": a.bound[:n],
        "diagonal": a.diagonal[:n],
        "key": narrow(a.key[:n]),
        "bias": a.bias,
        "delta": a.delta,
    }


def support_of(fields: Fields, context: Context, whole_bounds: bool = True) -> Support:
    """The support set again: coefficients within their bounds, labels and keys that exist.

    ``whole_bounds``: no bound has shrunk, so that they follow from the labels.
    """
    task = task_of(fields.record("task"), context)
    positive = task.positives(context.n_labels)
    machines = len(positive)
    store = store_of(fields.record("store"), context)
    n = store.n
    if isinstance(task, Regression):
        label = fields.array("label", np.float64, (n, machines))
    elif isinstance(task, SeveralLabels):
        label = fields.array("label", np.int8, (n, machines), 0, 1)
    else:
        label = labels_of(fields, n, context)
    support = Support(store.rows().take(slice(0, 0)), positive, max(n, 1), task)
    support.store, a = store, support.a
    bound = fields.array("bound", np.float64, (n,), low=0.0)
    a.count[N] = a.count[STORED] = n
    a.alpha[:, :n] = fields.array("alpha", np.float64, (machines, n))
    a.grad[:, :n] = fields.array("grad", np.float64, (machines, n))
    a.member[:, :n] = fields.array("member", bool, (machines, n))
    a.label[:n], a.bound[:n] = task.groups(label), bound
    a.p[:, :n], a.lo[:, :n], a.hi[:, :n] = support.given(label, bound)
    a.diagonal[:n] = fields.array("diagonal", np.float64, (n,))
    a.key[:n] = keys_of(fields, n, context)
    a.column[:n] = a.handle[:n] = np.arange(n)
    a.bias[:] = fields.array("bias", np.float64, (machines,))
    a.delta[:] = fields.array("delta", np.float64, (machines,), infinite=True)
    a.unit[:] = fields.array("unit", np.float64, (machines,), low=2.0**-1000)
    fields.close()
    if whole_bounds:
        check_bounds(fields, support)
    if (a.alpha[:, :n][~a.member[:, :n]] != 0.0).any():
        raise fields.wrong("alpha", "has coefficients of rows that are no members")
    return support
