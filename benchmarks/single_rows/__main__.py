"""What the examples of a stream cost: ``python -m benchmarks.single_rows [--only NAME] [--quick]``.

latency     microseconds to learn one example
throughput  examples a second in blocks of 1,000, and the share of the kernel
peers       each example predicted, then learned, next to River's models (the suite ``stream``)

What a part measured is kept in ``benchmarks/results/stream.json`` until ``--again``; ``python -m
benchmarks.papers`` puts the table of ``throughput`` into ``docs/evidence/papers.md``.
"""

from __future__ import annotations

from benchmarks.parts import Parts, command
from benchmarks.runs import Runs
from benchmarks.single_rows import latency, peers, throughput

PARTS: Parts = {
    "stream.latency": latency.part,
    "stream.throughput": throughput.part,
    "stream.peers": peers.part,
}
RUNS = Runs("stream.json")


main = command("stream", __doc__, PARTS, RUNS)

if __name__ == "__main__":
    main()
