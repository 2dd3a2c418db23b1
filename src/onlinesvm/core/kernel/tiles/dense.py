"""Kernel tiles: dot products, then the kernel function, then their use, while in cache.

Given rows X (n of them) and Z (m), a kernel k and coefficients c, either

    out[i, column + j] = k(x_i, z_j)                    where c has no machine, or
    sums[i, :] += sum_j k(x_i, z_j) c[:, j]             (values never stored).

64 rows of Z are turned into a panel, (features, 64); rows of X, dense or sparse, then make 64 dot
products at once, their sums in registers (``vector``). Dense rows go six at a time, as fast as a
tuned GEMM does on one core; sparse panels hold only the features that are used.

One function does both, for dense rows here and for sparse ones in ``sparse_tiles``, and it is
flat: each function that compiled code calls is compiled by itself and again in its caller.
``other`` is None for the kernels that are functions of a distance, which saves compiling the others, else
their parameters. ``absolute`` is None except for the Laplacian kernel, ``roots`` except for the Matern
kernel (``matern.Roots``): what is None is not compiled.
Pairs for which dot products are not enough (``rbf``) are computed from differences where they are few.
Else the function stops, says where, and goes on when the caller, a ``TileJob``, has put the tile right
(``differences``).

job = TileJob(kernel, X, Z, out=..., column=...)     or     coef=..., sums=...
job(first, last)                                     for some rows of X, in any thread
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...runtime.numerics import ORDERED_MATH, REORDERED_MATH, inlined, inner, jit
from ..emit.lanes import (
    TRANSPOSED,
    count_bits,
    lanes_close,
    lanes_dot,
    lanes_needed,
    lanes_rbf,
    lanes_root,
    lanes_store,
    lanes_transpose,
    lanes_wide,
    lowest_bit,
)
from ..emit.vector import (
    GROUP,
    GROUP_LANES,
    LANES,
    LEAST_GROUP,
    LEAST_LANES,
    panel_dot,
    panel_dots,
    panel_least,
    panel_leasts,
)
from .differences import mend_dense
from .laplacian import row_absolute
from .matern import close, root_value, roots_of
from .rbf import (
    FIRST_LANE,
    MANY,
    NO_LANE,
    UNIT,
    dot_rounding,
    exp2,
    far_limit,
    in_use,
    panel_square,
    rbf,
    rbf_scale,
    scale_of,
)

if TYPE_CHECKING:
    from ..kernel import Kernel
    from ..rows import Rows

TILE_ROWS = 96
"""Rows of X in a tile; the tile and a panel of a hundred features fit the first cache."""

WIDE_ROWS = 8
"""Rows of a tile that are multiplied by the coefficients of all machines at a time."""

PANEL, ROW, MENDED = range(3)
"""Places in ``place``: first row of Z in the panel at hand, first row of X in the tile at hand, and
whether that tile has become kernel values already."""

LINEAR, POLY, RBF, SIGMOID, LAPLACIAN, MATERN12 = range(6)
KernelCode = {
    "linear": LINEAR,
    "poly": POLY,
    "rbf": RBF,
    "sigmoid": SIGMOID,
    "laplacian": LAPLACIAN,
    "matern12": MATERN12,
}


class KernelParams(NamedTuple):
    """A kernel as the compiled loops see it."""

    code: int
    gamma: np.float32
    coef0: np.float32
    degree: int


class SparseRows(NamedTuple):
    """Rows i: data[begin[i]:end[i]] at columns indices[begin[i]:end[i]].

    ``low`` has the second parts of the data (``rbf``), or none.
    """

    begin: np.ndarray
    end: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    low: np.ndarray


_ONE, _ZERO = np.float32(1.0), np.float32(0.0)


@inner(fastmath=ORDERED_MATH)
def kernel_row(dots, x_sq, z_sq, params):
    """Dot products of one row become kernel values, in place. RBF: of rows that are not far."""
    if params.code == RBF:
        scale = rbf_scale(params.gamma)
        for j in range(dots.shape[0]):
            dots[j] = rbf(dots[j], x_sq, z_sq[j], scale)
    elif params.code == POLY:
        for j in range(dots.shape[0]):
            base = params.gamma * dots[j] + params.coef0
            value = base
            for _ in range(params.degree - 1):
                value *= base
            dots[j] = value if params.degree > 0 else _ONE
    elif params.code == SIGMOID:
        for j in range(dots.shape[0]):
            dots[j] = np.float32(math.tanh(params.gamma * dots[j] + params.coef0))


@jit(fastmath=REORDERED_MATH)
def squared_norms(rows, out):
    """out[i] = |x_i|^2 of each dense row, summed in float64: the same for the row kept sparse."""
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            value = np.float64(rows[i, j])
            total += value * value
        out[i] = total


@jit
def compress(rows):
    """Dense rows as sparse ones: where each begins, columns, values, squared norms."""
    n, width = rows.shape
    begin = np.zeros(n + 1, np.int64)
    for i in range(n):
        count = 0
        for j in range(width):
            count += rows[i, j] != 0
        begin[i + 1] = begin[i] + count
    indices = np.empty(begin[n], np.int32)
    data = np.empty(begin[n], np.float32)
    squares = np.empty(n, np.float32)
    for i in range(n):
        p, total = begin[i], 0.0
        for j in range(width):
            value = rows[i, j]
            if value != 0:
                indices[p], data[p] = j, value
                kept = np.float64(data[p])
                total += kept * kept
                p += 1
        squares[i] = total
    return begin, indices, data, squares


@inner(fastmath=ORDERED_MATH)
def other_kernel(tile, n, params):
    """Dot products in the first n rows of a tile become values of a kernel that is not the RBF."""
    for r in range(n):
        kernel_row(tile[r], _ZERO, tile[r], params)


@inlined
def store_tile(tile, n, lanes, out, i0, j0, column, mirrored):
    """The n rows of a tile into ``out``; and as columns, where its halves mirror each other."""
    for r in range(n):
        if lanes == LANES:
            lanes_store(tile, r, out, i0 + r, column + j0, out.shape[1])
        else:
            for lane in range(lanes):
                out[i0 + r, column + j0 + lane] = tile[r, lane]
    if mirrored:  # next to the diagonal, to where the same values are
        whole = n // TRANSPOSED * TRANSPOSED if lanes == LANES else 0
        for r in range(0, whole, TRANSPOSED):
            for lane in range(0, LANES, TRANSPOSED):
                lanes_transpose(tile, r, lane, out, j0 + lane, column + i0 + r, out.shape[1])
        for lane in range(lanes):
            for r in range(whole, min(n, j0 + lane - i0)):
                out[j0 + lane, column + i0 + r] = tile[r, lane]


@inlined
def panel_weights(coef, j0, lanes, weights):
    """The coefficients of a panel's rows, and zeros behind them: a row for every machine."""
    for m in range(coef.shape[0]):
        for lane in range(LANES):
            weights[m, lane] = coef[m, j0 + lane] if lane < lanes else 0.0


@inlined
def add_products(tile, n, weights, machines, sums, i0):
    """sums[i0 + r, m] += the values in row r of a tile times the weights of machine m.

    With many machines their weights are more than a near cache holds: each is read once for
    ``WIDE_ROWS`` rows, which stand in float64 behind the weights. The order within a sum stays.
    """
    if machines == 1:
        for r in range(n):
            sums[i0 + r, 0] += lanes_dot(tile, r, weights, 0)
    else:
        for first in range(0, n, WIDE_ROWS):
            rows = min(WIDE_ROWS, n - first)
            for r in range(rows):
                lanes_wide(tile, first + r, weights, machines + r)
            for m in range(machines):
                for r in range(rows):
                    sums[i0 + first + r, m] += lanes_dot(weights, machines + r, weights, m)


@jit
def dense_tiles(
    X, x_sq, Z, z_sq, scale, error, limit, second_parts, other, absolute, roots, coef, mirrored, column,
    first, last, place, panel, tile, weights, out, sums,
):  # fmt: skip
    """Kernel values of X's rows first .. last with Z; whether all is done.

    ``mirrored``: Z is X; values on and above the diagonal are computed, and copied below it.
    ``panel``, and ``tile`` with the squared norms of the panel's rows behind it and a spare row, are memory
    to work in: apart, for a tile behind its panel is up to a seventh slower (the processor takes a load for
    one of what was just stored). ``weights``: the coefficients of the panel's rows, and ``WIDE_ROWS``
    rows for values in float64. ``limit``: |x|^2 + |z|^2 above which pairs are looked at (``rbf``); ``error``:
    the error of an exponent is that times it. ``second_parts``: whether some rows have them. For the
    Laplacian kernel |x|_1 stands in the place of |x|^2, and the panel is split (``vector.panel_least``).
    """
    width, machines = X.shape[1], coef.shape[0]
    squares = TILE_ROWS
    for j0 in range(place[PANEL], Z.shape[0], LANES):
        lanes = min(LANES, Z.shape[0] - j0)
        if not place[MENDED]:
            panel_weights(coef, j0, lanes, weights)
            for lane in range(LANES):
                used = lane < lanes
                tile[squares, lane] = z_sq[j0 + lane] if used else _ZERO
                for f in range(width):
                    z = Z[j0 + lane, f] if used else _ZERO
                    if absolute is None:
                        panel[f, lane] = z
                    else:
                        panel[f, lane], panel[width + f, lane] = max(z, _ZERO), max(-z, _ZERO)
        most, used_lanes = _ZERO, in_use(lanes)
        for lane in range(lanes):
            most = max(most, tile[squares, lane])
        stop = min(last, j0 + lanes) if mirrored else last
        for i0 in range(place[ROW], stop, TILE_ROWS):
            n = min(TILE_ROWS, stop - i0)
            if place[MENDED]:
                place[MENDED] = 0
            else:
                r = 0
                if absolute is None:
                    while r + GROUP <= n:
                        for lane in range(0, lanes, GROUP_LANES):
                            panel_dots(X, i0 + r, panel, lane, tile, r, width)
                        r += GROUP
                    while r < n:
                        panel_dot(X, i0 + r, panel, 0, tile, r, width)
                        r += 1
                else:
                    while r + LEAST_GROUP <= n:
                        for lane in range(0, lanes, LEAST_LANES):
                            panel_leasts(X, i0 + r, panel, lane, tile, r, width)
                        r += LEAST_GROUP
                    while r < n:
                        panel_least(X, i0 + r, panel, 0, tile, r, width)
                        r += 1
                for r in range(n):
                    for lane in range(
                        (lanes + GROUP_LANES - 1) // GROUP_LANES * GROUP_LANES, LANES
                    ):
                        tile[r, lane] = _ZERO
                if other is not None:
                    other_kernel(tile, n, other)
                elif roots is not None:
                    e, steep, reach = roots.error, roots.steep, roots.reach
                    if second_parts:
                        found = NO_LANE
                        for i in range(i0, i0 + n):
                            found |= used_lanes & lanes_close(
                                tile, i - i0, x_sq[i], squares, e, steep, reach
                            )
                        if found != NO_LANE:
                            place[PANEL], place[ROW], place[MENDED] = j0, i0, 1
                            return False
                    for i in range(i0, i0 + n):
                        r, bound = i - i0, _ZERO
                        if x_sq[i] + most > limit:
                            bound = close(x_sq[i] + most, e, steep, reach)
                        bits = used_lanes & lanes_root(
                            tile, r, x_sq[i], squares, scale, bound, squares + 1
                        )
                        if bits != NO_LANE:
                            bits &= lanes_close(
                                tile, squares + 1, x_sq[i], squares, e, steep, reach
                            )
                        while bits != NO_LANE:
                            lane = lowest_bit(bits)
                            tile[r, lane] = root_value(panel_square(X, i, panel, lane), scale)
                            bits &= bits - FIRST_LANE
                else:
                    few = many = False
                    for i in range(i0, i0 + n):
                        if x_sq[i] + most > limit:
                            count = count_bits(
                                used_lanes
                                & lanes_needed(tile, i - i0, x_sq[i], squares, scale, error, limit)
                            )
                            few |= count > 0
                            many |= count >= MANY
                    if many or (few and second_parts):
                        place[PANEL], place[ROW], place[MENDED] = j0, i0, 1
                        return False
                    for i in range(i0, i0 + n):
                        bits, r = NO_LANE, i - i0
                        if few and x_sq[i] + most > limit:
                            bits = used_lanes & lanes_needed(
                                tile, r, x_sq[i], squares, scale, error, limit
                            )
                        lanes_rbf(tile, r, x_sq[i], squares, scale)
                        while bits != NO_LANE:
                            lane = lowest_bit(bits)
                            if absolute is None:
                                distance = panel_square(X, i, panel, lane)
                            else:
                                distance = row_absolute(X, i, Z, j0 + lane)
                            tile[r, lane] = exp2(-(scale * distance))
                            bits &= bits - FIRST_LANE
            if machines == 0:
                store_tile(tile, n, lanes, out, i0, j0, column, mirrored)
            else:
                add_products(tile, n, weights, machines, sums, i0)
        place[ROW] = first
    return True


# -- the caller: memory for the tiles, and those put right that stop them ------------------

_NO_VALUES, _NO_SUMS = np.empty((0, 0), np.float32), np.empty((0, 0))


def aligned(rows: int) -> np.ndarray:
    """A zeroed (rows, 64) array that starts on a cache line, so that no load straddles two."""
    flat = np.zeros(rows * LANES + 16, np.float32)
    offset = -(flat.__array_interface__["data"][0] // 4) % 16
    return flat[offset : offset + rows * LANES].reshape(rows, LANES)


class TileJob:
    """Kernel values of dense rows X with Z into ``out``, or their product with ``coef`` into ``sums``.

    Called with the first and last row of X of a part, in any thread.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Rows,
        Z: Rows,
        *,
        coef: np.ndarray = _NO_SUMS,
        sums: np.ndarray = _NO_SUMS,
        out: np.ndarray = _NO_VALUES,
        column: int = 0,
        mirrored: bool = False,
    ):
        """``mirrored``: X and Z are the same rows, and one half of the values is computed."""
        self.X, self.Z, self.mirrored = X, Z, mirrored
        self.coef, self.sums, self.out, self.column = coef, sums, out, column
        params = kernel.params
        self.gamma, self.scale = params.gamma, scale_of(params.gamma)
        self.other = None if kernel.is_distance else params
        c = dot_rounding(X.n_features)
        self.absolute = True if kernel.absolute else None
        self.roots = roots_of(params.gamma, c) if kernel.name == "matern12" else None
        self.error = self.scale * (UNIT * c)
        self.second_parts = X.has_second_parts() or Z.has_second_parts()
        self.limit = np.float32(np.inf)
        if self.roots is not None and kernel.needs_differences(X, Z):
            self.limit = np.float32(0.0)  # there is no pair so near that its root were safe
        elif self.other is None and kernel.needs_differences(X, Z):
            self.limit = far_limit(params.gamma, c)

    def __call__(self, first: int, last: int) -> None:
        """Do it for some rows of X."""
        place = np.array([first // LANES * LANES if self.mirrored else 0, first, 0])
        self.run(first, last, place, np.empty((len(self.coef) + WIDE_ROWS, LANES)))

    def run(self, first: int, last: int, place: np.ndarray, weights: np.ndarray) -> None:
        """From ``place`` on; ``weights`` is memory for the coefficients of a panel."""
        X, Z = self.X, self.Z
        panel, tile = self.panel(X.n_features), aligned(TILE_ROWS + 2)
        while not dense_tiles(
            X.values, X.squares, Z.values, Z.squares, self.scale, self.error, self.limit,
            self.second_parts, self.other, self.absolute, self.roots, self.coef, self.mirrored,
            self.column, first, last, place, panel, tile, weights, self.out, self.sums,
        ):  # fmt: skip
            j0, i0, n = self.stopped(place, last, TILE_ROWS)
            mend_dense(
                X.values, X.low, X.squares, Z.values, Z.low, self.gamma, self.absolute, self.roots,
                j0, i0, n, panel, tile, TILE_ROWS,
            )  # fmt: skip

    def panel(self, height: int) -> np.ndarray:
        """Memory for a panel, which the Laplacian kernel has in two halves."""
        return aligned(height if self.absolute is None else 2 * height)

    def stopped(self, place: np.ndarray, last: int, tile_rows: int) -> tuple[int, int, int]:
        """First row of the panel, first row of the tile, and rows in the tile."""
        assert place[MENDED]
        j0, i0 = int(place[PANEL]), int(place[ROW])
        stop = min(last, j0 + LANES, len(self.Z)) if self.mirrored else last
        return j0, i0, min(tile_rows, stop - i0)
