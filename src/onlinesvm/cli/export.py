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
    """Write MODEL as an ONNX graph, as LIBSVM's text, or as a Python function of NumPy.

    The exported model takes features as numbers: categories as the columns that ``info`` lists. A
    standardisation becomes part of it.
    """
    import importlib
    import json

    from ..model.files import read_model
    from .scoring import Loaded

    check_writable(output, inputs=(model,))
    found = read_model(model)
    try:
        writer = importlib.import_module(f"onlinesvm.model.export.{target}")
        export = getattr(writer, f"export_{target}")
    except (ImportError, AttributeError) as error:
        raise Mistake(f"Exporting to {target} needs a package that is missing: {error}.") from error
    scale = Loaded(found.estimator, found.preprocessing).scale
    before = None if scale is None else {"mean": scale.shift(), "scale": scale.scale()}
    paths = export(found.estimator, output, preprocessing=before) or [output]
    if as_json:
        sizes = {str(path): path.stat().st_size for path in paths}
        click.echo(json.dumps({"format": target, "files": sizes}))
    else:
        for path in paths:
            click.echo(f"Written: {path}, {path.stat().st_size:,} bytes")
