"""Ctrl-C and time limits between steps, never within one: a model is always consistent.

``Interruptible`` is a context in which Ctrl-C is recorded and not raised. Code in it calls
``checkpoint()`` where the state is consistent; a recorded Ctrl-C is delivered there, at the latest
when the context ends, however often it was pressed.

``Deadline`` is a context after whose time ``checkpoint()`` raises ``TimeUp``. Part of the time can be
kept for what must be done after that.

Only the main thread receives signals. In any other thread the context does nothing, and
``checkpoint`` does nothing unless the thread works for one that holds Ctrl-C (``use_context_of``).
"""

from __future__ import annotations

import sys
import threading
import time
from threading import get_ident, main_thread
from types import FrameType, TracebackType
from typing import Any

try:  # the functions below ``signal.signal``: fifteen times as fast, which matters for learn_one
    from _signal import getsignal  # type: ignore[import-not-found,unused-ignore]
    from _signal import signal as set_signal
except ImportError:  # pragma: no cover - another Python than CPython
    from signal import getsignal
    from signal import signal as set_signal

from signal import SIGINT

_INTERRUPT = int(SIGINT)


class _OfThread(threading.local):
    """The context that holds Ctrl-C in a thread, its own or that of the thread it works for."""

    holder: Interruptible | None = None
    deadline: Deadline | None = None


_of_thread = _OfThread()


class Interruptible:
    """Holds Ctrl-C back; ``checkpoint`` lets it through. Contexts within others add nothing.

    What Ctrl-C does then is left to the handler that was installed before: Python's raises
    ``KeyboardInterrupt``. Where Ctrl-C is ignored, or ends the process, it is left alone.
    """

    asked = False
    delivered = False
    _before: Any = None

    def __enter__(self) -> Interruptible:
        if _of_thread.holder is not None or get_ident() != main_thread().ident:
            return self
        before = getsignal(_INTERRUPT)
        if callable(before):
            try:
                set_signal(_INTERRUPT, self._note)
            except ValueError:  # the main thread of a sub-interpreter
                return self
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
        set_signal(_INTERRUPT, self._before)
        if self.asked and not (kind is not None and issubclass(kind, KeyboardInterrupt)):
            self.deliver()


class TimeUp(BaseException):
    """The time of a ``Deadline`` is over."""


def clock() -> float:
    """The time that deadlines count, in seconds."""
    return time.monotonic()


class Deadline:
    """A context whose work ends at a checkpoint once ``seconds`` are over, and not before ``arm``.

    Of deadlines within one another the innermost counts.
    """

    def __init__(self, seconds: float | None):
        self._start = clock()
        self._seconds = seconds
        self._armed_after: float | None = None
        self._kept = 0.0
        self.has_passed = False
        self._before: Deadline | None = None

    def __enter__(self) -> Deadline:
        self._before, _of_thread.deadline = _of_thread.deadline, self
        return self

    @property
    def is_set(self) -> bool:
        """Whether there is a limit."""
        return self._seconds is not None

    @property
    def elapsed(self) -> float:
        """Seconds since the deadline was set."""
        return clock() - self._start

    def arm(self) -> None:
        """From now on the deadline counts: there is something worth keeping."""
        if self._armed_after is None:
            self._armed_after = self.elapsed

    def keep(self, seconds: float) -> None:
        """The work ends this much earlier, for what is to follow: at most half of the time from ``arm``."""
        if self._seconds is not None and self._armed_after is not None:
            self._kept = min(seconds, max(0.0, self._seconds - self._armed_after) / 2)

    def check(self) -> None:
        """Raise if the time is over."""
        if self._armed_after is None or self._seconds is None:
            return
        if self.elapsed > self._seconds - self._kept:
            self.has_passed = True
            raise TimeUp

    def __exit__(self, *_: object) -> None:
        _of_thread.deadline = self._before


def checkpoint() -> None:
    """Deliver a Ctrl-C that is held back, or the end of the time. Called in consistent states."""
    if _of_thread.deadline is not None:
        _of_thread.deadline.check()
    holder = _of_thread.holder
    if holder is None or not (holder.asked or holder.delivered):
        return
    if get_ident() != main_thread().ident:
        raise Stopped
    if holder.asked:
        holder.deliver()


def is_asked() -> bool:
    """Whether a Ctrl-C is held back, which the next checkpoint will deliver."""
    holder = _of_thread.holder
    return holder is not None and holder.asked


def interrupted() -> bool:
    """Whether the exception under way is a Ctrl-C that a checkpoint has delivered."""
    holder = _of_thread.holder
    return holder is not None and holder.delivered


def listen_again() -> None:
    """After a Ctrl-C was delivered: helping threads work, and the next Ctrl-C is delivered as well."""
    if _of_thread.holder is not None:
        _of_thread.holder.delivered = False


class Stopped(Exception):  # noqa: N818 - not an error
    """A helping thread ended its work early: the main thread, which waits for it, delivers."""


def current_holder() -> tuple[Interruptible | None, Deadline | None]:
    """The context that holds Ctrl-C in this thread, and its deadline, for ``use_context_of``."""
    return _of_thread.holder, _of_thread.deadline


def use_context_of(held: tuple[Interruptible | None, Deadline | None]) -> None:
    """In a thread that works for another one: obey the Ctrl-C and the deadline of the other one."""
    _of_thread.holder, _of_thread.deadline = held
