"""Where items come from: a folder of images, a table with texts, a table of numbers, the digits.

A source identifies its items by number, 0 to n - 1, and by id. The id survives changes of the
source: it is the path of an image within its folder, or a digest of a row's content, so that rows
may move. Content is read from the source whenever it is shown; it is not stored elsewhere.

    ids, digests       of all items; equal digests mean equal content
    content(i)         what the page shows: {"kind": "text" | "image" | "row", ...}
    image(i)           bytes and media type of an image
    search(words)      numbers of the items that contain the words
    mark()             changes when the source does; cheap
    left_out           items that could not be read, with the reason
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from .errors import LabelError

Progress = Callable[[str, int, int], None]
"""Called with what is done, how much of it, and of how much."""

IMAGES = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}
"""Endings of image files, with Pillow's names of their formats."""

MEDIA = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}

MOST_PIXELS = 50_000_000
"""Largest image that is opened, in pixels."""

MOST_BYTES = 64 * 2**20
"""Largest image file."""

TABLES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet",
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
}  # fmt: skip

MOST_FOUND = 200
"""Search results, at most."""


class Source(Protocol):
    """The items of a session."""

    kind: str
    name: str
    ids: list[str]
    digests: list[str]
    left_out: list[tuple[str, str]]

    def __len__(self) -> int: ...
    def mark(self) -> list[Any]:
        """A value that changes when the items do."""

    def content(self, i: int) -> dict[str, Any]:
        """What the page shows of an item."""

    def image(self, i: int) -> tuple[bytes, str]:
        """An image and its media type."""

    def search(self, words: str) -> list[int]:
        """Items that contain the words."""

    def row(self, i: int) -> dict[str, Any]:
        """What an export contains about an item besides its label."""


def digest_of(data: bytes) -> str:
    """A short digest; equal for equal content only."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def numbered(digests: Sequence[str]) -> list[str]:
    """Ids of rows by their content; the second row with equal content has "-2" at the end."""
    seen: dict[str, int] = {}
    ids = []
    for digest in digests:
        count = seen[digest] = seen.get(digest, 0) + 1
        ids.append(digest if count == 1 else f"{digest}-{count}")
    return ids


def beside(row: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """A row with what the source says; columns of it with the same names get "source_" in front."""
    return row | {f"source_{name}" if name in row else name: v for name, v in source.items()}


def open_source(path: str | None, text: str | None = None) -> Source:
    """The source that the command line names; None: the digits."""
    if path is None:
        if text is not None:
            raise LabelError("--text is for tables; name a CSV, Parquet or JSON lines file.")
        return Digits()
    place = Path(path)
    if not place.exists():
        raise LabelError(f"There is no file or folder {path!r}.")
    if place.is_dir():
        if text is not None:
            raise LabelError(f"--text is for tables; {path!r} is a folder of images.")
        return ImageFolder(place)
    ending = next((s for s in reversed(place.suffixes) if s.lower() in TABLES), "").lower()
    if not ending:
        known = ", ".join(dict.fromkeys(TABLES.values()))
        raise LabelError(f"{path!r} is neither a folder of images nor a table; tables are {known}.")
    return Texts(place, TABLES[ending], text) if text is not None else Rows(place, TABLES[ending])


# -- images ----------------------------------------------------------------------------------


class ImageFolder:
    """Image files of a folder and its folders, in the order of their paths."""

    kind = "images"

    def __init__(self, folder: Path):
        self.folder = folder.resolve()
        self.name = folder.name or str(folder)
        self.left_out: list[tuple[str, str]] = []
        self._listing = self._found()
        if not self._listing:
            raise LabelError(
                f"{str(folder)!r} has no PNG, JPEG or WebP files; name a folder that has some."
            )
        self.ids = [name for name, _, _ in self._listing]
        self.digests = ["" for _ in self.ids]
        self.places = np.arange(len(self.ids))  # in the listing, of the files that can be read

    def _found(self) -> list[tuple[str, int, int]]:
        """Relative path, size and time of each file; symbolic links are not followed."""
        out = []
        for root, folders, files in os.walk(self.folder, followlinks=False):
            folders[:] = sorted(f for f in folders if not f.startswith("."))
            for file in files:
                if Path(file).suffix.lower() not in IMAGES or file.startswith("."):
                    continue
                path = os.path.join(root, file)
                facts = os.lstat(path)
                name = os.path.relpath(path, self.folder).replace(os.sep, "/")
                if not stat.S_ISREG(facts.st_mode):
                    self.left_out.append((_printable(name), "a symbolic link or special file"))
                elif _printable(name) != name:  # neither the database nor the page could hold it
                    self.left_out.append((_printable(name), "its name is not UTF-8; rename it"))
                else:
                    out.append((name, facts.st_size, facts.st_mtime_ns))
        return sorted(out)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def n_listed(self) -> int:
        """Files found, those that cannot be read included."""
        return len(self._listing)

    def mark(self) -> list[Any]:
        """Paths, sizes and times of all files."""
        return ["images", self._listing]

    def keep(self, places: np.ndarray, digests: list[str], left_out: list[tuple[str, str]]) -> None:
        """Leave out what could not be read."""
        self.places = places
        self.ids = [self._listing[k][0] for k in places.tolist()]
        self.digests = digests
        self.left_out = left_out
        if not self.ids:
            raise LabelError(f"None of the images in {str(self.folder)!r} can be read.")

    def path(self, i: int) -> Path:
        """The file of an item."""
        return self.folder / self.ids[i]

    def content(self, i: int) -> dict[str, Any]:
        """An image by its number; the page fetches it."""
        return {"kind": "image", "name": self.ids[i]}

    def image(self, i: int) -> tuple[bytes, str]:
        """The file as it is, if it still is a regular file in the folder."""
        return read_image(self.path(i), self.folder)

    def search(self, words: str) -> list[int]:
        """Files whose path contains the words."""
        wanted = words.casefold()
        return [i for i, name in enumerate(self.ids) if wanted in name.casefold()][:MOST_FOUND]

    def row(self, i: int) -> dict[str, Any]:
        """The path."""
        return {"file": self.ids[i]}


def _printable(name: str) -> str:
    """A path with bytes that are no UTF-8 written as numbers."""
    return name.encode("utf-8", "backslashreplace").decode()


def read_image(path: Path, folder: Path) -> tuple[bytes, str]:
    """Bytes and media type of an image within ``folder``, checked before a pixel is decoded."""
    from PIL import Image

    if path.is_symlink() or not path.resolve().is_relative_to(folder):
        raise LabelError("The file is outside the folder.")
    if path.stat().st_size > MOST_BYTES:
        raise LabelError(f"The file is larger than {MOST_BYTES // 2**20} MiB.")
    data = path.read_bytes()
    try:
        with Image.open(io.BytesIO(data), formats=list(MEDIA)) as image:
            format_, (width, height) = image.format, image.size
    except Image.DecompressionBombError as error:
        raise LabelError(f"The image has more than {MOST_PIXELS:,} pixels.") from error
    except Exception as error:
        raise LabelError(f"not a PNG, JPEG or WebP image ({type(error).__name__})") from error
    if width * height > MOST_PIXELS:
        raise LabelError(f"{width} x {height} is more than {MOST_PIXELS:,} pixels")
    return data, MEDIA[str(format_)]


# -- tables ----------------------------------------------------------------------------------


AT_ONCE = 10_000
"""Texts that are turned into strings together."""

BLOCK = 16 * 2**20
"""Bytes of a table that are parsed at once."""


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Errors of PyArrow as one sentence."""
    import pyarrow as pa

    from ..stream.errors import one_line

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise LabelError(f"{str(path)!r} cannot be read as {kind}: {one_line(error)}.") from error


def read_table(path: Path, kind: str, text: str | None = None) -> Any:
    """A table of PyArrow: all columns, or the one with the texts, exactly as they are written.

    PyArrow infers types from what is written: without ``text`` "007" may become 7, a date another
    spelling of it, and "NA" a gap.
    """
    with _reading(path, kind):
        if text is not None:
            _check_column(path, _column_names(path, kind), text)
        if kind == "parquet":
            import pyarrow.parquet as pq

            return pq.read_table(path, columns=None if text is None else [text])
        if kind == "jsonl":
            return _read_json(path, text)
        import pyarrow.csv as pc

        convert = pc.ConvertOptions(strings_can_be_null=True)
        if text is not None:
            convert = pc.ConvertOptions(column_types={text: "string"}, include_columns=[text])
        return pc.read_csv(path, pc.ReadOptions(block_size=BLOCK), _parsing(kind), convert)


def _parsing(kind: str) -> Any:
    import pyarrow.csv as pc

    return pc.ParseOptions(delimiter="\t" if kind == "tsv" else ",", newlines_in_values=True)


def _column_names(path: Path, kind: str) -> list[str] | None:
    """Names of the columns; None where only reading everything would tell."""
    if kind == "parquet":
        import pyarrow.parquet as pq

        return list(pq.read_schema(path).names)
    if kind == "jsonl":
        return None
    import pyarrow.csv as pc

    with pc.open_csv(path, pc.ReadOptions(block_size=BLOCK), _parsing(kind)) as reader:
        return list(reader.schema.names)


def _check_column(path: Path, names: list[str] | None, text: str) -> None:
    if names is not None and text not in names:
        raise LabelError(f"{str(path)!r} has no column {text!r}; it has {', '.join(names)}.")
    if names is not None and names.count(text) > 1:
        raise LabelError(f"{str(path)!r} has several columns {text!r}; give them other names.")


def _read_json(path: Path, text: str | None) -> Any:
    import pyarrow as pa
    import pyarrow.json as pj

    options = pj.ReadOptions(block_size=BLOCK)
    if text is None:
        return pj.read_json(path, options)
    schema = pa.schema([(text, pa.string())])
    found = pj.read_json(
        path, options, pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    )
    if found[text].null_count == len(found):  # perhaps there is no such column: say which there are
        _check_column(path, pj.read_json(path, options).column_names, text)
    return found


class _Table:
    """What tables of texts and of numbers share."""

    digests: list[str]

    def __init__(self, path: Path, kind: str, text: str | None = None):
        self.path, self.name = path, path.name
        self.table_kind = kind
        self.left_out: list[tuple[str, str]] = []
        self.table = read_table(path, kind, text).combine_chunks()
        if self.table.num_rows == 0:
            raise LabelError(f"{str(path)!r} has no rows.")
        for name in self.table.column_names:
            _check_column(path, self.table.column_names, name)

    def mark(self) -> list[Any]:
        """Size and time of the file, and the columns."""
        facts = self.path.stat()
        return [self.table_kind, facts.st_size, facts.st_mtime_ns, self.table.column_names]

    def image(self, i: int) -> tuple[bytes, str]:
        """Raise ``RefusedError``: rows have no image."""
        raise LabelError("This item has no image.")


class Texts(_Table):
    """The texts of one column; rows without text are left out."""

    kind = "text"

    def __init__(self, path: Path, kind: str, column: str):
        super().__init__(path, kind, column)
        import pyarrow as pa
        import pyarrow.compute as pc

        self.column = column
        with _reading(path, kind):
            texts = self.table[column].cast(pa.string())
        empty = pc.or_kleene(texts.is_null(), pc.equal(pc.utf8_trim_whitespace(texts), ""))
        there = ~pc.fill_null(empty, True).to_numpy(zero_copy_only=False)
        self.places = np.flatnonzero(there)
        self.left_out = [(f"row {k + 1}", "no text") for k in np.flatnonzero(~there).tolist()]
        if not len(self.places):
            raise LabelError(f"Column {column!r} of {str(path)!r} has no text.")
        self.texts = texts.take(pa.array(self.places)).combine_chunks()
        if isinstance(self.texts, pa.ChunkedArray):
            self.texts = self.texts.chunk(0)
        self.digests = [digest_of(_plain(t).encode()) for t in _each(self.texts)]
        exact = [digest_of(t.encode()) for t in _each(self.texts)]
        self.ids = numbered(exact)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def n_listed(self) -> int:
        """Rows of the file, those without text included."""
        return int(self.table.num_rows)

    def mark(self) -> list[Any]:
        """As of the table, with the column."""
        return [*super().mark(), self.column]

    def text(self, i: int) -> str:
        """The text of an item."""
        return str(self.texts[i].as_py())

    def content(self, i: int) -> dict[str, Any]:
        """The text."""
        return {"kind": "text", "text": self.text(i), "name": f"row {self.places[i] + 1}"}

    def search(self, words: str) -> list[int]:
        """Texts that contain the words, whatever their case."""
        import pyarrow.compute as pc

        found = pc.match_substring(self.texts, words, ignore_case=True)
        return np.flatnonzero(found.to_numpy(zero_copy_only=False))[:MOST_FOUND].tolist()

    def row(self, i: int) -> dict[str, Any]:
        """Row number and text."""
        return {"row": int(self.places[i]) + 1, "text": self.text(i)}


def _each(texts: Any) -> Iterator[str]:
    """The texts of an array one by one; all of them as strings would take several times its memory."""
    for first in range(0, len(texts), AT_ONCE):
        yield from texts.slice(first, AT_ONCE).to_pylist()


def _plain(text: str) -> str:
    """A text without differences in case and spaces."""
    return " ".join(text.casefold().split())


LOOKS_LIKE_TEXT = 30
"""Mean number of characters from which a column of distinct values looks like text."""


class Rows(_Table):
    """Rows of numbers and categories."""

    kind = "numbers"

    def __init__(self, path: Path, kind: str):
        super().__init__(path, kind)
        self._check_no_text()
        self.places = np.arange(self.table.num_rows)
        self.digests = [digest_of(repr(row).encode()) for row in self._rows()]
        self.ids = numbered(self.digests)

    def _check_no_text(self) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        for name in self.table.column_names:
            column = self.table[name]
            if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
                continue
            mean = pc.mean(pc.utf8_length(column)).as_py() or 0.0
            distinct = pc.count_distinct(column).as_py()
            if mean >= LOOKS_LIKE_TEXT and 2 * distinct > len(column):
                raise LabelError(
                    f"Column {name!r} of {str(self.path)!r} looks like text; label it with "
                    f"--text {name}."
                )

    def _rows(self) -> Any:
        columns = [self.table[name].to_pylist() for name in self.table.column_names]
        return zip(*columns)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    @property
    def n_listed(self) -> int:
        """Rows of the file."""
        return len(self)

    def content(self, i: int) -> dict[str, Any]:
        """Names and values."""
        cells = [[name, _shown(value)] for name, value in self._cells(i)]
        return {"kind": "row", "cells": cells, "name": f"row {i + 1}"}

    def _cells(self, i: int) -> list[tuple[str, Any]]:
        names = self.table.column_names
        return [(name, self.table[name][i].as_py()) for name in names]

    def search(self, words: str) -> list[int]:
        """Rows of which a value contains the words."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = np.zeros(len(self), bool)
        for name in self.table.column_names:
            try:
                text = self.table[name].cast(pa.string())
            except pa.ArrowException:
                continue
            match = pc.fill_null(pc.match_substring(text, words, ignore_case=True), False)
            found |= match.to_numpy()
        return np.flatnonzero(found)[:MOST_FOUND].tolist()

    def row(self, i: int) -> dict[str, Any]:
        """Row number and values."""
        return beside({"row": i + 1}, dict(self._cells(i)))


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


# -- digits ----------------------------------------------------------------------------------


class Digits:
    """The 1,797 handwritten digits that come with scikit-learn, to try the page at once."""

    kind = "digits"
    name = "digits"

    def __init__(self) -> None:
        from sklearn.datasets import load_digits

        self.X = load_digits().data
        self.ids = [f"digit-{i + 1:04d}" for i in range(len(self.X))]
        self.digests = [digest_of(row.tobytes()) for row in self.X]
        self.left_out: list[tuple[str, str]] = []
        self.places = np.arange(len(self.X))

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_listed(self) -> int:
        """All of them."""
        return len(self.X)

    def mark(self) -> list[Any]:
        """They never change."""
        return ["digits"]

    def content(self, i: int) -> dict[str, Any]:
        """An image by its number."""
        return {"kind": "image", "name": self.ids[i]}

    def image(self, i: int) -> tuple[bytes, str]:
        """The digit, dark on light, enlarged."""
        from PIL import Image

        framed = np.pad(self.X[i].reshape(8, 8), 1)
        pixels = (255 - framed * (255 / 16)).clip(0, 255).astype(np.uint8)
        out = io.BytesIO()
        image = Image.fromarray(pixels).resize((240, 240), Image.Resampling.BICUBIC)
        image.save(out, "PNG")
        return out.getvalue(), "image/png"

    def search(self, words: str) -> list[int]:
        """Items whose name contains the words."""
        return [i for i, name in enumerate(self.ids) if words in name][:MOST_FOUND]

    def row(self, i: int) -> dict[str, Any]:
        """Nothing beside the id."""
        return {}
