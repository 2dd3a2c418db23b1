"""Steps that PROCESS and REPROCESS share: a direction search, a row's release.

Symbols: a support set, c kernel cache, m machine; i goes up, j goes down (lasvm-2005, 3.1).
"""

from __future__ import annotations

import numpy as np

from ..kernel.cache import drop_row, move_slot, touch
from ..numerics import CURVATURE_FLOOR, inner
from .support import NEED, SLOT, N, lower, upper


@inner
def _subtract(grad, first, row_i, row_j, step, n):
    # The difference is taken in double precision, or gradients would drift by its rounding.
    for r in range(n):
        grad[first + r] -= step * (np.float64(row_i[r]) - np.float64(row_j[r]))


@inner
def direction_search(i, j, m, a, c):
    """Steps 5 and 3 of the listings: alpha_i up, alpha_j down, as far as it pays or fits."""
    page, place = j // c.pool.shape[1], j % c.pool.shape[1]
    k_ij = c.pool[c.table[i, page], place]
    curvature = max(a.diagonal[i] + a.diagonal[j] - 2.0 * k_ij, CURVATURE_FLOOR)
    step = (a.grad[m, i] - a.grad[m, j]) / curvature
    room_i = upper(i, m, a) - a.alpha[m, i]
    room_j = a.alpha[m, j] - lower(j, m, a)
    step = min(step, room_i, room_j)
    a.alpha[m, i] = upper(i, m, a) if step >= room_i else a.alpha[m, i] + step
    a.alpha[m, j] = lower(j, m, a) if step >= room_j else a.alpha[m, j] - step
    n, width = a.count[N], c.pool.shape[1]
    for p in range((n + width - 1) // width):
        first = p * width
        _subtract(
            a.grad[m], first, c.pool[c.table[i, p]], c.pool[c.table[j, p]], step,
            min(width, n - first),
        )  # fmt: skip


@inner
def kept(i, j, a, c):
    """Whether both rows are at hand; else notes the one to compute."""
    for s in (i, j):
        if c.pages[s] == 0:
            a.count[NEED] = s
            return False
        touch(c, s)
    return True


@inner
def release(s, a, c, slot_of):
    """Take slot s out; the last slot moves into its place."""
    last = a.count[N] - 1
    if a.key[s] >= 0 and slot_of.shape[0] > 0:
        slot_of[a.key[s]] = -1
    if a.count[SLOT] == s:
        a.count[SLOT] = -1
    if s != last:
        move_slot(c, last, s, last)
        for m in range(a.alpha.shape[0]):
            a.alpha[m, s], a.grad[m, s] = a.alpha[m, last], a.grad[m, last]
            a.member[m, s] = a.member[m, last]
        a.label[s], a.bound[s], a.diagonal[s] = a.label[last], a.bound[last], a.diagonal[last]
        a.key[s], a.column[s], a.handle[s] = a.key[last], a.column[last], a.handle[last]
        if a.key[s] >= 0 and slot_of.shape[0] > 0:
            slot_of[a.key[s]] = s
        if a.count[SLOT] == last:
            a.count[SLOT] = s
    else:
        drop_row(c, s)
    a.count[N] = last
