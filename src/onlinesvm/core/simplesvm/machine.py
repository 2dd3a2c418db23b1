"""One quadratic program on a data set in memory: SimpleSVM's sweeps.

``Machine`` is a solution (``working_set.py``) with its verbs. A sweep looks at the gradient of
all variables, takes a block of violators, and lets the compiled loop (``core.simplesvm``) work on
them; then ``score`` is brought up to date with one product of kernel rows. Where all of H is at
hand, because it is small or has a factor Z (``LowRankSource``), a sweep visits all variables.
A small problem begins, unlike the paper's, with cheap steps of two coefficients
(``pair_steps.py``); the exact method then starts from there.

``forget`` and ``extend`` change the problem and keep it feasible: what the equality rows miss is
taken from, or given to, variables nearest to the margin; the next sweeps do the rest.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Self

import numpy as np

from ..runtime.threads import one_blas_thread
from .kernel_store import LowRankSource, Source
from .pair_steps import approach
from .state import COARSE, WORST_FIRST, M
from .tasks import Problem
from .working_set import NO_MEMBERS, WorkingSet

RANDOM_POINTS = 59
"""Random points to choose from: the best of them is among the best 5 % with probability 0.95."""

WHOLE = 1024
"""Maximum number of variables for which half of the kernel matrix is computed and all of it kept."""

PASSES = 20
"""How often a sweep goes over variables whose gradients cost next to nothing."""

APPROACH = 0.01
"""Pairs that violate by more than this share of the largest violation are worth a cheap step."""

MANY, FEW_PASSES = 1024, 5
"""... and of a large data set, how many violators and others, how often."""

CALL = 300_000_000
"""Values of a factor that the violators of one call of a compiled loop may go over: Python hears
Ctrl-C between the calls."""

RESIDUAL = 1e-9
"""A working set whose gradient exceeds this share of its terms has a factor that has drifted."""

_EPS = np.finfo(float).eps
_PATIENCE = 50


class Machine(WorkingSet):
    """A solution that is worked on."""

    def __init__(
        self,
        problem: Problem,
        source: Source,
        *,
        tol: float,
        capacity: int,
        selection: str = "block",
        block_size: int = 256,
        seed: int = 0,
    ):
        super().__init__(problem, source, tol, capacity)
        self.selection, self.block_size = selection, block_size
        self.rng = np.random.default_rng(seed)
        self.n_sweeps = 0
        self.converged = False
        self.first = np.empty(0, np.int64)
        self.turn = 0
        if problem.target.any():  # else nothing is in place already
            self.balance(self.rng.permutation(len(problem)).astype(float))

    def copy(self, machines: int = 1) -> Self:
        """A copy whose state is its own; the kernel values are shared."""
        twin = super().copy(machines)
        twin.rng, twin.first = copy.deepcopy(self.rng), np.array(self.first)
        return twin

    # -- sweeps ---------------------------------------------------------------------------

    def optimise(self, max_sweeps: int | None = None) -> Iterator[int]:
        """Sweep until no variable violates; yields the violators found before each sweep."""
        best, stale, made = np.inf, 0, 0
        while True:
            gradient = self._checked_gradient()
            self._free_multipliers(gradient)
            violation = self.violations(gradient)
            tol = self.tolerances()
            found = int((violation > tol).sum())
            self.converged = found == 0 and self.is_small(violation)
            if self.converged and len(self.held) > self.capacity and not self.primal:
                self._refuse()
            if found == 0 or stale > _PATIENCE or made == max_sweeps:
                return
            yield found
            with one_blas_thread():
                self._sweep(gradient, violation, tol)
            self.n_sweeps += 1
            made += 1
            now = self.objective()
            stale = 0 if now < best - self.objective_rounding() else stale + 1
            best = min(best, now)

    def _checked_gradient(self) -> np.ndarray:
        """The gradient; if the working set turns out not to be solved, its factor is rebuilt."""
        p = self.problem
        for _ in range(2):
            gradient = self.gradient()
            g = gradient + p.entry * self.beta[p.group]
            allowed = RESIDUAL * (self.unit() + np.abs(gradient[self.held]).max(initial=0.0))
            if np.abs(g[self.held]).max(initial=0.0) <= allowed:
                break
            self.rebuild()
            self._solve()
        return gradient

    def _free_multipliers(self, gradient: np.ndarray) -> None:
        """A multiplier that no member of the working set fixes: the middle of what is allowed."""
        fixed = np.bincount(self.problem.group[self.held], minlength=len(self.beta)) > 0
        for q in np.flatnonzero(~fixed).tolist():
            self.beta[q] = self._middle_of_range(q, gradient)

    def allowance(self, members: int) -> int:
        """Violators that one call of the compiled loops takes: work for a fraction of a second."""
        return max(1, CALL // (members * members + len(self.problem)))

    @property
    def whole(self) -> bool:
        """Whether all of H is at hand: few enough variables, or a factor of it."""
        source = self.source
        if isinstance(source, LowRankSource):
            return True
        fits = len(source) <= min(WHOLE, source.capacity)
        return fits and self.selection == "block"

    def _sweep(self, gradient: np.ndarray, violation: np.ndarray, tol: np.ndarray) -> None:
        if self.whole:
            if not (self.n_sweeps or isinstance(self.source, LowRankSource)):
                self._approach(APPROACH * violation.max())
                violation = self.violations(self.gradient())
            self._sweep_all(violation, tol)
            return
        block = self._choose(violation, tol)
        block = block[: max(0, self.most - len(self.held))]
        if not len(block):
            self._refuse()
        tol = np.maximum(tol, COARSE * violation[block].max())
        self._work_on(block, gradient, tol, passes=50)

    def _choose(self, violation: np.ndarray, tol: np.ndarray) -> np.ndarray:
        """The violators of the next sweep, worst first."""
        wrong = np.flatnonzero(violation > tol)
        if len(self.first):
            pair = self.first[~np.isin(self.first, self.held)]
            self.first = np.empty(0, np.int64)
            others = wrong[~np.isin(wrong, pair)]
            return np.concatenate([pair, self._worst(others, violation, self.block_size)])
        if self.selection == "sweep":
            ahead = wrong[np.searchsorted(wrong, self.turn) :][: self.block_size]
            ahead = ahead if len(ahead) else wrong[: self.block_size]
            self.turn = int(ahead[-1]) + 1
            return ahead
        if self.selection == "random":
            drawn = wrong[self.rng.integers(len(wrong), size=min(RANDOM_POINTS, len(wrong)))]
            return np.unique(drawn)
        return self._worst(wrong, violation, self.block_size)

    def _worst(self, wrong: np.ndarray, violation: np.ndarray, limit: int) -> np.ndarray:
        """The worst violators; those that push the multiplier up and down take turns."""
        p, half = self.problem, max(1, limit // 2)
        rises = (p.entry[wrong] > 0) == (self.alpha[wrong] <= 0)
        turns, chosen = [], []
        for side in (wrong[rises], wrong[~rises]):
            if len(side) > half:
                side = side[np.argpartition(-violation[side], half)[:half]]
            chosen.append(side[np.argsort(-violation[side], kind="stable")])
            turns.append(np.arange(len(side)))
        return np.concatenate(chosen)[np.argsort(np.concatenate(turns), kind="stable")]

    def _work_on(
        self, block: np.ndarray, gradient: np.ndarray, tol: np.ndarray, passes: int
    ) -> None:
        """The compiled loop on the working set and a block of other variables."""
        ids = np.concatenate([self.held, block])
        self.reserve(len(ids))
        values, at = self._some(ids, gradient, tol)
        before, order = at.alpha.copy(), np.arange(len(self.held), len(ids))
        limit = min(8 * len(ids), self.allowance(len(ids)))
        if self.selection == "random":
            self.solve_members(values, at)
            outcome, _ = self._visit(values, at, order, WORST_FIRST, 0.0, limit)
        else:
            outcome = self._work(values, at, order, 0.0, passes, limit)
        self._write_back(ids, at, before)
        self.check_outcome(outcome)

    # -- all variables at once ------------------------------------------------------------

    def _approach(self, gap: float) -> None:
        """Before the first sweep: near the solution by cheap steps, and a factor of what is free."""
        p, (values, at) = self.problem, self.everything()
        score = self.score.copy()
        pair, size = self._first_pair()
        approach(values.K, at, score, *pair, size, gap, len(p.target), 4 * len(p))
        free = np.flatnonzero((at.alpha > 0) & (at.alpha < p.upper))
        if len(free) > self.most:  # the solution itself may have fewer
            return
        self.first = np.empty(0, np.int64)
        self.alpha, self.score, self.held = at.alpha, score, free
        self._make_factor(min(len(p), self.most, len(self.held) * 5 // 4 + 16))
        self.rebuild()

    def _first_pair(self) -> tuple[list[int], float]:
        """The pair to begin with, if both are in one equality row, and by how much it violates."""
        p, pair = self.problem, self.first
        if len(pair) != 2 or p.group[pair[0]] != p.group[pair[1]]:
            return [-1, -1], 0.0
        slope = (p.entry * self.gradient())[pair]
        return pair.tolist(), float(slope[1] - slope[0])

    def _sweep_all(self, violation: np.ndarray, tol: np.ndarray) -> None:
        """Every variable in turn, violators first, gradients from H or its factor.

        Of a large data set (there is a factor) all are visited once, and then those that violate
        most and those nearest to a violation: the others hardly ever change.
        """
        n, source = len(self.problem), self.source
        floor, passes, most = COARSE * violation.max(initial=0.0), PASSES, n
        if isinstance(source, LowRankSource):
            self.reserve(min(n, source.Z.shape[1] + len(self.beta) + 1))  # its rank allows no more
            floor, passes, most = (0.0, FEW_PASSES, MANY) if self.n_sweeps else (0.0, 1, n)
        wrong = np.flatnonzero(violation > tol)
        order = self._worst(wrong[~np.isin(wrong, self.first)], violation, most)
        ahead = np.concatenate([self.first[~np.isin(self.first, self.held)], order])
        self.first = np.empty(0, np.int64)
        order = np.concatenate([ahead, self._others(ahead, most)])
        (values, at), before = self.everything(), self.alpha.copy()
        limit = self.allowance(min(n, self.most))
        outcome = self._work(values, at, order, floor, passes, limit)
        self._write_back(np.arange(n), at, before)
        self.check_outcome(outcome)

    def _others(self, ahead: np.ndarray, most: int) -> np.ndarray:
        """Variables besides ``ahead``; if they are more than ``most``, those nearest a violation."""
        rest = np.ones(len(self.problem), bool)
        rest[ahead] = False
        others = np.flatnonzero(rest)
        if len(others) <= most:
            return others
        return others[np.argpartition(self._preference()[others], most)[:most]]

    # -- changes of the problem -----------------------------------------------------------

    def balance(self, preference: np.ndarray) -> None:
        """Move coefficients, lowest preference first, until Aa = b; then solve the working set."""
        p, before = self.problem, self.alpha.copy()
        inside = np.zeros(len(p), bool)
        for q, missing in enumerate(self.gap()):
            if abs(missing) <= 4 * _EPS * max(1.0, abs(p.target[q])):
                continue
            which = np.flatnonzero(p.group == q)
            which = which[np.argsort(preference[which], kind="stable")]
            grows = (p.entry[which] > 0) == (missing > 0)
            reach = np.where(grows, p.upper[which] - self.alpha[which], self.alpha[which])
            given = np.diff(np.minimum(np.cumsum(reach), abs(missing)), prepend=0.0)
            self.alpha[which] += np.where(grows, given, -given)
            inside[which[(given > 0) & (given < reach)]] = True
        ends = (self.alpha <= 0) | (self.alpha >= p.upper)
        self.alpha = np.clip(self.alpha, 0.0, p.upper)
        change = np.bincount(p.row, p.sign * (self.alpha - before), minlength=len(self.source))
        if change.any():
            self._add_scores(change)
        inside[self.held] = False
        self.release(np.flatnonzero(ends[self.held]))
        self.admit(np.flatnonzero(inside & ~ends))
        self._solve()

    def _solve(self) -> None:
        """Solve the working set from wherever its coefficients are."""
        if len(self.held) and not isinstance(self.source, LowRankSource):
            self._work_on(NO_MEMBERS, self.gradient(), np.ones(len(self.problem)), passes=1)

    def _preference(self) -> np.ndarray:
        """How far each variable is from the margin."""
        p = self.problem
        return np.abs(self.gradient() + p.entry * self.beta[p.group])

    def forget(
        self, problem: Problem, kept: np.ndarray, source: Source, score_of_kept: np.ndarray
    ) -> None:
        """Go on with the variables ``kept`` (a mask), which make up ``problem`` on ``source``."""
        position = np.cumsum(kept) - 1
        gone = np.flatnonzero(~kept[self.held])
        self.problem, self.source = problem, source
        self.alpha, self.score = self.alpha[kept], score_of_kept
        self.held = position[self.held]
        self.release(gone)
        self.follow_scale()
        self.balance(self._preference())

    def extend(self, problem: Problem, old: np.ndarray, source: Source, score: np.ndarray) -> None:
        """Go on with ``problem``, where the present variables stand at the places ``old``."""
        alpha = np.zeros(len(problem))
        alpha[old] = self.alpha
        self.held = old[self.held]
        changed = not np.array_equal(problem.target, self.problem.target)
        self.problem, self.source, self.alpha, self.score = problem, source, alpha, score
        if self.primal:
            self._make_factor(0)
        else:
            self.follow_scale()
        if changed or self.w.counts[M] != len(self.held):
            self.balance(self._preference())


def run(machine: Machine) -> None:
    """Sweep to the end."""
    for _ in machine.optimise():
        pass
