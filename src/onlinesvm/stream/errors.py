"""The error of the readers, and the quotation of values in its messages."""

from __future__ import annotations

import shlex

from ..exceptions import StreamError as StreamError


def shortened(text: str, most: int = 60) -> str:
    """A value, shortened to fit in a message, on one line."""
    shown = repr(text)
    return shown if len(shown) <= most else shown[: most - 4] + "...'"


def one_line(error: Exception) -> str:
    """Another library's message, on one line and not too long."""
    return " ".join(str(error).split())[:200].rstrip(".")


def as_word(name: str) -> str:
    """A name as one word of a command line, to be copied from a message: in quotes where it needs them."""
    return shlex.quote(name)
