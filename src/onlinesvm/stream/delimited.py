"""CSV and TSV with a header, in constant memory, as the text arrives.

The text is split where records end (``lines``), and each piece is parsed by PyArrow. The first
megabyte decides how columns are encoded; for a live stream, which may take long to deliver as much,
the first block does.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from .arrow_values import is_numeric
from .blocks import Block
from .columns import NUMBER, TRUTH
from .errors import StreamError, as_word, shortened
from .lines import (
    end_of_records,
    head_and_rest,
    is_open_ended,
    lines_of_records,
    record_ends,
    whole_records,
)
from .opening import Source, can_repeat, import_arrow, name_of, open_source
from .table import TableOptions, TableReader

PIECES_KNOWN = 64
"""Pieces whose line numbers are known; blocks are made from the last ones."""

_ROW = re.compile(r"Row #(\d+): (.*)", re.S)
_COLUMN = re.compile(r"In CSV column #(\d+)")


class DelimitedReader(TableReader):
    """Rows of a text table with a header."""

    def __init__(
        self,
        source: Any,
        kind: str = "csv",
        options: TableOptions | None = None,
        delimiter: str | None = None,
        schema: dict[str, Any] | None = None,
        needs_label: bool = True,
    ):
        import_arrow(f"Reading {name_of(source)}, a table in text,")
        self._source, self.name, self.kind = source, name_of(source), kind
        self.can_repeat = can_repeat(source)
        self.options = options or TableOptions()
        self.delimiter = delimiter or ("\t" if kind == "tsv" else ",")
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n':
            raise StreamError(
                "The delimiter must be one character, such as ; or |, not "
                f"{shortened(self.delimiter)}."
            )
        self._given, self._needs_label = schema, needs_label
        self._mark = self.delimiter.encode()
        self._header: list[str] = []
        self._lines = LineNumbers(self._mark)

    # -- pieces -----------------------------------------------------------------------------

    def pieces(self, skip: int) -> Iterator[Block]:
        """Parsed pieces of the text."""
        row, self._lines = 0, LineNumbers(self._mark)
        with open_source(self._source) as source:
            for text in self._texts(source):
                batch = self._parsed(text, row)
                if row + batch.num_rows > skip:
                    yield self.block(batch, row)
                row += batch.num_rows
            self.check_length(row, skip)
        if not row:
            raise StreamError(f"{self.name} has a header but no rows.")

    def _texts(self, source: Source) -> Iterator[bytes]:
        """Rows in pieces; the first of them, which decide on the columns, at once."""
        known = self._columns is not None or self._given is not None
        rows = 1 if known else self.first_rows
        texts = head_and_rest(
            whole_records(source, lambda text: end_of_records(text, self._mark)),
            lambda text: record_ends(text, self._mark),
            1 + rows if source.is_live else None,
            least=2,  # the header, and the row that decides on the columns
        )
        head = next(texts)
        self._check_text(head)
        rest = self._without_header(head)
        if rest.strip():
            self._decide(rest)
            yield rest
        yield from (text for text in texts if text.strip())

    def _without_header(self, head: bytes) -> bytes:
        """Take the names of the columns from the first record; what follows it."""
        first = next((k for k, c in enumerate(head) if c not in b"\r\n"), len(head))
        ends = record_ends(head[first:], self._mark)
        end = first + int(ends[0]) if len(ends) else len(head)
        self._header = []
        with self._explaining(head[:end]):
            names = self._read(head[:end] + b"\n").schema.names
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise StreamError(
                f"{self.name} has two columns '{min(twice)}'; rename one of them.{_hint(names)}"
            )
        self._lines.skip(head[:end])
        self._header = names
        return head[end:]

    def _decide(self, rows: bytes) -> None:
        """Decide on the columns, or find those of the model."""
        import pyarrow as pa

        if self._columns is not None:
            return
        if self._given is not None:
            self.use_schema(self._given, self._header, self._needs_label)
            return
        with self._explaining(rows):
            inferred = self._read(rows).schema
            words = _batch(self._read(rows, {name: pa.string() for name in self._header}))
        self._lines.note(rows, 0, words.num_rows)
        self.decide(words, self._needs_label, dict(zip(inferred.names, inferred.types)))

    def _parsed(self, text: bytes, row: int) -> Any:
        """The rows of a piece."""
        with self._explaining(text, row):
            batch = _batch(self._read(text, self._types(), self.used()))
        self._lines.note(text, row, batch.num_rows)
        return batch

    def _read(
        self, text: bytes, types: dict[str, Any] | None = None, used: list[str] | None = None
    ) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        # Without threads PyArrow says in which row an error is.
        return csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(
                use_threads=False, block_size=2 * len(text) + 1, column_names=self._header
            ),
            parse_options=csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=used, strings_can_be_null=False
            ),
        )

    def _types(self) -> dict[str, Any]:
        """Arrow types of the columns that are read: text, but for numbers and truth values."""
        import pyarrow as pa

        known = {NUMBER: pa.float64(), TRUTH: pa.bool_()}
        types = {c.name: known.get(c.kind, pa.string()) for c in self.columns.columns}
        if self.columns.label is not None:
            # Labels as they are written: 007 is not 7.
            types[self.columns.label] = pa.string()
        return types

    # -- what can be wrong ------------------------------------------------------------------

    def _check_text(self, head: bytes) -> None:
        """Refuse text that PyArrow would read as a table of one strange line."""
        if b"\0" in head:
            raise StreamError(f"{self.name} is not UTF-8 (is it UTF-16?); save it as UTF-8.")
        if not head.strip(b"\r\n"):
            raise StreamError(f"{self.name} has only blank lines; it needs a header and rows.")

    def _no_label(self, label: str | None, there: Sequence[str]) -> StreamError:
        return StreamError(f"{super()._no_label(label, there)}{_hint(there)}")

    def _no_column(self, name: str, there: Sequence[str]) -> StreamError:
        return StreamError(f"{super()._no_column(name, there)}{_hint(there)}")

    def place(self, row: int) -> str:
        """The line on which a row begins."""
        return f"line {self._lines.line_of(row)} of {self.name}"

    @contextmanager
    def _explaining(self, text: bytes, row: int = 0) -> Iterator[None]:
        """Translate PyArrow's errors."""
        import pyarrow as pa

        try:
            if is_open_ended(text, self._mark):
                raise StreamError(
                    f"{self.name}, line {self._lines.line_within(text, row, len(text))}: a quotation "
                    "mark is not closed; close it."
                )
            yield
        except pa.ArrowException as error:
            raise self._explained(str(error), text, row) from error
        except UnicodeDecodeError as error:
            raise StreamError(
                f"{self.name} has column names that are not UTF-8; save it as UTF-8."
            ) from error

    def _explained(self, message: str, text: bytes, first: int) -> StreamError:
        row, column = _ROW.search(message), _COLUMN.search(message)
        where = f"{self.name}: "
        if row:
            line = self._lines.line_within(text, first, int(row[1]) - 1)
            where = f"{self.name}, line {line}: "
        what = row[2] if row else message
        if "Expected" in what and "columns" in what:
            counts = re.findall(r"\d+", what.split(":")[0])
            return StreamError(
                f"{where}{counts[1]} values, but the header has {counts[0]}; the line may be "
                "incomplete, or a value contains the delimiter and needs quotes."
                f"{_hint(self._header)}"
            )
        if "UTF8" in what:
            return StreamError(f"{where}text that is not UTF-8; save the file as UTF-8.")
        if "conversion error" in what and column:
            name = self.used()[int(column[1])] if int(column[1]) < len(self.used()) else "?"
            value = shortened(what.rsplit("invalid value ", 1)[-1].strip("'"))
            return StreamError(
                f"{where}column '{name}' has {value} where the rows before have numbers; "
                f"correct it, leave the column out (--ignore {as_word(name)}), "
                f"or treat it as categories (--categorical {as_word(name)})."
            )
        return StreamError(f"{where}{what.strip()}.")


class LineNumbers:
    """The line of each row; quoted line breaks and blank lines are counted."""

    def __init__(self, delimiter: bytes):
        self._delimiter = delimiter
        self._next = 1
        self._pieces: deque[tuple[int, int, np.ndarray | None]] = deque(maxlen=PIECES_KNOWN)

    def skip(self, text: bytes) -> None:
        """Text that holds no rows: the header."""
        self._next += _count_lines(text)

    def note(self, text: bytes, row: int, rows: int) -> None:
        """A piece of text that begins with this row; nothing if it was noted before."""
        if self._pieces and self._pieces[-1][0] >= row:
            return
        lines = _count_lines(text)
        plain = lines == rows or (lines == rows - 1 and not text.endswith((b"\n", b"\r")))
        within = None if plain else self._within(text)
        self._pieces.append((row, self._next, within))
        self._next += lines

    def _within(self, text: bytes) -> np.ndarray:
        return lines_of_records(text, record_ends(text, self._delimiter))

    def line_of(self, row: int) -> int:
        """The line of a row that was read not long ago."""
        for first, line, within in reversed(self._pieces):
            if first <= row:
                k = row - first
                return line + (k if within is None else int(within[min(k, len(within) - 1)]))
        return row + 2

    def line_within(self, text: bytes, row: int, k: int) -> int:
        """The line of record k of a text that begins with this row, noted or the next to be."""
        within = self._within(text)
        noted = bool(self._pieces) and self._pieces[-1][0] == row
        return (self._pieces[-1][1] if noted else self._next) + int(within[min(k, len(within) - 1)])


def _hint(there: Sequence[str]) -> str:
    """What separates the values, if the header seems to be a single name; that it seems to be missing."""
    other = [c for c in ";\t|" if len(there) == 1 and c in there[0]]
    if other:
        return f" Give --delimiter {other[0]!r} if that separates the values."
    if any(map(is_numeric, there)):
        return " If the first line is a row, write a line of column names above it."
    return ""


def _count_lines(text: bytes) -> int:
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def _batch(table: Any) -> Any:
    """A table that was read at once as a record batch."""
    import pyarrow as pa

    arrays = [
        column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        for column in table.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=table.schema.names)
