"""The solution of one quadratic program, and the factor of its working set.

Coefficients, scores and multipliers; how they are read: gradients, violations of the optimality
conditions, the objective. ``WorkingSet`` shows the compiled loop (``steps.visit``) some or all variables
as a ``Local`` record, and writes back what the loop changed. ``held`` are the members of the working
set; ``w`` has their factor, which is built, extended, updated and rebuilt here.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from ...exceptions import CacheSizeError
from . import steps
from .factor import take_out
from .kernel_store import KernelStore, LowRankSource, Source
from .state import (
    ADDED,
    ALPHA,
    BASE,
    COARSE,
    EDGE,
    ENROLL,
    ENTRY,
    FALL,
    FULL,
    GROUP,
    GROW,
    IN_TURN,
    MORE,
    MOVED,
    NO_CAPACITY,
    PLACE,
    RIDGE,
    ROUNDING,
    ROW,
    SIGN,
    SINGULAR,
    SLOPE,
    SOLVE,
    TOL,
    UNBOUNDED,
    UPPER,
    ZERO,
    Local,
    M,
    Values,
    Work,
    same,
)
from .tasks import Problem

KEPT_MEMBERS = 256
"""Maximum number of members whose factor a file holds, about 260 KB."""

CHANGED_IN = 16
"""A factor is rebuilt, not updated, if more than one in this number of members has changed."""

SPARE = 2**22
"""Values of all machines' factors that few members may have place for between two calls."""

NO_MEMBERS = np.empty(0, np.int64)

_EPS = np.finfo(float).eps


def most_capacity(members: int, machines: int) -> int:
    """Members that a factor has place for at most between two calls, in memory and in a file."""
    return max(int(np.sqrt(SPARE / machines)), 4 * members)


class NoSolutionError(ValueError):
    """The objective has no lower bound: with a hard margin, the data cannot be separated."""


class PackedFactor(NamedTuple):
    """The part of ``Work`` that lasts, where the factor is a triangle U.

    Its capacity lasts as well: where a factor must grow, the compiled loops start again, and
    another start is another order of steps. Scratch rows of V are zero.
    """

    capacity: int
    triangle: np.ndarray  # U, row by row
    V: np.ndarray
    member: np.ndarray
    border: np.ndarray
    counts: np.ndarray

    def unpacked(self) -> Work:
        """With place for as many members as there was."""
        m = len(self.member)
        U, V = np.zeros((self.capacity,) * 2), np.zeros((len(self.V), self.capacity))
        rows, columns = np.triu_indices(m)
        U[rows, columns], V[:, :m] = self.triangle, self.V
        member = np.zeros(self.capacity, np.int64)
        member[:m] = self.member
        return Work(U, V, member, self.border, self.counts)


MOST_NOISE = 2.0
"""Largest violation that is taken for rounding, as a share of the spread of the targets: with a larger
one, a constant is nearer to the targets than the solution."""


class WorkingSet:
    """The state of one problem."""

    low: np.ndarray | None  # scratch of kernel values of low rank
    R: np.ndarray | None  # their factor in a problem with ridge; see ``lowrank``

    def __init__(self, problem: Problem, source: Source, tol: float, capacity: int):
        self.problem, self.source = problem, source
        self.tol, self.capacity = tol, capacity
        self.alpha = np.zeros(len(problem))
        self.score = np.zeros(len(source))
        self.held = np.empty(0, np.int64)
        self.tau = self._scale_of_factor()
        self.w, self.low, self.R = self._empty_factor(0)

    def copy(self, machines: int = 1) -> Self:
        """A copy whose state is its own and can be written to; the kernel values are shared.

        Of the spare capacity it has as much as a file of that many machines holds.
        """
        twin = same(self)
        twin.alpha, twin.score = np.array(self.alpha), np.array(self.score)
        twin.held = np.array(self.held)
        twin.w = self._copied_factor(machines)
        twin.low = None if self.low is None else np.array(self.low)
        twin.R = None if self.R is None else np.array(self.R)
        if twin.w.counts[M] != len(twin.held):  # it comes from a file, without its factor
            twin.rebuild()
        return twin

    def _copied_factor(self, machines: int) -> Work:
        w, m = self.w, int(self.w.counts[M])
        if self.primal:
            return Work(*map(np.array, w))
        size = min(len(w.member), most_capacity(m, machines))
        arrays = (w.U[:size, :size], w.V[:, :size], w.member[:size], w.border, w.counts)
        return Work(*map(np.array, arrays))

    def __getstate__(self) -> dict[str, object]:
        """A small factor as its triangle; a large one is made again when learning goes on."""
        if self.primal:
            return self.__dict__
        if self.w.counts[M] > KEPT_MEMBERS:
            empty = self._empty_factor(0)[0]
            empty.border[:] = self.w.border
            return {**self.__dict__, "w": empty}
        return {**self.__dict__, "w": self.packed_factor()}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        factor = state["w"]
        if isinstance(factor, PackedFactor):
            self.w = factor.unpacked()

    def packed_factor(self) -> PackedFactor:
        """The factor without its spare capacity; not that of the normal equations."""
        w, m = self.w, int(self.w.counts[M])
        V = w.V[:, :m].copy()
        V[len(self.problem.target) :] = 0.0
        return PackedFactor(
            len(w.member), w.U[:m, :m][np.triu_indices(m)], V, w.member[:m].copy(),
            w.border.copy(), w.counts.copy(),
        )  # fmt: skip

    # -- how it is read -------------------------------------------------------------------

    @property
    def most(self) -> int:
        """Members allowed on the way: a few more than in the end, who make others leave."""
        return self.capacity + max(8, self.capacity // 16)

    @property
    def primal(self) -> bool:
        """Whether the factor is that of the normal equations: low rank with a ridge."""
        return isinstance(self.source, LowRankSource) and bool((self.problem.ridge > 0).all())

    @property
    def beta(self) -> np.ndarray:
        """The multipliers of the equality rows (a view)."""
        return self.w.border[:, len(self.problem.target) + 1]

    def coefficients(self) -> np.ndarray:
        """sum of s_i a_i for every example."""
        p = self.problem
        return np.bincount(p.row, p.sign * self.alpha, minlength=len(self.source))

    def gradient(self) -> np.ndarray:
        """Ha + c for every variable."""
        p = self.problem
        return p.sign * self.score[p.row] + p.ridge * self.alpha + p.linear

    def objective(self) -> float:
        """a'Ha / 2 + c'a."""
        return float(self.alpha @ (self.gradient() + self.problem.linear) / 2)

    def objective_rounding(self) -> float:
        """A change of the objective that says nothing.

        Where the objective is close to zero, each sweep may lower it by the rounding of its terms.
        """
        terms = self.alpha @ (np.abs(self.gradient() + self.problem.linear) + self.noise())
        return float(max(1e-15 * abs(self.objective()), 4 * _EPS * terms))

    def place(self) -> np.ndarray:
        """Where every variable is: ``ZERO``, ``FULL``, or its position in the working set."""
        place = np.where((self.alpha >= self.problem.upper) & (self.alpha > 0), FULL, ZERO)
        place[self.held] = np.arange(len(self.held))
        return place

    def gap(self) -> np.ndarray:
        """b - Aa."""
        p = self.problem
        return p.target - np.bincount(p.group, p.entry * self.alpha, minlength=len(p.target))

    def unit(self) -> float:
        """Size of the gradients that matter, if it is below one: tolerances are shares of it."""
        p = self.problem
        size = float(np.ptp(p.sign * p.linear)) if p.linear.any() else self.alpha.sum() * self.tau
        return min(1.0, size) if size > 0 else 1.0

    def tolerances(self) -> np.ndarray:
        """Violation up to which a variable's part of the KKT gap is below ``tol``."""
        upper = self.problem.upper
        scale = np.maximum(np.where(np.isfinite(upper), upper, 1.0), 1.0)
        return np.maximum(self.tol * self.unit() / scale, self.noise())

    def noise(self) -> float:
        """Rounding of a gradient."""
        size = np.abs(self.problem.linear).max(initial=0.0) + self.alpha.sum() * self.tau
        return float(_EPS * size)

    def is_small(self, violation: np.ndarray) -> bool:
        """Whether violations taken for rounding leave a solution that is worth something."""
        p = self.problem
        size = float(np.ptp(p.sign * p.linear)) or 1.0
        return not p.linear.any() or bool(violation.max() <= MOST_NOISE * size)

    def violations(self, gradient: np.ndarray) -> np.ndarray:
        """By how much each variable violates the conditions of section 2.3."""
        p = self.problem
        place = self.place()
        g = gradient + p.entry * self.beta[p.group]
        low = np.where((place == ZERO) & (p.upper > 0), np.maximum(-g, 0.0), 0.0)
        return np.where(place == FULL, np.maximum(g, 0.0), low)

    def kkt_violation(self) -> float:
        """Largest part of the KKT gap, as in section 4.1."""
        upper = self.problem.upper
        weight = np.maximum(np.where(np.isfinite(upper), upper, 1.0), 1.0)
        return float((self.violations(self.gradient()) * weight).max(initial=0.0))

    def multipliers(self) -> np.ndarray:
        """beta; one that no variable strictly within its bounds fixes is the middle of its range.

        A variable may be in the working set and at its bound: it then says one end of the range.
        """
        p, beta = self.problem, self.beta.copy()
        held = self.held[self._room_below()[self.held] & self._room_above()[self.held]]
        fixed = np.bincount(p.group[held], minlength=len(beta)) > 0
        if not fixed.all():
            gradient = self.gradient()
            for q in np.flatnonzero(~fixed).tolist():
                beta[q] = self._middle_of_range(q, gradient)
        return beta

    def _rest(self) -> np.ndarray:
        """How near to a bound counts as at it."""
        upper = self.problem.upper
        return EDGE * np.where(np.isfinite(upper), upper, self.alpha.max(initial=0.0))

    def _room_below(self) -> np.ndarray:
        return self.alpha > self._rest()

    def _room_above(self) -> np.ndarray:
        return self.alpha < self.problem.upper - self._rest()

    def _middle_of_range(self, q: int, gradient: np.ndarray) -> float:
        """The middle of the multipliers of equality row q with which nothing violates."""
        p = self.problem
        which = p.group == q
        value = -(p.entry * gradient)[which]
        grows, shrinks = self._room_above()[which], self._room_below()[which]
        up = p.entry[which] > 0
        low = value[np.where(up, grows, shrinks)].max(initial=-np.inf)
        high = value[np.where(up, shrinks, grows)].min(initial=np.inf)
        ends = [end for end in (low, high) if np.isfinite(end)]
        return float(np.mean(ends)) if ends else 0.0

    def _scale_of_factor(self) -> float:
        """tau: about as large as the diagonal of H.

        Kernels that are not positive definite may have k(x, x) < 0: tau then outweighs it, so that a
        working set of one example can be factored. With k(x, x) = 0 it outweighs the other values.
        """
        if isinstance(self.source, LowRankSource):
            diagonal = np.einsum("ij,ij->i", self.source.Z[:1000], self.source.Z[:1000])
        else:
            few = 20 if self.source.rows.kernel.name == "callable" else 1000
            some = np.arange(min(len(self.source), few))
            diagonal = self.source.rows.take(some).diagonal()
        mean = float(diagonal.mean()) if len(diagonal) else 1.0
        size = max(mean, -2.0 * float(diagonal.min(initial=0.0)))
        if size == 0.0 and isinstance(self.source, KernelStore):
            size = 2.0 * float(np.abs(self.source.block(some[:20])).max(initial=0.0))
        return size or 1.0

    # -- what the compiled loops see ----------------------------------------------------

    def check_outcome(self, outcome: int) -> None:
        if outcome == UNBOUNDED:
            raise NoSolutionError("The data cannot be separated.")
        if outcome == NO_CAPACITY:
            self._refuse()

    def _refuse(self) -> None:
        raise CacheSizeError(
            f"More than {self.capacity} support vectors strictly within their bounds are needed; "
            "they do not fit into memory. Raise cache_size, use low_rank, or, to classify, LASVMClassifier, "
            "whose memory does not grow with the square of their number."
        )

    def _record(
        self, ids: np.ndarray, row: np.ndarray, base: np.ndarray, tol: np.ndarray, moved: np.ndarray
    ) -> Local:
        """The variables ``ids``, whose examples are the rows ``row`` of the kernel values."""
        p, alpha = self.problem, self.alpha[ids]
        given = np.empty((8, len(ids)))
        given[BASE], given[RIDGE], given[UPPER] = base, p.ridge[ids], p.upper[ids]
        given[ENTRY], given[SIGN], given[TOL] = p.entry[ids], p.sign[ids], tol
        given[ALPHA], given[MOVED, : len(moved)] = alpha, moved
        place = np.where((alpha >= p.upper[ids]) & (alpha > 0), FULL, ZERO)
        return Local(given, np.stack([p.group[ids], row, place]))

    def _some(self, ids: np.ndarray, gradient: np.ndarray, tol: np.ndarray) -> tuple[Values, Local]:
        """Some variables, the working set first."""
        examples, row = self.problem.row[ids], np.arange(len(ids))
        if len(self.problem) > len(self.source):  # both variables of an example may be there
            examples, row = np.unique(examples, return_inverse=True)
        if isinstance(self.source, LowRankSource):
            values = Values(None, self.source.Z[examples], self.low, self.R)
            assert self.low is not None
            self.low[FALL] = 0.0
        else:
            values = Values(self.source.block(examples))
        at = self._record(ids, row, gradient[ids], tol[ids], np.zeros(len(examples)))
        held = np.arange(len(self.held))
        at.code[PLACE, : len(held)] = self.w.member[: len(held)] = held
        return values, at

    def everything(self) -> tuple[Values, Local]:
        """All variables."""
        p, n = self.problem, len(self.problem)
        moved = self.coefficients()
        if isinstance(self.source, LowRankSource):
            values = Values(None, self.source.Z, self.low, self.R)
            assert self.low is not None
            self.low[FALL, :-1] = moved @ self.source.Z
        else:
            values = Values(self.source.fill())
        at = self._record(np.arange(n), p.row, p.linear, self.tolerances(), moved)
        at.code[PLACE, self.held] = np.arange(len(self.held))
        self.w.member[: len(self.held)] = self.held
        return values, at

    # -- the compiled loop ----------------------------------------------------------------

    def _visit(
        self, values: Values, at: Local, order: np.ndarray, mode: int, floor: float = 0.0,
        limit: int = 0,
    ) -> tuple[int, float]:  # fmt: skip
        """One call of the compiled loop; see ``steps.visit``."""
        return steps.visit(*values, at, self.w, order, mode, floor, limit)

    def solve_members(self, values: Values, at: Local) -> None:
        """Solve the working set from any feasible coefficients.

        What is solved already is left alone: a step that is all rounding would drop variables that
        rest at a bound.
        """
        w, gap = self.w, self.gap()
        who = w.member[: w.counts[M]]
        plain = self.plain_gradients(values, at, who)
        slope = plain + at.given[ENTRY, who] * self.beta[at.code[GROUP, who]]
        is_solved = np.abs(slope).max(initial=0.0) <= ROUNDING * np.abs(plain).max(initial=0.0)
        allowed = ROUNDING * at.alpha[who].max(initial=0.0)
        if len(who) and not (is_solved and np.abs(gap).max() <= allowed):
            w.V[len(gap) + SLOPE, : len(who)] = slope
            w.border[:, len(gap) + 3] = gap
            self._visit(values, at, NO_MEMBERS, SOLVE)

    def plain_gradients(self, values: Values, at: Local, which: np.ndarray) -> np.ndarray:
        """[Ha + c] of variables at hand, without the equality rows' part."""
        row = at.code[ROW, which]
        total = at.given[RIDGE, which] * at.given[MOVED, row]
        if values.Z is not None and values.low is not None:
            total += values.Z[row] @ values.low[FALL, :-1]
        if values.K is not None:
            moved = at.given[MOVED, : len(values.K)]
            total += (values.K @ moved)[row] if moved.any() else 0.0
        return at.given[BASE, which] + at.given[SIGN, which] * total

    def _work(
        self, values: Values, at: Local, order: np.ndarray, floor: float, passes: int, limit: int
    ) -> int:
        """Solve the working set, then add violators among ``order`` until there is none.

        ``passes`` is the maximum number of passes; each ignores violations below ``floor``, which
        follows the largest. Returns the outcome, MORE after ``limit`` violators.
        """
        self.solve_members(values, at)
        last, made, n = int(self.w.counts[ADDED]) + limit, 0, len(self.problem)
        while made < passes:
            left = last - int(self.w.counts[ADDED])
            outcome, largest = self._visit(values, at, order, IN_TURN, floor, left)
            if outcome == GROW:
                self.reserve(min(n, self.most, 2 * len(self.w.member) + 64))
                continue
            floor = min(floor, COARSE * largest)
            if outcome != MORE or self.w.counts[ADDED] >= last:
                return outcome
            made += 1
        return MORE

    def _write_back(self, ids: np.ndarray, at: Local, before: np.ndarray) -> None:
        p, w = self.problem, self.w
        self.held = ids[w.member[: w.counts[M]]]
        self.alpha[ids] = at.alpha
        change = np.bincount(
            p.row[ids], p.sign[ids] * (at.alpha - before), minlength=len(self.source)
        )
        self._add_scores(change)

    def _add_scores(self, change: np.ndarray) -> None:
        """``score`` follows a change of the examples' coefficients."""
        if isinstance(self.source, LowRankSource):
            self.score += self.source.Z @ (change @ self.source.Z)
            return
        which = np.flatnonzero(change)
        self.source.keep(np.unique(self.problem.row[self.held]), evict=True)
        self.score += self.source.product(which, change[which])

    # -- the factor -----------------------------------------------------------------------

    def _empty_factor(self, capacity: int) -> tuple[Work, np.ndarray | None, np.ndarray | None]:
        """``w``, ``low`` and ``R`` of an empty working set with place for ``capacity`` members."""
        d, source = len(self.problem.target), self.source
        rank = source.Z.shape[1] if isinstance(source, LowRankSource) else 0
        normal = rank + 1 if self.primal else 0
        side = 0 if normal else capacity
        members = len(self.problem) if normal else capacity
        R = np.zeros((normal, normal))
        R[np.arange(normal - 1), np.arange(normal - 1)] = 1.0
        border = np.zeros((d, d + 4))
        border[0, d + 2] = 0.0 if normal else self.tau
        empty = Work(
            np.zeros((side, side)), np.zeros((d + 3, members)), np.zeros(members, np.int64), border,
            np.array([0, 0, self.most, 0]),
        )  # fmt: skip
        low = np.zeros((2, rank + 1)) if isinstance(source, LowRankSource) else None
        return empty, low, (R if normal else None)

    def _make_factor(self, capacity: int) -> None:
        """An empty working set in place of the present one; the multipliers stay."""
        beta = self.beta.copy()
        self.w, self.low, self.R = self._empty_factor(capacity)
        self.beta[:] = beta

    def follow_scale(self) -> None:
        """Recompute tau, and with it the factor, if the scale of the stored examples has
        changed.
        """
        tau = self._scale_of_factor()
        if not 0.01 < tau / self.tau < 100.0:
            self.tau = tau
            self._make_factor(0)

    def reserve(self, needed: int) -> None:
        """Place for ``needed`` members; grows by half, within what memory allows."""
        w = self.w
        if self.primal or needed <= len(w.member):
            return
        capacity = max(needed, len(w.member) * 3 // 2)
        m, old = int(w.counts[M]), w
        self._make_factor(capacity)
        self.w.U[:m, :m], self.w.V[:, :m] = old.U[:m, :m], old.V[:, :m]
        self.w.member[:m], self.w.counts[:] = old.member[:m], old.counts

    def rebuild(self) -> None:
        """Rebuild the factor from the members of the working set."""
        p, m = self.problem, len(self.held)
        if self.primal or m == 0:
            self._enroll_all()
            return
        entry, group = p.entry[self.held], p.group[self.held]
        try:
            U = cholesky(self.matrix(), check_finite=False)
            if (np.diag(U) ** 2).min() <= SINGULAR * np.diag(U).max() ** 2:
                raise LinAlgError
        except LinAlgError:
            self._enroll_all()
            return
        self.reserve(m)
        w = self.w
        w.U[:m, :m] = U
        border = np.where(np.arange(len(self.beta))[:, None] == group, entry, 0.0)
        w.V[: len(self.beta), :m] = solve_triangular(U, border.T, trans="T", check_finite=False).T
        w.counts[M] = m

    def matrix(self) -> np.ndarray:
        """What is factored: H_ww + tau A_w'A_w."""
        p, held = self.problem, self.held
        if isinstance(self.source, LowRankSource):
            rows = self.source.Z[p.row[held]]
            K = rows @ rows.T
        else:
            K = self.source.block(p.row[held])
        K *= p.sign[held][:, None]
        K *= p.sign[held]
        K.flat[:: len(held) + 1] += p.ridge[held]
        for q in range(len(p.target)):
            part = np.where(p.group[held] == q, p.entry[held], 0.0)
            K += (self.tau * part)[:, None] * part
        return K

    def _enroll_all(self) -> None:
        """Rebuild the factor, one member after the other."""
        ids, self.held = self.held, np.empty(0, np.int64)
        self._make_factor(len(ids))
        self._enroll(ids)

    def _enroll(self, ids: np.ndarray) -> None:
        """Variables join the factor where they stand; those that it cannot hold go to a bound."""
        ids = np.concatenate([self.held, ids])
        self.reserve(len(ids))
        values, at = self._some(ids, self.gradient(), np.zeros(len(self.problem)))
        before, order = at.alpha.copy(), np.arange(len(self.held), len(ids))
        outcome, _ = self._visit(values, at, order, ENROLL)
        self._write_back(ids, at, before)
        self.check_outcome(outcome)

    def release(self, places: np.ndarray) -> None:
        """Members leave the working set; the factor follows in O(m^2) each.

        It is given up where many leave, or where it is that of the normal equations: it then has
        fewer members than the working set, until ``rebuild``.
        """
        self.held, w, m = np.delete(self.held, places), self.w, int(self.w.counts[M])
        if self.primal or len(places) * CHANGED_IN > m:
            self._make_factor(0)
            return
        for place in np.sort(places)[::-1]:
            take_out(w.U, w.V, m, place)
            m -= 1
        w.counts[M] = m
        present = np.bincount(self.problem.group[self.held], minlength=len(self.beta))
        w.V[: len(self.beta)][present == 0] = 0.0  # not nearly, exactly

    def admit(self, ids: np.ndarray) -> None:
        """Variables, wherever their coefficients are, join the working set."""
        if self.w.counts[M] == len(self.held) and len(ids) * CHANGED_IN <= len(self.held):
            if len(ids):
                self._enroll(ids)
            return
        self.held = np.concatenate([self.held, ids])
        self.rebuild()
