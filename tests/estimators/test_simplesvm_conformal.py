"""Intervals and p-values of SimpleSVM: shares that hold on rows that were not learned."""

import numpy as np
import pytest
from sklearn.svm import SVR, OneClassSVM

from onlinesvm import SimpleSVMOneClass, SimpleSVMRegressor

TARGETS = {
    "noise": lambda rng, f: f + 0.3 * rng.standard_normal(len(f)),
    "heavy tails": lambda rng, f: f + 0.1 * rng.standard_t(2, len(f)),
    "zero-inflated": lambda rng, f: np.where(rng.random(len(f)) < 0.6, 0.0, 5.0 + f),
    "shifted and scaled": lambda rng, f: 1e6 + 1e3 * (f + 0.3 * rng.standard_normal(len(f))),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_hold_their_share(kind: str, coverage: float) -> None:
    shares = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, (600, 2))
        y = TARGETS[kind](rng, np.sin(2 * X[:, 0]) + X[:, 1])
        unit = y.std()
        model = SimpleSVMRegressor(C=unit, epsilon=0.1 * unit).fit(X[:150], y[:150])
        low, high = model.predict_interval(X[150:], coverage).T
        assert np.allclose((low + high) / 2, model.predict(X[150:]))
        shares.append(np.mean((low <= y[150:]) & (y[150:] <= high)))
    assert abs(np.mean(shares) - coverage) < 0.06


def test_width_is_that_of_refits_without_each_example() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 2))
    y = X[:, 0] + 0.2 * rng.standard_normal(40)
    settings = {"C": 2.0, "gamma": 0.5, "epsilon": 0.05, "tol": 1e-8}
    width = np.diff(SimpleSVMRegressor(**settings).fit(X, y).predict_interval(X[:1], 0.8))[0, 0]
    errors = [
        abs(SVR(**settings).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0] - y[i])
        for i in range(40)
    ]
    assert width / 2 == pytest.approx(
        np.sort(errors)[32], abs=1e-5
    )  # the 33rd: 0.8 (40 + 1) = 32.8


def test_few_examples_promise_nothing() -> None:
    model = SimpleSVMRegressor().fit(np.arange(5.0)[:, None], np.arange(5.0))
    assert np.isinf(model.predict_interval([[1.0]], 0.9)).all()
    assert np.isfinite(model.predict_interval([[1.0]], 0.8)).all()
    for coverage in (0.0, 1.0, -1, 2, float("nan"), "0.9"):
        with pytest.raises((ValueError, TypeError), match="coverage"):
            model.predict_interval([[1.0]], coverage)


def test_p_values_are_rates_of_false_alarms() -> None:
    rates = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, usual = rng.standard_normal((150, 2)), rng.standard_normal((1000, 2))
        model = SimpleSVMOneClass(nu=0.3, gamma=0.2).fit(X)
        p = model.p_values(usual)
        assert p.min() >= 1 / 151
        assert p.max() <= 1
        rates.append([np.mean(p <= 0.05), np.mean(p <= 0.2)])
        far = model.p_values(usual + 10.0)
        assert (far == 1 / 151).all()
        # The same order as that of the decision values of the peer.
        peer = OneClassSVM(nu=0.3, gamma=0.2, tol=1e-8).fit(X).decision_function(usual)
        assert (np.diff(p[np.argsort(peer)]) >= -1 / 151 - 1e-12).all()
    assert np.allclose(np.mean(rates, axis=0), [0.05, 0.2], atol=0.03)
