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

from ..kernel.blas import one_blas_thread
from ..kernel.never_inline import never_inline
from ..numerics import REORDERED_MATH, inner
from .factor import backward, dot, forward
from .state import ENTRY, IMAGE, RIDGE, ROW, SIGN, SLOPE, STEP, M

_SAFE = 1e-4
"""A variable whose leaving shrinks a squared pivot by more than this makes R anew."""


@inner
def _image(i, at, w, factor):
    """``IMAGE`` := factor * (s_i Z_i, a_i)."""
    rank, r = at.Z.shape[1], at.code[ROW, i]
    for c in range(rank):
        w.low[IMAGE, c] = factor * at.given[SIGN, i] * at.Z[r, c]
    w.low[IMAGE, rank] = factor * at.given[ENTRY, i]


@inner
def _answer(j, at, w):
    """(s_j Z_j, a_j) times ``IMAGE``."""
    rank = at.Z.shape[1]
    product = dot(at.Z[at.code[ROW, j]], w.low[IMAGE], rank)
    return at.given[SIGN, j] * product + at.given[ENTRY, j] * w.low[IMAGE, rank]


@inner
def _solve(w):
    forward(w.R, w.R.shape[0], w.low[IMAGE])
    backward(w.R, w.R.shape[0], w.low[IMAGE])


@inner
def direction(i, at, w):
    """``STEP`` and multiplier for a unit of violator i; returns the curvature."""
    never_inline()
    _image(i, at, w, 1.0)
    _solve(w)
    for p in range(w.counts[M]):
        j = w.member[p]
        w.line[STEP, p] = -_answer(j, at, w) / at.given[RIDGE, j]
    w.border[0, 1] = w.low[IMAGE, at.Z.shape[1]]
    return at.given[RIDGE, i] + _answer(i, at, w)


@inner(fastmath=REORDERED_MATH)
def target(gap, at, w):
    """``STEP`` := the move that solves the working set, ``border``: its multiplier."""
    never_inline()
    rank = at.Z.shape[1]
    for c in range(rank + 1):
        w.low[IMAGE, c] = 0.0
    for p in range(w.counts[M]):
        j = w.member[p]
        r, g = at.code[ROW, j], w.line[SLOPE, p] / at.given[RIDGE, j]
        for c in range(rank):
            w.low[IMAGE, c] -= at.given[SIGN, j] * at.Z[r, c] * g
        w.low[IMAGE, rank] -= at.given[ENTRY, j] * g
    w.low[IMAGE, rank] -= gap[0]
    _solve(w)
    for p in range(w.counts[M]):
        j = w.member[p]
        w.line[STEP, p] = -(w.line[SLOPE, p] + _answer(j, at, w)) / at.given[RIDGE, j]
    w.border[0, 0], w.border[0, 1] = 2.0, w.low[IMAGE, rank] - w.border[0, 3] * gap[0]


@inner
def join(i, at, w):
    """R'R grows by one variable: rotations, O(l^2)."""
    never_inline()
    _image(i, at, w, 1.0 / math.sqrt(at.given[RIDGE, i]))
    n, image = w.R.shape[0], w.low[IMAGE]
    for c in range(n):
        row, x = w.R[c], image[c]
        if x == 0.0:
            continue
        length = math.hypot(row[c], x)
        cosine, sine = row[c] / length, x / length
        for r in range(c, n):
            y, z = row[r], image[r]
            row[r] = cosine * y + sine * z
            image[r] = cosine * z - sine * y


@inner
def leave(i, at, w):
    """R'R loses one variable: hyperbolic rotations where they are safe, else made anew.

    ``member`` still holds it, at its old position; ``count`` does not count it any more.
    """
    never_inline()
    _image(i, at, w, 1.0 / math.sqrt(at.given[RIDGE, i]))
    n, image = w.R.shape[0], w.low[IMAGE]
    for c in range(n):
        row, x = w.R[c], image[c]
        left = (row[c] - x) * (row[c] + x)
        if left <= _SAFE * row[c] * row[c]:
            rebuild(i, at, w)
            return
        length = math.sqrt(left)
        cosine, sine = length / row[c], x / row[c]
        for r in range(c, n):
            row[r] = (row[r] - sine * image[r]) / cosine
            image[r] = cosine * image[r] - sine * row[r]


@inner
def rebuild(gone, at, w):
    """R from the members other than ``gone``."""
    never_inline()
    n = w.R.shape[0]
    for c in range(n):
        for r in range(n):
            w.R[c, r] = 1.0 if r == c and c < n - 1 else 0.0
    for p in range(w.counts[M] + 1 if gone >= 0 else w.counts[M]):
        if w.member[p] != gone:
            join(w.member[p], at, w)


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
