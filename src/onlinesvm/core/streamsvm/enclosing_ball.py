"""The smallest ball around a few balls.

    min_c max_i |c - c_i| + r_i

Given: the inner products of the centres c_i, the squared length ``slack[i]`` that each has on
axes of its own, and the radii r_i. Returned: the radius R, and weights lambda (>= 0, sum 1) of
the centre c = sum_i lambda_i c_i.

At the optimum |c - c_i|^2 + (2 R r_i - r_i^2) <= R^2 for all i. For a fixed R on the left this
is the smallest ball around points that carry squared offsets, a quadratic program over the
simplex:

    V(R) = max_lambda  sum_i lambda_i (|c_i|^2 + 2 R r_i - r_i^2) - |sum_i lambda_i c_i|^2

solved by steps along pairs (one weight up, one down). For its lambda, V(R) = R^2 is a quadratic
equation in R; its root is a lower bound that only grows from round to round, to the solution.
"""

from __future__ import annotations

import numpy as np

from ..numerics import CURVATURE_FLOOR, inlined, jit

GAP = 1e-10
"""Squared distances that differ by less than this part of R^2 are equal."""

_ROUNDS = 100


@inlined
def pair_radius(i, j, gram, slack, radius):
    """Radius of the smallest ball around balls i and j."""
    d = np.sqrt(max(gram[i, i] + gram[j, j] - 2.0 * gram[i, j] + slack[i] + slack[j], 0.0))
    return max((d + radius[i] + radius[j]) / 2, radius[i], radius[j])


@inlined
def enclose_pair(i, j, gram, slack, radius, weight):
    """Two balls: the new centre lies on the line between theirs."""
    d = np.sqrt(max(gram[i, i] + gram[j, j] - 2.0 * gram[i, j] + slack[i] + slack[j], 0.0))
    R = pair_radius(i, j, gram, slack, radius)
    weight[j] = min((R - radius[i]) / d, 1.0) if d > 0 else 0.0
    weight[i] = 1.0 - weight[j]
    return R


@inlined
def _add_column(i, step, gram, slack, n, out):
    """out += step * (inner products of c_i with all centres), own axes included."""
    for k in range(n):
        out[k] += step * gram[i, k]
    out[i] += step * slack[i]


@inlined
def _pair_steps(offset, gram, slack, n, weight, along, gap):
    """Pairs of weights until no pair gains; along[k] = c_k c is kept up to date."""
    for _ in range(100 * n + 1000):
        up, down = 0, -1
        for k in range(n):
            g = offset[k] - 2.0 * along[k]
            if g > offset[up] - 2.0 * along[up]:
                up = k
            if weight[k] > 0.0 and (down < 0 or g < offset[down] - 2.0 * along[down]):
                down = k
        gain = offset[up] - 2.0 * along[up] - offset[down] + 2.0 * along[down]
        if gain <= gap:
            return
        curvature = gram[up, up] + slack[up] + gram[down, down] + slack[down]
        curvature -= 2.0 * gram[up, down]
        step = min(gain / (2.0 * max(curvature, CURVATURE_FLOOR)), weight[down])
        weight[down] = 0.0 if step >= weight[down] else weight[down] - step
        weight[up] += step
        _add_column(up, step, gram, slack, n, along)
        _add_column(down, -step, gram, slack, n, along)


@inlined
def _reach(gram, slack, radius, n, weight, along):
    """max_i |c - c_i| + r_i: what a ball around c must have to enclose all."""
    square = 0.0
    for i in range(n):
        square += weight[i] * along[i]
    R = 0.0
    for i in range(n):
        d = max(gram[i, i] + slack[i] - 2.0 * along[i] + square, 0.0)
        R = max(R, np.sqrt(d) + radius[i])
    return R


@jit
def enclose(gram, slack, radius, n, weight):
    """The smallest ball around the first n balls: returns R, fills the weights of its centre."""
    for i in range(n):
        weight[i] = 0.0
    if n <= 2:
        weight[0] = 1.0
        if n == 1:
            return radius[0]
        return enclose_pair(0, 1, gram, slack, radius, weight)
    along, offset = np.zeros(n), np.zeros(n)
    largest = 0
    for i in range(1, n):
        largest = i if radius[i] > radius[largest] else largest
    weight[largest] = 1.0
    _add_column(largest, 1.0, gram, slack, n, along)
    R = radius[largest]
    scale = _reach(gram, slack, radius, n, weight, along) ** 2
    for _ in range(_ROUNDS):
        for i in range(n):
            offset[i] = gram[i, i] + slack[i] + 2.0 * R * radius[i] - radius[i] * radius[i]
        _pair_steps(offset, gram, slack, n, weight, along, GAP * scale)
        flat, mean, square = 0.0, 0.0, 0.0
        for i in range(n):
            flat += weight[i] * (gram[i, i] + slack[i] - along[i])
            mean += weight[i] * radius[i]
            square += weight[i] * radius[i] * radius[i]
        root = mean + np.sqrt(max(mean * mean - square + flat, 0.0))
        if root <= R * (1.0 + GAP):
            break
        R = root
    return _reach(gram, slack, radius, n, weight, along)
