"""Examples of a data set that were turned away, judged again; and until none violates.

A pass over the data judges each example by the model of that moment. ``second_look`` judges those
near the margin again by the model of the end; ``converge`` goes on until no example violates the
optimality conditions by more than tau: the exact SVM. Where slacks are known by a model that has
changed since (``slack_bounds``), only examples that may violate are judged.

Symbols: ``slacks[m, i]`` is the last known slack of example i for machine m.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...examples import Examples
from ...runtime.interrupts import checkpoint
from . import block, working_set
from .restart import restart
from .slack_bounds import DataSet, Reference

if TYPE_CHECKING:
    from ..learner import LASVM
    from ..state import Support

TOGETHER = 256
"""Machines that judge examples in one go, where there are many."""

LEAST_GAIN = 1e-12
"""Share of the dual objective by which a round has to raise it: less is rounding."""

LAST_SAMPLE = 256
"""Examples turned away near the margin of which none may be misclassified after the finishing step."""

MOST_FAILURES = 20
"""Convergence is given up after this many optimisations that did not reach the tolerance."""


def second_look(learner: LASVM, data: Examples, slacks: np.ndarray) -> None:
    """Examples turned away near the margin are judged by the model as it is now.

    One look is enough where examples came in random order. Where the first ones were of another kind
    (sorted rows, a class that came late), some of those turned away are misclassified by now: then
    all are judged, until the model has stopped changing.
    """
    tolerances = learner.support.task.tolerances
    all_held = learner.takes_all_at_once(slacks.shape[1]) and np.isneginf(slacks).all()
    learner.finish(max(learner.tau, tolerances.rough))
    gone, gone_slack = block.evict(learner.support, tolerances.beyond)
    slacks[:, gone] = np.maximum(slacks[:, gone], gone_slack)
    if all_held:  # and optimised: those that leave have been judged by the model as it is now
        return
    for _ in range(block.LOOKS):
        wrong_often = _is_wrong_often(learner, data, slacks)
        reach = np.inf if wrong_often else tolerances.near
        entered = admit(learner, data, slacks, reach, tolerances.reenter * learner.support.unit)
        many = block.WRONG_SHARE * learner.support.n
        if not wrong_often and (entered > tolerances.wrong).sum() <= many:
            return
        learner.finish(max(learner.tau, tolerances.rough))


def _is_wrong_often(learner: LASVM, data: Examples, slacks: np.ndarray) -> bool:
    """Whether the model is wrong by now about examples turned away far from the margin."""
    tolerances = learner.support.task.tolerances
    held = learner.support.a.key[: learner.support.n]
    for machines in _judged_together(learner.support):
        unit = learner.support.unit[machines, None]
        far = np.isfinite(slacks[machines]) & (slacks[machines] <= -tolerances.near * unit)
        far[:, held] = False
        which = np.flatnonzero(far.any(axis=0))
        sample = which[:: max(1, len(which) // block.SAMPLE)]
        if not len(sample):
            continue
        _, slack = block.judge(learner.support, learner.kernel, data.take(sample), machines)
        wrong = far[:, sample] & (slack > tolerances.wrong * unit)
        if (
            wrong.sum(axis=1) / np.maximum(1, far[:, sample].sum(axis=1)) > block.WRONG_SHARE
        ).any():
            return True
    return False


def admit_misled(learner: LASVM, data: Examples, slacks: np.ndarray) -> bool:
    """After the finishing step: admit examples near the margin that it has left on the wrong side.

    Rows that come in great number, equal or almost, lie on the margin together, and few of them are in S.
    What finishing changes for those few it changes for all. Returns whether any was admitted; nothing
    is judged but a sample where none is misclassified.
    """
    support, tolerances = learner.support, learner.support.task.tolerances
    held = support.a.key[: support.n]
    for machines in _judged_together(support):
        unit = support.unit[machines, None]
        near = np.isfinite(slacks[machines]) & (slacks[machines] > -tolerances.near * unit)
        near[:, held[held >= 0]] = False
        which = np.flatnonzero(near.any(axis=0))
        sample = which[:: max(1, len(which) // LAST_SAMPLE)]
        if not len(sample):
            continue
        _, slack = block.judge(support, learner.kernel, data.take(sample), machines)
        if (near[:, sample] & (slack > tolerances.wrong * unit)).any():
            threshold = tolerances.reenter * support.unit
            return len(admit(learner, data, slacks, tolerances.near, threshold)) > 0
    return False


def admit(
    learner: LASVM, data: DataSet, slacks: np.ndarray, reach: float | np.ndarray,
    threshold: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Each machine scores the examples that are not its members, and admits those whose
    slack exceeds ``threshold``. Returns the slacks with which they were admitted, in units of
    the machines.

    Examples that were farther out than ``reach``, in the same units, of all machines or of each, are
    not scored.
    """
    learner.values.drop()
    support, size = learner.support, max(learner.block_size, 2048)
    n, joins, grad = slacks.shape[1], np.zeros(slacks.shape, bool), np.zeros(slacks.shape)
    admitted, least = [np.empty(0)], -reach * support.unit
    held = np.flatnonzero(support.a.key[: support.n] >= 0)  # rows of streams are no examples
    for machines in _judged_together(support, n):
        unit, nearest = support.unit[machines, None], least[machines, None]
        near = (slacks[machines] > nearest) | np.isneginf(nearest)
        if support.task.partial:
            near &= support.task.linear(data.label, support.a.positive[machines]) != 0.0
        near[:, support.a.key[held]] &= ~support.a.member[machines, held]
        which = np.flatnonzero(near.any(axis=0))
        for first in range(0, len(which), size):
            checkpoint()
            part = which[first : first + size]
            found, slack = block.judge(support, learner.kernel, data.take(part), machines)
            asked = near[:, part]
            enters = asked & (slack > threshold[machines, None])
            grad[machines, part], joins[machines, part] = found, enters
            slacks[machines, part] = np.where(
                asked, np.where(enters, -np.inf, slack), slacks[machines, part]
            )
            admitted.append((slack / unit)[enters])
    which = np.flatnonzero(joins.any(axis=0))
    if len(which):
        slot = support.slots(data.key[which])
        block.join(support, data.take(which), slot, joins[:, which], grad[:, which])
    return np.concatenate(admitted)


def _judged_together(support: Support, n: float = np.inf) -> list[slice]:
    """One by one, each has few examples to judge; where there are many, or they overlap, the same ones
    over and over. Pairs of classes judge n examples in one go where these are few.
    """
    machines = support.machines
    small = support.task.partial and n * support.n <= working_set.OVERHEAD * machines
    size = TOGETHER if machines >= block.MANY or support.task.overlap or small else 1
    return [slice(first, min(first + size, machines)) for first in range(0, machines, size)]


def converge(
    learner: LASVM, data: DataSet, slacks: np.ndarray, done: bool = True,
    reference: Reference | None = None,
) -> Iterator[int]:  # fmt: skip
    """Admit violators and finish, until none is left; yields how many came in each time.

    ``reference``: the model that slacks are known by; examples without a slack that is known have an
    infinite one.

    ``done``: whether the finishing step before has reached its tolerance. A round that raises the dual
    objective of no machine counts as a failure: where kernel values are so large that rounding exceeds
    the tolerance, examples would come and go for ever.
    """
    near = learner.support.task.tolerances.near
    learner.task.make_exact(learner.support)
    learner.converged, reach, failures = False, near, 0
    highest = learner.support.dual()
    while failures < MOST_FAILURES:
        entered = len(_admit_violators(learner, data, slacks, reach, reference))
        if entered == 0 and (reach == np.inf or reference is not None):
            learner.converged = done
            return
        reach = np.inf if entered == 0 else near
        if entered:
            if reference is not None:
                restart(learner)
            done = learner.finish()
            dual = learner.support.dual()
            gains = (dual > highest + LEAST_GAIN * np.abs(highest)).any()
            highest = np.maximum(highest, dual)
            failures += not (done and gains)
            yield entered
        if not done and learner.support.left is not None and not learner.support.left.all():
            return


def _admit_violators(
    learner: LASVM, data: DataSet, slacks: np.ndarray, reach: float, reference: Reference | None
) -> np.ndarray:
    """Bring in examples that may violate by more than tau, with S or with each other."""
    threshold = least_violation(learner)
    if reference is None:
        return admit(learner, data, slacks, reach, threshold)
    reference.raise_slacks(data, slacks, threshold)
    if not (slacks > threshold[:, None]).any():
        return np.empty(0)
    entered = admit(learner, data, slacks, -threshold / learner.support.unit, threshold)
    reference.begin()
    return entered


def least_violation(learner: LASVM) -> np.ndarray:
    """The slack from which on an example outside S may violate by more than tau, by machine.

    One that may go up violates with g_min = b - delta / 2, one that may go down with g_max:
    slack + delta / 2 > tau.
    Two examples outside S violate with each other only if the slack of one exceeds tau / 2.
    """
    learner.support.measure()
    tau = learner.tau * learner.support.unit
    return np.minimum(tau - learner.support.a.delta / 2, tau / 2)
