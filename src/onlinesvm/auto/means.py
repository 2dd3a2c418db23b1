"""Mean targets of the categories of a column, and how far they are believed where rows are few.

    estimate = (n mean + m mean of all) / (n + m),        m = sigma^2 / tau^2

n is the number of rows of the category, sigma^2 the variance of targets within categories and tau^2 that
of the true means of categories: this m has the least expected squared error. Both are estimated from all
categories of a column together (one-way analysis of variance). A category of a single row says nothing
about sigma, so that an estimate for each category alone (``smooth="auto"`` of ``TargetEncoder``) takes the
target of that row for its mean.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeAlias

import numpy as np
from sklearn import config_context
from sklearn.preprocessing import TargetEncoder
from sklearn.utils.multiclass import type_of_target

MOST = 1e9
"""The largest m: nothing shows that categories differ."""

Means: TypeAlias = list[TargetEncoder] | TargetEncoder
"""An encoder for each column; files of earlier versions have one for all of them."""


def fit_means(
    labels: np.ndarray, y: Any, folds: int, target_type: str, seed: int
) -> tuple[list[TargetEncoder], np.ndarray]:
    """An encoder for each column of categories, and their mean targets in the other folds."""
    targets, _ = target_columns(y, is_continuous(y, target_type))
    encoders = [
        TargetEncoder(
            target_type=target_type, smooth=smoothing(column, targets), cv=folds, random_state=seed
        )
        for column in labels.T
    ]
    # scikit-learn 1.9 demands groups of a fit with routing, and takes none.
    with warnings.catch_warnings(), config_context(enable_metadata_routing=False):
        # scikit-learn 1.9 requires folds instead of a seed.
        warnings.simplefilter("ignore", FutureWarning)
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        parts = [
            encoder.fit_transform(column[:, None], y)
            for encoder, column in zip(encoders, labels.T, strict=True)
        ]
    return encoders, np.hstack(parts)


def scale_of_means(
    encoders: list[TargetEncoder], labels: np.ndarray, means: np.ndarray, y: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Centre and spread of the mean targets, each feature.

    Of categories of few rows the rows to learn have the mean of other rows only, but later rows have that
    of all: with the spread of the first alone they could be hundreds of them away. Without differences of
    categories only those of the folds are left, which are noise.
    """
    later = means_of(encoders, labels)
    spread = np.maximum(means.std(axis=0), later.std(axis=0))
    differ = [each.smooth < MOST for each in encoders]
    known = np.repeat(differ, means.shape[1] // len(encoders)) & (spread > 0)
    _, unit = target_columns(y, encoders[0].target_type_ == "continuous")
    return means.mean(axis=0), np.where(known, spread, unit)


def means_of(encoders: Means, labels: np.ndarray) -> np.ndarray:
    """Mean targets of the categories of all columns."""
    if isinstance(encoders, TargetEncoder):
        return np.asarray(encoders.transform(labels))
    pairs = zip(encoders, labels.T, strict=True)
    return np.hstack([each.transform(column[:, None]) for each, column in pairs])


def names_of_means(encoders: Means, names: np.ndarray) -> list[str]:
    """Names of these features, of columns with these names."""
    if isinstance(encoders, TargetEncoder):
        return list(encoders.get_feature_names_out(names))
    pairs = zip(encoders, names, strict=True)
    return [made for each, name in pairs for made in each.get_feature_names_out([name])]


def is_continuous(y: Any, target_type: str) -> bool:
    """Whether means are of numbers, not of labels."""
    return target_type == "continuous" or type_of_target(y).startswith("continuous")


def target_columns(y: Any, are_numbers: bool) -> tuple[np.ndarray, float]:
    """What means are taken of, (n, columns), in units of its spread: targets, or indicators of labels.

    And that unit.
    """
    values = np.asarray(y)
    if are_numbers:
        columns = values.astype(np.float64).reshape(len(values), -1)
    else:
        labels, number = np.unique(values, return_inverse=True)
        columns = np.eye(len(labels))[number]
    columns = columns - columns.mean(axis=0)
    spread = float(np.sqrt((columns**2).mean(axis=0).sum()))
    return columns / (spread or 1.0), spread or 1.0


def smoothing(categories: np.ndarray, columns: np.ndarray) -> float:
    """m for a column of categories and ``target_columns``."""
    _, number = np.unique(categories, return_inverse=True)
    count = np.bincount(number)
    n, k = len(number), len(count)
    if not 1 < k < n:
        return MOST
    sums = np.stack([np.bincount(number, column) for column in columns.T])
    means = sums / count
    between = float((sums * means).sum())
    within = (float((columns**2).sum()) - between) / (n - k)
    rows = (n - float((count**2).sum()) / n) / (k - 1)
    tau = (between / (k - 1) - within) / rows
    return min(max(within, 0.0) / tau, MOST) if tau > 0 else MOST
