"""Named columns become features: numbers as they are, categories as one-hot or hashed columns.

The first rows decide: a column of numbers (or truth values) is one feature, any other column holds
categories. One-hot, each category of the first rows has a column of its own, and all that come later
share one more column. Hashed, a category's name decides in which of ``hash_size`` columns it is, so
that later ones need no special care. The decision is kept in the schema, as JSON.
"""

from __future__ import annotations

import math
import re
import zlib
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from .errors import StreamError, shortened

MOST_CATEGORIES = 1000
"""A column with more categories than this in its first rows is not one-hot encoded."""

DENSE_UP_TO = 256
"""Maximum number of features of dense rows with categories; wider rows are sparse."""

NUMBER, TRUTH, ONE_HOT, HASHED = "number", "truth", "one-hot", "hashed"

_NAME = re.compile(r"[+-]?(0\d|\d{19,}$)")
"""Digits after a leading zero, as in 007, or more of them than a number keeps: a name."""


@dataclass
class Column:
    """A column of the table and what becomes of it."""

    name: str
    kind: str
    categories: list[str] = field(default_factory=list)
    hash_size: int = 0

    @property
    def width(self) -> int:
        """Number of features that it becomes."""
        if self.kind == ONE_HOT:
            return len(self.categories) + 1
        return self.hash_size if self.kind == HASHED else 1

    def names(self) -> list[str]:
        """Names of these features."""
        if self.kind == ONE_HOT:
            return [f"{self.name}={value}" for value in self.categories] + [f"{self.name}=other"]
        if self.kind == HASHED:
            return [f"{self.name}#{number}" for number in range(self.hash_size)]
        return [self.name]

    def numbers(self, values: list[str]) -> np.ndarray:
        """The feature, counted within the column, of each of the (distinct) categories."""
        if self.kind == HASHED:
            found = [zlib.crc32(v.encode("utf-8", "replace")) % self.hash_size for v in values]
        else:
            known = {value: number for number, value in enumerate(self.categories)}
            found = [known.get(value, len(known)) for value in values]
        return np.array(found, np.int64)


@dataclass
class Columns:
    """The features of a table, in order, and its label column, if it has one."""

    columns: list[Column]
    label: str | None = None
    label_kind: str | None = None
    missing: float | None = None

    @classmethod
    def of(cls, schema: dict[str, Any]) -> Columns:
        """The columns that a schema describes."""
        columns = [Column(**column) for column in schema["columns"]]
        return cls(columns, *(schema[key] for key in ("label", "label_kind", "missing")))

    def schema(self) -> dict[str, Any]:
        """All of this as JSON."""
        return asdict(self)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return sum(column.width for column in self.columns)

    @property
    def is_dense(self) -> bool:
        """Whether rows are arrays, not CSR matrices."""
        plain = all(column.kind in (NUMBER, TRUTH) for column in self.columns)
        return plain or self.n_features <= DENSE_UP_TO

    def names(self) -> list[str]:
        """Names of the features."""
        return [name for column in self.columns for name in column.names()]

    def numeric(self) -> np.ndarray:
        """Mask of the features that are numbers: those that can be standardised."""
        return np.repeat(
            [column.kind == NUMBER for column in self.columns],
            [column.width for column in self.columns],
        )


def matrix(columns: Columns, table: dict[str, Any], n: int, place: Any) -> Any:
    """Features of n rows, of Arrow arrays by name. ``place(row)`` names a row in messages."""
    if columns.is_dense:
        X = np.zeros((n, columns.n_features))
        first = 0
        for column in columns.columns:
            if column.kind in (NUMBER, TRUTH):
                X[:, first] = _numbers(column, table[column.name], columns.missing, place)
            else:
                X[np.arange(n), first + _codes(column, table[column.name])] = 1.0
            first += column.width
        return X
    return _sparse_matrix(columns, table, n, place)


def _sparse_matrix(columns: Columns, table: dict[str, Any], n: int, place: Any) -> Any:
    """The same as CSR: one entry per row and column."""
    indices = np.empty((n, len(columns.columns)), np.int64)
    data = np.ones((n, len(columns.columns)))
    first = 0
    for k, column in enumerate(columns.columns):
        indices[:, k] = first
        if column.kind in (NUMBER, TRUTH):
            data[:, k] = _numbers(column, table[column.name], columns.missing, place)
        else:
            indices[:, k] += _codes(column, table[column.name])
        first += column.width
    pointer = np.arange(n + 1) * len(columns.columns)
    X = sparse.csr_matrix((data.ravel(), indices.ravel(), pointer), (n, first))
    X.eliminate_zeros()
    return X


def _numbers(column: Column, values: Any, missing: float | None, place: Any) -> np.ndarray:
    import pyarrow.compute as pc

    if values.null_count:
        if missing is None:
            row = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
            raise StreamError(
                f"{place(row)} has no value in column '{column.name}'; fill it in, give the "
                f"number to use instead (--missing), or leave the column out (--ignore {column.name})."
            )
        values = pc.fill_null(pc.cast(values, "double"), missing)
    found = pc.cast(values, "double").to_numpy(zero_copy_only=False)
    if not np.isfinite(found).all():
        row = int(np.flatnonzero(~np.isfinite(found))[0])
        raise StreamError(
            f"{place(row)} has {found[row]} in column '{column.name}'; it must be a finite number."
        )
    return found


def _codes(column: Column, values: Any) -> np.ndarray:
    """The feature, counted within the column, of each row's category; nothing is a category too."""
    import pyarrow.compute as pc

    encoded = pc.fill_null(pc.cast(values, "string"), "").dictionary_encode()
    numbers = column.numbers(encoded.dictionary.to_pylist())
    return numbers[encoded.indices.to_numpy(zero_copy_only=False)]


def label_kind(values: Any) -> str:
    """What the labels of the first rows are: an Arrow array of strings, or of another type."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return "text"
    known = [value for value in values.unique().to_pylist() if value is not None]
    if any(_NAME.match(value) for value in known):
        return "text"
    for name, convert in (("integer", int), ("number", float)):
        if known and all(_converts(value, convert) for value in known):
            return name
    return "text"


def labels(columns: Columns, values: Any, place: Any) -> np.ndarray:
    """Labels of the rows as NumPy knows them."""
    import pyarrow.compute as pc

    encoded = pc.fill_null(pc.cast(values, "string"), "").dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    if "" in distinct:
        row = int(np.flatnonzero(codes == distinct.index(""))[0])
        raise StreamError(
            f"{place(row)} has no label in column '{columns.label}'; leave the row out."
        )
    if columns.label_kind == "text":
        return np.array(distinct, dtype=str)[codes] if distinct else np.empty(0, dtype="U1")
    convert: Any = int if columns.label_kind == "integer" else float
    for number, value in enumerate(distinct):
        if not _converts(value, convert):
            row = int(np.flatnonzero(codes == number)[0])
            raise StreamError(
                f"{place(row)} has the label {shortened(value)} in column '{columns.label}', where "
                f"the rows before have numbers ({columns.label_kind}); labels must be all of one kind."
            )
    kind = np.int64 if columns.label_kind == "integer" else np.float64
    return np.array([convert(value) for value in distinct], kind)[codes]


def _converts(value: str, convert: Any) -> bool:
    try:
        number = convert(value)
    except (ValueError, OverflowError):
        return False
    fits = abs(number) < 2**63 if convert is int else math.isfinite(number)
    return fits and "_" not in value
