"""Leave-one-out for a learner: by its factor where that is possible, else by forgetting."""

from __future__ import annotations

import numpy as np

from . import leave_one_out_steps as simplesvm_loo
from .learner import SimpleSVM
from .solution import LowRankSource


def leave_one_out(learner: SimpleSVM) -> np.ndarray:
    """Decision values (n, machines) of the kept examples, each by the solution without it.

    Problems whose equality rows depend on the number of examples (nu) change with every example
    that goes, and so do data sets whose kernel matrix does not fit: those forget one at a time.
    """
    if learner.task.depends_on_count or not _fits(learner):
        return _by_forgetting(learner)
    capacity = max(machine.capacity for machine in learner.machines)
    columns = [simplesvm_loo.values(machine, capacity) for machine in learner.machines]
    return np.stack(columns, axis=1)


def _fits(learner: SimpleSVM) -> bool:
    if isinstance(learner.source, LowRankSource):
        return True
    n = max(len(machine.problem) for machine in learner.machines)
    return 8 * n * n <= learner.options.cache_size * 2**20


def _by_forgetting(learner: SimpleSVM) -> np.ndarray:
    n = len(learner.rows)
    out = np.empty((n, len(learner.machines)))
    for i in range(n):
        gone = np.arange(n) == i
        if not learner.task.possible(learner.target[~gone], learner.weight[~gone]):
            out[i] = np.nan
            continue
        twin = learner.copy()
        twin.forget(gone)
        twin.finish()
        out[i] = twin.decide(learner.rows.take(np.array([i])))[0]
    return out
