"""The Huller: each step against a naive twin, the solution against SVC, bad input, streams."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive.huller import NaiveHuller
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from onlinesvm.core.examples import Examples
from onlinesvm.core.huller.learner import Huller
from onlinesvm.core.huller.steps import NN, NP, PP, N
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.model import model_of
from onlinesvm.estimators.huller import HullerClassifier

KERNELS = [Kernel("linear"), Kernel("rbf", gamma=0.5)]
by_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)


def separable(n, seed, gap=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.where(X.sum(axis=1) > 0, 1, -1)
    return (X + gap * y[:, None] / 2).astype(np.float32).astype(float), y


def noisy(n, seed):
    X, y = separable(n, seed, gap=0.0)
    flipped = np.random.default_rng(seed + 1).random(n) < 0.1
    return X, np.where(flipped, -y, y)


def as_fresh(X, y, kernel, C):
    rows = Rows.of(X)
    bound = np.full(len(y), C or 1.0)
    return Examples(rows, (y > 0).astype(int), bound, kernel.diagonal(rows), np.arange(len(y)))


def take(fresh, which):
    return fresh.take(which)


# -- the twin --------------------------------------------------------------------------------


def assert_same(learner, twin):
    h = learner.hulls[0]
    used = slice(h.state[N])
    assert h.key[used].tolist() == twin.S
    np.testing.assert_allclose(h.beta[used], (twin.y * twin.alpha)[twin.S], atol=2e-5)
    scalars = [twin.XPXP, twin.XNXP, twin.XNXN]
    np.testing.assert_allclose(h.scalar[[PP, NP, NN]], scalars, rtol=2e-5, atol=2e-5)


@by_kernel
@pytest.mark.parametrize("C", [None, 20.0])
@pytest.mark.parametrize("cache_size", [50.0, 1e-6])
def test_every_step_equals_the_twin(kernel, C, cache_size):
    X, y = separable(60, 0) if C is None else noisy(60, 0)
    data = as_fresh(X, y, kernel, C)
    K = kernel.block(data.rows, data.rows)
    twin = NaiveHuller(K, y, np.full(60, 1 / C if C else 0.0), tol=1e-3)
    options = {"quadratic": C is not None, "cache_size": cache_size, "seed": 7}
    learner = Huller(kernel, data.rows, 2, sweeps=1, **options)
    rng = np.random.default_rng(7)
    inserted = removed = 0
    for epoch in range(2):
        order = np.random.default_rng(epoch).permutation(60)
        for k in order:
            before = set(twin.S)
            twin.insert(k)
            twin.remove(rng.random())
            inserted += len(set(twin.S) - before)
            removed += len(before - set(twin.S))
            one = take(data, [k])
            slot_of = np.full(60, -1)
            slot_of[learner.key] = np.arange(learner.store.n)
            learner._learn_block(one, slot_of)
            assert_same(learner, twin)
        values = model_of(learner).decide(learner.kernel, data.rows)[:, 0]
        np.testing.assert_allclose(values, twin.decide(K), rtol=1e-3, atol=1e-3)
        learner.finish()
        twin.sweep()
        assert_same(learner, twin)
    assert inserted > 10
    assert removed > 2


def test_blocks_equal_one_by_one():
    X, y = noisy(600, 3)
    whole = HullerClassifier(C=5, gamma=0.5, random_state=0).partial_fit(X, y)
    parts = HullerClassifier(C=5, gamma=0.5, random_state=0).partial_fit(X[:1], y[:1])
    for start in range(1, 600, 37):
        parts.partial_fit(X[start : start + 37], y[start : start + 37])
    np.testing.assert_allclose(
        whole.decision_function(X), parts.decision_function(X), rtol=1e-4, atol=1e-4
    )
    assert whole.support_vectors_.shape == parts.support_vectors_.shape


@given(st.integers(0, 10_000), st.integers(2, 5), st.sampled_from([None, 0.3, 10.0]))
def test_invariants(seed, n_labels, C):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 3))
    y = rng.integers(n_labels, size=80)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = HullerClassifier(C=C, gamma=1.0, random_state=seed).partial_fit(X, y)
    learner = model._trained.learner
    K = learner.kernel.block(learner.store.rows(), learner.store.rows()).astype(float)
    held = np.zeros(learner.store.n, bool)
    for h in learner.hulls:
        n = h.state[N]
        beta, handle = h.beta[:n], h.handle[:n]
        held[handle] = True
        assert len(set(handle.tolist())) == n
        assert (beta != 0).all()
        part = K[np.ix_(handle, handle)] + np.diag(h.ridge[:n])
        P, Q = np.maximum(beta, 0), np.maximum(-beta, 0)
        for side in (P, Q):
            assert side.sum() == pytest.approx(1.0, abs=1e-9) or not side.any()
        true = [P @ part @ P, P @ part @ Q, Q @ part @ Q]
        np.testing.assert_allclose(h.scalar[[PP, NP, NN]], true, atol=1e-5)
    assert held.all()


def test_the_distance_never_grows():
    X, y = separable(300, 5)
    model = HullerClassifier(gamma=0.5, random_state=0)
    last = np.inf
    for k in range(300):
        model.partial_fit(X[k : k + 1], y[k : k + 1])
        h = model._trained.learner.hulls[0]
        if k > 40:  # all seeds are in
            assert h.scalar[PP] - 2 * h.scalar[NP] + h.scalar[NN] <= last + 1e-6
            last = h.scalar[PP] - 2 * h.scalar[NP] + h.scalar[NN]


def test_scalars_do_not_drift():
    X, y = noisy(3000, 1)
    model = HullerClassifier(C=3, gamma=0.5, random_state=0, max_sweeps=0).partial_fit(X, y)
    h = model._trained.learner.hulls[0]
    kept = h.scalar[[PP, NP, NN]].copy()
    model._trained.learner.refresh(0)
    np.testing.assert_allclose(kept, h.scalar[[PP, NP, NN]], atol=1e-6)


# -- the solution ----------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_hard_margin_is_that_of_svc(kernel):
    X, y = separable(300, 2)
    options = {"kernel": kernel, "gamma": 0.3, "coef0": 1.0, "degree": 2}
    model = HullerClassifier(epochs="converge", random_state=0, **options).fit(X, y)
    exact = SVC(C=1e8, **options).fit(X, y)
    T = separable(500, 9)[0]
    expected = exact.decision_function(T)
    difference = abs(model.decision_function(T) - expected)
    assert difference.max() <= 0.01 * abs(expected).max()
    h = model._trained.learner.hulls[0]
    margin = np.sqrt(h.scalar[PP] - 2 * h.scalar[NP] + h.scalar[NN])
    coef = exact.dual_coef_[0]
    K = model._trained.kernel.block(
        Rows.of(exact.support_vectors_), Rows.of(exact.support_vectors_)
    )
    assert margin == pytest.approx(2 / np.sqrt(coef @ K @ coef), rel=0.01)
    on_margin = model.decision_function(X[model.support_])
    np.testing.assert_allclose(on_margin * y[model.support_], 1.0, atol=0.01)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_quadratic_slack_is_the_hard_margin_on_the_modified_kernel(C):
    X, y = noisy(250, 4)
    model = HullerClassifier(C=C, gamma=0.5, epochs="converge", random_state=0).fit(X, y)
    rows = Rows.of(X)
    K = Kernel("rbf", gamma=0.5).block(rows, rows).astype(float)
    exact = SVC(C=1e8, kernel="precomputed", tol=1e-6).fit(K + np.eye(250) / C, y)
    expected = exact.decision_function(K)  # test points never have the 1/C
    assert abs(model.decision_function(X) - expected).max() <= 0.01 * abs(expected).max()


def test_weights_scale_the_slack():
    X, y = noisy(200, 6)
    weight = np.random.default_rng(0).uniform(0.2, 3, 200)
    model = HullerClassifier(C=2.0, gamma=0.5, epochs="converge", random_state=0)
    model.fit(X, y, sample_weight=weight)
    rows = Rows.of(X)
    K = Kernel("rbf", gamma=0.5).block(rows, rows).astype(float)
    exact = SVC(C=1e8, kernel="precomputed", tol=1e-6).fit(K + np.diag(1 / (2.0 * weight)), y)
    expected = exact.decision_function(K)
    assert abs(model.decision_function(X) - expected).max() <= 0.01 * abs(expected).max()
    doubled = HullerClassifier(
        C=2.0, gamma=0.5, epochs="converge", random_state=0, class_weight={1: 2.0, -1: 1.0}
    ).fit(X, y)
    twice = HullerClassifier(C=2.0, gamma=0.5, epochs="converge", random_state=1).fit(
        X, y, sample_weight=np.where(y > 0, 2.0, 1.0)
    )
    np.testing.assert_allclose(doubled.decision_function(X), twice.decision_function(X), atol=0.01)


def test_one_against_the_rest_is_that_of_binary_machines():
    X, y = load_digits(return_X_y=True)
    X, y = X[:400] / 16, y[:400]
    model = HullerClassifier(gamma=0.05, epochs="converge", random_state=0).fit(X, y)
    values = model.decision_function(X)
    for digit in (0, 3, 8):
        exact = SVC(C=1e8, gamma=0.05).fit(X, y == digit).decision_function(X)
        assert abs(values[:, digit] - exact).max() <= 0.01 * abs(exact).max()


def test_one_pass_is_close_to_the_exact_solution():
    X, y = load_digits(return_X_y=True)
    X, excess = X / 16, []
    for digit in range(10):
        once = HullerClassifier(gamma=0.05, random_state=0).fit(X[:1200], y[:1200] == digit)
        exact = SVC(C=1e8, gamma=0.05).fit(X[:1200], y[:1200] == digit)
        excess.append(exact.score(X[1200:], y[1200:] == digit))
        excess[-1] -= once.score(X[1200:], y[1200:] == digit)
    assert np.mean(excess) <= 0.003


# -- kinds of input --------------------------------------------------------------------------


def test_sparse_precomputed_and_callable_agree():
    X, y = noisy(200, 8)
    T = noisy(50, 9)[0]
    first = HullerClassifier(C=1, gamma=0.5, random_state=0).fit(X, y)
    expected = first.decision_function(T)
    same = HullerClassifier(C=1, gamma=0.5, random_state=0).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(same.decision_function(sparse.csr_matrix(T)), expected, atol=1e-3)

    def rbf(A, B):
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    own = HullerClassifier(C=1, kernel=rbf, random_state=0).fit(X, y)
    np.testing.assert_allclose(own.decision_function(T), expected, atol=1e-3)
    given_ = HullerClassifier(C=1, kernel="precomputed", random_state=0).fit(rbf(X, X), y)
    np.testing.assert_allclose(given_.decision_function(rbf(T, X)), expected, atol=1e-3)
    values = rbf(T, first.support_vectors_) @ first.dual_coef_[0] + first.intercept_
    np.testing.assert_allclose(values, expected, atol=1e-5)


def test_a_small_cache_changes_no_answer():
    X, y = noisy(1500, 2)
    large = HullerClassifier(C=1, gamma=2, random_state=0).fit(X, y)
    small = HullerClassifier(C=1, gamma=2, random_state=0, cache_size=0.01).fit(X, y)
    np.testing.assert_allclose(
        small.decision_function(X), large.decision_function(X), rtol=1e-3, atol=1e-3
    )
    assert small.n_kernel_evaluations_ > large.n_kernel_evaluations_


def test_kernel_values_are_counted_while_learning_only():
    X, y = noisy(500, 2)
    model = HullerClassifier(C=1, gamma=0.5, random_state=0).partial_fit(X, y)
    seen = model.n_kernel_evaluations_
    assert 0 < seen < 500 * 500
    model.predict(X)
    assert model.n_kernel_evaluations_ == seen


# -- streams ---------------------------------------------------------------------------------


def test_one_class_only_then_another():
    X, y = separable(200, 1)
    model = HullerClassifier(random_state=0).partial_fit(X[y > 0], y[y > 0])
    assert (model.predict(X) == 1).all()
    assert len(model.support_vectors_) == 5
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.9
    other = HullerClassifier(random_state=0).partial_fit(X[y > 0], y[y > 0], classes=[-1, 1])
    assert (other.predict(X) == 1).all()


# -- what has no answer ----------------------------------------------------------------------


def test_hard_margin_on_contradictory_labels_is_said():
    X, y = separable(100, 0)
    X, y = np.r_[X, X[:10]], np.r_[y, -y[:10]]
    for kernel in ("linear", "rbf"):
        with pytest.warns(ConvergenceWarning, match="cannot be separated"):
            HullerClassifier(kernel=kernel, random_state=0).fit(X, y)
        with pytest.warns(ConvergenceWarning, match="cannot be separated"):
            model = HullerClassifier(kernel=kernel, epochs="converge", random_state=0).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HullerClassifier(C=1, random_state=0).fit(X, y)


def test_touching_hulls_on_a_stream_are_said_once():
    model = HullerClassifier(kernel="linear", random_state=0)
    X = np.array([[1.0, 0.0], [1.0, 0.0]])
    with pytest.warns(ConvergenceWarning, match="cannot be separated"):
        model.partial_fit(X, [0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, [0, 1])
    assert np.isfinite(model.decision_function(X)).all()


def test_bad_input_changes_nothing():
    X, y = separable(100, 0)
    model = HullerClassifier(random_state=0).partial_fit(X, y)
    before = model.decision_function(X)
    broken = X.copy()
    broken[3, 1] = np.nan
    cases = [
        (broken, y, "NaN"),
        (np.where(np.isnan(broken), np.inf, broken), y, "infinity"),
        (X[:, :2], y, "2 features"),
        (X, np.array([None] * 100), "label|None"),
        (X, ["a"] * 100, "Mix of label"),
        (X[:50], y, "inconsistent"),
    ]
    for bad, labels, words in cases:
        with pytest.raises((ValueError, TypeError), match=words):
            model.partial_fit(bad, labels)
    with pytest.raises(ValueError, match="Set C for the quadratic slack"):
        model.partial_fit(X, y, sample_weight=np.ones(100))
    with pytest.raises(ValueError, match="greater than one"):
        HullerClassifier().fit(X, np.ones(100))
    assert (model.decision_function(X) == before).all()


@pytest.mark.parametrize("call", ["fit", "partial_fit"])
def test_the_hard_margin_refuses_weights(call):
    X, y = separable(40, 0)
    with pytest.raises(ValueError, match="hard margin"):
        getattr(HullerClassifier(), call)(X, y, sample_weight=np.ones(40))
    with pytest.raises(ValueError, match="hard margin"):
        getattr(HullerClassifier(class_weight={0: 2.0}), call)(X, y)


# -- the paper's figures, where the data is --------------------------------------------------


def test_mnist_digit_after_one_epoch(data_dir):
    with np.load(data_dir / "mnist.npz") as z:
        X, T = z["X_train"][:10_000] / np.float32(255), z["X_test"] / np.float32(255)
        y, t = z["y_train"][:10_000] == 8, z["y_test"] == 8
    once = HullerClassifier(gamma=0.005, random_state=0).fit(X, y)
    exact = HullerClassifier(gamma=0.005, epochs="converge", random_state=0).fit(X, y)
    assert once.score(T, t) >= exact.score(T, t) - 0.004
