"""Atomic writing of files: completely or not at all.

The bytes are written to a temporary file in the same folder, which replaces the old file in one
step when they are safely on disk. A reader sees the old file or the new one, never a part of one,
even if the process is killed or the power fails. Special files (a FIFO, a terminal, ``/dev/null``)
are opened and written to, never replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Write a file through a temporary one.

    Parameters
    ----------
    path : str or path-like
        The file to write; one that exists keeps its permissions and is replaced at the end. A
        symbolic link is followed and kept. A FIFO or a character device is written to directly; a
        block device or a socket raises an error.

    Yields
    ------
    file : binary file
        Where to write. If the block raises, the temporary file is removed and ``path`` is
        unchanged.
    """
    if is_special(path):
        with _open_special(path) as special:
            yield special
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(path))
    handle, name = tempfile.mkstemp(
        prefix=f".{target.name[:100]}.", suffix=".tmp", dir=target.parent
    )
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            _set_mode(file.fileno(), target)
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether the path exists and is neither a regular file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def special_refusal(path: str | os.PathLike[str]) -> str | None:
    """Why nothing can be written to a special file; None if it can."""
    mode = os.stat(path).st_mode
    if stat.S_ISBLK(mode):
        return "it is a disk"
    return "it is a socket" if stat.S_ISSOCK(mode) else None


def _open_special(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a special file; a FIFO blocks here until it is read."""
    refusal = special_refusal(path)
    if refusal:
        raise OSError(errno.EINVAL, refusal, str(path))
    return open(path, "wb")


def _set_mode(handle: int, target: Path) -> None:
    """The permissions of the old file, or those of any new file (a temporary one has fewer)."""
    if not hasattr(os, "fchmod"):
        return
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        mode = 0o666 & ~mask
    with contextlib.suppress(OSError):
        os.fchmod(handle, mode)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, if the file system supports it."""
    flags: Any = getattr(os, "O_DIRECTORY", None)
    if flags is None:
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | flags)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
