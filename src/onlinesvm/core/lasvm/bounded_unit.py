"""LASVM with a bounded memory: units of the machines, which follow a stream (``tasks``).

The unit of regression is about the spread of the last targets, that of one class about the offset,
or the spread of decision values. It is looked at after fixed numbers of examples, so that results do not depend on how a stream is
cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import bounded_steps as at
from .tasks import OneClass, Regression, Task

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
        return task.unit_of(task.recent, learner.unit)
    if isinstance(task, OneClass):
        alpha, grad, _, _, high, _ = learner.F[:, 0, :n]
        some = task.sample(alpha)
        task.weigh(alpha[some], learner.K[np.ix_(some, some)])
        return task.unit_of(alpha, grad, high, float(learner.M[at.BIAS, 0]))
    return learner.unit
