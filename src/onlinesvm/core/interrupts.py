"""Ctrl-C between steps, never within one: a model is always consistent.

``Interruptible`` is a context in which Ctrl-C is noted and not raised. Code in it calls
``checkpoint()`` where the state is consistent; a Ctrl-C noted before is delivered there, and at the
latest when the context ends. However often Ctrl-C is pressed meanwhile, it is noted only.

Signals reach the main thread alone. In any other thread the context does nothing, and
``checkpoint`` does nothing unless the thread works for one that holds Ctrl-C (``adopt``).
"""

from __future__ import annotations

import contextlib
import sys
import threading
from types import FrameType, TracebackType
from typing import Any

try:  # the functions below ``signal.signal``: fifteen times as fast, which learn_one would notice
    import _signal as _raw  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # pragma: no cover - another Python than CPython
    import signal as _raw

from signal import SIGINT

_INTERRUPT = int(SIGINT)
_of_thread = threading.local()


class Interruptible:
    """Holds Ctrl-C back; ``checkpoint`` lets it through. Contexts within others add nothing.

    What Ctrl-C does then is left to the handler that was installed before: Python's raises
    ``KeyboardInterrupt``. Where Ctrl-C is ignored, or ends the process, it is left alone.
    """

    __slots__ = ("_before", "asked", "delivered")

    def __init__(self) -> None:
        self.asked = False
        self.delivered = False
        self._before: Any = None

    def __enter__(self) -> Interruptible:
        if threading.current_thread() is not threading.main_thread():
            return self
        if getattr(_of_thread, "holder", None) is not None:
            return self
        before = _raw.getsignal(_INTERRUPT)
        if callable(before):
            with contextlib.suppress(ValueError):  # a thread that is not the process's main one
                _raw.signal(_INTERRUPT, self._note)
                self._before = before
                _of_thread.holder = self
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True

    def check(self) -> None:
        """Deliver a Ctrl-C that was held back, by this context or by one around it."""
        checkpoint()

    def deliver(self) -> None:
        """Do what Ctrl-C would have done."""
        self.asked, self.delivered = False, True  # helping threads stop
        self._before(_INTERRUPT, sys._getframe(1))
        self.delivered = False  # a handler that returns: the work goes on

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._before is None:
            return
        _of_thread.holder = None
        _raw.signal(_INTERRUPT, self._before)
        if self.asked and not (kind is not None and issubclass(kind, KeyboardInterrupt)):
            self.deliver()


def checkpoint() -> None:
    """Deliver a Ctrl-C that is held back, if any. Called where the state is consistent."""
    holder = getattr(_of_thread, "holder", None)
    if holder is None or not (holder.asked or holder.delivered):
        return
    if threading.current_thread() is not threading.main_thread():
        raise Stopped
    if holder.asked:
        holder.deliver()


def interrupted() -> bool:
    """Whether the exception under way is a Ctrl-C that a checkpoint has delivered."""
    holder = getattr(_of_thread, "holder", None)
    return holder is not None and holder.delivered


class Stopped(Exception):  # noqa: N818 - not an error
    """A helping thread ended its work early: the main thread, which waits for it, delivers."""


def current_holder() -> Interruptible | None:
    """The context that holds Ctrl-C in this thread, for ``adopt``."""
    return getattr(_of_thread, "holder", None)


def adopt(holder: Interruptible | None) -> None:
    """In a thread that works for another one: heed the Ctrl-C that the other one holds."""
    _of_thread.holder = holder
