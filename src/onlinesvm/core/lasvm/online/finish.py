"""The finishing step where examples are learned one at a time (lasvm-2005, section 3.2, step 3).

As listed, REPROCESS is repeated; with limits, all rows held are one working set, and examples of the
window that violate are admitted. In blocks, finishing is ``working_set.optimise_all``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...examples import Examples
from ...kernel.buffers import padded
from ...kernel.cache import AllPairs
from ...runtime.interrupts import checkpoint
from ..block import block, working_set
from ..block.smo import PROGRESS, solve
from ..state import CLOCK, NEED, STORED
from .mass import MISSING

if TYPE_CHECKING:
    from ..learner import LASVM
    from .memory import Recent

REPROCESS_STEPS = 100
"""Finishing as listed goes on for this many steps for each row, then by working sets."""

CHUNK_STEPS = 20_000
"""... but at least for this many."""

ROW_STEPS = 20
"""A kernel row that has to be computed counts as this many of them."""

STEPS_AT_ONCE = 50_000_000
"""Gradients changed by one compiled call, about: Ctrl-C is heard after it."""

_LIMITED_STEPS = 1000
"""With limits: maximum number of pair steps for each row, per round."""

_ROUNDS = 100


def finish_as_listed(learner: LASVM, m: int) -> bool:
    """Step 3 of the listing. Evicted rows are gone from the store at once.

    REPROCESS takes the pair that violates most, which can zig-zag for ever at a large C: after
    some steps for each row, second-order steps on working sets go on.
    """
    support = learner.support
    call = learner.one_by_one.begin_reprocess()
    support.a.count[STORED] = support.n
    support.a.handle[: support.n] = np.arange(support.n)
    left = max(CHUNK_STEPS, REPROCESS_STEPS * support.n)
    while left > 0:
        steps = min(left, max(100, STEPS_AT_ONCE // (support.n + 1)))
        state = call.reprocess(m, steps)
        support.commit_rows(support.rows())
        checkpoint()
        if state == 0:
            support.mend(learner.kernel)
            return True
        if state < 0:
            learner.values.fetch(int(support.a.count[NEED]))
        left -= ROW_STEPS if state < 0 else steps
    return _finish_by_sets(learner, m)


def _finish_by_sets(learner: LASVM, m: int) -> bool:
    """Optimise machine m by working sets; then its rows at zero beyond the margin leave."""
    support = learner.support
    try:
        done = working_set.optimise(support, learner.kernel, m, learner.tau, learner.cache_size)
    finally:  # also where Ctrl-C or a time limit ends it
        support.recompute(learner.kernel)
        support.measure()
    block.evict(support, max(0.0, float(support.a.delta[m]) / 2))
    learner.values.drop()
    return done


# -- with limits --------------------------------------------------------------------------


def finish_limited(learner: LASVM, tol: float) -> bool:
    """Optimise; admit examples of the window that violate; until there is none.

    Returns whether every machine has a gap of at most ``tol``.
    """
    if learner.task.nu:
        _restore_sum(learner)
    try:
        return _finish_rounds(learner, tol, tol <= learner.tau)
    finally:
        learner.follow_unit()  # that of a stream again: it says which rows leave


def _finish_rounds(learner: LASVM, tol: float, exact: bool) -> bool:
    memory = learner.memory
    assert memory is not None
    for _ in range(_ROUNDS):
        reached = all([_optimise(learner, m, tol) for m in range(learner.machines)])
        if reached and learner.follow_unit(exact):
            continue  # the unit has become smaller: the same tolerance asks for more
        if not reached or memory.recent is None or not _admit(learner, memory.recent, tol):
            return reached
    return False


def _optimise(learner: LASVM, m: int, tol: float) -> bool:
    """Second-order steps on all rows held."""
    support, n = learner.support, learner.n
    if n == 0:
        return True
    a, width, values = support.a, padded(n), _pairs(learner).square()
    K = np.zeros((n, width), np.float32)
    K[:, :n] = values
    diagonal = np.zeros(width, np.float32)
    diagonal[:n] = a.diagonal[:n]
    values = values.astype(np.float64)
    a.grad[m, :n] = a.p[m, :n] - values @ a.alpha[m, :n]  # single steps have left rounding errors
    lo, hi, unit = a.lo[m, :n], a.hi[m, :n], support.unit[m]
    before = np.inf
    while True:
        checkpoint()
        support.measure(m)
        gap = a.delta[m] / unit
        if not (tol < gap < np.inf):
            return True
        if not gap < (1.0 - PROGRESS) * before:  # single precision allows no more
            return False
        before = gap
        alpha = a.alpha[m, :n] / unit
        centre = 0.0 if learner.task.both_signs else a.bias[m]
        solve(
            K, diagonal, alpha, (a.grad[m, :n] - centre) / unit, lo / unit, hi / unit,
            learner.task.epsilon / unit, tol / 2, _LIMITED_STEPS * n,
        )  # fmt: skip
        a.alpha[m, :n] = np.clip(alpha * unit, lo, hi)
        a.grad[m, :n] = a.p[m, :n] - values @ a.alpha[m, :n]
        support.changed()


def _outside(learner: LASVM, recent: Recent) -> tuple[Examples, np.ndarray, np.ndarray, np.ndarray]:
    """Examples of the window that are not held, their times, p, lo and hi, and gradients."""
    support, memory = learner.support, learner.memory
    assert memory is not None
    examples, born = recent.examples()
    held = np.isin(born, support.a.born[: support.n])
    outside = np.flatnonzero(~held & (examples.bound > 0.0))  # bounds of forgotten ones are zero
    examples, born = examples.take(outside), born[outside]
    given = support.given(examples.label, examples.bound)
    if memory.half_life < np.inf:
        given[1:] *= 2.0 ** (-(support.a.count[CLOCK] - born) / memory.half_life)
    product = learner.kernel.product(examples.rows, support.rows(), support.alpha())
    return examples, born, given, given[0] - product.T


def _admit(learner: LASVM, recent: Recent, tol: float) -> bool:
    """Examples of the window that violate by more than tol come in; false: there is none."""
    examples, born, given, grad = _outside(learner, recent)
    support, epsilon = learner.support, learner.task.epsilon
    residual = grad - support.a.bias[:, None]
    up = np.where(given[2] > 0, residual - epsilon, -np.inf)
    down = np.where(given[1] < 0, -residual - epsilon, -np.inf)
    violation = (np.maximum(up, down) / support.unit[:, None]).max(axis=0)
    chosen = np.flatnonzero(violation > tol)
    for k in chosen[np.argsort(-violation[chosen], kind="stable")][: max(64, learner.n // 4)]:
        _append(learner, examples.take(slice(k, k + 1)), int(born[k]), given[..., k], grad[:, k])
    return len(chosen) > 0


def _restore_sum(learner: LASVM) -> None:
    """Coefficients sum to what they should, if rows of the window had to be admitted for it."""
    a, n, memory = learner.support.a, learner.n, learner.memory
    assert memory is not None
    missing = a.mass[0] - a.alpha[0, :n].sum()
    if missing <= MISSING * a.mass[0]:
        return
    room = (a.hi[0, :n] - a.alpha[0, :n]).sum()
    if memory.recent is not None and room < missing:
        examples, born, given, grad = _outside(learner, memory.recent)
        order = np.argsort(-grad[0], kind="stable")
        enough = int(np.searchsorted(np.cumsum(given[2, 0, order]), missing - room)) + 1
        for k in order[:enough]:
            one = examples.take(slice(k, k + 1))
            _append(learner, one, int(born[k]), given[..., k], grad[:, k])
    a, n = learner.support.a, learner.n
    alpha, high = a.alpha[0, :n], a.hi[0, :n]
    order = np.argsort(-a.grad[0, :n], kind="stable")
    before = np.cumsum((high - alpha)[order]) - (high - alpha)[order]
    alpha[order] += np.clip(missing - before, 0.0, (high - alpha)[order])
    a.grad[0, :n] = a.p[0, :n] - _pairs(learner).square().astype(np.float64) @ alpha
    learner.support.changed()


def _pairs(learner: LASVM) -> AllPairs:
    """The kernel values among all rows held."""
    assert isinstance(learner.values, AllPairs)
    return learner.values


def _append(learner: LASVM, one: Examples, born: int, given: np.ndarray, grad: np.ndarray) -> None:
    """A row comes in with coefficient zero."""
    support, memory, k = learner.support, learner.memory, learner.n
    assert memory is not None
    pairs = _pairs(learner)
    pairs.reserve(k + 1)
    row = np.append(
        learner.kernel.block(one.rows, support.rows())[0], one.diagonal.astype(np.float32)
    )
    pairs.add(row)
    support.append(one, grad[:, None], np.ones((support.machines, 1), bool))
    a = support.a
    a.lo[:, k], a.hi[:, k] = given[1:]
    a.born[k], a.near[k] = born, -1
    a.longest[:] = np.maximum(a.longest, np.sqrt(abs(one.diagonal[0])))
    memory.labels_held[a.label[k]] += 1
