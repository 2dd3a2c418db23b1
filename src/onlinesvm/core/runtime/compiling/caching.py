"""Storage of compiled loops: read from several folders, written where only this user can write.

The folders are, in this order, that of ``NUMBA_CACHE_DIR``, ``__pycache__`` next to the source
file, and the user's cache folder. Loops are searched in each of them up to the first that is
writable, where new loops are stored. So the loops of a container image that was warmed up by
another user, or that is mounted read-only, are used.

A loop is found again only by a package with the same ``core/``: compiled code holds parts of
functions from other files, so a change in any file makes all of it stale. The content of the files
counts, not their times, which change when an image is copied.

Notes
-----
Numba's own cache compares the source file of the function alone, and asks for a folder that can be
written before it reads from it. It writes an index first and the code afterwards, under numbers that
two processes may both choose. Here each function has one file, replaced whole.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numba
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from .announcing import collector_paused, logger
from .private import is_private
from .sharing import lock

CORE = Path(__file__).resolve().parents[2]

NOT_PRIVATE = "Other users can write to the cache folder %s, so compiled loops are neither read from it nor stored there. Set NUMBA_CACHE_DIR to a folder that only you can write to."
NOT_KEPT = "Compiled loops could not be stored in %s (%s): later processes will compile them again."


@lru_cache(maxsize=1)
def stamp() -> str | None:
    """A hash of all source files of the core; None where there are none to read, as in an archive."""
    digest = hashlib.sha256()
    paths = sorted(CORE.rglob("*.py"))
    try:
        for path in paths:
            content = path.read_bytes()
            digest.update(f"{path.relative_to(CORE).as_posix()} {len(content)}\n".encode())
            digest.update(content)
    except OSError:
        return None
    return digest.hexdigest() if paths else None


# -- folders ------------------------------------------------------------------------------


class Folders(NamedTuple):
    """Where the loops of one folder of source files are looked for, and where they are kept."""

    read: tuple[str, ...]
    kept: str | None


@lru_cache(maxsize=64)
def folders_of(source: str) -> Folders:
    """The folders for the loops of a folder of source files."""
    read = []
    for folder in _candidates(source):
        is_writable = _can_write(folder)
        if is_writable or os.path.isdir(folder):
            if is_private(folder, os.stat(source).st_uid):
                read.append(folder)
            else:
                _tell_once(NOT_PRIVATE, folder)
        if is_writable:
            return Folders(tuple(read), folder if folder in read else None)
    return Folders(tuple(read), None)


def _candidates(source: str) -> Iterator[str]:
    own = f"{os.path.basename(source)}_{hashlib.sha1(source.encode()).hexdigest()}"
    if config.CACHE_DIR:
        yield os.path.join(config.CACHE_DIR, own)
    yield os.path.join(source, "__pycache__")
    yield os.path.join(AppDirs(appname="numba", appauthor=False).user_cache_dir, own)


def _can_write(folder: str) -> bool:
    """Whether files can be made in a folder, which is made if need be."""
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


_told: set[str] = set()


def _tell_once(message: str, *details: str) -> None:
    if message not in _told:
        _told.add(message)
        logger.warning(message, *details)


# -- files --------------------------------------------------------------------------------


class LoopFile:
    """The file of one function: a header, and the compiled code by signature and processor."""

    def __init__(self, folder: str, name: str):
        self.folder = folder
        self.path = os.path.join(folder, name)
        self.header = pickle.dumps((numba.__version__, stamp()))

    def read(self) -> dict[Any, bytes]:
        """All that is in the file; nothing where there is none, or one of other sources."""
        try:
            with open(self.path, "rb") as file:
                if file.read(len(self.header)) != self.header:
                    return {}
                found: dict[Any, bytes] = pickle.loads(file.read())
                return found
        except Exception:  # missing, unreadable or damaged: the loop is compiled again
            return {}

    def add(self, key: Any, code: bytes) -> None:
        """Keep one more; whatever happens, the file is the old one or the new one."""
        with _locked(self.folder):
            body = dumps({**self.read(), key: code})
            temporary = f"{self.path}.{uuid4().hex[:16]}.tmp"
            try:
                with open(temporary, "xb") as file:
                    file.write(self.header + body)
                os.replace(temporary, self.path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Alone among processes that write to a folder: two of them may add to one file."""
    if os.name != "posix":  # a folder cannot be opened
        yield
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        lock(number)
        yield
    finally:
        os.close(number)


# -- Numba --------------------------------------------------------------------------------


class _Code(CompileResultCacheImpl):
    """What Numba makes of compiled code to be kept, without its choice of a folder."""

    def __init__(self) -> None:
        """Nothing: the folders are those of ``folders_of``."""

    def check_cachable(self, code: Any) -> bool:
        """Whether the code holds no addresses of this process."""
        lifted = any(not part.can_cache for part in code.lifted)
        return not lifted and not code.library.has_dynamic_globals


class LoopCache(FunctionCache):
    """The cache of one function, in the interface of Numba's."""

    def __init__(self, function: Any, folders: Folders):
        version = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        module = function.__module__.rpartition(".")[2]
        place = f"{function.__qualname__}-{function.__code__.co_firstlineno}"
        name = f"{module}.{place}.{version}.nbc".replace("<", "").replace(">", "")
        self._name = repr(function)
        self._py_func = function
        self._impl = _Code()
        self._cache_path = folders.kept
        self._files = [LoopFile(folder, name) for folder in folders.read]
        self._kept = LoopFile(folders.kept, name) if folders.kept is not None else None
        self.enable()

    def flush(self) -> None:
        """Forget what is kept for this function."""
        if self._kept is not None:
            with suppress(OSError):
                os.unlink(self._kept.path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for a signature, with Numba's library in memory."""
        with collector_paused():
            return super().load_overload(sig, target_context)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        if not self._enabled:
            return None
        key = self._index_key(sig, target_context.codegen())
        for file in self._files:
            code = file.read().get(key)
            if code is not None:
                return self._impl.rebuild(target_context, pickle.loads(code))
        return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not self._enabled or self._kept is None or not self._impl.check_cachable(data):
            return
        try:
            os.makedirs(self._kept.folder, exist_ok=True)
            key = self._index_key(sig, data.codegen)
            self._kept.add(key, dumps(self._impl.reduce(data)))
        except (
            OSError
        ) as error:  # a full disk or a removed folder: the code can be used all the same
            _tell_once(NOT_KEPT, self._kept.folder, error.strerror or str(error))


def keep(dispatcher: Any) -> None:
    """Let a function of Numba find its compiled code, and keep it, on disk."""
    source = os.path.dirname(os.path.abspath(inspect.getfile(dispatcher.py_func)))
    if stamp() is not None and os.path.isdir(source):
        dispatcher._cache = LoopCache(dispatcher.py_func, folders_of(source))
