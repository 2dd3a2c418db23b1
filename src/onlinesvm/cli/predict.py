"""``onlinesvm predict``: rows in, one line per row out, in their order."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click
import numpy as np
from sklearn.base import is_classifier

from ..estimators.base import view_of
from ..estimators.explaining import refuse_unexplained
from ..estimators.probabilities import has_probabilities
from ..stream.errors import as_word
from .lines import line_of
from .mistakes import Mistake, check_writable
from .resuming import check_same_columns
from .sources import reader_for, reader_of, source_options
from .standard_streams import exact_output

EPILOG = """\b
Examples:
  onlinesvm predict model.safetensors new.csv > labels.txt
  zcat new.svm.gz | onlinesvm predict model.safetensors - --scores | head
  onlinesvm predict model.safetensors new.csv --explain 3

\b
Each line has the id, if --id is given, the label, then the scores and the probabilities, if requested, separated by
tabs; both in the order of the classes that info shows. With two classes there is one score, which is
positive for the second class. A tab or line break in a label is written \\t or \\n.

\b
--explain N adds the N features with the largest share in the score of the predicted label, each as
name:share. The shares of all features add up to the score minus its value without any feature.
"""


@click.command("predict", epilog=EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("source")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File instead of standard output; written when all rows are done.",
)
@click.option("--scores", is_flag=True, help="Decision values after the label, tab-separated.")
@click.option("--probabilities", is_flag=True, help="Probability of each class.")
@click.option(
    "--explain",
    type=click.IntRange(1),
    metavar="N",
    help="The N features with the largest shares in each score.",
)
@click.option("--id", "id_column", metavar="COLUMN", help="Begin each line with this column.")
@click.option("--header", is_flag=True, help="A first line with the names of the columns.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per row.")
@click.option("--batch-rows", type=click.IntRange(1), default=2048, show_default=True, metavar="N")
@source_options
def command(model: Path, source: str, output: Path | None, **options: Any) -> None:
    """Predict the label of each row of SOURCE with MODEL: one line per row, in order."""
    from ..model.files import read_model
    from ..stream.learning import located
    from .scoring import Loaded

    if output is not None:
        check_writable(output, inputs=(model, source))
    found = read_model(model)
    _check_columns(found.estimator, model, options)
    check_same_columns(options, found, model)
    if options["as_json"] and options["header"]:
        raise Mistake("--json already names all values; leave out --header.")
    with_ids = options["id_column"] is not None
    reader = _reader_with_ids(source, options, found) if with_ids else None
    reader = reader or _reader_without_labels(source, options, found)
    loaded = Loaded(found.estimator, found.preprocessing)
    with _written(output) as file:
        if options["header"]:
            file.write(_header(found.estimator, options))
        for block in loaded.blocks(reader, options["batch_rows"]):
            ids = block.y.tolist() if with_ids and block.y is not None else None
            names = _feature_names(found.estimator, reader) if options["explain"] else []
            with located(block, reader.place):
                lines = _lines(found.estimator, block.X, options, ids, names)
            file.write(lines)
            file.flush()


def _reader_without_labels(source: str, options: dict[str, Any], model: Any) -> Any:
    """A reader of rows whose labels are still unknown: a label column may be empty, or missing."""
    from ..stream.table import TableReader

    reader = reader_for(source, options, model, needs_label=False)
    if isinstance(reader, TableReader):
        reader.reads_label = False
    return reader


def _reader_with_ids(source: str, options: dict[str, Any], model: Any) -> Any:
    """A reader that has the ids in the place of labels, which are not needed, as they are written."""
    from ..stream.table import TableReader

    schema = dict((model.preprocessing or {}).get("schema") or {})
    name = options["id_column"]
    if schema.get("kind") == "libsvm":
        raise Mistake("LIBSVM text has no named columns; leave out --id.")
    if name in [column["name"] for column in schema.get("columns") or ()]:
        raise Mistake(
            f"Column {name!r} is a feature of the model; an id must be a column that the model "
            f"does not use (train with --ignore {as_word(name)})."
        )
    if "columns" in schema:
        schema["label_kind"] = "text"
    given = {**options, "label": name}
    reader = reader_of(source, given, schema=schema or None, needs_label=True)
    if isinstance(reader, TableReader):
        reader.label_means = "id"
    return reader


def _header(estimator: Any, options: dict[str, Any]) -> str:
    """Names of the columns, in the order of a line."""
    names = [options["id_column"]] if options["id_column"] is not None else []
    classes = [line_of(each) for each in getattr(estimator, "classes_", np.empty(0)).tolist()]
    names.append("label")
    if options["scores"]:
        names += [f"score {each}" for each in classes] if len(classes) > 2 else ["score"]
    if options["probabilities"]:
        names += [f"probability {each}" for each in classes]
    if options["explain"]:
        names += [f"because {place + 1}" for place in range(options["explain"])]
    return "\t".join(map(line_of, names)) + "\n"


def _check_columns(estimator: Any, model: Path, options: dict[str, Any]) -> None:
    """Refuse scores and probabilities that the model does not have."""
    name = type(estimator).__name__
    if options["explain"]:
        refuse_unexplained(view_of(estimator).kernel)
    if options["scores"] and not hasattr(estimator, "decision_function"):
        raise Mistake(f"A {name} predicts values and has no scores; leave out --scores.")
    if not options["probabilities"] or has_probabilities(estimator):
        return
    if hasattr(estimator, "predict_proba"):
        raise Mistake(
            f"{str(model)!r} has no probabilities: it was trained without --probability, and has "
            "no scores to calibrate them; train again with --probability, or leave out "
            "--probabilities."
        )
    instead = "use --scores" if is_classifier(estimator) else "leave out --probabilities"
    raise Mistake(f"A {name} has no probabilities; {instead}.")


@contextmanager
def _written(output: Path | None) -> Iterator[IO[str]]:
    """Standard output, or a file that appears whole."""
    if output is None:
        with exact_output() as out:
            yield out
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


def _feature_names(estimator: Any, reader: Any) -> list[str]:
    """Names of the features, as the model or the source has them, or their numbers."""
    names = getattr(estimator, "feature_names_in_", None)
    names = reader.feature_names() if names is None else names
    count = estimator.n_features_in_
    return [str(j + 1) for j in range(count)] if names is None else [str(each) for each in names]


def _reasons(estimator: Any, X: Any, most: int, names: list[str]) -> list[dict[str, float]]:
    """For each row the features with the largest shares in the score of its label."""
    why = estimator.explain(X, n_examples=0)
    values = why.values
    if values.ndim == 3:
        label = (why.base_values + values.sum(axis=1)).argmax(axis=1)
        values = values[np.arange(len(values)), :, label]
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :most]
    return [{names[j]: float(row[j]) for j in top} for row, top in zip(values, order, strict=True)]


def _lines(
    estimator: Any, X: Any, options: dict[str, Any], ids: list[Any] | None, names: list[str]
) -> str:
    columns: dict[str, np.ndarray] = {}
    if options["scores"]:
        columns["scores"] = _table(estimator.decision_function(X))
    if options["probabilities"]:
        columns["probabilities"] = estimator.predict_proba(X)
    labels = estimator.predict(X).tolist()
    reasons = _reasons(estimator, X, options["explain"], names) if names else None
    lines = []
    for row, label in enumerate(labels):
        if options["as_json"]:
            numbers = {name: values[row].tolist() for name, values in columns.items()}
            own = {} if ids is None else {"id": ids[row]}
            because = {} if reasons is None else {"because": reasons[row]}
            lines.append(json.dumps({**own, "label": label, **numbers, **because}))
        else:
            numbers_ = [f"{v:.9g}" for values in columns.values() for v in values[row]]
            own_ = [] if ids is None else [line_of(ids[row])]
            because_ = [] if reasons is None else reasons[row].items()
            shares = [line_of(f"{name}:{share:+.4g}") for name, share in because_]
            lines.append("\t".join([*own_, line_of(label), *numbers_, *shares]))
    return "\n".join([*lines, ""])


def _table(values: np.ndarray) -> np.ndarray:
    return values[:, None] if values.ndim == 1 else values
