"""Settings that race: kernel, C, gamma, epsilon, and how often the features are rescaled.

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

GAMMAS = {"rbf": (1.0, 0.25, 4.0), "laplacian": (1.0, 0.25, 3.0), "matern12": (1.5, 0.3)}
COSTS = (4.0, 0.5, 32.0)
EPSILON = 0.1

PAIRS = 2000
"""Pairs of rows from which the median distance is taken."""

STEPS = {"C": 3.0, "gamma": 2.0, "epsilon": 3.0}
"""Factors between a candidate and its neighbours."""


@dataclass(frozen=True)
class Setting:
    """One candidate, in units of the table."""

    kernel: str
    C: float
    gamma: float
    epsilon: float | None = None
    metric: Metric | None = None

    @property
    def rounds(self) -> int:
        """How often the features were rescaled; 0: plain weights."""
        return 0 if self.metric is None else self.metric.rounds

    @property
    def structure(self) -> tuple[bool, int]:
        """The less the plainer: kernel and weights, without numbers."""
        return self.metric is not None, PLAINNESS.index(self.kernel)

    def neighbours(self) -> list[Setting]:
        """A step up and a step down in each number."""
        found = []
        for name, step in STEPS.items():
            value = getattr(self, name)
            if value is not None:
                found += [replace(self, **{name: _rounded(value * f)}) for f in (step, 1 / step)]
        return found

    def rescaled(self, rounds: int) -> Setting:
        """The same with weights learned by it, in so many rounds."""
        return replace(self, metric=Metric(replace(self, metric=None), rounds))


@dataclass(frozen=True)
class Metric:
    """Weights of features as they are learned: by these fits, in so many rounds."""

    by: Setting
    rounds: int


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
    """What the numbers of a setting are multiplied by for a table."""

    def __init__(self, X: np.ndarray, spread: float, rng: np.random.RandomState):
        pairs = rng.randint(len(X), size=(2, PAIRS))
        difference = np.abs(X[pairs[0]] - X[pairs[1]])
        squares = (difference**2).sum(axis=1)
        distances = {
            "rbf": squares, "matern12": np.sqrt(squares), "laplacian": difference.sum(axis=1),
        }  # fmt: skip
        self.gamma = {name: 1.0 / _middle(values) for name, values in distances.items()}
        self.spread = spread

    def parameters(self, setting: Setting) -> dict[str, Any]:
        """Parameters of the estimator."""
        made: dict[str, Any] = {
            "kernel": setting.kernel,
            "gamma": setting.gamma * self.gamma[setting.kernel],
            "C": setting.C,
        }
        if setting.epsilon is not None:
            made |= {"C": setting.C * self.spread, "epsilon": setting.epsilon * self.spread}
        return made


def _middle(distances: np.ndarray) -> float:
    """The median of the distances that are not zero."""
    there = distances[distances > 0]
    return float(np.median(there)) if len(there) else 1.0
