"""The working-set solver and the optimiser built on it reach the dual optimum that SVC finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from onlinesvm.core.examples import Examples
from onlinesvm.core.kernel.buffers import padded as padded_width
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.lasvm.block import smo, working_set
from onlinesvm.core.lasvm.state import Support


def dual(alpha, y, K):
    return alpha @ y - 0.5 * alpha @ K @ alpha


def exact_dual(K, y, bound, tol=1e-6):
    """The optimum by LIBSVM, and its coefficients."""
    model = SVC(kernel="precomputed", C=1.0, tol=tol).fit(K, y, sample_weight=bound)
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    return dual(alpha, y, K), alpha, model.intercept_[0]


def solve(K, y, bound, tol=1e-4, steps=100_000, alpha=None):
    n = len(y)
    padded = np.zeros((n, padded_width(n)), np.float32)
    padded[:, :n] = K
    diagonal = np.zeros(padded.shape[1], np.float32)
    diagonal[:n] = padded.diagonal()
    alpha = np.zeros(n) if alpha is None else alpha
    gradient = y - padded[:, :n].astype(np.float64) @ alpha
    low, high = np.minimum(0, y * bound), np.maximum(0, y * bound)
    made, gap = smo.solve(padded, diagonal, alpha, gradient, low, high, 0.0, tol, steps)
    return alpha, made, gap


def noisy(n, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def rbf(X, gamma=0.5):
    rows = Rows.of(X)
    return Kernel("rbf", gamma=gamma).block(rows, rows).astype(np.float64)


@pytest.mark.parametrize("n", [2, 3, 63, 64, 65, 200])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_solve_reaches_the_optimum(n, C):
    X, y = noisy(n)
    y[:2] = 1.0, -1.0
    K, bound = rbf(X), np.full(n, C)
    alpha, _, gap = solve(K, y, bound)
    assert gap <= 1e-4
    assert abs(alpha.sum()) < 1e-9
    assert (alpha * y >= 0).all()
    assert (alpha * y <= C).all()
    assert dual(alpha, y, K) == pytest.approx(exact_dual(K, y, bound)[0], rel=1e-5)


def test_two_points_by_hand():
    """x = -1, 1, linear: alpha = 1/2 each, w = 1; with C = 0.2 both at the bound."""
    K, y = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([-1.0, 1.0])
    np.testing.assert_allclose(solve(K, y, np.full(2, 10.0))[0], [-0.5, 0.5], atol=1e-6)
    np.testing.assert_array_equal(solve(K, y, np.full(2, 0.2))[0], [-0.2, 0.2])


def test_equal_points_of_both_classes():
    """No curvature between them: both go to their bound, and the solver stops."""
    K, y = np.ones((4, 4)), np.array([1.0, 1.0, -1.0, -1.0])
    alpha, made, _ = solve(K, y, np.array([1.0, 2.0, 3.0, 1.0]), steps=1000)
    assert made < 100
    assert dual(alpha, y, K) == pytest.approx(6.0)


def test_one_class_only_changes_nothing():
    alpha, made, _ = solve(np.eye(5), np.ones(5), np.ones(5))
    assert made == 0
    assert not alpha.any()


def test_steps_are_limited_and_the_dual_never_falls():
    X, y = noisy(80)
    K, bound, before = rbf(X), np.full(80, 5.0), 0.0
    alpha = np.zeros(80)
    for _ in range(60):
        alpha, made, _ = solve(K, y, bound, steps=3, alpha=alpha)
        assert made <= 3
        now = dual(alpha, y, K)
        assert now >= before - 1e-6
        before = now
    assert before > 0.5 * exact_dual(K, y, bound)[0]


@given(st.integers(0, 2**32 - 1))
def test_solve_on_whatever_problem(seed):
    """Grid points (ties, duplicates, contradictions), bounds of their own, any start."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 50))
    X = rng.integers(-2, 3, (n, 2)).astype(float)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    K, bound = rbf(X), rng.uniform(0.1, 3.0, n)
    alpha = np.zeros(n)
    alpha[:2] = [0.05, -0.05]
    alpha, _, gap = solve(K, y, bound, alpha=alpha)
    assert gap <= 1e-4
    assert (alpha * y >= 0).all()
    assert (alpha * y <= bound).all()
    assert abs(alpha.sum()) < 1e-9
    assert dual(alpha, y, K) == pytest.approx(exact_dual(K, y, bound)[0], rel=1e-4, abs=1e-5)


def support_of(X, y, bound, kernel, member=None):
    rows = Rows.of(X)
    n = len(y)
    label = (np.asarray(y) > 0).astype(np.int64)
    support = Support(rows, [1])
    member = np.ones((1, n), bool) if member is None else member[None]
    fresh = Examples(rows, label, np.asarray(bound, float), kernel.diagonal(rows), np.arange(n))
    support.append(fresh, support.linear(label), member)
    return support


@pytest.fixture
def small_sets(monkeypatch):
    """Working sets so small that a few hundred rows make many rounds and stages."""
    for name, value in {"SET_SIZE": 32, "WHOLE": 48, "EXPENSIVE": 1}.items():
        assert hasattr(working_set, name)
        monkeypatch.setattr(working_set, name, value)


@pytest.mark.parametrize("megabytes", [1e-6, 0.2, 100.0])
@pytest.mark.parametrize("C", [0.5, 50.0])
def test_optimise_reaches_the_optimum(small_sets, megabytes, C):
    X, y = noisy(300)
    bound = C * np.random.default_rng(1).uniform(0.5, 2.0, 300)
    kernel = Kernel("rbf", gamma=0.5)
    support = support_of(X, y, bound, kernel)
    assert working_set.optimise(support, kernel, 0, 1e-3, megabytes)
    support.measure()
    K = rbf(X)
    alpha = support.alpha()[0]
    best, _, bias = exact_dual(K, y, bound)
    assert support.a.delta[0] <= 1e-3
    assert dual(alpha, y, K) == pytest.approx(best, rel=1e-5)
    assert support.a.bias[0] == pytest.approx(bias, abs=2e-3)
    low, high = support.bounds()
    assert (alpha >= low[0]).all()
    assert (alpha <= high[0]).all()
    assert abs(alpha.sum()) < 1e-9 * C * 300
    drift = np.abs(support.a.grad[0, :300] - (y - K @ alpha)).max()
    assert drift < 1e-6 * C * 300 / 10


def test_optimise_whole_and_in_sets_agree(monkeypatch):
    """Small enough to be solved at once, or by working sets: the same optimum."""
    X, y = noisy(200, seed=2)
    duals = []
    for sizes in ({}, {"SET_SIZE": 16, "WHOLE": 24}):
        for name, value in sizes.items():
            monkeypatch.setattr(working_set, name, value)
        kernel = Kernel("rbf", gamma=0.5)
        support = support_of(X, y, np.full(200, 5.0), kernel)
        assert working_set.optimise(support, kernel, 0, 1e-4, 10.0)
        duals.append(dual(support.alpha()[0], y, rbf(X)))
    assert duals[0] == pytest.approx(duals[1], rel=1e-5)


def test_optimise_touches_members_only():
    X, y = noisy(100)
    member = np.random.default_rng(3).random(100) < 0.5
    kernel = Kernel("rbf", gamma=0.5)
    support = support_of(X, y, np.ones(100), kernel, member)
    assert working_set.optimise(support, kernel, 0, 1e-3, 10.0)
    alpha = support.alpha()[0]
    assert not alpha[~member].any()
    K = rbf(X[member])
    best = exact_dual(K, y[member], np.ones(member.sum()))[0]
    assert dual(alpha[member], y[member], K) == pytest.approx(best, rel=1e-5)


def test_optimise_says_when_it_cannot():
    """Kernel values of size 1e12 in single precision: a gap of 1e-9 is out of reach."""
    X, y = noisy(60)
    kernel = Kernel("linear")
    support = support_of(X * 1e6, y, np.ones(60), kernel)
    assert not working_set.optimise(support, kernel, 0, 1e-9, 10.0)
    assert np.isfinite(support.alpha()).all()
