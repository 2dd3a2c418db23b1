"""Tiles of the RBF kernel in which some pairs need differences: see ``rbf`` for which and why.

``dense_tiles`` and ``sparse_tiles`` stop at a tile of dot products that has such a pair; these
functions turn the whole tile into kernel values. Few data sets need them, so most processes never
compile them. Arguments are those of the tiles; ``panel`` and ``tile`` are parts of ``work``.
"""

from __future__ import annotations

import numpy as np

from ..numerics import ORDERED_MATH, inner, jit
from .lanes import lanes_power, lanes_rbf
from .rbf import (
    UNIT,
    dense_square,
    exp2,
    limit_of,
    needs_differences,
    noticed,
    rbf_scale,
    rounding,
)
from .vector import LANES, chunk_max, panel_squares

MANY = 8
"""Number of pairs out of 64 from which on differences are computed for all 64 at once."""

_TWO, _ZERO = np.float32(2.0), np.float32(0.0)


@inner
def _power(dot, x_sq, z_sq, scale):
    """Exponent (base 2) of a value from its dot product."""
    return scale * (_TWO * dot - (x_sq + z_sq))


@jit
def mend_dense(X, X_low, x_sq, Z, Z_low, gamma, j0, i0, n, panel, tile, squares):
    """Rows i0 .. i0 + n of a tile become kernel values, from differences where needed."""
    width, scale, lanes = X.shape[1], rbf_scale(gamma), min(LANES, Z.shape[0] - j0)
    c, most = rounding(width), chunk_max(tile[squares], 0)
    limit, distance = limit_of(gamma, c), np.empty(LANES, np.float32)
    chosen, none = np.empty(LANES, np.int64), np.zeros(width, np.float32)
    low_panel = np.zeros((0, LANES), np.float32)
    for r in range(n):
        i, count, reach = i0 + r, 0, x_sq[i0 + r] + most
        if reach > limit and (
            lanes_power(tile, r, x_sq[i], squares, scale, limit)
            >= noticed(reach, scale * (UNIT * c))
        ):
            for lane in range(lanes):
                power = _power(tile[r, lane], x_sq[i], tile[squares, lane], scale)
                if needs_differences(power, x_sq[i] + tile[squares, lane], c, scale, limit):
                    chosen[count] = lane
                    count += 1
        x_low = X_low[i] if X_low.shape[0] else none
        if count >= MANY:
            if not low_panel.shape[0]:
                low_panel = np.zeros((width, LANES), np.float32)
                for lane in range(lanes if Z_low.shape[0] else 0):
                    low_panel[:, lane] = Z_low[j0 + lane]
            panel_squares(X[i], x_low, panel, low_panel, distance, width)
        else:
            for q in range(count):
                j = j0 + chosen[q]
                z_low = Z_low[j] if Z_low.shape[0] else none
                distance[chosen[q]] = dense_square(X[i], x_low, Z[j], z_low)
        lanes_rbf(tile, r, x_sq[i], squares, scale)
        for q in range(count):
            tile[r, chosen[q]] = exp2(-(scale * distance[chosen[q]]))


@inner
def _low(rows, p):
    """The second part of entry p of sparse rows, if they have one."""
    return rows.low[p] if rows.low.shape[0] else _ZERO


@inner(fastmath=ORDERED_MATH)
def _sparse_square(X, i, Z, j):
    """|x - z|^2 of sparse rows: features that neither has would add zero."""
    p, q, p_end, q_end = X.begin[i], Z.begin[j], X.end[i], Z.end[j]
    total = _ZERO
    while p < p_end or q < q_end:
        in_x = q >= q_end or (p < p_end and X.indices[p] <= Z.indices[q])
        in_z = p >= p_end or (q < q_end and Z.indices[q] <= X.indices[p])
        high = (X.data[p] if in_x else _ZERO) - (Z.data[q] if in_z else _ZERO)
        low = (_low(X, p) if in_x else _ZERO) - (_low(Z, q) if in_z else _ZERO)
        d = high + low
        total += d * d
        p += in_x
        q += in_z
    return total


@inner
def _spread_row(X, i, values, low, clear):
    """A sparse row as two dense ones, its first and second parts, or those cleared of it."""
    for p in range(X.begin[i], X.end[i]):
        values[X.indices[p]] = _ZERO if clear else X.data[p]
        low[X.indices[p]] = _ZERO if clear else _low(X, p)


@jit
def mend_sparse(X, x_sq, Z, n_features, gamma, j0, i0, n, panel, tile, squares):
    """As ``mend_dense``, for sparse rows. ``panel``: row f + 1 is feature f, if it has as many."""
    scale, in_order = rbf_scale(gamma), panel.shape[0] == n_features + 1
    lanes, most = min(LANES, Z.begin.shape[0] - j0), chunk_max(tile[squares], 0)
    c, distance, chosen = (
        rounding(n_features),
        np.empty(LANES, np.float32),
        np.empty(LANES, np.int64),
    )
    limit = limit_of(gamma, c)
    dense, low_panel = np.zeros((2, 0), np.float32), np.zeros((0, LANES), np.float32)
    for r in range(n):
        i, count, reach = i0 + r, 0, x_sq[i0 + r] + most
        if reach > limit and (
            lanes_power(tile, r, x_sq[i], squares, scale, limit)
            >= noticed(reach, scale * (UNIT * c))
        ):
            for lane in range(lanes):
                power = _power(tile[r, lane], x_sq[i], tile[squares, lane], scale)
                if needs_differences(power, x_sq[i] + tile[squares, lane], c, scale, limit):
                    chosen[count] = lane
                    count += 1
        if in_order and count >= MANY:
            if not low_panel.shape[0]:
                dense = np.zeros((2, n_features), np.float32)
                low_panel = np.zeros((n_features, LANES), np.float32)
                for lane in range(lanes if Z.low.shape[0] else 0):
                    for p in range(Z.begin[j0 + lane], Z.end[j0 + lane]):
                        low_panel[Z.indices[p], lane] = Z.low[p]
            _spread_row(X, i, dense[0], dense[1], False)
            panel_squares(dense[0], dense[1], panel[1:], low_panel, distance, n_features)
            _spread_row(X, i, dense[0], dense[1], True)
        else:
            for q in range(count):
                distance[chosen[q]] = _sparse_square(X, i, Z, j0 + chosen[q])
        lanes_rbf(tile, r, x_sq[i], squares, scale)
        for q in range(count):
            tile[r, chosen[q]] = exp2(-(scale * distance[chosen[q]]))
