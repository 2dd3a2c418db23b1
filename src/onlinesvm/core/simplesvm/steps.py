"""SimpleSVM: an active-set method for the quadratic programs of all support vector machines.

    min_a  a'Ha / 2 + c'a     subject to   0 <= a_i <= C_i,   A a = b

Every variable is in one of three sets: S_0 (a = 0), S_C (a = C), and the working set S_work,
whose gradient g_i = [Ha + c]_i + [A' beta]_i is zero (simplesvm-2003, section 2.1). ``add``
brings a violator of the optimality conditions in: the working set is solved for together with
it, the solution is approached until a variable meets its bound, that variable is dropped, and so
on until the violator's own gradient is zero or it has reached its bound. ``work`` does that for
the violators among the variables at hand, after ``solve_exactly`` has solved the working set from
whatever its coefficients are.

Given ``Local``, the variables at hand with the kernel values of their examples (``K``, where
H_ij = s_i s_j K_ij + ridge) or a factor of them (``Z``), and ``Work``, the working set with its
factor. Both are changed in place.

Symbols: i the violator, t the length of a step, sigma its direction (+1 from zero, -1 from C),
rho^2 the violator's pivot, kappa the curvature along the step, g its gradient.

Notes
-----
- Each variable is in one equality row, with a_i = +-1: so are all six problems (nu-classification
  has one row for each class, which is the same as its two).
- The paper inserts the violator first and may drop it at once. Here it joins the factor only when
  it stays: on its way the others keep their gradient at zero, so the path is the same, and most
  variables that end in S_C cost two triangular solves and no update.
- H_ww may be singular though the bordered system is not (a linear kernel with one more support
  vector than dimensions). Factored is therefore H_ww + tau A_w'A_w, which has the same solution,
  for A_w does not change along a step. A violator that makes even that singular (a duplicate)
  has no curvature to stop it: it goes on to a bound, and whoever meets it leaves.
"""

from __future__ import annotations

import math

import numpy as np

from ..kernel.never_inline import never_inline
from ..numerics import REORDERED_MATH, inner, jit
from . import lowrank
from .factor import backward, dot, forward, join, leave, solve_border
from .state import (
    ADDED,
    BASE,
    DONE,
    ENROLL,
    ENTRY,
    FALL,
    FULL,
    GROUP,
    GROW,
    IN_TURN,
    MORE,
    MOST,
    NO_CAPACITY,
    PLACE,
    RIDGE,
    ROUNDING,
    ROW,
    SIGN,
    SINGULAR,
    SLOPE,
    STEP,
    TOL,
    UNBOUNDED,
    UPPER,
    ZERO,
    M,
)  # fmt: skip

COARSE = 0.1
"""Violations that are smaller than this share of the largest wait."""

ALL_ROUNDING = 1e-15
"""A pivot below this share of the diagonal has no true digit."""

NEXT_TO_NOTHING = -1e-300
"""The gradient of a variable that is to join where it stands."""


@inner
def multiplier(i, at, w):
    """The equality rows' part of the gradient, [A'beta]_i."""
    q = at.code[GROUP, i]
    return at.given[ENTRY, i] * w.border[q, w.border.shape[0] + 1]


@inner(fastmath=REORDERED_MATH)
def gradient(i, at, w):
    """[Ha + c]_i, without the equality rows' part."""
    never_inline()
    r, s = at.code[ROW, i], at.given[SIGN, i]
    if at.K.shape[0] > 0:
        total = dot(at.K[r], at.moved, at.moved.shape[0])
    else:
        total = dot(at.Z[r], w.low[FALL], at.Z.shape[1])
    total *= s
    if at.given[RIDGE, i] > 0.0:  # then the example has no other variable
        total += at.given[RIDGE, i] * s * at.moved[r]
    return at.given[BASE, i] + total


@inner(fastmath=REORDERED_MATH)
def _entry(i, j, at):
    """H_ij without the ridge."""
    p, q = at.code[ROW, i], at.code[ROW, j]
    value = at.K[p, q] if at.K.shape[0] > 0 else dot(at.Z[p], at.Z[q], at.Z.shape[1])
    return at.given[SIGN, i] * at.given[SIGN, j] * value


@inner
def _diagonal(i, at, w):
    return _entry(i, i, at) + at.given[RIDGE, i] + w.border[0, w.border.shape[0] + 2]


@inner
def _change(i, amount, at, w):
    """Coefficient i moves by ``amount``."""
    at.alpha[i] += amount
    r, signed = at.code[ROW, i], at.given[SIGN, i] * amount
    at.moved[r] += signed
    for c in range(at.Z.shape[1]):
        w.low[FALL, c] += signed * at.Z[r, c]


@inner
def _fix(i, at, w):
    """Put a coefficient that has met its bound exactly there."""
    to_full = at.given[UPPER, i] - at.alpha[i] < at.alpha[i]
    _change(i, (at.given[UPPER, i] if to_full else 0.0) - at.alpha[i], at, w)
    at.alpha[i] = at.given[UPPER, i] if to_full else 0.0
    at.code[PLACE, i] = FULL if to_full else ZERO


@inner
def _column(i, at, w):
    """V[last] := U^-T times the violator's column."""
    never_inline()
    m, u = w.counts[M], w.V[w.V.shape[0] - 1]
    for p in range(m):
        j = w.member[p]
        u[p] = _entry(i, j, at)
        if at.code[GROUP, i] == at.code[GROUP, j]:
            u[p] += w.border[0, w.border.shape[0] + 2] * at.given[ENTRY, i] * at.given[ENTRY, j]
    forward(w.U, m, u)


@inner(fastmath=REORDERED_MATH)
def _direction(i, at, w):
    """How the working set answers to a unit of the violator: ``STEP`` and the multipliers.

    Returns kappa, and rho^2 as a share of the diagonal.
    """
    never_inline()
    if w.R.shape[0] > 0:
        return lowrank.direction(i, at, w), 1.0
    m, d = w.counts[M], w.border.shape[0]
    u = w.V[d]
    for q in range(d):
        entry = at.given[ENTRY, i] if q == at.code[GROUP, i] else 0.0
        w.border[q, d] = entry - dot(w.V[q], u, m)
    solve_border(w.V, m, w.border)
    for p in range(m):
        w.line[STEP, p] = -u[p]
    for q in range(d):
        for p in range(m):
            w.line[STEP, p] -= w.V[q, p] * w.border[q, d]
    own = _diagonal(i, at, w)
    pivot = own - dot(u, u, m)
    kappa = own + dot(u, w.line[STEP], m) + at.given[ENTRY, i] * w.border[at.code[GROUP, i], d]
    backward(w.U, m, w.line[STEP])
    return max(kappa, pivot), pivot / own  # equality rows do not make a step flatter


@inner
def _flat(i, at):
    """The share of the diagonal up to which a pivot counts as zero; a ridge is never zero."""
    return ALL_ROUNDING if at.given[RIDGE, i] > 0.0 else SINGULAR


@inner
def _first_bound(at, w, sigma):
    """Longest step before a member of the working set meets a bound, and its position."""
    never_inline()
    best, where, steepest = np.inf, -1, 0.0
    for p in range(w.counts[M]):
        j, rate = w.member[p], sigma * w.line[STEP, p]
        if rate == 0.0:
            continue
        length = at.given[UPPER, j] - at.alpha[j] if rate > 0.0 else at.alpha[j]
        t = max(length, 0.0) / abs(rate)
        # Of those that meet their bounds together the fastest leaves: the best pivot.
        if t < best or (t == best and abs(rate) > steepest):
            best, where, steepest = t, p, abs(rate)
    return best, where


@inner
def _alone(i, at, w):
    """Whether no member of the working set shares the violator's equality row."""
    for p in range(w.counts[M]):
        if at.code[GROUP, w.member[p]] == at.code[GROUP, i]:
            return False
    return True


@inner
def drop(p, at, w):
    """The variable at position p of the working set goes to the bound that it has met."""
    never_inline()
    _fix(w.member[p], at, w)
    remove(p, at, w)


@inner
def remove(p, at, w):
    """Take position p out of the factor."""
    never_inline()
    m = w.counts[M]
    w.counts[M] = m - 1
    if w.R.shape[0] > 0:
        lowrank.leave(w.member[p], at, w)
    else:
        leave(w.U, w.V, m, p)
    i = w.member[p]
    for q in range(p, m - 1):
        w.member[q] = w.member[q + 1]
        at.code[PLACE, w.member[q]] = q
    if w.R.shape[0] == 0 and _alone(i, at, w):  # its border row is empty: not nearly, exactly
        for q in range(m):
            w.V[at.code[GROUP, i], q] = 0.0


@inner
def enter(i, at, w):
    """The violator, its gradient zero now, joins the working set. False: there is no room."""
    never_inline()
    m = w.counts[M]
    if m >= w.member.shape[0]:
        return False
    if w.R.shape[0] > 0:
        lowrank.join(i, at, w)
    else:
        u = w.V[w.V.shape[0] - 1]
        own = _diagonal(i, at, w)
        pivot = math.sqrt(max(own - dot(u, u, m), _flat(i, at) * own))
        join(w.U, w.V, m, pivot, at.code[GROUP, i], at.given[ENTRY, i])
    w.member[m] = i
    at.code[PLACE, i] = m
    w.counts[M] = m + 1
    return True


@inner
def _walk(i, at, w, sigma, t):
    never_inline()
    d = w.border.shape[0]
    _change(i, sigma * t, at, w)
    for p in range(w.counts[M]):
        _change(w.member[p], sigma * t * w.line[STEP, p], at, w)
    for q in range(d):
        w.border[q, d + 1] += sigma * t * w.border[q, d]


@inner
def add(i, g, at, w):
    """Section 2.1, step 1, for violator i with gradient g. Returns DONE or what went wrong."""
    never_inline()
    sigma = 1.0 if g < 0.0 else -1.0
    w.counts[ADDED] += 1
    if w.R.shape[0] == 0:
        _column(i, at, w)
    while True:
        if _alone(i, at, w):  # it cannot move, but it can say what the multiplier is
            w.border[at.code[GROUP, i], w.border.shape[0] + 1] -= at.given[ENTRY, i] * g
            return DONE if enter(i, at, w) else NO_CAPACITY
        kappa, share = _direction(i, at, w)
        inside = math.inf if share <= _flat(i, at) else abs(g) / kappa
        reach = at.given[UPPER, i] - at.alpha[i] if sigma > 0.0 else at.alpha[i]
        t, p = _first_bound(at, w, sigma)
        t = min(t, inside, reach)
        if math.isinf(t):
            return UNBOUNDED
        _walk(i, at, w, sigma, t)
        g += sigma * t * kappa
        if t == inside:
            return DONE if enter(i, at, w) else NO_CAPACITY
        if t == reach:
            _fix(i, at, w)
            return DONE
        drop(p, at, w)


@inner
def violation(i, g, at):
    """By how much variable i violates section 2.3's conditions; zero if it does not."""
    if at.code[PLACE, i] == ZERO and at.given[UPPER, i] > 0.0:
        return max(-g, 0.0)
    if at.code[PLACE, i] == FULL:
        return max(g, 0.0)
    return 0.0


@inner
def _worst(order, at, w):
    """The variable whose violation exceeds its tolerance most, and its gradient; -1 if none."""
    never_inline()
    best, where, slope = 1.0, -1, 0.0
    for i in order:
        if at.code[PLACE, i] < 0:
            g = gradient(i, at, w) + multiplier(i, at, w)
            excess = violation(i, g, at) / at.given[TOL, i]
            if excess > best:
                best, where, slope = excess, i, g
    return where, slope


@inner(fastmath=REORDERED_MATH)
def _target(gap, w):
    """``STEP`` := the move that solves the working set, ``border``: its multipliers.

    From ``SLOPE``, the members' gradients without the equality rows' part.
    """
    never_inline()
    m, d = w.counts[M], w.border.shape[0]
    for p in range(m):
        w.line[STEP, p] = -w.line[SLOPE, p]
    forward(w.U, m, w.line[STEP])
    for q in range(d):
        w.border[q, d] = dot(w.V[q], w.line[STEP], m) - gap[q]
    solve_border(w.V, m, w.border)
    for q in range(d):
        for p in range(m):
            w.line[STEP, p] -= w.V[q, p] * w.border[q, d]
    backward(w.U, m, w.line[STEP])


@inner
def _is_solved(gap, at, w):
    """Fill ``SLOPE``; whether only rounding is left of the gradients and of b - Aa."""
    never_inline()
    worst, size, largest, missing = 0.0, 0.0, 0.0, 0.0
    for p in range(w.counts[M]):
        i = w.member[p]
        plain, part = gradient(i, at, w), multiplier(i, at, w)
        w.line[SLOPE, p] = plain
        worst = max(worst, abs(plain + part))
        size = max(size, abs(plain))
        largest = max(largest, at.alpha[i])
    for q in range(gap.shape[0]):
        missing = max(missing, abs(gap[q]))
    return worst <= ROUNDING * size and missing <= ROUNDING * largest


@inner
def _approach(t, at, w):
    """Walk a part t of the way to the target; the slopes follow, being linear on the way."""
    never_inline()
    d = w.border.shape[0]
    for p in range(w.counts[M]):
        i = w.member[p]
        _change(i, t * w.line[STEP, p], at, w)
        part = at.given[ENTRY, i] * w.border[at.code[GROUP, i], d]
        w.line[SLOPE, p] -= t * (w.line[SLOPE, p] + part)


@inner
def solve_exactly(at, w, gap):
    """Solve the working set from any feasible coefficients: walk, drop, until it is optimal.

    ``gap`` is b - Aa, which rounding may have left; the first full step closes it. What is solved
    already is left alone: a step that is all rounding would drop variables that rest at a bound.
    """
    never_inline()
    d = w.border.shape[0]
    if _is_solved(gap, at, w):
        return
    while w.counts[M] > 0:
        if w.R.shape[0] > 0:
            lowrank.target(gap, at, w)
        else:
            _target(gap, w)
        t, p = _first_bound(at, w, 1.0)
        t = min(t, 1.0)
        _approach(t, at, w)
        if t == 1.0:
            for q in range(d):
                if w.border[q, q] != 1.0 or w.border[q, d] != 0.0:
                    w.border[q, d + 1] = w.border[q, d] + w.border[0, d + 2] * gap[q]
            return
        for q in range(d):
            gap[q] *= 1.0 - t
        for q in range(p, w.counts[M] - 1):
            w.line[SLOPE, q] = w.line[SLOPE, q + 1]
        drop(p, at, w)


@inner
def in_turn(at, w, order, floor, limit):
    """Add the violators among ``order`` as they come, at most ``limit`` of them.

    Violations below ``floor`` wait. Returns the outcome, DONE if there was no violator at all,
    and the largest violation met.
    """
    never_inline()
    last, worst, outcome = w.counts[ADDED] + limit, 0.0, DONE
    for i in order:
        if at.code[PLACE, i] < 0:
            g = gradient(i, at, w) + multiplier(i, at, w)
            size = violation(i, g, at)
            if size <= at.given[TOL, i]:
                continue
            worst, outcome = max(worst, size), MORE
            if size > floor:
                if w.counts[M] == w.member.shape[0] and w.counts[M] < w.counts[MOST]:
                    return GROW, worst
                result = add(i, g, at, w)
                if result != DONE:
                    return result, worst
                if w.counts[ADDED] >= last:
                    return MORE, worst
    return outcome, worst


@jit
def work(at, w, gap, order, mode, floor, passes, limit):
    """Solve the working set, then change it: the engine's one way in.

    ``IN_TURN``      add violators among ``order`` until there is none, for so many passes; each
                     leaves violations alone that are below ``floor``, which follows the largest
    ``WORST_FIRST``  add the worst violator among ``order``, so many times or until there is none
    ``ENROLL``       the variables ``order``, wherever their coefficients are, join the working
                     set; one that it cannot hold beside the others (a duplicate) is moved to a
                     bound along the direction in which nothing changes

    After ``limit`` violators it returns, with MORE.
    """
    if mode == ENROLL:
        for i in order:
            outcome = add(i, NEXT_TO_NOTHING, at, w)
            if outcome != DONE:
                return outcome
        return DONE
    solve_exactly(at, w, gap)
    last = w.counts[ADDED] + limit
    for _ in range(passes):
        if mode == IN_TURN:
            outcome, worst = in_turn(at, w, order, floor, last - w.counts[ADDED])
            floor = min(floor, COARSE * worst)
        else:
            i, g = _worst(order, at, w)
            outcome = DONE if i < 0 else add(i, g, at, w)
            if i >= 0 and outcome == DONE:
                outcome = MORE
        if outcome != MORE or w.counts[ADDED] >= last:
            return outcome
    return MORE
