"""Errors that users can correct: one sentence, exit code 2, no traceback; checks of output
files.
"""

from __future__ import annotations

import contextlib
import glob
import os
import stat
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from ..model.atomic import is_special, special_refusal


class Mistake(click.ClickException):
    """An error that names the problem and the remedy."""

    exit_code = 2


def check_writable(path: Path, option: str = "-o", inputs: Iterable[Any] = ()) -> None:
    """Check before training that a file can be written, and that it is not an input file."""
    if str(path) == "-":
        raise Mistake(
            f"{option} needs the name of a file; - is none. To send a file through a pipe, name a "
            "FIFO, such as >(gzip > FILE)."
        )
    folder = path.resolve().parent
    for each in inputs:
        if each is not None and Path(each).resolve() == path.resolve():
            raise Mistake(
                f"{str(path)!r} is read by this command, and {option} would overwrite it; "
                f"choose another {option}."
            )
    if path.is_dir():
        raise Mistake(f"{str(path)!r} is a folder; name a file with {option}.")
    if _is_standard_output(path):
        raise Mistake(
            f"{str(path)!r} is standard output, to which this command prints; name another file "
            f"with {option}."
        )
    if is_special(path):
        _check_special(path, option)
        return
    if not folder.is_dir():
        raise Mistake(f"There is no folder {str(folder)!r}; create it, or choose another {option}.")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise Mistake(
            f"Nothing can be written to {str(folder)!r} ({error.strerror}); choose another {option}."
        ) from error


def _is_standard_output(path: Path) -> bool:
    """Whether a path leads to the file or pipe to which the command prints; not to a device."""
    try:
        there, printed = os.stat(path), os.fstat(1)
    except OSError:
        return False
    return os.path.samestat(there, printed) and not stat.S_ISCHR(there.st_mode)


def _check_special(path: Path, option: str) -> None:
    """A device or a FIFO is written to as it is; its folder is left alone."""
    refusal = special_refusal(path)
    if refusal is None and not os.access(path, os.W_OK):
        refusal = "permission denied"
    if refusal:
        raise Mistake(f"{str(path)!r} cannot be written ({refusal}); name a file with {option}.")


REMAINS_AFTER = 3600
"""Age in seconds from which a temporary file is abandoned."""


def remove_remains(path: Path) -> None:
    """Remove temporary files of this file that were left by killed processes."""
    if is_special(path):
        return
    target = path.resolve()
    for remains in target.parent.glob(f".{glob.escape(target.name[:100])}.*.tmp"):
        with contextlib.suppress(OSError):
            if time.time() - remains.stat().st_mtime > REMAINS_AFTER:
                remains.unlink()
