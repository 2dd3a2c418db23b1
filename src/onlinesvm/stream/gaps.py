"""Missing values in columns of numbers, and what replaces them.

They are replaced by a given number, or by the mean, the median or the most frequent value of the
column in the first rows, which is stored with the column: later rows, predictions and resumed runs
use the same number. An optional additional feature marks missing values, for columns that have some
in the first rows.
"""

from __future__ import annotations

import numpy as np

RULES = ("mean", "median", "most_frequent")


def fill_values(rule: str, found: np.ndarray) -> list[float] | None:
    """The number for the gaps of each feature (gaps are NaN); None if no row has a value."""
    there = found[~np.isnan(found).any(axis=1)]
    if not len(there):
        return None
    if rule == "mean":
        # From differences, as sums of large numbers lose their last digits.
        return [float(v) for v in there[0] + (there - there[0]).mean(axis=0)]
    if rule == "median":
        return [float(v) for v in np.median(there, axis=0)]
    return [_most_frequent(values) for values in there.T]


def _most_frequent(values: np.ndarray) -> float:
    """The smallest of the most frequent values."""
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[np.argmax(counts)])


def parsed_missing(text: str) -> float | str:
    """What a user may give: a number, or the name of a rule."""
    if text in RULES:
        return text
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not np.isfinite(number):
        raise ValueError(f"{text!r} is neither a finite number nor one of {', '.join(RULES)}")
    return number
