"""The tree of merges and the looks back, as tasks.

    partition ─ leaf ─┐
    partition ─ leaf ─┴ merge ─┐
    partition ─ leaf ─┐        ├ merge = root ─ look back (every partition) ─ admit ─ ...
    partition ─ leaf ─┴ merge ─┘

Partition i is first merged with partition i + n/2, because neighbours are often alike (rows sorted
by class). The order of merges depends only on the number of partitions. The kernel products of the
upper merges are divided among the workers, which changes no result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dask.delayed import Delayed

from ...core.lasvm.block import block
from ...core.lasvm.block.second_look import MOST_FAILURES
from ...core.lasvm.parts.merging import DEPTH
from . import tasks
from .frame import Frame
from .ledger import Node
from .running import Run
from .tasks import Count, Place

MOST_PIECES = 16
"""Maximum number of tasks that share the product of one merge."""


@dataclass
class Growth:
    """One fit: its partitions and what was decided for all of them."""

    run: Run
    frame: Frame
    parts: list[Delayed]
    places: list[Place]
    most: int  # violators per machine, partition and look back

    def __post_init__(self) -> None:
        self.shared = self.run.value("frame", self.frame)
        self.threads = self.run.threads

    def tree(self) -> Delayed:
        """The root of all merges."""
        n = len(self.parts)
        leaves = [
            self.run.task("leaf", i, tasks.leaf, self.shared, self.parts[i], self.places[i])
            for i in range(n)
        ]
        half = -(-n // 2)
        order = [i for pair in zip(range(half), range(half, 2 * half)) for i in pair if i < n]
        nodes, level = [leaves[i] for i in order], 0
        while len(nodes) > 1:
            level += 1
            pairs = [nodes[i : i + 2] for i in range(0, len(nodes), 2)]
            nodes = [self._merge(pair, level, i, len(pairs)) for i, pair in enumerate(pairs)]
        return nodes[0] if n > 1 else self._merge(nodes, 1, 0, 1)

    def _merge(self, nodes: list[Delayed], level: int, number: int, beside: int) -> Delayed:
        """One merge; workers that would be idle share its product."""
        root = beside == 1
        if len(nodes) == 1 and not root:
            return nodes[0]
        tol = self.frame.tol if root else max(self.frame.tol, DEPTH)
        pieces = min(self.threads // beside, MOST_PIECES)
        given = [
            self.run.task(
                "merge-gradients", f"{level}-{number}-{i}", tasks.gradients,
                self.shared, nodes, i, pieces,
            )
            for i in range(pieces if pieces > 1 else 0)
        ]  # fmt: skip
        return self.run.task(
            "merge", f"{level}-{number}", tasks.merge,
            self.shared, nodes, level, tol, root, given,
        )  # fmt: skip

    def grow(self, passes: int | None) -> tuple[Node, list[Count]]:
        """The root after the tree and its looks back, and what each of them found.

        ``passes`` None: until no partition has a violator. If the partitions misled the tree (rows
        sorted by class), more looks are made, until the model stops changing.
        """
        (root,) = self.run.start(self.tree())
        counts: list[Count] = []
        while passes is None or len(counts) < passes or (passes and self._misled(counts)):
            root, found = self._look_back(root, len(counts) + 1)
            counts.append(found)
            if not found.entered or sum(not c.done for c in counts) > MOST_FAILURES:
                break
        (node,) = self.run.results([root])
        return node, counts

    def _misled(self, counts: list[Count]) -> bool:
        last = counts[-1]
        return len(counts) < block.LOOKS and last.wrong > block.WRONG_SHARE * last.size

    def _look_back(self, root: Delayed, look: int) -> tuple[Delayed, Count]:
        root_model = self.run.task("judge", look, tasks.root_model, self.shared, root)
        found: list[Any] = [
            self.run.task(
                "look-back", f"{look}-{i}", tasks.look_back,
                self.shared, root_model, part, place, look, self.most,
            )
            for i, (part, place) in enumerate(zip(self.parts, self.places))
        ]  # fmt: skip
        admitted = self.run.task("admit", look, tasks.admit, self.shared, root, found, look)
        told = self.run.task("count", look, tasks.count, admitted, found)
        admitted, told = self.run.start(admitted, told)
        (count,) = self.run.results([told])
        return admitted, count
