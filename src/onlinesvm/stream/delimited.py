"""CSV and TSV with a header, in constant memory (PyArrow's streaming reader)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from .blocks import Block
from .columns import HASHED, ONE_HOT, TRUTH
from .errors import StreamError, shortened
from .opening import Source, import_arrow, is_standard_input, name_of, open_source
from .table import TableOptions, TableReader

PIECE = 1 << 20
"""Bytes that are parsed at once; the first of them decide on the types."""

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
        import_arrow(f"To read {name_of(source)}, a table in text")
        self._source, self.name, self.kind = source, name_of(source), kind
        self.can_repeat = not is_standard_input(source) and not hasattr(source, "read")
        self.options = options or TableOptions()
        self.delimiter = delimiter or ("\t" if kind == "tsv" else ",")
        if len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n':
            raise StreamError(
                f"The delimiter is one character, such as ; or |, not {shortened(self.delimiter)}."
            )
        self._given, self._needs_label = schema, needs_label

    def pieces(self, skip: int) -> Iterator[Block]:
        """Parsed pieces of the text."""
        import pyarrow as pa

        row = 0
        with open_source(self._source) as source:
            try:
                for batch in self._batches(source):
                    if row + batch.num_rows > skip:
                        yield self.block(batch, row)
                    row += batch.num_rows
                self.check_length(row, skip)
            except pa.ArrowException as error:
                raise self._explained(error) from error
            except UnicodeDecodeError as error:
                raise self._not_text() from error
        if not row:
            raise StreamError(f"{self.name} has a header but no rows.")

    def _batches(self, source: Source) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import csv

        head = _whole_lines(source.peek(PIECE))
        self._check_text(head)
        label = self.options.label
        # Labels as they are written: 007 is not 7.
        convert = csv.ConvertOptions(column_types={label: pa.string()} if label else None)
        batch = csv.read_csv(
            pa.BufferReader(head), **self._options(convert, 2 * len(head) + 1)
        ).combine_chunks()
        self._header = batch.schema.names
        if self._columns is None:
            if self._given is not None:
                self.use_schema(self._given, self._header, self._needs_label)
            else:
                self._decide_on(batch)
        convert = csv.ConvertOptions(column_types=self._types(), include_columns=self.used())
        stream = pa.PythonFile(source, mode="r")
        return iter(csv.open_csv(stream, **self._options(convert, PIECE)))

    def _check_text(self, head: bytes) -> None:
        """What PyArrow would take for a table of one odd line."""
        if b"\0" in head:
            raise StreamError(f"{self.name} is not UTF-8 (is it UTF-16?); save it as UTF-8.")
        if not head.strip(b"\xef\xbb\xbf\r\n"):
            raise StreamError(f"{self.name} has only blank lines; it needs a header and rows.")
        if b"\n" not in head and b"\r" not in head and len(head) < PIECE:
            raise StreamError(f"{self.name} has a header but no rows.")

    def _no_label(self, label: str | None, there: Sequence[str]) -> StreamError:
        error = super()._no_label(label, there)
        other = [c for c in ";\t|" if len(there) == 1 and c in there[0]]
        if not other:
            return error
        return StreamError(f"{error} Give --delimiter {other[0]!r} if that separates the values.")

    def _decide_on(self, table: Any) -> None:
        import pyarrow as pa

        names = table.schema.names
        arrays = [
            column.chunk(0) if column.num_chunks else pa.array([], column.type)
            for column in table.columns
        ]
        self.decide(pa.RecordBatch.from_arrays(arrays, names=names), self._needs_label)

    def _types(self) -> dict[str, Any]:
        """Arrow types of the columns that are read: labels and categories as text."""
        import pyarrow as pa

        types = {
            column.name: pa.bool_() if column.kind == TRUTH else pa.float64()
            for column in self.columns.columns
        }
        for column in self.columns.columns:
            if column.kind in (ONE_HOT, HASHED):
                types[column.name] = pa.string()
        if self.columns.label is not None:
            types[self.columns.label] = pa.string()
        return types

    def _options(self, convert: Any, block_size: int) -> dict[str, Any]:
        from pyarrow import csv

        # Without threads PyArrow says in which row an error is.
        convert.strings_can_be_null = False
        return {
            "read_options": csv.ReadOptions(use_threads=False, block_size=block_size),
            "parse_options": csv.ParseOptions(delimiter=self.delimiter),
            "convert_options": convert,
        }

    def place(self, row: int) -> str:
        """Rows are lines after the header."""
        return f"line {row + 2} of {self.name}"

    def _explained(self, error: Exception) -> StreamError:
        """PyArrow's error in the user's words."""
        text = str(error)
        row, column = _ROW.search(text), _COLUMN.search(text)
        where = f"{self.name}, line {row[1]}: " if row else f"{self.name}: "
        what = row[2] if row else text
        if "Expected" in what and "columns" in what:
            counts = re.findall(r"\d+", what.split(":")[0])
            return StreamError(
                f"{where}{counts[1]} values where the header has {counts[0]}; the line may be cut, "
                "or a value holds the delimiter and needs quotes."
            )
        if "UTF8" in what:
            return StreamError(f"{where}text that is not UTF-8; save the file as UTF-8.")
        if "straddling" in what or "Empty CSV" in what:
            return StreamError(f"{where}no line ends within {PIECE >> 20} MB; is it a text table?")
        if "conversion error" in what and column:
            name = self.used()[int(column[1])] if int(column[1]) < len(self.used()) else "?"
            value = shortened(what.rsplit("invalid value ", 1)[-1].strip("'"))
            return StreamError(
                f"{where}column '{name}' has {value} where the rows before have numbers; "
                f"correct it, leave the column out (--ignore {name}), "
                f"or treat it as categories (--categorical {name})."
            )
        return StreamError(f"{where}{what.strip()}.")

    def _not_text(self) -> StreamError:
        return StreamError(f"{self.name} has column names that are not UTF-8; save it as UTF-8.")


def _whole_lines(head: bytes) -> bytes:
    """The beginning of a text without its last line, which may be cut; all of a short text."""
    end = head.rfind(b"\n") + 1
    return head[:end] if end and len(head) >= PIECE else head
