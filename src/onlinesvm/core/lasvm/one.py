"""One example of a stream from its features to the changed support set, in one compiled call.

The same steps as ``listing`` takes, for dense rows and the kernels that tiles know: kernel
values against the support set, PROCESS, REPROCESS, and the move of rows in the store. For
callers who bring clean input and count microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernel.cache import KernelCache
from ..kernel.kernel import Kernel
from ..kernel.rbf import far_row
from ..kernel.rows import Rows
from ..kernel.tiles import RBF, KernelParams, squared_norm
from ..numerics import inner, jit
from . import listing as lasvm
from .dense_row import EIGHT, decide_one, kernel_values
from .support import PHASE, POSITION, STORED, N, Support, SupportArrays


@inner
def _commit_rows(x, x_square, rows, squares, a):
    """Rows follow their slots: fresh ones come in, the last ones fill holes."""
    for s in range(a.count[N]):
        h = a.handle[s]
        fresh = h >= a.count[STORED]
        if h == s and not fresh:
            continue
        squares[s] = x_square if fresh else squares[h]
        for j in range(x.shape[0]):
            rows[s, j] = x[j] if fresh else rows[h, j]
        a.handle[s] = s
    a.count[STORED] = a.count[N]


@jit
def _learn(
    x, label, bound, diagonal, code, gamma, coef0, degree, tau, delta_max, slack, most,
    rows, squares, row, *parts,
):  # fmt: skip
    """Learn x; the number of rows in use afterwards, or -1: a kernel row is needed.

    -2: x is far and needs its second part (``rbf``); nothing was done. No row that is held is.
    ``rows`` has room for eight rows more than are in use. Where a row is needed, the caller
    commits the rows and the pass goes on in ``lasvm.online``.
    """
    fresh = lasvm.FreshBlock(*parts[:9], delta_max, slack, most)  # type: ignore[call-arg]
    a, c = SupportArrays(*parts[9:23]), KernelCache(*parts[23:])
    n = a.count[N]
    values, x_square = fresh.values[0], squared_norm(x)
    if code == RBF and x_square > far_row(gamma):
        return -2
    fresh.label[0], fresh.bound[0], fresh.diagonal[0] = label, bound, diagonal
    kernel_values(x, x_square, rows, squares, n, code, gamma, coef0, degree, values)
    for s in range(n):
        a.column[s] = s
        a.handle[s] = s
    a.count[POSITION], a.count[PHASE], a.count[STORED] = 0, lasvm.INSERT, n
    if not lasvm.online(fresh, a, c, tau, row):
        return -1
    _commit_rows(x, x_square, rows, squares, a)
    return a.count[N]


class OneByOne:
    """The arrays of a support set and its cache, ready for one call after another.

    The compiled call gets them one by one: to find out the type of a named tuple of arrays
    would take longer than to learn the example.
    """

    def __init__(
        self, support: Support, cache: KernelCache, seeds: np.ndarray, kernel: KernelParams,
        tau: float, delta_max: float, slack: float, most: int,
    ):  # fmt: skip
        store, capacity = support.store, len(support.a.label)
        self.a, self.cache, self.dense = support.a, cache, store.dense
        self.most = capacity - EIGHT - 1
        self.row = np.empty(capacity, np.float32)
        self.block = lasvm.FreshBlock(
            values=np.zeros((1, capacity), np.float32),
            label=np.zeros(1, np.int64),
            bound=np.zeros(1),
            diagonal=np.zeros(1),
            key=np.full(1, -1),
            seeds=seeds,
            joined=np.zeros(support.machines, bool),
            slot_of=np.empty(0, np.int64),
            scores=np.zeros((1, support.machines)),
            delta_max=delta_max,
            slack=slack,
            most=most,
        )
        numbers = (*kernel, tau, delta_max, slack, most)
        arrays = (store.dense, store.squares, self.row, *self.block[:9], *support.a, *cache)
        self._rest = numbers + arrays

    def fits(self, support: Support, cache: KernelCache | None) -> bool:
        """Whether these still are the arrays in use, with room for one more row."""
        store = support.store
        return (
            self.a is support.a
            and self.cache is cache
            and self.dense is store.dense
            and store.n <= self.most
        )

    def learn(self, x: np.ndarray, label: int, bound: float, diagonal: float) -> int:
        """The number of rows in use afterwards; -1, -2 as ``_learn`` says."""
        return _learn(x, label, bound, diagonal, *self._rest)


class OneAtATime:
    """Mixin of the learner: PROCESS and REPROCESS for one dense row, and its decision values."""

    if TYPE_CHECKING:
        support: Support
        kernel: Kernel
        cache: KernelCache | None
        seeds: np.ndarray
        tau: float
        _one: Any
        depth: Any
        store: Any
        watch: Any
        learn_value: Any
        _deepen: Any
        _go_on: Any
        reserve: Any

    def learn_one(self, x: np.ndarray, label: int, bound: float, diagonal: float) -> bool:
        """One dense example of a stream, float32 and shifted like the others.

        False: it, or a row that is held, needs a second part (``rbf``); nothing was done.
        """
        if not self.support.task.both_signs:
            return bool(self.learn_value(x, label, bound, diagonal))
        done = self.process_one(x, label, bound, diagonal)
        if done:
            if self.watch is not None:
                self.watch.note_one(self._one.block.scores[0], label, bound)
            self._deepen(1)
        return done

    def process_one(self, x: np.ndarray, label: int, bound: float, diagonal: float) -> bool:
        """PROCESS and REPROCESS for one dense example, with a compiled kernel; as ``learn_one``."""
        support, one = self.support, self._one
        if support.store.has_second_parts():
            return False
        if one is None or not one.fits(support, self.cache):
            one = self._prepare_one()
        store = support.store
        n = one.learn(x, label, bound, diagonal)
        if n == -2:
            return False
        self.kernel.n_evaluations += store.n + 1
        store.n = n
        if n < 0:
            store.n = int(support.a.count[STORED])
            self._go_on(one.block, one.row, Rows.of(x[None, :]))
        return True

    def decide_one(self, x: np.ndarray) -> np.ndarray | None:
        """Decision values of one dense row; None where it needs a closer look."""
        return decide_one(
            self.kernel, self.store, self.support.a.alpha, self.support.a.bias, self.support.n, x
        )

    def _prepare_one(self) -> Any:
        """Bind the arrays that ``learn_one`` uses again and again."""
        n = self.support.n
        self.reserve(n + 9 if n + 9 <= len(self.support.a.label) else 2 * (n + 9))
        assert self.cache is not None
        self.support.store.reserve(len(self.support.a.label))
        self._one = OneByOne(
            self.support, self.cache, self.seeds, self.kernel.params, self.tau,
            *self.depth,
        )  # fmt: skip
        return self._one
