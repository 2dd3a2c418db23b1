"""The Laplacian kernel: the RBF's loops with another product, sum and size of a row.

    k(x, z) = exp(-gamma |x - z|_1),      |x - z|_1 = |x|_1 + |z|_1 - 2 sum_j least(x_j, z_j)

least(a, b) is min(|a|, |b|) where a and b have the same sign, and 0 elsewhere. So there is no dot
product, and yet everything has the shape of the RBF (``rbf``): sums of ``least`` in place of dot
products, sums of absolute values in place of squared norms (``Rows.squares``), and the same
function of both. Where one of two values is zero ``least`` is zero, so sparse rows need their
non-zeros alone, and dense rows have exactly the same values. The right-hand side cancels as that of
the RBF does: pairs whose error might matter are computed from differences, by the same rule.

Sums of absolute values are made in single precision and in order, as the sum of ``least`` of a row with
itself is: k(x, x) = 1 exactly.
"""

from __future__ import annotations

import numpy as np

from ...runtime.numerics import inner, jit

FAR_ROW = 16.0
"""gamma |x|_1 up to which float32 is enough for a row: rounding it moves no value by more than
2 u FAR_ROW < 2e-6."""

_ZERO = np.float32(0.0)


@inner
def absolute_sum(x):
    """|x|_1 of a dense row."""
    total = _ZERO
    for j in range(x.shape[0]):
        total += abs(x[j])
    return total


@jit
def absolute_sums(rows, out):
    """out[i] = |x_i|_1 of each dense row."""
    for i in range(rows.shape[0]):
        out[i] = absolute_sum(rows[i])


@jit
def sparse_absolute_sums(begin, end, data, out):
    """out[i] = |x_i|_1 of each sparse row."""
    for i in range(begin.shape[0]):
        total = _ZERO
        for p in range(begin[i], end[i]):
            total += abs(data[p])
        out[i] = total


@inner
def dense_absolute(x, x_low, z, z_low):
    """|x - z|_1 of dense rows, features in order, as ``panel_absolutes`` sums them."""
    total = _ZERO
    for j in range(x.shape[0]):
        total += abs((x[j] - z[j]) + (x_low[j] - z_low[j]))
    return total


@inner
def row_absolute(X, i, Z, j):
    """|x - z|_1 of rows i and j, neither of which has a second part."""
    total = _ZERO
    for f in range(X.shape[1]):
        total += abs(X[i, f] - Z[j, f])
    return total


@inner
def sparse_absolute(indices, data, low, p, p_end, z_indices, z_data, z_low, q, q_end):
    """|x - z|_1 of sparse rows; arguments as of ``rbf.sparse_square``."""
    total, x_far, z_far = _ZERO, low.shape[0] > 0, z_low.shape[0] > 0
    while p < p_end or q < q_end:
        in_x = q >= q_end or (p < p_end and indices[p] <= z_indices[q])
        in_z = p >= p_end or (q < q_end and z_indices[q] <= indices[p])
        d = (data[p] if in_x else _ZERO) - (z_data[q] if in_z else _ZERO)
        if x_far or z_far:
            d += (low[p] if in_x and x_far else _ZERO) - (z_low[q] if in_z and z_far else _ZERO)
        total += abs(d)
        p += in_x
        q += in_z
    return total
