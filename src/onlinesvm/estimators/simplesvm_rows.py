"""Rows of the SimpleSVM estimators: double precision, moved to the centre, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ..core.kernel.csr import canonical_csr


def exact_rows(
    X: Any,
    kernel: Any,
    centre: np.ndarray | None,
    keeps_sparse: bool,
    key: np.ndarray | None = None,
    own: bool = False,
) -> Any:
    """Checked input as rows, moved to ``centre``; ``own``: in memory that is not the user's.

    Sparse input for a model of sparse rows (``keeps_sparse``) stays sparse.
    """
    from ..core.kernel.exact import ExactRows

    if kernel.name == "precomputed" and sparse.issparse(X):
        X = X.toarray()
    if centre is not None:
        from ..core.kernel.rows import shifted

        is_sparse = sparse.issparse(X) and keeps_sparse
        X = canonical_csr(shifted(X, -centre)) if is_sparse else as_array(X) - centre
    with np.errstate(over="ignore"):
        rows = ExactRows(X, kernel, key, own)
        largest = 0.0 if kernel.name == "callable" else np.abs(rows.diagonal()).max()
    if not np.isfinite(largest + rows.squares.max()):
        raise ValueError(
            "The values are too large for kernel values in double precision; scale the "
            "features (for example with StandardScaler)."
        )
    return rows


def as_array(values: Any) -> np.ndarray:
    """Dense values."""
    return values.toarray() if sparse.issparse(values) else values


class Shifted:
    """The user's feature map, which expects examples as the user knows them."""

    def __init__(self, function: Callable[[Any], Any], centre: np.ndarray | None):
        self.function, self.centre = function, centre

    def __call__(self, values: Any) -> np.ndarray:
        """Features of rows."""
        return self.function(moved_back(values, self.centre))


def moved_back(values: Any, centre: np.ndarray | None) -> Any:
    """Examples as the user knows them, dense or sparse as they are."""
    if centre is None:
        return values
    if sparse.issparse(values):
        from ..core.kernel.rows import shifted

        return shifted(values, centre)
    return values + centre
