"""Steps on coefficients that everything here is made of: a pair moves, a row leaves.

PROCESS and REPROCESS are direction searches along a pair (lasvm-2005, section 3.1): alpha_i goes up
and alpha_j down, as far as it pays or fits. To push a row out its bound becomes zero, and the same
moves carry its coefficient over to the rows whose gradients ask for it most: the sum of the
coefficients and all bounds hold throughout, and the gradients stay true.

Kernel values among the rows held come from a cache ``c`` (``kernel.cache``): pages, of which some may
be missing, or all pairs.

Each function is compiled once and called, not copied into its callers: they are most of what a first
use of a stream compiles.

Symbols: a state, c kernel cache, m machine, s slot, i goes up, j goes down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernel.cache import move_slot, touch
from ...kernel.emit.records import (
    Flags,
    Flags3,
    Layout,
    Numbers,
    Numbers2,
    Reals,
    Reals2,
    Reals3,
    Values,
    Values2,
)
from ...kernel.emit.slopes import shift_slopes
from ...runtime.numerics import curvature_of, inlined, keep_small, linked, never_inline
from ..state import NEED, OPEN, SLOT, N

ROUNDING = 1e-15
"""Share of a change of a coefficient by which rounding may miss its end."""


class Along(NamedTuple):
    """What moves along when a row changes its slot, besides the state and the cache; the example at hand."""

    reals: Reals3  # the blocks of the state (``state.Blocks``)
    flags: Flags3
    marks: Numbers2
    sizes: Reals2
    rows: Values2  # the rows of the store; no columns where Python moves them
    low: Values2  # their second parts (``kernel.rbf``), or no row
    squares: Values
    slot_of: Numbers  # key -> slot, -1 outside the support set; empty on a stream
    row: Values  # kernel values of the example at hand with the rows held
    g: Reals  # (machines,) its gradients
    joined: Flags  # (machines,) whether it is new to the machine


ALONG = Layout(Along)


@linked
def place(a, m, s, value, epsilon):
    """alpha_s becomes ``value``; its sides open or close. The cost epsilon |alpha| has a kink at zero."""
    keep_small()
    a.alpha[m, s] = value
    moves = a.member[m, s]
    above = -epsilon if value >= 0.0 else epsilon
    below = -epsilon if value > 0.0 else epsilon
    a.above[m, s] = above if moves and value < a.hi[m, s] else -np.inf
    a.below[m, s] = below if moves and value > a.lo[m, s] else np.inf


@linked
def open_sides(a, epsilon):
    """``above`` and ``below`` of all slots, where coefficients were changed elsewhere."""
    never_inline()
    n, capacity = a.count[N], a.label.shape[0]
    for m in range(a.positive.shape[0]):
        for s in range(n):
            place(a, m, s, a.alpha[m, s], epsilon)
        for s in range(n, capacity):
            a.above[m, s], a.below[m, s] = -np.inf, np.inf
    a.count[OPEN] = 1


@linked
def shift(a, c, m, i, j, step):
    """g -= step (K_i - K_j); then the slots of g_max and g_min (eq. 10), -1: none, and their slopes.

    With a negative i nothing moves. The difference is taken in double precision, or gradients would
    drift by its rounding.
    """
    never_inline()
    grad, above, below, n = a.grad[m], a.above[m], a.below[m], a.count[N]
    pool, table, blank = c.pool, c.table, c.blank
    width = pool.shape[1]
    top, bottom, g_max, g_min = -1, -1, -np.inf, np.inf
    first, page = 0, 0
    while first < n:
        row_i = pool[table[i, page]] if i >= 0 else blank
        row_j = pool[table[j, page]] if i >= 0 else blank
        up, down, high, low = shift_slopes(
            grad[first:], above[first:], below[first:], row_i, row_j, step, min(width, n - first)
        )
        if high > g_max:
            top, g_max = first + up, high
        if low < g_min:
            bottom, g_min = first + down, low
        first, page = first + width, page + 1
    return top, bottom, g_max, g_min


@inlined
def extremes(a, c, m):
    """Slots of g_max and g_min among the members that may move, -1: none, and their slopes."""
    return shift(a, c, m, np.int64(-1), np.int64(-1), 0.0)


@inlined
def missing_row(a, c, i, j):
    """Whether the kernel row of i or j is not at hand; then which is noted."""
    for r in range(2):
        s = i if r == 0 else j
        if c.pages[s] == 0:
            a.count[NEED] = s
            return True
        touch(c, s)
    return False


@inlined
def value_of(c, i, j):
    """K(i, j), of a row i that is at hand."""
    width = c.pool.shape[1]
    page = j // width
    return np.float64(c.pool[c.table[i, page], j - page * width])


@linked
def move(a, c, m, i, j, most, epsilon):
    """alpha_i up and alpha_j down by ``most``, or exactly onto the end that one of them reaches.

    A coefficient ends at its bound, or at the kink at zero. Returns the new ``extremes``.
    """
    never_inline()
    a_i, a_j = a.alpha[m, i], a.alpha[m, j]
    end_i = 0.0 if a_i < 0.0 and epsilon > 0.0 else a.hi[m, i]
    end_j = 0.0 if a_j > 0.0 and epsilon > 0.0 else a.lo[m, j]
    room_i, room_j = end_i - a_i, a_j - end_j
    step = min(most, room_i, room_j)
    place(a, m, i, end_i if step >= room_i else a_i + step, epsilon)
    place(a, m, j, end_j if step >= room_j else a_j - step, epsilon)
    note_rounding(a, m, i)
    note_rounding(a, m, j)
    return shift(a, c, m, i, j, step)


@inlined
def direction(a, c, m, i, j, rise):
    """How far the pair should move: the rise over the curvature (eq. 13)."""
    return rise / curvature_of(a.diagonal[i], a.diagonal[j], value_of(c, i, j))


@inlined
def note_rounding(a, m, s):
    """Coefficient s has changed, and the gradients with it (``mend_gradients``)."""
    a.path[m] += abs(a.alpha[m, s]) * np.sqrt(abs(a.diagonal[s]))


@inlined
def bring_down(a, c, m, s, size, epsilon, stays):
    """Its bound and |alpha_s| down to ``size``: rows whose gradients ask for it take over the rest.

    Unless it does not stay: the sum of the coefficients changes then. All pairs must be kept.
    """
    value, n = a.alpha[m, s], a.count[N]
    a.hi[m, s], a.lo[m, s] = min(a.hi[m, s], size), max(a.lo[m, s], -size)
    while True:
        place(a, m, s, value, epsilon)
        rest = abs(value) - size
        if rest <= 0.0:
            break
        top, bottom, _, _ = extremes(a, c, m)
        i, j = (top, s) if value > 0.0 else (s, bottom)
        sign = 1.0 if value > 0.0 else -1.0
        if stays and i >= 0 and j >= 0:
            move(a, c, m, i, j, rest, epsilon)
            value = a.alpha[m, s]
        else:  # or the sum is zero but for rounding: no row is left to balance it
            row = c.pool[c.table[s, 0]]
            for r in range(n):
                a.grad[m, r] += sign * rest * row[r]
            value = sign * size
        if abs(abs(value) - size) <= ROUNDING * rest:
            value = sign * size


@inlined
def _move_state(along, source, target, machines):
    """All that the state has of slot ``source`` moves to slot ``target``."""
    reals, flags, marks, sizes = along.reals, along.flags, along.marks, along.sizes
    for m in range(machines):
        for r in range(reals.shape[0]):
            reals[r, m, target] = reals[r, m, source]
        for r in range(flags.shape[0]):
            flags[r, m, target] = flags[r, m, source]
    for r in range(marks.shape[0]):
        marks[r, target] = marks[r, source]
    for r in range(sizes.shape[0]):
        sizes[r, target] = sizes[r, source]


@linked
def leave(s, a, c, along):
    """Slot s is given up; the last slot moves into its place."""
    keep_small()
    count, slot_of, rows, low = a.count, along.slot_of, along.rows, along.low
    last = count[N] - 1
    if slot_of.shape[0] > 0:
        gone, moved = a.key[s], a.key[last]
        if moved >= 0:
            slot_of[moved] = s
        if gone >= 0:
            slot_of[gone] = -1
    if count[SLOT] == s:
        count[SLOT] = -1
    elif count[SLOT] == last:
        count[SLOT] = s
    move_slot(c, last, s, last)
    if s != last:
        along.row[s] = along.row[last]
        _move_state(along, last, s, a.positive.shape[0])
        if rows.shape[1]:
            a.handle[s], along.squares[s] = s, along.squares[last]
            for f in range(rows.shape[1]):
                rows[s, f] = rows[last, f]
            for f in range(low.shape[1] if low.shape[0] else 0):
                low[s, f] = low[last, f]
    for m in range(a.positive.shape[0]):
        a.above[m, last], a.below[m, last] = -np.inf, np.inf
    count[N] = last


FINE = 1e6
"""path sqrt(K_ss), in units of the machine, below which errors do not matter (1e-10 units)."""

OFTEN = 16.0
"""How many times larger ``path`` must be than right after the gradients were computed."""


@linked
def mend_gradients(m, a, c):
    """Recompute the gradients of machine m if rounding errors may be large; whether it did.

    g_s = p_s - sum_r a_r K_rs is kept up to date step by step, and each step adds a rounding error of
    about eps |a_r K_rs|. While row r is held such an error is unavoidable: the sum itself has it. But
    it stays when the row has left, and on a stream that does not end errors add up. ``path`` is the sum
    of |a_r| sqrt(K_rr) over all changes since the gradients were computed, so that
    eps path sqrt(K_ss) bounds the error of g_s (|K_rs| <= sqrt(K_rr K_ss)). All pairs must be kept.
    """
    never_inline()
    alpha, grad, n, limit = a.alpha[m], a.grad[m], a.count[N], FINE * a.unit[m]
    needed = a.path[m] * a.longest[m] > limit
    if needed:
        path, longest = 0.0, 0.0
        for s in range(n):
            length = np.sqrt(abs(a.diagonal[s]))
            path += abs(alpha[s]) * length
            longest = max(longest, length)
        a.longest[m] = longest
        needed = a.path[m] > OFTEN * path and a.path[m] * longest > limit
        if needed:
            a.path[m] = path
            for s in range(n):
                grad[s] = a.p[m, s]
            for r in range(n):
                row = c.pool[c.table[r, 0]]
                if alpha[r] != 0.0:
                    for s in range(n):
                        grad[s] -= alpha[r] * row[s]
    return needed
