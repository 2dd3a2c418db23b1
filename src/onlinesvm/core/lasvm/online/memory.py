"""What a learner with limits remembers besides its support set (``limits``).

The unit of a machine (``tasks``) follows the stream: it is looked at after fixed numbers of examples,
so that results do not depend on how a stream is cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernel.rows import Rows
from ...runtime.compact import Compact
from ...runtime.numerics import ALL_EXAMPLES
from ..state import CLOCK, Support
from .limits import CAPPED
from .policies import POLICIES
from .recent import Recent

_LOOKS = 64
"""The unit is looked at after 2, 4, 8 ... examples, from this number on after as many more."""


def next_look(clock: int) -> int:
    """Number of examples up to the next look at the unit, after ``clock`` examples."""
    if clock < _LOOKS:
        return max(2, 1 << clock.bit_length()) - clock
    return _LOOKS - clock % _LOOKS


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

    def arrays(self, n_labels: int, is_distance: bool) -> tuple[np.ndarray, np.ndarray]:
        """The numbers that compiled loops need (``limits.limits_of``)."""
        budget = self.budget or 0
        protected = budget // (4 * max(n_labels, 2))
        numbers = self.window or 0, budget, POLICIES.index(self.policy), protected
        return np.array([self.half_life, self.cap(is_distance)]), np.array(numbers)

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

    def follow(self, window: int) -> None:
        """Another number of examples counts from now on."""
        self.window = window
        if self.recent is not None:
            self.recent.resize(window)

    def note_one(self, x: np.ndarray, low: np.ndarray, *about: Any) -> None:
        """One more dense example has come: label, bound and k(x, x)."""
        if self.recent is not None:
            self.recent.append_one(x, low, *about)
