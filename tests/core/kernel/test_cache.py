"""The paged cache of kernel rows against a dictionary, and its promise to stay within memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinesvm.core.kernel import cache
from onlinesvm.core.kernel.emit import records

FREE = cache.FREE


@pytest.fixture(scope="module", autouse=True)
def plain_pages_of_four():
    """The same loops as plain Python, with pages so short that small rows have many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache, "keep_small", lambda: None)
        patch.setattr(cache, "cache_of", lambda record: record)
        patch.setattr(records.Table, "address", property(lambda table: table.record))
        for name, value in list(vars(cache).items()):
            if hasattr(value, "py_func"):
                patch.setattr(cache, name, value.py_func)
        patch.setattr(cache, "PAGE", 4)
        yield


def keep_row(c, s, values, n, spare):
    return cache.keep_rows(c, np.array([s]), values[None], n, spare) == 1


class DictCache:
    """Rows by slot; the kernel values come from a function of the examples' names."""

    def __init__(self):
        self.names, self.rows = [], {}

    def values(self, s):
        name = self.names[s]
        return [np.float32(np.sin(7.0 * (name + r)) + name * r) for r in self.names]


def check(c, twin, n):
    """What is kept is right, and no page is lost or used twice."""
    used = []
    for s in range(n):
        pages = c.table[s, : c.pages[s]]
        used += pages.tolist()
        if c.pages[s]:
            row = c.pool[pages].ravel()[:n]
            np.testing.assert_array_equal(row, twin.values(s))
    assert not c.pages[n:].any()
    assert sorted(used + c.free[: c.count[FREE]].tolist()) == list(range(len(c.pool)))


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 60),
    st.lists(st.sampled_from("eeekkktmr"), max_size=60),
)
def test_cache_is_a_dictionary_of_rows(seed, n_pages, verbs):
    rng = np.random.default_rng(seed)
    capacity = 24
    c = cache.make_cache(n_pages * 16 / 2**20, capacity)
    twin, name = DictCache(), 0
    for verb in verbs:
        n = len(twin.names)
        if verb == "e" and n < capacity:  # a new slot, with its own row if there is space
            name += 1
            twin.names.append(name)
            cache.add_slot(c, np.array(twin.values(n), np.float32), n)
        elif verb == "k" and n:
            s = int(rng.integers(n))
            if c.pages[s] == 0:
                assert keep_row(c, s, np.array(twin.values(s), np.float32), n, -1)
                assert c.pages[s]
        elif verb == "t" and n:
            cache.touch(c, int(rng.integers(n)))
        elif verb in "mr" and n:  # a slot is released: the last takes its place
            s, last = int(rng.integers(n)), n - 1
            if s != last:
                cache.move_slot(c, last, s, last)
                twin.names[s] = twin.names[last]
            else:
                cache.drop_row(c, s)
            twin.names.pop()
            if verb == "m":
                cache.trim_rows(c, n - 1)
        check(c, twin, len(twin.names))


def filled(n_rows, n, megabytes):
    c = cache.make_cache(megabytes, n)
    for s in range(n_rows):
        keep_row(c, s, np.full(n, s, np.float32), n, -1)
    return c


def test_the_row_not_used_for_longest_makes_way():
    c = filled(8, 8, 1e-9)
    cache.touch(c, 0)
    assert not c.count[FREE]
    c = cache.widen(c, 1e-9, 8)
    cache.drop_row(c, 7)
    keep_row(c, 7, np.zeros(8, np.float32), 8, -1)
    assert (c.pages[:8] > 0).all()
    larger = cache.make_cache(1e-9, 9)  # three pages a row, room for eight rows of them
    for s in range(9):
        if s == 8:
            cache.touch(larger, 0)
        keep_row(larger, s, np.zeros(9, np.float32), 9, -1)
    assert larger.pages[0] > 0
    assert larger.pages[1] == 0


def test_the_spared_row_stays():
    c = cache.make_cache(1e-9, 9)
    for s in range(9):
        keep_row(c, s, np.zeros(9, np.float32), 9, 0)
    assert c.pages[0] > 0


def test_memory_is_the_budget():
    c = cache.make_cache(1.0, 1000)
    assert c.pool.nbytes == 2**20


def test_growth_copies_no_kernel_values():
    c = filled(8, 8, 1.0)
    wider = cache.widen(c, 1.0, 64)
    assert wider.pool is c.pool
    assert wider.table.shape == (64, 16)
    np.testing.assert_array_equal(wider.pages[:8], c.pages[:8])


def test_a_pool_too_small_for_longer_rows_is_made_anew():
    c = filled(8, 8, 1e-9)
    wider = cache.widen(c, 1e-9, 64)
    assert not wider.pages.any()
    assert keep_row(wider, 0, np.zeros(64, np.float32), 64, -1)


def test_a_copy_has_the_same_rows_and_its_own_memory():
    c = filled(6, 9, 1e-9)
    cache.drop_row(c, 2)
    other = cache.copied(c)
    for own, copy in zip(c[1:], other[1:], strict=True):
        np.testing.assert_array_equal(own, copy)
        assert not np.shares_memory(own, copy)
    for s in np.flatnonzero(c.pages):
        pages = c.table[s, : c.pages[s]]
        np.testing.assert_array_equal(c.pool[pages], other.pool[pages])
    assert cache.pages_touched(other) == 6 * 3  # the first page is free, the last in use
    keep_row(other, 2, np.ones(9, np.float32), 9, -1)
    assert c.pages[2] == 0
