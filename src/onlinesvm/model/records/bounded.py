"""The state of LASVM with bounded memory. Kernel values are recomputed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.lasvm.learner import LASVM
from ...core.lasvm.online.memory import Memory, Recent
from ...core.lasvm.online.policies import POLICIES
from ...core.lasvm.state import CLOCK, EVALUATIONS, NEXT_TO_DECAY, REMOVALS, STORED, N, Support
from ...core.lasvm.tasks import Classification
from ..fields import Fields, narrow
from .common import Context, keys_of, labels_of, store_fields, store_of
from .prequential import watch_of
from .tasks import task_of

_BEYOND = 1e-6
"""Share of its bound by which rounding may carry a coefficient beyond it."""

_LONGEST = 2**53
_COUNTS = [CLOCK, NEXT_TO_DECAY, REMOVALS, EVALUATIONS]


def check_bounds(fields: Fields, support: Support) -> None:
    """Coefficients are within their bounds."""
    n, a = support.n, support.a
    beyond, alpha = _BEYOND * a.bound[:n], support.alpha()
    lo, hi = support.bounds()
    if not ((alpha >= lo - beyond) & (alpha <= hi + beyond)).all():
        raise fields.wrong("alpha", "has coefficients beyond their bounds")


def memory_fields(learner: LASVM) -> dict[str, Any]:
    """Limits, and the state of the stored rows that depends on them."""
    a, n, memory = learner.support.a, learner.n, learner.memory
    assert memory is not None
    return {
        "window": memory.window,
        "budget": memory.budget,
        "half_life": float(memory.half_life),
        "cost": float(memory.cost),
        "policy": memory.policy,
        "lo": a.lo[:, :n], "hi": a.hi[:, :n],
        "born": narrow(a.born[:n]), "near": narrow(a.near[:n]),
        "rounding": np.stack([a.path, a.longest]),
        "mass": np.stack([a.mass, a.whole_mass]),
        "masses": memory.masses[: a.count[CLOCK]],
        "count": a.count[_COUNTS],
        "recent": None if memory.recent is None else _recent_fields(memory.recent),
        "last_seen": memory.last_seen,
    }  # fmt: skip


def memory_of(fields: Fields, context: Context, support: Support) -> Memory:
    """The limits again; bounds that fit the labels, times and slots that exist."""
    a, n, machines = support.a, support.n, support.machines
    memory = _limits_of(fields, context, support)
    _take_bounds(fields, support, memory)
    a.path[:], a.longest[:] = fields.array("rounding", np.float64, (2, machines), 0.0)
    a.mass[:], a.whole_mass[:] = fields.array("mass", np.float64, (2, machines), low=0.0)
    _take_masses(fields, support, memory)
    _take_recent(fields, context, memory)
    _take_last_seen(fields, support, memory)
    fields.close()
    memory.labels_held = np.bincount(a.label[:n], minlength=max(context.n_labels, 1))
    return memory


def _limits_of(fields: Fields, context: Context, support: Support) -> Memory:
    window = None if fields.absent("window") else fields.whole("window", 2)
    budget = None if fields.absent("budget") else fields.whole("budget", 2)
    if budget is not None and support.n > budget:
        raise fields.wrong("budget", f"is {budget} where there are {support.n} rows")
    like = support.rows().take(slice(0, 0))
    return Memory(
        like, support, context.n_labels, window=window, budget=budget,
        half_life=fields.number("half_life", 1.0, infinite=True),
        policy=fields.word("policy", *POLICIES),
        cost=fields.number("cost", 0.0) if fields.has("cost") else 0.0,
    )  # fmt: skip


def _take_bounds(fields: Fields, support: Support, memory: Memory) -> None:
    """Bounds, which decrease with age, and the arrival times of rows."""
    a, n, machines = support.a, support.n, support.machines
    least, most = a.lo[:, :n].copy(), a.hi[:, :n].copy()
    a.lo[:, :n] = lo = fields.array("lo", np.float64, (machines, n))
    a.hi[:, :n] = hi = fields.array("hi", np.float64, (machines, n))
    if not ((lo >= least) & (hi <= most) & (lo <= 0) & (hi >= 0)).all():
        raise fields.wrong("hi", "does not fit the labels and the bounds")
    check_bounds(fields, support)
    a.count[_COUNTS] = fields.array("count", np.int64, (4,), 0, _LONGEST)
    a.born[:n] = fields.array("born", np.int64, (n,), 0, _LONGEST)
    a.near[:n] = fields.array("near", np.int64, (n,), -1, max(n - 1, 0))
    if (a.born[:n] >= max(a.count[CLOCK], 1)).any():
        raise fields.wrong("born", "has arrival times after the clock")


def _take_masses(fields: Fields, support: Support, memory: Memory) -> None:
    memory.masses = fields.array("masses", np.float64, (None,), low=0.0)
    window = memory.window or 0 if support.task.nu else 0
    if not min(int(support.a.count[CLOCK]), window) <= len(memory.masses) <= window:
        raise fields.wrong("masses", f"has {len(memory.masses)} values for a window of {window}")


def _take_recent(fields: Fields, context: Context, memory: Memory) -> None:
    if fields.absent("recent") != (memory.recent is None):
        raise fields.wrong("recent", "does not fit the window and the budget")
    if memory.recent is not None:
        memory.recent = _recent_of(fields.record("recent"), context, memory.recent)


def _take_last_seen(fields: Fields, support: Support, memory: Memory) -> None:
    """When each label was seen last; older files do not know it: until a window has passed, all count."""
    clock, n_labels = int(support.a.count[CLOCK]), len(memory.last_seen)
    memory.last_seen[:] = clock
    if fields.has("last_seen"):
        memory.last_seen[:] = fields.array("last_seen", np.int64, (n_labels,), 0, clock)


def older_of(fields: Fields, context: Context) -> LASVM:
    """A learner from a file of the older form, which had another record for bounded memory."""
    store = store_of(fields.record("store"), context)
    n = store.n
    others = fields.record("task") if fields.has("task") else None
    task = Classification() if others is None else task_of(others.record("task"), context)
    learner = LASVM(
        context.kernel, store.rows().take(slice(0, 0)), context.n_labels,
        tau=fields.number("tau", 0.0), task=task, limits={},
    )  # fmt: skip
    support, machines = learner.support, learner.machines
    support.store = store
    support.reserve(n)
    a = support.a
    a.count[N] = a.count[STORED] = n
    memory = _limits_of(fields, context, support)
    learner.hold(support, memory)
    a.alpha[:, :n] = fields.array("alpha", np.float64, (machines, n))
    a.grad[:, :n] = fields.array("grad", np.float64, (machines, n))
    a.bound[:n] = bound = fields.array("bound", np.float64, (n,), low=0.0)
    a.label[:n] = label = labels_of(fields, n, context)
    a.member[:, :n], a.handle[:n] = True, np.arange(n)
    a.p[:, :n], a.lo[:, :n], a.hi[:, :n] = (
        support.given(label, bound) if others is None else _older_targets(others, learner, bound)
    )
    _take_bounds(fields, support, memory)
    if others is not None:
        _take_masses(others, support, memory)
        others.close()
    a.key[:n] = keys_of(fields, n, context)
    a.bias[:] = fields.array("bias", np.float64, (machines,))
    a.delta[:] = fields.array("gap", np.float64, (machines,), infinite=True)
    a.diagonal[:n] = fields.array("diagonal", np.float32, (n,))
    if fields.has("rounding"):  # not in the first files
        a.path[:], a.longest[:] = fields.array("rounding", np.float64, (2, machines), 0.0)
    else:
        a.path[:], a.longest[:] = np.inf, np.sqrt(abs(a.diagonal[:n]).max(initial=1.0))
    _take_recent(fields, context, memory)
    _take_last_seen(fields, support, memory)
    memory.labels_held = np.bincount(label, minlength=max(context.n_labels, 1))
    learner.watch = watch_of(fields, machines, context.n_labels, learner.support)
    fields.close()
    learner.values.restore()
    return learner


def _older_targets(fields: Fields, learner: LASVM, bound: np.ndarray) -> Any:
    """p, lo and hi of a task other than classification; its units and mass."""
    a, n, machines = learner.support.a, learner.n, learner.machines
    linear = fields.array("linear", np.float64, (machines, n))
    a.unit[:] = fields.array("unit", np.float64, (machines,), low=2.0**-1000)
    a.mass[:], a.whole_mass[:] = fields.array("mass", np.float64, (2, machines), low=0.0)
    return linear, *learner.task.bounds(linear, bound)


def _recent_fields(recent: Recent) -> dict[str, Any]:
    state = recent.in_use()
    label = state["label"]
    return {
        "first": int(recent.first),
        "store": store_fields(recent.store),
        "label": narrow(label) if label.ndim == 1 else label,
        "key": narrow(state["key"]),
        "bound": state["bound"],
        "diagonal": state["diagonal"],
    }


def _recent_of(fields: Fields, context: Context, empty: Recent) -> Recent:
    store = store_of(fields.record("store"), context)
    n, size = store.n, empty.size
    recent = Recent(store.rows().take(slice(0, 0)), size, empty.label)
    if n >= 2 * max(size, 32):
        raise fields.wrong("store", f"has {n} rows where the window is {size}")
    recent.store, recent.first = store, fields.whole("first")
    if empty.label.ndim == 1:
        recent.label = labels_of(fields, n, context)
    elif empty.label.dtype == np.int8:  # several labels
        recent.label = fields.array("label", np.int8, (n, empty.label.shape[1]), 0, 1)
    else:
        recent.label = fields.array("label", np.float64, (n, empty.label.shape[1]))
    recent.key = keys_of(fields, n, context)
    recent.bound = fields.array("bound", np.float64, (n,), low=0.0)
    recent.diagonal = fields.array("diagonal", np.float64, (n,))
    fields.close()
    return recent
