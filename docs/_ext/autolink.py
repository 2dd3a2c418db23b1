"""Public names in `code` become links to the reference, wherever a page mentions them."""

from __future__ import annotations

import importlib
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

MODULES = ("onlinesvm", *(f"onlinesvm.{m}" for m in ("exceptions", "export", "streams", "tables")))
DASK = ("TreeLASVMClassifier", "CellLASVMClassifier")


def names() -> dict[str, str]:
    """Full names by short ones; the first module that has a name wins."""
    found = {name: f"onlinesvm.dask.{name}" for name in DASK}
    for module in reversed(MODULES):
        public = importlib.import_module(module).__all__
        found |= {name: f"{module}.{name}" for name in public if not name.startswith("__")}
    documented_in = {"save_model": "persistence", "load_model": "persistence"}
    documented_in |= {"fit_stream": "streams", "open_reader": "streams", "register_onnx": "export"}
    return found | {name: f"onlinesvm.{place}.{name}" for name, place in documented_in.items()}


def link(app: Sphinx, tree: nodes.document) -> None:
    """Wrap each mention in a reference, except in headings and in what is a link already."""
    if app.env.docname.startswith(("reference/", "gallery/")):
        return
    known = names()
    for code in list(tree.findall(nodes.literal)):
        target = known.get(code.astext().removesuffix("()"))
        parents = (nodes.title, nodes.reference, addnodes.pending_xref)
        if target is None or isinstance(code.parent, parents):
            continue
        to = {"refdomain": "py", "reftype": "obj", "reftarget": target, "refexplicit": True}
        reference = addnodes.pending_xref("", refwarn=True, **to)
        code.replace_self(reference)
        reference += code


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the hook."""
    app.connect("doctree-read", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
