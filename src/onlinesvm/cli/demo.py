"""``onlinesvm demo``: a tour of five stops, on a terminal or in a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from .. import __version__
from . import tour
from .streams import Learner, Moment, Result, Stream, digits, portrait, reference, waveform
from .streams import warm_up as warm_up_loops

LINES = 4
"""Lines of progress a stream prints where no bar can be drawn."""

FOOTNOTE = "LASVM sees each row once, block by block; SVC has all rows in memory. Error so far: each block is predicted before it is learned. Times are those of learning only. On the ten digits LASVM learns one machine per class, SVC one for each pair of classes; with only 1,200 rows SVC is faster."

NEXT = (
    ("learn from your own file", "onlinesvm train train.csv --label target -o model.safetensors"),
    ("the same, with automatic kernel, C and gamma", "onlinesvm train train.csv --label target -o model.safetensors --auto"),
    ("label your own images or texts", "onlinesvm label photos/ -o labels.db"),
)  # fmt: skip
"""What to type after the tour."""


class Tour(NamedTuple):
    """What was found at each stop."""

    learners: list[Learner]
    references: list[Result]
    drift: tour.Drift
    why: tour.Why
    interval: tour.Interval
    labels: tour.Labels


def run(folder: Path | None, seed: int) -> None:
    """The whole tour; the picture goes to ``folder``, if there is one."""
    console = Console(highlight=False)
    console.print(f"[bold]onlinesvm {__version__}[/bold], demo with seed {seed}")
    warm_up(console)
    learners, references = one_pass(console, seed)
    found = Tour(
        learners,
        references,
        stop(console, "2. A stream that changes", lambda: tour.drift(seed), say_drift),
        stop(console, "3. Why this answer", lambda: tour.explanation(seed), say_why),
        stop(console, "4. How sure", lambda: tour.interval(seed), say_interval),
        stop(console, "5. Which labels to ask for", lambda: tour.labels(seed), say_labels),
    )
    if folder is not None:
        with waiting(console, "Drawing"):
            path = draw(folder, seed, found)
        console.print(f"\nPicture: {path}", soft_wrap=True)
    console.print("\n[bold]Next[/bold]")
    for what, command in NEXT:
        console.print(f"  {command}\n    [dim]{what}[/dim]", soft_wrap=True)


def warm_up(console: Console) -> None:
    """Compile the loops before any time is measured, and report how long that took."""
    steps: dict[str, Callable[[], Any]] = {
        "one pass": lambda: None,
        "streams": lambda: tour.drift(0, 300),
        "explanations": lambda: tour.explanation(0, 60),
        "intervals": lambda: tour.interval(0, 80),
        "labelling": lambda: tour.labels(0, 60, 12, 2),
    }
    begin, compiled = time.perf_counter(), False
    for number, (name, learn_a_little) in enumerate(steps.items(), 1):
        of = f"{number} of {len(steps)}"
        with waiting(console, f"Compiling the loops, or reading them from disk: {name} ({of})"):
            seconds, new = warm_up_loops(learn_a_little)
        if new and not console.is_terminal:
            console.print(f"Loops of {name} ({of}) compiled in {seconds:.1f} s")
        compiled = compiled or new
    how = "Loops compiled in" if compiled else "Compiled loops read from disk in"
    later = " (in a later run: read from disk)" if compiled else ""
    seconds = time.perf_counter() - begin
    console.print(f"{how} {seconds:.1f} s{later}; not included in the times below.")


def heading(console: Console, text: str) -> None:
    """The name of a stop."""
    console.print(f"\n[bold]{text}[/bold]")


def one_pass(console: Console, seed: int) -> tuple[list[Learner], list[Result]]:
    """The first stop: two sets as streams, next to SVC."""
    heading(console, "1. One pass is enough")
    learners, references = [], []
    for stream in (digits(seed), waveform(seed)):
        learners.append(learn(stream, console))
        with waiting(console, f"{stream.name}: SVC learns the same rows"):
            references.append(reference(stream))
    console.print(table(learners, references))
    console.print(FOOTNOTE, style="dim")
    return learners, references


def stop(console: Console, name: str, find: Callable[[], Any], say: Callable[[Any], str]) -> Any:
    """One of the other stops: compute, then say what was found."""
    heading(console, name)
    with waiting(console, "Learning"):
        found = find()
    console.print(say(found))
    return found


def say_drift(found: tour.Drift) -> str:
    """Report the effect of a change on two kinds of memory."""
    follows, keeps = (100 * found.after(name) for name in (tour.FOLLOWS, tour.KEEPS))
    seen = (
        "was not found"
        if found.found_after is None
        else f"was detected {found.found_after:,} rows later"
    )
    return (
        f"All labels are swapped after {found.n // 2:,} of {found.n:,} rows; with {tour.FOLLOWS} the "
        f"change {seen}.\nError from {tour.RECENT} rows after the change on: {follows:.1f} %, and "
        f"{keeps:.1f} % where nothing is forgotten."
    )


def say_why(found: tour.Why) -> str:
    """The features that made an answer."""
    parts = ", ".join(
        f"{name} {share:+.2f}" for name, share in zip(found.names, found.shares, strict=True)
    )
    return (
        f"A tumour is predicted to be {found.answer}, score {found.score:+.2f}: {parts}, "
        f"all else {found.rest:+.2f}.\nThese are exact Shapley values of the kernel machine, whose "
        f"error on other tumours is {100 * found.error:.1f} %."
    )


def say_interval(found: tour.Interval) -> str:
    """What the intervals hold, and how wide they are."""
    width = found.high - found.low
    return (
        f"Intervals that should hold {100 * tour.COVERAGE:.0f} % of the values hold "
        f"{100 * found.coverage:.1f} % of new ones.\nThey are {width[0]:.2f} wide where values are "
        f"certain and {width[-1]:.2f} where they are not."
    )


def say_labels(found: tour.Labels) -> str:
    """What chosen questions are worth."""
    chosen, drawn = (100 * found.errors[name][-1] for name in ("active", "random"))
    return f"{found.labels[-1]} labels of {found.n_pool:,} digits: test error {chosen:.1f} % if the model chose the questions, {drawn:.1f} % if they were random."


def waiting(console: Console, what: str) -> Any:
    """A spinner on a terminal, nothing in a pipe."""
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


def draw(folder: Path, seed: int, found: Tour) -> Path:
    """Draw the picture."""
    from . import plots

    path = folder / "tour.png"
    plots.draw_tour(found, portrait(seed), path)
    return path
