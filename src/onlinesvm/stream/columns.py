"""Named columns and how they are encoded: the features of a table, as JSON data.

=========== ==================================================================================
number      one feature
truth       one feature, 0 or 1
date, ...   year, month, day, ...: see ``moments``
one-hot     one feature for each category of the first rows, and one that later ones share
hashed      ``hash_size`` features; the text of a category decides which of them it is
=========== ==================================================================================

The first rows decide (``deciding``), and the schema stores the decision, by which ``features``
encodes rows.
"""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .moments import PARTS

MOST_CATEGORIES = 1000
"""A column with more categories than this in its first rows is not one-hot encoded."""

DENSE_UP_TO = 256
"""Maximum number of features of dense rows with categories; wider rows are sparse."""

NUMBER, TRUTH, ONE_HOT, HASHED = "number", "truth", "one-hot", "hashed"


@dataclass
class Column:
    """A column of the table and how it is encoded.

    ``by_value``: categories that are numbers, so that 1.50 is 1.5. ``fill``: replacement of missing
    values, one number per feature; None: that of the table. ``indicator``: whether the last feature
    marks the rows with missing values.
    """

    name: str
    kind: str
    categories: list[str] = field(default_factory=list)
    hash_size: int = 0
    by_value: bool = False
    fill: list[float] | None = None
    indicator: bool = False

    @property
    def has_categories(self) -> bool:
        """Whether its values are categories, not numbers."""
        return self.kind in (ONE_HOT, HASHED)

    @property
    def width(self) -> int:
        """Number of features that it becomes."""
        if self.kind == ONE_HOT:
            return len(self.categories) + 1
        if self.kind == HASHED:
            return self.hash_size
        return len(PARTS.get(self.kind, (self.name,))) + self.indicator

    def names(self) -> list[str]:
        """Names of these features."""
        if self.kind == ONE_HOT:
            return [f"{self.name}={value}" for value in self.categories] + [f"{self.name}=other"]
        if self.kind == HASHED:
            return [f"{self.name}#{number}" for number in range(self.hash_size)]
        parts = PARTS.get(self.kind)
        found = [self.name] if parts is None else [f"{self.name}.{part}" for part in parts]
        return [*found, f"{self.name}=missing"] if self.indicator else found

    def numeric(self) -> list[bool]:
        """Which of these features are numbers: those that can be standardised."""
        if self.has_categories or self.kind == TRUTH:
            return [False] * self.width
        return [True] * (self.width - self.indicator) + [False] * self.indicator

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
    """The features of a table, in order, and its label column, if it has one.

    ``missing``: a number for gaps, or the rule by which ``fill`` of each column was found.
    """

    columns: list[Column]
    label: str | None = None
    label_kind: str | None = None
    missing: float | str | None = None

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
        plain = not any(column.has_categories for column in self.columns)
        return plain or self.n_features <= DENSE_UP_TO

    def names(self) -> list[str]:
        """Names of the features."""
        return [name for column in self.columns for name in column.names()]

    def numeric(self) -> np.ndarray:
        """Mask of the features that are numbers: those that can be standardised."""
        return np.array([mark for column in self.columns for mark in column.numeric()], bool)
