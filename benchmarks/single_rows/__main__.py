"""What the examples of a stream cost: ``python -m benchmarks.single_rows [--only NAME] [--quick]``.

latency     microseconds to learn one example
throughput  examples a second in blocks of 1,000, and the share of the kernel
peers       each example predicted, then learned, next to River's models (the suite ``stream``)

What a part measured is kept in ``benchmarks/results/stream.json`` until ``--again``; ``python -m
benchmarks.papers`` puts the table of ``throughput`` into ``docs/evidence/papers.md``.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

import click

from benchmarks.parts import Parts, chosen, run
from benchmarks.quick import quick_form
from benchmarks.runs import Runs
from benchmarks.single_rows import latency, peers, throughput

PARTS: Parts = {
    "stream.latency": latency.part,
    "stream.throughput": throughput.part,
    "stream.peers": peers.part,
}
RUNS = Runs("stream.json")


@click.command(help=(__doc__ or "").split("\n\n", maxsplit=1)[0])
@click.option("--only", metavar="NAMES", help="latency, throughput or peers; with commas.")
@click.option("--quick", is_flag=True, help="Few examples: shows that it runs.")
@click.option("--again", is_flag=True, help="Forget what was measured before.")
def main(only: str | None, quick: bool, again: bool) -> None:
    names = [f"stream.{name.strip()}" for name in only.split(",")] if only else list(PARTS)
    wanted = chosen(PARTS, ",".join(names))
    with quick_form() if quick else nullcontext():
        if again or quick:
            RUNS.forget(wanted)
        missing = run(PARTS, wanted, RUNS)
    sys.exit(2 if missing else 0)


if __name__ == "__main__":
    main()
