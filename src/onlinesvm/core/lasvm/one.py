"""One example of a stream from its features to the changed support set, in three compiled calls.

The same steps as ``listing`` takes, for dense rows and the kernels that tiles know: kernel
values against the support set, PROCESS, REPROCESS, and the move of rows in the store. For
callers who bring clean input and count microseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..examples import Examples
from ..kernel.cache import KernelCache
from ..kernel.kernel import Kernel
from ..kernel.rbf import FAR_ROW, dot_rounding, exp2, far_limit, needs_differences, scale_of
from ..kernel.rows import Rows
from ..kernel.tiles import RBF, KernelParams, kernel_row, squared_norm
from ..model import row_diagonal
from ..numerics import jit
from . import listing as lasvm
from .dense_row import EIGHT, decide_one, dots_in_place
from .support import PHASE, POSITION, STORED, N, Support

_TWO, _ZERO = np.float32(2.0), np.float32(0.0)
_NEVER = float(np.finfo(np.float64).max)


class RowKernel(NamedTuple):
    """A kernel as ``_begin`` takes it: what depends on the number of features is known."""

    far: float  # |x|^2 above which a row is far
    scale: np.float32
    c: np.float32
    limit: np.float32
    other: KernelParams | None  # of a kernel that is not the RBF


def row_kernel(params: KernelParams, n_features: int) -> RowKernel:
    """The kernel for dense rows of this many features; the symbols are those of ``rbf``."""
    gamma, c = params.gamma, dot_rounding(n_features)
    if params.code != RBF:
        return RowKernel(_NEVER, gamma, c, gamma, params)
    far = min(FAR_ROW / float(gamma), _NEVER) if gamma > 0 else _NEVER
    with np.errstate(over="ignore"):  # infinite for a tiny gamma
        return RowKernel(far, scale_of(gamma), c, far_limit(gamma, c), None)


@jit(fastmath={"contract"}, _nrt=False)
def _begin(x, label, bound, diagonal, far, scale, c, limit, other, rows, squares, fresh_label,
           fresh_bound, fresh_diagonal, values, column, handle, count):  # fmt: skip
    """x becomes the block: label, bound, and kernel values with the n rows held. Returns |x|^2.

    -1: x is far and needs its second part (``rbf``); nothing was done. No row that is held is.
    ``rows`` and ``values`` have room for eight rows more than are in use.
    """
    n, square = count[N], squared_norm(x)
    if square > far:
        return np.float32(-1.0)
    for first in range(0, n, EIGHT):
        dots_in_place(x, rows, first, values)
    if other is not None:
        kernel_row(values[:n], square, squares, other)
    else:
        for s in range(n):
            power = scale * (_TWO * values[s] - (square + squares[s]))
            if needs_differences(power, square + squares[s], c, scale, limit):
                total = _ZERO  # in order, as ``dense_square``
                for f in range(x.shape[0]):
                    d = x[f] - rows[s, f]
                    total += d * d
                power = -(scale * total)
            values[s] = exp2(power)
    fresh_label[0], fresh_bound[0], fresh_diagonal[0] = label, bound, diagonal
    for s in range(n):
        column[s] = handle[s] = s
    count[POSITION], count[PHASE], count[STORED] = 0, lasvm.INSERT, n
    return square


@jit
def _commit_rows(x, x_square, rows, squares, handle, count):
    """Rows follow their slots: fresh ones come in, the last ones fill holes. Returns how many."""
    for s in range(count[N]):
        h = handle[s]
        fresh = h >= count[STORED]
        if h != s or fresh:
            squares[s] = x_square if fresh else squares[h]
            for j in range(x.shape[0]):
                rows[s, j] = x[j] if fresh else rows[h, j]
            handle[s] = s
    count[STORED] = count[N]
    return count[N]


class OneByOne:
    """The arrays of a support set and its cache, ready for one call after another.

    Compiled calls get them one by one: to find out the type of a named tuple of arrays would take
    longer than to learn the example.
    """

    def __init__(
        self, support: Support, cache: KernelCache, seeds: np.ndarray, kernel: KernelParams,
        tau: float, delta_max: float, slack: float, most: int,
    ):  # fmt: skip
        store, a, capacity = support.store, support.a, len(support.a.label)
        self.a, self.cache, self.dense = a, cache, store.dense
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
        )
        rows, fresh = (store.dense, store.squares), self.block
        self._begin = (*row_kernel(kernel, store.dense.shape[1]), *rows, fresh.label, fresh.bound, fresh.diagonal,
                       fresh.values[0], a.column, a.handle, a.count)  # fmt: skip
        self._online = (delta_max, slack, most, tau, self.row, *fresh, *a, *cache)
        self._commit = (*rows, a.handle, a.count)

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
        square = _begin(x, label, bound, diagonal, *self._begin)
        if square < 0:
            return -2
        if not lasvm.online(*self._online):
            return -1
        return _commit_rows(x, square, *self._commit)


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

    def learn_single(self, fresh: Examples, noted: bool = True) -> bool:
        """One dense example as ``learn_one`` does; false where it is something else.

        ``noted`` as in ``learn``.
        """
        rows = fresh.rows
        is_dense = not (rows.is_sparse or self.store.is_sparse or rows.has_second_parts())
        if len(rows) != 1 or not is_dense or not self.kernel.is_compiled:
            return False
        about = int(fresh.label[0]), float(fresh.bound[0]), float(fresh.diagonal[0]), fresh.key[0]
        if not self.process_one(np.asarray(rows.values)[0], *about):
            return False
        if self.watch is not None and noted:
            self.watch.note(self._one.block.scores, fresh.label, fresh.bound)
        return True

    def process_one(
        self, x: np.ndarray, label: int, bound: float, diagonal: float, key: int = -1
    ) -> bool:
        """PROCESS and REPROCESS for one dense example, with a compiled kernel; as ``learn_one``."""
        support, one = self.support, self._one
        if support.store.has_second_parts():
            return False
        if one is None or not one.fits(support, self.cache):
            one = self._prepare_one()
        one.block.key[0], store = key, support.store
        n = one.learn(x, label, bound, diagonal)
        if n == -2:
            return False
        self.kernel.n_evaluations += store.n + 1
        store.n = n
        if n < 0:
            store.n = int(support.a.count[STORED])
            self._go_on(one.block, one.row, Rows.of(x[None, :]))
        return True

    def learn_row(self, x: np.ndarray, wide: np.ndarray, label: Any, bound: float) -> bool:
        """One dense row, float32 and shifted; false: it has to be given to ``learn``."""
        diagonal = row_diagonal(self.kernel, x)
        return diagonal is not None and self.learn_one(x, label, bound, diagonal)

    def decide_row(self, x: np.ndarray, wide: np.ndarray) -> np.ndarray | None:
        """Decision values of one dense row; None where tiles must compute them."""
        return decide_one(
            self.kernel, self.store, self.support.a.alpha, self.support.a.bias, self.support.n, x
        )

    def _prepare_one(self) -> Any:
        """Bind the arrays that ``learn_one`` uses again and again."""
        n = self.support.n
        self.reserve(n)  # a copy or a file first gets back the capacity that it had
        self.reserve(n + 9 if n + 9 <= len(self.support.a.label) else 2 * (n + 9))
        assert self.cache is not None
        self.support.store.reserve(len(self.support.a.label))
        self._one = OneByOne(
            self.support, self.cache, self.seeds, self.kernel.params, self.tau,
            *self.depth,
        )  # fmt: skip
        return self._one
