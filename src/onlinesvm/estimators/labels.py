"""Labels of a stream: numbered in the order they appear, shown to users in sorted order."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

EXACT = 2**53
"""Whole numbers beyond this are not all told apart by float64."""


def label_array(labels: Any) -> np.ndarray:
    """Labels as an array in which none of them is rounded.

    NumPy makes float64 of a list of whole numbers and floats, in which numbers beyond 2**53 that
    differ become equal.
    """
    array = np.asarray(labels)
    if array.dtype.kind != "f" or array.ndim != 1 or isinstance(labels, np.ndarray):
        return array
    values = [v.item() if isinstance(v, np.generic) else v for v in labels]
    if not any(isinstance(v, int) and abs(v) > EXACT for v in values):
        return array
    kind = _whole_kind(values)
    if kind is None:
        raise ValueError(NO_COMMON_KIND)
    return np.array([int(v) for v in values], kind)


def unrounded(y: Any) -> Any:
    """Labels as users give them; a list becomes an array in which none of them is rounded."""
    return label_array(y) if isinstance(y, list | tuple) else y


def joined_labels(*parts: np.ndarray) -> np.ndarray:
    """Labels of several arrays, one after the other, or one clear error if none may be rounded."""
    parts = tuple(part for part in parts if len(part)) or parts[:1]  # an empty one has no type
    kind = _common_kind(*parts)
    if kind is None:
        raise ValueError(NO_COMMON_KIND)
    return np.concatenate([part.astype(kind, copy=False) for part in parts])


NO_COMMON_KIND = (
    "Mix of label input types: whole numbers beyond 2**53 are not told apart from the other labels "
    "by any one type of number; give all labels as int64, or all as strings."
)


def _common_kind(*parts: np.ndarray) -> np.dtype | None:
    """The type in which labels of all parts keep their values; None if there is no such type."""
    kind = np.result_type(*parts)
    if kind.kind != "f" or all(part.dtype.kind == "f" for part in parts):
        return kind
    whole = [part for part in parts if part.dtype.kind in "iu"]
    if all(int(part.min()) >= -EXACT and int(part.max()) <= EXACT for part in whole):
        return kind
    return _whole_kind([value for part in parts for value in part.tolist()])


def _whole_kind(values: list[Any]) -> np.dtype | None:
    """The type of whole numbers that has these values; None if there is no such type."""
    if not all(isinstance(v, int) or v.is_integer() for v in values):
        return None
    low, high = int(min(values)), int(max(values))
    for kind in (np.int64, np.uint64):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return np.dtype(kind)
    return None


def unique_labels(y: np.ndarray) -> np.ndarray:
    """Sorted labels of y, or one clear error."""
    if y.dtype == object:
        _check_kinds(y)
    check_classification_targets(y)
    return np.unique(y)


def check_several(labels: np.ndarray) -> None:
    """Refuse the labels of a data set if there is only one."""
    if len(labels) < 2:
        raise ValueError(
            f"The number of classes has to be greater than one; got {len(labels)} class "
            f"({labels[0]!r}). Use partial_fit for a stream that starts with one class."
        )


def stream_labels(y: np.ndarray, classes: Any) -> np.ndarray:
    """Sorted labels of y and of ``classes``, which may be None, or one clear error."""
    labels = unique_labels(y)
    if classes is None:
        return labels
    expected = unique_labels(label_array(classes))
    LabelBook(labels).check(expected)
    return np.unique(joined_labels(labels, expected))


def _check_kinds(y: np.ndarray) -> None:
    """Labels kept as Python objects must be all numbers or all strings."""
    kinds = {type(label) for label in y.ravel().tolist()}
    if not all(issubclass(kind, str | int | float | np.generic) for kind in kinds):
        raise ValueError("Unknown label type: labels must be numbers or strings.")
    if len({issubclass(kind, str) for kind in kinds}) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"Mix of label input types ({names}): labels must all be numbers or all be strings."
        )


def by_appearance(labels: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The (unique) labels in the order of their first places in y; those that are not there, first."""
    place = dict(zip(*(part.tolist() for part in np.unique(y, return_index=True)), strict=True))
    return labels[np.argsort([place.get(label, -1) for label in labels.tolist()], kind="stable")]


def first_examples(label: np.ndarray, kept: np.ndarray, numbers: range) -> np.ndarray:
    """For each of the label numbers, how many examples that are kept come before its first one.

    A label that does not occur comes with the one before it.
    """
    present, first = np.unique(label, return_index=True)
    before = np.zeros(len(numbers), np.int64)
    new = present >= numbers.start
    before[present[new] - numbers.start] = (np.cumsum(kept) - kept)[first[new]]
    return np.maximum.accumulate(before)


class LabelBook:
    """Label -> number in order of appearance, and back to scikit-learn's sorted classes."""

    def __init__(self, labels: Any = ()):
        self.numbers: dict[Any, int] = {}
        self.classes = np.asarray(labels)
        self.add(self.classes)

    def __len__(self) -> int:
        return len(self.numbers)

    def missing(self, labels: np.ndarray) -> np.ndarray:
        """Those of the (unique) labels that are not in the book."""
        return np.array([v for v in labels.tolist() if v not in self.numbers], labels.dtype)

    def check(self, labels: np.ndarray) -> None:
        """Refuse labels of another kind than those known."""
        if len(self) and len(labels) and _is_text(labels) != _is_text(self.classes):
            raise ValueError(
                "Mix of label input types: the model knows "
                f"{'strings' if _is_text(self.classes) else 'numbers'}, the new labels are "
                f"{'strings' if _is_text(labels) else 'numbers'}."
            )
        joined_labels(self.classes, labels)

    def add(self, labels: np.ndarray) -> None:
        """New labels get the next numbers."""
        for label in labels.tolist():
            self.numbers.setdefault(label, len(self.numbers))
        self.classes = np.unique(joined_labels(self.classes, labels))

    def first(self, count: int) -> LabelBook:
        """A book of the labels that were added first."""
        book = LabelBook()
        book.numbers = {label: k for label, k in self.numbers.items() if k < count}
        book.classes = self.classes[self.order() < count]
        return book

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Numbers of the labels in y; all are in the book."""
        if len(y) == 1:
            return np.array([self.numbers[y[0].item() if hasattr(y[0], "item") else y[0]]])
        if self.classes.dtype.kind in "iuf":  # NumPy would compare different kinds as float64
            y = y.astype(self.classes.dtype, copy=False)
        return self.order()[np.searchsorted(self.classes, y)]

    def order(self) -> np.ndarray:
        """The number of each class, in the sorted order of ``classes``."""
        return np.array([self.numbers[label] for label in self.classes.tolist()], np.int64)


def _is_text(labels: np.ndarray) -> bool:
    if labels.dtype.kind == "O":
        return any(isinstance(label, str) for label in labels)
    return labels.dtype.kind in "US"
