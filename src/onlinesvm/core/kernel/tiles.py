"""Kernel tiles: dot products, then the kernel function, then their use, while in cache.

Given rows X (n of them) and Z (m), a kernel k and coefficients c, either

    out[i, j] = k(x_i, z_j)                 ``*_block``     (values kept), or
    out[i, :] = sum_j k(x_i, z_j) c[j, :]   ``*_product``   (values never stored).

64 rows of Z are turned into a panel, (features, 64); rows of X, dense or sparse, then make 64 dot
products at once, their sums in registers (``vector``). Dense rows go six at a time, as fast as a
tuned GEMM does on one core; sparse panels hold only the features that are used.

``far``: None where dot products are enough for every pair (``rbf``), which saves compiling the
rest; else True.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..numerics import ORDERED_MATH, REORDERED_MATH, inner, jit
from .rbf import rbf, rbf_dense, rbf_scale, rbf_sparse
from .vector import GROUP, GROUP_LANES, LANES, gather_dot, panel_dot, panel_dots

TILE_ROWS = 96
"""Rows of X in a tile; the tile and a panel of a hundred features fit the first cache."""

SPARSE_ROWS, GROUP_FEATURES = 32, 192
"""Sparse rows in a tile and features in a group, found by measurement on MNIST."""

FEWEST_IN_GROUP = 8
"""Non-zeros that a row must have in a group, on average, to make groups worth while."""

FEW_FEATURES = 4096
"""Up to so many features a panel has a column for each, else only for those in use."""

LINEAR, POLY, RBF, SIGMOID = 0, 1, 2, 3
KernelCode = {"linear": LINEAR, "poly": POLY, "rbf": RBF, "sigmoid": SIGMOID}


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


@inner(fastmath=ORDERED_MATH)
def _kernel_tile(tile, first, last, x_sq, z_sq, params):
    """Dot products of the rows first .. last become kernel values: always all 64 lanes."""
    if params.code != RBF:
        for i in range(first, last):
            kernel_row(tile[i - first], x_sq[i], z_sq, params)
        return
    scale = rbf_scale(params.gamma)
    for i in range(first, last):
        square = x_sq[i]
        for lane in range(LANES):
            tile[i - first, lane] = rbf(tile[i - first, lane], square, z_sq[lane], scale)


@inner
def _load_lanes(source, first, last, lanes):
    """source[first:last] in the first lanes, zeros in the others."""
    for lane in range(LANES):
        lanes[lane] = source[first + lane] if first + lane < last else 0


@inner(fastmath=REORDERED_MATH)
def _weigh_tile(tile, first, last, weights, out):
    """out[i, c] += sum over the lanes of a row's values times weights[c], in float64."""
    if weights.shape[0] == 1:
        for i in range(first, last):
            total = 0.0
            for lane in range(LANES):
                total += tile[i - first, lane] * weights[0, lane]
            out[i, 0] += total
        return
    wide = np.empty(LANES)
    for i in range(first, last):
        for lane in range(LANES):
            wide[lane] = tile[i - first, lane]
        for c in range(weights.shape[0]):
            total = 0.0
            for lane in range(LANES):
                total += wide[lane] * weights[c, lane]
            out[i, c] += total


@inner
def _keep_tile(tile, first, last, j0, j1, mirrored, column, out):
    """out[i, column + j] = the tile's value; ``mirrored``: out[j, column + i], too."""
    for i in range(first, last):
        for j in range(j0, j1):
            out[i, column + j] = tile[i - first, j - j0]
    if mirrored:
        for j in range(max(j0, first + 1), j1):
            for i in range(first, min(last, j)):
                out[j, column + i] = tile[i - first, j - j0]


@inner(fastmath=REORDERED_MATH)
def squared_norm(x):
    """|x|^2 of a dense row, summed in float64: the same for the row kept sparse."""
    total = 0.0
    for j in range(x.shape[0]):
        value = np.float64(x[j])
        total += value * value
    return np.float32(total)


@jit
def squared_norms(rows):
    """|x|^2 of each dense row."""
    out = np.empty(rows.shape[0], np.float32)
    for i in range(rows.shape[0]):
        out[i] = squared_norm(rows[i])
    return out


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


@inner
def _aligned(rows):
    """A zeroed (rows, 64) array that starts on a cache line, so that no load straddles two.

    ``rows`` is an int64 in every call: Numba compiles a function anew for each constant it is given.
    """
    flat = np.zeros(rows * LANES + 16, np.float32)
    offset = (-(flat.ctypes.data // 4)) % 16
    return flat[offset : offset + rows * LANES].reshape(rows, LANES)


@inner
def dense_panel(Z, first, last, panel):
    """Rows first .. last of Z, transposed into panel[feature, lane]; other lanes are zero."""
    for c in range(Z.shape[1]):
        for lane in range(last - first, LANES):
            panel[c, lane] = _ZERO
    for j in range(first, last):
        for c in range(Z.shape[1]):
            panel[c, j - first] = Z[j, c]


@inner
def _dense_tile(X, first, last, panel, lanes, tile):
    """Dot products of X's rows first .. last with the panel's columns, of which ``lanes`` are used.

    The others are zero, as all of the panel beyond is.
    """
    i, width = first, X.shape[1]
    while i + GROUP <= last:
        for lane in range(0, lanes, GROUP_LANES):
            panel_dots(X, i, panel, lane, tile, i - first, width)
        for r in range(i - first, i - first + GROUP):
            for lane in range((lanes + GROUP_LANES - 1) // GROUP_LANES * GROUP_LANES, LANES):
                tile[r, lane] = _ZERO
        i += GROUP
    while i < last:
        panel_dot(X, i, panel, 0, tile, i - first, width)
        i += 1


@jit
def dense_product(X, X_low, x_sq, Z, Z_low, z_sq, coef, params, far, first, last, out):
    """out[i] += coef @ k(Z, x_i) for rows first <= i < last; coef is (machines, m)."""
    panel = _aligned(Z.shape[1])
    tile = _aligned(np.int64(TILE_ROWS))
    squares = _aligned(np.int64(1))[0]
    weights = np.empty((coef.shape[0], LANES))
    for j0 in range(0, Z.shape[0], LANES):
        j1 = min(j0 + LANES, Z.shape[0])
        dense_panel(Z, j0, j1, panel)
        _load_lanes(z_sq, j0, j1, squares)
        for c in range(coef.shape[0]):
            _load_lanes(coef[c], j0, j1, weights[c])
        for i0 in range(first, last, TILE_ROWS):
            i1 = min(i0 + TILE_ROWS, last)
            _dense_tile(X, i0, i1, panel, j1 - j0, tile)
            if far is None:
                _kernel_tile(tile, i0, i1, x_sq, squares, params)
            else:
                rbf_dense(
                    tile, i0, i1, X, X_low, x_sq, Z, Z_low, panel, j0, j1 - j0, squares,
                    params.gamma,
                )  # fmt: skip
            _weigh_tile(tile, i0, i1, weights, out)


@jit
def dense_block(X, X_low, x_sq, Z, Z_low, z_sq, mirrored, params, far, column, first, last, out):
    """out[i, column:] = k(x_i, Z) for rows first <= i < last.

    ``mirrored``: Z is X; values on and above the diagonal are computed, and copied below it.
    """
    panel = _aligned(Z.shape[1])
    tile = _aligned(np.int64(TILE_ROWS))
    squares = _aligned(np.int64(1))[0]
    for j0 in range(first // LANES * LANES if mirrored else 0, Z.shape[0], LANES):
        j1 = min(j0 + LANES, Z.shape[0])
        dense_panel(Z, j0, j1, panel)
        _load_lanes(z_sq, j0, j1, squares)
        stop = min(last, j1) if mirrored else last
        for i0 in range(first, stop, TILE_ROWS):
            i1 = min(i0 + TILE_ROWS, stop)
            _dense_tile(X, i0, i1, panel, j1 - j0, tile)
            if far is None:
                _kernel_tile(tile, i0, i1, x_sq, squares, params)
            else:
                rbf_dense(
                    tile, i0, i1, X, X_low, x_sq, Z, Z_low, panel, j0, j1 - j0, squares,
                    params.gamma,
                )  # fmt: skip
            _keep_tile(tile, i0, i1, j0, j1, mirrored, column, out)


@inner
def _panel_height(Z, n_features):
    """Columns a panel needs: all features if they are few, else as many as 64 rows can use."""
    if n_features <= FEW_FEATURES:
        return n_features + 1
    most = 0
    for j0 in range(0, Z.begin.shape[0], LANES):
        count = 0
        for j in range(j0, min(j0 + LANES, Z.begin.shape[0])):
            count += Z.end[j] - Z.begin[j]
        most = max(most, count)
    return min(most, n_features) + 1


@inner
def sparse_panel(Z, first, last, panel, column_of, used):
    """The features that rows first .. last use, transposed into panel[column, lane].

    ``column_of`` maps a feature to its column, 0 being a column of zeros: in order of features
    where they are few, else in the order they are met. ``used`` remembers what to clear next
    time, so the cost follows the non-zeros alone.
    """
    in_order = panel.shape[0] == column_of.shape[0] + 1
    for u in range(1, used[0] + 1):
        for lane in range(LANES):
            panel[column_of[used[u]], lane] = _ZERO
        column_of[used[u]] = 0
    used[0] = 0
    for j in range(first, last):
        for p in range(Z.begin[j], Z.end[j]):
            feature = Z.indices[p]
            if column_of[feature] == 0:
                used[0] += 1
                used[used[0]] = feature
                column_of[feature] = feature + 1 if in_order else used[0]
            panel[column_of[feature], j - first] += Z.data[p]


@inner
def _cuts(X, first, last, n_features):
    """Where each row's non-zeros pass from one group of features to the next.

    A group's part of a panel stays in the first cache while a tile of rows goes by. Rows with
    few non-zeros are one group.
    """
    count = 0
    for i in range(first, last):
        count += X.end[i] - X.begin[i]
    groups = 1
    if n_features <= FEW_FEATURES:
        groups = (n_features + GROUP_FEATURES - 1) // GROUP_FEATURES
        groups = max(1, min(groups, count // (FEWEST_IN_GROUP * max(1, last - first))))
    span = (n_features + groups - 1) // groups
    cuts = np.empty((last - first, groups + 1), np.int64)
    for i in range(first, last):
        p = X.begin[i]
        for g in range(groups):
            cuts[i - first, g] = p
            while p < X.end[i] and X.indices[p] < (g + 1) * span:
                p += 1
        cuts[i - first, groups] = X.end[i]
    return cuts


@inner
def _sparse_tile(X, first, last, cuts, offset, panel, column_of, tile):
    """Dot products of X's rows first .. last with the panel's 64 columns."""
    for i in range(first, last):
        for lane in range(LANES):
            tile[i - first, lane] = _ZERO
    for g in range(cuts.shape[1] - 1):
        for i in range(first, last):
            begin, end = cuts[i - offset, g], cuts[i - offset, g + 1]
            if begin < end:
                gather_dot(
                    X.indices, X.data, begin, end, column_of, panel, tile, (i - first) * LANES
                )


@jit
def sparse_product(X, x_sq, Z, z_sq, n_features, coef, params, far, first, last, out):
    """As ``dense_product``, for sparse rows."""
    height = _panel_height(Z, n_features)
    panel = _aligned(height)
    used = np.zeros(height + 1, np.int32)
    column_of = np.zeros(n_features, np.int32)
    tile = _aligned(np.int64(SPARSE_ROWS))
    squares = _aligned(np.int64(1))[0]
    weights = np.empty((coef.shape[0], LANES))
    cuts = _cuts(X, first, last, n_features)
    for j0 in range(0, Z.begin.shape[0], LANES):
        j1 = min(j0 + LANES, Z.begin.shape[0])
        sparse_panel(Z, j0, j1, panel, column_of, used)
        _load_lanes(z_sq, j0, j1, squares)
        for c in range(coef.shape[0]):
            _load_lanes(coef[c], j0, j1, weights[c])
        for i0 in range(first, last, SPARSE_ROWS):
            i1 = min(i0 + SPARSE_ROWS, last)
            _sparse_tile(X, i0, i1, cuts, first, panel, column_of, tile)
            if far is None:
                _kernel_tile(tile, i0, i1, x_sq, squares, params)
            else:
                rbf_sparse(
                    tile, i0, i1, X, x_sq, Z, n_features, panel, j0, j1 - j0, squares,
                    params.gamma,
                )  # fmt: skip
            _weigh_tile(tile, i0, i1, weights, out)


@jit
def sparse_block(X, x_sq, Z, z_sq, n_features, mirrored, params, far, column, first, last, out):
    """As ``dense_block``, for sparse rows."""
    height = _panel_height(Z, n_features)
    panel = _aligned(height)
    used = np.zeros(height + 1, np.int32)
    column_of = np.zeros(n_features, np.int32)
    tile = _aligned(np.int64(SPARSE_ROWS))
    squares = _aligned(np.int64(1))[0]
    cuts = _cuts(X, first, last, n_features)
    for j0 in range(first // LANES * LANES if mirrored else 0, Z.begin.shape[0], LANES):
        j1 = min(j0 + LANES, Z.begin.shape[0])
        sparse_panel(Z, j0, j1, panel, column_of, used)
        _load_lanes(z_sq, j0, j1, squares)
        stop = min(last, j1) if mirrored else last
        for i0 in range(first, stop, SPARSE_ROWS):
            i1 = min(i0 + SPARSE_ROWS, stop)
            _sparse_tile(X, i0, i1, cuts, first, panel, column_of, tile)
            if far is None:
                _kernel_tile(tile, i0, i1, x_sq, squares, params)
            else:
                rbf_sparse(
                    tile, i0, i1, X, x_sq, Z, n_features, panel, j0, j1 - j0, squares,
                    params.gamma,
                )  # fmt: skip
            _keep_tile(tile, i0, i1, j0, j1, mirrored, column, out)
