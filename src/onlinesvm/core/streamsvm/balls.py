"""StreamSVM: balls around a stream of examples, in one pass (streamsvm-2008).

    z_n = (y_n phi(x_n), e_n / sqrt(C)),      min_c max_n |c - z_n|

The centre of the smallest ball around all z_n is the l2-SVM without bias, if |phi(x_n)| = 1. Of
a ball is kept: its centre's part w among the phi, the squared length of its part among the axes
e_n (``own_axes``, the text's xi^2), and its radius. An example goes into one ball only, so the axes
of two balls are orthogonal and never need be stored.

Given: a block of fresh examples; ``near[q, k]``, the inner product of example q with centre k at
the block's start; ``gram[q]``, those of example q with the whole block, on demand: the loop
stops and names the example (``state[NEED]``), as it stops when balls must merge. Returned: every centre as a combination of the
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

from ..runtime.numerics import jit
from .enclosing_ball import closest_pair, enclose, enclose_pair

# Places in Balls.state
N, POSITION, NEED, TAKEN, MERGES = range(5)
MERGE = -1
"""``state[NEED]`` where the loop stops because there is a ball too many."""


class Balls(NamedTuple):
    """At most K balls of one machine, and one more in passing."""

    gram: np.ndarray  # (K + 1, K + 1) inner products of the centres, their own axes left out
    own_axes: np.ndarray  # (K + 1,) squared length of each centre on its own axes
    radius: np.ndarray  # (K + 1,)
    state: np.ndarray


class BlockState(NamedTuple):
    """What a block brings and what becomes of it, for one machine."""

    near: np.ndarray  # (block, balls at the start)
    gram: np.ndarray  # (block, block), rows on demand
    known: np.ndarray  # (block,) whether that row is there
    square: np.ndarray  # (block,) |phi(x)|^2
    own_axes: np.ndarray  # (block,) 1 / C
    y: np.ndarray  # (block,) +-1
    old: np.ndarray  # (K + 1, K + 1) weight of each starting centre in each centre
    new: np.ndarray  # (K + 1, block) weight of the t-th example taken in each centre
    taken: np.ndarray  # (block,) which example was the t-th taken


@jit
def online(b, p, n_balls):
    """Go through a block, from where the last call stopped; true when all is done.

    The inner products of z_q with the centres c_j, own axes left out, go to the row of ``b.gram``
    that z_q has if it becomes a ball. First come the balls that can have it inside, d < R: not those
    of radius zero.
    """
    while b.state[N] <= n_balls:
        q, n, t = b.state[POSITION], b.state[N], b.state[TAKEN]
        if q >= p.y.shape[0]:
            return True
        inside = False
        for turn in range(2):
            if turn == 1 and not (inside or p.known[q]):
                b.state[NEED] = q
                return False
            for j in range(n):
                if inside or (b.radius[j] > 0.0) == (turn == 1):
                    continue
                along = 0.0
                for k in range(p.near.shape[1]):
                    along += p.old[j, k] * p.near[q, k]
                for u in range(t):
                    if p.new[j, u] != 0.0:
                        along += p.new[j, u] * p.gram[p.taken[u], q]
                along *= p.y[q]
                b.gram[n, j] = b.gram[j, n] = along
                d = b.gram[j, j] - 2.0 * along + p.square[q] + b.own_axes[j] + p.own_axes[q]
                inside = turn == 0 and d < b.radius[j] * b.radius[j]
        b.state[POSITION] = q + 1
        if inside:
            continue
        b.gram[n, n], b.own_axes[n], b.radius[n] = p.square[q], p.own_axes[q], 0.0
        for k in range(p.old.shape[1]):
            p.old[n, k] = 0.0
        for u in range(t):
            p.new[n, u] = 0.0
        for j in range(n):
            p.new[j, t] = 0.0
        p.new[n, t], p.taken[t] = p.y[q], q
        b.state[N], b.state[TAKEN] = n + 1, t + 1
    b.state[NEED] = MERGE
    return False


def merge(b: Balls, p: BlockState, together: bool) -> None:
    """There is a ball too many: all become one, or the two whose common ball is the smallest."""
    n, taken = int(b.state[N]), int(b.state[TAKEN])
    weight, target, last = np.zeros(n), 0, n - 1
    if together:
        R = enclose(b.gram, b.own_axes, b.radius, n, weight)
    else:
        target, freed = closest_pair(b.gram, b.own_axes, b.radius, n)
        R = enclose_pair(target, freed, b.gram, b.own_axes, b.radius, weight)
    p.old[target] = weight @ p.old[:n]
    p.new[target, :taken] = weight @ p.new[:n, :taken]
    along = weight @ b.gram[:n, :n]
    b.own_axes[target], b.radius[target] = weight**2 @ b.own_axes[:n], R
    b.gram[target, :n] = b.gram[:n, target] = along
    b.gram[target, target] = along @ weight
    b.state[MERGES] += 1
    b.state[N] = 1 if together else last
    if not together and freed != last:  # the last ball takes the free place
        p.old[freed], p.new[freed, :taken] = p.old[last], p.new[last, :taken]
        b.gram[freed, :n] = b.gram[last, :n]
        b.gram[:n, freed] = b.gram[:n, last]
        b.gram[freed, freed] = b.gram[last, last]
        b.own_axes[freed], b.radius[freed] = b.own_axes[last], b.radius[last]
