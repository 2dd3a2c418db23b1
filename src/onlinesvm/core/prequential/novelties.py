"""Decision values of one class before examples were learned, and the p-values that follow.

Given: the decision value f of each example by the model before it learned it. The coefficients of one
class sum to nu times the weights of the examples that count, so f grows with their number; divided by
that sum it does not. The bias b is the last thing to be right while a model learns, where kernel
values are nearly equal; and without it values deep inside, which nothing holds in their place, move
with every model. So both are noted, and a rank among the last ones counts if it is small by both:

    u(x) = f(x) / sum(a),    v(x) = (f(x) - b) / sum(a)
    p(x) = (1 + max(#{i : u_i <= u(x)}, #{i : v_i <= v(x)})) / (1 + n)

Where examples are exchangeable and models alike, P(p <= alpha) is at most about alpha (conformal
prediction, with the model before each example in the place of one that is held fixed).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..keys import Leaving
from ..runtime.compact import Compact
from .drift import BLOCK
from .residuals import FEW_BLOCKS, RECENT, WINDOW
from .ring import move_to_front, padded_keys, places_left

FEW = 20
"""Examples of a fit of which all values are used: half of them would be too few."""


class Novelties(Compact):
    """The last values u and v, of examples before they were learned.

    Single examples wait until there are 16 of them. Sum and bias are then read from ``support``, and are
    taken to have changed evenly since they were last read, by what each example weighs.
    """

    detector: Any = None
    follows = follows_now = keeps_scores = drifted = adapts = False
    thresholds: Any = None  # of prediction sets: there are none
    offsets: Any = None  # of quantiles: there are none
    is_cross_fitted = False

    def __init__(self, support: Any):
        self.support = support
        self.n = 0  # examples noted, without those that wait
        self.n_unordered = 0  # how many there were when their order meant nothing
        self.last = np.zeros(2)  # sum of the coefficients and bias when they were last read
        self.values, self.key = np.zeros((RECENT, 2)), np.full(RECENT, -1)
        self.waiting: list[tuple[float, float, int]] = []  # decision values, weights and keys

    def _in_use(self) -> dict[str, Any]:
        n = min(self.n, RECENT)
        return self.__dict__ | {"values": self.values[:n], "key": self.key[:n]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.values = np.pad(self.values, ((0, RECENT - len(self.values)), (0, 0)))
        self.key = padded_keys(self.__dict__.get("key"), RECENT)  # not in older pickles
        waiting: list[Any] = self.waiting  # without keys in older pickles
        self.waiting = [(*each, -1) if len(each) == 2 else each for each in waiting]

    def wants_small_blocks(self, n: int, at_hand: bool, block_size: int) -> bool:
        """Whether n examples are to be learned in small blocks: in a fit that has few of them."""
        return at_hand and n <= FEW_BLOCKS * block_size

    def begin(self, n: int | None = None) -> None:
        """A call begins: nothing depends on where."""

    def add_label(self, labels: int) -> None:
        """One class has no labels."""

    def left(self) -> int:
        """Examples until the next look."""
        return BLOCK - len(self.waiting)

    def note_one(self, scores: np.ndarray, label: int, weight: float, key: int = -1) -> None:
        """One example."""
        self.waiting.append((float(scores[0]), float(weight), key))
        if len(self.waiting) >= BLOCK or not self.last[0]:
            self.look()

    def note(
        self, scores: np.ndarray, label: np.ndarray, weight: np.ndarray, key: Any = None
    ) -> None:
        """Examples in order, each by the model that had learned those before it."""
        key = np.full(len(weight), -1) if key is None else key
        self.waiting += zip(scores[:, 0].tolist(), weight.tolist(), key.tolist(), strict=True)
        if len(self.waiting) >= BLOCK or not self.last[0]:
            self.look()

    def note_block(
        self, scores: np.ndarray, label: np.ndarray, weight: np.ndarray, key: Any = None
    ) -> None:
        """Examples that were learned together, all by the model before them.

        Single ones that wait still have the place after them: nobody looks at their order.
        """
        before, self.last = self.last, self._read()
        self._keep(scores[:, 0], before, np.full(len(weight), -1) if key is None else key)

    def look(self) -> None:
        """Keep the values that wait."""
        before, self.last = self.last, self._read()
        value, weight = np.array([each[:2] for each in self.waiting]).reshape(-1, 2).T
        share = (np.cumsum(weight) - weight) / max(float(weight.sum()), np.finfo(float).tiny)
        by = before[:, None] + share * (self.last - before)[:, None]
        self._keep(value, by, np.array([each[2] for each in self.waiting], np.int64))
        self.waiting = []

    def _read(self) -> np.ndarray:
        return np.array([self.support.alpha().sum(), self.support.a.bias[0]])

    def _keep(self, value: np.ndarray, by: np.ndarray, key: np.ndarray) -> None:
        """Decision values, each by a model of this sum and bias, (2,) or (2, n)."""
        if not by.size or not by.flat[0]:  # nothing had been learned: these values say nothing
            return
        which = np.arange(self.n, self.n + len(value))[-RECENT:]
        self.values[which % RECENT] = ranked_by(value, *by)[-RECENT:]
        self.key[which % RECENT] = key[-RECENT:]
        self.n += len(value)

    def forget(self, leaving: Leaving, label_weight: Any = None) -> None:
        """Drop the values of these examples."""
        self.look()
        left = places_left(self.n, self.key, leaving)
        if len(left) < min(self.n, RECENT):
            unordered = self.n_unordered == self.n
            self.n = move_to_front(left, self.key, self.values)
            self.n_unordered = self.n if unordered else 0
        leaving.renumber(self.key)

    def resume(self) -> None:
        """The model has changed otherwise than by learning: sum and bias are read again."""
        self.last = self._read()

    def use_quantiles(self) -> None:
        """The order of the examples meant nothing: more of what is kept is used."""
        self.look()
        self.n_unordered = self.n

    def snapshot(self) -> np.ndarray:
        """What p-values are ranks among, (n, 2), each ascending; learning does not change it."""
        count = min(self.n, WINDOW)
        if self.n_unordered == self.n:
            # Models of the second half are more like the last.
            count = min(max((self.n + 1) // 2, min(self.n, FEW)), RECENT)
        return np.sort(self.values[np.arange(self.n - count, self.n) % RECENT], axis=0)


def ranked_by(value: np.ndarray, total: Any, bias: Any) -> np.ndarray:
    """u and v, (n, 2), of decision values by models with this sum of coefficients and this bias."""
    return np.stack([value / total, (value - bias) / total], axis=1)


def p_values(known: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Ranks of u and v (n, 2) among ``known`` as shares, the larger one; each counts itself."""
    ranks = [np.searchsorted(a, b, side="right") for a, b in zip(known.T, asked.T, strict=True)]
    return (1 + np.maximum(*ranks)) / (1 + len(known))
