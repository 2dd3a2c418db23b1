"""LASVM with a bounded memory: units of the machines, which follow a stream (``tasks``).

The unit of regression is about the spread of the last targets, that of one class about the offset.
It is looked at after fixed numbers of examples, so that results do not depend on how a stream is
cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import bounded_steps as at
from .tasks import Regression, Task, power_of_two, spread_of

if TYPE_CHECKING:
    from .bounded import BoundedLASVM

_OFTEN = 64
"""The unit is looked at after 2, 4, 8 ... examples, from this number on after as many more."""

_SLACK = 0.2
"""Rows at zero leave when they lie this many units beyond the margin."""


def next_look(clock: int) -> int:
    """Number of examples up to the next look at the unit, after ``clock`` examples."""
    if clock < _OFTEN:
        return max(2, 1 << clock.bit_length()) - clock
    return _OFTEN - clock % _OFTEN


def slack_of(task: Task, unit: np.ndarray) -> np.ndarray:
    """How far beyond the margin rows at zero leave; in a tube, no farther than half-way inside."""
    if isinstance(task, Regression) and task.epsilon > 0.0:
        return np.minimum(_SLACK * unit, task.epsilon / 2)
    return _SLACK * unit


def unit_of(learner: BoundedLASVM) -> np.ndarray:
    """The unit of each machine, from what was learned last."""
    task, n = learner.task, learner.n
    if isinstance(task, Regression):
        spread = spread_of(task.recent)
        return np.where(spread > 0.0, power_of_two(spread), learner.unit)
    size = np.abs(learner.F[at.GRAD, :, :n]).mean(axis=1) if n else np.zeros(learner.machines)
    return power_of_two(np.maximum(np.abs(learner.M[at.BIAS]), size))
