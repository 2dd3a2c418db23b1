"""Columns of the user's table: a data frame of pandas or polars, a table of PyArrow, or an array.

    number      float64, NaN where there is a gap
    moment      seconds since 1970, NaN where there is a gap
    category    text, None where there is a gap

``read_columns`` gives the names and the values; ``kinds_of`` says what the values of the columns are.
Columns that a data frame declares as categories are categories, even of numbers or of texts that are
numbers.
"""

from __future__ import annotations

import re
from datetime import time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array

from ..estimators.checks import are_equal_as_floats
from .readings import (
    DURATION,
    NUMBERS,
    is_gap_word,
    may_be_left,
    read_texts,
    reading_of,
    reading_of_values,
)

NUMBER, MOMENT, CATEGORY, EMPTY = "number", "moment", "category", "empty"

LOOKED_AT = 1000
"""Number of texts of a column that are inspected to find its type."""


LARGEST_WHOLE = 2.0**53
"""Up to this size, different whole numbers are different in double precision."""

_LONG = re.compile(r"\s*[+-]?[0-9]{16,}\s*")
"""Whole numbers as text that may be larger."""

SOME_ROWS = 10_000
"""Rows of which it is looked at whether their whole numbers stay apart."""


class Table(NamedTuple):
    """Columns of the same length; names are None for an array."""

    names: list[str] | None
    columns: list[np.ndarray]
    declared: frozenset[int] = frozenset()  # columns whose type says that they are categories

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas or polars, or of a library that behaves like them."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "__getitem__")


def as_frame(X: Any) -> Any:
    """A table of PyArrow as a data frame of pandas; anything else as it is."""
    is_arrow = hasattr(X, "to_pandas") and hasattr(X, "schema") and not is_frame(X)
    return X.to_pandas() if is_arrow else X


def read_columns(X: Any) -> Table:
    """The columns, each an array of numbers, of ``datetime64`` or of objects."""
    X = as_frame(X)
    if is_frame(X):
        names = [str(name) for name in X.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"The column name {twice!r} occurs twice: rename one of the columns.")
        series = [X[name] for name in X.columns]
        columns = [_plain(each) for each in series]
        if not columns or not len(columns[0]):
            raise ValueError(
                f"Found array with {len(columns[0]) if columns else 0} sample(s) and {len(columns)} "
                "feature(s) while a minimum of 1 is required: the table is empty."
            )
        declared = frozenset(j for j, each in enumerate(series) if _is_declared(each))
        return Table(names, columns, declared)
    refuse_dictionaries(X)
    if isinstance(X, np.ma.MaskedArray):  # NumPy forgets the mask
        X = _unmasked(X)
    if not hasattr(X, "dtype"):  # a list of rows may mix numbers and texts
        X = np.asarray(X, object) if _has_text(X) else X
    X = check_array(X, dtype=None, ensure_all_finite="allow-nan" if _is_numeric(X) else False)
    if X.dtype.kind == "c":
        raise ValueError(
            "Complex data not supported: give real and imaginary parts as two columns."
        )
    return Table(None, [X[:, j] for j in range(X.shape[1])])


def refuse_dictionaries(X: Any) -> None:
    """Refuse tables whose columns have names, but which are no data frames."""
    named = getattr(getattr(X, "dtype", None), "names", None)
    if named or _is_of_dictionaries(X):
        what = "a structured array" if named else "made of dictionaries"
        raise ValueError(f"The table is {what}: give a data frame, such as pandas.DataFrame(X).")


def _unmasked(X: Any) -> np.ndarray:
    """The values, with a gap for each that is masked."""
    kind = np.float64 if X.dtype.kind in "biuf" else object
    values = X.data.astype(kind)
    values[np.ma.getmaskarray(X)] = np.nan if kind is np.float64 else None
    return values


def _is_of_dictionaries(X: Any) -> bool:
    if isinstance(X, dict):
        return not hasattr(X, "dtype")  # SciPy has a sparse matrix that is a dictionary
    return isinstance(X, list) and bool(X) and isinstance(X[0], dict)


def _has_text(X: Any) -> bool:
    try:
        return any(isinstance(value, str | bytes) for row in X for value in row)
    except TypeError:
        return False


def _is_numeric(X: Any) -> bool:
    return getattr(getattr(X, "dtype", None), "kind", "f") in "biufc"


def _is_declared(series: Any) -> bool:
    """Whether the type of a column of a data frame is one of categories."""
    return str(series.dtype).startswith(
        ("category", "Categorical", "Enum", "dictionary<", "interval[")
    )


def _plain(series: Any) -> np.ndarray:
    """A column of a data frame as a NumPy array: numbers, ``datetime64``, ``timedelta64`` or objects."""
    kind = str(series.dtype)
    if kind.startswith(("Categorical", "Enum")):  # polars
        series = series.cast(str)
    if kind in ("Int128", "UInt128"):  # polars; NumPy has no such type
        series = series.cast(float)
    if kind.startswith("datetime64[") and "," in kind:  # pandas, with a time zone
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    if kind.startswith("period["):
        series = series.dt.to_timestamp()
    if kind == "category":
        series = series.astype(object)
    if kind.startswith("Struct"):  # polars; NumPy would get a matrix
        return np.fromiter(series.to_list(), object, len(series))
    values = series.to_numpy()
    if values.dtype == object and kind in _NULLABLE:  # pandas: numbers with gaps
        values = np.array([np.nan if _is_gap(v) else float(v) for v in values])
    return np.asarray(values)


_NULLABLE = {
    *(f"{sign}{size}" for sign in ("Int", "UInt") for size in (8, 16, 32, 64)),
    "Float32", "Float64", "boolean", "Boolean",
}  # fmt: skip


def _is_gap(value: Any) -> bool:
    """None, NaN, NaT and pandas' NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError, ArithmeticError):  # NA has no truth value, an array has several
        return type(value).__name__ in ("NAType", "NaTType")


# -- what a column is ---------------------------------------------------------------------


def kinds_of(table: Table, names: list[str]) -> list[str]:
    """The kind of each column; ``names`` are for errors."""
    found = []
    for j, (values, name) in enumerate(zip(table.columns, names, strict=True)):
        is_category = j in table.declared and not all(_is_gap(value) for value in values)
        found.append(CATEGORY if is_category else kind_of(values, name))
    return found


def kind_of(values: np.ndarray, name: str) -> str:
    """Number, moment, category or empty; raises an error for anything else."""
    kind = values.dtype.kind
    if kind in "biuf":
        return NUMBER if kind != "f" or not np.isnan(values).all() else EMPTY
    if kind in "mM":
        return EMPTY if np.isnat(values).all() else (MOMENT if kind == "M" else NUMBER)
    if kind in "US":
        values = values.astype(object)
    seen = [value for value in values if not _is_gap(value)]
    if not seen:
        return EMPTY
    _check_fields(seen, name)
    if all(_is_moment(value) for value in seen[:LOOKED_AT]):
        return MOMENT
    if not any(isinstance(value, str | bytes) for value in seen):
        return NUMBER
    reading = reading_of(some_of(seen))
    if reading is None:
        return CATEGORY
    return NUMBER if reading in NUMBERS else MOMENT


def _check_fields(seen: list[Any], name: str) -> None:
    for value in seen:
        if not isinstance(value, _SCALARS) and not _is_moment(value):
            raise ValueError(
                f"Column {name} contains values of type {type(value).__name__}, such as "
                f"{str(value)[:40]!r}: use a number, a text or a date in each field, or leave "
                "the column out."
            )


def check_as_before(values: np.ndarray, kind: str, name: str) -> None:
    """Refuse values that a column of this kind cannot have, in a table that is to be encoded."""
    if kind == NUMBER and values.dtype.kind == "M":
        raise ValueError(
            f"Column {name} contains dates; it had numbers in the training table. "
            "Convert it to numbers."
        )
    if kind == MOMENT and values.dtype.kind in "biufm" and not _is_all_gaps(values):
        raise ValueError(
            f"Column {name} contains numbers; it had dates in the training table. "
            "Convert it to dates."
        )
    if values.dtype.kind == "O" and kind != EMPTY:
        _check_fields([value for value in values.tolist() if not _is_gap(value)], name)


def _is_all_gaps(values: np.ndarray) -> bool:
    return values.dtype.kind == "f" and bool(np.isnan(values).all())


def unread(values: np.ndarray, read: np.ndarray) -> list[Any]:
    """Texts of a column that cannot be read as numbers or dates, if they are all of its values or
    more than a reading may leave (``reading_of``).
    """
    bad = np.isnan(read)
    if values.dtype.kind in "biufmM" or not bad.any():
        return []
    texts = [v for v in values[bad].tolist() if not _is_gap(v) and not is_gap_word(v)]
    count = len(texts) + int((~bad).sum())
    return texts if len(texts) == count or not may_be_left(texts, count) else []


def reading_in(values: np.ndarray, kind: str) -> str | None:
    """How the texts of a column of numbers or dates are read, also those that its times or durations
    become when later rows come from a text file; None where it has neither.
    """
    if kind not in (NUMBER, MOMENT) or values.dtype.kind in "biufM":
        return None
    if values.dtype.kind == "m":
        return DURATION
    seen = [value for value in values.tolist() if not _is_gap(value)]
    has_text = any(isinstance(value, str | bytes) for value in seen)
    return reading_of(some_of(seen)) if has_text else reading_of_values(seen)


def some_of(seen: list[Any]) -> list[Any]:
    """Values of all parts of a column, about as many as are looked at."""
    return seen[:: max(1, len(seen) // LOOKED_AT)]


_SCALARS = (
    str, bytes, bool, int, float, np.bool_, np.integer, np.floating, Decimal, Fraction, time, timedelta,
)  # fmt: skip


def _is_moment(value: Any) -> bool:
    return isinstance(value, np.datetime64) or (
        hasattr(value, "year") and hasattr(value, "isoformat")
    )


def as_kind(values: np.ndarray, kind: str, reading: str | None = None) -> np.ndarray:
    """Values of a column as numbers (float64), moments (seconds) or categories (text or None).

    ``reading``: how the column writes numbers or dates (``reading_in``).
    """
    if kind == CATEGORY:
        return np.array([None if _is_gap(v) else _text(v) for v in values.tolist()], object)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if values.dtype.kind in "mM":
        return _seconds(values)
    plain = [None if _is_gap(value) else value for value in values.tolist()]
    return read_texts(plain, reading or ("number" if kind == NUMBER else "ISO 8601"))


def told_equal(words: list[str], kinds: list[str], columns: list[np.ndarray]) -> str | None:
    """A warning of columns of numbers whose whole numbers become equal; None if there is none."""
    equal = [
        word
        for word, kind, values in zip(words, kinds, columns, strict=True)
        if kind == NUMBER and _loses_whole_numbers(values)
    ]
    if not equal:
        return None
    return (
        "Columns with different whole numbers beyond 2**53, most of which are equal as floating-point "
        f"numbers: {', '.join(equal)}. Make them columns of type category if they name things, subtract a "
        "constant, or leave them out."
    )


def _loses_whole_numbers(values: np.ndarray) -> bool:
    """Whether whole numbers of a column of numbers are so large that most of them become equal."""
    if values.dtype.kind in "iu":
        large = values[np.abs(values.astype(np.float64)) > LARGEST_WHOLE]
        return are_equal_as_floats(large[:SOME_ROWS].tolist())
    if values.dtype.kind != "O":
        return False
    found = (str(value) for value in values[:SOME_ROWS].tolist())
    return are_equal_as_floats(int(each) for each in found if _LONG.fullmatch(each))


def _text(value: Any) -> str:
    """The category of a value: 1 and 1.0 are the same, as a column of gaps may become float."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def _seconds(values: np.ndarray) -> np.ndarray:
    kind = values.dtype.kind
    whole = values.astype(f"{kind}8[us]")
    return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 1e6)
