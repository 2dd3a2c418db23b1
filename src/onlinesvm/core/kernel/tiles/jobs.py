"""Runs the compiled tiles: gives them memory, and puts tiles right that stop them.

job = TileJob(kernel, X, Z, out=..., column=...)     or     coef=..., sums=...
job(first, last)                                     for some rows of X, in any thread
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..emit.vector import LANES
from . import dense as tiles
from . import differences
from . import sparse as sparse_tiles
from .dense import MENDED, PANEL, ROW
from .matern import roots_of
from .rbf import UNIT, dot_rounding, far_limit, scale_of
from .row_product import row_product

if TYPE_CHECKING:
    from ..kernel import Kernel
    from ..rows import Rows

_NO_VALUES, _NO_SUMS = np.empty((0, 0), np.float32), np.empty((0, 0))


def aligned(rows: int) -> np.ndarray:
    """A zeroed (rows, 64) array that starts on a cache line, so that no load straddles two."""
    flat = np.zeros(rows * LANES + 16, np.float32)
    offset = -(flat.__array_interface__["data"][0] // 4) % 16
    return flat[offset : offset + rows * LANES].reshape(rows, LANES)


class TileJob:
    """Kernel values of X with Z into ``out``, or their product with ``coef`` into ``sums``.

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
    ):
        self.mirrored = X is Z and not len(coef)
        self.is_sparse = X.is_sparse or Z.is_sparse
        self.X, self.Z = (X.to_sparse(), Z.to_sparse()) if self.is_sparse else (X, Z)
        self.coef, self.sums, self.out, self.column = coef, sums, out, column
        params = kernel.params
        self.gamma, self.scale = params.gamma, scale_of(params.gamma)
        self.other = None if kernel.is_distance else params
        c = dot_rounding(X.n_features)
        self.absolute = True if kernel.absolute else None
        self.roots = roots_of(params.gamma, c) if kernel.name == "matern12" else None
        self.error = self.scale * (UNIT * c)
        self.second_parts = self.X.has_second_parts() or self.Z.has_second_parts()
        self.limit = np.float32(np.inf)
        if self.roots is not None and kernel.needs_differences(self.X, self.Z):
            self.limit = np.float32(0.0)  # there is no pair so near that its root were safe
        elif self.other is None and kernel.needs_differences(self.X, self.Z):
            self.limit = far_limit(params.gamma, c)

    def __call__(self, first: int, last: int) -> None:
        """Do it for some rows of X."""
        place = np.array([first // LANES * LANES if self.mirrored else 0, first, 0])
        weights = np.empty((len(self.coef) + tiles.WIDE_ROWS, LANES))
        run = self._sparse if self.is_sparse else self._dense
        run(first, last, place, weights)

    def _dense(self, first: int, last: int, place: np.ndarray, weights: np.ndarray) -> None:
        X, Z, width = self.X, self.Z, self.X.n_features
        panel, tile = self._panel(width), aligned(tiles.TILE_ROWS + 2)
        while not tiles.dense_tiles(
            X.values, X.squares, Z.values, Z.squares, self.scale, self.error, self.limit,
            self.second_parts, self.other, self.absolute, self.roots, self.coef, self.mirrored,
            self.column, first, last, place, panel, tile, weights, self.out, self.sums,
        ):  # fmt: skip
            j0, i0, n = self._stopped(place, last, tiles.TILE_ROWS)
            differences.mend_dense(
                X.values, X.low, X.squares, Z.values, Z.low, self.gamma, self.absolute, self.roots,
                j0, i0, n, panel, tile, tiles.TILE_ROWS,
            )  # fmt: skip

    def _sparse(self, first: int, last: int, place: np.ndarray, weights: np.ndarray) -> None:
        X: Any = self.X
        Z: Any = self.Z
        height = sparse_tiles.panel_height(Z.values, X.n_features)
        panel, tile = self._panel(height), aligned(sparse_tiles.SPARSE_ROWS + 2)
        used, column_of = np.zeros(height + 1, np.int32), np.zeros(X.n_features, np.int32)
        cuts = sparse_tiles.feature_cuts(X.values, first, last, X.n_features)
        while not sparse_tiles.sparse_tiles(
            *X.values[2:4], X.squares, *Z.values[:4], Z.squares, self.scale, self.error, self.limit,
            self.second_parts, self.other, self.absolute, self.roots, self.coef, self.mirrored,
            self.column, first, last, place, panel, tile, weights, self.out, self.sums, cuts,
            column_of, used,
        ):  # fmt: skip
            j0, i0, n = self._stopped(place, last, sparse_tiles.SPARSE_ROWS)
            differences.mend_sparse(
                X.values, X.squares, Z.values, X.n_features, self.gamma, self.absolute, self.roots,
                j0, i0, n, panel, tile, sparse_tiles.SPARSE_ROWS,
            )  # fmt: skip

    def _panel(self, height: int) -> np.ndarray:
        """Memory for a panel, which the Laplacian kernel has in two halves."""
        return aligned(height if self.absolute is None else 2 * height)

    def _stopped(self, place: np.ndarray, last: int, tile_rows: int) -> tuple[int, int, int]:
        """First row of the panel, first row of the tile, and rows in the tile."""
        assert place[MENDED]
        j0, i0 = int(place[PANEL]), int(place[ROW])
        stop = min(last, j0 + LANES, len(self.Z)) if self.mirrored else last
        return j0, i0, min(tile_rows, stop - i0)


def one_row_product(kernel: Kernel, X: Rows, Z: Rows, coef: np.ndarray) -> np.ndarray:
    """As a job of one row with ``sums``, for what ``row_product`` can do."""
    absolute = True if kernel.absolute else None
    panel = aligned(X.n_features if absolute is None else 2 * X.n_features)
    tile, sums = aligned(2), np.zeros((1, len(coef)))
    weights, scale = np.empty((len(coef) + 1, LANES)), scale_of(kernel.params.gamma)
    row_product(
        X.values, X.squares[0], Z.values, Z.squares, scale, absolute, coef, panel, tile, weights,
        sums[0],
    )  # fmt: skip
    return sums
