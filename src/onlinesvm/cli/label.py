"""``onlinesvm label``: a page that asks about unlabelled items; its labels as files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ..core.runtime.dependencies import check_installed
from .mistakes import Mistake, check_writable
from .sources import NumberRange

EPILOG = """\b
Examples:
  onlinesvm label -o digits.db                      the digits that come with scikit-learn, to try it
  onlinesvm label photos/ -o photos.db --classes cat,dog
  onlinesvm label tickets.csv --text body -o tickets.db
  onlinesvm label export tickets.db -o labels.csv
  onlinesvm label import tickets.db labels.csv
"""

FORMATS = ("csv", "jsonl", "parquet", "labelstudio", "folders")


class Labelling(click.Group):
    """A group whose command without a name is the page."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Arguments that do not begin with a sub command are those of the page."""
        if not args or args[0] not in self.commands:
            args = ["page", *args]
        return super().parse_args(ctx, args)


@click.group("label", cls=Labelling, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Label items on a page that learns from every answer."""
    needed = ("pyarrow", "starlette", "uvicorn", "jinja2", "PIL", "skimage")
    check_installed(needed, "Labelling", "label")


@command.command("page", epilog=EPILOG, short_help="Label on a web page.")
@click.argument("source", required=False, type=click.Path(), metavar="[SOURCE]")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="LABELS.db",
    help="Database of the labels; created if it does not exist, otherwise labelling continues.",
)
@click.option("--text", metavar="COLUMN", help="Column of a table that has the texts.")
@click.option(
    "--classes",
    metavar="A,B,C",
    help="Names of classes, separated by commas; more can be added on the page.",
)
@click.option(
    "--guidelines",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE.md",
    help="Instructions that the page shows.",
)
@click.option(
    "--features",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE.npy",
    help="Embeddings computed elsewhere, one row for each item, in the order of the items.",
)
@click.option(
    "--annotator", metavar="NAME", help="Name of the annotator; the page asks if it is not given."
)
@click.option(
    "--overlap",
    type=NumberRange(0.0, 1.0),
    default=0.0,
    show_default=True,
    help="Share of questions about items that another annotator has answered.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--open/--no-open", "opens", default=True, help="Open the page in a browser.")
def page(
    source: str | None,
    output: Path,
    text: str | None,
    classes: str | None,
    guidelines: Path | None,
    features: Path | None,
    annotator: str | None,
    overlap: float,
    port: int,
    host: str,
    opens: bool,
) -> None:
    """Label the items of SOURCE on a page in the browser.

    SOURCE is a folder of images (PNG, JPEG, WebP), a CSV, Parquet or JSON lines file with a column of
    texts (--text) or with numbers and categories, or nothing: the digits that come with scikit-learn. Each
    answer is saved before the next item is shown, and changes the model that chooses that item.

    The sub commands `onlinesvm label export` and `onlinesvm label import` need no page.
    """  # fmt: skip
    from ..label.opening import Settings, open_session
    from ..label.running import LOOPBACK, bind, run
    from ..label.server import Config

    check_writable(output, inputs=(source, features))
    if output.exists() and not _is_writable(output):
        raise Mistake(f"{str(output)!r} cannot be written; check its permissions.")
    names = [name.strip() for name in (classes or "").split(",") if name.strip()]
    said = "" if guidelines is None else guidelines.read_text(encoding="utf-8", errors="replace")
    if host not in LOOPBACK:
        click.echo(
            f"Warning: {host} may be reachable from other machines. Anybody with the address and "
            "its key can read and change the labels; the connection is not encrypted.",
            err=True,
        )
    with _Progress() as progress:
        settings = Settings(source, output, text, features, names, overlap)
        opened = open_session(settings, progress)
    for message in opened.messages:
        click.echo(message)
    place = bind(host, port)
    if place.is_other:
        click.echo(f"Port {port} is in use; port {place.port} is used instead.")
    session = opened.session
    panel = f"{len(session.source):,} items, {len(session.record.labels):,} labelled"
    click.echo(f"{session.source.name}: {panel}.")
    config = Config(session.source.name, _nonce(), annotator, _user(), said[:200_000])
    try:
        run(session, config, place, opens, _say)
    except KeyboardInterrupt:
        click.echo(
            f"\nStopped; every answer is in {str(output)!r}, and the same command continues.",
            err=True,
        )
        raise click.exceptions.Exit(130) from None
    finally:
        session.journal.close()


def _say(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()


def _nonce() -> str:
    import secrets

    return secrets.token_hex(4)


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _is_writable(path: Path) -> bool:
    try:
        with open(path, "ab"):
            return True
    except OSError:
        return False


class _Progress:
    """A bar for each stage of the preparation on a terminal, a few lines elsewhere."""

    def __enter__(self) -> Any:
        from rich.console import Console
        from rich.progress import Progress

        self._bar = Progress(console=Console(stderr=True), transient=True)
        self._bar.start()
        self._stages: dict[str, Any] = {}
        return self

    def __call__(self, what: str, done: int, of: int) -> None:
        if what not in self._stages:
            self._stages[what] = self._bar.add_task(what, total=of)
            if not self._bar.console.is_terminal:
                click.echo(f"{what[0].upper()}{what[1:]} ...", err=True)
        self._bar.update(self._stages[what], completed=done, total=of)

    def __exit__(self, *error: Any) -> None:
        self._bar.stop()


# -- files ---------------------------------------------------------------------------------------

database = click.argument("database", type=click.Path(path_type=Path), metavar="LABELS.db")
source_option = click.option(
    "--source",
    type=click.Path(),
    help="Folder or file of the items; the one stored in the database if not given.",
)
text_option = click.option("--text", metavar="COLUMN", help="Column of the texts.")


@command.command("export", short_help="Write labels, predictions or the model to a file.")
@database
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FILE")
@click.option(
    "--to",
    "target",
    type=click.Choice(FORMATS),
    help="Format; recognised by the ending of the file if not given.",
)
@click.option(
    "--what",
    type=click.Choice(["labels", "predictions", "model"]),
    default="labels",
    show_default=True,
)
@click.option(
    "--only-labels", is_flag=True, help="Without texts and paths: the source is not read."
)
@source_option
@text_option
def export_command(
    database: Path,
    output: Path,
    target: str | None,
    what: str,
    only_labels: bool,
    source: str | None,
    text: str | None,
) -> None:
    """Write the content of LABELS.db: labels, predictions for all items, or a model file.

    Labels are written as CSV, JSON lines, Parquet, Label Studio's JSON, or a folder of images for each class;
    predictions as CSV or JSON lines.
    """
    from ..label.exporting import as_csv, as_json_lines, format_of, write_labels
    from ..label.modelling import predictions, save_final_model
    from ..label.opening import open_labels, open_session, read_record
    from ..model.atomic import atomic_write

    _check_there(database)
    if target != "folders":
        check_writable(output, inputs=(database,))
    if what == "labels":
        if only_labels:
            record, pool = read_record(database), None
        else:
            record, pool = _opened(open_labels, database, source, text)
        n = write_labels(format_of(output, target), output, record, pool)
        click.echo(f"Written: {output}, {n:,} rows")
        return
    session = _opened(open_session, database, source, text).session
    if what == "model":
        save_final_model(session, output)
        click.echo(f"Written: {output}, {output.stat().st_size:,} bytes")
    else:
        rows = predictions(session)
        first = next(rows)
        both = (row for part in ([first], rows) for row in part)
        is_csv = format_of(output, target) == "csv"
        with atomic_write(output) as file:
            for piece in as_csv(both, list(first)) if is_csv else as_json_lines(both):
                file.write(piece)
        click.echo(f"Written: {output}, {len(session.source):,} rows")


@command.command("import", short_help="Read labels from a file.")
@database
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--from",
    "origin",
    type=click.Choice(FORMATS),
    help="Format; recognised by the ending of the file if not given.",
)
@click.option(
    "--annotator",
    default="import",
    show_default=True,
    help="Annotator of the labels, if the file does not name one.",
)
@source_option
@text_option
def import_command(
    database: Path,
    file: Path,
    origin: str | None,
    annotator: str,
    source: str | None,
    text: str | None,
) -> None:
    """Add the labels of FILE to LABELS.db.

    FILE is what `onlinesvm label export` has written, a table with an id, file, row or text and a
    label in each row, an export of Label Studio, or a folder with a folder of images for each
    class. The database is created if it does not exist; give --source then.
    """
    from ..label.exporting import format_of
    from ..label.importing import import_labels, read_labels
    from ..label.opening import open_session

    format_ = origin or ("folders" if file.is_dir() else format_of(file, None))
    if source is None:
        _check_there(database)
    session = _opened(open_session, database, source, text).session
    rows = read_labels(file, format_)
    n, unknown = import_labels(rows, session.pool, session.journal, annotator, file.name)
    session.journal.close()
    click.echo(f"Read: {file}, {n:,} labels")
    if unknown:
        click.echo(f"{unknown:,} rows refer to items that are not in the source.")


def _check_there(database: Path) -> None:
    from ..label.journal import check_file

    if not check_file(database):
        raise Mistake(f"There is no database {str(database)!r}.")


def _opened(opening: Any, database: Path, source: str | None, text: str | None) -> Any:
    """A database, opened with the source that it knows or that the user names."""
    from ..label.journal import Journal, check_file
    from ..label.opening import Settings

    rows = None
    if check_file(database):
        journal = Journal(database)
        known, column = journal.setting("source"), journal.setting("text")
        rows = journal.setting("features")
        journal.close()
        source, text = source or known, text or column
    features = None if rows is None else Path(rows)
    with _Progress() as progress:
        return opening(Settings(source, database, text, features), progress)
