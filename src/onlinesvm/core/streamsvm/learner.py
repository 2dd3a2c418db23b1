"""StreamSVM's learner: the balls of every machine, and where their centres are kept.

    f(x) = w phi(x) / (|w|^2 + xi^2)

for the centre (w, xi) of the smallest ball around a machine's balls: y f = 1 on the margin.
With the linear kernel a centre is a vector, and the examples are forgotten; with any other it
is a kernel expansion. With ``normalize`` phi(x) is divided by its length, sqrt(k(x, x)).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..examples import Examples
from ..kernel.kernel import Kernel
from ..kernel.rows import Rows, RowStore
from ..model import EpochLearner
from ..runtime.compact import Compact
from ..runtime.interrupts import checkpoint
from ..runtime.threads import one_blas_thread
from .balls import MERGE, NEED, POSITION, TAKEN, Balls, BlockState, N, merge, online
from .enclosing_ball import enclose

SMALLEST_BLOCK, LARGEST_BLOCK = 16, 1024
_BLOCK_VALUES = 4_000_000  # kernel values of a block


def make_balls(n_balls: int) -> Balls:
    size = n_balls + 1
    return Balls(np.zeros((size, size)), np.zeros(size), np.zeros(size), np.zeros(5, np.int64))


class Vectors(Compact):
    """Centres as vectors, for the linear kernel: (machines * K, D) and nothing else."""

    def __init__(self, kernel: Kernel, like: Rows, size: int):
        self.kernel = kernel
        self.table = np.zeros((size, like.n_features))

    @property
    def n_rows(self) -> int:
        """Rows whose kernel values an example needs."""
        return len(self.table)

    def near(self, rows: Rows) -> np.ndarray:
        """Inner products of examples with all centres."""
        return self.kernel.block(rows, Rows.of(self.table)).astype(np.float64)

    def mix(self, first: int, old: np.ndarray, new: np.ndarray, rows: Rows, _: Any) -> None:
        """Centres first, first + 1, ... become old @ (those centres) + new @ rows."""
        part = slice(first, first + len(old))
        dense = rows.to_array()
        self.table[part] = old @ self.table[part] + new @ dense

    def combine(self, weights: np.ndarray) -> tuple[Rows, np.ndarray]:
        """Combinations of the centres, as rows and coefficients."""
        return Rows.of(weights @ self.table), np.eye(len(weights))

    def rearrange(self, order: list[int], sign: np.ndarray) -> None:
        """Centre i becomes sign[i] times old centre order[i]; -1 is a new one, at zero."""
        table = np.concatenate([self.table, np.zeros((1, self.table.shape[1]))])
        self.table = table[order] * sign[:, None]

    def close(self) -> None:
        """Nothing to forget."""

    def stores(self) -> list[RowStore]:
        return []

    def keys(self, n: int) -> np.ndarray:
        return np.full(n, -1)

    def labels(self, n: int) -> np.ndarray:
        return np.zeros(n, np.int64)


class Expansions(Compact):
    """Centres as kernel expansions over the examples that made them."""

    def __init__(self, kernel: Kernel, like: Rows, size: int):
        self.kernel = kernel
        self.store = RowStore(like)
        self.coef = np.zeros((size, 0))
        self.key = self.label = np.empty(0, np.int64)

    @property
    def n_rows(self) -> int:
        return self.store.n

    def near(self, rows: Rows) -> np.ndarray:
        """Inner products of examples with all centres; they are many, so BLAS weighs."""
        values = self.kernel.block(rows, self.store.rows()).astype(np.float64)
        with one_blas_thread():
            return values @ self.coef.T

    def mix(
        self, first: int, old: np.ndarray, new: np.ndarray, rows: Rows, about: Examples
    ) -> None:
        part = slice(first, first + len(old))
        coef = np.zeros((len(self.coef), self.store.n + len(rows)))
        coef[:, : self.store.n] = self.coef
        coef[part, : self.store.n] = old @ self.coef[part]
        coef[part, self.store.n :] = new
        self.coef = coef
        self.store.append(rows)
        self.key = np.concatenate([self.key, about.key])
        self.label = np.concatenate([self.label, about.label])

    def combine(self, weights: np.ndarray) -> tuple[Rows, np.ndarray]:
        return self.store.rows(), weights @ self.coef

    def rearrange(self, order: list[int], sign: np.ndarray) -> None:
        coef = np.concatenate([self.coef, np.zeros((1, self.coef.shape[1]))])
        self.coef = coef[order] * sign[:, None]

    def close(self) -> None:
        """Forget rows that no centre has a part in."""
        kept = self.coef.any(axis=0)
        if not kept.all():
            order = np.flatnonzero(kept)
            self.store.rearrange(order, self.store.rows())
            # In the order of memory that a copy has: BLAS sums differently in another.
            self.coef = np.ascontiguousarray(self.coef[:, order])
            self.key, self.label = self.key[order], self.label[order]

    def stores(self) -> list[RowStore]:
        return [self.store]

    def keys(self, n: int) -> np.ndarray:
        return self.key

    def labels(self, n: int) -> np.ndarray:
        return self.label


class StreamSVM(Compact, EpochLearner):
    """State and steps of StreamSVM. Labels are 0, 1, ... in the order of ``add_label``."""

    def __init__(
        self,
        kernel: Kernel,
        like: Rows,
        n_labels: int,
        *,
        n_balls: int = 32,
        together: bool = True,
        normalize: bool = True,
    ):
        self.kernel, self.n_balls = kernel, n_balls
        self.together, self.normalize = together, normalize
        self.n_labels = n_labels
        self.positive = [1] if n_labels <= 2 else list(range(n_labels))
        self.balls = [make_balls(n_balls) for _ in self.positive]
        kind = Vectors if kernel.name == "linear" else Expansions
        self.centres: Any = kind(kernel, like, len(self.balls) * n_balls)
        self.entered = np.zeros(n_labels, np.int64)
        self.block = SMALLEST_BLOCK
        self.kept_final: Any = None

    def _lasting(self) -> dict[str, Any]:
        return self.__dict__ | {"kept_final": None}

    # -- labels ---------------------------------------------------------------------------

    def add_label(self) -> None:
        """One more label; its machine starts empty. Two classes become two machines."""
        self.kept_final = None
        self.n_labels += 1
        self.entered = np.append(self.entered, 0)
        if self.n_labels <= 2:
            return
        size = self.n_balls
        held = list(range(len(self.balls) * size))
        sign = np.ones((len(self.balls) + 1) * size)
        if self.n_labels == 3:
            self.positive = [0, 1]
            self.balls.append(Balls(*(array.copy() for array in self.balls[0])))
            held, sign = held * 2, np.repeat([-1.0, 1.0, 1.0], size)
        self.positive.append(self.n_labels - 1)
        self.balls.append(make_balls(size))
        self.centres.rearrange(held + [-1] * size, sign)

    # -- learning -------------------------------------------------------------------------

    def learn(self, fresh: Examples) -> None:
        """Examples of a stream, in order."""
        for _ in self.epoch(fresh, np.arange(len(fresh.rows))):
            pass

    def epoch(self, data: Examples, order: np.ndarray) -> Iterator[int]:
        """One pass over the data; yields how many examples are done."""
        first = 0
        while first < len(order):
            if first:
                checkpoint()
            which = order[first : first + self.block]
            taken = self._learn_block(data.take(which))
            first += len(which)
            # many examples taken: their kernel values are asked for one by one
            size = self.block // 2 if 4 * taken > len(which) else self.block * 2
            largest = min(LARGEST_BLOCK, _BLOCK_VALUES // (self.centres.n_rows + 1))
            self.block = int(np.clip(size, SMALLEST_BLOCK, max(largest, SMALLEST_BLOCK)))
            yield first

    def _learn_block(self, fresh: Examples) -> int:
        """The block's passage through every machine; returns how many examples entered a ball."""
        self.kept_final = None
        size, K = len(fresh.rows), self.n_balls
        length = np.sqrt(fresh.diagonal) if self.normalize else np.ones(size)
        length[length == 0] = 1.0  # phi(x) = 0 stays there
        near = self.centres.near(fresh.rows) / length[:, None]
        gram, known = np.empty((size, size)), np.zeros(size, bool)
        entered = np.zeros(size, bool)
        for m, b in enumerate(self.balls):
            y = np.where(fresh.label == self.positive[m], 1.0, -1.0)
            old, new = np.eye(K + 1, K), np.zeros((K + 1, size))
            p = BlockState(
                np.ascontiguousarray(near[:, m * K : (m + 1) * K]), gram, known,
                fresh.diagonal / length**2, 1.0 / fresh.bound, y, old, new,
                np.empty(size, np.int64),
            )  # fmt: skip
            b.state[POSITION] = b.state[TAKEN] = 0
            while not online(b, p, K):
                if b.state[NEED] == MERGE:
                    merge(b, p, self.together)
                    continue
                q = int(b.state[NEED])
                row = self.kernel.block(fresh.rows.take(slice(q, q + 1)), fresh.rows)[0]
                gram[q], known[q] = row / (length * length[q]), True
            entered[self._keep(m, p, fresh, length)] = True
        self.centres.close()
        self.entered += np.bincount(fresh.label[entered], minlength=self.n_labels)
        return int(entered.sum())

    def _keep(self, m: int, p: BlockState, fresh: Examples, length: np.ndarray) -> np.ndarray:
        """Move machine m's centres to where the passage took them."""
        b, K = self.balls[m], self.n_balls
        taken = p.taken[: b.state[TAKEN]]
        if len(taken):
            old, new = p.old[:K].copy(), p.new[:K, : len(taken)] / length[taken]
            old[b.state[N] :], new[b.state[N] :] = 0.0, 0.0
            about = fresh.take(taken)
            self.centres.mix(m * K, old, new, about.rows, about)
        return taken

    def finishing_work(self) -> float:
        """None."""
        return 0.0

    def finish(self) -> None:
        """Nothing: the smallest ball around the balls is found whenever it is asked for."""

    # -- what was learned -----------------------------------------------------------------

    def final(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Per machine: weights of all centres in the final one, its |w|^2 + xi^2, its radius."""
        if self.kept_final is None:
            K = self.n_balls
            weights = np.zeros((len(self.balls), len(self.balls) * K))
            square, radius = np.ones(len(self.balls)), np.zeros(len(self.balls))
            for m, b in enumerate(self.balls):
                n = int(b.state[N])
                if n:
                    weight = np.zeros(K + 1)
                    radius[m] = enclose(b.gram, b.own_axes, b.radius, n, weight)
                    weights[m, m * K : m * K + n] = weight[:n]
                    gram = b.gram[:n, :n] + np.diag(b.own_axes[:n])
                    square[m] = weight[:n] @ gram @ weight[:n]
            self.kept_final = weights, square, radius
        return self.kept_final

    def expansion(self) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        """Rows, their coefficients (machines, n), no biases, and the slots.

        With the linear kernel the rows are the machines' weight vectors.
        """
        weights, square, _ = self.final()
        rows, coef = self.centres.combine(weights / square[:, None])
        return rows, coef, np.zeros(len(self.balls)), np.arange(len(rows))

    @property
    def unit_length(self) -> bool:
        """Whether f(x) is divided by the length of phi(x)."""
        return self.normalize

    def stores(self) -> list[RowStore]:
        """Where the rows are; weight vectors have no rows."""
        return self.centres.stores()

    def keys(self, slots: np.ndarray) -> np.ndarray:
        return self.centres.keys(len(slots))[slots]

    def labels(self, slots: np.ndarray) -> np.ndarray:
        return self.centres.labels(len(slots))[slots]

    @property
    def state_size(self) -> int:
        """Bytes of the balls and their centres."""
        arrays = [array for b in self.balls for array in b]
        arrays += [a for a in vars(self.centres).values() if isinstance(a, np.ndarray)]
        return sum(array.nbytes for array in arrays)
