"""A robust centre of the data: the median of each column.

Kernels of a distance do not change when all rows are shifted, but rows near zero keep more digits in
single precision, and their kernel values can be computed from dot products (``rbf``). The mean
would follow one value of 1e7 among thousands; the median does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .kernel import Kernel

SAMPLE = 1000
"""Rows from which the median is taken, evenly spaced."""

WORTH_FILLING = 16.0
"""Sparse rows are shifted where gamma |centre|^2 is above this (Laplacian: gamma |centre|_1, Matern:
gamma^2 |centre|^2), for a shift costs them zeros."""


@np.errstate(over="ignore")  # values that large are refused as rows
def centre_of(X: Any, kernel: Kernel, kept_sparse: bool) -> np.ndarray | None:
    """The centre of the rows of X; None if sparse rows are near zero without a shift.

    A column of which the greater part is zero has the median zero: rows that are kept sparse stay
    so when they are shifted.
    """
    some = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], SAMPLE)).astype(np.int64)]
    if not kept_sparse:
        return _median(some)
    centre = np.zeros(X.shape[1])
    if sparse.issparse(some):
        some = sparse.csr_matrix(some)
        columns = np.flatnonzero(2 * some.getnnz(axis=0) >= some.shape[0])
        centre[columns] = _median(some[:, columns].toarray())
    else:
        columns = np.flatnonzero(2 * np.count_nonzero(some, axis=0) >= some.shape[0])
        centre[columns] = _median(some[:, columns])
    return centre if _size(centre, kernel) > WORTH_FILLING else None


def _size(centre: np.ndarray, kernel: Kernel) -> float:
    """How far the centre is from zero, in the units of the kernel's exponent, squared for the Matern."""
    if kernel.absolute:
        return kernel.gamma * float(np.abs(centre).sum())
    return (kernel.gamma if kernel.name == "rbf" else kernel.gamma**2) * float(centre @ centre)


def _median(rows: np.ndarray) -> np.ndarray:
    return np.median(rows, axis=0).astype(np.float64)
