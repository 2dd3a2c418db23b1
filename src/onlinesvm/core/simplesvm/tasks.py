"""The tasks of SimpleSVM: six problems as data for one engine (simplesvm-2003, section 2.4).

    min_a  1/2 sum_ij a_i a_j H_ij + c'a,    H_ij = s_i s_j k(x_i, x_j) + delta_ij ridge_i
    subject to   0 <= a_i <= upper_i,    sum_{i in row q} e_i a_i = b_q   for every row q

=================  ======  =========  ==========  =====  ==========  =====================
problem            s       c          upper       ridge  e           b
=================  ======  =========  ==========  =====  ==========  =====================
hard margin        y       -1         infinite    0      y           0
quadratic slack    y       -1         infinite    1/C    y           0
linear slack       y       -1         C           0      y           0
nu-classification  y       0          weight      0      1, by class nu sum(weight) / 2
regression         +1, -1  eps -+ y   C           0      +1, -1      0
one class          1       0          weight      0      1           nu sum(weight)
=================  ======  =========  ==========  =====  ==========  =====================

Multipliers and bias: f(x) = sum_i s_i a_i k(x_i, x) + beta, except nu-classification, where the
two multipliers are b - rho and -b - rho and f is divided by rho.

A task makes such problems of targets and weights, and says what their solution means: the bias and
scale of a machine's multipliers (``bias``, which takes the size of rounding errors), and whether a set
of examples has a solution at all (``possible``). Targets are class numbers, real values, or unused, as
the task needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np


@dataclass
class Problem:
    """One quadratic program, without its kernel: parallel arrays, an entry a variable."""

    row: np.ndarray  # the example that the variable belongs to
    sign: np.ndarray  # s
    linear: np.ndarray  # c
    upper: np.ndarray
    ridge: np.ndarray
    entry: np.ndarray  # e, the variable's entry in its equality row
    group: np.ndarray  # the equality row
    target: np.ndarray  # b

    def __len__(self) -> int:
        return len(self.row)


def _problem(row, sign, linear, upper, ridge, entry, group, target) -> Problem:  # type: ignore[no-untyped-def]
    n = len(row)

    def array(value: object) -> np.ndarray:
        return np.ascontiguousarray(np.broadcast_to(np.asarray(value, np.float64), n)).copy()

    groups = np.ascontiguousarray(np.broadcast_to(group, n)).astype(np.int64)
    return Problem(
        np.asarray(row, np.int64), array(sign), array(linear), array(upper), array(ridge),
        array(entry), groups, np.asarray(target, np.float64),
    )  # fmt: skip


def hard_margin(y: np.ndarray) -> Problem:
    """All margins at least one; the C of the other problems is infinite."""
    return _problem(np.arange(len(y)), y, -1.0, np.inf, 0.0, y, 0, [0.0])


def quadratic_slack(y: np.ndarray, cost: np.ndarray) -> Problem:
    """Violations cost C/2 times their square: the hard margin on K + 1/C."""
    return _problem(np.arange(len(y)), y, -1.0, np.inf, 1.0 / cost, y, 0, [0.0])


def linear_slack(y: np.ndarray, cost: np.ndarray) -> Problem:
    """Violations cost C times their size: ``SVC``."""
    return _problem(np.arange(len(y)), y, -1.0, cost, 0.0, y, 0, [0.0])


def nu_classification(y: np.ndarray, weight: np.ndarray, nu: float) -> Problem:
    """``NuSVC``: one equality row for each class, which is the same as the usual two."""
    share = nu * weight.sum() / 2
    group = (y < 0).astype(np.int64)
    return _problem(np.arange(len(y)), y, 0.0, weight, 0.0, 1.0, group, [share, share])


def largest_nu(y: np.ndarray, weight: np.ndarray) -> float:
    """The largest feasible nu of ``nu_classification``."""
    positive = weight[y > 0].sum()
    return float(2 * min(positive, weight.sum() - positive) / weight.sum())


def regression(y: np.ndarray, cost: np.ndarray, epsilon: float) -> Problem:
    """``SVR``: two variables an example, the pull up and the pull down."""
    n = len(y)
    sign = np.repeat([1.0, -1.0], n)
    linear = epsilon - sign * np.tile(y, 2)
    row = np.tile(np.arange(n), 2)
    return _problem(row, sign, linear, np.tile(cost, 2), 0.0, sign, 0, [0.0])


def one_class(weight: np.ndarray, nu: float) -> Problem:
    """``OneClassSVM``: the support of a distribution."""
    n = len(weight)
    return _problem(np.arange(n), 1.0, 0.0, weight, 0.0, 1.0, 0, [nu * weight.sum()])


# -- tasks --------------------------------------------------------------------------------


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
            return nu_classification(y, weight, self.nu)
        if self.margin == "linear":
            return linear_slack(y, self.C * weight)
        if self.margin == "hard":
            return _without_weightless(hard_margin(y), weight)
        cost = np.where(weight > 0, self.C * weight, 1.0)
        return _without_weightless(quadratic_slack(y, cost), weight)

    def bias(self, beta: np.ndarray, noise: float) -> tuple[float, float]:
        if self.nu is None:
            return float(beta[0]), 1.0
        b, rho = (beta[0] - beta[1]) / 2, -(beta[0] + beta[1]) / 2
        scale = 1.0 / rho if rho > noise else 1.0  # without a margin there is no unit
        return float(b * scale), float(scale)

    def largest_nu(self, target: np.ndarray, weight: np.ndarray) -> float:
        """The largest nu that every machine allows."""
        return min(largest_nu(y, weight) for y in self.signs(target))

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
        return [regression(target, cost, self.epsilon)]

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
        return [one_class(weight, self.nu)]

    def bias(self, beta: np.ndarray, noise: float) -> tuple[float, float]:
        return float(beta[0]), 1.0

    def possible(self, target: np.ndarray, weight: np.ndarray) -> bool:
        return True


Task = Classification | Regression | OneClass
