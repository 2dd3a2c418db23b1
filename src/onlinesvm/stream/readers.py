"""Opening a file, a folder or standard input as a stream of blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from .arrays import NpyReader, NpzReader
from .delimited import DelimitedReader
from .errors import StreamError
from .jsonlines import JsonLinesReader
from .libsvm import LibsvmReader
from .opening import Source, can_repeat, checked_path, is_standard_input, name_of, open_source
from .parquet import ParquetReader
from .reader import Reader
from .table import TableOptions

FORMATS = ("libsvm", "csv", "tsv", "jsonl", "parquet", "npy", "npz")

_TABLES = ("csv", "tsv", "jsonl", "parquet")

_ENDINGS = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".npy": "npy", ".npz": "npz", ".svm": "libsvm", ".libsvm": "libsvm", ".svmlight": "libsvm",
}  # fmt: skip

_COMPRESSED = {".gz", ".bz2", ".xz", ".zst"}

_EXAMPLE = re.compile(rb"^\s*[+-]?[\d.]+([eE][+-]?\d+)?(\s+(qid|\d+):\S+)*\s*(#.*)?$")


def open_reader(
    source: Any,
    format: str | None = None,
    *,
    label: str | None = None,
    schema: dict[str, Any] | None = None,
    needs_label: bool = True,
    n_features: int | None = None,
    zero_based: bool = False,
    delimiter: str | None = None,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    encode: str = "onehot",
    hash_size: int = 64,
    missing: float | str | None = None,
    missing_indicator: bool = False,
) -> Reader:
    r"""Open a source of examples; only its first bytes are read before the first block.

    Parameters
    ----------
    source : str, path or binary file
        A file, compressed or not, a folder of Parquet files, or ``"-"`` for standard input.
    format : {"libsvm", "csv", "tsv", "jsonl", "parquet", "npy", "npz"} or None, default=None
        The format; None: recognised by the name, or else by the first line.
    label : str or None, default=None
        The label: name of a column (CSV, TSV, JSON lines, Parquet), name of an array (npz, default ``y``),
        number of a column or name of another file (npy). LIBSVM text needs none.
    schema : dict or None, default=None
        Columns and categories of another reader (``reader.schema``).
    needs_label : bool, default=True
        Whether a missing label is an error.
    n_features : int or None, default=None
        Number of features of LIBSVM text; None: the largest feature number so far.
    zero_based : bool, default=False
        Whether LIBSVM text counts features from 0.
    delimiter : str or None, default=None
        Character between the values of CSV; None: a comma, in TSV a tab.
    ignore : sequence of str, default=()
        Columns to leave out.
    categorical : sequence of str, default=()
        Columns of numbers, dates or truth values to treat as categories.
    numeric : sequence of str, default=()
        Columns to treat as numbers despite text or leading zeros.
    encode : {"onehot", "hash"}, default="onehot"
        How categories are encoded. New categories during a stream share one column.
    hash_size : int, default=64
        Number of features for each column of categories with ``encode="hash"``.
    missing : float, {"mean", "median", "most_frequent"} or None, default=None
        Replacement of missing values in numeric columns: a number, or a statistic of the column in
        the first rows, which is used for all later rows; None: a missing value is an error. A
        missing category is a category.
    missing_indicator : bool, default=False
        Whether numeric columns with missing values in the first rows get an additional feature that
        is 1 if the value is missing.

    Returns
    -------
    reader : Reader
        ``reader.blocks(size, skip)`` is one pass.

    See Also
    --------
    onlinesvm.fit_stream : Learns from a reader.
    onlinesvm.streams.MemoryReader : Reads arrays.

    Examples
    --------
    >>> import io
    >>> from onlinesvm import open_reader
    >>> reader = open_reader(io.BytesIO(b"+1 1:0.5 3:2\n-1 2:1\n"), "libsvm")
    >>> for block in reader.blocks(size=2):
    ...     print(block.X.toarray().tolist(), block.y.tolist())
    [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]] [1, -1]
    """
    if format is not None and format not in FORMATS:
        raise StreamError(f"Unknown format '{format}'; choose one of {', '.join(FORMATS)}.")
    if not hasattr(source, "read"):
        source = source if is_standard_input(source) else str(source)
    if format is None:
        format, source = _guessed(source)
    if schema is not None and schema.get("kind") != format and not _both_tables(schema, format):
        schema = None
    options = TableOptions(
        label, ignore, categorical, numeric, encode, hash_size, missing, missing_indicator
    )
    if format not in _TABLES:
        _check_no_columns(options, format)
    if format == "libsvm":
        zero_based = zero_based if schema is None else schema["zero_based"]
        reader = LibsvmReader(source, n_features, zero_based)
        reader.start_width(0 if schema is None else schema["n_features"])
        return reader
    if format in ("npy", "npz"):
        return (NpyReader if format == "npy" else NpzReader)(source, label, needs_label)
    if format == "jsonl":
        return JsonLinesReader(source, options, schema, needs_label)
    if format == "parquet":
        return ParquetReader(source, options, schema, needs_label)
    return DelimitedReader(source, format, options, delimiter, schema, needs_label)


def _check_no_columns(options: TableOptions, format: str) -> None:
    """Refuse column options if columns have no names: they would have no effect."""
    nothing = TableOptions(label=options.label)
    for option in fields(TableOptions):
        if getattr(options, option.name) != getattr(nothing, option.name):
            raise StreamError(
                f"{option.name} (--{option.name.replace('_', '-')}) is for tables "
                f"({', '.join(_TABLES)}), not for {format}; leave it out."
            )


def _both_tables(schema: dict[str, Any] | None, format: str) -> bool:
    """Columns have names in all of these formats: what was learned from one fits another."""
    return schema is not None and schema.get("kind") in _TABLES and format in _TABLES


def _guessed(source: Any) -> tuple[str, Any]:
    """The format by the name, or else by the first line; and the source, with that line unread."""
    if can_repeat(source):
        path = Path(source)
        if path.is_dir():
            return "parquet", source
        suffixes = [suffix.lower() for suffix in path.suffixes]
        ending = next((s for s in reversed(suffixes) if s not in _COMPRESSED), "")
        if ending in _ENDINGS:
            return _ENDINGS[ending], source
        checked_path(path)
        with open_source(source) as opened:
            return _by_content(opened.peek_line(), name_of(source)), source
    opened = open_source(source)
    return _by_content(opened.peek_line(), name_of(source)), _Peeked(opened, source)


class _Peeked:
    """Standard input, or an open file, whose beginning was looked at."""

    def __init__(self, source: Source, before: Any):
        self._source, self.name, self.is_live = source, "standard input", source.is_live
        if not is_standard_input(before):
            self.name = getattr(before, "name", type(before).__name__)
        self.read, self.close = source.read, source.close


def _by_content(head: bytes, name: str) -> str:
    for magic, format in ((b"PAR1", "parquet"), (b"\x93NUMPY", "npy"), (b"PK\x03\x04", "npz")):
        if head.startswith(magic):
            return format
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")):
        return "jsonl"
    lines = [line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")]
    first = lines[0] if lines else b""
    if _EXAMPLE.match(first.rstrip(b"\r")):
        return "libsvm"
    if b"\t" in first:
        return "tsv"
    if b"," in first:
        return "csv"
    raise StreamError(
        f"The format of {name} cannot be recognised; give it with --format {'|'.join(FORMATS)}."
    )
