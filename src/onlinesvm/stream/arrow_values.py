"""Arrow arrays in the form that columns need: flat, decoded, of a supported type; values as text.

A category is identified by its text. Each number has one text, whatever its type and spelling: 1,
1.0 and 1.00 are the same category.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np

GAPS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "N/A",
    "NA", "NULL", "NaN", "n/a", "nan", "null",
)  # fmt: skip
"""Words that mean a missing value in a column of numbers, dates or times (those of PyArrow)."""

TRUTH_WORDS = {
    "true": "true", "True": "true", "TRUE": "true", "false": "false", "False": "false", "FALSE": "false",
}  # fmt: skip
"""Texts that are truth values (those of PyArrow), and the one text that each has here."""


def flat_columns(batch: Any) -> Iterator[tuple[str, Any]]:
    """Columns of a record batch by name; those of structures have dotted names."""
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        yield from _flat(name, values)


def _flat(name: str, values: Any) -> Iterator[tuple[str, Any]]:
    import pyarrow as pa

    if not pa.types.is_struct(values.type):
        yield name, plain(values)
        return
    for k, part in enumerate(values.flatten()):
        yield from _flat(f"{name}.{values.type.field(k).name}", part)


def flat_names(schema: Any) -> list[str]:
    """The names that ``flat_columns`` gives a batch of this schema."""
    return [name for field in schema for name in _names_below(field.name, field.type)]


def _names_below(name: str, kind: Any) -> list[str]:
    import pyarrow as pa

    if not pa.types.is_struct(kind):
        return [name]
    fields = [kind.field(k) for k in range(kind.num_fields)]
    return [below for f in fields for below in _names_below(f"{name}.{f.name}", f.type)]


def plain(values: Any) -> Any:
    """The values without the wrapping of extensions and run-ends, text as ``string``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_run_end_encoded(values.type):
        values = pc.run_end_decode(values)
    if is_text(values.type):
        with suppress(pa.ArrowInvalid):  # bytes that are not UTF-8
            values = pc.cast(values, pa.string())
    return values


def decoded(values: Any) -> Any:
    """The values of a dictionary; other values as they are."""
    import pyarrow as pa

    return plain(values.dictionary_decode()) if pa.types.is_dictionary(values.type) else values


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of text, or of bytes, which may be text."""
    import pyarrow as pa

    types = pa.types
    views = (types.is_string_view(kind), types.is_binary_view(kind))
    return bool(
        types.is_string(kind) or types.is_large_string(kind)
        or types.is_binary(kind) or types.is_large_binary(kind) or any(views)
    )  # fmt: skip


def is_number(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers; a column of nothing counts as well."""
    import pyarrow as pa

    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_floating(kind)
        or types.is_decimal(kind) or types.is_null(kind)
    )  # fmt: skip


def without_gaps(words: Any) -> Any:
    """Text with null in the place of words that stand for a gap."""
    import pyarrow as pa
    import pyarrow.compute as pc

    gap = pc.is_in(words, value_set=pa.array(GAPS))
    return pc.if_else(gap, pa.scalar(None, pa.string()), words)


def is_numeric(word: str) -> bool:
    """Whether a word is a number as PyArrow reads them: in ASCII digits."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word and word.isascii()


# -- categories -------------------------------------------------------------------------------


def coded(values: Any, by_value: bool = False) -> tuple[list[str], np.ndarray]:
    """Distinct texts of the values, and for each row the number of its text; a gap is ``""``.

    ``by_value``: text that is a number is known by its value, like a number.
    """
    import pyarrow as pa

    values = decoded(values)
    if not (is_number(values.type) or pa.types.is_boolean(values.type)):
        values = values.cast(pa.string())
    if pa.types.is_null(values.type):
        return [""], np.zeros(len(values), np.int64)
    encoded = values.dictionary_encode()
    single = pa.types.is_float32(values.type) or pa.types.is_float16(values.type)
    texts = [_text(value, by_value, single) for value in encoded.dictionary.to_pylist()]
    number = {text: k for k, text in enumerate(dict.fromkeys([*texts, ""]))}
    codes = np.array([number[text] for text in texts] + [number[""]], np.int64)
    found = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    used = codes[found]
    there = np.unique(used)
    names = list(number)
    return [names[k] for k in there], np.searchsorted(there, used)


def _text(value: Any, by_value: bool, single: bool) -> str:
    if isinstance(value, str):
        return _word(value) if by_value else value
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or value != value:
        return ""
    if isinstance(value, float) and single and math.isfinite(value):
        value = float(str(np.float32(value)))
    return number_text(value)


def _word(word: str) -> str:
    """The text of a number, or of a truth value, whichever way it is written."""
    word = word.strip()
    if word in GAPS:
        return ""
    if not is_numeric(word):
        return TRUTH_WORDS.get(word, word)
    try:
        return number_text(int(word))
    except ValueError:
        return number_text(float(word))


def number_text(value: Any) -> str:
    """One text for each number, whatever its type is."""
    if isinstance(value, decimal.Decimal):
        whole = value == value.to_integral_value()
        return str(int(value)) if whole else format(value.normalize(), "f")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value) if isinstance(value, int) else repr(float(value))
