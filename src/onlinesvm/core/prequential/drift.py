"""Drift detection: whether the error rate of a stream has risen.

Given: for each example in turn, whether its prediction, made before it was learned, was wrong.
Errors are counted in blocks of 32. After each block, every cut of the last W blocks into an old
and a recent part is tested by the likelihood ratio of two Bernoulli means against one,

    G = n0 kl(k0/n0, k/n) + n1 kl(k1/n1, k/n),    k = k0 + k1 errors of n = n0 + n1 examples.

A drift is raised where the recent part has more errors and G exceeds a threshold u. The old part
is then forgotten, and the recent one is the beginning of a new concept.

Notes
-----
*False alarms.* Let errors be independent, their probability never rising. For one pair of parts,
P(k1/n1 > k0/n0 and G >= u) <= (1 + u) exp(-u): G is at most the value with the true mean instead of
k/n, and each of its two terms exceeds v with probability at most exp(-v) (Chernoff). At check c,
u is such that this is delta / (c (c + 1)) divided by the number of all pairs of adjacent parts
within the last W blocks. The sum over pairs and checks is delta: the probability that a stream
without drift ever raises an alarm is at most delta, however long it is.

A learner's errors become fewer while it learns, which is why falling error rates are no drift;
what precedes a fall is left out of the count, so that it does not hide a later rise.

The window that adapts to the error rate is the idea of ADWIN (Bifet, Gavalda 2007); the test is
the likelihood ratio of Besson and Kaufmann (2019) with a simpler bound.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ..state.compact import Compact

DELTA = 0.01
"""Probability that a stream without drift ever raises an alarm, at most."""

BLOCK = 32
"""Examples between two checks."""

BLOCKS = 320
"""W: blocks of which the errors are remembered."""


@cache
def _x_log_x(most: int) -> np.ndarray:
    """x log x of the whole numbers up to ``most``."""
    x = np.arange(most + 1, dtype=np.float64)
    return x * np.log(np.maximum(x, 1.0))


def likelihood(errors: Any, n: Any) -> np.ndarray:
    """The largest log-likelihood of this number of errors among n."""
    x_log_x = _x_log_x(BLOCKS * BLOCK)
    return np.asarray(x_log_x[errors] + x_log_x[n - errors] - x_log_x[n])


def threshold(check: int, delta: float) -> float:
    """u with (1 + u) exp(-u) = delta / (c (c + 1) pairs), rounded up."""
    blocks = min(check, BLOCKS)
    pairs = max(1, blocks * (blocks - 1) // 2)
    wanted = math.log(check * (check + 1.0) * pairs / delta)
    u = wanted
    for _ in range(20):  # u = wanted + log(1 + u), from below; the rest is less than 1e-9
        u = wanted + math.log1p(u)
    return u + 1e-9


class DriftDetector(Compact):
    """Counts of recent errors, and the drifts found in them."""

    def __init__(self, delta: float = DELTA):
        self.delta = delta
        self.errors = np.zeros(BLOCKS, np.int64)  # of each block, the oldest first
        self.blocks = 0  # how many of them are in use
        self.current = 0  # errors of the block under way
        self.seen = 0  # examples
        self.start = 0  # examples before the concept at hand
        self.n_drifts = 0
        self.last = -1  # ``seen`` when the last drift was found; -1: never

    @property
    def width(self) -> int:
        """Examples from the beginning of the concept at hand to the last check."""
        return self.seen - self.seen % BLOCK - self.start

    @property
    def error(self) -> float:
        """Share of errors among the examples that are counted; NaN without any."""
        n = self.blocks * BLOCK + self.seen % BLOCK
        return float(self.errors[: self.blocks].sum() + self.current) / n if n else float("nan")

    def update(self, wrong: np.ndarray) -> None:
        """More examples, none of them beyond the end of the block under way."""
        self.seen += len(wrong)
        self.current += int(np.count_nonzero(wrong))
        if self.seen % BLOCK == 0:
            self._append(self.current)
            self.current = 0
            self._check()

    def _append(self, errors: int) -> None:
        if self.blocks == BLOCKS:
            self._forget(1)
        self.errors[self.blocks] = errors
        self.blocks += 1

    def _forget(self, count: int) -> None:
        """Leave out the oldest blocks."""
        left = self.blocks - count
        self.errors[:left] = self.errors[count : self.blocks].copy()
        self.blocks = left

    def _check(self) -> None:
        """Test every cut; forget what precedes the most significant one."""
        if self.blocks < 2:
            return
        total = np.cumsum(self.errors[: self.blocks])
        old, n_old = total[:-1], BLOCK * np.arange(1, self.blocks)
        n, recent = BLOCK * self.blocks, total[-1] - old
        n_recent = n - n_old
        ratio = likelihood(old, n_old) + likelihood(recent, n_recent) - likelihood(total[-1], n)
        cut = int(ratio.argmax())
        if ratio[cut] <= threshold(self.seen // BLOCK, self.delta):
            return
        if recent[cut] * n_old[cut] > old[cut] * n_recent[cut]:
            self.n_drifts += 1
            self.last, self.start = self.seen, self.seen - int(n_recent[cut])
        self._forget(cut + 1)
