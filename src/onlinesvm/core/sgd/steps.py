"""Stochastic gradient steps on a kernel expansion (olsvm-2016, Lists 1, 2, 3a, 3b).

    R_rhl = C sum_i max(0, 1 - y_i o(x_i)) + 1/2 |o|^2      (1)   NORMA, Pegaz, OL SVM List 3a
    R_hl  =   sum_i max(0, 1 - y_i o(x_i))                  (2)   OL SVM List 3b
    o(x)  =   sum_i alpha_i k(x, x_i) + b                   (7)

Given a block of examples in the order in which they come, the outputs o that the expansion has
for them before the block, and their kernel values among themselves, ``online`` goes through the
block one example after the other. The kernel perceptron (lasvm-2005, section 2.2) is the same
with a step of one and no margin.

Coefficients shrink lazily. With a scale s that is the same for a whole machine,

    alpha_i = s a_i,   o(x_i) = s out_i,

so that (1 - eta / C) alpha and eta beta cost one multiplication. The average of all past states
needs no copies either: with Z the sum of s over the steps made, sum_t alpha_i(t) = a_i Z + past_i,
where a change d of a_i adds -d Z to past_i. When s has become small, a, out and past take it in
and s is 1 again; what this does to coefficients outside the block is told by ``factor`` and
``carried``:   past += a * carried,  then  a, out *= factor.

Symbols: t step, eta = C sqrt(2 / t), ``rate`` = sqrt(2 / t) = eta / C; ``bound`` is C times the
example's weight, so ``bound * rate`` is the step along its loss; k the machines, q an example.

Notes
-----
In List 1, 1 - eta / C is negative at t = 1 and zero at t = 2. At t = 1 there is nothing to shrink
yet; at t = 2 the first example is forgotten. The list is followed.
The lists start again with ``i = 0`` after an epoch where 1 is meant.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..runtime.numerics import REORDERED_MATH, inlined, jit

NORMA, PEGAZ, HINGE, REGULARIZED_HINGE, PERCEPTRON = range(5)

SMALL = 1e-3
"""Scales below this are taken in: averages would lose digits to a Z that no longer grows."""


class Machines(NamedTuple):
    """Scalars of each machine, (machines,) each."""

    positive: np.ndarray  # the label it calls +1
    step: np.ndarray  # t
    scale: np.ndarray  # s
    total: np.ndarray  # Z; stays 0 where no average is wanted
    bias: np.ndarray
    bias_past: np.ndarray  # sum_t bias(t) = bias t + bias_past
    factor: np.ndarray
    carried: np.ndarray


@inlined
def _take_in(m, scale, out, coef, past, k):
    """The scale becomes 1; a, out and past take ``scale`` in."""
    for p in range(coef.shape[1]):
        past[m, p] += coef[m, p] * k.total[m]
        coef[m, p] *= scale
        out[m, p] *= scale
    k.carried[m] += k.factor[m] * k.total[m]
    k.factor[m] *= scale
    k.total[m] = 0.0
    k.scale[m] = 1.0


@inlined
def _norma(m, q, y, violates, step, rate, out, coef, past, k):
    """List 1: all but alpha_i shrink; a violator's alpha_i is set. Returns the change of a_i."""
    own = step * y if violates else k.scale[m] * coef[m, q]
    k.scale[m] *= max(1.0 - rate, 0.0)
    if k.scale[m] < SMALL:
        _take_in(m, k.scale[m], out, coef, past, k)
    return own / k.scale[m] - coef[m, q]


@inlined
def _loss_change(rule, m, q, y, margin, bound, rate, coef):
    """Lists 2, 3a, 3b and the perceptron: the change of a_i."""
    if rule == PEGAZ:
        return bound * y if margin <= 1.0 else 0.0
    if rule == PERCEPTRON:
        return y if margin <= 0.0 else 0.0
    change = bound * rate * y if margin < 1.0 else 0.0
    if rule == REGULARIZED_HINGE and margin != 1.0:
        change -= rate * coef[m, q]
    return change


@jit
def online(values, label, bound, out, coef, past, k, rule, averages, has_bias):
    """One pass over a block; out, coef, past are (machines, block) and change in place."""
    n = label.shape[0]
    for q in range(n):
        for m in range(k.step.shape[0]):
            y = 1.0 if label[q] == k.positive[m] else -1.0
            k.step[m] += 1
            rate = math.sqrt(2.0 / k.step[m])
            step = bound[q] * rate
            if rule == PEGAZ:
                k.scale[m] = rate
            margin = y * (k.scale[m] * out[m, q] + k.bias[m])
            if rule == NORMA:
                change = _norma(m, q, y, margin <= 1.0, step, rate, out, coef, past, k)
            else:
                change = _loss_change(rule, m, q, y, margin, bound[q], rate, coef)
            if has_bias and margin < 1.0:  # eq. (6)
                k.bias[m] += step * y
                k.bias_past[m] -= step * y * (k.step[m] - 1)
            if change != 0.0:
                coef[m, q] += change
                past[m, q] -= change * k.total[m]
                for p in range(q + 1, n):
                    out[m, p] += change * values[q, p]
            if averages:
                k.total[m] += k.scale[m]


@jit(fastmath=REORDERED_MATH)
def weigh(values, coef, out):
    """out[m, i] += sum_j values[i, j] coef[m, j]: kept kernel columns, used again."""
    for i in range(values.shape[0]):
        for m in range(coef.shape[0]):
            total = 0.0
            for j in range(coef.shape[1]):
                total += values[i, j] * coef[m, j]
            out[m, i] += total
