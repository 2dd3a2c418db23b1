"""NumPy files: ``.npy``, memory-mapped, and ``.npz``, read piece by piece. Pickles are refused.

An ``.npz`` contains the rows in the array ``X`` and the labels in ``y`` (or another name). An
``.npy`` contains a table of which one column is the label, or only the rows, with the labels in
another ``.npy`` file; or a structured array, whose fields are columns.
"""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .blocks import Block, whole_numbers
from .errors import StreamError, one_line
from .opening import checked_path, is_standard_input, name_of
from .reader import Reader

PIECE_BYTES = 1 << 22
"""Bytes of rows that are read at once."""

_BAD_ZIP = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, KeyError,
            UnicodeDecodeError)  # fmt: skip


class ArrayReader(Reader):
    """What both kinds share: rows and labels as slices."""

    def __init__(self, source: Any, label: str | None = None, needs_label: bool = True):
        if is_standard_input(source):
            raise StreamError("NumPy files cannot be read from standard input; name a file.")
        self._path, self.name = checked_path(source), name_of(source)
        self.label, self._needs_label = label, needs_label

    def _block(self, X: np.ndarray, y: np.ndarray | None, first: int) -> Block:
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        finite = np.isfinite(X)
        if not finite.all():
            row = first + int(np.flatnonzero(~finite.all(axis=1))[0])
            raise StreamError(f"{self.place(row)} has a value that is not a finite number.")
        return Block(X, y, first)

    def _check(self, X: Any, y: Any) -> None:
        """Shapes and types that rows and labels must have."""
        if len(X.shape) != 2 or not all(X.shape):
            raise StreamError(
                f"The rows in {self.name} have the shape {tuple(X.shape)}; they must be a table "
                "with at least one row and one column."
            )
        if X.dtype.kind not in "fiub":
            raise StreamError(f"The rows in {self.name} are not numbers but {X.dtype}.")
        if y is not None and y.shape != X.shape[:1]:
            raise StreamError(
                f"{self.name} has {X.shape[0]:,} rows, but labels of shape {tuple(y.shape)}."
            )
        if y is not None and y.dtype.kind not in "fiubU":
            raise StreamError(f"The labels in {self.name} are neither numbers nor text: {y.dtype}.")


class NpyReader(ArrayReader):
    """Rows of an ``.npy`` file."""

    kind = "npy"

    def pieces(self, skip: int) -> Iterator[Block]:
        """Slices of the memory map."""
        table = _mapped(self._path, self.name)
        X, y = self._split(table)
        self._check(X, y)
        self.check_length(X.shape[0], skip)
        step = _rows_at_once(X)
        for first in range(skip, X.shape[0], step):
            part = slice(first, first + step)
            labels = None if y is None else whole_numbers(np.array(y[part]))
            yield self._block(np.array(X[part]), labels, first)

    def _split(self, table: np.ndarray) -> tuple[Any, Any]:
        if table.dtype.names is not None:
            return self._fields(table)
        if self.label is not None and self.label.endswith(".npy"):
            return table, _mapped(checked_path(self.label), name_of(self.label))
        if self.label is None:
            if self._needs_label:
                raise StreamError(
                    f"{self.name} needs labels: give --label with the number of a column (from "
                    "0; -1 is the last) or with another .npy file."
                )
            return table, None
        try:
            column = range(table.shape[1])[int(self.label)]
        except (ValueError, IndexError):
            raise StreamError(
                f"{self.name} has no column {self.label}; its shape is {table.shape}: give "
                "--label with the number of a column (from 0; -1 is the last) or an .npy file."
            ) from None
        return _Without(table, column), table[:, column]

    def _fields(self, table: np.ndarray) -> tuple[Any, Any]:
        names = list(table.dtype.names or ())
        if self.label not in names:
            if self._needs_label or self.label is not None:
                raise StreamError(
                    f"{self.name} has no field '{self.label or ''}' for the label; "
                    f"its fields are {', '.join(names)}."
                )
            return _Fields(table, names), None
        return _Fields(table, [n for n in names if n != self.label]), table[self.label]


class _Without:
    """A table without one of its columns, sliced by rows."""

    def __init__(self, table: np.ndarray, column: int):
        self._table, self._keep = table, np.delete(np.arange(table.shape[1]), column)
        self.shape, self.dtype = (table.shape[0], len(self._keep)), table.dtype

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self._table[rows][:, self._keep]


class _Fields:
    """Fields of a structured array as columns, sliced by rows."""

    def __init__(self, table: np.ndarray, names: list[str]):
        self._table, self._names = table, names
        self.shape = (table.shape[0] if table.ndim else 0, len(names))
        kinds = [table.dtype[name] for name in names]
        plain = all(kind.kind in "fiub" and kind.shape == () for kind in kinds)
        self.dtype = np.dtype(np.float64) if plain else np.dtype(object)

    def __getitem__(self, rows: slice) -> np.ndarray:
        part = self._table[rows]
        return np.column_stack([part[name].astype(np.float64) for name in self._names])


class NpzReader(ArrayReader):
    """Rows of the array ``X`` and labels of the array ``y`` of an ``.npz`` file."""

    kind = "npz"

    def __init__(
        self,
        source: Any,
        label: str | None = None,
        needs_label: bool = True,
        rows: str = "X",
    ):
        super().__init__(source, label, needs_label)
        self.rows = rows

    def pieces(self, skip: int) -> Iterator[Block]:
        """Members of the archive are read from their beginning, in step."""
        try:
            with zipfile.ZipFile(self._path) as archive:
                X, y = self._members(archive)
                self._check(X, y)
                step, n = _rows_at_once(X), X.shape[0]
                self.check_length(n, skip)
                X.skip(skip)
                if y is not None:
                    y.skip(skip)
                for first in range(skip, n, step):
                    count = min(step, n - first)
                    labels = None if y is None else whole_numbers(y.take(count))
                    yield self._block(X.take(count), labels, first)
        except (*_BAD_ZIP, OSError) as error:
            raise StreamError(
                f"{self.name} is not an .npz file, or is damaged: {one_line(error)}; write it again."
            ) from error

    def _members(self, archive: zipfile.ZipFile) -> tuple[_Member, _Member | None]:
        names = archive.namelist()
        if not any(name.endswith(".npy") for name in names):
            raise StreamError(
                f"{self.name} is a zip archive without NumPy arrays; unpack it, and name one of its "
                f"files ({', '.join(names[:3]) or 'it has none'})."
            )
        there = [name.removesuffix(".npy") for name in names]
        label = self.label or "y"
        if self.rows not in there:
            raise StreamError(
                f"{self.name} has no array '{self.rows}' for the rows; "
                f"its arrays are {', '.join(there) or 'none'}."
            )
        y = None
        if label in there:
            y = _Member(archive, label, self.name)
        elif self._needs_label or self.label is not None:
            raise StreamError(
                f"{self.name} has no array '{label}' for the labels; "
                f"its arrays are {', '.join(there)}: name one with --label."
            )
        return _Member(archive, self.rows, self.name), y


class _Member:
    """An array in an ``.npz`` file, read in order."""

    def __init__(self, archive: zipfile.ZipFile, array: str, name: str):
        self._file, self._array, self._name = archive.open(f"{array}.npy"), array, name
        try:
            version = np.lib.format.read_magic(self._file)
            read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
                version, np.lib.format.read_array_header_2_0
            )
            self.shape, fortran, self.dtype = read(self._file)
        except Exception as error:  # NumPy evaluates the header as a Python literal
            raise StreamError(
                f"The array '{array}' in {name} is damaged: {one_line(error)}."
            ) from error
        if self.dtype.hasobject:
            raise StreamError(
                f"The array '{array}' in {name} contains Python objects, which are not read; "
                "save it as numbers or text."
            )
        if fortran and len(self.shape) > 1:
            raise StreamError(
                f"The array '{array}' in {name} is stored by columns; save it as "
                "np.ascontiguousarray(...), or as an .npy file."
            )
        self._row = int(np.prod(self.shape[1:], dtype=object)) * self.dtype.itemsize

    def take(self, count: int) -> np.ndarray:
        """The next rows."""
        data = self._file.read(count * self._row)
        if len(data) != count * self._row:
            raise StreamError(
                f"The array '{self._array}' in {self._name} is truncated; write it again."
            )
        return np.frombuffer(bytearray(data), self.dtype).reshape(count, *self.shape[1:])

    def skip(self, count: int) -> None:
        """Leave out rows."""
        left = count * self._row
        while left > 0:
            read = len(self._file.read(min(left, PIECE_BYTES)))
            if not read:
                raise StreamError(
                    f"The array '{self._array}' in {self._name} is truncated; write it again."
                )
            left -= read


def _rows_at_once(X: Any) -> int:
    return max(1, min(X.shape[0], PIECE_BYTES // max(1, X.shape[1] * X.dtype.itemsize)))


def _mapped(path: Path, name: str) -> np.ndarray:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of files made by Python 2
            found = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # NumPy evaluates the header as a Python literal
        raise StreamError(
            f"{name} is not an .npy file, or is damaged: {one_line(error)}."
        ) from error
    if not isinstance(found, np.ndarray):
        raise StreamError(f"{name} is not an .npy file; is it an .npz?")
    return found
