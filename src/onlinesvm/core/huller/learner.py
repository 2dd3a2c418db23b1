"""The Huller's learner: rows shared by all machines, and a pair of hulls for each machine.

    f(x) = 2 / |X_P - X_N|^2 ((X_P - X_N) x + (X_N X_N - X_P X_P) / 2)        (eq. 3, scaled)

so that f = +1 and -1 on the margins, the scale of the hard-margin SVM. The kernel values of a block
of new examples with the stored rows are computed once; then each machine processes the block
separately, on the same values (``steps.py``). Each keeps the kernel values among its own support
vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..examples import Examples
from ..kernel.buffers import Buffers
from ..kernel.cache import KeptRows, KernelCache, keep_rows, kept_rows, make_cache, widen
from ..kernel.kernel import Kernel
from ..kernel.rows import Rows, RowStore
from ..model import EpochLearner, product
from ..runtime.compact import Compact
from ..runtime.interrupts import checkpoint
from ..runtime.threads import over_rows, thread_count
from . import steps as huller
from .hulls import distance, is_ready, make_hulls, mirrored
from .steps import NEED, NN, NP, PHASE, POSITION, PP, STEPS, STUCK, WORST, Block, Hulls, N

LARGEST_BLOCK, SHARE = 256, 4
"""Maximum number of examples of a block, and rows held for each example of a block: the kernel values
of a block with itself are then at most an eighth of all."""

_BLOCK_VALUES = 8_000_000

REFRESH = 16
"""Number of updates per support vector after which the scalars are recomputed."""

AHEAD = 16
"""Number of coming updates whose kernel rows are computed together with a missing one."""

WELL_WITHIN = 0.25
"""Sweeps end after one in which no violation exceeded this share of tol.

Less than 1: a later step of the same sweep moves what an earlier one has put right.
"""

_PER_ROW = ("beta", "handle", "key", "ridge")


class Huller(Compact, EpochLearner):
    """State and steps of the Huller. Labels are 0, 1, ... in the order of ``add_label``."""

    def __init__(
        self,
        kernel: Kernel,
        like: Rows,
        n_labels: int,
        *,
        quadratic: bool,
        tol: float = 1e-3,
        sweeps: int = 10,
        cache_size: float = 200.0,
        seed: int = 0,
    ):
        self.kernel, self.quadratic, self.tol = kernel, quadratic, tol
        self.sweeps, self.cache_size = sweeps, cache_size
        self.rng = np.random.default_rng(seed)
        self.n_labels = n_labels
        self.store, self.buffers = RowStore(like), Buffers()
        self.key, self.label, self.ridge = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
        self.positive = [1] if n_labels <= 2 else list(range(n_labels))
        self.hulls = [make_hulls(64) for _ in self.positive]
        self.caches: list[KernelCache | None] = [None for _ in self.positive]
        self.kept: list[KeptRows | None] = [None for _ in self.positive]  # as in ``LASVM``

    def _lasting(self) -> dict[str, Any]:
        """Kernel values are computed again; which rows are kept must last."""
        return self.__dict__ | {"caches": [None] * len(self.hulls), "kept": self.kept_rows()}

    def kept_rows(self) -> list[KeptRows | None]:
        """Which kernel rows every machine keeps; each that is missing costs evaluations.

        None for a kernel in Python, which is not called for values that may not be needed.
        """
        return [
            left_out
            if cache is None or not self.kernel.is_compiled
            else kept_rows(cache, int(h.state[N]))
            for h, cache, left_out in zip(self.hulls, self.caches, self.kept)
        ]

    def _in_use(self) -> dict[str, Any]:
        hulls = [
            h._replace(**{name: getattr(h, name)[: h.state[N]] for name in _PER_ROW})
            for h in self.hulls
        ]
        return self._lasting() | {"hulls": hulls}

    # -- labels ---------------------------------------------------------------------------

    def add_label(self) -> None:
        """One more label; X_N of its machine starts as the average of all rows held."""
        self.n_labels += 1
        if self.n_labels <= 2:
            return
        if self.n_labels == 3:
            self.positive = [0, 1]
            self.hulls = [mirrored(self.hulls[0]), self.hulls[0]]
        self.positive.append(self.n_labels - 1)
        self.hulls.append(self._against_all())
        self.caches, self.kept = [None] * len(self.hulls), [None] * len(self.hulls)
        self.refresh(len(self.hulls) - 1)

    def _against_all(self) -> Hulls:
        n = self.store.n
        h = make_hulls(max(64, n))
        if n:
            h.beta[:n], h.handle[:n] = -1.0 / n, np.arange(n)
            h.key[:n], h.ridge[:n] = self.key, self.ridge
            h.state[N], h.state[huller.SEEDED_N] = n, huller.SEEDS
        return h

    # -- learning -------------------------------------------------------------------------

    def learn(self, fresh: Examples) -> None:
        """Examples of a stream, in order."""
        for _ in self._blocks(fresh, np.arange(len(fresh.rows)), np.empty(0, np.int64)):
            pass

    def epoch(self, data: Examples, order: np.ndarray) -> Iterator[int]:
        """One pass over the data set; yields how many examples are done."""
        slot_of = np.full(len(data.rows), -1)
        slot_of[self.key] = np.arange(self.store.n)
        yield from self._blocks(data, order, slot_of)

    def _blocks(self, fresh: Examples, order: np.ndarray, slot_of: np.ndarray) -> Iterator[int]:
        first = 0
        while first < len(order):
            if first:
                checkpoint()
            n = self.store.n
            largest = min(LARGEST_BLOCK, max(16, _BLOCK_VALUES // (n + 1)))
            which = order[first : first + int(np.clip(n // SHARE, 1, largest))]
            part = fresh.take(which)
            self._learn_block(part, slot_of)
            first += len(which)
            yield first

    def _learn_block(self, fresh: Examples, slot_of: np.ndarray) -> None:
        size, stored = len(fresh.rows), self.store.n
        values = self.kernel.block_with_self(fresh.rows, self.store.rows(), self.buffers)
        handle = stored + np.arange(size)
        values[np.arange(size), handle] = fresh.diagonal  # as in every kept row
        if len(slot_of):  # a row that another machine holds already is not stored twice
            known = slot_of[fresh.key]
            handle = np.where(known >= 0, known, handle)
        ridge = 1.0 / fresh.bound if self.quadratic else np.zeros(size)
        picks = self.rng.random((size, len(self.hulls)))
        blocks = []
        for m in range(len(self.hulls)):
            y = np.where(fresh.label == self.positive[m], 1.0, -1.0)
            pick = np.ascontiguousarray(picks[:, m])
            blocks.append(Block(values, handle, fresh.key, ridge, fresh.diagonal, y, pick))
        self._run(blocks)
        self._commit_rows(fresh, ridge, slot_of)
        for m, h in enumerate(self.hulls):
            if h.state[STEPS] > REFRESH * (h.state[N] + 100):
                self.refresh(m)

    def _run(self, blocks: list[Block]) -> None:
        """Fig. 4 over a block, for every machine independently."""
        for m, block in enumerate(blocks):
            self._make_room(m, int(self.hulls[m].state[N]) + len(block.y))
            self.hulls[m].state[[POSITION, PHASE]] = 0, huller.INSERT
        done = [False] * len(blocks)

        def go_on(first: int, last: int) -> None:
            for m in range(first, last):
                h = self.hulls[m]
                row = np.empty(len(h.beta), np.float32)
                done[m] = huller.online(h, self.caches[m], blocks[m], self.tol, row, False)

        over_rows(go_on, len(blocks), thread_count(self.kernel.n_jobs))
        for m, block in enumerate(blocks):
            while not done[m]:
                h = self.hulls[m]
                soon = block.pick[h.state[POSITION] :] * h.state[N]
                self._fetch(m, soon.astype(np.int64), block.values)
                go_on(m, m + 1)

    def _make_room(self, m: int, needed: int) -> None:
        kept = self.kept[m]
        if self.caches[m] is None and kept is not None:
            self._restore_cache(m, kept)
        capacity = len(self.hulls[m].beta)
        if needed > capacity:
            capacity = max(needed, 2 * capacity)
            self._grow_to(m, capacity)
        share, cache = self.cache_size / len(self.hulls), self.caches[m]
        if cache is None:
            self.caches[m] = make_cache(share, capacity)
        elif len(cache.pages) < capacity:
            self.caches[m] = widen(cache, share, capacity)

    def _grow_to(self, m: int, capacity: int) -> None:
        h = self.hulls[m]
        more = capacity - len(h.beta)
        self.hulls[m] = h._replace(
            **{name: np.pad(getattr(h, name), (0, more)) for name in _PER_ROW}
        )

    def _restore_cache(self, m: int, kept: KeptRows) -> None:
        """The cache that a copy or a file has left out. Does not count as training."""
        self.kept[m], count = None, self.kernel.n_evaluations
        if kept.capacity > len(self.hulls[m].beta):
            self._grow_to(m, kept.capacity)
        cache = self.caches[m] = make_cache(self.cache_size / len(self.hulls), kept.capacity)
        h, nothing = self.hulls[m], np.empty((0, self.store.n), np.float32)
        for first in range(0, len(kept.slots), AHEAD):
            slots = kept.slots[first : first + AHEAD]
            keep_rows(cache, slots, self._kernel_rows(h, slots, nothing), int(h.state[N]))
        self.kernel.n_evaluations = count

    def _fetch(self, m: int, soon: np.ndarray, values: np.ndarray) -> None:
        """Kernel rows of the support vector that is needed and of those that will be soon."""
        h, cache = self.hulls[m], self.caches[m]
        assert cache is not None
        n, need = int(h.state[N]), int(h.state[NEED])
        fits = len(cache.pool) // (2 * cache.table.shape[1])
        _, where = np.unique(soon, return_index=True)
        soon = soon[np.sort(where)]
        others = soon[(cache.pages[soon] == 0) & (soon != need)]
        slots = np.concatenate([[need], others[: min(AHEAD, fits) - 1]]).astype(np.int64)
        keep_rows(cache, slots, self._kernel_rows(h, slots, values), n, need)

    def _kernel_rows(self, h: Hulls, slots: np.ndarray, values: np.ndarray) -> np.ndarray:
        """K of support vectors ``slots`` against all of the machine's; fresh ones have theirs."""
        stored, rows = self.store.n, self.store.rows()
        handle = h.handle[: h.state[N]]
        own, old = handle[slots], handle < stored
        out = np.empty((len(slots), len(handle)), np.float32)
        for i, column in enumerate(own):
            out[i] = values[column - stored, handle] if column >= stored else 0.0
        mine = np.flatnonzero(own < stored)
        if len(mine):
            alone = len(self.hulls) == 1  # then nearly all stored rows are its own
            against = rows if alone else rows.take(handle[old])
            block = self.kernel.block(rows.take(own[mine]), against)
            out[np.ix_(mine, old)] = block[:, handle[old]] if alone else block
            out[np.ix_(mine, ~old)] = values[handle[~old] - stored][:, own[mine]].T
            if self.kernel.name != "callable":
                out[mine, slots[mine]] = self.kernel.diagonal(rows.take(own[mine]))
        return out

    def _commit_rows(self, fresh: Examples, ridge: np.ndarray, slot_of: np.ndarray) -> None:
        """Store the fresh rows that some machine took, drop those that none holds any more."""
        stored = self.store.n
        used = np.zeros(stored + len(fresh.rows), bool)
        for h in self.hulls:
            used[h.handle[: h.state[N]]] = True
        if used[:stored].all() and not used[stored:].any():
            return
        total = int(used.sum())
        order = np.arange(total)
        holes = np.flatnonzero(~used[:total] | (order >= stored))
        spare = np.flatnonzero(used)
        order[holes] = spare[(spare >= stored) | (spare >= total)]
        place = np.zeros(len(used), np.int64)
        place[order] = np.arange(total)
        for h in self.hulls:
            h.handle[: h.state[N]] = place[h.handle[: h.state[N]]]
        if len(slot_of):
            slot_of[self.key] = -1
        self.store.rearrange(order, fresh.rows)
        self.key = np.concatenate([self.key, fresh.key])[order]
        self.label = np.concatenate([self.label, fresh.label])[order]
        self.ridge = np.concatenate([self.ridge, ridge])[order]
        if len(slot_of):
            slot_of[self.key] = np.arange(total)

    # -- drift, and the finishing step ----------------------------------------------------

    def refresh(self, m: int) -> np.ndarray:
        """Recompute the scalars from the coefficients; returns X_P x, X_N x of the support vectors."""
        self._make_room(m, int(self.hulls[m].state[N]))
        h = self.hulls[m]
        n = int(h.state[N])
        beta = h.beta[:n]
        for side in (beta > 0, beta < 0):
            beta[side] /= abs(beta[side].sum()) if side.any() else 1.0
        parts = np.stack([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
        rows = self.store.rows().take(h.handle[:n])
        dots = self.kernel.product(rows, rows, parts).T + parts * h.ridge[:n]
        h.scalar[PP], h.scalar[NP] = parts[0] @ dots[0], parts[0] @ dots[1]
        h.scalar[NN], h.state[STEPS] = parts[1] @ dots[1], 0
        return dots

    def finishing_work(self) -> float:
        """Kernel values that the sweeps of the finishing step go through, about."""
        return float(sum(self.sweeps * int(h.state[N]) ** 2 for h in self.hulls))

    def finish(self, sweeps: int | None = None) -> bool:
        """UPDATE every support vector in turn, up to ``sweeps`` times; then fresh scalars.

        Returns whether all support vectors are then on their margins, well within tol.
        """
        sweeps, reached = self.sweeps if sweeps is None else sweeps, True
        index, number = np.empty(0, np.int64), np.empty(0)
        values = np.empty((0, self.store.n), np.float32)
        nothing = Block(values, index, index, number, number, number, number)
        try:
            for m in range(len(self.hulls)):
                self._sweep(m, sweeps, nothing)
                reached &= bool(self.hulls[m].scalar[WORST] <= WELL_WITHIN * self.tol)
        finally:  # also after Ctrl-C
            self._commit_rows(self._no_rows(), np.empty(0), np.empty(0, np.int64))
        return reached

    def _sweep(self, m: int, sweeps: int, nothing: Block) -> None:
        """The finishing step of machine m."""
        self._make_room(m, int(self.hulls[m].state[N]))
        h = self.hulls[m]
        h.scalar[WORST] = np.inf if is_ready(h) else 0.0
        row = np.empty(0, np.float32)
        try:
            for _ in range(sweeps if is_ready(h) else 0):
                h.state[POSITION], h.scalar[WORST] = h.state[N] - 1, 0.0
                while not huller.online(h, self.caches[m], nothing, self.tol, row, True):
                    checkpoint()
                    soon = np.arange(h.state[POSITION], -1, -1)[: 4 * AHEAD]
                    self._fetch(m, soon, nothing.values)
                if h.scalar[WORST] <= WELL_WITHIN * self.tol or h.state[STUCK]:
                    break
                checkpoint()
        finally:
            self.refresh(m)

    def _no_rows(self) -> Examples:
        none = np.empty(0, np.int64)
        return Examples(self.store.rows().take(slice(0, 0)), none, none, none, none)

    def distance(self) -> float:
        """sum over machines of |X_P - X_N|^2, what learning makes smaller."""
        return sum(distance(h) for h in self.hulls)

    @property
    def stuck(self) -> bool:
        """Whether the hulls of some machine touch, so that it cannot learn any more."""
        return any(h.state[STUCK] for h in self.hulls)

    def separates(self) -> bool:
        """Whether every machine's hyperplane has its own support vectors on their sides."""
        for m, h in enumerate(self.hulls):
            if h.state[STUCK]:
                return False
            if not is_ready(h):
                continue
            beta, dots = h.beta[: h.state[N]], self.refresh(m)
            side = dots[0] - dots[1] + (h.scalar[NN] - h.scalar[PP]) / 2
            if (side * np.sign(beta) <= 0).any():
                return False
        return True

    def largest_violation(self, data: Examples) -> float:
        """max (1 - y f(x)) over a data set and all machines; 0 at the exact solution."""
        vectors, coef, bias, _ = self.expansion()
        values = product(self.kernel, data.rows, vectors, coef) + bias
        for m, h in enumerate(self.hulls):  # a training point has its own axis
            n = h.state[N]
            scale = 2.0 / distance(h)
            values[h.key[:n], m] += scale * h.beta[:n] * h.ridge[:n]
        y = np.where(data.label[:, None] == np.array(self.positive), 1.0, -1.0)
        return float((1.0 - y * values).max())

    # -- what was learned -----------------------------------------------------------------

    def expansion(self) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        """Support vectors, their coefficients (machines, n), the biases, and the slots."""
        coef = np.zeros((len(self.hulls), self.store.n))
        bias = np.zeros(len(self.hulls))
        for m, h in enumerate(self.hulls):
            beta = h.beta[: h.state[N]]
            if is_ready(h):
                scale = 2.0 / distance(h)
                coef[m, h.handle[: h.state[N]]] = scale * beta
                bias[m] = scale * (h.scalar[NN] - h.scalar[PP]) / 2
            else:  # one class seen: that class
                bias[m] = 1.0 if (beta > 0).any() else -1.0
        return self.store.rows(), coef, bias, np.arange(self.store.n)

    def stores(self) -> list[RowStore]:
        """Where the rows are."""
        return [self.store]

    def keys(self, slots: np.ndarray) -> np.ndarray:
        return self.key[slots]

    def labels(self, slots: np.ndarray) -> np.ndarray:
        return self.label[slots]
