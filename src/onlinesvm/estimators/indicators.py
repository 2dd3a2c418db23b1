"""Several labels per example: y is a matrix of 0 and 1 with one column per label."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from .labels import Targets


class Indicators(Targets):
    """One machine per column of y, which is 1 for the examples that have the label, else 0."""

    def __init__(self, columns: int):
        super().__init__(columns, True)
        self.classes = np.arange(columns)

    def number(self, labels: Any) -> Any:
        """The labels of one example as the learner takes them; None: use ``encode``, after all checks."""
        row = np.asarray(labels)
        if row.shape != (self.columns,) or row.dtype.kind not in "biuf":
            return None
        return tuple(row.astype(int).tolist()) if _are_indicators(row) else None

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Labels as the learner takes them, (n, machines)."""
        return np.asarray(y, np.int8)

    def decode(self, values: np.ndarray) -> np.ndarray:
        """Whether each example has each label, from decision values (n, machines)."""
        return (values > 0).astype(np.int64)


def is_indicator_matrix(y: Any) -> bool:
    """Whether y has a column for each of several labels, dense or sparse."""
    return sparse.issparse(y) or (getattr(y, "ndim", 1) == 2 and y.shape[1] > 1)


def check_indicators(y: Any, known: Any) -> np.ndarray:
    """The y given as a matrix of 0 and 1, one column per label; raises an error if invalid.

    ``known`` is what the model knows of y, None before the first examples.
    """
    y = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if y.dtype == object and all(isinstance(value, Real) for value in y.ravel().tolist()):
        y = y.astype(np.float64)
    if y.dtype.kind not in "biuf" or not _are_indicators(y):
        wrong = y[~np.isin(y, (0, 1))].tolist() if y.dtype.kind in "iuf" else y.ravel().tolist()
        raise ValueError(
            "y has a column for each label and must be 1 or 0 everywhere; got "
            f"the value {wrong[0]!r}."
        )
    if known is not None and not isinstance(known, Indicators):
        raise ValueError(
            f"y has {y.shape[1]} columns, but the examples learned so far had one label each."
        )
    if y.shape[1] < 2:
        raise ValueError("y has one column: give the labels as an array of one dimension.")
    if known is not None and len(known) != y.shape[1]:
        raise ValueError(
            f"y has {y.shape[1]} columns, but the examples learned so far had {len(known)} labels."
        )
    return y.astype(np.int8)


def _are_indicators(y: np.ndarray) -> bool:
    return y.dtype.kind == "b" or bool(((y == 0) | (y == 1)).all())


def check_both_signs(indicators: np.ndarray) -> None:
    """Refuse a data set in which all examples have a label, or none has it."""
    counts = np.count_nonzero(indicators, axis=0)
    for name, wrong in (("no example", counts == 0), ("every example", counts == len(indicators))):
        if wrong.any():
            raise ValueError(
                f"Column {np.flatnonzero(wrong)[0]} of y: {name} of positive weight has this "
                "label, so it cannot be learned. Leave the column out, or use partial_fit if "
                "other examples follow."
            )
