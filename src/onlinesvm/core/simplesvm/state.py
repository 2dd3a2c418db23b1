"""What SimpleSVM's compiled loop works on: the variables at hand and the working set.

Both are records of few arrays, because every array of a record costs compilation time; rows of an
array that belong to different things have names.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

ZERO, FULL, GONE = -1, -2, -3
"""Places of variables at a bound, and of one that is left out; a variable in the working set has
its position instead."""

SINGULAR = 1e-12
"""A pivot below this share of the diagonal counts as zero."""

ROUNDING = 1e-13
"""Residuals below this share of their terms are left alone."""

COARSE = 0.1
"""Violations that are smaller than this share of the largest wait."""

EDGE = 1e-12
"""A coefficient this near to a bound, as a share of C, is at it when the bias is read."""

M, ADDED, MOST, NEXT = range(4)
"""Places in ``Work.counts``: members, violators added so far, members allowed, position in the order
of variables."""

DONE, NO_CAPACITY, UNBOUNDED, MORE, GROW, NO_PARTNER = range(6)
"""Outcomes of ``visit``: no violator is left, no more members are allowed, there is no solution,
violators are left, the factor must grow to continue, no other variable is in its equality row."""

IN_TURN, WORST_FIRST, SOLVE, ENROLL, EXPEL = range(5)
"""What ``visit`` does."""

BASE, RIDGE, UPPER, ENTRY, SIGN, TOL, ALPHA, MOVED = range(8)
"""Rows of ``Local.given``: gradient [Ha + c] before anything moved, what is added to the diagonal,
C_i, the entry in its equality row, s_i, the largest violation that is accepted, the coefficient; and
the change of the sum of s_i a_i of each example."""

GROUP, ROW, PLACE = range(3)
"""Rows of ``Local.code``: the equality row, the example, the set that the variable is in."""

STEP, SLOPE = 1, 2
"""Rows of ``Work.V`` after those of the equality rows and that of the joining column: moves of the
members, and their gradients while they are solved for."""

FALL, IMAGE = range(2)
"""Rows of ``low``: Z'moved, and scratch."""


class Values(NamedTuple):
    """Kernel values of the examples at hand: all of them, or a factor. The others are None."""

    K: np.ndarray | None  # (rows, rows)
    Z: np.ndarray | None = None  # (rows, l) with Z Z' = K
    low: np.ndarray | None = None  # (2, l + 1)
    R: np.ndarray | None = None  # (l + 1, l + 1) factor of a problem with ridge; see ``lowrank``


class Local(NamedTuple):
    """The variables at hand."""

    given: np.ndarray  # (8, n)
    code: np.ndarray  # (3, n) integers

    @property
    def alpha(self) -> np.ndarray:
        return self.given[ALPHA]


class Work(NamedTuple):
    """The working set: its members in the order of the factor, multipliers, scratch."""

    U: np.ndarray  # (capacity, capacity); see ``factor``
    V: np.ndarray  # (d + 3, capacity)
    member: np.ndarray  # (capacity,)
    border: np.ndarray  # (d, d + 4); in column d the border's solution, then beta, tau, b - Aa
    counts: np.ndarray  # (4,)


T = TypeVar("T")


def same(thing: T) -> T:
    """Another object with the same attributes; ``copy.copy`` would go the way of pickles."""
    other = object.__new__(type(thing))
    other.__dict__.update(vars(thing))
    return other
