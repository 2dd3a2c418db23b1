"""Memory that is used again, for the kernel values of blocks and working sets.

The system provides new memory page by page and clears each page first, which takes as long as
computing the kernel values that are stored there. Learners take memory that they need repeatedly,
for a short time, from here. Contents are never kept: copies and pickles of buffers are empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .emit.vector import LANES

RESERVE = 4096 * 4096
"""Values a working set's piece has place for at least; what is not used costs no memory."""


def padded(n: int) -> int:
    """n rounded up to whole chunks of a vector."""
    return (n + LANES - 1) // LANES * LANES


class Buffers:
    """One piece of memory for each level of nesting; grows to the largest ever asked for."""

    def __init__(self) -> None:
        self._pieces: dict[int, np.ndarray] = {}
        self._side: list[Buffers] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"_pieces": {}, "_side": []}

    def block(self, rows: int, columns: int, level: int = 0) -> np.ndarray:
        """Memory for rows x columns values, good until the next call at the same level."""
        known = self._pieces.get(level)
        least = 0 if known is None else len(known) + len(known) // 2
        return self._piece(rows * columns, least, level).reshape(rows, columns)

    def square(self, n: int, level: int = 0) -> np.ndarray:
        """The same for the kernel values of a working set: whole chunks, zero beyond column n."""
        width = padded(n)
        K = self._piece(n * width, RESERVE, level).reshape(n, width)
        K[:, n:] = 0.0
        return K

    def _piece(self, size: int, least: int, level: int) -> np.ndarray:
        """``size`` values; where they do not fit yet, a new piece of ``least`` or more."""
        piece = self._pieces.get(level)
        if piece is None or len(piece) < size:
            self._pieces.pop(level, None)  # free the old one before the larger one is allocated
            del piece
            piece = self._pieces[level] = np.empty(max(size, least), np.float32)
        return piece[:size]

    def for_workers(self, count: int) -> list[Buffers]:
        """Buffers for workers that run at the same time."""
        while len(self._side) < count:
            self._side.append(Buffers())
        return self._side[:count]

    def clear(self) -> None:
        """Free the memory."""
        self._pieces.clear()
        self._side.clear()
