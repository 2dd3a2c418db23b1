"""``learn_one`` is ``partial_fit`` with one row, to the last bit."""

import numpy as np
import pytest

from onlinesvm import LASVMClassifier
from onlinesvm.core.lasvm.online.one_by_one import OneByOne
from onlinesvm.estimators.base import KernelEstimator


@pytest.mark.parametrize(
    "settings",
    [
        {"gamma": 0.05},
        {"kernel": "poly", "gamma": 0.1, "coef0": 1.0},
        {"gamma": 0.05, "budget": 30},
        {"gamma": 0.05, "cache_size": 0.01},
        {"gamma": 0.05, "selection": "active"},
        {"gamma": 0.05, "selection": "gradient"},
    ],
    ids=["rbf", "poly", "budget", "tiny cache", "active", "gradient"],
)
def test_learn_one_equals_partial_fit(settings, monkeypatch):
    """``partial_fit`` by way of tiles and blocks, which one row would not take by itself."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=200) > 0).astype(int)
    y[150:] += 2 * (X[150:, 2] > 1)  # labels never seen before, in mid-stream
    rows, one = (LASVMClassifier(**settings).partial_fit(X[:10], y[:10]) for _ in range(2))
    with monkeypatch.context() as slow:
        slow.setattr(KernelEstimator, "_learn_only_row", lambda *_: False)
        slow.setattr(OneByOne, "takes", lambda *_: False)
        for x, label in zip(X[10:], y[10:].tolist(), strict=True):
            rows.partial_fit(x[None, :], [label])
    for x, label in zip(X[10:], y[10:].tolist(), strict=True):
        one.learn_one(x, label)
    np.testing.assert_array_equal(one.decision_function(X), rows.decision_function(X))
    assert one.n_support_.tolist() == rows.n_support_.tolist()
    if "selection" in settings:
        assert (one.n_looked_at_, one.n_learned_) == (rows.n_looked_at_, rows.n_learned_)
        assert one.n_learned_ < one.n_looked_at_
