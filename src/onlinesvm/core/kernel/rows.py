"""Rows of examples, dense or sparse, and a growing store of them.

A row is float32. Dense rows are a C-ordered matrix; sparse rows are pieces of two long arrays
(``tiles.SparseRows``). Rows of a precomputed kernel are its values, and have the column number of
each (``key``). Rows far from the centre have a second float32 part, the rounding error of the first
(``rbf``): it is stored for all rows or none, and zero for those that are near. The size of each row
is stored beside it: the squared norm, or, for the Laplacian kernel, the sum of its absolute values
(``absolute``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..runtime.compact import Compact
from .tiles import dense as tiles
from .tiles import laplacian
from .tiles.dense import SparseRows


class Rows:
    """n examples: their values, squared norms and, for a precomputed kernel, columns.

    ``low`` has the second parts of dense rows, or no row; those of sparse rows are in ``values``.
    ``whole``: sparse rows of whole numbers, whose dot products have no rounding error. ``absolute``:
    ``squares`` has sums of absolute values.
    """

    def __init__(
        self,
        values: np.ndarray | SparseRows,
        squares: np.ndarray,
        n_features: int,
        key: np.ndarray | None = None,
        low: np.ndarray | None = None,
        whole: bool = False,
        absolute: bool = False,
    ):
        self.whole = whole
        self.absolute = absolute
        self.values = values
        self.squares = squares
        self.n_features = n_features
        self.key = key
        self.low = np.empty((0, n_features), np.float32) if low is None else low

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")  # too large is infinite, and seen in the squares
    def of(
        cls,
        X: Any,
        centre: np.ndarray | None = None,
        key: np.ndarray | None = None,
        far: float = np.inf,
        absolute: bool = False,
    ) -> Rows:
        """Rows of an array or CSR matrix, less ``centre`` (before digits are lost to float32).

        Those whose size is above ``far`` have a second part. ``absolute``: the size is |x|_1.
        """
        if sparse.issparse(X):
            return cls._of_sparse(X if centre is None else shifted(X, -centre), key, far, absolute)
        wide = np.asarray(X) if centre is None else np.asarray(X) - centre
        dense = np.ascontiguousarray(wide, np.float32)
        squares = dense_sizes(dense, absolute)
        is_far = squares > far
        low = None
        if is_far.any():
            low = np.zeros_like(dense)
            low[is_far] = wide[is_far] - dense[is_far]
        return cls(dense, squares, dense.shape[1], key, low, absolute=absolute)

    @classmethod
    def _of_sparse(cls, X: Any, key: np.ndarray | None, far: float, absolute: bool) -> Rows:
        X = X.tocsr()
        if not X.has_canonical_format:  # entries in any order, or given in parts
            X = X.copy()
            X.sum_duplicates()
        data = np.ascontiguousarray(X.data, np.float32)
        indices = np.ascontiguousarray(X.indices, np.int32)
        pointer = X.indptr.astype(np.int64)
        squares = sparse_sizes(pointer[:-1], pointer[1:], data, absolute)
        low = _second_parts(X.data, data, pointer, squares > far)
        values = SparseRows(pointer[:-1], pointer[1:], indices, data, low)
        return cls(values, squares, X.shape[1], key, None, _is_whole(X.data), absolute)

    @classmethod
    def packed(
        cls,
        X: np.ndarray,
        centre: np.ndarray | None = None,
        key: np.ndarray | None = None,
        far: float = np.inf,
        absolute: bool = False,
    ) -> Rows:
        """As ``of`` for a dense array, whose rows are kept sparse."""
        X = np.ascontiguousarray(X if centre is None else X - centre)
        begin, indices, data, squares = tiles.compress(X)
        if absolute:
            squares = sparse_sizes(begin[:-1], begin[1:], data, absolute)
        is_far = squares > far
        low = _NONE
        if is_far.any():
            low = _second_parts(X[X != 0], data, begin, is_far)
        values = SparseRows(begin[:-1], begin[1:], indices, data, low)
        whole = _is_whole(data) and not len(low)
        return cls(values, squares, X.shape[1], key, None, whole, absolute)

    def __len__(self) -> int:
        return len(self.squares)

    @property
    def is_sparse(self) -> bool:
        return isinstance(self.values, SparseRows)

    def has_second_parts(self) -> bool:
        """Whether a row may have one."""
        return len(self.values.low if isinstance(self.values, SparseRows) else self.low) > 0

    def width(self) -> float:
        """Stored values of a row, on average: what a dot product costs."""
        if not isinstance(self.values, SparseRows):
            return float(self.n_features)
        return float((self.values.end - self.values.begin).mean()) if len(self) else 0.0

    def take(self, which: np.ndarray | slice) -> Rows:
        """The rows ``which`` (indices, mask or slice). Sparse rows share their long arrays."""
        values = (
            SparseRows(self.values.begin[which], self.values.end[which], *self.values[2:])
            if isinstance(self.values, SparseRows)
            else _rows_of(self.values, which)
        )
        key = None if self.key is None else self.key[which]
        low = _rows_of(self.low, which) if len(self.low) else None
        squares = self.squares[which]
        return Rows(values, squares, self.n_features, key, low, self.whole, self.absolute)

    def sized(self, absolute: bool) -> Rows:
        """The same rows with squared norms, or with sums of absolute values."""
        if self.absolute == absolute:
            return self
        if isinstance(self.values, SparseRows):
            packed = pack(self.values)
            squares = sparse_sizes(packed.begin, packed.end, packed.data, absolute)
        else:
            squares = dense_sizes(self.values, absolute)
        rest = self.n_features, self.key, self.low, self.whole, absolute
        return Rows(self.values, squares, *rest)

    def to_sparse(self) -> Rows:
        """The same rows, sparse."""
        if isinstance(self.values, SparseRows):
            return self
        if not len(self.low):
            return Rows.packed(self.values, None, self.key, absolute=self.absolute)
        # An entry may have a second part alone: both parts keep the columns of their sum.
        begin, indices, _, _ = tiles.compress(self.to_array())
        where = np.repeat(np.arange(len(self)), np.diff(begin)), indices
        values = SparseRows(begin[:-1], begin[1:], indices, self.values[where], self.low[where])
        return Rows(values, self.squares, self.n_features, self.key, absolute=self.absolute)

    def to_dense(self) -> Rows:
        """The same rows, dense."""
        if not isinstance(self.values, SparseRows):
            return self
        packed = pack(self.values)
        where = np.repeat(np.arange(len(self)), packed.end - packed.begin), packed.indices
        dense = np.zeros((len(self), self.n_features), np.float32)
        dense[where] = packed.data
        low = None
        if len(packed.low):
            low = np.zeros_like(dense)
            low[where] = packed.low
        rest = self.n_features, self.key, low
        return Rows(dense, self.squares, *rest, absolute=self.absolute)

    def to_array(self, centre: np.ndarray | None = None) -> np.ndarray | sparse.csr_matrix:
        """The rows in the user's coordinates: float64, shifted back by ``centre``."""
        if not isinstance(self.values, SparseRows):
            dense = self.values.astype(np.float64)
            if len(self.low):
                dense += self.low
            return dense if centre is None else dense + centre
        packed = pack(self.values)
        data = packed.data.astype(np.float64)
        if len(packed.low):
            data += packed.low
        pointer = np.append(packed.begin, len(packed.data))
        rows = sparse.csr_matrix((data, packed.indices, pointer), (len(self), self.n_features))
        return rows if centre is None else shifted(rows, centre)


def dense_sizes(rows: np.ndarray, absolute: bool) -> np.ndarray:
    """|x|^2 of dense rows, or |x|_1."""
    sizes = np.empty(len(rows), np.float32)
    (laplacian.absolute_sums if absolute else tiles.squared_norms)(rows, sizes)
    return sizes


def sparse_sizes(
    begin: np.ndarray, end: np.ndarray, data: np.ndarray, absolute: bool
) -> np.ndarray:
    """The same of sparse rows that lie one after the other."""
    sizes = np.zeros(len(begin), np.float32)
    if absolute:
        laplacian.sparse_absolute_sums(begin, end, data, sizes)
        return sizes
    full = np.flatnonzero(end > begin)
    if full.size:
        sizes[full] = np.add.reduceat(data.astype(np.float64) ** 2, begin[full])
    return sizes


def _rows_of(array: np.ndarray, which: np.ndarray | slice) -> np.ndarray:
    """array[which]; ``take`` copies whole rows, and is quicker."""
    if isinstance(which, np.ndarray) and which.dtype != bool:
        return array.take(which, axis=0)
    return array[which]


def _is_whole(data: np.ndarray) -> bool:
    """Whether all values are whole numbers; for most data the first values are enough to tell."""
    return all(bool((part == np.rint(part)).all()) for part in (data[:256], data[256:]))


_NONE = np.empty(0, np.float32)
"""Second parts of rows that have none."""


def _second_parts(
    wide: np.ndarray, data: np.ndarray, pointer: np.ndarray, is_far: np.ndarray
) -> np.ndarray:
    """The rounding errors of ``data`` against ``wide`` in the sparse rows that are far."""
    if not is_far.any():
        return _NONE
    return np.where(np.repeat(is_far, np.diff(pointer)), wide - data, 0.0).astype(np.float32)


def shifted(X: Any, shift: np.ndarray) -> sparse.csr_matrix:
    """CSR rows plus ``shift``, of which few columns should not be zero."""
    columns, n = np.flatnonzero(shift), X.shape[0]
    pointer = np.arange(n + 1) * len(columns)
    parts = np.tile(shift[columns], n), np.tile(columns, n), pointer
    return sparse.csr_matrix(X + sparse.csr_matrix(parts, X.shape))


def pack(values: SparseRows) -> SparseRows:
    """The same sparse rows, one after the other without gaps."""
    n = len(values.begin)
    if not n or (values.begin[0] == 0 and (values.begin[1:] == values.end[:-1]).all()):
        used = slice(int(values.end[-1]) if n else 0)
        return SparseRows(*values[:2], *(part[used] for part in values[2:]))
    lengths = values.end - values.begin
    end = np.cumsum(lengths)
    begin = end - lengths
    where = np.repeat(values.begin - begin, lengths) + np.arange(lengths.sum())
    low = values.low[where] if len(values.low) else values.low
    return SparseRows(begin, end, values.indices[where], values.data[where], low)


def _grown(array: np.ndarray, used: int, needed: int) -> np.ndarray:
    """``array`` with room for ``needed`` along axis 0, at least doubled."""
    if needed <= len(array):
        return array
    larger = np.empty((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    larger[:used] = array[:used]
    return larger


class RowStore(Compact):
    """Rows that are added and removed: appended at the end, holes filled from the end."""

    _absolute = False  # of stores in pickles from before there was another size

    def __init__(self, like: Rows, capacity: int = 64):
        self.n = 0
        self.n_features = like.n_features
        self.is_sparse = like.is_sparse
        self._whole = True  # of the rows that have ever been here
        self._absolute = like.absolute
        self._squares = np.empty(capacity, np.float32)
        self._key = None if like.key is None else np.empty(capacity, like.key.dtype)
        if self.is_sparse:
            self._begin = np.empty(capacity, np.int64)
            self._end = np.empty(capacity, np.int64)
            self._indices = np.empty(capacity * 16, np.int32)
            self._data = np.empty(capacity * 16, np.float32)
            self._low = _NONE  # like the data, from the first row on that has a second part
            self._used = 0  # of the long arrays, dead rows included
        else:
            self._dense = np.empty((capacity, like.n_features), np.float32)
            self._low = np.empty((0, like.n_features), np.float32)

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self._whole

    @property
    def absolute(self) -> bool:
        """Whether ``squares`` has sums of absolute values."""
        return self._absolute

    def _in_use(self) -> dict[str, Any]:
        n, state = self.n, dict(self.__dict__)
        for name in ("_squares", "_key", "_dense", *(() if self.is_sparse else ("_low",))):
            if state.get(name) is not None:
                state[name] = state[name][:n]
        if self.is_sparse:
            packed = pack(self.rows().values)  # type: ignore[arg-type]
            state["_begin"] = packed.end - packed.begin  # small numbers
            del state["_end"]
            state["_indices"], state["_data"], state["_low"] = packed[2:]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self.is_sparse:
            lengths = self._begin
            self._end = np.cumsum(lengths)
            self._begin, self._used = self._end - lengths, len(self._data)

    def append(self, rows: Rows) -> None:
        rows = rows.sized(self._absolute)
        n, total = self.n, self.n + len(rows)
        self._whole = self._whole and rows.whole
        self._squares = _grown(self._squares, n, total)
        self._squares[n:total] = rows.squares
        if self._key is not None and rows.key is not None:
            self._key = _grown(self._key, n, total)
            self._key[n:total] = rows.key
        if self.is_sparse:
            self._append_sparse(pack(rows.to_sparse().values), total)  # type: ignore[arg-type]
        else:
            rows = rows.to_dense()
            self._dense = _grown(self._dense, n, total)
            self._dense[n:total] = rows.values
            self._append_low(rows.low, n, total, len(self._dense))
        self.n = total

    def _append_low(self, low: np.ndarray, used: int, needed: int, capacity: int) -> None:
        """Second parts of rows (dense) or entries (sparse): zero for those that have none."""
        if len(low) and not len(self._low):
            self._low = np.zeros((capacity, *low.shape[1:]), np.float32)
        if len(self._low):
            self._low = _grown(self._low, used, capacity)
            self._low[used:needed] = low if len(low) else 0.0

    def _append_sparse(self, values: SparseRows, total: int) -> None:
        n, used, needed = self.n, self._used, self._used + len(values.data)
        self._begin, self._end = _grown(self._begin, n, total), _grown(self._end, n, total)
        self._indices = _grown(self._indices, used, needed)
        self._data = _grown(self._data, used, needed)
        self._begin[n:total] = values.begin + used
        self._end[n:total] = values.end + used
        self._indices[used:needed] = values.indices
        self._data[used:needed] = values.data
        self._append_low(values.low, used, needed, len(self._data))
        self._used = needed

    def move(self, source: np.ndarray, target: np.ndarray, n: int) -> None:
        """Rows ``source`` overwrite rows ``target``; afterwards there are n."""
        self._squares[target] = self._squares[source]
        if self._key is not None:
            self._key[target] = self._key[source]
        if self.is_sparse:
            self._begin[target], self._end[target] = self._begin[source], self._end[source]
        else:
            self._dense[target] = self._dense[source]
            if len(self._low):
                self._low[target] = self._low[source]
        self.n = n
        if self.is_sparse and self._used > 4096:
            self._repack()

    def blank(self, which: np.ndarray) -> None:
        """The rows ``which`` become zero."""
        self._squares[which] = 0.0
        if self.is_sparse:
            self._end[which] = self._begin[which]
        else:
            self._dense[which] = 0.0
            if len(self._low):
                self._low[which] = 0.0

    def rearrange(self, handle: np.ndarray, fresh: Rows) -> None:
        """Row s becomes old row ``handle[s]``, or fresh row ``handle[s] - n`` where beyond n."""
        old, total = self.n, len(handle)
        place = np.arange(total)
        new = np.flatnonzero(handle >= old)
        moved = np.flatnonzero((handle < old) & (handle != place))
        if len(new):
            self.append(fresh.take(handle[new] - old))
        source = handle.copy()
        source[new] = old + np.arange(len(new))
        out_of_place = np.concatenate([moved, new[source[new] != new]])
        self.move(source[out_of_place], out_of_place, total)

    def _repack(self) -> None:
        live = int((self._end[: self.n] - self._begin[: self.n]).sum())
        if 2 * live > self._used:
            return
        packed = pack(self.rows().values)  # type: ignore[arg-type]
        self._begin[: self.n], self._end[: self.n] = packed.begin, packed.end
        self._indices[:live], self._data[:live], self._used = packed.indices, packed.data, live
        if len(self._low):
            self._low[:live] = packed.low

    def has_second_parts(self) -> bool:
        """Whether a row has one."""
        return bool(len(self._low) > 0 and (self.is_sparse or self._low[: self.n].any()))

    def drop_unused_second_parts(self) -> None:
        """Free the second parts of a dense store when no row has one any more."""
        if not self.is_sparse and len(self._low) and not self.has_second_parts():
            self._low = self._low[:0].copy()

    @property
    def dense(self) -> np.ndarray:
        """All of the dense storage, rows beyond n included."""
        return self._dense

    @property
    def low(self) -> np.ndarray:
        """Second parts of the dense storage, or no row."""
        return self._low

    @property
    def squares(self) -> np.ndarray:
        return self._squares

    def reserve(self, capacity: int) -> None:
        """Make room for dense rows without adding any."""
        self._squares = _grown(self._squares, self.n, capacity)
        self._dense = _grown(self._dense, self.n, capacity)
        if len(self._low):
            self._low = _grown(self._low, self.n, len(self._dense))

    def reserve_second_parts(self) -> None:
        """Make room for second parts of dense rows, zero for those that are here."""
        self.reserve(1)  # a copy of an empty store has no memory, and no rows of it say nothing
        if not len(self._low):
            self._low = np.zeros((len(self._dense), self.n_features), np.float32)

    def widen(self, n_features: int) -> None:
        """Rows get more features, all zero: kernel values stay as they are."""
        if not self.is_sparse:
            more = (0, 0), (0, n_features - self.n_features)
            self._dense, self._low = np.pad(self._dense, more), np.pad(self._low, more)
        self.n_features = n_features

    def rows(self) -> Rows:
        """The rows held now (views: valid until the store changes)."""
        n = self.n
        values: Any = (
            SparseRows(self._begin[:n], self._end[:n], self._indices, self._data, self._low)
            if self.is_sparse
            else self._dense[:n]
        )
        key = None if self._key is None else self._key[:n]
        low = None if self.is_sparse or not len(self._low) else self._low[:n]
        whole = self.is_sparse and self._whole
        return Rows(values, self._squares[:n], self.n_features, key, low, whole, self._absolute)
