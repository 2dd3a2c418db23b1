"""What other threads see while one thread changes a state: the last complete state.

A change holds the lock and increments the version when it ends. A reader uses the record of the
current version, without a lock, even while the next change is in progress. If there is none, it
makes one under the lock; if a change holds the lock, the reader waits until it has ended, and the
changing thread makes the record for waiting readers.

A process that forks takes the locks first, so that its child has states between two changes. If a
change takes long, the child has only the last record, and cannot change the incomplete state.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - takes a lock at forks, to be taken after ours
import logging  # noqa: F401 - the same
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from .interrupts import checkpoint

_POLL = 0.02
"""Seconds between two looks, while waiting for the lock, at whether a record has come or Ctrl-C."""

_FORK_PATIENCE = 5.0
"""Seconds for which a fork waits for a change that has no record to fall back on."""

_TORN = (
    "This process was forked while another thread was learning, and has no complete state of "
    "the model to {}. Fork when no thread is learning, or load or fit a model in the new "
    "process."
)


class Published:
    """The lock, the number of changes made, and the record of one of them."""

    is_torn = False
    """Whether a fork has left this half-changed: only the record can be used."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.version = 0
        self._changing = 0  # depth of the changes under way, which are all ...
        self._changer = 0  # ... in this thread
        self.waiting: set[int] = set()  # threads
        self._record: tuple[int, Any] = (-1, None)

    def __enter__(self) -> None:
        """Take the lock; Ctrl-C is heard while waiting for it."""
        if self.is_torn:
            raise RuntimeError(_TORN.format("change or to save"))
        if not self.lock.acquire(blocking=False):
            while not self.lock.acquire(timeout=_POLL):
                checkpoint()

    def __exit__(self, *_: object) -> None:
        self.lock.release()

    @contextmanager
    def change(self, make: Callable[[], Any]) -> Iterator[None]:
        """Change the state; ``make`` makes a record of it. Whatever happens, it is a new state."""
        self.__enter__()
        self._changing, self._changer = self._changing + 1, threading.get_ident()
        try:
            yield
        finally:
            self._changing -= 1
            try:
                if not self._changing:
                    self.version += 1
                    self.serve(make)
            finally:
                self.lock.release()

    def serve(self, make: Callable[[], Any]) -> None:
        """Make the record for threads that wait for it; called under the lock, between changes."""
        if self.waiting:
            self._record = self.version, make()

    def get(self, make: Callable[[], Any]) -> Any:
        """The record of the newest finished state; within a change, of the state as it is."""
        wanted, me = self.version, threading.get_ident()
        version, record = self._record
        if self.is_torn:
            if record is None:
                raise RuntimeError(_TORN.format("predict with"))
            return record
        if version >= wanted and not (self._changing and self._changer == me):
            return record
        self.waiting.add(me)
        try:
            while not self.lock.acquire(timeout=_POLL):
                checkpoint()
                version, record = self._record
                if version >= wanted:
                    return record
        finally:
            self.waiting.discard(me)
        try:
            return self._make(make)
        finally:
            self.lock.release()

    def hold(self, seconds: float) -> bool:
        """Take the lock before a fork; false where a change goes on.

        Waits for it only where there is no record of the state before it.
        """
        wanted, me = self.version, threading.get_ident()
        end = time.monotonic() + seconds
        self.waiting.add(me)
        try:
            while not self.lock.acquire(timeout=_POLL):
                if self._record[0] >= wanted or time.monotonic() > end:
                    return False
        finally:
            self.waiting.discard(me)
        return True

    def tear(self) -> None:
        """In the child of a fork, whose parent has a thread that goes on with a change."""
        self.lock = threading.RLock()
        self._changing, self.is_torn = 0, True

    def _make(self, make: Callable[[], Any]) -> Any:
        if self._changing:
            return make()  # by the changing thread itself, for instance in a callback
        if self._record[0] != self.version:
            self._record = self.version, make()
        return self._record[1]


_published: WeakKeyDictionary[Any, Published] = WeakKeyDictionary()


def published(owner: Any) -> Published:
    """The one of ``owner``. Copies of the owner have others; it is no part of its state."""
    try:
        return _published[owner]
    except KeyError:
        return _published.setdefault(owner, Published())


# -- forks --------------------------------------------------------------------------------

_forking = threading.local()


def _before_fork() -> None:
    end = time.monotonic() + _FORK_PATIENCE
    _forking.held = [p for p in list(_published.values()) if p.hold(end - time.monotonic())]


def _after_in_parent() -> None:
    for each in _forking.held:
        each.lock.release()


def _after_in_child() -> None:
    me = threading.get_ident()
    for each in list(_published.values()):
        each.waiting &= {me}  # the other threads are not there
        if not any(each is held for held in _forking.held):
            each.tear()
    _after_in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
