"""While loops compile: a message for the user, and no garbage collection.

- ``Announcer``: one line per process when compilation takes longer than a second, as a record of the
  logger ``onlinesvm`` or on a terminal; a warning if the result cannot be stored on disk.
- ``CollectorPause``: no garbage collection while loops compile; ``collector_paused``: nor while they
  are read from disk.
"""

from __future__ import annotations

import gc
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

PATIENCE = 1.0
"""Seconds of compilation before the line is written."""

MESSAGE = "onlinesvm is compiling its loops for this processor, which takes some seconds; the result is stored on disk. 'onlinesvm warmup' does it in advance."
IN_MEMORY = "onlinesvm is compiling its loops in memory only, as every new process will do, because no cache folder is writable. Run 'onlinesvm warmup' once as a user who can write to the package's folder, or set NUMBA_CACHE_DIR to a folder of your own."

logger = logging.getLogger("onlinesvm")


class Announcer(event.Listener):
    """Writes the line once compilations of this package have taken ``PATIENCE`` seconds in all.

    There are dozens of nested compilations, so it is enough to check the time at each of them.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.before = 0.0
        self.start = 0.0
        self.is_done = False
        self.outermost: Any = None

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            if not _is_own(event):
                return
            self.outermost = event.data["dispatcher"]
            self.start = time.perf_counter()
        self.depth += 1
        self._look()

    def on_end(self, event: Any) -> None:
        if self.depth == 0:
            return
        self.depth -= 1
        if self.depth == 0:
            self.before += time.perf_counter() - self.start

    def _look(self) -> None:
        if not self.is_done and self.before + time.perf_counter() - self.start > PATIENCE:
            self.is_done = True
            if self.outermost.stats.cache_path is None:
                logger.warning(IN_MEMORY)
            else:
                announce(MESSAGE)


class CollectorPause(event.Listener):
    """Switches Python's garbage collector off while loops of this package compile.

    Numba makes millions of objects and needs most of them until it is done. Scanning them
    repeatedly frees little and takes a tenth of the time of a compilation. Numba compiles one
    function at a time, in whichever thread: its lock guards ``depth``.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.is_paused = False

    def on_start(self, event: Any) -> None:
        if self.depth == 0 and _is_own(event) and gc.isenabled():
            self.is_paused = True
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0 and self.is_paused:
            self.is_paused = False
            gc.enable()


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection: Numba imports its own library before the first loop is read."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _is_own(event: Any) -> bool:
    """Whether a loop of this package is compiled."""
    name: str = event.data["dispatcher"].py_func.__module__
    return name.startswith("onlinesvm.")


def announce(message: str) -> None:
    """Write a log record, or a line on a terminal without logging; the log level silences both."""
    if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
        logger.info(message)
    elif not _is_silenced() and sys.stderr is not None and sys.stderr.isatty():
        print(message, file=sys.stderr, flush=True)


def _is_silenced() -> bool:
    """Whether the level of this logger, or of all loggers, is above INFO."""
    for_all = logger.manager.disable
    return logger.disabled or logger.level > logging.INFO or for_all >= logging.INFO
