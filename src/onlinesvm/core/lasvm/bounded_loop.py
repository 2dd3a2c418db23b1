"""LASVM with a bounded memory, one example at a time: the compiled loop.

    max_a  sum_i p_i a_i - 1/2 sum_ij a_i a_j K_ij - epsilon sum_i |a_i|
    with   sum_i a_i = s,   lo_i <= a_i <= hi_i                                       (``tasks``)

over the rows that are held. For each example in turn:

    1. the example is scored by the present model: out of sample, for nobody has learned it yet;
    2. rows that have left the window are pushed out;
    3. the bounds of two rows, in turn, shrink to what their age and the budget leave of them;
    4. if it violates the optimality conditions it joins (PROCESS), then up to ``most``
       REPROCESS steps follow (lasvm-2005, section 3.1);
    5. rows at zero beyond the margin leave; above the budget, one row is pushed out;
    6. gradients that rounding errors might spoil are computed anew.

Kernel values among the rows held are all kept, in one square array. So the result depends on the
examples and their order alone: not on a cache, on threads, or on how a stream is cut.

Most functions are called, not copied into their callers: copies would take longer to compile than
most streams take to learn. ``near`` is None unless rows are joined, ``other`` is None for the RBF
kernel: what is not used is not compiled.

See ``bounded_steps`` for the symbols, ``bounded_policy`` for which rows leave.
"""

from __future__ import annotations

import numpy as np

from ..kernel.never_inline import keep_small, never_inline
from ..kernel.rbf import far_row
from ..kernel.tiles import squared_norm
from ..numerics import inlined, inner, jit
from .bounded_mass import add_mass, fade_mass, lacks_room
from .bounded_policy import forget
from .bounded_rounding import mend_gradients
from .bounded_steps import (
    ALPHA,
    BIAS,
    BORN,
    BOUND,
    CLOCK,
    EVALUATIONS,
    GAP,
    GRAD,
    HANDLE,
    HIGH,
    KEY,
    LABEL,
    LENGTH,
    LINEAR,
    LOW,
    MOST,
    SEEDS,
    STORED,
    TAU,
    WINDOW,
    N,
    nearest,
    open_sides,
    optimise,
    place,
    share_of_bound,
)  # fmt: skip
from .dense_row import EIGHT, kernel_row_of


@inner
def gradients_of(row, F, n, given, q, g):
    """g = p - sum_s alpha_s k(x, x_s) of an example with these kernel values."""
    never_inline()
    for m in range(F.shape[1]):
        g[m] = given[q, 0, m]
        for s in range(n):
            g[m] -= F[ALPHA, m, s] * row[s]


@inner
def end_example(F, sides, K, M, n, fewer, epsilon):
    """Gradients are mended; where that or rows that left changed something, bias and gap follow."""
    keep_small()
    for m in range(F.shape[1]):
        if mend_gradients(F, K, M, m, n) or fewer:
            optimise(F, sides, K, M, m, np.int64(-1), n, np.int64(0), epsilon)


@inlined
def _violates(g, given, q, M, epsilon):
    """Whether some machine finds that the example violates the optimality conditions."""
    found = False
    for m in range(g.shape[0]):
        residual = g[m] - M[BIAS, m]
        found |= given[q, 2, m] > 0.0 and residual - epsilon > 0.0
        found |= given[q, 1, m] < 0.0 and -residual - epsilon > 0.0
    return found


@inner
def insert(
    row, diagonal, g, given, tags, q, F, sides, T, K, M, count, labels, limits, cap, epsilon, near,
):  # fmt: skip
    """Steps 1 and 2 of PROCESS: the example gets the next slot."""
    keep_small()
    k, label = count[N], tags[q, 0]
    part = share_of_bound(count, limits, cap, diagonal[q])
    for m in range(F.shape[1]):
        F[GRAD, m, k], F[LINEAR, m, k] = g[m], given[q, 0, m]
        F[LOW, m, k], F[HIGH, m, k] = part * given[q, 1, m], part * given[q, 2, m]
        F[BOUND, m, k] = max(given[q, 2, m], -given[q, 1, m])
        place(F, sides, m, k, 0.0, epsilon)
        M[LENGTH, m] = max(M[LENGTH, m], np.sqrt(abs(diagonal[q])))
    for s in range(k):
        K[k, s] = row[s]
        K[s, k] = row[s]
    K[k, k] = diagonal[q]
    T[LABEL, k], T[BORN, k], T[KEY, k], T[HANDLE, k] = (
        label,
        count[CLOCK],
        tags[q, 1],
        count[STORED],
    )
    labels[label] += 1
    count[N] = k + 1
    if near is not None:
        near[k] = nearest(K, T, k, k + 1)
        for s in range(k):
            r = near[s]
            if T[LABEL, s] == label and (
                r < 0 or 2.0 * K[s, k] - K[k, k] > 2.0 * K[s, r] - K[r, r]
            ):
                near[s] = k
    return k


@inner
def keep_row(X, X_low, q, x_square, rows, low, squares, k):
    """The row itself, in slot k of the store."""
    keep_small()
    squares[k] = x_square
    for f in range(X.shape[1]):
        rows[k, f] = X[q, f]
        if low.shape[0]:
            low[k, f] = X_low[q, f] if X_low.shape[0] else np.float32(0.0)


@jit
def learn_rows(
    X, X_low, values, tags, given, diagonal, scores, first, gamma, other, half_life, cap,
    epsilon, nu, limits, rows, low, squares, F, sides, T, K, M, count, labels, masses, g, row, near,
):  # fmt: skip
    """Learn the dense rows of X from ``first`` on; returns how many are done.

    It stops before a row for which there is no space, and, with the RBF kernel, before one that
    is so far from the centre that it needs a second part (``kernel.rbf``) where X has none.
    ``tags`` are label and key of each, ``given`` p, lo and hi, (n, 3, machines); ``scores`` become
    decision values before each was learned. Rows that are not dense, or whose kernel is not
    compiled, have no columns in X and in ``rows``: ``values`` are the kernel values of one row
    with those held, and the caller brings the rows in line with their slots. ``masses``: what the
    examples of the window brought (``bounded_mass``). ``g``, ``row``: space.
    """
    keep_small()
    open_sides(F, sides, count[N], epsilon)
    dense = X.shape[1] > 0
    for q in range(first, X.shape[0]):
        x_square = squared_norm(X[q])
        is_far = other is None and x_square > far_row(gamma)
        if count[N] + EIGHT >= K.shape[0] or (is_far and not X_low.shape[0]):
            return q
        n = count[N]
        if dense:
            kernel_row_of(X, X_low, q, x_square, rows, low, squares, n, gamma, other, row)
        else:
            for s in range(n):
                row[s] = values[s]
        count[EVALUATIONS] += n + 1
        gradients_of(row, F, n, given, q, g)
        for m in range(F.shape[1]):
            scores[q, m] = given[q, 0, m] - g[m] + M[BIAS, m]
        changed = forget(
            F, sides, T, K, M, rows, low, squares, count, labels, limits, half_life, cap, epsilon,
            nu, row, near, False,
        )  # fmt: skip
        if nu > 0.0:
            fade_mass(F, sides, K, M, masses, limits[WINDOW], count, half_life)
            changed = True
        n, k = count[N], -1
        if changed:
            gradients_of(row, F, n, given, q, g)
        joins = labels[tags[q, 0]] < SEEDS or _violates(g, given, q, M, epsilon)
        if joins or (nu > 0.0 and lacks_room(F, M, n, nu * given[q, 2, 0])):
            k = insert(
                row, diagonal, g, given, tags, q, F, sides, T, K, M, count, labels, limits, cap,
                epsilon, near,
            )  # fmt: skip
            changed = True
            if dense:
                keep_row(X, X_low, q, x_square, rows, low, squares, k)
                T[HANDLE, k] = k
        if nu > 0.0:
            add_mass(F, sides, K, M, masses, limits[WINDOW], count, nu * given[q, 2, 0])
            k, changed = -1, True
        for m in range(F.shape[1]):
            if changed or M[GAP, m] > M[TAU, m]:
                steps = optimise(F, sides, K, M, m, k, count[N], limits[MOST], epsilon)
                changed |= steps > 0
        count[CLOCK] += 1
        n = count[N]
        if changed:
            forget(
                F, sides, T, K, M, rows, low, squares, count, labels, limits, half_life, cap,
                epsilon, nu, row, near, True,
            )  # fmt: skip
            end_example(F, sides, K, M, count[N], count[N] < n, epsilon)
        count[STORED] = count[N] if dense else count[STORED]
    return X.shape[0]
