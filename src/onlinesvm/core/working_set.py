"""Optimise a machine by working sets: the many-at-a-time form of REPROCESS.

    repeat   choose W, the rows that violate most
             solve the problem on W alone (``smo.solve``)
             g_S <- g_S - K(S, W) (alpha_W' - alpha_W)
    until    g_max - g_min <= tol

Rows of K among the support set are kept between rounds, as many as the budget allows; the
others are used once, tile by tile, and never stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import smo
from .rows import Rows
from .support import Support

SET_SIZE = 1024
"""Rows in a working set while finishing."""

INNER_STEPS = 50
"""At most this many pair steps for each row of a working set."""


def violations(support: Support, m: int) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Gradients of the rows that may go up (else -inf) and down (else inf), g_max and g_min."""
    n = support.n
    lo, hi = (bound[m] for bound in support.bounds())
    alpha, grad = support.a.alpha[m, :n], support.a.grad[m, :n]
    member = support.a.member[m, :n]
    up = np.where(member & (alpha < hi), grad, -np.inf)
    down = np.where(member & (alpha > lo), grad, np.inf)
    return up, down, float(up.max(initial=-np.inf)), float(down.min(initial=np.inf))


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Indices of the ``count`` largest finite values."""
    count = min(count, len(values))
    best = np.argpartition(-values, count - 1)[:count] if count else np.empty(0, np.int64)
    return best[np.isfinite(values[best])]


def most_violating(up: np.ndarray, down: np.ndarray, count: int) -> np.ndarray:
    """The rows that violate most, half of them upwards and half downwards."""
    half = count // 2
    return np.union1d(_largest(up, half), _largest(-down, half))


def solve_set(
    K: np.ndarray, support: Support, m: int, W: np.ndarray, tol: float, steps: int
) -> np.ndarray:
    """Optimise machine m on the slots W with K = K(W, W); returns the change of alpha there."""
    padded = np.zeros((len(W), smo.padded(len(W))), np.float32)
    padded[:, : len(W)] = K
    diagonal = np.zeros(padded.shape[1], np.float32)
    diagonal[: len(W)] = support.a.diagonal[W]
    y = np.where(support.a.label[W] == support.a.positive[m], 1.0, -1.0)
    reach = y * support.a.bound[W]
    before = support.a.alpha[m, W]
    alpha = before.copy()
    smo.solve(
        padded, diagonal, alpha, support.a.grad[m, W], np.minimum(reach, 0.0),
        np.maximum(reach, 0.0), tol, steps,
    )  # fmt: skip
    support.a.alpha[m, W] = alpha
    return alpha - before


class RowKeeper:
    """Kernel rows K(s, S) of a support set that does not change meanwhile."""

    def __init__(self, kernel: Any, rows: Rows, megabytes: float):
        self.kernel, self.rows = kernel, rows
        n = max(1, len(rows))
        self.capacity = min(n, max(0, int(megabytes * 2**20) // (4 * n)))
        self.pool = np.empty((self.capacity, n), np.float32)
        self.place = np.full(n, -1)  # of slot s in the pool
        self.owner = np.full(self.capacity, -1)
        self.stamp = np.zeros(self.capacity, np.int64)
        self.clock = 0

    def fetch(self, slots: np.ndarray) -> np.ndarray:
        """Places in the pool of these slots' rows; computes what is missing. Needs them to fit."""
        self.clock += 1
        places = self.place[slots]
        self.stamp[places[places >= 0]] = self.clock
        missing = slots[places < 0]
        if len(missing):
            seats = np.argpartition(self.stamp, len(missing) - 1)[: len(missing)]
            evicted = self.owner[seats]
            self.place[evicted[evicted >= 0]] = -1
            self.pool[seats] = self.kernel.block(self.rows.take(missing), self.rows)
            self.owner[seats], self.place[missing], self.stamp[seats] = missing, seats, self.clock
        return self.place[slots]


def optimise(
    support: Support, kernel: Any, m: int, tol: float, megabytes: float, keeper: RowKeeper | None
) -> bool:
    """Bring machine m to g_max - g_min <= tol. Returns whether it got there."""
    keeper = keeper or RowKeeper(kernel, support.rows(), megabytes)
    size = min(SET_SIZE, max(2, keeper.capacity // 2)) if keeper.capacity < support.n else SET_SIZE
    kept = np.empty(0, np.int64)
    stalled = 0
    for _ in range(10_000):
        up, down, g_max, g_min = violations(support, m)
        gap = g_max - g_min
        if not gap > tol:
            return True
        fresh = most_violating(up, down, size if not len(kept) else size // 2)
        W = np.union1d(fresh, kept)
        inner = max(tol / 2, 0.1 * gap)
        gain = _round(support, kernel, keeper, m, W, inner)
        stalled = stalled + 1 if gain <= 0 else 0
        if stalled > 5:
            return False
        free = np.abs(support.a.alpha[m, fresh])
        inside = (free > 0) & (free < support.a.bound[fresh])
        kept = fresh[inside][: size // 2]
    return False


def _round(
    support: Support, kernel: Any, keeper: RowKeeper, m: int, W: np.ndarray, tol: float
) -> float:
    """One working set: solve, then bring all gradients up to date. Returns the dual's gain."""
    n, before = support.n, support.a.grad[m, W].copy()
    if len(W) <= keeper.capacity:
        places = keeper.fetch(W)
        change = solve_set(keeper.pool[places][:, W], support, m, W, tol, INNER_STEPS * len(W))
        moved = np.flatnonzero(change)
        support.a.grad[m, :n] -= change[moved] @ keeper.pool[places[moved]]
    else:
        rows = keeper.rows
        part = rows.take(W)
        change = solve_set(kernel.block(part, part), support, m, W, tol, INNER_STEPS * len(W))
        moved = np.flatnonzero(change)
        delta = change[None, moved]
        support.a.grad[m, :n] -= kernel.product(rows, part.take(moved), delta)[:, 0]
    return float(change @ (before + support.a.grad[m, W]) / 2)
