"""Leave-one-out values of SimpleSVM, from its factor (simplesvm-2003, section 5).

Adding a variable is reversible: ``expel`` takes one out of the working set and drives its
coefficient to zero, the others keeping their gradients at zero on the way; sweeps over the
remaining variables then restore optimality, the value of the example left out is read off, and
the solution is put back. Nothing is learned from scratch. An example without a coefficient has its
leave-one-out value already: the solution without it is the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import simplesvm as core
from .numerics import inner, jit
from .simplesvm import DONE, FULL, FULL_HOUSE, ZERO, Local, M, Work
from .simplesvm_machine import LowRankSource, Machine

GONE = -3
"""Place of a variable that is left out."""


@inner
def _partner(i, at, w):
    """The variable of i's equality row that can take over what i gives up, nearest the margin."""
    best, where = np.inf, -1
    for j in range(at.alpha.shape[0]):
        if at.group[j] != at.group[i] or at.upper[j] <= 0.0:
            continue
        able = at.place[j] == (ZERO if at.sign[j] == at.sign[i] else FULL)
        if able:
            g = core.gradient(j, at, w) + at.sign[j] * w.beta[at.group[j]]
            if abs(g) < best:
                best, where = abs(g), j
    return where


@inner
def expel(i, at, w):
    """Variable i's coefficient goes to zero. Returns whether others could take its place."""
    if at.place[i] >= 0:
        core.remove(at.place[i], at, w)
    at.place[i] = GONE
    fresh = True
    while at.alpha[i] > 0.0:
        if core._alone(i, at, w):
            j = _partner(i, at, w)
            if j < 0:
                return False
            if core.add(j, core.gradient(j, at, w) + at.sign[j] * w.beta[at.group[j]], at, w):
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
def _copy(source, target, n):
    for i in range(n):
        target[i] = source[i]


@inner
def _put_back(at, w, at_0, w_0):
    """The state as it was."""
    n, m = at.alpha.shape[0], w_0.count[M]
    _copy(at_0.alpha, at.alpha, n)
    _copy(at_0.moved, at.moved, n)
    for i in range(n):
        at.place[i] = at_0.place[i]
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
    _copy(w_0.beta, w.beta, w.beta.shape[0])
    _copy(w_0.fall, w.fall, w.fall.shape[0])
    w.count[M] = m


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
                outcome = core._in_turn(at, w, order, 2**62)
                if outcome == FULL_HOUSE:
                    return FULL_HOUSE
                if outcome == DONE:
                    break
        out[e, 0] = core.gradient(i, at, w) if able else np.nan
        out[e, 1] = w.beta[at.group[i]]
        _put_back(at, w, at_0, w_0)
    return DONE


def everything(machine: Machine, room: int) -> tuple[Local, Work]:
    """All variables of a machine as the compiled loops see them, and its factor with room."""
    p, n = machine.problem, len(machine.problem)
    source: Any = machine.source
    low_rank = isinstance(source, LowRankSource)
    empty = np.empty((0, 0))
    if low_rank:
        Q, Z = empty, np.ascontiguousarray(source.Z[p.row] * p.sign[:, None])
        base, moved = p.linear.copy(), machine.alpha.copy()
    else:
        Q, Z = source.block(p.row), np.empty((n, 0))
        Q *= np.outer(p.sign, p.sign)
        Q[np.diag_indices(n)] += p.ridge
        base, moved = machine.gradient(), np.zeros(n)
    machine._reserve(min(room, n))
    w = machine.w
    w.member[: len(machine.held)] = machine.held
    if low_rank:
        w.fall[:] = machine.alpha @ Z
    at = Local(
        Q, Z, base, moved, p.ridge, p.upper, p.entry, p.group, machine.tolerances(),
        machine.alpha.copy(), machine.place(),
    )  # fmt: skip
    core.work(at, w, machine.gap(), np.empty(0, np.int64), core.IN_TURN, 1, 0)
    return at, w


def _twin(record: Any) -> Any:
    return type(record)(*(array.copy() for array in record))


def values(machine: Machine, room: int) -> np.ndarray:
    """Decision value of every example by the machine that has not seen it; NaN: there is none.

    For machines whose bias is their multiplier (all but those of nu).
    """
    machine = machine.copy()
    p, n = machine.problem, len(machine.source)
    at, w = everything(machine, room)
    held = np.zeros(len(p), bool)
    held[w.member[: w.count[M]]] = True
    involved = np.flatnonzero((at.alpha > 0) | held)
    out = machine.score + w.beta[0]
    examples = np.unique(p.row[involved])
    second = examples + n if len(p) > n else np.full(len(examples), -1)
    found = np.empty((len(examples), 2))
    at_0, w_0 = _twin(at), _twin(w)
    outcome = leave_each(at, w, at_0, w_0, examples, second, np.arange(len(p)), found)
    machine._check(outcome)
    out[examples] = p.sign[examples] * (found[:, 0] - p.linear[examples]) + found[:, 1]
    return out
