"""The learning state of LASVM with a bounded memory. Kernel values are computed again."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.lasvm import bounded_steps as at
from ...core.lasvm.bounded import BoundedLASVM
from ...core.lasvm.policies import POLICIES
from ...core.lasvm.recent import Recent
from ...core.lasvm.tasks import Classification, Task
from ..fields import Fields, narrow
from .common import Context, keys_of, labels_of, store_fields, store_of
from .prequential import watch_fields, watch_of
from .tasks import task_fields, task_of

_BEYOND = 1e-6
"""Share of its bound by which rounding may carry a coefficient beyond it."""

_LONGEST = 2**53


def bounded_fields(learner: BoundedLASVM) -> dict[str, Any]:
    """Everything that the learner needs to go on as if it had never stopped."""
    n = learner.n
    F, T = learner.F[:, :, :n], learner.T[:, :n]
    return {
        "tau": float(learner.tau),
        "window": learner.window,
        "budget": learner.budget,
        "half_life": float(learner.half_life),
        "cost": float(learner.cost),
        "policy": POLICIES[int(learner.limits[at.POLICY])],
        "store": store_fields(learner.store),
        "diagonal": learner.K.diagonal()[:n].copy(),
        "alpha": F[at.ALPHA], "grad": F[at.GRAD], "lo": F[at.LOW], "hi": F[at.HIGH],
        "bound": F[at.BOUND, 0],
        "label": narrow(T[at.LABEL]), "born": narrow(T[at.BORN]), "key": narrow(T[at.KEY]),
        "near": narrow(T[at.NEAR]),
        "bias": learner.M[at.BIAS], "gap": learner.M[at.GAP],
        "rounding": learner.M[[at.PATH, at.LENGTH]],
        "count": learner.count[[at.CLOCK, at.TURN, at.REMOVALS, at.EVALUATIONS]],
        "recent": None if learner.recent is None else _recent_fields(learner.recent),
        **({} if isinstance(learner.task, Classification) else {"task": _task_fields(learner)}),
        **watch_fields(learner.watch),
    }  # fmt: skip


def _task_fields(learner: BoundedLASVM) -> dict[str, Any]:
    """What tasks other than classification need: targets of the rows held, units, mass."""
    return {
        "task": task_fields(learner.task),
        "unit": learner.unit,
        "linear": learner.F[at.LINEAR, :, : learner.n],
        "mass": learner.M[[at.MASS, at.WHOLE_MASS]],
        "masses": learner.masses[: learner.count[at.CLOCK]],
    }


def bounded_of(fields: Fields, context: Context) -> BoundedLASVM:
    """The learner again: coefficients within their bounds, labels, keys and slots that exist."""
    store = store_of(fields.record("store"), context)
    n = store.n
    others = fields.record("task") if fields.has("task") else None
    task = Classification() if others is None else task_of(others.record("task"), context)
    window = None if fields.absent("window") else fields.whole("window", 2)
    budget = None if fields.absent("budget") else fields.whole("budget", 2)
    learner = BoundedLASVM(
        context.kernel, store.rows().take(slice(0, 0)), context.n_labels,
        tau=fields.number("tau", 0.0), window=window, budget=budget,
        half_life=fields.number("half_life", 1.0, infinite=True),
        policy=fields.word("policy", *POLICIES),
        cost=fields.number("cost", 0.0) if fields.has("cost") else 0.0, task=task,
    )  # fmt: skip
    if budget is not None and n > budget:
        raise fields.wrong("store", f"has {n} rows where the budget is {budget}")
    learner.store = store
    machines = learner.machines
    F = np.zeros((6, machines, n))
    for place, name in ((at.ALPHA, "alpha"), (at.GRAD, "grad"), (at.LOW, "lo"), (at.HIGH, "hi")):
        F[place] = fields.array(name, np.float64, (machines, n))
    F[at.BOUND] = fields.array("bound", np.float64, (n,), low=0.0)
    label = labels_of(fields, n, context)
    clock, turn, removals, evaluations = fields.array("count", np.int64, (4,), 0, _LONGEST).tolist()
    learner.count[:] = n, n, clock, turn, removals, evaluations
    if others is None:
        F[at.LINEAR] = task.linear(label, learner.positive)
    else:
        _restore_task(others, learner, F)
    _check_bounds(fields, F, task)
    born = fields.array("born", np.int64, (n,), 0, _LONGEST)
    near = fields.array("near", np.int64, (n,), -1, max(n - 1, 0))
    key = keys_of(fields, n, context)
    if (born >= max(clock, 1)).any():
        raise fields.wrong("born", "has examples of the future")
    learner.F, learner.T = F, np.stack([label, born, key, np.arange(n), near])
    learner.labels_held = np.bincount(label, minlength=max(context.n_labels, 1))
    learner.M[at.BIAS] = fields.array("bias", np.float64, (machines,))
    learner.M[at.GAP] = fields.array("gap", np.float64, (machines,), infinite=True)
    diagonal = fields.array("diagonal", np.float32, (n,))
    if fields.has("rounding"):  # files of 0.1 have it not
        learner.M[[at.PATH, at.LENGTH]] = fields.array("rounding", np.float64, (2, machines), 0.0)
    else:
        learner.M[at.PATH], learner.M[at.LENGTH] = np.inf, np.sqrt(abs(diagonal).max(initial=1.0))
    if fields.absent("recent") != (learner.recent is None):
        raise fields.wrong("recent", "does not fit the window and the budget")
    if learner.recent is not None:
        learner.recent = _recent_of(fields.record("recent"), context, learner.recent)
    learner.watch = watch_of(fields, machines, context.n_labels)
    fields.close()
    learner.restore_kernel_values(diagonal)
    return learner


def _restore_task(fields: Fields, learner: BoundedLASVM, F: np.ndarray) -> None:
    """Targets, units and mass of a task other than classification."""
    machines, n = F.shape[1:]
    F[at.LINEAR] = fields.array("linear", np.float64, (machines, n))
    learner.unit = fields.array("unit", np.float64, (machines,), low=2.0**-1000)
    mass = fields.array("mass", np.float64, (2, machines), low=0.0)
    learner.M[[at.MASS, at.WHOLE_MASS]] = mass
    learner.masses = fields.array("masses", np.float64, (None,), low=0.0)
    window = learner.window or 0 if learner.task.nu else 0
    if not min(int(learner.count[at.CLOCK]), window) <= len(learner.masses) <= window:
        raise fields.wrong("masses", f"has {len(learner.masses)} values for a window of {window}")
    learner._settle_limits()
    fields.close()


def _check_bounds(fields: Fields, F: np.ndarray, task: Task) -> None:
    alpha, lo, hi, bound = F[at.ALPHA], F[at.LOW], F[at.HIGH], F[at.BOUND]
    beyond = _BEYOND * bound
    least, most = task.bounds(F[at.LINEAR], bound)
    good = (lo >= least) & (hi <= most)
    if not (good & (lo <= 0) & (hi >= 0)).all():
        raise fields.wrong("hi", "does not fit the labels and the bounds")
    if not ((alpha >= lo - beyond) & (alpha <= hi + beyond)).all():
        raise fields.wrong("alpha", "has coefficients beyond their bounds")


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
    else:
        recent.label = fields.array("label", np.float64, (n, empty.label.shape[1]))
    recent.key = keys_of(fields, n, context)
    recent.bound = fields.array("bound", np.float64, (n,), low=0.0)
    recent.diagonal = fields.array("diagonal", np.float64, (n,))
    fields.close()
    return recent
