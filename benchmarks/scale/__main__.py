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

from benchmarks.parts import Parts, command
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


main = command("scale", __doc__, PARTS, RUNS)

if __name__ == "__main__":
    main()
