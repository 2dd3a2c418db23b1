"""LASVM with a bounded memory: its arrays, and the steps on pairs of coefficients.

    max_a  sum_i p_i a_i - 1/2 sum_ij a_i a_j K_ij - epsilon sum_i |a_i|
    with   sum_i a_i = s,   lo_i <= a_i <= hi_i                                       (``tasks``)

To push a row out: its bound becomes zero, and pair steps carry its coefficient over to the rows
whose gradients ask for it most. The sum of the coefficients and all bounds hold throughout, and the
gradients stay true. Where s is not zero (one class), the coefficient goes with its row, and
``balance`` gives or takes what is missing (``bounded_mass``).

Symbols: m machine, s slot, n rows held, i goes up, j goes down. What is known of the slots lies in
three arrays: ``F[ALPHA, m, s]`` and so on (float64), ``T[LABEL, s]`` and so on (int64), and the
kernel values ``K[s, r]``. ``sides[ABOVE, m, s]`` and ``sides[BELOW, m, s]`` follow from F: what the
slopes to the right and to the left of a coefficient differ from its gradient, -inf and inf where it
cannot go there (``slopes``).
"""

from __future__ import annotations

import numpy as np

from ..kernel.never_inline import keep_small, never_inline
from ..kernel.slopes import shift_slopes
from ..numerics import curvature_of, inlined, inner

ALPHA, GRAD, LINEAR, LOW, HIGH, BOUND = range(6)
"""Places in F, (6, machines, capacity): coefficient, gradient, p, lo, hi, and the bound at first."""

LABEL, BORN, KEY, HANDLE, NEAR = range(5)
"""Places in T, (5, capacity): label, time of arrival, key, where the row itself is, and the slot of
the nearest row with the same label (kept up to date where rows are joined)."""

BIAS, GAP, TAU, SLACK, UNIT, MASS, WHOLE_MASS, PATH, LENGTH = range(9)
"""Places in M, (9, machines): bias, g_max - g_min, tolerance, how far beyond the margin a row at
zero must lie to leave, the unit of the machine, the sum of the coefficients as it should be, what it
would be without a budget, and two factors of what the gradients may be off by: PATH, and the largest
sqrt(k(x, x)) of the rows (``bounded_rounding``)."""

N, STORED, CLOCK, TURN, REMOVALS, EVALUATIONS = range(6)
"""Places in ``count``: rows held, rows in the store, examples seen, whose bound shrinks next, rows
pushed out, kernel values computed."""

ABOVE, BELOW = range(2)
"""Places in ``sides``, (2, machines, capacity)."""

WINDOW, BUDGET, MOST, POLICY, PROTECTED = range(5)
"""Places in ``limits``: examples that count (0: all), rows (0: any number), REPROCESS steps, which
row makes way, and the number of rows of a label from which on they may."""

OUTLIER, OLDEST, JOIN = range(3)
"""Which row makes way. OUTLIER: three times of four the row that is farthest on the wrong side,
else the oldest. JOIN: the one whose coefficient can be moved to its neighbour at the least cost."""

YOUNG = 50
"""Age below which a row is no outlier: it may be the first of a new concept."""

PRESSED = 3.0
"""Largest bound, in units of 1 / k(x, x), of an example of weight 1 once rows that carry had to make
way (OUTLIER). Few rows with large bounds would fit themselves instead of what they stand for."""

ROUNDING = 1e-15
"""Share of a change of a coefficient by which rounding may miss its end."""

SEEDS = 5
"""Rows of each label that are kept although they lie beyond the margin."""


@inlined
def place(F, sides, m, s, a, epsilon):
    """alpha_s becomes a; its sides open or close."""
    F[ALPHA, m, s] = a
    above = -epsilon if a >= 0.0 else epsilon
    below = -epsilon if a > 0.0 else epsilon
    sides[ABOVE, m, s] = above if a < F[HIGH, m, s] else -np.inf
    sides[BELOW, m, s] = below if a > F[LOW, m, s] else np.inf


@inlined
def share_of_bound(count, limits, cap, diagonal):
    """What is left of the bound of a row with this k(x, x), whatever its age."""
    pressed = limits[POLICY] == OUTLIER and count[REMOVALS] > 0
    return min(1.0, cap / max(diagonal, 1e-300)) if pressed else 1.0


@inner
def open_sides(F, sides, n, epsilon):
    """All sides, from the coefficients and their bounds; closed beyond n."""
    never_inline()
    for m in range(F.shape[1]):
        for s in range(n):
            place(F, sides, m, s, F[ALPHA, m, s], epsilon)
        for s in range(n, sides.shape[2]):
            sides[ABOVE, m, s], sides[BELOW, m, s] = -np.inf, np.inf


@inner
def extremes(F, sides, K, m, n):
    """Slots of the largest slope to the right and the smallest to the left; -1: there is none."""
    never_inline()
    return shift_slopes(F[GRAD, m], sides[ABOVE, m], sides[BELOW, m], K[0], K[0], 0.0, n)


@inlined
def note_rounding(F, K, M, m, s):
    """Coefficient s has changed, and the gradients with it (``bounded_rounding``)."""
    M[PATH, m] += abs(F[ALPHA, m, s]) * np.sqrt(abs(np.float64(K[s, s])))


@inner
def move(F, sides, K, M, m, i, j, most, n, epsilon):
    """alpha_i up and alpha_j down by ``most``, or exactly onto the end that one of them reaches.

    A coefficient ends at its bound, or at the kink at zero. Returns the new ``extremes``.
    """
    never_inline()
    a_i, a_j = F[ALPHA, m, i], F[ALPHA, m, j]
    end_i = 0.0 if a_i < 0.0 and epsilon > 0.0 else F[HIGH, m, i]
    end_j = 0.0 if a_j > 0.0 and epsilon > 0.0 else F[LOW, m, j]
    step = min(most, end_i - a_i, a_j - end_j)
    place(F, sides, m, i, end_i if step >= end_i - a_i else a_i + step, epsilon)
    place(F, sides, m, j, end_j if step >= a_j - end_j else a_j - step, epsilon)
    note_rounding(F, K, M, m, i)
    note_rounding(F, K, M, m, j)
    return shift_slopes(F[GRAD, m], sides[ABOVE, m], sides[BELOW, m], K[i], K[j], step, n)


@inner
def optimise(F, sides, K, M, m, k, n, most, epsilon):
    """PROCESS for the newcomer k (-1: none), up to ``most`` REPROCESS steps, then bias and gap.

    Steps 3 to 5 of PROCESS are one direction search between the newcomer and its best partner;
    REPROCESS takes the pair that violates most (lasvm-2005, section 3.1 and eq. 13). Where all can
    go one way alone, the bias is the slope of the one at the edge: of a machine that has one sign,
    that sign. Returns the number of steps.
    """
    keep_small()
    top, bottom, g_max, g_min = extremes(F, sides, K, m, n)
    steps, left = 0, most if k < 0 else most + 1
    while left > 0 and top >= 0 and bottom >= 0:
        left -= 1
        i, j, rise = top, bottom, g_max - g_min
        if k >= 0:
            g = F[GRAD, m, k]
            if F[HIGH, m, k] > 0.0 and (g > M[BIAS, m] or F[LOW, m, k] == 0.0):
                i, rise = k, g - epsilon - g_min
            else:
                j, rise = k, g_max - (g + epsilon)
        if i != j and rise > M[TAU, m]:
            rise /= curvature_of(K[i, i], K[j, j], K[i, j])
            top, bottom, g_max, g_min = move(F, sides, K, M, m, i, j, rise, n, epsilon)
            steps += 1
        elif k < 0:
            left = 0
        k = -1
    if top >= 0 and bottom >= 0:
        M[BIAS, m], M[GAP, m] = (g_max + g_min) / 2, g_max - g_min
    elif top >= 0 or bottom >= 0:
        M[BIAS, m], M[GAP, m] = (g_max if top >= 0 else g_min), np.inf
    return steps


@inlined
def bring_down(F, sides, K, M, m, s, size, n, epsilon, stays):
    """Its bound and |alpha_s| down to ``size``: rows whose gradients ask for it take over the rest.

    Unless it does not stay: the sum of the coefficients changes then.
    """
    a = F[ALPHA, m, s]
    F[HIGH, m, s], F[LOW, m, s] = min(F[HIGH, m, s], size), max(F[LOW, m, s], -size)
    while True:
        place(F, sides, m, s, a, epsilon)
        rest = abs(a) - size
        if rest <= 0.0:
            break
        top, bottom, _, _ = extremes(F, sides, K, m, n)
        i, j = (top, s) if a > 0.0 else (s, bottom)
        sign = 1.0 if a > 0.0 else -1.0
        if stays and i >= 0 and j >= 0:
            move(F, sides, K, M, m, i, j, rest, n, epsilon)
            a = F[ALPHA, m, s]
        else:  # or the sum is zero but for rounding: nobody is left to balance it
            for r in range(n):
                F[GRAD, m, r] += sign * rest * K[s, r]
            a = sign * size
        if abs(abs(a) - size) <= ROUNDING * rest:
            a = sign * size


@inner
def nearest(K, T, s, n):
    """The slot of the nearest other row with the same label; -1 where there is none."""
    keep_small()
    best, value = -1, -np.inf
    for r in range(n):
        if r != s and T[LABEL, r] == T[LABEL, s]:
            nearness = 2.0 * K[s, r] - K[r, r]
            if nearness > value:
                best, value = r, nearness
    return best


@inlined
def release(F, sides, T, K, rows, low, squares, count, labels, s, row, near):
    """Slot s is given up; the last slot moves into its place, and its row with it if rows are here.

    ``row``: kernel values of an example with the rows held, which move likewise.
    """
    last = count[N] - 1
    labels[T[LABEL, s]] -= 1
    count[N] = last
    if s != last:
        row[s] = row[last]
        for m in range(F.shape[1]):
            for q in range(F.shape[0]):
                F[q, m, s] = F[q, m, last]
            for q in range(2):
                sides[q, m, s] = sides[q, m, last]
        for q in range(T.shape[0]):
            T[q, s] = T[q, last]
        K[last, s] = K[last, last]
        for r in range(last):
            K[s, r] = K[last, r]
            K[r, s] = K[last, r]
        if rows.shape[1]:
            T[HANDLE, s], squares[s] = s, squares[last]
            for f in range(rows.shape[1]):
                rows[s, f] = rows[last, f]
            for f in range(low.shape[1] if low.shape[0] else 0):
                low[s, f] = low[last, f]
    for m in range(F.shape[1]):
        sides[ABOVE, m, last], sides[BELOW, m, last] = -np.inf, np.inf
    if near is not None:
        for r in range(last):
            if near[r] == s:
                near[r] = nearest(K, T, r, last)
            elif near[r] == last:
                near[r] = s
