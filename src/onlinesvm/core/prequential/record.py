"""Scores of examples before they were learned, and what is kept of them.

A learner records the scores of each example, its label and its bound. They are processed in blocks
of 16, or earlier on request, always in order: the result does not depend on how a stream is divided
into calls. Memory is bounded, and no kernel value is computed.

Scores are decision values (machines): one for two labels, positive for label 1, else one a label.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..keys import Leaving
from ..runtime.compact import Compact
from .calibration import fit_slopes, restricted
from .drift import BLOCK, DriftDetector
from .ring import padded_keys
from .thresholds import Thresholds

RECENT = 8192
"""Examples whose scores are kept to make probabilities."""

MOST_SCORES, FEWEST = 65536, 1024
"""Scores used, of all machines together, but those of no fewer examples than this."""

SELDOM = 256
"""Number of examples after which probabilities are updated; more often while there are few."""

NARROWEST, WIDEST = 100, 10_000
"""Range of a window that follows the drifts found; it begins with the smallest."""

FIRST_BLOCK = 16
"""Examples in the first block: a model must have learned some to score the next."""

LARGEST_BLOCK = 512
"""Maximum number of examples in later blocks: scores should be those of many models, because all
scores of one model share the error of its bias."""

_STARTS = BLOCK * np.concatenate([[1, 2, 3], *(np.arange(4, 8) << k for k in range(4)), [64]])
"""Numbers of examples of a stream after which thresholds are set to quantiles, of the second half: steps
from zero do not arrive within some hundred examples. Later they only follow."""

_NEW_SCORE = -1.0
"""Score of the machine of a label before the label was known: another label."""


def excess(scores: np.ndarray, label: np.ndarray) -> np.ndarray:
    """By how much the best score of another label exceeds that of the example's own."""
    if scores.shape[1] == 1:
        return np.asarray(np.where(label == 1, -scores[:, 0], scores[:, 0]))
    others, rows = scores.copy(), np.arange(len(scores))
    others[rows, label] = -np.inf
    return np.asarray(others.max(axis=1) - scores[rows, label])


def with_label(scores: np.ndarray, labels: int) -> np.ndarray:
    """Scores noted before there were this many labels, three or more, with those of the last one."""
    if labels == 3:
        scores = np.concatenate([-scores, scores], axis=1)
    return np.pad(scores, ((0, 0), (0, 1)), constant_values=_NEW_SCORE)


def last_look(n: int) -> int:
    """The number of examples, of n noted, from which probabilities are made."""
    return n - n % min(SELDOM, 1 << max(0, (n // 32).bit_length() - 1))


class Prequential(Compact):
    """The last scores, the thresholds of prediction sets and the drift detector, as far as wanted."""

    offsets: Any = None  # of quantiles: there are none
    is_cross_fitted = False

    def __init__(self, machines: int, *, probability: bool, drift: bool, window: bool = False):
        size = RECENT if probability else BLOCK
        self.scores = np.zeros((size, machines))
        self.label, self.weight = np.zeros(size, np.int64), np.zeros(size)
        self.key = np.full(size, -1)
        self.n = 0  # examples noted
        self.looked = 0  # those of them that thresholds and detector have seen
        self.begun = 0  # those noted before the call at hand
        self.replaced = 0  # how many there were when better scores took their place
        self.thresholds = Thresholds() if probability else None
        self.detector = DriftDetector() if drift or window else None
        self.follows = window  # whether a window follows the drifts found
        self._calibration: Calibration | None = None

    def _lasting(self) -> dict[str, Any]:
        return self.__dict__ | {"_calibration": None}

    def _in_use(self) -> dict[str, Any]:
        n = min(self.n, len(self.label))
        cut = {name: getattr(self, name)[:n] for name in ("scores", "label", "weight", "key")}
        return self._lasting() | cut | {"size": len(self.label)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        more = self.__dict__.pop("size") - len(self.label)
        self.scores = np.pad(self.scores, ((0, more), (0, 0)))
        self.label, self.weight = np.pad(self.label, (0, more)), np.pad(self.weight, (0, more))
        self.key = padded_keys(self.__dict__.get("key"), len(self.label))  # not in older pickles

    # -- noting ---------------------------------------------------------------------------

    def begin(self, n: int | None = None) -> None:
        """A call begins, or began after ``n`` examples."""
        self.begun = self.n if n is None else n

    def note_one(self, scores: np.ndarray, label: int, weight: float, key: int = -1) -> None:
        """One example, of a call of its own."""
        self.begun = self.n
        i = self.begun % len(self.label)
        self.scores[i], self.label[i], self.weight[i], self.key[i] = scores, label, weight, key
        self.n += 1
        if self.n % BLOCK == 0:
            self.look()

    def note(
        self, scores: np.ndarray, label: np.ndarray, weight: np.ndarray, key: Any = None
    ) -> None:
        """Examples in order, and their keys, if they have any."""
        first, key = 0, np.full(len(label), -1) if key is None else key
        while first < len(label):
            i = self.n % len(self.label)
            part = slice(first, first + self.left())
            first = min(part.stop, len(label))
            own = slice(i, i + first - part.start)
            self.scores[own], self.label[own], self.weight[own], self.key[own] = (
                scores[part], label[part], weight[part], key[part],
            )  # fmt: skip
            self.n += first - part.start
            if self.n % BLOCK == 0:
                self.look()

    note_block = note  # learned together: the same, as scores are those of the models before

    @property
    def follows_now(self) -> bool:
        """Whether it is time for a window to follow."""
        return self.follows and self.n % BLOCK == 0

    def left(self) -> int:
        """Examples until the next block is complete."""
        return BLOCK - self.n % BLOCK

    def look(self) -> None:
        """Thresholds and detector see what was noted since the last look."""
        count = self.n - self.looked
        if not count:
            return
        first = self.looked % len(self.label)
        part = slice(first, first + count)
        self.looked = self.n
        beyond = excess(self.scores[part], self.label[part])
        if self.thresholds is not None:
            self.thresholds.update(beyond)
            if self.n in _STARTS and not self.replaced:
                self._start_thresholds()
        if self.detector is not None:
            self.detector.update(beyond >= 0.0)  # a score of zero decides nothing

    def add_label(self, labels: int) -> None:
        """One more label, so that there are this many."""
        if labels > 2:
            self.look()
            self.scores = with_label(self.scores, labels)

    def _start_thresholds(self) -> None:
        """Use quantiles of the scores so far."""
        assert self.thresholds is not None
        # Models of the first half are unlike the present one.
        which = np.arange(self.n // 2, self.n)
        which = which[self.weight[which] > 0.0]
        if len(which):
            beyond = excess(self.scores[which], self.label[which])
            self.thresholds.use_quantiles(beyond, np.ones(len(which)))

    def use_quantiles(self) -> None:
        """Use quantiles of the stored scores as thresholds: the examples were in random order.

        They are more precise than thresholds that are ready to follow a drift.
        """
        if self.thresholds is None or self.n == 0:
            return
        self.look()
        n = min(
            (self.n + 1) // 2, len(self.label)
        )  # models of the second half are more like the last
        which = np.arange(self.n - n, self.n) % len(self.label)
        self.thresholds.use_quantiles(excess(self.scores[which], self.label[which]), np.ones(n))

    def forget(self, leaving: Leaving, label_weight: np.ndarray | None = None) -> None:
        """Drop the scores of these examples: they get weight zero, and scores of zero.

        If the thresholds are quantiles of the scores of a fit, they are computed again. Those of a
        stream follow its misses, as the drift detector does, and stay as they are.
        """
        self.look()
        gone = leaving.among(self.key)
        leaving.renumber(self.key)
        if not gone.any():
            return
        self.scores[gone], self.label[gone], self.weight[gone] = 0.0, 0, 0.0
        self.key[gone] = -1
        self._calibration = None
        left = self.weight > 0.0
        if self.thresholds is not None and self.replaced == self.n and left.any():
            beyond = excess(self.scores[left], self.label[left])
            weight = 1.0 if label_weight is None else label_weight[self.label[left]]
            self.thresholds.use_quantiles(beyond, self.weight[left] / weight)

    def resume(self) -> None:
        """The model has changed otherwise than by learning: nothing depends on it."""

    def wants_small_blocks(self, n: int, at_hand: bool, block_size: int) -> bool:
        """Whether n examples are to be learned in small blocks, so that many models score them.

        Not in a fit of data at hand, unless drifts are to be found: scores are made at its end.
        """
        return not at_hand or self.detector is not None

    @property
    def keeps_scores(self) -> bool:
        """Whether scores are kept to make probabilities."""
        return self.thresholds is not None

    @property
    def most_scores(self) -> int:
        """Maximum number of scores that ``replace`` takes at present."""
        size, machines = self.scores.shape
        return min(max(MOST_SCORES // machines, FEWEST), size - SELDOM, self.n)

    def replace(
        self, scores: np.ndarray, label: np.ndarray, weight: np.ndarray, stands_for: np.ndarray,
        key: Any = -1,
    ) -> None:  # fmt: skip
        """Better scores in place of those noted, in random order, at most ``most_scores``.

        ``stands_for``: how many examples each of them stands for.
        """
        assert self.thresholds is not None
        self.look()
        which = np.arange(self.n - len(label), self.n) % len(self.label)
        self.weight[:], self.key[:] = 0.0, -1
        self.scores[which], self.label[which], self.key[which] = scores, label, key
        self.weight[which] = weight * stands_for / stands_for.mean()
        self._calibration, self.replaced = None, self.n
        self.thresholds.use_quantiles(excess(scores, label), stands_for)

    # -- what follows ---------------------------------------------------------------------

    @property
    def adapts(self) -> bool:
        """Whether thresholds, or a detector of drifts, follow the errors of a stream."""
        follows = self.thresholds is not None and self.replaced != self.n
        return follows or self.detector is not None

    @property
    def window(self) -> int:
        """How many recent examples, until the next check, belong to the concept at hand."""
        assert self.detector is not None
        return min(max(self.detector.width + BLOCK, NARROWEST), WIDEST)

    @property
    def drifted(self) -> bool:
        """Whether a drift was found in the call at hand."""
        return self.detector is not None and self.detector.last > self.begun

    def snapshot(self, class_weight: np.ndarray, present: np.ndarray | None = None) -> Snapshot:
        """What predictions need, which further learning does not change.

        Weights of labels are part of an example's bound, but say nothing about how frequent they are.
        ``present``: of each label, whether it has examples; None: all have.
        """
        assert self.thresholds is not None
        self.look()
        last = last_look(self.n)
        known = self._calibration
        about = last, self.scores.shape[1], None if present is None else present.tobytes()
        if known is None or known.about != about:
            self._calibration = known = self._calibrate(last, class_weight, present)
            known.about = about
        return Snapshot(known, self.thresholds.q.copy() if present is None else known.q)

    def _calibrate(
        self, last: int, class_weight: np.ndarray, present: np.ndarray | None
    ) -> Calibration:
        """The examples up to number ``last`` from which probabilities are made."""
        size, machines = self.scores.shape
        count = min(max(MOST_SCORES // machines, FEWEST), size - SELDOM, last)
        if (
            count == last and not self.replaced
        ):  # models of the first third are unlike the present one
            count -= last // 3
        which = np.arange(last - count, last) % size
        label = self.label[which]
        weight = self.weight[which] / class_weight[label]
        return Calibration(*restricted(self.scores[which], label, weight, present))


class Calibration:
    """Scores of examples up to a certain one, and the slopes of probabilities that follow."""

    about: Any = (
        None  # number of the last example, of the machines, and the labels that are present
    )

    def __init__(self, scores: np.ndarray, label: np.ndarray, weight: np.ndarray):
        self._examples = scores, label, weight

    @cached_property
    def slopes(self) -> np.ndarray:
        """Slopes of the probabilities (``calibration``)."""
        return fit_slopes(*self._examples)

    @cached_property
    def q(self) -> np.ndarray:
        """Thresholds of the prediction sets, where those that follow a stream are of other labels."""
        scores, label, weight = self._examples
        thresholds = Thresholds()
        if len(label):
            thresholds.use_quantiles(excess(scores, label), weight)
        return thresholds.q


class Snapshot(NamedTuple):
    """What predictions of one moment need."""

    calibration: Calibration
    q: np.ndarray  # thresholds of the prediction sets

    @property
    def slopes(self) -> np.ndarray:
        """Slopes of the probabilities, made when they are first asked for."""
        return self.calibration.slopes
