"""LASVM with a bounded memory: labels that come up late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import bounded_steps as at

if TYPE_CHECKING:
    from ..prequential.record import Prequential


class LateLabels:
    """Mixin of the learner of classes: one more machine in mid-stream."""

    if TYPE_CHECKING:  # of the class that it is mixed into
        n_labels: int
        labels_held: np.ndarray
        positive: np.ndarray
        unit: np.ndarray
        F: np.ndarray
        M: np.ndarray
        watch: Prequential | None
        _make_buffers: Any
        _settle_limits: Any
        tau: float

        @property
        def machines(self) -> int: ...

    def add_label(self) -> None:
        """One more label; its machine starts with the rows held as counter-examples."""
        self.n_labels += 1
        self.labels_held = np.append(self.labels_held, 0)[: max(self.n_labels, 1)]
        if self.n_labels == 3:  # one binary machine becomes two, seen from each side
            F, M = self.F, self.M
            mirrored = np.stack([-F[0], -F[1], -F[2], -F[4], -F[3], F[5]])
            self.F = np.concatenate([mirrored, F], axis=1)
            other = M.copy()
            other[at.BIAS] = -M[at.BIAS]
            self.M = np.concatenate([other, M], axis=1)
            self.positive = np.array([0, 1], np.int64)
        if self.n_labels > 2:
            self._add_machine()
        self.unit = np.ones(self.machines)
        self._make_buffers()
        self._settle_limits()
        if self.watch is not None:
            self.watch.add_label(self.n_labels)

    def _add_machine(self) -> None:
        F = np.zeros((6, 1, self.F.shape[2]))
        bound = self.F[at.BOUND, 0]
        F[at.GRAD], F[at.LINEAR], F[at.LOW], F[at.BOUND] = -1.0, -1.0, self.F[at.LOW, 0], bound
        F[at.LOW, 0] = -np.maximum(self.F[at.HIGH, 0], -self.F[at.LOW, 0])  # as age has left it
        self.F = np.concatenate([self.F, F], axis=1)
        M = np.zeros((len(self.M), 1))
        M[at.BIAS], M[at.GAP], M[at.LENGTH] = -1.0, np.inf, self.M[at.LENGTH, 0]
        self.M = np.concatenate([self.M, M], axis=1)
        self.positive = np.append(self.positive, self.n_labels - 1)
