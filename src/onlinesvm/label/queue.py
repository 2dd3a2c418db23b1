"""Which item is asked about next, and why.

The first of these rules that has an item:

1. items that were asked for (search, "more like this", undone answers, wrong ones of a grid);
2. every tenth question: an item at random, for an unbiased accuracy;
3. with ``overlap``, for some questions: an item that another annotator has answered;
4. an item that was put off and is due again;
5. the model: the most uncertain of a sample, or the most likely of a class that is searched for;
6. items that were put off and are not due yet, when nothing else is left.

A choice depends only on the record, the model and the other pages: it is the same when repeated,
also after a restart.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..active.learner import ActiveLearner
from .choosing import RECENT, SAMPLE, drawn, likely, uncertain
from .pool import Lesson, Pool
from .record import LATER, RANDOM_EVERY, Record
from .teaching import Follower

SHORTLIST = 5000
"""Items of a large pool that are ranked after each answer when a class is searched for."""

LARGE = 20_000
"""Items from which a pool is large."""


class Mode(NamedTuple):
    """What a page is doing: "label", or "find" with the class that is searched for."""

    name: str = "label"
    label: int | None = None


class Asking(NamedTuple):
    """Whose question it is, after how many, and which items are on other pages."""

    annotator: str
    mode: Mode
    asked: int
    taken: set[int]
    assumed: Lesson | None = None  # an answer that is not given yet


Choice = Callable[[ActiveLearner], tuple[int, str] | None]
"""The item and the reason, by a learner."""


class Queue:
    """The rules, over one pool and one record."""

    def __init__(self, pool: Pool, record: Record, overlap: float, seed: int):
        self.pool, self.record = pool, record
        self.overlap, self.seed = overlap, seed
        self._short: tuple[Any, np.ndarray] = None, np.empty(0, np.int64)

    def rng(self, turn: int, name: str) -> np.random.Generator:
        """Random numbers that belong to one question of one annotator."""
        return np.random.default_rng([self.seed, turn, *name.encode()])

    def choose(
        self, asking: Asking, learner: ActiveLearner, model: Follower
    ) -> tuple[int, str] | None:
        """The item and the reason."""
        return self.choice(asking, model)(learner)

    def choice(self, asking: Asking, model: Follower) -> Choice:
        """What ``choose`` does, as a function that reads only the learner that it is given.

        It needs no lock: the record, the pool and the model may change before it is called.
        """
        rng, asked, taken = self.rng(asking.asked, asking.annotator), asking.asked, asking.taken
        number, why = self._from_front(taken), "front"
        if number is None and asked % RANDOM_EVERY == RANDOM_EVERY - 1:
            number, why = self._at_random(rng, taken), "random"
        if number is None and self.overlap > 0 and rng.random() < self.overlap:
            number, why = self._of_others(asking.annotator, taken), "overlap"
        if number is None:
            number, why = self._put_off(asked, taken), "label"
        free = self.pool.free(self.record, taken) if number is None else np.empty(0, np.int64)
        if len(free):
            score, mode = self._by_model(asking, free, model, rng), asking.mode.name
            return lambda learner: (score(learner), mode)
        if number is None:  # nothing else is left: do not wait until the rest is due
            number, why = self._put_off(asked + LATER, taken), "label"
        found = None if number is None else (number, why)
        return lambda learner: found

    def is_foreseeable(self, mode: Mode, model: Follower) -> bool:
        """Whether the question after the next label may be chosen before that label is known.

        Not where that label brings another ranking of a large pool: one for each class is too much.
        """
        return mode.label is None or len(self.pool) <= LARGE or not model.is_base_next

    def _from_front(self, taken: set[int]) -> int | None:
        for item in self.record.front:
            number = self.pool.number.get(item)
            if number is not None and self.pool.is_free(number) and number not in taken:
                return number
        return None

    def _at_random(self, rng: np.random.Generator, taken: set[int]) -> int | None:
        """Any open item, each with the same probability, copies of others included."""
        pool, barred = self.pool, {int(self.pool.group[i]) for i in taken}
        for _ in range(200):
            leader = int(pool.group[int(rng.integers(len(pool)))])
            put_off = pool.source.ids[leader] in self.record.later
            if pool.open[leader] and leader not in barred and not put_off:
                return leader
        free = pool.free(self.record, taken)
        return int(free[int(rng.integers(len(free)))]) if len(free) else None

    def _of_others(self, annotator: str, taken: set[int]) -> int | None:
        """An item that one other annotator has answered, the oldest first."""
        for item, given in self.record.given.items():
            number = self.pool.number.get(item)
            alone = len(given) == 1 and annotator not in given
            if alone and number is not None and number not in taken:
                return number
        return None

    def _put_off(self, asked: int, taken: set[int]) -> int | None:
        due = [(at, item) for item, at in self.record.later.items() if at <= asked]
        for _, item in sorted(due):
            number = self.pool.number.get(item)
            if number is not None and number not in taken and self.pool.is_free(number):
                return number
        return None

    def _by_model(
        self, asking: Asking, free: np.ndarray, model: Follower, rng: np.random.Generator
    ) -> Callable[[ActiveLearner], int]:
        label, assumed = asking.mode.label, asking.assumed
        if label is not None and (self.record.count(label) or (assumed and assumed[1] == label)):
            shortlist = self._shortlist(free, label, model)
            return lambda learner: int(likely(learner, shortlist(), label)[0])
        candidates, recent = drawn(free, SAMPLE, rng), self._recent(assumed)
        return lambda learner: uncertain(learner, candidates, recent)

    def _recent(self, assumed: Lesson | None) -> np.ndarray:
        items = islice(reversed(self.record.labels), RECENT)
        found = [self.pool.number[item] for item in items if item in self.pool.number]
        found = found if assumed is None else [assumed[0], *found][:RECENT]
        return np.array(found, np.int64)

    def _shortlist(self, free: np.ndarray, label: int, model: Follower) -> Callable[[], np.ndarray]:
        """The free items that are likely of a class; all of them if the pool is not large.

        The whole of a large pool is ranked by the model as it was after a multiple of ``EVERY`` labels;
        the best of that ranking are ranked by the current model.
        """
        if len(self.pool) <= LARGE:
            return lambda: free
        length, base = model.base
        if length == 0:
            first = drawn(free, LARGE, self.rng(label, "first"))
            return lambda: first
        stage = (label, length, self.record.rebuilt)

        def best() -> np.ndarray:
            known, order = self._short
            if known != stage:
                leaders = np.flatnonzero(self.pool.group == np.arange(len(self.pool)))
                order = likely(base, leaders, label)
                self._short = stage, order
            is_free = np.zeros(len(self.pool), bool)
            is_free[free] = True
            return order[is_free[order]][:SHORTLIST]

        return best
