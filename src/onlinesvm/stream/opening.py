"""Opening a source of bytes: a file, compressed or not, or standard input.

Compression is recognised by the first bytes, not by the name. Whatever goes wrong while reading
becomes a ``StreamError`` that names the source.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import sys
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..core.runtime.dependencies import require
from .errors import StreamError

STANDARD_INPUT = "-"

_GZIP, _BZIP2, _XZ, _ZSTD = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"

_BROKEN = (EOFError, OSError, zlib.error, lzma.LZMAError)


def name_of(source: Any) -> str:
    """The source as messages call it."""
    if is_standard_input(source):
        return "standard input"
    if isinstance(source, str | os.PathLike):
        return f"'{os.fspath(source)}'"
    name = str(getattr(source, "name", type(source).__name__))
    return name if name == "standard input" else f"'{name}'"


def is_standard_input(source: Any) -> bool:
    """Whether the source is ``-``."""
    return isinstance(source, str) and source == STANDARD_INPUT


def can_repeat(source: Any) -> bool:
    """Whether a source can be read twice: a path, unless it is that of a pipe."""
    if is_standard_input(source) or hasattr(source, "read"):
        return False
    path = Path(source)
    return path.is_file() or path.is_dir() or not path.exists()


def _is_live(source: Any, file: Any) -> bool:
    """Whether bytes may arrive slowly: a pipe, a socket or a terminal."""
    known = getattr(source, "is_live", None)
    if known is not None:
        return bool(known)
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, AttributeError, ValueError):
        pass
    try:
        return not file.seekable()
    except (OSError, AttributeError, ValueError):
        return True


def checked_path(source: Any) -> Path:
    """The path of a file that exists and can be read; raises an error otherwise."""
    path, name = Path(source), name_of(source)
    if path.is_dir():
        raise StreamError(f"{name} is a folder; name a file, or a folder of Parquet files.")
    if path.exists() and not path.is_file():
        return path  # a pipe can be read only once
    try:
        with path.open("rb") as file:
            empty = not file.read(1)
    except FileNotFoundError:
        raise StreamError(f"There is no file {name}; check the name and the folder.") from None
    except OSError as error:
        raise StreamError(f"{name} cannot be read: {error.strerror or error}.") from error
    if empty and path.is_file():
        raise StreamError(f"{name} is empty; it needs at least one row.")
    return path


class Source(io.RawIOBase):
    """Bytes of a source, which can be peeked at; errors name the source."""

    def __init__(self, file: Any, name: str, is_live: bool = False):
        super().__init__()
        self._file, self._head, self.source, self.is_live = file, b"", name, is_live
        # What a pipe has now, without waiting for more.
        self._read = getattr(file, "read1", file.read)

    def readable(self) -> bool:
        """Bytes can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as possible."""
        data = self._take(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _take(self, size: int) -> bytes:
        if self._head:
            data, self._head = self._head[:size], self._head[size:]
            return data
        try:
            return cast(bytes, self._read(size))
        except _BROKEN as error:
            raise StreamError(
                f"{self.source} is damaged or truncated ({str(error) or type(error).__name__}); "
                "write or download it again."
            ) from error

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay to be read; fewer than ``size`` only at the end."""
        while len(self._head) < size:
            head, self._head = self._head, b""
            more = self._take(size - len(head))
            self._head = head + more
            if not more:
                break
        return self._head[:size]

    def peek_line(self, most: int = 1 << 16) -> bytes:
        """The next bytes, up to the end of a line that is neither blank nor a comment."""
        while True:
            head, self._head = self._head, b""
            more = self._take(most)
            self._head = head + more
            whole = self._head[: self._head.rfind(b"\n") + 1]
            if not more or len(self._head) >= most or any(map(_has_content, whole.split(b"\n"))):
                return self._head

    def close(self) -> None:
        """Close the file, but not standard input."""
        if self._file is not getattr(sys.stdin, "buffer", None):
            self._file.close()
        super().close()


def _has_content(line: bytes) -> bool:
    return bool(line.strip()) and not line.startswith(b"#")


def open_source(source: Any) -> Source:
    """The decompressed bytes of a path, of ``-`` or of a binary file."""
    name = name_of(source)
    if is_standard_input(source):
        if sys.stdin is None:
            raise StreamError("Standard input is closed; leave it open, or name a file.")
        file: Any = sys.stdin.buffer
    elif hasattr(source, "read"):
        file = source
    else:
        file = checked_path(source).open("rb")
    raw = Source(file, name)
    opened = Source(_decompressed(raw, name), name, _is_live(source, file))
    if not opened.peek(1):
        raise StreamError(f"{name} is empty; it needs at least one row.")
    return opened


def _decompressed(raw: Source, name: str) -> Any:
    magic = raw.peek(6)
    buffered = io.BufferedReader(raw, 1 << 17)
    if magic.startswith(_GZIP):
        return gzip.GzipFile(fileobj=buffered)
    if magic.startswith(_BZIP2):
        return bz2.BZ2File(buffered)
    if magic.startswith(_XZ):
        return lzma.LZMAFile(cast(BinaryIO, buffered))
    if magic.startswith(_ZSTD):
        return _zstd(buffered, name)
    return buffered


def _zstd(file: Any, name: str) -> Any:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.ZstdFile(file)
    arrow = import_arrow(f"Reading {name}, which is compressed with Zstandard,")
    return arrow.CompressedInputStream(arrow.PythonFile(file, mode="r"), "zstd")


def import_arrow(purpose: str) -> Any:
    """Import PyArrow; the error says how to install it."""
    return require("pyarrow", purpose, "files")
