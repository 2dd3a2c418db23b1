"""A learner that is kept in line with the record: always the model that a replay of the journal
gives.

``Follower.become(labels)`` makes the learner one that was taught these labels in this order. One
more label at the end is one iteration; undoing one of the last few restores a copy; after any other
change, labels are learned again from the last copy before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from ..active.learner import ActiveLearner
from .pool import Lesson

EVERY = 50
"""Labels after which a copy of the learner is kept for ranking large pools."""

KEPT = 9
"""Earlier copies of the learner, for undo."""

APART = 5
"""Labels between two copies that are made for undo; divides ``EVERY``. A copy takes as long as learning
two labels, and whoever undoes one learns at most four of them again."""


def softened(values: np.ndarray) -> np.ndarray:
    """Relative preferences (n, classes) that sum to 1; not probabilities."""
    raised = 1.0 / (1.0 + np.exp(-2.0 * np.clip(values, -20.0, 20.0)))
    return raised / np.maximum(raised.sum(axis=1, keepdims=True), 1e-12)


class Follower:
    """One learner, the labels it was taught, and earlier copies of it.

    ``base`` is a copy of it after the largest multiple of ``EVERY`` labels.
    """

    def __init__(self, blank: ActiveLearner, copies: bool = True):
        self._blank, self._copies = blank, copies
        self._start()

    def _start(self) -> None:
        self.learner = deepcopy(self._blank)
        self.taught: list[Lesson] = []
        self.base: tuple[int, ActiveLearner] = 0, self._blank
        self._before: deque[tuple[int, ActiveLearner]] = deque(maxlen=KEPT)

    def become(self, lessons: Sequence[Lesson]) -> None:
        """Change the learner to one that was taught exactly these lessons."""
        same = 0
        for a, b in zip(self.taught, lessons):
            if a != b:
                break
            same += 1
        if same < len(self.taught):
            self._go_back(same)
        self.add(lessons[len(self.taught) :])

    def _go_back(self, most: int) -> None:
        """Go back to the copy that was taught at most so many labels, or start from scratch."""
        while self._before and self._before[-1][0] > most:
            self._before.pop()
        if not self._before or self.base[0] > self._before[-1][0]:
            self._start()
            return
        length, self.learner = self._before.pop()
        self.taught = self.taught[:length]

    def add(self, lessons: Sequence[Lesson], prepared: ActiveLearner | None = None) -> None:
        """Learn more lessons; ``prepared`` is a copy that has already learned the only one."""
        last = len(self.taught) + len(lessons)
        for lesson in lessons:
            n, before = len(self.taught), self.learner
            is_kept = self._copies and n >= last - KEPT
            if prepared is not None and len(lessons) == 1:
                self.learner = prepared
            else:
                is_kept = is_kept and n % APART == 0
                before = deepcopy(before) if is_kept else before
                self.learner.teach(*lesson)
            if is_kept:
                self._before.append((n, before))
            self.taught.append(lesson)
            if self._copies and (n + 1) % EVERY == 0 and n + 1 > last - EVERY:
                self.base = n + 1, deepcopy(self.learner)

    @property
    def is_base_next(self) -> bool:
        """Whether ``base`` changes with the next label."""
        return self._copies and (len(self.taught) + 1) % EVERY == 0


def known_classes(learner: ActiveLearner) -> list[int]:
    """Classes that the learner has labels of, in the order of its decision values."""
    return sorted(set(learner.labels))


def class_values(learner: ActiveLearner, which: Any) -> tuple[list[int], np.ndarray]:
    """Classes, and decision values (n, classes) of items; no columns while there is no model."""
    classes = known_classes(learner)
    which = np.asarray(which, np.int64)
    if len(classes) < 2:
        return classes, np.zeros((len(which), len(classes)))
    values = learner.decision_values(which)
    if values.ndim == 1:
        values = np.stack([-values, values], axis=1)
    return classes, values


def predicted(learner: ActiveLearner, which: Any) -> np.ndarray:
    """The class of each item by the learner; -1 while it knows none."""
    classes, values = class_values(learner, which)
    if not classes:
        return np.full(len(values), -1)
    return np.array(classes)[values.argmax(axis=1)] if values.shape[1] else np.full(len(values), -1)


def because(learner: ActiveLearner, i: int, label: int, n: int = 3) -> list[int]:
    """The labelled items that contribute most to this class for item i."""
    classes = known_classes(learner)
    if len(classes) < 2 or label not in classes:
        return []
    items, shares = learner.contributions(i)
    row = shares[classes.index(label)] if len(shares) > 1 else shares[0]
    if len(shares) == 1 and label == classes[0]:
        row = -row
    best = np.argsort(-row, kind="stable")[:n]
    return [int(items[k]) for k in best if row[k] > 0]


def doubts(learner: ActiveLearner, lessons: Sequence[Lesson]) -> np.ndarray:
    """How strongly the model, without the contribution of the label itself, contradicts each label.

    Positive: the other labelled items predict another class.
    """
    classes, values = class_values(learner, [i for i, _ in lessons])
    if len(classes) < 2:
        return np.full(len(lessons), -1.0)
    out = np.empty(len(lessons))
    for k, (i, label) in enumerate(lessons):
        own = classes.index(label)
        row = values[k].copy()
        items, shares = learner.contributions(i)
        place = np.flatnonzero(items == i)
        if len(place):
            part = shares[:, place[0]]
            row -= part if len(part) > 1 else np.array([-part[0], part[0]])
        out[k] = np.delete(row, own).max() - row[own]
    return out
