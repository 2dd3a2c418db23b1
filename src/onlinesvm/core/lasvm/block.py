"""LASVM in blocks: PROCESS and REPROCESS for many examples at a time.

For a block B of fresh examples against the support set S, for each machine:

    g_B  = y_B - K(B, S) alpha                 one fused product for all machines
    V    = { i in B : y_i (g_i - b) > 0 }      the examples inside the margin join
    W    = V and the members that violate most
    solve on W until delta <= DEPTH            second-order SMO in cache
    g   <- g - K(., W) (change of alpha_W)     one fused product over the members
    members at zero that lie beyond the margin by more than SLACK leave

Symbols: *slack* is y (g - b) = 1 - y f(x), positive inside the margin. Of every example and
machine that did not join or has left, the slack is remembered (``slacks``); those that were near
are looked at again before the end, by the machines to which they were near.

Notes
-----
The listing's one REPROCESS for each PROCESS becomes a bounded optimisation of W; leaving with
slack keeps what section 3.5 calls potential support vectors. See ``docs/architecture.md``.
"""

from __future__ import annotations

import numpy as np

from ..examples import Examples
from ..kernel.buffers import Buffers
from ..kernel.kernel import Kernel
from .support import Support
from .working_set import (
    gather,
    most_violating,
    over_machines,
    problem_of,
    solve_set,
    subtract_rows,
)

DEPTH = 0.5
"""Gap to which a working set is optimised."""

STEPS = 20
"""Maximum number of pair steps per row of a working set."""

OLD_MEMBERS = 1024
"""Members that violate most and join a block's working set; shared out to several machines."""

FEWEST_OLD_MEMBERS = 256

SLACK = 0.1
"""In ``fit``, members at zero leave when they lie this far beyond the margin: they get a second
look."""

STREAM_SLACK = 1.0
"""The same on a stream, where what has left is lost."""

STREAM_DELTA, STREAM_GOAL = 2.0, 1.0
"""On a stream, a machine whose delta exceeds the first is optimised until it is the second: with a
large C, steps on the newest examples alone leave delta so large that the bias means nothing."""

ALONE = 2048
"""Rows kept while all examples seen are of one class."""

ROUGH = 0.1
"""Gap to which the machines are optimised before the second look."""

NEAR = 1.0
"""Examples that were no farther than this beyond the margin get a second look."""

REENTER = 0.02
"""Slack from which they join then."""

LOOKS = 10
"""Maximum number of looks, where the first examples misled."""

SAMPLE, MISLED = 256, 0.05
"""They did if more than this share is misclassified: of a sample of those turned away far from the
margin, or, as a share of S, of those that the second look admits."""


def judge(
    support: Support, kernel: Kernel, examples: Examples, m: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients and slacks (machines, n) of examples, for all machines or for machine m alone.

    All machines share one product over the union of their support vectors.
    """
    machines = slice(None) if m is None else slice(m, m + 1)
    y = support.signs(examples.label)[machines]
    grad = y - kernel.product(examples.rows, *support.expansion(machines)).T
    return grad, y * (grad - support.a.bias[machines, None])


def learn_block(support: Support, kernel: Kernel, fresh: Examples, slot: np.ndarray) -> np.ndarray:
    """One block step; ``slot`` is -1 for examples not in S.

    Returns the slacks (machines, n), -inf where an example joined.
    """
    started = support.started()
    known = np.flatnonzero(slot >= 0)
    member = support.a.member[:, slot[known]]
    if started.any():
        grad, slack = judge(support, kernel, fresh)
        slack[:, known] = np.where(member, -np.inf, slack[:, known])
        joins = slack > 0
    else:
        grad, slack = support.signs(fresh.label), np.zeros((support.machines, len(fresh.rows)))
        joins = np.zeros(slack.shape, bool)
    ready = _start(support, fresh, started)
    joins[ready] = True
    if not (started | ready).any():  # one class so far: some rows to start from later
        joins[:, : max(0, ALONE - support.n)] = True
    joins[:, known] &= ~support.a.member[:, slot[known]]
    join(support, fresh, slot, joins, grad)
    if joins.any() and (started | ready).any():
        _absorb(support, kernel)
        support.measure()
    return np.where(joins, -np.inf, slack)


def _start(support: Support, fresh: Examples, started: np.ndarray) -> np.ndarray:
    """Which machines start with these examples: both signs are there for the first time.

    They take all rows of S as members. The bias of one that has seen one sign only is that sign;
    it keeps no rows of its own where other machines do.
    """
    own, new = support.signs(), support.signs(fresh.label)
    signs = np.concatenate([own, new], axis=1)
    both = (signs > 0).any(axis=1) & (signs < 0).any(axis=1)
    ready, waiting = both & ~started, ~both & ~started
    support.a.member[ready, : support.n] = True
    support.a.grad[ready, : support.n] = own[ready]
    support.a.bias[waiting] = signs[waiting, 0]
    if (started | ready).any():
        support.a.member[waiting, : support.n] = False
    return ready


def join(
    support: Support, fresh: Examples, slot: np.ndarray, joins: np.ndarray, grad: np.ndarray
) -> None:
    """Examples become members, with coefficient zero, of the machines that ``joins`` says."""
    support.a.fresh[:, : support.n] = False
    known = np.flatnonzero((slot >= 0) & joins.any(axis=0))
    if len(known):
        s = slot[known]
        support.a.grad[:, s] = np.where(joins[:, known], grad[:, known], support.a.grad[:, s])
        support.a.member[:, s] |= joins[:, known]
        support.a.fresh[:, s] = joins[:, known]
    new = np.flatnonzero((slot < 0) & joins.any(axis=0))
    if len(new):
        part = fresh.take(new)
        support.append(part, grad[:, new], joins[:, new])


def _working_set(support: Support, m: int) -> np.ndarray:
    """Machine m's newest members, and those of the others that violate most."""
    members = np.flatnonzero(support.a.member[m, : support.n])
    newest = support.a.fresh[m, members]
    if not newest.any():
        return np.empty(0, np.int64)
    old = members[~newest]
    up, down = problem_of(support, m, old).sides()
    company = max(FEWEST_OLD_MEMBERS, OLD_MEMBERS // support.machines)
    return np.sort(np.concatenate([old[most_violating(up, down, company)], members[newest]]))


def _absorb(support: Support, kernel: Kernel) -> None:
    """Optimise every machine on its working set, several machines at a time.

    Where the sets overlap so much that it pays, kernel values are computed once for all.
    """
    sets = [_working_set(support, m) for m in range(support.machines)]
    union = np.unique(np.concatenate(sets))
    rows = support.rows()
    shared = None
    if support.machines > 1 and len(union) ** 2 <= sum(len(W) ** 2 for W in sets):
        chosen = rows.take(union)
        shared = kernel.block(chosen, chosen, support.buffers.square(len(union)))

    def absorb(m: int, own: Kernel, buffers: Buffers) -> None:
        W = sets[m]
        if not len(W):
            return
        if shared is None:
            chosen = rows.take(W)
            K = own.block(chosen, chosen, buffers.square(len(W)))
        elif len(W) == len(union):
            K = shared
        else:
            where = np.searchsorted(union, W)
            K = buffers.square(len(W))
            gather(shared, where, where, K)
        _optimise_set(support, own, m, W, K)

    over_machines(support, kernel, list(range(support.machines)), absorb)


def _optimise_set(support: Support, kernel: Kernel, m: int, W: np.ndarray, K: np.ndarray) -> None:
    """Machine m on the slots W with K = K(W, W); then the gradients of all its members."""
    part = problem_of(support, m, W)
    change = solve_set(K, part, DEPTH, STEPS * len(W))
    support.a.alpha[m, W] = np.clip(part.alpha + change, part.lo, part.hi)
    moved = np.flatnonzero(change)
    if not len(moved):
        return
    subtract_rows(part.grad, K, moved, change[moved], 0, len(W))
    support.a.grad[m, W] = part.grad
    rest = support.a.member[m, : support.n].copy()
    rest[W] = False
    rest = np.flatnonzero(rest)
    if len(rest):
        rows = support.rows()
        product = kernel.product(rows.take(rest), rows.take(W[moved]), change[None, moved])
        support.a.grad[m, rest] -= product[:, 0]


def evict(support: Support, beyond: float) -> tuple[np.ndarray, np.ndarray]:
    """Members at zero that lie farther than ``beyond`` the margin leave.

    Returns the keys of those that left a machine, and the slacks (machines, keys) there.
    """
    n = support.n
    alpha, member = support.alpha(), support.a.member[:, :n]
    slack = support.signs() * (support.a.grad[:, :n] - support.a.bias[:, None])
    leaves = member & (alpha == 0.0) & (slack < -beyond)
    gone = np.flatnonzero(leaves.any(axis=0))
    keys = support.a.key[gone]
    slacks = np.where(leaves[:, gone], slack[:, gone], -np.inf)
    member[leaves] = False
    support.keep(np.asarray(member.any(axis=0)))
    return keys, slacks
