"""Examples that are not rows of numbers: texts, sets, graphs, compared by a kernel function.

Learners work with rows, so each object is represented by a row with one value: i >= 0 stands for
the i-th example given to ``fit``, -1 - i for the i-th example of a prediction. ``ObjectKernel``
gives the kernel function the objects themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, validate_data

_MOST = 2**24
"""Whole numbers up to this are exact in single precision."""


class ObjectKernel:
    """A kernel function of objects as a function of the rows that stand for them."""

    def __init__(self, function: Callable[[Any, Any], Any], learned: np.ndarray, asked: Any = None):
        self.function = function
        self.learned = learned
        self.asked = learned[:0] if asked is None else asked

    def __call__(self, left: np.ndarray, right: np.ndarray) -> Any:
        """Kernel values of all pairs of objects."""
        return self.function(self.objects(left), self.objects(right))

    def objects(self, rows: np.ndarray) -> np.ndarray:
        """The objects that the rows stand for."""
        number = rows[:, 0].astype(np.int64)
        found = np.empty(len(number), object)
        found[number >= 0] = self.learned[number[number >= 0]]
        found[number < 0] = self.asked[-1 - number[number < 0]]
        return found

    def asking(self, objects: np.ndarray) -> ObjectKernel:
        """The same kernel, with the examples of a prediction."""
        return ObjectKernel(self.function, self.learned, objects)


def learned_rows(n: int) -> np.ndarray:
    """The rows that stand for n examples given to ``fit``, or one clear error."""
    if n > _MOST:
        raise ValueError(f"A kernel function of objects takes up to {_MOST} examples.")
    return np.arange(n, dtype=np.float64)[:, None]


def asked_rows(n: int) -> np.ndarray:
    """The rows that stand for n examples of a prediction."""
    return -1.0 - learned_rows(n)


def as_objects(X: Any) -> np.ndarray | None:
    """Examples as an array of objects; None where X is, or should be, rows of numbers."""
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__") or isinstance(X, str | bytes | dict):
        return None
    items = list(X)
    if not items or not all(map(_is_object, items)):
        return None
    objects = np.empty(len(items), object)
    objects[:] = items
    return objects


def _is_object(item: Any) -> bool:
    """Whether an example is an object rather than a row of numbers."""
    if isinstance(item, list | tuple | np.ndarray):
        return len(item) > 0 and all(isinstance(part, str) for part in item)
    return item is not None and not isinstance(item, Number)


def check_objects_and_labels(
    estimator: Any, objects: np.ndarray, y: Any, **check: Any
) -> np.ndarray:
    """The labels of the objects, or one clear error; ``check`` says what labels may be."""
    y = validate_data(estimator, y=y, **check)
    check_consistent_length(objects, y)
    return y


def check_objects(estimator: Any, X: Any) -> np.ndarray:
    """Objects to predict, or one clear error."""
    objects = as_objects(X)
    if objects is None:
        raise ValueError(
            f"This {type(estimator).__name__} has learned a list of objects with a kernel "
            "function; it predicts a list of such objects."
        )
    return objects
