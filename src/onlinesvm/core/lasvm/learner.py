"""The LASVM learner: a support set, a kernel, and what to do with the examples that come.

``learn`` takes examples as a stream does, ``epoch`` passes over a data set at hand, ``finish``
optimises what was collected (lasvm-2005, section 3.2, step 3), ``converge`` goes on until no
example of the data set violates the optimality conditions by more than tau: the exact SVM.

There are two roads. One example at a time (``online``): the listing of the paper with
``block_size == 1``, streams that bring few examples at a time, and every stream whose memory is
bounded by limits (``online.memory``). Many at a time (``block``): everything else.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy, deepcopy
from typing import Any, Self

import numpy as np

from ..examples import Examples
from ..kernel.cache import AllPairs, HeldValues, Pages
from ..kernel.kernel import Kernel
from ..kernel.rows import Rows, RowStore
from ..kernel.tiles.one_row import decide_one, second_part
from ..model import Learner
from ..prequential.record import FIRST_BLOCK, LARGEST_BLOCK
from ..runtime.compact import Compact
from ..runtime.interrupts import checkpoint
from .block import block as lasvm_block
from .block import second_look, working_set
from .block.slack_bounds import DataSet, Judged, Reference, judged_by, mark_of
from .counted import Counted
from .online import finish as finishing
from .online.memory import SEEDS, Memory, next_look
from .online.one_by_one import OneByOne
from .online.process import NO_SLOTS
from .state import CLOCK, Support
from .tasks import FINISHING_PASSES, Classification, OneClass, Regression, Task, Tolerances

BEGINNING = 1000
"""Examples at the beginning of a stream: they all stay in S, and models that know so few mislead nobody.
Of as many examples a fit is the exact SVM (``fit``)."""

SMALLEST_BLOCK = 8
"""Streams that bring fewer examples than this at a time are learned one by one."""

ROWS_PER_OPTIMISATION = 16
"""All of S is optimised after every n // this number of single examples, for tasks other than
classification."""

_SINGLES = 256
"""Examples between two signs of progress when they are learned one by one, and, with limits, between
two looks at whether Ctrl-C has come."""

_FEWEST = 64
"""Examples that are learned one by one before Ctrl-C is heard: fewer make no model."""

_SETTLED = 64
"""Number of targets from which on their spread is measured now and then, not for each."""


class LASVM(Compact, Learner):
    """State of LASVM and its verbs. Labels are 0, 1, ... in the order they were made known."""

    watch: Any = None  # takes note of decision values before examples are learned
    asides: Any = None  # keeps decision values that are computed in any case, for later
    judged: Judged | None = None  # slacks after a fit that has converged
    seen = BEGINNING  # examples learned, where memory is not bounded (older pickles have no number)
    counted: Counted | None = (
        None  # weights of the examples of one class, where memory is not bounded
    )
    scores: Any  # with limits: decision values of the last examples before they were learned
    support: Support
    memory: Memory | None
    values: HeldValues  # kernel values among the rows held
    _one_by_one: OneByOne | None

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
        limits: dict[str, Any] | None = None,
    ):
        """``limits``: window, budget, half_life, policy and cost of a ``Memory``, or None."""
        self.kernel, self.tau, self.cache_size = kernel, tau, cache_size
        self.block_size, self.delta_max = block_size, delta_max
        self.n_labels = n_labels
        self.seeds = np.full(n_labels, SEEDS)
        task = task or Classification()
        support, memory = Support(like, task.positives(n_labels), task=task), None
        if limits is not None:
            memory = Memory(like, support, n_labels, **limits)
            support.a.bias[:] = 0.0
        self.hold(support, memory)
        self.converged = False
        self._since_optimised = 0  # examples learned one by one since all of S was optimised
        self.seen = 0
        self.watch = self.asides = self.judged = None
        self.counted = Counted() if task.nu and memory is None else None

    def hold(self, support: Support, memory: Memory | None = None) -> None:
        """Go on from this support set, of which no kernel values are known."""
        self.support, self.memory = support, memory
        if memory is None:
            self.values = Pages(support, self.kernel, self.cache_size)
        else:
            self.values = AllPairs(support, self.kernel, memory.budget)
        self._begin_anew()

    def keep_rows(self, mask: np.ndarray) -> np.ndarray:
        """Drop the rows where ``mask`` is false; returns the slot that each of the others had.

        With limits, the kernel values among the others stay.
        """
        if (
            self.memory is None
            or not isinstance(self.values, AllPairs)
            or self.values.cache is None
        ):
            self.values.drop()
            return self.support.keep(mask)
        K = self.values.square()
        order = self.support.keep(mask)
        self.values.restore(K[np.ix_(order, order)])
        self.memory.count_held(self.support, self.values.square())
        return order

    def twin(self, kernel: Kernel | None = None) -> Self:
        """A copy to try something on: a support set of its own, and nothing watches it.

        What it computes counts, unless it is given a kernel of its own.
        """
        twin = copy(self)
        twin.kernel, twin.watch = kernel or self.kernel, None
        twin.hold(deepcopy(self.support), self.memory)
        return twin

    # -- state ----------------------------------------------------------------------------

    @property
    def task(self) -> Task:
        return self.support.task

    @property
    def n(self) -> int:
        """Number of rows held."""
        return self.support.n

    @property
    def unit(self) -> np.ndarray:
        return self.support.unit

    @property
    def machines(self) -> int:
        """Number of binary problems, or of targets."""
        return self.support.machines

    @property
    def n_scores(self) -> int:
        """Number of scores that are noted of an example, for ``watch`` and ``asides``."""
        return self.task.n_scores(self.n_labels)

    @property
    def delta(self) -> np.ndarray:
        """g_max - g_min of every machine, eq. (10); infinite while it has seen one sign."""
        return self.support.a.delta

    @property
    def store(self) -> RowStore:
        """The rows that are held."""
        return self.support.store

    @property
    def window(self) -> int | None:
        """Number of examples that count; None: all."""
        return None if self.memory is None else self.memory.window

    @property
    def budget(self) -> int | None:
        """Maximum number of rows held; None: any."""
        return None if self.memory is None else self.memory.budget

    @property
    def singly(self) -> bool:
        """Whether examples of a data set are learned one by one, as listed."""
        return self.block_size == 1 and self.task.both_signs and self.memory is None

    @property
    def begins(self) -> bool:
        """Whether this is the beginning of a stream, where no row leaves S, and none is turned away.

        A model of few examples is sure of much that is wrong, and what has left is lost.
        """
        few = self.seen < BEGINNING and self.machines < lasvm_block.MANY
        return few and not self.singly and self.memory is None

    def _count(self, more: int) -> bool:
        """More examples were learned; whether the beginning of a stream has ended with them."""
        before = self.begins
        self.seen += more
        return before and not self.begins

    def _clear_away(self) -> None:
        """Rows beyond the margin, which the beginning has kept, leave."""
        self.support.mend(self.kernel)
        self._evict(self.tolerances.begun_beyond)
        self.values.drop()

    @property
    def _beyond(self) -> float:
        """How far beyond the margin rows leave on a stream."""
        return np.inf if self.begins else self.tolerances.stream_beyond

    @property
    def tolerances(self) -> Tolerances:
        """How far machines are optimised, for the task."""
        return self.task.tolerances

    def _lasting(self) -> dict[str, Any]:
        """Without what is made again when it is used."""
        return self.__dict__ | {"_one_by_one": None, "scores": None}

    def _in_use(self) -> dict[str, Any]:
        """Without slacks, which take as much memory as there are examples: ``fit`` has made them."""
        return self._lasting() | {"judged": None}

    def stores(self) -> list[RowStore]:
        """Where the rows are: those held, and those of the window."""
        recent = None if self.memory is None else self.memory.recent
        return [self.store] if recent is None else [self.store, recent.store]

    @property
    def bias(self) -> np.ndarray:
        """Bias of every machine."""
        return self.support.a.bias

    @property
    def shown_bias(self) -> np.ndarray:
        """The same of the functions that predict: calibrated quantiles have an offset each."""
        offsets = None if self.watch is None else self.watch.offsets
        return self.bias.copy() if offsets is None else self.bias + offsets

    def gap(self) -> float | None:
        """Largest delta of the machines that have examples of both signs."""
        gap = float(self.delta[self.support.started()].max(initial=-np.inf))
        return gap if np.isfinite(gap) else None

    # -- labels ---------------------------------------------------------------------------

    def add_label(self) -> None:
        """One more label; its machine starts with the present rows as counter-examples."""
        support = self.support
        if self.n_labels == 2 and not self.task.partial:
            support.split_classes()
        self.n_labels += 1
        for number in self.task.added(self.n_labels) if self.n_labels > 2 else ():
            support.add_machine(number)
            if self.memory is not None:  # all rows are members of all machines
                support.a.member[-1, : self.n] = True
                support.a.longest[-1] = support.a.longest[0]
        if self.memory is not None:
            self.memory.add_label(self.n_labels)
        if self.watch is not None:
            self.watch.add_label(self.n_labels)
        if self.asides is not None:
            self.asides.add_label(self.n_labels)
        self.seeds = np.append(self.seeds, SEEDS)
        self._begin_anew()

    @property
    def one_by_one(self) -> OneByOne:
        """The road of single examples, of the present support set."""
        if self._one_by_one is None:
            self._one_by_one = OneByOne(
                self.kernel, self.support, self.values, self.memory, self.seeds, self.n_labels,
                self.tau, self.delta_max, self.singly,
            )  # fmt: skip
        self._one_by_one.keep_all(self.begins)
        return self._one_by_one

    def _begin_anew(self) -> None:
        """The support set is another, or has another number of machines."""
        self._one_by_one = self.scores = None

    # -- learning -------------------------------------------------------------------------

    def learn_everything(self) -> None:
        """Examples are chosen by others from now on: they are no beginning of a stream."""
        self.seen = BEGINNING

    def learn(self, fresh: Examples, noted: bool = True) -> None:
        """Examples of a stream, in order.

        ``noted``: none of them was learned before, and ``watch`` is told.
        """
        if self.watch is not None and noted:
            self.watch.begin()
        few = len(fresh.rows) < SMALLEST_BLOCK
        if self.memory is not None:
            self._learn_limited(fresh, noted)
        elif self.singly or (few and self.task.both_signs):
            self.learn_singly(fresh, NO_SLOTS, noted)
            self._optimise_if_due(len(fresh.rows))
        elif few:
            for q in range(len(fresh.rows)):
                self.learn_singly(fresh.take(slice(q, q + 1)), NO_SLOTS, noted)
                self._optimise_if_due(1)
        else:
            self._learn_blocks(fresh)

    def learn_again(self, again: Examples) -> None:
        """Another look at examples of a stream: each keeps its one coefficient, whether it is held or
        was turned away, and nobody takes note of its scores, as in a later epoch of ``fit``.

        With limits they count as more examples, also as in ``fit``: what has left is not known.
        """
        if self.memory is not None:
            self.learn(again, noted=False)
        elif self.singly:  # PROCESS does nothing with an example that is held
            away = np.flatnonzero(self.support.slots_of_arrived(again.key) < 0)
            self.learn_singly(again.take(away), NO_SLOTS, noted=False)
        else:
            for first in range(0, len(again.rows), self.block_size):
                if first:
                    checkpoint()
                part = again.take(slice(first, first + self.block_size))
                new = np.zeros(len(part.rows), bool)
                self._learn_block(part, self._beyond, new, on_stream=True, noted=False)

    def _learn_blocks(self, fresh: Examples) -> None:
        self.task.observe(fresh.label, self.support)
        for number, part in enumerate(self._parts(fresh, np.arange(len(fresh.rows)))):
            if number:
                checkpoint()
            self._learn_block(part, self._beyond, on_stream=True)

    def _optimise_if_due(self, count: int) -> None:
        """After ``count`` more single examples of a stream: optimise all of S, now and then."""
        self._since_optimised += count
        share = SMALLEST_BLOCK if self.task.both_signs else ROWS_PER_OPTIMISATION
        if self.singly or self._since_optimised < max(SMALLEST_BLOCK, self.support.n // share):
            return
        self._since_optimised = 0
        self.support.mend(self.kernel)
        if not self.task.both_signs:
            self.task.observe(np.empty((0, *self.task.no_labels(0).shape[1:])), self.support)
            self._note_influence()
            self.support.measure()
        if self._reduce_stream_delta() or not self.task.both_signs:
            n = self.n
            self._evict(self._beyond)
            if self.n < n:
                self.values.drop()

    def _reduce_stream_delta(self) -> bool:
        """Optimise a stream's model whose delta is large. Returns whether it was."""
        support, tolerances = self.support, self.tolerances
        most, goal = tolerances.stream_delta, tolerances.stream_goal
        if self.begins:  # more rows differ from it, and it costs little
            most, goal = max(tolerances.rough, goal), min(tolerances.rough, goal)
        large = support.started() & (support.a.delta > most * support.unit)
        if large.any():
            self.finish(goal)
        return bool(large.any())

    def _parts(
        self, fresh: Examples, order: np.ndarray, at_hand: bool = False
    ) -> Iterator[Examples]:
        first = 0
        for size in self._sizes(len(order), at_hand):
            yield fresh.take(order[first : first + size])
            first += size

    def _sizes(self, n: int, at_hand: bool = False) -> Iterator[int]:
        """Sizes of the blocks of n examples, small where scores of many models are to be noted."""
        watch = self.watch
        small = watch is not None and watch.wants_small_blocks(n, at_hand, self.block_size)
        size, noted = self.block_size, 0 if watch is None else watch.n
        if at_hand and self.takes_all_at_once(n):
            size = max(size, n)
        while n > 0:
            if small:
                size = min(max(noted, FIRST_BLOCK), LARGEST_BLOCK, self.block_size)
            if not at_hand and self.begins:
                size = min(size, BEGINNING - self.seen)
            yield min(size, n)
            n, noted = n - size, noted + size

    def _learn_block(
        self,
        fresh: Examples,
        beyond: float,
        new: Any = slice(None),
        on_stream: bool = False,
        noted: bool = True,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """One block step, then eviction: slacks of the fresh, keys and slacks of the evicted.

        ``new`` are those of the fresh that were never learned before. ``noted``: all are new, and
        ``watch`` is told.
        """
        self.values.drop()
        task, size, again = self.task, len(fresh.rows), on_stream and not noted
        find = self.support.slots_of_arrived if again else self.support.slots
        slot = find(fresh.key)
        mass = task.nu * fresh.bound[new].sum() if task.nu else 0.0
        if self.counted is not None:
            self.counted.note(fresh.key[new], fresh.bound[new])
        few = size < SMALLEST_BLOCK and not task.both_signs
        n_old = lasvm_block.FEW_OLD_MEMBERS if few else lasvm_block.OLD_MEMBERS
        watched = self.watch is not None and noted
        before = self.support.started()
        # Of new examples on a stream; a fit keeps its slacks.
        asides = self.asides if on_stream and noted else None
        aside = asides is not None and bool(before.all())
        scores = np.empty((size, self.machines)) if watched or aside else None
        slacks = lasvm_block.learn_block(
            self.support, self.kernel, fresh, slot, mass, n_old, scores, on_stream and self.begins
        )
        if self._count(len(fresh.key[new])) and on_stream:
            beyond = self.tolerances.begun_beyond
        if scores is not None and task.partial:
            scores = self.scores_of(scores)
        if watched:
            self.watch.note_block(scores, fresh.label, fresh.bound, fresh.key)
        if asides is not None and aside:
            asides.note(scores, fresh.label, fresh.bound, fresh.key)
        self._reduce_delta()
        if on_stream and task.both_signs and (self.support.started() & ~before).any():
            self.finish(
                self.tolerances.rough
            )  # many rows of one class may have waited for the other
        elif on_stream:
            self._note_influence()
            self._reduce_stream_delta()
        self.support.mend(self.kernel)
        told = None if aside or asides is None else self._keep_beyond
        return slacks, *self._evict(beyond, told)

    def _evict(self, beyond: float, told: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Rows beyond the margin leave, and so does the rounding that they left in the gradients."""
        largest = self.support.largest_change()
        found = lasvm_block.evict(self.support, beyond, told)
        self.support.mend_after(largest, self.kernel)
        return found

    def keep_beyond(self, slacks: np.ndarray, data: Examples) -> None:
        """At the end of a fit: scores of examples that are not held, from their last known slacks."""
        if self.asides is not None:
            known = np.isfinite(slacks)
            if self.task.partial:
                known |= self.support.linear(data.label) == 0.0
            away = known.all(axis=0) & (data.bound > 0.0)
            away[self.support.a.key[: self.n]] = False
            self._keep_beyond(slacks[:, away], data.label[away], data.bound[away], data.key[away])

    def _keep_beyond(
        self, slacks: np.ndarray, label: np.ndarray, bound: np.ndarray, key: np.ndarray
    ) -> None:
        """Scores of examples that have left, or never joined: y f(x) = 1 - slack.

        Machines in which an example has no part have not judged it: their values are not known.
        """
        linear = self.support.linear(label)
        if self.task.partial:
            slacks = np.where(linear == 0.0, np.nan, slacks)
        self.asides.keep_beyond(self.scores_of((linear * (1.0 - slacks)).T), label, bound, key)

    def scores_of(self, values: np.ndarray) -> np.ndarray:
        """Scores of labels, as ``watch`` and ``asides`` take them, from values of machines."""
        return self.task.scores(values, self.n_labels)

    def _reduce_delta(self) -> None:
        """Section 3.5, for many examples at a time: optimise until delta < delta_max."""
        if (self.support.a.delta >= self.delta_max).any():
            self.finish(max(self.tau, 0.9 * self.delta_max))

    # -- one example at a time ------------------------------------------------------------

    def learn_singly(self, fresh: Examples, slot_of: np.ndarray, noted: bool = True) -> None:
        """PROCESS and REPROCESS for each example in turn. ``noted`` as in ``learn``.

        ``slot_of``: the slot of every example of a data set, -1: none; empty on a stream.
        """
        n, first = len(fresh.rows), 0
        while first < n:
            if first >= _FEWEST:
                checkpoint()
            size = int(np.clip(self.support.n // 32, 1, 128))
            if self.begins:
                size = min(size, BEGINNING - self.seen)
            few, first = fresh.take(slice(first, first + size)) if n > 1 else fresh, first + size
            if (
                not len(slot_of)
                and len(few.rows) <= SMALLEST_BLOCK
                and self.one_by_one.takes(few.rows)
            ):
                scores = self.one_by_one.learn_dense(few)
            else:
                values = self.kernel.block_with_self(
                    few.rows, self.support.rows(), self.support.buffers
                )
                scores = self.one_by_one.learn_known(few, values, slot_of)
            self._note_targets(few.label)
            if self.counted is not None:
                self.counted.note(few.key, few.bound)
            if noted:
                self.note(scores, few)
            if self._count(len(few.rows)):
                self._clear_away()

    def note(self, scores: np.ndarray, fresh: Examples) -> None:
        """Scores of examples that were learned one by one, each before it was."""
        if self.task.partial and (self.watch is not None or self.asides is not None):
            scores = self.scores_of(scores)
        if self.watch is not None:
            self.watch.note(scores, fresh.label, fresh.bound, fresh.key)
        if self.asides is not None:
            self.asides.note(scores, fresh.label, fresh.bound, fresh.key)

    def _note_targets(self, targets: np.ndarray) -> None:
        """The unit follows the targets: at once while they are few."""
        task = self.task
        if isinstance(task, Regression) and self.memory is None:
            task.keep(targets)
            if len(task.recent) < _SETTLED:
                task.observe(task.recent[:0], self.support)

    def learn_one(
        self, x: np.ndarray, label: Any, bound: float, diagonal: float, key: int = -1
    ) -> bool:
        """One dense example, float32 and shifted like the others, with a compiled kernel.

        False: it is far and needs a second part (``learn_far``), or rows are not dense; nothing was
        done.
        """
        if self.store.is_sparse or not self.kernel.is_compiled:
            return False
        if len(self.store.low) and self.support.a.count[CLOCK] % _SINGLES == 0:
            self.store.drop_unused_second_parts()
        return self._learn_one(x, self.store.low[:0], label, bound, diagonal, key)

    def learn_far(
        self, x: np.ndarray, wide: np.ndarray, label: Any, bound: float, key: int = -1
    ) -> None:
        """As ``learn_one`` with a kernel of a distance; ``wide`` is the row before it became float32."""
        self.store.reserve_second_parts()
        self._learn_one(x, second_part(wide, x), label, bound, 1.0, key)

    def _learn_one(
        self, x: np.ndarray, low: np.ndarray, label: Any, bound: float, diagonal: float, key: int
    ) -> bool:
        asides, partial = self.asides, self.task.partial
        written = asides is not None and not partial
        scores = asides.next_place() if written else np.empty((1, self.machines))
        if not self.one_by_one.learn_row(x, low, label, bound, diagonal, key, scores):
            return False
        self.scores = scores
        if self.memory is not None:
            self._end_limited(x, low, label, bound, diagonal, key)
        elif isinstance(label, float):
            self._note_targets(np.full((1, self.machines), label))
        if partial and (asides is not None or self.watch is not None):
            scores = self.scores_of(scores)
            if asides is not None:
                asides.next_place()[:] = scores
        if asides is not None:
            asides.note_written(label, bound, key)
        if self.counted is not None:
            self.counted.note_one(key, bound)
        if self.watch is not None:
            self.watch.note_one(scores[0], label, bound, key)
            self._follow(self.watch)
        if self._count(1):
            self._clear_away()
        if self.memory is None:
            self._optimise_if_due(1)
        return True

    def _end_limited(
        self, x: np.ndarray, low: np.ndarray, label: Any, bound: float, diagonal: float, key: int
    ) -> None:
        assert self.memory is not None
        group = label if isinstance(label, int) else 0
        self.memory.last_seen[group] = self.support.a.count[CLOCK]
        self.memory.note_one(x, low, label, bound, diagonal, key)
        if not self.task.both_signs:
            self._note_labels(np.full((1, self.machines), label))

    def learn_row(
        self, x: np.ndarray, wide: np.ndarray, label: Any, bound: float, key: int = -1
    ) -> bool:
        """One dense row, float32 and shifted; false: it has to be given to ``learn``."""
        diagonal = self.kernel.row_diagonal(x)
        if diagonal is None:
            return False
        if self.learn_one(x, label, bound, diagonal, key):
            return True
        if not self.kernel.is_distance or self.store.is_sparse:
            return False
        self.learn_far(x, wide, label, bound, key)
        return True

    def decide_row(self, x: np.ndarray, wide: np.ndarray) -> np.ndarray | None:
        """Decision values of one dense row; None where tiles must compute them."""
        a = self.support.a
        return decide_one(self.kernel, self.store, a.alpha, self.shown_bias, self.n, x, wide)

    # -- limits ---------------------------------------------------------------------------

    def _learn_limited(self, fresh: Examples, noted: bool) -> None:
        """Examples of a stream with limits. ``scores`` are then their decision values beforehand."""
        watch = self.watch if noted else None
        self.scores = np.empty((len(fresh.rows), self.machines))
        varies, first = not self.task.both_signs, 0
        while first < len(fresh.rows):
            if first:
                checkpoint()
            # A window that changes does so at the same examples however the stream is cut.
            size = watch.left() if watch is not None and watch.follows else _SINGLES
            if varies:
                size = min(size, next_look(int(self.support.a.count[CLOCK])))
            part = slice(first, first + size)
            first = part.stop
            few = fresh.take(part)
            self.scores[part] = self._learn_part(few)
            if varies:
                self._note_labels(few.label)
            if noted:
                self.note(self.scores[part], few)
            if watch is not None:
                self._follow(watch)

    def _learn_part(self, fresh: Examples) -> np.ndarray:
        assert self.memory is not None
        if self.memory.recent is not None:
            self.memory.recent.append(fresh)
        self.memory.note_labels(self.task.groups(fresh.label), int(self.support.a.count[CLOCK]))
        self.memory.reserve_masses(self.support, len(fresh.rows))
        if self.one_by_one.takes(fresh.rows):
            return self.one_by_one.learn_dense(fresh)
        scores = np.empty((len(fresh.rows), self.machines))
        for q in range(len(fresh.rows)):
            one = fresh.take(slice(q, q + 1))
            row = self.kernel.block(one.rows, self.support.rows())
            values = np.append(row, one.diagonal.astype(np.float32)[None], axis=1)
            self.kernel.n_evaluations += 1  # k(x, x)
            scores[q] = self.one_by_one.learn_known(one, values, NO_SLOTS)[0]
        return scores

    def _note_labels(self, labels: np.ndarray) -> None:
        """Targets were learned; now and then the unit of the machines follows them."""
        if isinstance(self.task, Regression):
            self.task.keep(labels)
        if next_look(int(self.support.a.count[CLOCK]) - 1) == 1:
            self.follow_unit()

    def follow_unit(self, exact: bool = False) -> bool:
        """The unit of the machines, by what was learned last; whether one became smaller.

        ``exact``: it should be fine enough for an exact model.
        """
        before = self.unit.copy()
        self._note_influence()
        self.task.follow(self.support)
        if exact:
            self.task.make_exact(self.support)
        return bool((self.unit < before).any())

    def _note_influence(self) -> None:
        """What a single example means to a one-class machine, which bounds its unit from below."""
        support, task = self.support, self.task
        if not isinstance(task, OneClass):
            return
        alpha = support.alpha()[0]
        some = task.sample(alpha)
        if isinstance(self.values, AllPairs) and self.values.cache is not None:
            task.weigh(alpha[some], self.values.square()[np.ix_(some, some)])
            return
        rows = support.rows().take(some)
        task.weigh(alpha[some], self.kernel.block(rows, rows))
        support.measure()

    def _follow(self, watch: Any) -> None:
        """The window becomes what the drift detector finds, if it is to follow it."""
        if watch.follows_now and self.memory is not None:
            self.memory.follow(watch.window)

    # -- a data set at hand ---------------------------------------------------------------

    def epoch(
        self, data: Examples, order: np.ndarray, slacks: np.ndarray, first: bool = True
    ) -> Iterator[int]:
        """One pass over the data set; yields how many examples are done.

        ``slacks[m, i]`` is example i's last known y (g - b) for machine m, for a second look at
        those turned away. ``first``: none of the examples was learned before.
        """
        if self.memory is not None:
            yield from self._epoch_limited(data, order, first)
            return
        if self.support.n == 0:
            self.task.observe(data.label[order], self.support)
            if isinstance(self.task, Classification):
                seeds = self.task.seeds(data.label[order], SEEDS)  # step 1 of the listing
                order = np.concatenate([order[seeds], np.delete(order, seeds)])
        if self.singly:
            yield from self._epoch_singly(data, order, first)
            return
        done, beyond = 0, np.inf if self.takes_all_at_once(len(order)) else self.tolerances.beyond
        for part in self._parts(data, order, at_hand=True):
            if done:
                checkpoint()
            done += len(part.rows)
            new = np.isposinf(slacks[0, part.key])
            slack, gone, gone_slack = self._learn_block(part, beyond, new, noted=first)
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

    def _epoch_limited(self, data: Examples, order: np.ndarray, noted: bool) -> Iterator[int]:
        for first in range(0, len(order), _SINGLES):
            if first:
                checkpoint()
            self.learn(data.take(order[first : first + _SINGLES]), noted)
            yield min(first + _SINGLES, len(order))

    def takes_all_at_once(self, n: int) -> bool:
        """Whether n examples of a data set are learned in one block, because machines are very many."""
        in_blocks = self.memory is None and not self.singly and self.task.both_signs
        return in_blocks and working_set.takes_all_at_once(self.machines, n, self.cache_size)

    def n_steps(self, n: int) -> int:
        """How often ``epoch`` yields for n examples."""
        if self.singly or self.memory is not None:
            return -(-n // _SINGLES)
        return len(list(self._sizes(n, at_hand=True)))

    def second_look(self, data: Examples, slacks: np.ndarray) -> None:
        """Judge examples that were turned away by the model as it is now (``second_look``).

        With limits there is none: what was turned away is gone.
        """
        if not self.singly and self.memory is None:
            second_look.second_look(self, data, slacks)

    def admit_misled(self, data: Examples, slacks: np.ndarray) -> bool:
        """After the finishing step, of labels, in a fit that does not go on: see ``second_look``."""
        if self.singly or self.memory is not None or not self.task.both_signs:
            return False
        return second_look.admit_misled(self, data, slacks)

    def converge(
        self, data: DataSet, slacks: np.ndarray, done: bool = True,
        reference: Reference | None = None,
    ) -> Iterator[int]:  # fmt: skip
        """Admit violators and finish, until none is left; yields how many came in each time."""
        return second_look.converge(self, data, slacks, done, reference)

    def keep_slacks(self, slacks: np.ndarray, bound: np.ndarray) -> None:
        """Slacks of a data set by the model as it is, for when examples are to be forgotten.

        Not as listed: rows leave in the finishing step, and their slacks would have to be noted then.
        """
        self.judged = None if self.singly else judged_by(self, slacks, bound)

    def known_slacks(self) -> Judged | None:
        """Slacks of the examples of the last fit; None unless they are those by the model as it is."""
        judged = self.judged
        return judged if judged is not None and judged.mark == mark_of(self.support) else None

    # -- finishing ------------------------------------------------------------------------

    def finishing_work(self) -> float:
        """Kernel values that the finishing step takes, about."""
        if self.memory is not None:
            recent = self.memory.recent
            others = 0 if recent is None else recent.size
            return FINISHING_PASSES * self.machines * self.n * (self.n + others)
        members = self.support.a.member[:, : self.support.n].sum(axis=1).astype(np.float64)
        return FINISHING_PASSES * float(members @ members)

    def finish(self, tol: float | None = None) -> bool:
        """Optimise until delta <= tol (tau), in units of the machine. Returns whether all got there.

        The unit itself may become smaller by it. With a window and no budget, examples of the window
        that violate are admitted first: the model becomes the SVM of the window.
        """
        tol = self.tau if tol is None else tol
        if self.memory is not None:
            return finishing.finish_limited(self, tol)
        if self.support.n == 0:
            return True
        if self.singly:
            return all([finishing.finish_as_listed(self, m) for m in range(self.support.machines)])
        self.values.drop()
        self._note_influence()
        if tol <= self.tau:
            self.task.make_exact(self.support)
        finer = True
        while finer:
            unit = self.unit.copy()
            try:
                done = working_set.optimise_all(self.support, self.kernel, tol, self.cache_size)
            finally:  # also where Ctrl-C or a time limit ends it: biases belong to the coefficients
                self.support.mend(self.kernel)
                self.support.measure()
            finer = done and bool((self.unit < unit).any())
        if tol <= self.tau:
            self.support.buffers.clear()
        return done

    def decide(self, rows: Rows) -> np.ndarray:
        """Decision values (n, machines) by the support set as it is, without offsets of quantiles."""
        return self.kernel.product(rows, *self.support.expansion()) + self.support.a.bias

    def held_values(self, slots: np.ndarray) -> np.ndarray | None:
        """Decision values of these rows, p - g + b. A row that a machine does not keep lies beyond its
        margin: its value there is taken for that of the margin. Machines of pairs know nothing of others.
        """
        a = self.support.a
        if self.memory is not None or self.task.partial:
            return None
        rest = np.where(a.member[:, slots], a.bias[:, None] - a.grad[:, slots], 0.0)
        return np.asarray((a.p[:, slots] + rest).T)

    def values_without(self, slots: np.ndarray) -> np.ndarray | None:
        """Decision values of these rows by the model without them; with limits they are not known."""
        from .block.held_out import values_without

        return None if self.memory is not None else values_without(self, slots)

    def is_precise(self) -> bool:
        """Whether single-precision kernel values suffice for the coefficients."""
        return self.support.is_precise()

    # -- what was learned -----------------------------------------------------------------

    def expansion(self) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        """Support vectors, their coefficients (machines, n), the biases, and the slots."""
        alpha = self.support.alpha()
        used = np.flatnonzero(alpha.any(axis=0))
        rows = self.support.rows().take(used)
        return rows, alpha[:, used], self.shown_bias, used

    def keys(self, slots: np.ndarray) -> np.ndarray:
        return self.support.a.key[slots]

    def stores_keys(self, keys: np.ndarray) -> np.ndarray:
        """Whether each of these examples is stored: in the support set, or in the window."""
        stored = np.isin(keys, self.support.a.key[: self.n])
        recent = None if self.memory is None else self.memory.recent
        return stored if recent is None else stored | np.isin(keys, recent.key[: recent.store.n])

    def labels(self, slots: np.ndarray) -> np.ndarray:
        return self.support.labels(slots)

    def labels_in_window(self) -> np.ndarray | None:
        """Whether the window has examples of each label; None: it has, or there is no window."""
        if self.memory is None:
            return None
        return self.memory.labels_in_window(int(self.support.a.count[CLOCK]))
