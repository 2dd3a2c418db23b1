"""Tiles in which some pairs need differences: see ``rbf``, ``laplacian``, ``matern`` for which and why.

``dense_tiles`` and ``sparse_tiles`` compute few of them by themselves; they stop at a tile of dot
products in which a row has many, or where rows have second parts, and these functions turn the whole
tile into kernel values. Few data sets need them, so most processes never
compile them. Arguments are those of the tiles; ``panel`` and ``tile`` are parts of ``work``.
"""

from __future__ import annotations

import numpy as np

from ...runtime.numerics import inner, jit
from ..emit.lanes import lanes_close, lanes_needed, lanes_rbf, lanes_root, lowest_bit
from ..emit.vector import LANES, chunk_max, panel_absolutes, panel_squares
from .laplacian import dense_absolute, sparse_absolute
from .matern import root_value
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
def mend_dense(
    X, X_low, x_sq, Z, Z_low, gamma, absolute, roots, j0, i0, n, panel, tile, squares
):  # fmt: skip
    """Rows i0 .. i0 + n of a tile become kernel values, from differences where needed."""
    width, scale, lanes = X.shape[1], rbf_scale(gamma), min(LANES, Z.shape[0] - j0)
    c, most = rounding(width), chunk_max(tile[squares], 0)
    limit, distance = limit_of(gamma, c), np.empty(LANES, np.float32)
    chosen, none = np.empty(LANES, np.int64), np.zeros(width, np.float32)
    low_panel, used = np.zeros((0, LANES), np.float32), in_use(lanes)
    whole_panel = low_panel
    for r in range(n):
        i, count = i0 + r, 0
        bits = NO_LANE
        if roots is not None:
            bits = used & lanes_close(
                tile, r, x_sq[i], squares, roots.error, roots.steep, roots.reach
            )
        elif x_sq[i] + most > limit:
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
                if absolute is not None:
                    whole_panel = panel[:width] - panel[width:]
            if absolute is None:
                panel_squares(X[i], x_low, panel, low_panel, distance, width)
            else:
                panel_absolutes(X[i], x_low, whole_panel, low_panel, distance, width)
        else:
            for q in range(count):
                j = j0 + chosen[q]
                z_low = Z_low[j] if Z_low.shape[0] else none
                if absolute is None:
                    distance[chosen[q]] = dense_square(X[i], x_low, Z[j], z_low)
                else:
                    distance[chosen[q]] = dense_absolute(X[i], x_low, Z[j], z_low)
        if roots is not None:
            lanes_root(tile, r, x_sq[i], squares, scale, _ZERO, squares + 1)
        else:
            lanes_rbf(tile, r, x_sq[i], squares, scale)
        for q in range(count):
            if roots is not None:
                tile[r, chosen[q]] = root_value(distance[chosen[q]], scale)
            else:
                tile[r, chosen[q]] = exp2(-(scale * distance[chosen[q]]))


@inner
def _spread_row(X, i, values, low, clear):
    """A sparse row as two dense ones, its first and second parts, or those cleared of it."""
    for p in range(X.begin[i], X.end[i]):
        values[X.indices[p]] = _ZERO if clear else X.data[p]
        low[X.indices[p]] = X.low[p] if X.low.shape[0] and not clear else _ZERO


@jit
def mend_sparse(
    X, x_sq, Z, n_features, gamma, absolute, roots, j0, i0, n, panel, tile, squares
):  # fmt: skip
    """As ``mend_dense``, for sparse rows. ``panel``: row f + 1 is feature f, if it has as many."""
    scale, height = rbf_scale(gamma), panel.shape[0] if absolute is None else panel.shape[0] // 2
    in_order = height == n_features + 1
    lanes, most = min(LANES, Z.begin.shape[0] - j0), chunk_max(tile[squares], 0)
    c, distance, chosen = (
        rounding(n_features),
        np.empty(LANES, np.float32),
        np.empty(LANES, np.int64),
    )
    limit, used = limit_of(gamma, c), in_use(lanes)
    dense, low_panel = np.zeros((2, 0), np.float32), np.zeros((0, LANES), np.float32)
    whole_panel = low_panel
    for r in range(n):
        i, count = i0 + r, 0
        bits = NO_LANE
        if roots is not None:
            bits = used & lanes_close(
                tile, r, x_sq[i], squares, roots.error, roots.steep, roots.reach
            )
        elif x_sq[i] + most > limit:
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
                if absolute is not None:
                    whole_panel = panel[:height] - panel[height:]
            _spread_row(X, i, dense[0], dense[1], False)
            if absolute is None:
                panel_squares(dense[0], dense[1], panel[1:], low_panel, distance, n_features)
            else:
                panel_absolutes(
                    dense[0], dense[1], whole_panel[1:], low_panel, distance, n_features
                )
            _spread_row(X, i, dense[0], dense[1], True)
        else:
            for q in range(count):
                j = j0 + chosen[q]
                if absolute is None:
                    distance[chosen[q]] = sparse_square(
                        X.indices, X.data, X.low, X.begin[i], X.end[i],
                        Z.indices, Z.data, Z.low, Z.begin[j], Z.end[j],
                    )  # fmt: skip
                else:
                    distance[chosen[q]] = sparse_absolute(
                        X.indices, X.data, X.low, X.begin[i], X.end[i],
                        Z.indices, Z.data, Z.low, Z.begin[j], Z.end[j],
                    )  # fmt: skip
        if roots is not None:
            lanes_root(tile, r, x_sq[i], squares, scale, _ZERO, squares + 1)
        else:
            lanes_rbf(tile, r, x_sq[i], squares, scale)
        for q in range(count):
            if roots is not None:
                tile[r, chosen[q]] = root_value(distance[chosen[q]], scale)
            else:
                tile[r, chosen[q]] = exp2(-(scale * distance[chosen[q]]))
