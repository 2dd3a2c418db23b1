"""Large arrays in large pages.

The first touch of every 4 KiB page of new memory costs microseconds on a virtual machine, which
for a few megabytes is more than filling them. An array that begins on a boundary of 2 MiB can have
pages of that size.
"""

from __future__ import annotations

import numpy as np

_LARGE_PAGE = 2**21 // 8
"""float64 values in a large page."""


def empty_aligned(n: int, m: int) -> np.ndarray:
    """An (n, m) array of float64, not filled."""
    size = n * m
    if size < _LARGE_PAGE:
        return np.empty((n, m))
    buffer = np.empty((-(-size // _LARGE_PAGE) + 1) * _LARGE_PAGE)
    first = -(buffer.ctypes.data // 8) % _LARGE_PAGE
    return buffer[first : first + size].reshape(n, m)
