"""SimpleSVM: an active-set method for the quadratic programs of all support vector machines.

    min_a  a'Ha / 2 + c'a     subject to   0 <= a_i <= C_i,   A a = b

Every variable is in one of three sets: S_0 (a = 0), S_C (a = C), and the working set S_work,
whose gradient g_i = [Ha + c]_i + [A' beta]_i is zero (simplesvm-2003, section 2.1). ``visit``
finds violators of the optimality conditions and brings them in, one after the other: the working
set is solved for together with the violator, the solution is approached until a variable meets its
bound, that variable is dropped, and so on until the violator's own gradient is zero or it has
reached its bound. Without a violator the same steps solve the working set, whatever its
coefficients are.

Given ``Local``, the variables at hand, the kernel values of their examples (``K``, where
H_ij = s_i s_j K_ij + ridge) or a factor of them (``Z``), and ``Work``, the working set with its
factor (or ``R``, see ``lowrank``). All are changed in place.

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
  has no curvature to stop it: it moves to a bound, and a member that reaches its own bound first is dropped.
- A branch on ``X is not None`` is left out of the compiled code where X is None: what a factor
  ``Z`` or ``R`` needs is compiled when one is first used.
"""

from __future__ import annotations

import math

import numpy as np

from ..runtime.numerics import REORDERED_SUMS, inner, jit, never_inline
from . import lowrank
from .factor import answer, dot, forward, join, leave
from .state import (
    ADDED,
    ALPHA,
    BASE,
    DONE,
    ENROLL,
    ENTRY,
    EXPEL,
    FALL,
    FULL,
    GONE,
    GROUP,
    GROW,
    IN_TURN,
    MORE,
    MOST,
    MOVED,
    NEXT,
    NO_CAPACITY,
    NO_PARTNER,
    PLACE,
    RIDGE,
    ROW,
    SIGN,
    SINGULAR,
    SLOPE,
    SOLVE,
    STEP,
    TOL,
    UNBOUNDED,
    UPPER,
    WORST_FIRST,
    ZERO,
    M,
)  # fmt: skip

NOBODY = -1
"""In place of a violator: the working set itself is solved."""

STAYS, REACHES = -1, -2
"""How a violator's way ends, if no member ends it: its gradient is zero, or it is at a bound."""

ALL_ROUNDING = 1e-15
"""A pivot below this share of the diagonal has no true digit."""


@inner(fastmath=REORDERED_SUMS)
def _next(order, mode, floor, K, Z, low, at, w):
    """The next violator among ``order``, from position ``NEXT`` on; or the worst (WORST_FIRST).

    Returns it or NOBODY, its gradient g_i = [Ha + c + A'beta]_i, and the largest violation met.
    """
    never_inline()
    found, slope, share, largest = NOBODY, 0.0, 1.0, 0.0
    for p in range(w.counts[NEXT], order.shape[0]):
        i = order[p]
        place, tol, r = at.code[PLACE, i], at.given[TOL, i], at.code[ROW, i]
        if place >= 0:
            continue
        # With a ridge the example has no other variable.
        total = at.given[RIDGE, i] * at.given[MOVED, r]
        if K is not None:
            for c in range(K.shape[1]):
                total += K[r, c] * at.given[MOVED, c]
        if Z is not None:
            for c in range(Z.shape[1]):
                total += Z[r, c] * low[FALL, c]
        part = at.given[ENTRY, i] * w.border[at.code[GROUP, i], w.border.shape[0] + 1]
        g = at.given[BASE, i] + at.given[SIGN, i] * total + part
        size = 0.0  # by how much it violates section 2.3's conditions
        if place == ZERO and at.given[UPPER, i] > 0.0:
            size = -g
        elif place == FULL:
            size = g
        if size > tol:
            largest = max(largest, size)
        if mode >= ENROLL or (size > floor and size > share * tol):
            found, slope, share = i, g, size / tol
            if mode != WORST_FIRST:
                w.counts[NEXT] = p + 1
                return found, slope, largest
    return found, slope, largest


@inner
def _column(i, K, Z, at, w):
    """V[d] := U^-T times the violator's column of M; returns M_ii. NOBODY: of the gradients."""
    never_inline()
    m, d, own = w.counts[M], w.border.shape[0], 1.0
    for p in range(m + 1):
        if i == NOBODY:
            if p < m:
                w.V[d, p] = w.V[d + SLOPE, p]
            continue
        j = w.member[p] if p < m else i
        r, q = at.code[ROW, i], at.code[ROW, j]
        value = 0.0
        if K is not None:
            value = K[r, q]
        if Z is not None:
            value = dot(Z, r, Z, q, Z.shape[1])
        value *= at.given[SIGN, i] * at.given[SIGN, j]
        if at.code[GROUP, i] == at.code[GROUP, j]:
            value += w.border[0, d + 2] * at.given[ENTRY, i] * at.given[ENTRY, j]
        if p < m:
            w.V[d, p] = value
        else:
            own = value + at.given[RIDGE, i]
    forward(w.U, m, w.V, d)
    return own


@inner
def _alone(i, at, w):
    """Whether no member of the working set shares the violator's equality row."""
    never_inline()
    for p in range(w.counts[M]):
        if at.code[GROUP, w.member[p]] == at.code[GROUP, i]:
            return False
    return True


@inner
def _change(i, amount, Z, low, at):
    """Coefficient i moves by ``amount``."""
    never_inline()
    r, signed = at.code[ROW, i], at.given[SIGN, i] * amount
    at.given[ALPHA, i] += amount
    at.given[MOVED, r] += signed
    if Z is not None:
        for c in range(Z.shape[1]):
            low[FALL, c] += signed * Z[r, c]


@inner
def _length(i, g, kappa, sigma, mode, at, w):
    """How far to go, and who ends the step: a member's position, or ``STAYS`` or ``REACHES``."""
    never_inline()
    best, where, steepest = np.inf, -1, 0.0
    step = w.border.shape[0] + STEP
    for p in range(w.counts[M]):
        j, rate = w.member[p], sigma * w.V[step, p]
        if rate != 0.0:
            length = at.given[ALPHA, j]
            if rate > 0.0:
                length = at.given[UPPER, j] - length
            rate = abs(rate)
            t = max(length, 0.0) / rate
            # Of those that reach their bounds together the fastest leaves: the best pivot.
            if t < best or (t == best and rate > steepest):
                best, where, steepest = t, p, rate
    inside = 1.0
    if i != NOBODY:
        reach = at.given[ALPHA, i]
        if sigma > 0.0:
            reach = at.given[UPPER, i] - reach
        if reach <= best:
            best, where = reach, REACHES
        inside = np.inf
        if mode != EXPEL and kappa > 0.0:
            inside = abs(g) / kappa if mode != ENROLL else 0.0
    if inside <= best:
        best, where = inside, STAYS
    return best, where


@inner
def _walk(i, amount, Z, low, at, w):
    """Step ``amount``: coefficients, multipliers, what is left of the gradients and of b - Aa."""
    never_inline()
    m, d = w.counts[M], w.border.shape[0]
    for p in range(m):
        _change(w.member[p], amount * w.V[d + STEP, p], Z, low, at)
    if i != NOBODY:
        _change(i, amount, Z, low, at)
    for q in range(d):
        y = w.border[q, d]
        if i == NOBODY:
            y += w.border[0, d + 2] * w.border[q, d + 3] if y != 0.0 else 0.0
            w.border[q, d + 3] *= 1.0 - amount
        w.border[q, d + 1] += amount * y
    if i == NOBODY:
        for p in range(m):
            w.V[d, p] *= 1.0 - amount
            w.V[d + SLOPE, p] *= 1.0 - amount


@inner
def _stop(i, p, Z, low, R, at, w):
    """Variable i has met a bound: put it exactly there. If it is the member p, it leaves."""
    never_inline()
    alpha, upper = at.given[ALPHA, i], at.given[UPPER, i]
    to_full = upper - alpha < alpha
    bound = upper if to_full else 0.0
    _change(i, bound - alpha, Z, low, at)
    at.given[ALPHA, i] = bound
    at.code[PLACE, i] = FULL if to_full else ZERO
    if p < 0:
        return
    m, d = w.counts[M], w.border.shape[0]
    w.counts[M] = m - 1
    if R is None:
        leave(w.U, w.V, m, p)
    else:
        lowrank.leave(i, Z, low, R, at, w)
    for q in range(p, m - 1):
        w.member[q] = w.member[q + 1]
        at.code[PLACE, w.member[q]] = q
        if R is not None:
            w.V[d + SLOPE, q] = w.V[d + SLOPE, q + 1]
    if R is None and _alone(i, at, w):  # its border row is empty: not nearly, exactly
        for q in range(m):
            w.V[at.code[GROUP, i], q] = 0.0


@inner
def _direction(i, own, at, w):
    """Fill ``STEP``: how the working set answers to a unit of the violator, or is solved.

    Returns kappa, zero where only rounding is left of the violator's pivot.
    """
    d = w.border.shape[0]
    for q in range(d):
        w.border[q, d] = -w.border[q, d + 3] if i == NOBODY else 0.0
    if i != NOBODY:
        w.border[at.code[GROUP, i], d] = at.given[ENTRY, i]
    bend, square = answer(w.U, w.V, w.counts[M], w.border)
    if i == NOBODY:
        return 1.0
    flat = ALL_ROUNDING if at.given[RIDGE, i] > 0.0 else SINGULAR
    if own - square <= flat * own:
        return 0.0
    part = at.given[ENTRY, i] * w.border[at.code[GROUP, i], d]
    return max(bend + own + part, own - square)  # equality rows do not make a step flatter


@inner
def _enter(i, own, Z, low, R, at, w):
    """The violator, its gradient zero now, joins the working set, if there is capacity."""
    never_inline()
    m, d = w.counts[M], w.border.shape[0]
    if m >= w.member.shape[0]:
        return False
    if R is None:
        square = 0.0
        for r in range(m):
            square += w.V[d, r] * w.V[d, r]
        flat = ALL_ROUNDING if at.given[RIDGE, i] > 0.0 else SINGULAR
        # The diagonal of a kernel that is not positive definite may outweigh even tau.
        least = flat * own if own > 0.0 else w.border[0, d + 2]
        pivot = math.sqrt(max(own - square, least))
        join(w.U, w.V, d, m, pivot, at.code[GROUP, i], at.given[ENTRY, i])
    else:
        lowrank.join(i, Z, low, R, at)
    w.member[m] = i
    at.code[PLACE, i] = m
    w.counts[M] = m + 1
    return True


@jit
def visit(K, Z, low, R, at, w, order, mode, floor, limit):
    """Change the working set by the variables ``order``: the engine's one way in.

    ``IN_TURN``      add violators as they come; those that violate by at most ``floor`` wait
    ``WORST_FIRST``  add the worst violator, again and again
    ``SOLVE``        solve the working set; ``SLOPE`` has its gradients, ``border`` has b - Aa
    ``ENROLL``       the variables, wherever their coefficients are, join the working set; one that
                     it cannot hold beside the others (a duplicate) is moved to a bound along the
                     direction in which nothing changes
    ``EXPEL``        the coefficient of a variable that is in no set is driven to zero

    Adds at most ``limit`` violators. Returns the outcome (DONE if there was no violator at all) and
    the largest violation met.
    """
    last, largest, outcome, d = w.counts[ADDED] + limit, 0.0, DONE, w.border.shape[0]
    w.counts[NEXT] = 0
    while True:
        i, g = NOBODY, -1.0
        if mode != SOLVE:
            i, g, size = _next(order, mode, floor, K, Z, low, at, w)
            largest = max(largest, size)
            if i == NOBODY:
                return (MORE if size > 0.0 else outcome), largest
        if mode == IN_TURN and w.counts[M] == w.member.shape[0] and w.counts[M] < w.counts[MOST]:
            return GROW, largest
        # Section 2.1, step 1, for violator i with gradient g; or the working set is solved.
        sigma, own = (1.0 if g < 0.0 and mode != EXPEL else -1.0), 1.0
        if R is None:
            own = _column(i, K, Z, at, w)
        while True:
            if i != NOBODY and _alone(i, at, w):
                if mode == EXPEL:
                    return NO_PARTNER, largest
                # Alone in its equality row: its gradient sets the multiplier.
                w.border[at.code[GROUP, i], d + 1] -= at.given[ENTRY, i] * g
                who = STAYS
                break
            if R is None:
                kappa = _direction(i, own, at, w)
            else:
                kappa = lowrank.direction(i, Z, low, R, at, w)
            t, who = _length(i, g, kappa, sigma, mode, at, w)
            if math.isinf(t):
                return UNBOUNDED, largest
            _walk(i, sigma * t, Z, low, at, w)
            g += sigma * t * kappa
            if who == STAYS:
                break
            _stop(i if who == REACHES else w.member[who], who, Z, low, R, at, w)
            if who == REACHES:
                break
        if mode == SOLVE:
            return DONE, largest
        if who == STAYS and not _enter(i, own, Z, low, R, at, w):
            return NO_CAPACITY, largest
        if mode == EXPEL:
            at.code[PLACE, i] = GONE
        elif mode == IN_TURN:
            outcome = MORE
        w.counts[ADDED] += 1
        if mode <= WORST_FIRST and w.counts[ADDED] >= last:
            return MORE, largest
