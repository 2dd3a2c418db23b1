"""One quadratic program on a data set at hand: SimpleSVM's sweeps.

``Machine`` holds the solution so far: coefficients, their sum with the kernel on every example
(``score``), multipliers, the working set and its factor. A sweep looks at the gradient of all
variables, takes a block of violators, and lets the compiled loop (``core.simplesvm``) work on
them; then ``score`` is brought up to date with one product of kernel rows. Where the kernel has a
factor Z (``LowRankSource``) gradients cost O(l), and a sweep visits all variables in turn.

``forget`` and ``extend`` change the problem and keep it feasible: what the equality rows miss is
taken from, or given to, variables nearest to the margin; the next sweeps do the rest.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from . import simplesvm as core
from .blas import one_blas_thread
from .kernel_store import KernelStore
from .simplesvm import FULL, MORE, UNBOUNDED, ZERO, Local, M, Work
from .simplesvm_problems import Problem

RANDOM_POINTS = 59
"""The best of so many random points is among the best 5 % with probability 0.95."""

COARSE = 0.1
"""Sweeps leave violations alone that are smaller than this share of the largest."""

PASSES = 8
"""How often a sweep goes over variables whose gradients cost next to nothing."""

RESIDUAL = 1e-9
"""A working set whose gradient exceeds this share of its terms has a factor that has drifted."""

_EPS = np.finfo(float).eps
_PATIENCE = 50


class NoSolutionError(ValueError):
    """The objective has no lower bound: with a hard margin, the data cannot be separated."""


class NoRoomError(MemoryError):
    """The working set does not fit into the memory allowed."""


class LowRankSource:
    """K = Z Z', given by its factor."""

    def __init__(self, Z: np.ndarray):
        self.Z = np.ascontiguousarray(Z, np.float64)

    def __len__(self) -> int:
        return len(self.Z)


class Machine:
    """The state of one problem and its verbs."""

    def __init__(
        self,
        problem: Problem,
        source: KernelStore | LowRankSource,
        *,
        tol: float,
        room: int,
        selection: str = "block",
        block_size: int = 256,
        seed: int = 0,
    ):
        self.problem, self.source = problem, source
        self._signed: Any = None
        self.w: Any = None
        self.tol, self.room, self.selection = tol, room, selection
        self.block_size = block_size
        self.rng = np.random.default_rng(seed)
        self.n_sweeps = self.n_added = self.n_dropped = 0
        self.converged = False
        self.beta = np.zeros(len(problem.target))
        self.alpha = np.zeros(len(problem))
        self.score = np.zeros(len(source))
        self.held = np.empty(0, np.int64)
        self.first = np.empty(0, np.int64)
        self._turn = 0
        self._make_factor(0)
        self.balance(self.rng.permutation(len(problem)).astype(float))

    # -- the solution ---------------------------------------------------------------------

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

    def tolerances(self) -> np.ndarray:
        """Violation up to which a variable's part of the KKT gap is below ``tol``."""
        upper = self.problem.upper
        scale = np.maximum(np.where(np.isfinite(upper), upper, 1.0), 1.0)
        noise = _EPS * (1.0 + self.alpha.sum() * self._largest())
        return np.maximum(self.tol / scale, noise)

    def _largest(self) -> float:
        return float(self.tau) if self.tau > 0 else 1.0

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

    def copy(self) -> Machine:
        """A copy whose state is its own; the kernel values are shared."""
        twin = copy.copy(self)
        twin.alpha, twin.score, twin.beta = self.alpha.copy(), self.score.copy(), self.beta.copy()
        twin.rng = copy.deepcopy(self.rng)
        twin.w = Work(*(array.copy() for array in self.w))._replace(beta=twin.beta)
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
            self.converged = found == 0
            if self.converged or stale > _PATIENCE or made == max_sweeps:
                return
            yield found
            with one_blas_thread():
                self._sweep(gradient, violation, tol)
            self.n_sweeps += 1
            made += 1
            now = self.objective()
            stale = 0 if now < best - 1e-15 * abs(best) else stale + 1
            best = min(best, now)

    def _checked_gradient(self) -> np.ndarray:
        """The gradient; where the working set turns out not to be solved, its factor is made anew."""
        p = self.problem
        for _ in range(2):
            gradient = self.gradient()
            g = gradient + p.entry * self.beta[p.group]
            allowed = RESIDUAL * (1.0 + np.abs(gradient[self.held]).max(initial=0.0))
            if np.abs(g[self.held]).max(initial=0.0) <= allowed:
                break
            self.rebuild()
            if not isinstance(self.source, LowRankSource):
                nobody = np.empty(0, np.int64)
                self._work(nobody, self.gradient(), np.ones(len(p)), passes=1)
        return gradient

    def _free_multipliers(self, gradient: np.ndarray) -> None:
        """A multiplier that no member of the working set fixes: the middle of what is allowed."""
        p = self.problem
        fixed = np.bincount(p.group[self.held], minlength=len(self.beta)) > 0
        for q in np.flatnonzero(~fixed):
            which = p.group == q
            value = -(p.entry * gradient)[which]
            grows = self.alpha[which] < p.upper[which]
            shrinks = self.alpha[which] > 0
            up = p.entry[which] > 0
            low = value[np.where(up, grows, shrinks)].max(initial=-np.inf)
            high = value[np.where(up, shrinks, grows)].min(initial=np.inf)
            ends = [e for e in (low, high) if np.isfinite(e)]
            self.beta[q] = np.mean(ends) if ends else 0.0

    def _sweep(self, gradient: np.ndarray, violation: np.ndarray, tol: np.ndarray) -> None:
        if isinstance(self.source, LowRankSource):
            self._sweep_all(tol)
            return
        block = self._choose(violation, tol)
        if len(self.held) + len(block) > self.room:
            block = block[: self.room - len(self.held)]
        if not len(block):
            self._refuse()
        tol = np.maximum(tol, COARSE * violation.max())
        self._work(block, gradient, tol, passes=50)

    def _refuse(self) -> None:
        raise NoRoomError(
            f"More than {self.room} support vectors strictly within their bounds are needed, and "
            "only so many fit. Raise cache_size, use low_rank, or LASVMClassifier, whose memory "
            "does not grow with the square of their number."
        )

    def _choose(self, violation: np.ndarray, tol: np.ndarray) -> np.ndarray:
        """The violators of the next sweep, worst first."""
        wrong = np.flatnonzero(violation > tol)
        if len(self.first):
            pair = self.first[~np.isin(self.first, self.held)]
            self.first = np.empty(0, np.int64)
            others = wrong[~np.isin(wrong, pair)]
            return np.concatenate([pair, self._worst(others, violation)])
        if self.selection == "sweep":
            ahead = wrong[np.searchsorted(wrong, self._turn) :][: self.block_size]
            ahead = ahead if len(ahead) else wrong[: self.block_size]
            self._turn = int(ahead[-1]) + 1
            return ahead
        if self.selection == "random":
            drawn = wrong[self.rng.integers(len(wrong), size=min(RANDOM_POINTS, len(wrong)))]
            return np.unique(drawn)
        return self._worst(wrong, violation)

    def _worst(self, wrong: np.ndarray, violation: np.ndarray) -> np.ndarray:
        """The worst violators; those that push the multiplier up and down take turns."""
        p, half = self.problem, self.block_size // 2
        rises = (p.entry[wrong] > 0) == (self.alpha[wrong] <= 0)
        turns, chosen = [], []
        for side in (wrong[rises], wrong[~rises]):
            if len(side) > half:
                side = side[np.argpartition(-violation[side], half)[:half]]
            chosen.append(side[np.argsort(-violation[side], kind="stable")])
            turns.append(np.arange(len(side)))
        return np.concatenate(chosen)[np.argsort(np.concatenate(turns), kind="stable")]

    def _work(self, block: np.ndarray, gradient: np.ndarray, tol: np.ndarray, passes: int) -> None:
        """The compiled loop on the working set and a block of other variables."""
        held = len(self.held)
        ids = np.concatenate([self.held, block])
        self._reserve(len(ids))
        at = self._local(ids, gradient, tol)
        w = self.w
        w.member[:held] = np.arange(held)
        before = at.alpha.copy()
        order = np.arange(held, len(ids))
        mode, limit = core.IN_TURN, 8 * len(ids)
        if self.selection == "random":
            mode, passes = core.WORST_FIRST, limit
        outcome = core.work(at, w, self.gap(), order, mode, passes, limit)
        self._write_back(ids, at, before)
        self._check(outcome)

    def _check(self, outcome: int) -> None:
        if outcome == UNBOUNDED:
            raise NoSolutionError("The data cannot be separated.")
        if outcome == core.FULL_HOUSE:
            self._refuse()

    def _local(self, ids: np.ndarray, gradient: np.ndarray, tol: np.ndarray) -> Local:
        p, m = self.problem, len(self.held)
        Q = self.source.block(p.row[ids])  # type: ignore[union-attr]
        sign = p.sign[ids]
        Q *= sign[:, None]
        Q *= sign
        Q[np.diag_indices(len(ids))] += p.ridge[ids]
        place = np.where((self.alpha[ids] >= p.upper[ids]) & (self.alpha[ids] > 0), FULL, ZERO)
        place[:m] = np.arange(m)
        n = len(ids)
        return Local(
            Q, np.empty((n, 0)), gradient[ids], np.zeros(n), p.ridge[ids], p.upper[ids],
            p.entry[ids], p.group[ids], tol[ids], self.alpha[ids], place,
        )  # fmt: skip

    def _write_back(self, ids: np.ndarray, at: Local, before: np.ndarray) -> None:
        p, w = self.problem, self.w
        self.held = ids[w.member[: w.count[M]]]
        self.n_added += int(w.count[core.ADDED])
        self.n_dropped += int(w.count[core.DROPPED])
        w.count[1:] = 0
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

    # -- low rank -------------------------------------------------------------------------

    def _sweep_all(self, tol: np.ndarray) -> None:
        """Every variable in turn, gradients from Z."""
        p, Z = self.problem, self.source.Z  # type: ignore[union-attr]
        n = len(p)
        self._reserve(min(n, Z.shape[1] + len(self.beta) + 1))
        if self._signed is None:
            self._signed = np.ascontiguousarray(Z[p.row] * p.sign[:, None])
        place = self.place()
        at = Local(
            np.empty((0, 0)), self._signed, p.linear, self.alpha.copy(), p.ridge, p.upper,
            p.entry, p.group, tol, self.alpha, place,
        )  # fmt: skip
        w = self.w
        w.fall[:] = self.alpha @ self._signed
        w.member[: len(self.held)] = self.held
        order = np.arange(n)
        if len(self.first):
            order = np.concatenate([self.first, np.delete(order, self.first)])
            self.first = np.empty(0, np.int64)
        outcome = core.work(at, w, self.gap(), order, core.IN_TURN, PASSES, 2**62)
        self.held = w.member[: w.count[M]].copy()
        self.n_added += int(w.count[core.ADDED])
        self.n_dropped += int(w.count[core.DROPPED])
        w.count[1:] = 0
        self.score = Z @ (self.coefficients() @ Z)
        self._check(outcome)

    # -- the factor -----------------------------------------------------------------------

    def _make_factor(self, room: int) -> None:
        """An empty working set with place for ``room`` members."""
        d, source = len(self.beta), self.source
        rank = source.Z.shape[1] if isinstance(source, LowRankSource) else 0
        normal = rank + 1 if self.primal else 0
        side = 0 if normal else room
        members = len(self.problem) if normal else room
        R = np.zeros((normal, normal))
        R[np.arange(normal - 1), np.arange(normal - 1)] = 1.0
        self._signed = None
        self.tau = self._middle()
        self.w = Work(
            np.zeros((side, side)), np.zeros((d + 1, side)), R, np.zeros(members, np.int64),
            np.zeros(members), np.zeros(members), self.beta, np.zeros((d, d + 1)), np.zeros(rank),
            np.zeros(rank + 1), np.array([0.0 if normal else self.tau]), np.zeros(5, np.int64),
        )  # fmt: skip

    def _middle(self) -> float:
        """tau: about as large as the diagonal of H."""
        if isinstance(self.source, LowRankSource):
            diagonal = np.einsum("ij,ij->i", self.source.Z[:1000], self.source.Z[:1000])
        else:
            some = np.arange(min(len(self.source), 1000))
            diagonal = self.source.rows.take(some).diagonal()
        mean = float(diagonal.mean()) if len(diagonal) else 1.0
        return mean if mean > 0 else 1.0

    def _reserve(self, needed: int) -> None:
        """Place for ``needed`` members; grows by half, within what memory allows."""
        w = self.w
        if self.primal or needed <= len(w.member):
            return
        room = max(needed, len(w.member) * 3 // 2)
        m, old = int(w.count[M]), w
        self._make_factor(room)
        self.w.U[:m, :m], self.w.V[:, :m] = old.U[:m, :m], old.V[:, :m]
        self.w.member[:m], self.w.count[:] = old.member[:m], old.count

    def rebuild(self) -> None:
        """The factor anew from the members of the working set."""
        p, m = self.problem, len(self.held)
        if self.primal or m == 0:
            self._enroll()
            return
        w = self.w
        entry, group = p.entry[self.held], p.group[self.held]
        try:
            U = cholesky(self.matrix(), check_finite=False)
            if (np.diag(U) ** 2).min() <= core.SINGULAR * np.diag(U).max() ** 2:
                raise LinAlgError
        except LinAlgError:
            self._enroll()
            return
        self._reserve(m)
        w = self.w
        w.U[:m, :m] = U
        border = np.where(np.arange(len(self.beta))[:, None] == group, entry, 0.0)
        w.V[:-1, :m] = solve_triangular(U, border.T, trans="T", check_finite=False).T
        w.count[M] = m

    def matrix(self) -> np.ndarray:
        """What is factored: H_ww + tau A_w'A_w."""
        p, held = self.problem, self.held
        if isinstance(self.source, LowRankSource):
            rows = self.source.Z[p.row[held]]
            K = rows @ rows.T
        else:
            K = self.source.block(p.row[held])
        H = K * np.outer(p.sign[held], p.sign[held]) + np.diag(p.ridge[held])
        same = p.group[held][:, None] == p.group[held]
        return H + self.tau * same * np.outer(p.entry[held], p.entry[held])

    def _enroll(self) -> None:
        """The members join an empty factor one by one; those it cannot hold go to a bound."""
        ids, p = self.held, self.problem
        self._make_factor(len(ids))
        self.held = np.empty(0, np.int64)
        at = self._members_local(ids)
        before = at.alpha.copy()
        outcome = core.work(at, self.w, self.gap(), np.arange(len(ids)), core.ENROLL, 1, 0)
        if self.primal:
            self.alpha[ids] = at.alpha
            self.held = ids[self.w.member[: self.w.count[M]]]
        else:
            self._write_back(ids, at, before)
        self.w.count[1:] = 0
        self._check(outcome)
        assert len(p) == len(self.alpha)

    def _members_local(self, ids: np.ndarray) -> Local:
        gradient, tol = self.gradient(), np.zeros(len(self.problem))
        if not isinstance(self.source, LowRankSource):
            return self._local(ids, gradient, tol)
        p, n = self.problem, len(ids)
        Z = np.ascontiguousarray(self.source.Z[p.row[ids]] * p.sign[ids][:, None])
        return Local(
            np.empty((0, 0)), Z, gradient[ids], np.zeros(n), p.ridge[ids], p.upper[ids],
            p.entry[ids], p.group[ids], tol, self.alpha[ids], np.full(n, ZERO),
        )  # fmt: skip

    # -- changes of the problem -----------------------------------------------------------

    def balance(self, preference: np.ndarray) -> None:
        """Move coefficients, lowest preference first, until Aa = b; then the factor anew."""
        p, before = self.problem, self.alpha.copy()
        inside = self.held
        for q, missing in enumerate(self.gap()):
            if abs(missing) <= 4 * _EPS * max(1.0, abs(p.target[q])):
                continue
            which = np.flatnonzero(p.group == q)
            which = which[np.argsort(preference[which], kind="stable")]
            grows = (p.entry[which] > 0) == (missing > 0)
            reach = np.where(grows, p.upper[which] - self.alpha[which], self.alpha[which])
            given = np.diff(np.minimum(np.cumsum(reach), abs(missing)), prepend=0.0)
            self.alpha[which] += np.where(grows, given, -given)
            part = which[(given > 0) & (given < reach)]
            inside = np.concatenate([inside, part[~np.isin(part, inside)]])
        ends = (self.alpha <= 0) | (self.alpha >= p.upper)
        self.alpha = np.clip(self.alpha, 0.0, p.upper)
        self.held = inside[~ends[inside]]
        change = np.bincount(p.row, p.sign * (self.alpha - before), minlength=len(self.source))
        if change.any():
            self._add_scores(change)
        self.rebuild()

    def _preference(self) -> np.ndarray:
        """How far each variable is from the margin."""
        p = self.problem
        return np.abs(self.gradient() + p.entry * self.beta[p.group])

    def forget(
        self, problem: Problem, kept: np.ndarray, source: Any, score_of_kept: np.ndarray
    ) -> None:
        """Go on with the variables ``kept`` (a mask), which make up ``problem`` on ``source``."""
        position = np.cumsum(kept) - 1
        self.held = position[self.held[kept[self.held]]]
        self.problem, self.source = problem, source
        self.alpha, self.score = self.alpha[kept], score_of_kept
        self._make_factor(0)
        self.balance(self._preference())

    def extend(self, problem: Problem, old: np.ndarray, source: Any, score: np.ndarray) -> None:
        """Go on with ``problem``, where the present variables stand at the places ``old``."""
        alpha = np.zeros(len(problem))
        alpha[old] = self.alpha
        self.held = old[self.held]
        changed = not np.array_equal(problem.target, self.problem.target)
        self.problem, self.source, self.alpha, self.score = problem, source, alpha, score
        if changed or self.primal:
            self._make_factor(0)
            self.balance(self._preference())
        else:
            self._signed = None


def run(machine: Machine) -> None:
    """Sweep to the end."""
    for _ in machine.optimise():
        pass


__all__ = ["Machine", "LowRankSource", "NoRoomError", "NoSolutionError", "run", "MORE"]
