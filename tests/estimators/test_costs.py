"""Several C in one fit, as machines of one model: next to fits of each C, to SVC and to SVR."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.svm import SVC, SVR

from onlinesvm import LASVMClassifier, LASVMRegressor
from onlinesvm.estimators.base import view_of
from onlinesvm.estimators.costs import fit_costs, predict_costs

COSTS = [4.0, 0.5, 32.0]


def values_of_costs(model, costs, X):
    """Values of the machines, (costs, n, machines of one cost)."""
    return np.stack(np.split(view_of(model).values(X), len(costs), axis=1))


def labels(n, n_classes=2, seed=0):
    return make_classification(
        n, 8, n_informative=5, n_classes=n_classes, flip_y=0.1, random_state=seed
    )


def targets(n, seed=0):
    return make_friedman1(n, 7, noise=1.0, random_state=seed)


def fitted(model, costs, X, y):
    model.set_params(C=max(costs))
    fit_costs(model, costs, X, y)
    return model


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_each_cost_is_the_model_of_svc(kernel):
    X, y = labels(400)
    given = {"gamma": 0.1, "tol": 1e-5}
    model = fitted(LASVMClassifier(kernel=kernel, epochs="converge", **given), COSTS, X, y)
    K = np.exp(-0.1 * np.abs(X[:, None] - X[None]).sum(axis=2))
    for C, values in zip(COSTS, values_of_costs(model, COSTS, X), strict=True):
        peer = SVC(C=C, kernel="rbf" if kernel == "rbf" else "precomputed", **given)
        peer.fit(X if kernel == "rbf" else K, y)
        want = peer.decision_function(X if kernel == "rbf" else K)
        sign = 1 if view_of(model).encoder.order()[1] else -1
        np.testing.assert_allclose(sign * values[:, 0], want, atol=2e-3)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_each_cost_is_the_model_of_svr(size):
    X, y = targets(400)
    costs, y = [size * C for C in COSTS], size * y
    model = LASVMRegressor(gamma=0.3, epsilon=0.2 * size, epochs="converge", tol=1e-5)
    fitted(model, costs, X, y)
    for C, values in zip(costs, values_of_costs(model, costs, X), strict=True):
        peer = SVR(C=C, gamma=0.3, epsilon=0.2 * size, tol=1e-5 * size).fit(X, y)
        np.testing.assert_allclose(values[:, 0], peer.predict(X), atol=2e-3 * size)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n", [60, 900, 3000])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_are_those_of_a_fit_of_each_cost(n_classes, n, form):
    X, y = labels(n + 1000, n_classes)
    A, B = form(X[:n]), form(X[n:])
    model = fitted(LASVMClassifier(gamma=0.1), COSTS, A, y[:n])
    for C, (found, _) in zip(COSTS, predict_costs(model, len(COSTS), B), strict=True):
        alone = LASVMClassifier(C=C, gamma=0.1).fit(A, y[:n])
        assert found.dtype == y.dtype
        assert (found == alone.predict(B)).mean() >= 0.985


@pytest.mark.parametrize("n", [60, 900, 3000])
def test_values_are_those_of_a_fit_of_each_cost(n):
    X, y = targets(n + 1000)
    model = fitted(LASVMRegressor(gamma=0.3, epsilon=0.3), COSTS, X[:n], y[:n])
    for C, (found, _) in zip(COSTS, predict_costs(model, len(COSTS), X[n:]), strict=True):
        alone = LASVMRegressor(C=C, gamma=0.3, epsilon=0.3).fit(X[:n], y[:n]).predict(X[n:])
        assert found.shape == alone.shape
        assert np.sqrt(np.mean((found - alone) ** 2)) < 0.02 * y.std()


def test_text_labels_and_one_cost():
    X, y = load_iris(return_X_y=True)
    names = np.array(["virginica", "setosa", "versicolor"])[y]
    model = fitted(LASVMClassifier(gamma=0.3), [2.0], X, names)
    want = LASVMClassifier(C=2.0, gamma=0.3).fit(X, names).predict(X)
    ((found, _),) = predict_costs(model, 1, X)
    assert np.array_equal(found, want)


@pytest.mark.parametrize("make", [LASVMClassifier, LASVMRegressor])
def test_kernel_values_are_shared(make):
    X, y = labels(1500)
    shared = fitted(make(gamma=0.1), COSTS, X, y.astype(float)).n_kernel_evaluations_
    alone = [make(C=C, gamma=0.1).fit(X, y.astype(float)).n_kernel_evaluations_ for C in COSTS]
    assert shared < 0.6 * sum(alone)


def test_every_coefficient_is_within_its_own_cost():
    """Costs far apart, repeated rows (whose costs add up) and contradictory labels."""
    rng = np.random.default_rng(0)
    costs = [1e-4, 1e3, 1.0]
    X = np.repeat(rng.normal(size=(100, 2)), 3, axis=0)
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(float)
    for make in (LASVMClassifier, LASVMRegressor):
        model = fitted(make(gamma=1.0), costs, X, y)
        for C, coef in zip(costs, view_of(model).terms(), strict=True):
            assert 0.5 * C < np.abs(coef).max() <= 3 * C * (1 + 1e-9)
            found = predict_costs(model, 3, X)[costs.index(C)].predicted
            alone = make(C=C, gamma=1.0).fit(X, y).predict(X)
            assert np.mean(np.abs(found - alone) > 0.02) < 0.02  # twice a tenth of epsilon
