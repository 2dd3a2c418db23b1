"""Whether single-precision kernel values are precise enough for the coefficients of a model.

    f(x) = sum_s a_s k(x_s, x) + b

Each kernel value has a rounding error of about u |k|, u = 2^-24, and errors of many values add up
like independent ones: f(x) is off by about u sqrt(k(x, x) sum_s a_s^2 k(x_s, x_s)). With large
coefficients (a large C on data that it cannot fit) and large kernel values that can be more than
what the model has learned, while the gap of the optimisation, which has the same errors, is small.
"""

from __future__ import annotations

import numpy as np

LOST = 0.02
"""Error of decision values, in units of the machine, that makes a model useless near its edge."""


def is_precise(alpha: np.ndarray, diagonal: np.ndarray, unit: np.ndarray) -> bool:
    """Whether decision values of the rows held are right to ``LOST``.

    Of the rows held, ``alpha`` (machines, n) are the coefficients and ``diagonal`` is k(x, x).
    """
    size = np.abs(diagonal.astype(np.float64))
    error = 2.0**-24 * np.sqrt(alpha**2 @ size * size.max(initial=0.0))
    return bool((error <= LOST * unit).all())
