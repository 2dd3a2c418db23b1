"""The smallest ball around a few balls.

    min_c max_i |c - c_i| + r_i

Given: the inner products of the centres c_i, the squared length ``own_axes[i]`` that each has on
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

import math

import numpy as np

from ..runtime.numerics import curvature_of, jit

GAP = 1e-10
"""Squared distances that differ by less than this part of R^2 are equal."""

_ROUNDS = 100


@jit
def _pair_steps(offset, gram, own_axes, n, weight, along, gap):
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
        curvature = curvature_of(
            gram[up, up] + own_axes[up], gram[down, down] + own_axes[down], gram[up, down]
        )
        step = min(gain / (2.0 * curvature), weight[down])
        weight[down] = 0.0 if step >= weight[down] else weight[down] - step
        weight[up] += step
        for k in range(n):
            along[k] += step * (gram[up, k] - gram[down, k])
        along[up] += step * own_axes[up]
        along[down] -= step * own_axes[down]


def pair_distance(i: int, j: int, gram: np.ndarray, own_axes: np.ndarray) -> float:
    """|c_i - c_j|."""
    square = gram[i, i] + gram[j, j] - 2.0 * gram[i, j] + own_axes[i] + own_axes[j]
    return math.sqrt(max(square, 0.0))


def enclose_pair(
    i: int, j: int, gram: np.ndarray, own_axes: np.ndarray, radius: np.ndarray, weight: np.ndarray
) -> float:
    """Two balls: the new centre lies on the line between theirs."""
    d = pair_distance(i, j, gram, own_axes)
    R = max((d + radius[i] + radius[j]) / 2, radius[i], radius[j])
    weight[j] = min((R - radius[i]) / d, 1.0) if d > 0 else 0.0
    weight[i] = 1.0 - weight[j]
    return float(R)


def closest_pair(
    gram: np.ndarray, own_axes: np.ndarray, radius: np.ndarray, n: int
) -> tuple[int, int]:
    """The two of the first n balls, the earlier one first, whose common ball is the smallest."""
    square, r = gram.diagonal()[:n] + own_axes[:n], radius[:n]
    d = np.sqrt(np.maximum(square[:, None] + square - 2.0 * gram[:n, :n], 0.0))
    R = np.maximum((d + r[:, None] + r) / 2, np.maximum(r[:, None], r))
    R[np.triu_indices(n)] = np.inf
    second, first = np.unravel_index(np.argmin(R), R.shape)
    return int(first), int(second)


def enclose(
    gram: np.ndarray, own_axes: np.ndarray, radius: np.ndarray, n: int, weight: np.ndarray
) -> float:
    """The smallest ball around the first n balls: returns R, fills the weights of its centre."""
    weight[:n] = 0.0
    if n <= 2:
        weight[0] = 1.0
        return float(radius[0]) if n == 1 else enclose_pair(0, 1, gram, own_axes, radius, weight)
    r, w, square = radius[:n], weight[:n], gram.diagonal()[:n] + own_axes[:n]
    largest = int(np.argmax(r))
    w[largest] = 1.0
    along = gram[largest, :n].copy()
    along[largest] += own_axes[largest]
    R, gap = float(r[largest]), GAP * _reach(square, r, w, along) ** 2
    for _ in range(_ROUNDS):
        _pair_steps(square + 2.0 * R * r - r * r, gram, own_axes, n, weight, along, gap)
        flat, mean = w @ (square - along), w @ r
        root = float(mean + np.sqrt(max(mean * mean - w @ (r * r) + flat, 0.0)))
        if root <= R * (1.0 + GAP):
            break
        R = root
    return _reach(square, r, w, along)


def _reach(square: np.ndarray, r: np.ndarray, w: np.ndarray, along: np.ndarray) -> float:
    """max_i |c - c_i| + r_i: what a ball around c must have to enclose all."""
    d = np.sqrt(np.maximum(square - 2.0 * along + w @ along, 0.0))
    return float((d + r).max())
