"""JSON lines: one object per line, as the text arrives. Nested objects have dotted names.

Missing keys are missing values, and the order of keys does not matter: columns are sorted by name.
If the values of a column are all numbers, all truth values or all text, that is the type of the
column; numbers among which some are written as text ("1.5") are numbers; other mixtures are text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from .arrow_values import GAPS, is_numeric, number_text
from .blocks import Block
from .errors import StreamError, as_word, shortened
from .lines import end_of_lines, head_and_rest, line_ends, whole_records
from .opening import Source, can_repeat, import_arrow, name_of, open_source
from .table import TableOptions, TableReader, listed

Row = dict[str, Any]


class JsonLinesReader(TableReader):
    """Rows of a text of JSON objects."""

    kind = "jsonl"

    def __init__(
        self,
        source: Any,
        options: TableOptions | None = None,
        schema: dict[str, Any] | None = None,
        needs_label: bool = True,
    ):
        import_arrow(f"Reading {name_of(source)}, a table of JSON lines,")
        self._source, self.name = source, name_of(source)
        self.can_repeat = can_repeat(source)
        self.options = options or TableOptions()
        self._given, self._needs_label = schema, needs_label
        self._blank: list[int] = []

    def pieces(self, skip: int) -> Iterator[Block]:
        """Parsed pieces of the text."""
        row, self._blank = 0, []
        with open_source(self._source) as source:
            for rows in self._parts(source):
                if row + len(rows) > skip:
                    yield self.block(self._batch(rows, self.used()), row)
                row += len(rows)
        if not row:
            raise StreamError(f"{self.name} has only blank lines; it needs rows.")
        self.check_length(row, skip)

    def _parts(self, source: Source) -> Iterator[list[Row]]:
        """Rows in pieces; the first of them, which decide on the columns, at once."""
        known = self._columns is not None or self._given is not None
        most = 1 if known else self.first_rows
        texts = whole_records(source, end_of_lines)
        texts = head_and_rest(texts, line_ends, most if source.is_live else None)
        number = row = 0
        for text in texts:
            rows = []
            for line in text.split(b"\n")[: -1 if text.endswith(b"\n") else None]:
                number += 1
                if line.strip():
                    rows.append(self._row(line, number))
                else:
                    self._blank.append(row + len(rows))
            row += len(rows)
            if rows:
                self._decide(rows)
                yield rows

    def _row(self, line: bytes, number: int) -> Row:
        where = f"{self.name}, line {number}: "
        try:
            text = str(line, "utf-8")
            found = _DECODER.decode(text.removeprefix("\ufeff") if number == 1 else text)
            if b"\\ud" in line.lower():  # half of a pair is no character
                json.dumps(found, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise StreamError(
                f"{where}an escape such as \\ud83d without its second half is no character; correct "
                "the line, or leave it out."
            ) from error
        except UnicodeDecodeError as error:
            raise StreamError(f"{where}text that is not UTF-8; save the file as UTF-8.") from error
        except (ValueError, RecursionError) as error:
            raise StreamError(f"{where}not JSON: {_reason(error)}{_array(line, number)}") from error
        except KeyError as error:
            raise self._twice(where, error) from None
        if not isinstance(found, dict):
            what = _NAMES.get(type(found), "a value")
            raise StreamError(
                f'{where}{what} where an object is needed, such as {{"age": 31, "town": "Ulm"}}; '
                "write one object per line."
            )
        row: Row = {}
        try:
            _flatten(found, "", row)
        except KeyError as error:
            raise self._twice(where, error) from None
        return row

    def _twice(self, where: str, error: KeyError) -> StreamError:
        return StreamError(f"{where}two values for '{error.args[0]}'; rename one.")

    def _decide(self, rows: list[Row]) -> None:
        """Decide on the columns, or find those of the model."""
        if self._columns is not None:
            return
        there = sorted({name for row in rows for name in row})
        if not self.reads_features and self.options.label in there:
            there = [self.options.label]
        if self._given is None:
            batch = self._batch(rows, there)
            self.decide(batch, self._needs_label, self._kinds(rows, batch))
            return
        columns = self.with_label(self._given, there, self._needs_label)
        if not any(column.name in there for column in columns.columns):
            raise StreamError(
                f"{self.name} has none of the columns that the model was trained on, such as "
                f"'{columns.columns[0].name}'; it has {listed(there)}."
            )
        self._columns = columns

    def _kinds(self, rows: list[Row], batch: Any) -> dict[str, Any]:
        """The type of each column; text among numbers are numbers too, if all of it reads as such."""
        import pyarrow as pa

        kinds = dict(zip(batch.schema.names, batch.schema.types, strict=True))
        for name in kinds:
            values = [row.get(name) for row in rows]
            if {type(value) for value in values} & {int, float}:
                words = {value for value in values if isinstance(value, str)} - set(GAPS)
                if not any(isinstance(v, bool) for v in values) and all(map(is_numeric, words)):
                    kinds[name] = pa.float64()
        return kinds

    def _batch(self, rows: list[Row], names: Sequence[str]) -> Any:
        import pyarrow as pa

        arrays = [self._array(name, [row.get(name) for row in rows]) for name in names]
        if not names:
            raise StreamError(f"{self.name} has objects without keys; nothing to learn from.")
        return pa.RecordBatch.from_arrays(arrays, names=list(names))

    def _array(self, name: str, values: list[Any]) -> Any:
        """The values of a column as an Arrow array of the type they have in common."""
        import pyarrow as pa

        kinds = {type(value) for value in values} - {type(None)}
        if list in kinds:
            if name in self.options.ignore:
                return pa.nulls(len(values))
            if name == self.options.label:
                raise StreamError(
                    f"The label '{name}' of {self.name} is a list; a label is one number or text."
                )
            raise StreamError(
                f"Column '{name}' of {self.name} contains lists, which cannot be used; leave it "
                f"out (--ignore {as_word(name)})."
            )
        if kinds == {int} and all(v is None or abs(v) < 2**63 for v in values):
            return pa.array(values, pa.int64())
        if kinds and kinds <= {int, float}:
            return pa.array([None if v is None else _float(v) for v in values], pa.float64())
        if kinds <= {str} or kinds == {bool}:
            return pa.array(values, pa.string() if str in kinds else None)
        return pa.array([_word(value) for value in values], pa.string())

    def place(self, row: int) -> str:
        """The line of a row."""
        blank = sum(1 for at in self._blank if at <= row)
        return f"line {row + 1 + blank} of {self.name}"


_NAMES = {list: "a list", str: "text", int: "a number", float: "a number", bool: "a truth value"}


def _object(pairs: list[tuple[str, Any]]) -> Row:
    """An object; Python's own takes the last of two values of a key."""
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise KeyError(next(name for name in names if names.count(name) > 1))
    return row


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _flatten(found: dict[str, Any], prefix: str, row: Row) -> None:
    for key, value in found.items():
        if isinstance(value, dict):
            _flatten(value, f"{prefix}{key}.", row)
        elif f"{prefix}{key}" in row:
            raise KeyError(f"{prefix}{key}")
        else:
            row[f"{prefix}{key}"] = value


def _float(value: float) -> float:
    """A number as float64; an integer that is too large is infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _word(value: Any) -> str | None:
    """A value in a column of several kinds, as text."""
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else number_text(value)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[0].lower()}{error.msg[1:]} at character {error.pos + 1}"
    return shortened(str(error))


def _array(line: bytes, number: int) -> str:
    if number == 1 and line.lstrip().startswith(b"["):
        return "; it seems to be one array: write one object per line (jq -c '.[]')."
    return "; correct the line, or leave it out."
