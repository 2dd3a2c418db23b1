"""The answers to an active learner's questions: checked, stored, corrected."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..estimators.labels import LabelBook, label_array, unique_labels


class Answers:
    """Labels of examples, in the order in which they were given; examples set aside."""

    def __init__(self, classes: np.ndarray | None):
        self.classes = classes
        self.labels: dict[int, Any] = {}
        self.aside: set[int] = set()

    def copy(self) -> Answers:
        """A copy of the answers."""
        other = Answers(self.classes)
        other.labels, other.aside = dict(self.labels), set(self.aside)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Answers:
        """Labels are numbers or text, which need no copies."""
        return self.copy()

    def corrected(self, pairs: list[tuple[int, Any]]) -> set[int]:
        """Examples whose label has been changed."""
        known = self.labels
        return {i for i, label in pairs if i in known and known[i] != label}

    def note(self, pairs: list[tuple[int, Any]]) -> None:
        """Store answers: labels, or None if the label is unknown."""
        for i, label in pairs:
            if label is None:
                self.aside.add(i)
                self.labels.pop(i, None)
            else:
                self.aside.discard(i)
                self.labels[i] = label

    def pairs(self, indices: Any, labels: Any, n: int) -> list[tuple[int, Any]]:
        """Pairs of index (below n) and label; raises an error if invalid."""
        where = np.atleast_1d(np.asarray(indices))
        if where.ndim != 1 or (where.dtype.kind not in "iu" and len(where)):
            raise ValueError("indices must be one integer or a list of them.")
        given = _as_list(labels)
        if len(given) != len(where):
            raise ValueError(f"{len(where)} indices, but {len(given)} labels.")
        outside = where[(where < 0) | (where >= n)]
        if len(outside):
            raise IndexError(
                f"The pool has no example {outside[0]}; it has {n} examples, counted from 0."
            )
        if len(where) > 1 and len(np.unique(where)) < len(where):
            twice = [int(i) for i, count in zip(*np.unique(where, return_counts=True)) if count > 1]
            raise ValueError(f"Examples occur twice in one call of teach: {twice}.")
        if any(np.ndim(label) for label in given):
            raise ValueError("A label must be one number or one string.")
        return list(zip(where.tolist(), given, strict=True))

    def unique(self, given: list[Any]) -> np.ndarray:
        """The labels in ``given``, all of one type and expected; raises an error if invalid."""
        texts = sum(isinstance(label, str) for label in given)
        if texts not in (0, len(given)):
            raise ValueError("Mix of label input types: labels must all be numbers or all strings.")
        labels = unique_labels(label_array(given))
        LabelBook(label_array(list(dict.fromkeys(self.labels.values())))).check(labels)
        if self.classes is not None:
            expected = self.classes.tolist()
            unknown = [label for label in labels.tolist() if label not in expected]
            if unknown:
                raise ValueError(f"Unknown label {unknown[0]!r}: the classes are {expected}.")
        return labels


def _as_list(labels: Any) -> list[Any]:
    """Labels as plain Python values; one alone, text included, is a list of one."""
    if labels is None or isinstance(labels, str | bytes) or np.ndim(labels) == 0:
        labels = [labels.item() if isinstance(labels, np.ndarray) else labels]
    return [label.item() if isinstance(label, np.generic) else label for label in labels]
