"""LASVM in blocks: PROCESS and REPROCESS for many examples at a time.

For a block B of fresh examples against the support set S, for each machine:

    g_B  = p_B - K(B, S) alpha                 one fused product for all machines
    V    = { i in B : slack_i > 0 }            the examples that violate join
    W    = V and the members that violate most
    solve on W until delta <= gap              second-order SMO in cache
    g   <- g - K(., W) (change of alpha_W)     one fused product over the members
    members at zero that lie beyond the margin by more than ``beyond`` leave

Symbols: p, *slack* and *tolerances* (``tasks``); in classification p is y and the slack
y (g - b) = 1 - y f(x), positive inside the margin. Of every example and machine that did not join
or has left, the slack is remembered (``slacks``); those that were near are looked at again before
the end, by the machines to which they were near.

Notes
-----
The listing's one REPROCESS for each PROCESS becomes a bounded optimisation of W; leaving with
slack keeps what section 3.5 calls potential support vectors. See ``docs/develop/architecture.md``.

The coefficients of a one-class machine sum to nu times the weights seen: a block brings its share
(``mass``), which goes to its examples that violate most before W is optimised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ...examples import Examples
from ...kernel.buffers import Buffers
from ...kernel.kernel import Kernel
from ...kernel.rows import Rows
from ...runtime.interrupts import checkpoint
from ...runtime.threads import thread_count
from ..state import Support, machine_groups
from . import together, working_set
from .smo import gather
from .working_set import most_violating, over_machines, problem_of, solve_set, subtract

STEPS = 20
"""Maximum number of pair steps per row of a working set."""

OLD_MEMBERS = 1024
"""Members that violate most and join a block's working set; shared out to several machines."""

FEWEST_OLD_MEMBERS = 256
"""Of them, the least that each of several machines has."""

FEW_OLD_MEMBERS = 64
"""The same where examples come one by one, or few at a time."""

MANY, FEW_USED = 64, 0.05
"""Machines from which on coefficients that are zero are left out of products, where no more than this
share of them is not."""

ALL_PAIRS = 256.0
"""Megabytes that kernel values which very many machines share may take in a block."""

START = 1e-3
"""Distance beyond the margin at which a row is not on it, where a machine starts (``together``)."""

ALONE = 2048
"""Rows kept while all examples seen are of one class."""

LOOKS = 10
"""Maximum number of looks, where the model is wrong about many examples."""

SAMPLE, WRONG_SHARE = 256, 0.05
"""All examples are judged again if more than this share is misclassified: of a sample of those turned
away far from the margin, or, as a share of S, of those that the second look admits."""


def judge(
    support: Support, kernel: Kernel, examples: Examples, machines: slice = slice(None)
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients and slacks (machines, n) of examples, for all machines or for some of them.

    They share one product over the union of their support vectors.
    """
    linear = support.task.linear(examples.label, support.a.positive[machines])
    grad = linear - product(kernel, examples.rows, *support.expansion(machines)).T
    return grad, support.task.slack(linear, grad - support.a.bias[machines, None])


def product(kernel: Kernel, rows: Rows, vectors: Rows, coef: np.ndarray) -> np.ndarray:
    """``kernel.product``; of very many machines, each with few of the vectors, by these few alone."""
    if len(coef) < MANY or np.count_nonzero(coef) > FEW_USED * coef.size or not kernel.is_compiled:
        return kernel.product(rows, vectors, coef)
    return np.asarray((sparse.csr_array(coef) @ kernel.block(rows, vectors).T).T)


def learn_block(
    support: Support,
    kernel: Kernel,
    fresh: Examples,
    slot: np.ndarray,
    mass: float = 0.0,
    n_old: int = OLD_MEMBERS,
    scores: np.ndarray | None = None,
    all_join: bool = False,
) -> np.ndarray:
    """One block step; ``slot`` is -1 for examples not in S.

    ``n_old`` is the number of old members in the working set. ``scores`` (n, machines) becomes the
    decision values before the step. ``all_join``: those that do not violate as well. Returns the
    slacks (machines, n), -inf where an example joined.
    """
    support.changed()
    started = support.started()
    known = np.flatnonzero(slot >= 0)
    member = support.a.member[:, slot[known]]
    if started.any():
        grad, slack = judge(support, kernel, fresh)
        slack[:, known] = np.where(member, -np.inf, slack[:, known])
        joins = slack > 0
        if all_join:
            joins[started] |= fresh.bound > 0.0
    else:
        grad, slack = support.linear(fresh.label), np.zeros((support.machines, len(fresh.rows)))
        joins = np.zeros(slack.shape, bool)
    if scores is not None:
        scores[:] = (support.linear(fresh.label) - grad + support.a.bias[:, None]).T
    ready = _start(support, fresh, started)
    joins[ready] = True
    if not (started | ready).any():  # one class so far: some rows to start from later
        joins[:, : max(0, ALONE - support.n)] = True
    elif support.task.partial:  # of others, a machine that has not started may have seen none
        joins[~(started | ready)] = False
    if support.task.partial:
        joins &= support.linear(fresh.label) != 0.0
    share = shared_out(mass, slack[0], np.where(slot < 0, fresh.bound, 0.0))
    joins[0] |= share > 0.0
    if len(known):
        joins[:, known] &= ~support.a.member[:, slot[known]]
    join(support, fresh, slot, joins, grad)
    del grad  # of very many machines it is large
    if joins.any() and (started | ready).any():
        if not support.task.both_signs:
            load(support, kernel, share[(slot < 0) & joins.any(axis=0)])
            support.measure()  # the centre of the gradients
        if not _absorb_together(support, kernel, ready):
            _absorb(support, kernel, n_old)
        support.measure()
    if joins.all():
        return np.broadcast_to(-np.inf, joins.shape)
    slack[joins] = -np.inf
    return slack


def shared_out(mass: float, slack: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Coefficients that sum to ``mass``: those of largest slack are at their bound."""
    share = np.zeros(len(slack))
    if mass > 0.0:
        order = np.argsort(-slack, kind="stable")
        before = np.cumsum(bound[order]) - bound[order]
        share[order] = np.clip(mass - before, 0.0, bound[order])
    return share


def load(support: Support, kernel: Kernel, share: np.ndarray) -> None:
    """The rows added last start with these coefficients in the first machine."""
    n = support.n
    used = np.flatnonzero(share) + n - len(share)
    if len(used):
        rows, coef = support.rows(), share[share > 0.0]
        support.a.alpha[0, used] = coef
        support.a.grad[0, :n] -= kernel.product(rows, rows.take(used), coef[None])[:, 0]


def _start(support: Support, fresh: Examples, started: np.ndarray) -> np.ndarray:
    """Which machines start with these examples: both signs are there for the first time.

    They take all rows of S as members. The bias of one that has seen one sign only is that sign;
    it keeps no rows of its own where other machines do.
    """
    if not support.task.both_signs:
        return ~started
    n, own, first = support.n, support.linear(), np.empty(support.machines)
    both = np.empty(support.machines, bool)
    for some in machine_groups(support.machines, n + len(fresh.rows)):
        new = support.task.linear(fresh.label, support.a.positive[some])
        signs = np.concatenate([own[some], new], axis=1)
        both[some] = (signs > 0).any(axis=1) & (signs < 0).any(axis=1)
        first[some] = np.sign(signs.sum(axis=1))  # of those that wait, which have one sign
    ready, waiting = both & ~started, ~both & ~started
    if n:
        support.a.member[ready, :n] = own[ready] != 0.0
        support.a.grad[ready, :n] = own[ready]
    support.a.bias[waiting] = first[waiting]
    if (started | ready).any():
        support.a.member[waiting, : support.n] = False
    return ready


def join(
    support: Support, fresh: Examples, slot: np.ndarray, joins: np.ndarray, grad: np.ndarray
) -> None:
    """Examples become members, with coefficient zero, of the machines that ``joins`` says."""
    support.changed()
    support.a.fresh[:, : support.n] = False
    known = np.flatnonzero((slot >= 0) & joins.any(axis=0))
    if len(known):
        s = slot[known]
        support.a.grad[:, s] = np.where(joins[:, known], grad[:, known], support.a.grad[:, s])
        support.a.member[:, s] |= joins[:, known]
        support.a.fresh[:, s] = joins[:, known]
    new = np.flatnonzero((slot < 0) & joins.any(axis=0))
    if len(new):
        if len(new) < len(slot):
            fresh, grad, joins = fresh.take(new), grad[:, new], joins[:, new]
        support.append(fresh, grad, joins)


def _working_set(support: Support, m: int, n_old: int) -> np.ndarray:
    """Machine m's newest members, and those of the others that violate most."""
    members = np.flatnonzero(support.a.member[m, : support.n])
    newest = support.a.fresh[m, members]
    if not newest.any():
        return np.empty(0, np.int64)
    old = members[~newest]
    up, down = problem_of(support, m, old).sides()
    n_old = max(min(n_old, FEWEST_OLD_MEMBERS), n_old // support.machines)
    return np.sort(np.concatenate([old[most_violating(up, down, n_old)], members[newest]]))


def _absorb(support: Support, kernel: Kernel, n_old: int) -> None:
    """Optimise every machine on its working set, several machines at a time.

    Where the sets overlap so much that it pays, kernel values are computed once for all.
    """
    sets = [_working_set(support, m, n_old) for m in range(support.machines)]
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
        gap = support.task.tolerances.block_gap
        optimise_set(support, own, m, W, K, gap, STEPS * len(W))

    over_machines(support, kernel, list(range(support.machines)), absorb)


def _absorb_together(support: Support, kernel: Kernel, ready: np.ndarray) -> bool:
    """Optimise very many machines on all their members, with kernel values that they share.

    False, and nothing is done, where that does not pay.
    """
    n = support.n
    if support.machines < MANY or not support.task.both_signs or support.left is not None:
        return False
    shared = working_set.share(support, kernel, ALL_PAIRS)
    if shared is None or shared.values is None:
        return False
    K, a = shared.values, support.a
    changed = np.flatnonzero(a.fresh[:, :n].any(axis=1))
    gap = support.task.tolerances.rough  # no other block may follow, and steps cost little here
    try:
        if not support.task.partial:
            _start_together(support, K, np.flatnonzero(ready).tolist())
        working_set.optimise_together(support, kernel, K, gap, changed.tolist())
    except BaseException:  # Ctrl-C or a time limit: biases belong to the coefficients
        support.measure()
        raise
    return True


def _start_together(support: Support, K: np.ndarray, machines: list[int]) -> None:
    """Machines that have no coefficients yet start where most rows will have one, if they do."""
    a, n = support.a, support.n
    v, height = together.level(K)
    if np.count_nonzero(v) < (1.0 - together.LEAVING) * n:
        return
    for m in machines:
        checkpoint()
        arrays = (array[m, :n] for array in (a.p, a.lo, a.hi, a.alpha, a.grad))
        together.start(K, v, height, *arrays, START)


def optimise_set(
    support: Support, kernel: Kernel, m: int, W: np.ndarray, K: np.ndarray, gap: float, steps: int
) -> None:
    """Machine m on the slots W with K = K(W, W); then the gradients of all its members.

    Until its gap on W is at most ``gap``, in units of the machine, or after ``steps`` pair steps.
    """
    part = problem_of(support, m, W)
    change = solve_set(K, part, gap * part.unit, steps)
    support.a.alpha[m, W] = np.clip(part.alpha + change, part.lo, part.hi)
    moved = np.flatnonzero(change)
    if not len(moved):
        return
    subtract(part.grad, K, moved, change[moved], thread_count(kernel.n_jobs))
    support.a.grad[m, W] = part.grad
    rest = support.a.member[m, : support.n].copy()
    rest[W] = False
    rest = np.flatnonzero(rest)
    if len(rest):
        rows = support.rows()
        product = kernel.product(rows.take(rest), rows.take(W[moved]), change[None, moved])
        support.a.grad[m, rest] -= product[:, 0]


def evict(
    support: Support, beyond: float, told: Callable[..., None] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Members at zero that lie farther than ``beyond``, in units of the machine, leave.

    Returns the keys of those that left a machine, and the slacks (machines, keys) there. ``told`` is
    given the slacks, labels, bounds and keys of those that left all machines.
    """
    n = support.n
    if beyond == np.inf:
        nobody, slacks = np.empty(0, np.int64), np.empty((support.machines, 0))
        if told is not None:
            told(slacks, support.labels(nobody), support.a.bound[nobody], nobody)
        return nobody, slacks
    leaves = np.empty((support.machines, n), bool)
    for some in machine_groups(support.machines, n):
        far = _slacks(support, some, slice(n)) < -beyond * support.unit[some, None]
        leaves[some] = support.a.member[some, :n] & (support.a.alpha[some, :n] == 0.0) & far
    gone = np.flatnonzero(leaves.any(axis=0))
    keys, slacks = support.a.key[gone], np.empty((support.machines, len(gone)))
    for some in machine_groups(support.machines, n):
        slacks[some] = np.where(leaves[some, gone], _slacks(support, some, gone), -np.inf)
    if told is not None:
        without = support.task.partial & (support.a.p[:, gone] == 0.0)
        away = (leaves[:, gone] | without).all(axis=0)
        slots = gone[away]
        told(slacks[:, away], support.labels(slots), support.a.bound[slots], keys[away])
    support.a.member[:, :n] &= ~leaves
    support.changed()
    support.keep(np.asarray(support.a.member[:, :n].any(axis=0)))
    return keys, slacks


def slacks_of(support: Support) -> np.ndarray:
    """Slacks of all rows held, (machines, n); of rows that are no members they mean nothing."""
    return _slacks(support, slice(None), slice(support.n))


def _slacks(support: Support, machines: slice, slots: Any) -> np.ndarray:
    """Slacks of some of the rows held, for some machines."""
    residual = support.a.grad[machines, slots] - support.a.bias[machines, None]
    return support.task.slack(support.a.p[machines, slots], residual)
