"""The Matern kernel of order 1/2: which pairs need differences, and the function itself.

    k(x, z) = exp(-gamma d),      d = |x - z| = sqrt(s),      s = |x|^2 + |z|^2 - 2 x.z

Dot products give s with an error of e = u c R, where R = |x|^2 + |z|^2 (``rbf``), and the root makes
more of it the closer the rows are: d is off by e / (2 d), and by sqrt(e) where x = z. With p = gamma d
the value is off by

    exp(-p) t TOLERANCE / p,      t = gamma^2 e / (2 TOLERANCE),

which is less than the tolerance where p exp(p) > t, if also s > 16 e, so that the formula holds. A pair
with s below

    min(max(16 e, (w / gamma)^2), (12 / gamma)^2 + e),      w = min(t, 1.11 + 0.0636 t, 12)

is computed from the differences x_j - z_j: two lines that lie above the solution w of w exp(w) = t (for
w is concave in t, and t = 10 is where the second line touches it), and 12, from where on k is
below 6.2e-6. Equal rows are below it always: k(x, x) = 1 exactly. The bound rises with R and depends on
the pair alone: the value is the same to the last bit wherever it is computed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...runtime.numerics import ORDERED_MATH, inner
from .rbf import UNIT, exp2

TOLERANCE = 8e-6
"""Largest error of a value from dot products."""

FAR_ROW = 256.0
"""gamma^2 |x|^2 up to which float32 is enough for a row: rounding it moves no value by more than
2 u sqrt(FAR_ROW) < 2e-6."""

SURE, LINE, SLOPE, BEYOND = (np.float32(value) for value in (16.0, 1.11, 0.0636, 12.0))
BEYOND_SQUARED = BEYOND * BEYOND
_LARGEST = 1e38
_ZERO, _TWO = np.float32(0.0), np.float32(2.0)


class Roots(NamedTuple):
    """The numbers of the bound above. A compiled function that is given them computes this kernel."""

    error: np.float32  # e / R
    steep: np.float32  # t / R
    reach: np.float32  # 1 / gamma^2


def roots_of(gamma: np.float32, c: np.float32) -> Roots:
    """The bound for dot products whose rounding is ``c`` (``rbf.dot_rounding``)."""
    error, squared = float(UNIT) * float(c), float(gamma) ** 2
    steep = min(squared * error / (2.0 * TOLERANCE), _LARGEST)
    reach = min(1.0 / squared, _LARGEST) if squared > 0.0 else _LARGEST
    return Roots(np.float32(error), np.float32(steep), np.float32(reach))


@inner
def close(squares, error, steep, reach):
    """The squared distance below which a pair with |x|^2 + |z|^2 = ``squares`` needs differences."""
    e, t = error * squares, steep * squares
    w = min(min(t, SLOPE * t + LINE), BEYOND)
    return min(max(SURE * e, reach * (w * w)), BEYOND_SQUARED * reach + e)


@inner(fastmath=ORDERED_MATH)
def root_value(square, scale):
    """exp(-gamma d) from the squared distance; scale = gamma log2(e)."""
    return exp2(-(scale * np.float32(math.sqrt(max(square, _ZERO)))))


@inner
def apart(dot, x_sq, z_sq):
    """|x|^2 + |z|^2 - 2 x.z."""
    return (x_sq + z_sq) - _TWO * dot
