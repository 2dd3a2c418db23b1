"""Kernel tiles of sparse rows: see ``tiles``, whose plan this follows.

A panel has a column for every feature where there are few, else for those that its 64 rows use. The
non-zeros of a row of X pick their columns of the panel. Where rows have many non-zeros, features are
taken in groups, so that a group's part of the panel stays in the first cache while a tile goes by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...runtime.numerics import jit
from ..emit.lanes import (
    count_bits,
    lanes_close,
    lanes_needed,
    lanes_rbf,
    lanes_root,
    lowest_bit,
)
from ..emit.vector import LANES, gather_dot, gather_least
from .dense import (
    MENDED,
    PANEL,
    ROW,
    SparseRows,
    TileJob,
    add_products,
    aligned,
    other_kernel,
    panel_weights,
    store_tile,
)
from .differences import mend_sparse
from .laplacian import sparse_absolute
from .matern import close, root_value
from .rbf import FIRST_LANE, MANY, NO_LANE, exp2, in_use, sparse_square

if TYPE_CHECKING:
    from ..kernel import Kernel
    from ..rows import Rows

SPARSE_ROWS, GROUP_FEATURES = 32, 192
"""Rows in a tile and features in a group, found by measurement on MNIST."""

FEWEST_IN_GROUP = 8
"""Non-zeros that a row must have in a group, on average, to make groups worth while."""

FEW_FEATURES = 4096
"""Number of features up to which a panel has a column for each."""

_ZERO = np.float32(0.0)


def panel_height(Z: SparseRows, n_features: int) -> int:
    """Columns a panel needs, the first of which is zero."""
    if n_features <= FEW_FEATURES:
        return n_features + 1
    sizes = np.add.reduceat(Z.end - Z.begin, np.arange(0, len(Z.begin), LANES))
    return min(int(sizes.max(initial=0)), n_features) + 1


def feature_cuts(X: SparseRows, first: int, last: int, n_features: int) -> np.ndarray:
    """Where each row's non-zeros pass from one group of features to the next, (rows, groups + 1)."""
    begin, end = X.begin[first:last], X.end[first:last]
    groups = 1
    if n_features <= FEW_FEATURES:
        groups = -(-n_features // GROUP_FEATURES)
        size = int((end - begin).sum()) // (FEWEST_IN_GROUP * max(1, last - first))
        groups = max(1, min(groups, size))
    cuts = np.empty((last - first, groups + 1), np.int64)
    cuts[:, 0], cuts[:, groups] = begin, end
    if groups > 1:
        _cut_rows(X.indices, -(-n_features // groups), cuts)
    return cuts


@jit
def _cut_rows(indices, span, cuts):
    """Fill in all but the first and the last of each row's cuts."""
    groups = cuts.shape[1] - 1
    for i in range(cuts.shape[0]):
        p = cuts[i, 0]
        for g in range(1, groups):
            while p < cuts[i, groups] and indices[p] < g * span:
                p += 1
            cuts[i, g] = p


@jit
def sparse_tiles(
    indices, data, x_sq, z_begin, z_end, z_indices, z_data, z_sq, scale, error, limit,
    second_parts, other, absolute, roots, coef, mirrored, column, first, last, place, panel, tile, weights,
    out, sums, cuts, column_of, used,
):  # fmt: skip
    """As ``tiles.dense_tiles``, for sparse rows: their parts one by one (``tiles.SparseRows``).

    ``column_of`` maps a feature to its column of the panel, 0 being a column of zeros: in order of
    features where they are few, else in the order they are met. ``used`` lists the features in use
    after their number, so that clearing a panel costs as much as its non-zeros.
    """
    machines, total = coef.shape[0], z_begin.shape[0]
    squares = SPARSE_ROWS
    height = panel.shape[0] if absolute is None else panel.shape[0] // 2
    in_order = height == column_of.shape[0] + 1
    for j0 in range(place[PANEL], total, LANES):
        lanes = min(LANES, total - j0)
        if not place[MENDED]:
            for u in range(1, used[0] + 1):
                for lane in range(LANES):
                    panel[column_of[used[u]], lane] = _ZERO
                    if absolute is not None:
                        panel[height + column_of[used[u]], lane] = _ZERO
                column_of[used[u]] = 0
            used[0] = 0
            panel_weights(coef, j0, lanes, weights)
            for lane in range(LANES):
                live = lane < lanes
                tile[squares, lane] = z_sq[j0 + lane] if live else _ZERO
                if not live:
                    continue
                for p in range(z_begin[j0 + lane], z_end[j0 + lane]):
                    feature = z_indices[p]
                    if column_of[feature] == 0:
                        used[0] += 1
                        used[used[0]] = feature
                        column_of[feature] = feature + 1 if in_order else used[0]
                    if absolute is None:
                        panel[column_of[feature], lane] += z_data[p]
                    else:
                        panel[column_of[feature], lane] = max(z_data[p], _ZERO)
                        panel[height + column_of[feature], lane] = max(-z_data[p], _ZERO)
        most, used_lanes = _ZERO, in_use(lanes)
        for lane in range(lanes):
            most = max(most, tile[squares, lane])
        stop = min(last, j0 + lanes) if mirrored else last
        for i0 in range(place[ROW], stop, SPARSE_ROWS):
            n = min(SPARSE_ROWS, stop - i0)
            if place[MENDED]:
                place[MENDED] = 0
            else:
                for r in range(n):
                    for lane in range(LANES):
                        tile[r, lane] = _ZERO
                for g in range(cuts.shape[1] - 1):
                    for i in range(i0, i0 + n):
                        begin, end = cuts[i - first, g], cuts[i - first, g + 1]
                        if begin < end:
                            where = (i - i0) * LANES
                            if absolute is None:
                                gather_dot(indices, data, begin, end, column_of, panel, tile, where)
                            else:
                                gather_least(
                                    indices, data, begin, end, column_of, panel, tile, where
                                )
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
                            j = j0 + lane
                            distance = sparse_square(
                                indices, data, data[:0], cuts[i - first, 0], cuts[i - first, -1],
                                z_indices, z_data, data[:0], z_begin[j], z_end[j],
                            )  # fmt: skip
                            tile[r, lane] = root_value(distance, scale)
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
                            j = j0 + lane
                            if absolute is None:
                                distance = sparse_square(
                                    indices, data, data[:0], cuts[i - first, 0], cuts[i - first, -1],
                                    z_indices, z_data, data[:0], z_begin[j], z_end[j],
                                )  # fmt: skip
                            else:
                                distance = sparse_absolute(
                                    indices, data, data[:0], cuts[i - first, 0], cuts[i - first, -1],
                                    z_indices, z_data, data[:0], z_begin[j], z_end[j],
                                )  # fmt: skip
                            tile[r, lane] = exp2(-(scale * distance))
                            bits &= bits - FIRST_LANE
            if machines == 0:
                store_tile(tile, n, lanes, out, i0, j0, column, mirrored)
            else:
                add_products(tile, n, weights, machines, sums, i0)
        place[ROW] = first
    return True


class SparseTileJob(TileJob):
    """The same job where rows of X or of Z are sparse; dense ones become so."""

    def __init__(self, kernel: Kernel, X: Rows, Z: Rows, **what: Any):
        """``what``: as of ``TileJob``."""
        super().__init__(kernel, X.to_sparse(), Z.to_sparse(), **what)

    def run(self, first: int, last: int, place: np.ndarray, weights: np.ndarray) -> None:
        """From ``place`` on; ``weights`` is memory for the coefficients of a panel."""
        X: Any = self.X
        Z: Any = self.Z
        height = panel_height(Z.values, X.n_features)
        panel, tile = self.panel(height), aligned(SPARSE_ROWS + 2)
        used, column_of = np.zeros(height + 1, np.int32), np.zeros(X.n_features, np.int32)
        cuts = feature_cuts(X.values, first, last, X.n_features)
        while not sparse_tiles(
            *X.values[2:4], X.squares, *Z.values[:4], Z.squares, self.scale, self.error, self.limit,
            self.second_parts, self.other, self.absolute, self.roots, self.coef, self.mirrored,
            self.column, first, last, place, panel, tile, weights, self.out, self.sums, cuts,
            column_of, used,
        ):  # fmt: skip
            j0, i0, n = self.stopped(place, last, SPARSE_ROWS)
            mend_sparse(
                X.values, X.squares, Z.values, X.n_features, self.gamma, self.absolute, self.roots,
                j0, i0, n, panel, tile, SPARSE_ROWS,
            )  # fmt: skip
