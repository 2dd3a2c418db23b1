"""Text as it comes: pieces that end where a record ends, as soon as there is one.

A piece is what the source has at hand, at most ``PIECE`` bytes: a live stream is never waited for
longer than the end of a record. What a record is, its format says: a line, or in CSV a line outside
quotation marks (RFC 4180: a quoted value may hold line breaks).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from .errors import StreamError
from .opening import Source

PIECE = 1 << 20
"""Bytes that are read at once, if there are as many."""

LONGEST_RECORD = 1 << 26
"""A record of more bytes than this is none."""

_BOM = b"\xef\xbb\xbf"
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'

EndOf = Callable[[bytes], int]
"""Where the last whole record of a text ends; 0 if none does."""


def whole_records(source: Source, end_of: EndOf) -> Iterator[bytes]:
    """The text in pieces that end with a record; the last one with the text."""
    rest, first = b"", True
    while piece := source.read(PIECE):
        text = rest + piece
        if first and (len(text) >= len(_BOM) or not _BOM.startswith(text)):
            text, first = text.removeprefix(_BOM), False
        end = 0 if first else end_of(text)
        if end:
            yield text[:end]
        rest = text[end:]
        if len(rest) > LONGEST_RECORD:
            raise StreamError(
                f"{source.source}: no line ends within {LONGEST_RECORD >> 20} MB; is it a text "
                "table, and is every quotation mark closed?"
            )
    if rest:
        yield rest


def end_of_lines(text: bytes) -> int:
    """The end of the last whole line."""
    return text.rfind(b"\n") + 1


def end_of_records(text: bytes, delimiter: bytes) -> int:
    """The end of the last whole CSV record."""
    if b'"' not in text and b"\r" not in text:
        return end_of_lines(text)
    ends = record_ends(text, delimiter)
    # What follows a carriage return at the very end may be its line feed.
    if len(ends) and ends[-1] == len(text) and text.endswith(b"\r"):
        ends = ends[:-1]
    return int(ends[-1]) if len(ends) else 0


def record_ends(text: bytes, delimiter: bytes) -> np.ndarray:
    """Where each CSV record of a text ends, behind its line break; the text begins with a record."""
    letters = np.frombuffer(text, np.uint8)
    breaks = letters == _NEWLINE
    returns = np.flatnonzero(letters == _RETURN)
    followed = returns[returns + 1 < len(letters)]
    breaks[returns] = True
    breaks[followed[breaks[followed + 1] & (letters[followed + 1] == _NEWLINE)]] = False
    ends = np.flatnonzero(breaks) + 1
    edges = _quoted_edges(text, letters, delimiter)
    return ends[np.searchsorted(edges, ends) % 2 == 0]


def _quoted_edges(text: bytes, letters: np.ndarray, delimiter: bytes) -> np.ndarray:
    """Positions that begin and end quoted text, in turn."""
    quotes = np.flatnonzero(letters == _QUOTE)
    opening = quotes[::2]
    before = letters[opening[opening > 0] - 1]
    if np.isin(before, [_QUOTE, _NEWLINE, _RETURN, delimiter[0]]).all():
        return quotes
    # A quotation mark within a value that did not begin with one means itself.
    found = [
        edge
        for value in _quoted_value(delimiter).finditer(text)
        for edge in ([value.start(), value.end() - 1] if value[1] else [value.start()])
    ]
    return np.array(found, np.int64)


def _quoted_value(delimiter: bytes) -> re.Pattern[bytes]:
    starts = rb"(?:(?<=[\r\n" + re.escape(delimiter) + rb"])|\A)"
    return re.compile(starts + rb'"[^"]*+(?:""[^"]*+)*+("?)')


def is_open_ended(text: bytes, delimiter: bytes) -> bool:
    """Whether the text ends within a quoted value."""
    if b'"' not in text:
        return False
    return len(_quoted_edges(text, np.frombuffer(text, np.uint8), delimiter)) % 2 == 1


def lines_of_records(text: bytes, ends: np.ndarray) -> np.ndarray:
    """The line, counted from 0, on which each record that is not blank begins."""
    letters = np.frombuffer(text, np.uint8)
    breaks = (letters == _NEWLINE) | (letters == _RETURN)
    both = breaks[1:] & (letters[1:] == _NEWLINE) & (letters[:-1] == _RETURN)
    lines = breaks.copy()
    lines[:-1][both] = False
    edges = np.concatenate(
        [[0], ends, [len(text)] if not len(ends) or ends[-1] < len(text) else []]
    )
    edges = edges.astype(np.int64)
    visible = np.concatenate([[0], np.cumsum(~breaks)])
    count = np.concatenate([[0], np.cumsum(lines)])
    there = visible[edges[1:]] > visible[edges[:-1]]
    return count[edges[:-1][there]]
