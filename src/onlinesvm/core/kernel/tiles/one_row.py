"""One dense row against others: kernel values as the tiles compute them to the last bit, decisions.

A stream asks for one row at a time: ``kernel_row_of`` is for loops that learn it, ``decide_one`` for a
learner that is asked for its decision, ``row_product`` for the predictions of a model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...runtime.numerics import (
    JIT_DISABLED,
    ORDERED_MATH,
    REORDERED_MATH,
    inlined,
    inner,
    jit,
    never_inline,
)
from ..emit.lanes import lanes_dot, lanes_rbf, lanes_wide
from ..emit.vector import LANES, panel_dot, panel_least
from ..kernel import Kernel
from ..rows import Rows, RowStore
from . import laplacian, matern
from .dense import RBF, aligned, kernel_row
from .laplacian import absolute_sum
from .matern import Roots, apart, close, root_value, roots_of
from .rbf import (
    dot_rounding,
    exp2,
    far_row,
    limit_of,
    needs_differences,
    rbf_scale,
    rounding,
    scale_of,
)

EIGHT = 8
"""Dot products under way at once: enough to hide the latency of one sum in order."""

_TWO, _ZERO, _ONE = np.float32(2.0), np.float32(0.0), np.float32(1.0)


class Absolute(NamedTuple):
    """A compiled function that is given this computes the Laplacian kernel."""

    gamma: np.float32


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


def _row_of(X, X_low, q, x_square, rows, low, squares, n, gamma, other, out):
    """``kernel_row_of`` for the RBF and for kernels that are functions of dot products."""
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


def _eight_leasts(x, rows, first, out):
    """As ``_eight_dots`` with ``least`` in place of the product (``laplacian``)."""
    a = b = c = d = e = f = g = h = np.float32(0.0)
    for j in range(x.shape[0]):
        size, sign = abs(x[j]), _ONE if x[j] >= _ZERO else -_ONE
        a += min(size, max(sign * rows[first, j], _ZERO))
        b += min(size, max(sign * rows[first + 1, j], _ZERO))
        c += min(size, max(sign * rows[first + 2, j], _ZERO))
        d += min(size, max(sign * rows[first + 3, j], _ZERO))
        e += min(size, max(sign * rows[first + 4, j], _ZERO))
        f += min(size, max(sign * rows[first + 5, j], _ZERO))
        g += min(size, max(sign * rows[first + 6, j], _ZERO))
        h += min(size, max(sign * rows[first + 7, j], _ZERO))
    out[first], out[first + 1], out[first + 2], out[first + 3] = a, b, c, d
    out[first + 4], out[first + 5], out[first + 6], out[first + 7] = e, f, g, h


leasts_in_place = inlined(_eight_leasts)


def _laplacian_row_of(X, X_low, q, x_square, rows, low, squares, n, gamma, other, out):
    """``kernel_row_of`` for the Laplacian kernel."""
    never_inline()
    x = X[q]
    for first in range(0, n, EIGHT):
        leasts_in_place(x, rows, first, out)
    c, scale = rounding(x.shape[0]), rbf_scale(gamma)
    limit = limit_of(gamma, c)
    for s in range(n):
        power = scale * (_TWO * out[s] - (x_square + squares[s]))
        if needs_differences(power, x_square + squares[s], c, scale, limit):
            total = _ZERO  # in order, as ``dense_absolute``
            for f in range(x.shape[0]):
                of_x = X_low[q, f] if X_low.shape[0] else _ZERO
                of_s = low[s, f] if low.shape[0] else _ZERO
                total += abs((x[f] - rows[s, f]) + (of_x - of_s))
            power = -(scale * total)
        out[s] = exp2(power)


def _root_row_of(X, X_low, q, x_square, rows, low, squares, n, gamma, other, out):
    """``kernel_row_of`` for the Matern kernel."""
    never_inline()
    x, scale = X[q], rbf_scale(gamma)
    for first in range(0, n, EIGHT):
        dots_in_place(x, rows, first, out)
    for s in range(n):
        square = apart(out[s], x_square, squares[s])
        if square < close(x_square + squares[s], other.error, other.steep, other.reach):
            square = _ZERO  # in order, as ``dense_square``
            for f in range(x.shape[0]):
                of_x = X_low[q, f] if X_low.shape[0] else _ZERO
                of_s = low[s, f] if low.shape[0] else _ZERO
                d = (x[f] - rows[s, f]) + (of_x - of_s)
                square += d * d
        out[s] = root_value(square, scale)


# -- one name for each, by the type of ``other``: what is not used is not compiled ---------


def _kind(other: Any) -> type | None:
    """``Absolute``, ``Roots``, ``KernelParams``, or None for the RBF kernel."""
    return None if other is None else type(other)


def kernel_row_of(X, X_low, q, x_square, rows, low, squares, n, gamma, other, out):
    """k(X[q], rows[s]) for s < n. ``rows`` and ``out`` have space for eight rows more than n.

    ``X_low`` and ``low`` have the second parts of X and of the rows, or no row. ``other``: see
    ``compiled_params``.
    """
    _ROWS_OF.get(_kind(other), _row_of)(
        X, X_low, q, x_square, rows, low, squares, n, gamma, other, out
    )


def row_size(x, other):
    """The size of a row that the kernel needs: |x|^2, or |x|_1."""
    return _SIZES.get(_kind(other), _square_size)(x, other)


def far_size(gamma, other):
    """Size of a row above which it is far, and needs a second part."""
    return _FAR.get(_kind(other), _never_far)(gamma, other)


@inner(fastmath=REORDERED_MATH)
def squared_norm(x):
    """|x|^2 of a dense row, as ``dense.squared_norms`` sums it."""
    total = 0.0
    for j in range(x.shape[0]):
        value = np.float64(x[j])
        total += value * value
    return np.float32(total)


def _square_size(x, other):
    return squared_norm(x)


def _absolute_size(x, other):
    return absolute_sum(x)


def _rbf_far(gamma, other):
    return far_row(gamma)


def _laplacian_far(gamma, other):
    return laplacian.FAR_ROW / np.float64(gamma)


def _root_far(gamma, other):
    return matern.FAR_ROW / np.float64(gamma) / np.float64(gamma)


def _never_far(gamma, other):
    return np.inf


_ROWS_OF: dict[type | None, Any] = {Absolute: _laplacian_row_of, Roots: _root_row_of}
_SIZES: dict[type | None, Any] = {Absolute: _absolute_size}
_FAR: dict[type | None, Any] = {None: _rbf_far, Absolute: _laplacian_far, Roots: _root_far}

if not JIT_DISABLED:
    from numba.core import types
    from numba.extending import overload

    from ...runtime.compiling.linking import LinkedCompiler

    def _compiled_kind(other: Any) -> type | None:
        """As ``_kind``, of a type of Numba's."""
        if other is None or other == types.none:
            return None
        kind: type = other.instance_class
        return kind

    # Only compiled code calls them: no way in from Python or C.
    _inside = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

    _part_of_loop = {"fastmath": ORDERED_MATH, "pipeline_class": LinkedCompiler}

    @overload(kernel_row_of, jit_options={**_inside, **_part_of_loop})
    def _(X, X_low, q, x_square, rows, low, squares, n, gamma, other, out):
        return _ROWS_OF.get(_compiled_kind(other), _row_of)

    # Not inline="always": loops compiled without reference counts then keep the wrong rows.
    @overload(row_size, jit_options=_inside)
    def _(x, other):
        return _SIZES.get(_compiled_kind(other), _square_size)

    @overload(far_size, jit_options=_inside)
    def _(gamma, other):
        return _FAR.get(_compiled_kind(other), _never_far)


@jit
def _decide(X, X_low, gamma, other, rows, low, squares, alpha, bias, n, out):
    """Decision values of one dense row; false: it is far and needs a second part."""
    x_square = row_size(X[0], other)
    if x_square > far_size(gamma, other) and not X_low.shape[0]:
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
    gamma, other = compiled_params(kernel, store.n_features)
    low = store.low
    out, rest = np.empty(len(alpha)), (store.dense, low, store.squares, alpha, bias, n)
    X = x[None, :]
    if _decide(X, low[:0], gamma, other, *rest, out):
        return out
    if wide is None:
        return None
    _decide(X, second_part(wide, x), gamma, other, *rest, out)
    return out


def compiled_params(kernel: Kernel, width: int) -> tuple[np.float32, Any]:
    """gamma and None for the RBF kernel; else ``Absolute``, ``Roots`` or all parameters."""
    params = kernel.params
    if kernel.name == "laplacian":
        return params.gamma, Absolute(params.gamma)
    if kernel.name == "matern12":
        return params.gamma, roots_of(params.gamma, dot_rounding(width))
    return params.gamma, None if params.code == RBF else params


def second_part(wide: np.ndarray, x: np.ndarray) -> np.ndarray:
    """What float32 leaves of a row, (1, features)."""
    return (wide - x).astype(np.float32)[None, :]


# -- a row times coefficients -------------------------------------------------------------

DOTS, SQUARES = range(2)
"""Rows of ``tile``: dot products that become kernel values, and |z|^2 of the panel's rows."""


@jit(_nrt=False)
def _row_product(X, x_square, Z, z_sq, scale, absolute, coef, panel, tile, weights, sums):
    """sums[m] += sum_j k(X[0], Z[j]) coef[m, j]; the other arguments are those of ``dense_tiles``."""
    width, machines = X.shape[1], coef.shape[0]
    for j0 in range(0, Z.shape[0], LANES):
        lanes = min(LANES, Z.shape[0] - j0)
        for m in range(machines):
            for lane in range(LANES):
                weights[m, lane] = coef[m, j0 + lane] if lane < lanes else 0.0
        for lane in range(LANES):
            j = min(j0 + lane, Z.shape[0] - 1)
            used = j == j0 + lane
            tile[SQUARES, lane] = z_sq[j] if used else _ZERO
            for f in range(width):
                z = Z[j, f] if used else _ZERO
                if absolute is None:
                    panel[f, lane] = z
                else:
                    panel[f, lane], panel[width + f, lane] = max(z, _ZERO), max(-z, _ZERO)
        if absolute is None:
            panel_dot(X, 0, panel, 0, tile, DOTS, width)
        else:
            panel_least(X, 0, panel, 0, tile, DOTS, width)
        lanes_rbf(tile, DOTS, x_square, SQUARES, scale)
        if machines == 1:
            sums[0] += lanes_dot(tile, DOTS, weights, 0)
        else:
            lanes_wide(tile, DOTS, weights, machines)
            for m in range(machines):
                sums[m] += lanes_dot(weights, machines, weights, m)


def row_product(kernel: Kernel, X: Rows, Z: Rows, coef: np.ndarray) -> np.ndarray:
    """sum_j k(x, z_j) c[:, j] of one dense row, (1, machines), as a ``TileJob`` with ``sums`` has it.

    For the RBF and the Laplacian kernel, and rows whose pairs dot products are enough for: this is what is
    left of ``dense_tiles`` then, in the same order, and compiles in a fraction of the time.
    """
    absolute = True if kernel.absolute else None
    panel = aligned(X.n_features if absolute is None else 2 * X.n_features)
    tile, sums = aligned(2), np.zeros((1, len(coef)))
    weights, scale = np.empty((len(coef) + 1, LANES)), scale_of(kernel.params.gamma)
    _row_product(
        X.values, X.squares[0], Z.values, Z.squares, scale, absolute, coef, panel, tile, weights,
        sums[0],
    )  # fmt: skip
    return sums
