"""LASVM with a bounded memory: which rows leave.

Before an example is learned, rows that are older than the window leave, and the bounds of two rows
shrink to what their age (with a half-life) and the budget (PRESSED) leave of them. Afterwards rows
that have no coefficient and lie beyond the margin leave.
Above the budget one row has to make way: one without coefficients if there is one, else the policy
chooses. The last few rows of a label stay, so that a rare class is not forgotten in favour of
frequent ones.
"""

from __future__ import annotations

import numpy as np

from ..kernel.never_inline import keep_small
from ..numerics import inlined, inner
from .bounded_steps import (
    ALPHA,
    BIAS,
    BORN,
    BOUND,
    BUDGET,
    CLOCK,
    GAP,
    GRAD,
    HIGH,
    LABEL,
    LOW,
    MASS,
    OUTLIER,
    POLICY,
    PROTECTED,
    REMOVALS,
    SEEDS,
    SLACK,
    TURN,
    UNIT,
    WINDOW,
    YOUNG,
    N,
    bring_down,
    move,
    release,
    share_of_bound,
)  # fmt: skip


@inlined
def slack_of(F, M, m, s, epsilon):
    """How far a row at zero violates the optimality conditions; negative beyond the margin."""
    residual = F[GRAD, m, s] - M[BIAS, m]
    up = residual - epsilon if F[HIGH, m, s] > 0.0 else -np.inf
    down = -residual - epsilon if F[LOW, m, s] < 0.0 else -np.inf
    return max(up, down)


@inlined
def largest_slack(F, M, s, epsilon):
    """The largest slack of row s over the machines, in their units; inf where it carries."""
    largest = -np.inf
    for m in range(F.shape[1]):
        carries = F[ALPHA, m, s] != 0.0 or M[GAP, m] == np.inf
        slack = np.inf if carries else slack_of(F, M, m, s, epsilon) / M[SLACK, m]
        largest = max(largest, slack)
    return largest


@inlined
def _next_to_leave(F, T, M, count, labels, window, epsilon, after, below):
    """The last slot below ``below`` whose row leaves by itself; -1: there is none."""
    found, s = -1, below - 1
    while s >= 0 and found < 0:
        if after:
            if F[ALPHA, 0, s] == 0.0 and labels[T[LABEL, s]] > SEEDS:
                found = s if largest_slack(F, M, s, epsilon) < -1.0 else -1
        elif T[BORN, s] <= count[CLOCK] - window:
            found = s
        s -= 1
    return found


@inner
def choose(F, T, M, count, labels, limits, epsilon):
    """The row that makes way, and whether it carries.

    It is the row without coefficients that lies farthest beyond the margins; where there is none,
    and the policy is OUTLIER, three times of four the row farthest on the wrong side of its machine,
    unless it is young; else the oldest.
    """
    keep_small()
    protected = limits[PROTECTED]
    outlier = limits[POLICY] == OUTLIER and (count[REMOVALS] + 1) % 4 != 0
    idle, wrong, oldest, any_oldest = -1, -1, -1, -1
    idle_value, wrong_value = np.inf, 1.0
    for s in range(count[N]):
        born, free = T[BORN, s], labels[T[LABEL, s]] > protected
        if any_oldest < 0 or born < T[BORN, any_oldest]:
            any_oldest = s
        if free and (oldest < 0 or born < T[BORN, oldest]):
            oldest = s
        largest = -np.inf
        for m in range(F.shape[1]):
            a, slack = F[ALPHA, m, s], slack_of(F, M, m, s, epsilon)
            idles = a == 0.0 and M[GAP, m] < np.inf
            largest = max(largest, slack / M[SLACK, m] if idles else np.inf)
            suspect = outlier and free and born <= count[CLOCK] - YOUNG
            if suspect and a != 0.0 and slack / M[UNIT, m] > wrong_value:
                wrong, wrong_value = s, slack / M[UNIT, m]
        if free and largest < idle_value:
            idle, idle_value = s, largest
    carries = idle < 0
    if carries:
        idle = wrong if wrong >= 0 else (oldest if oldest >= 0 else any_oldest)
    return idle, carries


@inner
def join(F, sides, T, K, M, count, labels, protected, epsilon, near):
    """A row whose coefficients change the decision function least if moved to its neighbour.

    The neighbour takes what it has space for. -1: there is no such row.
    """
    keep_small()
    best, value = -1, np.inf
    for s in range(count[N]):
        r = near[s]
        if r < 0 or labels[T[LABEL, s]] <= protected or T[BORN, s] > count[CLOCK] - YOUNG:
            continue
        carried = 0.0
        for m in range(F.shape[1]):
            carried = max(carried, abs(F[ALPHA, m, s]))
        cost = carried * np.sqrt(max(np.float64(K[s, s]) + K[r, r] - 2.0 * K[s, r], 0.0))
        if cost < value:
            best, value = s, cost
    for m in range(F.shape[1] if best >= 0 else 0):
        a, r = F[ALPHA, m, best], near[best]
        if a != 0.0:
            i, j = (r, best) if a > 0.0 else (best, r)
            move(F, sides, K, M, m, i, j, abs(a), count[N], epsilon)
    return best


@inner
def forget(
    F, sides, T, K, M, rows, low, squares, count, labels, limits, half_life, cap, epsilon, nu, row,
    near, after,
):  # fmt: skip
    """Rows leave, or their bounds shrink: ``after`` an example was learned, or before.

    Whatever the reason, coefficients are brought down in one place, which saves compiling it
    several times. Returns whether coefficients may have changed.
    """
    keep_small()
    changed, below, shrunk = False, count[N], 0
    pressed = cap < np.inf and limits[POLICY] == OUTLIER and count[REMOVALS] > 0
    shrinks = half_life < np.inf or pressed
    if not after and limits[WINDOW] == 0:
        below = 0
    while True:
        n, part, leaves = count[N], 0.0, True
        s = _next_to_leave(F, T, M, count, labels, limits[WINDOW], epsilon, after, below)
        below = max(s, 0)
        if s < 0 and not after and shrinks and shrunk < min(2, n):
            s, leaves = count[TURN] % n, False
            shrunk, count[TURN] = shrunk + 1, s + 1
            part = 2.0 ** (-(count[CLOCK] - T[BORN, s]) / half_life)
            part *= share_of_bound(count, limits, cap, np.float64(K[s, s]))
        if s < 0 and after and limits[BUDGET] > 0 and n > limits[BUDGET]:
            s, carries = choose(F, T, M, count, labels, limits, epsilon)
            count[REMOVALS] += carries
            if near is not None and carries:
                joined = join(
                    F, sides, T, K, M, count, labels, limits[PROTECTED], epsilon, near
                )  # fmt: skip
                s = joined if joined >= 0 else s
            M[MASS, 0] -= F[ALPHA, 0, s] if nu > 0.0 else 0.0
        if s < 0:
            break
        for m in range(F.shape[1]):
            bring_down(F, sides, K, M, m, s, F[BOUND, m, s] * part, n, epsilon, nu == 0.0)
        if leaves:
            release(F, sides, T, K, rows, low, squares, count, labels, s, row, near)
        changed = True
    return changed
