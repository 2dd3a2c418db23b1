"""Validation of sparse matrices: compiled loops do not check their input, so it is checked here.

SciPy checks little when a matrix is made and nothing when its arrays are changed afterwards; its
flags (``has_sorted_indices``, ``has_canonical_format``) can be set by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def check_structure(X: Any) -> None:
    """Refuse a sparse matrix whose indices are out of range; others are returned unchanged."""
    if X.format in ("csr", "csc", "bsr"):
        rows, columns = X.shape
        if X.format == "bsr":
            height, width = X.blocksize
            rows, columns = rows // height, columns // width
        if X.format == "csc":
            rows, columns = columns, rows
        _check_pointers(X, rows)
        _check_range(X.indices[: X.indptr[-1]], columns, X.format)
    elif X.format == "coo":
        _check_range(X.row, X.shape[0], X.format)
        _check_range(X.col, X.shape[1], X.format)
        if not len(X.row) == len(X.col) == len(X.data):
            raise _malformed(X.format, "its row, col and data differ in length")


def canonical_csr(X: Any, copy: bool = False) -> Any:
    """The CSR matrix with sorted indices and without duplicates: X itself, or a copy.

    Its arrays are C-contiguous, aligned and writable, as compiled loops require; with ``copy`` they
    are not shared.
    """
    check_structure(X)
    pointer = X.indptr
    indices, data = (_plain(_first(array, pointer[-1])) for array in (X.indices, X.data))
    same = indices is X.indices and data is X.data
    if not _in_order(indices, pointer):
        made = sparse.csr_matrix((data.copy(), indices.copy(), pointer.copy()), X.shape)
        made.has_sorted_indices = made.has_canonical_format = False
        made.sum_duplicates()
        return made
    if same and not copy:
        return X
    return sparse.csr_matrix((data, indices, pointer), X.shape, copy=copy)


def _in_order(indices: np.ndarray, pointer: np.ndarray) -> bool:
    """Whether the columns of every row increase."""
    if len(indices) < 2:
        return True
    rising = indices[1:] > indices[:-1]
    first = pointer[1:-1]
    rising[first[(first > 0) & (first < len(indices))] - 1] = True
    return bool(rising.all())


def _first(array: np.ndarray, n: int) -> np.ndarray:
    return array if len(array) == n else array[:n]


def _plain(array: np.ndarray) -> np.ndarray:
    """The array itself if loops can use it, otherwise a copy."""
    flags = array.flags
    good = flags.c_contiguous and flags.aligned and flags.writeable and array.dtype.isnative
    return array if good else np.array(array, array.dtype.newbyteorder("="), order="C")


def _check_pointers(X: Any, rows: int) -> None:
    pointer = X.indptr
    if len(pointer) != rows + 1 or pointer[0] != 0 or (pointer[1:] < pointer[:-1]).any():
        raise _malformed(X.format, "indptr must start at 0 and never decrease")
    if pointer[-1] > min(len(X.indices), len(X.data)):
        raise _malformed(
            X.format, f"indptr ends at {pointer[-1]}, beyond the {len(X.data)} entries"
        )


def _check_range(indices: np.ndarray, size: int, form: str) -> None:
    if not len(indices):
        return
    low, high = indices.min(), indices.max()
    if low < 0 or high >= size:
        wrong = low if low < 0 else high
        raise _malformed(form, f"index {wrong} is outside 0 ... {size - 1}")


def _malformed(form: str, what: str) -> ValueError:
    return ValueError(
        f"The sparse matrix is malformed: {what} ({form.upper()}). Build it again from its "
        "entries; X.check_format(full_check=True) finds such errors."
    )
