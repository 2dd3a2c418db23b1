"""``onlinesvm evaluate``: error, confusion matrix and a table per class."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.base import is_classifier

from ..stream.opening import open_source
from .mistakes import Mistake, check_writable
from .sources import reader_for, reader_of, source_options

EPILOG = """\b
Examples:
  onlinesvm evaluate model.safetensors test.csv --label target --json
  onlinesvm predict model.safetensors test.csv | \\
      onlinesvm evaluate --predictions - test.csv --label target
"""


@click.command("evaluate", epilog=EPILOG)
@click.argument("arguments", nargs=-1, metavar="[MODEL] SOURCE")
@click.option("--predictions", metavar="FILE", help="Lines of predict, instead of a model.")
@click.option("--plot", type=click.Path(path_type=Path), metavar="PNG", help="Confusion matrix.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@source_options
def command(arguments: tuple[str, ...], predictions: str | None, **options: Any) -> None:
    """Compare the predictions of MODEL with the labels of SOURCE."""
    expected = 1 if predictions is not None else 2
    if len(arguments) != expected:
        needs = "SOURCE alone" if predictions is not None else "MODEL and SOURCE"
        raise Mistake(f"evaluate takes {needs}, but got {len(arguments)} names.")
    if options["plot"] is not None:
        check_writable(options["plot"], "--plot")
    if predictions is not None:
        pairs, numeric = _of_lines(predictions, arguments[0], options), False
    else:
        pairs, numeric = _of_model(arguments[0], arguments[1], options)
    if numeric:
        _tell_numbers(pairs, options)
    else:
        _tell_classes(pairs, options)


Pairs = Iterator[tuple[list[Any], list[Any]]]


def _of_model(model: str, source: str, options: dict[str, Any]) -> tuple[Pairs, bool]:
    """True and predicted labels of each block, and whether they are numbers."""
    from ..model.files import read_model
    from .scoring import Loaded

    found = read_model(model)
    reader = reader_for(source, options, found, needs_label=True)
    loaded = Loaded(found.estimator, found.preprocessing)
    pairs = (
        (y.tolist(), found.estimator.predict(X).tolist())
        for X, y in loaded.blocks(reader)
        if y is not None
    )
    return pairs, not is_classifier(found.estimator)


def _of_lines(predictions: str, source: str, options: dict[str, Any]) -> Pairs:
    """The same of lines that ``predict`` has written; scores in them are left alone."""
    with open_source(predictions) as lines:
        text = iter(lines)
        for block in reader_of(source, options).blocks():
            assert block.y is not None
            y = block.y.tolist()
            found = [line.decode().split("\t")[0].strip() for line in islice(text, len(y))]
            if len(found) < len(y):
                raise Mistake(f"There are fewer predictions than rows in {source!r}.")
            yield y, [type(y[0])(value) for value in found]
        if next(text, b"").strip():
            raise Mistake(f"There are more predictions than rows in {source!r}.")


def _tell_numbers(pairs: Pairs, options: dict[str, Any]) -> None:
    n, absolute, squared, total, total_squared = 0, 0.0, 0.0, 0.0, 0.0
    for truth, found in pairs:
        y, f = np.array(truth, float), np.array(found, float)
        n += len(y)
        absolute += float(np.abs(y - f).sum())
        squared += float(((y - f) ** 2).sum())
        total += float(y.sum())
        total_squared += float((y**2).sum())
    variance = total_squared / n - (total / n) ** 2
    result = {
        "rows": n,
        "mean_absolute_error": absolute / n,
        "mean_squared_error": squared / n,
        "r2": 1.0 - squared / n / variance if variance > 0 else None,
    }
    if options["as_json"]:
        click.echo(json.dumps(result))
        return
    for name, value in result.items():
        click.echo(f"{name.replace('_', ' ')}: {value:,.6g}" if value is not None else f"{name}: -")


def _tell_classes(pairs: Pairs, options: dict[str, Any]) -> None:
    counts: Counter[tuple[Any, Any]] = Counter()
    for truth, found in pairs:
        counts.update(zip(truth, found, strict=True))
    classes = sorted({label for pair in counts for label in pair}, key=lambda v: (str(type(v)), v))
    matrix = np.array([[counts[true, found] for found in classes] for true in classes])
    result = _measures(classes, matrix)
    if options["plot"] is not None:
        from .curves import draw_confusion

        draw_confusion(options["plot"], classes, matrix)
    if options["as_json"]:
        click.echo(json.dumps(result))
    else:
        _print(result, matrix)


def _measures(classes: list[Any], matrix: np.ndarray) -> dict[str, Any]:
    n, right = int(matrix.sum()), np.diag(matrix)
    table = []
    for k, name in enumerate(classes):
        true, found = int(matrix[k].sum()), int(matrix[:, k].sum())
        precision = right[k] / found if found else 0.0
        recall = right[k] / true if true else 0.0
        both = precision + recall
        table.append({
            "class": name, "rows": true, "precision": float(precision), "recall": float(recall),
            "f1": float(2 * precision * recall / both) if both else 0.0,
        })  # fmt: skip
    return {
        "rows": n,
        "error": float(1 - right.sum() / n),
        "mistakes": int(n - right.sum()),
        "classes": classes,
        "confusion": matrix.tolist(),
        "per_class": table,
    }


def _print(result: dict[str, Any], matrix: np.ndarray) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(
        f"Error {100 * result['error']:.2f} %: {result['mistakes']:,} of {result['rows']:,} rows"
    )
    table = Table(header_style="bold", pad_edge=False)
    for head in ("class", "rows", "precision", "recall", "F1"):
        table.add_column(head, justify="left" if head == "class" else "right")
    for each in result["per_class"]:
        shares = (f"{each[key]:.4f}" for key in ("precision", "recall", "f1"))
        table.add_row(str(each["class"]), f"{each['rows']:,}", *shares)
    console.print(table)
    if len(result["classes"]) <= 12:
        confusion = Table("true \\ predicted", header_style="bold", pad_edge=False)
        for name in result["classes"]:
            confusion.add_column(str(name), justify="right")
        for name, row in zip(result["classes"], matrix.tolist(), strict=True):
            confusion.add_row(str(name), *(f"{count:,}" for count in row))
        console.print(confusion)
