"""Processes that compile at the same time share the work: each loop is compiled by one of them.

With an empty cache every process would compile the same loops. Here a process that is about to compile
a loop waits while another one compiles it, and then finds it on disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

_fcntl: Any = import_module("fcntl") if os.name == "posix" else None
"""None on Windows, where each process compiles for itself."""


def lock(file: int) -> None:
    """Wait for the lock of an open file or folder, which is released when that is closed."""
    if _fcntl is not None:
        with suppress(OSError):  # a file system without locks: at worst a loop is compiled twice
            _fcntl.flock(file, _fcntl.LOCK_EX)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file; it is released also when the process is killed."""
    with path.open("w") as file:
        lock(file.fileno())
        yield


def share_compilation(folder: Path) -> None:
    """Let Numba compile a loop, in this process, only while holding the loop's lock in ``folder``."""
    if _fcntl is None:
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    compile_now = Dispatcher.compile

    def compile_once(self: Any, signature: Any) -> Any:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        if not name.startswith("onlinesvm."):  # Numba's own are compiled by each process
            return compile_now(self, signature)
        # Numba's own lock first: a thread that holds the file must not wait for another thread.
        with global_compiler_lock, locked(folder / name):
            return compile_now(self, signature)

    Dispatcher.compile = compile_once  # type: ignore[method-assign,assignment,unused-ignore]
