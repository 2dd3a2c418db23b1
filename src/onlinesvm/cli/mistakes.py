"""What users can mend: one sentence, exit code 2, no traceback."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click


class Mistake(click.ClickException):
    """An error that names the problem and the remedy."""

    exit_code = 2


def check_writable(path: Path, option: str = "-o") -> None:
    """Find out before hours of learning whether a file can be written."""
    folder = path.resolve().parent
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
