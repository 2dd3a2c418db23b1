"""What users can mend: one sentence, exit code 2, no traceback; files before they are written."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click


class Mistake(click.ClickException):
    """An error that names the problem and the remedy."""

    exit_code = 2


def check_writable(path: Path, option: str = "-o", inputs: Iterable[Any] = ()) -> None:
    """Find out before hours of learning whether a file can be written, and is none of those read."""
    folder = path.resolve().parent
    for each in inputs:
        if each is not None and Path(each).resolve() == path.resolve():
            raise Mistake(
                f"{str(path)!r} is read by this command, and {option} would overwrite it; "
                f"choose another {option}."
            )
    if path.is_dir():
        raise Mistake(f"{str(path)!r} is a folder; name a file with {option}.")
    if not folder.is_dir():
        raise Mistake(f"There is no folder {str(folder)!r}; make it, or choose another {option}.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Mistake(
            f"Nothing can be written to {str(folder)!r} ({error.strerror}); choose another {option}."
        ) from error


REMAINS_AFTER = 3600
"""Seconds after which nobody writes to a temporary file any more."""


def remove_remains(path: Path) -> None:
    """Remove temporary files of this file that processes have left when they were killed."""
    folder = path.resolve().parent
    for remains in folder.glob(f".{path.name[:100]}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - remains.stat().st_mtime > REMAINS_AFTER:
                remains.unlink()
