"""Drift detection: whether the error rate of a stream has risen.

Given: for each example in turn, whether its prediction, made before it was learned, was wrong.
Errors are counted in blocks of 16. After each block, the last W blocks are cut into an old and a
recent part, the recent one of 1, 2, 3, ... blocks, each length about a quarter more than the one
before. Each cut is tested by the likelihood ratio of two Bernoulli means against one,

    G = n0 kl(k0/n0, k/n) + n1 kl(k1/n1, k/n),    k = k0 + k1 errors of n = n0 + n1 examples.

A drift is raised where the recent part has more errors and G exceeds a threshold u. The old part
is then forgotten, and the recent one, from the most significant of all cuts, is the beginning of a
new concept.

Notes
-----
*False alarms.* Let errors be independent, their probability never rising. For one pair of parts,
P(k1/n1 > k0/n0 and G >= u) <= (1 + u) exp(-u): G is at most the value with the true mean instead of
k/n, and each of its two terms exceeds v with probability at most exp(-v) (Chernoff). A union over
all pairs and checks proves a bound for u near 26, which a learner that recovers within a hundred
examples never reaches. Neighbouring cuts and checks see almost the same errors, so that far fewer
alarms are raised than the union counts: u is chosen by simulation. Independent errors at eight
rates from 0.001 to 0.8, 30 million at each, raised 22 alarms, one in eleven million; River's ADWIN
with its defaults raised 3 in 36 million (six rates from 0.01 to 0.5, rises alone).
``python -m benchmarks.drift_detection --alarms 30_000_000`` repeats it.

*Delay.* A rise of the error rate from p to q is detected after about u / kl(q, p) examples: 30 from
0.1 to 0.5, 300 from 0.1 to 0.2. A shorter rise is not detected.

A learner's errors become fewer while it learns, so falling error rates are not a drift; errors
before a fall are excluded, so that they do not hide a later rise.

The window that adapts to the error rate is the idea of ADWIN (Bifet, Gavalda 2007); the test is
the likelihood ratio of Besson and Kaufmann (2019).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ..runtime.compact import Compact

THRESHOLD = 13.5
"""u: the likelihood ratio, as a logarithm, above which the error rate has changed."""

BLOCK = 16
"""Examples between two checks."""

BLOCKS = 640
"""W: blocks of which the errors are remembered."""

GROWTH = 1.25
"""Ratio of a length of the recent part to the one before."""


@cache
def _x_log_x(most: int) -> np.ndarray:
    """x log x of the whole numbers up to ``most``."""
    x = np.arange(most + 1, dtype=np.float64)
    return x * np.log(np.maximum(x, 1.0))


@cache
def recent_lengths(blocks: int) -> np.ndarray:
    """Lengths of the recent part, in blocks, of this many blocks."""
    lengths = [1]
    while lengths[-1] < blocks:
        lengths.append(max(lengths[-1] + 1, int(GROWTH * lengths[-1])))
    return np.array(lengths[:-1], np.int64)


def likelihood(errors: Any, n: Any) -> np.ndarray:
    """The largest log-likelihood of this number of errors among n."""
    x_log_x = _x_log_x(BLOCKS * BLOCK)
    return np.asarray(x_log_x[errors] + x_log_x[n - errors] - x_log_x[n])


class DriftDetector(Compact):
    """Counts of recent errors, and the drifts found in them."""

    def __init__(self, threshold: float = THRESHOLD):
        self.threshold = threshold
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
        """Test some cuts; at a change, forget what precedes the most significant one of all."""
        if self.blocks < 2:
            return
        total = np.cumsum(self.errors[: self.blocks])
        if (
            abs(self._ratios(total, self.blocks - recent_lengths(self.blocks))).max()
            <= self.threshold
        ):
            return
        ratio = self._ratios(total, np.arange(1, self.blocks))
        old = int(abs(ratio).argmax()) + 1
        if ratio[old - 1] > 0.0:
            self.n_drifts += 1
            self.last, self.start = self.seen, self.seen - BLOCK * (self.blocks - old)
        self._forget(old)

    def _ratios(self, total: np.ndarray, old_blocks: np.ndarray) -> np.ndarray:
        """G of cuts after these blocks; negative where the recent part has fewer errors."""
        old, n_old = total[old_blocks - 1], BLOCK * old_blocks
        n, recent = BLOCK * self.blocks, total[-1] - old
        n_recent = n - n_old
        ratio = likelihood(old, n_old) + likelihood(recent, n_recent) - likelihood(total[-1], n)
        return np.asarray(np.where(recent * n_old > old * n_recent, ratio, -ratio))
