"""LASVM with a bounded memory: one dense example at a time, with a compiled kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..model import row_diagonal
from . import bounded_steps as at
from .dense_row import decide_one, second_part

if TYPE_CHECKING:
    from ..kernel.kernel import Kernel
    from ..kernel.rows import RowStore
    from ..prequential.record import Prequential
    from .recent import Recent

PART = 256
"""Examples between two looks at whether Ctrl-C has come."""

_KEPT = 256
"""Pairs of label and bound whose linear terms and bounds are kept."""


class OneRow:
    """Mixin of the learner: learn one row, or decide it."""

    if TYPE_CHECKING:  # of the class that it is mixed into
        kernel: Kernel
        store: RowStore
        recent: Recent | None
        watch: Prequential | None
        F: np.ndarray
        M: np.ndarray
        count: np.ndarray
        scores: np.ndarray

        @property
        def n(self) -> int: ...
        @property
        def machines(self) -> int: ...

        reserve: Any
        _reserve_masses: Any
        given: Any
        _dense: Any
        _follow: Any
        _note: Any
        _unit_varies: bool
        _tags: np.ndarray
        _diagonal: np.ndarray
        _given: dict[Any, np.ndarray]

    def learn_one(self, x: np.ndarray, label: Any, bound: float, diagonal: float) -> bool:
        """One dense example, float32 and shifted like the others, with a compiled kernel.

        False: it is far and needs a second part (``learn_far``); nothing was done.
        """
        if len(self.store.low) and self.count[at.CLOCK] % PART == 0:
            self.store.has_second_parts()  # gives up their place when the last has gone
        return self._learn_single(x, self.store.low[:0], label, bound, diagonal)

    def learn_far(self, x: np.ndarray, wide: np.ndarray, label: Any, bound: float) -> None:
        """As ``learn_one`` with the RBF kernel; ``wide`` is the row before it became float32."""
        self.store.reserve_second_parts()
        self._learn_single(x, second_part(wide, x), label, bound, 1.0)

    def _learn_single(
        self, x: np.ndarray, low: np.ndarray, label: Any, bound: float, diagonal: float
    ) -> bool:
        self.reserve(self.n + 1)
        self._reserve_masses(1)
        self._diagonal[0] = diagonal
        if not isinstance(label, float):
            self._tags[0, 0] = label
        scores, given = np.empty((1, self.machines)), self._given_of(label, bound)
        if not self._dense(x[None, :], low, self._tags, given, self._diagonal, scores, 0):
            return False
        self.scores = scores
        if self.recent is not None:
            self.recent.append_one(x, low, label, bound, diagonal)
        if self._unit_varies:
            self._note(np.full((1, 1), label))
        if self.watch is not None:
            self.watch.note_one(scores[0], label, bound)
            self._follow(self.watch)
        return True

    def learn_row(self, x: np.ndarray, wide: np.ndarray, label: Any, bound: float) -> bool:
        """One dense row, float32 and shifted; false: it has to be given to ``learn``."""
        diagonal = row_diagonal(self.kernel, x)
        if diagonal is None:
            return False
        if self.learn_one(x, label, bound, diagonal):
            return True
        if self.kernel.name == "rbf":
            self.learn_far(x, wide, label, bound)
        return self.kernel.name == "rbf"

    def decide_row(self, x: np.ndarray, wide: np.ndarray) -> np.ndarray | None:
        """Decision values of one dense row; None where tiles must compute them."""
        alpha, bias = self.F[at.ALPHA], self.M[at.BIAS]
        return decide_one(self.kernel, self.store, alpha, bias, self.n, x, wide)

    def _given_of(self, label: Any, bound: float) -> np.ndarray:
        """``given`` of one example; those of classes are kept, for they come again."""
        if isinstance(label, float):  # one target
            return np.array([[[label], [-bound], [bound]]])
        found = self._given.get((label, bound))
        if found is None:
            if len(self._given) >= _KEPT:
                self._given.clear()
            found = self.given(np.array([label]), np.array([bound]))
            self._given[label, bound] = found
        return found
