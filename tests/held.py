"""What a LASVM learner holds, whichever of its two forms it has."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from onlinesvm.core.lasvm import bounded_steps as at
from onlinesvm.core.lasvm.bounded import BoundedLASVM


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
    if isinstance(learner, BoundedLASVM):
        n = learner.n
        alpha, grad, linear, low, high, _ = learner.F[:, :, :n]
        return Held(
            n, learner.store.n, learner.store.rows(), alpha, grad, linear, low, high,
            np.ones(alpha.shape, bool), learner.K.diagonal()[:n].astype(np.float64),
            learner.F[at.BOUND, 0, :n],
        )  # fmt: skip
    support = learner.support
    n, a = support.n, support.a
    low, high = support.bounds()
    return Held(
        n, support.store.n, support.rows(), support.alpha(), a.grad[:, :n], support.linear(), low,
        high, a.member[:, :n], a.diagonal[:n], a.bound[:n],
    )  # fmt: skip
