"""The tasks of SimpleSVM: problems from targets and weights, and the meaning of their solution.

A task defines the problems (``problems``), the bias and scale that a machine's multipliers mean
(``bias``, which takes the size of rounding errors), and whether a set of examples has a solution at
all (``possible``). Targets are class numbers, real values, or unused, as the task needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from . import problems
from .problems import Problem


def _without_weightless(problem: Problem, weight: np.ndarray) -> Problem:
    """Examples of weight zero stay out of every solution."""
    problem.upper[weight[problem.row] == 0] = 0.0
    return problem


@dataclass
class Classification:
    """One machine for two classes, else one per class; targets are 0 .. n_labels - 1."""

    margin: str
    C: float
    nu: float | None
    n_labels: int
    has_pair: ClassVar[bool] = True

    @property
    def depends_on_count(self) -> bool:
        """Whether the equality rows know how many examples there are."""
        return self.nu is not None

    def signs(self, target: np.ndarray) -> np.ndarray:
        """y = +-1 for every machine, (machines, n)."""
        positive = [1] if self.n_labels <= 2 else range(self.n_labels)
        return np.array([np.where(target == label, 1.0, -1.0) for label in positive])

    def problems(self, target: np.ndarray, weight: np.ndarray) -> list[Problem]:
        return [self._problem(y, weight) for y in self.signs(target)]

    def _problem(self, y: np.ndarray, weight: np.ndarray) -> Problem:
        if self.nu is not None:
            return problems.nu_classification(y, weight, self.nu)
        if self.margin == "linear":
            return problems.linear_slack(y, self.C * weight)
        if self.margin == "hard":
            return _without_weightless(problems.hard_margin(y), weight)
        cost = np.where(weight > 0, self.C * weight, 1.0)
        return _without_weightless(problems.quadratic_slack(y, cost), weight)

    def bias(self, beta: np.ndarray, noise: float) -> tuple[float, float]:
        if self.nu is None:
            return float(beta[0]), 1.0
        b, rho = (beta[0] - beta[1]) / 2, -(beta[0] + beta[1]) / 2
        scale = 1.0 / rho if rho > noise else 1.0  # without a margin there is no unit
        return float(b * scale), float(scale)

    def largest_nu(self, target: np.ndarray, weight: np.ndarray) -> float:
        """The largest nu that every machine allows."""
        return min(problems.largest_nu(y, weight) for y in self.signs(target))

    def possible(self, target: np.ndarray, weight: np.ndarray) -> bool:
        return self.nu is None or self.nu <= self.largest_nu(target, weight)


@dataclass
class Regression:
    """One machine; targets are real values."""

    C: float
    epsilon: float
    has_pair: ClassVar[bool] = False
    depends_on_count: ClassVar[bool] = False

    def problems(self, target: np.ndarray, weight: np.ndarray) -> list[Problem]:
        cost = np.where(weight > 0, self.C, 0.0)
        cost[weight > 0] *= weight[weight > 0]
        return [problems.regression(target, cost, self.epsilon)]

    def bias(self, beta: np.ndarray, noise: float) -> tuple[float, float]:
        return float(beta[0]), 1.0

    def possible(self, target: np.ndarray, weight: np.ndarray) -> bool:
        return True


@dataclass
class OneClass:
    """One machine; targets are not used."""

    nu: float
    has_pair: ClassVar[bool] = False
    depends_on_count: ClassVar[bool] = True

    def problems(self, target: np.ndarray, weight: np.ndarray) -> list[Problem]:
        return [problems.one_class(weight, self.nu)]

    def bias(self, beta: np.ndarray, noise: float) -> tuple[float, float]:
        return float(beta[0]), 1.0

    def possible(self, target: np.ndarray, weight: np.ndarray) -> bool:
        return True


Task = Classification | Regression | OneClass
