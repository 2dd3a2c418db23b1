"""The finishing step of LASVM with a bounded memory: the SVM of the rows held, or of the window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..examples import Examples
from ..interrupts import checkpoint
from . import bounded_steps as at
from .smo import PROGRESS, solve
from .tasks import ON_BOUND, one_sided

if TYPE_CHECKING:
    from .bounded import BoundedLASVM
    from .recent import Recent

_STEPS = 1000
"""Maximum number of pair steps for each row, per round."""

_ROUNDS = 100
_LANES = 64


def finish(learner: BoundedLASVM, tol: float) -> bool:
    """Optimise; admit examples of the window that violate; until there is none.

    Returns whether every machine has a gap of at most ``tol``.
    """
    if learner.task.nu:
        _restore_sum(learner)
    for _ in range(_ROUNDS):
        reached = all([_optimise(learner, m, tol) for m in range(learner.machines)])
        finer = reached and learner.follow_unit()
        if not finer and (not reached or learner.recent is None or not _admit(learner, tol)):
            return reached
    return False


def _optimise(learner: BoundedLASVM, m: int, tol: float) -> bool:
    """Second-order steps on all rows held."""
    n = learner.n
    if n == 0:
        return True
    F, width = learner.F, -(-n // _LANES) * _LANES
    K = np.zeros((n, width), np.float32)
    K[:, :n] = learner.K[:n, :n]
    diagonal = np.zeros(width, np.float32)
    diagonal[:n] = K.diagonal()
    lo, hi, unit = F[at.LOW, m, :n].copy(), F[at.HIGH, m, :n].copy(), learner.unit[m]
    before = np.inf
    while True:
        checkpoint()
        gap = _measure(learner, m) / unit
        if not (tol < gap < np.inf):
            return True
        if not gap < (1.0 - PROGRESS) * before:  # single precision allows no more
            return False
        before = gap
        alpha = F[at.ALPHA, m, :n] / unit
        centre = 0.0 if learner.task.both_signs else learner.M[at.BIAS, m]
        solve(
            K, diagonal, alpha, (F[at.GRAD, m, :n] - centre) / unit, lo / unit, hi / unit,
            learner.task.epsilon / unit, tol / 2, _STEPS * n,
        )  # fmt: skip
        alpha = np.clip(alpha * unit, lo, hi)
        F[at.ALPHA, m, :n] = alpha
        F[at.GRAD, m, :n] = F[at.LINEAR, m, :n] - learner.K[:n, :n].astype(np.float64) @ alpha


def _measure(learner: BoundedLASVM, m: int) -> float:
    """Bias and gap of machine m from its gradients; returns the gap."""
    alpha, grad, _, lo, hi, _ = learner.F[:, m, : learner.n]
    right, left = one_sided(alpha, grad, learner.task.epsilon)
    up = right[alpha < hi * (1.0 - ON_BOUND)]
    down = left[alpha > lo * (1.0 - ON_BOUND)]
    if len(up) and len(down):
        learner.M[at.BIAS, m] = (up.max() + down.min()) / 2
        learner.M[at.GAP, m] = up.max() - down.min()
    elif len(up) or len(down):
        learner.M[at.BIAS, m] = up.max() if len(up) else down.min()
        learner.M[at.GAP, m] = np.inf
    return float(learner.M[at.GAP, m])


def _outside(
    learner: BoundedLASVM, recent: Recent
) -> tuple[Examples, np.ndarray, np.ndarray, np.ndarray]:
    """Examples of the window that are not held, their times, ``given`` and gradients."""
    examples, born = recent.examples()
    outside = np.flatnonzero(~np.isin(born, learner.T[at.BORN, : learner.n]))
    examples, born = examples.take(outside), born[outside]
    given = learner.given(examples.label, examples.bound)
    if learner.half_life < np.inf:
        given[:, 1:] *= (
            2.0 ** (-(learner.count[at.CLOCK] - born) / learner.half_life)[:, None, None]
        )
    alpha = learner.F[at.ALPHA, :, : learner.n]
    grad = given[:, 0] - learner.kernel.product(examples.rows, learner.store.rows(), alpha)
    return examples, born, given, grad


def _admit(learner: BoundedLASVM, tol: float) -> bool:
    """Examples of the window that violate by more than tol come in; false: there is none."""
    assert learner.recent is not None
    examples, born, given, grad = _outside(learner, learner.recent)
    residual, epsilon = grad - learner.M[at.BIAS], learner.task.epsilon
    up = np.where(given[:, 2] > 0, residual - epsilon, -np.inf)
    down = np.where(given[:, 1] < 0, -residual - epsilon, -np.inf)
    slack = (np.maximum(up, down) / learner.unit).max(axis=1)
    chosen = np.flatnonzero(slack > tol)
    for k in chosen[np.argsort(-slack[chosen], kind="stable")][: max(64, learner.n // 4)]:
        _append(learner, examples.take(slice(k, k + 1)), int(born[k]), given[k], grad[k])
    return len(chosen) > 0


def _restore_sum(learner: BoundedLASVM) -> None:
    """Coefficients sum to what they should, if rows of the window had to be admitted for it."""
    n = learner.n
    missing = learner.M[at.MASS, 0] - learner.F[at.ALPHA, 0, :n].sum()
    if n == 0 or missing <= 1e-12 * learner.M[at.MASS, 0]:
        return
    room = (learner.F[at.HIGH, 0, :n] - learner.F[at.ALPHA, 0, :n]).sum()
    if learner.recent is not None and room < missing:
        examples, born, given, grad = _outside(learner, learner.recent)
        order = np.argsort(-grad[:, 0], kind="stable")
        enough = int(np.searchsorted(np.cumsum(given[order, 2, 0]), missing - room)) + 1
        for k in order[:enough]:
            _append(learner, examples.take(slice(k, k + 1)), int(born[k]), given[k], grad[k])
    n = learner.n
    alpha, grad, linear, _, high, _ = learner.F[:, 0, :n]
    order = np.argsort(-grad, kind="stable")
    before = np.cumsum((high - alpha)[order]) - (high - alpha)[order]
    alpha[order] += np.clip(missing - before, 0.0, (high - alpha)[order])
    grad[:] = linear - learner.K[:n, :n].astype(np.float64) @ alpha


def _append(
    learner: BoundedLASVM, one: Examples, born: int, given: np.ndarray, grad: np.ndarray
) -> None:
    """A row comes in with coefficient zero."""
    k = learner.n
    learner.reserve(k + 1)
    row = learner.kernel.block(one.rows, learner.store.rows())[0]
    learner.K[k, :k] = learner.K[:k, k] = row
    learner.K[k, k] = one.diagonal[0]
    learner.M[at.LENGTH] = np.maximum(learner.M[at.LENGTH], np.sqrt(abs(one.diagonal[0])))
    learner.F[at.ALPHA, :, k], learner.F[at.GRAD, :, k] = 0.0, grad
    learner.F[at.LINEAR, :, k], learner.F[at.LOW, :, k], learner.F[at.HIGH, :, k] = given
    learner.F[at.BOUND, :, k] = one.bound[0]
    group = learner.groups(one)[0]
    learner.T[:, k] = group, born, one.key[0], k, -1
    learner.labels_held[group] += 1
    learner.count[at.N] = learner.count[at.STORED] = k + 1
    learner.store.append(one.rows)
