"""``train --auto`` and ``tune --auto``: the race of ``onlinesvm.auto`` on all rows of a source.

Rows are read into memory as the reader makes them: categories are one-hot, gaps in numbers are filled
with the median, and one more feature says where they were. Numbers are standardised, so that the model
file is that of ``train --standardize``: all commands take it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor

from ..auto.learning import Outcome, race_and_learn
from ..auto.showing import race_table
from ..core.runtime.interrupts import clock
from ..stream.blocks import Block, stacked
from ..stream.learning import check_labels, measure_of
from ..stream.reader import Reader
from ..stream.standardising import RunningScale
from ..stream.table import TableReader
from . import algorithms
from .mistakes import Mistake
from .scoring import score_source
from .showing import Reporter
from .sources import command_to_train, reader_of

DEFAULT_LIMIT = 60.0
"""Seconds, where no limit is given."""

MOST_NUMBERS = 2**28
"""Maximum number of numbers in memory: two gigabytes."""

WITHOUT = {
    "epochs": 1, "checkpoint": None, "resume": False, "new_rows": False, "shuffle_buffer": 0,
    "log": None, "plot": None,
}  # fmt: skip
"""Options of a stream, with their defaults: they would have no effect if all rows are in memory."""


class Rows:
    """All rows of a source, standardised, with what later rows need."""

    def __init__(self, reader: Reader):
        parts, count = [], 0
        for block in reader.blocks():
            parts.append(block)
            count += block.n * block.X.shape[1]
            if count > MOST_NUMBERS:
                raise Mistake(
                    f"{reader.name} is too large for --auto, which reads all rows into memory: "
                    "tune on a part of it, and train without --auto."
                )
        if not parts:
            raise Mistake(f"{reader.name} has no rows; name a file with rows to learn from.")
        whole = stacked(parts)
        self.reader, self.y = reader, np.asarray(whole.y)
        columns = getattr(reader, "columns", None)
        self.scale = RunningScale(None if columns is None else columns.numeric())
        self.scale.update(whole.X)
        X: Any = self.scale.apply(whole.X)  # sparse rows are not shifted, here and in ``predict``
        self.X = np.asarray(X.toarray() if sparse.issparse(X) else X, np.float64)

    def preprocessing(self) -> dict[str, Any]:
        """What turns rows of a source into rows of the model."""
        return {"schema": self.reader.schema, "standardize": self.scale.to_json()}


def raced(source: str, options: dict[str, Any]) -> tuple[Rows, Outcome]:
    """Read a source and race on it."""
    begin = clock()
    each = algorithms.algorithm(options["algorithm"])
    given = algorithms.given_parameters(options)
    if given:
        raise Mistake(
            f"--auto finds the settings itself; leave out --{next(iter(given))}, or --auto."
        )
    if each.__name__ not in ("LASVMClassifier", "LASVMRegressor"):
        raise Mistake("--auto supports the algorithms lasvm and lasvm-regressor only.")
    rows = Rows(_reader(source, options))
    has_classes = is_classifier(each())
    check_labels(each(), Block(rows.X, rows.y, 0), rows.reader.place)
    if has_classes and len(np.unique(rows.y)) < 2:
        raise Mistake(
            f"All rows of {rows.reader.name} have the same label; nothing can be learned. Check --label."
        )
    if (rows.X[0] == rows.X).all():
        raise Mistake(
            f"Every feature of {rows.reader.name} has the same value in all rows: nothing can be learned."
        )
    limit = options.get("time_limit") or DEFAULT_LIMIT
    with Reporter(options["as_json"]) as reporter:
        found = race_and_learn(
            each, {"standard": rows.X}, rows.y if has_classes else rows.y.astype(float), has_classes,
            begin=begin, limit=limit, n_jobs=-1, seed=options["seed"], tell=reporter.say,
            cells=False,  # a model file holds one machine
        )  # fmt: skip
    if found.is_cut_short:
        click.echo(found.told(limit), err=True)
    return rows, found


def _reader(source: str, options: dict[str, Any]) -> Reader:
    """The reader of a source, which fills gaps where the user does not say how."""
    reader = reader_of(source, options, needs_label=True)
    if isinstance(reader, TableReader) and reader.options.missing is None:
        reader.options = replace(reader.options, missing="median", missing_indicator=True)
    return reader


def train_by_race(source: str | None, output: Path | None, options: dict[str, Any]) -> None:
    """``train --auto``: race, learn, save, report."""
    from ..model.files import write_model

    if source is None or output is None:
        raise Mistake("--auto needs a SOURCE, and -o MODEL.")
    for name, default in WITHOUT.items():
        if options[name] != default:
            raise Mistake(
                f"--auto reads all rows into memory; leave out --{name.replace('_', '-')}."
            )
    rows, found = raced(source, options)
    model = found.model
    write_model(output, model, preprocessing=rows.preprocessing(), summary={"auto": _facts(found)})
    test = None
    if options["test"] is not None:
        more = dict(options, n_features=model.n_features_in_)
        test = reader_of(options["test"], more, schema=rows.reader.schema, needs_label=True)
    error = score_source(_Trained(model, rows), test)
    _tell_trained(found, rows, output, error, options["as_json"])


class _Trained:
    """A model and its preprocessing, as ``score_source`` asks for them."""

    def __init__(self, estimator: Any, rows: Rows):
        self.estimator, self.preprocessing = estimator, rows.preprocessing


def _facts(found: Outcome) -> dict[str, Any]:
    """What was found, as data."""
    own = found.parameters()
    weights = own.pop("feature_weights")
    facts = {name: value if isinstance(value, str) else float(value) for name, value in own.items()}
    return {
        **facts, "feature_weights": None if weights is None else weights.tolist(),
        "error": found.race.error(found.winner), "learned_from": found.learned_from(),
    }  # fmt: skip


def _tell_trained(
    found: Outcome, rows: Rows, output: Path, error: float | None, as_json: bool
) -> None:
    measure = measure_of(found.model)
    facts = {**_facts(found), "measure": measure, "rows": len(rows.y), "test_error": error}
    if as_json:
        click.echo(json.dumps({**facts, "model": str(output)}))
        return
    click.echo(
        f"{type(found.model).__name__}: {facts['learned_from']}, {_settings(facts)}, {_name(found)} on "
        f"rows not learned {facts['error']:.4f}"
    )
    if error is not None:
        click.echo(f"Test {measure}: {error:.4f}")
    click.echo(f"Model: {output}")


def _name(found: Outcome) -> str:
    return "root mean squared error" if is_regressor(found.model) else "error"


def _settings(facts: dict[str, Any]) -> str:
    words = [f"kernel {facts['kernel']}", f"C {facts['C']:.4g}", f"gamma {facts['gamma']:.4g}"]
    if "epsilon" in facts:
        words.append(f"epsilon {facts['epsilon']:.4g}")
    if facts.get("decision") == "ovo":
        words.append("one-vs-one")
    return ", ".join([*words, "learned weights"] if facts["feature_weights"] else words)


def tune_by_race(source: str, options: dict[str, Any]) -> None:
    """``tune --auto``: race, and show the table."""
    _, found = raced(source, options)
    table = race_table(found.race, found.winner)
    if options["as_json"]:
        lines = [
            dict(zip(table, values, strict=True))
            for values in zip(*map(list, table.values()), strict=True)
        ]
        plain = [
            {name: getattr(v, "item", lambda v=v: v)() for name, v in each.items()}
            for each in lines
        ]
        click.echo(json.dumps({**_facts(found), "table": plain}, default=str))
        return
    from rich.console import Console
    from rich.table import Table

    shown = Table(header_style="bold", pad_edge=False)
    names = ("kernel", "C", "gamma", "rescalings", "rows", "error", "noise", "won")
    for name in names:
        shown.add_column(name, justify="right")
    for values in zip(*(table[name] for name in names), strict=True):
        shown.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in values))
    Console(highlight=False).print(shown)
    click.echo(f"Best: {_settings(_facts(found))}. To learn with it:")
    click.echo(command_to_train(source, {**options, "auto": True}, ("auto", "seed", "time_limit")))
