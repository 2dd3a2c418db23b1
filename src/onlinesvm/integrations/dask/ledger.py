"""What the tasks of a fit have cost: one entry per task, kept with its result."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ...core.kernel.kernel import Kernel
from ...core.kernel.rows import Rows
from ...core.kernel.tiles.dense import SparseRows
from ...core.lasvm.state import Support


class Entry(NamedTuple):
    """One task."""

    phase: str  # "leaf", "merge", "look back" or "admit"
    level: int  # of a merge: 1 above the leaves; of a look back: its number
    seconds: float  # of processor time
    kernel_values: int
    rows: int  # in the result
    sent: int  # bytes of what it sends on
    content: int  # bytes of rows and coefficients in that
    received: int = 0  # bytes of the support sets or violators that came in
    received_content: int = 0  # bytes of rows and coefficients in those

    def given(self, came: Iterable[Entry]) -> Entry:
        """The entry of a task that takes the results of these."""
        came = list(came)
        received, content = sum(e.sent for e in came), sum(e.content for e in came)
        return self._replace(received=received, received_content=content)


class Node(NamedTuple):
    """A support set on its way to the root, whether it was optimised to the end, and its costs."""

    support: Support
    done: bool
    ledger: tuple[Entry, ...]


class Meter:
    """Filled in by ``metered``."""

    seconds = 0.0
    kernel_values = 0

    def entry(self, phase: str, level: int, rows: int, sent: Any, content: int) -> Entry:
        """The entry of a task that sends ``sent``, counted as it is pickled."""
        size = len(pickle.dumps(sent, protocol=5)) if rows else 0
        return Entry(phase, level, self.seconds, self.kernel_values, rows, size, content)


@contextmanager
def metered(kernel: Kernel) -> Iterator[Meter]:
    """Measures this thread's processor time and the kernel values."""
    meter, begin, before = Meter(), time.thread_time(), kernel.n_evaluations
    yield meter
    meter.seconds = time.thread_time() - begin
    meter.kernel_values = kernel.n_evaluations - before


def content_of(rows: Rows, coef: np.ndarray) -> int:
    """Bytes of rows and their coefficients in memory, nothing else."""
    if isinstance(rows.values, SparseRows):
        entries = int((rows.values.end - rows.values.begin).sum())
        return entries * 8 + coef.nbytes
    return int(rows.values.nbytes + coef.nbytes)
