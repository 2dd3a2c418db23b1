"""What is said about a table: to the line of the user, and before whole numbers become equal."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from onlinesvm import AutoSVMClassifier, open_reader
from onlinesvm.stream.errors import StreamError
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


IDS = {
    "equal": ([2**60 + k for k in range(60)], True),
    "unsigned": ([2**63 + k for k in range(60)], True),
    "two": ([2**60 + k % 2 for k in range(60)], True),
    "halves": ([2**53 + k for k in range(60)], False),  # 31 of 60 stay apart
    "far apart": ([2**60 + 2**40 * k for k in range(60)], False),
    "nanoseconds": ([1_700_000_000_000_000_000 + 1000 * k for k in range(60)], False),
    "the same": ([2**60] * 60, False),
    "small": (list(range(60)), False),
}


@pytest.mark.parametrize("kind", ["integers", "text", "objects"])
@pytest.mark.parametrize("name", IDS)
def test_whole_numbers_that_become_equal_are_told(name, kind):
    numbers, told = IDS[name]
    column = {"integers": np.array(numbers, np.uint64), "text": [str(k) for k in numbers]}
    table = TABLE.assign(id=column.get(kind, np.array(numbers, object)))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        TableEncoder().fit(table, Y)
        as_names = TableEncoder().fit(table.assign(id=table.id.astype("category")), Y)
    said = [str(each.message) for each in found if "2**53" in str(each.message)]
    assert len(said) == told
    assert all("'id'" in each and "category" in each for each in said)
    assert as_names.kinds_[-1] == "category"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", IDS)
def test_files_with_such_columns_are_refused(name, ending, tmp_path):
    numbers, told = IDS[name]
    path, label = tmp_path / f"t.{ending}", np.arange(60) % 2
    table = pd.DataFrame({"a": TABLE.a, "id": np.array(numbers, np.uint64), "y": label})
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    if not told:
        assert next(iter(open_reader(path, label="y").blocks(100))).X.shape == (60, 2)
        return
    with pytest.raises(StreamError, match=r"'id' .* 2\*\*53.*--ignore id.*--categorical id"):
        next(iter(open_reader(path, label="y").blocks(100)))
    for more in ({"ignore": ["id"]}, {"numeric": ["id"]}, {"categorical": ["id"]}):
        assert next(iter(open_reader(path, label="y", **more).blocks(100))).n == 60
