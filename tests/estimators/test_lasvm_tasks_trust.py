"""Promises of the classifiers that LASVM's regressor and novelty detector keep as well."""

import itertools
import threading
import warnings

import numpy as np
import pytest
from plain_kernels import plain_rbf
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR

from onlinesvm import LASVMOneClass, LASVMRegressor
from onlinesvm.core.lasvm import learner
from onlinesvm.core.lasvm.block import working_set

GAMMA = 0.3


@pytest.fixture(scope="module")
def stream():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=600)


def regressor(**settings):
    return LASVMRegressor(**{"C": 5.0, "gamma": GAMMA, "random_state": 0, **settings})


def detector(**settings):
    return LASVMOneClass(**{"nu": 0.2, "gamma": GAMMA, "random_state": 0, **settings})


both = pytest.mark.parametrize("make", [regressor, detector])


def value(model, X):
    return model.predict(X) if isinstance(model, LASVMRegressor) else model.decision_function(X)


def check(model, X):
    """The prediction is the expansion, and the state that of the dual problem."""
    K = rbf_kernel(X, model.support_vectors_, gamma=GAMMA)
    expected = K @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(value(model, X), expected, atol=1e-3)
    support = model._trained.learner.support
    alpha, (low, high) = support.alpha(), support.bounds()
    assert (alpha >= low).all()
    assert (alpha <= high).all()
    rows = support.rows().to_array()
    anew = support.linear() - alpha @ rbf_kernel(rows, gamma=GAMMA)
    member = support.a.member[:, : support.n]
    np.testing.assert_allclose(support.a.grad[:, : support.n][member], anew[member], atol=1e-3)
    return alpha.sum()


@both
@pytest.mark.parametrize("moment", [0, 1, 2])
@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_ctrl_c_leaves_what_was_learned(monkeypatch, stream, make, moment, verb):
    X, y = stream
    for name, number in {"LARGE_SET": 32, "WHOLE": 48}.items():
        monkeypatch.setattr(working_set, name, number)
    model = make(block_size=100).partial_fit(X[:200], y[:200])
    before, calls = value(model, X), itertools.count()

    def strike():
        if next(calls) == moment:
            raise KeyboardInterrupt

    for module in (working_set, learner):
        monkeypatch.setattr(module, "checkpoint", strike)
    with pytest.raises(KeyboardInterrupt):
        getattr(model, verb)(X[200:], y[200:])
    total = check(model, X)
    if make is detector:
        assert total in [pytest.approx(0.2 * n) for n in range(100, 601, 100)]
    else:
        assert total == pytest.approx(0.0, abs=1e-9)
    assert not np.array_equal(value(model, X), before)
    model.partial_fit(X[:50], y[:50]).finish()  # learning goes on
    check(model, X)


@both
def test_an_error_leaves_the_model_as_it_was(stream, make):
    X, y = stream

    def failing(A, B):
        if len(A) > 150:
            raise RuntimeError("the kernel fails")
        return plain_rbf(A, B, GAMMA)

    model = make(kernel=failing).partial_fit(X[:100], y[:100])
    before = value(model, X[:50])
    for call in (model.partial_fit, model.fit):
        with pytest.raises(RuntimeError, match="the kernel fails"):
            call(X[100:], y[100:])
        np.testing.assert_array_equal(value(model, X[:50]), before)


@both
def test_readers_see_one_of_the_states(stream, make):
    X, y = stream
    parts = [slice(first, first + 60) for first in range(0, 600, 60)]
    alone, allowed = make(), set()
    for part in parts:
        allowed.add(value(alone.partial_fit(X[part], y[part]), X).tobytes())
    model = make().partial_fit(X[parts[0]], y[parts[0]])
    ended, wrong = threading.Event(), []

    def watch():
        while not ended.is_set():
            if value(model, X).tobytes() not in allowed:
                wrong.append(1)

    thread = threading.Thread(target=watch)
    thread.start()
    for part in parts[1:]:
        model.partial_fit(X[part], y[part])
    ended.set()
    thread.join()
    assert not wrong
    assert value(model, X).tobytes() in allowed


@both
def test_clone_and_the_same_seed(stream, make):
    X, y = stream
    model = make(block_size=100)
    first, second = (clone(model).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(first.dual_coef_, second.dual_coef_)
    assert first.n_iter_ == len(X)
    assert first.fit_status_ == 0
    assert first.shape_fit_ == X.shape


def test_settings_are_searched_like_those_of_svr(stream):
    X, y = stream
    search = GridSearchCV(regressor(), {"C": [0.01, 5.0], "epsilon": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"C": 5.0, "epsilon": 0.1}


@both
def test_results_do_not_depend_on_the_cache(stream, make):
    X, y = stream
    wide = np.concatenate([X, np.zeros((len(X), 80))], axis=1)  # kernel rows worth keeping
    models = [make(cache_size=size).fit(wide, y) for size in (1e-3, 200)]
    np.testing.assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)


@both
def test_epochs_approach_the_exact_solution(stream, make):
    X, y = stream
    exact = value(make(epochs="converge", tol=1e-5).fit(X, y), X)
    far = [np.abs(value(make(epochs=n, block_size=50).fit(X, y), X) - exact).max() for n in (1, 3)]
    assert far[1] <= far[0] + 1e-3
    assert far[1] < 0.05 * exact.std()


@pytest.mark.parametrize("settings", [{}, {"epochs": "converge"}, {"budget": 400}])
def test_coefficients_beyond_single_precision_are_told(settings):
    """SVR does not get there either, and says so."""
    X, y = load_diabetes(return_X_y=True)
    model = LASVMRegressor(kernel="linear", C=1e6, random_state=0, **settings)
    with pytest.warns(ConvergenceWarning, match="smaller C, or scale"):
        model.fit(20.0 * X, y)
    assert model.fit_status_ == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.set_params(C=1e3).fit(20.0 * X, y)
    assert model.fit_status_ == 0
    exact = SVR(kernel="linear", C=1e3).fit(20.0 * X, y)
    if "budget" not in settings:
        assert model.score(20.0 * X, y) > exact.score(20.0 * X, y) - 0.001
