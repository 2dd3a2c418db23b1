"""Arrays in memory as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .blocks import Block
from .errors import StreamError
from .reader import Reader


class MemoryReader(Reader):
    """Rows of an array or CSR matrix, with their labels, in order.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The rows.
    y : {array-like, sparse matrix} of shape (n_samples,) or (n_samples, n_outputs), default=None
        Labels or targets.

    See Also
    --------
    onlinesvm.streams.open_reader : Reads files.
    onlinesvm.streams.fit_stream : Learns from a reader.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import LASVMClassifier
    >>> from onlinesvm.streams import MemoryReader, fit_stream
    >>> reader = MemoryReader(*load_digits(return_X_y=True))
    >>> training = fit_stream(LASVMClassifier(C=10, gamma=0.001), reader, batch_rows=200)
    >>> bool(training.progress().error < 0.1)
    True
    """

    kind = "memory"
    name = "the arrays"

    def __init__(self, X: Any, y: Any = None):
        y = y.toarray() if sparse.issparse(y) else y
        self.X, self.y = X, None if y is None else np.asarray(y)
        if self.y is not None and len(self.y) != X.shape[0]:
            raise StreamError(f"X has {X.shape[0]} rows, but y has {len(self.y)} labels.")

    def pieces(self, skip: int) -> Iterator[Block]:
        """All of it in one piece; blocks are slices of it."""
        yield Block(self.X, self.y, 0)
