"""Who has called this library: where warnings are to point."""

from __future__ import annotations

import sys

LIBRARIES = ("onlinesvm", "sklearn")
"""Packages whose frames are passed over: scikit-learn calls from pipelines and wraps methods."""


def stacklevel_of_user() -> int:
    """``stacklevel`` for a call of ``warnings.warn`` in the caller: the line outside these packages."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _package(frame.f_globals) in LIBRARIES:
        frame, level = frame.f_back, level + 1
    return level


def _package(names: dict[str, object]) -> str:
    return str(names.get("__name__", "")).partition(".")[0]
