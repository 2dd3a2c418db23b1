"""LIBSVM text parsed as a whole: its structure by NumPy, its numbers by PyArrow.

Several times as fast as parsing line by line. What is not plain (comments, query numbers, letters,
a mistake) is left to the parser that explains mistakes: ``parse_plain`` then returns None.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_BLANKS = bytes.maketrans(b"\t\r", b"  ")
_ONE_PER_LINE = bytes.maketrans(b": ", b"\n\n")

_PLAIN = np.zeros(256, bool)
_PLAIN[list(b"0123456789+-.eE: \n")] = True
_DIGIT = np.zeros(256, bool)
_DIGIT[list(b"0123456789")] = True
_IN_VALUE = _DIGIT.copy()
_IN_VALUE[list(b"+-.")] = True

_BLANK, _NEWLINE, _COLON = b" \n:"

LONGEST_INDEX = 9
"""Digits of a feature number that surely fit."""


class Parsed(NamedTuple):
    """Rows as the parts of a CSR matrix, features counted as in the text, and labels."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    y: np.ndarray


def parse_plain(text: bytes) -> Parsed | None:
    """The rows of a text that has nothing but labels, features and values."""
    try:
        import pyarrow  # noqa: F401 - without it there is another parser
    except ImportError:
        return None
    text = text.translate(_BLANKS)
    letters = np.frombuffer(text, np.uint8)
    if not _PLAIN[letters].all():
        return None
    blank = (letters == _BLANK) | (letters == _NEWLINE)
    begins = ~blank
    begins[1:] &= blank[:-1]
    word = np.cumsum(begins, dtype=np.int32) - 1
    start = np.flatnonzero(begins)
    colon = np.flatnonzero(letters == _COLON)
    line = np.cumsum(letters == _NEWLINE, dtype=np.int32)[start]
    first = np.ones(len(start), bool)
    first[1:] = line[1:] != line[:-1]
    if not len(start) or not _is_plain(letters, word, start, colon, first):
        return None
    values = _numbers(text.translate(_ONE_PER_LINE), len(start) + len(colon))
    if values is None:
        return None
    place = np.arange(len(start))  # of a word's first number; pairs have two
    place[1:] += np.cumsum(~first)[:-1]
    pair = place[~first]
    row = np.cumsum(first) - 1
    count = np.bincount(row[~first], minlength=int(first.sum()))
    indptr = np.append(0, np.cumsum(count))
    indices = values[pair].astype(np.int64)
    falls = np.flatnonzero(np.diff(indices) <= 0) + 1
    if not np.isin(falls, indptr).all():  # features must ascend within a row
        return None
    return Parsed(values[pair + 1], indices, indptr, values[place[first]])


def _is_plain(
    letters: np.ndarray, word: np.ndarray, start: np.ndarray, colon: np.ndarray, first: np.ndarray
) -> bool:
    """Whether the first word of a line has no colon, and all others are ``digits:value``."""
    owner = word[colon]
    pairs = np.flatnonzero(~first)
    if len(owner) != len(pairs) or not np.array_equal(owner, pairs):
        return False
    if not len(colon):
        return True
    if colon[-1] + 1 >= len(letters) or not _IN_VALUE[letters[colon + 1]].all():
        return False
    digits = colon - start[pairs]
    if digits.min() < 1 or digits.max() > LONGEST_INDEX:
        return False
    where = np.full(len(start), -1)
    where[pairs] = colon
    odd = np.flatnonzero(~_DIGIT[letters] & (letters > _BLANK) & (letters != _COLON))
    return bool((odd > where[word[odd]]).all())


def _numbers(lines: bytes, expected: int) -> np.ndarray | None:
    """The numbers of a text with one on each line, if there are as many as expected."""
    import pyarrow as pa
    from pyarrow import csv

    options: dict[str, Any] = {
        "read_options": csv.ReadOptions(
            use_threads=False, column_names=["v"], block_size=max(1 << 16, len(lines) + 1)
        ),
        "convert_options": csv.ConvertOptions(column_types={"v": pa.float64()}),
    }
    try:
        found = csv.read_csv(pa.BufferReader(lines), **options).column(0)
    except pa.ArrowException:
        return None
    if len(found) != expected or found.null_count:
        return None
    return np.asarray(found.to_numpy())
