"""Base class of tables (CSV, JSON lines, Parquet): finds the columns, and turns batches into
blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .arrow_values import flat_columns
from .blocks import Block
from .columns import Columns
from .deciding import FirstRows, TableOptions, decided, learn_gaps
from .errors import StreamError
from .features import matrix
from .reader import BLOCK_ROWS, Reader
from .table_labels import label_kind, labels

__all__ = ["TableOptions", "TableReader"]


class TableReader(Reader):
    """A source of record batches with named columns."""

    _columns: Columns | None = None
    _given: dict[str, Any] | None = None
    _needs_label = True
    options: TableOptions

    types_are_declared = False
    """Whether the format says what is text, so that digits in text are meant as text."""

    label_means = "label"
    """Name of the label in errors: ``predict`` reads ids instead of labels."""

    reads_label = True
    """Whether labels are read; ``predict`` leaves the label column out, whatever it has."""

    reads_features = True
    """Whether columns besides the label are read; predictions are compared with labels alone."""

    first_rows = BLOCK_ROWS
    """Rows of the first block, which decide on the columns of a live stream."""

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
            raise StreamError(
                f"The columns of {self.name} are not known before the first row is read."
            )
        return self._columns

    def feature_names(self) -> list[str] | None:
        """Names of the features, once the first rows were read."""
        return None if self._columns is None else self._columns.names()

    def blocks(self, size: int = BLOCK_ROWS, skip: int = 0) -> Iterator[Block]:
        """One pass in blocks of ``size`` rows, without the first ``skip`` rows."""
        self.first_rows = size
        return super().blocks(size, skip)

    # -- which columns there are ------------------------------------------------------------

    def use_schema(self, schema: dict[str, Any], there: Sequence[str], needs_label: bool) -> None:
        """The columns of a model: all of them must be there, the label only where it is needed."""
        columns = self.with_label(schema, there, needs_label)
        missing = [column.name for column in columns.columns if column.name not in there]
        if missing:
            raise self._no_column(missing[0], there)
        self._columns = columns

    def with_label(
        self, schema: dict[str, Any], there: Sequence[str], needs_label: bool
    ) -> Columns:
        """The columns of a model, with the label if it is there, which it must be if needed."""
        columns = Columns.of(schema)
        columns.label = self.options.label or columns.label
        if columns.label not in there:
            if needs_label:
                raise self._no_label(columns.label, there)
            columns.label = None
        if not self.reads_label:
            columns.label = None
        if columns.label in [column.name for column in columns.columns]:
            raise StreamError(
                f"Column '{columns.label}' is a feature of the model, and cannot be the label as "
                "well; name the column of the labels with --label."
            )
        return columns

    def _no_column(self, name: str, there: Sequence[str]) -> StreamError:
        return StreamError(
            f"{self.name} has no column '{name}', on which the model was trained; it has "
            f"{listed(there)}."
        )

    def _no_label(self, label: str | None, there: Sequence[str]) -> StreamError:
        has = f"its columns are {listed(there)}"
        if label is None:
            return StreamError(f"{self.name} needs a label column: give --label NAME; {has}.")
        return StreamError(
            f"{self.name} has no column '{label}' for the {self.label_means}; {has}."
        )

    def decide(self, batch: Any, needs_label: bool, inferred: dict[str, Any] | None = None) -> None:
        """Decide from the first rows how each column is encoded.

        ``inferred``: types that were found in text, by name; None: the types are those of the batch.
        """
        options, table = self.options, self._flat(batch)
        names = list(table)
        if self.reads_features:
            self._check_names(names)
        if needs_label and options.label in options.ignore:
            raise StreamError(
                f"Column '{options.label}' is the {self.label_means} and cannot be ignored; leave it out "
                "of --ignore, or name another column as --label."
            )
        if needs_label and (options.label is None or options.label not in names):
            raise self._no_label(options.label, names)
        columns = [
            decided(self._first_rows_of(name, values, inferred), options)
            for name, values in table.items()
            if self.reads_features and name != options.label and name not in options.ignore
        ]
        if self.reads_features and not columns:
            raise StreamError(
                f"{self.name} has no column besides the label; at least one feature is needed."
            )
        label = options.label if options.label in names and self.reads_label else None
        kind = None if label is None else label_kind(table[label])
        for column in columns:
            learn_gaps(column, table[column.name], options, self.place)
        self._columns = Columns(columns, label, kind, options.missing)

    def _first_rows_of(self, name: str, values: Any, inferred: dict[str, Any] | None) -> FirstRows:
        found = values.type if inferred is None else inferred[name]
        return FirstRows(name, values, found, self.types_are_declared, self.name, self.place)

    def _flat(self, batch: Any) -> dict[str, Any]:
        """Columns by name; those of nested values have dotted names."""
        table: dict[str, Any] = {}
        for name, values in flat_columns(batch):
            if name in table:
                raise StreamError(f"{self.name} has two columns '{name}'; rename one of them.")
            table[name] = values
        return table

    def _check_names(self, names: Sequence[str]) -> None:
        options = self.options
        for name in (*options.ignore, *options.categorical, *options.numeric):
            if name not in names:
                raise StreamError(
                    f"{self.name} has no column '{name}'; its columns are {listed(names)}."
                )

    # -- rows -------------------------------------------------------------------------------

    def block(self, batch: Any, first: int) -> Block:
        """A record batch as features and labels."""
        table, columns = self._flat(batch), self.columns

        def place(row: int) -> str:
            return self.place(first + row)

        X = matrix(columns, table, batch.num_rows, place)
        y: np.ndarray | None = None
        if columns.label is not None:
            if columns.label_kind is None:  # the model was trained without labels
                columns.label_kind = label_kind(table[columns.label])
            y = labels(columns, table[columns.label], place, self.label_means)
        return Block(X, y, first)

    def used(self) -> list[str]:
        """Names of the columns that are read."""
        columns = self.columns
        names = [column.name for column in columns.columns]
        return names if columns.label is None else [*names, columns.label]

    def roots(self, there: Sequence[str]) -> list[str]:
        """The columns of a file, of these, that hold the columns that are read."""
        used = self.used()
        return [name for name in there if any(u == name or u.startswith(f"{name}.") for u in used)]


def listed(names: Sequence[str], most: int = 20) -> str:
    """Names, as messages show them."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
