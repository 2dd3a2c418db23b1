"""A summary of every partition: size, classes, spread of the values, a few rows.

What all partitions must share is decided from it: the classes, the weights of the classes, gamma,
the centre of the rows, and whether rows are kept sparse. Given (n, mean, M2) of two parts, those of
their union are n = n_1 + n_2, mean = mean_1 + d n_2 / n, M2 = M2_1 + M2_2 + d^2 n_1 n_2 / n with
d = mean_2 - mean_1 (Chan, Golub, LeVeque 1979), taken in the order of the partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from reprlib import repr as short
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ...core.kernel.csr import canonical_csr, check_structure
from ...core.kernel.kernel import CENTRE_SAMPLE, column_moments, gamma_of_columns
from ...estimators.labels import check_several, joined_labels, unique_labels
from ...estimators.rows import stack
from .partitions import as_arrays, names_of


class Summary(NamedTuple):
    """What is known of one partition."""

    rows: int
    features: int
    size: float  # number of values
    mean: float
    deviations: float  # sum of their squared deviations from the mean
    labels: np.ndarray
    counts: np.ndarray
    sample: Any  # a few rows, evenly spaced
    nbytes: int
    columns: tuple[np.ndarray, np.ndarray] | None = None  # mean and deviations of each
    names: list[str] | None = None  # of the columns of a data frame


class Whole(NamedTuple):
    """What is known of all partitions."""

    rows: list[int]
    features: int
    variance: float
    labels: np.ndarray
    counts: np.ndarray
    sample: Any
    column_variances: np.ndarray | None = None
    names: list[str] | None = None

    def gamma(self, kernel: Any) -> float:
        """``gamma="scale"`` of all rows."""
        if self.column_variances is not None:
            return gamma_of_columns(kernel, self.column_variances)
        return 1.0 / (self.features * self.variance) if self.variance > 0 else 1.0

    def offsets(self) -> list[int]:
        """Number of the first row of each partition."""
        return [0, *np.cumsum(self.rows).tolist()]


def summarise(part: Any, number: int, n_parts: int, by_column: bool = False) -> Summary:
    """The summary of partition ``number``; errors name it.

    ``by_column``: with the spread of each column.
    """
    X, y = as_arrays(part, number)
    try:
        if sparse.issparse(X):
            check_structure(X)
        X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
        X = canonical_csr(X) if sparse.issparse(X) else X
        _check_labels(X, y)
        labels, counts = np.unique(y, return_counts=True)
    except (ValueError, TypeError) as error:
        raise ValueError(f"Partition {number}: {_sentence(error)}") from error
    n, d = X.shape
    values = X.data if sparse.issparse(X) else X
    size, filled = float(n) * d, float(values.size)
    mean = float(values.sum(dtype=np.float64)) / size
    spread = _squares(values, mean) + (size - filled) * mean**2
    few = np.linspace(0, n - 1, min(n, -(-CENTRE_SAMPLE // n_parts))).astype(np.int64)
    columns = column_moments(X) if by_column else None
    return Summary(
        n, d, size, mean, spread, labels, counts, X[few], _bytes(X), columns, names_of(part)
    )


def _squares(values: np.ndarray, mean: float) -> float:
    """Sum of squared deviations, in double precision, without a copy of all values."""
    flat, total = values.reshape(-1), 0.0
    for first in range(0, len(flat), 1 << 20):
        part = flat[first : first + (1 << 20)].astype(np.float64) - mean
        total += float(part @ part)
    return total


def _bytes(X: Any) -> int:
    return (
        int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) if sparse.issparse(X) else X.nbytes
    )


def _check_labels(X: Any, y: np.ndarray) -> None:
    if y.ndim != 1 or len(y) != X.shape[0]:
        raise ValueError(f"it has {X.shape[0]} rows, and labels of shape {y.shape}.")
    unique_labels(y)


def _sentence(error: Exception) -> str:
    """A message of scikit-learn on one line; clearer for an empty array."""
    said = " ".join(str(error).split())
    if "minimum of 1 is required" in said and "0 sample" in said:
        return "it has no rows; leave it out, or repartition the data."
    return said


def whole_of(found: list[Summary]) -> Whole:
    """All summaries combined; raises an error that names a partition that does not fit."""
    first = found[0]
    for number, part in enumerate(found):
        if part.features != first.features:
            raise ValueError(
                f"Partition {number} has {part.features} columns, where partition 0 has "
                f"{first.features}; all partitions must have the same columns."
            )
        if part.names != first.names and part.names is not None and first.names is not None:
            raise ValueError(
                f"Partition {number} has the columns {short(part.names)}, where partition 0 has "
                f"{short(first.names)}; all partitions must have the same columns in the same order."
            )
        if _kind(part.labels) != _kind(first.labels):
            raise ValueError(
                f"Partition {number} has labels that are {_kind(part.labels)}, where those of "
                f"partition 0 are {_kind(first.labels)}; labels must be all of one kind."
            )
        if sparse.issparse(part.sample) != sparse.issparse(first.sample):
            raise ValueError(
                f"Partition {number} is {_form(part.sample)}, where partition 0 is "
                f"{_form(first.sample)}; all partitions must be dense, or all sparse."
            )
    labels, counts = _classes(found)
    sample = first.sample
    for part in found[1:]:
        sample = stack(sample, part.sample)
    rows = [part.rows for part in found]
    variances = _column_variances(found)
    return Whole(
        rows, first.features, _variance(found), labels, counts, sample, variances, first.names
    )


def _classes(found: list[Summary]) -> tuple[np.ndarray, np.ndarray]:
    labels = np.unique(joined_labels(*(part.labels for part in found)))
    check_several(labels)
    counts = np.zeros(len(labels), np.int64)
    for part in found:
        counts[np.searchsorted(labels, part.labels.astype(labels.dtype))] += part.counts
    return labels, counts


def _variance(found: list[Summary]) -> float:
    return float(_joined([(part.size, part.mean, part.deviations) for part in found]))


def _column_variances(found: list[Summary]) -> np.ndarray | None:
    moments = [(part.rows, *part.columns) for part in found if part.columns is not None]
    return np.asarray(_joined(moments)) if moments else None


def _joined(moments: Sequence[tuple[float, Any, Any]]) -> Any:
    """Variance of the union of parts, given size, mean and deviations of each."""
    size, mean, deviations = moments[0]
    for more, its_mean, its_deviations in moments[1:]:
        total, apart = size + more, its_mean - mean
        deviations = deviations + its_deviations + apart**2 * (size * more / total)
        mean = mean + apart * (more / total)
        size = total
    return deviations / size


def _kind(labels: np.ndarray) -> str:
    if labels.dtype.kind == "M":
        return "dates"
    text = labels.dtype.kind in "US" or any(isinstance(label, str) for label in labels.tolist())
    return "text" if text else "numbers"


def _form(sample: Any) -> str:
    return "sparse" if sparse.issparse(sample) else "dense"
