"""The state of LASVM: one record of named arrays, for every task, with and without limits.

What a machine learns is its task (``tasks``). For machine m and the row in slot s,

    lo <= alpha <= hi,    grad = p - sum_r alpha_r K(s, r),                    (lasvm-2005, eq. 5, 9)

and the coefficients of a machine sum to zero, or to its mass (one class). ``grad`` is kept for every
row that the machine has as a ``member``. Rows are shared: a row leaves when no machine keeps it. Slots
0 .. n-1 are in use; a hole is filled from the end.

``above`` and ``below`` follow from alpha, lo and hi: by what the slopes of the objective to the right
and to the left of a coefficient differ from its gradient, -inf and inf where it cannot go there. They
are what the search for g_max and g_min reads (eq. 10); only the compiled loops of ``online`` use them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..examples import Examples
from ..kernel.buffers import Buffers, padded
from ..kernel.emit.records import Flags2, Layout, Numbers, Reals, Reals2
from ..kernel.kernel import Kernel
from ..kernel.rows import Rows, RowStore
from ..runtime.compact import Compact
from .tasks import ON_BOUND, Classification, Task, one_sided

# Places in State.count: rows held, rows in the store; whether ``above`` and ``below`` are up to date;
N, STORED, OPEN = range(3)
# where an interrupted pass goes on, and the slot whose kernel row it needs, or -1;
POSITION, PHASE, MACHINE, SLOT, ROUND, CHANGED, NEED = range(3, 10)
# examples seen, whose bound shrinks next, rows pushed out, kernel values computed.
CLOCK, NEXT_TO_DECAY, REMOVALS, EVALUATIONS = range(10, 14)

AT_ONCE, VALUES = 16, 65536
"""Up to how many machines are always computed with at once, and values of more machines that are made
at a time: fresh memory for all of them would take longer than to compute them."""

CHUNK_ROWS = 256
"""Rows whose gradients are computed at a time."""

NOTICED = 1e-9
"""Error of a gradient, in units of the machine, from which it is recomputed."""

LOST = 0.02
"""Error of decision values, in units of the machine, that makes a model useless near its edge."""


class State(NamedTuple):
    """What compiled loops see of the support set. Arrays are longer than the n in use."""

    # (machines, capacity)
    alpha: Reals2
    grad: Reals2
    p: Reals2  # linear term: y = +-1, the target, or zero
    lo: Reals2
    hi: Reals2
    above: Reals2
    below: Reals2
    member: Flags2
    fresh: Flags2  # members since the last step of a block
    # (capacity,)
    label: Numbers  # of a class; zero for other tasks
    born: Numbers  # number of examples that came before
    key: Numbers  # of the example (``core.keys``)
    column: Numbers  # where the row's values stand in the block of fresh kernel values
    handle: Numbers  # where the row itself is: in the store, or (>= STORED) in the block
    near: Numbers  # slot of the nearest row with the same label, where rows are joined
    bound: Reals  # C of the row, weights included, when it came
    diagonal: Reals  # K(s, s)
    # (machines,)
    bias: Reals
    delta: Reals  # g_max - g_min
    unit: Reals  # size of the machine's gradients, about
    tau: Reals  # tolerance, in absolute terms
    beyond: Reals  # how far beyond the margin a row at zero must lie to leave
    mass: Reals  # what the coefficients sum to
    whole_mass: Reals  # what it would be without a budget
    path: Reals  # these two bound the errors of the gradients (``mend_gradients``)
    longest: Reals
    positive: Numbers  # the label that machine m calls +1; of pairs of labels, its number
    count: Numbers  # type: ignore[assignment]


STATE = Layout(State)

_SCALES = State._fields[17:26]
_ABOVE = State._fields.index("above")  # the first that follows from others
_LASTING = ("alpha", "grad", "member", "born", "key", "near", "bound", "diagonal")


class Blocks(NamedTuple):
    """The same arrays, those of one shape and type in one, so that they grow and move together.

    There may be space for more machines than ``positive`` has.
    """

    reals: np.ndarray  # (7, machines, capacity)
    flags: np.ndarray  # (2, machines, capacity)
    marks: np.ndarray  # (6, capacity)
    sizes: np.ndarray  # (2, capacity)
    scales: np.ndarray  # (9, machines)
    positive: np.ndarray
    count: np.ndarray  # type: ignore[assignment]


def named(reals, flags, marks, sizes, scales, positive, count):
    """The arrays by name."""
    return State(
        reals[0], reals[1], reals[2], reals[3], reals[4], reals[5], reals[6],
        flags[0], flags[1],
        marks[0], marks[1], marks[2], marks[3], marks[4], marks[5],
        sizes[0], sizes[1],
        scales[0], scales[1], scales[2], scales[3], scales[4], scales[5], scales[6], scales[7],
        scales[8],
        positive, count,
    )  # fmt: skip


def empty_blocks(positive: np.ndarray, capacity: int) -> Blocks:
    """No rows; machines that know nothing."""
    machines = len(positive)
    capacity = padded(max(capacity, 1))
    blocks = Blocks(
        np.zeros((7, machines, capacity)),
        np.zeros((2, machines, capacity), bool),
        np.zeros((6, capacity), np.int64),
        np.zeros((2, capacity)),
        np.zeros((9, machines)),
        positive,
        np.zeros(14, np.int64),
    )
    a = named(*blocks)
    a.bias[:], a.delta[:], a.unit[:] = -1.0, np.inf, 1.0
    return blocks


def machine_groups(machines: int, n: int) -> list[slice]:
    """All machines, some at a time, with n values each."""
    size = max(AT_ONCE, VALUES // max(n, 1))
    return [slice(first, min(first + size, machines)) for first in range(0, machines, size)]


class Support(Compact):
    """The support set with the storage of its rows."""

    left: np.ndarray | None = None
    """Pair steps that each machine may still make, (machines,), in a fit that limits them."""

    def __init__(
        self, like: Rows, positive: list[int], capacity: int = 64, task: Task | None = None
    ):
        self.task: Task = task or Classification()
        self.store = RowStore(like, capacity)
        self.buffers = Buffers()
        self._take(empty_blocks(np.array(positive, np.int64), capacity))

    def _take(self, blocks: Blocks) -> None:
        self.blocks, machines = blocks, len(blocks.positive)
        whole, cut = named(*blocks), (*State._fields[:9], *_SCALES)
        self.a = whole._replace(**{name: getattr(whole, name)[:machines] for name in cut})

    def _lasting(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "a"}

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        twin = super().__deepcopy__(memo)
        twin._take(twin.blocks)
        return twin

    def _in_use(self) -> dict[str, Any]:
        """What does not follow from the rest, each array by itself: so they become small."""
        a, slots = self.a, np.arange(self.n)
        label, (lo, hi) = self.labels(slots), self.bounds()
        whole = np.array_equal(self.given(label, a.bound[slots])[1:], (lo, hi))
        return {
            "store": self.store, "task": self.task, "positive": a.positive, "count": a.count,
            "label": label, "bounds": None if whole else (lo, hi),
            "kept": {name: getattr(a, name)[..., slots] for name in _LASTING},
            "scales": {name: getattr(a, name) for name in _SCALES},
        }  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        label, bounds, kept, scales, count, positive = (
            self.__dict__.pop(name)
            for name in ("label", "bounds", "kept", "scales", "count", "positive")
        )
        n, self.buffers = len(label), Buffers()
        self._take(empty_blocks(positive, n))
        for name, value in (*kept.items(), *scales.items(), ("count", count)):
            array = getattr(self.a, name)
            array[..., : value.shape[-1]] = value
        a, part = self.a, slice(0, n)
        a.label[part], a.column[part], a.handle[part] = self.task.groups(label), *[np.arange(n)] * 2
        a.p[:, part], a.lo[:, part], a.hi[:, part] = self.given(label, a.bound[part])
        if bounds is not None:
            a.lo[:, part], a.hi[:, part] = bounds
        self.changed()

    @property
    def n(self) -> int:
        return int(self.a.count[N])

    @property
    def machines(self) -> int:
        return len(self.a.positive)

    @property
    def unit(self) -> np.ndarray:
        return self.a.unit

    @property
    def capacity(self) -> int:
        return len(self.a.label)

    def rows(self) -> Rows:
        return self.store.rows()

    def alpha(self) -> np.ndarray:
        return self.a.alpha[:, : self.n]

    def diagonal(self) -> np.ndarray:
        """k(x, x) of the rows held."""
        return self.a.diagonal[: self.n]

    def started(self) -> np.ndarray:
        """Whether each machine has a coefficient: in classification, it has seen both signs."""
        if not self.task.both_signs:
            return np.full(self.machines, self.n > 0)
        return np.asarray(self.alpha().any(axis=1))

    def dual(self) -> np.ndarray:
        """The dual objective of each machine: sum(alpha p - epsilon |alpha|) - alpha K alpha / 2."""
        alpha, n = self.alpha(), self.n
        twice = (alpha * (self.linear() + self.a.grad[:, :n])).sum(axis=1)
        return np.asarray(twice / 2 - self.task.epsilon * np.abs(alpha).sum(axis=1))

    def expansion(self, machines: slice = slice(None)) -> tuple[Rows, np.ndarray]:
        """The rows that carry a coefficient in some of the machines, and their coefficients."""
        alpha = self.alpha()[machines]
        used = alpha.any(axis=0)
        if used.sum() > 0.9 * self.n:  # not worth the copy
            return self.rows(), alpha
        return self.rows().take(np.flatnonzero(used)), alpha[:, used]

    def slots(self, keys: np.ndarray) -> np.ndarray:
        """The slot of each key, -1 where it is not in the set."""
        held = np.flatnonzero(self.a.key[: self.n] >= 0)
        if not len(held) or not len(keys) or keys.max() < 0:
            return np.full(len(keys), -1)
        own = self.a.key[held]
        table = np.full(
            max(own.max(), keys.max()) + 2, -1
        )  # the last one for examples that are not of the data set
        table[own] = held
        return table[np.maximum(keys, -1)]

    def slots_of_arrived(self, keys: np.ndarray) -> np.ndarray:
        """The slot of each example of a stream by its key, -1 where it is not in the set."""
        found = np.full(len(keys), -1)
        held = np.flatnonzero(self.a.key[: self.n] < -1)
        if len(held):
            held = held[np.argsort(self.a.key[held], kind="stable")]
            own = self.a.key[held]
            place = np.minimum(np.searchsorted(own, keys), len(own) - 1)
            there = own[place] == keys
            found[there] = held[place[there]]
        return found

    def linear(self, labels: np.ndarray | None = None) -> np.ndarray:
        """The linear term p for every machine, (machines, n): of the rows held, or of examples."""
        if labels is None:
            return self.a.p[:, : self.n]
        return self.task.linear(labels, self.a.positive)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """A and B of eq. (5), (machines, n) each."""
        return self.a.lo[:, : self.n], self.a.hi[:, : self.n]

    def given(
        self, label: np.ndarray, bound: np.ndarray, machines: slice = slice(None)
    ) -> np.ndarray:
        """p, lo and hi of examples, (3, machines, n)."""
        linear = self.task.linear(label, self.a.positive[machines])
        return np.stack([linear, *self.task.bounds(linear, bound, machines)])

    def labels(self, slots: np.ndarray) -> np.ndarray:
        """Labels of these rows, or their targets."""
        return self.task.labels(self.a.label[slots], self.a.p[:, slots])

    def reserve(self, needed: int) -> None:
        """Make room for ``needed`` slots; at least doubles, so growth costs little in the end."""
        if needed > self.capacity:
            self.grow_to(max(needed, 2 * self.capacity))

    def grow_to(self, capacity: int) -> None:
        """Make room for this number of slots, at least."""
        capacity, n, wider = padded(max(capacity, 1)), self.n, []
        for array in self.blocks[:4]:
            wide = np.zeros((*array.shape[:-1], capacity), array.dtype)
            # Memory that is not touched is not taken: ``above`` and ``below`` wait until they are used.
            lasting = slice(0, _ABOVE) if array is self.blocks.reals else slice(None)
            wide[lasting, ..., :n] = array[lasting, ..., :n]
            wider.append(wide)
        reals, flags, marks, sizes = wider
        self._take(Blocks(reals, flags, marks, sizes, *self.blocks[4:]))
        self.changed()

    def changed(self) -> None:
        """Coefficients, bounds or members have changed: ``above`` and ``below`` no longer hold."""
        self.a.count[OPEN] = 0

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
        self.changed()
        part, a = slice(n, total), self.a
        a.label[part] = self.task.groups(fresh.label)
        a.bound[part], a.key[part], a.born[part] = fresh.bound, fresh.key, a.count[CLOCK]
        a.diagonal[part], a.grad[:, part] = fresh.diagonal, grad
        for some in machine_groups(self.machines, len(fresh.rows)):
            given = self.given(fresh.label, fresh.bound, some)
            a.p[some, part], a.lo[some, part], a.hi[some, part] = given
        a.alpha[:, part], a.member[:, part], a.fresh[:, part] = 0.0, member, member
        a.handle[part] = np.arange(n, total)
        a.count[N] = a.count[STORED] = total
        self.store.append(fresh.rows)

    def keep(self, mask: np.ndarray) -> np.ndarray:
        """Drop the rows where ``mask`` is false; holes are filled from the end.

        Returns the slot that each row had.
        """
        n, left = self.n, int(mask.sum())
        order = np.arange(left)
        if left == n:
            return order
        holes = np.flatnonzero(~mask[:left])
        tail = left + np.flatnonzero(mask[left:])
        for array in (self.blocks.reals[:_ABOVE], *self.blocks[1:4]):
            array[..., holes] = array[..., tail]
        self.store.move(tail, holes, left)
        self.a.handle[:left] = np.arange(left)
        self.a.count[N] = self.a.count[STORED] = left
        self.changed()
        order[holes] = tail
        return order

    def measure(self, m: int | None = None) -> None:
        """b and delta of every machine from the gradients (eq. 10), step 5 of REPROCESS.

        Of machine m alone, if it is given; the unit stays as it is then. A coefficient that rounding
        has left next to its bound is on it: where all are, the bias is in the middle of what they
        allow.
        """
        for which in machine_groups(self.machines, self.n) if m is None else [slice(m, m + 1)]:
            self._measure(which)
        if m is None:
            self.task.measured(self)

    def _measure(self, which: slice) -> None:
        lo, hi, alpha, grad, member = (
            array[which, : self.n]
            for array in (self.a.lo, self.a.hi, self.a.alpha, self.a.grad, self.a.member)
        )
        lo, hi = lo * (1.0 - ON_BOUND), hi * (1.0 - ON_BOUND)
        right, left = one_sided(alpha, grad, self.task.epsilon)
        g_max = np.where(member & (alpha < hi), right, -np.inf).max(axis=1, initial=-np.inf)
        g_min = np.where(member & (alpha > lo), left, np.inf).min(axis=1, initial=np.inf)
        if not self.task.both_signs:  # all coefficients on one side: the bias is that of the edge
            up, down = np.isfinite(g_max), np.isfinite(g_min)
            g_max, g_min = np.where(up, g_max, g_min), np.where(down, g_min, g_max)
        found = np.isfinite(g_max) & np.isfinite(g_min)
        self.a.bias[which][found] = (g_max[found] + g_min[found]) / 2
        self.a.delta[which][found] = g_max[found] - g_min[found]

    def mend(self, kernel: Kernel) -> None:
        """Recompute gradients if kernel values and bounds are so large that rounding errors matter.

        A change of coefficient r leaves errors of about eps B_r |K_rs| in the gradients, which stay
        when the coefficient becomes small again. See ``steps.mend_gradients`` for streams with limits.
        """
        if np.finfo(np.float64).eps * self.largest_change() > NOTICED * self.unit.min():
            self.recompute(kernel)

    def mend_after(self, largest: float, kernel: Kernel) -> None:
        """The same after rows have left, before which the largest change of a gradient was ``largest``.

        In gradients of rows that are very much smaller, the rounding errors that they leave behind are all
        there is.
        """
        if np.finfo(np.float64).eps * largest > NOTICED * self.largest_change():
            self.recompute(kernel)

    def largest_change(self) -> float:
        """By how much a coefficient of the rows held can change a gradient, at most about."""
        length = np.sqrt(np.abs(self.diagonal()))
        largest = (self.a.bound[: self.n] * length).max(initial=0.0) * length.max(initial=0.0)
        return float(largest)

    def recompute(self, kernel: Kernel) -> None:
        """Recompute the gradients from the coefficients, which removes accumulated errors."""
        a, n, rows, alpha = self.a, self.n, self.rows(), self.alpha()
        used = np.flatnonzero(alpha.any(axis=0))
        place = np.full(n, -1)
        place[used] = np.arange(len(used))
        vectors, linear = rows.take(used), self.linear()
        for first in range(0, n, CHUNK_ROWS):
            part = np.arange(first, min(first + CHUNK_ROWS, n))
            K = kernel.block(rows.take(part), vectors)
            own = np.flatnonzero(place[part] >= 0)
            K[own, place[part[own]]] = a.diagonal[part[own]]
            a.grad[:, part] = linear[:, part] - alpha[:, used] @ K.T.astype(np.float64)

    def is_precise(self) -> bool:
        """Whether decision values of the rows held are right to ``LOST``, but for those far beyond the margin.

        f(x) = sum_s a_s k(x_s, x) + b: each kernel value has a rounding error of about u |k|, u = 2^-24,
        and errors of many values add up like independent ones: f(x) is off by about
        u sqrt(k(x, x) sum_s a_s^2 k(x_s, x_s)). With large coefficients (a large C on data that it
        cannot fit) and large kernel values that can be more than what the model has learned, while the
        gap of the optimisation, which has the same errors, is small.
        """
        n, size = self.n, np.abs(self.diagonal())
        slack = self.task.slack(self.a.p[:, :n], self.a.grad[:, :n] - self.a.bias[:, None])
        far = slack < -self.task.tolerances.stream_beyond * self.unit[:, None]
        counts = (self.a.member[:, :n] & ~far).any(axis=0) | self.alpha().any(axis=0)
        error = 2.0**-24 * np.sqrt(self.alpha() ** 2 @ size * size[counts].max(initial=0.0))
        return bool((error <= LOST * self.unit).all())

    def settle_one_sided(self) -> None:
        """The bias of a machine whose rows have left it with one sign is that sign.

        It has no pair, and starts once more with the next example of the other.
        """
        alone = ~self.started()
        self.a.delta[alone] = np.inf
        if alone.any() and self.n:
            self.a.bias[alone] = np.sign(self.linear()[alone].sum(axis=1))

    def split_classes(self) -> None:
        """One binary machine becomes two, one a class: the same hyperplane seen from each side."""
        reals, flags, marks, sizes, scales, _, count = self.blocks
        mirrored = np.concatenate([-reals, reals], axis=1)
        mirrored[[3, 4], :1] = mirrored[[4, 3], :1]  # lo and hi change places
        both = np.concatenate([scales, scales], axis=1)
        both[0, 0] = -both[0, 0]
        positive = np.array([0, 1], np.int64)
        flags = np.concatenate([flags, flags], axis=1)
        self._take(Blocks(mirrored, flags, marks, sizes, both, positive, count))
        self.changed()

    def add_machine(self, label: int) -> None:
        """A machine for a new label, of which no row held is an example; or for it and another label.

        With its first example all rows that have a part in it become its members.
        """
        a, k, n = self.a, self.machines, self.n
        some = slice(None if self.task.partial else 1)
        largest = np.maximum(a.hi[some, :n], -a.lo[some, :n]).max(axis=0)  # as age has left it
        linear = self.task.linear(a.label[:n], np.array([label]))[0]
        reals, flags, marks, sizes, scales, positive, count = self.blocks
        if (
            k == reals.shape[1]
        ):  # hundreds of labels may come one by one: a copy for some of them only
            more = 1 + k // 4
            wide = ((0, 0), (0, more), (0, 0))
            reals, flags = np.pad(reals, wide), np.pad(flags, wide)
            scales = np.pad(scales, ((0, 0), (0, more)))
        positive = np.append(positive, label)
        self._take(Blocks(reals, flags, marks, sizes, scales, positive, count))
        a = self.a
        a.grad[k, :n] = a.p[k, :n] = linear
        a.lo[k, :n] = linear * largest
        a.bias[k], a.delta[k], a.unit[k] = -1.0, np.inf, 1.0
        self.changed()
