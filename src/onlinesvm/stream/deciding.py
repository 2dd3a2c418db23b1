"""How a column is encoded: decided by its first rows and the user's options."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..estimators.checks import are_equal_as_floats
from .arrow_values import coded, is_number, is_numeric, is_text, without_gaps
from .columns import HASHED, MOST_CATEGORIES, NUMBER, ONE_HOT, TRUTH, Column
from .errors import StreamError, as_word, shortened
from .features import numbers
from .gaps import RULES, fill_values
from .moments import is_moment, kind_of_text, kind_of_type, look_like_moments

_LEADING_ZERO = r"^0\d+$"
_MARKED = re.compile(
    r"\s*[+-]?[$€£¥₹]?\s*[+-]?[0-9]+(,[0-9]+|['\u2019\u00a0\u202f][0-9]{3})*(\.[0-9]*)?"
    r"([eE][+-]?[0-9]+)?\s*[$€£¥₹%]?\s*"
)
"""Numbers, with commas or other marks between the digits, or signs of money or per cent."""

_MONTH = r"([0-9]{1,2}|[A-Za-z]{3,9}\.?)"
_DATE = re.compile(
    rf"\s*([0-9]{{1,2}}([./ -]){_MONTH}\2(19|20)[0-9]{{2}}|(19|20)[0-9]{{2}}[./-]{_MONTH}[./-][0-9]{{1,2}}"
    r"|[0-9]{1,2}/[0-9]{1,2}/[0-9]{2}|[A-Za-z]{3,9}\.? [0-9]{1,2}, (19|20)[0-9]{2})"
    r"([T ,]*[0-9]{1,2}:[0-9]{2}.*)?\s*"
)
"""Dates that are not in ISO 8601, and perhaps times."""

_LONG = re.compile(r"\s*[+-]?[0-9]{16,}\s*")
"""Whole numbers that may be beyond 2**53."""

_TO_WRITE = {
    _MARKED: "numbers with a decimal point and without other marks",
    _DATE: "dates as 2021-03-31, times as 2021-03-31T12:30:00Z",
}
"""How what would be categories is written, to be numbers or dates."""


@dataclass(frozen=True)
class TableOptions:
    """The user's options for the columns of a table."""

    label: str | None = None
    ignore: Sequence[str] = ()
    categorical: Sequence[str] = ()
    numeric: Sequence[str] = ()
    encode: str = "onehot"
    hash_size: int = 64
    missing: float | str | None = None
    missing_indicator: bool = False

    def __post_init__(self) -> None:
        for name in ("ignore", "categorical", "numeric"):  # model files contain lists
            object.__setattr__(self, name, tuple(getattr(self, name)))
        both = set(self.categorical) & set(self.numeric)
        if both:
            raise StreamError(
                f"Column '{min(both)}' cannot be categorical and numeric; leave one of them out."
            )
        if isinstance(self.missing, str) and self.missing not in RULES:
            raise StreamError(
                f"missing is a number or one of {', '.join(RULES)}, not {shortened(self.missing)}."
            )


@dataclass(frozen=True)
class FirstRows:
    """The first rows of one column.

    ``inferred``: the type that PyArrow found, if the values are text.
    ``is_declared``: whether the format distinguishes text, so that digits in text are text.
    """

    name: str
    values: Any
    inferred: Any
    is_declared: bool
    source: str
    place: Callable[[int], str]


def decided(rows: FirstRows, options: TableOptions) -> Column:
    """The column that these rows are the first of."""
    import pyarrow as pa

    name = rows.name
    if name in options.numeric:
        return Column(name, NUMBER)
    if name not in options.categorical and not pa.types.is_dictionary(rows.values.type):
        kind = _kind_of_numbers(rows)
        if kind is not None:
            if kind == NUMBER:
                _check_whole_numbers(rows)
            return Column(name, kind)
        _check_not_mixed(rows)
        _check_writing(rows)
    return _categories(rows, options)


def _kind_of_numbers(rows: FirstRows) -> str | None:
    """The kind of the values, unless they are categories."""
    import pyarrow as pa

    if pa.types.is_boolean(rows.inferred):
        return TRUTH
    if is_number(rows.inferred):
        return None if _are_names(rows.values) else NUMBER
    if is_text(rows.values.type) and pa.types.is_string(rows.values.type):
        words = without_gaps(rows.values).drop_null()
        return kind_of_text(words)
    return kind_of_type(rows.values.type)


def _check_whole_numbers(rows: FirstRows) -> None:
    """Refuse names of things that are so large whole numbers that many of them would be the same."""
    import pyarrow as pa

    values, numbers = rows.values, []
    if pa.types.is_integer(values.type):
        numbers = [each for each in values.to_pylist() if each is not None]
    elif pa.types.is_string(values.type):
        numbers = [int(each) for each in values.to_pylist() if each and _LONG.fullmatch(each)]
    if are_equal_as_floats(numbers):
        name = as_word(rows.name)
        raise StreamError(
            f"Column '{rows.name}' of {rows.source} has different whole numbers beyond 2**53, such as "
            f"{max(numbers)}, most of which would be equal as floating-point numbers; leave the column out "
            f"(--ignore {name}), treat it as categories (--categorical {name}), or accept it (--numeric {name})."
        )


def _are_names(values: Any) -> bool:
    """Whether text is digits of which some begin with a zero, such as 02139: no numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(values.type):
        return False
    words = without_gaps(values).drop_null()
    zero = pc.any(pc.match_substring_regex(words, _LEADING_ZERO), min_count=0).as_py()
    return bool(zero and pc.all(pc.match_substring_regex(words, r"^\d+$")).as_py())


def _check_not_mixed(rows: FirstRows) -> None:
    """Refuse a column of numbers, or of dates, with a few words in it, which would be categories."""
    import pyarrow as pa

    if rows.is_declared or not pa.types.is_string(rows.values.type) or is_number(rows.inferred):
        return
    rows_of = np.flatnonzero(~without_gaps(rows.values).is_null().to_numpy(zero_copy_only=False))
    words = rows.values.take(rows_of)
    for odd, what in ((_no_numbers(words), "numbers"), (_no_moments(words), "dates or times")):
        if odd.any() and 2 * odd.sum() < len(words):
            row = int(rows_of[np.argmax(odd)])
            name = rows.name
            raise StreamError(
                f"{rows.place(row)} has {shortened(rows.values[row].as_py())} in column '{name}', where "
                f"most rows have {what}; correct it, leave the column out (--ignore {as_word(name)}), "
                f"or treat it as categories (--categorical {as_word(name)})."
            )


def _check_writing(rows: FirstRows) -> None:
    """Refuse numbers such as 1,5 or 1,234.5 or $3 or 12%, and dates such as 31.3.2021, each of which
    would be a category.
    """
    import pyarrow as pa

    if rows.is_declared or not pa.types.is_string(rows.values.type):
        return
    words = without_gaps(rows.values)
    odd = {w for w in words.drop_null().unique().to_pylist() if not is_numeric(w)}
    for pattern, how in _TO_WRITE.items():
        if odd and all(pattern.fullmatch(word) for word in odd):
            row = next(k for k, word in enumerate(words.to_pylist()) if word in odd)
            name = rows.name
            raise StreamError(
                f"{rows.place(row)} has {shortened(words[row].as_py())} in column '{name}': write {how}, "
                f"leave the column out (--ignore {as_word(name)}), or treat it as categories "
                f"(--categorical {as_word(name)})."
            )


def _no_numbers(words: Any) -> np.ndarray:
    encoded = words.dictionary_encode()
    known = [not is_numeric(word) for word in encoded.dictionary.to_pylist()]
    return np.array(known, bool)[encoded.indices.to_numpy(zero_copy_only=False)]


def _no_moments(words: Any) -> np.ndarray:
    odd = ~look_like_moments(words)
    if odd.any() or kind_of_text(words) is not None:
        return odd
    encoded = words.dictionary_encode()  # an invalid date, or mixed kinds
    known = [not is_moment(word) for word in encoded.dictionary.to_pylist()]
    return np.array(known, bool)[encoded.indices.to_numpy(zero_copy_only=False)]


def _categories(rows: FirstRows, options: TableOptions) -> Column:
    import pyarrow as pa

    name, kind = rows.name, rows.values.type
    inferred = kind.value_type if pa.types.is_dictionary(kind) else rows.inferred
    numeric = is_number(inferred) or pa.types.is_boolean(inferred)
    by_value = bool(numeric and not _are_names(rows.values))
    try:
        found, _ = coded(rows.values, by_value)
    except (pa.ArrowException, TypeError) as error:
        raise _unusable(rows) from error
    if options.encode == "hash":
        return Column(name, HASHED, hash_size=options.hash_size, by_value=by_value)
    if len(found) > MOST_CATEGORIES:
        numeric_ = (
            f", read it as numbers (--numeric {as_word(name)})" if _are_names(rows.values) else ""
        )
        raise StreamError(
            f"Column '{name}' of {rows.source} is not numeric and has {len(found):,} different "
            f"values in its first {len(rows.values):,} rows; leave it out (--ignore {as_word(name)})"
            f"{numeric_} or hash it (--encode hash)."
        )
    return Column(name, ONE_HOT, sorted(found), by_value=by_value)


def _unusable(rows: FirstRows) -> StreamError:
    return StreamError(
        f"Column '{rows.name}' of {rows.source} is of type {shortened(str(rows.values.type))}, neither "
        f"numbers nor text; leave it out (--ignore {as_word(rows.name)}). Numbers, truth values, text, dates, "
        "times and durations can be used."
    )


def learn_gaps(
    column: Column, values: Any, options: TableOptions, place: Callable[[int], str]
) -> None:
    """Find the replacement of missing values, and whether the column has an indicator."""
    if column.has_categories or options.missing is None:
        return
    found = numbers(column, values, place)
    column.indicator = bool(options.missing_indicator and np.isnan(found).any())
    if isinstance(options.missing, str):
        column.fill = fill_values(options.missing, found)
