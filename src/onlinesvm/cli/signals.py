"""Ctrl-C on the command line.

During training it is recorded, and handled between two blocks, so that the model can be saved.
While the next block is being read the model is consistent, and a stream may be silent for a long
time: then Ctrl-C is handled immediately. A second Ctrl-C always ends the command immediately,
without saving. SIGTERM is treated like Ctrl-C.

In all commands, a Ctrl-C that Python has dropped comes again (``never_dropped``).
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..stream.blocks import Block
    from ..stream.reader import Reader

AGAIN = 0.05
"""Seconds until a signal comes again: by then the finalizer or callback that it fell into has ended."""


class StopReading(BaseException):
    """Interrupts a read that may be waiting for rows."""

    def __init__(self, interrupts: Interrupts):
        self.interrupts = interrupts


class Interrupts:
    """A context in which signals are recorded; ``number`` is that of the signal received, or 0."""

    def __init__(self) -> None:
        self.number = 0
        self._at_once: BaseException | None = None
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
                raise StopReading(self)
            self._at_once = StopReading(self)
            try:
                block = next(blocks)
            except StopIteration:
                return
            finally:
                self._at_once = None
            yield block

    def at_once(self) -> None:
        """Handle signals immediately from now on: what was learned is saved."""
        self._at_once = KeyboardInterrupt()

    def forget(self) -> int:
        """As if no signal had been received. Returns the number of the one that was."""
        number, self.number = self.number, 0
        return number


@contextmanager
def never_dropped() -> Iterator[None]:
    """Raise Ctrl-C again if Python has dropped it.

    Python reports an exception in a finalizer, or in a callback of a weak reference, and goes on as
    if nothing had happened. While packages are imported such callbacks run thousands of times.
    """
    before = sys.unraisablehook

    def hear(dropped: sys.UnraisableHookArgs) -> None:
        error = dropped.exc_value
        if isinstance(error, StopReading):
            _come_again(error.interrupts.forget())
        elif isinstance(error, KeyboardInterrupt):
            _come_again(signal.SIGINT)
        else:
            before(dropped)

    sys.unraisablehook = hear
    try:
        yield
    finally:
        sys.unraisablehook = before


def _come_again(number: int) -> None:
    main = threading.main_thread().ident

    def send() -> None:
        if hasattr(signal, "pthread_kill") and main is not None:  # ends a read that waits
            signal.pthread_kill(main, number)
        else:  # pragma: no cover - Windows
            signal.raise_signal(number)

    threading.Timer(AGAIN, send).start()
