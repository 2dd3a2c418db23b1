"""Prediction: lazily, block by block, for Dask collections; otherwise immediately.

``model`` is anything with ``predict``, ``decision_function`` and ``classes_`` that can be sent to a
worker.
"""

from __future__ import annotations

import os
import warnings
from reprlib import repr as short
from typing import Any

import dask
import dask.array as da
import numpy as np

from .parquet import folder_partitions
from .partitions import (
    PARTITION_ROWS,
    check_counterparts,
    check_one_per_row,
    flat,
    is_array,
    is_delayed_list,
    is_frame,
    like_rows,
    whole_rows,
)
from .running import Run


def on_block(X: Any, model: Any, method: str) -> np.ndarray:
    """One block of rows."""
    with warnings.catch_warnings():  # blocks have lost the names of their columns
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(getattr(model, method)(X))


def on_pair(part: Any, model: Any, method: str) -> np.ndarray:
    """The rows of a partition that was read with or without labels."""
    return on_block(part[0], model, method)


def outcome(model: Any, X: Any, method: str, schema: Any = None, names: Any = None) -> Any:
    """Labels or decision values of X: a Dask array or delayed ones for a Dask collection.

    ``schema``: the columns of the folder of Parquet that the model was fitted on; ``names``: those
    of the data frame.
    """
    if isinstance(X, str | os.PathLike):
        parts, _ = folder_partitions(Run(), X, None, PARTITION_ROWS, schema)
        sent = dask.delayed(model)
        return _joined([dask.delayed(on_pair)(part, sent, method) for part in parts], model, method)
    if is_delayed_list(X):
        sent = dask.delayed(model)
        return [dask.delayed(on_block)(part, sent, method) for part in X]
    if is_frame(X):
        _check_names([str(name) for name in X.columns], names)
        X = X.to_dask_array()
    if is_array(X):
        return _on_array(model, whole_rows(X), method)
    return getattr(model, method)(X)


def _check_names(given: list[str], names: Any) -> None:
    """Refuse a data frame whose columns are not those of ``fit``, in their order."""
    if names is None or given == list(names):
        return
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}, on which the model was trained.")
    raise ValueError(
        f"The columns of X are {short(given)}, and those of fit were {short(list(names))}; select "
        "them by name in the order of fit, with X[list(model.feature_names_in_)]."
    )


def _shape(model: Any, method: str) -> tuple[Any, tuple[int, ...]]:
    """Type of the outcome, and its shape beyond the rows."""
    if method == "predict":
        return model.classes_.dtype, ()
    n = len(model.classes_)
    return np.dtype(np.float64), (n,) if n > 2 else ()


def _on_array(model: Any, X: Any, method: str) -> Any:
    dtype, more = _shape(model, method)
    options: dict[str, Any] = {"chunks": (X.chunks[0], more)} if more else {"drop_axis": 1}
    meta = np.empty((0,) * (1 + len(more)), dtype)
    return X.map_blocks(
        on_block, dask.delayed(model), method, dtype=dtype, meta=meta, name=f"{method}-{os.urandom(6).hex()}",
        **options,
    )  # fmt: skip


def _joined(parts: list[Any], model: Any, method: str) -> Any:
    dtype, more = _shape(model, method)
    return da.concatenate(
        [da.from_delayed(part, (np.nan, *more), dtype=dtype) for part in parts],
        allow_unknown_chunksizes=True,
    )


def accuracy(
    model: Any, X: Any, y: Any, sample_weight: Any = None, schema: Any = None, names: Any = None
) -> Any:
    """Share of correct predictions; a Dask scalar for a Dask collection."""
    if isinstance(X, str | os.PathLike):
        if sample_weight is not None:
            raise ValueError("sample_weight is not supported with a folder of Parquet.")
        parts, _ = folder_partitions(Run(), X, y, PARTITION_ROWS, schema)
        sent = dask.delayed(model)
        right = [dask.delayed(_right)(part, sent) for part in parts]
        return dask.delayed(_share)(right)
    if is_delayed_list(X):
        if sample_weight is not None:
            raise ValueError("sample_weight is not supported with a list of delayed partitions.")
        sent = dask.delayed(model)
        if y is not None:
            check_counterparts(X, list(y))
        pairs = X if y is None else [dask.delayed(_pair)(*both) for both in zip(X, y)]
        return dask.delayed(_share)([dask.delayed(_right)(pair, sent) for pair in pairs])
    if is_frame(X) and isinstance(y, str):
        X, y = X.drop(columns=[y]), X[y]
    found = outcome(model, X, "predict", names=names)
    if not isinstance(found, da.Array):
        y = flat(y)
        check_one_per_row(len(found), len(y))
        return float(np.average(found == y, weights=sample_weight))
    right_ones = found == like_rows(found, y)
    if sample_weight is None:
        return right_ones.mean()
    weight = like_rows(found, sample_weight, "sample_weight", "weight")
    return (right_ones * weight).sum() / weight.sum()


def _pair(X: Any, y: Any) -> tuple[Any, Any]:
    return X, y


def _right(part: Any, model: Any) -> tuple[int, int]:
    X, y = part[0], flat(part[1])
    found = on_block(X, model, "predict")
    check_one_per_row(len(found), len(y))
    return int((found == y).sum()), len(y)


def _share(found: list[tuple[int, int]]) -> float:
    return sum(right for right, _ in found) / sum(n for _, n in found)
