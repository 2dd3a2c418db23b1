"""The store of rows and the support set against a list of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive.lockstep import dense
from scipy import sparse

from onlinesvm.core.examples import Examples
from onlinesvm.core.kernel import rows as rows_module
from onlinesvm.core.kernel.rows import Rows, RowStore, pack
from onlinesvm.core.lasvm.state import Support

seeds = st.integers(0, 2**32 - 1)


def make_rows(rng, n, d=5, as_sparse=False, first_key=0):
    X = np.where(rng.random((n, d)) < 0.5, rng.normal(size=(n, d)), 0.0).astype(np.float32)
    key = np.arange(first_key, first_key + n)
    return Rows.of(sparse.csr_matrix(X) if as_sparse else X, key=key), X


class ListStore:
    """What ``RowStore`` is meant to be."""

    def __init__(self):
        self.rows = []

    def append(self, X, key):
        self.rows += [(tuple(x), k) for x, k in zip(X.tolist(), key.tolist(), strict=True)]

    def rearrange(self, handle, X, key):
        both = self.rows + [(tuple(x), k) for x, k in zip(X.tolist(), key.tolist(), strict=True)]
        self.rows = [both[h] for h in handle]


def assert_equal_stores(store, twin):
    held = store.rows()
    X = dense(held)
    assert store.n == len(held) == len(twin.rows)
    assert [(tuple(x), k) for x, k in zip(X.tolist(), held.key.tolist(), strict=True)] == twin.rows
    np.testing.assert_allclose(held.squares, (X**2).sum(axis=1), rtol=1e-6)


@given(seeds, st.booleans(), st.lists(st.sampled_from("arm"), max_size=25))
def test_store_is_a_list_of_rows(seed, as_sparse, verbs):
    rng = np.random.default_rng(seed)
    like, _ = make_rows(rng, 1, as_sparse=as_sparse)
    store, twin, made = RowStore(like, capacity=2), ListStore(), 0
    for verb in verbs:
        count = int(rng.integers(0, 6))
        # What comes may be dense where sparse rows are kept, and the other way round.
        fresh, X = make_rows(rng, count, as_sparse=bool(rng.integers(2)), first_key=made)
        made += count
        n = store.n
        if verb == "a":
            store.append(fresh)
            twin.append(X, fresh.key)
        elif verb == "r":
            handle = rng.permutation(n + count)[: rng.integers(0, n + count + 1)]
            store.rearrange(handle, fresh)
            twin.rearrange(handle, X, fresh.key)
        elif n:
            left = int(rng.integers(0, n + 1))
            source = rng.permutation(n)[: min(left, 3)]
            target = rng.permutation(left)[: len(source)]
            handle = np.arange(left)
            handle[target] = source
            store.move(source, target, left)
            twin.rearrange(handle, X[:0], fresh.key[:0])
        assert_equal_stores(store, twin)


def test_dead_sparse_rows_do_not_pile_up():
    """A stream that keeps ten rows for ever: memory follows what is held, not what was seen."""
    rng = np.random.default_rng(0)
    like, _ = make_rows(rng, 1, 200, as_sparse=True)
    store, twin = RowStore(like), ListStore()
    for step in range(500):
        fresh, X = make_rows(rng, 10, 200, as_sparse=True, first_key=10 * step)
        handle = np.arange(store.n, store.n + 10)
        store.rearrange(handle, fresh)
        twin.rearrange(handle, X, fresh.key)
    assert_equal_stores(store, twin)
    assert len(store._data) < 10 * 10 * 200


def test_growth_is_not_by_one():
    """Appending n rows one at a time copies O(n) of them, not O(n^2)."""
    rng = np.random.default_rng(1)
    like, _ = make_rows(rng, 1)
    store, copies, real = RowStore(like, capacity=4), [0], rows_module._grown

    def counted(array, used, needed):
        larger = real(array, used, needed)
        copies[0] += used if larger is not array else 0
        return larger

    rows_module._grown = counted
    try:
        for k in range(1000):
            store.append(make_rows(rng, 1, first_key=k)[0])
    finally:
        rows_module._grown = real
    arrays = 3  # rows, squares, keys
    assert copies[0] < 2 * 1000 * arrays


@pytest.mark.parametrize("as_sparse", [False, True])
def test_rows_are_taken_and_packed(as_sparse):
    rows, X = make_rows(np.random.default_rng(2), 20, as_sparse=as_sparse)
    for which in (np.array([3, 3, 0, 19]), slice(4, 9), X[:, 0] > 0, np.array([], int)):
        part = rows.take(which)
        np.testing.assert_array_equal(dense(part), X[which])
        np.testing.assert_array_equal(part.key, np.arange(20)[which])
        if as_sparse:
            packed = pack(part.values)
            np.testing.assert_array_equal(packed.end[:-1], packed.begin[1:])
            assert len(packed.data) == np.count_nonzero(X[which])
    np.testing.assert_array_equal(dense(rows.to_sparse()), X)
    np.testing.assert_array_equal(rows.to_dense().values, X)


def test_rows_of_any_csr():
    """Entries out of order, given in parts, explicit zeros, empty rows, 64-bit indices."""
    odd = sparse.csr_matrix(
        (np.array([1.0, 2.0, 3.0, 0.0, 4.0]), np.array([2, 0, 2, 1, 1]), np.array([0, 3, 3, 5])),
        shape=(3, 4),
    )
    odd.indices, odd.indptr = odd.indices.astype(np.int64), odd.indptr.astype(np.int64)
    before = odd.data.copy(), odd.indices.copy()
    rows = Rows.of(odd)
    np.testing.assert_array_equal(dense(rows), odd.toarray())
    np.testing.assert_array_equal(rows.squares, (odd.toarray() ** 2).sum(axis=1))
    np.testing.assert_array_equal(odd.data, before[0])
    np.testing.assert_array_equal(odd.indices, before[1])


def test_centre_is_taken_off_before_rounding():
    X = 1e6 + np.random.default_rng(3).normal(size=(50, 3))
    centre = X.mean(axis=0)
    rows = Rows.of(X, centre)
    np.testing.assert_allclose(rows.values, X - centre, rtol=1e-6)
    np.testing.assert_allclose(rows.to_array(centre), X, rtol=0, atol=1e-6)


def fresh_of(rows, rng, labels=3):
    n = len(rows)
    return Examples(
        rows, rng.integers(labels, size=n), rng.uniform(1, 2, n), np.ones(n), rows.key.copy()
    )


@given(seeds, st.booleans())
def test_support_keeps_rows_and_coefficients_together(seed, as_sparse):
    """Rows come and go; whatever stays has the coefficients it had, under its own key."""
    rng = np.random.default_rng(seed)
    like, _ = make_rows(rng, 1, as_sparse=as_sparse)
    support, twin, made = Support(like, [0, 1, 2], capacity=2), {}, 0
    for _ in range(8):
        count = int(rng.integers(0, 7))
        rows, X = make_rows(rng, count, as_sparse=as_sparse, first_key=made)
        fresh, grad = fresh_of(rows, rng), rng.normal(size=(3, count))
        made += count
        n = support.n
        support.append(fresh, grad, np.ones((3, count), bool))
        assert not support.a.alpha[:, n : n + count].any()
        support.a.alpha[:, n : n + count] = rng.normal(size=(3, count))
        for q in range(count):
            twin[int(rows.key[q])] = (
                X[q], fresh.label[q], fresh.bound[q], grad[:, q],
                support.a.alpha[:, n + q].copy(),
            )  # fmt: skip
        mask = rng.random(support.n) < 0.6
        for key in support.a.key[: support.n][~mask]:
            del twin[int(key)]
        support.keep(mask)
        assert sorted(support.a.key[: support.n].tolist()) == sorted(twin)
        held = dense(support.rows())
        np.testing.assert_array_equal(support.rows().key, support.a.key[: support.n])
        for s, key in enumerate(support.a.key[: support.n].tolist()):
            X_s, label, bound, g, alpha = twin[key]
            np.testing.assert_array_equal(held[s], X_s)
            assert (support.a.label[s], support.a.bound[s]) == (label, bound)
            np.testing.assert_array_equal(support.a.grad[:, s], g)
            np.testing.assert_array_equal(support.a.alpha[:, s], alpha)


def small_support(n_labels=2, n=12):
    rng = np.random.default_rng(4)
    rows, _ = make_rows(rng, n)
    support = Support(rows, [1] if n_labels == 2 else list(range(n_labels)))
    machines = support.machines
    grad = rng.normal(size=(machines, n))
    support.append(fresh_of(rows, rng, n_labels), grad, np.ones((machines, n), bool))
    low, high = support.bounds()
    support.a.alpha[:, :n] = low + (high - low) * rng.random((machines, n))
    return support


def test_growth_keeps_everything():
    support = small_support()
    before = support.alpha().copy(), support.a.grad[:, :12].copy(), dense(support.rows()).copy()
    support.reserve(1000)
    assert len(support.a.label) >= 1000
    np.testing.assert_array_equal(support.alpha(), before[0])
    np.testing.assert_array_equal(support.a.grad[:, :12], before[1])
    np.testing.assert_array_equal(dense(support.rows()), before[2])


def test_measure_is_equation_10():
    support = small_support()
    support.measure()
    low, high = support.bounds()
    alpha, g = support.alpha()[0], support.a.grad[0, :12]
    g_max, g_min = g[alpha < high[0]].max(), g[alpha > low[0]].min()
    assert support.a.bias[0] == (g_max + g_min) / 2
    assert support.a.delta[0] == g_max - g_min


def test_two_classes_become_one_machine_each():
    """A third label: the binary machine is seen from both sides, the new one starts empty."""
    support = small_support()
    support.measure()
    alpha, bias = support.alpha()[0].copy(), support.a.bias[0]
    support.split_classes()
    support.add_machine(2)
    np.testing.assert_array_equal(support.alpha(), [-alpha, alpha, np.zeros(12)])
    np.testing.assert_array_equal(support.a.bias, [-bias, bias, -1.0])
    assert support.a.member[:2, :12].all()
    assert not support.a.member[2, :12].any()
    low, high = support.bounds()
    assert (support.alpha() >= low).all()
    assert (support.alpha() <= high).all()
