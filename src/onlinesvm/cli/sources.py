"""Options of every command that reads examples, and the readers that they describe."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from ..stream.gaps import parsed_missing
from ..stream.reader import Reader
from ..stream.readers import FORMATS, open_reader
from ..stream.table import TableOptions


class Missing(click.ParamType):
    """A number, or the name of a rule."""

    name = "missing"

    def convert(self, value: Any, param: Any, ctx: Any) -> float | str:
        """The number or the name."""
        try:
            return parsed_missing(str(value))
        except ValueError as error:
            self.fail(f"{error}.", param, ctx)


class NumberRange(click.FloatRange):
    """A range of numbers; NaN, which click lets into any range, is in none."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """The number."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


OPTIONS: list[Callable[[Any], Any]] = [
    click.option("--format", type=click.Choice(FORMATS), help="Format; recognised if not given."),
    click.option("--label", metavar="NAME", help="Column, array or file of the labels."),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="Column to leave out; repeatable."),
    click.option(
        "--categorical", multiple=True, metavar="COLUMN",
        help="Column of numbers to treat as categories; repeatable.",
    ),
    click.option(
        "--numeric", multiple=True, metavar="COLUMN",
        help="Column to treat as numbers despite text or leading zeros; repeatable.",
    ),
    click.option(
        "--encode", type=click.Choice(["onehot", "hash"]), default="onehot", show_default=True,
        help="How categories are encoded.",
    ),
    click.option(
        "--hash-size", type=click.IntRange(1, 1 << 20), default=64, show_default=True, metavar="N",
        help="Number of features for each column of hashed categories.",
    ),
    click.option(
        "--missing", type=Missing(), metavar="NUMBER|mean|median|most_frequent",
        help="Replacement of missing numbers.",
    ),
    click.option(
        "--missing-indicator", is_flag=True, help="Add features that mark missing numbers."
    ),
    click.option("--delimiter", metavar="CHARACTER", help="Character between values of CSV."),
    click.option(
        "--n-features", type=click.IntRange(1, 1 << 30), metavar="N",
        help="Number of features of LIBSVM text; found while reading if not given.",
    ),
    click.option("--zero-based", is_flag=True, help="LIBSVM text counts features from 0."),
]  # fmt: skip

COLUMN_OPTIONS = tuple(option.name for option in fields(TableOptions))
"""Names of the options that determine how the columns of a table are encoded."""

NAMES = ("format", *COLUMN_OPTIONS, "delimiter", "n_features", "zero_based")

DEFAULTS = {option.name: option.default for option in fields(TableOptions)} | {
    "algorithm": "lasvm", "seed": 0, "shuffle_buffer": 0,
}  # fmt: skip
"""Values of options that need not be typed, besides None and False."""


def source_options(command: Any) -> Any:
    """A command with all these options."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def reader_of(source: str, options: dict[str, Any], **more: Any) -> Reader:
    """The reader that a command's options describe."""
    chosen = {name: options[name] for name in NAMES if name in options}
    return open_reader(source, chosen.pop("format", None), **chosen, **more)


def command_to_train(source: str, options: dict[str, Any], names: tuple[str, ...]) -> str:
    """``onlinesvm train`` with rows that are read as with these options, and those of these names."""
    words = ["onlinesvm", "train", source]
    for name in ("algorithm", *NAMES, *names):
        value, typed = options[name], f"--{name if len(name) == 1 else name.replace('_', '-')}"
        if value is None or value is False or value == DEFAULTS.get(name):
            continue
        if value is True:
            words.append(typed)
        else:
            each = value if isinstance(value, tuple) else (value,)
            words += [word for one in each for word in (typed, str(one))]
    return shlex.join([*words, "-o", "MODEL"])


def reader_for(source: str, options: dict[str, Any], model: Any, needs_label: bool) -> Reader:
    """A reader of examples for a model that was loaded: with its columns."""
    schema = (model.preprocessing or {}).get("schema")
    given = dict(options)
    if given.get("n_features") is None:
        given["n_features"] = model.estimator.n_features_in_
    if needs_label and given.get("label") is None and schema:
        given["label"] = schema.get("label")
    return reader_of(source, given, schema=schema, needs_label=needs_label)
