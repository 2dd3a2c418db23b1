"""Sparse input as compiled code needs it: checked, in canonical form, in memory of its own.

Compiled loops follow the pointers and indices of a CSR matrix without looking; SciPy does not
check those that a caller hands over or has changed since.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

_LARGEST_INT32 = np.iinfo(np.int32).max


def canonical_csr(X: Any) -> sparse.csr_matrix:
    """A CSR copy of the CSR matrix ``X``: sorted indices in range, duplicates added up.

    Its three arrays are contiguous and shared with nobody. A matrix that is not well formed is a
    ``ValueError``.
    """
    n, width = X.shape
    pointer = _integers(X.indptr, "indptr").astype(np.int64)
    if pointer.shape != (n + 1,) or pointer[0] != 0 or (np.diff(pointer) < 0).any():
        raise ValueError(
            f"The CSR matrix is not well formed: indptr must have {n + 1} values that start at "
            "zero and never fall."
        )
    used = int(pointer[-1])
    indices, data = _integers(X.indices, "indices"), np.asarray(X.data)
    if indices.ndim != 1 or data.shape != indices.shape or used > len(indices):
        raise ValueError(
            f"The CSR matrix is not well formed: indptr promises {used} values; there are "
            f"{len(data)} in data and {len(indices)} in indices."
        )
    indices = indices[:used]
    wrong = (indices < 0) | (indices >= width)
    if wrong.any():
        raise ValueError(
            f"The CSR matrix is not well formed: column index {indices[wrong][0]} is out of range "
            f"for {width} features."
        )
    kind = np.int32 if max(width, used) <= _LARGEST_INT32 else np.int64
    parts = (np.array(data[:used], order="C"), indices.astype(kind), pointer.astype(kind))
    copy = sparse.csr_matrix(parts, shape=(n, width))
    copy.sum_duplicates()  # sorts as well
    return copy


def _integers(values: Any, name: str) -> np.ndarray:
    values = np.asarray(values)
    if values.dtype.kind not in "iu":
        raise ValueError(f"The CSR matrix is not well formed: {name} must be integers.")
    return values
