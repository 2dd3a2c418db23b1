"""Leave-one-out values of SimpleSVM, from its factor (simplesvm-2003, section 5).

Adding a variable is reversible: ``expel`` takes one out of the working set and drives its
coefficient to zero, the others keeping their gradients at zero on the way; sweeps over the
remaining variables then restore optimality, the value of the example left out is read off, and
the solution is put back. Nothing is learned from scratch. An example without a coefficient has its
leave-one-out value already: the solution without it is the same.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..kernel.never_inline import never_inline
from ..numerics import inner, jit
from . import steps as core
from .machine import NO_LIMIT, Machine
from .state import (
    DONE,
    EDGE,
    ENTRY,
    FALL,
    FULL,
    GROUP,
    IN_TURN,
    NO_CAPACITY,
    PLACE,
    UPPER,
    ZERO,
    M,
)  # fmt: skip

GONE = -3
"""Place of a variable that is left out."""


@inner
def _partner(i, at, w):
    """The variable of i's equality row that can take over what i gives up, nearest the margin."""
    never_inline()
    best, where = np.inf, -1
    for j in range(at.alpha.shape[0]):
        if at.code[GROUP, j] != at.code[GROUP, i] or at.given[UPPER, j] <= 0.0:
            continue
        able = at.code[PLACE, j] == (ZERO if at.given[ENTRY, j] == at.given[ENTRY, i] else FULL)
        if able:
            g = core.gradient(j, at, w) + core.multiplier(j, at, w)
            if abs(g) < best:
                best, where = abs(g), j
    return where


@inner
def expel(i, at, w):
    """Variable i's coefficient goes to zero. Returns whether others could take its place."""
    never_inline()
    if at.code[PLACE, i] >= 0:
        core.remove(at.code[PLACE, i], at, w)
    at.code[PLACE, i] = GONE
    fresh = True
    while at.alpha[i] > 0.0:
        if core._alone(i, at, w):
            j = _partner(i, at, w)
            if j < 0:
                return False
            if core.add(j, core.gradient(j, at, w) + core.multiplier(j, at, w), at, w):
                return False
            fresh = True
        if fresh and w.R.shape[0] == 0:
            core._column(i, at, w)
            fresh = False
        core._direction(i, at, w)
        t, p = core._first_bound(at, w, -1.0)
        if t >= at.alpha[i]:
            core._walk(i, at, w, -1.0, at.alpha[i])
            at.alpha[i] = 0.0
        else:
            core._walk(i, at, w, -1.0, t)
            core.drop(p, at, w)
    return True


@inner
def free_multiplier(q, at, w):
    """The multiplier of equality row q; the middle of what is allowed if nothing fixes it.

    As ``Solution.multipliers``, which sees all variables from Python.
    """
    never_inline()
    low, high = -math.inf, math.inf
    for i in range(at.alpha.shape[0]):
        if at.code[GROUP, i] != q or at.code[PLACE, i] < FULL:  # of another row, or left out
            continue
        upper = at.given[UPPER, i]
        rest = EDGE * (upper if math.isfinite(upper) else at.alpha.max())
        rises, falls = at.alpha[i] < upper - rest, at.alpha[i] > rest
        if rises and falls and at.code[PLACE, i] >= 0:
            return w.border[q, w.border.shape[0] + 1]
        if at.given[ENTRY, i] < 0.0:
            rises, falls = falls, rises
        value = -at.given[ENTRY, i] * core.gradient(i, at, w)
        if rises:
            low = max(low, value)
        if falls:
            high = min(high, value)
    if math.isinf(low) or math.isinf(high):
        return low if math.isinf(high) and not math.isinf(low) else high
    return (low + high) / 2.0


@inner
def _copy(source, target, n):
    for i in range(n):
        target[i] = source[i]


@inner
def _put_back(at, w, at_0, w_0):
    """The state as it was."""
    never_inline()
    n, m = at.alpha.shape[0], w_0.counts[M]
    _copy(at_0.alpha, at.alpha, n)
    _copy(at_0.moved, at.moved, at.moved.shape[0])
    for i in range(n):
        at.code[PLACE, i] = at_0.code[PLACE, i]
    for p in range(m):
        w.member[p] = w_0.member[p]
    if w.R.shape[0] > 0:
        for c in range(w.R.shape[0]):
            _copy(w_0.R[c], w.R[c], w.R.shape[0])
    else:
        for q in range(w.V.shape[0]):
            _copy(w_0.V[q], w.V[q], m)
        for p in range(m):
            _copy(w_0.U[p], w.U[p], m)
    d = w.border.shape[0]
    for q in range(d):
        w.border[q, d + 1] = w_0.border[q, d + 1]
    _copy(w_0.low[FALL], w.low[FALL], w.low.shape[1])
    w.counts[M] = m


@jit
def leave_each(at, w, at_0, w_0, first, second, order, out):
    """Gradients [Ha + c] and multipliers at the variables ``first``, each left out in turn.

    ``second[e]`` is the other variable of the same example, or -1. ``out`` is (examples, 2); its
    rows are NaN where nobody can take the example's place.
    """
    for e in range(first.shape[0]):
        i, k = first[e], second[e]
        able = expel(i, at, w)
        if able and k >= 0:
            able = expel(k, at, w)
        if able:
            for _ in range(1000):
                outcome, _ = core.in_turn(at, w, order, 0.0, NO_LIMIT)
                if outcome == NO_CAPACITY:
                    return NO_CAPACITY
                if outcome == DONE:
                    break
        out[e, 0] = core.gradient(i, at, w) if able else np.nan
        out[e, 1] = free_multiplier(at.code[GROUP, i], at, w) if able else np.nan
        _put_back(at, w, at_0, w_0)
    return DONE


def _twin(record: Any) -> Any:
    return type(record)(*(array.copy() for array in record))


def values(machine: Machine, capacity: int) -> np.ndarray:
    """Decision value of every example by the machine that has not seen it; NaN: there is none.

    For machines whose bias is their multiplier (all but those of nu).
    """
    machine = machine.copy()
    p, n = machine.problem, len(machine.source)
    machine._reserve(min(capacity, len(p)))
    at, w = machine.everything(), machine.w
    core.work(at, w, machine.gap(), np.empty(0, np.int64), IN_TURN, 0.0, 1, 0)
    held = np.zeros(len(p), bool)
    held[w.member[: w.counts[M]]] = True
    involved = np.flatnonzero((at.alpha > 0) | held)
    out = machine.score + machine.multipliers()[0]
    examples = np.unique(p.row[involved])
    second = examples + n if len(p) > n else np.full(len(examples), -1)
    found = np.empty((len(examples), 2))
    at_0, w_0 = _twin(at), _twin(w)
    size = machine.allowance(int(w.counts[M]))
    for first in range(0, len(examples), size):  # in pieces, so that Ctrl-C is heard
        part = slice(first, first + size)
        outcome = leave_each(
            at, w, at_0, w_0, examples[part], second[part], np.arange(len(p)), found[part]
        )
        machine._check(outcome)
    out[examples] = p.sign[examples] * (found[:, 0] - p.linear[examples]) + found[:, 1]
    return out
