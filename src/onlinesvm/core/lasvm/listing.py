"""LASVM one example at a time: PROCESS, REPROCESS and their alternation (lasvm-2005, 3.2).

    max_alpha  sum_i alpha_i y_i - 1/2 sum_ij alpha_i alpha_j K_ij
    subject to sum_i alpha_i = 0,  A_i <= alpha_i <= B_i                       (eq. 4, 5)

Given: a block of fresh examples whose kernel values against the support set and among
themselves are computed already (``values``). The loops never evaluate a kernel: when they need
a row of the support set that is not kept, they stop and say which (``count[NEED]``), and go on
from the same place when called again.

Symbols: a support set, c kernel cache, m machine, k the slot of the fresh example, tau tolerance.

Notes
-----
The listing puts k into S before it tests for a violation, and a REPROCESS that bails out at its
step 2 neither evicts nor changes b and delta; so it is here. While S holds one class only, no
example has a partner: the first few are kept as seeds, the others are not, where the listing
would collect them for ever; the bias of such a machine is the sign of that class. A machine
starts with the first example of its other sign, and takes all rows of S as members then.

``slack`` > 0 keeps rows at zero that lie beyond the margin by less than that. The listing has
none; streams that are learned in blocks or small batches need it (``core/lasvm_block.py``).

Finishing repeats REPROCESS until delta <= tau; where PROCESS was the last to move, a REPROCESS
that bails out would leave a delta above tau for ever, so b and delta are measured at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernel.cache import extend_rows, keep_row, trim_rows
from ..numerics import inner, jit
from .steps import direction_search, kept, release
from .support import MACHINE, PHASE, POSITION, ROUND, SLOT, STORED, N, extremes, lower, sign, upper

SEEDS = 5
"""Examples of a class that are kept while no other class has been seen."""

MOST_REPROCESS = 100_000
"""Maximum number of REPROCESS after one PROCESS with ``delta_max``; reached only where rounding
stalls them."""

INSERT, PROCESS, REPROCESS = range(3)


class FreshBlock(NamedTuple):
    """Examples in the order in which they come, with their kernel values."""

    values: np.ndarray  # (block, stored + block) float32: against the support set, then the block
    label: np.ndarray
    bound: np.ndarray
    diagonal: np.ndarray
    key: np.ndarray
    seeds: np.ndarray  # (labels,) how many more seeds each label may give
    joined: np.ndarray  # (machines,) whether the example at hand is new to the machine
    slot_of: np.ndarray  # key -> slot, -1 outside the support set; empty on a stream
    scores: np.ndarray  # (block, machines) decision values before each was learned, for the caller
    delta_max: float = np.inf  # REPROCESS is repeated until delta is below (section 3.5)
    slack: float = 0.0  # rows at zero are evicted when farther than this beyond the margin
    most: int = MOST_REPROCESS  # REPROCESS steps after one PROCESS, at most


@inner
def process(k, m, a, c, tau):
    """PROCESS(k), steps 3 to 5: 1 done, 0 no row of S could be k's partner, -1 a row is needed."""
    top, bottom = extremes(m, a)
    i, j = (k, bottom) if sign(k, m, a) > 0 else (top, k)
    if i < 0 or j < 0:
        return 0
    if a.grad[m, i] - a.grad[m, j] <= tau:
        return 1
    if a.alpha[m, i] >= upper(i, m, a) or a.alpha[m, j] <= lower(j, m, a):
        return 1
    if not kept(i, j, a, c):
        return -1
    direction_search(i, j, m, a, c)
    return 1


@inner
def _wanted(s, a):
    for m in range(a.member.shape[0]):
        if a.member[m, s]:
            return True
    return False


@inner
def evict(m, a, c, g_max, g_min, slack, slot_of):
    """Step 4 of REPROCESS: forget rows at zero that lie beyond the margin by ``slack``."""
    for s in range(a.count[N] - 1, -1, -1):
        if not a.member[m, s] or a.alpha[m, s] != 0.0:
            continue
        g = a.grad[m, s]
        if (g >= g_max + slack) if sign(s, m, a) < 0 else (g <= g_min - slack):
            a.member[m, s] = False
            if not _wanted(s, a):
                release(s, a, c, slot_of)
    trim_rows(c, a.count[N])


@inner
def reprocess(m, a, c, tau, slack, slot_of):
    """REPROCESS, steps 1 to 5: 1 a step was made, 0 no violating pair, -1 a row is needed."""
    i, j = extremes(m, a)
    if i < 0 or j < 0 or a.grad[m, i] - a.grad[m, j] <= tau:
        return 0
    if not kept(i, j, a, c):
        return -1
    direction_search(i, j, m, a, c)
    i, j = extremes(m, a)
    if i < 0 or j < 0:
        return 1
    g_max, g_min = a.grad[m, i], a.grad[m, j]
    evict(m, a, c, g_max, g_min, slack, slot_of)
    a.bias[m] = (g_max + g_min) / 2
    a.delta[m] = g_max - g_min
    return 1


@inner
def _fresh_gradient(values, m, a, y):
    """g_k of eq. (9) over machine m's members."""
    total = y
    for s in range(a.count[N]):
        if a.member[m, s] and a.alpha[m, s] != 0.0:
            total -= a.alpha[m, s] * values[a.column[s]]
    return total


@inner
def insert(q, fresh, a, c, row):
    """Steps 1 and 2 of PROCESS: example q joins S for every machine that lacks it."""
    known = fresh.slot_of.shape[0] > 0 and fresh.slot_of[fresh.key[q]] >= 0
    n = a.count[N]
    k = fresh.slot_of[fresh.key[q]] if known else n
    for m in range(a.alpha.shape[0]):
        fresh.joined[m] = not (known and a.member[m, k])
        if not fresh.joined[m]:
            continue
        y = 1.0 if fresh.label[q] == a.positive[m] else -1.0
        a.grad[m, k] = _fresh_gradient(fresh.values[q], m, a, y)
        fresh.scores[q, m] = y - a.grad[m, k] + a.bias[m]
        a.alpha[m, k] = 0.0
    a.count[SLOT] = k
    if known:
        return True
    for s in range(n):
        row[s] = fresh.values[q, a.column[s]]
    row[n] = fresh.diagonal[q]
    a.label[k], a.bound[k], a.diagonal[k] = fresh.label[q], fresh.bound[q], fresh.diagonal[q]
    a.key[k] = fresh.key[q]
    a.handle[k] = a.count[STORED] + q
    a.column[k] = fresh.values.shape[1] - fresh.values.shape[0] + q
    a.count[N] = n + 1
    if fresh.slot_of.shape[0] > 0:
        fresh.slot_of[fresh.key[q]] = k
    extend_rows(c, row, n)
    keep_row(c, k, row, n + 1, np.int64(-1))
    return False


@inner
def _is_alone(label, a):
    """Whether S holds no row of another label, so that no machine has a pair."""
    for m in range(a.delta.shape[0]):
        if a.delta[m] < np.inf:
            return False
    for s in range(a.count[N]):
        if a.label[s] != label:
            return False
    return True


@inner
def _is_outside(k, m, a):
    """Whether k has coefficient zero and lies on or beyond the margin."""
    return a.alpha[m, k] == 0.0 and sign(k, m, a) * (a.grad[m, k] - a.bias[m]) <= 0.0


@inner
def _start(k, m, a):
    """A machine without coefficients takes all rows of S as members once it has both signs."""
    if a.delta[m] < np.inf:
        return
    y, found = sign(k, m, a), False
    for s in range(a.count[N]):
        if a.alpha[m, s] != 0.0:
            return
        found = found or sign(s, m, a) != y
    if not found:
        a.bias[m] = y
        return
    for s in range(a.count[N]):
        a.member[m, s] = True
        a.grad[m, s] = sign(s, m, a)


@jit
def online(fresh, a, c, tau, row):
    """Online iterations over a block, from where the last call stopped; true when all is done."""
    machines = a.alpha.shape[0]
    while a.count[POSITION] < fresh.label.shape[0]:
        q = a.count[POSITION]
        if a.count[PHASE] == INSERT:
            known = insert(q, fresh, a, c, row)
            k = a.count[SLOT]
            for m in range(machines):
                a.member[m, k] = True
            a.count[PHASE], a.count[MACHINE] = PROCESS, 0
            seeds = fresh.seeds[fresh.label[q]]
            if not known and seeds > 0 and _is_alone(fresh.label[q], a):
                fresh.seeds[fresh.label[q]] = seeds - 1
                for m in range(machines):
                    a.bias[m] = sign(k, m, a)
                a.count[MACHINE] = machines
        while a.count[MACHINE] < machines:
            m = a.count[MACHINE]
            k = a.count[SLOT]
            if a.count[PHASE] == PROCESS:
                if fresh.joined[m] and k >= 0:
                    _start(k, m, a)
                    made = process(k, m, a, c, tau)
                    if made < 0:
                        return False
                    if made == 0 or (fresh.slack > 0.0 and _is_outside(k, m, a)):
                        a.member[m, k] = False
                        if not _wanted(k, a):
                            release(k, a, c, fresh.slot_of)
                a.count[PHASE] = REPROCESS
            while a.count[ROUND] < fresh.most:
                made = reprocess(m, a, c, tau, fresh.slack, fresh.slot_of)
                if made < 0:
                    return False
                a.count[ROUND] += 1
                if made == 0 or a.delta[m] < fresh.delta_max:
                    break
            a.count[ROUND] = 0
            a.count[MACHINE] += 1
            a.count[PHASE] = PROCESS
        a.count[POSITION] += 1
        a.count[PHASE] = INSERT
    return True


@jit
def finish(m, a, c, tau, slack, max_steps, slot_of):
    """Repeat REPROCESS until delta <= tau. 0: done, -1: a row is needed, 1: steps are used up."""
    for _ in range(max_steps):
        made = reprocess(m, a, c, tau, slack, slot_of)
        if made == 0:
            i, j = extremes(m, a)
            if i >= 0 and j >= 0:
                a.bias[m] = (a.grad[m, i] + a.grad[m, j]) / 2
                a.delta[m] = a.grad[m, i] - a.grad[m, j]
        if made < 1:
            return made
    return 1
