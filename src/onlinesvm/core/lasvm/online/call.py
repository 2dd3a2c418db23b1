"""The arguments of the compiled loop: records written down once for many calls.

Compiled functions get the support set, its cache, its limits and the rules as addresses of tables
(``kernel.emit.records``), which are made here, and nowhere else. The order of the arguments is that of
the signatures in ``process``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernel.cache import CACHE, KernelCache
from ...kernel.kernel import Kernel
from ...kernel.tiles.one_row import compiled_params
from ..state import STATE, Support
from .limits import LIMITS
from .memory import Memory
from .policies import POLICIES
from .process import RULES, Rules, online, repeat_reprocess
from .steps import ALONG, Along

NO_SLOTS = np.empty(0, np.int64)
_NO_ROWS = np.empty((1, 0), np.float32)
_NO_SQUARES = np.empty(0, np.float32)
_NO_VALUES = np.empty((1, 1), np.float32)


class Call:
    """The arrays of a support set, its cache and its limits, ready for one call after another.

    ``dense``: rows come as dense rows, and the loop computes their kernel values and moves the rows of
    the store; else kernel values are given.
    """

    def __init__(
        self, support: Support, cache: KernelCache, kernel: Kernel, rules: Rules,
        seeds: np.ndarray, memory: Memory | None, n_labels: int, dense: bool,
    ):  # fmt: skip
        self.cache, self.memory, self.dense = cache, memory, dense
        self.blocks, self.rules = support.blocks, rules
        store, machines = support.store, support.machines
        self.stored = _NO_ROWS, _NO_ROWS, _NO_SQUARES
        self._kernel: tuple[Any, ...] = (np.float32(0.0), None)
        if dense:
            self.stored = store.dense, store.low, store.squares
            self._kernel = compiled_params(kernel, store.n_features)
        self.along = Along(
            *self.blocks[:4], *self.stored, NO_SLOTS, np.zeros(support.capacity, np.float32),
            np.empty(machines), np.zeros(machines, bool),
        )  # fmt: skip
        self.limits, near = None, None
        if memory is not None:
            self.limits = memory.limits(n_labels, kernel.is_distance)
            near = support.a.near if memory.policy == POLICIES[-1] else None
        self._seeds = seeds if rules.listed else None
        self._options = near, self._seeds, None if rules.listed else True, rules.nu or None
        self.tags, self.about = np.array([[0, -1]]), np.ones((1, 2))
        self._tables = [STATE.table(support.a), CACHE.table(cache), ALONG.table(self.along)]
        self._tables.append(RULES.table(rules))
        if self.limits is not None:
            self._tables.append(LIMITS.table(self.limits))
        self._bound = self._arguments(*(table.address for table in self._tables))

    def _arguments(
        self, state: Any, cache: Any, along: Any, rules: Any, limits: Any = None
    ) -> tuple[Any, ...]:
        return *self._kernel, state, cache, along, rules, limits, *self._options

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
            limits = self.limits
            assert limits is not None
            if memory.labels_held is not limits.labels or memory.masses is not limits.masses:
                return False
            if limits.window != (memory.window or 0):
                return False
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
        self._along = ALONG.table(self.along._replace(slot_of=slot_of))
        state, cache, _, *rest = (table.address for table in self._tables)
        bound = self._arguments(state, cache, self._along.address, *rest)
        return online(_NO_ROWS, _NO_ROWS, values, tags, given, about, scores, *bound)

    def reprocess(self, m: int, most: int) -> int:
        """REPROCESS of machine m, ``most`` times at most; rows are the caller's to move."""
        state, cache, along = (table.address for table in self._tables[:3])
        return repeat_reprocess(m, self.rules.epsilon, most, state, cache, along, self._seeds)
