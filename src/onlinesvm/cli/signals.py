"""Ctrl-C on the command line.

During training it is recorded, and handled between two blocks, so that the model can be saved.
While the next block is being read the model is consistent, and a stream may be silent for a long
time: then Ctrl-C is handled immediately. A second Ctrl-C always ends the command immediately,
without saving. SIGTERM is treated like Ctrl-C.

In all commands, a Ctrl-C that would be dropped, or has been, comes again (``never_dropped``).
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
"""Seconds until a signal comes again: by then the finalizer or callback that it fell into has ended.

An import may take longer; the signal then comes once more.
"""

IMPORTING = "<frozen importlib._bootstrap>"
"""The file of the functions that import a module, as Python names it in their frames."""


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
        if (self.number or self._at_once is not None) and _would_be_dropped(frame):
            _come_again(number)
            return
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
    """Raise Ctrl-C again where it would be dropped, or has been.

    Compiled modules that import others drop all exceptions in between, or put an ``ImportError`` in
    their place. Python reports an exception in a finalizer, or in a callback of a weak reference, and
    goes on as if nothing had happened.
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
    handler = signal.getsignal(signal.SIGINT)
    takes_over = handler is signal.default_int_handler and _is_main_thread()
    if takes_over:
        signal.signal(signal.SIGINT, _raise_ctrl_c)
    try:
        yield
    finally:
        sys.unraisablehook = before
        if takes_over:
            signal.signal(signal.SIGINT, handler)
        for thread in threading.enumerate():
            if isinstance(thread, _Again):  # the command has ended without it
                thread.cancel()


def _raise_ctrl_c(number: int, frame: FrameType | None) -> None:
    if _would_be_dropped(frame):
        _come_again(number)
    else:
        raise KeyboardInterrupt


def _would_be_dropped(frame: FrameType | None) -> bool:
    """Whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename == IMPORTING:
            return True
        frame = frame.f_back
    return False


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class _Again(threading.Timer):
    """Sends a signal to the main thread once more."""

    def __init__(self, number: int):
        super().__init__(AGAIN, self._send)
        self.daemon = True
        self.number, self.main = number, threading.main_thread().ident

    def _send(self) -> None:
        if hasattr(signal, "pthread_kill") and self.main is not None:  # ends a read that waits
            signal.pthread_kill(self.main, self.number)
        else:  # pragma: no cover - Windows
            signal.raise_signal(self.number)


def _come_again(number: int) -> None:
    _Again(number).start()
