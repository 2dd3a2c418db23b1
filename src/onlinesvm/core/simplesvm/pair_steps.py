"""Steps of two coefficients that bring SimpleSVM near its solution before it solves anything.

    f := f + t (z_i K_i - z_j K_j),      z_i = s_i e_i,      a_i += e_i t,   a_j -= e_j t

Given all variables at hand (``Local``), all kernel values ``K`` and f = K'(s a) for every example,
``approach`` takes the pair of one equality row that violates most and moves it to the best point of
its line. A step costs O(n), a change of the working set O(m^2): it is cheaper to come near by
pairs, factor those strictly within their bounds at once, and go on exactly.

Symbols: e_i the entry in the equality row; v_i = e_i g_i the slope along it; i grows along its row,
j shrinks, t the length of the step.
"""

from __future__ import annotations

import math

from ..runtime.numerics import inner, jit, never_inline
from .state import ALPHA, BASE, ENTRY, GROUP, RIDGE, ROW, SIGN, UPPER


@inner
def _worst_pair(rows, gap, at, f):
    """The pair of one equality row that violates most, by more than ``gap``; or -1, -1.

    Returns who grows along the row, who shrinks, and the violation.
    """
    never_inline()
    best, i, j = gap, -1, -1
    for q in range(rows):
        low, high, grows, shrinks = math.inf, -math.inf, -1, -1
        for k in range(at.given.shape[1]):
            if at.code[GROUP, k] != q:
                continue
            alpha, entry = at.given[ALPHA, k], at.given[ENTRY, k]
            g = at.given[SIGN, k] * f[at.code[ROW, k]] + at.given[RIDGE, k] * alpha
            value = entry * (g + at.given[BASE, k])
            up, down = alpha < at.given[UPPER, k], alpha > 0.0
            if entry < 0.0:
                up, down = down, up
            if up and value < low:
                low, grows = value, k
            if down and value > high:
                high, shrinks = value, k
        if high - low > best:
            best, i, j = high - low, grows, shrinks
    return i, j, best


@inner
def _move(k, amount, at):
    """alpha[k] += amount, exactly to the bound where only rounding is left of the way."""
    never_inline()
    value, rest = at.given[ALPHA, k] + amount, 1e-14 * abs(amount)
    if value < rest:
        value = 0.0
    elif value > at.given[UPPER, k] - rest:
        value = at.given[UPPER, k]
    at.given[ALPHA, k] = value


@jit
def approach(K, at, f, i, j, best, gap, rows, limit):
    """At most ``limit`` steps, until no pair violates by ``gap``. Changes alpha and f.

    Begins with the pair i, j, which violates by ``best``, if that is positive.
    """
    for _ in range(limit):
        if best <= 0.0:
            i, j, best = _worst_pair(rows, gap, at, f)
        if i < 0:
            return
        p, q, e_i, e_j = at.code[ROW, i], at.code[ROW, j], at.given[ENTRY, i], at.given[ENTRY, j]
        z_i, z_j = at.given[SIGN, i] * e_i, at.given[SIGN, j] * e_j
        bend = K[p, p] + K[q, q] - 2.0 * z_i * z_j * K[p, q]
        bend += at.given[RIDGE, i] + at.given[RIDGE, j]
        t, reach = at.given[ALPHA, i], at.given[ALPHA, j]
        if e_i > 0.0:
            t = at.given[UPPER, i] - t
        if e_j < 0.0:
            reach = at.given[UPPER, j] - reach
        t = min(t, reach)
        if bend * t > best:
            t = best / bend
        if math.isinf(t):  # nothing stops it
            return
        _move(i, e_i * t, at)
        _move(j, -e_j * t, at)
        x, y = z_i * t, z_j * t
        for r in range(f.shape[0]):
            f[r] += x * K[p, r] - y * K[q, r]
        best = 0.0
