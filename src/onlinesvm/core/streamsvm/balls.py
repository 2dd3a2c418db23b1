"""StreamSVM: balls around a stream of examples, in one pass (streamsvm-2008).

    z_n = (y_n phi(x_n), e_n / sqrt(C)),      min_c max_n |c - z_n|

The centre of the smallest ball around all z_n is the l2-SVM without bias, if |phi(x_n)| = 1. Of
a ball is kept: its centre's part w among the phi, the squared length of its part among the axes
e_n (``slack``, the text's xi^2), and its radius. An example goes into one ball only, so the axes
of two balls are orthogonal and never need be stored.

Given: a block of fresh examples; ``near[q, k]``, the inner product of example q with centre k at
the block's start; ``gram[q]``, those of example q with the whole block, on demand: the loop
stops and names the example (``state[NEED]``). Returned: every centre as a combination of the
centres at the start (``old``) and of the examples taken (``new``).

Notes
-----
Constants: the text starts with xi^2 = 1 and adds delta^2; the axes of length 1/sqrt(C) that it
defines give 1/C and delta^2 / C, as here. The text's d^2 has the right 1/C.

K balls: with ``together`` all but one ball have radius zero (the version that the paper ran):
they are examples that wait outside the ball, and when there are more than K balls all of them
merge into one. Else, the general version: the two balls merge whose common ball is smallest.
With K = 1 both are the one-ball update of the text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics import inlined, jit
from .enclosing_ball import enclose, enclose_pair, pair_radius

# Places in Balls.state
N, POSITION, NEED, TAKEN, MERGES = range(5)


class Balls(NamedTuple):
    """At most K balls of one machine, and one more in passing."""

    gram: np.ndarray  # (K + 1, K + 1) inner products of the centres, their own axes left out
    slack: np.ndarray  # (K + 1,) squared length of each centre on its own axes
    radius: np.ndarray  # (K + 1,)
    state: np.ndarray


class BlockState(NamedTuple):
    """What a block brings and what becomes of it, for one machine."""

    near: np.ndarray  # (block, balls at the start)
    gram: np.ndarray  # (block, block), rows on demand
    known: np.ndarray  # (block,) whether that row is there
    square: np.ndarray  # (block,) |phi(x)|^2
    slack: np.ndarray  # (block,) 1 / C
    y: np.ndarray  # (block,) +-1
    old: np.ndarray  # (K + 1, K + 1) weight of each starting centre in each centre
    new: np.ndarray  # (K + 1, block) weight of the t-th example taken in each centre
    taken: np.ndarray  # (block,) which example was the t-th taken


@inlined
def _along(q, j, b, p):
    """z_q c_j, own axes left out."""
    total = 0.0
    for k in range(p.near.shape[1]):
        total += p.old[j, k] * p.near[q, k]
    for t in range(b.state[TAKEN]):
        if p.new[j, t] != 0.0:
            total += p.new[j, t] * p.gram[p.taken[t], q]
    return p.y[q] * total


@inlined
def _is_inside(q, b, p):
    """Whether a ball has z_q inside: d < R. Balls of radius zero have nothing inside."""
    for j in range(b.state[N]):
        if b.radius[j] > 0.0:
            d = b.gram[j, j] - 2.0 * _along(q, j, b, p) + p.square[q] + b.slack[j] + p.slack[q]
            if d < b.radius[j] * b.radius[j]:
                return True
    return False


@inlined
def take(q, b, p):
    """z_q becomes a ball of radius zero."""
    n, t = b.state[N], b.state[TAKEN]
    for j in range(n):
        b.gram[n, j] = b.gram[j, n] = _along(q, j, b, p)
    b.gram[n, n], b.slack[n], b.radius[n] = p.square[q], p.slack[q], 0.0
    for k in range(p.old.shape[1]):
        p.old[n, k] = 0.0
    for u in range(t):
        p.new[n, u] = 0.0
    for j in range(n):
        p.new[j, t] = 0.0
    p.new[n, t], p.taken[t] = p.y[q], q
    b.state[N], b.state[TAKEN] = n + 1, t + 1


@inlined
def _combine(matrix, width, weight, n, target):
    """Row ``target`` becomes the weighted sum of the first n rows."""
    for k in range(width):
        total = 0.0
        for j in range(n):
            total += weight[j] * matrix[j, k]
        matrix[target, k] = total


@inlined
def _replace(target, R, b, p, weight):
    """Ball ``target`` becomes the one whose centre has the given weights."""
    n = b.state[N]
    slack, square = 0.0, 0.0
    _combine(p.old, p.old.shape[1], weight, n, target)
    _combine(p.new, b.state[TAKEN], weight, n, target)
    for j in range(n):
        slack += weight[j] * weight[j] * b.slack[j]
        for k in range(n):
            square += weight[j] * weight[k] * b.gram[j, k]
    _combine(b.gram, n, weight, n, target)
    for k in range(n):
        b.gram[k, target] = b.gram[target, k]
    b.gram[target, target], b.slack[target], b.radius[target] = square, slack, R
    b.state[MERGES] += 1


@inlined
def _move(source, target, b, p):
    """Ball ``source``, the last, takes the place ``target``."""
    n = b.state[N]
    for k in range(p.old.shape[1]):
        p.old[target, k] = p.old[source, k]
    for t in range(b.state[TAKEN]):
        p.new[target, t] = p.new[source, t]
    for k in range(n):
        b.gram[target, k] = b.gram[source, k]
    for k in range(n):
        b.gram[k, target] = b.gram[k, source]
    b.gram[target, target] = b.gram[source, source]
    b.slack[target], b.radius[target] = b.slack[source], b.radius[source]


@inlined
def merge_all(b, p, weight):
    """Look-ahead: the ball and all that waits outside it become one ball."""
    R = enclose(b.gram, b.slack, b.radius, b.state[N], weight)
    _replace(0, R, b, p, weight)
    b.state[N] = 1


@inlined
def merge_pair(b, p, weight):
    """The two balls merge whose common ball is the smallest."""
    n = b.state[N]
    first, second, least = 0, 1, np.inf
    for i in range(n):
        weight[i] = 0.0
        for j in range(i):
            R = pair_radius(j, i, b.gram, b.slack, b.radius)
            if least > R:
                first, second, least = j, i, R
    R = enclose_pair(first, second, b.gram, b.slack, b.radius, weight)
    _replace(first, R, b, p, weight)
    if second != n - 1:
        _move(n - 1, second, b, p)
    b.state[N] = n - 1


@jit
def online(b, p, n_balls, together, weight):
    """Go through a block, from where the last call stopped; true when all is done.

    ``together`` is True or None, which is another type: only one of the two ways is compiled.
    """
    while b.state[POSITION] < p.y.shape[0]:
        q = b.state[POSITION]
        if not _is_inside(q, b, p):
            if not p.known[q]:
                b.state[NEED] = q
                return False
            take(q, b, p)
            if b.state[N] > n_balls:
                if together is not None:
                    merge_all(b, p, weight)
                else:
                    merge_pair(b, p, weight)
        b.state[POSITION] += 1
    return True
