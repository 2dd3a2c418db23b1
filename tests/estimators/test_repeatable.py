"""Without a seed, two fits are the same, as ``SVC``'s are; None asks for a new order."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier, LASVMOneClass, LASVMRegressor

MODELS = [LASVMClassifier, LASVMRegressor, LASVMOneClass]


def sample():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 4))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(1500) > 0).astype(int)


@pytest.mark.parametrize("model", [*MODELS, SVC])
def test_fits_without_a_seed_are_the_same(model):
    X, y = sample()
    first = model().fit(X, y)
    name = "decision_function" if hasattr(first, "decision_function") else "predict"
    values = getattr(first, name)(X)
    for other in (model().fit(X, y), clone(first).fit(X, y), first.fit(X, y)):
        np.testing.assert_array_equal(getattr(other, name)(X), values)


def test_none_asks_for_another_order():
    X, y = sample()
    values = [LASVMClassifier(random_state=None).fit(X, y).decision_function(X) for _ in range(2)]
    assert (values[0] != values[1]).any()
    for model in MODELS:
        assert inspect.signature(model).parameters["random_state"].default == 0


def test_members_of_an_ensemble_have_seeds_of_their_own():
    X, y = sample()
    bag = BaggingClassifier(LASVMClassifier(), n_estimators=3, random_state=0).fit(X[:200], y[:200])
    assert len({member.random_state for member in bag.estimators_}) == 3
