"""Ctrl-C between steps, never within one: a model is always consistent."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Interruptible:
    """Holds Ctrl-C back while a step runs; ``check`` lets it through between steps.

    Used as a context. A second Ctrl-C is let through at once. Outside the main thread Python
    never delivers the signal, so there is nothing to hold.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def __enter__(self) -> Interruptible:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):  # not ignored, not a handler of some other language
                self._before = before
                signal.signal(signal.SIGINT, self._hold)
        return self

    def _hold(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def check(self) -> None:
        """Raise the KeyboardInterrupt that was held back, if any."""
        if self.asked:
            raise KeyboardInterrupt

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if kind is None:
            self.check()
