"""The solution of one quadratic program: coefficients, scores, multipliers, the factor.

``Solution`` is what SimpleSVM holds between sweeps, and how it is read: gradients, violations of
the optimality conditions, the objective; how the compiled loops see its variables (``Local``) and
what they changed is written back; how its factor is made, grown and made anew.
"""

from __future__ import annotations

import copy
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from . import steps as core
from .factor import leave
from .kernel_store import KernelStore
from .problems import Problem
from .state import (
    EDGE,
    ENROLL,
    FALL,
    FULL,
    NO_CAPACITY,
    PLACE,
    SINGULAR,
    UNBOUNDED,
    ZERO,
    Local,
    M,
    Work,
)

KEPT_MEMBERS = 256
"""A file holds the factor of up to so many members, about 260 KB."""

FEW = 16
"""Up to one in so many members may come or go before a factor made anew is cheaper."""

_EPS = np.finfo(float).eps


class NoSolutionError(ValueError):
    """The objective has no lower bound: with a hard margin, the data cannot be separated."""


class NoRoomError(MemoryError):
    """The working set does not fit into the memory allowed."""


class PackedFactor(NamedTuple):
    """The part of ``Work`` that lasts, where the factor is a triangle U.

    Its capacity lasts as well: where a factor must grow, the compiled loops start again, and
    another start is another order of steps.
    """

    capacity: int
    triangle: np.ndarray  # U, row by row
    V: np.ndarray
    member: np.ndarray
    low: np.ndarray
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
        line, R = np.zeros((2, self.capacity)), np.zeros((0, 0))
        return Work(U, V, R, member, line, self.low, self.border, self.counts)


class LowRankSource:
    """K = Z Z', given by its factor."""

    def __init__(self, Z: np.ndarray):
        self.Z = np.require(Z, np.float64, ["C", "W", "E"])

    def __len__(self) -> int:
        return len(self.Z)


Source = KernelStore | LowRankSource


class Solution:
    """The state of one problem."""

    def __init__(self, problem: Problem, source: Source, tol: float, capacity: int):
        self.problem, self.source = problem, source
        self.tol, self.capacity = tol, capacity
        self.alpha = np.zeros(len(problem))
        self.score = np.zeros(len(source))
        self.held = np.empty(0, np.int64)
        self.tau = self._middle()
        self.w = self._empty_factor(0)

    # -- reading ---------------------------------------------------------------------

    @property
    def most(self) -> int:
        """Members allowed on the way: a few more than in the end, who make others leave."""
        return self.capacity + max(8, self.capacity // 16)

    @property
    def primal(self) -> bool:
        """Whether the factor is that of the normal equations: low rank with a ridge."""
        return isinstance(self.source, LowRankSource) and bool((self.problem.ridge > 0).all())

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

    def copy(self) -> Self:
        """A copy whose state is its own and can be written to; the kernel values are shared."""
        twin = copy.copy(self)
        twin.alpha, twin.score = np.array(self.alpha), np.array(self.score)
        twin.held = np.array(self.held)
        twin.w = Work(*map(np.array, self.w))
        if twin.w.counts[M] != len(twin.held):  # it comes from a file, without its factor
            twin.rebuild()
        return twin

    def __getstate__(self) -> dict[str, object]:
        """A small factor as its triangle; a large one is made again when learning goes on."""
        if not self.primal and self.w.counts[M] > KEPT_MEMBERS:
            empty = self._empty_factor(0)
            empty.border[:] = self.w.border
            return {**self.__dict__, "w": empty}
        return {**self.__dict__, "w": self.packed_factor()}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        factor = state["w"]
        if isinstance(factor, PackedFactor):
            self.w = factor.unpacked()

    def packed_factor(self) -> PackedFactor | Work:
        """The factor without its spare capacity; that of the normal equations as it is."""
        w, m = self.w, int(self.w.counts[M])
        if self.primal:
            return w
        return PackedFactor(
            len(w.member), w.U[:m, :m][np.triu_indices(m)], w.V[:, :m].copy(), w.member[:m].copy(),
            w.low.copy(), w.border.copy(), w.counts.copy(),
        )  # fmt: skip

    # -- what the compiled loops see ----------------------------------------------------

    def _check(self, outcome: int) -> None:
        if outcome == UNBOUNDED:
            raise NoSolutionError("The data cannot be separated.")
        if outcome == NO_CAPACITY:
            self._refuse()

    def _refuse(self) -> None:
        raise NoRoomError(
            f"More than {self.capacity} support vectors strictly within their bounds are needed, and "
            "only so many fit. Raise cache_size, use low_rank, or, to classify, LASVMClassifier, "
            "whose memory does not grow with the square of their number."
        )

    def _record(
        self, ids: np.ndarray, row: np.ndarray, K: np.ndarray, Z: np.ndarray, base: np.ndarray,
        tol: np.ndarray, moved: np.ndarray,
    ) -> Local:  # fmt: skip
        """The variables ``ids``, whose examples are the rows ``row`` of K or Z."""
        p, alpha = self.problem, self.alpha[ids]
        given = np.stack([base, p.ridge[ids], p.upper[ids], p.entry[ids], p.sign[ids], tol])
        place = np.where((alpha >= p.upper[ids]) & (alpha > 0), FULL, ZERO)
        return Local(K, Z, given, np.stack([p.group[ids], row, place]), alpha, moved)

    def _local(self, ids: np.ndarray, gradient: np.ndarray, tol: np.ndarray) -> Local:
        """Some variables, the working set first."""
        examples, row = self.problem.row[ids], np.arange(len(ids))
        if len(self.problem) > len(self.source):  # both variables of an example may be there
            examples, row = np.unique(examples, return_inverse=True)
        if isinstance(self.source, LowRankSource):
            K, Z = np.empty((0, 0)), self.source.Z[examples]
            self.w.low[FALL] = 0.0
        else:
            K, Z = self.source.block(examples), np.empty((len(examples), 0))
        moved = np.zeros(len(examples))
        at = self._record(ids, row, K, Z, gradient[ids], tol[ids], moved)
        at.code[PLACE, : len(self.held)] = np.arange(len(self.held))
        return at

    def everything(self) -> Local:
        """All variables; the working set is made to match."""
        p, n = self.problem, len(self.problem)
        K, Z = np.empty((0, 0)), np.empty((len(self.source), 0))
        moved = self.coefficients()
        if isinstance(self.source, LowRankSource):
            Z = self.source.Z
            self.w.low[FALL, :-1] = moved @ Z
        else:
            K = self.source.fill()
        at = self._record(np.arange(n), p.row, K, Z, p.linear, self.tolerances(), moved)
        at.code[PLACE, self.held] = np.arange(len(self.held))
        self.w.member[: len(self.held)] = self.held
        return at

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

    def _empty_factor(self, capacity: int) -> Work:
        """An empty working set with place for ``capacity`` members."""
        d, source = len(self.problem.target), self.source
        rank = source.Z.shape[1] if isinstance(source, LowRankSource) else 0
        normal = rank + 1 if self.primal else 0
        side = 0 if normal else capacity
        members = len(self.problem) if normal else capacity
        R = np.zeros((normal, normal))
        R[np.arange(normal - 1), np.arange(normal - 1)] = 1.0
        border = np.zeros((d, d + 3))
        border[0, d + 2] = 0.0 if normal else self.tau
        return Work(
            np.zeros((side, side)), np.zeros((d + 1, side)), R, np.zeros(members, np.int64),
            np.zeros((2, members)), np.zeros((2, rank + 1)), border, np.array([0, 0, self.most]),
        )  # fmt: skip

    def _make_factor(self, capacity: int) -> None:
        """An empty working set in place of the present one; the multipliers stay."""
        beta = self.beta.copy()
        self.w = self._empty_factor(capacity)
        self.beta[:] = beta

    @property
    def beta(self) -> np.ndarray:
        """The multipliers of the equality rows (a view)."""
        return self.w.border[:, len(self.problem.target) + 1]

    def _middle(self) -> float:
        """tau: about as large as the diagonal of H."""
        if isinstance(self.source, LowRankSource):
            diagonal = np.einsum("ij,ij->i", self.source.Z[:1000], self.source.Z[:1000])
        else:
            few = 20 if self.source.rows.kernel.name == "callable" else 1000
            some = np.arange(min(len(self.source), few))
            diagonal = self.source.rows.take(some).diagonal()
        mean = float(diagonal.mean()) if len(diagonal) else 1.0
        return mean if mean > 0 else 1.0

    def follow_scale(self) -> None:
        """tau, and with it the factor, anew if the examples that are kept are of another size."""
        tau = self._middle()
        if not 0.01 < tau / self.tau < 100.0:
            self.tau = tau
            self._make_factor(0)

    def _reserve(self, needed: int) -> None:
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
        """The factor anew from the members of the working set."""
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
        self._reserve(m)
        w = self.w
        w.U[:m, :m] = U
        border = np.where(np.arange(len(self.beta))[:, None] == group, entry, 0.0)
        w.V[:-1, :m] = solve_triangular(U, border.T, trans="T", check_finite=False).T
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
        """The factor anew, one member after the other."""
        ids, self.held = self.held, np.empty(0, np.int64)
        self._make_factor(len(ids))
        self._enroll(ids)

    def _enroll(self, ids: np.ndarray) -> None:
        """Variables join the factor where they stand; those that it cannot hold go to a bound."""
        held = len(self.held)
        ids = np.concatenate([self.held, ids])
        self._reserve(len(ids))
        at = self._local(ids, self.gradient(), np.zeros(len(self.problem)))
        before = at.alpha.copy()
        self.w.member[:held] = np.arange(held)
        order = np.arange(held, len(ids))
        outcome = core.work(at, self.w, self.gap(), order, ENROLL, 0.0, 1, 0)
        self._write_back(ids, at, before)
        self._check(outcome)

    def release(self, places: np.ndarray) -> None:
        """Members leave the working set; the factor follows in O(m^2) each.

        It is given up where many leave, or where it is that of the normal equations: it then has
        fewer members than the working set, until ``rebuild``.
        """
        self.held, w, m = np.delete(self.held, places), self.w, int(self.w.counts[M])
        if self.primal or len(places) * FEW > m:
            self._make_factor(0)
            return
        for place in np.sort(places)[::-1]:
            leave(w.U, w.V, m, place)
            m -= 1
        w.counts[M] = m
        present = np.bincount(self.problem.group[self.held], minlength=len(self.beta))
        w.V[:-1][present == 0] = 0.0  # not nearly, exactly

    def admit(self, ids: np.ndarray) -> None:
        """Variables, wherever their coefficients are, join the working set."""
        if self.w.counts[M] == len(self.held) and len(ids) * FEW <= len(self.held):
            if len(ids):
                self._enroll(ids)
            return
        self.held = np.concatenate([self.held, ids])
        self.rebuild()
