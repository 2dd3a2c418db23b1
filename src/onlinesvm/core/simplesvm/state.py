"""What SimpleSVM's compiled loops work on: the variables at hand and the working set.

Both are records of few arrays, for every array of a record costs compilation time in each function
that receives it; rows of an array that belong to different things have names.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ZERO, FULL = -1, -2
"""Places of variables at a bound; a variable in the working set has its position instead."""

SINGULAR = 1e-12
"""A pivot below this share of the diagonal counts as zero."""

ROUNDING = 1e-13
"""Residuals below this share of their terms are left alone."""

EDGE = 1e-12
"""A coefficient this near to a bound, as a share of C, is at it when the bias is read."""

M, ADDED, MOST = range(3)
"""Places in ``Work.counts``: members, violators added so far, members allowed."""

DONE, NO_CAPACITY, UNBOUNDED, MORE, GROW = range(5)
"""What ``work`` says: no violator is left, no more members are allowed, there is no solution,
passes used up, the factor must grow to go on."""

IN_TURN, WORST_FIRST, ENROLL = range(3)
"""What ``work`` does."""


BASE, RIDGE, UPPER, ENTRY, SIGN, TOL = range(6)
"""Rows of ``Local.given``: gradient [Ha + c] before anything moved, what is added to the diagonal,
C_i, the entry in its equality row, s_i, the violation that is left alone."""

GROUP, ROW, PLACE = range(3)
"""Rows of ``Local.code``: the equality row, the example, the set that the variable is in."""

STEP, SLOPE = range(2)
"""Rows of ``Work.line``: moves of the members, and their gradients while they are solved for."""

FALL, IMAGE = range(2)
"""Rows of ``Work.low``: Z'moved, and scratch."""


class Local(NamedTuple):
    """The variables at hand. Few arrays: each costs compilation time in every function."""

    K: np.ndarray  # (rows, rows) kernel values of their examples, or (0, 0) where Z is given
    Z: np.ndarray  # (rows, l) with Z Z' = K, or (rows, 0)
    given: np.ndarray  # (6, n) what does not change
    code: np.ndarray  # (3, n) integers
    alpha: np.ndarray  # (n,)
    moved: np.ndarray  # (rows,) sum of s_i times how far alpha_i is from where it was


class Work(NamedTuple):
    """The working set: its members in the order of the factor, multipliers, scratch."""

    U: np.ndarray  # (capacity, capacity); see ``factor``
    V: np.ndarray  # (d + 1, capacity)
    R: np.ndarray  # (l + 1, l + 1) the factor of a low-rank problem with ridge, or (0, 0)
    member: np.ndarray  # (capacity,)
    line: np.ndarray  # (2, capacity)
    low: np.ndarray  # (2, l + 1)
    border: np.ndarray  # (d, d + 3): the border's system and its right side, beta, tau
    counts: np.ndarray  # (3,)
