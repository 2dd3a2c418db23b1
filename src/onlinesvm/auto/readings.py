"""How the texts of a column write numbers, dates or times: found out once, kept with the column.

The text 03/04/2021 is a day in March or in April, and 1,234 is above a thousand or above one: a single
text does not say, the column does. So a column has one reading, the one that fits most of its texts;
a text that does not fit is a gap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

import numpy as np

MOSTLY = 0.95
"""Share of the texts of a column that a reading must fit."""

WORDS = 5
"""Number of different words that may stand among numbers, as gaps, if numbers are the majority."""

MANY = 30
"""Number of different values from which a column with such words is one of numbers."""

GAP_WORDS = frozenset(
    (
        "",
        "?",
        "-",
        "--",
        ".",
        "na",
        "n/a",
        "#n/a",
        "nan",
        "nat",
        "null",
        "none",
        "missing",
        "unknown",
    )
)
"""Texts that stand for a gap in a column of numbers or dates, in small letters."""

Read = Callable[[Any], float]

_MARKS = str.maketrans("", "", "$€£¥%_' \u00a0")
_THOUSANDS = re.compile(r"[+-]?([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d*)?$")
_DECIMAL_COMMA = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d+)?$")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?$")

_DATES = (
    "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d-%m-%Y", "%m/%d/%y", "%d/%m/%y",
    "%d.%m.%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y",
)  # fmt: skip
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")


def number(value: Any) -> float:
    """A number, or NaN where it is none; times of a day and durations are numbers of seconds."""
    if isinstance(value, time):
        return _seconds_of_day(value.replace(tzinfo=None))
    try:
        found = value.total_seconds() if isinstance(value, timedelta) else float(value)
    except (TypeError, ValueError, ArithmeticError):
        return np.nan
    return found if np.isfinite(found) else np.nan


def moment(value: Any) -> float:
    """Seconds since 1970 of a date, or of a text in ISO 8601; NaN where it is none."""
    value = _decoded(value)
    try:
        if isinstance(value, str):
            if len(value) < 8 or value[:4].isdigit() is False or "-" not in value:
                return np.nan
            value = value.strip().removesuffix("Z")
        elif hasattr(value, "isoformat") and getattr(value, "tzinfo", None) is not None:
            return float(value.timestamp())
        found = np.datetime64(value, "us")
    except (TypeError, ValueError):
        return np.nan
    return np.nan if np.isnat(found) else float(found.astype(np.int64)) / 1e6


def _decoded(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _marked(value: Any, pattern: re.Pattern[str], thousands: str) -> float:
    """A number with signs of money or per cent, whose thousands are separated."""
    value = _decoded(value)
    if not isinstance(value, str):
        return number(value)
    text = value.translate(_MARKS)
    if not pattern.match(text):
        return number(text)
    return float(text.replace(thousands, "").replace(",", "."))


def _seconds_of_day(value: Any) -> float:
    found = _TIME.match(str(_decoded(value)).strip())
    if found is None or int(found[1]) > 24 or int(found[2]) > 59:
        return np.nan
    return 3600.0 * int(found[1]) + 60.0 * int(found[2]) + float(found[3] or 0)


def _by_format(form: str) -> Read:
    def read(value: Any) -> float:
        value = _decoded(value)
        if not isinstance(value, str):
            return moment(value)
        try:
            return datetime.strptime(value.strip(), form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            return np.nan

    return read


NUMBERS: dict[str, Read] = {
    "number": number,
    "1,234.5": lambda value: _marked(value, _THOUSANDS, ","),
    "1.234,5": lambda value: _marked(value, _DECIMAL_COMMA, "."),
    "12:30": _seconds_of_day,
}
"""Ways to write numbers, the plainest first; times of a day are numbers of seconds."""

MOMENTS: dict[str, Read] = {
    "ISO 8601": moment,
    **{day + clock: _by_format(day + clock) for day in _DATES for clock in _CLOCKS},
}
"""Ways to write dates."""


def is_gap_word(value: Any) -> bool:
    """Whether a text stands for a gap, in a column of numbers or dates."""
    value = _decoded(value)
    return isinstance(value, str) and value.strip().lower() in GAP_WORDS


def reading_of(values: Sequence[Any]) -> str | None:
    """The reading that fits these values, texts among them; None if they are categories."""
    values = [value for value in values if not is_gap_word(value)]
    for readings in (NUMBERS, MOMENTS):
        shares = {name: _share(values, read) for name, read in readings.items()}
        best = max(shares, key=shares.__getitem__)  # the first of equals
        if shares[best] >= MOSTLY:
            return best
    return "number" if values and _are_numbers_with_words(values) else None


def _share(values: list[Any], read: Read) -> float:
    """The share of the values that can be read; zero as soon as it is clear that they are too few."""
    bad, most = 0, (1 - MOSTLY) * len(values)
    for value in values:
        bad += np.isnan(read(value))
        if bad > most:
            return 0.0
    return 1.0 - bad / len(values) if values else 0.0


def _are_numbers_with_words(values: list[Any]) -> bool:
    numbers = {value for value in values if not np.isnan(number(value))}
    words = [value for value in values if value not in numbers]
    return len(numbers) > MANY and len(set(words)) <= WORDS and 2 * len(words) < len(values)


def read_texts(values: Sequence[Any], reading: str) -> np.ndarray:
    """Numbers or seconds, NaN for gaps and for what cannot be read; equal values are read once."""
    read = NUMBERS.get(reading) or MOMENTS[reading]
    known: dict[Any, float] = {}
    for value in values:
        if value not in known:
            known[value] = np.nan if is_gap_word(value) else read(value)
    return np.array([known[value] for value in values], np.float64)
