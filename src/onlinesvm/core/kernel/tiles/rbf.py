"""The RBF kernel: from dot products if they are precise enough, otherwise from differences.

    k(x, z) = exp(-gamma |x - z|^2),      |x - z|^2 = |x|^2 + |z|^2 - 2 x.z

The right-hand side costs one dot product, and cancels: in single precision it is off by about
u c (|x|^2 + |z|^2), u = 2^-24, where c grows with the number w of products in the sum. The value
is then off by at most

    k e exp(e),      e = gamma u c (|x|^2 + |z|^2),      c = 3 + 1.25 sqrt(w)

(c is an upper end of what random pairs show, x close to z, from 1 feature to 4,000. Where one
feature dominates the rows it is exceeded twice: the value is then off by up to 2e-5. Twice the
constant would cover that, and make ordinary data, such as ijcnn1 at gamma = 2, a third slower.
Whole numbers have no rounding at all.) If that is less than ``TOLERANCE``, as for all pairs of
centred data with a usual gamma, and for pairs so far apart that k is zero, the value is used. Other
pairs are computed from the differences x_j - z_j. The choice depends only on the squared norms and
the dot product of the pair, symmetrically: the value is exactly the same wherever it is computed.

A row with gamma |x|^2 > ``FAR_ROW`` is far: it lost digits that matter when it became float32. It
has a second part, x = high + low, and (x_high - z_high) + (x_low - z_low) is right to single precision.
"""

from __future__ import annotations

import math

import numpy as np

from ...runtime.numerics import ORDERED_MATH, inlined, inner, linked
from ..emit.vector import bits_float, float_bits

TOLERANCE = 9e-6
"""Largest error of a value from dot products, by the formula above; see there for its limits."""

FAR_ROW = 1024.0
"""gamma |x|^2 up to which float32 is enough for a row: rounding it moves no value by more than
2 sqrt(p) exp(-p) 2 u sqrt(FAR_ROW) < 3.4e-6, where p = gamma |x - z|^2."""

LARGEST_GAMMA = 1e38
"""Larger values are replaced by this one: gamma log2(e) must be a finite float32."""

UNIT = np.float32(2.0**-24)
_LOG2_E = np.float32(math.log2(math.e))
RATIO = np.float32(math.log(2.0) / TOLERANCE)
LOG_BITS = np.float32(2.0**-23)
LOG_BIAS = np.float32(126.9)  # less than 127 - 0.086: the logarithm below errs upwards
ROUND = np.float32(12582912.0)  # 1.5 * 2**23: adding it rounds to an integer in the low bits
_P1 = np.float32(0.6931470036506653)
_P2 = np.float32(0.24022242426872253)
_P3 = np.float32(0.05550733581185341)
_P4 = np.float32(0.009671512991189957)
_P5 = np.float32(0.001326472731307149)
ALL_LANES, FIRST_LANE, NO_LANE = np.uint64(2**64 - 1), np.uint64(1), np.uint64(0)
_ONE, _TWO, _ZERO = np.float32(1.0), np.float32(2.0), np.float32(0.0)
EXP2_TERMS = _P5, _P4, _P3, _P2, _P1, _ONE
LOWEST_POWER = np.float32(-126.0)


@inner(fastmath=ORDERED_MATH)
def exp2(power):
    """2**power for power <= 0: range reduction, a polynomial, the exponent's bits."""
    power = max(min(power, _ZERO), LOWEST_POWER)
    rounded = power + ROUND
    f = power - (rounded - ROUND)
    value = ((((_P5 * f + _P4) * f + _P3) * f + _P2) * f + _P1) * f + _ONE
    exponent = (float_bits(rounded) + np.int32(127)) << np.int32(23)
    return value * bits_float(np.int32(exponent))


@inner(fastmath=ORDERED_MATH)
def rbf(dot, x_sq, z_sq, scale):
    """exp(-gamma |x - z|^2) from the dot product; scale = gamma log2(e)."""
    # Symmetric in x and z, and the same whether or not a multiply-add is fused.
    return exp2(scale * (_TWO * dot - (x_sq + z_sq)))


def scale_of(gamma):
    """gamma log2(e)."""
    return gamma * _LOG2_E


rbf_scale = linked(scale_of)


def dot_rounding(width):
    """c: error of |x|^2 + |z|^2 - 2 x.z, a sum of ``width`` products, in u (|x|^2 + |z|^2)."""
    return np.float32(3.0 + 1.25 * math.sqrt(width))


def far_limit(gamma, c):
    """|x|^2 + |z|^2 above which dot products with the rounding ``c`` may not be enough."""
    return np.float32(TOLERANCE / max(np.float64(gamma) * UNIT * c, 1e-60))


rounding, limit_of = linked(dot_rounding), linked(far_limit)


@linked
def far_row(gamma):
    """|x|^2 above which a row is far."""
    return FAR_ROW / np.float64(gamma)


@inlined
def log2_error_threshold(reach, error_scale):
    """Exponent (base 2) below which the error of dot products is below ``TOLERANCE``.

    k e exp(e) = TOLERANCE, solved for log2(k). The logarithm of e is taken from its bits, and is
    never too small.
    """
    error = error_scale * reach
    return -(error + (np.float32(float_bits(error * RATIO)) * LOG_BITS - LOG_BIAS))


MANY = 8
"""Number of pairs out of 64 from which on differences are computed for all 64 at once."""


@inlined
def in_use(lanes):
    """A bit for each of the first lanes."""
    return ALL_LANES >> np.uint64(64 - lanes)


@linked
def needs_differences(power, square, c, scale, limit):
    """Whether the value from dot products may be off by more than ``TOLERANCE``."""
    return square > limit and power >= log2_error_threshold(square, scale * (UNIT * c))


@inner(fastmath=ORDERED_MATH)
def dense_square(x, x_low, z, z_low):
    """|x - z|^2 of dense rows, features in order, as ``panel_squares`` sums them."""
    total = _ZERO
    for j in range(x.shape[0]):
        d = (x[j] - z[j]) + (x_low[j] - z_low[j])
        total += d * d
    return total


@inner(fastmath=ORDERED_MATH)
def panel_square(X, i, panel, lane):
    """|x - z|^2 of row i and a column of a panel, neither of which has a second part."""
    total = _ZERO
    for j in range(X.shape[1]):
        d = X[i, j] - panel[j, lane]
        total += d * d
    return total


@inner(fastmath=ORDERED_MATH)
def sparse_square(indices, data, low, p, p_end, z_indices, z_data, z_low, q, q_end):
    """|x - z|^2 of sparse rows, entries p .. p_end and q .. q_end.

    Features that neither has would add zero. Second parts of either may be empty.
    """
    total, x_far, z_far = _ZERO, low.shape[0] > 0, z_low.shape[0] > 0
    while p < p_end or q < q_end:
        in_x = q >= q_end or (p < p_end and indices[p] <= z_indices[q])
        in_z = p >= p_end or (q < q_end and z_indices[q] <= indices[p])
        d = (data[p] if in_x else _ZERO) - (z_data[q] if in_z else _ZERO)
        if x_far or z_far:
            d += (low[p] if in_x and x_far else _ZERO) - (z_low[q] if in_z and z_far else _ZERO)
        total += d * d
        p += in_x
        q += in_z
    return total
