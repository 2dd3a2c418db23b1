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
from scipy import sparse
from sklearn.base import is_classifier

from ..stream.blocks import Block
from ..stream.reader import Reader
from ..stream.training import StreamSettings, Training, teach
from . import algorithms
from .mistakes import Mistake
from .sources import reader_of, source_options

EPILOG = """\b
Example:
  onlinesvm tune train.csv --label target --C 1,10,100 --gamma 0.01,0.1,1
"""

FACTORS = (1 / 16, 1 / 4, 1.0, 4.0)
"""Default gammas, in units of ``gamma="scale"``."""


@dataclass
class Candidate:
    """A pair of settings and how it does."""

    C: float
    gamma: float
    estimator: Any
    rows: int = 0
    mistakes: int = 0
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
        raise Mistake(f"--{option.name} takes positive numbers with commas between, not {text!r}.")
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
    help="Rows of the first round; each one is twice as long as the one before.",
)
@click.option("--batch-rows", type=click.IntRange(1), default=500, show_default=True, metavar="N")
@click.option("--standardize", is_flag=True, help="As in train.")
@click.option(
    "--shuffle-buffer", type=click.IntRange(0), default=0, metavar="ROWS", help="As in train."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True, metavar="N"
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@source_options
def command(source: str, **options: Any) -> None:
    """Find C and gamma for SOURCE by successive halving on one pass over it."""
    each = algorithms.algorithm(options["algorithm"])
    if not {"C", "gamma"} <= set(algorithms.parameters(each)) or not is_classifier(each()):
        raise Mistake(f"{options['algorithm']} is no classifier with C and gamma to tune.")
    reader = reader_of(source, options)
    candidates = Search(each, reader, options).run()
    _tell(source, candidates, options)


class Search:
    """One search."""

    def __init__(self, each: Any, reader: Reader, options: dict[str, Any]):
        self.each, self.options = each, options
        settings = StreamSettings(
            1, options["batch_rows"], options["shuffle_buffer"], options["standardize"],
            options["seed"],
        )  # fmt: skip
        self.stream = Training(None, reader, settings)
        self.candidates: list[Candidate] = []
        self.alive: list[Candidate] = []

    def run(self) -> list[Candidate]:
        """The candidates, best first."""
        length, done = self.options["first_round"], 0
        for block in self.stream.prepared():
            if not self.candidates:
                self._begin(block)
            for candidate in self.alive:
                self._learn(candidate, block)
            done += block.n
            if done >= length:
                length, done = 2 * length, 0
                self._halve()
                if len(self.alive) == 1:
                    break
        else:
            self._judge()
        return sorted(self.candidates, key=lambda c: (-c.rounds, _error(c)))

    def _begin(self, block: Block) -> None:
        gammas = self.options["gamma"] or [factor * scale_of(block.X) for factor in FACTORS]
        for C, gamma in product(self.options["C"] or [0.1, 1.0, 10.0, 100.0], gammas):
            estimator = self.each(C=C, gamma=gamma)
            if "random_state" in estimator.get_params():
                estimator.set_params(random_state=self.options["seed"])
            self.candidates.append(Candidate(C, gamma, estimator))
        self.alive = list(self.candidates)

    def _learn(self, candidate: Candidate, block: Block) -> None:
        if candidate.rows and block.X.shape[1] == candidate.estimator.n_features_in_:
            found = candidate.estimator.predict(block.X)
            candidate.mistakes += int(np.count_nonzero(found != block.y))
            candidate.judged += block.n
        teach(candidate.estimator, block.X, block.y)
        candidate.rows += block.n

    def _judge(self) -> None:
        """The round is over: the errors on its rows; the count begins anew."""
        for candidate in self.alive:
            if candidate.judged:
                candidate.error = candidate.mistakes / candidate.judged
                candidate.rounds += 1
            candidate.mistakes = candidate.judged = 0

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


def _tell(source: str, candidates: list[Candidate], options: dict[str, Any]) -> None:
    best = candidates[0]
    rows = [
        {"C": c.C, "gamma": c.gamma, "rounds": c.rounds, "rows": c.rows, "error": c.error}
        for c in candidates
    ]
    if options["as_json"]:
        click.echo(
            json.dumps({"C": best.C, "gamma": best.gamma, "error": best.error, "table": rows})
        )
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(header_style="bold", pad_edge=False)
    for head in ("C", "gamma", "rounds", "rows", "error in its last round"):
        table.add_column(head, justify="right")
    for c in candidates:
        error = "-" if c.error is None else f"{c.error:.4f}"
        table.add_row(f"{c.C:g}", f"{c.gamma:.4g}", str(c.rounds), f"{c.rows:,}", error)
    Console(highlight=False).print(table)
    label = f" --label {options['label']}" if options["label"] else ""
    click.echo(f"onlinesvm train {source}{label} --C {best.C:g} --gamma {best.gamma:.4g} -o MODEL")
