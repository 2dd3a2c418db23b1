"""Steps that PROCESS and REPROCESS share: a direction search, a row leaves.

Each is compiled once and called, not copied into its callers: they are most of what a first use of
the listing compiles.

Symbols: a support set, c kernel cache, m machine; i goes up, j goes down (lasvm-2005, 3.1).
"""

from __future__ import annotations

import numpy as np

from ..kernel.cache import move_slot, touch
from ..kernel.never_inline import never_inline
from ..numerics import CURVATURE_FLOOR, inner
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
    alpha, grad, positive = a.alpha[m], a.grad[m], a.positive[m]
    i, j = extremes(m, a)
    if k >= 0:
        if a.label[k] == positive:
            i = k
        else:
            j = k
    if i < 0 or j < 0:
        return NO_PAIR
    hi = a.bound[i] if a.label[i] == positive else 0.0
    lo = 0.0 if a.label[j] == positive else -a.bound[j]
    gap, room_i, room_j = grad[i] - grad[j], hi - alpha[i], alpha[j] - lo
    if gap <= tau or room_i <= 0.0 or room_j <= 0.0:
        return OPTIMAL
    for r in range(2):
        s = i if r == 0 else j
        if c.pages[s] == 0:
            a.count[NEED] = s
            return NEEDS_ROW
        touch(c, s)
    pool, width = c.pool, c.pool.shape[1]
    pages_i, pages_j, page = c.table[i], c.table[j], j // c.pool.shape[1]
    k_ij = pool[pages_i[page], j - page * width]
    curvature = max(a.diagonal[i] + a.diagonal[j] - 2.0 * k_ij, CURVATURE_FLOOR)
    step = min(gap / curvature, room_i, room_j)
    alpha[i] = hi if step >= room_i else alpha[i] + step
    alpha[j] = lo if step >= room_j else alpha[j] - step
    first, page, n = 0, 0, a.count[N]
    while first < n:
        row_i, row_j = pool[pages_i[page]], pool[pages_j[page]]
        # The difference is taken in double precision, or gradients would drift by its rounding.
        for r in range(min(width, n - first)):
            grad[first + r] -= step * (np.float64(row_i[r]) - np.float64(row_j[r]))
        first, page = first + width, page + 1
    return STEPPED


@inner(_nrt=False)
def leave(s, m, a, c, slot_of):
    """Machine m gives up slot s; if no other wants it, the last slot moves into its place."""
    never_inline()
    member, last = a.member, a.count[N] - 1
    member[m, s] = False
    for r in range(member.shape[0]):
        if member[r, s]:
            return
    if slot_of.shape[0] > 0:
        gone, moved = a.key[s], a.key[last]
        if moved >= 0:
            slot_of[moved] = s
        if gone >= 0:
            slot_of[gone] = -1
    if a.count[SLOT] == s:
        a.count[SLOT] = -1
    elif a.count[SLOT] == last:
        a.count[SLOT] = s
    move_slot(c, last, s, last)
    for r in range(member.shape[0]):
        a.alpha[r, s], a.grad[r, s] = a.alpha[r, last], a.grad[r, last]
        member[r, s] = member[r, last]
    a.label[s], a.bound[s], a.diagonal[s] = a.label[last], a.bound[last], a.diagonal[last]
    a.key[s], a.column[s], a.handle[s] = a.key[last], a.column[last], a.handle[last]
    a.count[N] = last
