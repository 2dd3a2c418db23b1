"""Limits on what is remembered: a window, a budget, a half-life; and which rows leave for them.

    window      only the last examples count; what leaves the window is pushed out of the model
    budget      the number of stored rows is bounded; ``policy`` says which row is removed
    half_life   bounds shrink with age: an example counts half after this number of others

Before an example is learned, rows that are older than the window leave, and the bounds of two rows
shrink to what their age (with a half-life) and the budget (CAPPED) leave of them. Afterwards rows
that have no coefficient and lie beyond the margin leave. Above the budget one row is removed: one
without coefficients if there is one, else the policy chooses. The last few rows of a label stay, so
that a rare class is not forgotten in favour of frequent ones.

A row is never simply deleted: its bound becomes zero, and its coefficient is moved to others
(``steps.bring_down``). All pairs of kernel values are kept, so results depend on the examples and
their order alone.

``Memory`` is what a learner with limits remembers besides its support set, ``Limits`` what compiled
loops see of it. With a window and no budget it has the last examples, whether they became support
vectors or not: the finishing step looks at all of them, so that the model is the SVM of the window.

The unit of a machine (``tasks``) follows the stream: it is looked at after fixed numbers of examples,
so that results do not depend on how a stream is cut (``next_look``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...examples import Examples
from ...kernel.emit.records import Layout, Numbers, Reals
from ...kernel.rows import Rows, RowStore, dense_sizes
from ...keys import Leaving
from ...runtime.compact import Compact
from ...runtime.numerics import ALL_EXAMPLES, inlined, keep_small, linked
from ..state import CLOCK, NEXT_TO_DECAY, REMOVALS, N, Support
from .mass import MISSING
from .policies import OUTLIER, POLICIES
from .steps import bring_down, leave, move, value_of

SEEDS = 5
"""Rows of each label that are kept although they lie beyond the margin; while no other class has been
seen, the only ones."""

YOUNG = 50
"""Age below which a row is no outlier: it may be the first of a new concept."""

CAPPED = 3.0
"""Largest bound, in units of 1 / k(x, x), of an example of weight 1 once rows that carry had to make
way (OUTLIER). With few support vectors a larger C overfits."""

_LOOKS = 64
"""The unit is looked at after 2, 4, 8 ... examples, from this number on after as many more."""

_ARRAYS = Examples._fields[1:]


class Limits(NamedTuple):
    """What compiled loops see of the limits."""

    half_life: float
    cap: float  # largest bound times k(x, x) after the first row that carried was pushed out
    window: int  # examples that count; 0: all
    budget: int  # rows; 0: any number
    policy: int  # which row is removed (``policies``)
    protected: int  # number of rows of a label from which on they may
    labels: Numbers  # rows held of each label
    masses: Reals  # what the examples of the window brought (``mass``)


LIMITS = Layout(Limits)


# -- what is remembered -------------------------------------------------------------------


def next_look(clock: int) -> int:
    """Number of examples up to the next look at the unit, after ``clock`` examples."""
    if clock < _LOOKS:
        return max(2, 1 << clock.bit_length()) - clock
    return _LOOKS - clock % _LOOKS


class Recent(Compact):
    """Between n and 2n examples, of which the last n count; ``first`` is the time of the first."""

    def __init__(self, like: Rows, size: int, labels: np.ndarray):
        """``labels``: an empty array of labels, which says what they are (``tasks``)."""
        self.size, self.first = size, 0
        self.store = RowStore(like)
        self.label, self.key = labels[:0], np.empty(0, np.int64)
        self.bound, self.diagonal = np.empty(0), np.empty(0)
        self._reserve(64)

    def _in_use(self) -> dict[str, Any]:
        n = self.store.n
        return self.__dict__ | {name: getattr(self, name)[:n] for name in _ARRAYS}

    def append(self, fresh: Examples) -> None:
        """More examples, in order."""
        n = self.store.n
        total = n + len(fresh.rows)
        self.store.append(fresh.rows)
        self._reserve(total)
        for name in _ARRAYS:
            getattr(self, name)[n:total] = getattr(fresh, name)
        self._trim()

    def append_one(
        self, x: np.ndarray, low: np.ndarray, label: Any, bound: float, diagonal: float, key: int
    ) -> None:
        """One more dense row; ``low`` has its second part, or no row."""
        n = self.store.n
        if n + 1 >= len(self.store.dense):
            self.store.reserve(2 * n + 64)
        self._reserve(n + 1)
        self.store.dense[n] = x
        if len(low):
            self.store.reserve_second_parts()
        if len(self.store.low):
            self.store.low[n] = low[0] if len(low) else 0.0
        self.store.squares[n : n + 1] = dense_sizes(x[None, :], self.store.absolute)
        self.store.n = n + 1
        self.label[n], self.key[n] = label, key
        self.bound[n], self.diagonal[n] = bound, diagonal
        self._trim()

    def _reserve(self, needed: int) -> None:
        if needed > len(self.bound):
            more = max(needed, 2 * len(self.bound)) - len(self.bound)
            for name in _ARRAYS:
                array = getattr(self, name)
                empty = np.zeros((more, *array.shape[1:]), array.dtype)
                setattr(self, name, np.concatenate([array, empty]))

    def resize(self, size: int) -> None:
        """Another number of examples counts from now on."""
        shrinks, self.size = size < self.size, size
        if shrinks and self.store.n > size:
            self._keep()

    def _trim(self) -> None:
        if self.store.n >= 2 * max(self.size, 32):
            self._keep()

    def _keep(self) -> None:
        """Forget all but those that count."""
        n = self.store.n
        old = n - self.size
        left, kept = np.arange(self.size), slice(old, n)
        self.store.move(left + old, left, self.size)
        for name in _ARRAYS:
            array = getattr(self, name)
            array[: self.size] = array[kept].copy()
        self.first += old

    def forget(self, which: np.ndarray) -> None:
        """These examples, a mask, no longer count: they become rows of zeros that cost nothing.

        Others keep their places, which are their times of arrival.
        """
        which = np.flatnonzero(which)
        self.store.blank(which)
        self.bound[which] = self.diagonal[which] = 0.0
        if self.label.dtype.kind == "f":  # a target says something about the example
            self.label[which] = 0.0

    def examples(self) -> tuple[Examples, np.ndarray]:
        """The examples that count, and their times of arrival."""
        n = self.store.n
        which = slice(max(0, n - self.size), n)
        rows = self.store.rows().take(which)
        examples = Examples(rows, *(getattr(self, name)[which] for name in _ARRAYS))
        return examples, self.first + np.arange(which.start, n)


class Memory(Compact):
    """Window, budget, half-life and policy; rows held of each label, masses, the last examples."""

    def __init__(
        self,
        like: Rows,
        support: Support,
        n_labels: int,
        *,
        window: int | None = None,
        budget: int | None = None,
        half_life: float | None = None,
        policy: str = "outlier",
        cost: float = 0.0,
    ):
        """``cost`` is the bound of an example of weight 1; 0 where bounds are not to be capped."""
        window, budget = min(window or 0, ALL_EXAMPLES), min(budget or 0, ALL_EXAMPLES)
        self.half_life, self.cost = float(half_life or np.inf), float(cost)
        self.window, self.budget, self.policy = window or None, budget or None, policy
        self.labels_held = np.zeros(max(n_labels, 1), np.int64)
        self.masses = np.zeros(0)
        self.last_seen = np.zeros(len(self.labels_held), np.int64)
        self.recent = None
        if window and not budget:
            self.recent = Recent(like, window, support.task.no_labels(0))

    def cap(self, is_distance: bool) -> float:
        """Largest bound times k(x, x) after the first row that carried was pushed out."""
        least = CAPPED if is_distance else 0.0  # k(x, x) = 1: nothing shrinks
        return CAPPED / self.cost if self.cost > least else np.inf

    def limits(self, n_labels: int, is_distance: bool) -> Limits:
        """What compiled loops need of it."""
        budget = self.budget or 0
        protected = budget // (4 * max(n_labels, 2))
        return Limits(
            self.half_life, self.cap(is_distance), self.window or 0, budget,
            POLICIES.index(self.policy), protected, self.labels_held, self.masses,
        )  # fmt: skip

    def add_label(self, n_labels: int) -> None:
        """One more label, of which no row is held."""
        self.labels_held = np.append(self.labels_held, 0)[: max(n_labels, 1)]
        self.last_seen = np.append(self.last_seen, 0)[: max(n_labels, 1)]

    def note_labels(self, label: np.ndarray, clock: int) -> None:
        """Examples have come, after ``clock`` others: ``last_seen`` is how many had come with the last one of
        each label, 0 where there was none.
        """
        self.last_seen[label] = (
            clock + 1 + np.arange(len(label))
        )  # of equal labels the last one stays

    def labels_in_window(self, clock: int) -> np.ndarray | None:
        """Whether the window has examples of each label, after ``clock`` examples.

        None: of all, or of none, or there is no window.
        """
        if self.window is None:
            return None
        within = self.last_seen > max(clock - self.window, 0)
        return None if within.all() or not within.any() else within

    def reserve_masses(self, support: Support, more: int) -> bool:
        """Space for the mass of ``more`` examples, if it is to leave with them; whether it grew."""
        clock, window = int(support.a.count[CLOCK]), self.window or 0
        needed = min(window, clock + more) if support.task.nu else 0
        if needed <= len(self.masses):
            return False
        space = min(window, max(needed, 2 * len(self.masses)))
        self.masses = np.pad(self.masses, (0, space - len(self.masses)))
        return True

    def give_up_mass(self, support: Support, born: np.ndarray, mass: np.ndarray) -> None:
        """Examples that came at these times, each with this mass, no longer count (``mass``)."""
        a, clock = support.a, int(support.a.count[CLOCK])
        if self.window:
            counts = born >= clock - self.window
            born, mass = born[counts], mass[counts]
            self.masses[born % self.window] = 0.0
        gone = float((mass * 2.0 ** (-(clock - 1 - born) / self.half_life)).sum())
        whole = float(a.whole_mass[0])
        left = whole - gone if gone < whole * (1.0 - MISSING) else 0.0
        if whole > 0.0:
            a.mass[0], a.whole_mass[0] = a.mass[0] / whole * left, left

    def count_held(self, support: Support, K: np.ndarray) -> None:
        """Count the rows held, which are others than before; K are the kernel values among them."""
        a, n = support.a, support.n
        label = a.label[:n]
        self.labels_held = np.bincount(label, minlength=len(self.labels_held))
        a.near[:n] = -1
        if self.policy == POLICIES[-1] and n > 1:
            nearness = 2.0 * K.astype(np.float64) - a.diagonal[:n]
            nearness[(label[:, None] != label) | np.eye(n, dtype=bool)] = -np.inf
            best = nearness.argmax(axis=1)
            a.near[:n] = np.where(nearness[np.arange(n), best] > -np.inf, best, -1)

    def forget(self, leaving: Leaving) -> None:
        """Forget examples among the last ones, which a window keeps whether they are stored or not."""
        recent = self.recent
        if recent is None:
            return
        n = recent.store.n
        keys = recent.key[:n]
        gone = leaving.among(keys)
        recent.forget(gone)
        keys[gone] = -1
        leaving.renumber(keys)
        left = np.flatnonzero(recent.bound[:n] > 0.0)
        if recent.label.ndim == 1:
            self.last_seen[:] = 0
            self.last_seen[recent.label[left]] = recent.first + left + 1

    def follow(self, window: int) -> None:
        """Another number of examples counts from now on."""
        self.window = window
        if self.recent is not None:
            self.recent.resize(window)

    def note_one(self, x: np.ndarray, low: np.ndarray, *about: Any) -> None:
        """One more dense example has come: label, bound, k(x, x) and key."""
        if self.recent is not None:
            self.recent.append_one(x, low, *about)


# -- which rows leave, compiled -----------------------------------------------------------


@inlined
def share_of_bound(a, limits, diagonal):
    """What is left of the bound of a row with this k(x, x), whatever its age."""
    capped = limits.policy == OUTLIER and a.count[REMOVALS] > 0
    return min(1.0, limits.cap / max(diagonal, 1e-300)) if capped else 1.0


@linked
def nearest(a, c, s, n):
    """The slot of the nearest other row with the same label; -1 where there is none."""
    keep_small()
    best, value = -1, -np.inf
    for r in range(n):
        if r != s and a.label[r] == a.label[s]:
            nearness = 2.0 * value_of(c, s, r) - a.diagonal[r]
            if nearness > value:
                best, value = r, nearness
    return best


@linked
def count_in(a, c, labels, k, near):
    """The row in slot k, which has joined, is counted, and known to its neighbours."""
    keep_small()
    label = a.label[k]
    labels[label] += 1
    if near is not None:
        near[k] = nearest(a, c, k, k + 1)
        for s in range(k):
            r = near[s]
            if a.label[s] == label and (
                r < 0
                or 2.0 * value_of(c, s, k) - a.diagonal[k] > 2.0 * value_of(c, s, r) - a.diagonal[r]
            ):
                near[s] = k


@inlined
def count_out(a, c, labels, near, s, along):
    """The row in slot s leaves."""
    labels[a.label[s]] -= 1
    last = a.count[N] - 1
    leave(s, a, c, along)
    if near is not None:
        for r in range(last):
            if near[r] == s:
                near[r] = nearest(a, c, r, last)
            elif near[r] == last:
                near[r] = s


@inlined
def violation_of(a, m, s, epsilon):
    """How far a row at zero violates the optimality conditions; negative beyond the margin."""
    residual = a.grad[m, s] - a.bias[m]
    up = residual - epsilon if a.hi[m, s] > 0.0 else -np.inf
    down = -residual - epsilon if a.lo[m, s] < 0.0 else -np.inf
    return max(up, down)


@inlined
def _largest_violation(a, s, epsilon):
    """Over the machines, in units of how far beyond the margin rows leave; inf where it carries."""
    largest = -np.inf
    for m in range(a.positive.shape[0]):
        carries = a.alpha[m, s] != 0.0 or (a.delta[m] == np.inf and a.hi[m, s] > a.lo[m, s])
        violation = np.inf if carries else violation_of(a, m, s, epsilon) / a.beyond[m]
        largest = max(largest, violation)
    return largest


@inlined
def _next_to_leave(a, limits, epsilon, after, below):
    """The last slot below ``below`` whose row leaves by itself; -1: there is none."""
    found, s = -1, below - 1
    while s >= 0 and found < 0:
        if after:
            if a.alpha[0, s] == 0.0 and limits.labels[a.label[s]] > SEEDS:
                found = s if _largest_violation(a, s, epsilon) < -1.0 else -1
        elif a.born[s] <= a.count[CLOCK] - limits.window:
            found = s
        s -= 1
    return found


@linked
def choose(a, limits, epsilon):
    """The row to remove, and whether it has coefficients.

    It is the row without coefficients that lies farthest beyond the margins; where there is none,
    and the policy is OUTLIER, three times of four the row farthest on the wrong side of its machine,
    unless it is young; else the oldest.
    """
    keep_small()
    count, protected, labels = a.count, limits.protected, limits.labels
    outlier = limits.policy == OUTLIER and (count[REMOVALS] + 1) % 4 != 0
    idle, wrong, oldest, any_oldest = -1, -1, -1, -1
    idle_value, wrong_value = np.inf, 1.0
    for s in range(count[N]):
        born, free = a.born[s], labels[a.label[s]] > protected
        if any_oldest < 0 or born < a.born[any_oldest]:
            any_oldest = s
        if free and (oldest < 0 or born < a.born[oldest]):
            oldest = s
        largest = -np.inf
        for m in range(a.positive.shape[0]):
            value, violation = a.alpha[m, s], violation_of(a, m, s, epsilon)
            idles = value == 0.0 and (a.delta[m] < np.inf or a.hi[m, s] <= a.lo[m, s])
            largest = max(largest, violation / a.beyond[m] if idles else np.inf)
            suspect = outlier and free and born <= count[CLOCK] - YOUNG
            if suspect and value != 0.0 and violation / a.unit[m] > wrong_value:
                wrong, wrong_value = s, violation / a.unit[m]
        if free and largest < idle_value:
            idle, idle_value = s, largest
    carries = idle < 0
    if carries:
        idle = wrong if wrong >= 0 else (oldest if oldest >= 0 else any_oldest)
    return idle, carries


@linked
def hand_over(a, c, limits, epsilon, near):
    """A row whose coefficients change the decision function least if moved to its neighbour.

    The neighbour takes what it has space for. -1: there is no such row.
    """
    keep_small()
    best, value, n = -1, np.inf, a.count[N]
    for s in range(n):
        r = near[s]
        free = limits.labels[a.label[s]] > limits.protected
        if r < 0 or not free or a.born[s] > a.count[CLOCK] - YOUNG:
            continue
        carried = 0.0
        for m in range(a.positive.shape[0]):
            carried = max(carried, abs(a.alpha[m, s]))
        apart = a.diagonal[s] + a.diagonal[r] - 2.0 * value_of(c, s, r)
        cost = carried * np.sqrt(max(apart, 0.0))
        if cost < value:
            best, value = s, cost
    for m in range(a.positive.shape[0] if best >= 0 else 0):
        carried, r = a.alpha[m, best], near[best]
        if carried != 0.0:
            i, j = (r, best) if carried > 0.0 else (best, r)
            move(a, c, m, i, j, abs(carried), epsilon)
    return best


@linked
def forget(a, c, along, limits, epsilon, near, nu, after):
    """Rows leave, or their bounds shrink: ``after`` an example was learned, or before.

    Whatever the reason, coefficients are brought down in one place, which saves compiling it
    several times. Returns whether coefficients may have changed.
    """
    keep_small()
    count = a.count
    changed, below, shrunk = False, count[N], 0
    capped = limits.cap < np.inf and limits.policy == OUTLIER and count[REMOVALS] > 0
    shrinks = limits.half_life < np.inf or capped
    if not after and limits.window == 0:
        below = 0
    while True:
        n, part, leaves = count[N], 0.0, True
        s = _next_to_leave(a, limits, epsilon, after, below)
        below = max(s, 0)
        if s < 0 and not after and shrinks and shrunk < min(2, n):
            s, leaves = count[NEXT_TO_DECAY] % n, False
            shrunk, count[NEXT_TO_DECAY] = shrunk + 1, s + 1
            part = 2.0 ** (-(count[CLOCK] - a.born[s]) / limits.half_life)
            part *= share_of_bound(a, limits, a.diagonal[s])
        if s < 0 and after and limits.budget > 0 and n > limits.budget:
            s, carries = choose(a, limits, epsilon)
            count[REMOVALS] += carries
            if near is not None and carries:
                joined = hand_over(a, c, limits, epsilon, near)
                s = joined if joined >= 0 else s
            if nu is not None:
                a.mass[0] -= a.alpha[0, s]
        if s < 0:
            break
        for m in range(a.positive.shape[0]):
            bring_down(a, c, m, s, a.bound[s] * part, epsilon, nu is None)
        if leaves:
            count_out(a, c, limits.labels, near, s, along)
        changed = True
    return changed
