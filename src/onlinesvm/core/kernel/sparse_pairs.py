"""Two sparse rows side by side: the columns in which either has an entry, in order.

Rows are those of CSR matrices (pointer, sorted indices, data), in double precision.
"""

from __future__ import annotations

from ..runtime.numerics import inlined

_BEYOND = 2**62  # no column


@inlined
def next_difference(X, a, a_end, Z, b, b_end):
    """The next column of entries a of X or b of Z, x - z in it, and the entries that follow.

    Entries a_end and b_end are the first beyond the rows; at least one row has an entry left.
    """
    left = X[1][a] if a < a_end else _BEYOND
    right = Z[1][b] if b < b_end else _BEYOND
    difference = 0.0
    if left <= right:
        difference += X[2][a]
        a += 1
    if right <= left:
        difference -= Z[2][b]
        b += 1
    return min(left, right), difference, a, b
