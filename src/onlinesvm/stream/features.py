"""Encode rows of a table as numbers, by the decisions about its columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .arrow_values import (
    TRUTH_WORDS,
    coded,
    decoded,
    is_number,
    is_numeric,
    is_text,
    without_gaps,
)
from .columns import TRUTH, Column, Columns
from .errors import StreamError, as_word, shortened
from .moments import PARTS, is_moment, kind_of_type, parts

Place = Callable[[int], str]
"""The place of a row of the batch, in words."""

_TRUTH = {"1": True, "0": False} | {word: to == "true" for word, to in TRUTH_WORDS.items()}
_TRUE = [word for word, is_true in _TRUTH.items() if is_true]


def matrix(columns: Columns, table: dict[str, Any], n: int, place: Place) -> Any:
    """Features of n rows, of Arrow arrays by name; a column that is not there has gaps only."""
    if columns.is_dense:
        X = np.zeros((n, columns.n_features))
        first = 0
        for column in columns.columns:
            features, values = _entries(columns, column, table, n, place)
            X[np.arange(n)[:, None], first + features] = values
            first += column.width
        return X
    return _sparse_matrix(columns, table, n, place)


def _sparse_matrix(columns: Columns, table: dict[str, Any], n: int, place: Place) -> Any:
    """The same as CSR; every row has the same number of entries, before zeros go."""
    indices, data = [], []
    first = 0
    for column in columns.columns:
        features, values = _entries(columns, column, table, n, place)
        indices.append(first + np.broadcast_to(features, values.shape))
        data.append(values)
        first += column.width
    where, what = np.hstack(indices), np.hstack(data)
    pointer = np.arange(n + 1) * where.shape[1]
    X = sparse.csr_matrix((what.ravel(), where.ravel(), pointer), (n, first))
    X.eliminate_zeros()
    return X


def _entries(
    columns: Columns, column: Column, table: dict[str, Any], n: int, place: Place
) -> tuple[np.ndarray, np.ndarray]:
    """Features of one column that are not zero, counted within it, and their values, by rows."""
    import pyarrow as pa

    values = table.get(column.name)
    values = pa.nulls(n) if values is None else values
    if column.has_categories:
        texts, codes = coded(values, column.by_value)
        return column.numbers(texts)[codes][:, None], np.ones((n, 1))
    found = _filled(column, columns.missing, numbers(column, values, place), place)
    return np.arange(found.shape[1])[None, :], found


def _filled(
    column: Column, missing: float | str | None, found: np.ndarray, place: Place
) -> np.ndarray:
    """Features of a column whose gaps (NaN) are filled, with the indicator if it has one."""
    gap = np.isnan(found).any(axis=1)
    if gap.any():
        fill = [missing] * found.shape[1] if isinstance(missing, float | int) else column.fill
        if fill is None:
            raise _no_value(column, missing, place(int(np.flatnonzero(gap)[0])))
        found[gap] = fill
    return np.column_stack([found, gap]) if column.indicator else found


def _no_value(column: Column, missing: float | str | None, where: str) -> StreamError:
    name = column.name
    if missing is not None:
        return StreamError(
            f"{where} has no value in column '{name}', and neither have the first rows, so that "
            f"their {missing} is unknown; leave the column out (--ignore {as_word(name)})."
        )
    return StreamError(
        f"{where} has no value in column '{name}'; fill it in, or train with a replacement (--missing "
        f"NUMBER, mean, median or most_frequent) or without the column (--ignore {as_word(name)})."
    )


def numbers(column: Column, values: Any, place: Place) -> np.ndarray:
    """The features of a column that holds no categories; NaN where there is no value."""
    import pyarrow as pa

    values = decoded(values)
    if is_text(values.type):
        values = without_gaps(values)
    if pa.types.is_null(values.type):
        return np.full((len(values), len(PARTS.get(column.kind, (0,)))), np.nan)
    if column.kind in PARTS:
        return _moments(column, values, place)
    if column.kind == TRUTH:
        return _truth(column, values, place)
    return _plain_numbers(column, values, place)


def _plain_numbers(column: Column, values: Any, place: Place) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_text(values.type):
        _refuse_first(column, values, is_numeric, "numbers", place)
        values = pa.array([None if w is None else float(w) for w in values.to_pylist()], "double")
    if not (is_number(values.type) or pa.types.is_boolean(values.type)):
        raise _other_type(column, values, "numbers", place)
    # Not safe: integers beyond 2^53 may lose their last digits.
    found = pc.cast(values, "double", safe=False).to_numpy(zero_copy_only=False).astype(float)
    if np.isinf(found).any():
        row = int(np.flatnonzero(np.isinf(found))[0])
        raise StreamError(
            f"{place(row)} has {found[row]} in column '{column.name}'; it must be a finite number."
        )
    return found[:, None]


def _truth(column: Column, values: Any, place: Place) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.compute as pc

    what = "truth values"
    if is_text(values.type):
        _refuse_first(column, values, _TRUTH.__contains__, what, place)
        values = pc.if_else(values.is_null(), None, pc.is_in(values, value_set=pa.array(_TRUE)))
    if not (is_number(values.type) or pa.types.is_boolean(values.type)):
        raise _other_type(column, values, what, place)
    found = pc.cast(values, "double", safe=False).to_numpy(zero_copy_only=False).astype(float)
    odd = ~np.isin(found, (0.0, 1.0)) & ~np.isnan(found)
    if odd.any():
        row = int(np.flatnonzero(odd)[0])
        raise _unlike(column, f"{found[row]:g}", what, place(row))
    return found[:, None]


def _moments(column: Column, values: Any, place: Place) -> np.ndarray:
    what = {"date": "dates", "moment": "dates and times", "time": "times"}.get(
        column.kind, "durations"
    )
    if is_text(values.type):
        found = parts(column.kind, values) if column.kind != "duration" else None
        if found is None:
            _refuse_first(column, values, lambda word: is_moment(word, column.kind), what, place)
            raise _other_type(column, values, what, place)
        return found
    kind = kind_of_type(values.type)
    if kind != column.kind and {kind, column.kind} != {"date", "moment"}:
        raise _other_type(column, values, what, place)
    found = parts(column.kind, values)
    assert found is not None
    return found


def _refuse_first(
    column: Column, values: Any, fits: Callable[[str], bool], what: str, place: Place
) -> None:
    """Raise for the first text that does not fit its column, if one does not."""
    for row, word in enumerate(values.to_pylist()):
        if word is not None and not fits(word):
            raise _unlike(column, shortened(word), what, place(row))


def _unlike(column: Column, value: str, what: str, where: str) -> StreamError:
    return StreamError(
        f"{where} has {value} in column '{column.name}' where the rows before have {what}; "
        f"correct it, leave the column out (--ignore {as_word(column.name)}), or treat it as categories "
        f"(--categorical {as_word(column.name)})."
    )


def _other_type(column: Column, values: Any, what: str, place: Place) -> StreamError:
    return StreamError(
        f"{place(0)} has the type {values.type} in column '{column.name}', but the model was "
        f"trained on {what}; convert the column."
    )
