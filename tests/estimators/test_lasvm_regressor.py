"""``LASVMRegressor``: the exact SVR at convergence, about as good after one pass, on any target."""

import copy
import pickle

import numpy as np
import pytest
from benchmarks_data import standardised
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from onlinesvm import LASVMRegressor


@pytest.fixture(scope="module")
def friedman():
    X, y = make_friedman1(900, noise=1.0, random_state=0)
    return X, (y - y.mean()) / y.std()


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def dual(model, X, y, gamma, epsilon):
    a = np.zeros(len(y))
    a[model.support_] = np.ravel(model.dual_coef_)
    return a @ y - a @ rbf_kernel(X, gamma=gamma) @ a / 2 - epsilon * np.abs(a).sum()


def rmse(model, X, y):
    return np.sqrt(np.mean((model.predict(X) - y) ** 2))


def make(**settings):
    return LASVMRegressor(**{"C": 10.0, "gamma": 0.5, "random_state": 0, **settings})


# -- the same as SVR ----------------------------------------------------------------------------


def assert_exact(X, y, C, gamma, epsilon, weight=None, block_size=256):
    settings = {"C": C, "gamma": gamma, "epsilon": epsilon, "tol": 1e-3}
    # LASVM's tol is in units of the target's standard deviation.
    exact = SVR(**settings | {"tol": 1e-3 * y.std()}).fit(X, y, weight)
    model = make(**settings, epochs="converge", block_size=block_size).fit(X, y, weight)
    best = dual(exact, X, y, gamma, epsilon)
    assert dual(model, X, y, gamma, epsilon) == pytest.approx(best, rel=1e-5)
    difference = np.abs(model.predict(X) - exact.predict(X)).max()
    assert difference < 0.01 * y.std()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("C", "epsilon"), [(1.0, 0.1), (100.0, 10.0), (1000.0, 0.0)])
def test_exact_on_diabetes(C, epsilon, weighted):
    X, y = diabetes()
    weight = np.random.default_rng(0).uniform(0.0, 3.0, len(y)) if weighted else None
    assert_exact(X, y, C, 0.02, epsilon, weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_exact_on_friedman(friedman, weighted):
    X, y = friedman
    weight = np.random.default_rng(0).integers(1, 4, len(y)) if weighted else None
    assert_exact(X, y, 10.0, 0.5, 0.1, weight)


@pytest.mark.parametrize(
    ("name", "C", "gamma"),
    [("pol", 10, 0.1), ("elevators", 1, 0.05), ("bike", 10, 0.1), ("kin40k", 10, 0.2),
     ("protein", 1, 0.5)],
)  # fmt: skip
def test_exact_on_the_first_rows_of_the_benchmark_sets(data_dir, name, C, gamma):
    X, y = standardised(data_dir, name, 3000)
    assert_exact(X, y, C, gamma, 0.1, block_size=2048)


def test_one_pass_predicts_as_well(friedman):
    X, y = friedman
    exact = SVR(C=10.0, gamma=0.5).fit(X[:700], y[:700])
    for shuffle in (True, False):
        order = np.argsort(y[:700])  # sorted by the target: the worst order there is
        model = make(block_size=64, shuffle=shuffle).fit(X[order], y[order])
        assert rmse(model, X[700:], y[700:]) < 1.005 * rmse(exact, X[700:], y[700:])


@pytest.mark.parametrize("kernel", ["linear", "poly", "precomputed", "callable"])
def test_other_kernels(friedman, kernel):
    X, y = friedman[0][:300], friedman[1][:300]
    settings = {"C": 0.5, "gamma": 0.5, "coef0": 1.0, "degree": 2}
    given, own = kernel, kernel
    A = X
    if kernel == "precomputed":
        A = rbf_kernel(X, gamma=0.5)
    if kernel == "callable":
        given = own = _rbf
    exact = SVR(kernel=given, **settings).fit(A, y)
    model = make(kernel=own, epochs="converge", **settings).fit(A, y)
    np.testing.assert_allclose(model.predict(A), exact.predict(A), atol=0.01)
    if kernel == "linear":
        np.testing.assert_allclose(model.coef_, exact.coef_, atol=0.01)


def _rbf(A, B):
    return rbf_kernel(A, B, gamma=0.5)


def test_sparse_is_dense(friedman):
    X, y = friedman
    X = X * (X > 0.7)
    dense, csr = make().fit(X, y), make().fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(csr.predict(X), dense.predict(X), atol=5e-3)
    np.testing.assert_allclose(dense.predict(sparse.csr_matrix(X)), dense.predict(X), atol=1e-5)


# -- targets of any kind ------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e6, 1e-6, 1e30, 1e-30, 1e59])
def test_targets_of_any_size(friedman, scale):
    X, y = friedman
    plain = make(epochs="converge").fit(X, y)
    scaled = make(C=10.0 * scale, epsilon=0.1 * scale, epochs="converge").fit(X, scale * y)
    np.testing.assert_allclose(scaled.predict(X) / scale, plain.predict(X), atol=5e-3)


def test_targets_far_from_zero(friedman):
    X, y = friedman
    plain, far = make(epochs="converge").fit(X, y), make(epochs="converge").fit(X, y + 1e7)
    np.testing.assert_allclose(far.predict(X) - 1e7, plain.predict(X), atol=5e-3)


@pytest.mark.parametrize("outlier", [1e3, 1e8])
def test_few_outliers_do_not_spoil_the_rest(friedman, outlier):
    """SVR limits what an outlier can do to C; the tolerance must not grow with it."""
    X, y = friedman
    y = y.copy()
    y[::100] = outlier
    exact = SVR(C=1.0, gamma=0.5).fit(X, y)
    model = make(C=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=0.02)


def test_the_target_may_be_standardised_outside(friedman):
    X, y = friedman
    y = 1e5 * y + 3e6
    model = TransformedTargetRegressor(make(), transformer=StandardScaler()).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("value", [0.0, -7.5, 1e9])
def test_a_constant_target_is_a_constant_prediction(value):
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = LASVMRegressor().fit(X, np.full(50, value))
    np.testing.assert_array_equal(model.predict(X), value)
    assert len(model.support_) == 0
    stream = LASVMRegressor().partial_fit(X, np.full(50, value))
    np.testing.assert_array_equal(stream.predict(X), value)


def test_a_single_example_is_its_target():
    model = LASVMRegressor().fit([[1.0, 2.0]], [3.0])
    np.testing.assert_array_equal(model.predict([[5.0, 6.0]]), [3.0])
    model = LASVMRegressor(gamma=1.0).learn_one([1.0, 2.0], 3.0)
    np.testing.assert_array_equal(model.predict([[5.0, 6.0]]), [3.0])


def test_several_targets_are_those_learned_one_by_one(friedman):
    X, y = friedman
    Y = np.stack([y, 100.0 * np.sin(5 * y), np.full(len(y), 2.0)], axis=1)
    settings = {"epochs": "converge", "C": 50.0}
    together = make(**settings).fit(X, Y)
    assert together.predict(X).shape == Y.shape
    for column, scale in enumerate([1.0, 100.0, 1.0]):
        alone = make(**settings).fit(X, Y[:, column])
        difference = together.predict(X)[:, column] - alone.predict(X)
        assert np.abs(difference).max() < 0.01 * scale
    assert together.dual_coef_.shape == (3, len(together.support_))
    alone = make(**settings).fit(X, Y[:, :1])
    assert alone.predict(X).shape == (len(y), 1)


def test_several_targets_share_kernel_values(friedman):
    X, y = friedman
    one, two = make(block_size=64).fit(X, y), make(block_size=64).fit(X, np.stack([y, y], axis=1))
    shared = [model._trained.kernel.n_evaluations for model in (one, two)]
    assert shared[1] < 2 * shared[0]


def test_copies_with_contradicting_targets(friedman):
    X, y = friedman
    X, y = np.repeat(X[:200], 2, axis=0), np.repeat(y[:200], 2) + np.tile([0.5, -0.5], 200)
    assert_exact(X, y, 10.0, 0.5, 0.1)


# -- streams ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_stream_learns(friedman, size):
    X, y = friedman
    model = make(C=5.0)
    for first in range(0, 600, size):
        model.partial_fit(X[first : first + size], y[first : first + size])
    exact = SVR(C=5.0, gamma=0.5).fit(X[:600], y[:600])
    assert rmse(model, X[600:], y[600:]) < 1.1 * rmse(exact, X[600:], y[600:])
    model.finish()
    assert rmse(model, X[600:], y[600:]) < 1.03 * rmse(exact, X[600:], y[600:])


def test_learn_one_is_partial_fit_with_one_row(friedman):
    X, y = friedman
    quick, slow = make(), make()
    for x, value, weight in zip(X[:150], y[:150], np.tile([1.0, 2.0, 0.5], 50)):
        quick.learn_one(x, value, weight)
        slow.partial_fit(x[None], [value], [weight])
    np.testing.assert_array_equal(quick.predict(X), slow.predict(X))


def test_learn_one_after_a_sparse_fit(friedman):
    X, y = friedman
    X = X * (X > 0.7)
    quick, slow = (make().partial_fit(sparse.csr_matrix(X[:300]), y[:300]) for _ in range(2))
    for x, value in zip(X[300:350], y[300:350]):
        quick.learn_one(x, value)
        slow.partial_fit(x[None], [value])
    np.testing.assert_array_equal(quick.predict(X), slow.predict(X))


def test_a_stream_whose_targets_grow(friedman):
    X, y = friedman
    model = make(C=1e4, epsilon=1.0)
    scale = np.where(np.arange(len(y)) < 100, 1e-3, 1e3)
    for first in range(0, 900, 50):
        part = slice(first, first + 50)
        model.partial_fit(X[part], (scale * y)[part])
    model.finish()
    late = slice(100, 900)
    assert rmse(model, X[late], 1e3 * y[late]) < 0.5e3


def test_learning_goes_on_after_a_pickle(friedman):
    X, y = friedman
    model = make().partial_fit(X[:300], y[:300])
    again = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for one in (model, *again):
        one.partial_fit(X[300:600], y[300:600])
    for one in again:
        np.testing.assert_array_equal(one.predict(X), model.predict(X))


# -- bad input ----------------------------------------------------------------------------------

BAD = {
    "NaN": (lambda y: np.where(np.arange(len(y)) == 3, np.nan, y), "NaN"),
    "infinite": (lambda y: np.where(np.arange(len(y)) == 3, np.inf, y), "infinity"),
    "text": (lambda y: np.array(["high"] * len(y)), "y must be numbers"),
    "large": (lambda y: np.where(np.arange(len(y)) == 3, -1e100, y), "as large as 1e.100"),
    "columns": (lambda y: np.stack([y, y], axis=1), "two dimensions"),
    "length": (lambda y: y[:-1], "inconsistent"),
}


@pytest.mark.parametrize("how", BAD)
def test_bad_targets_change_nothing(friedman, how):
    X, y = friedman
    spoil, message = BAD[how]
    model = make().partial_fit(X[:300], y[:300])
    before = model.predict(X)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X[:20], spoil(y[:20]))
    if how != "columns":
        with pytest.raises(ValueError, match=message):
            model.fit(X[:20], spoil(y[:20]))
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e100, "high", [1.0, 2.0]])
def test_learn_one_refuses_bad_targets(friedman, value):
    X, y = friedman
    model = make().partial_fit(X[:300], y[:300])
    before = model.predict(X)
    with pytest.raises(
        ValueError, match=r"NaN|infinity|Divide y|numbers|two dimensions|inconsistent"
    ):
        model.learn_one(X[0], value)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": -0.1}, "epsilon"),
        ({"C": 0.0}, "C"),
        ({"C": np.nan}, "C"),
        ({"tol": 0.0}, "tol"),
    ],
)
def test_bad_settings(friedman, settings, message):
    with pytest.raises(ValueError, match=f"'{message}' parameter"):
        make(**settings).fit(*friedman)


def test_weights_that_are_all_zero(friedman):
    X, y = friedman
    with pytest.raises(ValueError, match="weights"):
        make().fit(X, y, np.zeros(len(y)))


def test_before_learning_there_is_nothing():
    with pytest.raises(NotFittedError):
        make().predict([[0.0]])
    with pytest.raises(AttributeError, match="dual_coef_"):
        make().dual_coef_
    assert not hasattr(make(), "decision_function")
    assert not hasattr(make(), "classes_")


def test_results_do_not_depend_on_threads(friedman):
    X, y = friedman
    one, two = make(n_jobs=1).fit(X, y), make(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)
