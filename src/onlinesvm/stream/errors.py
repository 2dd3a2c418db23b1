"""The one error of the readers, and what its messages quote."""

from __future__ import annotations

from ..exceptions import StreamError as StreamError


def shortened(text: str, most: int = 60) -> str:
    """A value of the user's, short enough for a message and on one line."""
    shown = repr(text)
    return shown if len(shown) <= most else shown[: most - 4] + "...'"


def one_line(error: Exception) -> str:
    """Another library's message, on one line and not too long."""
    return " ".join(str(error).split())[:200].rstrip(".")
