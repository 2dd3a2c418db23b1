"""Labels from files: what ``exporting.py`` writes, and tables with an item and a label in each row.

Items are recognised by ``id``, else by ``file``, ``row`` or ``text``. What is imported becomes entries of
the journal like answers on the page.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from .errors import LabelError
from .journal import Draft, Journal
from .pool import Pool
from .record import checked_name
from .sources import IMAGES, Texts, digest_of

BATCH = 10_000
"""Rows of a Parquet file that are read at once."""


def read_labels(path: Path, format_: str) -> Iterator[dict[str, Any]]:
    """Rows of a file or folder, as dictionaries."""
    try:
        yield from _READERS[format_](path)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise LabelError(f"{str(path)!r} cannot be read: {error}.") from error
    except json.JSONDecodeError as error:
        raise LabelError(f"{str(path)!r} is not JSON: {error}.") from error


def _csv(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, newline="", encoding="utf-8-sig") as file:
        for row in csv.DictReader(file):
            yield {name: value for name, value in row.items() if value not in ("", None)}


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _checked_row(json.loads(line), path, number)


def _checked_row(row: Any, path: Path, number: int) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise LabelError(f"Row {number} of {str(path)!r} is not an object with names and values.")
    return row


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH):
                yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise LabelError(f"{str(path)!r} is not a Parquet file: {error}.") from error


def _label_studio(path: Path) -> Iterator[dict[str, Any]]:
    tasks = json.loads(path.read_text(encoding="utf-8-sig"))
    if not isinstance(tasks, list):
        raise LabelError(
            f"{str(path)!r} is not an export of Label Studio, which is a list of tasks."
        )
    for number, task in enumerate(tasks, 1):
        task = _checked_row(task, path, number)
        about = {**task.get("data", {}), **task.get("meta", {})}
        for annotation in task.get("annotations", []):
            choices = [
                choice
                for result in annotation.get("result", [])
                if result.get("type") == "choices"
                for choice in result["value"]["choices"]
            ]
            if len(choices) > 1:
                raise LabelError(
                    f"Task {number} of {str(path)!r} has several choices; one is needed."
                )
            yield about | {"label": choices[0] if choices else None}


def _folders(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_dir():
        raise LabelError(f"There is no folder {str(path)!r}.")
    for folder in sorted(one for one in path.iterdir() if one.is_dir()):
        for file in sorted(folder.iterdir()):
            if file.suffix.lower() in IMAGES:
                yield {"file": unquote(file.name), "label": unquote(folder.name)}


_READERS = {
    "csv": _csv, "jsonl": _json_lines, "parquet": _parquet, "labelstudio": _label_studio,
    "folders": _folders,
}  # fmt: skip


class Finder:
    """Which item a row is about."""

    def __init__(self, pool: Pool):
        self._pool, source = pool, pool.source
        self._by_text: dict[str, str] | None = None
        self._by_row: dict[int, str] | None = None
        self._source = source

    def find(self, row: dict[str, Any]) -> str | None:
        """The id of the item; None if there is none."""
        for name in ("id", "file"):
            if row.get(name) in self._pool.number:
                return str(row[name])
        if "text" in row and isinstance(self._source, Texts):
            if self._by_text is None:
                self._by_text = {i.split("-")[0]: i for i in reversed(self._source.ids)}
            return self._by_text.get(digest_of(str(row["text"]).encode()))
        if "row" in row and "id" not in row and hasattr(self._source, "places"):
            if self._by_row is None:
                pairs = zip(self._source.places.tolist(), self._source.ids)
                self._by_row = {place + 1: name for place, name in pairs}
            return self._by_row.get(int(row["row"])) if str(row["row"]).isdecimal() else None
        return None


def import_labels(
    rows: Iterator[dict[str, Any]], pool: Pool, journal: Journal, annotator: str, name: str
) -> tuple[int, int]:
    """Write the labels of a file to the journal; returns how many, and the unknown rows.

    Nothing is written if a row is wrong.
    """
    finder, drafts, unknown = Finder(pool), [], 0
    for number, row in enumerate(rows, 1):
        if row.get("copy_of"):
            continue
        item = finder.find(row)
        if item is None:
            unknown += 1
            continue
        drafts.append(_draft(row, item, annotator, f"row {number} of {name}"))
    if not drafts:
        raise LabelError(
            f"{name} has no label for any item of this source ({unknown:,} rows refer to other "
            "items); rows need a label and an id, file, row or text."
        )
    journal.append(drafts)
    return len(drafts), unknown


def _draft(row: dict[str, Any], item: str, annotator: str, place: str) -> Draft:
    label = row.get("label")
    if label is None and row.get("status") != "cannot say":
        raise LabelError(f"{place} has no label.")
    try:
        at = row.get("at")
        moment = None if at is None else datetime.fromisoformat(str(at))
        when = None if moment is None else moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        name = None if label is None else checked_name(str(label))
    except ValueError as error:
        raise LabelError(f"In {place}: {error}") from error
    return Draft(
        "import",
        str(row.get("annotator") or annotator),
        item,
        name,
        str(row.get("mode") or "import"),
        note=row.get("note"),
        data=None if row.get("searched_for") is None else {"target": str(row["searched_for"])},
        at=when,
    )
