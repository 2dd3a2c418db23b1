"""Base class of all readers: blocks of equal size, starting at any row, in one or more passes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from .blocks import Block, regrouped
from .errors import StreamError

BLOCK_ROWS = 2048
"""Default number of rows of a block."""


class Reader(ABC):
    """A source of rows. ``blocks`` is one pass; memory does not grow with the source.

    ``schema`` is what was decided from the first rows (columns, categories, kind of labels), as
    JSON data: a reader with the schema of another one delivers the same features. To read from
    another source, write a subclass with a method ``pieces``.

    See Also
    --------
    onlinesvm.streams.open_reader : Readers for files.
    onlinesvm.streams.MemoryReader : A reader for arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinesvm.streams import Block, Reader
    >>> class Sensor(Reader):
    ...     name, can_repeat = "the sensor", False
    ...
    ...     def pieces(self, skip):
    ...         rng = np.random.default_rng(0)
    ...         for first in range(0, 1000, 10):
    ...             X = rng.normal(size=(10, 3))
    ...             yield Block(X, (X[:, 0] > 0).astype(int), first)
    >>> [block.n for block in Sensor().blocks(size=400)]
    [400, 400, 200]
    """

    name = ""
    """Name of the source in messages."""

    can_repeat = True
    """Whether a second pass is possible."""

    kind = ""
    """The format."""

    @property
    def schema(self) -> dict[str, Any]:
        """What was decided about the columns so far."""
        return {"kind": self.kind}

    def feature_names(self) -> list[str] | None:
        """Names of the features, where the source has names."""
        return None

    @abstractmethod
    def pieces(self, skip: int) -> Iterator[Block]:
        """Rows in pieces of any length; those before row ``skip`` may be left out."""

    def blocks(self, size: int = BLOCK_ROWS, skip: int = 0) -> Iterator[Block]:
        """One pass in blocks of ``size`` rows, without the first ``skip`` rows."""
        return regrouped(self.pieces(skip), size, skip)

    def arriving(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        """One pass in blocks of at most ``size`` rows, each as soon as its rows have arrived.

        For results that do not depend on the size of blocks, such as predictions. A source that can
        be read again, such as a file, is delivered by ``blocks``.
        """
        if self.can_repeat:
            yield from self.blocks(size)
            return
        for piece in self.pieces(0):
            for first in range(0, piece.n, size):
                yield self.shaped(piece.part(slice(first, first + size)))

    def shaped(self, block: Block) -> Block:
        """The block with as many features as the reader has."""
        return block

    def check_length(self, rows: int, skip: int) -> None:
        """At the end of a pass: whether there were as many rows as were to be skipped."""
        if rows < skip:
            raise StreamError(
                f"{self.name} has {rows:,} rows, but the run has already learned {skip:,} rows; "
                "name the file with which the run was started, or leave out --resume."
            )

    def place(self, row: int) -> str:
        """Where row number ``row`` (from 0) is, in words."""
        return f"row {row + 1} of {self.name}"
