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


def check_pairs(learner: Any) -> np.ndarray:
    """With limits: the kernel values kept are those of the rows held, coefficients keep their bounds.

    Returns the values.
    """
    rows, (lo, hi) = learner.store.rows(), learner.support.bounds()
    K = learner.kernel.block(rows, rows)
    np.fill_diagonal(K, learner.kernel.diagonal(rows))
    np.testing.assert_array_equal(learner.values.square(), K)
    assert (learner.support.alpha() >= lo).all()
    assert (learner.support.alpha() <= hi).all()
    return K


def held(learner: Any) -> Held:
    """The support set of a learner."""
    support = learner.support
    n, a = support.n, support.a
    low, high = support.bounds()
    return Held(
        n, support.store.n, support.rows(), support.alpha(), a.grad[:, :n], support.linear(), low,
        high, a.member[:, :n], a.diagonal[:n], a.bound[:n],
    )  # fmt: skip
