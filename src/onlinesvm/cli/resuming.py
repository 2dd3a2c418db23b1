"""Options for reading rows: stored in the model file, and compared when it is used again.

``train --resume`` continues with the options with which the run was started. An option that is
given again must be the same; one that is not given is taken from the file. The columns of a
finished model are fixed as well: ``predict`` and ``evaluate`` refuse an option that would change
them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from ..stream.errors import as_word
from .mistakes import Mistake
from .sources import NAMES

BY_CONTENT = ("format",)
"""Checked by what is read: rows of a table may go on in a table of another format."""

OF_A_FILE = ("format", "label", "ignore", "delimiter", "n_features", "zero_based")
"""These may differ from file to file; all others decide what the features of a model are."""


def kept_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options as a model file holds them; repeatable ones as sorted lists."""
    kept = [name for name in NAMES if name in options and name not in BY_CONTENT]
    return {name: _plain(options[name]) for name in kept}


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, tuple | list) else value


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """Those that were typed, not left to their defaults."""
    context = click.get_current_context()
    return {
        name: value
        for name, value in kept_options(options).items()
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    }


def resumed_options(
    options: dict[str, Any], before: dict[str, Any], output: Path | None
) -> dict[str, Any]:
    """The options of the interrupted run; raises an error if others are given."""
    for name, value in given_options(options).items():
        if name in before and name not in BY_CONTENT and value != before[name]:
            raise Mistake(
                f"{str(output)!r} was started with {_shown(name, before[name])}, not "
                f"{_shown(name, value)}; use the same settings, or leave out --resume to start "
                "again."
            )
    known = {name: value for name, value in before.items() if name not in BY_CONTENT}
    return {**options, **known}


def check_same_columns(options: dict[str, Any], model: Any, path: Any) -> None:
    """Refuse an option that would change the columns of a trained model."""
    before = (model.summary or {}).get("source") or {}
    for name, value in given_options(options).items():
        if name in before and name not in OF_A_FILE and value != before[name]:
            raise Mistake(
                f"{str(path)!r} was trained with {_shown(name, before[name])}, and its columns "
                f"cannot change; leave out {_typed(name)}, or train again."
            )
    schema = (model.preprocessing or {}).get("schema") or {}
    used = {column["name"] for column in schema.get("columns") or ()}
    for name in options.get("ignore") or ():
        if name in used:
            raise Mistake(
                f"{str(path)!r} was trained on column {name!r}, which cannot be ignored; leave "
                f"out --ignore {as_word(name)}, or train again."
            )


def _typed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _shown(name: str, value: Any) -> str:
    """An option as it is typed."""
    if value is None or value == [] or value is False:
        return f"no {_typed(name)}"
    if value is True:
        return _typed(name)
    each = value if isinstance(value, list) else [value]
    return " ".join(f"{_typed(name)} {part}" for part in each)
