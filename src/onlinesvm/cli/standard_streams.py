"""Standard streams that the shell has closed (``<&-``, ``>&-``, ``2>&-``).

Python has None instead of them, and the next file that is opened gets their number, so that
anything written to that number would go into the file. Here each closed stream is replaced by the
null device.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from .mistakes import Mistake


def occupy_closed() -> bool:
    """Occupy the numbers of closed streams. Returns whether standard output was closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)  # the lowest is free
    closed = sys.stdout is None
    if closed:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    return closed


def show_any_text() -> None:
    """Characters that the encoding of standard output lacks are shown as escapes, as on standard error."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@contextmanager
def exact_output() -> Iterator[IO[str]]:
    """Standard output for data: a character that its encoding lacks raises an error."""
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="strict")
    try:
        yield out
    except UnicodeEncodeError as error:
        lacking = error.object[error.start : error.end]
        raise Mistake(
            f"Standard output has the encoding {error.encoding}, which lacks {lacking!r}: give -o "
            "FILE, or set PYTHONIOENCODING=utf-8."
        ) from error


def refuse_closed(command: str) -> None:
    """For a command that does nothing but print."""
    instead = "give -o FILE" if command == "predict" else "leave it open, or redirect it"
    raise Mistake(f"Standard output is closed, so that {command} cannot print; {instead}.")
