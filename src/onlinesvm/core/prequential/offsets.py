"""What is added to quantiles so that the share of new targets below each is the one asked for.

Given: errors e = y - f(x) of examples by models that had not learned them, f the machine of the
quantile tau, and a weight for each. Returned: the offset o, to be added to f,

    o = quantile a of the errors

where a is tau if the order of the examples meant nothing. On a stream the last ``WINDOW`` errors count
(``residuals``), and a follows the misses, as the shares of intervals do:

    a <- a + RATE (tau - (e < o)),     e = o counting as neither

so that the share of targets below f(x) + o, each predicted before it was learned, differs from tau by at
most 1 / (RATE T) over T examples, whatever they are, as long as a does not leave [0, 1].

Each machine has its own. Several quantiles of one target are predicted in ascending order, so where they
cross, the outer ones lie farther out than their machines. (To move a until the share below what is
predicted is tau is no remedy: machines that cross all the time change places.)

A machine has the share tau of the targets that it has learned below it, by optimality. Where it can
follow them closely, new ones are farther away: if an example is left out, its error grows in the
direction of the sign of its coefficient. Offsets of this kind are conformalised quantile regression
(Romano, Patterson, Candes 2019), for each quantile by itself.

The quantile a of n errors is their value at the place a (n + 1), between two of them in proportion: of
exchangeable errors, the next one lies below with probability a, without a share for rounding up.
"""

from __future__ import annotations

import numpy as np

RATE = 0.01
"""How far a share moves at a miss."""


def quantiles_of(errors: np.ndarray, weight: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The quantile of each column of errors (n, machines) at the share of its machine."""
    counted = weight > 0.0
    if not counted.all():
        errors, weight = errors[counted], weight[counted]
    if not len(errors):
        return np.zeros(errors.shape[1])
    if (weight == weight[0]).all():
        columns = zip(errors.T, shares, strict=True)
        return np.array([_at(column, share * (len(errors) + 1) - 1.0) for column, share in columns])
    order = np.argsort(errors, axis=0, kind="stable")
    found = np.empty(len(shares))
    for m, share in enumerate(shares):
        passed = np.cumsum(weight[order[:, m]])
        found[m] = np.interp(share * (passed[-1] + weight.mean()), passed, errors[order[:, m], m])
    return found


def _at(values: np.ndarray, place: float) -> float:
    """The value at a place of the order, counted from 0."""
    last = len(values) - 1
    place = min(max(place, 0.0), float(last))
    low = int(place)
    part = np.partition(values, (low, min(low + 1, last)))
    return float(part[low] + (place - low) * (part[min(low + 1, last)] - part[low]))


def followed(
    shares: np.ndarray, levels: np.ndarray, offsets: np.ndarray, errors: np.ndarray,
    weight: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """The shares after examples with these errors (n, machines), predicted with these offsets."""
    below = np.where(errors == offsets, levels, errors < offsets)
    most = weight.max(initial=0.0)
    scaled = weight / most if most > 0.0 else weight  # a heavy example counts no more than one
    moved = shares + RATE * ((levels - below) * scaled[:, None]).sum(axis=0)
    return np.clip(moved, 0.0, 1.0)
