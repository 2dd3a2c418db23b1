"""How the texts of a column write numbers, dates or times: found out once, kept with the column.

The text 03/04/2021 is a day in March or in April, and 1,234 is above a thousand or above one: a single
text does not say, the column does. So a column has one reading, the one that fits most of its texts;
a text that does not fit is a gap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timedelta
from numbers import Number
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

_MARKS = str.maketrans(
    "\N{MINUS SIGN}", "-", "$€£¥₹₩₽₺₪₫₴฿¢%_'\N{RIGHT SINGLE QUOTATION MARK} \u00a0\u2009\u202f"
)
_NEGATIVE = re.compile(r"\((.*)\)$")  # accountants write (1,234.50) for -1,234.50
_THOUSANDS = re.compile(r"[+-]?([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d*)?$")
_DECIMAL_COMMA = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d+)?$")
_TIME = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?(?:\s*([ap])\.?m\.?)?$", re.I)
_DURATION = re.compile(r"(?:([+-]?\d+) days?,? )?\+?(\d+):(\d{2}):(\d{2}(?:\.\d+)?)$")

_DURATIONS = (timedelta, np.timedelta64)

_UTC = re.compile(r"(Z| ?UTC| ?GMT)$")
_MONTH = re.compile(r"(19|20)\d{2}-(0[1-9]|1[0-2])$")
_OFFSET = re.compile(r"(.*\d:\d{2}(?::\d{2}(?:\.\d+)?)?) ?([+-])(\d{2}):?(\d{2})$")

_DATES = (
    "%Y/%m/%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%d-%m-%Y", "%m/%d/%y", "%d/%m/%y",
    "%d.%m.%y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%d-%b-%y", "%Y.%m.%d",
    "%a, %d %b %Y", "%A, %d %B %Y", "%A, %B %d, %Y",
)  # fmt: skip
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_OTHERS = (
    "%a, %d %b %Y %H:%M:%S %z", "%a, %d %b %Y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y", "%b %Y", "%B %Y",
    "%b-%Y",
)  # fmt: skip


def number(value: Any) -> float:
    """A number, or NaN where it is none; times of a day and durations are numbers of seconds.

    Infinity stays what it is: whoever reads the column refuses it.
    """
    if isinstance(value, time):
        return _seconds_of_day(value)
    try:
        if isinstance(value, np.timedelta64):
            found = float(value / np.timedelta64(1, "s"))
        else:
            found = value.total_seconds() if isinstance(value, timedelta) else float(value)
    except (TypeError, ValueError, ArithmeticError):
        return np.nan
    return found


def moment(value: Any) -> float:
    """Seconds since 1970 of a date, or of a text in ISO 8601; NaN where it is none."""
    value, ahead = _decoded(value), 0.0
    if isinstance(value, Number | np.number):  # NumPy would take it for microseconds
        return np.nan
    try:
        if isinstance(value, str):
            value, ahead = _without_offset(_UTC.sub("", value.strip()))
            if not value[:4].isdigit() or "-" not in value or value[-1].isalpha():
                return np.nan
            if len(value) < 8 and not _MONTH.match(value):
                return np.nan
        elif hasattr(value, "isoformat") and getattr(value, "tzinfo", None) is not None:
            return float(value.timestamp())
        found = np.datetime64(value, "us")
    except (TypeError, ValueError):
        return np.nan
    return np.nan if np.isnat(found) else float(found.astype(np.int64)) / 1e6 - ahead


def _without_offset(text: str) -> tuple[str, float]:
    """A text in ISO 8601, and how many seconds its clock is ahead of UTC."""
    found = _OFFSET.match(text)
    if found is None:
        return text, 0.0
    ahead = 3600.0 * int(found[3]) + 60.0 * int(found[4])
    return found[1], -ahead if found[2] == "-" else ahead


def _decoded(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _marked(value: Any, pattern: re.Pattern[str], thousands: str) -> float:
    """A number with signs of money or per cent, whose thousands are separated."""
    value = _decoded(value)
    if not isinstance(value, str):
        return number(value)
    text = value.translate(_MARKS)
    negative = _NEGATIVE.match(text)
    if negative is not None:
        text = f"-{negative[1]}"
    if not pattern.match(text):
        return number(text)
    return float(text.replace(thousands, "").replace(",", "."))


def _seconds_of_day(value: Any) -> float:
    if isinstance(value, time):
        value = value.replace(tzinfo=None)
    found = _TIME.match(str(_decoded(value)).strip())
    if found is None or int(found[2]) > 59:
        return np.nan
    hour, half = int(found[1]), (found[4] or "").lower()
    if hour > 24 or (half and not 1 <= hour <= 12):
        return np.nan
    if half:
        hour = hour % 12 + 12 * (half == "p")
    return 3600.0 * hour + 60.0 * int(found[2]) + float(found[3] or 0)


def _seconds_long(value: Any) -> float:
    """A duration as pandas and Python write it: 1 days 02:30:00, 1 day, 2:30:00, 26:30:00."""
    if isinstance(value, _DURATIONS):
        return number(value)
    found = _DURATION.match(str(_decoded(value)).strip())
    if found is None or int(found[3]) > 59:
        return np.nan
    seconds = 3600.0 * int(found[2]) + 60.0 * int(found[3]) + float(found[4])
    return 86400.0 * int(found[1] or 0) + seconds


def _by_format(form: str) -> Read:
    def read(value: Any) -> float:
        value = _decoded(value)
        if not isinstance(value, str):
            return moment(value)
        try:
            found = datetime.strptime(value.strip(), form)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        except ValueError:
            return np.nan

    return read


TIME, DURATION = "12:30", "1 days 02:30:00"

NUMBERS: dict[str, Read] = {
    "number": number,
    "1,234.5": lambda value: _marked(value, _THOUSANDS, ","),
    "1.234,5": lambda value: _marked(value, _DECIMAL_COMMA, "."),
    TIME: _seconds_of_day,
    DURATION: _seconds_long,
}
"""Ways to write numbers, the plainest first; times of a day and durations are numbers of seconds."""

MOMENTS: dict[str, Read] = {
    "ISO 8601": moment,
    **{day + clock: _by_format(day + clock) for day in _DATES for clock in _CLOCKS},
    **{form: _by_format(form) for form in _OTHERS},
}
"""Ways to write dates."""


def is_gap_word(value: Any) -> bool:
    """Whether a text stands for a gap, in a column of numbers or dates."""
    value = _decoded(value)
    return isinstance(value, str) and value.strip().lower() in GAP_WORDS


def reading_of_values(values: Sequence[Any]) -> str | None:
    """The reading of the texts that times or durations become in a text file; None for other values."""
    for kind, reading in ((time, TIME), (_DURATIONS, DURATION)):
        if values and all(isinstance(value, kind) for value in values):
            return reading
    return None


def reading_of(values: Sequence[Any]) -> str | None:
    """The reading that fits these values, texts among them; None if they are categories."""
    values = [value for value in values if not is_gap_word(value)]
    for readings in (NUMBERS, MOMENTS):
        shares = {name: _share(values, read) for name, read in readings.items()}
        best = max(shares, key=shares.__getitem__)  # the first of equals
        if shares[best] >= MOSTLY:
            return best
    return "number" if values and _are_numbers_with_words(values) else None


def may_be_left(texts: Sequence[Any], count: int) -> bool:
    """Whether so few of ``count`` values, or so few different ones, cannot be read that the others may
    be a column of numbers.
    """
    few = len(texts) <= (1 - MOSTLY) * count
    return few or (len(set(texts)) <= WORDS and 2 * len(texts) < count)


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
