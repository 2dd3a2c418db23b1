"""The table of what each class can do, read from the classes themselves.

scikit-learn's tags, the signatures and the methods decide; nothing is written by hand, so the table
cannot disagree with the code. ``tests/test_site.py`` tries what it says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from docutils import nodes
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import onlinesvm

Question = Callable[[type], bool]


def classes() -> list[type]:
    """All public estimators, in the order of the public list."""
    found = (getattr(onlinesvm, name) for name in onlinesvm.__all__)
    return [c for c in found if isinstance(c, type) and issubclass(c, BaseEstimator)]


def _takes(method: str, name: str) -> Question:
    def asked(cls: type) -> bool:
        called = getattr(cls, method, None)
        return called is not None and name in inspect.signature(called).parameters

    return asked


def _has(*names: str) -> Question:
    return lambda cls: any(hasattr(cls, name) for name in names)


def _parameter(*names: str) -> Question:
    return lambda cls: any(name in inspect.signature(cls).parameters for name in names)


def _task(cls: type) -> str:
    kind = get_tags(cls()).estimator_type or ""
    return {"classifier": "classes", "regressor": "values", "outlier_detector": "novelty"}[kind]


def _several_labels(cls: type) -> bool:
    tags = get_tags(cls())
    labels = tags.classifier_tags is not None and tags.classifier_tags.multi_label
    return bool(labels or tags.target_tags.multi_output)


TABLES: dict[str, dict[str, Question]] = {
    "learning": {
        "sparse `X`": lambda cls: bool(get_tags(cls()).input_tags.sparse),
        "several labels or targets": _several_labels,
        "`sample_weight`": _takes("fit", "sample_weight"),
        "`class_weight`": _parameter("class_weight"),
        "`partial_fit`": _has("partial_fit"),
        "`learn_one`": _has("learn_one"),
        "`window` or `budget`": _parameter("window", "budget"),
        "`feature_weights`": _parameter("feature_weights"),
        "`time_limit`": _parameter("time_limit"),
    },
    "answers": {
        "`predict_proba`": _has("predict_proba"),
        "sets or intervals": _has("predict_set", "predict_interval"),
        "`explain`": _has("explain"),
        "`suspects`": _has("suspects"),
        "`forget`": _has("forget"),
        "leave-one-out": _has("leave_one_out_decision"),
        "drift detection": _parameter("detect_drift"),
        "`save`": _has("save"),
    },
}
"""Columns of each table, and the question to a class that fills them."""


def rows(which: str) -> list[tuple[type, str, dict[str, bool]]]:
    """Class, task and answers of one table."""
    asked = TABLES[which]
    return [(c, _task(c), {name: bool(ask(c)) for name, ask in asked.items()}) for c in classes()]


# -- the directive --------------------------------------------------------------------------


def _heading(text: str) -> list[nodes.Node]:
    """Text in which `backquotes` mean code."""
    parts = text.split("`")
    return [nodes.literal("", p) if k % 2 else nodes.Text(p) for k, p in enumerate(parts) if p]


def _link(cls: type) -> nodes.Node:
    name = cls.__name__
    return addnodes.pending_xref(
        "", nodes.literal("", name), refdomain="py", reftype="class", refexplicit=True,
        reftarget=f"onlinesvm.{name}", refwarn=True,
    )  # fmt: skip


def _row(cells: list[list[nodes.Node]]) -> nodes.row:
    row = nodes.row()
    row.extend(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells)
    return row


def _mark(yes: bool) -> nodes.Node:
    return nodes.inline("", "✓" if yes else "–", classes=["yes" if yes else "no"])


class Capabilities(SphinxDirective):
    """``{capabilities} learning`` or ``answers``: one row for each class."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The table, in a block that scrolls where the screen is narrow."""
        which = self.arguments[0]
        heads = ["class", "task", *TABLES[which]]
        group = nodes.tgroup("", cols=len(heads))
        group.extend(nodes.colspec(colwidth=1) for _ in heads)
        group += nodes.thead("", _row([_heading(h) for h in heads]))
        body = nodes.tbody()
        for cls, task, answers in rows(which):
            body += _row(
                [[_link(cls)], [nodes.Text(task)], *([_mark(yes)] for yes in answers.values())]
            )
        group += body
        table = nodes.table("", group, classes=["capabilities", "colwidths-auto"])
        return [nodes.container("", table, classes=["pst-scrollable-table-container"])]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("capabilities", Capabilities)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
