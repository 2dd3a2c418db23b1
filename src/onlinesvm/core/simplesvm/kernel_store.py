"""Kernel values of a data set in memory: rows K(i, all) are stored while there is capacity.

``keep`` computes rows and stores them, ``product`` sums rows with coefficients, ``block`` gives
the values among some examples, from stored rows where there are any. Several machines may share
one store: rows belong to examples, whatever their labels.

Where a factor of the kernel matrix is known, it takes the place of the store (``LowRankSource``).

``slot_of`` says where an example's row is. It is cleared before a slot is written to and set when
the row is there, so that a store whose work was broken off at any moment is a valid one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernel.exact import ExactRows, weigh
from ..runtime.numerics import jit
from ..runtime.threads import over_rows, thread_count
from .state import same

_CHUNK_VALUES = 1 << 21
_INLINE_VALUES = 100_000
_BAND = 128
_LINE = 8  # float64 values in a cache line
_WORTH_COPYING = 0.1  # share of the values of new rows that must be known to look them up
_LARGE_PAGE = 2**21 // 8  # float64 values in a page of 2 MiB


def _empty_aligned(n: int, m: int) -> np.ndarray:
    """An (n, m) array of float64, not filled, in large pages.

    The first touch of every 4 KiB page of new memory costs microseconds on a virtual machine, which
    for a few megabytes is more than filling them. An array that begins on a boundary of 2 MiB can have
    pages of that size.
    """
    size = n * m
    if size < _LARGE_PAGE:
        return np.empty((n, m))
    buffer = np.empty((-(-size // _LARGE_PAGE) + 1) * _LARGE_PAGE)
    first = -(buffer.ctypes.data // 8) % _LARGE_PAGE
    return buffer[first : first + size].reshape(n, m)


@jit
def _gather(slots, which, columns, out, rows):
    """out[rows[p], q] = slots[which[p], columns[q]]."""
    for p in range(which.shape[0]):
        source, target = slots[which[p]], out[rows[p]]
        for q in range(columns.shape[0]):
            target[q] = source[columns[q]]


@jit
def _spread(slots, places, values, columns):
    """slots[places[p], columns[q]] = values[p, q]."""
    for p in range(places.shape[0]):
        source, target = values[p], slots[places[p]]
        for q in range(columns.shape[0]):
            target[columns[q]] = source[q]


@jit
def _copy_column(slots, sources, columns, which, places):
    """slots[places[p], columns[q]] = slots[sources[q], which[p]]."""
    for q in range(columns.shape[0]):
        source, column = slots[sources[q]], columns[q]
        for p in range(which.shape[0]):
            slots[places[p], column] = source[which[p]]


@jit
def _mirror(band, out, top):
    """out[top + p, top + q] = out[top + q, top + p] = band[p, q], a few rows at a time."""
    n, m = band.shape
    for p in range(n):
        for q in range(m):
            out[top + p, top + q] = band[p, q]
    for first in range(0, n, _LINE):
        last = min(first + _LINE, n)
        for q in range(first, m):
            for p in range(first, last):
                out[top + q, top + p] = band[p, q]


def _among(rows: ExactRows) -> np.ndarray:
    """All values among some examples, computed as half a matrix and mirrored."""
    n = len(rows)
    every, K = np.arange(n), _empty_aligned(n, n)
    for top in range(0, n, _BAND):
        band = rows.take(every[top : top + _BAND])
        _mirror(band.block(rows.take(every[top:])), K, top)
    return K


class KernelStore:
    """The examples and those of their kernel rows that fit into ``megabytes``."""

    def __init__(self, rows: ExactRows, megabytes: float):
        self.rows, self.megabytes = rows, megabytes
        self._empty()

    def _empty(self) -> None:
        n = max(1, len(self.rows))
        self.capacity = min(n, int(self.megabytes * 2**20 / (8 * n)))
        self.slots = np.empty((min(self.capacity, 64), n))
        self.slot_of = np.full(n, -1)
        self.owner = np.full(self.capacity, -1)
        self._used = self.hand = 0
        self.left_out: np.ndarray | None = None  # owners of rows that a file or a copy lacks
        self._owns_slots = True

    def __len__(self) -> int:
        return len(self.rows)

    def __getstate__(self) -> dict[str, Any]:
        """Kernel values can be computed again; whose they are must last, or sums run otherwise."""
        own = {"rows": self.rows, "megabytes": self.megabytes}
        return own | {"owners": self.owners(), "hand": self.hand}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.rows, self.megabytes = state["rows"], state["megabytes"]
        self._empty()
        self.left_out, self.hand = state["owners"], state["hand"]

    def owners(self) -> np.ndarray:
        """The examples whose rows are stored, slot by slot; -1 where a slot is free."""
        if self.left_out is not None:
            return self.left_out
        owner = self.owner[: self._used].copy()
        owner[self.slot_of[owner] != np.arange(self._used)] = -1
        return owner

    def _restore(self) -> None:
        """Compute the rows that a file or a copy lacks. Does not count as training."""
        if self.left_out is None:
            return
        owners, self.left_out = self.left_out, None
        if self.rows.kernel.name == "callable":  # not asked for values on the chance of their use
            return
        count, places = self.rows.kernel.n_evaluations, np.flatnonzero(owners >= 0)
        self._grow(len(owners))
        self._compute(owners[places], places)
        self.owner[places], self._used = owners[places], len(owners)
        self.slot_of[owners[places]] = places
        self.rows.kernel.n_evaluations = count

    def twin(self, rows: ExactRows) -> KernelStore:
        """A store of the same ``rows``, to be changed by another owner.

        The stored values are shared until it stores more. This one must not evict any from now on.
        """
        self._restore()
        other = same(self)
        other.rows, other._owns_slots = rows, False
        other.slot_of, other.owner = self.slot_of.copy(), self.owner.copy()
        return other

    def extend(self, rows: ExactRows) -> KernelStore:
        """A store for ``rows``, which start with the present ones; what is stored is kept."""
        self._restore()
        n, more = len(self), rows.take(np.arange(len(self), len(rows)))
        larger = KernelStore(rows, self.megabytes)
        kept = np.flatnonzero(self.slot_of >= 0)[: larger.capacity]
        larger._adopt(kept)
        larger.slots[: len(kept), :n] = self.slots[self.slot_of[kept]]
        larger.slots[: len(kept), n:] = rows.take(kept).block(more)
        return larger

    def restrict(self, rows: ExactRows, kept: np.ndarray) -> KernelStore:
        """A store for ``rows``, the present ones where the mask ``kept`` is true."""
        self._restore()
        smaller = KernelStore(rows, self.megabytes)
        stored = np.flatnonzero((self.slot_of >= 0) & kept)
        number = np.cumsum(kept) - 1
        smaller._adopt(number[stored])
        for place, slot in enumerate(self.slot_of[stored]):
            np.compress(kept, self.slots[slot], out=smaller.slots[place])
        return smaller

    def _adopt(self, owners: np.ndarray) -> None:
        """Slots for these examples, to be filled by the caller, and for some more."""
        self._grow(min(self.capacity, len(owners) * 9 // 8 + 16))
        self._used = len(owners)
        self.owner[: len(owners)] = owners
        self.slot_of[owners] = np.arange(len(owners))

    def keep(self, which: np.ndarray, evict: bool) -> None:
        """Store the rows of the examples ``which``, as many as fit.

        With ``evict`` other rows are dropped for them, but never those of ``which`` itself.
        """
        self._restore()
        missing = which[self.slot_of[which] < 0]
        free = self.capacity - self._used
        holes = self._make_way(which, len(missing) - free) if evict else np.empty(0, np.int64)
        missing = missing[: free + len(holes)]
        if not len(missing):
            return
        if not self._owns_slots:
            self.slots, self._owns_slots = self.slots.copy(), True
        fresh = np.arange(self._used, self._used + len(missing) - len(holes))
        places = np.concatenate([holes, fresh])
        used = max(self._used, int(places.max()) + 1)
        self._grow(used)
        self._compute(missing, places)
        self.owner[places] = missing
        self._used = used
        self.slot_of[missing] = places

    def fill(self) -> np.ndarray:
        """All values, computed as half a matrix and mirrored, and kept if they fit."""
        self._restore()
        n = len(self)
        every = np.arange(n)
        if np.array_equal(self.slot_of, every):
            return self.slots
        K = _among(self.rows)
        if self.capacity == n:
            self.slot_of = np.full(n, -1)
            self.slots, self.owner, self._used = K, every.copy(), n
            self._owns_slots = True
            self.slot_of = every
        return K

    def _make_way(self, kept: np.ndarray, needed: int) -> np.ndarray:
        """Holes made in the slots of rows that are not in ``kept``, in rotation."""
        if needed <= 0 or not self._used:
            return np.empty(0, np.int64)
        wanted = np.zeros(len(self.slot_of), bool)
        wanted[kept] = True
        order = (np.arange(self._used) + self.hand) % self._used
        holes = order[~wanted[self.owner[order]]][:needed]
        self.slot_of[np.isin(self.slot_of, holes)] = -1
        self.hand = int(holes[-1]) + 1 if len(holes) else self.hand
        return holes

    def _grow(self, needed: int) -> None:
        if needed > len(self.slots):
            larger = _empty_aligned(min(self.capacity, max(needed, 4 * len(self.slots))), len(self))
            larger[: len(self.slots)] = self.slots
            self.slots = larger

    def _compute(self, which: np.ndarray, places: np.ndarray) -> None:
        """Fill slots with the rows of ``which``."""
        known = np.flatnonzero(self.slot_of >= 0)
        if len(known) >= _WORTH_COPYING * len(self):
            self._complete(which, places, known)
            return
        size = max(1, _CHUNK_VALUES // len(self))
        for first in range(0, len(which), size):
            part, where = which[first : first + size], places[first : first + size]
            run = slice(int(where[0]), int(where[0]) + len(where))
            straight = np.array_equal(where, np.arange(run.start, run.stop))
            target = self.slots[run] if straight else None
            values = self.rows.take(part).block(self.rows, target)
            if not straight:
                self.slots[where] = values

    def _complete(self, which: np.ndarray, places: np.ndarray, known: np.ndarray) -> None:
        """The same; values with examples whose rows are stored are taken from those."""
        rest = np.flatnonzero(self.slot_of < 0)
        others = self.rows.take(rest)
        size = max(1, _CHUNK_VALUES // max(1, len(rest)))
        for first in range(0, len(which), size):
            part, where = which[first : first + size], places[first : first + size]
            values = self.rows.take(part).block(others)
            _spread(self.slots, where, values, rest)
        _copy_column(self.slots, self.slot_of[known], known, which, places)

    def product(self, which: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """sum_p coef[p] K(which[p], :), of length n."""
        self._restore()
        out = np.zeros(len(self))
        self.keep(which, evict=False)
        stored = self.slot_of[which] >= 0
        places, weights = self.slot_of[which[stored]], coef[stored]
        small = len(places) * len(self) < _INLINE_VALUES
        threads = 1 if small else thread_count(self.rows.kernel.n_jobs)
        over_rows(lambda a, b: weigh(self.slots, places, weights, out, a, b), len(self), threads)
        rest, weights = which[~stored], coef[~stored]
        size = max(1, _CHUNK_VALUES // max(1, len(self)))
        for first in range(0, len(rest), size):
            part = slice(first, first + size)
            out += weights[part] @ self.rows.take(rest[part]).block(self.rows)
        return out

    def values(self, one: int, others: np.ndarray) -> np.ndarray:
        """K(one, others)."""
        self._restore()
        if self.slot_of[one] >= 0:
            return self.slots[self.slot_of[one], others]
        return self.rows.take(np.array([one])).block(self.rows.take(others))[0]

    def block(self, which: np.ndarray) -> np.ndarray:
        """K among the examples ``which``, symmetric."""
        self._restore()
        out = np.empty((len(which), len(which)))
        stored = np.flatnonzero(self.slot_of[which] >= 0)
        rest = np.flatnonzero(self.slot_of[which] < 0)
        if len(rest):
            out[np.ix_(rest, rest)] = _among(self.rows.take(which[rest]))
        if len(stored):
            _gather(self.slots, self.slot_of[which[stored]], which, out, stored)
            out[np.ix_(rest, stored)] = out[np.ix_(stored, rest)].T
        return out


class LowRankSource:
    """K = Z Z', given by its factor."""

    def __init__(self, Z: np.ndarray):
        self.Z = np.require(Z, np.float64, ["C", "W", "E"])

    def __len__(self) -> int:
        return len(self.Z)


Source = KernelStore | LowRankSource
