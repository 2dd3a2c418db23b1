"""Texts that are numbers, dates or times: read as pandas reads them when it is told the format."""

import warnings
from datetime import UTC, time, timedelta

import numpy as np
import pandas as pd
import pytest

from onlinesvm import AutoSVMClassifier
from onlinesvm.auto.columns import CATEGORY, MOMENT, NUMBER
from onlinesvm.auto.readings import read_texts, reading_of
from onlinesvm.auto.tables import TableEncoder

N = 300
RNG = np.random.default_rng(0)
DAYS = pd.Timestamp("2019-01-01") + pd.to_timedelta(RNG.integers(0, 1200, N), unit="D")
SECONDS = DAYS.to_numpy().astype("datetime64[s]").astype(float)


@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d", "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%d %b %Y", "%b %d, %Y",
     "%d/%m/%y", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M:%S %p", "%Y.%m.%d",
     "%a, %d %b %Y %H:%M:%S", "%A, %B %d, %Y", "%a, %d %b %Y %H:%M:%S GMT", "%Y-%m", "%b %Y", "%b-%Y"],
)  # fmt: skip
def test_dates_in_any_format(form):
    texts = DAYS.strftime(form).tolist()
    texts[7], texts[8] = "n/a", "31.31.31"
    found = read_texts(texts, reading_of(texts))
    assert np.isnan(found[[7, 8]]).all()
    there = np.delete(np.arange(N), [7, 8])
    truth = pd.to_datetime(DAYS.strftime(form), format=form).to_numpy().astype("datetime64[s]")
    assert (found[there] == truth.astype(float)[there]).all()


@pytest.mark.parametrize(
    ("write", "digits"),
    [
        (lambda x: f"{x:.3f}", 3),
        (lambda x: f"{x:,.2f}", 2),
        (lambda x: f"$ {x:,.0f}", 0),
        (lambda x: f"{x:.1f} %", 1),
        (lambda x: f"{x:.3f}".replace(".", ","), 3),
        (lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")), 2),
        (lambda x: f"{x:.4e}", 0),
        (lambda x: f"({-x:,.2f})" if x < 0 else f"{x:,.2f}", 2),  # as accountants write
        (lambda x: f"{x:.3f}".replace("-", "\N{MINUS SIGN}"), 3),
        (lambda x: f"{x:,.1f}".replace(",", "\N{RIGHT SINGLE QUOTATION MARK}"), 1),
        (lambda x: f"{x:,.2f} \N{INDIAN RUPEE SIGN}", 2),
    ],
)
def test_numbers_as_people_write_them(write, digits):
    values = np.round(np.exp(RNG.normal(4, 3, N)) * RNG.choice([-1, 1], N), digits)
    texts = [write(x) for x in values]
    found = read_texts(texts, reading_of(texts))
    assert np.allclose(found, values, rtol=1e-4, atol=0.5 * 10.0**-digits)


@pytest.mark.parametrize(
    "texts",
    [
        ["low", "mid", "high"] * 20,
        ["3-room", "4-room"] * 20,
        ["1.2.3", "1.3.0", "2.0.1"] * 20,  # versions
        ["12,13", "1,2,3", "7"] * 20,  # lists
        ["10:99", "44:00"] * 20,
        ["1", "2", "other"] * 20,  # codes, of which one is a word
        ["?", "n/a"] * 20,
        ["13:30 pm", "00:15 am"] * 20,
        ["2024-13", "1834-05"] * 20,
        ["(a)", "(b)"] * 20,
    ],
)
def test_categories_stay_categories(texts):
    assert reading_of(texts) is None


def test_a_few_words_among_numbers_are_gaps():
    texts = [f"{x:.3f}" for x in RNG.normal(size=N)]
    texts[::3] = ["not measured"] * len(texts[::3])
    encoder = TableEncoder()
    rows = encoder.fit_transform(pd.DataFrame({"x": texts}))
    assert encoder.kinds_ == [NUMBER]
    assert encoder.get_feature_names_out().tolist() == ["x", "x is missing"]
    assert rows[:, 1].tolist() == [float(k % 3 == 0) for k in range(N)]


@pytest.mark.parametrize(
    ("write", "reading"),
    [
        (lambda t: t.strftime("%H:%M"), "12:30"),
        (lambda t: t.strftime("%I:%M %p"), "12:30"),
        (lambda t: t.strftime("%I:%M:%S%p").lower(), "12:30"),
    ],
)
def test_times_of_a_day(write, reading):
    times = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 1440, N), unit="min")
    texts = [write(t) for t in times]
    assert reading_of(texts) == reading
    assert (read_texts(texts, reading) == times.hour * 3600 + times.minute * 60).all()


@pytest.mark.parametrize("write", [str, lambda t: str(t.to_pytimedelta())])
def test_durations_as_pandas_and_python_write_them(write):
    long = pd.to_timedelta(RNG.integers(-(10**6), 10**6, N), unit="s")
    texts = [write(t) for t in long]
    assert reading_of(texts) == "1 days 02:30:00"
    assert (read_texts(texts, reading_of(texts)) == long.total_seconds()).all()


@pytest.mark.parametrize("zone", ["Z", "+00:00", "+0530", "-03:00", " UTC", " GMT", "UTC"])
@pytest.mark.parametrize("between", ["T", " "])
def test_moments_with_an_offset_are_those_of_pandas_without_a_warning(zone, between):
    texts = [f"{day:%Y-%m-%d}{between}{k % 24:02}:15:30{zone}" for k, day in enumerate(DAYS)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_texts(texts, reading_of(texts))
    truth = pd.to_datetime(texts, utc=True).tz_localize(None).to_numpy().astype("datetime64[s]")
    assert (found == truth.astype(float)).all()


def test_times_of_a_zone_that_is_a_name_are_categories_without_a_warning():
    """An abbreviation does not say how far the clock is ahead: IST is one of three zones."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reading_of([f"{day:%Y-%m-%d} 12:15:30 IST" for day in DAYS]) is None


def test_later_rows_are_read_as_the_first_ones():
    """A day of the month up to 12 does not say which of its numbers is the month."""
    table = pd.DataFrame({"day": DAYS.strftime("%d/%m/%Y"), "price": ["1,250", "3,000"] * (N // 2)})
    encoder = TableEncoder().fit(table)
    assert encoder.kinds_ == [MOMENT, NUMBER]
    one = encoder.transform(pd.DataFrame({"day": ["03/04/2020"], "price": ["2,125"]}))
    other = TableEncoder().fit(pd.DataFrame({"day": DAYS, "price": [1250.0, 3000.0] * (N // 2)}))
    same = other.transform(pd.DataFrame({"day": [pd.Timestamp("2020-04-03")], "price": [2125.0]}))
    assert np.allclose(one, same)


def test_the_season_is_found_in_dates_of_any_format():
    rng = np.random.default_rng(1)
    y = (np.sin(2 * np.pi * DAYS.day_of_year.to_numpy() / 365) > 0).astype(int)
    table = pd.DataFrame({"noise": rng.normal(size=N), "day": DAYS.strftime("%d/%m/%Y")})
    model = AutoSVMClassifier(time_limit=None).fit(table[:200], y[:200])
    assert np.mean(model.predict(table[200:]) != y[200:]) < 0.1


def test_kinds_of_texts():
    table = pd.DataFrame(
        {"time": ["08:30", "17:45"] * 20, "day": ["3/31/2021", "?"] * 20, "code": ["a", "7"] * 20}
    )
    encoder = TableEncoder().fit(table)
    assert encoder.kinds_ == [NUMBER, MOMENT, CATEGORY]
    assert encoder.readings_ == ["12:30", "%m/%d/%Y", None]


@pytest.mark.parametrize(
    "values",
    [
        pd.to_timedelta(np.arange(0, 400_000, 2000), unit="s"),
        pd.Series([timedelta(seconds=2000.5 * k) for k in range(200)], dtype=object),
        pd.Series([np.timedelta64(2000 * k, "s") for k in range(200)], dtype=object),
        pd.Series([time(k % 24, k % 60, k % 7) for k in range(200)], dtype=object),
        pd.Series([time(k % 24, k % 60, tzinfo=UTC) for k in range(200)], dtype=object),
    ],
)
def test_durations_and_times_come_back_as_text(values):
    """A table that had them as values when it was learned, and is a text file later."""
    table = pd.DataFrame({"long": values, "x": np.arange(200.0)})
    table.loc[7, "long"] = None
    encoder = TableEncoder().fit(table)
    text = table.astype({"long": object}).assign(
        long=[
            None if value is None or value != value else _as_text(value) for value in table["long"]
        ]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(encoder.transform(text), encoder.transform(table), atol=1e-12)


def _as_text(value):
    return str(pd.Timedelta(value) if isinstance(value, np.timedelta64) else value).removesuffix(
        "+00:00"
    )
