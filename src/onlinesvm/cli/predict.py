"""``onlinesvm predict``: rows in, one line per row out, in their order."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click
import numpy as np
from sklearn.base import is_classifier

from .lines import line_of
from .mistakes import Mistake, check_writable
from .resuming import check_same_columns
from .sources import reader_for, source_options

EPILOG = """\b
Examples:
  onlinesvm predict model.safetensors new.csv > labels.txt
  zcat new.svm.gz | onlinesvm predict model.safetensors - --scores | head

\b
Each line is the label, then the scores, then the probabilities that were asked for, with tabs
between; both in the order of the classes that info shows. Two classes have one score, which is
positive for the second class. A tab or line break in a label is written \\t or \\n.
"""


@click.command("predict", epilog=EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("source")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Instead of standard output; appears when all rows are done.",
)
@click.option("--scores", is_flag=True, help="Decision values after the label, tab-separated.")
@click.option(
    "--probabilities", is_flag=True, help="Probability of each class; train with --probability."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object per row.")
@click.option("--batch-rows", type=click.IntRange(1), default=2048, show_default=True, metavar="N")
@source_options
def command(model: Path, source: str, output: Path | None, **options: Any) -> None:
    """Predict the label of each row of SOURCE with MODEL: one line per row, in order."""
    from ..model.files import read_model
    from .scoring import Loaded

    if output is not None:
        check_writable(output, inputs=(model, source))
    found = read_model(model)
    _check_columns(found.estimator, model, options)
    check_same_columns(options, found, model)
    reader = reader_for(source, options, found, needs_label=False)
    loaded = Loaded(found.estimator, found.preprocessing)
    with _written(output) as file:
        for X, _ in loaded.blocks(reader, options["batch_rows"]):
            file.write(_lines(found.estimator, X, options))
            file.flush()


def _check_columns(estimator: Any, model: Path, options: dict[str, Any]) -> None:
    """Whether the model has the scores and probabilities that were asked for."""
    name = type(estimator).__name__
    if options["scores"] and not hasattr(estimator, "decision_function"):
        raise Mistake(f"A {name} predicts the value itself; leave out --scores.")
    if not options["probabilities"] or hasattr(estimator, "predict_proba"):
        return
    if hasattr(type(estimator), "predict_proba"):
        raise Mistake(
            f"{str(model)!r} has no probabilities: it was trained without --probability; train "
            "again with it, or leave out --probabilities."
        )
    instead = "use --scores" if is_classifier(estimator) else "leave out --probabilities"
    raise Mistake(f"A {name} has no probabilities; {instead}.")


@contextmanager
def _written(output: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that appears whole."""
    if output is None:
        yield sys.stdout
        return
    from ..model.atomic import atomic_write
    from ..model.errors import not_written

    try:
        with atomic_write(output) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
            yield text
            text.detach()
    except OSError as error:
        raise not_written(output, error) from error


def _lines(estimator: Any, X: Any, options: dict[str, Any]) -> str:
    columns: dict[str, np.ndarray] = {}
    if options["scores"]:
        columns["scores"] = _table(estimator.decision_function(X))
    if options["probabilities"]:
        columns["probabilities"] = estimator.predict_proba(X)
    labels = estimator.predict(X).tolist()
    lines = []
    for row, label in enumerate(labels):
        if options["as_json"]:
            numbers = {name: values[row].tolist() for name, values in columns.items()}
            lines.append(json.dumps({"label": label, **numbers}))
        else:
            numbers_ = [f"{v:.9g}" for values in columns.values() for v in values[row]]
            lines.append("\t".join([line_of(label), *numbers_]))
    return "\n".join([*lines, ""])


def _table(values: np.ndarray) -> np.ndarray:
    return values[:, None] if values.ndim == 1 else values
