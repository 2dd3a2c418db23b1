"""The two hulls of a machine as arrays: made, looked at, mirrored."""

from __future__ import annotations

import numpy as np

from .steps import NN, NP, PP, SEEDED_N, SEEDED_P, Hulls, N


def make_hulls(capacity: int) -> Hulls:
    return Hulls(
        beta=np.zeros(capacity),
        handle=np.zeros(capacity, np.int64),
        key=np.full(capacity, -1, np.int64),
        ridge=np.zeros(capacity),
        scalar=np.zeros(4),
        state=np.zeros(9, np.int64),
    )


def is_ready(h: Hulls) -> bool:
    """Whether both classes have a support vector."""
    beta = h.beta[: h.state[N]]
    return bool((beta > 0).any() and (beta < 0).any())


def distance(h: Hulls) -> float:
    return float(h.scalar[PP] - 2.0 * h.scalar[NP] + h.scalar[NN])


def mirrored(h: Hulls) -> Hulls:
    """The same hulls, seen from the other class."""
    copy = Hulls(*(array.copy() for array in h))
    copy.beta[:] = -h.beta
    copy.scalar[[PP, NN]] = h.scalar[[NN, PP]]
    copy.state[[SEEDED_N, SEEDED_P]] = h.state[[SEEDED_P, SEEDED_N]]
    return copy
