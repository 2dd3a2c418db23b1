"""One dense row times coefficients: sum_j k(x, z_j) c[:, j], as tiles sum it.

For the RBF kernel, and for the Laplacian kernel where ``absolute`` is not None.

A stream asks for one row at a time. This is what is left of ``tiles.dense_tiles`` for one row whose
pairs dot products are enough for, in the same order and so the same to the last bit; it compiles in a
fraction of the time.
"""

from __future__ import annotations

import numpy as np

from ...runtime.numerics import jit
from ..emit.lanes import lanes_dot, lanes_rbf, lanes_wide
from ..emit.vector import LANES, panel_dot, panel_least

DOTS, SQUARES = range(2)
"""Rows of ``tile``: dot products that become kernel values, and |z|^2 of the panel's rows."""

_ZERO = np.float32(0.0)


@jit(_nrt=False)
def row_product(X, x_square, Z, z_sq, scale, absolute, coef, panel, tile, weights, sums):
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
