"""Probabilities, sets, intervals and p-values of SimpleSVM: shares that hold on rows that were not learned."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import brier_score_loss
from sklearn.svm import SVC, SVR, OneClassSVM

from onlinesvm import (
    HullerClassifier,
    LASVMClassifier,
    SimpleSVMClassifier,
    SimpleSVMOneClass,
    SimpleSVMRegressor,
)

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


# -- classes ----------------------------------------------------------------------------------


def drawn(seed, share=0.5):
    return make_classification(2400, 8, flip_y=0.15, weights=[share], random_state=seed)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_probabilities_are_as_good_as_those_of_a_calibrated_svc(share: float) -> None:
    own, peer, bias = [], [], []
    for seed in range(8):
        X, y = drawn(seed, share)
        ours = SimpleSVMClassifier(gamma=0.1).fit(X[:400], y[:400])
        theirs = CalibratedClassifierCV(SVC(gamma=0.1), cv=5).fit(X[:400], y[:400])
        chance = ours.predict_proba(X[400:])
        assert (ours.classes_[chance.argmax(axis=1)] == ours.predict(X[400:])).all()
        np.testing.assert_allclose(chance.sum(axis=1), 1.0)
        own.append(brier_score_loss(y[400:], chance[:, 1]))
        peer.append(brier_score_loss(y[400:], theirs.predict_proba(X[400:])[:, 1]))
        bias.append(chance[:, 1].mean() - y[400:].mean())
    assert np.mean(own) <= 1.02 * np.mean(peer)
    assert abs(np.mean(bias)) <= 0.01


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_sets_hold_their_share(alpha: float) -> None:
    shares = []
    for seed in range(16):  # their mean has a standard error of 0.006
        X, y = drawn(seed)
        sets = SimpleSVMClassifier(gamma=0.1).fit(X[:300], y[:300]).predict_set(X[300:], alpha)
        shares.append(sets[np.arange(len(sets)), y[300:]].mean())
    assert abs(np.mean(shares) - (1 - alpha)) < 0.02


def test_several_classes_in_any_order_of_labels() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["z", "a", "m"])[y]
    exact = SimpleSVMClassifier(gamma=0.5).fit(X[::2], names[::2])
    peer = LASVMClassifier(gamma=0.5, epochs="converge").fit(X[::2], names[::2])
    assert np.abs(exact.predict_proba(X) - peer.predict_proba(X)).mean() < 0.02
    chosen = exact.classes_[exact.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(chosen, exact.predict(X))
    np.testing.assert_allclose(exact.predict_log_proba(X), np.log(exact.predict_proba(X)))


@pytest.mark.parametrize("labels", ["abb", "bba", "abc", "cbbbbbb"])
def test_the_only_example_of_a_label_makes_nobody_certain(labels: str) -> None:
    X = load_iris().data[: len(labels)]
    model = SimpleSVMClassifier().fit(X, list(labels))
    assert model.predict_proba(X).max() < 0.9
    one = SimpleSVMClassifier().partial_fit(X, ["a"] * len(X))
    assert (one.predict_proba(X) == 1.0).all()
    assert one.predict_set(X).all()


def test_weights_of_classes_say_nothing_about_their_frequency() -> None:
    X, y = drawn(0, 0.8)
    weighted = SimpleSVMClassifier(gamma=0.1, class_weight={1: 3.0}).fit(X[:400], y[:400])
    repeated = SimpleSVMClassifier(gamma=0.1).fit(
        X[:400], y[:400], sample_weight=np.where(y[:400] == 1, 3.0, 1.0)
    )
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )
    means = [model.predict_proba(X[400:])[:, 1].mean() for model in (weighted, repeated)]
    assert means[0] < means[1] - 0.05


def test_others_name_the_line_to_write() -> None:
    X, y = drawn(0)
    model = HullerClassifier(C=1.0).fit(X[:200], y[:200])
    assert not hasattr(model, "predict_proba")
    with pytest.raises(
        AttributeError, match=r"CalibratedClassifierCV\(HullerClassifier\(\.\.\.\)\)"
    ):
        model.predict_proba(X)
    assert CalibratedClassifierCV(HullerClassifier(C=1.0)).fit(X, y).predict_proba(X).shape
