"""The working set of a solution, and its factor: built, extended, updated and rebuilt.

``WorkingSet`` shows the compiled loop (``steps.visit``) some or all variables of a solution as a
``Local`` record, and writes back what the loop changed. ``held`` are the members of the working
set; ``w`` has their factor.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from ...exceptions import CacheSizeError
from . import steps
from .factor import take_out
from .problems import Problem
from .solution import LowRankSource, Solution, Source
from .state import (
    ADDED,
    ALPHA,
    BASE,
    COARSE,
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

KEPT_MEMBERS = 256
"""Maximum number of members whose factor a file holds, about 260 KB."""

CHANGED_IN = 16
"""A factor is rebuilt, not updated, if more than one in this number of members has changed."""

SPARE = 2**22
"""Values of all machines' factors that few members may have place for between two calls."""

NOBODY = np.empty(0, np.int64)


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


class WorkingSet(Solution):
    """A solution with the factor of its working set."""

    low: np.ndarray | None  # scratch of kernel values of low rank
    R: np.ndarray | None  # their factor in a problem with ridge; see ``lowrank``

    def __init__(self, problem: Problem, source: Source, tol: float, capacity: int):
        super().__init__(problem, source, tol, capacity)
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
            self._visit(values, at, NOBODY, SOLVE)

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
        tau = self._middle()
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
