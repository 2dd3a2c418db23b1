"""Streams that change, ours next to River's: ``python -m benchmarks.streams [--rows N] [--quick]``.

Each example is predicted, then learned. What was measured is kept in
``benchmarks/results/streams.json`` until ``--again``: a run that was stopped goes on where it was.
The tables and a picture of the accuracy over time are made of all that is known.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

import click

from benchmarks.clock import warn_of_load
from benchmarks.datasets import DataFolderError
from benchmarks.quick import generated_rows, quick_form, results
from benchmarks.runs import Runs
from benchmarks.streams import demand, report
from benchmarks.streams.models import MODELS
from benchmarks.streams.prequential import prequential
from benchmarks.streams.sources import STREAMS, examples

RUNS = Runs("streams.json")


def _chosen(known: dict, wanted: str | None, what: str) -> list[str]:
    """The names whose beginning is given, separated by semicolons; all of them by default."""
    names = []
    for word in wanted.split(";") if wanted else []:
        found = [name for name in known if name.lower().startswith(word.strip().lower())]
        if not found:
            raise click.BadParameter(f"no {what} {word!r}; there are {'; '.join(known)}")
        names += found
    return names or list(known)


@click.command(help=(__doc__ or "").split("\n\n", maxsplit=1)[0])
@click.option("--only", metavar="STREAMS", help="Streams; with semicolons. demand: by itself.")
@click.option("--models", metavar="MODELS", help="Models; with semicolons.")
@click.option("--rows", type=click.IntRange(min=1), help="First rows of each stream.")
@click.option("--quick", is_flag=True, help="Little generated data: shows that it runs.")
@click.option("--again", is_flag=True, help="Forget what was measured before.")
def main(only: str | None, models: str | None, rows: int | None, quick: bool, again: bool) -> None:
    if only == demand.NAME:
        with quick_form() if quick else nullcontext():
            sys.exit(2 if measure_demand(generated_rows() or rows, again or quick) else 0)
    streams = _chosen(STREAMS, only, "stream")
    wanted = _chosen(MODELS, models, "model")
    with quick_form() if quick else nullcontext():
        rows = generated_rows() or rows
        if again or quick:
            RUNS.forget(streams)
        missing = measure(streams, wanted, rows)
        found = measured(streams, wanted, rows)
        if found:
            print(report.tables(found), flush=True)
            print(f"\n{report.draw(found, results())}", flush=True)
    sys.exit(2 if missing else 0)


def _key(stream: str, model: str, rows: int | None) -> str:
    return f"{stream} {model} rows={rows or 'all'}"


def measure(streams: list[str], models: list[str], rows: int | None) -> int:
    """Run what is not known yet; the number of streams without data."""
    warn_of_load()
    missing = 0
    for stream in streams:
        if all(_key(stream, model, rows) in RUNS.known() for model in models):
            continue
        try:
            X, y = examples(stream, rows)
        except DataFolderError as error:
            print(f"{stream}: {error}", flush=True)
            missing += 1
            continue
        for model in models:
            RUNS.kept(
                _key(stream, model, rows), lambda m=model, X=X, y=y: prequential(MODELS[m], X, y)
            )
    return missing


def measure_demand(rows: int | None, again: bool) -> bool:
    """The stream of values, which is measured by itself. Returns whether its data are missing."""
    if again:
        RUNS.forget([demand.NAME])
    try:
        X, y = demand.examples(rows)
    except DataFolderError as error:
        print(f"{demand.NAME}: {error}", flush=True)
        return True
    found = {
        model: RUNS.kept(
            _key(demand.NAME, model, rows), lambda make=make: demand.prequential(make, X, y)
        )
        for model, make in demand.MODELS.items()
    }
    print(demand.table(found), flush=True)
    return False


def measured(streams: list[str], models: list[str], rows: int | None) -> report.Measured:
    """What is known of these streams and models."""
    known = RUNS.known()
    found = {
        stream: {m: known[key] for m in models if (key := _key(stream, m, rows)) in known}
        for stream in streams
    }
    return {stream: runs for stream, runs in found.items() if runs}


if __name__ == "__main__":
    main()
