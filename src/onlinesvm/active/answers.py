"""The answers to an active learner's questions: checked, stored, corrected."""

from __future__ import annotations

from copy import copy as shallow_copy
from numbers import Real
from reprlib import repr as short_repr
from typing import Any

import numpy as np
from scipy import sparse

from ..estimators.checks import check_indices
from ..estimators.labels import Indicators, LabelBook, label_array, unique_labels

_SEVERAL = (
    "If examples have several labels each, give ActiveLearner n_labels, the number of labels."
)


def pool_numbers(indices: Any, n: int) -> np.ndarray:
    """Numbers of examples in a pool of n; raises an error if invalid."""
    where = check_indices(indices)
    outside = where[(where < 0) | (where >= n)]
    if len(outside):
        raise IndexError(
            f"The pool has no example {outside[0]}; it has {n} examples, counted from 0."
        )
    return where


class Answers:
    """Labels of examples, in the order in which they were given; examples set aside."""

    def __init__(self, classes: np.ndarray | None):
        self.classes = classes
        self.labels: dict[int, Any] = {}
        self.aside: set[int] = set()

    def copy(self) -> Answers:
        """A copy of the answers."""
        other = shallow_copy(self)
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
        where = pool_numbers(indices, n)
        given = self._listed(labels)
        if len(given) != len(where):
            raise ValueError(self._wrong_number(len(where), len(given)))
        if len(where) > 1 and len(np.unique(where)) < len(where):
            twice = [int(i) for i, count in zip(*np.unique(where, return_counts=True)) if count > 1]
            raise ValueError(f"Examples occur twice in one call of teach: {twice}.")
        return [(i, self._valid(i, label)) for i, label in zip(where.tolist(), given, strict=True)]

    def _listed(self, labels: Any) -> list[Any]:
        """Labels as plain Python values; one alone, text included, is a list of one."""
        if labels is None or isinstance(labels, str | bytes) or np.ndim(labels) == 0:
            labels = [labels.item() if isinstance(labels, np.ndarray) else labels]
        return [label.item() if isinstance(label, np.generic) else label for label in labels]

    def _wrong_number(self, n_indices: int, n_labels: int) -> str:
        """The text of the error that there are more or fewer labels than indices."""
        told = f"{n_indices} indices, but {n_labels} labels."
        return f"{told} {_SEVERAL}" if n_indices == 1 and n_labels > 1 else told

    def _valid(self, i: int, label: Any) -> Any:
        """The label of example i; raises an error if it is not one."""
        if np.ndim(label):
            raise ValueError(f"A label must be one number or one string. {_SEVERAL}")
        return label

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


class IndicatorAnswers(Answers):
    """Answers where examples have several labels: tuples of 1 and 0, one number per label."""

    def __init__(self, n_labels: int):
        super().__init__(None)
        self._row = Indicators(n_labels)

    def _listed(self, labels: Any) -> list[Any]:
        """Rows, or None where they are unknown; one row alone is a list of one."""
        if labels is None:
            return [None]
        if sparse.issparse(labels):
            labels = labels.toarray()
        rows = list(labels if isinstance(labels, list | tuple) else np.atleast_1d(labels).tolist())
        return [rows] if any(_is_number(row) for row in rows) else rows

    def _wrong_number(self, n_indices: int, n_labels: int) -> str:
        return f"{n_indices} indices, but {n_labels} rows of labels."

    def _valid(self, i: int, label: Any) -> Any:
        if label is None:
            return None
        row = np.asarray(np.ravel(label.toarray()) if sparse.issparse(label) else label, object)
        numbers = row.astype(np.float64) if all(map(_is_number, row.flat)) else row
        found = self._row.number(numbers)
        if found is None:
            raise ValueError(
                f"The answer for example {i} must be {len(self._row)} numbers, one per label, each 1 "
                f"or 0; got {short_repr(row.tolist())}."
            )
        return found

    def unique(self, given: list[Any]) -> np.ndarray:
        """The rows in ``given``, each once."""
        return np.array(sorted(set(given)), np.int8)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.bool_)
