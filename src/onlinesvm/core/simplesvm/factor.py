"""A Cholesky factor that rows and columns join and leave, with an equality border.

    U'U = M,    U upper triangular, row by row in memory,    V = U^-T B'

M is the matrix of the working set, B the border (d rows), and V is kept so that the system

    [ M  B' ] [x]   [p]
    [ B  0  ] [y] = [q]

is solved by eliminating the border. A variable joins at the end in O(m^2), the forward
substitution of its column; one that leaves takes its column out of U and Givens rotations make
the rest triangular again, O(m^2). V has a row for each border row, then one for the column of the
variable that is about to join, which is rotated along, and more rows for the solution.

Symbols: m size in use, k place that leaves, u = V[d] the joining column.
"""

from __future__ import annotations

import math

from ..kernel.never_inline import never_inline
from ..numerics import REORDERED_MATH, inner, jit


@jit(fastmath=REORDERED_MATH)
def forward(U, m, X, row):
    """X[row] := U^-T X[row]. Four rows of U at a time: one pass over x for all of them."""
    never_inline()
    x, c = X[row], 0
    while c + 4 <= m:
        p, q, r, s = U[c], U[c + 1], U[c + 2], U[c + 3]
        x_p = x[c] / p[c]
        x_q = (x[c + 1] - p[c + 1] * x_p) / q[c + 1]
        x_r = (x[c + 2] - p[c + 2] * x_p - q[c + 2] * x_q) / r[c + 2]
        x_s = (x[c + 3] - p[c + 3] * x_p - q[c + 3] * x_q - r[c + 3] * x_r) / s[c + 3]
        x[c], x[c + 1], x[c + 2], x[c + 3] = x_p, x_q, x_r, x_s
        for j in range(c + 4, m):
            x[j] -= p[j] * x_p + q[j] * x_q + r[j] * x_r + s[j] * x_s
        c += 4
    for k in range(c, m):
        value = x[k] / U[k, k]
        x[k] = value
        for j in range(k + 1, m):
            x[j] -= U[k, j] * value


@inner(fastmath=REORDERED_MATH)
def backward(U, m, X, row):
    """X[row] := U^-1 X[row]. Four rows of U at a time, as above."""
    never_inline()
    x, last = X[row], m - m % 4
    for k in range(m - 1, last - 1, -1):
        total = 0.0
        for j in range(k + 1, m):
            total += U[k, j] * x[j]
        x[k] = (x[k] - total) / U[k, k]
    for c in range(last - 4, -1, -4):
        p, q, r, s = U[c], U[c + 1], U[c + 2], U[c + 3]
        t_p, t_q, t_r, t_s = 0.0, 0.0, 0.0, 0.0
        for j in range(c + 4, m):
            t_p += p[j] * x[j]
            t_q += q[j] * x[j]
            t_r += r[j] * x[j]
            t_s += s[j] * x[j]
        x_s = (x[c + 3] - t_s) / s[c + 3]
        x_r = (x[c + 2] - t_r - r[c + 3] * x_s) / r[c + 2]
        x_q = (x[c + 1] - t_q - q[c + 2] * x_r - q[c + 3] * x_s) / q[c + 1]
        x_p = (x[c] - t_p - p[c + 1] * x_q - p[c + 2] * x_r - p[c + 3] * x_s) / p[c]
        x[c], x[c + 1], x[c + 2], x[c + 3] = x_p, x_q, x_r, x_s


@inner(fastmath=REORDERED_MATH)
def dot(X, p, Y, q, m):
    """X[p] times Y[q], the first m entries."""
    never_inline()
    total = 0.0
    for r in range(m):
        total += X[p, r] * Y[q, r]
    return total


@inner(fastmath=REORDERED_MATH)
def solve_border(V, m, system):
    """Solve (V V') y = q - V u, u = V[d], in place: column d of ``system``, of d rows, is q, then y.

    A border row without a variable in it (V row zero) gets y = 0.
    """
    never_inline()
    d = system.shape[0]
    for p in range(d):
        system[p, d] -= dot(V, p, V, d, m)
        for q in range(d):
            system[p, q] = dot(V, p, V, q, m)
        if system[p, p] == 0.0:
            system[p, p] = 1.0
            system[p, d] = 0.0
    for p in range(d):
        for q in range(p + 1, d):
            ratio = system[q, p] / system[p, p]
            for c in range(p, d + 1):
                system[q, c] -= ratio * system[p, c]
    for p in range(d - 1, -1, -1):
        for q in range(p + 1, d):
            system[p, d] -= system[p, q] * system[q, d]
        system[p, d] /= system[p, p]


@jit
def join(U, V, d, m, pivot, border, value):
    """The variable whose column V[d] holds (solved forward) becomes row and column m.

    Its entry in the border is ``value`` in row ``border``, zero in the others.
    """
    never_inline()
    for r in range(m):
        U[r, m] = V[d, r]
    U[m, m] = pivot
    for q in range(d):
        entry = value if q == border else 0.0
        V[q, m] = (entry - dot(V, q, V, d, m)) / pivot


@jit(fastmath=REORDERED_MATH)
def leave(U, V, m, k):
    """Take row and column k out; V's rows, the joining column too, are rotated along."""
    never_inline()
    for r in range(k):
        row = U[r]
        for c in range(k + 1, m):
            row[c - 1] = row[c]
    for c in range(k, m - 1):
        upper, lower = U[c], U[c + 1]
        x, y = upper[c + 1], lower[c + 1]
        length = math.hypot(x, y)
        cosine, sine = x / length, y / length
        for r in range(c + 1, m):  # the upper row is also shifted left by one
            x, y = upper[r], lower[r]
            upper[r - 1] = cosine * x + sine * y
            lower[r] = cosine * y - sine * x
        for q in range(V.shape[0]):
            x, y = V[q, c], V[q, c + 1]
            V[q, c] = cosine * x + sine * y
            V[q, c + 1] = cosine * y - sine * x
