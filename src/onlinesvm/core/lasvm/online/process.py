"""LASVM one example at a time: PROCESS, REPROCESS and their alternation (lasvm-2005, 3.2).

    max_a  sum_i p_i a_i - 1/2 sum_ij a_i a_j K_ij - epsilon sum_i |a_i|
    with   sum_i a_i = s,   lo_i <= a_i <= hi_i                                       (``tasks``)

For each example in turn:

    1. it is scored by the current model, before it is learned;
    2. with limits: rows that have left the window are pushed out, bounds shrink with age;
    3. it joins the support set S (steps 1 and 2 of PROCESS), unless it is turned away;
    4. machine by machine: PROCESS, the direction search between it and its best partner; then
       REPROCESS, the pair that violates most, up to ``most`` times or until delta < ``delta_max``;
    5. rows at zero beyond the margin leave; with limits: above the budget, one row is pushed out;
    6. with limits: gradients that may have large rounding errors are recomputed.

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
and takes all rows of S that have a part in it as members then. ``beyond`` > 0 keeps rows at zero that lie beyond the margin by
less than that, and turns away examples outside the margin: the listing has none; streams need it. An
infinite ``beyond`` keeps every example.

*Else* examples that violate no optimality condition are turned away, unless ``beyond`` is infinite, and
b and delta are measured after each example. An example of one class brings mass; without limits it joins with it.

Most functions are called, not copied into their callers: copies would take longer to compile than most
streams take to learn. What is None is not compiled: ``other`` for the RBF kernel, ``limits`` where
memory is not bounded, ``near`` unless rows are joined, ``seeds`` unless all is as listed, ``unlisted``
where it is, ``nu`` unless examples bring mass. Only ``is not None`` does that: Numba compiles what stands
below ``is None``, or in the ``else``, whatever it is given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...kernel.cache import CACHE, KernelCache, add_slot, trim_rows
from ...kernel.emit.records import Layout
from ...kernel.kernel import Kernel
from ...kernel.tiles.one_row import EIGHT, compiled_params, far_size, kernel_row_of, row_size
from ...runtime.numerics import inlined, jit, keep_small, linked, never_inline
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
    STATE,
    STORED,
    N,
    Support,
)
from .mass import add_mass, fade_mass, lacks_room
from .memory import LIMITS, SEEDS, Memory, count_in, forget, share_of_bound
from .policies import POLICIES
from .steps import (
    ALONG,
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

NO_SLOTS = np.empty(0, np.int64)
_NO_ROWS = np.empty((1, 0), np.float32)
_NO_SQUARES = np.empty(0, np.float32)
_NO_VALUES = np.empty((1, 1), np.float32)


class Rules(NamedTuple):
    """How far one example is optimised, what leaves; and the numbers of its task."""

    delta_max: float  # REPROCESS is repeated until delta is below it, in units of the machine
    epsilon: float
    nu: float
    most: int  # maximum number of REPROCESS after one PROCESS
    listed: bool


class Fresh(NamedTuple):
    """Examples in the order in which they come, but for their rows."""

    values: np.ndarray  # (n, stored + n) float32: with the support set, then among themselves
    tags: np.ndarray  # (n, 2): label, key
    given: np.ndarray  # (n, 3, machines): p, lo, hi
    about: np.ndarray  # (n, 2): bound, k(x, x)


RULES = Layout(Rules)
state_of, cache_of, along_of = STATE.opened, CACHE.opened, ALONG.opened
rules_of, limits_of = RULES.opened, LIMITS.opened


@linked
def gradients_of(q, given, a, along):
    """g = p - sum_s alpha_s k(x, x_s) of example q with the kernel values at hand, eq. (9)."""
    never_inline()
    n, row, g = a.count[N], along.row, along.g
    for m in range(g.shape[0]):
        total, alpha = given[q, 0, m], a.alpha[m]
        for s in range(n):
            if alpha[s] != 0.0:
                total -= alpha[s] * row[s]
        g[m] = total


@linked
def score(q, X, X_low, values, given, scores, gamma, other, a, along):
    """Kernel values of example q with the rows held, its gradients, its decision values.

    False: there is no space for another row, or it is far from the centre and has no second part.
    """
    n, row, g = a.count[N], along.row, along.g
    if X.shape[1] > 0:
        x_square = row_size(X[q], other)
        is_far = x_square > far_size(gamma, other)
        if n + EIGHT >= a.label.shape[0] or (is_far and not X_low.shape[0]):
            return False
        rows, low, squares = along.rows, along.low, along.squares
        kernel_row_of(X, X_low, q, x_square, rows, low, squares, n, gamma, other, row)
    else:
        for s in range(n):
            row[s] = values[q, a.column[s]]
    a.count[EVALUATIONS] += n + 1
    gradients_of(q, given, a, along)
    for m in range(g.shape[0]):
        scores[q, m] = given[q, 0, m] - g[m] + a.bias[m]
    return True


@inlined
def _violates(q, given, a, along, epsilon):
    """Whether some machine finds that the example violates the optimality conditions."""
    found = False
    for m in range(along.g.shape[0]):
        residual = along.g[m] - a.bias[m]
        found |= given[q, 2, m] > 0.0 and residual - epsilon > 0.0
        found |= given[q, 1, m] < 0.0 and -residual - epsilon > 0.0
    return found


@linked
def insert(q, fresh, a, c, along, part, epsilon):
    """Steps 1 and 2 of PROCESS: example q joins S for every machine that lacks it and may use it.

    ``part`` of its bound is left by limits. Returns whether it is a new row of S.
    """
    keep_small()
    count, joined, slot_of, row = a.count, along.joined, along.slot_of, along.row
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
            a.grad[m, k], a.p[m, k] = along.g[m], given[0, m]
            a.member[m, k] = given[2, m] > given[1, m]  # else a machine of two other labels
            a.lo[m, k], a.hi[m, k] = part * given[1, m], part * given[2, m]
            place(a, m, k, 0.0, epsilon)
            a.longest[m] = max(a.longest[m], length)
    count[SLOT] = k
    return k == n


@linked
def keep_row(X, X_low, q, a, along, other):
    """The row itself, which is new, in its slot of the store."""
    k = a.count[N] - 1
    a.handle[k], along.squares[k] = k, row_size(X[q], other)
    for f in range(X.shape[1]):
        along.rows[k, f] = X[q, f]
        if along.low.shape[0]:
            along.low[k, f] = X_low[q, f] if X_low.shape[0] else np.float32(0.0)


@linked
def take_seed(label, seeds, a):
    """Whether S holds this label alone, so that no machine has a pair, and may have more of it."""
    keep_small()
    alone, k = seeds[label] > 0, a.count[SLOT]
    for m in range(a.positive.shape[0]):
        alone &= not a.delta[m] < np.inf
    for m in range(a.positive.shape[0] if alone else 0):
        for s in range(a.count[N]):  # by p: all rows of several labels count as one label
            alone &= a.p[m, s] == a.p[m, k]
    if alone:
        seeds[label] -= 1
        for m in range(a.positive.shape[0]):
            a.bias[m] = a.p[m, k]
    return alone


@linked
def start(k, m, a, epsilon):
    """A machine without coefficients takes all rows of S as members once it has both signs."""
    keep_small()
    p, n = a.p[m], a.count[N]
    carries, both = False, False
    for s in range(n):
        carries |= a.alpha[m, s] != 0.0
        both |= p[s] * p[k] < 0.0
    if not carries:
        if not both:
            a.bias[m] = p[k]
        for s in range(n if both else 0):
            a.member[m, s] = p[s] != 0.0
            a.grad[m, s] = p[s]
            place(a, m, s, 0.0, epsilon)


@linked
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


@linked
def measure(m, a, c):
    """b and delta. Where all can go one way alone, the bias is the slope of the one at the edge."""
    top, bottom, g_max, g_min = extremes(a, c, m)
    if top >= 0 and bottom >= 0:
        a.bias[m], a.delta[m] = (g_max + g_min) / 2, g_max - g_min
    elif top >= 0 or bottom >= 0:
        a.bias[m], a.delta[m] = (g_max if top >= 0 else g_min), np.inf


@linked
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


@linked
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
def reprocess(m, a, c, along, epsilon, seeds):
    """REPROCESS, steps 1 to 3; as listed 4 and 5 as well. Returns what was found."""
    made = direction_search(np.int64(-1), m, a, c, epsilon)
    if seeds is not None:
        if made == STEPPED:
            evict(m, a, c, along)
    return made


@inlined
def _is_outside(k, m, a):
    """Whether k has coefficient zero and lies on or beyond the margin."""
    excess = a.grad[m, k] - a.bias[m]
    return a.alpha[m, k] == 0.0 and (excess if a.p[m, k] > 0.0 else -excess) <= 0.0


@linked
def load(k, mass, a, row, epsilon):
    """The newcomer of a one-class machine takes its mass."""
    keep_small()
    n = a.count[N]
    place(a, 0, k, mass, epsilon)
    for s in range(n):
        a.grad[0, s] -= mass * np.float64(row[s])


@linked
def process_as_listed(m, a, c, along, epsilon):
    """PROCESS for machine m, if the example is new to it; an example outside the margin is turned away."""
    made, k = STEPPED, a.count[SLOT]
    if along.joined[m] and k >= 0:
        if not a.delta[m] < np.inf:
            start(k, m, a, epsilon)
        made = direction_search(k, m, a, c, epsilon)
        turned = made != NEEDS_ROW and a.beyond[m] > 0.0 and _is_outside(k, m, a)
        if (made == NO_PAIR or turned) and not (a.beyond[m] == np.inf and a.member[m, k]):
            give_up(k, m, a, c, along)
    return made


@linked
def optimise(rules, a, c, along, seeds, unlisted):
    """PROCESS and REPROCESS, machine by machine, from where the last call stopped; true: all done."""
    keep_small()
    count, epsilon = a.count, rules.epsilon
    phase, m = count[PHASE], count[MACHINE]
    while m < a.positive.shape[0]:
        made, k = STEPPED, count[SLOT]
        if seeds is not None:
            if phase == PROCESS and k >= 0 and a.p[m, k] == 0.0:  # nothing to learn
                m += 1
                continue
        if phase == REPROCESS:
            made = reprocess(m, a, c, along, epsilon, seeds)
        else:
            if seeds is not None:
                made = process_as_listed(m, a, c, along, epsilon)
            if unlisted is not None:
                if not (count[CHANGED] or a.delta[m] > a.tau[m]):
                    m += 1
                    continue
                if k >= 0:
                    made = direction_search(k, m, a, c, epsilon)
        if made == NEEDS_ROW:
            count[PHASE], count[MACHINE] = phase, m
            return False
        count[CHANGED] |= made == STEPPED and (phase == REPROCESS or k >= 0)
        if phase == PROCESS:
            phase, count[ROUND] = REPROCESS, 0
            continue
        count[ROUND] += 1
        over = made != STEPPED or count[ROUND] >= rules.most
        if over or a.delta[m] < rules.delta_max * a.unit[m]:
            if unlisted is not None:
                measure(m, a, c)
            phase, m = PROCESS, m + 1
    return True


@linked
def end_example(a, c, fewer):
    """Repair gradients; update bias and gap if that or removed rows changed something."""
    keep_small()
    for m in range(a.positive.shape[0]):
        if mend_gradients(m, a, c) or fewer:
            measure(m, a, c)


@linked
def admit(q, fresh, a, c, along, epsilon, limits, near, seeds, unlisted, nu):
    """Steps 2 and 3: what is too old goes; the example joins, or is turned away. Whether it is new to S."""
    count, given = a.count, fresh.given
    changed, joins, part, mass = False, count[N] == 0, 1.0, 0.0
    if seeds is not None:
        joins = True
    if nu is not None:
        mass, changed, joins = nu * given[q, 2, 0], True, True
    if limits is not None:
        held = limits_of(limits)
        changed |= forget(a, c, along, held, epsilon, near, nu, False)
        if nu is not None:
            fade_mass(a, c, held)
        if changed:
            gradients_of(q, given, a, along)
        joins = held.labels[fresh.tags[q, 0]] < SEEDS
        if nu is not None:
            joins |= lacks_room(a, mass)
        part = share_of_bound(a, held, fresh.about[q, 1])
    count[SLOT], is_new = -1, False
    if unlisted is not None:
        joins |= a.beyond[0] == np.inf and fresh.about[q, 0] > 0.0
        joins |= _violates(q, given, a, along, epsilon)
    if joins:
        is_new, changed = insert(q, fresh, a, c, along, part, epsilon), True
        if limits is not None:
            count_in(a, c, limits_of(limits).labels, count[SLOT], near)
        elif nu is not None:
            load(count[SLOT], mass, a, along.row, epsilon)
    if nu is not None:
        count[SLOT] = -1
        if limits is not None:
            add_mass(a, c, limits_of(limits), mass)
    count[CHANGED], count[PHASE], count[MACHINE] = changed, PROCESS, 0
    return is_new


@jit(_nrt=False)
def online(
    X, X_low, values, tags, given, about, scores, gamma, other,
    state, cache, beside, rule, limits, near, seeds, unlisted, nu,
):  # fmt: skip
    """Learn examples, from where the last call stopped; returns how many are done.

    It stops early where there is no space for another row, where a row is so far from
    the centre that it needs a second part (``kernel.rbf``) and has none, or where a kernel row is needed
    (``count[NEED]``). Rows that are not dense, or whose kernel is not compiled, have no columns in X:
    kernel values are given, and the caller brings the rows in line with their slots. ``scores``, (n,
    machines), are decision values before each was learned, for the caller. ``state``, ``cache``,
    ``beside``, ``rule`` and ``limits`` are addresses of records (``Call``).
    """
    keep_small()
    a, c, along, rules = state_of(state), cache_of(cache), along_of(beside), rules_of(rule)
    count, epsilon, fresh = a.count, rules.epsilon, Fresh(values, tags, given, about)
    if count[OPEN] == 0:
        open_sides(a, epsilon)
    count[NEED], q = -1, count[POSITION]
    while q < tags.shape[0]:
        if count[PHASE] == INSERT:
            if not score(q, X, X_low, values, given, scores, gamma, other, a, along):
                break
            is_new = admit(q, fresh, a, c, along, epsilon, limits, near, seeds, unlisted, nu)
            if is_new and X.shape[1] > 0:
                keep_row(X, X_low, q, a, along, other)
            if seeds is not None:
                if is_new and take_seed(tags[q, 0], seeds, a):
                    count[MACHINE] = a.positive.shape[0]
        if not optimise(rules, a, c, along, seeds, unlisted):
            break
        count[CLOCK] += 1
        if limits is not None:
            if count[CHANGED]:
                n = count[N]
                forget(a, c, along, limits_of(limits), epsilon, near, nu, True)
                end_example(a, c, count[N] < n)
        if X.shape[1] > 0:
            count[STORED] = count[N]
        q, count[PHASE] = q + 1, INSERT
        count[POSITION] = q
    return q


@jit(_nrt=False)
def repeat_reprocess(m, epsilon, most, state, cache, beside, seeds):
    """Repeat REPROCESS until delta <= tau. 0: done, -1: a row is needed, 1: ``most`` are used up.

    Where PROCESS was the last to move, a REPROCESS that bails out would leave a delta above tau for
    ever, so b and delta are measured at the end.
    """
    a, c, along = state_of(state), cache_of(cache), along_of(beside)
    if a.count[OPEN] == 0:
        open_sides(a, epsilon)
    for _ in range(most):
        made = reprocess(m, a, c, along, epsilon, seeds)
        if made == NEEDS_ROW:
            return -1
        if made != STEPPED:
            top, bottom, g_max, g_min = extremes(a, c, m)
            if top >= 0 and bottom >= 0:
                a.bias[m], a.delta[m] = (g_max + g_min) / 2, g_max - g_min
            return 0
    return 1


# -- calls from Python ---------------------------------------------------------------------


class Call:
    """The arrays of a support set, its cache and its limits, ready for one call after another.

    Compiled functions get these records as addresses of tables (``kernel.emit.records``), which are
    made here, and nowhere else. ``dense``: rows come as dense rows, and the loop computes their kernel
    values and moves the rows of the store; else kernel values are given.
    """

    def __init__(
        self, support: Support, cache: KernelCache, kernel: Kernel, rules: Rules,
        seeds: np.ndarray, memory: Memory | None, n_labels: int, dense: bool,
    ):  # fmt: skip
        self.cache, self.memory, self.dense = cache, memory, dense
        self.blocks, self.rules = support.blocks, rules
        store, machines = support.store, support.machines
        self.stored = _NO_ROWS, _NO_ROWS, _NO_SQUARES
        self._kernel: tuple[Any, ...] = (np.float32(0.0), None)
        if dense:
            self.stored = store.dense, store.low, store.squares
            self._kernel = compiled_params(kernel, store.n_features)
        self.along = Along(
            *self.blocks[:4], *self.stored, NO_SLOTS, np.zeros(support.capacity, np.float32),
            np.empty(machines), np.zeros(machines, bool),
        )  # fmt: skip
        self.limits, near = None, None
        if memory is not None:
            self.limits = memory.limits(n_labels, kernel.is_distance)
            near = support.a.near if memory.policy == POLICIES[-1] else None
        self._seeds = seeds if rules.listed else None
        self._options = near, self._seeds, None if rules.listed else True, rules.nu or None
        self.tags, self.about = np.array([[0, -1]]), np.ones((1, 2))
        self._tables = [STATE.table(support.a), CACHE.table(cache), ALONG.table(self.along)]
        self._tables.append(RULES.table(rules))
        if self.limits is not None:
            self._tables.append(LIMITS.table(self.limits))
        self._bound = self._arguments(*(table.address for table in self._tables))

    def _arguments(
        self, state: Any, cache: Any, along: Any, rules: Any, limits: Any = None
    ) -> tuple[Any, ...]:
        return *self._kernel, state, cache, along, rules, limits, *self._options

    def fits(
        self, support: Support, cache: KernelCache | None, rules: Rules, memory: Memory | None,
        dense: bool,
    ) -> bool:  # fmt: skip
        """Whether these still are the arrays in use."""
        if self.blocks is not support.blocks or self.cache is not cache or self.dense != dense:
            return False
        if dense:
            store, (rows, low, _) = support.store, self.stored
            if store.dense is not rows or store.low is not low:
                return False
        if memory is not None:
            limits = self.limits
            assert limits is not None
            if memory.labels_held is not limits.labels or memory.masses is not limits.masses:
                return False
            if limits.window != (memory.window or 0):
                return False
        return rules == self.rules

    def learn(
        self, X: np.ndarray, low: np.ndarray, tags: np.ndarray, given: np.ndarray,
        about: np.ndarray, scores: np.ndarray,
    ) -> int:  # fmt: skip
        """Dense examples, from where the last call stopped; returns how many are done."""
        return online(X, low, _NO_VALUES, tags, given, about, scores, *self._bound)

    def learn_known(
        self, values: np.ndarray, tags: np.ndarray, given: np.ndarray, about: np.ndarray,
        scores: np.ndarray, slot_of: np.ndarray = NO_SLOTS,
    ) -> int:  # fmt: skip
        """Examples whose kernel values are known: with the support set, then among themselves."""
        self._along = ALONG.table(self.along._replace(slot_of=slot_of))
        state, cache, _, *rest = (table.address for table in self._tables)
        bound = self._arguments(state, cache, self._along.address, *rest)
        return online(_NO_ROWS, _NO_ROWS, values, tags, given, about, scores, *bound)

    def reprocess(self, m: int, most: int) -> int:
        """REPROCESS of machine m, ``most`` times at most; rows are the caller's to move."""
        state, cache, along = (table.address for table in self._tables[:3])
        return repeat_reprocess(m, self.rules.epsilon, most, state, cache, along, self._seeds)
