"""Second-order SMO on a small, dense problem that lives in cache.

    max_a  p'a - a'Ka / 2 - epsilon |a|    subject to   sum(a) constant,  lo <= a <= hi

given the kernel matrix K of a working set, the coefficients a and their gradient
g = p - Ka; changes a in place until g_max - g_min <= tol (eq. 10 of lasvm-2005). The pair is
LIBSVM's second choice: i of largest gradient, j of largest gain (g_i - g_j)^2 / curvature.

Symbols: ``up[s]`` is the slope g_s -+ epsilon to the right of a_s where a_s < hi_s and very low
elsewhere, ``down[s]`` the slope to its left where a_s > lo_s and very high elsewhere, so that a
maximum needs no test. The slopes differ at a_s = 0 alone, where a step therefore ends. Gradients
are float32 here: they only steer; the caller computes the true ones from the change of a.
"""

from __future__ import annotations

import numpy as np

from ...kernel.emit.vector import LANES, chunk_max, chunk_min
from ...runtime.numerics import ORDERED_MATH, REORDERED_MATH, flat, inner, jit

PROGRESS = 1e-4
"""Share of the gap that a call should close; where it closes less, rounding allows no more."""

_FAR = np.float32(1e30)
_LEAST = np.float32(1e-30)


@inner(fastmath=REORDERED_MATH)
def _shift(up, down, row_i, row_j, step):
    """Both gradients move by -step (K_i - K_j)."""
    for s in range(up.shape[0]):
        change = step * (row_i[s] - row_j[s])
        up[s] -= change
        down[s] -= change


@inner(fastmath=ORDERED_MATH)
def _gains(down, row, diagonal, top, k_ii, floor, gain):
    """Gain of the pair (i, s) for all s; zero where s cannot go down or would not gain."""
    for s in range(down.shape[0]):
        rise = max(top - down[s], np.float32(0.0))
        curvature = max(k_ii + diagonal[s] - np.float32(2.0) * row[s], floor)
        gain[s] = rise * rise / curvature


@inner
def _argmax(values):
    best, where = values[0], 0
    for c in range(0, values.shape[0], LANES):
        top = chunk_max(values, c)
        if top > best:
            best, where = top, c
    for s in range(where, where + LANES):
        if values[s] == best:
            return s
    return where


@inner
def _minimum(values):
    best = values[0]
    for c in range(0, values.shape[0], LANES):
        best = min(best, chunk_min(values, c))
    return best


@inner
def _rising(value, epsilon):
    """Slope of epsilon |a| to the right of a."""
    return epsilon if value >= 0.0 else -epsilon


@inner
def _falling(value, epsilon):
    """Slope of epsilon |a| to the left of a."""
    return epsilon if value > 0.0 else -epsilon


@inner
def _place(s, alpha, value, lo, hi, epsilon, up, down, gradient):
    """Set alpha[s], exactly on a bound where it reaches one, and open or close its sides."""
    value = min(max(value, lo[s]), hi[s])
    alpha[s] = value
    up[s] = gradient - _rising(value, epsilon) if value < hi[s] else -_FAR
    down[s] = gradient - _falling(value, epsilon) if value > lo[s] else _FAR


@inner
def _split(alpha, gradient, lo, hi, epsilon, up, down):
    """Fill ``up`` and ``down`` from the gradient and the bounds."""
    for s in range(up.shape[0]):
        up[s], down[s] = -_FAR, _FAR
    for s in range(alpha.shape[0]):
        _place(s, alpha, alpha[s], lo, hi, epsilon, up, down, np.float32(gradient[s]))


@jit
def solve(K, diagonal, alpha, gradient, lo, hi, epsilon, tol, max_steps):
    """Optimise alpha on one working set. K is (w, padded(w)) float32, zero beyond column w.

    Returns the steps made and the last g_max - g_min.
    """
    width = K.shape[1]
    up = np.empty(width, np.float32)
    down = np.empty(width, np.float32)
    gain = np.empty(width, np.float32)
    epsilon, largest = np.float32(epsilon), np.float32(0.0)
    for s in range(diagonal.shape[0]):
        largest = max(largest, abs(diagonal[s]))
    floor = max(np.float32(flat(largest)), _LEAST)
    _split(alpha, gradient, lo, hi, epsilon, up, down)
    for step in range(max_steps):
        i = _argmax(up)
        _gains(down, K[i], diagonal, up[i], diagonal[i], floor, gain)
        j = _argmax(gain)
        # A pair that violates says the gap does; only else is it worth a look at all rows.
        if up[i] - down[j] <= tol or up[i] <= -_FAR:
            gap = up[i] - _minimum(down)
            if gap <= tol or up[i] <= -_FAR:
                return step, gap
        curvature = max(diagonal[i] + diagonal[j] - np.float32(2.0) * K[i, j], floor)
        end_i = hi[i] if alpha[i] >= 0.0 else min(hi[i], 0.0)
        end_j = lo[j] if alpha[j] <= 0.0 else max(lo[j], 0.0)
        move = min((up[i] - down[j]) / curvature, end_i - alpha[i], alpha[j] - end_j)
        g_i, g_j = up[i] + _rising(alpha[i], epsilon), down[j] + _falling(alpha[j], epsilon)
        _shift(up, down, K[i], K[j], np.float32(move))
        change_i = np.float32(move) * (K[i, i] - K[j, i])
        change_j = np.float32(move) * (K[i, j] - K[j, j])
        _place(i, alpha, alpha[i] + move, lo, hi, epsilon, up, down, g_i - change_i)
        _place(j, alpha, alpha[j] - move, lo, hi, epsilon, up, down, g_j - change_j)
    return max_steps, up[_argmax(up)] - _minimum(down)


# -- around it: values of the working set, and the true gradients ---------------------------

_SPAN = 2048
"""Gradients brought up to date at a time; they stay in the first cache."""


@jit
def gather(pool, places, columns, out):
    """out[i, j] = pool[places[i], columns[j]]."""
    for i in range(places.shape[0]):
        row = pool[places[i]]
        for j in range(columns.shape[0]):
            out[i, j] = row[columns[j]]


@jit(fastmath=REORDERED_MATH)
def subtract_rows(grad, pool, places, change, first, last):
    """grad[s] -= sum_i change[i] pool[places[i], s] for first <= s < last, four rows at a time."""
    fours = places.shape[0] // 4 * 4
    for c0 in range(first, last, _SPAN):
        c1 = min(c0 + _SPAN, last)
        for i in range(0, fours, 4):
            a, b, c, d = change[i], change[i + 1], change[i + 2], change[i + 3]
            row_a, row_b = pool[places[i]], pool[places[i + 1]]
            row_c, row_d = pool[places[i + 2]], pool[places[i + 3]]
            for s in range(c0, c1):
                grad[s] -= a * row_a[s] + b * row_b[s] + c * row_c[s] + d * row_d[s]
        for i in range(fours, places.shape[0]):
            weight, row = change[i], pool[places[i]]
            for s in range(c0, c1):
                grad[s] -= weight * row[s]
