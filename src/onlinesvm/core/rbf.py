"""The RBF kernel's function: from dot products where that is right, else from differences.

    k(x, z) = exp(-gamma |x - z|^2),      |x - z|^2 = |x|^2 + |z|^2 - 2 x.z

The right-hand side costs one dot product, and cancels: in single precision it is off by about
u c (|x|^2 + |z|^2), u = 2^-24, where c grows with the number w of products in the sum. The value
is then off by at most

    k e exp(e),      e = gamma u c (|x|^2 + |z|^2),      c = 3 + 1.25 sqrt(w)

(c is an upper end of what a million pairs show, x close to z, from 1 feature to 4,000; the bound
with c = w + 2 is never met). Where that is less than ``TOLERANCE``, which is so for all pairs of
centred data at a usual gamma, and for pairs so far apart that k is zero, the value stands. Other
pairs, few or many, are computed from the differences x_j - z_j. Which way a pair goes depends on
its squared norms and dot product alone, and on both in the same manner: the value is the same to
the last bit wherever it is computed.

A row with gamma |x|^2 > ``FAR_ROW`` is far: it has lost digits that matter when it became float32. It has a
second part, x = high + low, and (x_high - z_high) + (x_low - z_low) is right to single precision.
"""

from __future__ import annotations

import math

import numpy as np

from .apart import apart
from .numerics import ORDERED_MATH, REORDERED_MATH, inner
from .vector import LANES, bits_float, float_bits

TOLERANCE = 7e-6
"""Largest error of a value from dot products; with the other roundings it stays below 1e-5."""

FAR_ROW = 1024.0
"""gamma |x|^2 up to which float32 is enough for a row: rounding it moves no value by more than
2 sqrt(p) exp(-p) 2 u sqrt(FAR_ROW) < 3.4e-6, where p = gamma |x - z|^2."""

LARGEST_GAMMA = 1e38
"""Larger ones stand for this one: gamma log2(e) must be a finite float32."""

_UNIT = np.float32(2.0**-24)
_LOG2_E = np.float32(math.log2(math.e))
_RATIO = np.float32(math.log(2.0) / TOLERANCE)
_BITS = np.float32(2.0**-23)
_BIAS = np.float32(126.9)  # less than 127 - 0.086: the logarithm below errs upwards
_ROUND = np.float32(12582912.0)  # 1.5 * 2**23: adding it rounds to an integer in the low bits
_P1 = np.float32(0.6931470036506653)
_P2 = np.float32(0.24022242426872253)
_P3 = np.float32(0.05550733581185341)
_P4 = np.float32(0.009671512991189957)
_P5 = np.float32(0.001326472731307149)
_ONE, _TWO, _ZERO = np.float32(1.0), np.float32(2.0), np.float32(0.0)
_LOWEST = np.float32(-126.0)


@inner(fastmath=ORDERED_MATH)
def exp2(power):
    """2**power for power <= 0: range reduction, a polynomial, the exponent's bits."""
    power = min(max(power, _LOWEST), _ZERO)
    rounded = power + _ROUND
    f = power - (rounded - _ROUND)
    value = ((((_P5 * f + _P4) * f + _P3) * f + _P2) * f + _P1) * f + _ONE
    exponent = (float_bits(rounded) + np.int32(127)) << np.int32(23)
    return value * bits_float(np.int32(exponent))


@inner(fastmath=ORDERED_MATH)
def rbf(dot, x_sq, z_sq, scale):
    """exp(-gamma |x - z|^2) from the dot product; scale = gamma log2(e)."""
    # Symmetric in x and z, and the same whether or not a multiply-add is fused.
    return exp2(scale * (_TWO * dot - (x_sq + z_sq)))


@inner
def rbf_scale(gamma):
    """gamma log2(e)."""
    return gamma * _LOG2_E


def dot_rounding(width):
    """c: error of |x|^2 + |z|^2 - 2 x.z, a sum of ``width`` products, in u (|x|^2 + |z|^2)."""
    return np.float32(3.0 + 1.25 * math.sqrt(width))


rounding = inner(dot_rounding)


@inner
def far_row(gamma):
    """|x|^2 above which a row is far."""
    return FAR_ROW / np.float64(gamma)


@inner
def far_limit(gamma, width):
    """|x|^2 + |z|^2 above which dot products of ``width`` features may not be enough."""
    return np.float32(TOLERANCE / max(np.float64(gamma) * _UNIT * rounding(width), 1e-60))


@inner
def _noticed(reach, error_scale):
    """Exponent (base 2) below which the error of dot products is not noticed.

    k e exp(e) = TOLERANCE, solved for log2(k). The logarithm of e comes from its bits, and is not
    less than it is.
    """
    error = error_scale * reach
    return -(error + (np.float32(float_bits(error * _RATIO)) * _BITS - _BIAS))


@inner
def _powers(dots, x_sq, z_sq, most, c, scale, lanes, powers):
    """Exponents of 64 values from dot products; how many of them may need differences."""
    least = _noticed(x_sq + most, scale * (_UNIT * c))
    count = 0
    for lane in range(LANES):
        powers[lane] = scale * (_TWO * dots[lane] - (x_sq + z_sq[lane]))
        # Both may be -inf: then differences decide.
        count += (powers[lane] >= least) & (lane < lanes)
    return count


@inner
def _needs_differences(power, square, c, scale, limit):
    """Whether the value that dot products gave for a pair does not stand."""
    return square > limit and power >= _noticed(square, scale * (_UNIT * c))


@inner(fastmath=REORDERED_MATH)
def _dense_square(x, x_low, z, z_low):
    """|x - z|^2 of dense rows, summed in float64: the same for the rows kept sparse."""
    apart()
    total = 0.0
    for j in range(x.shape[0]):
        d = np.float64((x[j] - z[j]) + (x_low[j] - z_low[j]))
        total += d * d
    return np.float32(total)


@inner
def _low(rows, p):
    """The second part of entry p of sparse rows, if they have one."""
    return rows.low[p] if rows.low.shape[0] else _ZERO


@inner
def _sparse_square(X, i, Z, j):
    """|x_i - z_j|^2 of sparse rows, features in order."""
    apart()
    p, q, p_end, q_end = X.begin[i], Z.begin[j], X.end[i], Z.end[j]
    total = 0.0
    while p < p_end or q < q_end:
        in_x = q >= q_end or (p < p_end and X.indices[p] <= Z.indices[q])
        in_z = p >= p_end or (q < q_end and Z.indices[q] <= X.indices[p])
        high = (X.data[p] if in_x else _ZERO) - (Z.data[q] if in_z else _ZERO)
        low = (_low(X, p) if in_x else _ZERO) - (_low(Z, q) if in_z else _ZERO)
        d = np.float64(high + low)
        total += d * d
        p += in_x
        q += in_z
    return np.float32(total)


@inner
def mend_dense(tile, first, last, X, X_low, x_sq, Z, Z_low, j0, lanes, z_sq, most, gamma):
    """Rows of dot products that ``_kernel_tile`` left become kernel values."""
    apart()
    powers, none = np.empty(LANES, np.float32), np.zeros(X.shape[1], np.float32)
    c, scale = rounding(X.shape[1]), rbf_scale(gamma)
    limit = far_limit(gamma, X.shape[1])
    for i in range(first, last):
        if x_sq[i] + most <= limit:
            continue
        row = tile[i - first]
        if _powers(row, x_sq[i], z_sq, most, c, scale, lanes, powers):
            x_low = X_low[i] if X_low.shape[0] else none
            for lane in range(lanes):
                if _needs_differences(powers[lane], x_sq[i] + z_sq[lane], c, scale, limit):
                    z_low = Z_low[j0 + lane] if Z_low.shape[0] else none
                    square = _dense_square(X[i], x_low, Z[j0 + lane], z_low)
                    powers[lane] = -(scale * square)
        for lane in range(LANES):
            row[lane] = exp2(powers[lane])


@inner
def mend_sparse(tile, first, last, X, x_sq, Z, n_features, j0, lanes, z_sq, most, gamma):
    """As ``mend_dense``, for sparse rows."""
    apart()
    powers = np.empty(LANES, np.float32)
    c, scale = rounding(n_features), rbf_scale(gamma)
    limit = far_limit(gamma, n_features)
    for i in range(first, last):
        if x_sq[i] + most <= limit:
            continue
        row = tile[i - first]
        if _powers(row, x_sq[i], z_sq, most, c, scale, lanes, powers):
            for lane in range(lanes):
                if _needs_differences(powers[lane], x_sq[i] + z_sq[lane], c, scale, limit):
                    powers[lane] = -(scale * _sparse_square(X, i, Z, j0 + lane))
        for lane in range(LANES):
            row[lane] = exp2(powers[lane])


@inner
def dense_row(dots, x, x_sq, Z, z_sq, gamma):
    """Dot products of one dense row with others become kernel values; none has a second part."""
    apart()
    c, scale = rounding(x.shape[0]), rbf_scale(gamma)
    limit, none = far_limit(gamma, x.shape[0]), np.zeros(x.shape[0], np.float32)
    for j in range(dots.shape[0]):
        power = scale * (_TWO * dots[j] - (x_sq + z_sq[j]))
        if _needs_differences(power, x_sq + z_sq[j], c, scale, limit):
            power = -(scale * _dense_square(x, none, Z[j], none))
        dots[j] = exp2(power)
