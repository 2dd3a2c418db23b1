"""One example of a stream from its features to the changed support set, in one compiled call.

The same steps as ``core/lasvm.py`` takes, for dense rows and the kernels that tiles know: kernel
values against the support set, PROCESS, REPROCESS, and the move of rows in the store. For
callers who bring clean input and count microseconds.
"""

from __future__ import annotations

import numpy as np

from . import lasvm
from .numerics import ORDERED_MATH, inner, jit
from .support import PHASE, POSITION, STORED, N
from .tiles import kernel_row

_ROWS = 8
"""Dot products under way at once: enough to hide the latency of one sum in order."""


@inner(fastmath=ORDERED_MATH)
def _dots(x, rows, first, out):
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
def _settle(x, x_square, rows, squares, a):
    """Rows follow their slots: fresh ones come in, the last ones fill holes."""
    for s in range(a.count[N]):
        h = a.handle[s]
        fresh = h >= a.count[STORED]
        if h == s and not fresh:
            continue
        squares[s] = x_square if fresh else squares[h]
        for j in range(x.shape[0]):
            rows[s, j] = x[j] if fresh else rows[h, j]
        a.handle[s] = s
    a.count[STORED] = a.count[N]


@jit
def learn_one(x, x_square, rows, squares, params, fresh, a, c, tau, limit, row):
    """Learn the example whose label, bound and diagonal are in ``fresh``.

    ``rows`` has room for eight rows more than are in use. False: a kernel row is needed; the
    rows are settled by the caller then, and the pass goes on in ``lasvm.online``.
    """
    n = a.count[N]
    values = fresh.values[0]
    for first in range(0, n, _ROWS):
        _dots(x, rows, first, values)
    kernel_row(values[:n], x_square, squares[:n], params)
    for s in range(n):
        a.column[s] = s
        a.handle[s] = s
    a.count[POSITION], a.count[PHASE], a.count[STORED] = 0, lasvm.INSERT, n
    if not lasvm.online(fresh, a, c, tau, limit, row):
        return False
    _settle(x, x_square, rows, squares, a)
    return True
