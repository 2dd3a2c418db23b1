"""Targets that are all the same: intervals and quantiles know how sure they are."""

import numpy as np
import pytest

from onlinesvm import LASVMRegressor, SimpleSVMRegressor, load_model

X = np.random.default_rng(0).standard_normal((400, 3))

SETTINGS = {
    "plain": {},
    "window": {"window": 100},
    "budget": {"budget": 20},
    "half-life": {"half_life": 30.0},
    "quantile": {"quantile": 0.5},
    "quantiles": {"quantile": [0.1, 0.9]},
    "calibrated": {"quantile": [0.1, 0.9], "calibrated": True},
    "listing": {"block_size": 1},
}


def learned(model, how, y):
    if how == "fit":
        return model.fit(X, y)
    if how == "at once":
        return model.partial_fit(X, y)
    for x, target in zip(X, y.tolist(), strict=True):
        model.learn_one(x, target)
    return model


@pytest.mark.parametrize("value", [0.0, 5.0, -1e-3])
@pytest.mark.parametrize("how", ["fit", "at once", "one by one"])
@pytest.mark.parametrize("case", SETTINGS)
def test_intervals_of_a_constant(case, how, value, tmp_path):
    """Once so many examples were predicted before they were learned, there is an interval around them."""
    model = learned(LASVMRegressor(**SETTINGS[case]), how, np.full(len(X), value))
    low, high = model.predict_interval(X[:5], 0.8).T
    slack = 0.1 + 1e-3 * abs(value)  # epsilon, in which nothing is learned
    assert (low <= value + slack).all()
    assert (high >= value - slack).all()
    assert (high - low < 0.5).all()
    np.testing.assert_allclose(model.predict_interval_one(X[0], 0.8), [low[0], high[0]], atol=1e-6)
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors").predict_interval(X[:5], 0.8)
    np.testing.assert_array_equal(again, np.stack([low, high], axis=1))


def test_intervals_of_several_targets_that_are_constant():
    model = LASVMRegressor().partial_fit(X, np.zeros((len(X), 2)))
    assert model.predict_interval(X[:5]).shape == (5, 2, 2)


def test_exact_models_have_intervals_of_constants_as_well():
    found = SimpleSVMRegressor().fit(X, np.zeros(len(X))).predict_interval(X[:5])
    assert np.isfinite(found).all()


@pytest.mark.parametrize("settings", [{}, {"window": 50}])
def test_only_the_first_example_of_a_stream_has_no_prediction(settings):
    """Whether rows come one by one or together: 21 of them are enough for an interval, 20 are not."""
    for target in (np.zeros(21), np.linspace(0.0, 1.0, 21)):
        for one_by_one in (False, True):
            model = LASVMRegressor(block_size=1, **settings)
            if one_by_one:
                for x, y in zip(X[:20], target.tolist()[:20], strict=True):
                    model.learn_one(x, y)
            else:
                model.partial_fit(X[:20], target[:20])
            with pytest.raises(ValueError, match="learn more examples"):
                model.predict_interval(X[:1])
            model.learn_one(X[20], target[20])
            assert np.isfinite(model.predict_interval(X[:1])).all()


def test_a_model_that_was_saved_after_one_example_has_learned_it(tmp_path):
    model = LASVMRegressor(block_size=1)
    model.learn_one(X[0], 0.0)
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    for x in X[1:21]:
        model.learn_one(x, 0.0)
        again.learn_one(x, 0.0)
    assert np.array_equal(model.predict_interval(X), again.predict_interval(X))
