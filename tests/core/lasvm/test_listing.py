"""The one-by-one form is the listing of lasvm-2005: its naive twin agrees after every step."""

import numpy as np
import pytest
from naive.lasvm import SEEDS, NaiveLASVM, NaiveOneVsRest, seeds_first
from naive.lockstep import Lockstep, assert_same
from scipy import sparse
from sklearn.datasets import load_digits, make_moons
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier
from onlinesvm.core.kernel import cache
from onlinesvm.core.kernel.emit import records
from onlinesvm.core.kernel.emit.slopes import plain_shift
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.lasvm import learner as lasvm_learner
from onlinesvm.core.lasvm import state
from onlinesvm.core.lasvm.online import process as lasvm
from onlinesvm.core.lasvm.online import steps as lasvm_steps
from onlinesvm.core.runtime import numerics

TINY, AMPLE = 1e-6, 1.0  # MB: a handful of rows, and all of them


def noise(rng, n=60, classes=2):
    return rng.normal(size=(n, 4)), rng.integers(classes, size=n)


def clusters(rng, n=80, classes=2):
    label = rng.integers(classes, size=n)
    return rng.normal(size=(classes, 4))[label] * 2 + rng.normal(size=(n, 4)), label


def duplicates(rng, n=60):
    X, label = clusters(rng, n // 4)
    again = rng.integers(len(X), size=n)
    return X[again], label[again]


def contradictions(rng, n=60):
    X, label = duplicates(rng, n)
    return X, np.where(rng.random(n) < 0.3, 1 - label, label)


def grid(rng, n=60):
    """Small integers: many examples with exactly the same kernel values and gradients."""
    return rng.integers(-1, 2, size=(n, 2)).astype(float), rng.integers(2, size=n)


def late_class(rng, n=60):
    """A stream that shows one class only for a long time."""
    X, label = clusters(rng, n)
    order = np.argsort(label, kind="stable")
    return X[order], label[order]


def sparse_rows(rng, n=60):
    X, label = clusters(rng, n)
    return sparse.csr_matrix(np.where(np.abs(X) > 1, X, 0.0)), label


def three(rng):
    return clusters(rng, 80, classes=3)


def four_noisy(rng):
    return noise(rng, 60, classes=4)


MAKERS = [
    noise, clusters, duplicates, contradictions, grid, late_class, sparse_rows, three, four_noisy,
]  # fmt: skip
KERNELS = {
    "linear": {"name": "linear"},
    "rbf": {"name": "rbf", "gamma": 0.3},
    "poly": {"name": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2},
}

every_maker = pytest.mark.parametrize("make", MAKERS)
both_kernels = pytest.mark.parametrize("kernel", ["linear", "rbf"])
both_caches = pytest.mark.parametrize("cache_size", [TINY, AMPLE])


def pair(make, kernel, seed=0, **options):
    X, label = make(np.random.default_rng(seed))
    return Lockstep(X, label, Kernel(**KERNELS[kernel]), **options)


@pytest.fixture
def plain(monkeypatch):
    """The loops of the listing as plain Python, so that a test can look between their steps."""
    monkeypatch.setattr(records.Table, "address", property(lambda table: table.record))
    for module in (numerics, cache, lasvm, lasvm_steps, state, lasvm_learner):
        for name in ("never_inline", "keep_small"):  # intrinsics
            monkeypatch.setattr(module, name, lambda: None, raising=False)
        for name in ("state_of", "cache_of", "along_of", "rules_of", "limits_of"):
            monkeypatch.setattr(module, name, lambda record: record, raising=False)
        if hasattr(module, "shift_slopes"):
            monkeypatch.setattr(module, "shift_slopes", plain_shift)
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)


class Watch:
    """Stands in for ``lasvm.reprocess``: compares before it, which is after PROCESS, and after."""

    def __init__(self, both):
        self.both, self.real = both, lasvm.reprocess
        self.finishing, self.joined, self.made, self.steps = False, [], set(), []

    def __call__(self, m, *rest):
        twin = self.both.twin.machines[m]
        if not self.finishing and m not in self.made:
            self.made.add(m)
            if self.joined[m]:
                twin.search(self.k)
            self.both.compare_machine(m)
            self.steps.append("process")
        result = self.real(m, *rest)
        if result != lasvm.NEEDS_ROW:
            assert twin.reprocess() == (result == lasvm.STEPPED)
            self.both.compare_machine(m)
            self.steps.append("reprocess")
        return result

    def visit(self, k):
        both = self.both
        self.k, self.made = k, set()
        is_seed = both.twin.is_seed(k)
        self.joined = both.twin.seed(k) if is_seed else both.twin.insert(k)
        seen = len(self.steps)
        both.visit(k)
        expected = [] if is_seed else ["process", "reprocess"] * len(both.twin.machines)
        assert self.steps[seen:] == expected
        both.compare()


@every_maker
@pytest.mark.parametrize(  # pages of 8: rows of many pages. Each pair of settings meets
    ("kernel", "cache_size", "page"),
    [("linear", AMPLE, 8), ("linear", TINY, 512), ("rbf", AMPLE, 512), ("rbf", TINY, 8)],
)
def test_after_every_process_and_reprocess(plain, monkeypatch, make, kernel, cache_size, page):
    monkeypatch.setattr(cache, "PAGE", page)
    both = pair(make, kernel, C=2.0, cache_size=cache_size)
    watch = Watch(both)
    monkeypatch.setattr(lasvm, "reprocess", watch)
    n = len(both.data.label)
    for k in range(n):
        watch.visit(k)
    for k in np.random.default_rng(1).permutation(n)[: n // 2]:
        watch.visit(k)
    watch.finishing = True
    both.finish()
    assert not any(machine.reprocess() for machine in both.twin.machines)


@every_maker
@pytest.mark.parametrize(
    ("kernel", "cache_size"),
    [("linear", AMPLE), ("linear", TINY), ("rbf", AMPLE), ("rbf", TINY), ("poly", TINY)],
)
def test_compiled_after_every_example(make, kernel, cache_size):
    C = 1.0 if kernel == "poly" else 10.0  # its values are larger: the twin would take many steps
    seed = int(cache_size == TINY)
    both = pair(make, kernel, seed, C=C, cache_size=cache_size)
    n = len(both.data.label)
    both.run(range(n))
    both.run(np.random.default_rng(seed).permutation(n))
    both.finish()
    both.run(range(n))  # learning goes on after the finishing step


@both_caches
def test_rows_longer_than_a_page(cache_size):
    X, label = noise(np.random.default_rng(3), 560)
    both = Lockstep(X, label, Kernel("rbf", gamma=1.0), cache_size=cache_size)
    for k in range(len(label)):
        both.visit(k)
        both.twin.visit(k)
        if k % 40 == 0 or k > 505:
            both.compare()
    assert both.support.n > cache.PAGE
    both.finish()


def test_weights_bound_each_example():
    rng = np.random.default_rng(5)
    X, label = contradictions(rng, 80)
    both = Lockstep(X, label, Kernel("rbf", gamma=0.3), weight=rng.uniform(0.1, 3.0, 80))
    both.run(range(80))
    both.finish()
    machine = both.twin.machines[0]
    assert len(np.unique(machine.B[machine.B > 0])) > 20


def test_examples_are_evicted():
    """The comparison would be idle on data from which nothing is ever evicted."""
    for make in (clusters, three):
        both = pair(make, "rbf", C=1.0)
        n, gone, before = len(both.data.label), 0, set()
        for k in range(n):
            both.visit(k)
            both.twin.visit(k)
            now = set(both.a.key[: both.support.n].tolist())
            gone += len(before - now)
            before = now
        assert gone > 5


def test_one_class_only_collects_nothing_but_seeds():
    both = pair(late_class, "rbf")
    first = int((both.data.label == 0).sum())
    both.run(range(first))
    assert both.support.n == SEEDS
    both.run(range(first, len(both.data.label)))
    assert both.support.n > SEEDS


@pytest.mark.parametrize("classes", [2, 3])
@both_caches
def test_fit_of_the_estimator_is_the_listing(classes, cache_size):
    """Through the estimator, where kernel values come for several examples at a time."""
    X, y = clusters(np.random.default_rng(7), 400, classes)
    model = LASVMClassifier(
        C=10, gamma=0.3, epochs=2, block_size=1, cache_size=cache_size, random_state=4
    ).fit(X, y)
    rows = model._trained.rows(X)
    K = model._trained.kernel.block(rows, rows).astype(np.float64)
    np.fill_diagonal(K, 1.0)
    twin = NaiveOneVsRest(K, y, 10.0, 1e-3, [1] if classes == 2 else range(classes))
    rng = np.random.RandomState(4)
    for epoch in range(2):
        order = rng.permutation(len(y))
        for k in order if epoch else seeds_first(order, y):
            twin.visit(k)
    twin.finish()
    dual_coef = np.zeros((len(twin.machines), len(y)))
    dual_coef[:, model.support_] = model.dual_coef_
    assert_same(dual_coef, np.stack([machine.alpha for machine in twin.machines]))
    assert_same(model.intercept_, np.array([machine.b for machine in twin.machines]))
    assert model.n_support_.sum() < 400


def test_stream_of_single_examples_is_the_listing():
    X, y = clusters(np.random.default_rng(8), 150)
    model = LASVMClassifier(C=10, gamma=0.3, block_size=1)
    model.partial_fit(X[:1], y[:1], classes=[0, 1])
    for k in range(1, len(y)):
        model.partial_fit(X[k : k + 1], y[k : k + 1])
    rows = model._trained.rows(X)
    K = model._trained.kernel.block(rows, rows).astype(np.float64)
    np.fill_diagonal(K, 1.0)
    twin = NaiveOneVsRest(K, y, 10.0, 1e-3, [1])
    for k in range(len(y)):
        twin.visit(k)
    machine = twin.machines[0]
    assert_same(np.sort(model.dual_coef_[0]), np.sort(machine.alpha[machine.alpha != 0]))
    assert model.intercept_ == [machine.b]


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize(("classes", "budget"), [(2, None), (3, None), (3, 12)])
@both_caches
def test_learn_one_is_partial_fit_of_one_row(kernel, classes, budget, cache_size):
    X, y = clusters(np.random.default_rng(9), 150, classes)
    settings = {
        "C": 3, "kernel": kernel, "gamma": 0.3, "block_size": 1, "budget": budget,
        "cache_size": cache_size,
    }  # fmt: skip
    one, many = (LASVMClassifier(**settings).partial_fit(X[:20], y[:20]) for _ in range(2))
    for k in range(20, len(y)):
        one.learn_one(X[k], y[k])
        many._learn_checked(X[k : k + 1], y[k : k + 1], None, None)
    assert_same(one.dual_coef_, many.dual_coef_)
    assert_same(one.intercept_, many.intercept_)
    assert_same(one.support_vectors_, many.support_vectors_)
    assert one.n_kernel_evaluations_ == many.n_kernel_evaluations_


def test_digits_one_by_one_is_as_good_as_its_twin():
    X, y = load_digits(return_X_y=True)
    X, y, Xt, yt = X[:600], y[:600], X[600:900], y[600:900]
    model = LASVMClassifier(C=10, block_size=1, shuffle=False).fit(X, y)
    rows, rest = model._trained.rows(X), model._trained.rows(Xt)
    K = model._trained.kernel.block(rows, rows).astype(np.float64)
    np.fill_diagonal(K, 1.0)
    twin = NaiveOneVsRest(K, y, 10.0, 1e-3, range(10))
    for k in seeds_first(np.arange(len(y)), y):
        twin.visit(k)
    twin.finish()
    decided = twin.decide(model._trained.kernel.block(rest, rows))
    np.testing.assert_allclose(model.decision_function(Xt), decided, atol=1e-6)
    assert model.score(Xt, yt) > 0.9


def test_the_twin_itself_converges_to_the_svm():
    """Epochs and finishing until nothing changes: the dual solution that SVC finds."""
    X, label = make_moons(80, noise=0.3, random_state=0)
    y = np.where(label == 1, 1.0, -1.0)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    twin = NaiveLASVM(K, y, 5.0, 1e-6)
    for k in range(10):
        twin.insert(k)
    before = None
    while before is None or (twin.alpha != before).any():
        before = twin.alpha.copy()
        for k in range(80):
            twin.process(k)
            twin.reprocess()
        twin.finish()
    exact = SVC(C=5.0, kernel="precomputed", tol=1e-8).fit(K, label)
    alpha = np.zeros(80)
    alpha[exact.support_] = exact.dual_coef_[0]
    assert twin.dual() == pytest.approx(alpha @ y - 0.5 * alpha @ K @ alpha, rel=1e-6)
    assert twin.b == pytest.approx(exact.intercept_[0], abs=1e-4)
