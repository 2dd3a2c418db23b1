"""One dense row against others: kernel values as the tiles compute them to the last bit, decisions."""

from __future__ import annotations

import numpy as np

from ..kernel.kernel import Kernel
from ..kernel.rbf import dense_row, far_row
from ..kernel.rows import RowStore
from ..kernel.tiles import RBF, KernelParams, kernel_row, squared_norm
from ..numerics import ORDERED_MATH, inner, jit

EIGHT = 8
"""Dot products under way at once: enough to hide the latency of one sum in order."""


@inner(fastmath=ORDERED_MATH)
def eight_dots(x, rows, first, out):
    """x . rows[first .. first + 8], each sum over the features in order, as tiles make it."""
    a = b = c = d = e = f = g = h = np.float32(0.0)
    for j in range(x.shape[0]):
        v = x[j]
        a += v * rows[first, j]
        b += v * rows[first + 1, j]
        c += v * rows[first + 2, j]
        d += v * rows[first + 3, j]
        e += v * rows[first + 4, j]
        f += v * rows[first + 5, j]
        g += v * rows[first + 6, j]
        h += v * rows[first + 7, j]
    out[first], out[first + 1], out[first + 2], out[first + 3] = a, b, c, d
    out[first + 4], out[first + 5], out[first + 6], out[first + 7] = e, f, g, h


@inner
def kernel_values(x, x_square, rows, squares, n, code, gamma, coef0, degree, out):
    """k(x, rows[s]) for s < n. ``rows`` and ``out`` have space for eight rows more than n."""
    for first in range(0, n, EIGHT):
        eight_dots(x, rows, first, out)
    if code == RBF:
        dense_row(out[:n], x, x_square, rows, squares, gamma)
    else:
        kernel_row(out[:n], x_square, squares[:n], KernelParams(code, gamma, coef0, degree))


@jit
def _decide(x, code, gamma, coef0, degree, rows, squares, alpha, bias, n, out):
    """Decision values of one dense row; false: it is far and needs a second part."""
    x_square = squared_norm(x)
    if code == RBF and x_square > far_row(gamma):
        return False
    row = np.empty(rows.shape[0], np.float32)
    kernel_values(x, x_square, rows, squares, n, code, gamma, coef0, degree, row)
    for m in range(alpha.shape[0]):
        total = bias[m]
        for s in range(n):
            total += alpha[m, s] * row[s]
        out[m] = total
    return True


def decide_one(
    kernel: Kernel, store: RowStore, alpha: np.ndarray, bias: np.ndarray, n: int, x: np.ndarray
) -> np.ndarray | None:
    """Decision values of one dense row; None where tiles must compute them (``kernel.rbf``)."""
    if store.is_sparse or not kernel.is_compiled or store.has_second_parts():
        return None
    if len(store.dense) < n + EIGHT:
        store.reserve(n + EIGHT)
    out = np.empty(len(alpha))
    done = _decide(x, *kernel.params, store.dense, store.squares, alpha, bias, n, out)
    return out if done else None
