"""``docs/evidence/papers.md`` from the numbers of the papers' benchmarks.

``page.md`` holds the prose, with places ``{{part.name}}`` for numbers and ``{{part.rows}}`` for the
rows of a table. ``published.json`` holds the numbers of the committed page, written as they stand
there. A part that has been measured since replaces its own numbers in both; all others stay.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TEMPLATE, PUBLISHED = HERE / "page.md", HERE / "published.json"
PAGE = HERE.parent.parent / "docs" / "evidence" / "papers.md"
IMAGES = PAGE.parent.parent / "images"

FIGURES = {
    "active.adult": ("active-adult-support.png", "active-adult.png"),
    "active.mnist": ("active-mnist-support.png", "active-mnist.png"),
    "olsvm.figures": ("olsvm-figures.png", "olsvm-figures.png"),
}
"""Parts whose figure is in the documentation: its name among the results, its name there."""

Section = Mapping[str, Any]
"""The numbers of one part as text, by name; ``rows`` is a list of the rows of its table."""

PLACE = re.compile(r"\{\{([\w.-]+)\.(\w+)\}\}")
ROW = re.compile(r"\[\n\s+(\"[^\[\]]*?\")\n\s+\]")


def published() -> dict[str, Section]:
    """The numbers of the committed page, by part."""
    return json.loads(PUBLISHED.read_text(encoding="utf-8"))


def places(template: str) -> dict[str, set[str]]:
    """Names of the numbers that the template asks for, by part."""
    found: dict[str, set[str]] = {}
    for part, name in PLACE.findall(template):
        found.setdefault(part, set()).add(name)
    return found


def merge(old: Mapping[str, Section], measured: Mapping[str, Section]) -> dict[str, Section]:
    """The published numbers with those of measured parts replaced.

    A part is taken whole or not at all: numbers of different runs never stand side by side.
    """
    out = dict(old)
    for part, section in measured.items():
        missing = old.get(part, {}).keys() - section.keys()
        if missing:
            raise ValueError(f"{part}: {', '.join(sorted(missing))} not measured; run it again")
        if part in old:
            out[part] = {name: section[name] for name in old[part]}
    return out


def fill(template: str, numbers: Mapping[str, Section]) -> str:
    """The page."""

    def text(match: re.Match[str]) -> str:
        value = numbers[match[1]][match[2]]
        return value if isinstance(value, str) else _rows(value)

    return PLACE.sub(text, template)


def _rows(rows: Iterable[Iterable[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def as_json(numbers: Mapping[str, Section]) -> str:
    """The numbers as a file that can be read and compared: one line for each row of a table."""
    text = json.dumps(numbers, indent=1, ensure_ascii=False)
    return ROW.sub(lambda m: "[" + re.sub(r"\n\s+", " ", m[1]) + "]", text) + "\n"


def write(measured: Mapping[str, Section], page: Path = PAGE, numbers: Path = PUBLISHED) -> None:
    """Page and published numbers anew, with the parts that were measured."""
    merged = merge(published(), measured)
    text = fill(TEMPLATE.read_text(encoding="utf-8"), merged)
    numbers.write_text(as_json(merged), encoding="utf-8")
    page.write_text(text, encoding="utf-8")


def copy_figures(measured: Iterable[str], results: Path, images: Path = IMAGES) -> None:
    """The figures of measured parts into the documentation."""
    for part in FIGURES.keys() & set(measured):
        drawn, shown = FIGURES[part]
        if (results / drawn).is_file():
            shutil.copyfile(results / drawn, images / shown)
