"""Removal of rows from a learner with unbounded memory, which stays a valid starting point.

    g += K(., gone) alpha_gone             gradients without them
    sum(alpha) = 0 again                   the rows that violate most take over, or give way

``forget`` then optimises the remaining rows: the SVM of the examples that were not forgotten, as
far as they are stored. Rows that were rejected far beyond the margin are not members; if the
boundary moves because others were removed, they may matter now, which can only be found by scoring
them again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...examples import Examples
from ..learner import LASVM
from ..state import Support


class Forgotten(NamedTuple):
    """What ``forget`` has done."""

    support_vectors: int  # of the examples forgotten, how many carried the model
    held: int  # how many were rows of the support set
    joined: int  # examples that were looked at again and joined; -1: not checked
    reached: bool  # whether the tolerance was reached


def forget(learner: LASVM, stays: np.ndarray, left: Examples | None) -> Forgotten:
    """Remove examples, by number; the others are renumbered, in order.

    ``left`` are those that stay, if they are at hand, with their new numbers.
    """
    support = learner.support
    slot = support.slots(np.flatnonzero(~stays))
    slot = slot[slot >= 0]
    carried = int(np.count_nonzero(support.alpha()[:, slot].any(axis=0)))
    learner.values.drop()
    if learner.asides is not None:
        learner.asides.answer = None  # made of the model as it was
    if len(slot):
        remove(learner, slot)
    keys = support.a.key[: support.n]
    keys[:] = np.where(keys >= 0, (np.cumsum(stays) - 1)[keys], -1)
    joined, reached = -1 if left is None else 0, learner.finish()
    support.settle_one_sided()
    if left is not None and (carried or not reached):
        slacks = np.where(support.slots(left.key) >= 0, -np.inf, np.inf)
        slacks = np.broadcast_to(slacks, (learner.machines, len(slacks))).copy()
        joined = int(sum(learner.converge(left, slacks, reached)))
        reached = learner.converged
        support.settle_one_sided()
    return Forgotten(carried, len(slot), joined, bool(reached))


def remove(learner: LASVM, slot: np.ndarray) -> None:
    """The rows of these slots leave with their coefficients; the others sum to zero again."""
    support, n = learner.support, learner.support.n
    rows, coef = support.rows().take(slot), support.alpha()[:, slot]
    support.a.grad[:, :n] += learner.kernel.product(support.rows(), rows, coef).T
    stays = np.ones(n, bool)
    stays[slot] = False
    support.keep(stays)
    change = _balance(support)
    moved = np.flatnonzero(change.any(axis=0))
    if len(moved):
        product = learner.kernel.product(
            support.rows(), support.rows().take(moved), change[:, moved]
        )
        support.a.grad[:, : support.n] -= product.T


def _balance(support: Support) -> np.ndarray:
    """Change coefficients so that they sum to zero: those first that gain most, or lose least.

    Returns the changes (machines, n). There is always room: all may become zero.
    """
    alpha, (lo, hi) = support.alpha(), support.bounds()
    before = alpha.copy()
    for m, excess in enumerate(alpha.sum(axis=1)):
        down = excess > 0.0
        order = np.argsort(support.a.grad[m, : support.n] * (1.0 if down else -1.0), kind="stable")
        room = (alpha[m] - lo[m] if down else hi[m] - alpha[m]) * support.a.member[m, : support.n]
        taken = np.cumsum(room[order]) - room[order]
        step = np.clip(abs(excess) - taken, 0.0, room[order])
        alpha[m, order] = np.clip(
            alpha[m, order] - np.copysign(step, excess), lo[m, order], hi[m, order]
        )
    return alpha - before
