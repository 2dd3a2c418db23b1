"""A cache of kernel rows among support vectors, within a memory budget.

A cached row contains K(s, r) for every slot r in use. It is stored in pages of one pool, found
through a table, so that growth adds pages and copies nothing, and memory is touched only when used.
When the pool is full, the least recently used row is dropped; it can be computed again. If the
number of rows is bounded, all pairs are cached (``all_pairs``): each row is one page, as wide as
there are slots, and none is ever dropped.

Compiled loops change the arrays of a cache together with the slots, and return which row is missing.
A learner has an object that keeps one: ``Pages`` or ``AllPairs``, with the same methods. Code that
changes slots in another way calls ``drop`` first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..runtime.compact import Compact
from ..runtime.numerics import inlined, jit, keep_small, linked
from .buffers import padded
from .emit.records import Layout, Numbers, Places, Places2, Values, Values2
from .kernel import Kernel
from .rows import Rows
from .tiles.one_row import EIGHT

PAGE = 512
_FEWEST_ROWS = 8

TOGETHER = 256
"""Rows that a copy or a file has left out and that are computed together."""

COPIED = 32.0
"""Megabytes of values up to which a copy takes them with it."""

# Places in KernelCache.count
FREE, CLOCK = range(2)


class KernelCache(NamedTuple):
    pool: Values2  # (pages, PAGE) float32
    table: Places2  # (capacity, pages of a row) page number
    pages: Numbers  # (capacity,) pages that row s holds; 0: not kept
    stamp: Numbers  # (capacity,) when last used
    free: Places  # a stack of page numbers
    blank: Values  # a page of zeros
    count: Numbers  # type: ignore[assignment]


CACHE = Layout(KernelCache)
cache_of = CACHE.opened


def make_cache(megabytes: float, capacity: int) -> KernelCache:
    """An empty cache for ``capacity`` slots: the budget, but never less than a few rows.

    The whole pool is reserved; the system provides memory page by page when it is written to.
    """
    width = -(-capacity // PAGE)
    n_pages = max(int(megabytes * 2**20) // (4 * PAGE), _FEWEST_ROWS * width)
    return KernelCache(
        pool=np.empty((n_pages, PAGE), np.float32),
        table=np.zeros((capacity, width), np.int32),
        pages=np.zeros(capacity, np.int64),
        stamp=np.zeros(capacity, np.int64),
        free=np.arange(n_pages, dtype=np.int32)[::-1].copy(),
        blank=np.zeros(PAGE, np.float32),
        count=np.array([n_pages, 0]),
    )


def all_pairs(K: np.ndarray, n: int) -> KernelCache:
    """A cache that keeps the whole of K, (capacity, capacity), of which n slots are in use."""
    capacity = len(K)
    pages = np.zeros(capacity, np.int64)
    pages[:n] = 1
    return KernelCache(
        pool=K,
        table=np.arange(capacity, dtype=np.int32)[:, None].copy(),
        pages=pages,
        stamp=np.zeros(capacity, np.int64),
        free=np.arange(capacity, dtype=np.int32)[::-1].copy(),
        blank=np.zeros(capacity, np.float32),
        count=np.array([capacity - n, 0]),
    )


class KeptRows(NamedTuple):
    """Which rows a cache holds, so that a copied or reloaded model behaves the same."""

    capacity: int
    slots: np.ndarray  # least recently used first


def kept_rows(cache: KernelCache, n: int) -> KeptRows:
    """Which rows of the n in use are kept. Their values can be computed again."""
    slots = np.flatnonzero(cache.pages[:n])
    return KeptRows(len(cache.pages), slots[np.argsort(cache.stamp[slots], kind="stable")])


def pages_touched(cache: KernelCache) -> int:
    """Number of the first pages of the pool among which all pages in use are."""
    used = np.ones(len(cache.pool), bool)
    used[cache.free[: cache.count[FREE]]] = False
    return int(np.max(np.flatnonzero(used), initial=-1)) + 1


def copied(cache: KernelCache) -> KernelCache:
    """A cache of the same rows. Pages that come after all those in use are reserved, not touched."""
    pool, n = np.empty_like(cache.pool), pages_touched(cache)
    pool[:n] = cache.pool[:n]
    return KernelCache(pool, *(array.copy() for array in cache[1:]))


def widen(cache: KernelCache, megabytes: float, capacity: int) -> KernelCache:
    """The cache with room for more slots. Pages stay where they are; only the table is copied."""
    old, width = len(cache.pages), -(-capacity // PAGE)
    if len(cache.pool) < _FEWEST_ROWS * width:
        return make_cache(megabytes, capacity)
    more = capacity - old
    return cache._replace(
        table=np.pad(cache.table, ((0, more), (0, width - cache.table.shape[1]))),
        pages=np.pad(cache.pages, (0, more)),
        stamp=np.pad(cache.stamp, (0, more)),
    )


@inlined
def drop_row(c, s):
    """Free the pages of slot s."""
    pages, table, free, count = c.pages, c.table, c.free, c.count
    for p in range(pages[s]):
        free[count[FREE]] = table[s, p]
        count[FREE] += 1
    pages[s] = 0


@inlined
def touch(c, s):
    c.count[CLOCK] += 1
    c.stamp[s] = c.count[CLOCK]


@linked
def _make_room(c, n, needed, spare_a, spare_b):
    """Free pages until ``needed`` are there, oldest rows first, never the two spared."""
    keep_small()
    pages, stamp, count = c.pages, c.stamp, c.count
    while count[FREE] < needed:
        oldest = -1
        for s in range(n):
            if pages[s] > 0 and s != spare_a and s != spare_b:
                if oldest < 0 or stamp[s] < stamp[oldest]:
                    oldest = s
        if oldest < 0:
            return False
        drop_row(c, oldest)
    return True


@jit
def _keep_rows(cache, slots, values, n, spare):
    c = cache_of(cache)
    width = c.pool.shape[1]
    needed, kept = (n + width - 1) // width, 0
    for i in range(slots.shape[0]):
        s = slots[i]
        if not _make_room(c, n, needed, s, spare):
            continue
        for p in range(needed):
            c.count[FREE] -= 1
            page = c.free[c.count[FREE]]
            c.table[s, p] = page
            for r in range(p * width, min(n, (p + 1) * width)):
                c.pool[page, r - p * width] = values[i, r]
        c.pages[s] = needed
        touch(c, s)
        kept += 1
    return kept


def keep_rows(
    cache: KernelCache, slots: np.ndarray, values: np.ndarray, n: int, spare: int = -1
) -> int:
    """Keep K(s, 0..n-1) of these slots, in order; the row ``spare`` must not be dropped for them.

    Returns how many could be kept.
    """
    table = CACHE.table(cache)
    return int(_keep_rows(table.address, slots, np.ascontiguousarray(values), n, spare))


@linked
def add_slot(c, values, n):
    """A new slot n, kept if it can be: every kept row r gains K(r, n). One without a page is lost."""
    keep_small()
    pool, table, pages, free, count = c.pool, c.table, c.pages, c.free, c.count
    width = pool.shape[1]
    page, place = n // width, n % width
    for r in range(n + 1):
        if pages[r] == 0 and r < n:
            continue
        if not _make_room(c, n, page + 1 - pages[r], r, np.int64(-1)):
            drop_row(c, r)
            continue
        while pages[r] <= page:
            count[FREE] -= 1
            table[r, pages[r]] = free[count[FREE]]
            pages[r] += 1
        pool[table[r, page], place] = values[r]
    if pages[n] > 0:
        for p in range(page + 1):
            own, first = pool[table[n, p]], p * width
            for r in range(min(width, n - first)):
                own[r] = values[first + r]
        touch(c, n)


@linked
def move_slot(c, source, target, n):
    """Slot ``source`` (the last) takes the place ``target``: its row, and its value in all rows.

    Where they are the same, its row is dropped.
    """
    pool, table, pages, stamp = c.pool, c.table, c.pages, c.stamp
    width = pool.shape[1]
    drop_row(c, target)
    for p in range(pages[source]):
        table[target, p] = table[source, p]
    pages[target], stamp[target] = pages[source], stamp[source]
    pages[source] = 0
    from_page, from_place = source // width, source % width
    to_page, to_place = target // width, target % width
    for r in range(n if source != target else 0):
        if pages[r] > 0:
            pool[table[r, to_page], to_place] = pool[table[r, from_page], from_place]


@inlined
def trim_rows(c, n):
    """Give back pages that lie wholly beyond slot n - 1."""
    pages, table, free, count, width = c.pages, c.table, c.free, c.count, c.pool.shape[1]
    needed = (n + width - 1) // width
    for r in range(n):
        while pages[r] > needed:
            pages[r] -= 1
            free[count[FREE]] = table[r, pages[r]]
            count[FREE] += 1


@jit
def _add_slot(cache, values, n):
    add_slot(cache_of(cache), values, n)


# -- who keeps them -----------------------------------------------------------------------


class Held(Protocol):
    """Rows that have a slot each: a support set."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def capacity(self) -> int:
        """Number of slots there is space for."""

    def rows(self) -> Rows:
        """The rows."""

    def diagonal(self) -> np.ndarray:
        """k(x, x) of each."""

    def reserve(self, needed: int) -> None:
        """Space for this number of rows, and, where there is not enough, for many more."""

    def grow_to(self, capacity: int) -> None:
        """Space for this number of rows."""


class HeldValues(Compact, ABC):
    """The verbs of both stores."""

    cache: KernelCache | None = None
    """None before the first rows come, and after ``drop``."""
    kept: KeptRows | None = None
    """Rows of a cache that a copy or a file has left out; computed again when values are needed."""

    def __init__(self, held: Held, kernel: Kernel):
        self.held, self.kernel = held, kernel
        self.cache = self.kept = None

    @abstractmethod
    def reserve(self, needed: int) -> None:
        """Space for ``needed`` rows, in what holds them and in the cache."""

    def kept_rows(self) -> KeptRows | None:
        """Which rows of values must last: each that is missing costs evaluations."""
        return None

    def restore(self) -> None:
        """Compute what a file has left out and no loop asks for."""
        return

    def fetch(self, s: int) -> None:
        """Compute and keep the kernel row of slot s."""
        self._keep(np.array([s]))

    def _keep(self, slots: np.ndarray) -> None:
        """Compute and keep the kernel rows of these slots, in order."""
        rows = self.held.rows()
        values = self.kernel.block(rows.take(slots), rows)
        values[np.arange(len(slots)), slots] = self.held.diagonal()[slots]
        assert self.cache is not None
        keep_rows(self.cache, slots, values, self.held.n)

    def drop(self) -> None:
        """Forget values whose slots are about to change."""
        self.cache = self.kept = None


class Pages(HeldValues):
    """Rows of values that were used last."""

    def __init__(self, held: Held, kernel: Kernel, megabytes: float):
        super().__init__(held, kernel)
        self.megabytes = megabytes

    def _lasting(self) -> dict[str, Any]:
        """Values are computed again; which rows are kept must last."""
        return self.__dict__ | {"cache": None, "kept": self.kept_rows()}

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy takes the values with it, unless they are many."""
        twin = super().__deepcopy__(memo)
        if self.cache is not None and pages_touched(self.cache) * 4 * PAGE <= COPIED * 2**20:
            twin.cache, twin.kept = copied(self.cache), None
        return twin

    def kept_rows(self) -> KeptRows | None:
        """Which rows are kept.

        None for a kernel in Python, which is not asked for values on the chance of their use.
        """
        if self.cache is None or not self.kernel.is_compiled:
            return self.kept
        return kept_rows(self.cache, self.held.n)

    def reserve(self, needed: int) -> None:
        if self.cache is None and self.kept is not None:
            self._restore(self.kept)
        self.held.reserve(needed)
        capacity = self.held.capacity
        if self.cache is None:
            self.cache = make_cache(self.megabytes, capacity)
        elif len(self.cache.pages) < capacity:
            self.cache = widen(self.cache, self.megabytes, capacity)

    def _restore(self, kept: KeptRows) -> None:
        """The cache that a copy or a file has left out. Does not count as training."""
        self.kept, count = None, self.kernel.n_evaluations
        if kept.capacity > self.held.capacity:
            self.held.grow_to(kept.capacity)
        self.cache = make_cache(self.megabytes, self.held.capacity)
        rows = self.held.rows()  # how close pairs are computed depends on the others of a block
        together = 1 if self.kernel.needs_differences(rows, rows) else TOGETHER
        for first in range(0, len(kept.slots), together):
            self._keep(kept.slots[first : first + together])
        self.kernel.n_evaluations = count


class AllPairs(HeldValues):
    """The values of all pairs of rows held, of which there are no more than the budget, if any."""

    def __init__(self, held: Held, kernel: Kernel, budget: int | None):
        super().__init__(held, kernel)
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
        rows, n, capacity = self.held.rows(), self.held.n, self.held.capacity
        whole = np.zeros((capacity, capacity), np.float32)
        if n:
            whole[:n, :n] = replace(self.kernel).block(rows, rows) if K is None else K
            whole[np.arange(n), np.arange(n)] = self.held.diagonal()
        self.cache = all_pairs(whole, n)
        self.reserve(n + 1)

    def reserve(self, needed: int) -> None:
        """As always; no more space than the budget takes."""
        if self.cache is not None and needed <= len(self.cache.pages):
            return
        capacity, n = self.held.capacity, self.held.n
        larger = max(2 * capacity if self.cache is not None else capacity, needed)
        if self.budget:
            larger = max(min(larger, self.budget + EIGHT + 2), needed)
        if padded(larger) > capacity:
            self.held.grow_to(larger)
        K = np.zeros((self.held.capacity, self.held.capacity), np.float32)
        if self.cache is not None:
            K[:n, :n] = self.square()
        self.cache = all_pairs(K, n)

    def square(self) -> np.ndarray:
        """K(s, r) of all rows held; a copy."""
        assert self.cache is not None
        return self.cache.pool[self.cache.table[: self.held.n, 0], : self.held.n]

    def add(self, values: np.ndarray) -> None:
        """The row that is about to join, by its values with those held and with itself."""
        assert self.cache is not None
        table = CACHE.table(self.cache)
        _add_slot(table.address, values, self.held.n)
