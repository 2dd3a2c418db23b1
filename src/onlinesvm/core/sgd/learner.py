"""The learner of NORMA, Pegaz, OL SVM and the kernel perceptrons: an expansion, a kernel, a rule.

``learn`` takes examples as a stream does: their outputs come from the expansion,

    o(X) = K(X, S) a          one fused product for all fresh examples X that came together

and ``core.sgd.steps`` goes through blocks B of them with K(B, B). ``epoch`` passes over a data set
at hand; with ``cached`` outputs it keeps o for all examples (olsvm-2016, Lists 3) and after each
block adds the block's kernel columns, o += K(:, B) (change of a_B). With ``every_column`` the
columns of all examples of the block are computed, violators or not: time then depends on the
number of examples and epochs alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..examples import Examples
from ..kernel.kernel import Kernel
from ..kernel.rows import Rows, RowStore
from ..model import EpochLearner, product
from ..runtime.compact import Compact
from ..runtime.interrupts import checkpoint
from . import steps as sgd
from .kernel_expansion import Expansion, join_machines, make_machines, split_machine

NEGLIGIBLE = 2.0**-60
"""Rows whose share of every machine's largest coefficient is less do not affect any output."""

BLOCK = 512
"""Examples of a data set at hand that are learned between two updates of the outputs."""

STREAM_BLOCK = 512
"""The same for a stream: half of K(B, B) costs an example 256 kernel values, a block its calls."""

EXPENSIVE = 128
"""Number of features from which keeping kernel columns for the next epoch is faster than computing them."""


@dataclass
class DataSet:
    """A data set during ``fit``, in the order of the epochs."""

    data: Examples
    order: np.ndarray
    outputs: np.ndarray  # (machines, n), in units of each machine's scale
    columns: dict[int, np.ndarray] = field(default_factory=dict)
    megabytes: float = 0.0


class ExpansionLearner(Compact, EpochLearner):
    """State and steps. Labels are 0, 1, ... in the order of ``add_label``."""

    def __init__(
        self,
        kernel: Kernel,
        like: Rows,
        n_labels: int,
        *,
        rule: int,
        average: bool = False,
        has_bias: bool = False,
        cached: bool = True,
        every_column: bool = False,
        cache_size: float = 200.0,
    ):
        self.kernel, self.rule, self.average, self.has_bias = kernel, rule, average, has_bias
        self.cached, self.every_column, self.cache_size = cached, every_column, cache_size
        self.n_labels = n_labels
        self.machines = make_machines([1] if n_labels <= 2 else list(range(n_labels)))
        self.support = Expansion(like, len(self.machines.step))
        self.at_hand: DataSet | None = None

    def _lasting(self) -> dict[str, Any]:
        return self.__dict__ | {"at_hand": None}

    # -- labels ---------------------------------------------------------------------------

    def add_label(self) -> None:
        """One more label. Its machine learns the present rows as counter-examples at once."""
        if self.n_labels == 2:
            self.support.split_classes()
            self.machines = split_machine(self.machines)
        self.n_labels += 1
        if self.n_labels > 2:
            self.support.add_machine()
            self.machines = join_machines(self.machines, make_machines([self.n_labels - 1]))
            self._replay(self.n_labels - 1)

    def _replay(self, m: int) -> None:
        """Machine m goes through the expansion's rows in order."""
        support, one = self.support, slice(m, m + 1)
        own = sgd.Machines(*(array[one] for array in self.machines))  # views
        for first in range(0, support.n, BLOCK):
            part = support.examples(slice(first, first + BLOCK))
            slots = np.arange(first, first + len(part.rows))
            earlier = support.rows().take(slice(0, first))
            coef, past = np.zeros((2, 1, len(slots)))
            out = self.kernel.product(part.rows, earlier, support.coef[one, :first])
            self._walk(part, np.ascontiguousarray(out.T), coef, past, own)
            support.fade(self.machines)
            support.coef[one, slots], support.past[one, slots] = coef, past

    # -- learning -------------------------------------------------------------------------

    def learn(self, fresh: Examples) -> None:
        """Examples of a stream, in order.

        Their outputs by the rows held so far come at once; what joins on the way is added for
        those still to come.
        """
        self.at_hand = None
        n = len(fresh.rows)
        batch = DataSet(fresh, np.arange(n), self._from_expansion(fresh))
        for first in range(0, n, STREAM_BLOCK):
            if first:
                checkpoint()
            part = fresh.take(slice(first, first + STREAM_BLOCK))
            out = batch.outputs[:, first : first + STREAM_BLOCK].copy()
            change = self._learn_block(part, out, np.full(len(part.rows), -1))
            if first + STREAM_BLOCK < n:
                self._add_columns(batch, first, part, change, last=True, every=False)
        self.support.sweep(NEGLIGIBLE)

    def _from_expansion(self, part: Examples) -> np.ndarray:
        support = self.support
        out = product(self.kernel, part.rows, support.rows(), support.coefficients())
        return np.ascontiguousarray(out.T)

    def _learn_block(self, part: Examples, out: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """One step for each example. Returns what the block added to their coefficients."""
        coef, past = self.support.gather(slots)
        before = coef.copy()
        self._walk(part, out, coef, past, self.machines)
        self.support.fade(self.machines)
        self.support.put(part, slots, coef, past)
        return coef - self.machines.factor[:, None] * before

    def _walk(self, part: Examples, out: Any, coef: Any, past: Any, machines: sgd.Machines) -> None:
        self.machines.factor[:], self.machines.carried[:] = 1.0, 0.0
        values = self.kernel.block(part.rows, part.rows)
        sgd.online(
            values, part.label, part.bound, out, coef, past, machines, self.rule, self.average,
            self.has_bias,
        )  # fmt: skip

    # -- a data set at hand ---------------------------------------------------------------

    def epoch(self, data: Examples, order: np.ndarray, last: bool = False) -> Iterator[int]:
        """One pass over the data set; yields how many examples are done.

        ``order`` is the same for all epochs (the lists shuffle once). After the ``last`` epoch
        outputs are not needed again, so those of processed examples are not updated.
        """
        if self.at_hand is None or self.at_hand.order is not order:
            outputs = np.zeros((len(self.machines.step), len(order)))
            self.at_hand = DataSet(data.take(order), order, outputs)
        try:
            for first in range(0, len(order), BLOCK):
                if first:
                    checkpoint()
                self._epoch_block(self.at_hand, first, last)
                yield min(first + BLOCK, len(order))
        except BaseException:  # no further epoch comes
            self.at_hand = None
            raise

    def _epoch_block(self, hand: DataSet, first: int, last: bool) -> None:
        part = hand.data.take(slice(first, first + BLOCK))
        slots = self._slots(len(hand.order))[part.key]
        if self.cached:
            out = hand.outputs[:, first : first + BLOCK].copy()
            change = self._learn_block(part, out, slots)
            self._add_columns(hand, first, part, change, last, self.every_column)
        else:
            self._learn_block(part, self._from_expansion(part), slots)
        self.support.sweep(NEGLIGIBLE)

    def _slots(self, n: int) -> np.ndarray:
        """Where in the expansion each example of the data set is; -1: nowhere."""
        slots = np.full(n, -1)
        slots[self.support.key[: self.support.n]] = np.arange(self.support.n)
        return slots

    def _add_columns(
        self, hand: DataSet, first: int, part: Examples, change: np.ndarray, last: bool, every: bool
    ) -> None:
        """o += K(:, B) change, after what the block did to all coefficients.

        ``last``: only for examples after the block. ``every``: with all columns, changed or not.
        """
        begin = first + len(part.rows) if last else 0
        out = hand.outputs[:, begin:]
        out *= self.machines.factor[:, None]
        rows = hand.data.rows.take(slice(begin, None))
        kept = hand.columns.get(first)
        if kept is None and not last and self._may_keep(hand, len(rows) * len(part.rows)):
            kept = hand.columns[first] = self.kernel.block(rows, part.rows)
        if kept is not None:
            sgd.weigh(kept[begin:], change, out)
            return
        block = part.rows
        if not every:
            moved = np.flatnonzero(change.any(axis=0))
            block, change = block.take(moved), change[:, moved]
        out += self.kernel.product(rows, block, change).T

    def _may_keep(self, hand: DataSet, n_values: int) -> bool:
        """Whether a block of columns is worth keeping, and there is room for it."""
        worth = self.every_column and (
            not self.kernel.is_compiled or hand.data.rows.n_features >= EXPENSIVE
        )
        hand.megabytes += n_values * 4 / 2**20 if worth else 0.0
        return worth and hand.megabytes <= self.cache_size

    def finishing_work(self) -> float:
        """None."""
        return 0.0

    def finish(self) -> None:
        """Nothing is left to do; the data set is released."""
        self.at_hand = None

    # -- what was learned -----------------------------------------------------------------

    def expansion(self) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        """Support vectors, their coefficients (machines, n), the biases, and the slots."""
        k, support = self.machines, self.support
        alpha, bias = k.scale[:, None] * support.coefficients(), k.bias.copy()
        if self.average:
            steps = np.maximum(k.step, 1)
            sums = support.coefficients() * k.total[:, None] + support.past[:, : support.n]
            alpha, bias = sums / steps[:, None], k.bias + k.bias_past / steps
        used = np.flatnonzero(alpha.any(axis=0))
        return support.rows().take(used), alpha[:, used], bias, used

    def stores(self) -> list[RowStore]:
        """Where the rows are."""
        return [self.support.store]

    def keys(self, slots: np.ndarray) -> np.ndarray:
        return self.support.key[slots]

    def labels(self, slots: np.ndarray) -> np.ndarray:
        return self.support.label[slots]
