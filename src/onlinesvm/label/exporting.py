"""Labels for other programs: CSV, JSON lines, Parquet, Label Studio's JSON, a folder per class.

One row for each answer, in the order of learning, with the names of the classes; then the items
that could not be labelled (``status`` is "cannot say"). Near copies of an answered item follow it,
with its id in ``copy_of``. Rows are written as they are made.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .errors import LabelError
from .pool import Pool
from .record import Given, Record
from .sources import beside

FORMATS = ("csv", "jsonl", "parquet", "labelstudio", "folders")
"""Formats of labels."""

ENDINGS = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".json": "labelstudio",
}

COLUMNS = ("id", "label", "status", "annotator", "at", "mode", "note", "copy_of", "searched_for")

RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{d}{k}" for d in ("COM", "LPT") for k in range(1, 10))}
"""Names that Windows keeps for devices."""

MOST_BYTES = 255
"""Longest name of a file."""

BATCH = 5000
"""Rows of a Parquet row group."""


def format_of(path: Path, given: str | None) -> str:
    """The format that the user names, or that of the file's ending."""
    if given is not None:
        return given
    if path.suffix.lower() in ENDINGS:
        return ENDINGS[path.suffix.lower()]
    raise LabelError(
        f"The format of {str(path)!r} cannot be recognised; give it with --to {'|'.join(FORMATS)}."
    )


def label_rows(record: Record, pool: Pool | None = None) -> Iterator[dict[str, Any]]:
    """All answers; with the pool also the content of the items, and near copies."""
    for item in list(chain(record.labels, record.aside)):  # answers may come while it is read
        answers = record.given.get(item, {})
        for annotator, given in sorted(answers.items(), key=lambda pair: pair[1].seq):
            row = _row(record, item, annotator, given)
            number = None if pool is None else pool.number.get(item)
            if pool is None or number is None:
                yield row
                continue
            yield beside(row, pool.source.row(number))
            for other in pool.members(number):
                name = pool.source.ids[other]
                if name not in record.given:
                    yield beside(row | {"id": name, "copy_of": item}, pool.source.row(other))


def _row(record: Record, item: str, annotator: str, given: Given) -> dict[str, Any]:
    return {
        "id": item,
        "label": None if given.label is None else record.name(given.label),
        "status": "cannot say" if given.label is None else "label",
        "annotator": annotator,
        "at": datetime.fromtimestamp(given.at, UTC).isoformat(timespec="microseconds"),
        "mode": given.mode,
        "note": given.note,
        "copy_of": None,
        "searched_for": None if given.target is None else record.name(given.target),
    }


def fields_of(pool: Pool | None) -> list[str]:
    """Columns of an export, those of the source included."""
    return list(beside(dict.fromkeys(COLUMNS), {} if pool is None else pool.source.row(0)))


# -- as bytes, piece by piece ----------------------------------------------------------------


def as_csv(rows: Iterable[dict[str, Any]], names: list[str]) -> Iterator[bytes]:
    """Lines of CSV; a first column without a value is empty."""
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(row)
        if out.tell() > 1 << 16:
            yield out.getvalue().encode()
            out.seek(0)
            out.truncate()
    yield out.getvalue().encode()


def as_json_lines(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """One object for each row."""
    for row in rows:
        yield (json.dumps(row, ensure_ascii=False, default=str) + "\n").encode()


def as_label_studio(rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """Label Studio's list of tasks, one annotation each."""
    first = True
    for row in rows:
        yield (b"[\n" if first else b",\n") + json.dumps(
            _task(row), ensure_ascii=False, default=str
        ).encode()
        first = False
    yield b"[]\n" if first else b"\n]\n"


def _task(row: dict[str, Any]) -> dict[str, Any]:
    data = {name: value for name, value in row.items() if name not in COLUMNS}
    kept = {name: row[name] for name in COLUMNS if name not in ("id", "label")}
    chosen = [] if row["label"] is None else [row["label"]]
    result = {
        "from_name": "label", "to_name": "item", "type": "choices", "value": {"choices": chosen},
    }  # fmt: skip
    annotation = {"result": [result] if chosen else [], "was_cancelled": not chosen}
    return {"data": {"id": row["id"], **data}, "annotations": [annotation], "meta": kept}


def as_bytes(format_: str, record: Record, pool: Pool | None) -> Iterator[bytes]:
    """An export in one of the formats that are text."""
    rows = label_rows(record, pool)
    if format_ == "csv":
        return as_csv(rows, fields_of(pool))
    if format_ == "jsonl":
        return as_json_lines(rows)
    if format_ == "labelstudio":
        return as_label_studio(rows)
    raise LabelError(f"There is no format {format_!r}.")


# -- files and folders -----------------------------------------------------------------------


def write_labels(format_: str, path: Path, record: Record, pool: Pool | None) -> int:
    """Write an export; the number of rows."""
    from ..model.atomic import atomic_write

    counted = _Counted(label_rows(record, pool))
    if format_ == "folders":
        return write_folders(path, record, pool)
    if format_ == "parquet":
        write_parquet(path, counted, pool)
        return counted.n
    makers = {"csv": lambda rows: as_csv(rows, fields_of(pool)), "jsonl": as_json_lines}
    maker = makers.get(format_, as_label_studio)
    with atomic_write(path) as file:
        for piece in maker(counted):
            file.write(piece)
    return counted.n


class _Counted:
    """Rows that are counted as they pass."""

    def __init__(self, rows: Iterable[dict[str, Any]]):
        self._rows, self.n = rows, 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self._rows:
            self.n += 1
            yield row


def write_parquet(path: Path, rows: Iterable[dict[str, Any]], pool: Pool | None) -> None:
    """A Parquet file, written by row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from ..model.atomic import atomic_write

    schema, passing = _schema(pool), iter(rows)
    part = list(islice(passing, BATCH))
    with atomic_write(path) as file, pq.ParquetWriter(file, schema) as writer:
        while True:
            writer.write_table(pa.Table.from_pylist(part, schema))
            part = list(islice(passing, BATCH))
            if not part:
                break


def _schema(pool: Pool | None) -> Any:
    """Columns with their types: those of the source as it has them, whatever the first rows hold."""
    import pyarrow as pa

    from .sources import Rows

    types = {"row": pa.int64()}
    if pool is not None and isinstance(pool.source, Rows):
        types = beside(types, {field.name: field.type for field in pool.source.table.schema})
    types = beside(dict.fromkeys(COLUMNS, pa.string()), types)
    names = [(name, types.get(name, pa.string())) for name in fields_of(pool)]
    return pa.schema([(n, pa.string() if pa.types.is_null(t) else t) for n, t in names])


def write_folders(path: Path, record: Record, pool: Pool | None) -> int:
    """Copies of the images, in a folder for each class."""
    from .sources import ImageFolder

    source = None if pool is None else pool.source
    if pool is None or not isinstance(source, ImageFolder):
        raise LabelError("The format folders is for images only; choose another format.")
    if path.exists() and any(path.iterdir()):
        raise LabelError(f"{str(path)!r} is not empty; name a new folder with -o.")
    rows = [row for row in label_rows(record, pool) if row["label"] is not None]
    places = [(row["id"], path / file_name(row["label"]) / file_name(row["id"])) for row in rows]
    for item, place in places:
        if (
            len(os.fsencode(place.name)) > MOST_BYTES
            or len(os.fsencode(place.parent.name)) > MOST_BYTES
        ):
            raise LabelError(
                f"A folder per class is not possible: {item!r} or its class has a name of more than "
                f"{MOST_BYTES} bytes as the name of a file. Choose another format."
            )
    for item, place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.path(pool.number[item]), place)
    return len(places)


def file_name(name: str) -> str:
    """A class or the id of an item as the name of a file, on any system; ``unquote`` gives it back."""
    plain = re.sub(r'[%/\\:*?"<>|\x00-\x1f]', lambda found: quote(found[0], safe=""), name)
    ends = re.sub(r"^[. ]|[. ]$", lambda found: f"%{ord(found[0]):02X}", plain)
    return f"%{ord(ends[0]):02X}{ends[1:]}" if ends.split(".")[0].upper() in RESERVED else ends
