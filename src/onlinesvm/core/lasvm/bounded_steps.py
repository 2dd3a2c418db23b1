"""LASVM with a bounded memory: its arrays, and the steps on pairs of coefficients.

    max_a  sum_i p_i a_i - 1/2 sum_ij a_i a_j K_ij - epsilon sum_i |a_i|
    with   sum_i a_i = 0,   lo_i <= a_i <= hi_i                                       (``tasks``)

To push a row out: its bound becomes zero, and pair steps carry its coefficient over to the rows
whose gradients ask for it most. The sum of the coefficients and all bounds hold throughout, and the
gradients stay true.

Symbols: m machine, s slot, n rows held, i goes up, j goes down. What is known of the slots lies in
three arrays: ``F[ALPHA, m, s]`` and so on (float64), ``T[LABEL, s]`` and so on (int64), and the
kernel values ``K[s, r]``.
"""

from __future__ import annotations

import numpy as np

from ..numerics import CURVATURE_FLOOR, inner

ALPHA, GRAD, LINEAR, LOW, HIGH, BOUND = range(6)
"""Places in F, (6, machines, capacity): coefficient, gradient, p, lo, hi, and the bound at first."""

LABEL, BORN, KEY, HANDLE, NEAR = range(5)
"""Places in T, (5, capacity): label, time of arrival, key, where the row itself is, and the slot of
the nearest row with the same label (kept up to date where rows are joined)."""

BIAS, GAP, TAU, SLACK = range(4)
"""Places in M, (4, machines): bias, g_max - g_min, tolerance, and how far beyond the margin a row
at zero must lie to leave."""

N, STORED, CLOCK, TURN, REMOVALS, EVALUATIONS = range(6)
"""Places in ``count``: rows held, rows in the store, examples seen, whose bound shrinks next, rows
pushed out, kernel values computed."""

WINDOW, BUDGET, MOST, POLICY, PROTECTED = range(5)
"""Places in ``limits``: examples that count (0: all), rows (0: any number), REPROCESS steps, which
row makes way, and the number of rows of a label from which on they may."""

OUTLIER, OLDEST, JOIN = range(3)
"""Which row makes way. OUTLIER: three times of four the row that is farthest on the wrong side,
else the oldest. JOIN: the one whose coefficient can be moved to its neighbour at the least cost."""

YOUNG = 50
"""Age below which a row is no outlier: it may be the first of a new concept."""

SEEDS = 5
"""Rows of each label that are kept although they lie beyond the margin."""


@inner
def extremes(F, m, n, epsilon):
    """Slots of the largest slope to the right and the smallest to the left; -1: there is none."""
    top, bottom = -1, -1
    g_max, g_min = -np.inf, np.inf
    for s in range(n):
        a, g = F[ALPHA, m, s], F[GRAD, m, s]
        up = g - (epsilon if a >= 0.0 else -epsilon)
        down = g - (epsilon if a > 0.0 else -epsilon)
        up = up if a < F[HIGH, m, s] else -np.inf
        down = down if a > F[LOW, m, s] else np.inf
        if up > g_max:
            top, g_max = s, up
        if down < g_min:
            bottom, g_min = s, down
    return top, bottom, g_max, g_min


@inner
def room_up(F, m, s, epsilon):
    """How far alpha may rise: to its bound, or to the kink at zero."""
    a = F[ALPHA, m, s]
    return -a if a < 0.0 and epsilon > 0.0 else F[HIGH, m, s] - a


@inner
def room_down(F, m, s, epsilon):
    a = F[ALPHA, m, s]
    return a if a > 0.0 and epsilon > 0.0 else a - F[LOW, m, s]


@inner
def move(F, K, m, i, j, step, n, epsilon):
    """alpha_i up and alpha_j down by ``step``, exactly onto an end that it reaches."""
    room_i, room_j = room_up(F, m, i, epsilon), room_down(F, m, j, epsilon)
    a_i, a_j = F[ALPHA, m, i], F[ALPHA, m, j]
    F[ALPHA, m, i] = (
        (0.0 if a_i < 0.0 and epsilon > 0.0 else F[HIGH, m, i]) if step >= room_i else a_i + step
    )
    F[ALPHA, m, j] = (
        (0.0 if a_j > 0.0 and epsilon > 0.0 else F[LOW, m, j]) if step >= room_j else a_j - step
    )
    grad, row_i, row_j = F[GRAD, m], K[i], K[j]
    for s in range(n):
        grad[s] -= step * (np.float64(row_i[s]) - np.float64(row_j[s]))


@inner
def search(F, K, m, i, j, rise, n, epsilon):
    """Direction search along (i, j), whose slopes differ by ``rise`` (lasvm-2005, eq. 13)."""
    curvature = max(np.float64(K[i, i]) + K[j, j] - 2.0 * K[i, j], CURVATURE_FLOOR)
    step = min(rise / curvature, room_up(F, m, i, epsilon), room_down(F, m, j, epsilon))
    move(F, K, m, i, j, step, n, epsilon)


@inner
def measure(F, M, m, g_max, g_min, top, bottom):
    """Bias and gap from the extremes. A machine that has one sign alone has that sign as bias."""
    if top >= 0 and bottom >= 0:
        M[BIAS, m], M[GAP, m] = (g_max + g_min) / 2, g_max - g_min
    elif top >= 0 or bottom >= 0:
        M[BIAS, m], M[GAP, m] = (1.0 if top >= 0 else -1.0), np.inf


@inner
def reprocess(F, K, M, m, n, most, epsilon):
    """Up to ``most`` steps along the pair that violates most, then bias and gap."""
    top, bottom, g_max, g_min = extremes(F, m, n, epsilon)
    for _ in range(most):
        if top < 0 or bottom < 0 or g_max - g_min <= M[TAU, m]:
            break
        search(F, K, m, top, bottom, g_max - g_min, n, epsilon)
        top, bottom, g_max, g_min = extremes(F, m, n, epsilon)
    measure(F, M, m, g_max, g_min, top, bottom)


@inner
def bring_down(F, K, m, s, size, n, epsilon):
    """|alpha_s| down to ``size``: the rows whose gradients ask for it take over the rest."""
    while abs(F[ALPHA, m, s]) > size:
        rest = abs(F[ALPHA, m, s]) - size
        falls = F[ALPHA, m, s] > 0.0
        best, value = -1, -np.inf
        for r in range(n):
            if r == s:
                continue
            a = F[ALPHA, m, r]
            if falls and a < F[HIGH, m, r]:
                g = F[GRAD, m, r] - (epsilon if a >= 0.0 else -epsilon)
            elif not falls and a > F[LOW, m, r]:
                g = -(F[GRAD, m, r] - (epsilon if a > 0.0 else -epsilon))
            else:
                continue
            if g > value:
                best, value = r, g
        if best < 0:  # the sum is zero but for rounding: nobody is left to balance it
            change = np.copysign(rest, F[ALPHA, m, s])
            for r in range(n):
                F[GRAD, m, r] += change * K[s, r]
            F[ALPHA, m, s] = np.copysign(size, F[ALPHA, m, s])
        elif falls:
            move(F, K, m, best, s, min(rest, room_up(F, m, best, epsilon)), n, epsilon)
        else:
            move(F, K, m, s, best, min(rest, room_down(F, m, best, epsilon)), n, epsilon)
        if abs(abs(F[ALPHA, m, s]) - size) <= 1e-14 * rest:
            F[ALPHA, m, s] = np.copysign(size, F[ALPHA, m, s]) if size > 0.0 else 0.0


@inner
def nearest(K, T, s, n):
    """The slot of the nearest other row with the same label; -1 where there is none."""
    best, value = -1, -np.inf
    for r in range(n):
        if r != s and T[LABEL, r] == T[LABEL, s]:
            nearness = 2.0 * K[s, r] - K[r, r]
            if nearness > value:
                best, value = r, nearness
    return best


@inner
def release(F, T, K, count, labels, s, joins):
    """Slot s is given up; the last slot moves into its place."""
    last = count[N] - 1
    labels[T[LABEL, s]] -= 1
    if s != last:
        for q in range(F.shape[0]):
            for m in range(F.shape[1]):
                F[q, m, s] = F[q, m, last]
        for q in range(T.shape[0]):
            T[q, s] = T[q, last]
        for r in range(last + 1):
            K[s, r] = K[last, r]
        for r in range(last):
            K[r, s] = K[s, r]
        K[s, s] = K[last, last]
    count[N] = last
    if joins:
        for r in range(last):
            if T[NEAR, r] == s:
                T[NEAR, r] = nearest(K, T, r, last)
            elif T[NEAR, r] == last:
                T[NEAR, r] = s


@inner
def push_out(F, T, K, count, labels, s, epsilon, joins):
    for m in range(F.shape[1]):
        bring_down(F, K, m, s, 0.0, count[N], epsilon)
    release(F, T, K, count, labels, s, joins)
