"""Settings that race: kernel, C, gamma, epsilon, how numbers are scaled, and features rescaled.

gamma is given in units of the kernel: 1 over the median distance of two rows, as the kernel measures
distance (squared for the RBF). epsilon and the C of regression are in units of the spread of y. So
the same numbers suit any table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ..core.kernel.kernel import KERNEL_NAMES

PLAINNESS = ("rbf", "laplacian", "matern12")
"""Kernels that race, the plainest first."""

SCALES = ("standard", "ranks")
"""How numbers are scaled (``tables``), the plainer first."""

DECISIONS = ("ovr", "ovo")
"""How more than two labels are told apart, the plainer first."""

GAMMAS = {"rbf": (1.0, 0.25, 4.0), "laplacian": (1.0, 0.25, 3.0), "matern12": (1.5, 0.3)}
COSTS = (4.0, 0.5, 32.0)
EPSILON = 0.1

PAIRS = 2000
"""Pairs of rows from which the median distance is taken."""

STEPS = {"C": 3.0, "gamma": 2.0, "epsilon": 3.0}
"""Factors between a candidate and its neighbours."""

GROWING = {name: STEPS[name] for name in ("gamma", "C")}
"""What more rows allow more of: finer functions."""


@dataclass(frozen=True)
class Setting:
    """One candidate, in units of the table."""

    kernel: str
    C: float
    gamma: float
    epsilon: float | None = None
    numbers: str = "standard"
    metric: Metric | None = None
    decision: str = "ovr"

    @property
    def rounds(self) -> int:
        """How often the features were rescaled; 0: plain weights."""
        return 0 if self.metric is None else self.metric.by.rounds + self.metric.rounds

    @property
    def structure(self) -> tuple[bool, int, int, int]:
        """The less the plainer: weights, kernel, scale, and how several labels are told apart."""
        return (
            self.metric is not None,
            PLAINNESS.index(self.kernel),
            SCALES.index(self.numbers),
            DECISIONS.index(self.decision),
        )

    def neighbours(self, up: bool = False) -> list[Setting]:
        """A step up and a step down in each number; or up only, in those that grow with the rows."""
        found = []
        for name, step in STEPS.items() if not up else GROWING.items():
            value = getattr(self, name)
            for factor in (step, 1 / step)[: 2 - up] if value is not None else ():
                change: dict[str, Any] = {name: _rounded(value * factor)}
                found.append(replace(self, **change))
        return found

    def decided_otherwise(self) -> Setting:
        """The same with the other way to tell several labels apart."""
        return replace(self, decision=DECISIONS[1 - DECISIONS.index(self.decision)])

    def variants(self, rows: int) -> list[Setting]:
        """The same with the other scale of numbers, with weights learned from so many rows, and without.

        Weights that were learned from fewer rows are also rescaled once more.
        """
        other = SCALES[1 - SCALES.index(self.numbers)]
        plain = replace(self, metric=None)
        found = [replace(plain, numbers=other)]
        if self.metric is None:
            return found + [replace(self, metric=Metric(self, rounds, rows)) for rounds in (1, 3)]
        if rows > self.metric.rows:
            found.append(replace(self, metric=Metric(self, 1, rows)))
        by = replace(plain, numbers=other)
        found.append(replace(by, metric=Metric(by, self.metric.rounds, rows)))
        return [*found, plain]


@dataclass(frozen=True)
class Metric:
    """Weights of features: learned by fits of this setting, in so many rounds, from so many rows.

    If the setting has weights itself, its rounds go on from them.
    """

    by: Setting
    rounds: int
    rows: int


def _rounded(value: float) -> float:
    """To six digits: a step up and a step down lead back to the same candidate."""
    return float(f"{value:.6g}")


def kernels() -> tuple[str, ...]:
    """Kernels that race."""
    return tuple(name for name in PLAINNESS if name in KERNEL_NAMES)


def first_settings(is_regression: bool) -> list[Setting]:
    """The candidates at the start, the plainest first."""
    epsilon = EPSILON if is_regression else None
    return [
        Setting(kernel, C, gamma, epsilon)
        for kernel in kernels()
        for C, gamma in product(COSTS, GAMMAS[kernel])
    ]


class Units:
    """What the numbers of a setting are multiplied by for a table, for each scale of its numbers."""

    def __init__(self, X: dict[str, np.ndarray], spread: float, rng: np.random.RandomState):
        self.spread, self.gamma = spread, {}
        pairs = rng.randint(len(X[SCALES[0]]), size=(2, PAIRS))
        for scale, rows in X.items():
            difference = np.abs(rows[pairs[0]] - rows[pairs[1]])
            squares = (difference**2).sum(axis=1)
            self.gamma[scale, "rbf"] = 1.0 / _middle(squares)
            self.gamma[scale, "matern12"] = 1.0 / _middle(np.sqrt(squares))
            self.gamma[scale, "laplacian"] = 1.0 / _middle(difference.sum(axis=1))

    def parameters(self, setting: Setting) -> dict[str, Any]:
        """Parameters of the estimator."""
        made: dict[str, Any] = {
            "kernel": setting.kernel,
            "gamma": setting.gamma * self.gamma[setting.numbers, setting.kernel],
            "C": setting.C,
        }
        if setting.decision != DECISIONS[0]:
            made["decision"] = setting.decision
        if setting.epsilon is not None:
            made |= {"C": setting.C * self.spread, "epsilon": setting.epsilon * self.spread}
        return made


def _middle(distances: np.ndarray) -> float:
    """The median of the distances that are not zero."""
    there = distances[distances > 0]
    return float(np.median(there)) if len(there) else 1.0
