"""Pages that fetch nothing: matplotlib's player of animations asks a server for its icons.

The theme brings the same icons along, so that the link can go.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

_LINK = re.compile(r'<link\s+rel="stylesheet"\s+href="https?://[^"]*font-awesome[^"]*">')


def drop_links(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Remove the link from the body of a page."""
    if "body" in context:
        context["body"] = _LINK.sub("", context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook."""
    app.connect("html-page-context", drop_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
