"""More than one machine, more than memory: ``python -m benchmarks.scale [--only NAMES] [--quick]``.

workers   two workers of one thread against one, eight partitions
errors    test error after 0 and 1 looks back and at the end, and the dual next to the exact one
sorted    rows sorted by class
cells     covtype in 64 cells next to the single fit and the tree
parquet   10 million generated rows from Parquet, 3 GB of memory
peers     a user's alternatives on the same rows: error against time

What a part measured is kept in ``benchmarks/results/scale.json`` until ``--again``. The numbers are
in ``docs/evidence/scale.md``.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

import click

from benchmarks.parts import Parts, chosen, run
from benchmarks.quick import quick_form
from benchmarks.runs import Runs
from benchmarks.scale import cells, errors, parquet, peers, workers

PARTS: Parts = {
    "scale.workers": workers.part,
    "scale.errors": errors.part,
    "scale.sorted": errors.sorted_part,
    "scale.cells": cells.part,
    "scale.parquet": parquet.part,
    "scale.peers": peers.part,
}
RUNS = Runs("scale.json")


@click.command(help=(__doc__ or "").split("\n\n", maxsplit=1)[0])
@click.option("--only", metavar="NAMES", help="Parts, separated by commas.")
@click.option("--quick", is_flag=True, help="Little generated data: shows that it runs.")
@click.option("--again", is_flag=True, help="Forget what was measured before.")
def main(only: str | None, quick: bool, again: bool) -> None:
    names = [f"scale.{name.strip()}" for name in only.split(",")] if only else list(PARTS)
    wanted = chosen(PARTS, ",".join(names))
    with quick_form() if quick else nullcontext():
        if again or quick:
            RUNS.forget(wanted)
        missing = run(PARTS, wanted, RUNS)
    sys.exit(2 if missing else 0)


if __name__ == "__main__":
    main()
