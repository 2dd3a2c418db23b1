"""The tasks of the tree, as workers run them: a frame and a partition, or some nodes, in; a node out.

The result of a task depends only on its arguments, not on the worker or the number of threads, and
its arguments are not changed: a task may run twice, on any worker.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...core.lasvm.parts import merging
from ...core.lasvm.parts.merging import RootModel, Violators
from .frame import Frame
from .ledger import Entry, Node, content_of, metered
from .running import threads_here


class Place(NamedTuple):
    """Which partition: its number, the number of its first row, and its seed."""

    number: int
    offset: int
    seed: int


class Found(NamedTuple):
    """What a look back at one partition gives."""

    violators: Violators
    entry: Entry


def leaf(frame: Frame, part: Any, place: Place) -> Node:
    """Learn a partition in one pass."""
    kernel = frame.kernel()
    with metered(kernel) as meter:
        data = frame.examples(part, place.number, place.offset)
        seed = np.array([place.seed, place.number], np.uint32)
        support = merging.leaf(data, kernel, len(frame.book), frame.tol, seed)
    entry = meter.entry("leaf", 0, support.n, support, content_of(*_content(support)))
    return Node(support, True, (entry,))


def _content(support: Any) -> tuple[Any, np.ndarray]:
    return support.rows(), support.alpha()


def gradients(frame: Frame, nodes: list[Node], piece: int, pieces: int) -> tuple[np.ndarray, Entry]:
    """Gradients of some rows of a union: the product of a merge, shared out."""
    kernel, parts = frame.kernel(), [node.support for node in nodes]
    total = sum(part.n for part in parts)
    first, last = total * piece // pieces, total * (piece + 1) // pieces
    with metered(kernel) as meter:
        grad = merging.gradients(parts, kernel, first, last)
    return grad, Entry("gradients", 0, meter.seconds, meter.kernel_values, 0, grad.nbytes, 0)


def merge(frame: Frame, nodes: list[Node], level: int, tol: float, alone: bool, given: Any) -> Node:
    """Merge support sets; ``given`` are the gradients, where other tasks computed them."""
    kernel = frame.kernel(threads_here(alone))
    entries = [entry for node in nodes for entry in node.ledger] + [entry for _, entry in given]
    with metered(kernel) as meter:
        grad = np.concatenate([part for part, _ in given], axis=1) if given else None
        support, done = merging.merge([node.support for node in nodes], kernel, tol, grad)
    entry = meter.entry("merge", level, support.n, support, content_of(*_content(support)))
    return Node(support, done, (*entries, entry.given(node.ledger[-1] for node in nodes)))


def root_model(frame: Frame, root: Node) -> RootModel:
    """The root's model as partitions need it."""
    return merging.root_model(root.support, frame.tol)


def look_back(
    frame: Frame, root_model: RootModel, part: Any, place: Place, look: int, most: int
) -> Found:
    """Score the rows of a partition with the root's model; returns the violators."""
    kernel = frame.kernel()
    with metered(kernel) as meter:
        data = frame.examples(part, place.number, place.offset)
        found = merging.violators(root_model, kernel, data, most)
    n = len(found.examples.rows)
    content = content_of(found.examples.rows, found.grad)
    return Found(found, meter.entry("look back", look, n, found, content))


def admit(frame: Frame, root: Node, found: list[Found], look: int) -> Node:
    """The root with the violators of all partitions, optimised again."""
    kernel = frame.kernel(threads_here(True))
    with metered(kernel) as meter:
        few = [one.violators for one in found]
        support, done = merging.admit(root.support, kernel, frame.tol, few)
    entry = Entry("admit", look, meter.seconds, meter.kernel_values, support.n, 0, 0)
    came = [one.entry for one in found]
    return Node(support, done, (*root.ledger, *came, entry.given(came)))


class Count(NamedTuple):
    """What the driver must know after a look back."""

    entered: int
    wrong: int
    withheld: int
    size: int
    done: bool


def count(root: Node, found: list[Found]) -> Count:
    """Numbers of violators found, misclassified and not sent; rows of the root, and its state."""
    few = [one.violators for one in found]
    return Count(
        sum(len(v.examples.rows) for v in few), sum(v.wrong for v in few),
        sum(v.withheld for v in few), root.support.n, root.done,
    )  # fmt: skip
