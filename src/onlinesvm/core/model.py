"""The interface of a learner: its methods, and its model, an expansion that owns its arrays.

    f_m(x) = sum_s coef[m, s] k(x, x_s) + bias_m

Learning never changes these arrays, so a model may be used while learning continues.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from .examples import Examples
from .kernel.kernel import Kernel, Summands
from .kernel.rows import Rows, RowStore, pack
from .kernel.tiles.dense import SparseRows
from .runtime.interrupts import checkpoint

_PART_WORK, _FUNCTION_WORK = 4_000_000_000, 30
"""Number of multiplications between two checkpoints for Ctrl-C: a fraction of a second. The kernel
function counts as thirty of them."""

_SLOW_PART = 1024
"""Rows between two looks where the kernel is a Python function."""


class Model(NamedTuple):
    """Support vectors and their coefficients, one row per machine."""

    rows: Rows
    coef: np.ndarray
    bias: np.ndarray
    key: np.ndarray  # numbers of the rows in the data given to ``fit``; negative: of a stream
    label: np.ndarray
    unit_length: bool  # f is divided by the length of phi(x)
    summands: Summands  # rows and coefficients, in the order in which the kernel adds them

    def with_rows(self, kernel: Kernel, rows: Rows, coef: np.ndarray) -> Model:
        """The model with other support vectors and coefficients."""
        return self._replace(rows=rows, coef=coef, summands=kernel.summands(rows, coef))

    def decide(self, kernel: Kernel, rows: Rows) -> np.ndarray:
        """Decision values, (n, machines). Does not count as training."""
        kernel = replace(kernel)
        values = weighted_sums(kernel, rows, self.summands) + self.bias
        if self.unit_length and not (kernel.name == "precomputed" and rows.key is None):
            length = np.sqrt(np.maximum(kernel.diagonal(rows), 0.0))
            values /= np.where(length > 0, length, 1.0)[:, None]
        return values


@runtime_checkable
class Learner(Protocol):
    """The interface of every learner. Labels are 0, 1, ... in the order of ``add_label``.

    Learners inherit from it; methods with a body here are the default.
    """

    kernel: Kernel
    n_labels: int
    watch: Any = None
    """Records decision values before examples are learned (``core.prequential``), or None."""

    # -- learning -------------------------------------------------------------------------

    @abstractmethod
    def add_label(self) -> None:
        """One more label."""

    @abstractmethod
    def learn(self, fresh: Examples) -> None:
        """Examples of a stream, in order."""

    def learn_again(self, again: Examples) -> None:
        """Examples of a stream that were learned before, known by their keys: another look at them.

        By default they count as others.
        """
        self.learn(again)

    def learn_row(
        self, x: np.ndarray, wide: np.ndarray, label: Any, bound: float, key: int = -1
    ) -> bool:
        """One dense row, float32 and shifted like the others, with a compiled kernel.

        ``wide`` is the row before it became float32, ``key`` as in ``Examples``. False: nothing was done, and the row must be
        passed to ``learn``, after full validation.
        """
        diagonal = self.kernel.row_diagonal(x)
        if diagonal is None:
            return False
        about = (np.array([value]) for value in (label, bound, diagonal, key))
        rows = Rows.of(x[None, :], absolute=self.kernel.absolute)
        if rows.squares[0] > self.kernel.far:
            return False
        self.learn(Examples(rows, *about))
        return True

    def learn_everything(self) -> None:
        """Examples are chosen by others from now on, as those of a pool: learn each of them."""
        return

    @abstractmethod
    def finish(self) -> bool | None:
        """The finishing step of the paper; False if it did not reach its tolerance."""

    @abstractmethod
    def finishing_work(self) -> float:
        """About how many kernel values the finishing step needs; 0 if nothing is left to do."""

    # -- what was learned -----------------------------------------------------------------

    @abstractmethod
    def expansion(self) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        """Support vectors, their coefficients (machines, n), the biases, and the slots."""

    @abstractmethod
    def keys(self, slots: np.ndarray) -> np.ndarray:
        """Numbers of these rows in the data given to ``fit``; negative for those of a stream."""

    @abstractmethod
    def labels(self, slots: np.ndarray) -> np.ndarray:
        """Labels of these rows."""

    def decide_row(self, x: np.ndarray, wide: np.ndarray) -> np.ndarray | None:
        """Decision values of one dense row, given as to ``learn_row``; None: ask a ``Model``."""
        return None

    def held_values(self, slots: np.ndarray) -> np.ndarray | None:
        """Decision values (n, machines) of these rows, where they follow from what is stored of them; None:
        they have to be computed.
        """
        return None

    def values_without(self, slots: np.ndarray) -> np.ndarray | None:
        """Decision values (n, machines) of these rows, by the model without all of them; None: not known."""
        return None

    @property
    def unit_length(self) -> bool:
        """Whether f(x) is divided by the length of phi(x)."""
        return False

    # -- its state ------------------------------------------------------------------------

    @abstractmethod
    def stores(self) -> list[RowStore]:
        """Where the rows are; none where what is kept of them cannot become wider."""

    @property
    def window(self) -> int | None:
        """Number of most recent examples that count; None: all."""
        return None

    def labels_in_window(self) -> np.ndarray | None:
        """Whether the window has examples of each label; None: it has, or there is no window."""
        return None

    def gap(self) -> float | None:
        """Optimality gap of the model; None if it is not measured."""
        return None

    def is_precise(self) -> bool:
        """Whether rounding errors of kernel values are small compared with the decision values."""
        return True

    def choices(self) -> tuple[int, int] | None:
        """Numbers of examples scored and learned; None without selection of examples."""
        return None


@runtime_checkable
class EpochLearner(Learner, Protocol):
    """A learner that goes through a data set in passes that need nothing but an order."""

    @abstractmethod
    def epoch(self, data: Examples, order: np.ndarray) -> Iterator[int]:
        """One pass over the data set; yields how many examples are done."""


def model_of(learner: Learner) -> Model:
    """A copy of what the learner has learned."""
    rows, coef, bias, slots = learner.expansion()
    key, label = learner.keys(slots), learner.labels(slots)
    rows, unit_length = owned_rows(rows), bool(learner.unit_length)
    coef = coef.copy()
    summands = learner.kernel.summands(rows, coef)
    return Model(rows, coef, bias.copy(), key.copy(), label.copy(), unit_length, summands)


def owned_rows(rows: Rows) -> Rows:
    """The rows in arrays of their own, without what others have in theirs."""
    if isinstance(rows.values, SparseRows):
        values: Any = SparseRows(*(array.copy() for array in pack(rows.values)))
    else:
        values = rows.values if rows.values.flags.owndata else rows.values.copy()
    key = None if rows.key is None else rows.key.copy()
    rest = rows.n_features, key, rows.low.copy(), rows.whole, rows.absolute
    return Rows(values, rows.squares.copy(), *rest)


def product(kernel: Kernel, X: Rows, Z: Rows, coef: np.ndarray) -> np.ndarray:
    """``kernel.product`` in parts, with a checkpoint for Ctrl-C between them. Changes nothing."""
    return weighted_sums(kernel, X, kernel.summands(Z, coef))


def weighted_sums(kernel: Kernel, X: Rows, summands: Summands) -> np.ndarray:
    """``kernel.weighted_sums`` in parts, as ``product``."""
    Z, coef = summands
    work = max(1, len(Z)) * (_FUNCTION_WORK + min(X.width(), Z.width()) + len(coef))
    size = max(1, int(_PART_WORK / work)) if kernel.is_compiled else _SLOW_PART
    if size >= len(X):
        return kernel.weighted_sums(X, summands)
    out = np.empty((len(X), len(coef)))
    for first in range(0, len(X), size):
        part = slice(first, first + size)
        out[part] = kernel.weighted_sums(X.take(part), summands)
        checkpoint()
    return out
