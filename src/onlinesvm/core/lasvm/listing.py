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
none; streams that are learned in blocks or small batches need it (``core/lasvm/block.py``).

Finishing repeats REPROCESS until delta <= tau; where PROCESS was the last to move, a REPROCESS
that bails out would leave a delta above tau for ever, so b and delta are measured at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernel.cache import KernelCache, add_slot, trim_rows
from ..kernel.never_inline import keep_small, never_inline
from ..numerics import inlined, inner, jit
from .steps import NEEDS_ROW, NO_PAIR, OPTIMAL, STEPPED, direction_search, leave
from .support import MACHINE, PHASE, POSITION, ROUND, SLOT, STORED, N, SupportArrays, extremes

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


@inlined
def reprocess(m, a, c, tau, slack, slot_of):
    """REPROCESS, steps 1 to 5: 1 a step was made, 0 no violating pair, -1 a row is needed."""
    made = direction_search(np.int64(-1), m, a, c, tau)
    if made == STEPPED:
        forget(m, a, c, slack, slot_of)
    return NO_PAIR if made == OPTIMAL else made


@inner(_nrt=False)
def forget(m, a, c, slack, slot_of):
    """Steps 4 and 5: rows at zero that lie beyond the margin by ``slack`` leave; b and delta."""
    keep_small()
    alpha, grad, member, positive = a.alpha[m], a.grad[m], a.member[m], a.positive[m]
    label, count, bias, delta = a.label, a.count, a.bias, a.delta
    i, j = extremes(m, a)
    if i < 0 or j < 0:
        return
    g_max, g_min = grad[i], grad[j]
    for s in range(count[N] - 1, -1, -1):
        if member[s] and alpha[s] == 0.0:
            plus = label[s] == positive
            if (grad[s] <= g_min - slack) if plus else (grad[s] >= g_max + slack):
                leave(s, m, a, c, slot_of)
    trim_rows(c, count[N])
    bias[m] = (g_max + g_min) / 2
    delta[m] = g_max - g_min


@inner(_nrt=False)
def insert(q, fresh, a, row):
    """Steps 1 and 2 of PROCESS: example q joins S for every machine that lacks it.

    Its gradient is eq. (9) over the machine's members. Returns whether it is a new row of S.
    """
    never_inline()
    alpha, grad, member, column, count = a.alpha, a.grad, a.member, a.column, a.count
    values, label, key, slot_of = fresh.values[q], fresh.label[q], fresh.key[q], fresh.slot_of
    joined, scores, positive, bias = fresh.joined, fresh.scores, a.positive, a.bias
    n = k = count[N]
    if slot_of.shape[0] > 0 and slot_of[key] >= 0:
        k = slot_of[key]
    for m in range(alpha.shape[0]):
        joined[m] = k == n or not member[m, k]
        if joined[m]:
            y = 1.0 if label == positive[m] else -1.0
            g = y
            for s in range(n):
                if member[m, s] and alpha[m, s] != 0.0:
                    g -= alpha[m, s] * values[column[s]]
            grad[m, k], alpha[m, k], member[m, k] = g, 0.0, True
            scores[q, m] = y - g + bias[m]
    count[SLOT] = k
    if k == n:
        for s in range(n):
            row[s] = values[column[s]]
        row[n] = fresh.diagonal[q]
        a.label[n], a.bound[n], a.diagonal[n] = label, fresh.bound[q], fresh.diagonal[q]
        a.key[n], a.handle[n] = key, count[STORED] + q
        column[n] = fresh.values.shape[1] - fresh.values.shape[0] + q
        count[N] = n + 1
        if slot_of.shape[0] > 0:
            slot_of[key] = n
    return k == n


@inner(_nrt=False)
def take_seed(label, seeds, a):
    """Whether S holds this label alone, so that no machine has a pair, and may have more of it."""
    keep_small()
    delta, labels, positive, bias, n = a.delta, a.label, a.positive, a.bias, a.count[N]
    alone = seeds[label] > 0
    for m in range(delta.shape[0]):
        alone &= not delta[m] < np.inf
    for s in range(n if alone else 0):
        alone &= labels[s] == label
    if alone:
        seeds[label] -= 1
        for m in range(delta.shape[0]):
            bias[m] = 1.0 if label == positive[m] else -1.0
    return alone


@inner(_nrt=False)
def start(k, m, a):
    """A machine without coefficients takes all rows of S as members once it has both signs."""
    keep_small()
    alpha, grad, member, label, n = a.alpha[m], a.grad[m], a.member[m], a.label, a.count[N]
    positive, bias = a.positive[m], a.bias
    plus, carries, both = label[k] == positive, False, False
    for s in range(n):
        carries |= alpha[s] != 0.0
        both |= (label[s] == positive) != plus
    if not carries:
        if not both:
            bias[m] = 1.0 if plus else -1.0
        for s in range(n if both else 0):
            member[s] = True
            grad[s] = 1.0 if label[s] == positive else -1.0


@inner(_nrt=False)
def is_outside(k, m, a):
    """Whether k has coefficient zero and lies on or beyond the margin."""
    keep_small()
    excess = a.grad[m, k] - a.bias[m]
    return a.alpha[m, k] == 0.0 and (excess if a.label[k] == a.positive[m] else -excess) <= 0.0


@jit(_nrt=False)
def online(delta_max, slack, most, tau, row, *parts):
    """Online iterations over a block, from where the last call stopped; true when all is done.

    REPROCESS is repeated until delta is below ``delta_max`` (section 3.5), ``most`` times at most.
    ``parts`` are the arrays of ``FreshBlock``, ``SupportArrays`` and ``KernelCache``, one by one: to
    find out the type of a record takes Numba longer than an example takes to learn.
    """
    keep_small()
    fresh, a, c = FreshBlock(*parts[:9]), SupportArrays(*parts[9:23]), KernelCache(*parts[23:])
    count, delta, joined, slot_of = a.count, a.delta, fresh.joined, fresh.slot_of
    label, seeds, machines = fresh.label, fresh.seeds, a.positive.shape[0]
    q, phase, m = count[POSITION], count[PHASE], count[MACHINE]
    while q < label.shape[0]:
        if phase == INSERT:
            phase, m = PROCESS, 0
            if insert(q, fresh, a, row):
                add_slot(c, row, count[N] - 1)
                m = machines if take_seed(label[q], seeds, a) else 0
        while m < machines:
            made, k = STEPPED, count[SLOT]
            if phase == REPROCESS:
                made = reprocess(m, a, c, tau, slack, slot_of)
            elif joined[m] and k >= 0:
                if not delta[m] < np.inf:
                    start(k, m, a)
                made = direction_search(k, m, a, c, tau)
                if made == NO_PAIR or (made != NEEDS_ROW and slack > 0.0 and is_outside(k, m, a)):
                    leave(k, m, a, c, slot_of)
            if made == NEEDS_ROW:
                count[POSITION], count[PHASE], count[MACHINE] = q, phase, m
                return False
            if phase == PROCESS:
                phase, count[ROUND] = REPROCESS, 0
                continue
            count[ROUND] += 1
            if made == NO_PAIR or delta[m] < delta_max or count[ROUND] >= most:
                phase, m = PROCESS, m + 1
        q, phase = q + 1, INSERT
    return True


@jit(_nrt=False)
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


def seeds_first(order: np.ndarray, label: np.ndarray) -> np.ndarray:
    """``order`` with a few examples of each class at its beginning (step 1 of the listing)."""
    by_label = np.argsort(label[order], kind="stable")
    count = np.bincount(label[order])
    rank = np.arange(len(order)) - np.repeat(np.cumsum(count) - count, count)
    seeds = np.sort(by_label[rank < SEEDS])
    return np.concatenate([order[seeds], np.delete(order, seeds)])
