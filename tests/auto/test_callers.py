"""Warnings about a table point to the line of the user, however deep the call is."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from onlinesvm import AutoSVMClassifier
from onlinesvm.tables import TableEncoder

pd = pytest.importorskip("pandas")

TABLE = pd.DataFrame(
    {"a": np.random.default_rng(0).standard_normal(60), "b": [None] * 60, "c": ["x", "y"] * 30}
)
Y = (TABLE.a > 0).astype(int)
LATER = TABLE.assign(a="no number")


def places(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [
        each.filename
        for each in found
        if "Columns" in str(each.message) or "'a'" in str(each.message)
    ]


@pytest.mark.parametrize("method", ["fit", "fit_transform"])
def test_of_an_encoder(method):
    assert places(lambda: getattr(TableEncoder(), method)(TABLE, Y)) == [__file__]
    assert places(lambda: getattr(make_pipeline(TableEncoder()), method)(TABLE, Y)) == [__file__]


def test_of_an_estimator():
    model = AutoSVMClassifier(time_limit=3)
    assert places(lambda: model.fit(TABLE, Y)) == [__file__]
    for method in (model.predict, model.predict_proba, model.decision_function):
        assert places(lambda method=method: method(LATER)) == [__file__]
    assert places(lambda: model.score(LATER, Y)) == [__file__]
    assert places(lambda: clone(model).fit(TABLE, Y)) == [__file__]
