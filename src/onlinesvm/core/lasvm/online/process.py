"""LASVM one example at a time: PROCESS, REPROCESS and their alternation (lasvm-2005, 3.2).

    max_a  sum_i p_i a_i - 1/2 sum_ij a_i a_j K_ij - epsilon sum_i |a_i|
    with   sum_i a_i = s,   lo_i <= a_i <= hi_i                                       (``tasks``)

For each example in turn:

    1. it is scored by the present model, before it is learned;
    2. with limits: rows that have left the window are pushed out, bounds shrink with age;
    3. it joins the support set S (steps 1 and 2 of PROCESS), unless it is turned away;
    4. machine by machine: PROCESS, the direction search between it and its best partner; then
       REPROCESS, the pair that violates most, up to ``most`` times or until delta < ``delta_max``;
    5. rows at zero beyond the margin leave; with limits: above the budget, one row is pushed out;
    6. with limits: gradients that rounding errors might spoil are computed anew.

What differs between the listing of the paper, a stream of single examples, values, novelty and a
bounded memory are numbers in ``Rules``, and ``Limits``, which is None where memory is not bounded.

The loop computes the kernel row of an example itself where rows are dense and the kernel is compiled;
else it is given the values. It never computes another: when it needs the kernel row of a slot that the
cache has not kept, it stops and says which (``count[NEED]``), and goes on from the same place when
called again.

Symbols: a state, c kernel cache, m machine, k the slot of the fresh example, g its gradients.

Notes
-----
*As listed* (``rules.listed``): every example joins before it is tested, rows at zero beyond the margin
leave after each REPROCESS, and b and delta are measured then; a REPROCESS that bails out at its step 2
neither evicts nor changes b and delta. While S holds one class only, no example has a partner: the
first few are kept as seeds, the others are not, where the listing would collect them for ever; the bias
of such a machine is the sign of that class. A machine starts with the first example of its other sign,
and takes all rows of S as members then. ``beyond`` > 0 keeps rows at zero that lie beyond the margin by
less than that, and turns away examples outside the margin: the listing has none; streams need it.

*Else* examples that violate no optimality condition are turned away, and b and delta are measured after
each example. An example of one class brings mass; without limits it joins with it.

Most functions are called, not copied into their callers: copies would take longer to compile than most
streams take to learn. What is None is not compiled: ``other`` for the RBF kernel, ``labels`` where
memory is not bounded, ``near`` unless rows are joined.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernel.cache import KernelCache, add_slot, trim_rows
from ...kernel.emit.never_inline import keep_small, never_inline
from ...kernel.tiles.dense import squared_norm
from ...kernel.tiles.one_row import EIGHT, kernel_row_of
from ...kernel.tiles.rbf import far_row
from ...runtime.numerics import inlined, inner, jit
from ..state import (
    CHANGED,
    CLOCK,
    EVALUATIONS,
    MACHINE,
    NEED,
    OPEN,
    PHASE,
    POSITION,
    ROUND,
    SLOT,
    STORED,
    N,
    named,
)
from .limits import SEEDS, count_in, forget, limits_of, share_of_bound
from .mass import add_mass, fade_mass, lacks_room
from .steps import (
    Along,
    direction,
    extremes,
    leave,
    mend_gradients,
    missing_row,
    move,
    open_sides,
    place,
)

NEEDS_ROW, NO_PAIR, STEPPED, OPTIMAL = range(-1, 3)
"""What a direction search found: a kernel row is not at hand, no partner, a step, no violation."""

INSERT, PROCESS, REPROCESS = range(3)


class Rules(NamedTuple):
    """How far one example is optimised, what leaves; and the numbers of its task."""

    delta_max: float  # REPROCESS is repeated until delta is below it, in units of the machine
    epsilon: float
    nu: float
    most: int  # maximum number of REPROCESS after one PROCESS
    listed: bool


class Fresh(NamedTuple):
    """Examples in the order in which they come."""

    values: np.ndarray  # (n, stored + n) float32: with the support set, then among themselves
    tags: np.ndarray  # (n, 2): label, key
    given: np.ndarray  # (n, 3, machines): p, lo, hi
    about: np.ndarray  # (n, 2): bound, k(x, x)
    scores: np.ndarray  # (n, machines): decision values before each was learned, for the caller
    seeds: np.ndarray  # (labels,) how many more seeds each label may give
    joined: np.ndarray  # (machines,) whether the example at hand is new to the machine


@inner(_nrt=False)
def gradients_of(row, a, given, q, g):
    """g = p - sum_s alpha_s k(x, x_s) of example q with these kernel values, eq. (9)."""
    never_inline()
    alpha, n = a.alpha, a.count[N]
    for m in range(g.shape[0]):
        total = given[q, 0, m]
        for s in range(n):
            if alpha[m, s] != 0.0:
                total -= alpha[m, s] * row[s]
        g[m] = total


@inlined
def _violates(g, given, q, a, epsilon):
    """Whether some machine finds that the example violates the optimality conditions."""
    found = False
    for m in range(g.shape[0]):
        residual = g[m] - a.bias[m]
        found |= given[q, 2, m] > 0.0 and residual - epsilon > 0.0
        found |= given[q, 1, m] < 0.0 and -residual - epsilon > 0.0
    return found


@inner(_nrt=False)
def insert(q, fresh, a, c, along, g, part, epsilon):
    """Steps 1 and 2 of PROCESS: example q joins S for every machine that lacks it.

    ``part`` of its bound is left by limits. Returns whether it is a new row of S.
    """
    keep_small()
    count, joined, slot_of, row = a.count, fresh.joined, along.slot_of, along.row
    label, key, given = fresh.tags[q, 0], fresh.tags[q, 1], fresh.given[q]
    n = k = count[N]
    if slot_of.shape[0] > 0 and slot_of[key] >= 0:
        k = slot_of[key]
    if k == n:
        a.label[k], a.key[k], a.born[k] = label, key, count[CLOCK]
        a.bound[k], a.diagonal[k] = fresh.about[q, 0], fresh.about[q, 1]
        a.handle[k] = count[STORED] + q
        a.column[k] = fresh.values.shape[1] - fresh.values.shape[0] + q
        count[N] = n + 1
        row[n] = a.diagonal[k]
        add_slot(c, row, n)
        if slot_of.shape[0] > 0:
            slot_of[key] = n
    length = np.sqrt(abs(a.diagonal[k]))
    for m in range(a.positive.shape[0]):
        joined[m] = k == n or not a.member[m, k]
        if joined[m]:
            a.grad[m, k], a.p[m, k], a.member[m, k] = g[m], given[0, m], True
            a.lo[m, k], a.hi[m, k] = part * given[1, m], part * given[2, m]
            place(a, m, k, 0.0, epsilon)
            a.longest[m] = max(a.longest[m], length)
    count[SLOT] = k
    return k == n


@inlined
def keep_row(X, X_low, q, x_square, along, k):
    """The row itself, in slot k of the store."""
    along.squares[k] = x_square
    for f in range(X.shape[1]):
        along.rows[k, f] = X[q, f]
        if along.low.shape[0]:
            along.low[k, f] = X_low[q, f] if X_low.shape[0] else np.float32(0.0)


@inner(_nrt=False)
def take_seed(label, seeds, a):
    """Whether S holds this label alone, so that no machine has a pair, and may have more of it."""
    keep_small()
    alone = seeds[label] > 0
    for m in range(a.positive.shape[0]):
        alone &= not a.delta[m] < np.inf
    for s in range(a.count[N] if alone else 0):
        alone &= a.label[s] == label
    if alone:
        seeds[label] -= 1
        for m in range(a.positive.shape[0]):
            a.bias[m] = a.p[m, a.count[SLOT]]
    return alone


@inner(_nrt=False)
def start(k, m, a, epsilon):
    """A machine without coefficients takes all rows of S as members once it has both signs."""
    keep_small()
    p, n = a.p[m], a.count[N]
    plus, carries, both = p[k] > 0.0, False, False
    for s in range(n):
        carries |= a.alpha[m, s] != 0.0
        both |= (p[s] > 0.0) != plus
    if not carries:
        if not both:
            a.bias[m] = p[k]
        for s in range(n if both else 0):
            a.member[m, s] = True
            a.grad[m, s] = p[s]
            place(a, m, s, 0.0, epsilon)


@inner(_nrt=False)
def direction_search(k, m, a, c, epsilon):
    """Along the most violating pair of machine m, or slot k with its best partner if k >= 0.

    Steps 3 to 5 of PROCESS, 1 to 3 of REPROCESS.
    """
    never_inline()
    i, j, g_max, g_min = extremes(a, c, m)
    if k >= 0:
        g = a.grad[m, k]
        if a.hi[m, k] > 0.0 and (g > a.bias[m] or a.lo[m, k] == 0.0):
            i, g_max = k, g + a.above[m, k]
        else:
            j, g_min = k, g + a.below[m, k]
    if i < 0 or j < 0:
        return NO_PAIR
    if i == j or not g_max - g_min > a.tau[m]:
        return OPTIMAL
    if missing_row(a, c, i, j):
        return NEEDS_ROW
    move(a, c, m, i, j, direction(a, c, m, i, j, g_max - g_min), epsilon)
    return STEPPED


@inlined
def measure(m, a, c):
    """b and delta. Where all can go one way alone, the bias is the slope of the one at the edge."""
    top, bottom, g_max, g_min = extremes(a, c, m)
    if top >= 0 and bottom >= 0:
        a.bias[m], a.delta[m] = (g_max + g_min) / 2, g_max - g_min
    elif top >= 0 or bottom >= 0:
        a.bias[m], a.delta[m] = (g_max if top >= 0 else g_min), np.inf


@inner(_nrt=False)
def give_up(s, m, a, c, along):
    """Machine m gives up slot s; if no other wants it, it leaves."""
    keep_small()
    a.member[m, s] = False
    a.above[m, s], a.below[m, s] = -np.inf, np.inf
    wanted = False
    for r in range(a.positive.shape[0]):
        wanted |= a.member[r, s]
    if not wanted:
        leave(s, a, c, along)


@inner(_nrt=False)
def evict(m, a, c, along):
    """Steps 4 and 5 of REPROCESS: rows at zero beyond the margin leave machine m; b and delta."""
    keep_small()
    top, bottom, g_max, g_min = extremes(a, c, m)
    if top < 0 or bottom < 0:
        return
    beyond = a.beyond[m]
    for s in range(a.count[N] - 1, -1, -1):
        if a.member[m, s] and a.alpha[m, s] == 0.0:
            g = a.grad[m, s]
            idle = a.hi[m, s] <= 0.0 or g <= g_min - beyond
            if idle and (a.lo[m, s] >= 0.0 or g >= g_max + beyond):
                give_up(s, m, a, c, along)
    trim_rows(c, a.count[N])
    a.bias[m], a.delta[m] = (g_max + g_min) / 2, g_max - g_min


@inlined
def reprocess(m, a, c, along, epsilon, listed):
    """REPROCESS, steps 1 to 3; 4 and 5 as well if they are due now. Returns what was found."""
    made = direction_search(np.int64(-1), m, a, c, epsilon)
    if listed and made == STEPPED:
        evict(m, a, c, along)
    return made


@inlined
def _is_outside(k, m, a):
    """Whether k has coefficient zero and lies on or beyond the margin."""
    excess = a.grad[m, k] - a.bias[m]
    return a.alpha[m, k] == 0.0 and (excess if a.p[m, k] > 0.0 else -excess) <= 0.0


@inner(_nrt=False)
def load(k, mass, a, row, epsilon):
    """The newcomer of a one-class machine takes its mass."""
    keep_small()
    n = a.count[N]
    place(a, 0, k, mass, epsilon)
    for s in range(n):
        a.grad[0, s] -= mass * np.float64(row[s])


@inner(_nrt=False)
def optimise(rules, joined, a, c, along):
    """PROCESS and REPROCESS, machine by machine, from where the last call stopped; true: all done."""
    keep_small()
    count, listed, epsilon = a.count, rules.listed, rules.epsilon
    phase, m = count[PHASE], count[MACHINE]
    while m < a.positive.shape[0]:
        made, k = STEPPED, count[SLOT]
        if phase == REPROCESS:
            made = reprocess(m, a, c, along, epsilon, listed)
        elif listed:
            if joined[m] and k >= 0:
                if not a.delta[m] < np.inf:
                    start(k, m, a, epsilon)
                made = direction_search(k, m, a, c, epsilon)
                turned = made != NEEDS_ROW and a.beyond[m] > 0.0 and _is_outside(k, m, a)
                if made == NO_PAIR or turned:
                    give_up(k, m, a, c, along)
        elif not (count[CHANGED] or a.delta[m] > a.tau[m]):
            m += 1
            continue
        elif k >= 0:
            made = direction_search(k, m, a, c, epsilon)
        if made == NEEDS_ROW:
            count[PHASE], count[MACHINE] = phase, m
            return False
        count[CHANGED] |= made == STEPPED and (phase == REPROCESS or k >= 0)
        if phase == PROCESS:
            phase, count[ROUND] = REPROCESS, 0
            continue
        count[ROUND] += 1
        over = made in (NO_PAIR, OPTIMAL) or count[ROUND] >= rules.most
        if over or a.delta[m] < rules.delta_max * a.unit[m]:
            if not listed:
                measure(m, a, c)
            phase, m = PROCESS, m + 1
    return True


@inner(_nrt=False)
def end_example(a, c, fewer):
    """Gradients are mended; where that or rows that left changed something, bias and gap follow."""
    keep_small()
    for m in range(a.positive.shape[0]):
        if mend_gradients(m, a, c) or fewer:
            measure(m, a, c)


@jit(_nrt=False)
def online(
    X, X_low, values, tags, given, about, scores, gamma, other, store, low, squares,
    rule_reals, rule_numbers, limit_reals, limit_numbers, labels, masses, near,
    seeds, joined, slot_of, row, g,
    reals, flags, marks, sizes, scales, positive, count,
    pool, table, pages, stamp, free, blank, cache_count,
):  # fmt: skip
    """Learn examples, from where the last call stopped; returns how many are done.

    It stops early where there is no space for another row, where a row of the RBF kernel is so far from
    the centre that it needs a second part (``kernel.rbf``) and has none, or where a kernel row is needed
    (``count[NEED]``). Records are taken apart for the call (``Call``): to find out the type of a record
    takes Numba longer than an example takes to learn. Rows that are not dense, or whose kernel is not
    compiled, have no columns in X and in ``store``: kernel values are given, and the caller brings the
    rows in line with their slots. ``g``, ``row``, ``joined``: space.
    """
    keep_small()
    a = named(reals, flags, marks, sizes, scales, positive, count)
    c = KernelCache(pool, table, pages, stamp, free, blank, cache_count)
    along = Along(store, low, squares, row, slot_of)
    fresh = Fresh(values, tags, given, about, scores, seeds, joined)
    rules = Rules(rule_reals[0], rule_reals[1], rule_reals[2], rule_numbers[0], rule_numbers[1] > 0)
    epsilon, nu, dense = rules.epsilon, rules.nu, X.shape[1] > 0
    if count[OPEN] == 0:
        open_sides(a, epsilon)
    count[NEED], x_square, part = -1, np.float32(0.0), 1.0
    q = count[POSITION]
    while q < tags.shape[0]:
        if count[PHASE] == INSERT:
            n = count[N]
            if dense:
                x_square = squared_norm(X[q])
                is_far = other is None and x_square > far_row(gamma)
                if n + EIGHT >= a.label.shape[0] or (is_far and not X_low.shape[0]):
                    break
                kernel_row_of(X, X_low, q, x_square, store, low, squares, n, gamma, other, row)
            else:
                for s in range(n):
                    row[s] = values[q, a.column[s]]
            count[EVALUATIONS] += n + 1
            gradients_of(row, a, given, q, g)
            for m in range(g.shape[0]):
                scores[q, m] = given[q, 0, m] - g[m] + a.bias[m]
            mass, is_new, changed = nu * given[q, 2, 0], False, False
            joins = rules.listed or n == 0 or nu > 0.0
            if labels is not None:
                limits = limits_of(limit_reals, limit_numbers, labels, masses)
                changed = forget(a, c, along, limits, epsilon, nu, near, False)
                if nu > 0.0:
                    fade_mass(a, c, limits)
                    changed = True
                if changed:
                    gradients_of(row, a, given, q, g)
                joins = labels[tags[q, 0]] < SEEDS or (nu > 0.0 and lacks_room(a, mass))
                part = share_of_bound(a, limits, about[q, 1])
            count[SLOT] = -1
            if joins or _violates(g, given, q, a, epsilon):
                is_new = insert(q, fresh, a, c, along, g, part, epsilon)
                changed = True
                if is_new and dense:
                    keep_row(X, X_low, q, x_square, along, count[SLOT])
                    a.handle[count[SLOT]] = count[SLOT]
                if labels is not None:
                    count_in(a, c, labels, count[SLOT], near)
                elif nu > 0.0:
                    load(count[SLOT], mass, a, row, epsilon)
            if nu > 0.0:
                count[SLOT], changed = -1, True
                if labels is not None:
                    add_mass(a, c, limits_of(limit_reals, limit_numbers, labels, masses), mass)
            count[CHANGED], count[PHASE], count[MACHINE] = changed, PROCESS, 0
            if rules.listed and is_new and take_seed(tags[q, 0], seeds, a):
                count[MACHINE] = g.shape[0]
        if not optimise(rules, joined, a, c, along):
            break
        count[CLOCK] += 1
        if labels is not None and count[CHANGED]:
            limits, n = limits_of(limit_reals, limit_numbers, labels, masses), count[N]
            forget(a, c, along, limits, epsilon, nu, near, True)
            end_example(a, c, count[N] < n)
        if dense:
            count[STORED] = count[N]
        q, count[PHASE] = q + 1, INSERT
        count[POSITION] = q
    return q


@jit(_nrt=False)
def repeat_reprocess(
    m, epsilon, most, store, low, squares, row, slot_of,
    reals, flags, marks, sizes, scales, positive, count,
    pool, table, pages, stamp, free, blank, cache_count,
):  # fmt: skip
    """Repeat REPROCESS until delta <= tau. 0: done, -1: a row is needed, 1: ``most`` are used up.

    Where PROCESS was the last to move, a REPROCESS that bails out would leave a delta above tau for
    ever, so b and delta are measured at the end.
    """
    a = named(reals, flags, marks, sizes, scales, positive, count)
    c = KernelCache(pool, table, pages, stamp, free, blank, cache_count)
    along = Along(store, low, squares, row, slot_of)
    if count[OPEN] == 0:
        open_sides(a, epsilon)
    for _ in range(most):
        made = reprocess(m, a, c, along, epsilon, True)
        if made == NEEDS_ROW:
            return -1
        if made != STEPPED:
            top, bottom, g_max, g_min = extremes(a, c, m)
            if top >= 0 and bottom >= 0:
                a.bias[m], a.delta[m] = (g_max + g_min) / 2, g_max - g_min
            return 0
    return 1
