"""Kernel values of one dense row with others, as the tiles compute them, to the last bit."""

from __future__ import annotations

import numpy as np

from ..kernel.rbf import dense_row
from ..kernel.tiles import RBF, KernelParams, kernel_row
from ..numerics import ORDERED_MATH, inner

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
