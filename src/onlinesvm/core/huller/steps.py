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

from ..kernel.cache import drop_row, extend_rows, keep_row, move_slot, touch, trim_rows
from ..numerics import REORDERED_MATH, inner, jit

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
    """Examples examples in the order in which they come, with their kernel values."""

    values: np.ndarray  # (block, stored + block) float32: against the stored rows, then the block
    handle: np.ndarray  # column of each example
    key: np.ndarray
    ridge: np.ndarray
    diagonal: np.ndarray  # K(x, x)
    y: np.ndarray  # +-1 for the machine at hand
    pick: np.ndarray  # uniform numbers in [0, 1), for the random support vectors


@inner
def distance(h):
    """|X_P - X_N|^2."""
    return h.scalar[PP] - 2.0 * h.scalar[NP] + h.scalar[NN]


@inner
def has_both(h):
    """Whether both hulls have a point."""
    return h.state[SEEDED_P] > 0 and h.state[SEEDED_N] > 0


@inner(fastmath=REORDERED_MATH)
def _project_fresh(values, h):
    """X_P x and X_N x of a fresh example, from its kernel values."""
    total, size = 0.0, 0.0
    for s in range(h.state[N]):
        b, v = h.beta[s], values[h.handle[s]]
        total += b * v
        size += abs(b) * v
    return (size + total) / 2, (size - total) / 2


@inner(fastmath=REORDERED_MATH)
def _page_sums(beta, first, page, n):
    total, size = 0.0, 0.0
    for r in range(n):
        b, v = beta[first + r], page[r]
        total += b * v
        size += abs(b) * v
    return total, size


@inner
def _project_kept(s, h, c):
    """X_P x and X_N x of support vector s, from its kept row; its own axis included."""
    n, width = h.state[N], c.pool.shape[1]
    total, size = h.beta[s] * h.ridge[s], abs(h.beta[s]) * h.ridge[s]
    for page in range((n + width - 1) // width):
        first = page * width
        t, z = _page_sums(h.beta, first, c.pool[c.table[s, page]], min(width, n - first))
        total += t
        size += z
    return (size + total) / 2, (size - total) / 2


@inner
def violation(h, y, p, n):
    """Numerator of eqs. (4) and (5). It is |X_P - X_N|^2 (1 - y f(x)) / 2."""
    if y > 0:
        return h.scalar[PP] - h.scalar[NP] - p + n
    return h.scalar[NN] - h.scalar[NP] - n + p


@inner
def best_step(h, y, p, n, square, alpha):
    """lambda of eq. (6), with lambda_u of eq. (4) or (5)."""
    own = h.scalar[PP] if y > 0 else h.scalar[NN]
    length = own + square - 2.0 * (p if y > 0 else n)
    if length <= FLAT * (own + square):
        return 0.0
    lam = violation(h, y, p, n) / length
    lowest = -alpha / (1.0 - alpha) if alpha < 1.0 else -np.inf
    return min(1.0, max(lowest, lam))


@inner
def move(h, y, p, n, square, lam):
    """alpha <- (1 - lambda) alpha in the class, eqs. (7) and (8); false where the hulls touch."""
    rest = 1.0 - lam
    mixed = rest * h.scalar[NP] + lam * (n if y > 0 else p)
    along = p if y > 0 else n
    own = h.scalar[PP] if y > 0 else h.scalar[NN]
    other = h.scalar[NN] if y > 0 else h.scalar[PP]
    own = rest * rest * own + 2.0 * lam * rest * along + lam * lam * square
    if has_both(h) and own - 2.0 * mixed + other <= TOUCHING * (own + other):
        h.state[STUCK] = 1
        return False
    h.scalar[NP] = mixed
    h.scalar[PP if y > 0 else NN] = own
    for s in range(h.state[N]):
        if h.beta[s] * y > 0:
            h.beta[s] *= rest
    h.state[STEPS] += 1
    return True


@inner
def release(s, h, c):
    """Support vector s leaves; the last takes its slot."""
    last = h.state[N] - 1
    if s != last:
        move_slot(c, last, s, last)
        h.beta[s], h.handle[s] = h.beta[last], h.handle[last]
        h.key[s], h.ridge[s] = h.key[last], h.ridge[last]
    else:
        drop_row(c, s)
    h.state[N] = last
    trim_rows(c, last)


@inner
def _release_zeros(h, c):
    """lambda = 1 leaves x_k alone in its class."""
    for s in range(h.state[N] - 1, -1, -1):
        if h.beta[s] == 0.0:
            release(s, h, c)


@inner
def _known(key, h):
    if key >= 0:
        for s in range(h.state[N]):
            if h.key[s] == key:
                return True
    return False


@inner
def insert(q, h, c, b, tol, row):
    """UPDATE(p) of Fig. 4 for fresh example q: it may become a support vector."""
    if _known(b.key[q], h):
        return
    y = b.y[q]
    seeded = SEEDED_P if y > 0 else SEEDED_N
    p, n = _project_fresh(b.values[q], h)
    square = b.diagonal[q] + b.ridge[q]
    if h.state[seeded] < SEEDS:
        lam = 1.0 / (h.state[seeded] + 1)
        h.state[seeded] += 1
    elif not has_both(h) or 2.0 * violation(h, y, p, n) <= tol * distance(h):
        return
    else:
        lam = best_step(h, y, p, n, square, 0.0)
    if lam <= 0.0 or not move(h, y, p, n, square, lam):
        return
    if lam >= 1.0:
        _release_zeros(h, c)
    k = h.state[N]
    for s in range(k):
        row[s] = b.values[q, h.handle[s]]
    row[k] = b.diagonal[q]
    h.beta[k], h.handle[k], h.key[k], h.ridge[k] = y * lam, b.handle[q], b.key[q], b.ridge[q]
    h.state[N] = k + 1
    h.state[INSERTED] += 1
    extend_rows(c, row, k)
    keep_row(c, k, row, k + 1, np.int64(-1))


@inner
def _diagonal(s, c):
    """K(s, s), from the kept row."""
    width = c.pool.shape[1]
    return c.pool[c.table[s, s // width], s % width]


@inner
def update(s, h, c):
    """UPDATE(r) of Fig. 4 for support vector s; false where its row is needed first."""
    if c.pages[s] == 0:
        h.state[NEED] = s
        return False
    touch(c, s)
    y, alpha = (1.0 if h.beta[s] > 0 else -1.0), abs(h.beta[s])
    p, n = _project_kept(s, h, c)
    h.scalar[WORST] = max(h.scalar[WORST], 2.0 * abs(violation(h, y, p, n)) / distance(h))
    square = _diagonal(s, c) + h.ridge[s]
    lam = best_step(h, y, p, n, square, alpha)
    if lam == 0.0 or not move(h, y, p, n, square, lam):
        return True
    if lam >= 1.0:
        h.beta[s] = y
        _release_zeros(h, c)
    elif alpha < 1.0 and lam <= -alpha / (1.0 - alpha):
        release(s, h, c)
    else:
        h.beta[s] += y * lam
    return True


@jit
def online(h, c, b, tol, row):
    """Fig. 4 over a block, from where the last call stopped; true when all is done."""
    while h.state[POSITION] < b.y.shape[0] and h.state[STUCK] == 0:
        q = h.state[POSITION]
        if h.state[PHASE] == INSERT:
            insert(q, h, c, b, tol, row)
            h.state[PHASE] = REMOVE
        if has_both(h) and h.state[STUCK] == 0:
            s = int(b.pick[q] * h.state[N])
            if not update(s, h, c):
                return False
        h.state[PHASE] = INSERT
        h.state[POSITION] += 1
    return True


@jit
def sweep(h, c):
    """UPDATE every support vector once, from slot ``state[POSITION]`` down."""
    while h.state[POSITION] >= 0 and h.state[STUCK] == 0:
        s = h.state[POSITION]
        if s < h.state[N]:
            if not update(s, h, c):
                return False
        h.state[POSITION] -= 1
    return True
