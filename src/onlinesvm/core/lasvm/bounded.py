"""The learner of LASVM with a bounded memory: a window, a budget, a half-life.

    window      only the last examples count; what leaves the window is pushed out of the model
    budget      the number of rows held is bounded; ``policy`` says which row makes way
    half_life   bounds shrink with age: an example counts half after this number of others

Every example costs about the same, and memory does not grow. Kernel values among all rows held are
kept: 4 bytes for each pair. See ``bounded_loop`` for the steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..examples import Examples
from ..interrupts import checkpoint
from ..kernel.kernel import Kernel
from ..kernel.rows import Rows, RowStore
from ..model import Learner
from ..numerics import ALL_EXAMPLES
from ..prequential.record import Prequential
from ..state.compact import Compact
from . import bounded_loop as loop
from . import bounded_steps as at
from .bounded_finish import finish
from .bounded_labels import LateLabels
from .bounded_single import PART, OneRow
from .bounded_unit import next_look, slack_of, unit_of
from .dense_row import EIGHT, compiled_params
from .policies import POLICIES
from .precision import is_precise
from .recent import Recent
from .tasks import FINISHING_PASSES, Classification, Depths, Regression, Task

MOST = 20
"""Maximum number of REPROCESS steps after one PROCESS."""

_LANES = 64

_NO_ROWS = np.empty((1, 0), np.float32)
_NO_VALUES = np.empty(0, np.float32)


class BoundedLASVM(OneRow, LateLabels, Compact, Learner):
    """State of LASVM with a bounded memory, and its verbs."""

    watch: Prequential | None = None  # takes note of decision values before examples are learned

    def __init__(
        self,
        kernel: Kernel,
        like: Rows,
        n_labels: int,
        *,
        tau: float = 1e-3,
        window: int | None = None,
        budget: int | None = None,
        half_life: float | None = None,
        policy: str = "outlier",
        task: Task | None = None,
        cost: float = 0.0,
    ):
        """``cost`` is the bound of an example of weight 1; 0 where bounds are not to be capped."""
        self.kernel, self.tau, self.task = kernel, tau, task or Classification()
        self.half_life, self.cost = float(half_life or np.inf), float(cost)
        self.n_labels = n_labels
        one = self.task.both_signs and n_labels <= 2
        self.positive = np.array([1] if one else range(n_labels), np.int64)
        self._unit_varies = not self.task.both_signs
        self.unit = np.ones(len(self.positive))
        self.store = RowStore(like)
        self.recent = None
        window, budget = min(window or 0, ALL_EXAMPLES), min(budget or 0, ALL_EXAMPLES)
        if window and not budget:
            self.recent = Recent(like, window, self.task.no_labels(0))
        self.masses = np.zeros(0)
        self.limits = np.array([window, budget, MOST, POLICIES.index(policy), 0])
        self.count = np.zeros(6, np.int64)
        self.labels_held = np.zeros(max(n_labels, 1), np.int64)
        self.M = np.zeros((9, len(self.positive)))
        self.M[at.GAP] = np.inf
        self.F = np.zeros((6, len(self.positive), 0))
        self.T = np.zeros((5, 0), np.int64)
        self.K = np.zeros((0, 0), np.float32)
        self.scores = np.empty((0, len(self.positive)))
        self.watch = None
        self._settle_limits()
        self.reserve(1)

    # -- state ----------------------------------------------------------------------------

    @property
    def n(self) -> int:
        return int(self.count[at.N])

    @property
    def n_held(self) -> int:
        """Number of rows that are held."""
        return self.n

    @property
    def machines(self) -> int:
        return len(self.positive)

    def stores(self) -> list[RowStore]:
        """Where the rows are: those held, and those of the window."""
        return [self.store] if self.recent is None else [self.store, self.recent.store]

    def is_precise(self) -> bool:
        """Whether rounding errors of kernel values are small beside what was learned."""
        n = self.n
        return is_precise(self.F[at.ALPHA, :, :n], self.K.diagonal()[:n], self.unit)

    @property
    def delta(self) -> np.ndarray:
        """g_max - g_min of every machine; infinite while it has seen one sign."""
        return self.M[at.GAP]

    @property
    def depths(self) -> Depths:
        """How far machines are optimised, for the task."""
        return self.task.depths

    @property
    def window(self) -> int | None:
        return int(self.limits[at.WINDOW]) or None

    @property
    def budget(self) -> int | None:
        return int(self.limits[at.BUDGET]) or None

    @property
    def cap(self) -> float:
        """What is left of the bound of a row where the budget presses, times k(x, x)."""
        least = at.PRESSED if self.kernel.name == "rbf" else 0.0  # k(x, x) = 1: nothing shrinks
        return at.PRESSED / self.cost if self.cost > least else np.inf

    def _settle_limits(self) -> None:
        """What follows from the number of labels and the unit of the machines."""
        self.limits[at.PROTECTED] = int(self.limits[at.BUDGET]) // (4 * max(self.n_labels, 2))
        self.M[at.TAU], self.M[at.UNIT] = self.tau * self.unit, self.unit
        self.M[at.SLACK] = slack_of(self.task, self.unit)

    def reserve(self, needed: int) -> None:
        """Space for ``needed`` rows, and for the eight more that the kernel row may touch."""
        capacity = self.K.shape[0]
        if needed + EIGHT < capacity:
            return
        larger = max(2 * capacity, needed + EIGHT + 1, _LANES)
        if self.budget:
            larger = max(min(larger, self.budget + EIGHT + 2), needed + EIGHT + 1)
        larger = -(-larger // _LANES) * _LANES  # as the finishing step wants it
        more = larger - capacity
        self.F = np.ascontiguousarray(np.pad(self.F, ((0, 0), (0, 0), (0, more))))
        self.T = np.ascontiguousarray(np.pad(self.T, ((0, 0), (0, more))))
        self._make_buffers()
        K = np.zeros((larger, larger), np.float32)
        K[:capacity, :capacity] = self.K
        self.K = K
        if not self.store.is_sparse:
            self.store.reserve(larger)

    def _reserve_masses(self, more: int) -> None:
        """Space for the mass of ``more`` examples, if it is to leave with them."""
        needed = min(self.window or 0, int(self.count[at.CLOCK]) + more) if self.task.nu else 0
        if needed > len(self.masses):
            space = min(self.window or 0, max(needed, 2 * len(self.masses)))
            self.masses = np.pad(self.masses, (0, space - len(self.masses)))

    def _in_use(self) -> dict[str, Any]:
        n = self.n
        # A Python kernel is not asked again: its values might differ in their last digit.
        K = self.K.diagonal()[:n].copy() if self.kernel.is_compiled else self.K[:n, :n]
        cut = {"F": self.F[..., :n], "T": self.T[:, :n], "K": K}
        small: dict[str, Any] = {
            "scores": self.scores[:0],
            "_sides": None,
            "_g": None,
            "_row": None,
            "_given": {},
        }
        return self.__dict__ | cut | small

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self.K.ndim == 1:
            self.restore_kernel_values(self.K)
        self.reserve(self.n + 1)

    def restore_kernel_values(self, diagonal: np.ndarray) -> None:
        """Kernel values among the rows held, which are the same however they are computed."""
        rows = self.store.rows()
        self.K = replace(self.kernel).block(rows, rows)
        np.fill_diagonal(self.K, diagonal)
        self.reserve(self.n + 1)

    def _make_buffers(self) -> None:
        """What is made anew for each example, or of F: no part of the state."""
        capacity = self.F.shape[2]
        self._sides = np.empty((2, self.machines, capacity))
        self._g, self._row = np.empty(self.machines), np.empty(capacity, np.float32)
        self._tags, self._diagonal = np.array([[0, -1]]), np.ones(1)
        self._given: dict[Any, np.ndarray] = {}  # of label and bound

    # -- learning -------------------------------------------------------------------------

    def learn(self, fresh: Examples, noted: bool = True) -> None:
        """Examples of a stream, in order. ``scores`` are then their decision values beforehand.

        ``noted``: none of them was learned before, and ``watch`` is told.
        """
        watch = self.watch if noted else None
        if watch is not None:
            watch.begin()
        self.scores = np.empty((len(fresh.rows), self.machines))
        first = 0
        while first < len(fresh.rows):
            if first:
                checkpoint()
            # A window that changes does so at the same examples however the stream is cut.
            size = watch.left() if watch is not None and watch.follows else PART
            if self._unit_varies:
                size = min(size, next_look(int(self.count[at.CLOCK])))
            part = slice(first, first + size)
            first = part.stop
            few = fresh.take(part)
            self._learn_part(few, self.scores[part])
            if self._unit_varies:
                self._note(few.label)
            if watch is not None:
                watch.note(self.scores[part], few.label, few.bound)
                self._follow(watch)

    def _note(self, labels: np.ndarray) -> None:
        """Targets were learned; now and then the unit of the machines follows them."""
        if isinstance(self.task, Regression):
            self.task.keep(labels)
        if next_look(int(self.count[at.CLOCK]) - 1) == 1:
            self.follow_unit()

    def follow_unit(self) -> bool:
        """The unit of the machines, by what was learned last; whether one became smaller."""
        before, self.unit = self.unit, unit_of(self)
        self._settle_limits()
        return bool((self.unit < before).any())

    def _follow(self, watch: Prequential) -> None:
        """The window becomes what the drift detector finds, if it is to follow it."""
        if watch.follows_now:
            self.limits[at.WINDOW] = watch.window
            if self.recent is not None:
                self.recent.resize(watch.window)

    def _learn_part(self, fresh: Examples, scores: np.ndarray) -> None:
        tags = np.stack([self.groups(fresh), fresh.key], axis=1)
        given = self.given(fresh.label, fresh.bound)
        if self.recent is not None:
            self.recent.append(fresh)
        dense = self._is_dense and not fresh.rows.is_sparse
        if dense and (len(fresh.rows.low) or self.store.has_second_parts()):
            self.store.reserve_second_parts()
        self._reserve_masses(len(fresh.rows))
        examples, done = (tags, given, fresh.diagonal, scores), 0
        while done < len(fresh.rows):
            self.reserve(self.n + 1)
            if dense:
                done = self._dense(fresh.rows.values, fresh.rows.low, *examples, done)
            else:
                one = slice(done, done + 1)
                self._learn_row(fresh.rows.take(one), *(part[one] for part in examples))
                done += 1

    @property
    def _is_dense(self) -> bool:
        return self.kernel.is_compiled and not self.store.is_sparse

    def groups(self, fresh: Examples) -> np.ndarray:
        """Numbers by which rows are counted: labels of classes; targets have none."""
        return fresh.label if fresh.label.ndim == 1 else np.zeros(len(fresh.rows), np.int64)

    def given(self, label: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """p, lo and hi of examples, (n, 3, machines)."""
        linear = self.task.linear(label, self.positive)
        lo, hi = self.task.bounds(linear, bound)
        return np.ascontiguousarray(np.stack([linear, lo, hi]).transpose(2, 0, 1))

    def _dense(
        self, X: Any, X_low: np.ndarray, tags: np.ndarray, given: np.ndarray, diagonal: np.ndarray,
        scores: np.ndarray, first: int,
    ) -> int:  # fmt: skip
        """The compiled loop over dense rows; returns how many are done."""
        store, before = self.store, int(self.count[at.EVALUATIONS])
        gamma, other = compiled_params(self.kernel)
        done = loop.learn_rows(
            X, X_low, _NO_VALUES, tags, given, diagonal, scores, first, gamma, other,
            self.half_life, self.cap, self.task.epsilon, self.task.nu, self.limits, store.dense,
            store.low, store.squares, *self._slots(),
        )  # fmt: skip
        store.n = self.n
        self.kernel.n_evaluations += int(self.count[at.EVALUATIONS]) - before
        return int(done)

    def _slots(self) -> tuple[Any, ...]:
        """The arrays that compiled loops change."""
        near = self.T[at.NEAR] if self.limits[at.POLICY] == at.JOIN else None
        arrays = self.F, self._sides, self.T, self.K, self.M, self.count, self.labels_held
        return *arrays, self.masses, self._g, self._row, near

    def _learn_row(
        self, one: Rows, tags: np.ndarray, given: np.ndarray, diagonal: np.ndarray,
        scores: np.ndarray,
    ) -> None:  # fmt: skip
        """One example of any kind: its kernel values are computed here."""
        row = self.kernel.block(one, self.store.rows())[0]
        loop.learn_rows(
            _NO_ROWS, _NO_ROWS, row, tags, given, diagonal, scores, 0, np.float32(0.0), None,
            self.half_life, self.cap, self.task.epsilon, self.task.nu, self.limits, _NO_ROWS,
            _NO_ROWS, _NO_VALUES, *self._slots(),
        )  # fmt: skip
        self._commit_rows(one)

    def _commit_rows(self, fresh: Rows) -> None:
        """Bring the store in line with the slots."""
        n = self.n
        self.store.rearrange(self.T[at.HANDLE, :n], fresh)
        self.T[at.HANDLE, :n] = np.arange(n)
        self.count[at.STORED] = n
        if not self.store.is_sparse:
            self.store.reserve(self.K.shape[0])

    # -- a data set at hand ---------------------------------------------------------------

    def epoch(
        self, data: Examples, order: np.ndarray, slacks: np.ndarray, first: bool = True
    ) -> Iterator[int]:
        """One pass over the data set; yields how many examples are done.

        ``first``: none of the examples was learned before.
        """
        for begin in range(0, len(order), PART):
            if begin:
                checkpoint()
            self.learn(data.take(order[begin : begin + PART]), first)
            yield min(begin + PART, len(order))

    def n_steps(self, n: int) -> int:
        """How often ``epoch`` yields for n examples."""
        return -(-n // PART)

    def second_look(self, data: Examples, slacks: np.ndarray) -> None:
        """Nothing: what was turned away is gone, and the window is looked at in ``finish``."""

    # -- finishing ------------------------------------------------------------------------

    def finishing_work(self) -> float:
        """Values of the kernel matrix that the finishing step goes through, about."""
        others = 0 if self.recent is None else self.recent.size
        return FINISHING_PASSES * self.machines * self.n * (self.n + others)

    def finish(self, tol: float | None = None) -> bool:
        """Optimise until delta <= tol (tau) for every machine. Returns whether all got there.

        With a window and no budget, examples of the window that violate are admitted first: the
        model becomes the SVM of the window.
        """
        return finish(self, self.tau if tol is None else tol)

    # -- what was learned -----------------------------------------------------------------

    def expansion(self) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
        """Support vectors, their coefficients (machines, n), the biases, and the slots."""
        alpha = self.F[at.ALPHA, :, : self.n]
        used = np.flatnonzero(alpha.any(axis=0))
        return self.store.rows().take(used), alpha[:, used], self.M[at.BIAS].copy(), used

    def keys(self, slots: np.ndarray) -> np.ndarray:
        return self.T[at.KEY, slots]

    def labels(self, slots: np.ndarray) -> np.ndarray:
        return self.T[at.LABEL, slots]
