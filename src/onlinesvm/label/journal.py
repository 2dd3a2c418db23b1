"""The journal of a labelling session: entries that are appended, never changed, in one SQLite file.

    append(drafts, key)      one transaction: all of them are on the disk, or none is
    since(seq)               entries after ``seq``, in order

``append`` returns after the transaction is synchronised to the disk (write-ahead log,
``synchronous=FULL``). A request has a ``key``, which the sender chooses: sent twice, because the
first reply was lost, it is written once. The file contains the journal, the ids of the items, and a
few settings; never a text or an image.

An entry is one line: what was done (``kind``), to which item, with which label, by whom and when, in
which mode of the page, and the prediction of the model before it learned the answer.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from .errors import LabelError, UnsavedError

VERSION = 1
"""Version of the tables; a file with a newer one is not touched."""

APPLICATION = 0x4F53564C
"""SQLite's application id of these files: "OSVL"."""

_HEADER = b"SQLite format 3\x00"

_TABLES = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE items (id TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE journal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    item TEXT,
    label TEXT,
    annotator TEXT NOT NULL,
    at REAL NOT NULL,
    mode TEXT NOT NULL,
    belief TEXT,
    note TEXT,
    data TEXT,
    key TEXT,
    part INTEGER NOT NULL
);
CREATE UNIQUE INDEX requests ON journal (key, part) WHERE key IS NOT NULL;
"""

_COLUMNS = "seq, kind, item, label, annotator, at, mode, belief, note, data, key"


class Draft(NamedTuple):
    """An entry that is not written yet."""

    kind: str
    annotator: str
    item: str | None = None
    label: str | None = None
    mode: str = ""
    belief: Any = None
    note: str | None = None
    data: Any = None
    at: float | None = None


class Entry(NamedTuple):
    """A line of the journal."""

    seq: int
    kind: str
    item: str | None
    label: str | None
    annotator: str
    at: float
    mode: str
    belief: Any
    note: str | None
    data: Any
    key: str | None


def check_file(path: Path) -> bool:
    """Whether the database exists; refuses other files and newer versions, without writing."""
    if not path.exists():
        return False
    if path.is_dir():
        raise LabelError(f"{str(path)!r} is a folder; name a file with -o.")
    with open(path, "rb") as file:
        head = file.read(100)
    if not head:
        return False  # an empty file, as mktemp makes it
    application = int.from_bytes(head[68:72], "big")
    if not head.startswith(_HEADER) or application != APPLICATION:
        raise LabelError(
            f"{str(path)!r} is not a database of `onlinesvm label`; choose another file with -o."
        )
    version = int.from_bytes(head[60:64], "big")
    if version > VERSION:
        raise LabelError(
            f"{str(path)!r} was made by a newer version of onlinesvm (format {version}; this version "
            f"reads up to {VERSION}). Nothing was changed; install the newer version."
        )
    return True


class Journal:
    """The journal of one file; opened for writing, and made if there is none."""

    def __init__(self, path: Path, connect: Any = sqlite3.connect):
        self.path, self._connect = path, connect
        is_new = not check_file(path)
        self._database: sqlite3.Connection | None = None
        try:
            self._open()
            if is_new:
                self._create()
        except sqlite3.Error as error:
            self.close()
            raise LabelError(f"{str(path)!r} cannot be opened: {error}.") from error

    def _open(self) -> None:
        database = self._connect(
            self.path, isolation_level=None, check_same_thread=False, timeout=10.0
        )
        self._database = database
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")

    def _create(self) -> None:
        database = self._ready()
        database.execute("BEGIN IMMEDIATE")
        for statement in _TABLES.split(";\n"):
            if statement.strip():
                database.execute(statement)
        database.execute(f"PRAGMA application_id={APPLICATION}")
        database.execute(f"PRAGMA user_version={VERSION}")
        database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # `check_file` reads the file itself

    def _ready(self) -> sqlite3.Connection:
        if self._database is None:
            self._open()
        assert self._database is not None
        return self._database

    def close(self) -> None:
        """Close the file; it opens again at the next call."""
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
        self._database = None

    # -- entries --------------------------------------------------------------------------

    def append(self, drafts: Sequence[Draft], key: str | None = None) -> None:
        """Write entries in one transaction; they are on the disk when it returns.

        After an error it is not known whether anything was written.
        """
        now = time.time()
        rows = [
            (d.kind, d.item, d.label, d.annotator, now if d.at is None else d.at, d.mode)
            + (_text(d.belief), d.note, _text(d.data), key, part)
            for part, d in enumerate(drafts)
        ]
        self._write(
            "INSERT INTO journal (kind, item, label, annotator, at, mode, belief, note, data, key, "
            "part) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )

    def _write(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """All rows in one transaction. ``IntegrityError``: they were written before."""
        with self._disk("The answer is not saved", "written") as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                database.executemany(statement, rows)
                database.execute("COMMIT")
            except sqlite3.IntegrityError:
                with suppress(sqlite3.Error):
                    database.execute("ROLLBACK")
                raise

    @contextmanager
    def _disk(self, problem: str, done: str) -> Iterator[sqlite3.Connection]:
        """The open file. After an error it is reopened, so that the next call sees its content."""
        try:
            yield self._ready()
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            self.close()
            raise UnsavedError(
                f"{problem}: {self.path} cannot be {done} ({error}). Free disk space or correct "
                "the problem, and answer again."
            ) from error

    def _one(self, statement: str, *values: Any) -> Any:
        """The first row of a query; None if there is none."""
        with self._disk("The saved answers cannot be seen", "read") as database:
            return database.execute(statement, values).fetchone()

    def has(self, key: str) -> bool:
        """Whether a request with this key was written."""
        return self._one("SELECT 1 FROM journal WHERE key = ?", key) is not None

    def last(self) -> int:
        """Number of the last entry; 0 if there is none."""
        return int(self._one("SELECT max(seq) FROM journal")[0] or 0)

    def since(self, seq: int) -> Iterator[Entry]:
        """Entries after ``seq``, in order."""
        statement = f"SELECT {_COLUMNS} FROM journal WHERE seq > ? ORDER BY seq"
        with self._disk("The saved answers cannot be seen", "read") as database:
            for row in database.execute(statement, (seq,)):
                seq, kind, item, label, who, at, mode, belief, note, data, key = row
                said, more = _value(belief), _value(data)
                yield Entry(seq, kind, item, label, who, at, mode, said, note, more, key)

    # -- settings and items ---------------------------------------------------------------

    def setting(self, name: str) -> Any:
        """A setting; None if it was never written."""
        found = self._one("SELECT value FROM settings WHERE name = ?", name)
        return None if found is None else json.loads(found[0])

    def set(self, **settings: Any) -> None:
        """Write settings."""
        rows = [(name, json.dumps(value)) for name, value in settings.items()]
        self._write("INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)", rows)

    def items(self) -> dict[str, str]:
        """Ids of all items that were ever in the source, with the digests of their content."""
        with self._disk("The items cannot be seen", "read") as database:
            return dict(database.execute("SELECT id, digest FROM items"))

    def add_items(self, items: Iterable[tuple[str, str]]) -> None:
        """Store ids and digests; a changed digest replaces the old one."""
        self._write("INSERT OR REPLACE INTO items (id, digest) VALUES (?, ?)", items)


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _value(text: str | None) -> Any:
    return None if text is None else json.loads(text)
