"""The RBF kernel's function: from dot products where that is right, else from differences.

    k(x, z) = exp(-gamma |x - z|^2),      |x - z|^2 = |x|^2 + |z|^2 - 2 x.z

The right-hand side costs one dot product, and cancels: in single precision it is off by about
u c (|x|^2 + |z|^2), u = 2^-24, where c grows with the number w of products in the sum. The value
is then off by at most

    k e exp(e),      e = gamma u c (|x|^2 + |z|^2),      c = 3 + 1.25 sqrt(w)

(c is an upper end of what a million random pairs show, x close to z, from 1 feature to 4,000. Where
one feature dominates a row of many, roundings reach up to twice as much; the bound with c = w + 2
is never met). Where that is less than ``TOLERANCE``, which is so for all pairs of
centred data at a usual gamma, and for pairs so far apart that k is zero, the value stands. Other
pairs, few or many, are computed from the differences x_j - z_j. Which way a pair goes depends on
its squared norms and dot product alone, and on both in the same manner: the value is the same to
the last bit wherever it is computed.

A row with gamma |x|^2 > ``FAR_ROW`` is far: it lost digits that matter when it became float32. It
has a second part, x = high + low, and (x_high - z_high) + (x_low - z_low) is right to single precision.
"""

from __future__ import annotations

import math

import numpy as np

from ..numerics import ORDERED_MATH, inner
from .never_inline import never_inline
from .vector import LANES, bits_float, chunk_max, float_bits, panel_squares

TOLERANCE = 9e-6
"""Largest error of a value from dot products, by the formula above; see there for its limits."""

FAR_ROW = 1024.0
"""gamma |x|^2 up to which float32 is enough for a row: rounding it moves no value by more than
2 sqrt(p) exp(-p) 2 u sqrt(FAR_ROW) < 3.4e-6, where p = gamma |x - z|^2."""

LARGEST_GAMMA = 1e38
"""Larger ones stand for this one: gamma log2(e) must be a finite float32."""

MANY = 8
"""From so many of 64 pairs on, differences are computed for all 64 at once."""

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
    power = max(min(power, _ZERO), _LOWEST)
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


@inner(fastmath=ORDERED_MATH)
def _dense_square(x, x_low, z, z_low):
    """|x - z|^2 of dense rows, features in order, as ``panel_squares`` sums them."""
    total = _ZERO
    for j in range(x.shape[0]):
        d = (x[j] - z[j]) + (x_low[j] - z_low[j])
        total += d * d
    return total


@inner
def _low(rows, p):
    """The second part of entry p of sparse rows, if they have one."""
    return rows.low[p] if rows.low.shape[0] else _ZERO


@inner(fastmath=ORDERED_MATH)
def _sparse_square(X, i, Z, j):
    """The same for sparse rows: features that neither has would add zero."""
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


@inner(fastmath=ORDERED_MATH)
def _near_row(row, x_sq, z_sq, scale):
    """64 dot products that are enough become kernel values."""
    for lane in range(LANES):
        row[lane] = rbf(row[lane], x_sq, z_sq[lane], scale)


@inner
def _choose(powers, x_sq, z_sq, lanes, c, scale, limit, chosen):
    """List the lanes whose values do not stand."""
    count = 0
    for lane in range(lanes):
        if _needs_differences(powers[lane], x_sq + z_sq[lane], c, scale, limit):
            chosen[count] = lane
            count += 1
    return count


@inner
def _dense_low(Z_low, j0, lanes, panel):
    """Second parts of rows as a panel."""
    for lane in range(lanes if Z_low.shape[0] else 0):
        for c in range(panel.shape[0]):
            panel[c, lane] = Z_low[j0 + lane, c]


@inner
def rbf_dense(tile, first, last, X, X_low, x_sq, Z, Z_low, panel, j0, lanes, z_sq, gamma):
    """Dot products of the rows first .. last become kernel values, by differences if need be."""
    never_inline()
    width, scale = X.shape[1], rbf_scale(gamma)
    c, limit, most = rounding(width), far_limit(gamma, width), chunk_max(z_sq, 0)
    powers, squares = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    chosen, none = np.empty(LANES, np.int64), np.zeros(width, np.float32)
    low_panel = np.zeros((0, LANES), np.float32)
    for i in range(first, last):
        row, count = tile[i - first], 0
        if x_sq[i] + most <= limit:
            _near_row(row, x_sq[i], z_sq, scale)
            continue
        if _powers(row, x_sq[i], z_sq, most, c, scale, lanes, powers):
            count = _choose(powers, x_sq[i], z_sq, lanes, c, scale, limit, chosen)
        x_low = X_low[i] if X_low.shape[0] else none
        if count >= MANY:
            if not low_panel.shape[0]:
                low_panel = np.zeros((width, LANES), np.float32)
                _dense_low(Z_low, j0, lanes, low_panel)
            panel_squares(X[i], x_low, panel, low_panel, squares, width)
        for q in range(count):
            j = j0 + chosen[q]
            if count < MANY:
                z_low = Z_low[j] if Z_low.shape[0] else none
                squares[chosen[q]] = _dense_square(X[i], x_low, Z[j], z_low)
            powers[chosen[q]] = -(scale * squares[chosen[q]])
        for lane in range(LANES):
            row[lane] = exp2(powers[lane])


@inner
def _spread_row(X, i, values, low, clear):
    """A sparse row as dense ones, or those cleared of it."""
    for p in range(X.begin[i], X.end[i]):
        values[X.indices[p]] = _ZERO if clear else X.data[p]
        low[X.indices[p]] = _ZERO if clear else _low(X, p)


@inner
def _sparse_low(Z, j0, lanes, panel):
    """As ``_dense_low``."""
    for lane in range(lanes if Z.low.shape[0] else 0):
        for p in range(Z.begin[j0 + lane], Z.end[j0 + lane]):
            panel[Z.indices[p], lane] = Z.low[p]


@inner
def rbf_sparse(tile, first, last, X, x_sq, Z, n_features, panel, j0, lanes, z_sq, gamma):
    """As ``rbf_dense``, for sparse rows. ``panel``: row f + 1 is feature f, if it has as many."""
    never_inline()
    scale, in_order = rbf_scale(gamma), panel.shape[0] == n_features + 1
    c, limit, most = rounding(n_features), far_limit(gamma, n_features), chunk_max(z_sq, 0)
    powers, squares = np.empty(LANES, np.float32), np.empty(LANES, np.float32)
    chosen, dense = np.empty(LANES, np.int64), np.zeros((2, 0), np.float32)
    low_panel = np.zeros((0, LANES), np.float32)
    for i in range(first, last):
        row, count = tile[i - first], 0
        if x_sq[i] + most <= limit:
            _near_row(row, x_sq[i], z_sq, scale)
            continue
        if _powers(row, x_sq[i], z_sq, most, c, scale, lanes, powers):
            count = _choose(powers, x_sq[i], z_sq, lanes, c, scale, limit, chosen)
        at_once = in_order and count >= MANY
        if at_once:
            if not low_panel.shape[0]:
                dense = np.zeros((2, n_features), np.float32)
                low_panel = np.zeros((n_features, LANES), np.float32)
                _sparse_low(Z, j0, lanes, low_panel)
            _spread_row(X, i, dense[0], dense[1], False)
            panel_squares(dense[0], dense[1], panel[1:], low_panel, squares, n_features)
            _spread_row(X, i, dense[0], dense[1], True)
        for q in range(count):
            if not at_once:
                squares[chosen[q]] = _sparse_square(X, i, Z, j0 + chosen[q])
            powers[chosen[q]] = -(scale * squares[chosen[q]])
        for lane in range(LANES):
            row[lane] = exp2(powers[lane])


@inner
def dense_row(dots, x, x_sq, Z, z_sq, gamma):
    """Dot products of one dense row with others become kernel values; none has a second part."""
    never_inline()
    c, scale = rounding(x.shape[0]), rbf_scale(gamma)
    limit, none = far_limit(gamma, x.shape[0]), np.zeros(x.shape[0], np.float32)
    for j in range(dots.shape[0]):
        power = scale * (_TWO * dots[j] - (x_sq + z_sq[j]))
        if _needs_differences(power, x_sq + z_sq[j], c, scale, limit):
            power = -(scale * _dense_square(x, none, Z[j], none))
        dots[j] = exp2(power)
