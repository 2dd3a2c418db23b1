"""Open a session from a source and a database, with messages for the user."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from .errors import LabelError
from .features import groups_of, prepare
from .journal import Journal, check_file
from .pool import Pool
from .record import Record
from .session import Session
from .sources import Progress, Source, open_source

SHOWN = 5
"""Number of items listed in a message; the others are counted."""


@dataclass
class Settings:
    """Settings of a session from the command line."""

    source: str | None
    database: Path
    text: str | None = None
    features: Path | None = None
    classes: Sequence[str] = ()
    overlap: float = 0.0


@dataclass
class Opened:
    """A session, and messages for the user."""

    session: Session
    messages: list[str] = field(default_factory=list)


def quiet(what: str, done: int, of: int) -> None:
    """No progress display."""


def open_session(settings: Settings, progress: Progress = quiet) -> Opened:
    """Open or create the database of a source; after an error both are unchanged."""
    exists = check_file(settings.database)
    source = open_source(settings.source, settings.text)
    if exists:
        with closing(Journal(settings.database)) as known:
            _check_kind(known, source)
    prepared = prepare(source, settings.database, settings.features, progress)
    journal = Journal(settings.database)
    try:
        messages = _reconciled(journal, source)
        where = None if settings.source is None else str(Path(settings.source).resolve())
        rows = None if settings.features is None else str(settings.features.resolve())
        journal.set(source=where, text=settings.text, features=rows)
        session = Session(source, prepared, journal, settings.classes, settings.overlap)
    except BaseException:
        journal.close()
        raise
    return Opened(session, _left_out(source) + messages + _vanished(session))


def read_record(database: Path) -> Record:
    """The labels of a database."""
    record = Record()
    with closing(Journal(database)) as journal:
        for entry in journal.since(0):
            record.apply(entry)
    return record


def open_labels(settings: Settings, progress: Progress = quiet) -> tuple[Record, Pool]:
    """The labels of a database with their items, without a model: features are not read."""
    source = open_source(settings.source, settings.text)
    with closing(Journal(settings.database)) as journal:
        _check_kind(journal, source)
    group = groups_of(source, settings.database, settings.features, progress)
    return read_record(settings.database), Pool(source, group)


def _check_kind(journal: Journal, source: Source) -> None:
    kind = journal.setting("kind")
    if kind is not None and kind != source.kind:
        raise LabelError(
            f"{str(journal.path)!r} has labels of another source ({kind}, not {source.kind}). Nothing "
            "was changed; choose another file with -o."
        )


def _reconciled(journal: Journal, source: Source) -> list[str]:
    """Store new items; refuse a database of another source."""
    mark = hashlib.blake2b(digest_size=16)
    for name, digest in zip(source.ids, source.digests):
        mark.update(f"{name}\t{digest}\n".encode())
    if journal.setting("items") == mark.hexdigest():
        return []
    known = journal.items()
    new = [pair for pair in zip(source.ids, source.digests) if known.get(pair[0]) != pair[1]]
    messages = []
    if known:
        added = sum(name not in known for name, _ in new)
        common, changed = len(source) - added, len(new) - added
        if common == 0 or (source.kind == "images" and 2 * changed > common):
            raise LabelError(
                f"{str(journal.path)!r} has labels of another source: none, or few, of its items are "
                f"in {source.name!r}. Nothing was changed; choose another file with -o."
            )
        if added:
            messages.append(f"{added:,} new items were added to the pool.")
        if changed:
            messages.append(f"The content of {changed:,} items has changed; their labels are kept.")
    journal.add_items(new)
    journal.set(kind=source.kind, items=mark.hexdigest())
    return messages


def _vanished(session: Session) -> list[str]:
    record, number = session.record, session.pool.number
    gone = [item for item in [*record.labels, *record.aside] if item not in number]
    if not gone:
        return []
    return [f"{len(gone):,} answered items are no longer in the source; their answers are kept."]


def _left_out(source: Source) -> list[str]:
    if not source.left_out:
        return []
    named = "; ".join(f"{name}: {why}" for name, why in source.left_out[:SHOWN])
    rest = len(source.left_out) - SHOWN
    more = f"; and {rest:,} more" if rest > 0 else ""
    return [f"{len(source.left_out):,} items are left out ({named}{more})."]
