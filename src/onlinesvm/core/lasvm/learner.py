"""The LASVM learner: a support set, a kernel, and what to do with the examples that come.

``learn`` takes examples as a stream does, ``epoch`` passes over a data set at hand, ``finish``
optimises what was collected (lasvm-2005, section 3.2, step 3), ``converge`` goes on until no
example of the data set violates the optimality conditions by more than tau: the exact SVM.

With ``block_size == 1`` the listing is followed to the letter (``listing.py``), else blocks of
examples are learned at once (``block.py``), which is the only way for tasks other than
classification (``tasks.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..examples import Examples
from ..interrupts import checkpoint
from ..kernel.cache import KeptRows, KernelCache, keep_row, kept_rows, make_cache, widen
from ..kernel.kernel import Kernel
from ..kernel.rows import Rows, RowStore
from ..model import Learner
from ..prequential.record import FIRST_BLOCK, LARGEST_BLOCK, Prequential
from ..state.compact import Compact
from . import block as lasvm_block
from . import finishing, second_look, working_set
from . import listing as lasvm
from .one import OneAtATime
from .one_value import OneValueAtATime
from .precision import is_precise
from .support import NEED, PHASE, POSITION, STORED, Support
from .tasks import FINISHING_PASSES, Depths, Task

FEW = 8
"""Streams that bring fewer examples than this at a time are learned one by one."""

SHALLOW = 16
"""The whole support set is optimised after one example per this number of its rows has been learned in
small batches; for tasks other than classification, where nothing but small working sets precedes it."""

STREAM_REPROCESS = 20
"""Maximum number of REPROCESS after one PROCESS of a stream."""

_SINGLES = 256
"""Examples between two signs of progress when they are learned one by one."""

_FEWEST = 64
"""Examples that are learned one by one before Ctrl-C is heard: fewer make no model."""

_NO_SLOTS = np.empty(0, np.int64)


class LASVM(OneAtATime, OneValueAtATime, Compact, Learner):
    """State of LASVM and its verbs. Labels are 0, 1, ... in the order they were made known."""

    watch: Prequential | None = None  # takes note of decision values before examples are learned
    _kept: KeptRows | None = None  # of a cache that a copy or a file has left out

    def __init__(
        self,
        kernel: Kernel,
        like: Rows,
        n_labels: int,
        *,
        tau: float = 1e-3,
        cache_size: float = 200.0,
        block_size: int = 2048,
        delta_max: float = np.inf,
        task: Task | None = None,
    ):
        self.kernel, self.tau, self.cache_size = kernel, tau, cache_size
        self.block_size, self.delta_max = block_size, delta_max
        self.n_labels = n_labels
        self.seeds = np.full(n_labels, lasvm.SEEDS)
        machines = [1] if task is None and n_labels <= 2 else list(range(n_labels))
        self.support = Support(like, machines, task=task)
        self.cache: KernelCache | None = None
        self.converged = False
        self._shallow = 0  # examples learned one by one since the last optimisation in depth
        self._one: Any = None
        self.watch = None

    @property
    def singly(self) -> bool:
        """Whether examples are learned one by one, as listed."""
        return self.block_size == 1 and self.support.task.both_signs

    @property
    def depth(self) -> tuple[float, float, int]:
        """How far one example is optimised, one by one: delta_max, slack and most REPROCESS."""
        if self.singly:
            return self.delta_max, 0.0, lasvm.MOST_REPROCESS
        if self.delta_max < np.inf:
            return self.delta_max, self.depths.stream_slack, lasvm.MOST_REPROCESS
        return self.depths.stream_delta, self.depths.stream_slack, STREAM_REPROCESS

    @property
    def depths(self) -> Depths:
        """How far machines are optimised, for the task."""
        return self.support.task.depths

    def _lasting(self) -> dict[str, Any]:
        """Kernel values are computed again; which rows are kept must last."""
        return self.__dict__ | {"cache": None, "_one": None, "_kept": self.kept_rows()}

    def kept_rows(self) -> KeptRows | None:
        """Which kernel rows are kept: a budget chooses among them, and each costs evaluations.

        None for a kernel in Python, which is not asked for values on the chance of their use.
        """
        if self.cache is None or not self.kernel.is_compiled:
            return self._kept
        return kept_rows(self.cache, self.support.n)

    @property
    def machines(self) -> int:
        """Number of binary problems, or of targets."""
        return self.support.machines

    @property
    def delta(self) -> np.ndarray:
        """g_max - g_min of every machine, eq. (10)."""
        return self.support.a.delta

    @property
    def store(self) -> RowStore:
        """The rows that are held."""
        return self.support.store

    def stores(self) -> list[RowStore]:
        """Where the rows are."""
        return [self.support.store]

    @property
    def bias(self) -> np.ndarray:
        """Bias of every machine."""
        return self.support.a.bias

    @property
    def n_held(self) -> int:
        """Number of rows that are held."""
        return self.support.n

    def gap(self) -> float | None:
        """Largest delta of the machines that have examples of both signs."""
        gap = float(self.delta[self.support.started()].max(initial=-np.inf))
        return gap if np.isfinite(gap) else None

    def is_precise(self) -> bool:
        """Whether rounding errors of kernel values are small beside what was learned."""
        support = self.support
        return is_precise(support.alpha(), support.a.diagonal[: support.n], support.unit)

    # -- labels ---------------------------------------------------------------------------

    def add_label(self) -> None:
        """One more label; its machine starts with the present rows as counter-examples."""
        self._one = None
        if self.n_labels == 2:
            self.support.split_classes()
        self.n_labels += 1
        if self.n_labels > 2:
            self.support.add_machine(self.n_labels - 1)
        if self.watch is not None:
            self.watch.add_label(self.n_labels)
        self.seeds = np.append(self.seeds, lasvm.SEEDS)

    # -- learning -------------------------------------------------------------------------

    def learn(self, fresh: Examples) -> None:
        """Examples of a stream, in order."""
        if self.watch is not None:
            self.watch.begin()
        few = len(fresh.rows) < FEW
        if self.singly or (few and self.support.task.both_signs):
            self.learn_singly(fresh, _NO_SLOTS)
            self._deepen(len(fresh.rows))
            return
        if few and self.learn_few(fresh):
            return
        self.support.task.observe(fresh.label, self.support)
        for number, part in enumerate(self._parts(fresh, np.arange(len(fresh.rows)))):
            if number:
                checkpoint()
            self._learn_block(part, self.depths.stream_slack, deepen=not few)
        if few:
            self._deepen(len(fresh.rows))

    def _deepen(self, count: int) -> None:
        """After ``count`` more single examples of a stream: optimise in depth, now and then."""
        self._shallow += count
        share = FEW if self.support.task.both_signs else SHALLOW
        if self.singly or self._shallow < max(FEW, self.support.n // share):
            return
        self._shallow = 0
        finishing.mend(self)
        if not self.support.task.both_signs:
            self.support.task.observe(self.support.a.label[:0], self.support)
            finishing.note_influence(self)
            self.support.measure()
        if self._reduce_stream_delta() or not self.support.task.both_signs:
            lasvm_block.evict(self.support, self.depths.stream_slack)

    def _reduce_stream_delta(self) -> bool:
        """Optimise a stream's model whose delta is large. Returns whether it was."""
        support = self.support
        large = support.started() & (support.a.delta > self.depths.stream_delta * support.unit)
        if large.any():
            self.finish(self.depths.stream_goal)
        return bool(large.any())

    def _parts(
        self, fresh: Examples, order: np.ndarray, at_hand: bool = False
    ) -> Iterator[Examples]:
        first = 0
        for size in self._sizes(len(order), at_hand):
            yield fresh.take(order[first : first + size])
            first += size

    def _sizes(self, n: int, at_hand: bool = False) -> Iterator[int]:
        """Sizes of the blocks of n examples. Where scores are noted, blocks are small.

        Not in a fit of data at hand, unless drifts are to be found: scores are made at its end.
        """
        watch = self.watch
        small = watch is not None and (not at_hand or watch.detector is not None)
        size, noted = self.block_size, 0 if watch is None else watch.n
        while n > 0:
            if small:
                size = min(max(noted, FIRST_BLOCK), LARGEST_BLOCK, self.block_size)
            yield min(size, n)
            n, noted = n - size, noted + size

    def _learn_block(
        self,
        fresh: Examples,
        slack: float,
        new: Any = slice(None),
        deepen: bool = False,
        noted: bool = True,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One block step, then eviction: slacks of the fresh, keys and slacks of the evicted.

        ``new`` are those of the fresh that were never learned before. ``noted``: all are new, and
        ``watch`` is told.
        """
        self.drop_cache()
        task, slot, size = self.support.task, self.support.slots(fresh.key), len(fresh.rows)
        mass = task.nu * fresh.bound[new].sum() if task.nu else 0.0
        few = size < FEW and not task.both_signs
        company = lasvm_block.FEW_OLD_MEMBERS if few else lasvm_block.OLD_MEMBERS
        scores = np.empty((size, self.machines)) if self.watch is not None and noted else None
        before = self.support.started()
        slacks = lasvm_block.learn_block(
            self.support, self.kernel, fresh, slot, mass, company, scores
        )
        if self.watch is not None and scores is not None:
            self.watch.note(scores, fresh.label, fresh.bound)
        self._reduce_delta()
        if deepen and task.both_signs and (self.support.started() & ~before).any():
            self.finish(self.depths.rough)  # many rows of one class may have waited for the other
        elif deepen:
            finishing.note_influence(self)
            self._reduce_stream_delta()
        finishing.mend(self)
        return slacks, *lasvm_block.evict(self.support, slack)

    def _reduce_delta(self) -> None:
        """Section 3.5, for many examples at a time: optimise until delta < delta_max."""
        if (self.support.a.delta >= self.delta_max).any():
            self.finish(max(self.tau, 0.9 * self.delta_max))

    def learn_singly(self, fresh: Examples, slot_of: np.ndarray, noted: bool = True) -> None:
        """PROCESS and REPROCESS for each example in turn. ``noted`` as in ``_learn_block``."""
        n, first = len(fresh.rows), 0
        while first < n:
            if first >= _FEWEST:
                checkpoint()
            size = int(np.clip(self.support.n // 32, 1, 128))
            few, first = fresh.take(slice(first, first + size)) if n > 1 else fresh, first + size
            if not len(slot_of) and self.learn_single(few, noted):
                continue
            values = self.kernel.meet(few.rows, self.support.rows(), self.support.buffers)
            scores = self.learn_known(few, values, slot_of)
            if self.watch is not None and noted:
                self.watch.note(scores, few.label, few.bound)

    def learn_known(self, fresh: Examples, values: np.ndarray, slot_of: np.ndarray) -> np.ndarray:
        """The same where kernel values are known: with the support set, then among themselves.

        Returns the decision values (n, machines) before each was learned, of those not in S.
        """
        support, n = self.support, self.support.n
        self.reserve(n + len(fresh.rows))
        a = support.a
        a.column[:n] = a.handle[:n] = np.arange(n)
        a.count[POSITION], a.count[PHASE], a.count[STORED] = 0, lasvm.INSERT, n
        joined = np.zeros(support.machines, bool)
        scores = np.empty((len(fresh.rows), support.machines))
        block = lasvm.FreshBlock(values, *fresh[1:], self.seeds, joined, slot_of, scores)
        row = np.empty(n + len(fresh.rows), np.float32)
        if self._online(block, row):
            support.commit_rows(fresh.rows)
        else:
            self._go_on(block, row, fresh.rows)
        return scores

    def _online(self, block: lasvm.FreshBlock, row: np.ndarray) -> bool:
        """Online iterations over a block; false where a kernel row is needed."""
        assert self.cache is not None
        return lasvm.online(*self.depth, self.tau, row, *block, *self.support.a, *self.cache)

    def _go_on(self, block: lasvm.FreshBlock, row: np.ndarray, fresh: Rows) -> None:
        """Fetch the kernel rows that an interrupted pass asks for, until it is done."""
        support = self.support
        while True:
            support.commit_rows(fresh)
            self.fetch_row(int(support.a.count[NEED]))
            if self._online(block, row):
                break
        support.commit_rows(fresh)

    def reserve(self, needed: int) -> None:
        if self.cache is None and self._kept is not None:
            self._restore_cache(self._kept)
        self.support.reserve(needed)
        capacity = len(self.support.a.label)
        if self.cache is None:
            self.cache = make_cache(self.cache_size, capacity)
        elif len(self.cache.pages) < capacity:
            self.cache = widen(self.cache, self.cache_size, capacity)

    def drop_cache(self) -> None:
        """Forget kernel values whose slots are about to change."""
        self.cache = self._kept = None

    def _restore_cache(self, kept: KeptRows) -> None:
        """The cache that a copy or a file has left out. Does not count as training."""
        self._kept, count = None, self.kernel.n_evaluations
        if kept.capacity > len(self.support.a.label):
            self.support.grow_to(kept.capacity)
        self.cache = make_cache(self.cache_size, kept.capacity)
        for s in kept.slots.tolist():
            self.fetch_row(s)
        self.kernel.n_evaluations = count

    def fetch_row(self, s: int) -> None:
        """Compute and keep the kernel row of slot s."""
        rows = self.support.rows()
        row = self.kernel.block(rows.take(slice(s, s + 1)), rows)[0]
        row[s] = self.support.a.diagonal[s]
        keep_row(self.cache, s, row, self.support.n, -1)

    # -- a data set at hand ---------------------------------------------------------------

    def epoch(
        self, data: Examples, order: np.ndarray, slacks: np.ndarray, first: bool = True
    ) -> Iterator[int]:
        """One pass over the data set; yields how many examples are done.

        ``slacks[m, i]`` is example i's last known y (g - b) for machine m, for a second look at
        those turned away. ``first``: none of the examples was learned before.
        """
        if self.support.n == 0:
            self.support.task.observe(data.label[order], self.support)
            if self.support.task.both_signs:
                order = lasvm.seeds_first(order, data.label)
        if self.singly:
            yield from self._epoch_singly(data, order, first)
            return
        done = 0
        for part in self._parts(data, order, at_hand=True):
            if done:
                checkpoint()
            done += len(part.rows)
            new = np.isposinf(slacks[0, part.key])
            slack, gone, gone_slack = self._learn_block(part, self.depths.slack, new, noted=first)
            slacks[:, part.key] = slack
            slacks[:, gone] = np.maximum(slacks[:, gone], gone_slack)
            yield done

    def _epoch_singly(self, data: Examples, order: np.ndarray, noted: bool) -> Iterator[int]:
        slot_of = np.full(len(data.rows), -1)
        slot_of[self.support.a.key[: self.support.n]] = np.arange(self.support.n)
        for first in range(0, len(order), _SINGLES):
            which = order[first : first + _SINGLES]
            self.learn_singly(data.take(which), slot_of, noted)
            yield min(first + _SINGLES, len(order))

    def n_steps(self, n: int) -> int:
        """How often ``epoch`` yields for n examples."""
        return -(-n // _SINGLES) if self.singly else len(list(self._sizes(n, at_hand=True)))

    def second_look(self, data: Examples, slacks: np.ndarray) -> None:
        """Judge examples that were turned away by the model as it is now (``second_look``)."""
        if not self.singly:
            second_look.second_look(self, data, slacks)

    def converge(self, data: Examples, slacks: np.ndarray, done: bool = True) -> Iterator[int]:
        """Admit violators and finish, until none is left; yields how many came in each time."""
        return second_look.converge(self, data, slacks, done)

    # -- finishing ------------------------------------------------------------------------

    def finishing_work(self) -> float:
        """Kernel values that the finishing step takes, about."""
        members = self.support.a.member[:, : self.support.n].sum(axis=1).astype(np.float64)
        return FINISHING_PASSES * float(members @ members)

    def finish(self, tol: float | None = None) -> bool:
        """Optimise until delta <= tol (tau), in units of the machine. Returns whether all got there.

        The unit itself may become smaller by it.
        """
        tol = self.tau if tol is None else tol
        if self.support.n == 0:
            return True
        if self.singly:
            return all([finishing.finish_as_listed(self, m) for m in range(self.support.machines)])
        self.drop_cache()
        finishing.note_influence(self)
        finer = True
        while finer:
            unit = self.support.unit
            try:
                done = working_set.optimise_all(self.support, self.kernel, tol, self.cache_size)
            finally:  # also where Ctrl-C or a time limit ends it: biases belong to the coefficients
                finishing.mend(self)
                self.support.measure()
            finer = done and bool((self.support.unit < unit).any())
        if tol <= self.tau:
            self.support.buffers.clear()
        return done

    def decide(self, rows: Rows) -> np.ndarray:
        """Decision values (n, machines) by the support set as it is."""
        return self.kernel.product(rows, *self.support.expansion()) + self.support.a.bias

    # -- what was learned -----------------------------------------------------------------

    def expansion(self) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        """Support vectors, their coefficients (machines, n), the biases, and the slots."""
        alpha = self.support.alpha()
        used = np.flatnonzero(alpha.any(axis=0))
        rows = self.support.rows().take(used)
        return rows, alpha[:, used], self.support.a.bias.copy(), used

    def keys(self, slots: np.ndarray) -> np.ndarray:
        return self.support.a.key[slots]

    def labels(self, slots: np.ndarray) -> np.ndarray:
        return self.support.a.label[slots]
