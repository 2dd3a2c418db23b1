"""The label column of a table: what kind of labels it has, and the labels of rows."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from .arrow_values import GAPS, TRUTH_WORDS, coded, decoded, is_number
from .columns import TRUTH, Columns
from .errors import StreamError, shortened
from .moments import kind_of_type

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
    if pa.types.is_boolean(kind):
        return TRUTH
    if not pa.types.is_string(kind):
        return "text"
    known = [value for value in values.unique().to_pylist() if value is not None]
    # NA among numbers is a missing label, which is refused; among names, or beside a single number,
    # it is a class.
    others = [value for value in known if value not in GAPS]
    known = others if len(others) > 1 else known
    if known and all(value in TRUTH_WORDS for value in known):
        return TRUTH  # True of pandas, true of JSON, TRUE of a spreadsheet: the same class
    if any(_NAME.match(value) for value in known):
        return "text"
    for name, convert in (("integer", int), ("number", float)):
        if known and all(_converts(value, convert) for value in known):
            return name
    return "text"


def labels(columns: Columns, values: Any, place: Any, what: str = "label") -> np.ndarray:
    """Labels of the rows as NumPy knows them; ``what`` an error calls a value of the column."""
    is_text_label = columns.label_kind in ("text", TRUTH)
    # Numbers and truth values are known by their value: 1.0 is 1, True is true.
    distinct, codes = coded(_usable(columns, values, place, what), columns.label_kind != "text")
    gaps = ("",) if is_text_label else GAPS
    gap = np.isin(codes, [k for k, value in enumerate(distinct) if value in gaps])
    if gap.any():
        row = int(np.argmax(gap))
        raise StreamError(
            f"{place(row)} has no {what} in column '{columns.label}'; leave the row out."
        )
    if is_text_label:
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


def _usable(columns: Columns, values: Any, place: Any, what: str) -> Any:
    """The values, of a type that can be a label; raises an error for lists, bytes and the like."""
    import pyarrow as pa

    values = decoded(values)
    types, kind = pa.types, values.type
    plain = types.is_string(kind) or is_number(kind) or types.is_boolean(kind)
    if not plain and kind_of_type(kind) is None:
        raise StreamError(
            f"{place(0)} has a {what} of type {shortened(str(kind))} in column '{columns.label}', "
            "neither a number nor text; name another column, or convert this one."
        )
    return values


def _converts(value: str, convert: Any) -> bool:
    try:
        number = convert(value)
    except (ValueError, OverflowError):
        return False
    fits = abs(number) < 2**63 if convert is int else math.isfinite(number)
    return fits and "_" not in value
