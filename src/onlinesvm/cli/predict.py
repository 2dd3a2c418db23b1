"""``onlinesvm predict``: rows in, one line per row out, in their order."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

import click
import numpy as np

from .mistakes import Mistake, check_writable
from .sources import reader_for, source_options

EPILOG = """\b
Examples:
  onlinesvm predict model.safetensors new.csv > labels.txt
  zcat new.svm.gz | onlinesvm predict model.safetensors - --scores | head
"""


@click.command("predict", epilog=EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("source")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Not stdout.")
@click.option("--scores", is_flag=True, help="Decision values after the label, tab-separated.")
@click.option("--probabilities", is_flag=True, help="Probabilities, if the model has them.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per row.")
@click.option("--batch-rows", type=click.IntRange(1), default=2048, show_default=True, metavar="N")
@source_options
def command(model: Path, source: str, output: Path | None, **options: Any) -> None:
    """Predict the label of each row of SOURCE with MODEL: one line per row, in order."""
    from ..model.files import read_model
    from .scoring import Loaded

    if output is not None:
        check_writable(output)
    found = read_model(model)
    estimator = found.estimator
    for flag, method in (("scores", "decision_function"), ("probabilities", "predict_proba")):
        if options[flag] and not hasattr(estimator, method):
            raise Mistake(f"{type(estimator).__name__} has no {flag}; leave out --{flag}.")
    reader = reader_for(source, options, found, needs_label=False)
    loaded = Loaded(estimator, found.preprocessing)
    place: Any = nullcontext(sys.stdout) if output is None else output.open("w", encoding="utf-8")
    with place as file:
        for X, _ in loaded.blocks(reader, options["batch_rows"]):
            _write(file, estimator, X, options)
            file.flush()


def _write(file: IO[str], estimator: Any, X: Any, options: dict[str, Any]) -> None:
    columns: dict[str, np.ndarray] = {}
    if options["scores"]:
        columns["scores"] = _table(estimator.decision_function(X))
    if options["probabilities"]:
        columns["probabilities"] = _table(estimator.predict_proba(X))
    labels = estimator.predict(X).tolist()
    for row, label in enumerate(labels):
        if options["as_json"]:
            numbers = {name: values[row].tolist() for name, values in columns.items()}
            file.write(json.dumps({"label": label, **numbers}) + "\n")
        else:
            numbers_ = [f"{v:.9g}" for values in columns.values() for v in values[row]]
            file.write("\t".join([str(label), *numbers_]) + "\n")


def _table(values: np.ndarray) -> np.ndarray:
    return values[:, None] if values.ndim == 1 else values
