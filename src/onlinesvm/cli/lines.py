"""Predictions as lines of text, one per row, and lines as predictions."""

from __future__ import annotations

from typing import Any

from .mistakes import Mistake

_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def line_of(label: Any) -> str:
    """A label on one line, without tabs."""
    text = str(label)
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def labels_of(lines: list[bytes], truth: list[Any], name: str, first: int) -> list[Any]:
    """Predictions from lines of ``predict``, in the type of the true labels; scores are ignored."""
    known = {line_of(label): label for label in truth}
    found = []
    for number, line in enumerate(lines):
        text = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")[0]
        if text in known:
            found.append(known[text])
        elif isinstance(truth[0], str):
            found.append(text)
        else:
            found.append(_number(text, f"{name}, line {first + number + 1}"))
    return found


def _number(text: str, where: str) -> float | int:
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    raise Mistake(
        f"{where}: the prediction {text[:60]!r} is not a number, but the labels are; use the "
        "output of predict for this file."
    )
