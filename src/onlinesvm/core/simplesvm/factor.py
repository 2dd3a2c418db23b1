"""A Cholesky factor that rows and columns join and leave, with an equality border.

    U'U = M,    U upper triangular, row by row in memory,    V = U^-T B'

M is the matrix of the working set, B the border (d rows, one or two), and V is kept so that the system

    [ M  B' ] [x]   [p]
    [ B  0  ] [y] = [q]

is solved by eliminating the border. A variable joins at the end in O(m^2), the forward
substitution of its column; one that leaves takes its column out of U and Givens rotations make
the rest triangular again, O(m^2). V has a row for each border row, then one for the column of the
variable that is about to join, which is rotated along, and two rows for others to use.

Symbols: m size in use, k place that leaves, u = V[d] the joining column.
"""

from __future__ import annotations

import math

from ..runtime.numerics import REORDERED_MATH, inner, jit, never_inline


@inner(fastmath=REORDERED_MATH)
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
def answer(U, V, m, system):
    """V[d + 1] := x of the bordered system for p = -U'u; column d of ``system`` is q, and then y.

    A border row without a variable in it (V row zero) gets y = 0. Returns u'Ux and u'u.
    """
    never_inline()
    d = system.shape[0]
    a, b, c, x, z = 0.0, 0.0, 0.0, system[0, d], system[d - 1, d]
    for r in range(m):  # V V' and q - V u; with one border row, the second is the first
        first, second, u = V[0, r], V[d - 1, r], V[d, r]
        a += first * first
        b += first * second
        c += second * second
        x -= first * u
        z -= second * u
    if a == 0.0:
        a, x = 1.0, 0.0
    if d == 2 and c != 0.0:
        z = (z - x * b / a) / (c - b * b / a)
    else:
        z = 0.0
    y = (x - b * z) / a
    system[d - 1, d] = z
    system[0, d] = y
    bend, square = 0.0, 0.0
    for r in range(m):
        u = V[d, r]
        step = -u - y * V[0, r] - z * V[d - 1, r]
        V[d + 1, r] = step
        bend += u * step
        square += u * u
    backward(U, m, V, d + 1)
    return bend, square


@inner
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


@inner(fastmath=REORDERED_MATH)
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
        for q in range(V.shape[0] - 2):
            x, y = V[q, c], V[q, c + 1]
            V[q, c] = cosine * x + sine * y
            V[q, c + 1] = cosine * y - sine * x


@jit
def take_out(U, V, m, k):
    """``leave``, for Python."""
    leave(U, V, m, k)
