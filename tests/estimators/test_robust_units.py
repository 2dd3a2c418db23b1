"""Tolerances follow what most examples are: beside SVR and OneClassSVM, on all roads.

Targets that are mostly equal, with a few large ones; kernels whose values are nearly equal;
coefficients so large that single precision does not do; kernel values of any size.
"""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, OneClassSVM

from onlinesvm import LASVMClassifier, LASVMOneClass, LASVMRegressor, load_model
from onlinesvm.core.lasvm.tasks import power_of_two, spread_of

N = 400


def quietly(model, *given):
    """The fitted model, and whether it warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*given)
    return model, any(issubclass(w.category, ConvergenceWarning) for w in caught)


def in_parts(model, *given, size=50):
    for first in range(0, len(given[0]), size):
        model.partial_fit(*(part[first : first + size] for part in given))
    return model


def in_turn(model, *given):
    for example in zip(*(part.tolist() for part in given)):
        model.learn_one(np.asarray(example[0]), *example[1:])
    return model


def streamed(model, *given, size=50):
    return in_parts(model, *given, size=size).finish()


def one_by_one(model, *given):
    return in_turn(model, *given).finish()


# -- regression: most targets are equal, a few are large ----------------------------------------


LARGE_SHARES = {"a sixth large": 1 / 6, "two fifths large": 0.4}


def amounts(kind):
    """X, targets, which of them are ordinary, and the size of those."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    y = np.where(X[:, 0] > 0.3, 1.0 + X[:, 1] ** 2, 0.0)  # 62 % zeros
    size = {"tiny": 1e-9, "huge": 1e9, "shifted": 1e-3}.get(kind, 1.0)
    if kind == "constant but few":
        y[:] = 0.0
    elif kind == "groups":
        y = 1e5 * np.round(X[:, 0].clip(-1.0, 1.0)) + np.sin(X[:, 1])
        return X, y, np.ones(N, bool), 1.0
    elif kind == "heavy tails":
        y = np.sin(X[:, 0]) * rng.standard_cauchy(N) ** 4
        return X, y, np.abs(y) < np.quantile(np.abs(y), 0.8), 1.0
    elif kind in LARGE_SHARES:
        y[:] = 0.0
    large = {"a thousand": 1e3, "1e9": 1e9}.get(kind, 1e6)
    few = int(LARGE_SHARES.get(kind, 0.01) * N)
    y[:few] = large
    y = y * size + (1e6 if kind == "shifted" else 0.0)
    return X, y, np.arange(N) >= few, size


KINDS = (
    "a thousand", "a million", "1e9", "tiny", "huge", "shifted", "constant but few", "groups",
    "heavy tails", *LARGE_SHARES,
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_few_large_targets_do_not_blur_the_others(kind):
    X, y, ordinary, size = amounts(kind)
    settings = {"C": 10.0 * size, "gamma": 0.3, "epsilon": 0.05 * size}
    exact = SVR(**settings, tol=1e-3 * size).fit(X, y).predict(X)[ordinary]
    ours, warned = quietly(LASVMRegressor(**settings, epochs="converge", random_state=0), X, y)
    assert ours.fit_status_ == 0
    assert not warned
    np.testing.assert_allclose(ours.predict(X)[ordinary], exact, rtol=0, atol=0.02 * size)
    for model in (
        LASVMRegressor(**settings, random_state=0).fit(X, y),
        streamed(LASVMRegressor(**settings, window=N), X, y),
    ):
        assert np.abs(model.predict(X)[ordinary] - exact).max() < 0.05 * size


@pytest.mark.parametrize("kind", ["a million", "shifted", "constant but few"])
def test_streams_of_such_targets(kind):
    """What has left a stream is lost, but the ordinary targets are about as near as SVR's."""
    X, y, ordinary, size = amounts(kind)
    settings = {"C": 10.0 * size, "gamma": 0.3, "epsilon": 0.05 * size}
    exact = SVR(**settings, tol=1e-3 * size).fit(X, y).predict(X)
    error = np.abs(exact - y)[ordinary].mean()
    for model, more in (
        (streamed(LASVMRegressor(**settings), X, y), 1.25),
        (one_by_one(LASVMRegressor(**settings), X, y), 1.25),
        (one_by_one(LASVMRegressor(**settings, budget=150), X, y), 1.5),
    ):
        found = np.abs(model.predict(X) - y)[ordinary].mean()
        assert found < more * error + 0.02 * size, model


def test_the_unit_of_few_examples_that_differ():
    """Where a tenth or less differs from all others, epsilon says how fine is fine."""
    y = np.zeros((1000, 1))
    y[:5] = 1e6
    assert spread_of(y, 0.05)[0] == pytest.approx(5.0)
    assert spread_of(y)[0] == pytest.approx(y.std() / 1024)
    y[:400, 0] = np.linspace(1, 3, 400)
    y[:5] = 1e6
    assert 0.5 < spread_of(y)[0] < 5.0
    assert spread_of(np.full((10, 1), 3.0))[0] == 0.0


FAR_APART = {
    "fit": lambda model, *given: model.fit(*given),
    "blocks of two": lambda model, *given: model.set_params(block_size=2).fit(*given),
    "sparse": lambda model, X, *given: model.fit(sparse.csc_matrix(X), *given),
    "converge": lambda model, *given: model.set_params(epochs="converge").fit(*given),
    "window": lambda model, X, y: streamed(model.set_params(window=len(y)), X, y, size=20),
    "median": lambda model, *given: model.set_params(quantile=0.5, C=2.0 * model.C).fit(*given),
}


@pytest.mark.parametrize(
    ("road", "epsilon", "weighted"),
    [
        case
        for case in product(FAR_APART, (0.0, 0.1), (False, True))
        if case[:2] != ("median", 0.1) and case[::2] != ("window", True)
    ],  # a quantile has no epsilon, and these streams have no weights
)
@pytest.mark.parametrize(
    ("n", "limits"), [(9, [0.3]), (60, [0.3]), (60, [-0.5, 0.5]), (300, [0.3])]
)
def test_targets_farther_apart_than_coefficients_can_follow(n, limits, weighted, epsilon, road):
    """A share of their spread may be more than the whole range of the decision values."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 3))
    y = 1e5 * np.digitize(X[:, 0] + 0.3 * rng.standard_normal(n), limits)
    given = (X, y, rng.choice([0.5, 1.0, 2.0], n)) if weighted else (X, y)
    settings = {"C": 1.0, "gamma": 0.3, "epsilon": epsilon}
    exact = SVR(**settings).fit(*given).predict(X)
    model = FAR_APART[road](LASVMRegressor(**settings), *given)
    assert np.abs(model.predict(X) - exact).max() < 0.03 * exact.std()


def test_one_of_few_targets_that_is_far_from_the_others():
    """One of nine is more than a tenth of them."""
    X = np.array([1.0, 1.0, 0.99575, 1.0, 1.0, 1.0, 0.99739, 0.99411, 0.99676])[:, None]
    y = np.where(np.arange(9) == 2, 1e5, 0.0)
    settings = {"C": 1.0, "gamma": 1e5, "epsilon": 0.0}
    exact = SVR(**settings).fit(X, y).predict(X)
    for size in (2, 4, 2048):
        model = LASVMRegressor(**settings, block_size=size, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict(X), exact, rtol=0, atol=0.005)


def test_rows_leave_a_stream_by_the_spread_of_its_targets():
    """However small C is: one example changes little, but decision values go on to move by that."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(300)
    model = in_parts(LASVMRegressor(C=0.001, gamma=0.3, epsilon=0.1, window=200), X, y)
    assert model.finish()._trained.learner.unit[0] == power_of_two(y[-200:].std())


# -- one class: kernel values that are nearly equal ---------------------------------------------


SMOOTH = [
    (1.0, {"gamma": 1e-4}),
    (1.0, {"gamma": 1e-6}),
    (0.01, {"gamma": "auto"}),
    (1.0, {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.001}),
]


@pytest.mark.parametrize("outliers", [0, 10])
@pytest.mark.parametrize("nu", [0.1, 0.5])
@pytest.mark.parametrize(("scale", "kernel"), SMOOTH)
def test_the_share_outside_is_nu_whatever_the_kernel(scale, kernel, nu, outliers):
    X = scale * np.random.default_rng(0).standard_normal((1200, 3))
    X[:outliers] *= 100.0
    settings = {"nu": nu, "random_state": 0, **kernel}
    for model in (
        LASVMOneClass(**settings, epochs="converge").fit(X),
        LASVMOneClass(**settings).fit(X),
        streamed(LASVMOneClass(**settings, window=len(X)), X, size=300),
    ):
        assert model.fit_status_ == 0
        assert np.mean(model.predict(X) < 0) == pytest.approx(nu, abs=0.01)
    for model in (
        streamed(LASVMOneClass(**settings), X, size=100),
        one_by_one(LASVMOneClass(**settings), X[:300]),
    ):
        assert np.mean(model.predict(X) < 0) == pytest.approx(nu, abs=0.06)


def test_a_smooth_kernel_decides_like_one_class_svm():
    X = np.random.default_rng(0).standard_normal((800, 3))
    exact = OneClassSVM(nu=0.2, gamma=1e-3, tol=1e-9).fit(X).decision_function(X)
    ours = LASVMOneClass(nu=0.2, gamma=1e-3, epochs="converge").fit(X).decision_function(X)
    assert np.abs(ours - exact).max() < 0.02 * exact.std()


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_kernel_values_that_single_precision_cannot_tell_apart(nu):
    X = np.random.default_rng(0).standard_normal((500, 3))
    with pytest.warns(ConvergenceWarning, match="single-precision"):
        model = LASVMOneClass(nu=nu, gamma=1e-10, epochs="converge").fit(X)
    assert model.fit_status_ == 1
    with pytest.warns(ConvergenceWarning, match="single-precision"):
        streamed(LASVMOneClass(nu=nu, gamma=1e-10), X)


def test_a_file_keeps_the_unit_of_one_class(tmp_path):
    """A loaded model goes on as the one that was saved."""
    X = np.random.default_rng(0).standard_normal((600, 3))
    model = LASVMOneClass(nu=0.1, gamma=1e-4)
    model.partial_fit(X[:300]).save(tmp_path / "model")
    other = load_model(tmp_path / "model")
    values = [m.partial_fit(X[300:]).finish().decision_function(X) for m in (model, other)]
    np.testing.assert_array_equal(*values)


# -- large coefficients --------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e5, 1e6])
def test_a_large_C_that_single_precision_cannot_follow_is_told(C):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(200)
    model, warned = quietly(LASVMRegressor(C=C, epsilon=0.0, gamma=1 / 3, epochs="converge"), X, y)
    assert warned
    assert model.fit_status_ == 1


def test_a_moderate_C_is_exact_and_silent():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(200)
    settings = {"C": 1e3, "epsilon": 0.0, "gamma": 1 / 3}
    model, warned = quietly(LASVMRegressor(**settings, epochs="converge"), X, y)
    exact = SVR(**settings).fit(X, y).predict(X)
    assert not warned
    assert model.fit_status_ == 0
    assert np.abs(model.predict(X) - exact).max() < 0.01 * np.ptp(exact)


# -- kernel values of any size -------------------------------------------------------------------

ROADS = {
    "fit": lambda model, *given: model.fit(*given),
    "blocks": in_parts,
    "one by one": in_turn,
    "rows": lambda model, *given: in_parts(model, *given, size=1),
    "finished": streamed,
}
LIMITS = [{}, {"window": 100}, {"budget": 60}]


@pytest.mark.parametrize("limits", LIMITS, ids=["all", "window", "budget"])
@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("task", ["classes", "listing", "values", "novelty"])
def test_kernel_values_of_any_size(task, road, limits):
    """The kernel times c, C over c: the same model. A power of two, so that rounding is, too."""
    if task == "listing" and limits:
        pytest.skip("bounded memory has one way of learning")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 4)).round(2)
    target = X[:, 0] + 0.5 * rng.standard_normal(150)
    label = np.where(target > 0, 1, -1)
    values = []
    for power in (0, -33, 33):
        scale = 2.0**power  # kernel values of 1e-20, 1, 1e20
        kernel = {"kernel": "linear", "random_state": 0, **limits}
        if task == "novelty":
            model, given = LASVMOneClass(nu=0.3, **kernel), (scale * (X + 3.0),)
        elif task == "values":
            model = LASVMRegressor(C=1.0 / scale**2, epsilon=0.1, **kernel)
            given = scale * X, target
        else:
            size = 1 if task == "listing" else 2048
            model = LASVMClassifier(C=1.0 / scale**2, block_size=size, **kernel)
            given = scale * X, label
        fitted = ROADS[road](model, *given)
        decide = getattr(fitted, "decision_function", fitted.predict)
        values.append(decide(given[0]) / (scale**2 if task == "novelty" else 1.0))
    for other in values[1:]:
        np.testing.assert_allclose(other, values[0], rtol=0, atol=5e-3 * np.std(values[0]))


def test_tiny_kernel_values_beside_svc():
    rng = np.random.default_rng(0)
    X = 1e-10 * rng.standard_normal((200, 4))
    y = np.where(X[:, 0] + 1e-10 * rng.standard_normal(200) > 0, 1, -1)
    exact = SVC(kernel="linear", C=1.0).fit(1e10 * X, y).decision_function(1e10 * X)
    model = LASVMClassifier(kernel="linear", C=1e20)
    for x, label in zip(X, y.tolist()):
        model.learn_one(x, label)
    unfinished = model.decision_function(X)
    assert np.corrcoef(unfinished, exact)[0, 1] > 0.9
    model = LASVMClassifier(kernel="linear", C=1e20, epochs="converge").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), exact, atol=0.01)
