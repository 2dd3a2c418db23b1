"""Standard streams that the shell has closed (``<&-``, ``>&-``, ``2>&-``).

Python has None in their place, and the next file that is opened gets their number, so that whatever
writes to that number writes into the file. Each closed one is taken up by the null device here.
"""

from __future__ import annotations

import os
import sys

from .mistakes import Mistake


def occupy_closed() -> bool:
    """Let no file have the number of a closed stream. Returns whether standard output was closed."""
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


def refuse_closed(command: str) -> None:
    """For a command that does nothing but print."""
    instead = "give -o FILE" if command == "predict" else "leave it open, or redirect it"
    raise Mistake(f"Standard output is closed, so that {command} cannot print; {instead}.")
