"""Tables as users have them: columns of any kind, gaps, what comes later."""

import datetime
import pickle
import warnings

import numpy as np
import pytest

from onlinesvm.auto.columns import CATEGORY, EMPTY, MOMENT, NUMBER, as_kind, kind_of, read_columns
from onlinesvm.auto.tables import TableEncoder

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
N = 300


def frame():
    """One column of each kind, with gaps."""
    words = RNG.choice(["red", "green", "blue"], N).astype(object)
    words[::7] = None
    size = RNG.normal(size=N)
    size[::5] = np.nan
    return pd.DataFrame(
        {
            "size": size,
            "heavy": np.exp(3 * RNG.normal(size=N)),
            "count": RNG.integers(0, 5, N),
            "flag": RNG.random(N) > 0.5,
            "colour": words,
            "town": RNG.choice([f"town {k}" for k in range(120)], N),
            "day": pd.date_range("2024-01-01", periods=N, freq="7h"),
            "text day": pd.date_range("2020-01-01", periods=N).strftime("%Y-%m-%d"),
            "text number": [f"{x:.3f}" for x in RNG.normal(size=N)],
            "same": 3,
        }
    )


Y = RNG.integers(0, 2, N)


def test_every_column_becomes_numbers_without_gaps():
    table = frame()
    encoder = TableEncoder()
    rows = encoder.fit_transform(table, Y)
    assert encoder.kinds_ == [
        NUMBER, NUMBER, NUMBER, NUMBER, CATEGORY, CATEGORY, MOMENT, MOMENT, NUMBER, NUMBER,
    ]  # fmt: skip
    names = encoder.get_feature_names_out().tolist()
    assert rows.shape == (N, len(names))
    assert np.isfinite(rows).all()
    assert np.abs(rows).max() < 10
    for name in ("size is missing", "colour_red", "colour_(missing)", "town", "day hour sin"):
        assert name in names
    assert "same" not in names
    again = encoder.transform(table)
    stable = [j for j, name in enumerate(names) if name != "town"]  # that one is cross-fitted
    assert np.allclose(rows[:, stable], again[:, stable])


@pytest.mark.parametrize("numbers", ["standard", "ranks"])
def test_rows_of_a_moved_and_stretched_column_are_the_same(numbers):
    x = np.exp(2 * RNG.normal(size=(N, 1)))
    found = [
        TableEncoder(numbers=numbers).fit_transform(a) for a in (x, 1e6 + 1e3 * x, 1e-9 * x - 5)
    ]
    assert np.allclose(found[0], found[1], atol=1e-5)
    assert np.allclose(found[0], found[2], atol=1e-3)


def test_an_outlier_moves_nobody_else():
    x = RNG.normal(size=(N, 1))
    far = x.copy()
    far[0] = 1e12
    rows, moved = (TableEncoder().fit_transform(a) for a in (x, far))
    assert np.abs(rows[1:] - moved[1:]).max() < 0.2
    assert moved[0, 0] < 5


@pytest.mark.parametrize(
    ("numbers", "far"),
    [("standard", 1e150), ("standard", 1e300), ("standard", -1.7e308), ("ranks", 1e300)],
)
def test_a_value_near_the_end_of_double_precision_is_an_outlier_as_well(numbers, far):
    """Its square is infinite; it must not become the centre of the others."""
    x = RNG.normal(size=N)
    wide = np.where(x > 0, far, -far) * RNG.random(N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder = TableEncoder(numbers=numbers).fit(pd.DataFrame({"x": x}))
        at = encoder.transform(pd.DataFrame({"x": [0.0, np.sign(far) * 50.0, far]}))[:, 0]
        spread = TableEncoder(numbers=numbers).fit_transform(pd.DataFrame({"x": wide}))
    assert (at[2] - at[1]) * np.sign(far) >= 0
    assert abs(at[2] - at[0]) > 1.5
    assert np.isfinite(spread).all()
    assert spread.std() > 0.5


@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_values_beside_a_frequent_one_stay_apart(share):
    """Sales, rain, claims: most are zero, and the quartiles of all values are close together or equal."""
    x = np.where(RNG.random(N) < share, 0.0, np.exp(RNG.normal(size=N)))
    x[: int(0.06 * N)] = 1e-3  # so that the quartiles differ, by little
    for low in (0.0, 1e-3):
        rows = TableEncoder().fit_transform(np.maximum(x, low)[:, None])[:, 0]
        large = x > 0.1
        assert np.array_equal(np.argsort(rows[large]), np.argsort(x[large]))
        assert rows[large].std() > 0.5
        assert np.abs(rows).max() < 5


def test_columns_of_few_values_are_scaled_by_what_varies():
    for column in ([0] * 90 + [5] * 9 + [7], [3] * 50 + [4] * 30 + [5] * 20, [0] * 99 + [1e9]):
        rows = TableEncoder().fit_transform(np.array(column, float)[:, None])
        assert np.isfinite(rows).all()
        assert 0.5 < np.ptp(rows) < 8


@pytest.mark.parametrize("gaps", [0.0, 0.2, 0.7])
@pytest.mark.parametrize("size", [2, 3, 50, 501])
def test_what_is_measured_of_columns_is_that_of_plain_formulas(gaps, size):
    """Skewed, rounded, mostly zero, huge, constant and yes-or-no columns, with and without gaps."""
    rng = np.random.default_rng(size)
    base = rng.normal(size=(6, size))
    columns = [
        np.exp(3 * base[0]), np.round(base[1]), np.where(base[2] > 0.5, np.exp(base[2]), 0.0),
        1e12 + 1e6 * base[3], np.full(size, 7.0), base[5] > 0,
    ]  # fmt: skip
    X = np.stack(columns, axis=1).astype(float)
    X[1:][rng.random((size - 1, 6)) < gaps] = np.nan  # every column keeps a value
    found = TableEncoder().fit(X)
    median = np.nanmedian(X, axis=0)
    filled = np.where(np.isnan(X), median, X)
    assert np.array_equal(found.median_, median)
    assert np.array_equal(found.has_gaps_, np.isnan(X).any(axis=0))
    assert np.array_equal(found.varies_, filled.max(axis=0) > filled.min(axis=0))
    for j, column in enumerate(filled.T):
        values, counts = np.unique(column, return_counts=True)
        often = values[counts.argmax()]
        rest = column[column != often] if counts.max() > size / 4 else column
        if len(values) > 2 and np.ptp(np.percentile(rest, [25, 75])):
            want = np.ptp(np.percentile(rest, [25, 75])) / 1.349
            assert found.spread_[j] == pytest.approx(want, rel=1e-12)
        elif 1 < len(values) <= 2:
            assert found.spread_[j] == np.ptp(values)


def test_polars_and_pandas_give_the_same_rows():
    pl = pytest.importorskip("polars")
    table = frame().drop(columns=["flag"])
    found = TableEncoder().fit_transform(table, Y)
    other = TableEncoder().fit_transform(pl.from_pandas(table), Y)
    assert np.allclose(found, other)


def test_nullable_and_categorical_columns_of_pandas():
    table = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3, 4] * 10, dtype="Int64"),
            "truth": pd.array([True, None, False, True] * 10, dtype="boolean"),
            "kind": pd.Categorical(["a", "b", None, "a"] * 10),
            "zone": pd.date_range("2024-01-01", periods=40, tz="Europe/Berlin"),
        }
    )
    encoder = TableEncoder()
    assert np.isfinite(encoder.fit_transform(table)).all()
    assert encoder.kinds_ == [NUMBER, NUMBER, CATEGORY, MOMENT]


def test_a_new_category_and_a_new_gap_are_welcome():
    table = frame()
    encoder = TableEncoder().fit(table, Y)
    new = table.iloc[:3].copy()
    new["colour"] = ["violet", None, "red"]
    new["town"] = ["nowhere", None, "town 3"]
    new["count"] = [np.nan, 1, 2]
    new["day"] = pd.NaT
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(encoder.transform(new)).all()


def test_columns_come_in_any_order_and_more_are_ignored():
    table = frame()
    encoder = TableEncoder().fit(table, Y)
    other = table[table.columns[::-1]].assign(more=1)
    assert np.array_equal(encoder.transform(table), encoder.transform(other))


def test_a_missing_column_is_named():
    table = frame()
    encoder = TableEncoder().fit(table, Y)
    with pytest.raises(ValueError, match=r"lacks the columns 'colour', 'town'"):
        encoder.transform(table.drop(columns=["town", "colour"]))
    with pytest.raises(ValueError, match="expecting 10 features"):
        encoder.transform(np.ones((2, 3)))


def test_a_column_of_lists_is_named():
    table = frame().assign(tags=[[1, 2]] * N)
    with pytest.raises(ValueError, match=r"Column 'tags' contains values of type list"):
        TableEncoder().fit(table)


@pytest.mark.parametrize("texts", [["12,5", "13,5", "14"], ["abc", "7", "abc"]])
def test_many_values_that_cannot_be_read_are_said(texts):
    """A file with decimal commas: whole numbers can be read, all others would be missing without a word."""
    table = pd.DataFrame({"size": np.arange(60) / 4, "other": np.arange(60) % 7})
    encoder = TableEncoder().fit(table)
    other = table.assign(size=[texts[k % 3].replace("1", str(k)) for k in range(60)])
    with pytest.warns(
        UserWarning, match="40 of 60 values of column 'size' cannot be read as a number, such as"
    ):
        rows = encoder.transform(other)
    read = pd.to_numeric(other["size"], errors="coerce")
    assert np.array_equal(rows, encoder.transform(table.assign(size=read)))


def test_few_words_among_later_numbers_are_missing_values():
    table = pd.DataFrame({"size": np.arange(60) / 4, "other": np.arange(60) % 7})
    words = [str(k) if k % 3 else "sold out" for k in range(60)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = TableEncoder().fit(table).transform(table.assign(size=words))
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("part", [lambda table: table, lambda table: table.to_batches()[0]])
def test_a_table_of_pyarrow_is_a_frame(part):
    pa = pytest.importorskip("pyarrow")
    table = frame()
    encoder, arrow = TableEncoder().fit(table, Y), part(pa.Table.from_pandas(table))
    other = TableEncoder().fit(arrow, Y)
    assert other.kinds_ == encoder.kinds_
    assert list(other.feature_names_in_) == list(table.columns)
    assert np.array_equal(other.transform(arrow), encoder.transform(table))
    turned = arrow.select(list(reversed(table.columns)))
    assert np.array_equal(encoder.transform(turned), encoder.transform(table))


def test_a_column_that_has_become_another_one_is_said():
    """Lists, and dates among numbers, are errors; texts that are no numbers are gaps, and a warning says so."""
    table = frame()
    encoder = TableEncoder().fit(table, Y)
    for name in ("size", "colour"):
        with pytest.raises(ValueError, match=f"Column '{name}' contains values of type list"):
            encoder.transform(table.assign(**{name: [[1, 2]] * N}))
    with pytest.raises(
        ValueError, match=r"Column 'size' contains dates; .* Convert it to numbers\."
    ):
        encoder.transform(table.assign(size=pd.Timestamp("2024-01-01")))
    with pytest.warns(
        UserWarning, match="No value of column 'size' can be read as a number, such as 'red'"
    ):
        rows = encoder.transform(table.assign(size="red"))
    assert np.array_equal(rows, encoder.transform(table.assign(size=None)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform(table.assign(size=["red", *table["size"][1:]]))
        encoder.transform(table.assign(size="n/a"))


@pytest.mark.parametrize(
    "table",
    [
        [{"a": 1.0, "b": "x"}] * N,
        {"a": [1.0] * N},
        np.array([(1.0, "x")] * N, dtype=[("a", float), ("b", "U1")]),
    ],
    ids=["list of dictionaries", "dictionary", "structured array"],
)
def test_tables_that_are_no_data_frames_yet(table):
    with pytest.raises(ValueError, match=r"give a data frame, such as pandas.DataFrame\(X\)\.$"):
        TableEncoder().fit(table)


def test_durations_as_objects_and_periods():
    seconds = RNG.integers(0, 10**6, N)
    months = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D")
    same = TableEncoder().fit_transform(seconds[:, None].astype(float))
    for unit in ("s", "ms"):
        objects = [np.timedelta64(int(s), "s").astype(f"m8[{unit}]") for s in seconds]
        table = pd.DataFrame({"long": pd.Series(objects, dtype=object)})
        assert np.array_equal(TableEncoder().fit_transform(table), same)
    table = pd.DataFrame({"month": pd.Series(months).dt.to_period("M")})
    table.loc[3, "month"] = pd.NaT
    encoder = TableEncoder().fit(table)
    assert encoder.kinds_ == [MOMENT]
    stamps = table.assign(month=table["month"].dt.to_timestamp())
    assert np.array_equal(encoder.transform(table), encoder.transform(stamps))


def test_a_column_without_values_is_left_out_and_said():
    table = frame().assign(none=None, nan=np.nan)
    encoder = TableEncoder()
    with pytest.warns(UserWarning, match="'none', 'nan'"):
        encoder.fit(table, Y)
    assert encoder.kinds_[-2:] == [EMPTY, EMPTY]
    assert not any("nan" in str(name) for name in encoder.get_feature_names_out())
    with pytest.raises(ValueError, match="every column is empty"):
        TableEncoder().fit(table[["none", "nan"]])


def test_infinity_and_names_that_occur_twice_are_refused():
    with pytest.raises(ValueError, match="infinity"):
        TableEncoder().fit(frame().assign(size=np.inf))
    table = frame()
    table.columns = ["size"] * len(table.columns)
    with pytest.raises(ValueError, match="occurs twice"):
        TableEncoder().fit(table)


@pytest.mark.parametrize("values", [["inf", "1.5"], [np.inf, "1.5"], [float("-inf"), 2]], ids=str)
def test_infinity_is_refused_also_as_a_text_or_an_object(values):
    """A column of numbers refused it, and a column of texts or objects took it for a gap."""
    column = pd.Series(values * 20, dtype=object)
    with pytest.raises(ValueError, match="infinity, in column 'x'"):
        TableEncoder().fit(pd.DataFrame({"x": column}))
    encoder = TableEncoder().fit(pd.DataFrame({"x": ["1.5", "2", "3"] * 20}))
    with pytest.raises(ValueError, match="infinity, in column 'x'"):
        encoder.transform(pd.DataFrame({"x": column}))


def test_intervals_are_categories_now_and_later():
    """What pandas.cut makes could be learned, but not predicted."""
    table = pd.DataFrame({"x": np.arange(60.0), "z": np.arange(60)[::-1]})
    for kind in ("category", "interval"):
        cut = pd.cut(table["x"], [-1, 10, 30, 60])
        cut = cut if kind == "category" else pd.Series(pd.arrays.IntervalArray(cut))
        made = table.assign(x=cut)
        encoder = TableEncoder()
        rows = encoder.fit_transform(made)
        assert encoder.kinds_ == [CATEGORY, NUMBER]
        np.testing.assert_array_equal(encoder.transform(made[["z", "x"]]), rows)
        assert "x_(10, 30]" in encoder.get_feature_names_out()


def test_numbers_in_a_column_of_dates_are_refused():
    """They were seconds or microseconds after 1970, without a word."""
    days = pd.date_range("2024-01-01", periods=40)
    encoder = TableEncoder().fit(pd.DataFrame({"d": days}))
    for bad in (np.arange(40), np.arange(40.0), days - days[0], [True] * 40):
        with pytest.raises(
            ValueError, match=r"'d' contains numbers; it had dates .* Convert it to dates\."
        ):
            encoder.transform(pd.DataFrame({"d": bad}))
    assert np.isfinite(encoder.transform(pd.DataFrame({"d": [np.nan] * 40}))).all()
    with pytest.warns(UserWarning, match="No value of column 'd' can be read as a moment"):
        encoder.transform(pd.DataFrame({"d": pd.Series([5] * 40, dtype=object)}))


def test_masked_numbers_are_gaps():
    values = np.ma.masked_array(
        np.arange(60.0).reshape(30, 2), mask=np.arange(60).reshape(30, 2) % 7 == 0
    )
    expected = TableEncoder().fit_transform(values.filled(np.nan))
    np.testing.assert_array_equal(TableEncoder().fit_transform(values), expected)
    whole = np.ma.masked_array(values.data.astype(int), mask=values.mask)
    np.testing.assert_array_equal(TableEncoder().fit_transform(whole), expected)


def test_means_of_targets_do_not_know_their_own_row():
    """Categories that occur twice say nothing of labels by chance."""
    table = pd.DataFrame({"id": [f"{k // 2}" + "x" for k in range(N)]})
    rows = TableEncoder().fit_transform(table, Y)
    best = max(np.mean((rows[:, 0] > t) == Y) for t in np.quantile(rows, np.linspace(0, 1, 50)))
    assert best < 0.62


@pytest.mark.parametrize("rows", [1, 2, 4, 5])
def test_many_categories_and_labels_that_are_all_rare(rows):
    """Mean targets are computed in folds, and scikit-learn wants each label in five of them."""
    table = pd.DataFrame({"id": [f"id {k % 60}" for k in range(N)], "x": RNG.normal(size=N)})
    y = [f"label {k // rows}" for k in range(N)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if rows < 5:  # of the number of labels, scikit-learn itself warns
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        encoder = TableEncoder()
        learned = encoder.fit_transform(table, y)
        later = encoder.transform(table)
    assert learned.shape == later.shape
    assert np.isfinite(learned).all()
    assert np.isfinite(later).all()


@pytest.mark.parametrize("targets", ["labels", "values"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_rows_with_a_known_id_are_not_far_from_those_learned(targets, share):
    """An id says nothing while rows are learned, but every row of later has its own target for a mean."""
    which = np.where(RNG.random(N) < share, np.arange(N), RNG.integers(0, 40, N))
    table = pd.DataFrame({"id": [f"id {k}" for k in which]})
    y = Y if targets == "labels" else RNG.normal(size=N)
    encoder = TableEncoder()
    rows = encoder.fit_transform(table, y)
    assert np.abs(rows).max() < 6
    assert np.abs(encoder.transform(table)).max() < 6
    new = encoder.transform(pd.DataFrame({"id": ["never seen"]}))
    assert np.abs(new).max() < 1


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2.5", None], NUMBER),
        (["2024-01-02", "2023-05-06T07:08"], MOMENT),
        ([datetime.date(2024, 1, 2), None], MOMENT),
        (["a", "b"], CATEGORY),
        ([1, "a"], CATEGORY),
        ([None, np.nan], EMPTY),
        ([True, False], NUMBER),
        (["007-12", "123-45"], CATEGORY),
    ],
)
def test_kinds(values, kind):
    column = np.array(values, object)
    assert kind_of(column, "x") == kind
    if kind != EMPTY:
        assert len(as_kind(column, kind)) == len(values)


def test_whole_numbers_that_became_floats_are_the_same_category():
    column = as_kind(np.array([1, 1.0, "1", None], object), CATEGORY)
    assert column.tolist() == ["1", "1", "1", None]


def test_lists_of_rows_keep_numbers_and_texts():
    table = read_columns([[1, "a"], [2.5, "b"]])
    assert [kind_of(c, "x") for c in table.columns] == [NUMBER, CATEGORY]


@pytest.mark.parametrize("numbers", ["standard", "ranks"])
def test_many_rows_are_scaled_in_parts(monkeypatch, numbers):
    table = frame()
    whole = TableEncoder(numbers=numbers).fit_transform(table, Y)
    monkeypatch.setattr("onlinesvm.auto.tables.AT_ONCE", 100)
    assert np.array_equal(TableEncoder(numbers=numbers).fit_transform(table, Y), whole)


def test_it_can_be_pickled():
    table = frame()
    encoder = TableEncoder().fit(table, Y)
    assert np.array_equal(
        pickle.loads(pickle.dumps(encoder)).transform(table), encoder.transform(table)
    )
