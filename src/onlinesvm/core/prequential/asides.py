"""Scores that learning computes anyway, kept for probabilities that are requested later.

    recent    decision values of the last examples of a stream, each before it was learned
    beyond    of the examples of a fit that are no rows of the model, beyond the margin, some

The first block of a stream is treated like a fit, because nothing has scored it before it is learned.
Recording costs almost nothing: the loop for single rows writes each score directly into its place.
Nothing is computed from the scores until probabilities are requested. Rows that a fitted model
stores are not recorded: they are scored later by models without them
(``core.lasvm.block.held_out``).

Scores are as in ``record``. Weights are bounds: the cost of an example, all its copies together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..keys import Leaving
from ..runtime.compact import Compact
from .calibration import fit_slopes, restricted
from .record import MOST_SCORES, SELDOM, excess, last_look, with_label
from .ring import padded_keys, places_left
from .thresholds import Thresholds

RECENT, LEAST = 2048, 512
"""Examples of a stream whose scores are kept; of very many machines fewer, but at least ``LEAST``."""

ENOUGH = 1024
"""Number of scores of a stream from which on only they are used, if it began with a fit, or with a first
block of which nothing was scored."""

LAG = 4
"""Until then an answer also needs scores of the rows that the model holds, which take long to compute: it is
used until the stream has brought 1 / LAG as many examples as there are such rows."""


class Scored(NamedTuple):
    """Scores of examples that are like those to come."""

    scores: np.ndarray  # (n, machines)
    label: np.ndarray
    weight: np.ndarray  # bound, times the number of examples that each stands for
    key: np.ndarray  # of the example (``core.keys``)

    def take(self, which: np.ndarray) -> Scored:
        """Some of them."""
        return Scored(*(array[which] for array in self))


class Answer(NamedTuple):
    """The calibration of probabilities and prediction sets, as ``record.Snapshot``."""

    last: int  # number of examples noted when it was made
    slopes: np.ndarray
    q: np.ndarray


def answer_from(
    scores: np.ndarray, label: np.ndarray, weight: np.ndarray,
    copies: np.ndarray | None = None, last: int = 0,
) -> Answer:  # fmt: skip
    """The calibration from scores (n, machines) of examples by models that had not learned them."""
    thresholds = Thresholds()
    if len(label):
        thresholds.use_quantiles(excess(scores, label), weight)
    return Answer(last, fit_slopes(scores, label, weight, copies), thresholds.q)


class Asides(Compact):
    """Scores recorded in passing, and the calibration made from them on request."""

    def __init__(self, machines: int):
        self.scores = np.zeros((_size(machines), machines))
        self.label = np.zeros(len(self.scores), np.int64)
        self.weight = np.zeros(len(self.scores))
        self.key = np.full(len(self.scores), -1)
        self.n = 0  # examples of a stream noted
        self.beyond: Scored | None = None
        self.answer: Answer | None = None

    def _in_use(self) -> dict[str, Any]:
        n = min(self.n, len(self.label))
        cut = {name: getattr(self, name)[:n] for name in ("scores", "label", "weight", "key")}
        return self.__dict__ | cut | {"answer": self.lasting_answer}

    @property
    def lasting_answer(self) -> Answer | None:
        """The answer, if it is made of a model that may have changed since; others are made again."""
        return self.answer if self.wants_held else None

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        more = _size(self.scores.shape[1]) - len(self.label)
        self.scores = np.pad(self.scores, ((0, more), (0, 0)))
        self.label, self.weight = np.pad(self.label, (0, more)), np.pad(self.weight, (0, more))
        self.key = padded_keys(self.__dict__.get("key"), len(self.label))  # not in older pickles

    # -- noting ---------------------------------------------------------------------------

    def next_place(self) -> np.ndarray:
        """Where the scores (1, machines) of the next example of a stream are to be written."""
        i = self.n % len(self.label)
        return self.scores[i : i + 1]

    def note_written(self, label: int, weight: float, key: int = -1) -> None:
        """The scores of one example stand in the next place."""
        n = self.n
        i = n % len(self.label)
        self.label[i], self.weight[i], self.key[i], self.n = label, weight, key, n + 1

    def note(
        self, scores: np.ndarray, label: np.ndarray, weight: np.ndarray, key: np.ndarray
    ) -> None:
        """Examples of a stream, in order."""
        size, n = len(self.label), len(label)
        kept = slice(max(0, n - size), n)
        place = np.arange(self.n + kept.start, self.n + n) % size
        self.scores[place], self.label[place] = scores[kept], label[kept]
        self.weight[place], self.key[place] = weight[kept], key[kept]
        self.n += n

    def keep_beyond(
        self, scores: np.ndarray, label: np.ndarray, weight: np.ndarray, key: np.ndarray
    ) -> None:
        """Some of the examples of a fit that the model does not hold, in place of what is known."""
        which, stands_for = _some(label, len(self.label))
        self.beyond = Scored(
            scores[which].astype(np.float32), label[which], weight[which] * stands_for, key[which]
        )
        self.n, self.answer = 0, None

    def add_label(self, labels: int) -> None:
        """One more label, so that there are this many."""
        self.answer = None
        if labels > 2:
            n = min(self.n, len(self.label))
            scores = with_label(self.scores, labels)
            size = _size(scores.shape[1])
            order = np.arange(self.n - min(n, size), self.n) % len(self.label)
            ring = scores[order], self.label[order], self.weight[order], self.key[order]
            self.scores = np.zeros((size, scores.shape[1]))
            self.label, self.weight, self.n = np.zeros(size, np.int64), np.zeros(size), 0
            self.key = np.full(size, -1)
            self.note(*ring)
            if self.beyond is not None:
                wider = with_label(self.beyond.scores, labels)
                self.beyond = self.beyond._replace(scores=wider)

    def forget(self, leaving: Leaving) -> None:
        """Drop the scores of these examples."""
        self.answer = None  # made of the model as it was
        order = places_left(self.n, self.key, leaving)
        ring = self.scores[order], self.label[order], self.weight[order], self.key[order]
        self.n, self.scores[:], self.label[:], self.weight[:], self.key[:] = 0, 0.0, 0, 0.0, -1
        if len(order):
            self.note(*ring)
            leaving.renumber(self.key)
        if self.beyond is not None:
            self.beyond = self.beyond.take(np.flatnonzero(~leaving.among(self.beyond.key)))
            leaving.renumber(self.beyond.key)

    # -- asking ---------------------------------------------------------------------------

    @property
    def wants_held(self) -> bool:
        """Whether an answer is made of a fit: of ``beyond``, and of the rows that the model holds."""
        return self.beyond is not None and self.n < ENOUGH

    def known(self, held: int) -> Answer | None:
        """The answer, if it has been made of what there is; the model holds this many rows."""
        answer = self.answer
        if answer is None:
            return None
        late = self.n - answer.last
        fresh = late <= held // LAG if self.wants_held else answer.last == last_look(self.n)
        return answer if fresh else None

    def answer_of_fit(
        self, held: Scored, keys: np.ndarray, class_weight: np.ndarray, copies: np.ndarray | None,
        present: np.ndarray | None = None,
    ) -> Answer:  # fmt: skip
        """The answer from scores of the rows that the model holds, and of the examples that it does not.

        ``keys`` of all rows held. ``copies`` as in ``copies_of``, ``present`` as in ``Prequential.snapshot``.
        """
        assert self.beyond is not None
        parts = held, self.beyond, self._turned_away(keys)
        found = Scored(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        if present is not None:
            found = found.take(np.flatnonzero(present[found.label]))
        own = copies_of(copies, found.key)
        return self._made(self.n, found, class_weight, own, present)

    def _turned_away(self, held: np.ndarray) -> Scored:
        """Examples of the stream that the model does not hold, with scores beyond the margin.

        That is why they left, or did not join. What was noted is the score by an earlier model.
        """
        n = min(self.n, len(self.label))
        away = np.flatnonzero((self.key[:n] < -1) & ~np.isin(self.key[:n], held))
        found = Scored(self.scores[away], self.label[away], self.weight[away], self.key[away])
        return found._replace(scores=_beyond_margin(found.scores, found.label))

    def answer_of_stream(
        self, class_weight: np.ndarray, present: np.ndarray | None = None
    ) -> Answer | None:
        """The answer from the scores of a stream; None where none was noted."""
        last, size = last_look(self.n), len(self.label)
        if not last:
            return None
        count = min(last, size - SELDOM)
        if count == last:  # models of the first third are unlike the present one
            count -= last // 3
        which = np.arange(last - count, last) % size
        noted = Scored(*(a[which] for a in (self.scores, self.label, self.weight, self.key)))
        return self._made(last, noted, class_weight, None, present)

    def _made(
        self, last: int, given: Scored, class_weight: np.ndarray, copies: np.ndarray | None,
        present: np.ndarray | None,
    ) -> Answer:  # fmt: skip
        """Weights of labels are part of bounds, but say nothing about how frequent labels are."""
        weight = given.weight / class_weight[given.label]
        scores, label, weight = restricted(
            given.scores.astype(np.float64), given.label, weight, present
        )
        self.answer = answer_from(scores, label, weight, copies, last)
        return self.answer


def copies_of(copies: np.ndarray | None, key: np.ndarray) -> np.ndarray:
    """How many examples each of these is: ``copies`` by number; None: one. Those without a number are one."""
    found = np.ones(len(key))
    if copies is not None:
        known = (key >= 0) & (key < len(copies))
        found[known] = copies[key[known]]
    return found


def _beyond_margin(scores: np.ndarray, label: np.ndarray) -> np.ndarray:
    """The same scores, where those within the margin or on the wrong side are on the margin."""
    columns = np.arange(scores.shape[1]) if scores.shape[1] > 1 else np.ones(1)
    own = label[:, None] == columns
    return np.where(own, np.maximum(scores, 1.0), np.minimum(scores, -1.0))


def _size(machines: int) -> int:
    return min(RECENT, max(MOST_SCORES // max(machines, 1), LEAST))


def _some(label: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Up to ``most`` of the examples, drawn by chance, and how many of its label each stands for."""
    if len(label) <= most:
        return np.arange(len(label)), np.ones(len(label))
    which = np.sort(np.random.default_rng(0).choice(len(label), most, replace=False, shuffle=False))
    share = np.bincount(label) / np.maximum(np.bincount(label[which], minlength=label.max() + 1), 1)
    return which, share[label[which]]
