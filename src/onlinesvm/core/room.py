"""Memory that is used again, for the kernel values of blocks and working sets.

The system hands out fresh memory page by page and clears each page first, which takes as long as
to compute the kernel values that go there. What a learner needs for a moment, again and again, it
takes from here. Contents are never kept: a copy or a pickle of a room is an empty one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import smo

RESERVE = 4096 * 4096
"""Values a piece has place for at least; what is not used costs no memory."""


class Room:
    """One piece of memory for each level of nesting; grows to the largest ever asked for."""

    def __init__(self) -> None:
        self._pieces: dict[int, np.ndarray] = {}
        self._side: list[Room] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"_pieces": {}, "_side": []}

    def block(self, rows: int, columns: int, level: int = 0) -> np.ndarray:
        """Room for so many values, good until the next call at the same level."""
        size = rows * columns
        piece = self._pieces.get(level)
        if piece is None or len(piece) < size:
            self._pieces.pop(level, None)  # before the larger one is there
            del piece
            piece = self._pieces[level] = np.empty(max(size, RESERVE), np.float32)
        return piece[:size].reshape(rows, columns)

    def square(self, n: int, level: int = 0) -> np.ndarray:
        """The same for the kernel values of a working set: whole chunks, zero beyond column n."""
        K = self.block(n, smo.padded(n), level)
        K[:, n:] = 0.0
        return K

    def side_rooms(self, count: int) -> list[Room]:
        """Rooms for workers that work at the same time."""
        while len(self._side) < count:
            self._side.append(Room())
        return self._side[:count]

    def clear(self) -> None:
        """Give the memory back."""
        self._pieces.clear()
        self._side.clear()
