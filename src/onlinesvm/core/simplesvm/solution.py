"""The solution of one quadratic program: coefficients, scores, multipliers, and how it is read.

``Solution`` gives gradients, violations of the optimality conditions, the multipliers and the
objective. Its working set and factor are kept by ``working_set.WorkingSet``.
"""

from __future__ import annotations

import numpy as np

from .kernel_store import KernelStore
from .problems import Problem
from .state import EDGE, FULL, ZERO, Work

_EPS = np.finfo(float).eps


class LowRankSource:
    """K = Z Z', given by its factor."""

    def __init__(self, Z: np.ndarray):
        self.Z = np.require(Z, np.float64, ["C", "W", "E"])

    def __len__(self) -> int:
        return len(self.Z)


Source = KernelStore | LowRankSource


class Solution:
    """The state of one problem."""

    w: Work

    def __init__(self, problem: Problem, source: Source, tol: float, capacity: int):
        self.problem, self.source = problem, source
        self.tol, self.capacity = tol, capacity
        self.alpha = np.zeros(len(problem))
        self.score = np.zeros(len(source))
        self.held = np.empty(0, np.int64)
        self.tau = self._middle()

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

    def _middle(self) -> float:
        """tau: about as large as the diagonal of H.

        Kernels that are not positive definite may have k(x, x) < 0: tau then outweighs it, so that a
        working set of one example can be factored.
        """
        if isinstance(self.source, LowRankSource):
            diagonal = np.einsum("ij,ij->i", self.source.Z[:1000], self.source.Z[:1000])
        else:
            few = 20 if self.source.rows.kernel.name == "callable" else 1000
            some = np.arange(min(len(self.source), few))
            diagonal = self.source.rows.take(some).diagonal()
        mean = float(diagonal.mean()) if len(diagonal) else 1.0
        return max(mean, -2.0 * float(diagonal.min(initial=0.0))) or 1.0
