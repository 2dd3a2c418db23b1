"""LIBSVM or SVMlight text: ``label index:value index:value ...``, one example per line.

Whole lines are read in pieces of about a megabyte. Plain ones are parsed as a whole
(``libsvm_text``), others by scikit-learn's parser, which does not say where a mistake is: if it
finds one, or accepts what no model can learn from, the piece is read again line by line to name the
line.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .blocks import Block, whole_numbers, widened
from .errors import StreamError, shortened
from .libsvm_text import Parsed, parse_plain
from .lines import end_of_lines, whole_records
from .opening import can_repeat, name_of, open_source
from .reader import BLOCK_ROWS, Reader

MOST_FEATURES = 1 << 24
"""Largest feature number that is accepted without ``n_features``."""


class LibsvmReader(Reader):
    """Examples in LIBSVM text.

    Without ``n_features`` the width of a block is the largest feature number so far.
    """

    kind = "libsvm"

    def __init__(self, source: Any, n_features: int | None = None, zero_based: bool = False):
        self._source, self.name = source, name_of(source)
        self.can_repeat = can_repeat(source)
        self.n_features, self.zero_based = n_features, bool(zero_based)
        self._width = 0

    @property
    def schema(self) -> dict[str, Any]:
        """Width of the rows so far, and how features are counted."""
        width = self.n_features or self._width
        return {"kind": self.kind, "n_features": width, "zero_based": self.zero_based}

    def start_width(self, n_features: int) -> None:
        """Blocks are at least so wide: what was reached before a pass was interrupted."""
        self._width = max(self._width, n_features)

    def blocks(self, size: int = BLOCK_ROWS, skip: int = 0) -> Iterator[Block]:
        """One pass; the width of a block depends on its rows and those before it alone."""
        return map(self.shaped, super().blocks(size, skip))

    def shaped(self, block: Block) -> Block:
        """The block as wide as the widest row so far."""
        if self.n_features is None:
            self._width = max(self._width, 1 + int(block.X.indices.max(initial=-1)), 1)
        return Block(widened(block.X, self.n_features or self._width), block.y, block.first)

    def pieces(self, skip: int) -> Iterator[Block]:
        """Parsed pieces of the text; lines of rows to skip are counted only."""
        row, line = 0, 1
        with open_source(self._source) as source:
            for text in whole_records(source, end_of_lines):
                n = _count_rows(text) if row < skip else None
                if n is None or row + n > skip:
                    block = self._parse(text, row, line)
                    n = block.n
                    yield block
                row += n
                line += text.count(b"\n")
        if not row:
            raise StreamError(f"{self.name} has no examples, only blank lines or comments.")
        self.check_length(row, skip)

    def _parse(self, text: bytes, row: int, line: int) -> Block:
        parsed = parse_plain(text) or self._parse_any(text, line)
        shift = 0 if self.zero_based else 1
        indices, y = parsed.indices, parsed.y
        low, high = int(indices.min(initial=shift)), int(indices.max(initial=shift))
        most = self.n_features or MOST_FEATURES
        if low < shift or high - shift >= most or not _all_finite(parsed.data, y):
            self._explain(text, line)
        parts = (parsed.data, indices - shift, parsed.indptr)
        return Block(sparse.csr_matrix(parts, (len(y), high - shift + 1)), whole_numbers(y), row)

    def _parse_any(self, text: bytes, line: int) -> Parsed:
        """Rows of a text with comments, query numbers or mistakes, which are explained."""
        from sklearn.datasets import load_svmlight_file

        try:
            # zero_based=True takes the numbers as they are; they are shifted below.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
        except (ValueError, OverflowError, IndexError, UnicodeError, MemoryError) as error:
            self._explain(text, line)
            raise StreamError(f"{self.name} near line {line}: {error}.") from error
        return Parsed(X.data, X.indices, X.indptr, y)

    def _explain(self, text: bytes, line: int) -> None:
        """Raise for the first line that is wrong, if one is."""
        for number, content in enumerate(text.split(b"\n"), start=line):
            if _holds_example(content):
                what = self._wrong(content.split(b"#")[0])
                if what:
                    raise StreamError(f"{self.name}, line {number}: {what}")

    def _wrong(self, content: bytes) -> str | None:
        """What is wrong with a line, and what to do about it."""
        try:
            words = content.decode("ascii").split()
        except UnicodeDecodeError:
            return "bytes that are not LIBSVM text; save the file as plain ASCII or UTF-8 text."
        if not words or _number(words[0]) is None:
            return (
                f"the label {shortened(words[0] if words else content.decode())} is not a finite number; "
                "a line is 'label index:value index:value ...'."
            )
        last = -1
        for word in words[1:]:
            if word.startswith("qid:"):
                continue
            what, last = self._wrong_pair(word, last)
            if what:
                return what
        return None

    def _wrong_pair(self, word: str, last: int) -> tuple[str | None, int]:
        index, colon, value = word.partition(":")
        if not colon or not index.isdigit() or _number(value) is None:
            return f"{shortened(word)} is not 'index:value' with a finite number; correct it.", 0
        number = int(index)
        if number == 0 and not self.zero_based:
            return "feature 0, but features are counted from 1; give zero_based (--zero-based).", 0
        if number <= last:
            return (
                f"feature {number} follows feature {last}; features must be in ascending order.",
                0,
            )
        most = self.n_features or MOST_FEATURES
        if number - (not self.zero_based) >= most:
            return (
                f"feature {number}, but there are at most {most:,}; if it is correct, give a "
                "larger n_features (--n-features) in training."
            ), 0
        return None, number

    def place(self, row: int) -> str:
        """Rows are lines, but for blank ones."""
        return f"line {row + 1} of {self.name}"


def _count_rows(text: bytes) -> int:
    """Lines that hold an example."""
    return sum(map(_holds_example, text.split(b"\n")))


def _holds_example(line: bytes) -> bool:
    return bool(line.partition(b"#")[0].strip())


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in word else None


def _all_finite(*arrays: np.ndarray) -> bool:
    return all(np.isfinite(values).all() for values in arrays)
