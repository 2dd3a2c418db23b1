"""What a fit of the tree costs on W machines of one thread: a formula, and its check.

With n rows in P partitions of m = n / P rows, s support vectors in a leaf and S in the end, v seconds
per kernel value of one thread, q bytes per support vector and B bytes a second:

    read        READ seconds a row, for the first look, the leaf, and every look back
    leaf        LEAF v m s
    merge       u rows in a union:  v u^2 / 2 for the product, shared out over idle machines,
                and FINISH v u^2 for the optimisation, which is not
    look back   v m S per partition; the model is sent first: S q / B
    admit       ADMIT v S^2

Partitions take ceil(P / W) rounds. A union grows from 2 s to S rows on its way to the root. The
constants are fitted to the ledgers (``costs_``) of the parts ``workers`` and ``parquet``; B is assumed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarks.markdown import markdown, number

LEAF, FINISH, ADMIT = 1.75, 0.28, 0.7

BANDWIDTH = 1.25e9
"""Bytes a second between two machines: 10 Gbit/s."""

START = 0.05
"""Seconds that Dask needs for a round of tasks."""

MEMORY, PARQUET = 0.4e-6, 1.3e-6
"""Seconds to fetch and check a row that is in memory, or in a file of 30 columns."""


@dataclass(frozen=True)
class Problem:
    """Data as the formula sees them."""

    name: str
    rows: float
    features: int
    partitions: int
    leaf_support: float
    support: float
    value: float  # seconds per kernel value
    read: float = MEMORY

    @property
    def part(self) -> float:
        """Rows of a partition."""
        return self.rows / self.partitions

    def sent(self, rows: float) -> float:
        """Seconds to send so many support vectors."""
        return rows * (4 * self.features + 20) / BANDWIDTH


def leaves(p: Problem) -> float:
    """Seconds of one partition in the first look and in its leaf."""
    return 2 * p.read * p.part + LEAF * p.value * p.part * p.leaf_support


def merges(p: Problem, workers: int) -> float:
    """Seconds of all levels."""
    total, nodes, levels = 0.0, p.partitions, math.ceil(math.log2(p.partitions))
    growth = (p.support / p.leaf_support) ** (1 / levels)
    for level in range(levels):
        nodes = -(-nodes // 2)
        union = 2 * p.leaf_support * growth**level
        idle = min(max(1, workers // nodes), 16)
        work = p.value * union**2 * (0.5 / idle + FINISH) + p.sent(union)
        total += math.ceil(nodes / workers) * work + START
    return total


def look(p: Problem, workers: int) -> float:
    """Seconds of one look back and what it admits."""
    judged = p.part * (p.read + p.value * p.support)
    sent = p.sent(p.support) * math.log2(max(2, workers))
    rounds = math.ceil(p.partitions / workers)
    return rounds * judged + sent + ADMIT * p.value * p.support**2 + 2 * START


def seconds(p: Problem, workers: int, looks: int) -> float:
    """Wall time of a fit."""
    first = math.ceil(p.partitions / workers) * leaves(p)
    return first + merges(p, workers) + looks * look(p, workers)


WAVEFORM = Problem("waveform, 320,000 rows", 320_000, 21, 8, 8_340, 62_000, 0.74e-9)
COVTYPE = Problem("covtype, 500,000 rows", 500_000, 54, 64, 6_138, 115_000, 3.4e-9)
CLUSTERS = Problem("10⁷ rows as in `parquet`", 1e7, 30, 40, 2_162, 12_183, 0.91e-9, PARQUET)
MANY = Problem("10⁸ rows as in `parquet`", 1e8, 30, 400, 2_162, 38_500, 0.91e-9, PARQUET)
"""Support vectors of ``MANY``: those of ``CLUSTERS`` times the square root of ten, about as they
grow from 100,000 to 10 million rows."""

MEASURED = [
    (WAVEFORM, 1, 0, 8.34),
    (WAVEFORM, 2, 0, 4.58),
    (WAVEFORM, 1, 2, 43.8),
    (WAVEFORM, 2, 2, 24.7),
    (CLUSTERS, 2, 1, 104.0),
]
"""Data, workers, looks back and seconds."""


def table(problems: tuple[Problem, ...], looks: int = 1) -> str:
    """Predicted times for 1 to 256 machines."""
    counts = (1, 2, 4, 16, 64, 256)
    rows = [
        [p.name, str(p.partitions), *(f"{number(seconds(p, w, looks))} s" for w in counts)]
        for p in problems
    ]
    return markdown(["data", "partitions", *(str(w) for w in counts)], rows)


def check() -> str:
    """Predicted next to measured times."""
    rows = [
        [p.name, str(looks), str(w), f"{number(seconds(p, w, looks))} s", f"{t} s"]
        for p, w, looks, t in MEASURED
    ]
    return markdown(["data", "looks back", "workers", "predicted", "measured"], rows)


if __name__ == "__main__":
    print(check())
    print(table((COVTYPE, MANY)))
