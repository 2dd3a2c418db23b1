"""The finishing step for one machine, as listed (lasvm-2005, section 3.2, step 3).

In blocks, finishing is ``working_set.optimise_all``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..interrupts import checkpoint
from . import block, listing, working_set
from .support import NEED, STORED
from .tasks import OneClass

if TYPE_CHECKING:
    from .learner import LASVM

REPROCESS_STEPS = 100
"""Finishing as listed goes on for this many steps for each row, then by working sets."""

CHUNK_STEPS = 20_000
"""... but at least for this many."""

ROW_STEPS = 20
"""A kernel row that has to be computed counts as this many of them."""

STEPS_AT_ONCE = 50_000_000
"""Gradients changed by one compiled call, about: Ctrl-C is heard after it."""

CHUNK_ROWS = 256
"""Rows whose gradients are computed at a time."""

NOTICED = 1e-9
"""Error of a gradient, in units of the machine, that is worth computing it anew."""

_NO_SLOTS = np.empty(0, np.int64)


def finish_fit(learner: LASVM) -> bool:
    """The finishing step of a fit that need not converge: as far as its task asks for."""
    support = learner.support
    done = learner.finish(max(learner.tau, support.task.enough(support.unit)))
    support.buffers.clear()
    return done


def note_influence(learner: LASVM) -> None:
    """What a single example means to a one-class machine, which bounds its unit from below."""
    support, task = learner.support, learner.support.task
    if isinstance(task, OneClass):
        alpha = support.alpha()[0]
        some = task.sample(alpha)
        rows = support.rows().take(some)
        task.weigh(alpha[some], learner.kernel.block(rows, rows))
        support.measure()


def finish_as_listed(learner: LASVM, m: int) -> bool:
    """Step 3 of the listing. Evicted rows are gone from the store at once.

    REPROCESS takes the pair that violates most, which can zig-zag for ever at a large C: after
    some steps for each row, second-order steps on working sets go on.
    """
    support = learner.support
    learner.reserve(support.n)
    support.a.count[STORED] = support.n
    support.a.handle[: support.n] = np.arange(support.n)
    left = max(CHUNK_STEPS, REPROCESS_STEPS * support.n)
    while left > 0:
        steps = min(left, max(100, STEPS_AT_ONCE // (support.n + 1)))
        state = listing.finish(m, support.a, learner.cache, learner.tau, 0.0, steps, _NO_SLOTS)
        support.commit_rows(support.rows())
        checkpoint()
        if state == 0:
            mend(learner)
            return True
        if state < 0:
            learner.fetch_row(int(support.a.count[NEED]))
        left -= ROW_STEPS if state < 0 else steps
    return _finish_by_sets(learner, m)


def _finish_by_sets(learner: LASVM, m: int) -> bool:
    """Optimise machine m by working sets; then its rows at zero beyond the margin leave."""
    support = learner.support
    try:
        done = working_set.optimise(support, learner.kernel, m, learner.tau, learner.cache_size)
    finally:  # also where Ctrl-C or a time limit ends it
        refresh(learner)
        support.measure()
    block.evict(support, max(0.0, float(support.a.delta[m]) / 2))
    learner.drop_cache()
    return done


def mend(learner: LASVM) -> None:
    """Gradients anew where kernel values and bounds are so large that rounding errors matter.

    A change of coefficient r leaves errors of about eps B_r |K_rs| in the gradients, which stay when
    the coefficient becomes small again. See ``bounded_rounding`` for streams with a bounded memory.
    """
    support, n = learner.support, learner.support.n
    length = np.sqrt(np.abs(support.a.diagonal[:n]))
    largest = (support.a.bound[:n] * length).max(initial=0.0) * length.max(initial=0.0)
    if np.finfo(np.float64).eps * largest > NOTICED * support.unit.min():
        refresh(learner)


def refresh(learner: LASVM) -> None:
    """Gradients anew from the coefficients: what drift there was is gone."""
    support, a = learner.support, learner.support.a
    rows, alpha, n = support.rows(), support.alpha(), support.n
    used = np.flatnonzero(alpha.any(axis=0))
    place = np.full(n, -1)
    place[used] = np.arange(len(used))
    vectors, linear = rows.take(used), support.linear()
    for first in range(0, n, CHUNK_ROWS):
        part = np.arange(first, min(first + CHUNK_ROWS, n))
        K = learner.kernel.block(rows.take(part), vectors)
        own = np.flatnonzero(place[part] >= 0)
        K[own, place[part[own]]] = a.diagonal[part[own]]
        a.grad[:, part] = linear[:, part] - alpha[:, used] @ K.T.astype(np.float64)
