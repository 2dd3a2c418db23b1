"""Optimise a machine that was optimal and has changed a little: rows leave it, or a few have come in.

Nearly all of the change is that of coefficients that are free, and of a few rows next to the margin.

    W = the free rows, and those nearest to the margin
    repeat   solve on W (``smo.solve``), roughly at first
             add those that violate, of some more rows near the margin
    until    none of them does; then bring all gradients up to date, and go on with those that violate

``working_set`` begins with all rows that violate, or nearly so, and brings all gradients up to date each
time it has solved: that is right where most coefficients are to change. A finishing step is to follow
this one in any case.

Rows that leave are still in their slots meanwhile, with bounds of zero: the others take over their
coefficients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...kernel.buffers import Buffers, padded
from ...kernel.kernel import Kernel
from ...runtime.interrupts import checkpoint
from ...runtime.threads import thread_count
from ..state import Support
from . import working_set
from .together import INNER_STEPS

if TYPE_CHECKING:
    from ..learner import LASVM

GOALS = (20.0, 4.0, 0.9)
"""Gaps to which W is optimised one after the other, in tolerances. The last leaves nothing to the
finishing step; before, rows that are added late cost few steps."""

NEAR, LOOKED = 48, 512
"""Rows next to the margin in the first W, and others that are looked at before all are."""

FEW, MANY = 0.005, 0.02
"""Shares of those looked at that violate: up to the first, W is optimised to the last goal next; beyond
the second, the change reaches far, and all rows are looked at."""

SPARE = 32
"""Rows that can be added to W before its kernel values are computed anew."""

ROUNDING = 1e-12
"""Share of all coefficients that their sum may be wrong by."""

MOST_ROUNDS = 30
"""Where so many are not enough, the finishing step is better."""

NOBODY = np.empty(0, np.int64)


def restart(
    learner: LASVM,
    machines: np.ndarray | None = None,
    gone: np.ndarray = NOBODY,
    total: float = 0.0,
) -> None:
    """Bring machines, all by default, close to g_max - g_min <= tau, with all their gradients.

    ``gone``: slots of rows that are to leave; their coefficients become zero, and all sum to ``total``. A
    machine is left as it is where free coefficients cannot take that over, or are too many.
    """
    support, tau = learner.support, learner.tau
    if learner.machines >= working_set.MANY:  # these share kernel values in the finishing step
        return
    for m in range(learner.machines) if machines is None else machines.tolist():
        machine = _Machine(support, learner.kernel, m)
        if not len(gone) or machine.begin(gone, total):
            machine.optimise(tau * float(support.unit[m]), len(gone) > 0)
            machine.write_back()


def shift_sum(
    alpha: np.ndarray, grad: np.ndarray, lo: np.ndarray, hi: np.ndarray, excess: float,
    first: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Coefficients that sum to ``excess`` less, as far as their bounds allow.

    Those change that gain most by it, or lose least; those in ``first`` before the others.
    """
    down = excess > 0.0
    gain = grad if down else -grad
    order = np.argsort(gain, kind="stable") if first is None else np.lexsort((gain, ~first))
    room = (alpha - lo if down else hi - alpha)[order]
    step = np.clip(abs(excess) - (np.cumsum(room) - room), 0.0, room)
    changed = alpha.copy()
    changed[order] = np.clip(alpha[order] - np.copysign(step, excess), lo[order], hi[order])
    return changed


class _Machine:
    """A machine on all slots, of which W are solved; rows that are no members cannot move.

    Gradients are right on W; elsewhere they belong to the coefficients ``known``.
    """

    def __init__(self, support: Support, kernel: Kernel, m: int):
        self.support, self.kernel, self.m = support, kernel, m
        self.buffers: Buffers = support.buffers.for_workers(1)[0]
        slots = np.arange(support.n)
        self.problem, self.rows = working_set.problem_of(support, m, slots), support.rows()
        away = ~support.a.member[m, slots]
        self.problem.lo[away] = self.problem.hi[away] = 0.0
        self.known = self.problem.alpha.copy()
        self.W = self.look = NOBODY

    def begin(self, gone: np.ndarray, total: float) -> bool:
        """The first W, whose free rows take over the coefficients of those that leave."""
        problem, (free, distance) = self.problem, self._free_and_distance()
        problem.lo[gone] = problem.hi[gone] = problem.alpha[gone] = 0.0
        free[gone], distance[gone] = False, np.inf
        alpha, excess = problem.alpha[free], float(problem.alpha.sum()) - total
        room = np.maximum(alpha - problem.lo[free], 0.0) if excess > 0 else problem.hi[free] - alpha
        if not self._choose(free, distance) or room.sum() < abs(excess):
            return False
        self._follow(self.W)
        if abs(excess) > ROUNDING * np.abs(problem.alpha).sum():
            part = problem.take(self.W)
            first = free[self.W]
            self._move(shift_sum(part.alpha, part.grad, part.lo, part.hi, excess, first))
        return True

    def optimise(self, tol: float, chosen: bool) -> None:
        """Until the gap is at most tol. ``chosen``: W is already."""
        all_goals = [goal * tol for goal in GOALS]
        goals = all_goals
        for _ in range(MOST_ROUNDS):
            checkpoint()
            if not chosen:
                gap, chosen = self._gap(), True
                if gap <= tol or not self._choose(*self._free_and_distance()):
                    break
                goals = [goal for goal in all_goals if 2 * goal < gap] or all_goals[-1:]
            self._solve(goals[0])
            more, grad = self._violating(goals[0])
            if len(more) > MANY * len(self.look) or (len(goals) == 1 and not len(more)):
                self._catch_up()
                chosen = False
                continue
            self._add(more, grad)
            few = len(more) <= FEW * len(self.look)
            goals = goals[-1:] if few or len(goals) == 1 else goals[1:]
        self._catch_up()

    def write_back(self) -> None:
        """The support set has the coefficients and the gradients."""
        support = self.support
        support.a.alpha[self.m, : support.n] = self.problem.alpha
        support.a.grad[self.m, : support.n] = self.problem.grad
        support.changed()

    def _gap(self) -> float:
        up, down = self.problem.sides()
        return float(up.max(initial=-np.inf) - down.min(initial=np.inf))

    def _free_and_distance(self) -> tuple[np.ndarray, np.ndarray]:
        """Which rows are free, and how far the others are from violating."""
        up, down = self.problem.sides()
        free = up == down
        middle = up[free].mean() if free.any() else (up.max() + down.min()) / 2
        return free, np.minimum(middle - up, down - middle)

    def _choose(self, free: np.ndarray, distance: np.ndarray) -> bool:
        """W and those to look at; false where W is empty or too large."""
        distance = np.where(free, np.inf, distance)
        near = min(max(NEAR, int(np.count_nonzero(distance < 0.0))), len(distance) - 1)
        order = np.arange(len(distance))
        if near + LOOKED < len(distance):
            order = np.argpartition(distance, near + LOOKED)[: near + LOOKED]
        order = order[np.argsort(distance[order])]
        order = order[np.isfinite(distance[order])]
        self.W = np.concatenate([np.flatnonzero(free), order[:near]])
        self.look = order[near:]
        if not 0 < len(self.W) <= working_set.WHOLE:
            return False
        self._compute()
        return True

    def _compute(self) -> None:
        """Kernel values of W; there is space for more, and zeros."""
        width, chosen = padded(len(self.W) + SPARE), self.rows.take(self.W)
        self._whole = self.buffers.block(width, width, 1)
        self._whole[:, len(self.W) :] = self._whole[len(self.W) :] = 0.0
        self.kernel.block(chosen, chosen, self._whole[: len(self.W)])

    def _add(self, more: np.ndarray, grad: np.ndarray) -> None:
        """These are in W from now on, with these gradients."""
        if not len(more):
            return
        self.problem.grad[more] = grad
        before = len(self.W)
        self.W = np.concatenate([self.W, more])
        self.look = np.setdiff1d(self.look, more)
        n = len(self.W)
        if n > len(self._whole):
            self._compute()
            return
        values = self.kernel.block(self.rows.take(more), self.rows.take(self.W))
        self._whole[before:n, :n] = values
        self._whole[:before, before:n] = values[:, :before].T

    def _solve(self, goal: float) -> None:
        """Optimise on W."""
        K, part = self._whole[: len(self.W)], self.problem.take(self.W)
        change = working_set.solve_set(K, part, goal, INNER_STEPS * max(len(K), 1000))
        self._move(np.clip(part.alpha + change, part.lo, part.hi))

    def _move(self, alpha: np.ndarray) -> None:
        """New coefficients on W, and the gradients there."""
        change = alpha - self.problem.alpha[self.W]
        grad, moved = self.problem.grad[self.W], np.flatnonzero(change)
        threads = thread_count(self.kernel.n_jobs)
        working_set.subtract(grad, self._whole, moved, change[moved], threads)
        self.problem.alpha[self.W], self.problem.grad[self.W] = alpha, grad

    def _changes(self, which: np.ndarray | slice) -> np.ndarray:
        """By how much gradients of rows outside W have decreased since they were known."""
        change = self.problem.alpha - self.known
        moved = np.flatnonzero(change)
        rows = self.rows if isinstance(which, slice) else self.rows.take(which)
        return self.kernel.product(rows, self.rows.take(moved), change[None, moved])[:, 0]

    def _follow(self, which: np.ndarray | slice) -> None:
        self.problem.grad[which] -= self._changes(which)

    def _violating(self, goal: float) -> tuple[np.ndarray, np.ndarray]:
        """Rows of those looked at that violate by more than the goal, and their gradients."""
        up, down = self.problem.take(self.W).sides()
        middle = (up.max() + down.min()) / 2
        part = self.problem.take(self.look)
        part.grad[:] -= self._changes(self.look)
        up, down = part.sides()
        violates = (up > middle + goal / 2) | (down < middle - goal / 2)
        return self.look[violates], part.grad[violates]

    def _catch_up(self) -> None:
        """All gradients are right."""
        if not np.array_equal(self.known, self.problem.alpha):
            inside = self.problem.grad[self.W]
            self._follow(slice(None))
            self.problem.grad[self.W] = inside
            self.known = self.problem.alpha.copy()
