"""What a learner with limits remembers besides its support set (``limits``).

With a window and no budget these are the last examples, whether they became support vectors or not:
the finishing step looks at all of them, so that the model is the SVM of the window.

The unit of a machine (``tasks``) follows the stream: it is looked at after fixed numbers of examples,
so that results do not depend on how a stream is cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...examples import Examples
from ...kernel.rows import Rows, RowStore, dense_sizes
from ...runtime.compact import Compact
from ...runtime.numerics import ALL_EXAMPLES
from ..state import CLOCK, Support
from .limits import CAPPED, Limits
from .mass import MISSING
from .policies import POLICIES

_LOOKS = 64
"""The unit is looked at after 2, 4, 8 ... examples, from this number on after as many more."""


def next_look(clock: int) -> int:
    """Number of examples up to the next look at the unit, after ``clock`` examples."""
    if clock < _LOOKS:
        return max(2, 1 << clock.bit_length()) - clock
    return _LOOKS - clock % _LOOKS


_ARRAYS = Examples._fields[1:]


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

    def follow(self, window: int) -> None:
        """Another number of examples counts from now on."""
        self.window = window
        if self.recent is not None:
            self.recent.resize(window)

    def note_one(self, x: np.ndarray, low: np.ndarray, *about: Any) -> None:
        """One more dense example has come: label, bound, k(x, x) and key."""
        if self.recent is not None:
            self.recent.append_one(x, low, *about)
