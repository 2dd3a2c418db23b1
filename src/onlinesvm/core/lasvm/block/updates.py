"""Compiled loops that copy kernel values and bring gradients up to date with them."""

from __future__ import annotations

from ...runtime.numerics import REORDERED_MATH, jit

_SPAN = 2048
"""Gradients brought up to date at a time; they stay in the first cache."""


@jit
def gather(pool, places, columns, out):
    """out[i, j] = pool[places[i], columns[j]]."""
    for i in range(places.shape[0]):
        row = pool[places[i]]
        for j in range(columns.shape[0]):
            out[i, j] = row[columns[j]]


@jit(fastmath=REORDERED_MATH)
def subtract_rows(grad, pool, places, change, first, last):
    """grad[s] -= sum_i change[i] pool[places[i], s] for first <= s < last, four rows at a time."""
    fours = places.shape[0] // 4 * 4
    for c0 in range(first, last, _SPAN):
        c1 = min(c0 + _SPAN, last)
        for i in range(0, fours, 4):
            a, b, c, d = change[i], change[i + 1], change[i + 2], change[i + 3]
            row_a, row_b = pool[places[i]], pool[places[i + 1]]
            row_c, row_d = pool[places[i + 2]], pool[places[i + 3]]
            for s in range(c0, c1):
                grad[s] -= a * row_a[s] + b * row_b[s] + c * row_c[s] + d * row_d[s]
        for i in range(fours, places.shape[0]):
            weight, row = change[i], pool[places[i]]
            for s in range(c0, c1):
                grad[s] -= weight * row[s]
