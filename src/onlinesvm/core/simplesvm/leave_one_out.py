"""Leave-one-out values of SimpleSVM, from its factor (simplesvm-2003, section 5).

Adding a variable is reversible: one is taken out of the working set and its coefficient is driven
to zero, the others keeping their gradients at zero on the way; passes over the remaining variables
then restore optimality, the value of the example left out is read off, and the solution is put
back. Nothing is learned from scratch. An example without a coefficient has its leave-one-out value
already: the solution without it is the same. Where the factor cannot be used, examples are forgotten one
at a time.
"""

from __future__ import annotations

import numpy as np

from ..runtime.interrupts import checkpoint
from . import lowrank
from .factor import take_out
from .kernel_store import LowRankSource
from .learner import SimpleSVM
from .machine import Machine
from .state import (
    ALPHA,
    DONE,
    EDGE,
    ENROLL,
    ENTRY,
    EXPEL,
    FULL,
    GONE,
    GROUP,
    IN_TURN,
    MORE,
    NO_PARTNER,
    PLACE,
    UPPER,
    ZERO,
    Local,
    M,
)  # fmt: skip

MOST_PASSES = 1000
"""Passes over the variables after one example has left."""

NO_LIMIT = 2**62
"""Violators may be added without end."""


def leave_one_out(learner: SimpleSVM) -> np.ndarray:
    """Decision values (n, machines) of the kept examples, each by the solution without it.

    Problems whose equality rows depend on the number of examples (nu) change with every example
    that goes, and so do data sets whose kernel matrix does not fit: those forget one at a time.
    """
    if learner.task.depends_on_count or not _fits(learner):
        return _by_forgetting(learner)
    capacity = max(machine.capacity for machine in learner.machines)
    columns = [_values(machine, capacity) for machine in learner.machines]
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


class _LeaveOneOut:
    """A solved machine, a copy of which loses one example at a time."""

    def __init__(self, machine: Machine, capacity: int):
        machine = self.machine = machine.copy()
        machine.reserve(min(capacity, len(machine.problem)))
        self.values, self.at = machine.everything()
        machine.solve_members(self.values, self.at)
        self.members = int(machine.w.counts[M])
        self.at_0 = Local(*(array.copy() for array in self.at))
        self.saved = machine.copy()
        self.every = np.arange(len(machine.problem))

    def examples(self) -> np.ndarray:
        """Those with a coefficient, or in the working set."""
        at = self.at_0
        return np.unique(
            self.machine.problem.row[(at.alpha > 0) | (at.code[PLACE] >= 0)],
        )

    def without(self, variables: list[int]) -> tuple[float, float]:
        """Gradient [Ha + c] at the first variable, and multiplier, without these variables.

        NaN if no other variable can take their place.
        """
        able = all([self._expel(i) for i in variables]) and self._optimise()
        gradient, beta = np.nan, np.nan
        if able:
            first = np.array(variables[:1])
            gradient = self.machine.plain_gradients(self.values, self.at, first)[0]
            beta = self._multiplier(self.at.code[GROUP, variables[0]])
        self._put_back()
        return gradient, beta

    def _expel(self, i: int) -> bool:
        """Variable i's coefficient goes to zero. Returns whether others could take its place."""
        if self.at.code[PLACE, i] >= 0:
            self._take_out(i)
        self.at.code[PLACE, i] = GONE
        while self.at.alpha[i] > 0.0:
            outcome = self._visit(np.array([i]), EXPEL)
            if outcome == NO_PARTNER:
                partner = self._partner(i)
                outcome = self._visit(partner, ENROLL) if len(partner) else outcome
            if outcome != DONE:
                return False
        return True

    def _visit(self, order: np.ndarray, mode: int) -> int:
        return self.machine._visit(self.values, self.at, order, mode, 0.0, NO_LIMIT)[0]

    def _take_out(self, i: int) -> None:
        """Variable i leaves the working set with the coefficient that it has."""
        at, w, R = self.at, self.machine.w, self.values.R
        m, place = int(w.counts[M]), at.code[PLACE, i]
        w.counts[M] = m - 1
        if R is None:
            take_out(w.U, w.V, m, place)
        else:
            lowrank.leave(i, self.values.Z, self.values.low, R, at, w)
        w.member[place : m - 1] = w.member[place + 1 : m].copy()
        at.code[PLACE, w.member[: m - 1]] = np.arange(m - 1)
        q = at.code[GROUP, i]
        if R is None and not (at.code[GROUP, w.member[: m - 1]] == q).any():
            w.V[q] = 0.0  # not nearly, exactly

    def _partner(self, i: int) -> np.ndarray:
        """The variable of i's equality row that can take over what i gives up.

        The nearest to the margin, or none.
        """
        given, code = self.at.given, self.at.code
        needed = np.where(given[ENTRY] == given[ENTRY, i], ZERO, FULL)
        able = (code[GROUP] == code[GROUP, i]) & (given[UPPER] > 0) & (code[PLACE] == needed)
        which = np.flatnonzero(able)
        g = self.machine.plain_gradients(self.values, self.at, which)
        g += given[ENTRY, which] * self.machine.beta[code[GROUP, which]]
        return which[np.argsort(np.abs(g))[:1]]

    def _optimise(self) -> bool:
        """Passes over all variables until none violates."""
        for _ in range(MOST_PASSES):
            outcome = self._visit(self.every, IN_TURN)
            if outcome != MORE:
                break
        self.machine.check_outcome(outcome)
        return True

    def _multiplier(self, q: int) -> float:
        """That of equality row q; the middle of its range where nothing fixes it.

        As ``WorkingSet.multipliers``, for the variables that are not left out.
        """
        at, upper = self.at, self.at.given[UPPER]
        rest = EDGE * np.where(np.isfinite(upper), upper, at.alpha.max())
        rises, falls = at.alpha < upper - rest, at.alpha > rest
        here = (at.code[GROUP] == q) & (at.code[PLACE] >= FULL)
        if (here & rises & falls & (at.code[PLACE] >= 0)).any():
            return float(self.machine.beta[q])
        entry = at.given[ENTRY]
        value = -entry * self.machine.plain_gradients(self.values, at, self.every)
        low = value[here & np.where(entry > 0, rises, falls)].max(initial=-np.inf)
        high = value[here & np.where(entry > 0, falls, rises)].min(initial=np.inf)
        ends = [end for end in (low, high) if np.isfinite(end)]
        return float(np.mean(ends)) if ends else np.inf

    def _put_back(self) -> None:
        """The state as it was."""
        w, kept, m = self.machine.w, self.saved.w, self.members
        self.at.given[ALPHA:], self.at.code[PLACE] = self.at_0.given[ALPHA:], self.at_0.code[PLACE]
        w.member[:m], w.border[:], w.counts[M] = kept.member[:m], kept.border, m
        if self.values.low is not None:
            self.values.low[:] = self.saved.low
        if self.values.R is not None:
            self.values.R[:] = self.saved.R
        else:
            w.V[:, :m], w.U[:m, :m] = kept.V[:, :m], kept.U[:m, :m]


def _values(machine: Machine, capacity: int) -> np.ndarray:
    """Decision value of every example by the machine that has not seen it; NaN: there is none.

    For machines whose bias is their multiplier (all but those of nu).
    """
    p, n = machine.problem, len(machine.source)
    out = machine.score + machine.multipliers()[0]
    state = _LeaveOneOut(machine, capacity)
    for i in state.examples().tolist():
        gradient, beta = state.without([i, i + n] if len(p) > n else [i])
        out[i] = p.sign[i] * (gradient - p.linear[i]) + beta
        checkpoint()
    return out
