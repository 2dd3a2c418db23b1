"""The same table as a data frame of pandas and of polars: columns of every kind become the same rows."""

import datetime
import io
import lzma
import os
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import sklearn

from onlinesvm import AutoSVMClassifier, AutoSVMRegressor
from onlinesvm.auto.columns import CATEGORY, MOMENT, NUMBER
from onlinesvm.tables import TableEncoder

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

N = 240
DAY, HOUR = datetime.timedelta(days=1), datetime.timedelta(hours=1)
BEGIN = datetime.datetime(2023, 11, 5, 22, 15, 30)


def values_of(kind, rng):
    """Values of a column as Python objects."""
    number = rng.normal(size=N)
    whole = rng.integers(-50, 50, N).tolist()
    made = {
        "float": number.tolist(),
        "integer": whole,
        "large integer": [2**60 + 2**40 * k for k in whole],
        "unsigned": [2**63 + 2**40 * abs(k) for k in whole],
        "decimal": [Decimal(k) / 4 for k in whole],
        "boolean": (number > 0).tolist(),
        "text": rng.choice(["red", "green", "blue"], N).tolist(),
        "many texts": [f"town {k % 45}" for k in whole],
        "text of numbers": [f"{x:.3f}" for x in number],
        "text of dates": [(BEGIN + k * DAY).strftime("%d.%m.%Y") for k in whole],
        "category": rng.choice(["small", "large"], N).tolist(),
        "category of numbers": [str(k % 4) for k in whole],
        "date": [(BEGIN + k * DAY).date() for k in whole],
        "moment": [BEGIN + k * 7 * HOUR for k in whole],
        "time": [(BEGIN + k * HOUR).time() for k in whole],
        "duration": [k * HOUR for k in whole],
    }
    return made[kind]


KINDS = {
    "float": NUMBER, "integer": NUMBER, "large integer": NUMBER, "unsigned": NUMBER,
    "decimal": NUMBER, "boolean": NUMBER, "text": CATEGORY, "many texts": CATEGORY,
    "text of numbers": NUMBER, "text of dates": MOMENT, "category": CATEGORY,
    "category of numbers": CATEGORY, "date": MOMENT, "moment": MOMENT, "time": NUMBER,
    "duration": NUMBER,
}  # fmt: skip


def with_gaps(values):
    """Every ninth value is missing."""
    return [None if i % 9 == 4 else value for i, value in enumerate(values)]


def frames(columns):
    """The same columns as data frames of pandas and of polars."""
    declared = [name for name in columns if name.startswith("category")]
    one = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})
    other = pl.DataFrame(
        [pl.Series(name, values, strict=False) for name, values in columns.items()]
    )
    return (
        one.astype(dict.fromkeys(declared, "category")),
        other.with_columns(pl.col(declared).cast(pl.Categorical)),
    )


@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "with gaps"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_any_kind_becomes_the_same_rows(kind, gaps):
    rng = np.random.default_rng(0)
    values, y = values_of(kind, rng), rng.integers(0, 2, N)
    found = []
    for frame in frames({kind: with_gaps(values) if gaps else values}):
        encoder = TableEncoder().fit(frame, y)
        assert encoder.kinds_ == [KINDS[kind]]
        found.append(encoder.transform(frame))
    assert np.array_equal(*found)
    assert np.isfinite(found[0]).all()
    assert (np.ptp(found[0], axis=0) > 0).all()


@pytest.mark.parametrize("kind", [AutoSVMClassifier, AutoSVMRegressor])
def test_models_of_both_frames_have_equal_values(kind):
    rng = np.random.default_rng(1)
    columns = {name: with_gaps(values_of(name, rng)) for name in KINDS}
    one, other = frames(columns)
    known = np.nan_to_num(one["float"].to_numpy(float))
    y = known + (one["text"] == "red").to_numpy() + 0.1 * rng.normal(size=N)
    if kind is AutoSVMClassifier:
        y = np.where(y > 0.3, "yes", "no")
    models = [kind(time_limit=None).fit(one, y), kind(time_limit=None).fit(other, pl.Series(y))]
    ask = "decision_function" if kind is AutoSVMClassifier else "predict"
    values = [getattr(m, ask)(frame) for m in models for frame in (one, other)]
    for each in values[1:]:
        assert np.array_equal(each, values[0])


def test_numbers_that_are_declared_as_categories_are_categories():
    codes = np.arange(40) % 3
    for values in (codes, codes.astype(float), codes.astype(str), codes > 0):
        table = pd.DataFrame({"code": pd.Categorical(values)})
        encoder = TableEncoder().fit(table)
        assert encoder.kinds_ == [CATEGORY]
        rows = encoder.transform(table)
        assert set(np.unique(rows)) == {0.0, 1.0}
        plain = pd.DataFrame({"code": values})  # at prediction the type may be lost
        assert np.array_equal(encoder.transform(plain), rows)
    empty = pd.DataFrame({"code": pd.Categorical([None] * 40), "x": codes})
    with pytest.warns(UserWarning, match="'code'"):
        assert TableEncoder().fit(empty).kinds_ == ["empty", NUMBER]


def test_whole_numbers_beyond_any_type_are_numbers():
    large = [2**100 + 2**80 * k for k in range(40)]
    one = TableEncoder().fit_transform(pd.DataFrame({"x": large}))
    other = TableEncoder().fit_transform(pl.DataFrame({"x": pl.Series(large, dtype=pl.Int128)}))
    assert np.array_equal(one, other)
    assert len(np.unique(one)) == 40
    huge = pd.DataFrame({"x": [*range(39), 10**400]})  # beyond double precision: a gap
    rows = TableEncoder().fit_transform(huge)
    assert np.isfinite(rows).all()
    assert rows[39, 1] == 1


def test_a_file_read_by_both_libraries_becomes_the_same_rows():
    rng = np.random.default_rng(2)
    names = [name for name in KINDS if name not in ("duration", "decimal")]
    columns = {name: with_gaps(values_of(name, rng)) for name in names}
    text = pd.DataFrame(columns).to_csv(index=False)
    y = rng.integers(0, 2, N)
    one, other = _both(text.encode())
    rows = [TableEncoder().fit(frame, y).transform(frame) for frame in (one, other)]
    assert np.allclose(*rows, atol=1e-9)


TABLES = ("health_insurance", "budget_food", "flchain", "males", "baseball")


@pytest.mark.skipif("ONLINESVM_DATA" not in os.environ, reason="needs ONLINESVM_DATA")
@pytest.mark.parametrize("name", TABLES)
def test_mixed_tables_read_by_both_libraries_become_the_same_rows(name):
    file = Path(os.environ["ONLINESVM_DATA"]) / "tables" / f"{name}.csv.xz"
    if not file.exists():
        pytest.skip(f"{file.name} is not there")
    with lzma.open(file) as opened:
        frames = _both(opened.read())
    y = np.arange(len(frames[0])) % 2
    rows = [TableEncoder().fit(frame, y).transform(frame) for frame in frames]
    assert np.allclose(*rows, atol=1e-9)


def _both(text):
    return pd.read_csv(io.BytesIO(text)), pl.read_csv(text, infer_schema_length=None)


@pytest.mark.parametrize("numbers", ["standard", "ranks"])
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_the_output_that_scikit_learn_is_told_to_give(container, numbers):
    """``set_config(transform_output=...)`` is for users: an encoder's own parts give arrays."""
    table, y = table_with_categories()
    rows = TableEncoder(numbers=numbers).fit_transform(table, y)
    later = TableEncoder(numbers=numbers).fit(table, y).transform(table)
    with sklearn.config_context(transform_output=container):
        encoder = TableEncoder(numbers=numbers)
        found = encoder.fit_transform(table, y)
        again = encoder.transform(table)
    assert type(found).__module__.startswith(container)
    assert list(found.columns) == list(encoder.get_feature_names_out())
    assert (found.to_numpy() == rows).all()
    assert (again.to_numpy() == later).all()


@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize("make", [AutoSVMClassifier, AutoSVMRegressor])
def test_a_race_while_scikit_learn_gives_data_frames(make, container):
    table, y = table_with_categories()
    y = y if make is AutoSVMClassifier else table["x"].to_numpy()
    plain = make(time_limit=None).fit(table, y).predict(table)
    with sklearn.config_context(transform_output=container), warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make(time_limit=None).fit(table, y)
        assert (model.predict(table) == plain).all()
        assert (model.best_estimator_.predict(table) == plain).all()


def table_with_categories(n=240):
    """Numbers, categories with a feature each, and categories with mean targets."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "few": rng.choice(["a", "b", "c"], n),
            "many": [f"user {k % 60}" for k in range(n)],
        }
    )
    return table, (table["x"] > 0).to_numpy()
