"""Parquet files and folders of them, in constant memory (PyArrow datasets)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .arrow_values import flat_names
from .blocks import Block
from .errors import StreamError, one_line
from .opening import checked_path, import_arrow, is_standard_input, name_of
from .table import TableOptions, TableReader

BATCH_ROWS = 8192
"""Rows that are decoded at once, and number of the first rows, which decide on the columns."""


class ParquetReader(TableReader):
    """Rows of a Parquet file, or of all Parquet files of a folder in the order of their names."""

    kind = "parquet"
    types_are_declared = True

    def __init__(
        self,
        source: Any,
        options: TableOptions | None = None,
        schema: dict[str, Any] | None = None,
        needs_label: bool = True,
    ):
        import_arrow(f"Reading {name_of(source)}, a Parquet file,")
        if is_standard_input(source):
            raise StreamError("Parquet cannot be read from standard input; name a file or folder.")
        self._path, self.name = Path(source), name_of(source)
        self.options = options or TableOptions()
        self._given, self._needs_label = schema, needs_label

    def pieces(self, skip: int) -> Iterator[Block]:
        """Record batches; files whose rows are all to be skipped are not read."""
        import pyarrow as pa

        row = 0
        try:
            fragments = self._fragments()
            self._decide(fragments)
            for fragment in fragments:
                n = int(fragment.count_rows())
                if row + n <= skip:
                    row += n
                    continue
                for batch in self._batches(fragment):
                    if batch.num_rows and row + batch.num_rows > skip:
                        yield self.block(batch, row)
                    row += batch.num_rows
        except UnicodeDecodeError as error:
            raise StreamError(f"{self.name} has text that is not UTF-8; write it again.") from error
        except (pa.ArrowException, OSError) as error:
            if "duplicate field names" in str(error):
                self._refuse_twice()
            raise StreamError(
                f"{self.name} is not Parquet, or is damaged: {one_line(error)}."
            ) from error
        if not row:
            raise StreamError(f"{self.name} has no rows.")
        self.check_length(row, skip)

    def _fragments(self) -> list[Any]:
        from pyarrow import dataset

        if not self._path.is_dir():
            checked_path(self._path)
        elif not any(self._path.rglob("*.parquet")):
            raise StreamError(f"The folder {self.name} has no *.parquet file.")
        # Without the two options whole row groups are kept in memory.
        scan = dataset.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
        found = dataset.dataset(
            self._files(),
            format=dataset.ParquetFileFormat(default_fragment_scan_options=scan),
            partitioning="hive",
            partition_base_dir=str(self._path) if self._path.is_dir() else None,
        )
        self._schema = found.schema
        if self._columns is None and self._given is not None:
            self.use_schema(self._given, flat_names(found.schema), self._needs_label)
        return list(found.get_fragments())

    def _refuse_twice(self) -> None:
        """Name the columns that PyArrow cannot tell apart."""
        from pyarrow import parquet

        for path in self._files():
            names = parquet.read_schema(path).names
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise StreamError(f"{path!r} has two columns '{twice}'; rename one of them.")

    def _files(self) -> list[str]:
        if self._path.is_dir():
            return sorted(str(path) for path in self._path.rglob("*.parquet"))
        return [str(self._path)]

    def _decide(self, fragments: list[Any]) -> None:
        """Decide on the columns by the first rows, of as many files as it takes."""
        if self._columns is None:
            batch = first_rows(batch for part in fragments for batch in self._batches(part))
            if batch is not None:
                self.decide(batch, self._needs_label)

    def _batches(self, fragment: Any) -> Iterator[Any]:
        columns = None if self._columns is None else self.roots(self._schema.names)
        options: dict[str, Any] = {
            "schema": self._schema, "columns": columns, "batch_size": BATCH_ROWS,
            "batch_readahead": 1, "fragment_readahead": 1, "use_threads": False,
        }  # fmt: skip
        return iter(fragment.to_batches(**options))


def first_rows(batches: Iterable[Any]) -> Any:
    """The first ``BATCH_ROWS`` rows as one record batch; None if there are no rows.

    Rows with other columns than the first are left for the reader, who names their file.
    """
    import pyarrow as pa

    held: list[Any] = []
    for batch in batches:
        if held and batch.schema != held[0].schema:
            break
        if batch.num_rows:
            held.append(batch)
        if sum(b.num_rows for b in held) >= BATCH_ROWS:
            break
    if len(held) < 2:
        return held[0] if held else None
    table = pa.Table.from_batches(held).slice(0, BATCH_ROWS)
    arrays = [pa.concat_arrays(column.unify_dictionaries().chunks) for column in table.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=table.schema)
