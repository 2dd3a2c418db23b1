"""Kernel rows among support vectors, kept within a memory budget.

A kept row holds K(s, r) for every slot r in use. It lies in pages of one pool, found through a
table, so that growth adds pages and copies nothing, and memory is touched only when used. When
the pool runs out, the row not used for longest gives up its pages; it can be computed again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..numerics import inlined, inner, jit
from .never_inline import never_inline

PAGE = 512
_FEWEST_ROWS = 8
# Places in KernelCache.count
FREE, CLOCK = range(2)


class KernelCache(NamedTuple):
    pool: np.ndarray  # (pages, PAGE) float32
    table: np.ndarray  # (capacity, pages of a row) page number
    pages: np.ndarray  # (capacity,) pages that row s holds; 0: not kept
    stamp: np.ndarray  # (capacity,) when last used
    free: np.ndarray  # a stack of page numbers
    count: np.ndarray  # type: ignore[assignment]


def make_cache(megabytes: float, capacity: int) -> KernelCache:
    """An empty cache for ``capacity`` slots: the budget, but never less than a few rows.

    The pool is reserved whole; the system provides memory page by page as it is written.
    """
    width = -(-capacity // PAGE)
    n_pages = max(int(megabytes * 2**20) // (4 * PAGE), _FEWEST_ROWS * width)
    return KernelCache(
        pool=np.empty((n_pages, PAGE), np.float32),
        table=np.zeros((capacity, width), np.int32),
        pages=np.zeros(capacity, np.int64),
        stamp=np.zeros(capacity, np.int64),
        free=np.arange(n_pages, dtype=np.int32)[::-1].copy(),
        count=np.array([n_pages, 0]),
    )


class KeptRows(NamedTuple):
    """What of a cache must last where the choice of a row depends on which rows are kept."""

    capacity: int
    slots: np.ndarray  # least recently used first


def kept_rows(cache: KernelCache, n: int) -> KeptRows:
    """Which rows of the n in use are kept. Their values can be computed again."""
    slots = np.flatnonzero(cache.pages[:n])
    return KeptRows(len(cache.pages), slots[np.argsort(cache.stamp[slots], kind="stable")])


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
    """Slot s gives its pages back."""
    pages, table, free, count = c.pages, c.table, c.free, c.count
    for p in range(pages[s]):
        free[count[FREE]] = table[s, p]
        count[FREE] += 1
    pages[s] = 0


@inlined
def touch(c, s):
    c.count[CLOCK] += 1
    c.stamp[s] = c.count[CLOCK]


@inlined
def _make_room(c, n, needed, spare_a, spare_b):
    """Free pages until ``needed`` are there, oldest rows first, never the two spared."""
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
def keep_row(c, s, values, n, spare):
    """Keep K(s, 0..n-1). The row ``spare`` must not make way for it."""
    needed = (n + PAGE - 1) // PAGE
    if not _make_room(c, n, needed, s, spare):
        return False
    for p in range(needed):
        c.count[FREE] -= 1
        page = c.free[c.count[FREE]]
        c.table[s, p] = page
        for r in range(p * PAGE, min(n, (p + 1) * PAGE)):
            c.pool[page, r - p * PAGE] = values[r]
    c.pages[s] = needed
    touch(c, s)
    return True


@inlined
def extend_rows(c, values, n):
    """A new slot n: every kept row r gains the value K(r, n). A row that finds no page is lost."""
    page, place = n // PAGE, n % PAGE
    for r in range(n):
        if c.pages[r] == 0:
            continue
        if page >= c.pages[r]:
            if not _make_room(c, n, np.int64(1), r, np.int64(-1)):
                drop_row(c, r)
                continue
            c.count[FREE] -= 1
            c.table[r, page] = c.free[c.count[FREE]]
            c.pages[r] = page + 1
        c.pool[c.table[r, page], place] = values[r]


@inner(_nrt=False)
def add_slot(c, values, n):
    """A new slot n, kept if it can be: every kept row r gains K(r, n), as in ``extend_rows``."""
    never_inline()
    pool, table, pages, free, count = c.pool, c.table, c.pages, c.free, c.count
    page, place = n // PAGE, n % PAGE
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
        for r in range(n):
            pool[table[n, r // PAGE], r % PAGE] = values[r]
        touch(c, n)


@inlined
def move_slot(c, source, target, n):
    """Slot ``source`` (the last) takes the place ``target``: its row, and its value in all rows.

    Where they are the same, its row is dropped.
    """
    pool, table, pages, stamp = c.pool, c.table, c.pages, c.stamp
    drop_row(c, target)
    for p in range(pages[source]):
        table[target, p] = table[source, p]
    pages[target], stamp[target] = pages[source], stamp[source]
    pages[source] = 0
    from_page, from_place = source // PAGE, source % PAGE
    to_page, to_place = target // PAGE, target % PAGE
    for r in range(n if source != target else 0):
        if pages[r] > 0:
            pool[table[r, to_page], to_place] = pool[table[r, from_page], from_place]


@inlined
def trim_rows(c, n):
    """Give back pages that lie wholly beyond slot n - 1."""
    pages, table, free, count = c.pages, c.table, c.free, c.count
    needed = (n + PAGE - 1) // PAGE
    for r in range(n):
        while pages[r] > needed:
            pages[r] -= 1
            free[count[FREE]] = table[r, pages[r]]
            count[FREE] += 1
