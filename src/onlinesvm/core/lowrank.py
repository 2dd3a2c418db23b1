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

from .factor import backward, dot, forward
from .numerics import REORDERED_MATH, inner

_SAFE = 1e-4
"""A variable whose leaving shrinks a squared pivot by more than this makes R anew."""


@inner
def _image(i, at, w, factor):
    """``image`` := factor * (Z_i, a_i)."""
    rank = at.Z.shape[1]
    for c in range(rank):
        w.image[c] = factor * at.Z[i, c]
    w.image[rank] = factor * at.sign[i]


@inner
def _solve(w):
    forward(w.R, w.R.shape[0], w.image)
    backward(w.R, w.R.shape[0], w.image)


@inner
def direction(i, at, w):
    """``step`` and multiplier for a unit of violator i; returns the curvature."""
    rank = at.Z.shape[1]
    _image(i, at, w, 1.0)
    _solve(w)
    for p in range(w.count[0]):
        j = w.member[p]
        answer = dot(at.Z[j], w.image, rank) + at.sign[j] * w.image[rank]
        w.step[p] = -answer / at.ridge[j]
    w.system[0, 1] = w.image[rank]
    own = dot(at.Z[i], w.image, rank) + at.sign[i] * w.image[rank]
    return at.ridge[i] + own


@inner(fastmath=REORDERED_MATH)
def target(gap, at, w):
    """``step`` := the move that solves the working set, ``system``: its multiplier."""
    rank = at.Z.shape[1]
    for c in range(rank + 1):
        w.image[c] = 0.0
    for p in range(w.count[0]):
        j = w.member[p]
        g = w.slope[p]
        for c in range(rank):
            w.image[c] -= at.Z[j, c] * g / at.ridge[j]
        w.image[rank] -= at.sign[j] * g / at.ridge[j]
    w.image[rank] -= gap[0]
    _solve(w)
    for p in range(w.count[0]):
        j = w.member[p]
        answer = dot(at.Z[j], w.image, rank) + at.sign[j] * w.image[rank]
        w.step[p] = -(w.slope[p] + answer) / at.ridge[j]
    w.system[0, 0], w.system[0, 1] = 2.0, w.image[rank] - w.tau[0] * gap[0]


@inner
def join(i, at, w):
    """R'R grows by one variable: rotations, O(l^2)."""
    _image(i, at, w, 1.0 / math.sqrt(at.ridge[i]))
    n = w.R.shape[0]
    for c in range(n):
        row, x = w.R[c], w.image[c]
        if x == 0.0:
            continue
        length = math.hypot(row[c], x)
        cosine, sine = row[c] / length, x / length
        for r in range(c, n):
            y, z = row[r], w.image[r]
            row[r] = cosine * y + sine * z
            w.image[r] = cosine * z - sine * y


@inner
def leave(i, at, w):
    """R'R loses one variable: hyperbolic rotations where they are safe, else made anew.

    ``member`` still holds it, at its old position; ``count`` does not count it any more.
    """
    _image(i, at, w, 1.0 / math.sqrt(at.ridge[i]))
    n = w.R.shape[0]
    for c in range(n):
        row, x = w.R[c], w.image[c]
        left = (row[c] - x) * (row[c] + x)
        if left <= _SAFE * row[c] * row[c]:
            rebuild(i, at, w)
            return
        length = math.sqrt(left)
        cosine, sine = length / row[c], x / row[c]
        for r in range(c, n):
            row[r] = (row[r] - sine * w.image[r]) / cosine
            w.image[r] = cosine * w.image[r] - sine * row[r]


@inner
def rebuild(gone, at, w):
    """R from the members other than ``gone``."""
    n = w.R.shape[0]
    for c in range(n):
        for r in range(n):
            w.R[c, r] = 1.0 if r == c and c < n - 1 else 0.0
    for p in range(w.count[0] + 1 if gone >= 0 else w.count[0]):
        if w.member[p] != gone:
            join(w.member[p], at, w)


def incomplete_cholesky(
    rows: Any, rank: int, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Z (n, l), the pivots, and T with z(x) = k(x, pivots) T.

    Stops at ``rank`` columns, or when no diagonal of K - ZZ' exceeds ``tol`` times the largest
    diagonal of K.
    """
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
