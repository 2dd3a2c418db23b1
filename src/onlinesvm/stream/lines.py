"""Text as it arrives: pieces that end where a record ends, as soon as there is one.

A piece is what the source has available, at most ``PIECE`` bytes: with a live stream, the reader
never waits longer than for the end of a record. A record is a line, or in CSV a line outside
quotation marks (RFC 4180: a quoted value may contain line breaks).
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
"""Maximum number of bytes of a record."""

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


def head_and_rest(
    texts: Iterator[bytes], ends_of: Callable[[bytes], np.ndarray], most: int | None, least: int = 1
) -> Iterator[bytes]:
    """First the head, then the rest; the head does not depend on the pieces that arrive.

    The head is the whole records within the first ``PIECE`` bytes, at least ``least`` that are not
    blank; if ``most`` is given, no more than so many, and no more is waited for.
    """
    parts: list[bytes] = []
    size = breaks = 0
    for text in texts:
        parts.append(text)
        size, breaks = size + len(text), breaks + text.count(b"\n") + text.count(b"\r")
        enough = size > PIECE or (most is not None and breaks >= most)
        if enough and breaks >= least and _cut(parts, ends_of, most, least)[1]:
            break
    whole, end = b"".join(parts), 0
    if parts:
        whole, end = _cut(parts, ends_of, most, least)
    yield whole[: end or None]
    if end and whole[end:]:
        yield whole[end:]
    yield from texts


def _cut(
    parts: list[bytes], ends_of: Callable[[bytes], np.ndarray], most: int | None, least: int
) -> tuple[bytes, int]:
    """The text, and where its head ends; 0: it is all head so far."""
    text = b"".join(parts)
    ends = ends_of(text)
    there = filled_ends(text, ends)
    found = 0
    if len(text) > PIECE and len(there) >= least:
        within = int(np.searchsorted(ends, PIECE, side="right"))
        found = max(int(ends[max(0, within - 1)]), int(there[least - 1]))
    if most is not None and len(there) >= most:
        found = min(found or len(text), int(there[most - 1]))
    return text, found


def line_ends(text: bytes) -> np.ndarray:
    """Where each line ends, behind its line break."""
    return np.flatnonzero(np.frombuffer(text, np.uint8) == _NEWLINE) + 1


def filled_ends(text: bytes, ends: np.ndarray) -> np.ndarray:
    """The ends of those records that are not blank."""
    return ends[_filled(text, np.append(0, ends))]


def _filled(text: bytes, edges: np.ndarray) -> np.ndarray:
    """Whether there is anything but line breaks between each edge and the next."""
    letters = np.frombuffer(text, np.uint8)
    breaks = (letters == _NEWLINE) | (letters == _RETURN)
    visible = np.append(0, np.cumsum(~breaks))
    return np.diff(visible[edges]) > 0


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
    # A quotation mark within an unquoted value is an ordinary character.
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
    both = (letters[:-1] == _RETURN) & (letters[1:] == _NEWLINE)
    breaks[:-1][both] = False
    edges = np.append(0, ends)
    if edges[-1] < len(text):
        edges = np.append(edges, len(text))
    before = np.append(0, np.cumsum(breaks))
    return np.asarray(before[edges[:-1][_filled(text, edges)]])
