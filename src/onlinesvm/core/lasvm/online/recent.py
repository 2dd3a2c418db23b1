"""The last examples of a stream, whether they became support vectors or not.

With a window, the finishing step looks at all of them: the model is then the SVM of the window.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...examples import Examples
from ...kernel.rows import Rows, RowStore, dense_sizes
from ...runtime.compact import Compact

_ARRAYS = Examples._fields[1:]


class Recent(Compact):
    """Between n and 2n examples, of which the last n count; ``first`` is the time of the first."""

    def __init__(self, like: Rows, size: int, labels: np.ndarray):
        """``labels``: an empty array of labels, which says what they are (``tasks``)."""
        self.size, self.first = size, 0
        self.store = RowStore(like)
        self.label, self.key = labels[:0], np.empty(0, np.int64)
        self.bound, self.diagonal = np.empty(0), np.empty(0)
        self._reserve(64)

    def _in_use(self) -> dict[str, Any]:
        n = self.store.n
        return self.__dict__ | {name: getattr(self, name)[:n] for name in _ARRAYS}

    def append(self, fresh: Examples) -> None:
        """More examples, in order."""
        n = self.store.n
        total = n + len(fresh.rows)
        self.store.append(fresh.rows)
        self._reserve(total)
        for name in _ARRAYS:
            getattr(self, name)[n:total] = getattr(fresh, name)
        self._trim()

    def append_one(
        self, x: np.ndarray, low: np.ndarray, label: Any, bound: float, diagonal: float
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
        self.store.squares[n : n + 1] = dense_sizes(x[None, :], self.store.absolute)
        self.store.n = n + 1
        self.label[n], self.key[n] = label, -1
        self.bound[n], self.diagonal[n] = bound, diagonal
        self._trim()

    def _reserve(self, needed: int) -> None:
        if needed > len(self.bound):
            more = max(needed, 2 * len(self.bound)) - len(self.bound)
            for name in _ARRAYS:
                array = getattr(self, name)
                empty = np.zeros((more, *array.shape[1:]), array.dtype)
                setattr(self, name, np.concatenate([array, empty]))

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
        for name in _ARRAYS:
            array = getattr(self, name)
            array[: self.size] = array[kept].copy()
        self.first += old

    def examples(self) -> tuple[Examples, np.ndarray]:
        """The examples that count, and their times of arrival."""
        n = self.store.n
        which = slice(max(0, n - self.size), n)
        rows = self.store.rows().take(which)
        examples = Examples(rows, *(getattr(self, name)[which] for name in _ARRAYS))
        return examples, self.first + np.arange(which.start, n)
