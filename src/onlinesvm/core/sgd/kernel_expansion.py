"""A growing kernel expansion: rows with coefficients of one or more machines.

    o_m(x) = scale_m sum_s coef[m, s] k(x, x_s) + bias_m

``past`` holds what the running average of all past coefficients needs (``core/sgd/steps.py``). Machine m
calls the label ``positive[m]`` +1 and every other label -1; two labels share one machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..examples import Examples
from ..kernel.rows import Rows, RowStore
from ..runtime.compact import Compact
from .steps import Machines

_PER_ROW = ("label", "bound", "key")
_PER_MACHINE = ("coef", "past")


def make_machines(positive: list[int]) -> Machines:
    """Machines that have learned nothing."""
    n = len(positive)
    return Machines(
        positive=np.array(positive, np.int64),
        step=np.zeros(n, np.int64),
        scale=np.ones(n),
        total=np.zeros(n),
        bias=np.zeros(n),
        bias_past=np.zeros(n),
        factor=np.ones(n),
        carried=np.zeros(n),
    )


def join_machines(k: Machines, other: Machines) -> Machines:
    return Machines(*(np.concatenate(pair) for pair in zip(k, other, strict=True)))


class Expansion(Compact):
    """Rows and their coefficients; slots 0 .. n-1 are in use."""

    def __init__(self, like: Rows, machines: int, capacity: int = 64):
        self.store = RowStore(like, capacity)
        self.n = 0
        self.coef = np.zeros((machines, capacity))
        self.past = np.zeros((machines, capacity))
        self.label = np.zeros(capacity, np.int64)
        self.bound = np.zeros(capacity)
        self.key = np.zeros(capacity, np.int64)

    def _in_use(self) -> dict[str, Any]:
        names = (*_PER_ROW, *_PER_MACHINE)
        return self.__dict__ | {name: getattr(self, name)[..., : self.n] for name in names}

    def rows(self) -> Rows:
        return self.store.rows()

    def coefficients(self) -> np.ndarray:
        return self.coef[:, : self.n]

    def examples(self, which: slice) -> Examples:
        """Some of the rows, as the examples they once were."""
        rows = self.rows().take(which)
        label, bound, key = (getattr(self, name)[: self.n][which] for name in _PER_ROW)
        return Examples(rows, label, bound, np.zeros(len(rows)), key)

    def gather(self, slots: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and past sums at ``slots``; zero where a slot is -1."""
        known = slots >= 0
        coef, past = np.zeros((2, len(self.coef), len(slots)))
        coef[:, known] = self.coef[:, slots[known]]
        past[:, known] = self.past[:, slots[known]]
        return coef, past

    def fade(self, k: Machines) -> None:
        """What a block did to all coefficients outside of it."""
        for m in np.flatnonzero((k.factor != 1.0) | (k.carried != 0.0)):
            self.past[m, : self.n] += self.coef[m, : self.n] * k.carried[m]
            self.coef[m, : self.n] *= k.factor[m]

    def put(self, fresh: Examples, slots: np.ndarray, coef: np.ndarray, past: np.ndarray) -> None:
        """New coefficients of the examples; those at slot -1 join if they have any."""
        known = slots >= 0
        self.coef[:, slots[known]] = coef[:, known]
        self.past[:, slots[known]] = past[:, known]
        new = np.flatnonzero(~known & (coef.any(axis=0) | past.any(axis=0)))
        if not len(new):
            return
        n, total = self.n, self.n + len(new)
        self._reserve(total)
        for name in _PER_ROW:
            getattr(self, name)[n:total] = getattr(fresh, name)[new]
        self.coef[:, n:total], self.past[:, n:total] = coef[:, new], past[:, new]
        self.store.append(fresh.rows.take(new))
        self.n = total

    def _reserve(self, needed: int) -> None:
        more = max(needed, 2 * len(self.label)) - len(self.label)
        if needed <= len(self.label):
            return
        for name in _PER_ROW:
            setattr(self, name, np.pad(getattr(self, name), (0, more)))
        for name in _PER_MACHINE:
            setattr(self, name, np.pad(getattr(self, name), ((0, 0), (0, more))))

    def sweep(self, negligible: float) -> None:
        """Drop rows whose share in every machine is at most ``negligible``, in order of slots."""
        coef, past = abs(self.coefficients()), abs(self.past[:, : self.n])
        limit = negligible * coef.max(axis=1, initial=0.0)
        used = ((coef > limit[:, None]) | (past > 0.0)).any(axis=0)
        left = int(used.sum())
        if left == self.n:
            return
        source = np.flatnonzero(used)
        for name in _PER_ROW:
            array = getattr(self, name)
            array[:left] = array[source]
        for name in _PER_MACHINE:
            array = getattr(self, name)
            array[:, :left] = array[:, source]
        self.store.move(source, np.arange(left), left)
        self.n = left

    def split_classes(self) -> None:
        """One binary machine becomes two, one a class."""
        self.coef = np.concatenate([-self.coef, self.coef])
        self.past = np.concatenate([-self.past, self.past])

    def add_machine(self) -> None:
        empty = np.zeros((1, len(self.label)))
        self.coef = np.concatenate([self.coef, empty])
        self.past = np.concatenate([self.past, empty])


def split_machine(k: Machines) -> Machines:
    """The machine of two labels as seen from each of them."""
    mirrored = k._replace(positive=np.array([0]), bias=-k.bias, bias_past=-k.bias_past)
    return join_machines(mirrored, k._replace(positive=np.array([1])))
