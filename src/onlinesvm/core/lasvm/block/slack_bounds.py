"""Slacks of examples after a model has changed, without scoring all of them again.

If the coefficients of some rows r change by D_r, and the bias by d, decision values change by

    h(x) = sum_r D_r k(x, x_r) + d,      |sum_r D_r k(x, x_r)| <= |D| sqrt(k(x, x)),

with |D|^2 = sum_rs D_r D_s k(x_r, x_s) (Cauchy-Schwarz). The slack of an example was known before, so
this bounds it now; it is used for kernels of a distance, which have k(x, x) = 1 and are positive
definite. For the examples that it does not rule out, h(x) is computed: the rows that have changed are
far fewer than the support vectors. Examples whose slack may exceed the threshold even so are to be
scored by the model itself.

Where all rows lie close to a point c in feature space, as with a wide kernel, the part of h along c is
known, and only the rest of each example counts:

    sum_r D_r k(x, x_r) = h_c k(x, c) + rest,    |rest| <= sqrt(|D|^2 - h_c^2) sqrt(1 - k(x, c)^2),

h_c = sum_r D_r k(c, x_r), which takes one kernel value for each example.

|D|^2 follows from the gradients g = p - K alpha of the rows held, which are known before and after:
sum_s D_s k(x_r, x_s) is what g_r has decreased by.

``Judged`` keeps the slacks of a data set together with a mark of the model that they belong to.

Symbols: ``slacks[m, i]`` as in ``second_look``: -inf for members, +inf where nothing is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ...examples import Examples
from ...kernel.kernel import Kernel
from ...kernel.rows import Rows, RowStore
from ...model import owned_rows
from ...runtime.interrupts import checkpoint
from ..state import Support
from . import block

if TYPE_CHECKING:
    from ..learner import LASVM

PART = 8192
"""Examples that are looked at together; Ctrl-C is heard between two parts."""

KEPT_SHARE = 0.1
"""Share of the memory meant for kernel values that slacks may take after a fit."""

CLOSE, FEWEST_ROWS = 0.5, 64
"""Mean distance sqrt(1 - k(x, c)^2) from the centre up to which a bound by it pays, where so many rows
have changed."""

_ROUNDING, _OF_DISTANCES = 2.0**-20, 1e-5
"""Relative errors of kernel values in single precision, and the most that dot products add where the
kernel is a function of a distance (``kernel.tiles.rbf``)."""


class DataSet(Protocol):
    """Examples of which some can be taken: ``Examples``, or what makes them when they are needed."""

    @property
    def key(self) -> np.ndarray:
        """Their numbers."""

    @property
    def label(self) -> np.ndarray:
        """Their labels."""

    @property
    def bound(self) -> np.ndarray:
        """Their bounds C."""

    def take(self, which: np.ndarray) -> Examples:
        """Some of them."""


class Judged(NamedTuple):
    """Slacks of the examples of a data set, or upper bounds of them, and their bounds C."""

    slacks: np.ndarray  # (machines, n) float32
    bound: np.ndarray  # (n,), or (1,) where all are the same
    mark: int  # of the model, in this process


def mark_of(support: Support) -> int:
    """A mark that changes with the coefficients, the biases and the rows that they belong to."""
    arrays = support.alpha(), support.a.bias, support.a.key[: support.n]
    return hash(tuple(array.tobytes() for array in arrays))


def judged_by(learner: LASVM, slacks: np.ndarray, bound: np.ndarray) -> Judged | None:
    """What is worth keeping of the slacks of a data set by the model as it is; None: too large."""
    if 4 * slacks.size > KEPT_SHARE * learner.cache_size * 2**20:
        return None
    same = len(bound) > 0 and bool((bound == bound[0]).all())
    with np.errstate(over="ignore"):  # too large for single precision is not known
        kept = slacks.astype(np.float32)
    return Judged(kept, bound[:1].copy() if same else bound.copy(), mark_of(learner.support))


class Change(NamedTuple):
    """What has changed between two models: h(x) = sum_r coef_r k(x, x_r) + bias, for each machine."""

    rows: Rows
    coef: np.ndarray  # (machines, rows)
    bias: np.ndarray
    most: np.ndarray  # the largest |h(x)|; infinite unless k(x, x) = 1 for every x
    rounding: np.ndarray  # errors of h(x), over sqrt(k(x, x))
    centre: Centre | None


class Centre(NamedTuple):
    """A point c near which most rows lie, in feature space."""

    row: Rows
    value: np.ndarray  # sum_r D_r k(c, x_r) of each machine
    beside: np.ndarray  # at least the length of the part of sum_r D_r phi(x_r) orthogonal to phi(c)
    error: float  # of kernel values

    def most(self, change: Change, rows: Rows, kernel: Kernel) -> np.ndarray:
        """The largest |h(x)| of these rows, (machines, n)."""
        k = kernel.block(rows, self.row)[:, 0].astype(np.float64)
        beside = np.sqrt(np.clip(1.0 - k**2, 0.0, 1.0) + 2 * self.error)
        along = np.abs(self.value[:, None] * k + change.bias[:, None])
        return along + self.beside[:, None] * beside + change.rounding[:, None]


class Reference:
    """A model at one moment. ``raise_slacks`` compares it with what has become of it."""

    def __init__(self, learner: LASVM):
        self.learner = learner
        self.begin()

    def begin(self) -> None:
        """From here on, changes count."""
        support = self.learner.support
        self._alpha, self._bias = support.alpha().copy(), support.a.bias.copy()
        self._grad = support.a.grad[:, : support.n].copy()
        self._order = np.arange(support.n)  # the slot that each row had
        self._gone: tuple[Rows, np.ndarray] | None = None

    def note_leaving(self, slot: np.ndarray) -> None:
        """The rows of these slots are about to leave."""
        coef = -self._alpha[:, slot]
        carry = np.flatnonzero(coef.any(axis=0))
        if len(carry):
            rows = owned_rows(self.learner.support.rows().take(slot[carry]))
            self._gone = (rows, coef[:, carry])

    def note_order(self, order: np.ndarray) -> None:
        """Rows have left their slots; ``order``: the slot that each of the others had."""
        self._order = order

    def raise_slacks(self, data: DataSet | None, slacks: np.ndarray, threshold: np.ndarray) -> None:
        """Slacks of the examples by the reference become upper bounds of those by the model now.

        Those that may exceed ``threshold`` (machines,) are computed, to rounding, if the data set is
        at hand; in regression they are bounds all the same.
        """
        change, known = self._change(), np.isfinite(slacks)
        near = (known & (slacks > (threshold - change.most)[:, None])).any(axis=0)
        if data is None or not len(change.rows):
            near[:] = False
        np.add(slacks, change.most[:, None], out=slacks, where=known & ~near)
        which = np.flatnonzero(near)
        for first in range(0, len(which), PART):
            assert data is not None
            checkpoint()
            part = which[first : first + PART]
            fresh = data.take(part)
            if change.centre is not None:
                most = change.centre.most(change, fresh.rows, self.learner.kernel)
                raised = slacks[:, part] + most
                may = (known[:, part] & (raised > threshold[:, None])).any(axis=0)
                slacks[:, part] = np.where(known[:, part] & ~may, raised, slacks[:, part])
                part, fresh = part[may], fresh.take(np.flatnonzero(may))
            slacks[:, part] = self._after(change, fresh, slacks[:, part])

    def _after(self, change: Change, fresh: Examples, slacks: np.ndarray) -> np.ndarray:
        """Slacks of examples by the model now, from those before; larger by what rounding may add."""
        support, kernel = self.learner.support, self.learner.kernel
        moved = block.product(kernel, fresh.rows, change.rows, change.coef).T
        moved += change.bias[:, None]
        after = support.task.slack_after(support.linear(fresh.label), slacks, moved)
        return after + change.rounding[:, None] * _lengths(fresh.diagonal)

    def _change(self) -> Change:
        """What has become of the coefficients and the biases."""
        support, kernel = self.learner.support, self.learner.kernel
        coef = support.alpha() - self._alpha[:, self._order]
        which = np.flatnonzero(coef.any(axis=0))
        coef, rows = coef[:, which], support.rows().take(which)
        effect = self._grad[:, self._order[which]] - support.a.grad[:, which]
        square = (coef * effect).sum(axis=1)  # |D|^2
        if self._gone is not None:
            gone, left = self._gone
            rows, coef = _joined(gone, rows), np.hstack([left, coef])
            square = square + (left * block.product(kernel, gone, rows, coef).T).sum(axis=1)
        total = np.abs(coef) @ _lengths(kernel.diagonal(rows))
        error = _ROUNDING + min(kernel.dot_error(rows, rows), _OF_DISTANCES)
        most = np.sqrt(np.maximum(square, 0.0) + error * total**2)
        bias, centre = support.a.bias - self._bias, None
        if kernel.is_distance and len(rows) >= FEWEST_ROWS:
            centre = self._centre(rows, coef, most, total)
        elif len(rows) and not kernel.is_distance:
            most[:] = np.inf
        return Change(rows, coef, bias, most + np.abs(bias), error * total, centre)

    def _centre(
        self, rows: Rows, coef: np.ndarray, most: np.ndarray, total: np.ndarray
    ) -> Centre | None:
        """The mean of the rows that have changed, if most lie close to it."""
        kernel, array = self.learner.kernel, rows.to_array()
        row = Rows.of(np.asarray(array.mean(axis=0)).reshape(1, -1), absolute=rows.absolute)
        values = kernel.block(row, rows)[0].astype(np.float64)
        if 1.0 - values.mean() ** 2 > CLOSE**2:
            return None
        value, error = coef @ values, _ROUNDING + _OF_DISTANCES
        known = np.maximum(np.abs(value) - error * total, 0.0)
        return Centre(row, value, np.sqrt(np.maximum(most**2 - known**2, 0.0)), error)


def _joined(first: Rows, second: Rows) -> Rows:
    """Rows of both, in arrays of their own."""
    store = RowStore(first, len(first) + len(second))
    store.append(first)
    store.append(second)
    return store.rows()


def _lengths(diagonal: np.ndarray) -> np.ndarray:
    """sqrt(k(x, x)); zero where a kernel that is not definite has it negative."""
    return np.sqrt(np.maximum(diagonal, 0.0))
