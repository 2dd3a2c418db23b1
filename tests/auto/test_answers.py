"""What people ask an Auto model after it has learned: why, how sure."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from onlinesvm import AutoSVMClassifier, AutoSVMRegressor
from onlinesvm.estimators.cells import CellRegressor


def table(n, seed=0):
    """A frame of numbers, words and gaps, and what depends on it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "price": np.exp(3 * rng.normal(size=n)),
            "town": rng.choice(["Aachen", "Bonn", "Dresden"], n),
        }
    )
    value = np.sin(2 * frame["size"].fillna(0.0)) + (frame["town"] == "Bonn")
    return frame, value.to_numpy() + 0.2 * rng.normal(size=n)


@pytest.fixture(scope="module")
def values():
    frame, y = table(900)
    return AutoSVMRegressor(time_limit=None).fit(frame[:300], y[:300]), frame[300:], y[300:]


@pytest.fixture(scope="module")
def labels():
    frame, value = table(900, seed=1)
    y = np.where(value > 0.4, "dear", "cheap")
    return AutoSVMClassifier(time_limit=None).fit(frame[:300], y[:300]), frame[300:], y[300:]


def test_explanations_add_up_and_name_the_columns(values, labels):
    for (model, X, _), found in ((values, "predict"), (labels, "decision_function")):
        explained = model.explain(X[:20], n_examples=2)
        total = explained.base_values + explained.values.sum(axis=1)
        np.testing.assert_allclose(
            total, getattr(model, found)(X[:20]), atol=1e-4
        )  # decisions are in single precision
        assert explained.feature_names == [str(name) for name in model.feature_names_out_]
        assert any("town" in name for name in explained.feature_names)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_intervals_keep_their_share(values, coverage):
    model, X, y = values
    low, high = model.predict_interval(X, coverage).T
    assert abs(np.mean((low <= y) & (y <= high)) - coverage) < 0.08


def test_sets_keep_their_share(labels):
    model, X, y = labels
    sets = model.predict_set(X, 0.1)
    assert sets.shape == (len(X), 2)
    own = sets[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    assert 0.83 < own.mean() < 0.97


def test_bad_questions_are_one_sentence(values):
    model, X, _ = values
    with pytest.raises(NotFittedError):
        AutoSVMRegressor().predict_interval(X)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(X, 1.5)
    with pytest.raises(ValueError, match="town"):
        model.explain(X.drop(columns="town"))


def test_cells_say_what_they_lack(values):
    model, X, y = values
    rows = model.best_estimator_[:-1].transform(X)
    cells = CellRegressor(model.best_estimator_[-1], n_cells=3).fit(rows, y)
    last = model.best_estimator_.steps[-1]
    model.best_estimator_.steps[-1] = (last[0], cells)
    try:
        for ask in (model.explain, model.predict_interval):
            with pytest.raises(ValueError, match="a single model of all rows"):
                ask(X)
    finally:
        model.best_estimator_.steps[-1] = last
