"""The one error of the readers."""

from __future__ import annotations


class StreamError(ValueError):
    """Data that cannot be read; the message names the file, the line and the remedy."""


def shortened(text: str, most: int = 60) -> str:
    """A value of the user's, short enough for a message and on one line."""
    shown = repr(text)
    return shown if len(shown) <= most else shown[: most - 4] + "...'"


def one_line(error: Exception) -> str:
    """Another library's message, on one line and not too long."""
    return " ".join(str(error).split())[:200].rstrip(".")
