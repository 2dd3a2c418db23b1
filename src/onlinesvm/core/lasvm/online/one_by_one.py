"""Examples one at a time: the compiled loop (``process.online``), and what it asks for on the way.

The loop stops where there is no space for another row, or where it needs the kernel row of a slot that
the cache has not kept; space is made and the row computed here, and it goes on. It reads the arrays of
the support set, the cache and the limits in place: a ``Call`` that fits them is kept from one example
to the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...examples import Examples
from ...kernel.cache import HeldValues
from ...kernel.kernel import Kernel
from ...kernel.rows import Rows
from ...kernel.tiles.one_row import EIGHT
from ..state import EVALUATIONS, MACHINE, NEED, PHASE, POSITION, STORED, Support
from ..tasks import Regression
from .memory import Memory
from .process import INSERT, Call, Rules

STREAM_REPROCESS = 20
"""Maximum number of REPROCESS after one PROCESS of a stream."""

MOST_REPROCESS = 100_000
"""Maximum number of REPROCESS after one PROCESS with ``delta_max``; reached only where rounding
stalls them."""

_KEPT = 256
"""Pairs of label and bound whose linear terms and bounds are kept."""


class OneByOne:
    """A support set that learns examples one at a time. ``listed``: as the paper lists it."""

    def __init__(
        self, kernel: Kernel, support: Support, values: HeldValues, memory: Memory | None,
        seeds: np.ndarray, n_labels: int, tau: float, delta_max: float, listed: bool,
    ):  # fmt: skip
        self.kernel, self.support, self.values, self.memory = kernel, support, values, memory
        self.seeds, self.n_labels = seeds, n_labels
        self.tau, self.delta_max, self.listed = tau, delta_max, listed
        self.keeps_all = False
        self._call: Call | None = None
        self._terms: dict[Any, np.ndarray] = {}  # p, lo and hi of pairs of label and bound

    def keep_all(self, keeps_all: bool) -> None:
        """Whether every example joins, and no row leaves."""
        if keeps_all != self.keeps_all:
            self.keeps_all = keeps_all
            self._set_thresholds()

    @property
    def rules(self) -> Rules:
        """How far one example is optimised."""
        task, tolerances = self.support.task, self.support.task.tolerances
        if self.memory is not None or not task.both_signs:
            return Rules(-np.inf, task.epsilon, task.nu, STREAM_REPROCESS, False)
        if self.listed or self.delta_max < np.inf:
            return Rules(self.delta_max, 0.0, 0.0, MOST_REPROCESS, True)
        delta = tolerances.rough if self.keeps_all else tolerances.stream_delta
        return Rules(delta, 0.0, 0.0, STREAM_REPROCESS, True)

    def _set_thresholds(self) -> None:
        """Tolerance, and how far beyond the margin rows leave, in the units of the machines."""
        a, unit, task = self.support.a, self.support.unit, self.support.task
        if self.memory is not None:
            a.tau[:], a.beyond[:] = self.tau * unit, task.beyond(unit)
        elif task.both_signs:
            a.tau[:], a.beyond[:] = self.tau, 0.0 if self.listed else task.tolerances.stream_beyond
        else:
            a.tau[:], a.beyond[:] = task.tolerances.stream_goal * unit, 0.0
        if self.keeps_all:
            a.beyond[:] = np.inf

    def takes(self, rows: Rows) -> bool:
        """Whether the compiled loop computes the kernel values of these rows itself."""
        return self.kernel.is_compiled and not (rows.is_sparse or self.support.store.is_sparse)

    def _call_for(self, rules: Rules, dense: bool) -> Call:
        """The arrays of the compiled loop, with space for one more row."""
        self.values.reserve(self.support.n + EIGHT + 1)
        call, cache = self._call, self.values.cache
        if call is None or not call.fits(self.support, cache, rules, self.memory, dense):
            assert cache is not None
            if dense:
                self.support.store.reserve(self.support.capacity)
            call = self._call = Call(
                self.support, cache, self.kernel, rules, self.seeds, self.memory,
                self.n_labels, dense,
            )  # fmt: skip
            self._set_thresholds()
        return call

    def begin_reprocess(self) -> Call:
        """What the finishing step as listed needs."""
        self._set_thresholds()
        return self._call_for(self.rules, False)

    def _begin(self) -> None:
        """A pass over some examples begins."""
        if not self.support.task.both_signs:  # the unit varies
            self._set_thresholds()
        count = self.support.a.count
        count[POSITION], count[PHASE], count[MACHINE] = 0, INSERT, 0

    def learn_dense(self, fresh: Examples) -> np.ndarray:
        """Dense examples, with a compiled kernel; returns their scores before each was learned."""
        rows, store = fresh.rows, self.support.store
        store.drop_unused_second_parts()
        if len(rows.low) or len(store.low):
            store.reserve_second_parts()
        scores = np.empty((len(rows), self.support.machines))
        tags, given, about = self._columns(fresh)
        X, low = np.asarray(rows.values), rows.low
        self._begin()
        rules, count = self.rules, self.support.a.count
        evaluations, done, before = int(count[EVALUATIONS]), 0, -1
        while before < done < len(X):  # it stops where there is no space for another row
            before = done
            done = self._run(self._call_for(rules, True), X, low, tags, given, about, scores)
        self.kernel.n_evaluations += int(count[EVALUATIONS]) - evaluations
        return scores

    def learn_row(
        self, x: np.ndarray, low: np.ndarray, label: Any, bound: float, diagonal: float, key: int,
        scores: np.ndarray,
    ) -> bool:  # fmt: skip
        """One dense row; writes its scores. False: it is far, and needs its second part ``low``."""
        if self.memory is not None:
            self.memory.reserve_masses(self.support, 1)
        call, given = self._call_for(self.rules, True), self._given_of(label, bound)
        call.about[0] = bound, diagonal
        call.tags[0, 0] = label if isinstance(label, int) else 0
        call.tags[0, 1] = key
        self._begin()
        evaluations = int(self.support.a.count[EVALUATIONS])
        if not self._run(call, x[None, :], low, call.tags, given, call.about, scores):
            return False
        self.kernel.n_evaluations += int(self.support.a.count[EVALUATIONS]) - evaluations
        return True

    def _run(self, call: Call, *examples: Any) -> int:
        """The compiled loop with the kernel rows that it asks for; returns how many are done."""
        count, store = self.support.a.count, self.support.store
        while True:
            done = call.learn(*examples)
            count[STORED] = store.n = self.support.n
            if count[NEED] < 0:
                return done
            self.values.fetch(int(count[NEED]))

    def learn_known(self, fresh: Examples, values: np.ndarray, slot_of: np.ndarray) -> np.ndarray:
        """Examples whose kernel values are known: with the support set, then among themselves.

        Returns the decision values (n, machines) before each was learned, of those not in S.
        """
        support, n = self.support, self.support.n
        self.values.reserve(n + len(fresh.rows))
        self._begin()
        a = support.a
        a.column[:n] = a.handle[:n] = np.arange(n)
        a.count[STORED] = n
        scores = np.empty((len(fresh.rows), support.machines))
        examples = *self._columns(fresh), scores, slot_of
        call = self._call_for(self.rules, False)
        while call.learn_known(values, *examples) < len(fresh.rows):
            support.commit_rows(fresh.rows)
            self.values.fetch(int(a.count[NEED]))
        support.commit_rows(fresh.rows)
        return scores

    def _columns(self, fresh: Examples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the loop is told of examples, besides their rows (``process.Fresh``)."""
        tags = np.stack([self.support.task.groups(fresh.label), fresh.key], axis=1)
        about = np.stack([fresh.bound, fresh.diagonal], axis=1)
        return tags, self._given(fresh.label, fresh.bound), about

    def _given(self, label: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """p, lo and hi of examples, (n, 3, machines)."""
        return np.ascontiguousarray(self.support.given(label, bound).transpose(2, 0, 1))

    def _given_of(self, label: Any, bound: float) -> np.ndarray:
        """The same for one example; those of classes are kept, for they come again."""
        task = self.support.task
        if isinstance(task, Regression):
            return task.terms(label, bound)
        found = self._terms.get((label, bound))
        if found is None:
            if len(self._terms) >= _KEPT:
                self._terms.clear()
            found = self._given(task.no_labels(1) + label, np.array([bound]))
            self._terms[label, bound] = found
        return found
