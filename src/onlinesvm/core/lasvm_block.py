"""LASVM in blocks: PROCESS and REPROCESS for many examples at a time.

For a block B of fresh examples against the support set S, for each machine:

    g_B  = y_B - K(B, S) alpha                 one fused product, nothing stored
    V    = { i in B : y_i (g_i - b) > 0 }      the examples inside the margin enter
    W    = V and the rows of S that violate most
    solve on W until delta <= DEPTH            second-order SMO in cache
    g_S <- g_S - K(S, W) (change of alpha_W)   one fused product
    evict rows at zero that lie beyond the margin by more than SLACK

An example turned away or evicted is remembered with its distance from the margin when its row
will still be at hand (``parked``); before finishing, those that were close are looked at again.

Notes
-----
The listing's one REPROCESS for each PROCESS becomes a bounded optimisation of W; evicting with
slack keeps what section 3.5 calls potential support vectors. See ``docs/architecture.md``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .rows import Rows
from .support import Fresh, Support
from .working_set import (
    gather,
    most_violating,
    problem_of,
    solve_set,
    square,
    subtract_rows,
)

DEPTH = 0.5
STEPS = 20
COMPANY = 1024
SLACK = 0.1
ROUGH = 0.1
NEAR = 1.0
REENTER = -0.02


def slack_of(support: Support, y: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """y (g - b), the largest over the machines: how far inside the margin a row lies."""
    return (y * (grad - support.a.bias[:, None])).max(axis=0)


def judge(
    support: Support, kernel: Any, fresh: Fresh, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients (machines, n) and slacks of examples outside the support set."""
    grad = y - kernel.product(fresh.rows, *support.expansion()).T
    return grad, slack_of(support, y, grad)


def learn_block(support: Support, kernel: Any, fresh: Fresh) -> np.ndarray:
    """One block step. Returns each fresh example's slack at the time it was looked at."""
    y = support.signs(fresh.label)
    if support.n == 0:
        grad, slack = y.copy(), np.full(len(fresh.rows), np.inf)
    else:
        grad, slack = judge(support, kernel, fresh, y)
    enter = np.flatnonzero(slack > 0)
    if len(enter):
        admit(support, kernel, fresh, enter, grad, y)
    return slack


def admit(
    support: Support, kernel: Any, fresh: Fresh, enter: np.ndarray, grad: np.ndarray, y: np.ndarray
) -> None:
    """The examples ``enter`` join; working sets absorb them."""
    old = support.n
    inside = (y * (grad - support.a.bias[:, None]) > 0)[:, enter] | (old == 0)
    joining = Fresh(fresh.rows.take(enter), *(array[enter] for array in fresh[1:]))
    support.append(joining, grad[:, enter])
    sets = [_working_set(support, m, old, inside[m]) for m in range(support.machines)]
    union = np.unique(np.concatenate(sets))
    rows = support.rows()
    company = rows.take(union)
    K = kernel.block(company, company, square(len(union)))
    change = np.zeros((support.machines, len(union)))
    for m, W in enumerate(sets):
        where = np.searchsorted(union, W)
        part_K = K
        if len(W) < len(union):
            part_K = square(len(W))
            gather(K, where, where, part_K)
        part = problem_of(support, m, W)
        change[m, where] = solve_set(part_K, part, DEPTH, STEPS * len(W))
        support.a.alpha[m, W] = np.clip(part.alpha + change[m, where], part.lo, part.hi)
    spread(support, kernel, rows, union, K, change)
    support.measure()


def _working_set(support: Support, m: int, old: int, inside: np.ndarray) -> np.ndarray:
    """New rows inside machine m's margin, and old rows that violate most."""
    up, down = problem_of(support, m, np.arange(old)).sides()
    company = most_violating(up, down, COMPANY)
    return np.concatenate([company, old + np.flatnonzero(inside)])


def spread(
    support: Support, kernel: Any, rows: Rows, union: np.ndarray, K: np.ndarray, change: np.ndarray
) -> None:
    """Bring all gradients up to date with the change of alpha on ``union``; K = K(union, union)."""
    n = support.n
    moved = np.flatnonzero(change.any(axis=0))
    if not len(moved):
        return
    delta = change[:, moved]
    own = support.a.grad[:, union]
    for m in range(support.machines):
        subtract_rows(own[m], K, moved, np.ascontiguousarray(delta[m]), 0, len(union))
    support.a.grad[:, union] = own
    rest = np.ones(n, bool)
    rest[union] = False
    rest = np.flatnonzero(rest)
    if len(rest):
        product = kernel.product(rows.take(rest), rows.take(union[moved]), delta)
        support.a.grad[:, rest] -= product.T


def evict(support: Support, slack: float = SLACK) -> tuple[np.ndarray, np.ndarray]:
    """Forget rows at zero beyond the margin by more than ``slack``; their keys and slacks."""
    n = support.n
    inside = slack_of(support, support.signs(), support.a.grad[:, :n])
    gone = ~support.alpha().any(axis=0) & (inside < -slack)
    keys = support.a.key[:n][gone].copy()
    support.keep(~gone)
    return keys, inside[gone]
