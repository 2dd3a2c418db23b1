"""All tables and figures of the papers: ``python -m benchmarks.papers [--only NAME] [--quick]``.

What a part measured is kept in ``benchmarks/results/papers.json`` and not measured again, so that a
run that was stopped goes on where it was; ``--again`` forgets it. At the end ``docs/evidence/papers.md`` and
the numbers it is made of are written anew. ``--quick`` runs everything on little generated data:
it needs no data folder and leaves the page as it is.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

import click

from benchmarks.papers import (
    active,
    huller,
    lasvm,
    olsvm,
    page,
    perceptron,
    simplesvm,
    streamsvm,
)
from benchmarks.parts import Parts, chosen, run
from benchmarks.quick import quick_form, results
from benchmarks.runs import Runs

PAPERS = {
    "lasvm": lasvm,
    "perceptron": perceptron,
    "active": active,
    "huller": huller,
    "streamsvm": streamsvm,
    "olsvm": olsvm,
    "simplesvm": simplesvm,
}
PARTS: Parts = {
    f"{name}.{part}": function
    for name, module in PAPERS.items()
    for part, function in module.PARTS.items()
}
RUNS = Runs("papers.json")
STREAM_RUNS = Runs("stream.json")
"""What ``python -m benchmarks.single_rows`` measured; one table of it is on the page."""


def forget(parts: list[str]) -> None:
    """Drop what these parts measured, their single runs included."""
    RUNS.forget(parts)
    for name in parts:
        paper, _, part = name.partition(".")
        single_runs = getattr(PAPERS[paper], "RUNS", None)
        if single_runs is not None:
            single_runs.forget([part])


@click.command(help=(__doc__ or "").split("\n\n", maxsplit=1)[0])
@click.option("--only", metavar="NAMES", help="Papers or parts of them, separated by commas.")
@click.option("--quick", is_flag=True, help="Little generated data; the page stays as it is.")
@click.option("--again", is_flag=True, help="Forget what these parts measured before.")
@click.option("--list", "listed", is_flag=True, help="Print the names of the parts and end.")
def main(only: str | None, quick: bool, again: bool, listed: bool) -> None:
    wanted = chosen(PARTS, only)
    if listed:
        click.echo("\n".join(wanted))
        return
    with quick_form() if quick else nullcontext():
        if again or quick:
            forget(wanted)
        missing = run(PARTS, wanted, RUNS)
        if not quick:
            measured = RUNS.known() | STREAM_RUNS.known()
            page.write(measured)
            page.copy_figures(measured, results())
    sys.exit(2 if missing else 0)


if __name__ == "__main__":
    main()
