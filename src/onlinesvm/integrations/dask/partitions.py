"""Convert any input to a list of partitions: pairs of rows and labels, read later.

    Dask arrays           one partition per block of rows
    Dask data frames      one per partition; y is a series, or the name of a column
    delayed partitions    a list of delayed X with a list of delayed y, or a list of delayed pairs
    a folder of Parquet   one per file, or per some row groups of a large one; y is a column's name
    NumPy, CSR, lists     cut into equal pieces

A partition is read on the worker that uses it, and again for every look back, unless it was in
memory before.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from dask.base import is_dask_collection
from dask.delayed import Delayed
from scipy import sparse

from ...stream.columns import Columns
from .parquet import folder_partitions
from .running import Run

PARTITION_ROWS = 50_000
"""Default number of rows of a partition."""

FEWEST_PARTITIONS = 2


class Partitions(NamedTuple):
    """Delayed pairs (X, y); names of the columns, if they have any; what a table's columns become."""

    parts: list[Delayed]
    names: list[str] | None = None
    schema: dict[str, Any] | None = None


def partitions_of(run: Run, X: Any, y: Any, size: int | None) -> Partitions:
    """The partitions of any kind of input; raises an error if invalid."""
    if y is None and not is_delayed_list(X):
        raise ValueError(
            "The labels are missing: give y, which may be the name of a column if X is a Dask data frame "
            "or a folder of Parquet."
        )
    if isinstance(X, str | os.PathLike):
        parts, schema = folder_partitions(run, X, y, size or PARTITION_ROWS)
        return Partitions(parts, Columns.of(schema).names(), schema)
    if is_delayed_list(X):
        return Partitions(_delayed_pairs(run, list(X), y))
    if is_frame(X):
        return _frame_partitions(run, X, y)
    if is_array(X):
        return Partitions(_array_partitions(run, X, y))
    if is_dask_collection(X):
        raise TypeError(
            f"X is a {type(X).__name__}; use a Dask array, a Dask data frame, or a list of delayed "
            "partitions."
        )
    return Partitions(_cut(run, X, y, size or PARTITION_ROWS))


def is_delayed_list(X: Any) -> bool:
    """Whether X is a list of delayed partitions."""
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(x, Delayed) for x in X)


def is_array(X: Any) -> bool:
    """Whether X is a Dask array."""
    return is_dask_collection(X) and hasattr(X, "chunks") and hasattr(X, "map_blocks")


def is_frame(X: Any) -> bool:
    """Whether X is a Dask data frame."""
    return is_dask_collection(X) and hasattr(X, "columns") and hasattr(X, "npartitions")


def whole_rows(X: Any) -> Any:
    """A Dask array whose blocks hold whole rows."""
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimensions; it must have two, rows and features.")
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _pair(X: Any, y: Any) -> tuple[Any, Any]:
    return X, y


def _joined(run: Run, X: list[Any], y: list[Any]) -> list[Delayed]:
    return [run.task("partition", i, _pair, *both) for i, both in enumerate(zip(X, y))]


def _array_partitions(run: Run, X: Any, y: Any) -> list[Delayed]:
    X = whole_rows(X)
    y = like_rows(X, y)
    return _joined(run, X.to_delayed().ravel().tolist(), y.to_delayed().ravel().tolist())


def like_rows(X: Any, y: Any, name: str = "y", one: str = "label") -> Any:
    """One value per row of a Dask array as a Dask array with the same blocks."""
    y = y.to_dask_array() if hasattr(y, "to_dask_array") else y
    if not is_dask_collection(y):
        y = _cut_like(X, y, name, one)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"{name} has {y.ndim} dimensions; it must be one {one} per row.")
    unknown = any(np.isnan(size) for size in (*X.chunks[0], *y.chunks[0]))
    if not unknown:
        check_one_per_row(X.shape[0], y.shape[0], name, one)
    if unknown and X.numblocks[0] != y.numblocks[0]:
        raise ValueError(
            f"X has {X.numblocks[0]} partitions and {name} {y.numblocks[0]}, of unknown sizes, so "
            f"partition {min(X.numblocks[0], y.numblocks[0])} has no counterpart; call "
            "compute_chunk_sizes() on both."
        )
    return y if unknown or X.chunks[0] == y.chunks[0] else y.rechunk((X.chunks[0],))


def _cut_like(X: Any, y: Any, name: str, one: str) -> Any:
    """Values in memory, cut as the blocks of X."""
    import dask.array as da

    y = flat(y)
    if np.isnan(X.shape[0]):
        raise ValueError(
            f"X has partitions of unknown sizes, so {name} cannot be cut to fit; call "
            f"X.compute_chunk_sizes(), or give {name} as a Dask array."
        )
    check_one_per_row(X.shape[0], len(y), name, one)
    return da.from_array(y, chunks=(X.chunks[0],) + y.shape[1:])


def check_one_per_row(rows: int, given: int, name: str = "y", one: str = "label") -> None:
    """Refuse another number of values than there are rows."""
    if rows != given:
        raise ValueError(
            f"X has {rows} rows and {name} {given} {one}s; there must be one {one} per row."
        )


def flat(y: Any) -> np.ndarray:
    """An array in memory; one column is one value per row."""
    y = np.asarray(y)
    return y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y


def _frame_partitions(run: Run, X: Any, y: Any) -> Partitions:
    if isinstance(y, str):
        if y not in X.columns:
            raise ValueError(f"The data frame has no column {y!r} for the label.")
        X, y = X.drop(columns=[y]), X[y]
    names = [str(name) for name in X.columns]
    if y is None or not is_dask_collection(y):
        raise ValueError(
            "With a Dask data frame y must be one of its columns: the series, or the column's name."
        )
    given = y.to_delayed()
    labels = list(np.ravel(np.asarray(given, object)))
    rows = X.to_delayed()
    if len(rows) != len(labels):
        raise ValueError(
            f"X has {len(rows)} partitions and y {len(labels)}, so partition "
            f"{min(len(rows), len(labels))} has no counterpart; repartition one of them."
        )
    return Partitions(_joined(run, list(rows), labels), names)


def _delayed_pairs(run: Run, X: list[Any], y: Any) -> list[Delayed]:
    if y is None:
        return list(X)
    y = list(y)
    check_counterparts(X, y)
    return _joined(run, X, y)


def check_counterparts(X: list[Any], y: list[Any]) -> None:
    """Refuse lists of partitions that are not of equal length."""
    if len(X) != len(y):
        raise ValueError(
            f"There are {len(X)} partitions of rows and {len(y)} of labels, so partition "
            f"{min(len(X), len(y))} has no counterpart."
        )


def _cut(run: Run, X: Any, y: Any, size: int) -> list[Delayed]:
    """Arrays in memory, in pieces of at most ``size`` rows."""
    from sklearn.utils.validation import check_X_y

    X, y = check_X_y(X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
    n = X.shape[0]
    count = min(max(-(-n // size), FEWEST_PARTITIONS), n)
    edges = [n * i // count for i in range(count + 1)]
    return [
        run.value(f"partition-{i}", (X[a:b], y[a:b]))
        for i, (a, b) in enumerate(zip(edges, edges[1:]))
    ]


def names_of(part: Any) -> list[str] | None:
    """Names of the columns of a partition; None if it is not a data frame."""
    columns = getattr(part[0], "columns", None)
    return None if columns is None else [str(name) for name in columns]


def as_arrays(part: Any, number: int) -> tuple[Any, np.ndarray]:
    """Rows and labels of a partition as arrays; values are not checked."""
    if not isinstance(part, tuple | list) or len(part) != 2:
        raise ValueError(
            f"Partition {number} is a {type(part).__name__}; it must be a pair of rows and labels."
        )
    X, y = part
    if not sparse.issparse(X):
        X = np.asarray(X)
        if X.dtype.kind in "iub" or X.dtype == np.float16:
            X = X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)
    y = flat(y)
    if y.dtype.kind not in "biufUSOM":  # strings of other libraries
        y = y.astype(str)
    return X, y
