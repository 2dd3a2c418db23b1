"""LASVM's regressor and novelty detector on awkward data, beside SVR and OneClassSVM."""

import copy
import pickle

import numpy as np
import pytest
from naive.one_value import StreamOfNovelty, StreamOfValues
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR, OneClassSVM

from onlinesvm import LASVMOneClass, LASVMRegressor
from onlinesvm.core.examples import Examples
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.lasvm.learner import LASVM
from onlinesvm.core.lasvm.tasks import OneClass, Regression


def sine(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


def spoiled(kind):
    """X, y, and the size of y: C and epsilon are multiplied by it."""
    X, y = sine(d=400) if kind == "more features than rows" else sine(d=1 + 2 * (kind != "line"))
    rng, size = np.random.default_rng(1), 1.0
    if kind == "sorted":
        order = np.argsort(y)
        X, y = X[order], y[order]
    elif kind == "outliers":
        y[[7, 90]] = 1e9, -1e9
    elif kind in ("1e6", "1e-6"):
        size = float(kind)
        y = size * y
    elif kind == "copies":
        X, y = np.repeat(X[:60], 5, axis=0), np.repeat(y[:60], 5)
    elif kind == "contradictory":
        X = np.repeat(X[:60], 5, axis=0)
    elif kind == "constant":
        y[:] = 3.0
    elif kind == "whole numbers":
        y = np.round(4 * y).astype(int)
    elif kind == "far row":
        X[11] = 1e4
    elif kind == "offset":
        X = X + 1e6
    elif kind == "sparse":
        X = sparse.csr_matrix(X * (rng.random(X.shape) < 0.4))
    return X, y, size


KINDS = (
    "sorted", "outliers", "1e6", "1e-6", "copies", "contradictory", "constant", "line",
    "more features than rows", "whole numbers", "far row", "offset", "sparse",
)  # fmt: skip


def gamma_for(X):
    return 0.3 if X.shape[1] < 100 else 0.003


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def coefficients(model, n):
    a = np.zeros(n)
    a[model.support_] = np.ravel(dense(model.dual_coef_))
    return a


def as_peers_need_it(X, kind):
    """Peers lose digits far from the origin, where LASVM moves the rows first."""
    return X - 1e6 if kind == "offset" else X


@pytest.mark.parametrize("kind", KINDS)
def test_regression_beside_svr(kind):
    X, y, size = spoiled(kind)
    gamma, plain = gamma_for(X), np.delete(np.arange(len(y)), [7, 90])
    settings = {"C": 10.0 * size, "gamma": gamma, "epsilon": 0.1 * size}
    near = as_peers_need_it(X, kind)
    exact = SVR(**settings, tol=1e-4 * size).fit(near, y)
    expected = exact.predict(near)
    K = rbf_kernel(dense(near), gamma=gamma)

    def dual(model):
        a = coefficients(model, len(y))
        return a @ y - a @ K @ a / 2 - settings["epsilon"] * np.abs(a).sum()

    model = LASVMRegressor(**settings, tol=1e-4, epochs="converge", random_state=0).fit(X, y)
    assert model.fit_status_ == 0
    assert dual(model) == pytest.approx(dual(exact), rel=1e-5, abs=1e-9 * size**2)
    spread = max(np.std(np.asarray(y, float)[plain]), 1e-3 * size)
    assert np.abs(model.predict(X) - expected).max() < 0.01 * spread
    once = LASVMRegressor(**settings, random_state=0, block_size=64).fit(X, y)
    errors = [np.sqrt(np.mean((p - y)[plain] ** 2)) for p in (once.predict(X), expected)]
    assert errors[0] < 1.02 * errors[1] + 0.01 * spread
    stream = LASVMRegressor(**settings)
    for first in range(0, len(y), 50):
        stream.partial_fit(X[first : first + 50], y[first : first + 50])
    error = np.sqrt(np.mean((stream.finish().predict(X) - y)[plain] ** 2))
    assert error < 1.25 * errors[1] + 0.02 * spread  # what has left a stream is lost


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("outliers", "1e6", "1e-6")])
def test_novelty_beside_one_class_svm(kind):
    X, _, _ = spoiled(kind)
    gamma = gamma_for(X)
    near = as_peers_need_it(X, kind)
    exact = OneClassSVM(nu=0.2, gamma=gamma, tol=1e-6).fit(near)
    expected = exact.decision_function(near)
    model = LASVMOneClass(nu=0.2, gamma=gamma, tol=1e-4, epochs="converge", random_state=0).fit(X)
    K = rbf_kernel(dense(near), gamma=gamma)
    a, b = coefficients(model, X.shape[0]), coefficients(exact, X.shape[0])
    assert a @ K @ a == pytest.approx(b @ K @ b, rel=1e-5)
    assert np.abs(model.decision_function(X) - expected).max() < 0.01 * expected.std()
    once = LASVMOneClass(nu=0.2, gamma=gamma, random_state=0, block_size=64).fit(X)
    assert np.corrcoef(once.decision_function(X), expected)[0, 1] > 0.999


@pytest.mark.parametrize("n", [1, 2, 3])
def test_one_to_three_rows(n):
    X, y = sine(n)
    exact = SVR(C=10.0, gamma=0.3).fit(X, y)
    for model in (
        LASVMRegressor(C=10.0, gamma=0.3).fit(X, y),
        LASVMRegressor(C=10.0, gamma=0.3).partial_fit(X, y).finish(),
    ):
        np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=0.011)
    near = OneClassSVM(nu=0.5, gamma=0.3).fit(X).decision_function(X)
    ours = LASVMOneClass(nu=0.5, gamma=0.3).fit(X).decision_function(X)
    np.testing.assert_allclose(ours, near, atol=0.01)


# -- one example at a time ----------------------------------------------------------------------


def regressor():
    return LASVMRegressor(C=2.0, gamma=0.3, epsilon=0.1)


def detector():
    return LASVMOneClass(nu=0.2, gamma=0.3)


both = pytest.mark.parametrize("make", [regressor, detector])


def learned(model, X, y):
    return model.partial_fit(X, y) if isinstance(model, LASVMRegressor) else model.partial_fit(X)


def learned_one(model, x, y):
    return model.learn_one(x, y) if isinstance(model, LASVMRegressor) else model.learn_one(x)


def value(model, X):
    return model.predict(X) if isinstance(model, LASVMRegressor) else model.decision_function(X)


@pytest.mark.parametrize("begins", [True, False])
@both
def test_the_compiled_steps_are_those_of_the_naive_twin(make, begins, monkeypatch):
    monkeypatch.setattr(LASVM, "_optimise_if_due", lambda self, count: None)
    X, y = sine(100)
    kernel, rows, n = Kernel("rbf", gamma=0.3), Rows.of(X), len(y)
    diagonal = kernel.diagonal(rows)
    K = kernel.block(rows, rows).astype(np.float64)
    np.fill_diagonal(K, diagonal)
    if make is regressor:
        task, label, bound = Regression(0.1, 1), y[:, None], np.full(n, 2.0)
        twin = StreamOfValues(K, y, 2.0, 0.0)
        twin.epsilon, twin.bias = 0.1, -1.0
    else:
        task, label = OneClass(0.2), np.zeros(n, np.int64)
        bound = np.random.default_rng(1).choice([0.5, 1.0, 2.0], n)
        twin = StreamOfNovelty(K, bound, 0.0)
        twin.nu, twin.bias = 0.2, -1.0
    learner = LASVM(kernel, rows, 1, task=task)
    data, twin.begins = Examples(rows, label, bound, diagonal, np.full(n, -1)), begins
    if not begins:
        learner.learn_everything()
    for k in range(n):
        twin.tau = task.tolerances.stream_goal * learner.unit[0]
        learner.learn(data.take(slice(k, k + 1)))
        twin.learn(k)
        a, held = learner.support.a, learner.n
        assert a.born[:held].tolist() == twin.S
        np.testing.assert_allclose(a.alpha[0, :held], [twin.alpha[s] for s in twin.S], atol=1e-9)
        assert a.bias[0] == pytest.approx(twin.bias, abs=1e-9)
    assert learner.n > 35  # some have joined
    assert (learner.n == n) == (begins or make is detector)


@both
def test_quick_ways_are_the_slow_ones(make):
    X, y = sine(220)
    quick, rows, few = (learned(make(), X[:50], y[:50]) for _ in range(3))
    for first in range(50, 220, 5):
        for i in range(first, first + 5):
            learned_one(quick, X[i], y[i])
            learned(rows, X[i : i + 1], y[i : i + 1])
        learned(few, X[first : first + 5], y[first : first + 5])
    for other in (rows, few):
        np.testing.assert_array_equal(value(quick, X), value(other, X))
    one = quick.predict_one if make is regressor else quick.decision_one
    np.testing.assert_allclose([one(x) for x in X[:40]], value(quick, X[:40]), atol=1e-6)
    if make is detector:
        assert [quick.predict_one(x) for x in X[:40]] == quick.predict(X[:40]).tolist()
    with pytest.raises(ValueError, match="one row"):
        quick.predict_one(X[:2])


@both
@pytest.mark.parametrize("scale", [1.0, 1e6, 1e-6])
def test_one_by_one_is_about_as_good_as_at_once(make, scale):
    X, y = sine(700)
    order = np.argsort(X[:600, 0])[np.r_[0:600:2, 1:600:2]]  # sorted, twice
    settings = {} if make is detector else {"C": 2.0 * scale, "epsilon": 0.1 * scale}
    stream = make().set_params(**settings)
    for i in order:
        learned_one(stream, X[i], scale * y[i])
    if make is regressor:
        exact = SVR(gamma=0.3, **settings).fit(X[:600], scale * y[:600])
        found, best = (
            np.sqrt(np.mean((m.predict(X[600:]) - scale * y[600:]) ** 2)) for m in (stream, exact)
        )
        assert found < 1.1 * best
    else:
        expected = OneClassSVM(nu=0.2, gamma=0.3).fit(X[:600]).decision_function(X[600:])
        assert np.corrcoef(stream.decision_function(X[600:]), expected)[0, 1] > 0.99
        assert stream._trained.learner.support.alpha().sum() == pytest.approx(0.2 * 600)


@both
@pytest.mark.parametrize("seed", range(6))
def test_histories(make, seed):
    """Whatever is done in whatever order, sums, bounds and gradients hold, and copies go on alike."""
    rng = np.random.default_rng(seed)
    X, y = sine(400, seed=seed)
    if seed % 3 == 1:
        X = X[rng.integers(60, size=400)]  # copies with contradictory targets
    if seed % 3 == 2:
        X, y = 1e3 * X + 1e5, 1e4 * y
    model = make().set_params(gamma=0.3 if seed % 3 < 2 else 3e-7)
    twin, done = None, 0
    while done < 350:
        size = int(rng.choice([1, 1, 3, 7, 8, 40]))
        part = slice(done, done + size)
        for one in (model, *([] if twin is None else [twin])):
            if size == 1 and done % 2:
                learned_one(one, X[done], y[done])
            else:
                learned(one, X[part], y[part])
        done += size
        act = rng.choice(["nothing", "pickle", "copy", "finish"], p=[0.7, 0.1, 0.1, 0.1])
        if act == "pickle":
            twin = pickle.loads(pickle.dumps(model))
        elif act == "copy":
            twin = copy.deepcopy(model)
        elif act == "finish":
            for one in (model, *([] if twin is None else [twin])):
                one.finish()
        if twin is not None:
            np.testing.assert_array_equal(value(twin, X[:20]), value(model, X[:20]))
    assert_consistent(model, done, make)


def assert_consistent(model, done, make):
    support = model._trained.learner.support
    alpha, (low, high) = support.alpha(), support.bounds()
    assert (alpha >= low).all()
    assert (alpha <= high).all()
    total = 0.2 * done if make is detector else 0.0
    assert alpha.sum() == pytest.approx(total, abs=1e-9 * max(1.0, np.abs(alpha).sum()))
    K = rbf_kernel(support.rows().to_array(), gamma=model.gamma)
    anew = support.linear() - alpha @ K
    np.testing.assert_allclose(
        support.a.grad[:, : support.n], anew, atol=1e-4 * max(1.0, np.abs(alpha).sum())
    )
