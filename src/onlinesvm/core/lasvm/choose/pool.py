"""LASVM over a pool: decision values of every example, kept up to date.

    f_m(x_i) = sum_s alpha_ms K(s, i) + b_m         for every example i of the pool, machine m

One LASVM iteration changes a few coefficients, so f follows by the kernel rows K(s, .) of those
alone. The rows are kept within a memory budget, for the same support vectors change again and
again; a new label costs one new row.

Sparse rows are made through an inverted index, feature -> (examples, values): the cost is that of
the examples that share a feature. Dense or sparse, each sum runs over the features in order, as
in ``core/kernel/tiles/dense.py``: the values are the same to the last bit.

Symbols: i an example's number in the pool, which is its key in the support set; s a support
vector; m machine.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ...examples import Examples
from ...kernel.emit.vector import LANES, panel_dot
from ...kernel.kernel import Kernel
from ...kernel.rows import Rows, pack
from ...kernel.tiles.dense import SparseRows, kernel_row
from ...kernel.tiles.one_row import EIGHT, eight_dots
from ...kernel.tiles.rbf import TOLERANCE
from ...runtime.numerics import ORDERED_MATH, inner, jit
from ..learner import LASVM
from ..online.process import NO_SLOTS

TYPICAL = 200
"""Kernel rows over the pool are kept if one of them costs less than scoring a sample with this number of
support vectors."""


FEW_ROWS = 32
"""Values of the whole pool are made in one product where more rows than a few, and than a quarter
of the support vectors, would have to be made one by one: a value of a product costs far less.
A sample is scored directly rather than wait for more rows than this number of questions needs."""

PANEL = LANES
"""Examples whose values are best made all at once."""


class Columns(NamedTuple):
    """Feature j: examples example[begin[j]:begin[j + 1]] with their values."""

    begin: np.ndarray
    example: np.ndarray
    value: np.ndarray


@inner(fastmath=ORDERED_MATH)
def _dense_dots(X, x, out):
    """x . X[i] for every i."""
    n = X.shape[0]
    last = n - n % EIGHT
    for i in range(0, last, EIGHT):
        eight_dots(x, X, i, out)
    for i in range(last, n):
        total = np.float32(0.0)
        for j in range(X.shape[1]):
            total += x[j] * X[i, j]
        out[i] = total


def make_panels(X: np.ndarray) -> np.ndarray:
    """Rows of X, 64 at a time, transposed: (panels, features, 64). Rows that lack are zero."""
    n, width = X.shape
    panels = np.zeros((-(-n // LANES), width, LANES), np.float32)
    for p, panel in enumerate(panels):
        part = X[p * LANES : (p + 1) * LANES]
        panel[:, : len(part)] = part.T
    return panels


@inner(fastmath=ORDERED_MATH)
def _spread(columns, j, value, out):
    """out[i] += value * X[i, j] for the examples that have feature j."""
    for p in range(columns.begin[j], columns.begin[j + 1]):
        out[columns.example[p]] += value * columns.value[p]


@jit
def dense_row(X, squares, i, params, out):
    """out = K(i, .) over dense rows X."""
    _dense_dots(X, X[i], out)
    kernel_row(out, squares[i], squares, params)


@jit
def panel_row(X, panels, squares, i, params, out):
    """out = K(i, .) over dense rows X and the same as panels; ``out`` has room for all lanes."""
    lanes = out.reshape(panels.shape[0], LANES)
    for p in range(panels.shape[0]):
        panel_dot(X, i, panels[p], 0, lanes, p, X.shape[1])
    kernel_row(out[: X.shape[0]], squares[i], squares, params)


@jit
def sparse_row(X, columns, squares, i, params, out):
    """out = K(i, .) over sparse rows X and the same as columns."""
    for k in range(out.shape[0]):
        out[k] = np.float32(0.0)
    for p in range(X.begin[i], X.end[i]):
        _spread(columns, X.indices[p], X.data[p], out)
    kernel_row(out, squares[i], squares, params)


@jit
def add_row(values, change, row):
    """values[m] += change[m] * row for every machine."""
    for m in range(values.shape[0]):
        if change[m] != 0.0:
            for i in range(row.shape[0]):
                values[m, i] += change[m] * row[i]


def _error(kernel: Kernel, X: Rows, Z: Rows) -> float:
    """``kernel.dot_error``; infinite for kernels whose rows are not made here, but in tiles."""
    return np.inf if kernel.name in ("laplacian", "matern12") else kernel.dot_error(X, Z)


class PoolRows:
    """Kernel rows over the pool, the least recently used dropped when memory runs out.

    Dense rows are kept a second time, as panels, where that takes less than half of the memory.
    """

    def __init__(self, rows: Rows, kernel: Kernel, megabytes: float):
        self.rows, self.kernel = rows, replace(kernel)  # these values are not counted
        self.params = kernel.params
        self.error = _error(kernel, rows, rows)
        memory, self.n = int(megabytes * 2**20), len(rows)
        self.columns = self.panels = None
        if isinstance(rows.values, SparseRows):
            self.columns = _columns(rows)
        elif 2 * rows.values.nbytes <= memory:
            self.panels = make_panels(rows.values)
            memory -= self.panels.nbytes
        self.most = max(2, memory // (4 * self.n))
        self._kept: dict[int, np.ndarray] = {}

    def __contains__(self, i: int) -> bool:
        return i in self._kept

    def __getitem__(self, i: int) -> np.ndarray:
        row = self._kept.pop(i, None)
        if row is None:
            row = self._make(i)
            if len(self._kept) >= self.most:
                del self._kept[next(iter(self._kept))]
        self._kept[i] = row
        return row

    def _make(self, i: int) -> np.ndarray:
        if self.error > 1.0:
            return self.kernel.block(self.rows.take(slice(i, i + 1)), self.rows)[0]
        X, squares = self.rows.values, self.rows.squares
        out = np.empty(-(-self.n // LANES) * LANES, np.float32)[: self.n]
        if self.columns is not None:
            sparse_row(X, self.columns, squares, i, self.params, out)
        elif self.panels is not None:
            panel_row(X, self.panels, squares, i, self.params, out.base)
        else:
            dense_row(X, squares, i, self.params, out)
        if self.error > 0.99 * TOLERANCE:
            self._mend(i, out)
        return out

    def _mend(self, i: int, out: np.ndarray) -> None:
        """Recompute the values in which the error of dot products might matter (``rbf``)."""
        near = np.flatnonzero(out > 0.5 * TOLERANCE / (self.error * np.exp(self.error)))
        out[near] = self.kernel.block(self.rows.take(slice(i, i + 1)), self.rows.take(near))[0]


def _columns(rows: Rows) -> Columns:
    """The inverted index."""
    values = rows.values
    assert isinstance(values, SparseRows)
    values = pack(values)
    pointer = np.append(values.begin, len(values.data))
    by_row = sparse.csr_matrix((values.data, values.indices, pointer), (len(rows), rows.n_features))
    turned = by_row.tocsc()
    return Columns(turned.indptr.astype(np.int64), turned.indices.astype(np.int32), turned.data)


def row_cost(rows: Rows) -> float:
    """Multiplications that a kernel row over the pool takes, on average."""
    if not isinstance(rows.values, SparseRows):
        return len(rows) * rows.width()
    count = np.bincount(pack(rows.values).indices).astype(np.float64)
    return float(count @ count) / len(rows)


class Changes(NamedTuple):
    """Examples whose coefficients are new, (k,), and those coefficients, (k, machines)."""

    example: np.ndarray
    now: np.ndarray


@jit
def find_changes(alpha, key, n, before, slot, known, changes):
    """Examples whose coefficients are not the ``known`` ones; returns how many.

    ``before`` are the examples with a known coefficient, ``slot`` is -1 everywhere.
    """
    count, machines = 0, alpha.shape[0]
    for s in range(n):
        slot[key[s]] = s
    for q in range(before.shape[0] + n):
        i = before[q] if q < before.shape[0] else key[q - before.shape[0]]
        s, differs = slot[i], False
        slot[i] = -1
        if s < 0 and q >= before.shape[0]:
            continue  # looked at already, among those before
        for m in range(machines):
            changes.now[count, m] = alpha[m, s] if s >= 0 else 0.0
            differs = differs or changes.now[count, m] != known[m, i]
        if differs:
            changes.example[count] = i
            count += 1
    return count


class PoolValues:
    """Decision values, less the bias, of the whole pool for one learner: (machines, n).

    They may lag behind the learner: ``follow`` makes a limited number of kernel rows at a time.
    """

    def __init__(self, rows: PoolRows, machines: int):
        n = len(rows.rows)
        self.rows = rows
        self.values = np.zeros((machines, n))
        self._known = np.zeros((machines, n))  # coefficients that the values were made with
        self._key = np.empty(0, np.int64)  # examples with such a coefficient
        self._slot = np.full(n, -1)

    def changes(self, learner: LASVM) -> Changes:
        """What the values do not know of yet."""
        a, n = learner.support.a, learner.support.n
        most = n + len(self._key) + 1  # one beyond the last may be written
        found = Changes(np.empty(most, np.int64), np.empty((most, len(self.values))))
        count = find_changes(a.alpha, a.key[:n], n, self._key, self._slot, self._known, found)
        return Changes(found.example[:count], found.now[:count])

    def missing(self, changes: Changes) -> int:
        """Kernel rows that have to be made for these changes."""
        return sum(i not in self.rows for i in changes.example.tolist())

    def follow(self, changes: Changes, most: int) -> bool:
        """Apply changes, making up to ``most`` kernel rows. Returns whether all were applied."""
        left, done = most, True
        for i, now in zip(changes.example.tolist(), changes.now, strict=True):
            if i not in self.rows:
                if left == 0:
                    done = False
                    continue
                left -= 1
            add_row(self.values, now - self._known[:, i], self.rows[i])
            self._known[:, i] = now
        self._note_known(changes.example)
        return done

    def restart(self, learner: LASVM) -> None:
        """Recompute all values in one product: cheaper than many rows, but none is kept."""
        kernel = replace(learner.kernel)  # does not count as training
        product = kernel.product(self.rows.rows, *learner.support.expansion())
        self.values = np.ascontiguousarray(product.T)
        key = learner.support.a.key[: learner.support.n]
        self._known[:] = 0.0
        self._known[:, key] = learner.support.alpha()
        self._note_known(key)

    def _note_known(self, examples: np.ndarray) -> None:
        key = np.union1d(self._key, examples)
        self._key = key[self._known[:, key].any(axis=0)]


def is_of_pool(learner: LASVM) -> bool:
    """Whether all support vectors have a number in the pool."""
    n = learner.support.n
    return n > 0 and bool(learner.support.a.key[:n].min() >= 0)


def learn_dense(learner: LASVM, fresh: Examples) -> None:
    """One example of the pool, dense, in one compiled call."""
    learner.learn_singly(fresh, NO_SLOTS)


@jit
def one_against(x, x_square, rows, squares, params, out):
    """out = K(x, .) of a dense x against sparse rows: what only one of them has adds nothing."""
    for s in range(out.shape[0]):
        out[s] = _gathered(x, rows, s)
    kernel_row(out, x_square, squares, params)


@inner(fastmath=ORDERED_MATH)
def _gathered(x, rows, s):
    total = np.float32(0.0)
    for p in range(rows.begin[s], rows.end[s]):
        total += x[rows.indices[p]] * rows.data[p]
    return total


def learn_sparse(learner: LASVM, fresh: Examples, row: np.ndarray | None) -> None:
    """One example of the pool, sparse; ``row`` is its kernel row over the pool, if known."""
    support, n = learner.support, learner.support.n
    values = np.empty((1, n + 1), np.float32)
    own = support.rows()
    if row is None and _error(learner.kernel, fresh.rows, own) > 0.99 * TOLERANCE:
        values[:, :n] = replace(learner.kernel).block(fresh.rows, own)
    elif row is None:
        x, params = fresh.rows.to_dense().values[0], learner.kernel.params
        one_against(x, fresh.rows.squares[0], own.values, own.squares, params, values[0, :n])
    else:
        values[0, :n] = row[support.a.key[:n]]
    values[0, n] = fresh.diagonal[0]
    learner.kernel.n_evaluations += n + 1
    learner.note(learner.one_by_one.learn_known(fresh, values, NO_SLOTS), fresh)


def renumbered(learner: LASVM, which: np.ndarray) -> LASVM:
    """A copy of the learner whose rows, all among these of the pool, are known by their places there."""
    twin = learner.twin()
    key = twin.support.a.key[: twin.support.n]
    order = np.argsort(which)
    key[:] = order[np.searchsorted(which[order], key)]
    return twin


def few_values(learner: LASVM, rows: Rows) -> np.ndarray:
    """Decision values (machines, n) of at most 64 examples: K(S, rows) with the rows as one panel."""
    own, alpha = learner.support.expansion()
    block = replace(learner.kernel).block(own, rows)  # does not count as training
    return alpha @ block + learner.support.a.bias[:, None]
