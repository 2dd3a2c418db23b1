"""Errors of values before they were learned, and the intervals that follow.

Given: predictions of each example by the model before it learned it. Noted: the *excess* e, by how much
the target lies outside what was predicted,

    one value                    e = |y - f(x)|                      interval f(x) -+ q
    quantiles of one target      e = max(f_lo(x) - y, y - f_hi(x))   interval f_lo(x) - q .. f_hi(x) + q

with f_lo and f_hi the lowest and the highest of the quantiles. Each target has its own.

The threshold q of a level alpha is the quantile 1 - a of the last ``WINDOW`` excesses, where the share a
follows the misses (adaptive conformal inference, Gibbs and Candes 2021):

    a <- a + RATE (alpha - (e > q))

Summed over T examples, the share of misses differs from alpha by at most 1 / (RATE T), for every
sequence of examples, as long as a does not leave [0, 1], to which it is limited: beyond the largest
recent excess nothing is known. Quantiles of a window forget a disturbance with the window.

Calibrated quantiles are predicted with an offset each (``offsets``), which follows the same examples:
their errors y - f(x) are noted for every machine, and an excess is that of the prediction with the
offset that it had.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..keys import Leaving
from ..runtime.compact import Compact
from ..runtime.numerics import jit
from .drift import BLOCK
from .offsets import followed, quantiles_of
from .ring import move_to_front, padded_keys, places_left
from .thresholds import LEVELS

WINDOW = 1000
"""Excesses of which quantiles are taken on a stream."""

RECENT = 4096
"""Excesses kept: after a fit of data in random order, quantiles are taken of more of them."""

RATE = 0.01
"""How far a share moves at a miss."""

FEWEST = 20
"""Excesses without which there is no interval."""

FEW_BLOCKS = 2
"""Blocks of a fit without which too few of its examples would be predicted before they are learned."""


@jit
def quantile_of(ordered, n, share):
    """The quantile 1 - share of n ordered excesses, the one to come counting as the largest."""
    place = int(np.ceil((1.0 - share) * (n + 1) * (1.0 - 1e-12))) - 1
    return ordered[min(max(place, 0), n - 1)]


@jit
def _take_out(ordered, n, value):
    """Remove one value of n."""
    i = np.searchsorted(ordered[:n], value)
    for j in range(i, n - 1):
        ordered[j] = ordered[j + 1]


@jit
def _put_in(ordered, n, value):
    """Add a value to n."""
    j = n
    while j > 0 and ordered[j - 1] > value:
        ordered[j] = ordered[j - 1]
        j -= 1
    ordered[j] = value


@jit
def track(excess, leaving, levels, shares, ordered, n):
    """Shares after these examples; ``leaving`` are the excesses whose place they take, if it is full.

    Returns how many excesses there are now.
    """
    for t in range(excess.shape[0]):
        if n > 0:
            for a in range(levels.shape[0]):
                miss = 1.0 if excess[t] > quantile_of(ordered, n, shares[a]) else 0.0
                shares[a] = min(max(shares[a] + RATE * (levels[a] - miss), 0.0), 1.0)
        if n == ordered.shape[0]:
            _take_out(ordered, n, leaving[t])
            n -= 1
        _put_in(ordered, n, excess[t])
        n += 1
    return n


class Tracked(Compact):
    """The shares of all levels, and the last excesses in order, of one target."""

    def __init__(self) -> None:
        self.shares = np.array(LEVELS)
        self.ordered, self.n = np.zeros(WINDOW), 0

    def update(self, excess: np.ndarray, leaving: np.ndarray) -> None:
        """More examples, and the excesses of those that came ``WINDOW`` examples before them."""
        self.n = int(track(excess, leaving, np.array(LEVELS), self.shares, self.ordered, self.n))

    def thresholds(self, excess: np.ndarray | None) -> np.ndarray:
        """q of every level; ``excess``: of these examples, where their order meant nothing."""
        ordered, n = (self.ordered, self.n) if excess is None else (np.sort(excess), len(excess))
        shares = self.shares if excess is None else np.array(LEVELS)
        return np.array([quantile_of(ordered, n, share) for share in shares])


def excess_of(values: np.ndarray, targets: np.ndarray, quantiles: bool) -> np.ndarray:
    """By how much targets (n, machines) lie outside the predictions, (n, targets)."""
    if not quantiles:
        return np.abs(targets - values)
    y = targets[:, 0]
    return np.maximum(values.min(axis=1) - y, y - values.max(axis=1))[:, None]


class Residuals(Compact):
    """The last errors, and the thresholds of intervals: what a learner of values takes note of."""

    detector: Any = None
    follows = follows_now = keeps_scores = drifted = False
    thresholds: Any = None  # of prediction sets: there are none

    def __init__(self, machines: int, quantiles: bool, levels: np.ndarray | None = None):
        """``quantiles``: machines are those of one target; ``levels``: what they are calibrated for."""
        self.quantiles = quantiles
        self.n = 0  # examples noted
        self.looked = 0  # those of them that the shares have seen
        self.n_unordered = 0  # how many there were when their order meant nothing
        targets = 1 if quantiles else machines
        self.excess, self.key = np.zeros((RECENT, targets)), np.full(RECENT, -1)
        self.tracked = [Tracked() for _ in range(targets)]
        self.held_out = False  # whether all those without order are of models without the examples
        self.knows = False  # whether anything was learned: a model of nothing predicts no value
        self.levels, self.offsets = levels, None if levels is None else np.zeros(machines)
        if levels is not None:
            self.shares = levels.copy()  # at which offsets are taken on a stream
            self.errors, self.weight = np.zeros((RECENT, machines)), np.zeros(RECENT)

    @property
    def _kept(self) -> list[str]:
        """Names of the arrays that have a place for each example, beside the keys."""
        return ["excess"] if self.levels is None else ["excess", "errors", "weight"]

    def _in_use(self) -> dict[str, Any]:
        n = min(self.n, RECENT)
        return self.__dict__ | {name: getattr(self, name)[:n] for name in ("key", *self._kept)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        older = {"levels": None, "offsets": None, "held_out": False, "knows": state["n"] > 0}
        super().__setstate__(older | state)
        for name in self._kept:
            array = getattr(self, name)
            more = [(0, RECENT - len(array)), *[(0, 0)] * (array.ndim - 1)]
            setattr(self, name, np.pad(array, more))
        self.key = padded_keys(self.__dict__.get("key"), RECENT)  # not in older pickles

    def wants_small_blocks(self, n: int, at_hand: bool, block_size: int) -> bool:
        """Whether n examples are to be learned in small blocks: where there are few of them so far."""
        return (n if at_hand else self.n + n) <= FEW_BLOCKS * block_size

    def begin(self, n: int | None = None) -> None:
        """A call begins: nothing depends on where."""

    def add_label(self, labels: int) -> None:
        """Values have no labels."""

    def left(self) -> int:
        """Examples until the next look."""
        return BLOCK - self.n % BLOCK

    def note_one(self, scores: np.ndarray, target: float, weight: float, key: int = -1) -> None:
        """One example; of one machine without arrays of one number, which take longer than all else."""
        if len(scores) == 1 and self.offsets is None and self.knows:
            i = self.n % RECENT
            self.excess[i, 0], self.key[i] = abs(target - scores[0]), key
            self.n += 1
            if self.n % BLOCK == 0:
                self.look()
            return
        one = scores[None, :], np.full((1, len(scores)), target), np.array([weight])
        self.note(*one, np.array([key]))

    def note(
        self, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray, key: Any = None
    ) -> None:
        """Examples in order, each learned before the next. The very first one has no prediction."""
        first = 0 if self.knows else 1
        self.knows, key = True, None if key is None else key[first:]
        self._note(scores[first:], targets[first:], weight[first:], key)

    def note_block(
        self, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray, key: Any = None
    ) -> None:
        """Examples that were learned together: those of the very first block have no prediction."""
        if self.knows:
            self._note(scores, targets, weight, key)
        self.knows = True

    def _note(self, scores: np.ndarray, targets: np.ndarray, weight: np.ndarray, key: Any) -> None:
        key, first = np.full(len(targets), -1) if key is None else key, 0
        while first < len(scores):
            i, part = self.n % RECENT, slice(first, first + self.left())
            few, values, wanted = len(key[part]), scores[part], targets[part]
            place = slice(i, i + few)
            if self.offsets is not None:
                self.errors[place], self.weight[place] = wanted - values, weight[part]
                values = values + self.offsets
            self.excess[place] = excess_of(values, wanted, self.quantiles)
            self.key[place] = key[part]
            first, self.n = first + few, self.n + few
            if self.n % BLOCK == 0:
                self.look()
                self._follow_errors()

    def look(self) -> None:
        """The shares follow what was noted since the last look."""
        if self.looked == self.n:
            return
        which = np.arange(self.looked, self.n)
        excess, leaving = self.excess[which % RECENT], self.excess[(which - WINDOW) % RECENT]
        self.looked = self.n
        for m, tracked in enumerate(self.tracked):
            tracked.update(excess[:, m].copy(), leaving[:, m].copy())

    def _follow_errors(self) -> None:
        """The shares of offsets follow the last block of examples, and the offsets follow the shares."""
        if self.levels is None or self.offsets is None:
            return
        if self.n >= FEWEST + BLOCK:  # there were offsets
            last = np.arange(self.n - BLOCK, self.n) % RECENT
            told = self.shares, self.levels, self.offsets, self.errors[last], self.weight[last]
            self.shares = followed(*told)
        self._set_offsets()

    def _set_offsets(self) -> None:
        """Offsets from the errors that count."""
        if self.levels is None or self.offsets is None:
            return
        if self.n < FEWEST:
            self.offsets = np.zeros(len(self.levels))
            return
        count = min(self.n, WINDOW) if self.adapts else self._n_unordered_used
        which = np.arange(self.n - count, self.n) % RECENT
        shares = self.shares if self.adapts else self.levels
        self.offsets = quantiles_of(self.errors[which], self.weight[which], shares)

    @property
    def _n_unordered_used(self) -> int:
        """How many of the examples of a fit in random order count: the last ones."""
        n = self.n if self.held_out else (self.n + 1) // 2  # the models were more like the last
        return min(n, RECENT)

    def replace(
        self, values: np.ndarray, targets: np.ndarray, weight: np.ndarray, key: np.ndarray
    ) -> None:
        """Values of up to ``RECENT`` examples in random order, by models without them, take the place of all.

        Offsets and excesses are those of these values.
        """
        assert self.levels is not None
        assert self.offsets is not None
        n = len(values)
        self.n = self.looked = self.n_unordered = n
        self.key[:], self.weight[:], self.held_out = -1, 0.0, True
        self.key[:n], self.errors[:n], self.weight[:n] = key, targets - values, weight
        self.shares = self.levels.copy()
        self._set_offsets()
        self.excess[:n] = excess_of(values + self.offsets, targets, self.quantiles)
        self.restore(np.tile(LEVELS, (len(self.tracked), 1)))

    @property
    def is_cross_fitted(self) -> bool:
        """Whether offsets are those of models without the examples, and nothing was learned since."""
        return self.offsets is not None and self.held_out and not self.adapts

    @property
    def most_scores(self) -> int:
        """Maximum number of scores that ``replace`` takes."""
        return RECENT

    def forget(self, leaving: Leaving, label_weight: Any = None) -> None:
        """Drop the errors of these examples. The shares, which follow misses, stay as they are."""
        self.look()
        left = places_left(self.n, self.key, leaving)
        if len(left) < min(self.n, RECENT):
            unordered = self.n_unordered == self.n
            arrays = [getattr(self, name) for name in self._kept]
            self.n = self.looked = move_to_front(left, self.key, *arrays)
            self.n_unordered = self.n if unordered else 0
            self.restore(np.array([tracked.shares for tracked in self.tracked]))
            self._set_offsets()
        leaving.renumber(self.key)

    @property
    def adapts(self) -> bool:
        """Whether thresholds follow the errors of a stream."""
        return self.n_unordered != self.n

    def resume(self) -> None:
        """The model has changed otherwise than by learning: nothing depends on it."""

    def use_quantiles(self) -> None:
        """Use quantiles of the stored errors as thresholds: the examples were in random order."""
        self.n_unordered, self.held_out = self.n, False
        self._set_offsets()

    def restore(self, shares: np.ndarray) -> None:
        """The state that goes with the excesses kept and these shares (targets, levels)."""
        seen = min(self.looked, WINDOW)
        last = self.excess[np.arange(self.looked - seen, self.looked) % RECENT]
        for column, own, tracked in zip(last.T, shares, self.tracked, strict=True):
            tracked.shares, tracked.n = own.copy(), seen
            tracked.ordered[:seen] = np.sort(column)

    def snapshot(self) -> np.ndarray | None:
        """Thresholds of every target, (targets, levels), which further learning does not change."""
        if self.n < FEWEST:
            return None
        self.look()
        known: list[Any] = [None] * len(self.tracked)
        if self.n_unordered == self.n:
            which = np.arange(self.n - self._n_unordered_used, self.n) % RECENT
            known = list(self.excess[which].T)
        return np.array([t.thresholds(each) for t, each in zip(self.tracked, known, strict=True)])
