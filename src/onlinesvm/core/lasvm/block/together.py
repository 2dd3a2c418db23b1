"""One of very many machines on kernel values that all of them share: ``working_set``, compiled.

Hundreds of classes make hundreds of small problems on the same rows. The overhead of NumPy and
Python for each of them exceeds the time of its few steps, so each is one compiled call on the
arrays of the state.

    start      alpha = x on the rows of the class, and -c v on all others, which makes them level:
               the best of these, a problem of as many variables as the class has rows; then
               others that lie lower, close to the class, get variables of their own
    optimise   choose the rows that are free or violate; solve; update all gradients; repeat

The start is used if most of the other rows stay on the margin after it, that is, if kernel values
between rows are nearly zero: then nearly every row is a support vector of every machine, and SMO,
which moves two at a time, would need as many steps as there are rows whenever a row of the class
moves. v is the same for all machines (``level``), but for the few rows that have variables. Where most
rows lie beyond the margin the machine starts from zero: few of them will become support vectors.

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

SWEEPS, LEVEL, FINE = 50, 1e-2, 1e-5
"""At most so many rounds through the coordinates in a start, or until no step changes a slope by more:
of v, and of the rows that have variables of their own."""

ROUNDS, NEAR, MOST_ALONE = 3, 2.0, 0.1
"""How often rows that lie lower than others by this share of the tolerance get variables, and the
largest share of all rows that may."""

TINY = 1e-30

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


@jit
def level(K):
    """v >= 0 with (Kv)_s = 1 where v_s > 0 and (Kv)_s >= 1 elsewhere, nearly; returns v and Kv.

    By single coordinates; the same for all machines.
    """
    n = K.shape[0]
    v, height = np.zeros(n), np.zeros(n)
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(n):
            step = max(v[i] + (1.0 - height[i]) / max(K[i, i], TINY), 0.0) - v[i]
            if abs(step) * K[i, i] > LEVEL:
                moved = max(moved, abs(step) * K[i, i])
                v[i] += step
                for s in range(n):
                    height[s] += step * K[i, s]
        if moved == 0.0:
            break
    return v, height


@inner
def _best_of_some(M, linear, lo, hi, most):
    """Maximise linear'x - x'Mx / 2 by single coordinates, lo <= x <= hi and 0 <= sum(x) <= most."""
    x, slope, size = np.zeros(len(hi)), linear.copy(), 0.0
    for _ in range(SWEEPS):
        moved = 0.0
        for i in range(len(x)):
            goal = min(max(x[i] + slope[i] / max(M[i, i], TINY), lo[i]), hi[i])
            step = min(max(goal - x[i], -size), most - size)
            if step != 0.0:
                x[i] += step
                size += step
                slope -= step * M[i]
                moved = max(moved, abs(step) * M[i, i])
        if moved <= FINE:
            break
    return x


@inner(fastmath=REORDERED_SUMS)
def _subtract_product(K, rows, coef, out):
    """out -= K(., rows) coef."""
    for i in range(rows.shape[0]):
        if coef[i] != 0.0:
            for s in range(out.shape[0]):
                out[s] -= coef[i] * K[rows[i], s]


@inner
def _reduced(K, rows, rest, weight, total):
    """The problem in the coefficients of ``rows`` alone: all others have -sum(x) weight / total.

    ``rest`` is K times ``weight``, which is zero for the rows themselves.
    """
    count = rows.shape[0]
    others, M = np.dot(weight, rest) / total**2, np.empty((count, count))
    for i in range(count):
        for j in range(count):
            M[i, j] = K[rows[i], rows[j]] - (rest[rows[i]] + rest[rows[j]]) / total + others
    return M


@jit
def start(K, v, height, p, lo, hi, alpha, grad, tol):
    """alpha = x on some rows, -c v on all others, and its gradient. Returns whether it was taken.

    ``v`` and ``height`` as ``level`` has made them. Every row is a member, and alpha is zero.
    """
    n, taken = K.shape[0], False
    alone = p > 0.0
    for _ in range(ROUNDS):
        rows, weight, rest = np.flatnonzero(alone), v.copy(), height.copy()
        weight[rows] = 0.0
        total, most = weight.sum(), np.inf
        if rows.shape[0] == 0 or rows.shape[0] > MOST_ALONE * n or not total > 0.0:
            break
        _subtract_product(K, rows, v[rows], rest)
        for s in range(n):
            if weight[s] > 0.0:
                most = min(most, -lo[s] * total / weight[s])
        M = _reduced(K, rows, rest, weight, total)
        x = _best_of_some(M, p[rows] + 1.0, lo[rows], hi[rows], most)
        share = x.sum() / total
        values = p + share * rest
        _subtract_product(K, rows, x, values)
        above = values - np.dot(weight, values) / total
        if not share > 0.0 or np.sum((weight > 0.0) & (above > tol)) > LEAVING * n:
            break
        taken = True
        grad[:], alpha[:] = values, -share * weight
        alpha[rows] = x
        near = (above < -NEAR * tol) & ~alone
        if not near.any():
            break
        alone |= near
    return taken
