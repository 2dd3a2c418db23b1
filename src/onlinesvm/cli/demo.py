"""``onlinesvm demo``: what is seen of it on a terminal, or in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from .. import __version__
from .streams import Learner, Moment, Result, Stream, digits, portraits, reference, waveform
from .streams import warm_up as warm_up_loops

LINES = 4
"""Lines of progress a stream prints where no bar can be drawn."""

FOOTNOTE = (
    "LASVM sees each example once, block by block; SVC has all of them at hand. Error so far: each "
    "block is predicted before it is learned. Time is that of learning alone. On the ten digits "
    "LASVM learns one machine per class, SVC one for each pair of classes; a batch of 1,200 rows is "
    "so small that SVC is faster there."
)


def run(folder: Path | None, seed: int) -> None:
    """The whole demo; pictures go to ``folder``, if there is one."""
    console = Console(highlight=False)
    console.print(f"[bold]onlinesvm {__version__}[/bold], demo with seed {seed}")
    warm_up(console)
    learners, references = [], []
    for stream in (digits(seed), waveform(seed)):
        learners.append(learn(stream, console))
        with waiting(console, f"{stream.name}: SVC learns the same rows"):
            references.append(reference(stream))
    console.print()
    console.print(table(learners, references))
    console.print(FOOTNOTE, style="dim")
    if folder is not None:
        for path in draw(folder, seed, learners, references):
            console.print(f"Picture: {path}", soft_wrap=True)


def warm_up(console: Console) -> None:
    """Have the loops ready before any clock runs, and say how long that took."""
    with waiting(console, "Compiling the loops, or reading them from disk"):
        seconds, compiled = warm_up_loops()
    how = "Loops compiled in" if compiled else "Compiled loops read from disk in"
    later = " (in a later run: read from disk)" if compiled else ""
    console.print(f"{how} {seconds:.1f} s{later}; no time below includes it.\n")


def waiting(console: Console, what: str) -> Any:
    """A sign of life on a terminal, nothing in a pipe."""
    return console.status(f"{what} ...") if console.is_terminal else nullcontext()


# -- progress ----------------------------------------------------------------------------------


def learn(stream: Stream, console: Console) -> Learner:
    """Send a stream through LASVM, showing how it goes."""
    learner = Learner(stream)
    with (bar if console.is_terminal else lines)(stream, console) as show:
        for moment in learner.run():
            show(moment)
    return learner


def describe(moment: Moment) -> str:
    """Speed, error so far and size of the model in a few words."""
    speed = moment.seen / max(moment.seconds, 1e-9)
    error = "-" if moment.error_so_far is None else f"{100 * moment.error_so_far:.2f} %"
    return f"{speed:,.0f}/s, error so far {error}, {moment.n_support:,} support vectors"


@contextmanager
def bar(stream: Stream, console: Console) -> Iterator[Any]:
    """A bar that moves."""
    columns = (
        TextColumn("{task.description:8}"),
        BarColumn(bar_width=12),
        TextColumn("{task.completed:,} rows, {task.fields[text]}"),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(stream.name, total=len(stream.y), text="")
        yield lambda moment: progress.update(task, completed=moment.seen, text=describe(moment))


@contextmanager
def lines(stream: Stream, console: Console) -> Iterator[Any]:
    """A few plain lines, for logs and pipes."""
    n = len(stream.y)
    shown = 0

    def show(moment: Moment) -> None:
        nonlocal shown
        if moment.seen * LINES >= (shown + 1) * n:
            shown = moment.seen * LINES // n
            console.print(f"{stream.name}: {moment.seen:,} rows, {describe(moment)}")

    yield show


# -- results -----------------------------------------------------------------------------------


def table(learners: list[Learner], references: list[Result]) -> Table:
    """LASVM next to SVC, two lines a data set."""
    out = Table(header_style="bold", pad_edge=False)
    out.add_column("data")
    out.add_column("model")
    heads = ("test\nerror", "support\nvectors", "kernel\nevaluations", "time", "passes")
    for head in heads:
        out.add_column(head, justify="right")
    for learner, other in zip(learners, references, strict=True):
        stream = learner.stream
        out.add_row(stream.name, *_cells(learner.result()))
        out.add_row(f"{len(stream.y):,} rows", *_cells(other), end_section=True)
    return out


def _cells(result: Result) -> tuple[str, ...]:
    count = result.n_kernel_evaluations
    return (
        result.model,
        f"{100 * result.test_error:.2f} %",
        f"{result.n_support:,}",
        "-" if count is None else f"{count / 1e6:,.1f} M",
        f"{result.seconds:.2f} s",
        result.passes,
    )


def draw(
    folder: Path, seed: int, learners: list[Learner], references: list[Result]
) -> tuple[Path, Path]:
    """Draw both pictures."""
    from ..cli import plots

    curve, boundary = folder / "learning-curve.png", folder / "boundary.png"
    plots.learning_curves(learners, references, curve)
    plots.boundary(portraits(seed), boundary)
    return curve, boundary
