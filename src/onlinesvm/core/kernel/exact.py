"""Kernel values in double precision, for solutions that are exact.

    out[p, j] = k(x_{idx[p]}, x_j)        float64

Given examples, dense or CSR, and a kernel (``kernel.Kernel``, whose count of values is kept),
``ExactRows`` returns blocks of values among them or against other examples. Single precision
would make another problem of it: a matrix that is off by 1e-7 is not positive semidefinite any
more, and a solution with large coefficients moves by more than the tolerances of SimpleSVM.

Rows are multiplied with panels of 32 others, all columns of a panel at once; the exponential is a polynomial that
runs in vector registers (relative error below 1e-14). Threads split the rows, not a BLAS: its
threads wait for each other after every call, which on a busy machine costs more than it brings.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from ..runtime.numerics import ORDERED_MATH, REORDERED_MATH, inlined, inner, jit
from ..runtime.threads import over_rows, thread_count
from .emit.vector64 import WIDTH, dense_panel_dot, sparse_panel_dot
from .kernel import Kernel

_LINE = 8  # float64 values in a cache line
_INLINE_WORK = 5_000_000  # multiplications that one thread does sooner than two
_CHUNK_VALUES = 1 << 20
_PANEL_VALUES = 1 << 19

_NEAR = 1e5
"""RBF values whose gamma (|x|^2 + |z|^2) exceeds this come from differences: the dot products' part
of the exponent has an error of about 1e-16 times it."""

_CLOSE = 1e-4
"""Share of |x|^2 + |z|^2 below which the squared distance of the Matern kernel comes from differences:
above it the value is off by about 1e-13."""

_BEYOND = 2**62  # no column
_LOG2_E = math.log2(math.e)
_ROUND = 1.5 * 2.0**52  # adding it rounds to an integer in the low bits
_LN2 = math.log(2.0)
(_P1, _P2, _P3, _P4, _P5, _P6, _P7, _P8, _P9, _P10, _P11, _P12) = (
    _LN2**k / math.factorial(k) for k in range(1, 13)
)


@inner(fastmath=ORDERED_MATH)
def _power_of_two(power):
    """2 ** power for power <= 0; zero below the smallest normal number."""
    inside = max(min(power, 0.0), -1022.0)
    rounded = inside + _ROUND
    f = inside - (rounded - _ROUND)
    v = ((((_P12 * f + _P11) * f + _P10) * f + _P9) * f + _P8) * f + _P7
    v = (((((v * f + _P6) * f + _P5) * f + _P4) * f + _P3) * f + _P2) * f + _P1
    exponent = (np.float64(rounded).view(np.int64) + np.int64(1023)) << np.int64(52)
    return 0.0 if power < -1022.0 else (v * f + 1.0) * np.int64(exponent).view(np.float64)


@jit(fastmath=ORDERED_MATH)
def _rbf(dots, left, right, scale, first, last):
    """exp(-gamma |x - z|^2) in place from dot products; scale = gamma log2(e)."""
    for p in range(first, last):
        row = dots[p]
        for j in range(row.shape[0]):
            row[j] = _power_of_two(scale * (2.0 * row[j] - (left[p] + right[j])))


@inner(fastmath=REORDERED_MATH)
def _dense_distance(x, z):
    total = 0.0
    for c in range(x.shape[0]):
        total += (x[c] - z[c]) * (x[c] - z[c])
    return total


@inlined
def next_difference(X, a, a_end, Z, b, b_end):
    """The next column of entries a of X or b of Z, x - z in it, and the entries that follow.

    X and Z are CSR matrices (pointer, sorted indices, data). Entries a_end and b_end are the first beyond the rows; at least one row has an entry left.
    """
    left = X[1][a] if a < a_end else _BEYOND
    right = Z[1][b] if b < b_end else _BEYOND
    difference = 0.0
    if left <= right:
        difference += X[2][a]
        a += 1
    if right <= left:
        difference -= Z[2][b]
        b += 1
    return min(left, right), difference, a, b


@inner
def _sparse_differences(X, p, Z, j, absolute):
    """|x_p - z_j|^2, or |x_p - z_j|_1, of rows (pointer, indices, data) whose indices are sorted."""
    a, a_end, b, b_end = X[0][p], X[0][p + 1], Z[0][j], Z[0][j + 1]
    total = 0.0
    while a < a_end or b < b_end:
        _, value, a, b = next_difference(X, a, a_end, Z, b, b_end)
        total += abs(value) if absolute else value * value
    return total


@inner
def _rbf_of_distance(distance, scale):
    """Equal examples have the value 1, whatever gamma is; infinity is no special case."""
    return 1.0 if distance == 0.0 else _power_of_two(max(-scale * distance, -2000.0))


@jit(fastmath=ORDERED_MATH)
def _exponentials(out, scale, first, last):
    """2 ** (-scale d) in place from distances d."""
    for p in range(first, last):
        row = out[p]
        for j in range(row.shape[0]):
            row[j] = _power_of_two(max(-scale * row[j], -2000.0))


@inner(fastmath=REORDERED_MATH)
def _dense_absolute(x, z):
    total = 0.0
    for c in range(x.shape[0]):
        total += abs(x[c] - z[c])
    return total


@jit
def _dense_absolutes(X, Z, out, first, last):
    """Sums of absolute differences of dense rows."""
    for p in range(first, last):
        for j in range(out.shape[1]):
            out[p, j] = _dense_absolute(X[p], Z[j])


@jit
def _sparse_absolutes(X, Z, out, first, last):
    """The same for sparse rows (pointer, indices, data)."""
    for p in range(first, last):
        for j in range(out.shape[1]):
            out[p, j] = _sparse_differences(X, p, Z, j, True)


@jit
def _dense_roots(X, Z, left, right, out, first, last):
    """Distances from dot products, from differences where rows are close to each other."""
    for p in range(first, last):
        for j in range(out.shape[1]):
            squares = left[p] + right[j]
            square = squares - 2.0 * out[p, j]
            if not square > _CLOSE * squares:
                square = _dense_distance(X[p], Z[j])
            out[p, j] = math.sqrt(square)


@jit
def _sparse_roots(X, Z, left, right, out, first, last):
    """The same for sparse rows (pointer, indices, data)."""
    for p in range(first, last):
        for j in range(out.shape[1]):
            squares = left[p] + right[j]
            square = squares - 2.0 * out[p, j]
            if not square > _CLOSE * squares:
                square = _sparse_differences(X, p, Z, j, False)
            out[p, j] = math.sqrt(square)


@jit
def _dense_far(X, Z, left, right, scale, out, first, last):
    """The values of those pairs whose dot products say too little, from differences."""
    for p in range(first, last):
        for j in range(out.shape[1]):
            if not scale * (left[p] + right[j]) <= _NEAR:
                out[p, j] = _rbf_of_distance(_dense_distance(X[p], Z[j]), scale)


@jit
def _sparse_far(X, Z, left, right, scale, out, first, last):
    """The same for sparse rows (pointer, indices, data)."""
    for p in range(first, last):
        for j in range(out.shape[1]):
            if not scale * (left[p] + right[j]) <= _NEAR:
                out[p, j] = _rbf_of_distance(_sparse_differences(X, p, Z, j, False), scale)


@inner
def _turn(sums, out, top, first, count):
    """out[top + t, first + q] = sums[q, t]: whole cache lines at a time."""
    for t in range(min(WIDTH, out.shape[0] - top)):
        row = out[top + t]
        for q in range(count):
            row[first + q] = sums[q, t]


@jit
def _sparse_dots(pointer, indices, data, panels, out, top, first, last):
    """out[top + 32 p + t, i] = <x_i, panels[p, :, t]> for the sparse rows first .. last."""
    sums = np.empty((_LINE, WIDTH))
    for p in range(panels.shape[0]):
        for i in range(first, last, _LINE):
            count = min(_LINE, last - i)
            for q in range(count):
                begin, end = pointer[i + q], pointer[i + q + 1]
                sparse_panel_dot(indices, data, begin, end, panels[p], sums[q])
            _turn(sums, out, top + p * WIDTH, i, count)


@jit
def _dense_dots(values, panels, out, top, first, last):
    """The same for dense rows."""
    sums = np.empty((_LINE, WIDTH))
    for p in range(panels.shape[0]):
        for i in range(first, last, _LINE):
            count = min(_LINE, last - i)
            for q in range(count):
                dense_panel_dot(values[i + q], panels[p], sums[q])
            _turn(sums, out, top + p * WIDTH, i, count)


@jit(fastmath=REORDERED_MATH)
def weigh(slots, which, coef, out, first, last):
    """out[j] += sum_p coef[p] slots[which[p], j] for the columns first .. last."""
    for start in range(first, last, 2048):
        stop = min(start + 2048, last)
        for p in range(which.shape[0]):
            row, factor = slots[which[p]], coef[p]
            for j in range(start, stop):
                out[j] += factor * row[j]


class ExactRows:
    """Examples in float64 with their squared norms. ``values`` is dense or CSR."""

    def __init__(
        self, values: Any, kernel: Kernel, key: np.ndarray | None = None, own: bool = False
    ):
        """``own``: the values are copied, so that their owner may change them.

        Sparse values must have sorted indices without duplicates.
        """
        self.kernel, self.key = kernel, key
        take = np.array if own else np.asarray
        if sparse.issparse(values):
            parts = (
                take(values.data, np.float64, order="C"),
                take(values.indices, order="C"),
                take(values.indptr, order="C"),
            )
            self.values = sparse.csr_matrix(parts, shape=values.shape)
            self.squares = np.asarray(self.values.multiply(self.values).sum(axis=1)).ravel()
        else:
            self.values = take(values, np.float64, order="C")
            self.squares = np.einsum("ij,ij->i", self.values, self.values)

    def __len__(self) -> int:
        return len(self.squares)

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.values)

    def take(self, which: np.ndarray) -> ExactRows:
        """The rows ``which``. Precomputed rows keep the columns that they are (``key``)."""
        taken = object.__new__(ExactRows)
        taken.kernel, taken.squares = self.kernel, self.squares[which]
        taken.values = self.values[which]
        taken.key = None if self.key is None else self.key[which]
        return taken

    def append(self, more: ExactRows) -> ExactRows:
        """These rows and then ``more``, all in the form (dense or sparse) of these."""
        joined = object.__new__(ExactRows)
        joined.kernel, joined.key = self.kernel, None
        joined.squares = np.concatenate([self.squares, more.squares])
        joined.values = (
            sparse.vstack([self.values, sparse.csr_matrix(more.values)], format="csr")
            if self.is_sparse
            else np.concatenate([self.values, as_array(more.values)])
        )
        return joined

    def diagonal(self) -> np.ndarray:
        """k(x_i, x_i); not counted, the papers' yardstick is pairs."""
        kernel = self.kernel
        if kernel.is_distance:
            return np.ones(len(self))
        if kernel.name == "precomputed":
            return np.asarray(self.values)[np.arange(len(self)), self.key].astype(np.float64)
        if kernel.name == "callable":
            one = np.arange(len(self))
            return np.array([float(self.take(one[i : i + 1])._call()[0, 0]) for i in one])
        return self._finish(self.squares.copy(), None, None)

    def block(self, other: ExactRows, out: np.ndarray | None = None) -> np.ndarray:
        """k(x_p, z_j) of these rows against ``other``, (len(self), len(other)) float64."""
        shape = (len(self), len(other))
        out = np.empty(shape) if out is None else out
        self.kernel.n_evaluations += shape[0] * shape[1]
        if self.values.shape[1] != other.values.shape[1]:
            raise ValueError(
                f"Examples of {self.values.shape[1]} and of {other.values.shape[1]} features "
                "cannot be compared; they need the same number of features."
            )
        if 0 in shape:
            return out
        if self.kernel.name == "precomputed":
            out[:] = np.asarray(self.values)[:, other.key]
            return out
        if self.kernel.name == "callable":
            out[:] = self._call(other)
            return out
        if self.kernel.name == "laplacian":
            self._over_pairs(_dense_absolutes, _sparse_absolutes, other, out)
            return self._exponentials(out)
        self._dots(other, out)
        if self.kernel.name == "matern12":
            squares = self.squares, other.squares
            self._over_pairs(_dense_roots, _sparse_roots, other, out, *squares)
            return self._exponentials(out)
        self._finish(out, self.squares, other.squares)
        if self.kernel.name == "rbf":
            self._far(other, out)
        return out

    def _call(self, other: ExactRows | None = None) -> np.ndarray:
        other = self if other is None else other
        return self.kernel.call(as_array(self.values), as_array(other.values), np.float64)

    def _dots(self, other: ExactRows, out: np.ndarray) -> None:
        """Dot products, some panels of these rows at a time."""
        if other.is_sparse:
            task = partial(_sparse_dots, *_parts(other.values))
        else:
            task = partial(_dense_dots, _writeable(other.values))
        size = WIDTH * max(1, _PANEL_VALUES // max(1, WIDTH * self.values.shape[1]))
        for top in range(0, len(self), size):
            panels = self._panels(top, min(top + size, len(self)))
            self._over(partial(task, panels, out, top), len(other), out.size)

    def _far(self, other: ExactRows, out: np.ndarray) -> None:
        """RBF values again from differences, where dot products lose too many digits."""
        scale = self.kernel.gamma * _LOG2_E
        with np.errstate(over="ignore"):
            if scale * (self.squares.max() + other.squares.max()) <= _NEAR:
                return
        self._over_pairs(_dense_far, _sparse_far, other, out, self.squares, other.squares, scale)

    def _over_pairs(
        self, dense: Any, sparse: Any, other: ExactRows, out: np.ndarray, *given: Any
    ) -> None:
        """One of two loops over all pairs: for dense rows, or for sparse ones."""
        X: Any
        Z: Any
        if self.is_sparse and other.is_sparse:
            task, X, Z = sparse, _parts(self.values), _parts(other.values)
        else:
            task, X, Z = dense, as_array(self.values), as_array(other.values)
            X, Z = _writeable(X), _writeable(Z)
        self._over(partial(task, X, Z, *given, out), len(self), out.size)

    def _exponentials(self, out: np.ndarray) -> np.ndarray:
        """exp(-gamma d) in place from distances d."""
        scale = min(self.kernel.gamma * _LOG2_E, 1e300)
        self._over(partial(_exponentials, out, scale), len(self), out.size)
        return out

    def _panels(self, top: int, last: int) -> np.ndarray:
        """Rows top .. last as columns, (panels, features, 32)."""
        values, n = self.values, last - top
        panels = np.zeros((-(-n // WIDTH), values.shape[1], WIDTH))
        which = np.arange(n)
        if self.is_sparse:
            run = slice(values.indptr[top], values.indptr[last])
            which = np.repeat(which, np.diff(values.indptr[top : last + 1]))
            panels[which // WIDTH, values.indices[run], which % WIDTH] = values.data[run]
        else:
            panels[which // WIDTH, :, which % WIDTH] = values[top:last]
        return panels

    def _finish(self, dots: np.ndarray, left: Any, right: Any) -> np.ndarray:
        """The kernel function on dot products, in place."""
        kernel = self.kernel
        if kernel.name == "rbf":
            scale = min(kernel.gamma * _LOG2_E, 1e300)  # finite: zero times infinity is NaN
            self._over(lambda a, b: _rbf(dots, left, right, scale, a, b), len(dots), dots.size)
        elif kernel.name != "linear":
            dots *= kernel.gamma
            dots += kernel.coef0
            if kernel.name == "poly":
                np.power(dots, kernel.degree, out=dots)
            else:
                np.tanh(dots, out=dots)
        return dots

    def _over(self, task: Any, n: int, values: int) -> None:
        width = self.values.nnz / len(self) if self.is_sparse else self.values.shape[1]
        alone = values * (width + 16) < _INLINE_WORK
        over_rows(task, n, 1 if alone else thread_count(self.kernel.n_jobs))


def as_array(values: Any) -> np.ndarray:
    """Dense values."""
    return values.toarray() if sparse.issparse(values) else values


def _writeable(values: np.ndarray) -> np.ndarray:
    """The same values; compiled loops know arrays that can be written to, as their type says."""
    return np.require(values, requirements=["C", "W", "E"])


def _parts(values: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A CSR matrix as compiled loops take it: pointer, indices, data."""
    indices = _writeable(values.indices)
    return values.indptr.astype(np.int64), indices, _writeable(values.data)


def product(left: ExactRows, right: ExactRows, coef: np.ndarray) -> np.ndarray:
    """sum_j k(x_p, z_j) coef[j, c], (len(left), machines) float64.

    Sums run over j in order: an example's value does not depend on which others are asked for.
    """
    out = np.zeros((coef.shape[1], len(left)))
    size = max(1, _CHUNK_VALUES // max(1, len(left)))
    for first in range(0, len(right) if len(left) else 0, size):
        part = np.arange(first, min(first + size, len(right)))
        some, every = right.take(part), np.arange(len(part))
        # Precomputed values stand with the examples that are asked for.
        given = left.kernel.name == "precomputed"
        values = np.ascontiguousarray(left.block(some).T) if given else some.block(left)
        for machine in range(coef.shape[1]):
            weights = np.ascontiguousarray(coef[part, machine])
            weigh(values, every, weights, out[machine], 0, len(left))
    return out.T
