"""Dates, times and durations as numbers.

======== ======================================================= ==============================
kind     from                                                    features
======== ======================================================= ==============================
date     date32, date64, ``2024-02-29``                          year, month, day, weekday
moment   timestamp of any unit and zone, ``2024-02-29T10:30Z``   year, month, day, weekday, hour
time     time32, time64, ``10:30``, ``10:30:00.5``               hour
duration duration                                                seconds
======== ======================================================= ==============================

Months and days count from 1, weekdays from 0 (Monday). The hour has its minutes and seconds as a
fraction. Moments with a zone are taken in UTC, so that a result does not depend on where it is
computed. Text is understood as ISO 8601 writes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DATE, MOMENT, TIME, DURATION = "date", "moment", "time", "duration"

PARTS = {
    DATE: ("year", "month", "day", "weekday"),
    MOMENT: ("year", "month", "day", "weekday", "hour"),
    TIME: ("hour",),
    DURATION: ("seconds",),
}

_DATE = r"\d{4}-\d\d-\d\d"
_CLOCK = r"\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?"
_ZONE = r"(Z|[+-]\d\d(:?\d\d)?)"
_FORMS = {
    DATE: f"^{_DATE}$",
    MOMENT: f"^{_DATE}([T ]{_CLOCK}{_ZONE}?)?$",
    TIME: r"^\d{1,2}:\d\d(:\d\d(\.\d{1,9})?)?$",
}
_ZONED = f"^{_DATE}[T ]{_CLOCK}{_ZONE}$"

_ALIKE = {DATE: (MOMENT,), MOMENT: (DATE,)}
"""Each has what the other needs; a date is its midnight."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def kind_of_type(kind: Any) -> str | None:
    """What an Arrow type says, if it is one of dates or times."""
    import pyarrow as pa

    types = pa.types
    for name, test in (
        (DATE, types.is_date), (MOMENT, types.is_timestamp),
        (TIME, types.is_time), (DURATION, types.is_duration),
    ):  # fmt: skip
        if test(kind):
            return name
    return None


def kind_of_text(words: Any) -> str | None:
    """What all words (an Arrow array without gaps) are, if they are dates or times."""
    import pyarrow.compute as pc

    for name, form in _FORMS.items():
        if len(words) and pc.all(pc.match_substring_regex(words, form)).as_py():
            return name if _ticks_of_text(name, words) is not None else None
    return None


def look_like_moments(words: Any) -> np.ndarray:
    """Which words have the form of a date or a time; there may be no such day."""
    import pyarrow.compute as pc

    forms = (pc.match_substring_regex(words, _FORMS[kind]) for kind in (MOMENT, TIME))
    return np.logical_or(*(mask.to_numpy(zero_copy_only=False) for mask in forms))


def is_moment(word: str, kind: str | None = None) -> bool:
    """Whether a word is a date or a time, or one of a certain kind."""
    import pyarrow as pa

    found = kind_of_text(pa.array([word]))
    return found is not None if kind is None else found in (kind, *_ALIKE.get(kind, ()))


def parts(kind: str, values: Any) -> np.ndarray | None:
    """The features of each row, NaN where there is no value; None if some text is not understood."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(values.type):
        unit, ticks = "us", _ticks_of_text(kind, values)
        if ticks is None:
            return None
    else:
        unit = "D" if pa.types.is_date32(values.type) else getattr(values.type, "unit", "ms")
        ticks = values
    whole = pc.cast(ticks, "int32") if unit == "D" or str(ticks.type) in _SMALL else ticks
    numbers = pc.fill_null(pc.cast(whole, "int64"), 0).to_numpy(zero_copy_only=False)
    found = _features(kind, numbers, unit)
    found[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return found


_SMALL = ("time32[s]", "time32[ms]")


def _ticks_of_text(kind: str, words: Any) -> Any:
    """Text as timestamps in microseconds; None if some of it is not of this kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    given = pc.fill_null(
        pc.match_substring_regex(words, _FORMS[TIME if kind == TIME else MOMENT]), True
    )
    if not pc.all(given, min_count=0).as_py():
        return None
    words = pc.replace_substring_regex(words, r"(\.\d{6})\d+", r"\1")
    if kind == TIME:
        words = pc.replace_substring_regex(words, r"^(\d):", r"0\1:")
        words = pc.binary_join_element_wise("1970-01-01", words, "T")
    zoned = pc.fill_null(pc.match_substring_regex(words, _ZONED), False)
    nothing = pa.scalar(None, pa.string())
    try:
        local = pc.cast(pc.if_else(zoned, nothing, words), pa.timestamp("us"))
        world = pc.cast(pc.if_else(zoned, words, nothing), pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid:
        return None
    return pc.coalesce(pc.cast(local, "int64"), pc.cast(world, "int64"))


def _features(kind: str, ticks: np.ndarray, unit: str) -> np.ndarray:
    if kind == DURATION:
        return (ticks / _PER_SECOND[unit])[:, None]
    if kind == TIME:
        per_day = 86_400 * _PER_SECOND[unit]
        return (ticks % per_day * (24 / per_day))[:, None]
    moment = ticks.view(f"datetime64[{unit}]")
    day = moment.astype("datetime64[D]")
    month = day.astype("datetime64[M]")
    found = [
        day.astype("datetime64[Y]").astype(np.int64) + 1970,
        month.astype(np.int64) % 12 + 1,
        (day - month.astype("datetime64[D]")).astype(np.int64) + 1,
        (day.astype(np.int64) + 3) % 7,
    ]
    if kind == MOMENT:
        since = (moment - day).astype(np.int64) if unit != "D" else np.zeros(len(day), np.int64)
        found.append(since * (1 / (3600 * _PER_SECOND.get(unit, 1))))
    return np.column_stack(found).astype(np.float64)
