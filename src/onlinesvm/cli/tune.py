"""``onlinesvm tune``: C and gamma by successive halving, on one shared pass over the data.

All candidates learn the same blocks, each predicted before it is learned. When the rows of a round
are done, the half with the larger error on the rows of that round is dropped, and the next round is
twice as long; so every round costs about the same. The search ends with one candidate, or with the
data.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import product
from typing import Any

import click
import numpy as np
from click.core import ParameterSource
from scipy import sparse
from sklearn.base import is_outlier_detector

from ..stream.blocks import Block
from ..stream.learning import judge, measure_of, teach
from ..stream.opening import name_of
from ..stream.reader import Reader
from ..stream.training import StreamSettings, Training, first_parts
from . import algorithms
from .mistakes import Mistake
from .showing import Reporter
from .sources import NumberRange, command_to_train, reader_of, source_options

EPILOG = """\b
Example:
  onlinesvm tune train.csv --label target --C 1,10,100 --gamma 0.01,0.1,1
  onlinesvm tune train.csv --label target --auto
"""

FACTORS = (1 / 16, 1 / 4, 1.0, 4.0)
"""Default gammas, in units of ``gamma="scale"``."""

UNEQUAL = 100.0
"""How many times as large as another the standard deviation of a column may be without a hint."""

UNPREDICTED = 8
"""Of a source of a single block, one row of so many is learned without being predicted."""


@dataclass
class Candidate:
    """A pair of settings and its results."""

    C: float
    gamma: float
    estimator: Any
    rows: int = 0
    loss: float = 0.0
    judged: int = 0
    error: float | None = None
    rounds: int = 0


def _numbers(_: Any, option: Any, text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = []
    if not values or not all(0 < value < np.inf for value in values):
        raise Mistake(f"--{option.name} takes positive numbers separated by commas, not {text!r}.")
    return values


@click.command("tune", epilog=EPILOG)
@click.argument("source")
@click.option("--algorithm", default="lasvm", show_default=True, metavar="NAME")
@click.option("--C", "C", callback=_numbers, metavar="LIST", help="Default: 0.1,1,10,100.")
@click.option("--gamma", callback=_numbers, metavar="LIST", help="Default: around 'scale'.")
@click.option(
    "--first-round",
    type=click.IntRange(10),
    default=2000,
    show_default=True,
    metavar="ROWS",
    help="Number of rows of the first round; it doubles with each round.",
)
@click.option("--batch-rows", type=click.IntRange(1), default=500, show_default=True, metavar="N")
@click.option("--standardize", is_flag=True, help="As in train.")
@click.option(
    "--shuffle-buffer", type=click.IntRange(0), default=0, metavar="ROWS", help="As in train."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, metavar="N"
)
@click.option(
    "--auto",
    "auto",
    is_flag=True,
    help="Also choose the kernel and feature weights, as train --auto does.",
)
@click.option(
    "--time-limit",
    type=NumberRange(0, min_open=True),
    metavar="SECONDS",
    help="With --auto: how long the race may take. Default: 60.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@source_options
def command(source: str, **options: Any) -> None:
    """Find C and gamma for SOURCE by successive halving on one pass over it.

    With --auto: kernel, C, gamma and feature weights, as with train --auto.
    """
    if options.pop("auto"):
        from .auto import tune_by_race

        _refuse_of_a_stream()
        tune_by_race(source, options)
        return
    if options["time_limit"] is not None:
        raise Mistake("--time-limit needs --auto.")
    each = algorithms.algorithm(options["algorithm"])
    if not {"C", "gamma"} <= set(algorithms.parameters(each)) or is_outlier_detector(each()):
        raise Mistake(
            f"{options['algorithm']} has no C and gamma to tune; choose another --algorithm, such as "
            "lasvm or lasvm-regressor."
        )
    search = Search(each, reader_of(source, options), options)
    stopped = search.run()
    candidates = search.ranked()
    if stopped:
        click.echo("Stopped by Ctrl-C; the table shows the results so far.", err=True)
    _check(source, candidates)
    _tell(source, candidates, search.measure, options)
    if search.unequal is not None:
        click.echo(search.unequal, err=True)
    if stopped:
        raise click.exceptions.Exit(130)


def _refuse_of_a_stream() -> None:
    """Refuse options that would have no effect with ``--auto``."""
    context = click.get_current_context()
    for name in ("C", "gamma", "first_round", "batch_rows", "shuffle_buffer"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            option = name.replace("_", "-")
            raise Mistake(
                f"--auto finds the settings itself, on all rows in memory; leave out --{option}, or --auto."
            )


class Search:
    """One search."""

    def __init__(self, each: Any, reader: Reader, options: dict[str, Any]):
        self.each, self.options = each, options
        settings = StreamSettings(
            1, options["batch_rows"], options["shuffle_buffer"], options["standardize"],
            options["seed"],
        )  # fmt: skip
        self.stream = Training(None, reader, settings)
        self.measure = measure_of(each())
        self.candidates: list[Candidate] = []
        self.alive: list[Candidate] = []
        self.rows = 0
        self.unequal: str | None = None

    def run(self) -> bool:
        """Learn until one candidate or no row is left. Returns whether Ctrl-C ended it."""
        try:
            with Reporter(self.options["as_json"]) as reporter:
                self._rounds(reporter)
        except KeyboardInterrupt:
            self._judge()
            return True
        return False

    def _rounds(self, reporter: Reporter) -> None:
        length, done = self.options["first_round"], 0
        for block in self.stream.prepared():
            if not self.candidates:
                self._begin(block)
            parts = self._first_parts(block) if not self.rows else [block]
            for candidate in self.alive:
                for part in parts:
                    self._learn(candidate, part)
            self.rows, done = self.rows + block.n, done + block.n
            reporter.say(self._described())
            if done >= length:
                length, done = 2 * length, 0
                self._halve()
                if len(self.alive) == 1 and self.alive[0].error is not None:
                    return
        self._judge()

    def ranked(self) -> list[Candidate]:
        """The candidates, best first."""
        return sorted(self.candidates, key=lambda c: (-c.rounds, _error(c)))

    def _begin(self, block: Block) -> None:
        if not self.options["standardize"]:
            self.unequal = _told_scales(block.X, getattr(self.stream.reader, "columns", None))
        gammas = self.options["gamma"] or [factor * scale_of(block.X) for factor in FACTORS]
        for C, gamma in product(self.options["C"] or [0.1, 1.0, 10.0, 100.0], gammas):
            estimator = self.each(C=C, gamma=gamma)
            if "random_state" in estimator.get_params():
                estimator.set_params(random_state=self.options["seed"])
            self.candidates.append(Candidate(C, gamma, estimator))
        self.alive = list(self.candidates)

    def _first_parts(self, block: Block) -> list[Block]:
        """The first block in parts. If it is the only one, few rows are learned before others are predicted."""
        if block.n < self.options["batch_rows"]:
            return first_parts(block, max(1, block.n // UNPREDICTED))
        return first_parts(block)

    def _learn(self, candidate: Candidate, block: Block) -> None:
        if candidate.rows:
            candidate.loss += judge(candidate.estimator, block, self.stream.place) or 0.0
            candidate.judged += block.n
        teach(candidate.estimator, block, self.stream.place)
        candidate.rows += block.n

    def _described(self) -> str:
        judged = [c.loss / c.judged for c in self.alive if c.judged]
        best = f", best {self.measure} of this round {min(judged):.4f}" if judged else ""
        return f"{self.rows:,} rows, {len(self.alive)} of {len(self.candidates)} pairs left{best}"

    def _judge(self) -> None:
        """End of a round: compute the errors on its rows, and reset the counts."""
        for candidate in self.alive:
            if candidate.judged:
                candidate.error = candidate.loss / candidate.judged
                candidate.rounds += 1
            candidate.loss, candidate.judged = 0.0, 0

    def _halve(self) -> None:
        self._judge()
        if any(candidate.error is None for candidate in self.alive):
            return
        self.alive.sort(key=_error)
        for loser in self.alive[(len(self.alive) + 1) // 2 :]:
            loser.estimator = None  # its memory is not needed any more
        self.alive = self.alive[: (len(self.alive) + 1) // 2]


def _error(candidate: Candidate) -> float:
    return np.inf if candidate.error is None else candidate.error


def scale_of(X: Any) -> float:
    """``gamma="scale"`` of these rows."""
    if sparse.issparse(X):
        variance = X.multiply(X).mean() - X.mean() ** 2
    else:
        variance = X.var()
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _told_scales(X: Any, columns: Any) -> str | None:
    """A hint where columns of numbers are of very different scale; sparse rows have no such columns."""
    if sparse.issparse(X):
        return None
    spread = X.std(axis=0)
    varies = spread > 1e-12 * np.abs(
        X.mean(axis=0)
    )  # a constant has rounding errors for a deviation
    spread = spread[varies if columns is None else varies & columns.numeric()]
    if not len(spread) or spread.max() <= UNEQUAL * spread.min():
        return None
    return (
        f"The largest standard deviation of a column is {spread.max() / spread.min():,.0f} times the "
        "smallest, so that few columns decide. Compare with --standardize, which scales them."
    )


def _check(source: str, candidates: list[Candidate]) -> None:
    """Refuse data on which settings cannot be compared."""
    best = candidates[0] if candidates else None
    if best is None or best.error is None:
        raise Mistake(
            f"{name_of(source)} has too few rows to compare settings: no row was predicted before it "
            "was learned; give a smaller --batch-rows, or more rows."
        )
    if len(getattr(best.estimator, "classes_", (0, 1))) < 2:
        raise Mistake(
            f"All rows of {source!r} so far have the same label, so that settings cannot be "
            "compared. Check --label, or shuffle sorted rows with --shuffle-buffer."
        )


def _tell(source: str, candidates: list[Candidate], measure: str, options: dict[str, Any]) -> None:
    best = candidates[0]
    rows = [
        {"C": c.C, "gamma": c.gamma, "rounds": c.rounds, "rows": c.rows, "error": c.error}
        for c in candidates
    ]
    if options["as_json"]:
        facts = {"C": best.C, "gamma": best.gamma, "error": best.error, "measure": measure}
        click.echo(json.dumps({**facts, "table": rows}))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(header_style="bold", pad_edge=False)
    for head in ("C", "gamma", "rounds", "rows", f"{measure} in its last round"):
        table.add_column(head, justify="right")
    for c in candidates:
        error = "-" if c.error is None else f"{c.error:.4f}"
        table.add_row(f"{c.C:g}", f"{c.gamma:.4g}", str(c.rounds), f"{c.rows:,}", error)
    Console(highlight=False).print(table)
    found = {**options, "C": f"{best.C:g}", "gamma": f"{best.gamma:.6g}"}
    names = ("standardize", "shuffle_buffer", "seed", "C", "gamma")
    click.echo(command_to_train(source, found, names))
