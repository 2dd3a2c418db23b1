"""The Huller: the nearest points of two convex hulls, one example at a time (huller-2005).

    min |X_P - X_N|^2     X_P = sum_P alpha_i x_i,  X_N = sum_N alpha_j x_j,               (2)
                          alpha >= 0,  each class's alphas sum to 1                         (1)

Given: a block of fresh examples whose kernel values against the stored rows and among
themselves are computed already (``Block.values``). The loops see one machine and never evaluate
a kernel: when they need a row of values that is not kept, they stop and say which
(``state[NEED]``), and go on from the same place when called again.

Symbols: h the two hulls of one machine; c its kernel cache; p = X_P x and n = X_N x for the
example x at hand; lam the lambda of eq. (6); beta = y alpha, signed.

Notes
-----
Slack: with quadratic slack x_k has an axis of its own, of length sqrt(ridge_k), ridge_k = 1/C.
It counts in x_k x_k and, once x_k is a support vector, in X_P x_k, by alpha_k ridge_k.

Start: the first ``SEEDS`` examples of each class are averaged. That is UPDATE with lambda = 1/c
for the c-th of them. Until both classes have been seen, further examples are left alone.

Eq. (6): with alpha_k = 1 there is no lower bound, but then X_P = x_k and the denominator of eq.
(4) is zero: no step is made. The text names the third scalar X_P X_P; it means X_N X_N.

Fig. 4 picks p with alpha_p = 0: an example that is a support vector already is not inserted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernel.cache import add_slot, drop_row, move_slot, touch, trim_rows
from ..runtime.numerics import REORDERED_SUMS, inlined, jit

SEEDS = 5
"""Examples of each class that are averaged at the start."""

TOUCHING = 1e-6
"""|X_P - X_N|^2 / (X_P^2 + X_N^2) below which single precision cannot tell the hulls apart."""

FLAT = 1e-9
"""Smallest (X_P - x_k)^2, relative, that eq. (4) divides by."""

# Places in Hulls.scalar: X_P X_P, X_N X_P, X_N X_N; the worst |1 - y f| a sweep has met.
PP, NP, NN, WORST = range(4)
# Places in Hulls.state. SEEDED_N and SEEDED_P count the examples averaged at the start.
N, SEEDED_N, SEEDED_P, POSITION, PHASE, NEED, STEPS, INSERTED, STUCK = range(9)
INSERT, REMOVE = range(2)


class Hulls(NamedTuple):
    """X_P and X_N of one machine. Arrays are longer than the ``state[N]`` in use."""

    beta: np.ndarray  # y alpha
    handle: np.ndarray  # column of the row's values in Block.values
    key: np.ndarray  # the row's number in the data set, or -1
    ridge: np.ndarray  # 1 / C of the row; 0: hard margin
    scalar: np.ndarray
    state: np.ndarray


class Block(NamedTuple):
    """Examples in the order in which they come, with their kernel values."""

    values: np.ndarray  # (block, stored + block) float32: against the stored rows, then the block
    handle: np.ndarray  # column of each example
    key: np.ndarray
    ridge: np.ndarray
    diagonal: np.ndarray  # K(x, x)
    y: np.ndarray  # +-1 for the machine at hand
    pick: np.ndarray  # uniform numbers in [0, 1), for the random support vectors


@inlined
def _leave(s, last, h, c):
    """Support vector s leaves its slot to the last one."""
    if s != last:
        move_slot(c, last, s, last)
        h.beta[s], h.handle[s] = h.beta[last], h.handle[last]
        h.key[s], h.ridge[s] = h.key[last], h.ridge[last]
    else:
        drop_row(c, s)
    trim_rows(c, last)


@inlined
def _join(q, k, beta, h, c, b, row):
    """Fresh example q becomes support vector k."""
    for s in range(k):
        row[s] = b.values[q, h.handle[s]]
    row[k] = b.diagonal[q]
    h.beta[k], h.handle[k], h.key[k], h.ridge[k] = beta, b.handle[q], b.key[q], b.ridge[q]
    add_slot(c, row, k)


@jit(fastmath=REORDERED_SUMS)
def online(h, c, b, tol, row, sweeping):
    """Fig. 4 over a block, from where the last call stopped; true when all is done.

    For each example two turns: UPDATE of the example itself, then of a random support vector.
    ``sweeping``: instead UPDATE every support vector once, from slot ``state[POSITION]`` down.
    """
    beta, scalar, state, width = h.beta, h.scalar, h.state, c.pool.shape[1]
    while state[STUCK] == 0:
        q, n = state[POSITION], state[N]
        if q < 0 or (q >= b.y.shape[0] and not sweeping):
            break
        fresh = not sweeping and state[PHASE] == INSERT
        ready = state[SEEDED_P] > 0 and state[SEEDED_N] > 0
        s, total, size = n, 0.0, 0.0
        if fresh:
            state[PHASE] = REMOVE
            known = False
            for r in range(n if b.key[q] >= 0 else 0):
                known |= h.key[r] == b.key[q]
            if known:
                continue
            y, alpha, square = b.y[q], 0.0, b.diagonal[q] + b.ridge[q]
            for r in range(n):
                value = b.values[q, h.handle[r]]
                total += beta[r] * value
                size += abs(beta[r]) * value
        else:
            if sweeping:
                s = q
            elif ready:
                s = int(b.pick[q] * n)
            if s < n and c.pages[s] == 0:
                state[NEED] = s
                return False
            state[PHASE] = INSERT
            state[POSITION] += -1 if sweeping else 1
            if s >= n:
                continue
            touch(c, s)
            y, alpha = (1.0 if beta[s] > 0 else -1.0), abs(beta[s])
            square = c.pool[c.table[s, s // width], s % width] + h.ridge[s]
            total, size = beta[s] * h.ridge[s], alpha * h.ridge[s]
            for page in range((n + width - 1) // width):
                place, first = c.table[s, page], page * width
                for r in range(min(width, n - first)):
                    total += beta[first + r] * c.pool[place, r]
                    size += abs(beta[first + r]) * c.pool[place, r]
        # Along the own hull's point and the other's: X_P x and X_N x, or the other way round.
        along, across = (size + y * total) / 2, (size - y * total) / 2
        own, other = (PP, NN) if y > 0 else (NN, PP)
        own_sq, other_sq, mixed = scalar[own], scalar[other], scalar[NP]
        # Numerator of eqs. (4) and (5): |X_P - X_N|^2 (1 - y f(x)) / 2.
        violation, distance = own_sq - mixed - along + across, own_sq - 2.0 * mixed + other_sq
        if not fresh:
            scalar[WORST] = max(scalar[WORST], 2.0 * abs(violation) / distance)
        seeded = SEEDED_P if y > 0 else SEEDED_N
        if fresh and state[seeded] < SEEDS:
            lam = 1.0 / (state[seeded] + 1)
            state[seeded] += 1
        elif fresh and (not ready or 2.0 * violation <= tol * distance):
            continue
        else:  # eq. (6), with lambda_u of eq. (4) or (5)
            length, lam = own_sq + square - 2.0 * along, 0.0
            if length > FLAT * (own_sq + square):
                lam = min(1.0, violation / length)
                if alpha < 1.0:
                    lam = max(-alpha / (1.0 - alpha), lam)
        if lam == 0.0 or (fresh and lam < 0.0):
            continue
        # alpha <- (1 - lambda) alpha in the class, eqs. (7) and (8), unless the hulls would touch.
        rest = 1.0 - lam
        mixed = rest * mixed + lam * across
        own_sq = rest * rest * own_sq + 2.0 * lam * rest * along + lam * lam * square
        if (
            state[SEEDED_P] > 0
            and state[SEEDED_N] > 0
            and own_sq - 2.0 * mixed + other_sq <= TOUCHING * (own_sq + other_sq)
        ):
            state[STUCK] = 1
            break
        scalar[NP], scalar[own] = mixed, own_sq
        state[STEPS] += 1
        for r in range(n):
            if beta[r] * y > 0:
                beta[r] *= rest
        leaves = not fresh and lam < 1.0 and alpha < 1.0 and lam <= -alpha / (1.0 - alpha)
        if not fresh:
            beta[s] = y if lam >= 1.0 else (0.0 if leaves else beta[s] + y * lam)
        if lam >= 1.0 or leaves:  # lambda = 1 leaves x_k alone in its class
            for r in range(n - 1, -1, -1):
                if beta[r] == 0.0:
                    n -= 1
                    _leave(r, n, h, c)
        if fresh:
            _join(q, n, y * lam, h, c, b, row)
            n += 1
            state[INSERTED] += 1
        state[N] = n
    return True
