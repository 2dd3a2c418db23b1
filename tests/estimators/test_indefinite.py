"""Kernels that are not positive definite: a finite model beside ``SVC``'s, or an error that says so."""

import warnings

import numpy as np
import pytest
from sklearn.base import is_outlier_detector, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, OneClassSVM

from onlinesvm import (
    LASVMClassifier,
    SimpleSVMClassifier,
    SimpleSVMOneClass,
    SimpleSVMRegressor,
    StreamSVMClassifier,
)
from onlinesvm.cli.algorithms import algorithms

SIMPLE = [
    (SimpleSVMClassifier, SVC),
    (SimpleSVMRegressor, SVR),
    (SimpleSVMOneClass, OneClassSVM),
]
PEERS = pytest.mark.parametrize(("kind", "peer"), SIMPLE, ids=lambda kind: kind.__name__)


def distance(X, Z):
    """Conditionally positive definite: convex wherever the coefficients sum to a constant."""
    return -np.sqrt(((X[:, None] - Z[None]) ** 2).sum(-1))


def waves(X, Z):
    return np.cos(3 * (X @ Z.T))


def drawn(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 150)), int(rng.integers(1, 8))
    X = rng.standard_normal((n, d))
    y = (X[:, 0] + 0.2 * rng.standard_normal(n) > 0).astype(int)
    y[:2] = 0, 1
    return X, y, rng


def target_of(kind, X, y):
    if is_outlier_detector(kind()):
        return None
    return X[:, 0] if is_regressor(kind()) else y


def values_of(model, X):
    return (model.predict if is_regressor(model) else model.decision_function)(X)


def settings(kind, rng, which, d):
    sigmoid = {
        "kernel": "sigmoid",
        "gamma": float(10 ** rng.uniform(-1, 0.5) / d),
        "coef0": float(rng.choice([0, -1, -5])),
    }
    chosen = [sigmoid, {"kernel": distance}, {"kernel": waves}, {"kernel": "precomputed"}][which]
    if "C" in kind().get_params():
        chosen["C"] = float(10 ** rng.uniform(-1, 2))
    return chosen


def symmetric(n, rng):
    A = rng.standard_normal((n, n))
    return (A + A.T) / 2 * rng.choice([1e-3, 1.0, 1e3])


@pytest.mark.parametrize("which", range(4), ids=["sigmoid", "distance", "waves", "precomputed"])
@PEERS
def test_simplesvm_stays_finite(kind, peer, which):
    for seed in range(25):
        X, y, rng = drawn(seed)
        chosen = settings(kind, rng, which, X.shape[1])
        rows = symmetric(len(X), rng) if which == 3 else X
        model = kind(selection=str(rng.choice(["block", "sweep", "random"])), **chosen)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(rows, target_of(kind, X, y))
            assert np.isfinite(values_of(model, rows)).all()
            if which != 3:
                model.partial_fit(
                    X[:9] + 0.1,
                    target_of(kind, X, y)[:9] if kind is not SimpleSVMOneClass else None,
                )
                model.forget(np.arange(5, 12))
                assert np.isfinite(values_of(model, rows)).all()
        assert np.isfinite(model.dual_coef_).all()
        assert np.isfinite(model.intercept_).all()


def test_simplesvm_classifies_like_svc():
    ours, theirs = [], []
    for seed in range(40):
        X, y, rng = drawn(seed)
        chosen = settings(SVC, rng, 0, X.shape[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ours.append(SimpleSVMClassifier(**chosen).fit(X, y).score(X, y))
        theirs.append(SVC(**chosen).fit(X, y).score(X, y))
    assert np.mean(ours) > np.mean(theirs) - 0.01


@PEERS
def test_conditionally_positive_definite_is_exact(kind, peer):
    for seed in range(6):
        X, y, rng = drawn(seed)
        scale = (1.0, 100.0, 0.01)[seed % 3]
        target, chosen = target_of(kind, scale * X, y), {"kernel": distance}
        if "C" in kind().get_params():
            chosen["C"] = float(10 ** rng.uniform(-1, 2)) / scale
        expected = values_of(peer(tol=1e-6, **chosen).fit(scale * X, target), scale * X)
        found = values_of(kind(**chosen).fit(scale * X, target), scale * X)
        assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


def test_quadratic_slack_says_why_there_is_no_solution():
    rng = np.random.default_rng(0)
    K, y = symmetric(60, rng), np.arange(60) % 2
    with pytest.raises(ValueError, match="not positive definite"):
        SimpleSVMClassifier(kernel="precomputed", margin="quadratic", C=1e6).fit(K, y)


OTHERS = {name: kind for name, kind in algorithms().items() if not name.startswith("simplesvm")}


@pytest.mark.parametrize("name", OTHERS)
def test_no_other_algorithm_gives_nan(name):
    kind = OTHERS[name]
    for seed in range(12):
        X, y, rng = drawn(seed)
        chosen = settings(kind, rng, seed % 4, X.shape[1])
        rows = symmetric(len(X), rng) if seed % 4 == 3 else X
        if kind is StreamSVMClassifier:
            chosen["normalize"] = False  # with it, a negative k(x, x) is refused
        model, target = kind(**chosen), target_of(kind, X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            if seed % 4 == 3 or seed % 8 == 0:
                model.fit(rows, target)
            else:
                for part in np.array_split(np.arange(len(X)), 7):
                    model.partial_fit(X[part], *([] if target is None else [target[part]]))
                model.finish()
        assert np.isfinite(values_of(model, rows)).all(), (seed, chosen)


def test_a_row_without_length_is_refused():
    X, y, _ = drawn(0)
    with pytest.raises(ValueError, match=r"k\(x, x\) of row \d+ is negative"):
        StreamSVMClassifier(kernel="sigmoid", coef0=-5.0).fit(X, y)


def test_a_bounded_stream_stays_finite():
    X, y, _ = drawn(3)
    model = LASVMClassifier(kernel="sigmoid", coef0=-1.0, budget=20)
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
    assert np.isfinite(model.decision_function(X)).all()
