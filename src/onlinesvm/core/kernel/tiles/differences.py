"""Tiles of the RBF kernel in which some pairs need differences: see ``rbf`` for which and why.

``dense_tiles`` and ``sparse_tiles`` compute few of them by themselves; they stop at a tile of dot
products in which a row has many, or where rows have second parts, and these functions turn the whole
tile into kernel values. Few data sets need them, so most processes never
compile them. Arguments are those of the tiles; ``panel`` and ``tile`` are parts of ``work``.
"""

from __future__ import annotations

import numpy as np

from ...runtime.numerics import inner, jit
from ..emit.lanes import lanes_needed, lanes_rbf, lowest_bit
from ..emit.vector import LANES, chunk_max, panel_squares
from .rbf import (
    FIRST_LANE,
    MANY,
    NO_LANE,
    UNIT,
    dense_square,
    exp2,
    in_use,
    limit_of,
    rbf_scale,
    rounding,
    sparse_square,
)

_ZERO = np.float32(0.0)


@jit
def mend_dense(X, X_low, x_sq, Z, Z_low, gamma, j0, i0, n, panel, tile, squares):
    """Rows i0 .. i0 + n of a tile become kernel values, from differences where needed."""
    width, scale, lanes = X.shape[1], rbf_scale(gamma), min(LANES, Z.shape[0] - j0)
    c, most = rounding(width), chunk_max(tile[squares], 0)
    limit, distance = limit_of(gamma, c), np.empty(LANES, np.float32)
    chosen, none = np.empty(LANES, np.int64), np.zeros(width, np.float32)
    low_panel, used = np.zeros((0, LANES), np.float32), in_use(lanes)
    for r in range(n):
        i, count = i0 + r, 0
        if x_sq[i] + most > limit:
            bits = used & lanes_needed(tile, r, x_sq[i], squares, scale, scale * (UNIT * c), limit)
            while bits != NO_LANE:
                chosen[count] = lowest_bit(bits)
                count += 1
                bits &= bits - FIRST_LANE
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
def _spread_row(X, i, values, low, clear):
    """A sparse row as two dense ones, its first and second parts, or those cleared of it."""
    for p in range(X.begin[i], X.end[i]):
        values[X.indices[p]] = _ZERO if clear else X.data[p]
        low[X.indices[p]] = X.low[p] if X.low.shape[0] and not clear else _ZERO


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
    limit, used = limit_of(gamma, c), in_use(lanes)
    dense, low_panel = np.zeros((2, 0), np.float32), np.zeros((0, LANES), np.float32)
    for r in range(n):
        i, count = i0 + r, 0
        if x_sq[i] + most > limit:
            bits = used & lanes_needed(tile, r, x_sq[i], squares, scale, scale * (UNIT * c), limit)
            while bits != NO_LANE:
                chosen[count] = lowest_bit(bits)
                count += 1
                bits &= bits - FIRST_LANE
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
                j = j0 + chosen[q]
                distance[chosen[q]] = sparse_square(
                    X.indices, X.data, X.low, X.begin[i], X.end[i],
                    Z.indices, Z.data, Z.low, Z.begin[j], Z.end[j],
                )  # fmt: skip
        lanes_rbf(tile, r, x_sq[i], squares, scale)
        for q in range(count):
            tile[r, chosen[q]] = exp2(-(scale * distance[chosen[q]]))
