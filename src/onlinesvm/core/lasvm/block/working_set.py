"""Optimise one machine by working sets: the many-at-a-time form of REPROCESS.

    repeat   choose W, the rows that violate most
             solve the problem on W alone (``smo.solve``)
             g <- g - K(., W) (alpha_W' - alpha_W)
    until    g_max - g_min <= tol

on a problem that is *shrunk* as the gap closes: rows on a bound that violate with no other row
are set aside, and their gradients are brought up to date at the end, once (lasvm-2005, 3.2,
"Implementation Details"). Kernel rows are kept, as many as the budget allows; the budget decides
where values come from, never which sets are chosen. What is left in the end is small enough to
be one working set.

Symbols: alpha, grad (g), lo (A), hi (B) as in eq. (5) and (9) of lasvm-2005.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...kernel.buffers import Buffers
from ...kernel.kernel import Kernel
from ...kernel.rows import Rows
from ...runtime.interrupts import checkpoint
from ...runtime.threads import over_rows, over_tasks, thread_count
from ..state import Support
from ..tasks import one_sided
from . import smo, together
from .smo import gather, subtract_rows
from .together import ASIDE, INNER_STEPS, NEARLY, STALLED

SET_SIZE = 1024
"""Rows in a working set while finishing."""

LARGE_PROBLEM, LARGE_SET = 16384, 4096
"""LARGE_SET is used for problems of at least LARGE_PROBLEM rows, few of whose kernel rows can be
kept, and for tasks with many free coefficients, whose kernel rows would be computed again and
again."""

WORTH_KEEPING, EXPENSIVE = 0.25, 64
"""Kernel rows are kept if there is memory for this share of them, and if a value costs at least so
many multiplications; else computing them again is faster than fetching them from memory."""

WHOLE = 4096
"""Maximum number of rows of a problem that is solved at once, as a single working set."""

FEWER = 0.7
"""Rows are set aside when no more than this share would be left."""

STAGE = 0.2
"""Share of the gap at which it is worth looking again which rows can be set aside."""

MANY, WORTH_SHARING = 16, 2
"""Machines from which on kernel values are computed once for all, where those of each would be this
many times as many; from two on where they overlap by their task."""

TOGETHER, OVERHEAD = 64, 100_000
"""Machines from which on each is one compiled call on shared values (``together``), and kernel values
that could be computed in the time that a machine takes otherwise."""

EMBEDDED = 0.5
"""Share of the shared rows from which on a problem is solved without a copy of their kernel values."""

FEW_ROWS, INNER_GOAL = 256, 0.9
"""Of many machines, each counts: problems of few rows are not shrunk, and a set is solved to this share
of the tolerance. A finer one means more support vectors where the tolerance decides on their number."""

_ROUNDS = 10_000
_LAST = -1  # level of buffers_of that no one below uses
_INLINE = 100_000


class Problem(NamedTuple):
    """One machine's coefficients on some rows; ``alpha`` and ``grad`` change in place.

    See ``tasks`` for epsilon and the unit; gradients are near ``centre``, in units of ``unit``.
    """

    alpha: np.ndarray
    grad: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    diagonal: np.ndarray
    epsilon: float = 0.0
    unit: float = 1.0
    centre: float = 0.0
    many_free: bool = False
    left: np.ndarray | None = None  # steps that it may still make, (1,); None: any number

    def take(self, which: np.ndarray) -> Problem:
        alpha, grad, lo, hi, diagonal = (array[which] for array in self[:5])
        return self._replace(alpha=alpha, grad=grad, lo=lo, hi=hi, diagonal=diagonal)

    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Slopes to the right of the rows that may go up (else -inf), to the left (else inf)."""
        right, left = one_sided(self.alpha, self.grad, self.epsilon)
        up = np.where(self.alpha < self.hi, right, -np.inf)
        down = np.where(self.alpha > self.lo, left, np.inf)
        return up, down


def problem_of(support: Support, m: int, slots: np.ndarray) -> Problem:
    """Machine m on some slots."""
    a, task = support.a, support.task
    centre = 0.0 if task.both_signs else float(a.bias[m])
    return Problem(
        a.alpha[m, slots], a.grad[m, slots], a.lo[m, slots], a.hi[m, slots], a.diagonal[slots],
        task.epsilon, float(support.unit[m]), centre, not task.both_signs,
        None if support.left is None else support.left[m : m + 1],
    )  # fmt: skip


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Indices of the ``count`` largest finite values."""
    count = min(count, len(values))
    best = np.argpartition(-values, count - 1)[:count] if count else np.empty(0, np.int64)
    return best[np.isfinite(values[best])]


def most_violating(up: np.ndarray, down: np.ndarray, count: int) -> np.ndarray:
    """The rows that violate most, half of them upwards and half downwards."""
    half = count // 2
    return np.union1d(_largest(up, half), _largest(-down, half))


def solve_set(K: np.ndarray, part: Problem, tol: float, steps: int) -> np.ndarray:
    """Optimise ``part`` with its kernel values in a ``Buffers.square``; returns the change of alpha."""
    diagonal = np.zeros(K.shape[1], np.float32)
    diagonal[: len(K)] = part.diagonal
    alpha, unit = part.alpha / part.unit, part.unit
    grad, lo, hi = (part.grad - part.centre) / unit, part.lo / unit, part.hi / unit
    if part.left is not None:
        steps = min(steps, int(part.left[0]))
    made, _ = smo.solve(K, diagonal, alpha, grad, lo, hi, part.epsilon / unit, tol / unit, steps)
    if part.left is not None:
        part.left[0] -= made
    return alpha * unit - part.alpha


class Shared(NamedTuple):
    """Rows of one of many machines among those that all share.

    ``values[places[i], places[j]]`` are their kernel values, where they are computed once for all.
    """

    values: np.ndarray | None  # a ``Buffers.square``
    places: np.ndarray

    def take(self, which: np.ndarray) -> Shared:
        return self._replace(places=self.places[which])

    def spread(self, problem: Problem, n: int) -> Problem:
        """The problem on all n rows of ``values``; those that it lacks cannot move."""
        wide: dict[str, Any] = {name: np.zeros(n) for name in Problem._fields[:5]}
        for name, array in wide.items():
            array[self.places] = getattr(problem, name)
        return problem._replace(**wide)


class RowKeeper:
    """Kernel rows K(s, .) of a set of rows that does not change meanwhile."""

    def __init__(self, kernel: Kernel, rows: Rows, megabytes: float, set_size: int = 0):
        self.kernel, self.rows = kernel, rows
        n = max(1, len(rows))
        capacity = int(megabytes * 2**20) // (4 * n)
        worth = capacity >= max(2 * SET_SIZE, set_size, n * WORTH_KEEPING)
        expensive = not kernel.is_compiled or rows.width() >= EXPENSIVE
        self.capacity = min(n, capacity) if worth and expensive else 0
        self.pool = np.empty((self.capacity, n), np.float32)
        self.place = np.full(n, -1)  # of row s in the pool
        self.owner = np.full(self.capacity, -1)
        self.stamp = np.zeros(self.capacity, np.int64)
        self.clock, self.used = 0, 0

    def fetch(self, wanted: np.ndarray) -> np.ndarray:
        """Places in the pool of these rows; computes what is missing. They must fit."""
        self.clock += 1
        places = self.place[wanted]
        self.stamp[places[places >= 0]] = self.clock
        missing = wanted[places < 0]
        if not len(missing):
            return places
        fresh = self.rows.take(missing)
        if self.used + len(missing) <= self.capacity:
            seats = np.arange(self.used, self.used + len(missing))
            self.kernel.block(fresh, self.rows, self.pool[seats[0] : seats[-1] + 1])
            self.used += len(missing)
        else:
            self.used = self.capacity
            seats = np.argpartition(self.stamp, len(missing) - 1)[: len(missing)]
            evicted = self.owner[seats]
            self.place[evicted[evicted >= 0]] = -1
            self.pool[seats] = self.kernel.block(fresh, self.rows)
        self.owner[seats], self.place[missing], self.stamp[seats] = missing, seats, self.clock
        return self.place[wanted]


def over_machines(
    support: Support, kernel: Kernel, machines: list[int], task: Callable[[int, Any, Buffers], None]
) -> None:
    """``task(m, kernel, buffers)`` for machines that know nothing of each other.

    One machine has all threads for its kernel values; several share them out, so that what a
    single thread does for one (SMO) others do meanwhile for another.
    """
    threads = min(len(machines), thread_count(kernel.n_jobs))
    if threads < 2 or not kernel.is_compiled:
        for m in machines:
            task(m, kernel, support.buffers.for_workers(1)[0])
        return
    kernels = [replace(kernel, n_jobs=1, n_evaluations=0) for _ in range(threads)]
    buffers_of = support.buffers.for_workers(threads)
    over_tasks(
        lambda number, worker: task(machines[number], kernels[worker], buffers_of[worker]),
        len(machines),
        threads,
    )
    kernel.n_evaluations += sum(own.n_evaluations for own in kernels)


def optimise_all(support: Support, kernel: Kernel, tol: float, megabytes: float) -> bool:
    """Bring every machine to g_max - g_min <= tol. Returns whether all got there.

    Machines small enough to be solved at once go side by side; others may need all the memory.
    """
    if support.machines >= max(MANY, TOGETHER):
        left = _unfinished(support, tol)
        if not left:
            return True
    done = np.zeros(support.machines, bool)
    sizes = np.count_nonzero(support.a.member[:, : support.n], axis=1)
    shared = _share(support, kernel, sizes, megabytes)
    very_many = support.machines >= TOGETHER and support.left is None
    if shared is not None and shared.values is not None and very_many:
        return optimise_together(support, kernel, shared.values, tol, left)

    def task(m: int, own: Kernel, buffers: Buffers) -> None:
        done[m] = optimise(support, own, m, tol, megabytes, buffers, shared)

    small = (sizes <= WHOLE) | (shared is not None and shared.values is not None)
    over_machines(support, kernel, np.flatnonzero(small).tolist(), task)
    for m in np.flatnonzero(~small).tolist():
        task(m, kernel, support.buffers)
    return bool(done.all())


def _unfinished(support: Support, tol: float) -> list[int]:
    """Machines that have not reached ``tol``."""
    support.measure()
    gap = np.where(support.started(), support.a.delta, np.inf)
    return np.flatnonzero(gap > tol * support.unit).tolist()


def has_memory(machines: int, n: int, megabytes: float) -> bool:
    """Whether there is memory for the kernel values of all pairs of n rows.

    That is, what is meant for kernel values, or what coefficients, gradients and bounds take.
    """
    return 4 * n**2 <= max(megabytes * 2**20, 24 * machines * n)


def takes_all_at_once(machines: int, n: int, megabytes: float) -> bool:
    """Whether very many machines learn n examples in one block: each step goes through all of them."""
    worth = n**2 <= OVERHEAD * machines
    return machines >= TOGETHER and worth and has_memory(machines, n, megabytes)


def share(support: Support, kernel: Kernel, megabytes: float) -> Shared | None:
    """What many machines share, if it pays."""
    sizes = np.count_nonzero(support.a.member[:, : support.n], axis=1)
    return _share(support, kernel, sizes, megabytes)


def _share(support: Support, kernel: Kernel, sizes: np.ndarray, megabytes: float) -> Shared | None:
    """What many machines share; kernel values where most have most rows as members.

    They are also shared where that takes less time than very many machines take apart.
    """
    if support.machines < (2 if support.task.overlap else MANY):
        return None
    n, rows = support.n, support.rows()
    apart = float((sizes.astype(np.float64) ** 2).sum()) / WORTH_SHARING
    if support.machines >= TOGETHER:
        apart += OVERHEAD * support.machines
    worth = n**2 <= apart and has_memory(support.machines, n, megabytes)
    values = kernel.block(rows, rows, support.buffers.square(n)) if worth else None
    return Shared(values, np.arange(n))


def optimise_together(
    support: Support, kernel: Kernel, K: np.ndarray, tol: float, machines: Iterable[int]
) -> bool:
    """Bring some of very many machines to ``tol``, K the kernel values among all rows held."""
    a, task, n, done = support.a, support.task, support.n, []
    diagonal = a.diagonal[:n]
    support.changed()

    def optimise_one(m: int, own: Kernel, buffers: Buffers) -> None:
        checkpoint()
        unit, centre = float(a.unit[m]), 0.0 if task.both_signs else float(a.bias[m])
        arrays = (array[m, :n] for array in (a.alpha, a.grad, a.lo, a.hi, a.member))
        goal = tol * unit
        done.append(
            together.optimise(
                K, together.space(buffers, n), diagonal, *arrays, (unit, centre), task.epsilon,
                goal, INNER_GOAL * goal,
            )
        )  # fmt: skip

    over_machines(support, kernel, list(machines), optimise_one)
    return all(done)


def optimise(
    support: Support,
    kernel: Kernel,
    m: int,
    tol: float,
    megabytes: float,
    buffers: Buffers | None = None,
    shared: Shared | None = None,
) -> bool:
    """Bring machine m to g_max - g_min <= tol, in its unit. Returns whether it got there."""
    slots = np.flatnonzero(support.a.member[m, : support.n])
    problem = problem_of(support, m, slots)
    rows = support.rows().take(slots)
    tol *= problem.unit
    own = shared and shared.take(slots)
    try:
        return _descend(problem, kernel, rows, tol, megabytes, buffers or support.buffers, 0, own)
    finally:  # also after Ctrl-C: the problem is consistent at every checkpoint
        support.a.alpha[m, slots], support.a.grad[m, slots] = problem.alpha, problem.grad
        support.changed()


def _descend(
    problem: Problem, kernel: Kernel, rows: Rows, tol: float, megabytes: float, buffers: Buffers,
    level: int = 0, shared: Shared | None = None,
) -> bool:  # fmt: skip
    """Optimise; as the gap closes, go on with fewer rows and come back to check the others."""
    n, K, threads = len(rows), None, thread_count(kernel.n_jobs)
    inner, least = (tol / 2, 0) if shared is None else (INNER_GOAL * tol, FEW_ROWS)
    keeper: RowKeeper | None = None
    before, tries = np.inf, 0
    while True:
        checkpoint()
        up, down = problem.sides()
        gap = float(up.max(initial=-np.inf) - down.min(initial=np.inf))
        if not gap > tol:
            return True
        if problem.left is not None and problem.left[0] <= 0:
            return False
        tries = 0 if gap < (1.0 - smo.PROGRESS) * before else tries + 1
        if tries > STALLED:
            return False
        before = min(gap, before)
        active = _active(up, down, gap, problem.unit)
        if n > least and len(active) < FEWER * n:
            part, start = problem.take(active), problem.alpha[active]
            goal = max(tol, gap * ASIDE)
            fewer, own = rows.take(active), shared and shared.take(active)
            try:
                reached = _descend(part, kernel, fewer, goal, megabytes, buffers, level + 1, own)
            finally:
                problem.alpha[active], problem.grad[active] = part.alpha, part.grad
                _catch_up(problem, kernel, rows, active, part.alpha - start, shared)
            if not reached:
                return False
            continue
        known = None if shared is None else shared.values
        if shared is not None and known is not None and n > EMBEDDED * len(known):
            _solve_spread(problem, shared, known, inner, threads)
        elif n <= WHOLE:
            if K is None:
                K = _among(shared, kernel, rows, buffers.square(n, level))
            _solve_whole(problem, K, inner, threads)
        else:
            size = LARGE_SET if problem.many_free or n >= LARGE_PROBLEM else SET_SIZE
            keeper = keeper or RowKeeper(kernel, rows, megabytes, size)
            _rounds(problem, kernel, keeper, max(tol, gap * STAGE), buffers, size)


def _among(shared: Shared | None, kernel: Kernel, rows: Rows, out: np.ndarray) -> np.ndarray:
    """Kernel values among rows: those that are shared, else computed."""
    if shared is None or shared.values is None:
        return kernel.block(rows, rows, out)
    gather(shared.values, shared.places, shared.places, out)
    return out


def _active(up: np.ndarray, down: np.ndarray, gap: float, unit: float) -> np.ndarray:
    """Rows that are free, or that lie on a bound and violate, or nearly so.

    The bias is judged by the free rows. Every pair that violates most must stay, or the caller
    would make no progress.
    """
    free = up == down  # neither on a bound nor, with an epsilon, at zero
    g_max, g_min = up.max(), down.min()
    bias = np.clip(up[free].mean(), g_min, g_max) if free.any() else (g_max + g_min) / 2
    reach = NEARLY * min(gap, unit)
    keep = (
        free
        | (up > min(bias - reach, g_max - gap / 4))
        | (down < max(bias + reach, g_min + gap / 4))
    )
    return np.flatnonzero(keep)


def _catch_up(
    problem: Problem, kernel: Kernel, rows: Rows, active: np.ndarray, change: np.ndarray,
    shared: Shared | None,
) -> None:  # fmt: skip
    """Bring the gradients of the rows that were set aside up to date."""
    aside = np.delete(np.arange(len(rows)), active)
    moved = np.flatnonzero(change)
    if not len(aside) or not len(moved):
        return
    if shared is not None and shared.values is not None:
        step, places = np.zeros(len(shared.values)), shared.places
        subtract_rows(step, shared.values, places[active[moved]], change[moved], 0, len(step))
        problem.grad[aside] += step[places[aside]]
    else:
        sources = rows.take(active[moved])
        product = kernel.product(rows.take(aside), sources, change[None, moved])
        problem.grad[aside] -= product[:, 0]


def _rounds(
    problem: Problem, kernel: Kernel, keeper: RowKeeper, tol: float, buffers: Buffers, size: int
) -> None:
    """Working sets, half of each kept from the one before, until the gap is at most tol."""
    kept = np.empty(0, np.int64)
    for _ in range(_ROUNDS):
        checkpoint()
        up, down = problem.sides()
        gap = float(up.max(initial=-np.inf) - down.min(initial=np.inf))
        if not gap > tol or (problem.left is not None and problem.left[0] <= 0):
            return
        fresh = most_violating(up, down, size if not len(kept) else size // 2)
        W = np.union1d(fresh, kept)
        K = buffers.square(len(W), _LAST)
        if _round(problem, kernel, keeper, W, K, max(tol / 2, 0.1 * gap)) <= 0:
            return
        alpha = problem.alpha[fresh]
        free = (alpha > problem.lo[fresh]) & (alpha < problem.hi[fresh]) & (alpha != 0.0)
        kept = fresh[free][: size // 2]


def _solve_spread(
    problem: Problem, shared: Shared, K: np.ndarray, tol: float, threads: int
) -> None:
    """All rows as one working set, with the kernel values of all where they are."""
    wide = shared.spread(problem, len(K))
    _solve_whole(wide, K, tol, threads)
    problem.alpha[:], problem.grad[:] = wide.alpha[shared.places], wide.grad[shared.places]


def _solve_whole(problem: Problem, K: np.ndarray, tol: float, threads: int) -> None:
    """All rows as one working set."""
    change = solve_set(K, problem, tol, INNER_STEPS * max(len(K), 1000))
    _move(problem, np.arange(len(K)), change)
    moved = np.flatnonzero(change)
    subtract(problem.grad, K, moved, change[moved], threads)


def _round(
    problem: Problem, kernel: Kernel, keeper: RowKeeper, W: np.ndarray, K: np.ndarray, tol: float
) -> float:
    """One working set: solve, then bring all gradients up to date. Returns the dual's gain."""
    before, cost = problem.grad[W], np.abs(problem.alpha[W]).sum()
    if keeper.capacity:
        places = keeper.fetch(W)
        gather(keeper.pool, places, W, K)
    else:
        chosen = keeper.rows.take(W)
        kernel.block(chosen, chosen, K)
    change = solve_set(K, problem.take(W), tol, INNER_STEPS * len(W))
    _move(problem, W, change)
    moved = np.flatnonzero(change)
    if keeper.capacity:
        threads = thread_count(kernel.n_jobs)
        subtract(problem.grad, keeper.pool, places[moved], change[moved], threads)
    else:
        sources = keeper.rows.take(W[moved])
        problem.grad[:] -= kernel.product(keeper.rows, sources, change[None, moved])[:, 0]
    cost = problem.epsilon * (np.abs(problem.alpha[W]).sum() - cost)
    return float(change @ (before + problem.grad[W]) / 2 - cost)


def _move(problem: Problem, W: np.ndarray, change: np.ndarray) -> None:
    """alpha_W changes, and stays within its bounds to the last bit."""
    problem.alpha[W] = np.clip(problem.alpha[W] + change, problem.lo[W], problem.hi[W])


def subtract(
    grad: np.ndarray, pool: np.ndarray, places: np.ndarray, change: np.ndarray, threads: int
) -> None:
    """``subtract_rows`` over all of grad, by several threads where it is much."""
    few = len(places) * len(grad) < _INLINE
    over_rows(
        lambda a, b: subtract_rows(grad, pool, places, change, a, b),
        len(grad),
        1 if few else threads,
    )
