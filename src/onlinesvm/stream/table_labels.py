"""The label column of a table: what kind of labels it has, and the labels of rows."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from .arrow_values import GAPS, coded, decoded, is_text
from .columns import Columns
from .errors import StreamError, shortened

_NAME = re.compile(r"[+-]?(0\d|\d{19,}$)")
"""Digits after a leading zero, as in 007, or more digits than a number can represent: a name."""


def label_kind(values: Any) -> str:
    """What the labels of the first rows are: an Arrow array of strings, or of another type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = decoded(values)
    kind = values.type
    if pa.types.is_integer(kind):
        large = pa.types.is_uint64(kind) and (pc.max(values).as_py() or 0) >= 2**63
        return "text" if large else "integer"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if not is_text(kind):
        return "text"
    known = [value for value in values.unique().to_pylist() if value is not None]
    # NA among numbers is a missing label, which is refused; among names, or beside a single number,
    # it is a class.
    others = [value for value in known if value not in GAPS]
    known = others if len(others) > 1 else known
    if any(_NAME.match(value) for value in known):
        return "text"
    for name, convert in (("integer", int), ("number", float)):
        if known and all(_converts(value, convert) for value in known):
            return name
    return "text"


def labels(columns: Columns, values: Any, place: Any, what: str = "label") -> np.ndarray:
    """Labels of the rows as NumPy knows them; ``what`` an error calls a value of the column."""
    distinct, codes = coded(values)
    gaps = ("",) if columns.label_kind == "text" else GAPS
    gap = np.isin(codes, [k for k, value in enumerate(distinct) if value in gaps])
    if gap.any():
        row = int(np.argmax(gap))
        raise StreamError(
            f"{place(row)} has no {what} in column '{columns.label}'; leave the row out."
        )
    if columns.label_kind == "text":
        return np.array(distinct, dtype=str)[codes] if distinct else np.empty(0, dtype="U1")
    convert: Any = int if columns.label_kind == "integer" else float
    for number, value in enumerate(distinct):
        if not _converts(value, convert):
            row = int(np.flatnonzero(codes == number)[0])
            raise StreamError(
                f"{place(row)} has the label {shortened(value)} in column '{columns.label}', but "
                f"the rows before have numbers ({columns.label_kind}); labels must all be of one "
                "kind."
            )
    kind = np.int64 if columns.label_kind == "integer" else np.float64
    return np.array([convert(value) for value in distinct], kind)[codes]


def _converts(value: str, convert: Any) -> bool:
    try:
        number = convert(value)
    except (ValueError, OverflowError):
        return False
    fits = abs(number) < 2**63 if convert is int else math.isfinite(number)
    return fits and "_" not in value
