"""SimpleSVM on examples that are added and removed.

``SimpleSVM`` stores every example, a source of kernel values for them, and one ``Machine`` for each
problem on them (one for two classes, otherwise one per class). ``learn`` adds examples, ``forget``
removes some; then the machines are brought to the optimum of the stored examples, from the previous
solution. The problems are defined by a task (``tasks.py``).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..kernel import exact as exact_kernels
from ..kernel.exact import ExactRows
from ..kernel.kernel import Kernel
from . import lowrank
from .kernel_store import KernelStore, LowRankSource, Source
from .machine import Machine
from .start import STARTS
from .state import same
from .tasks import Task


@dataclass
class Options:
    """How it is learned."""

    tol: float = 1e-5
    cache_size: float = 200.0
    selection: str = "block"
    block_size: int = 256
    init: str = "closest"
    seed: int = 0


class Given(NamedTuple):
    """Examples as users have given them: rows, numbers of labels or values, and weights."""

    rows: ExactRows
    label: np.ndarray
    bound: np.ndarray


class Features:
    """z(x) with k(x, x') = <z(x), z(x')>: given, or from an incomplete Cholesky."""

    def __init__(self, rows: ExactRows, rank: Any, given: Callable[[Any], np.ndarray] | None):
        self.given = given
        if given is not None:
            self._Z = self._call(rows)
            return
        by_count = isinstance(rank, int | np.integer)
        self._Z, pivots, self.T = lowrank.incomplete_cholesky(
            rows, int(rank) if by_count else len(rows), 0.0 if by_count else float(rank)
        )
        self.pivots = rows.take(pivots)

    def _call(self, rows: ExactRows) -> np.ndarray:
        assert self.given is not None
        Z = np.array(self.given(rows.values), np.float64, order="C")
        if Z.ndim != 2 or len(Z) != len(rows) or not np.isfinite(Z).all():
            raise ValueError(
                f"low_rank must map {len(rows)} examples to an array of shape ({len(rows)}, l) of "
                f"finite numbers; it returned shape {Z.shape}."
            )
        return Z

    def hand_over(self) -> np.ndarray:
        """z of the first examples, which are then kept by who asks."""
        Z = self._Z
        del self._Z
        return Z

    def of(self, rows: ExactRows) -> np.ndarray:
        """z of other examples."""
        if self.given is not None:
            return self._call(rows)
        return rows.block(self.pivots) @ self.T


class SimpleSVM:
    """The kept examples and the machines on them."""

    def __init__(
        self,
        rows: ExactRows,
        target: np.ndarray,
        weight: np.ndarray,
        task: Task,
        options: Options,
        features: Features | None = None,
    ):
        self.rows, self.target, self.weight = rows, target, weight
        self.task, self.options, self.features = task, options, features
        self.number = np.arange(len(rows))
        self.seen = len(rows)
        half = options.cache_size / 2
        self.source: Source = (
            KernelStore(rows, half) if features is None else LowRankSource(features.hand_over())
        )
        self.machines: list[Machine] = []
        self._start()

    def _start(self) -> None:
        problems = self.task.problems(self.target, self.weight)
        share = self.options.cache_size * 2**20 / 2 / max(1, len(problems))
        capacity = max(2, int(np.sqrt(share / 16)))  # the factor and H_ww, in double precision
        o = self.options
        self.machines = [
            Machine(
                problem, self.source, tol=o.tol, capacity=capacity, selection=o.selection,
                block_size=o.block_size, seed=o.seed + k,
            )
            for k, problem in enumerate(problems)
        ]  # fmt: skip
        for machine in self.machines:
            machine.first = self._pair(machine)

    def _pair(self, machine: Machine) -> np.ndarray:
        y = np.where(machine.problem.upper > 0, machine.problem.sign, 0.0)
        if not self.task.has_pair or not ((y > 0).any() and (y < 0).any()):
            return np.empty(0, np.int64)
        store = self.source
        if isinstance(store, LowRankSource):
            store = KernelStore(self.rows, 0.0)
        elif machine.whole:
            store.fill()
        return STARTS[self.options.init](y, store, machine.rng)

    # -- learning -------------------------------------------------------------------------

    def optimise(self, max_sweeps: int | None = None) -> Iterator[int]:
        """Sweep with every machine until it is optimal; yields the violators of each sweep."""
        for machine in self.machines:
            yield from machine.optimise(max_sweeps)

    def finish(self, max_sweeps: int | None = None) -> bool:
        """``optimise`` to the end. Returns whether all machines converged."""
        for _ in self.optimise(max_sweeps):
            pass
        return self.converged

    @property
    def kernel(self) -> Kernel:
        """The kernel of the examples, which counts the values computed for them."""
        return self.rows.kernel

    @property
    def converged(self) -> bool:
        return all(machine.converged for machine in self.machines)

    def copy(self) -> SimpleSVM:
        """A copy that can be changed while this one stays."""
        twin = same(self)
        if isinstance(self.source, LowRankSource):
            twin.source = LowRankSource(self.source.Z)
        twin.machines = [m.copy(len(self.machines)) for m in self.machines]
        for machine in twin.machines:
            machine.source = twin.source
        return twin

    def snapshot(self) -> SimpleSVM:
        """A copy of a learner that is still at work, which goes on to change its kernel store."""
        twin = self.copy()
        if isinstance(self.source, KernelStore):
            twin.source = KernelStore(self.rows, self.source.megabytes)
            for machine in twin.machines:
                machine.source = twin.source
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> SimpleSVM:
        """Another owner's learner. It shares what neither of them changes: see ``copy``."""
        twin = same(self)
        twin.rows = copy.copy(self.rows)
        twin.rows.kernel = copy.copy(self.rows.kernel)  # each counts its own values
        if isinstance(self.source, KernelStore):
            twin.source = self.source.twin(twin.rows)
        twin.machines = [same(machine) for machine in self.machines]
        for machine in twin.machines:
            machine.source = twin.source
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """Without the problems, which targets and weights give again."""
        states = [dict(machine.__getstate__()) for machine in self.machines]
        for state in states:
            del state["problem"]
        return {**self.__dict__, "machines": states}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        problems = self.task.problems(self.target, self.weight)
        self.machines = [object.__new__(Machine) for _ in problems]
        for machine, problem, kept in zip(self.machines, problems, state["machines"]):
            machine.__setstate__({**kept, "problem": problem})

    def learn(self, rows: ExactRows, target: np.ndarray, weight: np.ndarray) -> None:
        """More examples; the machines go on from their solution."""
        old = len(self.rows)
        self.rows = self.rows.append(rows)
        self.rows.kernel = rows.kernel = copy.copy(self.rows.kernel)
        self.target = np.concatenate([self.target, target])
        self.weight = np.concatenate([self.weight, weight])
        self.number = np.concatenate([self.number, self.seen + np.arange(len(rows))])
        self.seen += len(rows)
        problems = self.task.problems(self.target, self.weight)
        if isinstance(self.source, LowRankSource):
            assert self.features is not None
            fresh = self.features.of(rows)
            self.source = LowRankSource(np.concatenate([self.source.Z, fresh]))
        else:
            self.source = self.source.extend(self.rows)
        if len(problems) != len(self.machines):
            self._start()
            return
        for machine, problem in zip(self.machines, problems):
            score = np.concatenate([machine.score, self._scores(machine, rows, old)])
            place = machine.problem.row
            if len(problem) > len(self.rows):  # two variables an example
                half = len(machine.problem) // 2
                place = np.concatenate([place[:half], place[half:] + len(self.rows)])
            machine.extend(problem, place, self.source, score)
            if not (machine.alpha > 0).any():
                machine.first = self._pair(machine)

    def _scores(self, machine: Machine, rows: ExactRows, old: int) -> np.ndarray:
        coef = machine.coefficients()
        if isinstance(self.source, LowRankSource):
            return self.source.Z[old:] @ (coef @ self.source.Z[:old])
        which = np.flatnonzero(coef)
        return exact_kernels.product(rows, self.rows.take(which), coef[which][:, None])[:, 0]

    def forget(self, gone: np.ndarray) -> None:
        """Take away the examples at the positions ``gone`` (a mask)."""
        kept = ~gone
        coef = [machine.coefficients() for machine in self.machines]
        self.target, self.weight = self.target[kept], self.weight[kept]
        self.number = self.number[kept]
        problems = self.task.problems(self.target, self.weight)
        scores = [self._scores_without(m, c, gone) for m, c in zip(self.machines, coef)]
        self.rows = self.rows.take(np.flatnonzero(kept))
        self.rows.kernel = copy.copy(self.rows.kernel)
        self.source = (
            LowRankSource(self.source.Z[kept])
            if isinstance(self.source, LowRankSource)
            else self.source.restrict(self.rows, kept)
        )
        if len(problems) != len(self.machines):
            self._start()
            return
        for machine, problem, score in zip(self.machines, problems, scores):
            machine.forget(problem, kept[machine.problem.row], self.source, score)

    def _scores_without(self, machine: Machine, coef: np.ndarray, gone: np.ndarray) -> np.ndarray:
        """Scores of those who stay, less the part of those who go."""
        which = np.flatnonzero(gone & (coef != 0))
        if isinstance(self.source, LowRankSource):
            part = self.source.Z @ (coef[which] @ self.source.Z[which])
        else:
            part = self.source.product(which, coef[which])
        return (machine.score - part)[~gone]

    # -- what was learned -----------------------------------------------------------------

    def readings(self) -> tuple[np.ndarray, np.ndarray]:
        """Bias and scale of every machine."""
        pairs = np.array([self.task.bias(m.multipliers(), m.noise()) for m in self.machines])
        return pairs[:, 0], pairs[:, 1]

    def expansion(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the support vectors and their coefficients, (machines, n_SV)."""
        coef = np.array([machine.coefficients() for machine in self.machines])
        which = np.flatnonzero((coef != 0).any(axis=0))
        return which, coef[:, which] * self.readings()[1][:, None]

    def decide(self, rows: ExactRows) -> np.ndarray:
        """Decision values, (n, machines); kernel values are counted by the kernel of ``rows``."""
        bias, scale = self.readings()
        if isinstance(self.source, LowRankSource):
            assert self.features is not None
            coef = np.array([machine.coefficients() for machine in self.machines])
            values = self.features.of(rows) @ (coef @ self.source.Z).T * scale
        else:
            which, coef = self.expansion()
            mine = self.rows.take(which)
            if rows.kernel.name == "linear":  # one weight vector per machine
                mine = ExactRows(np.asarray(coef @ mine.values), rows.kernel)
                coef = np.eye(len(coef))
            mine.kernel = rows.kernel
            values = exact_kernels.product(rows, mine, coef.T)
        return values + bias

    def scores(self) -> np.ndarray:
        """Decision values of the kept examples, (n, machines)."""
        bias, scale = self.readings()
        return np.stack([m.score for m in self.machines], axis=1) * scale + bias
