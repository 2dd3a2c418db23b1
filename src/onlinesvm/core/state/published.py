"""What readers see of something that one thread changes: the last finished state, whole.

A change holds the lock and counts up the version when it ends. A reader takes the record made of
the present version, without any lock, also while the next change is under way. If there is none it
makes one, under the lock; where a change holds the lock, the reader waits until that has ended, and
the changing thread makes the record for those who wait.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from ..interrupts import checkpoint

_POLL = 0.02
"""Seconds between two looks, while waiting for the lock, at whether a record has come or Ctrl-C."""


class Published:
    """The lock, the number of changes made, and the record of one of them."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.version = 0
        self._changing = 0  # depth of the changes under way, which are all ...
        self._changer = 0  # ... in this thread
        self.waiting: set[int] = set()  # threads
        self._record: tuple[int, Any] = (-1, None)

    def __enter__(self) -> None:
        """Take the lock; Ctrl-C is heard while waiting for it."""
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

    def _make(self, make: Callable[[], Any]) -> Any:
        if self._changing:
            return make()  # by the changing thread itself, for instance in a callback
        if self._record[0] != self.version:
            self._record = self.version, make()
        return self._record[1]


_published: WeakKeyDictionary[Any, Published] = WeakKeyDictionary()
if hasattr(os, "register_at_fork"):  # a child must not wait for a thread of its parent
    os.register_at_fork(after_in_child=_published.clear)


def published(owner: Any) -> Published:
    """The one of ``owner``. Copies of the owner have others; it is no part of its state."""
    try:
        return _published[owner]
    except KeyError:
        return _published.setdefault(owner, Published())
