"""Docstrings inherited from scikit-learn, without references into its own documentation."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_ROLE = re.compile(r":(?:ref|term|class|meth|func|mod|doc):`([^`<]*?)\s*(?:<[^`>]*>)?`")


def _plain(role: re.Match[str]) -> str:
    words = role[1].lstrip("~")
    return f"``{words}``" if re.fullmatch(r"[\w.]+", words) else words


def strip_roles(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Replace roles by their text where the object was written in scikit-learn."""
    if (getattr(obj, "__module__", None) or "").startswith("sklearn."):
        lines[:] = [_ROLE.sub(_plain, line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Before numpydoc, which has priority 500."""
    app.connect("autodoc-process-docstring", strip_roles, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
