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
from .working_set import most_violating, solve_set, violations

DEPTH = 0.5
STEPS = 20
COMPANY = 512
SLACK = 0.1
NEAR = 1.0
REENTER = 0.05


def slack_of(support: Support, y: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """y (g - b), the largest over the machines: how far inside the margin a row lies."""
    return (y * (grad - support.a.bias[:, None])).max(axis=0)


def learn_block(support: Support, kernel: Any, fresh: Fresh) -> np.ndarray:
    """One block step. Returns each fresh example's slack at the time it was looked at."""
    y = support.signs(fresh.label)
    if support.n == 0:
        grad, slack = y.copy(), np.full(len(fresh.rows), np.inf)
    else:
        grad = y - kernel.product(fresh.rows, support.rows(), support.alpha()).T
        slack = slack_of(support, y, grad)
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
    part = Fresh(fresh.rows.take(enter), *(array[enter] for array in fresh[1:]))
    support.append(part, grad[:, enter])
    sets = [_working_set(support, m, old, inside[m]) for m in range(support.machines)]
    union = np.unique(np.concatenate(sets))
    rows = support.rows()
    company = rows.take(union)
    K = kernel.block(company, company)
    change = np.zeros((support.machines, len(union)))
    for m, W in enumerate(sets):
        where = np.searchsorted(union, W)
        part_K = K if len(W) == len(union) else K[np.ix_(where, where)]
        change[m, where] = solve_set(part_K, support, m, W, DEPTH, STEPS * len(W))
    spread(support, kernel, rows, union, K, change)
    support.measure()


def _working_set(support: Support, m: int, old: int, inside: np.ndarray) -> np.ndarray:
    """New rows inside machine m's margin, and old rows that violate most."""
    up, down, _, _ = violations(support, m)
    company = most_violating(up[:old], down[:old], COMPANY)
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
    support.a.grad[:, union] -= delta @ K[moved].astype(np.float64)
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
