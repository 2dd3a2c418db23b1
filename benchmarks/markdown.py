"""How numbers and tables are written, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; all columns but the first two are numbers."""
    rule = ["---" if i < 2 else "---:" for i in range(len(header))]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def number(value: float | None, digits: int = 3) -> str:
    """Three digits that matter; a dash where nothing was measured."""
    if value is None:
        return "–"
    if value == 0 or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} %"


def millions(value: float | None) -> str:
    return "–" if value is None else f"{value / 1e6:,.3g} M"


def bar(words: str, met: bool) -> str:
    """A claim with its verdict, as a list item."""
    return f"- {words}: **{'met' if met else 'missed'}**"
