"""The arguments of the compiled loop: records taken apart, once for many calls.

To find out the type of a named tuple of arrays takes Numba longer than an example takes to learn, so
compiled functions get arrays one by one. They are put together here, and nowhere else; the order is
that of the signatures in ``process``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernel.cache import KernelCache
from ...kernel.kernel import Kernel
from ...kernel.tiles.one_row import compiled_params
from ..state import Support
from .memory import Memory
from .policies import POLICIES
from .process import Rules, online, repeat_reprocess

NO_SLOTS = np.empty(0, np.int64)
_NO_ROWS = np.empty((1, 0), np.float32)
_NO_SQUARES = np.empty(0, np.float32)
_NO_VALUES = np.empty((1, 1), np.float32)
_NO_REALS, _NO_NUMBERS = np.zeros(2), np.zeros(4, np.int64)


class Call:
    """The arrays of a support set, its cache and its limits, ready for one call after another.

    ``dense``: rows come as dense rows, and the loop computes their kernel values and moves the rows of
    the store; else kernel values are given.
    """

    def __init__(
        self, support: Support, cache: KernelCache, kernel: Kernel, rules: Rules,
        seeds: np.ndarray, memory: Memory | None, n_labels: int, dense: bool,
    ):  # fmt: skip
        self.support, self.cache, self.memory, self.dense = support, cache, memory, dense
        self.blocks, self.rules, self.seeds = support.blocks, rules, seeds
        store, capacity = support.store, support.capacity
        self.stored: tuple[Any, ...] = (_NO_ROWS, _NO_ROWS, _NO_SQUARES)
        self._kernel: tuple[Any, ...] = (np.float32(0.0), None)
        if dense:
            self.stored, self._kernel = _arrays_of(store), compiled_params(kernel, store.n_features)
        self._rules = (
            np.array([rules.delta_max, rules.epsilon, rules.nu]),
            np.array([rules.most, int(rules.listed)]),
        )
        self._limits: tuple[Any, ...] = (_NO_REALS, _NO_NUMBERS, None, None, None)
        if memory is not None:
            near = support.a.near if memory.policy == POLICIES[-1] else None
            reals, numbers = memory.arrays(n_labels, kernel.is_distance)
            self._limits = reals, numbers, memory.labels_held, memory.masses, near
            self._window = numbers
        self._row = np.zeros(capacity, np.float32)
        machines = support.machines
        self.joined, self._g = np.zeros(machines, bool), np.empty(machines)
        self.scores = np.empty((1, machines))
        self.tags, self.about = np.array([[0, -1]]), np.ones((1, 2))
        self._tail = (*self.blocks, *cache)
        self._bound = self._arguments(NO_SLOTS)

    def _arguments(self, slot_of: np.ndarray) -> tuple[Any, ...]:
        return (
            *self._kernel, *self.stored, *self._rules, *self._limits, self.seeds, self.joined,
            slot_of, self._row, self._g, *self._tail,
        )  # fmt: skip

    def fits(
        self, support: Support, cache: KernelCache | None, rules: Rules, memory: Memory | None,
        dense: bool,
    ) -> bool:  # fmt: skip
        """Whether these still are the arrays in use."""
        if self.blocks is not support.blocks or self.cache is not cache or self.dense != dense:
            return False
        if dense:
            store, (rows, low, _) = support.store, self.stored
            if store.dense is not rows or store.low is not low:
                return False
        if memory is not None:
            labels, masses = self._limits[2:4]
            if memory.labels_held is not labels or memory.masses is not masses:
                return False
            self._window[0] = memory.window or 0
        return rules == self.rules

    def learn(
        self, X: np.ndarray, low: np.ndarray, tags: np.ndarray, given: np.ndarray,
        about: np.ndarray, scores: np.ndarray,
    ) -> int:  # fmt: skip
        """Dense examples, from where the last call stopped; returns how many are done."""
        return online(X, low, _NO_VALUES, tags, given, about, scores, *self._bound)

    def learn_known(
        self, values: np.ndarray, tags: np.ndarray, given: np.ndarray, about: np.ndarray,
        scores: np.ndarray, slot_of: np.ndarray = NO_SLOTS,
    ) -> int:  # fmt: skip
        """Examples whose kernel values are known: with the support set, then among themselves."""
        rest = self._bound if slot_of is NO_SLOTS else self._arguments(slot_of)
        return online(_NO_ROWS, _NO_ROWS, values, tags, given, about, scores, *rest)

    def reprocess(self, m: int, most: int) -> int:
        """REPROCESS of machine m, ``most`` times at most; rows are the caller's to move."""
        stored = (_NO_ROWS, _NO_ROWS, _NO_SQUARES)
        rest = *stored, self._row, NO_SLOTS, *self._tail
        return repeat_reprocess(m, self.rules.epsilon, most, *rest)


def _arrays_of(store: Any) -> tuple[Any, ...]:
    return store.dense, store.low, store.squares
