"""``onlinesvm info``: what is in a model file, how it was trained, how large it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

EPILOG = """\b
Example:
  onlinesvm info model.safetensors --json
"""


@click.command("info", epilog=EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def command(model: Path, as_json: bool) -> None:
    """Show what is in MODEL, how it was trained, and how large it is."""
    from ..model.files import read_model

    found = read_model(model)
    facts = described(model, found)
    if as_json:
        click.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            shown = ", ".join(f"{key}={each}" for key, each in value.items())
        elif isinstance(value, list):
            shown = ", ".join(str(each) for each in value[:20])
            shown += f" and {len(value) - 20} more" if len(value) > 20 else ""
        else:
            shown = (
                f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
            )
        if value is not None:
            click.echo(f"{name.replace('_', ' ')}: {shown}")


def described(path: Path, found: Any) -> dict[str, Any]:
    """Facts of a model file, as JSON."""
    estimator = found.estimator
    parameters = {
        name: value if isinstance(value, int | float | str | bool | None) else str(value)
        for name, value in estimator.get_params(deep=False).items()
    }
    classes = getattr(estimator, "classes_", None)
    stream = (found.summary or {}).get("stream")
    preprocessing = found.preprocessing or {}
    scale = preprocessing.get("standardize")
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "format_version": found.header["format_version"],
        "library_version": found.header["library_version"],
        "algorithm": found.header["algorithm"],
        "parameters": parameters,
        "classes": None if classes is None else classes.tolist(),
        "n_features": int(estimator.n_features_in_),
        "n_support": int(sum(estimator.n_support_)) if hasattr(estimator, "n_support_") else None,
        "kernel_evaluations": int(getattr(estimator, "n_kernel_evaluations_", 0)),
        "drifts_detected": getattr(estimator, "n_drifts_", None),
        "columns": _columns(preprocessing.get("schema")),
        "standardized_rows": None if scale is None else scale["count"],
        "rows_learned": None if stream is None else stream["rows"],
        "epochs_done": None if stream is None else stream["epoch"],
        "error_so_far": _error(stream),
        "finished": None if stream is None else stream["finished"],
        "stream": None if stream is None else stream["settings"],
    }


def _columns(schema: dict[str, Any] | None) -> list[str] | None:
    if not schema or "columns" not in schema:
        return None
    return [f"{column['name']} ({column['kind']})" for column in schema["columns"]]


def _error(stream: dict[str, Any] | None) -> float | None:
    if stream is None or not stream["n_judged"]:
        return None
    return float(stream["loss"] / stream["n_judged"])
