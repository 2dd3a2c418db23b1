"""A support set of bounded size, for streams without end.

A row s makes way by joining the nearest row i of its own label: as if example s had been seen
where i is. Coefficient and bound of s go to i, so sum(alpha) and the bounds hold, and the
decision function moves by

    |dw|^2 = sum_m alpha[m, s]^2 (K_ss + K_ii - 2 K_si)

which is the harm by which the row is chosen. Rows with coefficient zero leave first.
"""

from __future__ import annotations

import numpy as np

from ..kernel.cache import touch
from ..numerics import inner
from .steps import kept, release, shift_gradient
from .support import NEED, TURN, VICTIM, N

_LOOKS = 2**19
"""Pairs looked at to choose a row; with larger budgets the search goes round in turns."""


@inner
def _carried(s, a):
    total = 0.0
    for m in range(a.alpha.shape[0]):
        total += a.alpha[m, s] * a.alpha[m, s]
    return total


@inner
def _nearest(s, a, c):
    """The row of the same label that is nearest to s, and the squared distance."""
    width = c.pool.shape[1]
    best, where = np.inf, -1
    for i in range(a.count[N]):
        if i != s and a.label[i] == a.label[s]:
            k_si = c.pool[c.table[s, i // width], i % width]
            distance = a.diagonal[s] + a.diagonal[i] - 2.0 * k_si
            if distance < best:
                best, where = distance, i
    return where, max(best, 0.0)


@inner
def _has_partner(s, a):
    for i in range(a.count[N]):
        if i != s and a.label[i] == a.label[s]:
            return True
    return False


@inner
def least_harmful(a, c):
    """The slot to give up; -1 when a kernel row is needed to tell."""
    n = a.count[N]
    looks = min(n, max(16, _LOOKS // n))
    best, where, unknown = np.inf, -1, -1
    for q in range(n):
        s = (a.count[TURN] + q) % n
        carried = _carried(s, a)
        if carried == 0.0:
            return s
        if q >= looks and where >= 0:
            continue
        if c.pages[s] == 0:
            if _has_partner(s, a):
                unknown = s
            continue
        i, distance = _nearest(s, a, c)
        if i >= 0 and carried * distance < best:
            best, where = carried * distance, s
    if where < 0:
        a.count[NEED] = unknown
    a.count[TURN] = (a.count[TURN] + looks) % n
    return where


@inner
def _join(s, i, a, c):
    """Row s becomes part of row i."""
    for m in range(a.alpha.shape[0]):
        moved = a.alpha[m, s]
        if moved != 0.0:
            a.alpha[m, i] += moved
            a.alpha[m, s] = 0.0
            shift_gradient(i, s, m, a, c, moved)
            if not a.member[m, i]:
                a.member[m, i] = True
    a.bound[i] += a.bound[s]


@inner
def shed(a, c, limit, slot_of):
    """Rows make way until ``limit`` are left. False: a kernel row is needed, call again."""
    while a.count[N] > limit:
        if a.count[VICTIM] < 0:
            a.count[VICTIM] = least_harmful(a, c)
        s = a.count[VICTIM]
        if s < 0:
            return False
        if _carried(s, a) > 0.0:
            if not kept(s, s, a, c):
                return False
            i, _ = _nearest(s, a, c)
            if not kept(s, i, a, c):
                return False
            _join(s, i, a, c)
            touch(c, i)
        a.count[VICTIM] = -1
        release(s, a, c, slot_of)
    return True
