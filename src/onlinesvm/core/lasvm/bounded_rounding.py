"""LASVM with a bounded memory: gradients are computed anew before rounding errors spoil them.

    g_s = p_s - sum_r a_r K_rs

is kept up to date step by step, and each step adds a rounding error of about eps |a_r K_rs|. While
row r is held such an error is unavoidable: the sum itself has it. But it stays when the row has left,
and on a stream that does not end errors add up. PATH is the sum of |a_r| sqrt(K_rr) over all changes
since the gradients were computed, so that eps PATH sqrt(K_ss) bounds the error of g_s
(|K_rs| <= sqrt(K_rr K_ss)). What is done depends on the examples alone, not on how a stream is cut.
"""

from __future__ import annotations

import numpy as np

from ..kernel.never_inline import never_inline
from ..numerics import inner
from .bounded_steps import ALPHA, GRAD, LENGTH, LINEAR, PATH, UNIT

FINE = 1e6
"""PATH sqrt(K_ss), in units of the machine, below which errors do not matter (1e-10 units)."""

OFTEN = 16.0
"""How many times larger PATH must be than right after the gradients were computed."""


@inner
def mend_gradients(F, K, M, m, n):
    """Compute the gradients of machine m anew if they need it; returns whether they did."""
    never_inline()
    needed = M[PATH, m] * M[LENGTH, m] > FINE * M[UNIT, m]
    if needed:
        path, longest = 0.0, 0.0
        for s in range(n):
            length = np.sqrt(abs(np.float64(K[s, s])))
            path += abs(F[ALPHA, m, s]) * length
            longest = max(longest, length)
        M[LENGTH, m] = longest
        needed = M[PATH, m] > OFTEN * path and M[PATH, m] * longest > FINE * M[UNIT, m]
        if needed:
            M[PATH, m] = path
            F[GRAD, m, :n] = F[LINEAR, m, :n]
            for r in range(n):
                a = F[ALPHA, m, r]
                if a != 0.0:
                    for s in range(n):
                        F[GRAD, m, s] -= a * K[r, s]
    return needed
