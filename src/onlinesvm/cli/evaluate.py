"""``onlinesvm evaluate``: error, confusion matrix and a table per class; deviations; outliers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.base import is_classifier, is_outlier_detector

from ..estimators.classifier import scores_and_labels
from ..estimators.probabilities import has_probabilities
from ..stream.blocks import Block
from ..stream.errors import shortened
from ..stream.learning import Place, located
from ..stream.opening import is_standard_input, name_of, open_source
from ..stream.table import TableReader
from .lines import labels_of
from .measures import Deviations, Pair, Ranking, confusion, counts_of, of_classes, of_outliers
from .mistakes import Mistake, check_writable
from .resuming import check_same_columns
from .sources import reader_for, reader_of, source_options

EPILOG = """\b
Examples:
  onlinesvm evaluate model.safetensors test.csv --label target --json
  onlinesvm predict model.safetensors test.csv | \\
      onlinesvm evaluate --predictions - test.csv --label target
"""

CLASSES, VALUES, OUTLIERS = "classes", "values", "outliers"


@click.command("evaluate", epilog=EPILOG)
@click.argument("arguments", nargs=-1, metavar="[MODEL] SOURCE")
@click.option("--predictions", metavar="FILE", help="Output of predict, instead of a model.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="PNG",
    help="Confusion matrix, or predicted against true values.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@source_options
def command(arguments: tuple[str, ...], predictions: str | None, **options: Any) -> None:
    """Compare the predictions of MODEL with the labels of SOURCE.

    Classifiers: error, AUC, log loss (of models with probabilities), confusion matrix, precision and
    recall. Regressors: mean absolute and squared
    errors, R2. One-class models: how many rows are flagged as outliers; a label is not needed, but
    labels 1 and -1 are compared with the predictions.
    """
    expected = 1 if predictions is not None else 2
    if len(arguments) != expected:
        needs = "SOURCE alone" if predictions is not None else "MODEL and SOURCE"
        names = " ".join(arguments) or "nothing"
        raise Mistake(f"evaluate takes {needs}, but got {names}.")
    if options["plot"] is not None:
        check_writable(options["plot"], "--plot", (*arguments, predictions))
    if predictions is not None:
        (pairs, task), ranking = _of_lines(predictions, arguments[0], options), None
    else:
        pairs, task, ranking = _of_model(arguments[0], arguments[1], options)
    tell = {CLASSES: _tell_classes, VALUES: _tell_values, OUTLIERS: _tell_outliers}[task]
    tell(pairs, options, ranking)


Pairs = Iterator[Pair]


def _of_model(
    model: str, source: str, options: dict[str, Any]
) -> tuple[Pairs, str, Ranking | None]:
    """True and predicted labels of each block, the task, and what ranks the rows by their scores."""
    from ..model.files import read_model
    from .scoring import Loaded

    found = read_model(model)
    estimator = found.estimator
    task = CLASSES if is_classifier(estimator) else VALUES
    if is_outlier_detector(estimator):
        task = OUTLIERS
    check_same_columns(options, found, model)
    reader = reader_for(source, options, found, needs_label=task != OUTLIERS)
    loaded = Loaded(estimator, found.preprocessing)
    blocks = loaded.blocks(reader)
    if task == CLASSES and len(estimator.classes_) > 1:
        ranking = Ranking(estimator.classes_.tolist())
        return _ranked(estimator, blocks, reader.place, ranking), task, ranking
    return _predicted(estimator, blocks, reader.place), task, None


def _predicted(estimator: Any, blocks: Iterator[Block], place: Place) -> Pairs:
    """The pairs of a model that has no scores to rank."""
    for block in blocks:
        with located(block, place):
            found = estimator.predict(block.X).tolist()
        yield [None] * block.n if block.y is None else block.y.tolist(), found


def _ranked(estimator: Any, blocks: Iterator[Block], place: Place, ranking: Ranking) -> Pairs:
    """The pairs of a classifier; labels follow from the scores, which are computed once."""
    sure = has_probabilities(estimator)
    for block in blocks:
        assert block.y is not None
        with located(block, place):
            scores, labels = scores_and_labels(estimator, block.X)
            proba = estimator.predict_proba(block.X) if sure else None
        truth = block.y.tolist()
        ranking.add(truth, scores, proba)
        yield truth, labels.tolist()


def _of_lines(predictions: str, source: str, options: dict[str, Any]) -> tuple[Pairs, str]:
    """The same of lines that ``predict`` has written; numbers with fractions are values."""
    if is_standard_input(predictions) and is_standard_input(source):
        raise Mistake("Predictions and SOURCE cannot both come from standard input; name a file.")
    pairs = _read_lines(predictions, source, options)
    first = next(pairs)
    numbers = [v for part in first for v in part if isinstance(v, float)]
    task = VALUES if any(v != round(v) for v in numbers) else CLASSES
    return chain([first], pairs), task


def _read_lines(predictions: str, source: str, options: dict[str, Any]) -> Pairs:
    reader = reader_of(source, options)
    if isinstance(reader, TableReader):
        reader.reads_features = False  # what the model replaced or ignored is no mistake here
    with open_source(predictions) as lines:
        text = iter(lines)
        for block in reader.blocks():
            assert block.y is not None
            y = block.y.tolist()
            part = list(islice(text, len(y)))
            if len(part) < len(y):
                raise Mistake(
                    f"There are fewer predictions ({block.first + len(part):,}) than rows in "
                    f"{source!r}; predict the same file."
                )
            yield y, labels_of(part, y, name_of(predictions), block.first)
        if next(text, b"").strip():
            raise Mistake(
                f"There are more predictions than rows in {source!r}; predict the same file."
            )


def _tell_values(pairs: Pairs, options: dict[str, Any], _: Ranking | None) -> None:
    sums, kept = Deviations(), Sample(options["plot"] is not None)
    for truth, found in pairs:
        try:
            sums.add(truth, found)
        except ValueError:
            raise Mistake(
                "The labels are not numbers, but the predictions are; check --label, or use the "
                "predictions for this file."
            ) from None
        kept.add(truth, found)
    result = sums.result()
    if options["plot"] is not None:
        from .curves import draw_values

        draw_values(options["plot"], np.array(kept.points, float), sums.n)
    if options["as_json"]:
        click.echo(json.dumps(result))
        return
    for name, value in result.items():
        shown = "-" if value is None else f"{value:,}" if name == "rows" else f"{value:,.6g}"
        click.echo(f"{name.replace('_', ' ')}: {shown}")


class Sample:
    """Up to 5,000 rows, evenly spaced in the file: every other one is dropped when there are more."""

    MOST = 5000

    def __init__(self, wanted: bool):
        self.points: list[tuple[Any, Any]] = []
        self._wanted, self._every, self._count = wanted, 1, 0

    def add(self, truth: list[Any], found: list[Any]) -> None:
        """Keep some of these rows."""
        for point in zip(truth, found, strict=True) if self._wanted else ():
            if self._count % self._every == 0:
                self.points.append(point)
            self._count += 1
            if len(self.points) > self.MOST:
                self.points, self._every = self.points[::2], 2 * self._every


def _tell_outliers(pairs: Pairs, options: dict[str, Any], _: Ranking | None) -> None:
    counts = counts_of(pairs)
    if {true for true, _ in counts} <= {1, -1}:
        _tell_counts(counts, options, {})
        return
    if options["plot"] is not None:
        raise Mistake(
            "--plot draws the confusion matrix of labels 1 and -1, which this file does not "
            "have; leave it out."
        )
    result = of_outliers(counts)
    if options["as_json"]:
        click.echo(json.dumps(result))
        return
    click.echo(
        f"Flagged {100 * result['share_flagged']:.2f} %: {result['flagged']:,} of "
        f"{result['rows']:,} rows"
    )
    for each in result.get("per_label", []):
        share = 100 * each["share_flagged"]
        click.echo(
            f"  label {each['label']}: {each['flagged']:,} of {each['rows']:,} ({share:.2f} %)"
        )


def _tell_classes(pairs: Pairs, options: dict[str, Any], ranking: Ranking | None) -> None:
    counts = counts_of(pairs)
    if ranking is not None and not ranking.some_known:
        true = sorted({str(label) for label, _ in counts})
        click.echo(
            f"No label of the file is a class of the model: the file has {_few(true)}, the model "
            f"{_few([str(label) for label in ranking.classes])}; check --label.", err=True,
        )  # fmt: skip
    _tell_counts(counts, options, {} if ranking is None else ranking.result())


def _few(labels: list[str], most: int = 3) -> str:
    more = ", ..." if len(labels) > most else ""
    return ", ".join(shortened(label) for label in labels[:most]) + more


def _tell_counts(counts: Any, options: dict[str, Any], ranked: dict[str, Any]) -> None:
    classes, matrix = confusion(counts)
    result = of_classes(classes, matrix) | ranked
    if options["plot"] is not None:
        from .curves import draw_confusion

        draw_confusion(options["plot"], classes, matrix)
    if options["as_json"]:
        click.echo(json.dumps(result))
    else:
        _print(result, matrix)


def _ranked_lines(result: dict[str, Any]) -> Iterator[str]:
    """AUC and log loss, if available."""
    if result.get("auc") is not None:
        several = ", mean of each class against the others" if len(result["classes"]) > 2 else ""
        part = f", of {result['auc_rows']:,} rows" if "auc_rows" in result else ""
        yield f"AUC {result['auc']:.4f}{several}{part}"
    if result.get("log_loss") is not None:
        yield f"Log loss {result['log_loss']:.4f}"


def _print(result: dict[str, Any], matrix: np.ndarray) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    console.print(
        f"Error {100 * result['error']:.2f} %: {result['mistakes']:,} of {result['rows']:,} rows"
    )
    for text in _ranked_lines(result):
        console.print(text)
    table = Table(header_style="bold", pad_edge=False)
    for head in ("class", "rows", "precision", "recall", "F1"):
        table.add_column(head, justify="left" if head == "class" else "right")
    for each in result["per_class"]:
        shares = (f"{each[key]:.4f}" for key in ("precision", "recall", "f1"))
        table.add_row(escape(str(each["class"])), f"{each['rows']:,}", *shares)
    console.print(table)
    if len(result["classes"]) <= 12:
        names = [escape(str(name)) for name in result["classes"]]
        confusion_ = Table("true \\ predicted", header_style="bold", pad_edge=False)
        for name in names:
            confusion_.add_column(name, justify="right")
        for name, row in zip(names, matrix.tolist(), strict=True):
            confusion_.add_row(name, *(f"{count:,}" for count in row))
        console.print(confusion_)
