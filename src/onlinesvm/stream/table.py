"""What CSV and Parquet share: which columns there are, and record batches as blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .blocks import Block
from .columns import (
    HASHED,
    MOST_CATEGORIES,
    NUMBER,
    ONE_HOT,
    TRUTH,
    Column,
    Columns,
    labels,
    matrix,
)
from .columns import label_kind as kind_of_labels
from .errors import StreamError, shortened
from .reader import Reader


@dataclass(frozen=True)
class TableOptions:
    """What users may say about the columns of a table."""

    label: str | None = None
    ignore: Sequence[str] = ()
    categorical: Sequence[str] = ()
    encode: str = "onehot"
    hash_size: int = 64
    missing: float | None = None


class TableReader(Reader):
    """A source of record batches with named columns."""

    _columns: Columns | None = None
    _given: dict[str, Any] | None = None
    options: TableOptions

    types_are_declared = False
    """Whether the format says what is text, so that digits in text are meant as text."""

    @property
    def schema(self) -> dict[str, Any]:
        """The columns, as JSON."""
        if self._columns is not None:
            return {"kind": self.kind} | self._columns.schema()
        return self._given or {"kind": self.kind}

    @property
    def columns(self) -> Columns:
        """The columns; known once the first rows were read."""
        if self._columns is None:
            raise StreamError(f"The columns of {self.name} are not known before a row was read.")
        return self._columns

    def feature_names(self) -> list[str] | None:
        """Names of the features, once the first rows were read."""
        return None if self._columns is None else self._columns.names()

    def use_schema(self, schema: dict[str, Any], there: Sequence[str], needs_label: bool) -> None:
        """The columns of a model: all of them must be there, the label only where it is needed."""
        columns = Columns.of(schema)
        columns.label = self.options.label or columns.label
        if columns.label not in there:
            if needs_label:
                raise self._no_label(columns.label, there)
            columns.label = None
        missing = [column.name for column in columns.columns if column.name not in there]
        if missing:
            raise StreamError(
                f"{self.name} has no column '{missing[0]}', which the model was trained on; "
                f"it has {_listed(there)}."
            )
        self._columns = columns

    def _no_label(self, label: str | None, there: Sequence[str]) -> StreamError:
        has = f"its columns are {_listed(there)}"
        if label is None:
            return StreamError(
                f"Which column of {self.name} is the label? Give --label NAME; {has}."
            )
        return StreamError(f"{self.name} has no column '{label}' for the label; {has}.")

    def decide(self, batch: Any, needs_label: bool) -> None:
        """Decide from the first rows what becomes of each column."""
        names, options = batch.schema.names, self.options
        self._check_names(names)
        if needs_label and (options.label is None or options.label not in names):
            raise self._no_label(options.label, names)
        columns = [
            self._decided(name, batch.column(names.index(name)))
            for name in names
            if name != options.label and name not in options.ignore
        ]
        if not columns:
            raise StreamError(
                f"{self.name} has no column besides the label; nothing to learn from."
            )
        kind = None
        if options.label in names:
            kind = kind_of_labels(batch.column(names.index(options.label)))
        label = options.label if kind else None
        self._columns = Columns(columns, label, kind, options.missing)

    def _check_names(self, names: Sequence[str]) -> None:
        twice = {name for name in names if list(names).count(name) > 1}
        if twice:
            raise StreamError(f"{self.name} has two columns '{min(twice)}'; rename one of them.")
        for name in (*self.options.ignore, *self.options.categorical):
            if name not in names:
                raise StreamError(
                    f"{self.name} has no column '{name}'; its columns are {_listed(names)}."
                )

    def _decided(self, name: str, values: Any) -> Column:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind, options = values.type, self.options
        if name not in options.categorical:
            if pa.types.is_boolean(kind):
                return Column(name, TRUTH)
            if is_number(kind):
                return Column(name, NUMBER)
            self._check_not_numbers(name, values)
        if options.encode == "hash":
            return Column(name, HASHED, hash_size=options.hash_size)
        try:
            found = pc.fill_null(pc.cast(values, "string"), "").unique().to_pylist()
        except pa.ArrowException as error:
            raise StreamError(
                f"Column '{name}' of {self.name} is of type {kind}, neither numbers nor text; "
                "leave it out (ignore, --ignore)."
            ) from error
        if len(found) > MOST_CATEGORIES:
            raise StreamError(
                f"Column '{name}' of {self.name} is not numeric and has {len(found):,} different "
                f"values in its first {len(values):,} rows; leave it out (--ignore {name}) "
                "or hash it (--encode hash)."
            )
        return Column(name, ONE_HOT, sorted(found))

    def _check_not_numbers(self, name: str, values: Any) -> None:
        """Refuse a column of numbers with a few words in it, which would become categories."""
        import pyarrow as pa

        if self.types_are_declared or not pa.types.is_string(values.type):
            return
        words = [(row, word) for row, word in enumerate(values.to_pylist()) if word]
        odd = [(row, word) for row, word in words if not _is_numeric(word)]
        if odd and 2 * len(odd) < len(words):
            row, word = odd[0]
            raise StreamError(
                f"{self.place(row)} has {shortened(word)} in column '{name}', where "
                f"most rows have numbers; correct it, leave the column out (--ignore {name}), "
                f"or treat it as categories (--categorical {name})."
            )

    def block(self, batch: Any, first: int) -> Block:
        """A record batch as features and labels."""
        table = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns = self.columns

        def place(row: int) -> str:
            return self.place(first + row)

        X = matrix(columns, table, batch.num_rows, place)
        y: np.ndarray | None = None
        if columns.label is not None:
            y = labels(columns, table[columns.label], place)
        return Block(X, y, first)

    def used(self) -> list[str]:
        """Names of the columns that are read."""
        columns = self.columns
        names = [column.name for column in columns.columns]
        return names if columns.label is None else [*names, columns.label]


def _is_numeric(word: str) -> bool:
    """Whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers; a column of nothing counts as well."""
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_floating(kind)
        or types.is_decimal(kind) or types.is_null(kind)
    )  # fmt: skip


def _listed(names: Sequence[str], most: int = 20) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
