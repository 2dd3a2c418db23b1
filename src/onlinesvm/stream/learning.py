"""One block and one estimator: its width, its loss before it is learned, and learning it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor

from ..estimators.base import widen
from .blocks import Block
from .errors import StreamError, shortened

Place = Callable[[int], str]
"""The place of a row in its source, in words."""


def measure_of(estimator: Any) -> str:
    """What the mean of ``loss_of`` is called."""
    if is_outlier_detector(estimator):
        return "share flagged"
    return "error" if is_classifier(estimator) else "mean absolute error"


def loss_of(estimator: Any, X: Any, y: np.ndarray | None) -> float | None:
    """Wrong predictions, absolute deviations, or outliers (which need no labels), summed up."""
    if is_outlier_detector(estimator):
        return float(np.count_nonzero(estimator.predict(X) == -1))
    if y is None:
        return None
    found = estimator.predict(X)
    if is_classifier(estimator):
        return float(np.count_nonzero(found != y))
    return float(np.abs(found - y.astype(float)).sum())


def match_width(estimator: Any, X: Any) -> None:
    """A model of sparse rows becomes wider when rows with new features come."""
    known = getattr(estimator, "n_features_in_", X.shape[1])
    if X.shape[1] > known and not widen(estimator, X.shape[1]):
        raise StreamError(
            f"A row has feature {X.shape[1]}, but the first rows had {known} features, and "
            f"{type(estimator).__name__} cannot take more; give --n-features."
        )


def teach(estimator: Any, block: Block, place: Place) -> None:
    """``partial_fit``; what is wrong with the rows is told with their place."""
    X, y = block.X, block.y
    match_width(estimator, X)
    _check_labels(estimator, block, place)
    try:
        estimator.partial_fit(X) if y is None else estimator.partial_fit(X, y)
    except StreamError:
        raise
    except ValueError as error:
        remedy = " --standardize scales them." if "scale the features" in str(error) else ""
        where = place(block.first)
        raise StreamError(f"{error}{remedy} (At {where} or after it.)") from error


def _check_labels(estimator: Any, block: Block, place: Place) -> None:
    """Labels of the wrong kind for the task, with the task that they are for."""
    y = block.y
    if y is None or is_outlier_detector(estimator):
        return
    if is_regressor(estimator) and y.dtype.kind == "U":
        row = next((row for row, word in enumerate(y.tolist()) if not _is_finite(word)), -1)
        if row < 0:
            return
        raise StreamError(
            f"{place(block.first + row)} has the label {shortened(str(y[row]))}, which is "
            "no number to learn; correct it, or use a classifier (--algorithm lasvm)."
        )
    if is_classifier(estimator) and y.dtype.kind == "f" and (y != np.round(y)).any():
        row = int(np.flatnonzero(y != np.round(y))[0])
        raise StreamError(
            f"{place(block.first + row)} has the label {y[row]:g}: numbers with fractions "
            "are values to predict, not classes; use --algorithm lasvm-regressor."
        )
    if is_classifier(estimator) and y.dtype.kind == "f" and (np.abs(y) >= 2**53).any():
        row = int(np.argmax(np.abs(y) >= 2**53))
        raise StreamError(
            f"{place(block.first + row)} has the label {y[row]:.0f}, read as a floating-point "
            "number, in which labels beyond 2**53 are not all told apart; give text labels, "
            "integers of 64 bits (CSV, Parquet, npy), or smaller numbers."
        )


def _is_finite(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False
