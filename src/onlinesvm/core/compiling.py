"""What surrounds compilation: where compiled code is kept, and a line for those who wait.

- ``is_private``: whether a folder may hold compiled code. Such code is loaded and run, so a folder
  in which others can write would let them run theirs.
- ``Announcer``: one line per process, as a record of the logger ``onlinesvm`` or on a terminal, when
  compilation takes longer than a second. Code that is read from disk is not compiled.
- ``CollectorPause``: no garbage collection while loops compile.
"""

from __future__ import annotations

import gc
import logging
import os
import stat
import sys
import time
from functools import lru_cache
from typing import Any

from numba.core import event

PATIENCE = 1.0
"""Seconds of compilation before the line is written."""

MESSAGE = (
    "onlinesvm is compiling its loops for this processor; this takes some seconds, once, where the "
    "result can be kept on disk. 'onlinesvm warmup' does it in advance."
)
NOT_PRIVATE = (
    "Other users can write to the cache folder %s, so compiled loops are not kept there and each "
    "process compiles them anew. Set NUMBA_CACHE_DIR to a folder that only you can write to."
)

logger = logging.getLogger("onlinesvm")


@lru_cache(maxsize=64)
def is_private(path: str) -> bool:
    """Whether only this user and the superuser can put files into an existing folder.

    Whoever can write to a folder above it could exchange it, unless the sticky bit forbids that,
    as in ``/tmp``.
    """
    if not hasattr(os, "getuid"):  # Windows: access lists, not permission bits
        return True
    folder = os.path.realpath(path)
    status = os.stat(folder)
    if status.st_uid not in (os.getuid(), 0) or _others_write(status):
        logger.warning(NOT_PRIVATE, path)
        return False
    while folder != (folder := os.path.dirname(folder)):
        status = os.stat(folder)
        if _others_write(status) and not status.st_mode & stat.S_ISVTX:
            logger.warning(NOT_PRIVATE, path)
            return False
    return True


def _others_write(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(status.st_gid)


def _is_own_group(number: int) -> bool:
    """Whether a group is that of this user alone: many systems make one per user."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


class Announcer(event.Listener):
    """Writes the line once compilations of this package have taken ``PATIENCE`` seconds in all.

    Compilations are nested, and there are dozens: to look at the clock at each of them suffices.
    """

    def __init__(self) -> None:
        self.depth = 0
        self.before = 0.0
        self.start = 0.0
        self.is_done = False

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            if not _is_own(event):
                return
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
            announce(MESSAGE)


class CollectorPause(event.Listener):
    """Switches Python's garbage collector off while loops of this package compile.

    Numba makes objects by the million and needs most of them until it is done. To look through them
    again and again finds little and takes a tenth of the time of a compilation. Numba compiles one
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


def _is_own(event: Any) -> bool:
    """Whether a loop of this package is compiled."""
    name: str = event.data["dispatcher"].py_func.__module__
    return name.startswith("onlinesvm.")


def announce(message: str) -> None:
    """A log record where logging takes it, else a line on a terminal; silenced by the log level."""
    if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
        logger.info(message)
    elif not _is_silenced() and sys.stderr is not None and sys.stderr.isatty():
        print(message, file=sys.stderr, flush=True)


def _is_silenced() -> bool:
    """Whether someone has asked this logger, or all of them, to say less than INFO."""
    for_all = logger.manager.disable
    return logger.disabled or logger.level > logging.INFO or for_all >= logging.INFO
