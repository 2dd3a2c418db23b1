"""Ctrl-C during training: recorded, and handled between two blocks, so that the model can be saved.

While the next block is being read the model is consistent, and a stream may be silent for a long
time: then Ctrl-C is handled immediately. A second Ctrl-C always ends the command immediately,
without saving. SIGTERM is treated like Ctrl-C.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ..stream.blocks import Block
from ..stream.reader import Reader


class StopReading(BaseException):
    """Interrupts a read that may be waiting for rows."""


class Interrupts:
    """A context in which signals are recorded; ``number`` is that of the signal received, or 0."""

    def __init__(self) -> None:
        self.number = 0
        self._at_once: type[BaseException] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        again, self.number = bool(self.number), number
        if again:
            raise KeyboardInterrupt
        if self._at_once is not None:
            raise self._at_once

    @property
    def reason(self) -> str:
        """What came, in words."""
        return "Stopped by Ctrl-C" if self.number == signal.SIGINT else "Stopped by SIGTERM"

    def watch(self, reader: Reader) -> None:
        """Handle signals while this reader reads, and before each read."""
        blocks = reader.blocks
        reader.blocks = lambda *a, **k: self._reading(blocks(*a, **k))  # type: ignore[method-assign]

    def _reading(self, blocks: Iterator[Block]) -> Iterator[Block]:
        while True:
            if self.number:
                raise StopReading
            self._at_once = StopReading
            try:
                block = next(blocks)
            except StopIteration:
                return
            finally:
                self._at_once = None
            yield block

    def at_once(self) -> None:
        """Handle signals immediately from now on: what was learned is saved."""
        self._at_once = KeyboardInterrupt
