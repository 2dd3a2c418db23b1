"""``onlinesvm export``: a model for other programs."""

from __future__ import annotations

from pathlib import Path

import click

from .mistakes import Mistake, check_writable

FORMATS = ("onnx", "libsvm", "python")

EPILOG = """\b
Examples:
  onlinesvm export model.safetensors --to onnx -o model.onnx
  onlinesvm export model.safetensors --to libsvm -o model.libsvm
"""


@click.command("export", epilog=EPILOG)
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--to", "target", type=click.Choice(FORMATS), required=True, help="The format.")
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(model: Path, target: str, output: Path, as_json: bool) -> None:
    """Write MODEL as an ONNX graph, as LIBSVM's text, or as a Python function of NumPy."""
    import importlib
    import json

    from ..model.files import read_model

    check_writable(output)
    found = read_model(model)
    try:
        writer = importlib.import_module(f"onlinesvm.model.export.{target}")
        export = getattr(writer, f"export_{target}")
    except (ImportError, AttributeError) as error:
        raise Mistake(f"Exporting to {target} needs a package that is missing: {error}.") from error
    export(found.estimator, output, preprocessing=found.preprocessing)
    size = output.stat().st_size if output.exists() else None
    if as_json:
        click.echo(json.dumps({"format": target, "file": str(output), "bytes": size}))
    else:
        click.echo(f"Written: {output}" + ("" if size is None else f", {size:,} bytes"))
