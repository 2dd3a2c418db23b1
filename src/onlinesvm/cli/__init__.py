"""The command line: ``onlinesvm COMMAND``.

A command imports what it needs when it runs, so that ``--help`` and errors appear immediately.
"""

from __future__ import annotations

import errno
import importlib
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..exceptions import OnlineSVMError
from .mistakes import Mistake
from .signals import never_dropped
from .standard_streams import occupy_closed, refuse_closed, show_any_text

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 and the number of the signal."""

EXAMPLE = """\b
Example:
  onlinesvm demo --output pictures --seed 1
"""


LATE = {
    "train": "Learn from a file or a stream.",
    "predict": "Predict the label of each row.",
    "evaluate": "Compare predictions with labels.",
    "info": "Show what is in a model file.",
    "tune": "Find C and gamma.",
    "export": "Write a model for other programs.",
    "label": "Label items on a page that learns from every answer.",
}
"""Commands in modules of their own, which are imported when one of them is asked for."""


PRINTS = ("predict", "evaluate", "info", "tune")
"""Commands that are of no use without standard output."""

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk or quota that has no space left."""


class Commands(click.Group):
    """A group of commands; Ctrl-C and errors that users can correct end with one sentence."""

    output_is_closed = False

    def main(self, *args: Any, **extra: Any) -> Any:
        """The command line, whichever of the standard streams are closed."""
        self.output_is_closed = occupy_closed()
        show_any_text()
        with never_dropped():
            return super().main(*args, **extra)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands, in the order in which they are needed."""
        return [*LATE, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name."""
        if name not in LATE:
            return super().get_command(ctx, name)
        found: click.Command = importlib.import_module(f".{name}", __name__).command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        rows = [
            (name, LATE[name] if name in LATE else self.commands[name].get_short_help_str(60))
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("\nStopped by Ctrl-C; unfinished work was not saved.", err=True)
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:  # the reader of the output has closed it
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
            ctx.exit(0)
        except Exception as error:
            told = sentence(error)
            if told is None:
                raise
            raise Mistake(told) from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command and its arguments; refuses a command that only prints if output is closed."""
        name, found, rest = super().resolve_command(ctx, args)
        to_file = any(each.startswith(("-o", "--output")) for each in rest)
        if self.output_is_closed and name in PRINTS and not to_file:
            refuse_closed(name)
        return name, found, rest


def sentence(error: Exception) -> str | None:
    """The message of an error that the user can correct; None for all others."""
    if isinstance(error, OnlineSVMError):
        return str(error)
    if isinstance(error, MemoryError):
        return (
            "There is not enough memory; use --budget, a smaller --batch-rows, or fewer features."
        )
    if isinstance(error, OSError) and error.errno in _FULL and not error.filename:
        return f"The output cannot be written: {error.strerror}; free disk space, or name another file."
    if isinstance(error, OSError):
        return f"{error.filename or 'A file'} cannot be used: {error.strerror or error}."
    return None


@click.group(cls=Commands, epilog=EXAMPLE, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="onlinesvm", message="%(prog)s %(version)s")
def main() -> None:
    """Kernel support vector machines that learn one example at a time."""
    # Commands report compilation themselves.
    logging.getLogger("onlinesvm").setLevel(logging.WARNING)


@main.command("demo", epilog=EXAMPLE)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("onlinesvm-demo"),
    show_default=True,
    metavar="DIR",
    help="Folder for the picture; created if it does not exist.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Seed for the splits, the order and the generated data.",
)
@click.option("--no-plots", is_flag=True, help="Print the table only, write no file.")
def demo_command(output: Path, seed: int, no_plots: bool) -> None:
    """A tour on built-in data: one pass, drift, explanations, intervals, labels.

    Learns two data sets in one pass and compares with scikit-learn's SVC, follows a stream that
    changes, explains a prediction, predicts intervals, and chooses which examples to label. Prints
    a table and the results, and draws one picture. Needs no input; takes under half a minute once
    the loops are compiled, which the first run does.
    """
    folder = None if no_plots else writable_folder(output)
    from .demo import run

    try:
        run(folder, seed)
    except OSError as error:
        raise Mistake(f"The demo stopped: {error}.") from error


DOCKER = """\b
In a Dockerfile, after the installation:
  RUN onlinesvm warmup LASVMClassifier
"""


@main.command("warmup", epilog=DOCKER)
@click.argument("classes", nargs=-1, metavar="[CLASS]...")
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Number of processes that compile; all cores if not given.",
)
def warmup_command(classes: tuple[str, ...], jobs: int | None) -> None:
    """Compile all loops in advance, so that the first use of a class is fast.

    Names of classes, such as LASVMClassifier, restrict it to these. The compiled loops are stored
    on disk, next to the package, or in the folder that NUMBA_CACHE_DIR names; they are valid for
    this type of processor, this version of the package and this version of Numba. Other users can
    use them, also from a read-only file system. Takes a minute or two for all classes.
    """
    from .warmup import USES, run

    for name in classes:
        if name not in USES:
            known = ", ".join(USES)
            raise click.BadParameter(f"{name!r} is not one of {known}.", param_hint="CLASS")
    run(classes, jobs)


def writable_folder(path: Path) -> Path:
    """The folder, created if necessary; raises an error if it is not writable."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except (FileExistsError, NotADirectoryError) as error:
        raise Mistake(
            f"The output folder {str(path)!r} cannot be created: there is a file of that name. "
            "Choose another with --output."
        ) from error
    except OSError as error:
        raise Mistake(
            f"The output folder {str(path)!r} cannot be written ({error.strerror}). "
            "Choose another with --output."
        ) from error
    return path
