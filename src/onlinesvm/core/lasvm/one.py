"""One example of a stream from its features to the changed support set, in three compiled calls.

The same steps as ``listing`` takes, for dense rows and the kernels that tiles know: kernel
values against the support set, PROCESS, REPROCESS, and the move of rows in the store. For
callers who bring clean input and count microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernel.cache import KernelCache
from ..kernel.differences import mend_dense
from ..kernel.jobs import aligned
from ..kernel.kernel import Kernel
from ..kernel.rbf import dot_rounding, far_limit, scale_of
from ..kernel.rows import Rows, RowStore
from ..kernel.tiles import PANEL, RBF, ROW, TILE_ROWS, dense_tiles, squared_norms
from ..kernel.vector import LANES
from ..numerics import jit
from . import listing as lasvm
from .dense_row import decide_one
from .support import PHASE, STORED, N, Support

_NO_SUMS, _NO_LOW, _NONE = np.empty((0, 0)), np.empty((0, 0), np.float32), np.float32(np.inf)


@jit
def _commit_rows(x, x_square, rows, squares, handle, count):
    """Rows follow their slots: fresh ones come in, the last ones fill holes. Returns how many."""
    for s in range(count[N]):
        h = handle[s]
        fresh = h >= count[STORED]
        if h != s or fresh:
            squares[s] = x_square[0] if fresh else squares[h]
            for j in range(x.shape[0]):
                rows[s, j] = x[j] if fresh else rows[h, j]
            handle[s] = s
    count[STORED] = count[N]
    return count[N]


class KernelColumn:
    """Kernel values of the rows that are held, dense, with one row after another.

    The row is the only one of its panel: the tiles are compiled already wherever this is used.
    """

    def __init__(self, kernel: Kernel, store: RowStore, out: np.ndarray):
        self.rows, self.squares, self.out = store.dense, store.squares, out.reshape(-1, 1)
        self.far, self.square = kernel.far, np.zeros(1, np.float32)
        params, width, c = kernel.params, store.n_features, dot_rounding(store.n_features)
        other, limit = (None, far_limit(params.gamma, c)) if params.code == RBF else (params, _NONE)
        self.place, self.work = np.zeros(3, np.int64), aligned(width + TILE_ROWS + 1)
        self._kernel = scale_of(params.gamma), c, limit, other, _NO_SUMS, False, 0, 0
        self.gamma, self._parts = params.gamma, (self.work[:width], self.work[width:])
        self._out = self.place, self.work, np.empty((1, LANES)), self.out, _NO_SUMS

    def compute(self, x: np.ndarray, n: int) -> bool:
        """Values of x with the first n rows; false: x is far and needs its second part (``rbf``)."""
        X, place, self.place[:] = x[None, :], self.place, 0
        squared_norms(X, self.square)
        if self.square[0] > self.far:
            return False
        while not dense_tiles(
            self.rows, self.squares, X, self.square, *self._kernel, n, *self._out
        ):  # fmt: skip
            first = int(place[ROW])
            mend_dense(self.rows, _NO_LOW, self.squares, X, _NO_LOW, self.gamma, int(place[PANEL]),
                       first, min(TILE_ROWS, n - first), *self._parts, TILE_ROWS)  # fmt: skip
        return True


class OneByOne:
    """The arrays of a support set and its cache, ready for one call after another.

    Compiled calls get them one by one: to find out the type of a named tuple of arrays would take
    longer than to learn the example.
    """

    def __init__(
        self, support: Support, cache: KernelCache, seeds: np.ndarray, kernel: Kernel, tau: float,
        delta_max: float, slack: float, most: int,
    ):  # fmt: skip
        store, a, capacity = support.store, support.a, len(support.a.label)
        self.a, self.cache, self.dense = a, cache, store.dense
        self.most = capacity - 1
        self.row = np.empty(capacity, np.float32)
        self.block = fresh = lasvm.FreshBlock(
            values=np.zeros((1, capacity), np.float32),
            label=np.zeros(1, np.int64),
            bound=np.zeros(1),
            diagonal=np.zeros(1),
            key=np.full(1, -1),
            seeds=seeds,
            joined=np.zeros(support.machines, bool),
            slot_of=np.empty(0, np.int64),
            scores=np.zeros((1, support.machines)),
        )
        self.values = KernelColumn(kernel, store, fresh.values)
        self._slots, self._begin = np.arange(capacity), np.array([0, 0, lasvm.INSERT])
        self._online = (delta_max, slack, most, tau, self.row, *fresh, *a, *cache)

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
        """Learn x. Returns the number of rows in use afterwards, or -1: a kernel row is needed.

        The caller then commits the rows and the pass goes on in ``lasvm.online``. -2: x is far and
        needs its second part; nothing was done.
        """
        a, fresh, n = self.a, self.block, int(self.a.count[N])
        if not self.values.compute(x, n):
            return -2
        fresh.label[0], fresh.bound[0], fresh.diagonal[0] = label, bound, diagonal
        a.column[:n] = a.handle[:n] = self._slots[:n]
        self._begin[0] = n
        a.count[STORED : PHASE + 1] = self._begin
        if not lasvm.online(*self._online):
            return -1
        values = self.values
        return _commit_rows(x, values.square, values.rows, values.squares, a.handle, a.count)


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
        _deepen: Any
        _go_on: Any
        reserve: Any

    def learn_one(self, x: np.ndarray, label: int, bound: float, diagonal: float) -> bool:
        """One dense example of a stream, float32 and shifted like the others.

        False: it, or a row that is held, needs a second part (``rbf``); nothing was done.
        """
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
            self.support, self.cache, self.seeds, self.kernel, self.tau,
            *self.depth,
        )  # fmt: skip
        return self._one
