"""The budget perceptron (lasvm-2005, section 2.2, after Crammer, Kandola and Singer).

    3)   o(x_t) = sum_{i in S} alpha_i K(x_t, x_i)
    4)   if y_t o(x_t) <= beta:
    4a)      S <- S + {t},  alpha_t <- y_t
    4b)      if |S| > N:  S <- S - { argmax_{i in S} y_i (o(x_i) - alpha_i K(x_i, x_i)) }

Given a block of fresh examples with their kernel values against S and among themselves, ``online``
makes these steps for each of them. The outputs o(x_i) of all rows of S are maintained: an example
that joins or leaves adds or takes its kernel row. Rows keep their slots; one that leaves gives
its slot, and its row and column of ``gram``, to the next that joins. Where ``gram`` is not
kept, ``online`` stops when a row must be removed, and continues when it gets the kernel row.

Symbols: s slot, q fresh example, m machine. Several machines share the rows: a row's safety is the
least that a machine with alpha_i != 0 finds. Of rows that are equally safe the oldest leaves; with
N = 1 both always are, so without this rule rounding would decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..examples import Examples
from ..kernel.buffers import Buffers
from ..kernel.kernel import Kernel
from ..kernel.rows import Rows, RowStore
from ..model import EpochLearner
from ..runtime.compact import Compact
from ..runtime.interrupts import checkpoint
from ..runtime.numerics import ALL_EXAMPLES, REORDERED_SUMS, jit

# Places in BudgetArrays.state
N, POSITION, VICTIM, HOLE, CLOCK = range(5)

TIE = 1e-9
"""Safeties that differ by less, relative to 1 or to themselves, are equal."""

BLOCK = 512
_FEWEST = 64  # slots to begin with
_PER_MACHINE = ("alpha", "out")
_PER_SLOT = ("label", "diagonal", "key", "stamp", "column", "handle")


class BudgetArrays(NamedTuple):
    """What the loop sees of S; N + 1 slots, the last for the example that exceeds the budget."""

    alpha: np.ndarray  # (machines, slots)
    out: np.ndarray  # (machines, slots): o(x_i)
    label: np.ndarray
    diagonal: np.ndarray
    key: np.ndarray
    stamp: np.ndarray  # when the row joined
    column: np.ndarray  # where the row's values stand in the block of fresh kernel values
    handle: np.ndarray  # where the row is: in the store, or (beyond it) in the block
    positive: np.ndarray  # (machines,)
    gram: np.ndarray  # (slots, slots) float32, or empty
    state: np.ndarray  # integers, see above


@jit(fastmath=REORDERED_SUMS)
def online(values, label, diagonal, key, a, beta, budget, stored, row, given):
    """Go through a block from where the last call stopped; true when all is done.

    Without ``gram`` it returns false when slot ``state[VICTIM]`` is to leave; the next call brings
    that slot's kernel ``row`` (``given``).
    """
    machines, state, kept = a.alpha.shape[0], a.state, a.gram.shape[0] > 0
    while state[POSITION] < label.shape[0]:
        q, v = state[POSITION], state[VICTIM]
        if v >= 0:
            if not (kept or given):
                return False
            given = False
            for m in range(machines):
                alpha = a.alpha[m, v]
                for s in range(state[N] if alpha != 0.0 else 0):
                    a.out[m, s] -= alpha * (a.gram[v, s] if kept else row[s])
                a.alpha[m, v] = 0.0
            state[VICTIM], state[HOLE] = -1, v
            state[POSITION] += 1
            continue
        # Step 3. An example that joins takes slot k.
        k, joins = state[HOLE] if state[HOLE] >= 0 else state[N], False
        for m in range(machines):
            total = 0.0
            for s in range(state[N]):
                total += a.alpha[m, s] * values[q, a.column[s]]
            a.out[m, k] = total
            joins |= (total if label[q] == a.positive[m] else -total) <= beta
        if not joins:
            state[POSITION] += 1
            continue
        # Step 4a.
        state[HOLE], state[N] = -1, max(state[N], k + 1)
        state[CLOCK] += 1
        a.label[k], a.diagonal[k], a.key[k] = label[q], diagonal[q], key[q]
        a.column[k], a.handle[k] = values.shape[1] - values.shape[0] + q, stored + q
        a.stamp[k] = state[CLOCK]
        for s in range(state[N]):
            row[s] = values[q, a.column[s]]
        row[k] = diagonal[q]  # a computed value may be off by one bit, which would break ties
        for s in range(state[N] if kept else 0):
            a.gram[s, k] = a.gram[k, s] = row[s]
        for m in range(machines):
            y = 1.0 if label[q] == a.positive[m] else -1.0
            a.alpha[m, k] = y if y * a.out[m, k] <= beta else 0.0
            for s in range(state[N] if a.alpha[m, k] != 0.0 else 0):
                a.out[m, s] += y * row[s]
        if state[N] <= budget:
            state[POSITION] += 1
            continue
        # Step 4b: the row to remove.
        best, where = -np.inf, 0
        for s in range(state[N]):
            safety = np.inf
            for m in range(machines):
                alpha = a.alpha[m, s]
                if alpha != 0.0:
                    y = 1.0 if a.label[s] == a.positive[m] else -1.0
                    safety = min(safety, y * (a.out[m, s] - alpha * a.diagonal[s]))
            near = TIE * (1.0 + abs(safety))
            if safety > best + near or (safety > best - near and a.stamp[s] < a.stamp[where]):
                best, where = safety, s
        state[VICTIM] = where
    return True


class BudgetPerceptron(Compact, EpochLearner):
    """State and steps. Labels are 0, 1, ... in the order of ``add_label``."""

    slots = 0  # how many there were when a pickle or a file was written; 0: as many as there are

    def __init__(
        self,
        kernel: Kernel,
        like: Rows,
        n_labels: int,
        *,
        budget: int,
        margin: float = 0.0,
        cache_size: float = 200.0,
    ):
        self.kernel, self.budget, self.margin = kernel, min(budget, ALL_EXAMPLES), margin
        self.n_labels, self.cache_size = n_labels, cache_size
        self.store, self.buffers = RowStore(like), Buffers()
        positive = [1] if n_labels <= 2 else list(range(n_labels))
        self.a = _arrays(min(budget + 1, _FEWEST), np.array(positive, np.int64))
        self.gram_left_out = False  # and the spare slots: by a pickle or a file

    def _in_use(self) -> dict[str, Any]:
        """Kernel values are computed again, to the same bits, where the kernel is not Python's."""
        a, n = self.a, int(self.a.state[N])
        cut = {name: getattr(a, name)[..., :n] for name in (*_PER_MACHINE, *_PER_SLOT)}
        nothing, leave_out = np.empty((0, 0), np.float32), self.gram_left_out
        gram = a.gram[:n, :n] if a.gram.size else nothing
        if a.gram.size and self.kernel.is_compiled:
            gram, leave_out = nothing, True
        slots = max(len(a.label), self.slots)
        a = a._replace(**cut, gram=gram)
        return self.__dict__ | {"a": a, "gram_left_out": leave_out, "slots": slots}

    def _restore(self) -> None:
        """The slots and kernel values that a pickle has left out. Does not count as training."""
        slots, left_out = self.slots, self.gram_left_out
        self.slots, self.gram_left_out = 0, False
        if slots > len(self.a.label):
            self._grow_to(slots)
        slots = len(self.a.label)
        if not left_out or (slots > _FEWEST and not self._may_keep(slots)):
            return
        rows = self.store.rows()
        gram = np.zeros((slots, slots), np.float32)
        gram[: len(rows), : len(rows)] = replace(self.kernel).block(rows, rows)
        np.fill_diagonal(gram, self.a.diagonal)
        self.a = self.a._replace(gram=gram)

    def _may_keep(self, slots: int) -> bool:
        """Whether the kernel values among this number of rows fit."""
        return 4 * slots**2 <= self.cache_size * 2**20

    # -- labels ---------------------------------------------------------------------------

    def add_label(self) -> None:
        """One more label. Its machine learns the present rows as counter-examples at once."""
        a = self.a
        if self.n_labels == 2:
            pairs = {name: getattr(a, name) for name in _PER_MACHINE}
            mirrored = {name: np.concatenate([-v, v]) for name, v in pairs.items()}
            a = a._replace(positive=np.array([0, 1], np.int64), **mirrored)
        self.n_labels += 1
        if self.n_labels > 2:
            empty = np.zeros((1, a.alpha.shape[1]))
            a = a._replace(
                alpha=np.concatenate([a.alpha, empty]),
                out=np.concatenate([a.out, empty]),
                positive=np.append(a.positive, self.n_labels - 1),
            )
            self._replay(a)
        self.a = a

    def _replay(self, a: BudgetArrays) -> None:
        """The newest machine goes through the rows, all of them its counter-examples."""
        n, rows = int(a.state[N]), self.store.rows()
        for s in range(n):
            if s != a.state[HOLE] and a.out[-1, s] >= -self.margin:
                a.alpha[-1, s] = -1.0
                a.out[-1, :n] -= self.kernel.block(rows.take(slice(s, s + 1)), rows)[0]

    # -- learning -------------------------------------------------------------------------

    def learn(self, fresh: Examples) -> None:
        """Examples in order."""
        for first in range(0, len(fresh.rows), BLOCK):
            if first:
                checkpoint()
            self._learn_block(fresh.take(slice(first, first + BLOCK)))

    def _learn_block(self, fresh: Examples) -> None:
        n = self.store.n
        if self.slots:
            self._restore()
        self._reserve(min(n + len(fresh.rows), self.budget + 1))
        values = self.kernel.block_with_self(fresh.rows, self.store.rows(), self.buffers)
        a, stored, given = self.a, n, False
        a.state[POSITION] = 0
        a.column[:n] = a.handle[:n] = np.arange(n)
        row = np.empty(len(a.label), np.float32)
        while not online(
            values, fresh.label, fresh.diagonal, fresh.key, a, self.margin, self.budget, stored,
            row, given,
        ):  # fmt: skip
            self._commit_rows(fresh.rows, stored)
            stored, given = self.store.n, True
            victim, rows = int(a.state[VICTIM]), self.store.rows()
            row[: len(rows)] = self.kernel.block(rows.take(slice(victim, victim + 1)), rows)[0]
            row[victim] = a.diagonal[victim]
        self._commit_rows(fresh.rows, stored)

    def _commit_rows(self, fresh: Rows, stored: int) -> None:
        """Bring the store in line with ``handle``."""
        n = int(self.a.state[N])
        self.store.rearrange(self.a.handle[:n], fresh)
        self.a.handle[:n] = np.arange(n)

    def _reserve(self, needed: int) -> None:
        """Buffers for ``needed`` slots; kernel values among them are kept while they fit."""
        old = len(self.a.label)
        if needed > old:
            self._grow_to(min(max(needed, 2 * old), self.budget + 1))

    def _grow_to(self, slots: int) -> None:
        a, old = self.a, len(self.a.label)
        larger = _arrays(slots, a.positive, a.state)
        for name in _PER_MACHINE:
            getattr(larger, name)[:, :old] = getattr(a, name)
        for name in _PER_SLOT:
            getattr(larger, name)[:old] = getattr(a, name)
        if not self._may_keep(slots) or not a.gram.size:
            larger = larger._replace(gram=np.empty((0, 0), np.float32))
        else:
            larger.gram[:old, :old] = a.gram
        self.a = larger

    # -- a data set at hand ---------------------------------------------------------------

    def epoch(self, data: Examples, order: np.ndarray) -> Iterator[int]:
        """One pass over the data set; yields how many examples are done."""
        for first in range(0, len(order), BLOCK):
            self.learn(data.take(order[first : first + BLOCK]))
            yield min(first + BLOCK, len(order))

    def finishing_work(self) -> float:
        """None."""
        return 0.0

    def finish(self) -> None:
        """Nothing is left to do."""

    # -- what was learned -----------------------------------------------------------------

    def expansion(self) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        """Support vectors, their coefficients (machines, n), the biases, and the slots."""
        alpha = self.a.alpha[:, : self.store.n]
        used = np.flatnonzero(alpha.any(axis=0))
        return self.store.rows().take(used), alpha[:, used], np.zeros(len(alpha)), used

    def stores(self) -> list[RowStore]:
        """Where the rows are."""
        return [self.store]

    def keys(self, slots: np.ndarray) -> np.ndarray:
        return self.a.key[slots]

    def labels(self, slots: np.ndarray) -> np.ndarray:
        return self.a.label[slots]


def _arrays(slots: int, positive: np.ndarray, state: np.ndarray | None = None) -> BudgetArrays:
    """Empty slots."""
    machines = len(positive)
    whole = (np.zeros(slots, np.int64) for _ in range(5))
    label, key, stamp, column, handle = whole
    return BudgetArrays(
        np.zeros((machines, slots)), np.zeros((machines, slots)), label, np.zeros(slots), key,
        stamp, column, handle, positive, np.zeros((slots, slots), np.float32),
        np.array([0, 0, -1, -1, 0]) if state is None else state,
    )  # fmt: skip
