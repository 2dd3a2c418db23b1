"""A folder of Parquet as partitions: files, or runs of row groups of large ones.

Columns become features as in ``onlinesvm.stream``: the first rows of the first file decide, and all
partitions follow. Values stay in double precision: features far from zero (time stamps,
coordinates) have their digits when the kernel shifts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from dask.delayed import Delayed
from scipy import sparse

from ...stream.arrow_values import flat_names
from ...stream.blocks import Block, stacked
from ...stream.errors import StreamError, one_line
from ...stream.opening import import_arrow
from ...stream.parquet import BATCH_ROWS, first_rows
from ...stream.table import TableOptions, TableReader
from .running import Run


class GroupReader(TableReader):
    """Some row groups of one Parquet file; all of them by default."""

    kind = "parquet"

    def __init__(
        self,
        path: str,
        label: str | None,
        groups: list[int] | None = None,
        schema: dict[str, Any] | None = None,
    ):
        self.name, self._path = f"'{path}'", path
        self.options = TableOptions(label=label)
        self._groups, self._given = groups, schema

    def open(self) -> Any:
        """The file, with the columns of the schema where one was given."""
        import pyarrow as pa
        from pyarrow import parquet

        try:
            file = parquet.ParquetFile(self._path)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from error
        if self._given is not None:
            self.use_schema(
                self._given, flat_names(file.schema_arrow), self.options.label is not None
            )
        return file

    def _damaged(self, error: Exception) -> StreamError:
        return StreamError(f"{self.name} is not Parquet, or is damaged: {one_line(error)}.")

    def pieces(self, skip: int = 0) -> Iterator[Block]:
        """Record batches."""
        import pyarrow as pa

        row, file = 0, self.open()
        try:
            for batch in self._batches(file):
                if batch.num_rows and row + batch.num_rows > skip:
                    yield self.block(batch, row)
                row += batch.num_rows
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from error

    def _batches(self, file: Any) -> Iterator[Any]:
        used = self.roots(file.schema_arrow.names)
        options: dict[str, Any] = {"row_groups": self._groups, "use_threads": False}
        for batch in file.iter_batches(BATCH_ROWS, columns=used, **options):
            yield batch.select(used)


def folder_partitions(
    run: Run, folder: Any, label: Any, size: int, schema: dict[str, Any] | None = None
) -> tuple[list[Delayed], dict[str, Any]]:
    """Delayed pairs (X, y), and what becomes of each column: ``schema``, or decided here."""
    import_arrow(f"Reading the Parquet files of '{folder}'")
    if label is not None and not isinstance(label, str):
        raise ValueError(
            "With a folder of Parquet, y must be the name of the label column; got "
            f"{type(label).__name__}."
        )
    files = files_of(folder)
    schema = schema or _schema(files, label)
    parts = [
        run.task("partition", i, read, str(path), groups, schema, label, i)
        for i, (path, groups) in enumerate(_cuts(files, size))
    ]
    return parts, schema


def files_of(folder: Any) -> list[Path]:
    """The Parquet files of a folder, or of a single one, in the order of their names."""
    path = Path(folder)
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise StreamError(f"The folder '{folder}' has no *.parquet file.")
    if not files[0].exists():
        raise StreamError(f"There is no file or folder '{folder}'; check the name.")
    return files


def _cuts(files: list[Path], size: int) -> list[tuple[Path, list[int]]]:
    """Files with the row groups that are one partition, at most ``size`` rows where they allow."""
    cuts: list[tuple[Path, list[int]]] = []
    for number, path in enumerate(files):
        about = _described(path, number)
        groups: list[int] = []
        held = 0
        for group in range(about.num_row_groups):
            rows = about.row_group(group).num_rows
            if groups and held + rows > size:
                cuts.append((path, groups))
                groups, held = [], 0
            groups.append(group)
            held += rows
        cuts.append((path, groups))
    return cuts


def _described(path: Path, number: int) -> Any:
    with named(number):
        return GroupReader(str(path), None).open().metadata


def _schema(files: list[Path], label: str | None) -> dict[str, Any]:
    """What becomes of each column, decided by the first rows."""
    reader = GroupReader(str(files[0]), label)
    batch = first_rows(_all_batches(files))
    with named(0):
        if batch is None:
            raise StreamError(f"{reader.name} has no rows.")
        reader.decide(batch, label is not None)
    return reader.columns.schema()


def _all_batches(files: list[Path]) -> Iterator[Any]:
    for number, path in enumerate(files):
        with named(number):
            yield from GroupReader(str(path), None).open().iter_batches(BATCH_ROWS)


def read(
    path: str, groups: list[int], schema: dict[str, Any], label: str | None, number: int
) -> tuple[Any, np.ndarray | None]:
    """Rows and labels of one partition."""
    reader = GroupReader(path, label, groups, schema)
    with named(number):
        blocks = list(reader.pieces())
    if not blocks:
        return _nothing(reader), np.empty(0)
    whole = stacked(blocks)
    return whole.X, whole.y


@contextmanager
def named(number: int) -> Iterator[None]:
    """Add the name of the partition to its errors."""
    try:
        yield
    except StreamError as error:
        raise StreamError(f"Partition {number}: {error}") from error


def _nothing(reader: GroupReader) -> Any:
    shape = (0, reader.columns.n_features)
    return np.empty(shape) if reader.columns.is_dense else sparse.csr_matrix(shape)
