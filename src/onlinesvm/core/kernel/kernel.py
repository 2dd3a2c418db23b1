"""Kernels as small objects: k(x, z), its blocks and its products.

``linear``       <x, z>
``poly``         (gamma <x, z> + coef0) ** degree
``rbf``          exp(-gamma |x - z|^2)
``laplacian``    exp(-gamma |x - z|_1), the sum of the absolute differences
``matern12``     exp(-gamma |x - z|)
``sigmoid``      tanh(gamma <x, z> + coef0)
``precomputed``  the rows are kernel values
a callable       takes two arrays, (n, d) and (m, d), and returns the (n, m) values

A kernel counts the values it has computed, the measure of cost in the papers. Rows may be dense or
sparse on either side.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from .buffers import Buffers
    from .rows import Rows
    from .tiles.dense import KernelParams, TileJob

DISTANCE_NAMES = ("rbf", "laplacian", "matern12")
"""Kernels that are functions of a distance: k(x, x) = 1, and shifted rows have the same values."""

KERNEL_NAMES = ("linear", "poly", "rbf", "laplacian", "matern12", "sigmoid", "precomputed")
COLUMN_NAMES = ("laplacian", "matern12")
"""Kernels whose ``gamma="scale"`` is made of the spread of each column."""

GAMMA_NAMES = ("rbf", "laplacian", "matern12", "poly", "sigmoid")
"""Kernels that have a gamma."""

_INLINE_WORK, _FUNCTION_WORK = 8_000_000, 30
"""Below this number of multiplications threads cost more time than they save; one kernel function
counts as thirty of them."""

_FEW = 16
"""Batch size when asking a callable for k(x, x); larger batches waste off-diagonal values."""

_EXACT = 2.0**23
"""|x|^2 + |z|^2 below which dot products and distances of whole numbers are exact."""

_SORTED, _MANY_LARGE = 512, 64
"""From so many rows on it pays to sort them by size, if more than one in so many is large."""

_CHUNK_ROWS = 1024
"""Rows at a time where a block must be stored to make a product."""

CENTRE_SAMPLE = 1000
"""Rows from which the centre is taken, evenly spaced."""

WORTH_FILLING = 16.0
"""Sparse rows are shifted where gamma |centre|^2 is above this (Laplacian: gamma |centre|_1, Matern:
gamma^2 |centre|^2), for a shift costs them zeros."""


class Summands(NamedTuple):
    """Rows z_j and coefficients c[:, j] of sum_j k(x, z_j) c[:, j]."""

    rows: Rows
    coef: np.ndarray


@dataclass
class Kernel:
    """One kernel with its parameters resolved."""

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    function: Callable[[Any, Any], Any] | None = None
    n_jobs: int | None = None
    n_evaluations: int = field(default=0, compare=False)

    @property
    def is_compiled(self) -> bool:
        """Whether the fused tiles know this kernel."""
        return self.name not in ("precomputed", "callable")

    @property
    def is_distance(self) -> bool:
        """Whether k is a function of a distance: k(x, x) = 1, and a row may need more digits."""
        return self.name in DISTANCE_NAMES

    @property
    def absolute(self) -> bool:
        """Whether the size of a row is the sum of its absolute values (``core.kernel.tiles.laplacian``)."""
        return self.name == "laplacian"

    @property
    def ignores_shift(self) -> bool:
        """Whether k(x - c, z - c) = k(x, z), so rows may be centred."""
        return self.is_distance

    @property
    def params(self) -> KernelParams:
        """The kernel as compiled loops take it."""
        return _params(self.name, self.gamma, self.coef0, self.degree)

    @property
    def far(self) -> float:
        """Size above which a row needs more digits than single precision has (``core.kernel.tiles.rbf``).

        The size is |x|^2, or |x|_1 where the kernel is ``absolute``.
        """
        from .tiles import laplacian, matern, rbf

        gamma = np.float64(self.params.gamma if self.is_distance else 0.0)
        if not gamma > 0.0:
            return np.float64(np.inf)
        if self.name == "matern12":
            return matern.FAR_ROW / gamma / gamma
        return (laplacian.FAR_ROW if self.absolute else rbf.FAR_ROW) / gamma

    def dot_error(self, X: Rows, Z: Rows) -> float:
        """Bound on the relative error of values k(x, z) that dot products alone give."""
        from .tiles.rbf import dot_rounding

        if not self.is_distance or not len(X) or not len(Z):
            return 0.0
        squares = float(X.squares.max()) + float(Z.squares.max())
        if X.whole and Z.whole and squares < _EXACT:
            return 0.0
        gamma, rounding = float(self.params.gamma), 2.0**-24 * float(dot_rounding(X.n_features))
        if self.name == "matern12":  # of a pair so close that nothing is left of the distance
            return gamma * (rounding * squares) ** 0.5
        return gamma * rounding * squares

    def needs_differences(self, X: Rows, Z: Rows) -> bool:
        """Whether dot products may not be enough for some pair of these rows (``rbf``, ``matern``)."""
        from .tiles.rbf import TOLERANCE

        error = self.dot_error(X, Z)
        return error > 0.0 if self.name == "matern12" else bool(error > 0.99 * TOLERANCE)

    def block(self, X: Rows, Z: Rows, out: np.ndarray | None = None) -> np.ndarray:
        """k(x_i, z_j) for all pairs, float32 of shape (n, m).

        ``out`` may be given, and be wider: columns beyond m are left alone. Of a block of rows
        with themselves (``Z is X``) one half is computed.
        """
        X, Z = self._sized(X, Z)
        if out is None:
            out = np.empty((len(X), len(Z)), np.float32)
        if not self.is_compiled:
            self.n_evaluations += len(X) * len(Z)
            if len(X) and len(Z):
                out[:, : len(Z)] = self._python_block(X, Z)
            return out
        if len(X) and len(Z):
            self._over_rows(self._block_task(X, Z, out, 0), X, Z, X is Z)
        return out

    def block_with_self(self, X: Rows, Z: Rows, buffers: Buffers) -> np.ndarray:
        """k of new rows X with stored rows Z, and among themselves: (n, m + n).

        Both are computed in one call, which is faster for small blocks. The values are valid until
        ``buffers`` is used again.
        """
        X, Z = self._sized(X, Z)
        out = buffers.block(len(X), len(Z) + len(X))
        if not self.is_compiled:
            out[:, : len(Z)], out[:, len(Z) :] = self.block(X, Z), self.block(X, X)
            return out
        held, own = self._block_task(X, Z, out, 0), self._block_task(X, X, out, len(Z))

        def both(first: int, last: int) -> None:
            held(first, last)
            own(first, last)

        if len(X):
            self._over_rows(both, X, Z, triangle=True, beside=len(Z))
        return out

    def _block_task(
        self, X: Rows, Z: Rows, out: np.ndarray, column: int
    ) -> Callable[[int, int], None]:
        """What computes some rows of a block into the columns from ``column`` on; counts it."""
        self.n_evaluations += len(X) * (len(X) + 1) // 2 if X is Z else len(X) * len(Z)
        return self._job(X, Z, out=out, column=column, mirrored=X is Z)

    def _job(self, X: Rows, Z: Rows, **what: Any) -> TileJob:
        """What computes kernel values of some rows of X with Z, and where they go (``TileJob``)."""
        from .tiles.dense import TileJob
        from .tiles.sparse import SparseTileJob

        is_sparse = X.is_sparse or Z.is_sparse
        return SparseTileJob(self, X, Z, **what) if is_sparse else TileJob(self, X, Z, **what)

    def product(self, X: Rows, Z: Rows, coef: np.ndarray) -> np.ndarray:
        """sum_j k(x_i, z_j) coef[c, j] for every machine c: float64 of shape (n, machines)."""
        return self.weighted_sums(X, self.summands(Z, coef))

    def summands(self, Z: Rows, coef: np.ndarray) -> Summands:
        """Rows and their coefficients, in the order in which ``weighted_sums`` adds them."""
        if not self.is_compiled:
            return Summands(Z, coef)
        if Z.absolute != self.absolute:
            Z = Z.sized(self.absolute)
        if self._spans_sizes(Z):
            order = np.argsort(Z.squares, kind="stable")
            Z, coef = Z.take(order), coef.take(order, axis=1)
        return Summands(Z, np.ascontiguousarray(coef, np.float64))

    def weighted_sums(self, X: Rows, summands: Summands) -> np.ndarray:
        """The sums of ``product``, for summands that are used many times."""
        Z, coef = summands
        out = np.zeros((len(X), len(coef)))
        if not len(X) or not len(Z):
            return out
        if not self.is_compiled:
            for a in range(0, len(X), _CHUNK_ROWS):
                part = slice(a, a + _CHUNK_ROWS)
                out[part] = self.block(X.take(part), Z).astype(np.float64) @ coef.T
            return out
        X, Z = self._sized(X, Z)
        self.n_evaluations += len(X) * len(Z)
        if len(X) == 1 and self._is_plain(X, Z):
            from .tiles.one_row import row_product

            return row_product(self, X, Z, coef)
        job = self._job(X, Z, coef=coef, sums=out)
        self._over_rows(job, job.X, job.Z)
        if self.name == "poly":
            check_size(out)
        return out

    def _sized(self, X: Rows, Z: Rows) -> tuple[Rows, Rows]:
        """Rows with the sizes that this kernel needs; most have them."""
        if X.absolute == Z.absolute == self.absolute or not self.is_compiled:
            return X, Z
        sized = X.sized(self.absolute)
        return sized, sized if Z is X else Z.sized(self.absolute)

    def _is_plain(self, X: Rows, Z: Rows) -> bool:
        """Whether rows are dense and sums of products are enough (``one_row.row_product``)."""
        if self.name not in ("rbf", "laplacian") or X.is_sparse or Z.is_sparse:
            return False
        return not self.needs_differences(X, Z)

    def _spans_sizes(self, Z: Rows) -> bool:
        """Whether to sum over dense rows Z in the order of their size.

        Pairs of large rows need differences (``rbf``), and stop a whole tile: large rows side by
        side stop few. Depends on Z alone: a sum must not depend on what else is asked.
        """
        from .tiles.rbf import dot_rounding, far_limit

        if self.name == "matern12" or len(Z) < _SORTED or Z.is_sparse:
            return False
        if not self.needs_differences(Z, Z):
            return False
        limit = far_limit(self.params.gamma, dot_rounding(Z.n_features))
        return int(np.count_nonzero(Z.squares > limit / 2)) * _MANY_LARGE > len(Z)

    def diagonal(self, X: Rows) -> np.ndarray:
        """k(x_i, x_i), single precision like all kernel values, as float64."""
        if self.is_distance:
            return np.ones(len(X))
        if self.name == "precomputed":
            return X.values[np.arange(len(X)), X.key].astype(np.float64)  # type: ignore[call-overload]
        if self.name == "callable":
            parts = [X.take(slice(a, a + _FEW)) for a in range(0, len(X), _FEW)]
            values = [self._python_block(part, part).diagonal() for part in parts]
            return np.concatenate([np.empty(0), *values])
        squares = X.sized(False).squares.astype(np.float64)
        if self.name == "linear":
            return squares
        inner = self.gamma * squares + self.coef0
        with np.errstate(over="ignore"):  # the caller checks whether they are finite
            kept = inner**self.degree if self.name == "poly" else np.tanh(inner)
            return kept.astype(np.float32).astype(np.float64)

    def row_diagonal(self, x: np.ndarray) -> float | None:
        """k(x, x) of one dense row; None where it is no number to compute with."""
        if self.is_distance:
            return 1.0
        from .rows import Rows

        diagonal = float(self.diagonal(Rows.of(x[None, :]))[0])
        return diagonal if np.isfinite(diagonal) else None

    @np.errstate(over="ignore")
    def bound(self, X: Rows) -> np.ndarray:
        """At least |k| of these rows among themselves, infinite beyond single precision."""
        squares = X.squares.astype(np.float64)
        if self.name != "poly":
            return squares
        return ((self.gamma * squares + abs(self.coef0)) ** self.degree).astype(np.float32)

    def _over_rows(
        self,
        task: Callable[[int, int], Any],
        X: Rows,
        Z: Rows,
        triangle: bool = False,
        beside: int = 0,
    ) -> None:
        """Run ``task`` over the rows of X, on several threads where that saves time."""
        values = len(X) * (beside + len(X) // 2 if triangle else len(Z))
        width = min(X.width(), Z.width()) if len(Z) else X.width()
        if values * (_FUNCTION_WORK + width) < _INLINE_WORK:
            task(0, len(X))
            return
        from ..runtime.threads import over_rows, thread_count

        over_rows(task, len(X), thread_count(self.n_jobs), triangle, beside)

    def _python_block(self, X: Rows, Z: Rows) -> np.ndarray:
        if self.name == "precomputed":
            return np.ascontiguousarray(X.values[:, Z.key])  # type: ignore[call-overload]
        # In double precision, so that a value rounded to single precision does not depend on the
        # shape of the call: a matrix product sums in another order for another shape.
        return self.call(X.to_array(), Z.to_array(), np.float32)

    def call(self, left: Any, right: Any, dtype: Any) -> np.ndarray:
        """The values of a callable kernel on two arrays."""
        assert self.function is not None
        values = self.function(left, right)
        values = values.toarray() if sparse.issparse(values) else np.asarray(values)
        return check_callable_block(values, (left.shape[0], right.shape[0]), dtype)


@lru_cache(maxsize=64)
def _params(name: str, gamma: float, coef0: float, degree: int) -> KernelParams:
    from .tiles.dense import KernelCode, KernelParams
    from .tiles.rbf import LARGEST_GAMMA

    # An infinite one would make NaN of a dot product of zero.
    gamma, coef0 = (min(max(value, -LARGEST_GAMMA), LARGEST_GAMMA) for value in (gamma, coef0))
    # Larger powers are 0, 1 or infinite; the sign depends on whether the degree is odd.
    degree = degree if degree < 2**31 else 2**31 - 2 + degree % 2
    return KernelParams(KernelCode[name], np.float32(gamma), np.float32(coef0), int(degree))


def check_size(values: np.ndarray) -> None:
    """Refuse values that are not finite."""
    if not np.isfinite(values).all():
        raise ValueError(
            "The values are too large for kernel values in single precision; scale the features "
            "(for example with StandardScaler)."
        )


def check_callable_block(
    values: np.ndarray, shape: tuple[int, int], dtype: Any = np.float32
) -> np.ndarray:
    """A callable's result as an array of ``dtype``; raises an error if invalid."""
    if values.shape != shape:
        raise ValueError(
            f"The kernel function returned an array of shape {values.shape} for {shape[0]} by "
            f"{shape[1]} examples; it must return shape {shape}."
        )
    if np.iscomplexobj(values):
        raise ValueError("The kernel function must return real numbers, not complex ones.")
    try:
        with np.errstate(over="ignore"):
            block = np.ascontiguousarray(values, dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The kernel function must return real numbers: {error}.") from error
    if not np.isfinite(block).all():
        raise ValueError(
            "The kernel function returned NaN or infinity (or a value beyond "
            f"{'single' if dtype == np.float32 else 'double'} precision); check it on these "
            "examples."
        )
    return block


def make_kernel(
    kernel: str | Callable[[Any, Any], Any],
    *,
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 0.0,
    n_jobs: int | None = None,
    X: Any = None,
) -> Kernel:
    """A kernel with gamma resolved (``resolve_gamma``).

    On a stream ``X`` is the first block, which fixes gamma.
    """
    if callable(kernel):
        return Kernel("callable", function=kernel, n_jobs=n_jobs)
    if kernel not in KERNEL_NAMES:
        raise ValueError(
            f"kernel={kernel!r} does not exist; choose one of {', '.join(KERNEL_NAMES)}, "
            f"or pass a function of two arrays.{nearest_kernel(kernel)}"
        )
    gamma = resolve_gamma(gamma, X, kernel)
    return Kernel(kernel, gamma, int(degree), float(coef0), n_jobs=n_jobs)


def nearest_kernel(kernel: str) -> str:
    """A suggestion of the most similar kernel name; empty if there is none."""
    nearest = difflib.get_close_matches(kernel.lower(), KERNEL_NAMES, n=1, cutoff=0.5)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""


@np.errstate(over="ignore", invalid="ignore")  # values that large are refused as rows
def resolve_gamma(gamma: float | str, X: Any, kernel: str = "rbf") -> float:
    """The number that ``gamma`` stands for on these examples.

    ``"scale"`` is 1 / (features * variance of X); for ``laplacian`` 1 / the sum of the standard
    deviations of the columns, for ``matern12`` 1 / the root of the sum of their variances: the distance
    of two rows is then about 1.
    """
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma != "scale":
        raise ValueError(f"gamma={gamma!r} is not valid; use 'scale', 'auto' or a number.")
    if kernel in COLUMN_NAMES:
        return gamma_of_columns(kernel, column_moments(X)[1] / X.shape[0])
    variance = _variance(X) if sparse.issparse(X) else np.var(X, dtype=np.float64)
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def gamma_of_columns(kernel: str, variances: np.ndarray) -> float:
    """``gamma="scale"`` of a kernel whose distance is not squared, from the variances of the columns."""
    spread = np.sqrt(variances).sum() if kernel == "laplacian" else np.sqrt(variances.sum())
    return float(1.0 / spread) if spread > 0 else 1.0


def column_moments(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each column, and its sum of squared deviations from it: no squares that cancel."""
    if not sparse.issparse(X):
        wide = np.asarray(X, np.float64)
        mean = wide.mean(axis=0)
        return mean, ((wide - mean) ** 2).sum(axis=0)
    X = X.tocsc()
    n, stored = X.shape[0], np.diff(X.indptr)
    column, data = np.repeat(np.arange(X.shape[1]), stored), np.asarray(X.data, np.float64)
    mean = np.bincount(column, data, X.shape[1]) / n
    squares = np.bincount(column, (data - mean[column]) ** 2, X.shape[1])
    return mean, squares + (n - stored) * mean**2


def _variance(X: Any) -> float:
    """Variance of all values of sparse X, from differences: far from zero, squares cancel."""
    data, size = np.asarray(X.data, np.float64), X.shape[0] * X.shape[1]
    mean = data.sum() / size
    return float((((data - mean) ** 2).sum() + (size - len(data)) * mean**2) / size)


# -- the centre of the rows ---------------------------------------------------------------


@np.errstate(over="ignore")  # values that large are refused as rows
def centre_of(X: Any, kernel: Kernel, kept_sparse: bool) -> np.ndarray | None:
    """The median of each column of X; None if sparse rows are near zero without a shift.

    Kernels of a distance do not change when all rows are shifted, but rows near zero keep more digits
    in single precision, and their kernel values can be computed from dot products (``rbf``). The mean
    would follow one value of 1e7 among thousands; the median does not. A column of which the greater
    part is zero has the median zero: rows that are kept sparse stay so when they are shifted.
    """
    some = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], CENTRE_SAMPLE)).astype(np.int64)]
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
