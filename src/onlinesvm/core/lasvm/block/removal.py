"""Removal of rows from a learner, which stays a valid starting point.

    g += K(., gone) alpha_gone             gradients without them
    sum(alpha) = s again                   the rows that violate most take over, or give way

The sum s is zero; of one class it is nu times the weights of the examples that are left, so it changes
although none of the rows that leave is stored.

``forget`` then optimises the remaining rows: the SVM of the examples that were not forgotten, as
far as they are stored. Rows that were rejected far beyond the margin are not members; if the
boundary moves because others were removed, they may matter now. Which of them may is known from
their slacks before (``slack_bounds``), if the fit has converged and nothing was learned since; else
all have to be scored again. With limits there are no others: what is not stored does not count.

Scores that were recorded of the forgotten examples, for probabilities and intervals, are dropped. If
the model has changed much, those of others are computed again, as far as they are at hand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...keys import Leaving
from ...model import owned_rows
from ...runtime.interrupts import checkpoint
from ..learner import LASVM
from ..online.memory import SEEDS
from ..state import Support
from ..tasks import Regression
from . import block, working_set
from .restart import ROUNDING, restart, shift_sum
from .second_look import least_violation
from .slack_bounds import DataSet, Reference

NOBODY = np.empty(0, np.int64)

SCORED = 8192
"""Examples that are scored together; Ctrl-C is heard between two parts."""

FEWEST_NEAR, MOST_NEAR = 16, 256
"""Examples next to the margin that come in before rows leave: as many as leave, within these limits."""

NOTHING = 1e-9
"""Share of the sum of the coefficients that may be missing: rounding."""


class Forgotten(NamedTuple):
    """What ``forget`` has done."""

    support_vectors: int  # of the examples forgotten, how many carried the model
    joined: int | None  # examples that were looked at again and joined; None: not checked
    unchecked: int | None  # examples not looked at that may violate now; None: not known
    reached: bool  # whether the tolerance was reached
    lacking: float  # share of the sum of the coefficients that the rows stored cannot carry


def forget(
    learner: LASVM, stays: np.ndarray, left: DataSet | None, arrived: np.ndarray = NOBODY,
    label_weight: np.ndarray | None = None, targets: np.ndarray | None = None,
) -> Forgotten:  # fmt: skip
    """Remove examples of a data set, by number; the others are renumbered, in order.

    ``left`` are those that stay, if they are at hand, with their new numbers. ``arrived``: keys of
    rows learned from a stream that are to leave too. ``label_weight``: the weight of each label.
    ``targets``: those of all examples that leave; None: those that are stored have theirs.
    """
    leaving, known = Leaving(stays, arrived), learner.known_slacks()
    plain = learner.memory is None and not learner.singly
    reference = Reference(learner) if plain else None
    if learner.watch is not None:
        learner.watch.forget(leaving, label_weight)
    slot = slots_of(learner.support, leaving)
    if isinstance(learner.task, Regression):
        known_targets = _targets(learner, slot, leaving) if targets is None else targets
        learner.task.forget(known_targets)
    total = _sum_without(learner, slot, leaving)
    slacks = None if known is None else known.slacks[:, stays].astype(np.float64)
    near = NOBODY
    if left is not None and slacks is not None and reference is not None:
        near = _bring_near(learner, left, slacks, slot, np.flatnonzero(stays))
    if len(near) and reference is not None:
        reference.begin()
    carried = _leave(learner, slot, leaving, reference, total)
    if learner.task.nu and learner.memory is not None and learner.memory.recent is None:
        total = _let_go(learner.support)
    if left is not None and _supply(learner, left, total):
        known = reference = None  # there are rows of which the reference knows nothing
    if _start_again(learner, left):
        known = reference = None
    if learner.asides is not None:
        learner.asides.forget(leaving)
    reached = bool(learner.finish())
    _settle(learner)
    lacking = _lacking(learner.support, total)
    reached &= lacking == 0.0
    if left is None:
        unchecked = None
        if known is not None and slacks is not None and reference is not None:
            unchecked = _bound_slacks(learner, slacks, reference)
            learner.keep_slacks(slacks, np.broadcast_to(known.bound, len(stays))[stays])
        return Forgotten(carried, None, unchecked, reached, lacking)
    if known is None or slacks is None:
        slacks = _unknown_slacks(learner, len(left.key))
    joined = int(sum(learner.converge(left, slacks, reached, reference)))
    joined += _count_bearing(learner, near)
    if learner.converged:
        learner.keep_slacks(slacks, left.bound)
    _settle(learner)
    return Forgotten(carried, joined, 0, learner.converged, lacking)


def _targets(learner: LASVM, slot: np.ndarray, leaving: Leaving) -> np.ndarray:
    """Targets of the rows that leave: those of the window, or of the support set."""
    recent = None if learner.memory is None else learner.memory.recent
    if recent is None:
        return learner.support.labels(slot)
    return recent.label[: recent.store.n][leaving.among(recent.key[: recent.store.n])]


def _settle(learner: LASVM) -> None:
    """Biases that follow from no gradient; whoever records scores reads the model as it is now."""
    support = learner.support
    support.settle_one_sided()
    if learner.task.nu and not support.n:  # as a learner that has learned nothing
        support.a.bias[:] = -1.0 if learner.memory is None else 0.0
    if learner.watch is not None:
        learner.watch.resume()


def _sum_without(learner: LASVM, slot: np.ndarray, leaving: Leaving) -> float:
    """What the coefficients are to sum to without these examples; their mass goes (one class)."""
    nu, support, memory = learner.task.nu, learner.support, learner.memory
    if not nu:
        return 0.0
    if memory is None:
        assert learner.counted is not None
        learner.counted.forget(leaving)
        return float(nu * learner.counted.total)
    if memory.recent is not None:
        recent = memory.recent
        which = np.flatnonzero(leaving.among(recent.key[: recent.store.n]))
        born, bound = recent.first + which, recent.bound[which]
    else:
        born, bound = support.a.born[slot], support.a.bound[slot]
    memory.give_up_mass(support, born, nu * bound)
    return float(support.a.mass[0])


def _let_go(support: Support) -> float:
    """With a budget, rows take along what the others cannot carry, as rows that it removes do."""
    support.a.mass[0] = min(support.a.mass[0], support.alpha().sum())
    return float(support.a.mass[0])


def _lacking(support: Support, total: float) -> float:
    """Share of the sum of the coefficients of one class that is missing; rounding does not count."""
    if total <= 0.0:
        return 0.0
    share = 1.0 - float(support.alpha().sum()) / total
    return share if share > NOTHING else 0.0


def _supply(learner: LASVM, left: DataSet, total: float) -> bool:
    """Bring in examples where the rows stored cannot carry the sum of the coefficients (one class).

    Those that lie farthest outside come first, with coefficients at their bounds. Returns whether
    any was needed.
    """
    support, n = learner.support, len(left.key)
    missing = total - float(support.alpha().sum())
    if total <= 0.0 or missing <= NOTHING * total:  # a sum of zero is missed by rounding alone
        return False
    slacks = np.full(n, -np.inf)
    which = np.flatnonzero(~np.isin(left.key, support.a.key[: support.n]))
    for first in range(0, len(which), SCORED):
        checkpoint()
        part = which[first : first + SCORED]
        slacks[part] = block.judge(support, learner.kernel, left.take(part))[1][0]
    share = block.shared_out(missing, slacks, np.where(np.isneginf(slacks), 0.0, left.bound))
    chosen = np.flatnonzero(share)
    if not len(chosen):
        return False
    fresh = left.take(chosen)
    grad, _ = block.judge(support, learner.kernel, fresh)
    learner.values.drop()
    block.join(support, fresh, np.full(len(chosen), -1), np.ones((1, len(chosen)), bool), grad)
    block.load(support, learner.kernel, share[chosen])
    support.measure()
    return True


def _start_again(learner: LASVM, left: DataSet | None) -> bool:
    """Machines without any coefficient start with the rows held, and with a few examples of a sign of which
    none is held.

    A single sign cannot violate, so nothing else would bring in the other. Returns whether any started.
    """
    support, task = learner.support, learner.task
    idle = ~support.started()
    if not task.both_signs or not idle.any() or learner.memory is not None:
        return False
    if left is not None:
        _fetch_signs(learner, left, np.flatnonzero(idle))
    own = support.linear()
    ready = np.flatnonzero(idle & (own > 0).any(axis=1) & (own < 0).any(axis=1))
    support.a.member[ready, : support.n] = own[ready] != 0.0
    support.a.grad[ready, : support.n] = own[ready]
    support.changed()
    return len(ready) > 0


def _fetch_signs(learner: LASVM, left: DataSet, machines: np.ndarray) -> None:
    """Examples of each sign that these machines have no row of."""
    support, wanted = learner.support, np.zeros((learner.machines, len(left.key)), bool)
    for m in machines.tolist():
        held = support.linear()[m]
        linear = support.task.linear(left.label, support.a.positive[[m]])[0]
        for sign in (-1.0, 1.0):
            if not (held == sign).any():
                wanted[m, np.flatnonzero(linear == sign)[:SEEDS]] = True
    which = np.flatnonzero(wanted.any(axis=0))
    if len(which):
        fresh = left.take(which)
        learner.values.drop()
        grad, _ = block.judge(support, learner.kernel, fresh)
        block.join(support, fresh, support.slots(fresh.key), wanted[:, which], grad)


def _leave(
    learner: LASVM, slot: np.ndarray, leaving: Leaving, reference: Reference | None, total: float
) -> int:
    """Rows leave, and the others are renumbered; returns how many of them carried the model."""
    support = learner.support
    carries = support.alpha()[:, slot] != 0.0
    if len(slot) or total:
        if reference is not None:
            reference.note_leaving(slot)
            restart(learner, np.flatnonzero(carries.any(axis=1) | (total > 0.0)), slot, total)
        order = remove(learner, slot, free_first=True, total=total)
        if reference is not None:
            reference.note_order(order)
    leaving.renumber(support.a.key[: support.n])
    if learner.memory is not None:
        learner.memory.forget(leaving)
    return int(np.count_nonzero(carries.any(axis=0)))


def _bring_near(
    learner: LASVM, left: DataSet, slacks: np.ndarray, slot: np.ndarray, number: np.ndarray
) -> np.ndarray:
    """Examples next to the margin become members, with coefficients of zero; returns their keys.

    Where few rows leave it is these that take their place, if any does: all are optimised at once, and
    not a second time after they have been found. Other kernels than those of a distance have all
    examples scored in any case. ``slot``: where the rows are that leave; ``number``: those of the
    examples before others left.
    """
    support, task = learner.support, learner.task
    bears = np.flatnonzero(support.alpha()[:, slot].any(axis=1))
    restarts = len(bears) > 0 and learner.machines < working_set.MANY
    if not restarts or not learner.kernel.is_distance:
        return NOBODY
    joins = np.zeros(slacks.shape, bool)
    count = min(max(FEWEST_NEAR, len(slot)), MOST_NEAR)
    for m in bears.tolist():
        reach = task.tolerances.beyond * support.unit[m]
        close = np.flatnonzero(np.isfinite(slacks[m]) & (slacks[m] > -reach))
        if task.partial:
            own = task.linear(left.label[close], support.a.positive[[m]])[0]
            close = close[own != 0.0]
        if len(close) > count:
            close = close[np.argpartition(-slacks[m, close], count)[:count]]
        joins[m, close] = True
    which = np.flatnonzero(joins.any(axis=0))
    if not len(which):
        return NOBODY
    fresh = left.take(which)._replace(key=number[which])  # keys change when rows have left
    grad, _ = block.judge(support, learner.kernel, fresh)
    learner.values.drop()
    block.join(support, fresh, support.slots(fresh.key), joins[:, which], grad)
    slacks[joins] = -np.inf
    return left.key[which]


def _count_bearing(learner: LASVM, keys: np.ndarray) -> int:
    """How many of these examples have coefficients."""
    support = learner.support
    slot = np.flatnonzero(np.isin(support.a.key[: support.n], keys)) if len(keys) else NOBODY
    return int(np.count_nonzero(support.alpha()[:, slot].any(axis=0)))


def _bound_slacks(learner: LASVM, slacks: np.ndarray, reference: Reference) -> int:
    """Slacks become upper bounds; returns how many examples may violate."""
    threshold = least_violation(learner)
    reference.raise_slacks(None, slacks, threshold)
    return int(np.count_nonzero((slacks > threshold[:, None]).any(axis=0)))


def slots_of(support: Support, leaving: Leaving) -> np.ndarray:
    """Slots of the examples that leave, as far as they are held."""
    return np.flatnonzero(leaving.among(support.a.key[: support.n]))


def _unknown_slacks(learner: LASVM, n: int) -> np.ndarray:
    """Slacks of n examples of which none is known: of members -inf, else infinite."""
    support = learner.support
    slacks = np.full((learner.machines, n), np.inf)
    held = np.flatnonzero(support.a.key[: support.n] >= 0)
    slacks[:, support.a.key[held]] = np.where(support.a.member[:, held], -np.inf, np.inf)
    return slacks


def remove(
    learner: LASVM, slot: np.ndarray, free_first: bool = False, total: float = 0.0
) -> np.ndarray:
    """The rows of these slots leave with their coefficients; the others sum to ``total`` again.

    ``free_first``: coefficients that are free change before others do. Returns the slot that each of the
    others had.
    """
    support, stays = learner.support, np.ones(learner.support.n, bool)
    coef = support.alpha()[:, slot]
    bears, used = np.flatnonzero(coef.any(axis=1)), np.flatnonzero(coef.any(axis=0))
    gone = owned_rows(support.rows().take(slot[used]))
    stays[slot] = False
    order = learner.keep_rows(stays)
    if len(bears):
        product = learner.kernel.product(support.rows(), gone, coef[np.ix_(bears, used)])
        support.a.grad[bears, : support.n] += product.T
    change = _balance(support, free_first, total)
    moved = np.flatnonzero(change.any(axis=0))
    if len(moved):
        product = learner.kernel.product(
            support.rows(), support.rows().take(moved), change[:, moved]
        )
        support.a.grad[:, : support.n] -= product.T
    return order


def _are_free(support: Support) -> np.ndarray:
    """Whether each coefficient is neither on a bound nor zero, (machines, n)."""
    alpha, (lo, hi) = support.alpha(), support.bounds()
    return (alpha > lo) & (alpha < hi) & (alpha != 0.0)


def _balance(support: Support, free_first: bool, total: float) -> np.ndarray:
    """Change coefficients so that they sum to ``total``. Returns the changes (machines, n).

    There is always room where the sum is zero: all may become zero. Of one class they go as far as
    they can.
    """
    alpha, (lo, hi) = support.alpha(), support.bounds()
    before, first = alpha.copy(), _are_free(support) & free_first
    size = np.abs(alpha).sum(axis=1)
    for m, excess in enumerate(alpha.sum(axis=1) - total):
        if abs(excess) > ROUNDING * size[m]:
            members = np.flatnonzero(support.a.member[m, : support.n])
            part, grad = alpha[m, members], support.a.grad[m, members]
            bounds = lo[m, members], hi[m, members]
            alpha[m, members] = shift_sum(part, grad, *bounds, excess, first[m, members])
        if total == 0.0 and ((lo[m] >= 0.0).all() or (hi[m] <= 0.0).all()):
            alpha[m] = 0.0  # rows of one sign: what they have is rounding
    return alpha - before
