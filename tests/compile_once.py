"""Workers of one test run compile each loop once, and share what takes long to make.

With an empty compile cache every worker would compile the same loops at the same time. Here a worker
that is about to compile a loop waits while another one compiles it, and then finds it on disk.
"""

import os
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: each worker compiles for itself
    fcntl = None


@contextmanager
def locked(path: Path):
    """Hold the lock of a file; it is released also when the process is killed."""
    with path.open("w") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def shared_folder(factory) -> Path:
    """A folder that all workers of a test run have in common."""
    base: Path = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(factory, name: str, make: Callable[[Path], str]) -> tuple[Path, str]:
    """A folder that ``make`` has filled, once for all workers, and what it returned."""
    shared = shared_folder(factory)
    folder, found = shared / name, shared / f"{name}.txt"
    with locked(shared / f"{name}.lock"):
        if not found.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
            found.write_text(make(folder), encoding="utf-8")
    return folder, found.read_text(encoding="utf-8")


def share_compilation(folder: Path) -> None:
    """Let Numba compile a function only while holding the function's lock in ``folder``."""
    if fcntl is None:
        return
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    folder.mkdir(mode=0o700, exist_ok=True)
    compile_now = Dispatcher.compile

    def compile_once(self, signature):
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        if not name.startswith("onlinesvm."):  # Numba's own are compiled by each process
            return compile_now(self, signature)
        # Numba's own lock first: a thread that holds the file must not wait for another thread.
        with global_compiler_lock, locked(folder / name):
            return compile_now(self, signature)

    Dispatcher.compile = compile_once
