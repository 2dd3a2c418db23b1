"""Steps that PROCESS and REPROCESS share: a direction search, a row leaves.

Each is compiled once and called, not copied into its callers: they are most of what a first use of
the listing compiles.

Symbols: a support set, c kernel cache, m machine; i goes up, j goes down (lasvm-2005, 3.1).
"""

from __future__ import annotations

import numpy as np

from ..kernel.cache import move_slot, touch
from ..kernel.never_inline import keep_small, never_inline
from ..numerics import curvature_of, inner
from .support import NEED, SLOT, N, extremes

NEEDS_ROW, NO_PAIR, STEPPED, OPTIMAL = range(-1, 3)
"""What a direction search found: a kernel row is not at hand, no partner, a step, no violation."""


@inner(_nrt=False)
def direction_search(k, m, a, c, tau):
    """Along the most violating pair of machine m, or slot k with its best partner if k >= 0.

    alpha_i goes up and alpha_j down, as far as it pays or fits: steps 3 to 5 of PROCESS, 1 to 3 of
    REPROCESS. The row to compute is noted where it is not at hand.
    """
    never_inline()
    alpha, grad, label, bound, positive = a.alpha[m], a.grad[m], a.label, a.bound, a.positive[m]
    diagonal, count, pool, table, pages = a.diagonal, a.count, c.pool, c.table, c.pages
    i, j = extremes(m, a)
    if k >= 0:
        if label[k] == positive:
            i = k
        else:
            j = k
    if i < 0 or j < 0:
        return NO_PAIR
    hi = bound[i] if label[i] == positive else 0.0
    lo = 0.0 if label[j] == positive else -bound[j]
    gap, room_i, room_j = grad[i] - grad[j], hi - alpha[i], alpha[j] - lo
    if gap <= tau or room_i <= 0.0 or room_j <= 0.0:
        return OPTIMAL
    for r in range(2):
        s = i if r == 0 else j
        if pages[s] == 0:
            count[NEED] = s
            return NEEDS_ROW
        touch(c, s)
    page, width = j // pool.shape[1], pool.shape[1]
    k_ij = pool[table[i, page], j - page * width]
    step = min(gap / curvature_of(diagonal[i], diagonal[j], k_ij), room_i, room_j)
    alpha[i] = hi if step >= room_i else alpha[i] + step
    alpha[j] = lo if step >= room_j else alpha[j] - step
    first, page, n = 0, 0, count[N]
    while first < n:
        row_i, row_j = pool[table[i, page]], pool[table[j, page]]
        # The difference is taken in double precision, or gradients would drift by its rounding.
        for r in range(min(width, n - first)):
            grad[first + r] -= step * (np.float64(row_i[r]) - np.float64(row_j[r]))
        first, page = first + width, page + 1
    return STEPPED


@inner(_nrt=False)
def leave(s, m, a, c, slot_of):
    """Machine m gives up slot s; if no other wants it, the last slot moves into its place."""
    keep_small()
    alpha, grad, member, key, count = a.alpha, a.grad, a.member, a.key, a.count
    last = count[N] - 1
    member[m, s] = False
    for r in range(member.shape[0]):
        if member[r, s]:
            return
    if slot_of.shape[0] > 0:
        gone, moved = key[s], key[last]
        if moved >= 0:
            slot_of[moved] = s
        if gone >= 0:
            slot_of[gone] = -1
    if count[SLOT] == s:
        count[SLOT] = -1
    elif count[SLOT] == last:
        count[SLOT] = s
    move_slot(c, last, s, last)
    for r in range(member.shape[0]):
        alpha[r, s], grad[r, s] = alpha[r, last], grad[r, last]
        member[r, s] = member[r, last]
    a.label[s], a.bound[s], a.diagonal[s] = a.label[last], a.bound[last], a.diagonal[last]
    key[s], a.column[s], a.handle[s] = key[last], a.column[last], a.handle[last]
    count[N] = last
