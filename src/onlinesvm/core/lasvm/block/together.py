"""One of very many machines on kernel values that all of them share: ``working_set``, compiled.

Hundreds of classes make hundreds of small problems on the same rows. The overhead of NumPy and
Python for each of them exceeds the time of its few steps, so each is one compiled call on the
arrays of the state.

    start      alpha = t d,  d = +1/n_+ on the rows of the class, -1/n_- on all others
               t = 2 / d'Kd, the best step in this direction from alpha = 0
    optimise   choose the rows that are free or violate; solve; update all gradients; repeat

The start is used if most of the other rows stay on the margin after it, that is, if kernel values
between rows are nearly zero: then nearly every row is a support vector of every machine, and SMO,
which moves two at a time, would need as many steps as there are rows. Products with d follow from
the sums of the kernel rows of the class and of all rows. Where most rows lie beyond the margin the
machine starts from zero: few of them will become support vectors.

Given: K (n, padded(n)) of the rows in slots 0 .. n-1. Symbols as in ``working_set``.
"""

from __future__ import annotations

import numpy as np

from ...kernel.buffers import Buffers, padded
from ...kernel.emit.vector import LANES
from ...runtime.numerics import REORDERED_SUMS, inner, jit
from . import smo
from .smo import gather, subtract_rows

INNER_STEPS = 50
"""At most this many pair steps for each row of a working set."""

SHRUNK = 0.3
"""Rows are set aside where no more than this share of all would be left: their values are copied."""

ASIDE = 0.1
"""Share of the gap to which a problem is optimised while rows are set aside from it."""

NEARLY = 0.1
"""Rows on a bound are kept that violate, or would if the bias moved by this share of the gap."""

LEAVING = 0.25
"""Share of the other rows that may lie beyond the margin after the start."""

STALLED = 5


def space(buffers: Buffers, n: int) -> np.ndarray:
    """Memory for the values of the rows that are not set aside, of n."""
    most = int(SHRUNK * n)
    return buffers.block(1, most * padded(most))[0]


@inner
def _extremes(alpha, grad, lo, hi, member, epsilon):
    """g_max, g_min, and the sum and the number of the gradients of free rows."""
    top, bottom, total, free = -np.inf, np.inf, 0.0, 0
    for s in range(alpha.shape[0]):
        if not member[s]:
            continue
        right = grad[s] - (epsilon if alpha[s] >= 0.0 else -epsilon)
        left = grad[s] - (epsilon if alpha[s] > 0.0 else -epsilon)
        up, down = alpha[s] < hi[s], alpha[s] > lo[s]
        if up and right > top:
            top = right
        if down and left < bottom:
            bottom = left
        if up and down and right == left:
            total += right
            free += 1
    return top, bottom, total, free


@inner
def _choose(alpha, grad, lo, hi, member, epsilon, least_up, most_down, chosen):
    """Rows that are free, or whose slopes are beyond these; returns their number."""
    count = 0
    for s in range(alpha.shape[0]):
        if not member[s]:
            continue
        right = grad[s] - (epsilon if alpha[s] >= 0.0 else -epsilon)
        left = grad[s] - (epsilon if alpha[s] > 0.0 else -epsilon)
        up, down = alpha[s] < hi[s], alpha[s] > lo[s]
        free = up and down and right == left
        if free or (up and right > least_up) or (down and left < most_down):
            chosen[count] = s
            count += 1
    return count


@inner
def _solve_on(K, rows, scale, diagonal, alpha, grad, lo, hi, epsilon, tol):
    """The problem on some rows, K their values; returns the change of alpha there."""
    n, (unit, centre) = rows.shape[0], scale
    own = np.zeros(K.shape[1], np.float32)
    before, gradient, low, high = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        s = rows[i]
        own[i], before[i], gradient[i] = diagonal[s], alpha[s] / unit, (grad[s] - centre) / unit
        low[i], high[i] = lo[s] / unit, hi[s] / unit
    after = before.copy()
    steps = INNER_STEPS * max(n, 1000)
    smo.solve(K, own, after, gradient, low, high, epsilon / unit, tol / unit, steps)
    return (after - before) * unit


@inner
def _solve_among_all(K, member, scale, diagonal, alpha, grad, lo, hi, epsilon, tol):
    """The same on all members, with the values of all rows where they are: others cannot move."""
    low, high = lo.copy(), hi.copy()
    for s in range(alpha.shape[0]):
        if not member[s]:
            low[s] = high[s] = alpha[s]
    rows = np.arange(alpha.shape[0])
    return _solve_on(K, rows, scale, diagonal, alpha, grad, low, high, epsilon, tol)


@inner
def _apply(K, rows, change, alpha, grad, lo, hi):
    """Coefficients move within their bounds; all gradients follow."""
    count = 0
    for i in range(rows.shape[0]):
        if change[i] != 0.0:
            s = rows[i]
            alpha[s] = min(max(alpha[s] + change[i], lo[s]), hi[s])
            rows[count], change[count] = s, change[i]
            count += 1
    subtract_rows(grad, K, rows[:count], change[:count], 0, grad.shape[0])


@jit
def optimise(K, space, diagonal, alpha, grad, lo, hi, member, scale, epsilon, tol, goal):
    """Bring one machine to g_max - g_min <= tol. Returns whether it got there.

    ``scale``: the unit of its gradients and what they are near; ``space`` for copied values; sets are
    solved to ``goal``. All arrays have n values.
    """
    n = K.shape[0]
    chosen = np.empty(n, np.int64)
    lowest, tries = np.inf, 0
    while True:
        g_max, g_min, total, free = _extremes(alpha, grad, lo, hi, member, epsilon)
        gap = g_max - g_min
        if not gap > tol:
            return True
        tries = 0 if gap < (1.0 - smo.PROGRESS) * lowest else tries + 1
        if tries > STALLED:
            return False
        lowest = min(gap, lowest)
        bias = min(max(total / free, g_min), g_max) if free else (g_max + g_min) / 2.0
        reach = NEARLY * min(gap, scale[0])
        least_up, most_down = min(bias - reach, g_max - gap / 4), max(bias + reach, g_min + gap / 4)
        count = _choose(alpha, grad, lo, hi, member, epsilon, least_up, most_down, chosen)
        width = (count + LANES - 1) // LANES * LANES
        if count <= SHRUNK * n and count * width <= space.shape[0]:
            rows = chosen[:count].copy()
            part = space[: count * width].reshape(count, width)
            part[:, count:] = np.float32(0.0)
            gather(K, rows, rows, part)
            inner_tol = max(goal, gap * ASIDE)
            change = _solve_on(part, rows, scale, diagonal, alpha, grad, lo, hi, epsilon, inner_tol)
        else:
            rows = np.arange(n)
            change = _solve_among_all(
                K, member, scale, diagonal, alpha, grad, lo, hi, epsilon, goal
            )
        _apply(K, rows, change, alpha, grad, lo, hi)


@jit(fastmath=REORDERED_SUMS)
def start(K, total, p, lo, hi, alpha, grad, tol):
    """alpha = t d and its gradient, where that is a good start. Returns whether it was taken.

    ``total`` are the sums of all kernel rows. Every row is a member, and alpha is zero.
    """
    n = K.shape[0]
    own, plus, most = np.zeros(n), 0, np.inf
    for i in range(n):
        if p[i] > 0.0:
            plus += 1
            for s in range(n):
                own[s] += K[i, s]
    minus = n - plus
    if plus == 0 or minus == 0:
        return False
    among, between, others = 0.0, 0.0, 0.0
    for s in range(n):
        if p[s] > 0.0:
            among += own[s]
            most = min(most, hi[s] * plus)
        else:
            between += own[s]
            others += total[s] - own[s]
            most = min(most, -lo[s] * minus)
    curvature = among / plus**2 - 2.0 * between / (plus * minus) + others / minus**2
    if not curvature > 0.0:
        return False
    t = min(2.0 / curvature, most)
    bias = -1.0 - t * (between / (plus * minus) - others / minus**2)
    beyond = 0
    for s in range(n):
        own[s] = p[s] - t * (own[s] / plus - (total[s] - own[s]) / minus)
        beyond += p[s] < 0.0 and own[s] - bias > tol
    if beyond > LEAVING * minus:
        return False
    for s in range(n):
        grad[s], alpha[s] = own[s], t / plus if p[s] > 0.0 else -t / minus
    return True
