"""Slacks of examples after a model has changed, without scoring all of them again.

If the coefficients of some rows r change by D_r, and the bias by d, decision values change by

    h(x) = sum_r D_r k(x, x_r) + d,      |sum_r D_r k(x, x_r)| <= |D| sqrt(k(x, x)),

with |D|^2 = sum_rs D_r D_s k(x_r, x_s) (Cauchy-Schwarz, for positive definite kernels). The slack of
an example was known before, so this bounds it now. Few examples can have become violators, and only
these are looked at more closely: for them the sum over the rows that changed most is computed, and the
inequality is used for the rest; and so on, group by group, until the sum is complete or the example is
ruled out. What is left is to be scored by the model itself.

|D|^2 follows from the gradients g = p - K alpha of the rows held, which are known before and after:
sum_s D_s k(x_r, x_s) is what g has decreased by. Rows that were removed are the first group.

``Judged`` keeps the slacks of a data set together with a mark of the model that they belong to.

Symbols: ``slacks[m, i]`` as in ``second_look``: -inf for members, +inf where nothing is known.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from ...examples import Examples
from ...kernel.kernel import Kernel
from ...kernel.rows import Rows
from ...runtime.interrupts import checkpoint
from ..state import Support
from . import block

if TYPE_CHECKING:
    from ..learner import LASVM

EDGES = (64, 512)
"""Ends of the groups of rows whose coefficients have changed, those that have changed most first."""

PART = 8192
"""Examples that are looked at together; Ctrl-C is heard between two parts."""

KEPT_SHARE = 0.1
"""Share of the memory meant for kernel values that slacks may take after a fit."""

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
    mark: bytes  # of the model


def mark_of(support: Support) -> bytes:
    """A mark that changes with the coefficients, the biases and the rows that they belong to."""
    found = blake2b(digest_size=16)
    for array in (support.alpha(), support.a.bias, support.a.key[: support.n]):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()


def judged_by(learner: LASVM, slacks: np.ndarray, bound: np.ndarray) -> Judged | None:
    """What is worth keeping of the slacks of a data set by the model as it is; None: too large."""
    if 4 * slacks.size > KEPT_SHARE * learner.cache_size * 2**20:
        return None
    same = len(bound) > 0 and bool((bound == bound[0]).all())
    with np.errstate(over="ignore"):  # too large for single precision is not known
        kept = slacks.astype(np.float32)
    return Judged(kept, bound[:1].copy() if same else bound.copy(), mark_of(learner.support))


class Moved(NamedTuple):
    """Rows whose coefficients have changed, and what the change does to their own decision values."""

    rows: Rows
    coef: np.ndarray  # (machines, rows): D
    effect: np.ndarray  # (machines, rows): sum_s D_s k(x_r, x_s)
    length: np.ndarray  # (rows,): sqrt(k(x_r, x_r))

    def take(self, which: slice) -> Moved:
        """Some of them; the effect is still that of all."""
        own = self.coef[:, which], self.effect[:, which], self.length[which]
        return Moved(self.rows.take(which), *own)

    def without(self, kernel: Kernel, rows: Rows, coef: np.ndarray) -> Moved:
        """The same with the effect of these other rows taken away."""
        return self._replace(effect=self.effect - block.product(kernel, self.rows, rows, coef).T)

    def square(self) -> np.ndarray:
        """|D|^2 of each machine, if the effect is that of these rows alone."""
        return np.asarray((self.coef * self.effect).sum(axis=1))

    def total(self) -> np.ndarray:
        """sum_r |D_r| sqrt(k(x_r, x_r)) of each machine."""
        return np.asarray(np.abs(self.coef) @ self.length)

    def reach(self, kernel: Kernel, error: float, total: np.ndarray) -> np.ndarray | None:
        """|D|, and the rounding errors of sums over rows with this ``total``; None: no bound is known."""
        if not len(self.rows):
            return error * total
        if not kernel.is_definite:
            return None
        return np.sqrt(np.maximum(self.square(), 0.0) + error * self.total() ** 2) + error * total


class Group(NamedTuple):
    """Rows whose coefficients have changed, and a bound for those that come after them."""

    rows: Rows
    coef: np.ndarray  # (machines, rows): by how much they have changed
    rest: np.ndarray | None
    """(machines,): what all later groups add to h(x), over sqrt(k(x, x)), at most; None: unknown."""


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

    def note_removed(self, rows: Rows, slot: np.ndarray, order: np.ndarray) -> None:
        """These rows have left their slots; ``order``: the slot that each of the others had."""
        coef = -self._alpha[:, slot]
        self._gone = (rows, coef) if coef.any() else None
        self._order = order

    def raise_slacks(self, data: DataSet | None, slacks: np.ndarray, threshold: np.ndarray) -> None:
        """Slacks of the examples by the reference become upper bounds of those by the model now.

        Those that exceed ``threshold`` (machines,) have been computed, to rounding, if the data set is
        at hand; in regression they are bounds all the same.
        """
        reach, groups = self._groups()
        bias = self.learner.support.a.bias - self._bias
        most, known = (reach + np.abs(bias))[:, None], np.isfinite(slacks)
        near = (known & (slacks > threshold[:, None] - most)).any(axis=0)
        if data is None or not groups:
            near[:] = False
        np.add(slacks, most, out=slacks, where=known & ~near)
        which = np.flatnonzero(near)
        for first in range(0, len(which), PART):
            assert data is not None
            checkpoint()
            self._raise(data, slacks, threshold, which[first : first + PART], groups, bias)

    def _raise(
        self, data: DataSet, slacks: np.ndarray, threshold: np.ndarray, which: np.ndarray,
        groups: list[Group], bias: np.ndarray,
    ) -> None:  # fmt: skip
        """Group by group, for the examples that the groups before have not ruled out."""
        support, fresh = self.learner.support, data.take(which)
        change = np.repeat(bias[:, None], len(which), axis=1)
        for group in groups:
            change += block.product(self.learner.kernel, fresh.rows, group.rows, group.coef).T
            if group.rest is None:
                continue
            linear = support.linear(fresh.label)
            upper = support.task.slack_after(linear, slacks[:, which], change)
            upper += group.rest[:, None] * _lengths(fresh.diagonal)
            near = (upper > threshold[:, None]).any(axis=0)
            last = group is groups[-1]
            out = np.ones(len(which), bool) if last else ~near
            slacks[:, which[out]] = upper[:, out]
            if last or not near.any():
                return
            which, fresh, change = which[near], fresh.take(near), change[:, near]

    def _groups(self) -> tuple[np.ndarray, list[Group]]:
        """What all changes together add to h(x) at most, and the rows that have changed, in groups.

        The first is infinite unless k(x, x) = 1 for every x: else it depends on the example.
        """
        kernel = self.learner.kernel
        moved, groups = self._moved(), []
        square, total = moved.square(), moved.total()
        error = _ROUNDING + min(kernel.dot_error(moved.rows, moved.rows), _OF_DISTANCES)
        if self._gone is not None:
            gone, coef = self._gone
            effect = block.product(kernel, gone, gone, coef)
            effect += block.product(kernel, gone, moved.rows, moved.coef)
            square = square + (coef * effect.T).sum(axis=1)
            total = total + np.abs(coef) @ _lengths(kernel.diagonal(gone))
            moved = moved.without(kernel, gone, coef)
            groups.append(Group(gone, coef, moved.reach(kernel, error, total)))
        n = len(moved.rows)
        for size in np.diff([0, *(edge for edge in EDGES if edge < n), n]) if n else ():
            group, moved = moved.take(slice(0, size)), moved.take(slice(size, None))
            if len(moved.rows) and kernel.is_definite:
                moved = moved.without(kernel, group.rows, group.coef)
            groups.append(Group(group.rows, group.coef, moved.reach(kernel, error, total)))
        if groups and not kernel.is_distance:
            return np.full_like(total, np.inf), groups
        return np.sqrt(np.maximum(square, 0.0) + error * total**2), groups

    def _moved(self) -> Moved:
        """The rows held whose coefficients have changed, those that have changed most first."""
        support = self.learner.support
        coef = support.alpha() - self._alpha[:, self._order]
        length = _lengths(support.diagonal())
        size = (np.abs(coef) / support.unit[:, None]).max(axis=0)
        which = np.flatnonzero(size)
        which = which[np.argsort(-(size * length)[which], kind="stable")]
        effect = self._grad[:, self._order[which]] - support.a.grad[:, which]
        return Moved(support.rows().take(which), coef[:, which], effect, length[which])


def _lengths(diagonal: np.ndarray) -> np.ndarray:
    """sqrt(k(x, x)); zero where a kernel that is not definite has it negative."""
    return np.sqrt(np.maximum(diagonal, 0.0))
