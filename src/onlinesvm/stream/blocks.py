"""Blocks of rows: what a reader delivers, and how pieces of any length become equal blocks.

The last digits of a model depend on how its stream is divided into blocks. Readers therefore divide
it by row numbers only: block k of size n contains the rows k n to (k + 1) n - 1 of a pass, whether
the pass started at its first row or was resumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Block:
    """Consecutive rows, and their labels if they have any.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, n_features)
        The rows.
    y : ndarray of shape (n,) or None
        Their labels or targets.
    first : int, default=0
        Number of the first row in its source, counted from 0.

    See Also
    --------
    onlinesvm.streams.Reader : Delivers blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinesvm.streams import Block
    >>> block = Block(np.eye(3), np.array([0, 1, 1]), first=100)
    >>> block.n, block.part(slice(1, 3)).first
    (3, 101)
    """

    X: Any
    y: np.ndarray | None
    first: int = 0

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def part(self, which: slice | np.ndarray) -> Block:
        """Some of the rows; the first one's number is that of a slice, else of the block."""
        start = which.start or 0 if isinstance(which, slice) else 0
        y = None if self.y is None else self.y[which]
        return Block(self.X[which], y, self.first + start)


def whole_numbers(labels: np.ndarray) -> np.ndarray:
    """Labels as integers, if all of them are whole numbers."""
    if labels.dtype.kind != "f" or not (np.abs(labels) < 2**53).all():
        return labels
    whole = labels.astype(np.int64)
    return whole if (whole == labels).all() else labels


def widened(X: Any, n_features: int) -> Any:
    """CSR rows with columns of zeros appended; X itself if it is wide enough."""
    if X.shape[1] == n_features:
        return X
    return sparse.csr_matrix((X.data, X.indices, X.indptr), (X.shape[0], n_features))


def stacked(parts: list[Block]) -> Block:
    """Blocks concatenated. Sparse ones may differ in width: the result has that of the widest."""
    if len(parts) == 1:
        return parts[0]
    if any(sparse.issparse(part.X) for part in parts):
        width = max(part.X.shape[1] for part in parts)
        X = sparse.vstack([widened(part.X, width) for part in parts], format="csr")
    else:
        X = np.concatenate([part.X for part in parts])
    y = None
    if parts[0].y is not None:
        y = np.concatenate([np.asarray(part.y) for part in parts])
    return Block(X, y, parts[0].first)


def regrouped(pieces: Iterable[Block], size: int, skip: int = 0) -> Iterator[Block]:
    """The rows of the pieces after the first ``skip``, in blocks of ``size``."""
    held: list[Block] = []
    count = 0
    for piece in pieces:
        if piece.first + piece.n <= skip:
            continue
        piece = piece.part(slice(max(0, skip - piece.first), None))
        while count + piece.n >= size:
            split = size - count
            yield stacked([*held, piece.part(slice(0, split))])
            piece, held, count = piece.part(slice(split, None)), [], 0
        if piece.n:
            held.append(piece)
            count += piece.n
    if held:
        yield stacked(held)
