"""What a LASVM learner holds."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Held:
    """Rows with their coefficients, gradients and bounds, (machines, n) each."""

    n: int
    stored: int
    rows: Any
    alpha: np.ndarray
    grad: np.ndarray
    linear: np.ndarray
    low: np.ndarray
    high: np.ndarray
    member: np.ndarray
    diagonal: np.ndarray
    bound: np.ndarray


def held(learner: Any) -> Held:
    """The support set of a learner."""
    support = learner.support
    n, a = support.n, support.a
    low, high = support.bounds()
    return Held(
        n, support.store.n, support.rows(), support.alpha(), a.grad[:, :n], support.linear(), low,
        high, a.member[:, :n], a.diagonal[:n], a.bound[:n],
    )  # fmt: skip
