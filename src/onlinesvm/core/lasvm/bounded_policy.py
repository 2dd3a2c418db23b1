"""LASVM with a bounded memory: which rows leave.

Rows that have no coefficient and lie beyond the margin leave by themselves. Above the budget one
row has to make way: one without coefficients if there is one, else the policy chooses. The last few
rows of a label stay, so that a rare class is not forgotten in favour of frequent ones.
"""

from __future__ import annotations

import numpy as np

from ..numerics import inner
from .bounded_steps import (
    ALPHA,
    BIAS,
    BORN,
    CLOCK,
    GAP,
    GRAD,
    HIGH,
    JOIN,
    LABEL,
    LOW,
    NEAR,
    OUTLIER,
    POLICY,
    PROTECTED,
    REMOVALS,
    SEEDS,
    SLACK,
    YOUNG,
    N,
    move,
    push_out,
    release,
    room_down,
    room_up,
)  # fmt: skip


@inner
def slack_of(F, M, m, s, epsilon):
    """How far a row at zero violates the optimality conditions; negative beyond the margin."""
    residual = F[GRAD, m, s] - M[BIAS, m]
    up = residual - epsilon if F[HIGH, m, s] > 0.0 else -np.inf
    down = -residual - epsilon if F[LOW, m, s] < 0.0 else -np.inf
    return max(up, down)


@inner
def largest_slack(F, M, s, epsilon):
    """The largest slack of row s over the machines, in their units; inf where it carries."""
    largest = -np.inf
    for m in range(F.shape[1]):
        if F[ALPHA, m, s] != 0.0 or M[GAP, m] == np.inf:
            return np.inf
        largest = max(largest, slack_of(F, M, m, s, epsilon) / M[SLACK, m])
    return largest


@inner
def evict(F, T, K, M, count, labels, epsilon, joins):
    """Rows that are at zero in all machines and beyond all margins leave."""
    for s in range(count[N] - 1, -1, -1):
        if labels[T[LABEL, s]] > SEEDS and largest_slack(F, M, s, epsilon) < -1.0:
            release(F, T, K, count, labels, s, joins)


@inner
def _farthest_wrong(F, T, M, count, labels, protected, epsilon):
    """The row farthest on the wrong side of its machine, unless it is young; -1: there is none."""
    best, value = -1, 1.0
    for s in range(count[N]):
        if labels[T[LABEL, s]] <= protected or T[BORN, s] > count[CLOCK] - YOUNG:
            continue
        for m in range(F.shape[1]):
            if F[ALPHA, m, s] != 0.0:
                slack = slack_of(F, M, m, s, epsilon)
                if slack > value:
                    best, value = s, slack
    return best


@inner
def _oldest(T, count, labels, protected):
    best = -1
    for s in range(count[N]):
        if labels[T[LABEL, s]] > protected and (best < 0 or T[BORN, s] < T[BORN, best]):
            best = s
    return best


@inner
def _at_zero(F, T, M, count, labels, protected, epsilon):
    """The row without coefficients that lies farthest beyond the margins; -1: there is none."""
    best, value = -1, np.inf
    for s in range(count[N]):
        if labels[T[LABEL, s]] > protected:
            slack = largest_slack(F, M, s, epsilon)
            if slack < value:
                best, value = s, slack
    return best


@inner
def _cheapest_join(F, T, K, count, labels, protected):
    """The row whose coefficients change the decision function least if moved to its neighbour."""
    best, value = -1, np.inf
    for s in range(count[N]):
        r = T[NEAR, s]
        if r < 0 or labels[T[LABEL, s]] <= protected or T[BORN, s] > count[CLOCK] - YOUNG:
            continue
        carried = 0.0
        for m in range(F.shape[1]):
            carried = max(carried, abs(F[ALPHA, m, s]))
        cost = carried * np.sqrt(max(np.float64(K[s, s]) + K[r, r] - 2.0 * K[s, r], 0.0))
        if cost < value:
            best, value = s, cost
    return best


@inner
def _join_neighbour(F, T, K, count, s, epsilon):
    """Row s hands its neighbour as much of its coefficients as fits there."""
    r = T[NEAR, s]
    for m in range(F.shape[1]):
        a = F[ALPHA, m, s]
        if a > 0.0:
            move(F, K, m, r, s, min(a, room_up(F, m, r, epsilon)), count[N], epsilon)
        elif a < 0.0:
            move(F, K, m, s, r, min(-a, room_down(F, m, r, epsilon)), count[N], epsilon)


@inner
def make_way(F, T, K, M, count, labels, limits, epsilon):
    """One row leaves: one without coefficients if there is one, else the policy chooses."""
    policy, protected = limits[POLICY], limits[PROTECTED]
    s = _at_zero(F, T, M, count, labels, protected, epsilon)
    if s < 0:
        count[REMOVALS] += 1
        if policy == JOIN:
            s = _cheapest_join(F, T, K, count, labels, protected)
            if s >= 0:
                _join_neighbour(F, T, K, count, s, epsilon)
        elif policy == OUTLIER and epsilon == 0.0 and count[REMOVALS] % 4 != 0:
            s = _farthest_wrong(F, T, M, count, labels, protected, epsilon)
    if s < 0:
        s = _oldest(T, count, labels, protected)
    if s < 0:
        s = _oldest(T, count, labels, 0)
    push_out(F, T, K, count, labels, s, epsilon, policy == JOIN)
