"""The last examples of a stream, whether they became support vectors or not.

With a window, the finishing step looks at all of them: the model is then the SVM of the window.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..examples import Examples
from ..kernel.rows import Rows, RowStore
from ..kernel.tiles import squared_norms
from ..state.compact import Compact


class Recent(Compact):
    """Between n and 2n examples, of which the last n count; ``first`` is the time of the first."""

    def __init__(self, like: Rows, size: int):
        self.size, self.first = size, 0
        self.store = RowStore(like)
        self.tags = np.empty((64, 2), np.int64)  # label and key
        self.bound, self.diagonal = np.empty(64), np.empty(64)

    def _in_use(self) -> dict[str, Any]:
        n = self.store.n
        return self.__dict__ | {
            "tags": self.tags[:n], "bound": self.bound[:n], "diagonal": self.diagonal[:n],
        }  # fmt: skip

    def append(self, fresh: Examples) -> None:
        """More examples, in order."""
        n = self.store.n
        total = n + len(fresh.rows)
        self.store.append(fresh.rows)
        self._reserve(total)
        self.tags[n:total, 0], self.tags[n:total, 1] = fresh.label, fresh.key
        self.bound[n:total], self.diagonal[n:total] = fresh.bound, fresh.diagonal
        self._trim()

    def append_one(
        self, x: np.ndarray, low: np.ndarray, label: int, bound: float, diagonal: float
    ) -> None:
        """One more dense row, without a key; ``low`` has its second part, or no row."""
        n = self.store.n
        if n + 1 >= len(self.store.dense):
            self.store.reserve(2 * n + 64)
        self._reserve(n + 1)
        self.store.dense[n] = x
        if len(low):
            self.store.reserve_second_parts()
        if len(self.store.low):
            self.store.low[n] = low[0] if len(low) else 0.0
        squared_norms(x[None, :], self.store.squares[n : n + 1])  # as for many rows
        self.store.n = n + 1
        self.tags[n] = label, -1
        self.bound[n], self.diagonal[n] = bound, diagonal
        self._trim()

    def _reserve(self, needed: int) -> None:
        if needed > len(self.bound):
            more = max(needed, 2 * len(self.bound)) - len(self.bound)
            self.tags = np.pad(self.tags, ((0, more), (0, 0)))
            self.bound, self.diagonal = (
                np.pad(self.bound, (0, more)),
                np.pad(self.diagonal, (0, more)),
            )

    def resize(self, size: int) -> None:
        """Another number of examples counts from now on."""
        shrinks, self.size = size < self.size, size
        if shrinks and self.store.n > size:
            self._keep()

    def _trim(self) -> None:
        if self.store.n >= 2 * max(self.size, 32):
            self._keep()

    def _keep(self) -> None:
        """Forget all but those that count."""
        n = self.store.n
        old = n - self.size
        left, kept = np.arange(self.size), slice(old, n)
        self.store.move(left + old, left, self.size)
        for array in (self.tags, self.bound, self.diagonal):
            array[: self.size] = array[kept].copy()
        self.first += old

    def examples(self) -> tuple[Examples, np.ndarray]:
        """The examples that count, and their times of arrival."""
        n = self.store.n
        which = slice(max(0, n - self.size), n)
        rows = self.store.rows().take(which)
        tags = self.tags[which]
        examples = Examples(rows, tags[:, 0], self.bound[which], self.diagonal[which], tags[:, 1])
        return examples, self.first + np.arange(which.start, n)
