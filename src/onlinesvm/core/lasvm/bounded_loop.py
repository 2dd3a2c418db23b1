"""LASVM with a bounded memory, one example at a time: the compiled loop.

    max_a  sum_i p_i a_i - 1/2 sum_ij a_i a_j K_ij - epsilon sum_i |a_i|
    with   sum_i a_i = 0,   lo_i <= a_i <= hi_i                                       (``tasks``)

over the rows that are held. For each example in turn:

    1. rows that have left the window are pushed out;
    2. with a half-life, the bounds of two rows, in turn, shrink to what their age leaves;
    3. the example is scored by the present model: out of sample, for nobody has learned it yet;
    4. if it violates the optimality conditions it joins (PROCESS), then up to ``most``
       REPROCESS steps follow (lasvm-2005, section 3.1);
    5. rows at zero beyond the margin leave; above the budget, one row is pushed out.

Kernel values among the rows held are all kept, in one square array. So the result depends on the
examples and their order alone: not on a cache, on threads, or on how a stream is cut.

See ``bounded_steps`` for the symbols, ``bounded_policy`` for which rows leave.
"""

from __future__ import annotations

import numpy as np

from ..kernel.rbf import far_row
from ..kernel.tiles import RBF, squared_norm
from ..numerics import inner, jit
from .bounded_policy import evict, make_way
from .bounded_steps import (
    ALPHA,
    BIAS,
    BORN,
    BOUND,
    BUDGET,
    CLOCK,
    EVALUATIONS,
    GRAD,
    HANDLE,
    HIGH,
    JOIN,
    KEY,
    LABEL,
    LINEAR,
    LOW,
    MOST,
    NEAR,
    POLICY,
    SEEDS,
    STORED,
    TAU,
    TURN,
    WINDOW,
    N,
    bring_down,
    extremes,
    nearest,
    push_out,
    reprocess,
    search,
)  # fmt: skip
from .dense_row import EIGHT, kernel_values


@inner
def _expire(F, T, K, count, labels, window, epsilon, joins):
    """Rows that have left the window are pushed out."""
    for s in range(count[N] - 1, -1, -1):
        if T[BORN, s] <= count[CLOCK] - window:
            push_out(F, T, K, count, labels, s, epsilon, joins)


@inner
def _shrink(F, T, K, count, half_life, epsilon):
    """The bounds of two rows, in turn, become what their age leaves of them."""
    n = count[N]
    for _ in range(min(2, n)):
        s = count[TURN] % n
        count[TURN] = s + 1
        part = 2.0 ** (-(count[CLOCK] - T[BORN, s]) / half_life)
        for m in range(F.shape[1]):
            size = F[BOUND, m, s] * part
            if F[HIGH, m, s] > 0.0:
                F[HIGH, m, s] = size
            if F[LOW, m, s] < 0.0:
                F[LOW, m, s] = -size
            bring_down(F, K, m, s, size, n, epsilon)


@inner
def _joins(g, given, M, epsilon):
    """Whether some machine finds that the example violates the optimality conditions."""
    for m in range(g.shape[0]):
        residual = g[m] - M[BIAS, m]
        if given[2, m] > 0.0 and residual - epsilon > 0.0:
            return True
        if given[1, m] < 0.0 and -residual - epsilon > 0.0:
            return True
    return False


@inner
def _insert(row, diagonal, g, given, label, key, F, T, K, count, labels, joins):
    """Steps 1 and 2 of PROCESS: the example gets the next slot."""
    k = count[N]
    for m in range(F.shape[1]):
        F[ALPHA, m, k], F[GRAD, m, k] = 0.0, g[m]
        F[LINEAR, m, k], F[LOW, m, k], F[HIGH, m, k] = given[0, m], given[1, m], given[2, m]
        F[BOUND, m, k] = max(given[2, m], -given[1, m])
    for s in range(k):
        K[k, s] = row[s]
        K[s, k] = row[s]
    K[k, k] = diagonal
    T[LABEL, k], T[BORN, k], T[KEY, k], T[HANDLE, k] = label, count[CLOCK], key, count[STORED]
    labels[label] += 1
    count[N] = k + 1
    if joins:
        T[NEAR, k] = nearest(K, T, k, k + 1)
        for s in range(k):
            r = T[NEAR, s]
            if T[LABEL, s] == label and (
                r < 0 or 2.0 * K[s, k] - K[k, k] > 2.0 * K[s, r] - K[r, r]
            ):
                T[NEAR, s] = k
    return k


@inner
def _process(F, K, M, m, k, n, epsilon):
    """Steps 3 to 5 of PROCESS: one direction search between the newcomer and its best partner."""
    top, bottom, g_max, g_min = extremes(F, m, n, epsilon)
    if top < 0 or bottom < 0:
        return
    residual = F[GRAD, m, k] - M[BIAS, m]
    rises = F[HIGH, m, k] > 0.0 and (residual > 0.0 or F[LOW, m, k] == 0.0)
    if rises:
        rise = F[GRAD, m, k] - epsilon - g_min
    else:
        rise = g_max - (F[GRAD, m, k] + epsilon)
    i, j = (k, bottom) if rises else (top, k)
    if i != j and rise > M[TAU, m]:
        search(F, K, m, i, j, rise, n, epsilon)


@inner
def gradients(row, F, n, linear, g):
    """g = p - sum_s alpha_s k(x, x_s) of an example with these kernel values."""
    for m in range(F.shape[1]):
        total = linear[m]
        for s in range(n):
            if F[ALPHA, m, s] != 0.0:
                total -= F[ALPHA, m, s] * row[s]
        g[m] = total


@inner
def prepare(F, T, K, count, labels, limits, half_life, epsilon):
    """What time does before an example is seen; it may change which rows are held."""
    if limits[WINDOW] > 0:
        _expire(F, T, K, count, labels, limits[WINDOW], epsilon, limits[POLICY] == JOIN)
    if half_life < np.inf:
        _shrink(F, T, K, count, half_life, epsilon)


@inner
def learn(
    row, diagonal, given, label, key, F, T, K, M, count, labels, limits, epsilon, g, score,
):  # fmt: skip
    """One example whose kernel values with the rows held are ``row``. Returns its slot, or -1.

    ``given`` is p, lo and hi of the example, (3, machines); ``score`` becomes its decision values
    before it was learned.
    """
    joins = limits[POLICY] == JOIN
    count[EVALUATIONS] += count[N] + 1
    gradients(row, F, count[N], given[0], g)
    for m in range(F.shape[1]):
        score[m] = given[0, m] - g[m] + M[BIAS, m]
    k = -1
    if labels[label] < SEEDS or _joins(g, given, M, epsilon):
        k = _insert(row, diagonal, g, given, label, key, F, T, K, count, labels, joins)
        for m in range(F.shape[1]):
            _process(F, K, M, m, k, count[N], epsilon)
    for m in range(F.shape[1]):
        reprocess(F, K, M, m, count[N], limits[MOST], epsilon)
    count[CLOCK] += 1
    return k


@inner
def _make_room(F, T, K, M, count, labels, limits, epsilon):
    """Rows leave: those that are not needed, and those that the budget has no room for."""
    evict(F, T, K, M, count, labels, epsilon, limits[POLICY] == JOIN)
    if limits[BUDGET] > 0 and count[N] > limits[BUDGET]:
        while count[N] > limits[BUDGET]:
            make_way(F, T, K, M, count, labels, limits, epsilon)
        for m in range(F.shape[1]):
            reprocess(F, K, M, m, count[N], np.int64(0), epsilon)


@inner
def _commit_rows(x, x_square, rows, squares, T, count):
    """Rows follow their slots: the fresh one comes in, the last ones fill holes."""
    for s in range(count[N]):
        h = T[HANDLE, s]
        fresh = h >= count[STORED]
        if h == s and not fresh:
            continue
        squares[s] = x_square if fresh else squares[h]
        for j in range(x.shape[0]):
            rows[s, j] = x[j] if fresh else rows[h, j]
        T[HANDLE, s] = s
    count[STORED] = count[N]


@jit
def learn_dense(
    X, tags, given, diagonal, scores, first, code, gamma, coef0, degree, half_life, epsilon, limits,
    rows, squares, F, T, K, M, count, labels,
):  # fmt: skip
    """Learn the dense rows of X from ``first`` on; returns how many are done.

    It stops before a row for which there is no space, and, with the RBF kernel, before one that
    is so far from the centre that it needs a second part (``kernel.rbf``): the caller deals with it.
    ``tags`` are label and key of each, ``given`` p, lo and hi, (n, 3, machines).
    """
    g, row = np.empty(F.shape[1]), np.empty(K.shape[0], np.float32)
    for q in range(first, X.shape[0]):
        x, x_square = X[q], squared_norm(X[q])
        if count[N] + EIGHT >= K.shape[0] or (code == RBF and x_square > far_row(gamma)):
            return q
        prepare(F, T, K, count, labels, limits, half_life, epsilon)
        _commit_rows(x, x_square, rows, squares, T, count)
        kernel_values(x, x_square, rows, squares, count[N], code, gamma, coef0, degree, row)
        learn(
            row, diagonal[q], given[q], tags[q, 0], tags[q, 1], F, T, K, M, count, labels, limits,
            epsilon, g, scores[q],
        )  # fmt: skip
        _make_room(F, T, K, M, count, labels, limits, epsilon)
        _commit_rows(x, x_square, rows, squares, T, count)
    return X.shape[0]


@jit
def let_time_pass(F, T, K, count, labels, limits, half_life, epsilon):
    """``prepare`` for callers that compute kernel values themselves."""
    prepare(F, T, K, count, labels, limits, half_life, epsilon)


@jit
def learn_row(
    row, tags, given, diagonal, score, epsilon, limits, F, T, K, M, count, labels,
):  # fmt: skip
    """Learn one example whose kernel values with the rows held are known."""
    g = np.empty(F.shape[1])
    learn(
        row, diagonal, given, tags[0], tags[1], F, T, K, M, count, labels, limits, epsilon, g, score,
    )  # fmt: skip
    _make_room(F, T, K, M, count, labels, limits, epsilon)
