"""The support set: rows, coefficients, gradients of one or more machines.

What a machine learns is its task (``tasks``). In classification, machine m calls label
``positive[m]`` +1 and every other label -1; its coefficients are signed (lasvm-2005, eq. 5):

    y = +1:  0 <= alpha <= bound        y = -1:  -bound <= alpha <= 0        sum(alpha) = 0

``grad[m, s] = p_s - sum_r alpha[m, r] K(s, r)`` (eq. 9, p = y) is kept for every row s that machine
m has as a ``member``. Rows are shared: a row leaves when no machine keeps it. Slots 0 .. n-1 are
in use; a hole is filled from the end.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..examples import Examples
from ..kernel.buffers import Buffers
from ..kernel.never_inline import never_inline
from ..kernel.rows import Rows, RowStore
from ..numerics import inner
from ..state.compact import Compact
from .tasks import ON_BOUND, Classification, Task, one_sided

# Places in SupportArrays.count
N, STORED, POSITION, PHASE, MACHINE, SLOT, NEED, ROUND = range(8)


class SupportArrays(NamedTuple):
    """What compiled loops see of the support set. Arrays are longer than the n in use."""

    alpha: np.ndarray  # (machines, capacity)
    grad: np.ndarray  # (machines, capacity)
    member: np.ndarray  # (machines, capacity) bool
    fresh: np.ndarray  # (machines, capacity) bool: members since the last step
    label: np.ndarray  # of a class; in regression the targets, (capacity, machines)
    bound: np.ndarray  # C of the row, weights included
    diagonal: np.ndarray  # K(s, s)
    key: np.ndarray  # the row's number in the data set, or -1
    column: np.ndarray  # where the row's values stand in the block of fresh kernel values
    handle: np.ndarray  # where the row itself is: in the store, or (>= STORED) in the block
    positive: np.ndarray  # (machines,)
    bias: np.ndarray  # (machines,)
    delta: np.ndarray  # (machines,)
    count: np.ndarray  # type: ignore[assignment]  # n, and where an interrupted pass goes on


_PER_ROW = ("label", "bound", "diagonal", "key", "column", "handle")
_PER_MACHINE = ("alpha", "grad", "member", "fresh")
_SCRATCH = ("fresh", "column", "handle")  # of no meaning between two calls


@inner(_nrt=False)
def extremes(m, a):
    """Slots of g_max and g_min (eq. 10) among machine m's members; -1 where there is none.

    Written so that what is hard to predict is selected, not branched on.
    """
    never_inline()
    top, bottom = -1, -1
    g_max, g_min = -np.inf, np.inf
    alpha, grad, member, positive = a.alpha[m], a.grad[m], a.member[m], a.positive[m]
    label, bound, n = a.label, a.bound, a.count[N]
    for s in range(n):
        plus = label[s] == positive
        hi = bound[s] if plus else 0.0
        lo = 0.0 if plus else -bound[s]
        up = grad[s] if (alpha[s] < hi) & member[s] else -np.inf
        down = grad[s] if (alpha[s] > lo) & member[s] else np.inf
        if up > g_max:
            top, g_max = s, up
        if down < g_min:
            bottom, g_min = s, down
    return top, bottom


class Support(Compact):
    """The support set with the storage of its rows."""

    def __init__(
        self, like: Rows, positive: list[int], capacity: int = 64, task: Task | None = None
    ):
        machines = len(positive)
        self.task: Task = task or Classification()
        self.unit = np.ones(machines)  # size of each machine's gradients, about
        self.store = RowStore(like, capacity)
        self.buffers = Buffers()
        self.a = SupportArrays(
            alpha=np.zeros((machines, capacity)),
            grad=np.zeros((machines, capacity)),
            member=np.zeros((machines, capacity), bool),
            fresh=np.zeros((machines, capacity), bool),
            label=self.task.no_labels(capacity),
            bound=np.zeros(capacity),
            diagonal=np.zeros(capacity),
            key=np.zeros(capacity, np.int64),
            column=np.zeros(capacity, np.int64),
            handle=np.zeros(capacity, np.int64),
            positive=np.array(positive, np.int64),
            bias=np.full(machines, -1.0),
            delta=np.full(machines, np.inf),
            count=np.zeros(8, np.int64),
        )

    def _in_use(self) -> dict[str, Any]:
        n = self.n
        cut: dict[str, Any] = {name: getattr(self.a, name)[:n] for name in _PER_ROW}
        cut |= {name: getattr(self.a, name)[:, :n] for name in _PER_MACHINE}
        cut |= dict.fromkeys(_SCRATCH)
        own = {"store": self.store, "task": self.task, "unit": self.unit}
        return own | {"a": self.a._replace(**cut)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        n, machines = self.n, self.machines
        self.buffers = Buffers()
        self.a = self.a._replace(
            fresh=np.zeros((machines, n), bool), column=np.arange(n), handle=np.arange(n)
        )

    @property
    def n(self) -> int:
        return int(self.a.count[N])

    @property
    def machines(self) -> int:
        return len(self.a.positive)

    def rows(self) -> Rows:
        return self.store.rows()

    def alpha(self) -> np.ndarray:
        return self.a.alpha[:, : self.n]

    def started(self) -> np.ndarray:
        """Whether each machine has a coefficient: in classification, it has seen both signs."""
        if not self.task.both_signs:
            return np.full(self.machines, self.n > 0)
        return np.asarray(self.alpha().any(axis=1))

    def expansion(self, machines: slice = slice(None)) -> tuple[Rows, np.ndarray]:
        """The rows that carry a coefficient in some of the machines, and their coefficients."""
        alpha = self.alpha()[machines]
        used = alpha.any(axis=0)
        if used.sum() > 0.9 * self.n:  # not worth the copy
            return self.rows(), alpha
        return self.rows().take(np.flatnonzero(used)), alpha[:, used]

    def slots(self, keys: np.ndarray) -> np.ndarray:
        """The slot of each key, -1 where it is not in the set."""
        own = self.a.key[: self.n]
        if not len(own) or not len(keys) or own.max() < 0 or keys.max() < 0:
            return np.full(len(keys), -1)
        table = np.full(max(own.max(), keys.max()) + 1, -1)
        table[own] = np.arange(self.n)
        return table[keys]

    def linear(self, labels: np.ndarray | None = None) -> np.ndarray:
        """The linear term p of every row for every machine, (machines, n): y in classification."""
        labels = self.a.label[: self.n] if labels is None else labels
        return self.task.linear(labels, self.a.positive)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """A and B of eq. (5), (machines, n) each."""
        return self.task.bounds(self.linear(), self.a.bound[: self.n])

    def reserve(self, needed: int) -> None:
        """Make room for ``needed`` slots; at least doubles, so growth costs little in the end."""
        if needed > len(self.a.label):
            self.grow_to(max(needed, 2 * len(self.a.label)))

    def grow_to(self, capacity: int) -> None:
        """Make room for exactly this number of slots."""
        more = capacity - len(self.a.label)
        grown = {name: _longer(getattr(self.a, name), more) for name in _PER_ROW}
        grown |= {name: np.pad(getattr(self.a, name), ((0, 0), (0, more))) for name in _PER_MACHINE}
        self.a = self.a._replace(**grown)

    def commit_rows(self, fresh: Rows) -> None:
        """Bring the store in line with ``handle`` after slots were filled, moved, freed."""
        n = self.n
        self.store.rearrange(self.a.handle[:n], fresh)
        self.a.handle[:n] = np.arange(n)
        self.a.count[STORED] = n

    def append(self, fresh: Examples, grad: np.ndarray, member: np.ndarray) -> None:
        """New rows with coefficient zero and the given gradients and memberships."""
        n, total = self.n, self.n + len(fresh.rows)
        self.reserve(total)
        part = slice(n, total)
        a = self.a
        a.label[part], a.bound[part], a.key[part] = fresh.label, fresh.bound, fresh.key
        a.diagonal[part], a.grad[:, part] = fresh.diagonal, grad
        a.alpha[:, part], a.member[:, part], a.fresh[:, part] = 0.0, member, member
        a.handle[part] = np.arange(n, total)
        a.count[N] = a.count[STORED] = total
        self.store.append(fresh.rows)

    def keep(self, mask: np.ndarray) -> None:
        """Drop the rows where ``mask`` is false; holes are filled from the end."""
        n, left = self.n, int(mask.sum())
        if left == n:
            return
        holes = np.flatnonzero(~mask[:left])
        tail = left + np.flatnonzero(mask[left:])
        for name in _PER_ROW:
            array = getattr(self.a, name)
            array[holes] = array[tail]
        for name in _PER_MACHINE:
            array = getattr(self.a, name)
            array[:, holes] = array[:, tail]
        self.store.move(tail, holes, left)
        self.a.handle[:left] = np.arange(left)
        self.a.count[N] = self.a.count[STORED] = left

    def measure(self) -> None:
        """b and delta of every machine from the gradients (eq. 10), step 5 of REPROCESS.

        A coefficient that rounding has left next to its bound is on it: where all are, the bias is
        in the middle of what they allow.
        """
        lo, hi = self.bounds()
        lo, hi = lo * (1.0 - ON_BOUND), hi * (1.0 - ON_BOUND)
        alpha, grad, member = self.alpha(), self.a.grad[:, : self.n], self.a.member[:, : self.n]
        right, left = one_sided(alpha, grad, self.task.epsilon)
        g_max = np.where(member & (alpha < hi), right, -np.inf).max(axis=1, initial=-np.inf)
        g_min = np.where(member & (alpha > lo), left, np.inf).min(axis=1, initial=np.inf)
        if not self.task.both_signs:  # all coefficients on one side: the bias is that of the edge
            up, down = np.isfinite(g_max), np.isfinite(g_min)
            g_max, g_min = np.where(up, g_max, g_min), np.where(down, g_min, g_max)
        found = np.isfinite(g_max) & np.isfinite(g_min)
        self.a.bias[found] = (g_max[found] + g_min[found]) / 2
        self.a.delta[found] = g_max[found] - g_min[found]
        self.task.measured(self)

    def split_classes(self) -> None:
        """One binary machine becomes two, one a class: the same hyperplane seen from each side."""
        mirrored = {
            name: np.concatenate([-getattr(self.a, name), getattr(self.a, name)])
            for name in ("alpha", "grad", "bias")
        }
        self.a = self.a._replace(
            member=np.concatenate([self.a.member] * 2),
            fresh=np.concatenate([self.a.fresh] * 2),
            delta=np.concatenate([self.a.delta] * 2),
            positive=np.array([0, 1], np.int64),
            **mirrored,
        )
        self.unit = np.ones(2)

    def add_machine(self, label: int) -> None:
        """A machine for a new label; with its first example all rows become its members."""
        more = {name: _one_more(getattr(self.a, name)) for name in _PER_MACHINE}
        self.a = self.a._replace(
            **more,
            positive=np.append(self.a.positive, label),
            bias=np.append(self.a.bias, -1.0),
            delta=np.append(self.a.delta, np.inf),
        )
        self.unit = np.ones(self.machines)


def _one_more(array: np.ndarray) -> np.ndarray:
    """The array with one more row of zeros; from time to time with spare ones behind, where it is long.

    Labels may come one at a time, hundreds of them: a copy for each would cost their number squared.
    """
    n, whole = len(array), array.base
    has_spare = (
        isinstance(whole, np.ndarray)
        and whole.shape[1:] == array.shape[1:]
        and len(whole) > n
        and whole.ctypes.data == array.ctypes.data
    )
    if whole is None or not has_spare:
        whole = np.zeros((n + 1 + n // 4, *array.shape[1:]), array.dtype)
        whole[:n] = array
    return whole[: n + 1]


def _longer(array: np.ndarray, more: int) -> np.ndarray:
    """The array with ``more`` zeros at the end of its first axis."""
    return np.pad(array, [(0, more)] + [(0, 0)] * (array.ndim - 1))
