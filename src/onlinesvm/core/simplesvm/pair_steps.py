"""Steps of two coefficients that bring SimpleSVM near its solution before it solves anything.

    f := f + t (z_i K_i - z_j K_j),      z_i = s_i e_i,      a_i += e_i t,   a_j -= e_j t

Given all variables at hand with all kernel values (``Local``, whose ``K`` is square) and f = K'(s a)
for every example, ``approach`` takes the pair of one equality row that violates most and moves it
to the best point of its line. A step costs O(n), a change of the working set O(m^2): it is cheaper
to come near by pairs, factor those strictly within their bounds at once, and go on exactly.

Symbols: e_i the entry in the equality row; v_i = e_i g_i the slope along it; i grows along its row,
j shrinks, t the length of the step.
"""

from __future__ import annotations

import math

from ..numerics import inner, jit
from .state import BASE, ENTRY, GROUP, RIDGE, ROW, SIGN, UPPER


@inner
def _slope(k, at, f):
    """v_k."""
    g = at.given[SIGN, k] * f[at.code[ROW, k]] + at.given[RIDGE, k] * at.alpha[k]
    return at.given[ENTRY, k] * (g + at.given[BASE, k])


@inner
def _pair(q, at, f):
    """The two of equality row q that violate most: who grows along it, who shrinks."""
    low, high, i, j = math.inf, -math.inf, -1, -1
    for k in range(at.alpha.shape[0]):
        if at.code[GROUP, k] != q:
            continue
        value = _slope(k, at, f)
        rises, falls = at.alpha[k] < at.given[UPPER, k], at.alpha[k] > 0.0
        if at.given[ENTRY, k] < 0.0:
            rises, falls = falls, rises
        if rises and value < low:
            low, i = value, k
        if falls and value > high:
            high, j = value, k
    return i, j, high - low


@inner
def _move(k, amount, at):
    """alpha[k] += amount, exactly to the bound where only rounding is left of the way."""
    value, rest = at.alpha[k] + amount, 1e-14 * abs(amount)
    if value < rest:
        value = 0.0
    elif value > at.given[UPPER, k] - rest:
        value = at.given[UPPER, k]
    at.alpha[k] = value


@inner
def _step(i, j, best, at, f):
    """Move the pair. False: nothing stops it."""
    p, q, e_i, e_j = at.code[ROW, i], at.code[ROW, j], at.given[ENTRY, i], at.given[ENTRY, j]
    z_i, z_j = at.given[SIGN, i] * e_i, at.given[SIGN, j] * e_j
    bend = at.K[p, p] + at.K[q, q] - 2.0 * z_i * z_j * at.K[p, q]
    bend += at.given[RIDGE, i] + at.given[RIDGE, j]
    t = min(
        at.given[UPPER, i] - at.alpha[i] if e_i > 0.0 else at.alpha[i],
        at.alpha[j] if e_j > 0.0 else at.given[UPPER, j] - at.alpha[j],
    )
    if bend * t > best:
        t = best / bend
    if math.isinf(t):
        return False
    _move(i, e_i * t, at)
    _move(j, -e_j * t, at)
    row_i, row_j, x, y = at.K[p], at.K[q], z_i * t, z_j * t
    for r in range(f.shape[0]):
        f[r] += x * row_i[r] - y * row_j[r]
    return True


@jit
def approach(at, f, first, gap, limit):
    """At most ``limit`` steps, until no pair violates by ``gap``. Changes alpha and f.

    ``first`` is the pair to begin with (i, j), if both are in one equality row, or empty.
    """
    if first.shape[0] == 2 and at.code[GROUP, first[0]] == at.code[GROUP, first[1]]:
        i, j = first[0], first[1]
        best = _slope(j, at, f) - _slope(i, at, f)
        if best > 0.0:
            _step(i, j, best, at, f)
    for _ in range(limit):
        best, i, j = gap, -1, -1
        for q in range(at.code[GROUP].max() + 1):
            p_i, p_j, size = _pair(q, at, f)
            if size > best:
                best, i, j = size, p_i, p_j
        if i < 0 or not _step(i, j, best, at, f):
            return
