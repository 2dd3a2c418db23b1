"""Kernel values among the rows held, K(s, r), for the loops that learn one example at a time.

Two stores have the same verbs. ``Pages`` keeps the rows that were used last, within ``cache_size``:
a loop that needs another one stops and says which (``State.count[NEED]``), and ``fetch`` computes it.
``AllPairs`` keeps the values of all pairs, for a learner whose memory is bounded: none is ever missing.

Loops change the arrays of ``cache`` (``kernel.cache``) together with the slots. Whoever changes slots in
another way calls ``drop`` first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from ...kernel.cache import (
    CACHE,
    KeptRows,
    KernelCache,
    add_slot,
    all_pairs,
    cache_of,
    keep_row,
    kept_rows,
    make_cache,
    square,
    widen,
)
from ...kernel.kernel import Kernel
from ...kernel.tiles.one_row import EIGHT
from ...runtime.compact import Compact
from ...runtime.numerics import jit
from ..state import Support, padded


class HeldValues(Compact, ABC):
    """The verbs of both stores."""

    cache: KernelCache | None = None
    """None before the first rows come, and after ``drop``."""
    kept: KeptRows | None = None
    """Rows of a cache that a copy or a file has left out; computed again when values are needed."""

    def __init__(self, support: Support, kernel: Kernel):
        self.support, self.kernel = support, kernel
        self.cache = self.kept = None

    @abstractmethod
    def reserve(self, needed: int) -> None:
        """Space for ``needed`` rows, in the support set and in the cache."""

    def kept_rows(self) -> KeptRows | None:
        """Which rows of values must last: each that is missing costs evaluations."""
        return None

    def restore(self) -> None:
        """Compute what a file has left out and no loop asks for."""
        return

    def fetch(self, s: int) -> None:
        """Compute and keep the kernel row of slot s."""
        rows, a = self.support.rows(), self.support.a
        row = self.kernel.block(rows.take(slice(s, s + 1)), rows)[0]
        row[s] = a.diagonal[s]
        assert self.cache is not None
        keep_row(self.cache, s, row, self.support.n, -1)

    def drop(self) -> None:
        """Forget values whose slots are about to change."""
        self.cache = self.kept = None


class Pages(HeldValues):
    """Rows of values that were used last."""

    def __init__(self, support: Support, kernel: Kernel, megabytes: float):
        super().__init__(support, kernel)
        self.megabytes = megabytes

    def _lasting(self) -> dict[str, Any]:
        """Values are computed again; which rows are kept must last."""
        return self.__dict__ | {"cache": None, "kept": self.kept_rows()}

    def kept_rows(self) -> KeptRows | None:
        """Which rows are kept.

        None for a kernel in Python, which is not asked for values on the chance of their use.
        """
        if self.cache is None or not self.kernel.is_compiled:
            return self.kept
        return kept_rows(self.cache, self.support.n)

    def reserve(self, needed: int) -> None:
        if self.cache is None and self.kept is not None:
            self._restore(self.kept)
        self.support.reserve(needed)
        capacity = self.support.capacity
        if self.cache is None:
            self.cache = make_cache(self.megabytes, capacity)
        elif len(self.cache.pages) < capacity:
            self.cache = widen(self.cache, self.megabytes, capacity)

    def _restore(self, kept: KeptRows) -> None:
        """The cache that a copy or a file has left out. Does not count as training."""
        self.kept, count = None, self.kernel.n_evaluations
        if kept.capacity > self.support.capacity:
            self.support.grow_to(kept.capacity)
        self.cache = make_cache(self.megabytes, self.support.capacity)
        for s in kept.slots.tolist():
            self.fetch(s)
        self.kernel.n_evaluations = count


class AllPairs(HeldValues):
    """The values of all pairs of rows held, of which there are no more than the budget, if any."""

    def __init__(self, support: Support, kernel: Kernel, budget: int | None):
        super().__init__(support, kernel)
        self.budget = budget

    def _in_use(self) -> dict[str, Any]:
        """The values of a Python kernel last: it is not asked again, they might differ."""
        asked = self.cache is not None and not self.kernel.is_compiled
        return self._lasting() | {"cache": self.square() if asked else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.restore(self.cache)  # type: ignore[arg-type]

    def restore(self, K: np.ndarray | None = None) -> None:
        """The values among all rows held, which are the same however computed."""
        rows, n, capacity = self.support.rows(), self.support.n, self.support.capacity
        whole = np.zeros((capacity, capacity), np.float32)
        if n:
            whole[:n, :n] = replace(self.kernel).block(rows, rows) if K is None else K
            whole[np.arange(n), np.arange(n)] = self.support.a.diagonal[:n]
        self.cache = all_pairs(whole, n)
        self.reserve(n + 1)

    def reserve(self, needed: int) -> None:
        """As always; no more space than the budget takes."""
        if self.cache is not None and needed <= len(self.cache.pages):
            return
        capacity, n = self.support.capacity, self.support.n
        larger = max(2 * capacity if self.cache is not None else capacity, needed)
        if self.budget:
            larger = max(min(larger, self.budget + EIGHT + 2), needed)
        if padded(larger) > capacity:
            self.support.grow_to(larger)
        K = np.zeros((self.support.capacity, self.support.capacity), np.float32)
        if self.cache is not None:
            K[:n, :n] = self.square()
        self.cache = all_pairs(K, n)

    def square(self) -> np.ndarray:
        """K(s, r) of all rows held; a copy."""
        assert self.cache is not None
        return square(self.cache, self.support.n)

    def add(self, values: np.ndarray) -> None:
        """The row that is about to join, by its values with those held and with itself."""
        assert self.cache is not None
        table = CACHE.table(self.cache)
        _add_slot(table.address, values, self.support.n)


@jit
def _add_slot(cache, values, n):
    add_slot(cache_of(cache), values, n)
