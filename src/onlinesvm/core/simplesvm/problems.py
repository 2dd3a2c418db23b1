"""Six support vector problems as data for one engine (simplesvm-2003, section 2.4).

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
"""

from __future__ import annotations

from dataclasses import dataclass, fields

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

    def take(self, which: np.ndarray, target: np.ndarray | None = None) -> Problem:
        """The variables ``which``; ``target`` replaces b."""
        parts = {f.name: getattr(self, f.name)[which] for f in fields(self)[:-1]}
        return Problem(**parts, target=self.target if target is None else target)


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
