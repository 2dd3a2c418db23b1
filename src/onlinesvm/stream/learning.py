"""Learn one block with one estimator: adapt the width, measure the loss, learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor

from ..estimators.base import learn_again, widen
from ..estimators.labels import check_quantiles
from ..estimators.metric import pinball
from .blocks import Block
from .errors import StreamError, shortened

Place = Callable[[int], str]
"""The place of a row in its source, in words."""


def measure_of(estimator: Any) -> str:
    """Name of the mean of ``loss_of``."""
    if is_outlier_detector(estimator):
        return "share flagged"
    if is_classifier(estimator):
        return "error"
    return "mean absolute error" if _quantiles_of(estimator) is None else "mean pinball loss"


def loss_of(estimator: Any, X: Any, y: np.ndarray | None) -> float | None:
    """Sum of wrong predictions, absolute errors, pinball losses, or outliers (which need no labels).

    A prediction of several labels is wrong if one of them is; of several targets or quantiles, the
    mean counts.
    """
    if is_outlier_detector(estimator):
        return float(np.count_nonzero(estimator.predict(X) == -1))
    if y is None:
        return None
    true, found = (values.reshape(len(y), -1) for values in (y, estimator.predict(X)))
    if is_classifier(estimator):
        return float(np.count_nonzero((found != true).any(axis=1)))
    true, levels = true.astype(float), _quantiles_of(estimator)
    if levels is None:
        return float(np.abs(true - found).mean(axis=1).sum())
    return float(pinball(found, true, levels, 1.0).sum() / np.size(levels))


def _quantiles_of(estimator: Any) -> np.ndarray | None:
    """The quantiles that a regressor predicts; None if it predicts values."""
    quantile = getattr(estimator, "quantile", None)
    return None if quantile is None else check_quantiles(quantile)


def match_width(estimator: Any, X: Any) -> None:
    """Widen a model of sparse rows when rows have new features."""
    known = getattr(estimator, "n_features_in_", X.shape[1])
    if X.shape[1] > known and not widen(estimator, X.shape[1]):
        raise StreamError(
            f"A row has feature {X.shape[1]}, but the first rows had {known} features, and "
            f"{type(estimator).__name__} cannot add features; give --n-features."
        )


def teach(estimator: Any, block: Block, place: Place, again: int | None = None) -> None:
    """``partial_fit``; errors name the place of the rows.

    ``again``: the number of the first row in the order of arrival, if they were learned before.
    """
    X, y = block.X, block.y
    match_width(estimator, X)
    check_labels(estimator, block, place)
    with located(block, place, learning=True):
        if again is not None:
            learn_again(estimator, X, y, again)
            return
        estimator.partial_fit(X) if y is None else estimator.partial_fit(X, y)


def judge(estimator: Any, block: Block, place: Place) -> float | None:
    """``loss_of`` a block, before it is learned; errors name the place of the rows."""
    match_width(estimator, block.X)
    with located(block, place, learning=True):
        return loss_of(estimator, block.X, block.y)


@contextmanager
def located(block: Block, place: Place, learning: bool = False) -> Iterator[None]:
    """Errors of an estimator name the place of the rows that it was given.

    ``learning``: the model is being trained, so that its features may still be scaled.
    """
    try:
        yield
    except StreamError:
        raise
    except ValueError as error:
        unscaled = learning and "scale the features" in str(error)
        remedy = " --standardize scales them." if unscaled else ""
        raise StreamError(f"{error}{remedy} (At {place(block.first)} or after it.)") from error


def check_labels(estimator: Any, block: Block, place: Place) -> None:
    """Refuse labels of the wrong kind for the task, and suggest the right task."""
    y = block.y
    if y is None or is_outlier_detector(estimator):
        return
    if is_regressor(estimator) and y.dtype.kind == "U":
        row = next((row for row, word in enumerate(y.tolist()) if not _is_finite(word)), -1)
        if row < 0:
            return
        raise StreamError(
            f"{place(block.first + row)} has the label {shortened(str(y[row]))}, which is not a "
            "number; correct it, or use a classifier (--algorithm lasvm)."
        )
    if y.dtype.kind == "f" and np.isnan(y).any():
        row = int(np.argmax(np.isnan(y.reshape(len(y), -1)).any(axis=1)))
        raise StreamError(f"{place(block.first + row)} has no label (NaN); leave the row out.")
    if is_classifier(estimator) and y.dtype.kind == "f" and (y != np.round(y)).any():
        row = int(np.flatnonzero(y != np.round(y))[0])
        raise StreamError(
            f"{place(block.first + row)} has the label {y[row]:g}: numbers with fractions "
            "are values to predict, not classes; use --algorithm lasvm-regressor."
        )
    if is_classifier(estimator) and y.dtype.kind == "f" and (np.abs(y) >= 2**53).any():
        row = int(np.argmax(np.abs(y) >= 2**53))
        raise StreamError(
            f"{place(block.first + row)} has the label {_whole(y[row])}, a floating-point number; "
            "beyond 2**53 these cannot all be distinguished. Use text labels, 64-bit integers "
            "(CSV, Parquet, npy), or smaller numbers."
        )


def _whole(value: float) -> str:
    """A large number: all digits while they are few enough to be read."""
    return f"{value:.0f}" if abs(value) < 1e25 else f"{value:g}"


def _is_finite(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False
