"""A shuffle buffer, for sorted files: random rows are drawn from a buffer.

The buffer contains up to ``size`` rows. A block is added; the rows in excess are drawn at random
from all of them. The rows and the state of the generator are the whole state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .blocks import Block, stacked


class ShuffleBuffer:
    """Rows in, random rows out."""

    def __init__(self, size: int, seed: int = 0):
        self.size, self._seed = size, seed
        self._rng = np.random.default_rng(seed)
        self._held: Block | None = None

    @property
    def n(self) -> int:
        """Rows held."""
        return 0 if self._held is None else self._held.n

    def begin_again(self) -> None:
        """Another pass, in which the rows are drawn in the same order as in the first."""
        self._rng = np.random.default_rng(self._seed)

    def push(self, block: Block) -> Block | None:
        """Add a block; return the rows in excess, drawn at random, if any."""
        self._held = block if self._held is None else stacked([self._held, block])
        return self.pop(self._held.n - self.size)

    def pop(self, count: int) -> Block | None:
        """Up to ``count`` random rows."""
        if count <= 0 or self._held is None:
            return None
        order = self._rng.permutation(self._held.n)
        taken = self._held.part(order[:count])
        left = np.sort(order[count:])
        self._held = self._held.part(left) if len(left) else None
        return taken

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """The generator as JSON, and the rows as arrays."""
        arrays: dict[str, np.ndarray] = {}
        facts: dict[str, Any] = {"generator": self._rng.bit_generator.state}
        if self._held is not None:
            X, y = self._held.X, self._held.y
            facts["width"], facts["sparse"] = int(X.shape[1]), bool(sparse.issparse(X))
            if sparse.issparse(X):
                arrays = {
                    "data": X.data,
                    "indices": X.indices.astype(np.int64),
                    "indptr": X.indptr.astype(np.int64),
                }
            else:
                arrays = {"rows": np.ascontiguousarray(X)}
            if y is not None:
                facts["text"] = y.dtype.kind == "U"
                arrays["labels"] = _as_bytes(y) if facts["text"] else y
        return facts, arrays

    def restore(self, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Restore the result of ``state``."""
        self._rng.bit_generator.state = facts["generator"]
        self._held = None
        if "width" not in facts:
            return
        if facts["sparse"]:
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            X: Any = sparse.csr_matrix(parts, (len(parts[2]) - 1, facts["width"]))
        else:
            X = arrays["rows"]
        y = arrays.get("labels")
        self._held = Block(X, _as_text(y) if y is not None and facts["text"] else y)


def _as_bytes(labels: np.ndarray) -> np.ndarray:
    """Text as code points, one row per label: an array of numbers."""
    return np.ascontiguousarray(labels).view(np.uint32).reshape(len(labels), -1)


def _as_text(codes: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(codes).view(f"<U{codes.shape[1]}").reshape(-1)
