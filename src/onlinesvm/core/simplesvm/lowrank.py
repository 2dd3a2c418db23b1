"""Kernels of low rank: K = Z Z' with l columns (simplesvm-2003, section 3.2).

``incomplete_cholesky`` finds Z from the kernel: pivots are the examples that the ones before
explain least, until the largest diagonal of K - ZZ' is below a tolerance. What comes out is also a
map for new examples, z(x) = T' k(pivots, x).

With a ridge (quadratic slack) the working set can be far larger than l, and the other functions
keep, instead of a factor of Z_w Z_w' + ridge, the triangular factor R of the l + 1 normal
equations of the same problem:

    R'R = diag(1, .., 1, 0) + sum_w z_j z_j' / ridge_j,        z_j = (Z_j, a_j)

from which the answer of the whole working set to a violator follows in O(l^2 + ml), and which a
variable joins and leaves in O(l^2). Without a ridge H_ww has rank l, the working set is never
larger than l + d, and the dense factor is small.

Notes
-----
The paper's Sherman-Morrison-Woodbury remark does not apply: coefficients are read off the
residuals, a_j = -(c_j + <z_j, (v, beta)>) / ridge_j, and no large terms cancel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ..runtime.numerics import inner, jit, never_inline
from ..runtime.threads import one_blas_thread
from .factor import backward, dot, forward
from .state import ENTRY, IMAGE, RIDGE, ROW, SIGN, SLOPE, STEP, M

_SAFE = 1e-4
"""R is rebuilt if the removal of a variable shrinks a squared pivot by more than this."""


@inner
def _add_image(i, factor, Z, low, at):
    """``IMAGE`` += factor * (s_i Z_i, a_i)."""
    never_inline()
    rank, r = Z.shape[1], at.code[ROW, i]
    for c in range(rank):
        low[IMAGE, c] += factor * at.given[SIGN, i] * Z[r, c]
    low[IMAGE, rank] += factor * at.given[ENTRY, i]


@inner
def _answer(j, Z, low, at):
    """(s_j Z_j, a_j) times ``IMAGE``."""
    rank = Z.shape[1]
    product = dot(Z, at.code[ROW, j], low, IMAGE, rank)
    return at.given[SIGN, j] * product + at.given[ENTRY, j] * low[IMAGE, rank]


@inner
def direction(i, Z, low, R, at, w):
    """``STEP`` and multiplier for a unit of violator i; returns the curvature.

    Without a violator (i < 0): for the step that solves the working set.
    """
    never_inline()
    m, n, d = w.counts[M], R.shape[0], w.border.shape[0]
    for c in range(n):
        low[IMAGE, c] = 0.0
    if i >= 0:
        _add_image(i, 1.0, Z, low, at)
    else:
        low[IMAGE, n - 1] = -w.border[0, d + 3]
        for p in range(m):
            j = w.member[p]
            _add_image(j, -w.V[d + SLOPE, p] / at.given[RIDGE, j], Z, low, at)
    forward(R, n, low, IMAGE)
    backward(R, n, low, IMAGE)
    for p in range(m):
        j = w.member[p]
        slope = w.V[d + SLOPE, p] if i < 0 else 0.0
        w.V[d + STEP, p] = -(slope + _answer(j, Z, low, at)) / at.given[RIDGE, j]
    w.border[0, d] = low[IMAGE, n - 1]
    return at.given[RIDGE, i] + _answer(i, Z, low, at) if i >= 0 else 1.0


@inner
def join(i, Z, low, R, at):
    """R'R grows by one variable: rotations, O(l^2)."""
    never_inline()
    n = R.shape[0]
    for c in range(n):
        low[IMAGE, c] = 0.0
    _add_image(i, 1.0 / math.sqrt(at.given[RIDGE, i]), Z, low, at)
    for c in range(n):
        x = low[IMAGE, c]
        if x == 0.0:
            continue
        length = math.hypot(R[c, c], x)
        cosine, sine = R[c, c] / length, x / length
        for r in range(c, n):
            y, z = R[c, r], low[IMAGE, r]
            R[c, r] = cosine * y + sine * z
            low[IMAGE, r] = cosine * z - sine * y


@jit
def leave(i, Z, low, R, at, w):
    """R'R loses one variable: by hyperbolic rotations if they are safe, otherwise rebuilt.

    ``member`` still holds it, at its old position; ``counts`` does not count it any more.
    """
    never_inline()
    n = R.shape[0]
    for c in range(n):
        low[IMAGE, c] = 0.0
    _add_image(i, 1.0 / math.sqrt(at.given[RIDGE, i]), Z, low, at)
    for c in range(n):
        x = low[IMAGE, c]
        left = (R[c, c] - x) * (R[c, c] + x)
        if left <= _SAFE * R[c, c] * R[c, c]:
            _rebuild(i, Z, low, R, at, w)
            return
        length = math.sqrt(left)
        cosine, sine = length / R[c, c], x / R[c, c]
        for r in range(c, n):
            R[c, r] = (R[c, r] - sine * low[IMAGE, r]) / cosine
            low[IMAGE, r] = cosine * low[IMAGE, r] - sine * R[c, r]


@inner
def _rebuild(gone, Z, low, R, at, w):
    """R from the members other than ``gone``, which is still among them."""
    never_inline()
    n = R.shape[0]
    for c in range(n):
        for r in range(n):
            R[c, r] = 1.0 if r == c and c < n - 1 else 0.0
    for p in range(w.counts[M] + 1):
        if w.member[p] != gone:
            join(w.member[p], Z, low, R, at)


def incomplete_cholesky(
    rows: Any, rank: int, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Z (n, l), the pivots, and T with z(x) = k(x, pivots) T.

    Stops at ``rank`` columns, or when no diagonal of K - ZZ' exceeds ``tol`` times the largest
    diagonal of K.
    """
    with one_blas_thread():
        return _incomplete_cholesky(rows, rank, tol)


def _incomplete_cholesky(
    rows: Any, rank: int, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(rows)
    left = rows.diagonal()
    floor = max(tol, 1e-14) * left.max(initial=0.0)
    Z = np.zeros((n, min(rank, n)))
    pivots: list[int] = []
    for c in range(Z.shape[1]):
        p = int(left.argmax())
        if left[p] <= floor:
            break
        column = rows.take(np.array([p])).block(rows)[0] - Z[:, :c] @ Z[p, :c]
        Z[:, c] = column / math.sqrt(left[p])
        left -= Z[:, c] ** 2
        left[p] = 0.0
        pivots.append(p)
    found = len(pivots)
    where = np.array(pivots, np.int64)
    Z = np.ascontiguousarray(Z[:, :found])
    # k(pivots, pivots) = L L' with L = Z[pivots] lower triangular: z(x)' = k(x, pivots) L^-T.
    T = solve_triangular(Z[where], np.eye(found), lower=True).T if found else np.zeros((0, 0))
    return Z, where, T
