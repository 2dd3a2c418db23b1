"""The door: examples as users have them become examples that compiled loops can take."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from ..core.kernel.csr import canonical_csr, check_structure
from .labels import unrounded

DTYPES = [np.float64, np.float32]


def check_rows(estimator: Any, X: Any, reset: bool = False, copy: bool = False) -> Any:
    """Examples, or one clear error. X itself where nothing has to change; X is never changed."""
    _check_sparse(X)
    X = validate_data(estimator, X, accept_sparse="csr", dtype=DTYPES, copy=copy, reset=reset)
    return _plain(X)


def check_rows_and_labels(estimator: Any, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
    """The same for examples and their labels."""
    _check_sparse(X)
    X, y = validate_data(estimator, X, unrounded(y), accept_sparse="csr", dtype=DTYPES, reset=reset)
    return _plain(X), y


def check_rows_and_targets(estimator: Any, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
    """The same for examples and the values to predict, one column or several."""
    _check_sparse(X)
    X, y = validate_data(
        estimator, X, y, accept_sparse="csr", dtype=DTYPES, reset=reset, multi_output=True,
        y_numeric=True,
    )  # fmt: skip
    return _plain(X), y


def _check_sparse(X: Any) -> None:
    """Before anybody, SciPy included, walks along its indices."""
    if sparse.issparse(X):
        check_structure(X)


def _plain(X: Any) -> Any:
    if sparse.issparse(X):
        return canonical_csr(X)
    if X.dtype == np.float32 and not X.flags.writeable:
        return X.copy()  # loops are compiled for arrays that can be written
    return X


def check_square(estimator: Any, X: Any) -> None:
    """Refuse a precomputed kernel matrix of training examples that is not square."""
    if getattr(estimator, "kernel", None) == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            "Precomputed matrix must be a square matrix: the kernel value of every pair of "
            f"training examples. Input is a {X.shape[0]}x{X.shape[1]} matrix."
        )
