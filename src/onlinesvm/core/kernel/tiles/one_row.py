"""One dense row against others: kernel values as the tiles compute them to the last bit, decisions."""

from __future__ import annotations

import numpy as np

from ...runtime.numerics import ORDERED_MATH, inlined, inner, jit
from ..emit.never_inline import never_inline
from ..kernel import Kernel
from ..rows import RowStore
from .dense import RBF, KernelParams, kernel_row, squared_norm
from .rbf import dense_row, exp2, far_row, limit_of, needs_differences, rbf_scale, rounding

EIGHT = 8
"""Dot products under way at once: enough to hide the latency of one sum in order."""

_TWO, _ZERO = np.float32(2.0), np.float32(0.0)


def _eight_dots(x, rows, first, out):
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


eight_dots = inner(fastmath=ORDERED_MATH)(_eight_dots)
dots_in_place = inlined(_eight_dots)


@inner
def kernel_values(x, x_square, rows, squares, n, code, gamma, coef0, degree, out):
    """k(x, rows[s]) for s < n. ``rows`` and ``out`` have space for eight rows more than n."""
    for first in range(0, n, EIGHT):
        eight_dots(x, rows, first, out)
    if code == RBF:
        dense_row(out[:n], x, x_square, rows, squares, gamma)
    else:
        kernel_row(out[:n], x_square, squares[:n], KernelParams(code, gamma, coef0, degree))


@inner(fastmath=ORDERED_MATH)
def kernel_row_of(X, X_low, q, x_square, rows, low, squares, n, gamma, other, out):
    """k(X[q], rows[s]) for s < n. ``rows`` and ``out`` have space for eight rows more than n.

    ``X_low`` and ``low`` have the second parts of X and of the rows, or no row. ``other`` are the
    parameters of a kernel that is not the RBF, or None.
    """
    never_inline()
    x = X[q]
    for first in range(0, n, EIGHT):
        dots_in_place(x, rows, first, out)
    if other is not None:
        kernel_row(out[:n], x_square, squares[:n], other)
    else:
        c, scale = rounding(x.shape[0]), rbf_scale(gamma)
        limit, beyond = limit_of(gamma, c), 0
        for s in range(n):
            beyond += x_square + squares[s] > limit
        if beyond == 0:
            for s in range(n):
                out[s] = exp2(scale * (_TWO * out[s] - (x_square + squares[s])))
        else:
            for s in range(n):
                power = scale * (_TWO * out[s] - (x_square + squares[s]))
                if needs_differences(power, x_square + squares[s], c, scale, limit):
                    total = _ZERO  # in order, as ``dense_square``
                    for f in range(x.shape[0]):
                        of_x = X_low[q, f] if X_low.shape[0] else _ZERO
                        of_s = low[s, f] if low.shape[0] else _ZERO
                        d = (x[f] - rows[s, f]) + (of_x - of_s)
                        total += d * d
                    power = -(scale * total)
                out[s] = exp2(power)


@jit
def _decide(X, X_low, gamma, other, rows, low, squares, alpha, bias, n, out):
    """Decision values of one dense row; false: it is far and needs a second part."""
    x_square = squared_norm(X[0])
    if other is None and x_square > far_row(gamma) and not X_low.shape[0]:
        return False
    row = np.empty(rows.shape[0], np.float32)
    kernel_row_of(X, X_low, np.int64(0), x_square, rows, low, squares, n, gamma, other, row)
    for m in range(alpha.shape[0]):
        total = bias[m]
        for s in range(n):
            total += alpha[m, s] * row[s]
        out[m] = total
    return True


def decide_one(
    kernel: Kernel, store: RowStore, alpha: np.ndarray, bias: np.ndarray, n: int, x: np.ndarray,
    wide: np.ndarray | None = None,
) -> np.ndarray | None:  # fmt: skip
    """Decision values of one dense row; None where tiles must compute them (``kernel.rbf``).

    ``wide`` is the row before it became float32; a far one has its second part from there.
    """
    if store.is_sparse or not kernel.is_compiled:
        return None
    if len(store.dense) < n + EIGHT:
        store.reserve(n + EIGHT)
    gamma, other = compiled_params(kernel)
    low = store.low
    out, rest = np.empty(len(alpha)), (store.dense, low, store.squares, alpha, bias, n)
    X = x[None, :]
    if _decide(X, low[:0], gamma, other, *rest, out):
        return out
    if wide is None:
        return None
    _decide(X, second_part(wide, x), gamma, other, *rest, out)
    return out


def compiled_params(kernel: Kernel) -> tuple[np.float32, KernelParams | None]:
    """gamma and None for the RBF kernel; all parameters for another one."""
    params = kernel.params
    return params.gamma, None if params.code == RBF else params


def second_part(wide: np.ndarray, x: np.ndarray) -> np.ndarray:
    """What float32 leaves of a row, (1, features)."""
    return (wide - x).astype(np.float32)[None, :]
