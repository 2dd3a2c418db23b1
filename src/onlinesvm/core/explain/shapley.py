"""Shapley values of kernel machines whose kernel is a product over features.

    f(x) - b = sum_i a_i prod_j z_ij,     z_ij = exp(-gamma (x_j - s_ij)^2)      RBF
                                          z_ij = exp(-gamma |x_j - s_ij|)        Laplacian

A feature is taken away by setting its factor to 1. The game v(T) = sum_i a_i prod_{j in T} z_ij is
then known for every set T of features, and its Shapley values are integrals of polynomials:

    phi_j = sum_i a_i u_ij int_0^1 prod_{k != j} (1 + t u_ik) dt,        u_ij = z_ij - 1

A Gauss-Legendre rule of n nodes is exact up to degree 2n - 1, so that half as many nodes as there are
features with u != 0 give the exact value. A feature with u = 0, in which an example equals the support
vector, costs nothing and has no share. The values add up to f(x) - v({}), v({}) = b + sum_i a_i.

All factors 1 + t u lie in (0, 1] inside the interval: the product without feature j is the whole
product divided by its factor. All machines share the integrals.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
from scipy import sparse

from ..kernel.exact import next_difference
from ..kernel.kernel import Kernel
from ..runtime.interrupts import checkpoint
from ..runtime.numerics import REORDERED_MATH, inner, jit
from ..runtime.threads import over_rows, thread_count

STEP = 4
"""Rules have a multiple of this number of nodes: they run in vector registers, and few are needed."""

MOST_NODES = 96
"""More nodes than this do not improve the result (``test_shapley``): the integrands are smooth, and
the nodes lie close together at the ends of the interval, where products of many factors change
most."""

PRODUCT_KERNELS = ("rbf", "laplacian")

_PART = 256
"""Number of rows between two checkpoints for Ctrl-C."""


@cache
def rules(n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [0, 1]: row r has the rule of (r + 1) * STEP nodes."""
    needed = min((n_features + 1) // 2, MOST_NODES)
    count = max(1, -(-needed // STEP))
    nodes, weights = np.zeros((count, count * STEP)), np.zeros((count, count * STEP))
    for r in range(count):
        size = (r + 1) * STEP
        t, w = np.polynomial.legendre.leggauss(size)
        nodes[r, :size], weights[r, :size] = (t + 1.0) / 2.0, w / 2.0
    return nodes, weights


@inner
def _part_of_factor(difference, gamma, squared):
    """u = z - 1, with all its digits where it is small."""
    distance = difference * difference if squared else abs(difference)
    return np.expm1(-gamma * distance)


@inner(fastmath=REORDERED_MATH)
def _integrate(u, count, nodes, weights, product, out):
    """out[k] = u_k int prod_{l != k} (1 + t u_l) dt of the first ``count`` features."""
    rule = min((count + 2 * STEP - 1) // (2 * STEP), nodes.shape[0]) - 1
    size = (rule + 1) * STEP
    t, w = nodes[rule], weights[rule]
    for q in range(size):
        product[q] = w[q]
    for k in range(count):
        for q in range(size):
            product[q] *= 1.0 + t[q] * u[k]
    for k in range(count):
        total = 0.0
        for q in range(size):
            total += product[q] / (1.0 + t[q] * u[k])
        out[k] = u[k] * total


@inner
def _share_out(integral, columns, count, coef, i, out):
    """Add the integrals of support vector i to the values of every machine that uses it."""
    for m in range(coef.shape[0]):
        factor = coef[m, i]
        if factor != 0.0:
            for k in range(count):
                out[m, columns[k]] += factor * integral[k]


@jit
def dense_values(X, S, coef, gamma, squared, nodes, weights, out, first, last):
    """out[p, m, j] = phi_j of machine m for the rows first .. last of X."""
    d = X.shape[1]
    u, integral, product = np.empty(d), np.empty(d), np.empty(nodes.shape[1])
    columns = np.empty(d, np.int64)
    for p in range(first, last):
        for i in range(S.shape[0]):
            count = 0
            for j in range(d):
                difference = X[p, j] - S[i, j]
                if difference != 0.0:
                    u[count], columns[count] = _part_of_factor(difference, gamma, squared), j
                    count += 1
            if count > 0:
                _integrate(u, count, nodes, weights, product, integral)
                _share_out(integral, columns, count, coef, i, out[p])


@inner
def _differences(X, p, S, i, columns, differences):
    """The columns in which sparse rows x_p and s_i differ, and by how much; how many there are."""
    a, a_end, b, b_end = X[0][p], X[0][p + 1], S[0][i], S[0][i + 1]
    count = 0
    while a < a_end or b < b_end:
        column, value, a, b = next_difference(X, a, a_end, S, b, b_end)
        if value != 0.0:
            columns[count], differences[count] = column, value
            count += 1
    return count


@jit
def sparse_values(X, S, coef, gamma, squared, nodes, weights, out, first, last):
    """The same for sparse rows (pointer, sorted indices, data)."""
    d = out.shape[2]
    u, integral, product = np.empty(d), np.empty(d), np.empty(nodes.shape[1])
    columns = np.empty(d, np.int64)
    for p in range(first, last):
        for i in range(S[0].shape[0] - 1):
            count = _differences(X, p, S, i, columns, u)
            for k in range(count):
                u[k] = _part_of_factor(u[k], gamma, squared)
            if count > 0:
                _integrate(u, count, nodes, weights, product, integral)
                _share_out(integral, columns, count, coef, i, out[p])


def shapley_values(X: Any, S: Any, coef: np.ndarray, kernel: Kernel) -> np.ndarray:
    """Shapley values of f(x) = sum_i coef[m, i] k(x, s_i), (n, machines, features) float64.

    X and S are both dense or both CSR with sorted indices.
    """
    n, d = X.shape
    out = np.zeros((n, len(coef), d))
    coef = np.ascontiguousarray(coef, np.float64)
    if sparse.issparse(X):
        loop: Any = sparse_values
        rows: tuple[Any, Any] = _parts(X), _parts(S)
        widest = int(np.diff(X.indptr).max(initial=0) + np.diff(S.indptr).max(initial=0))
    else:
        loop, rows = dense_values, (_plain(X), _plain(S))
        widest = d
    squared = kernel.name == "rbf"
    task = partial(loop, *rows, coef, float(kernel.gamma), squared, *rules(min(widest, d)), out)
    threads = thread_count(kernel.n_jobs)
    for first in range(0, n, _PART):
        size = min(_PART, n - first)
        over_rows(lambda a, b, first=first: task(first + a, first + b), size, threads)  # type: ignore[misc]
        checkpoint()
    return out


def _plain(values: np.ndarray) -> np.ndarray:
    """Values as compiled loops take them."""
    return np.require(values, np.float64, ["C", "W", "E"])


def _parts(values: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    indices = np.require(values.indices, np.int64, ["C", "W", "E"])
    return values.indptr.astype(np.int64), indices, _plain(values.data)
