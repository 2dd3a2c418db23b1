"""One example of a stream for regression or novelty detection, in one compiled call.

For a fresh example x with linear term p against the support set S (``tasks``):

    g_x  = p - K(x, S) alpha
    regression: x inside the tube is turned away; else it joins with coefficient zero
    one class:  x joins with coefficient nu w, its share of the sum
    repeat   i = the row of largest slope upwards, j = the partner of largest gain
             alpha_i up, alpha_j down, as far as it pays, to a bound, or to zero
    until    g_max - g_min <= goal, or ``MOST_STEPS`` pairs were moved

which is PROCESS and REPROCESS with the pairs of ``smo``. Kernel rows are computed when a pair needs
them and are not kept. Rows that came to lie inside leave when the learner optimises in depth.

For dense rows, kernels that tiles know and one machine; others are learned in blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..examples import Examples
from ..kernel.kernel import Kernel
from ..kernel.rbf import far_row
from ..kernel.tiles import RBF, squared_norm
from ..numerics import curvature_of, inner, jit
from .dense_row import EIGHT, kernel_values
from .support import STORED, N, Support
from .tasks import Regression

MOST_STEPS = 3
"""Pairs that are moved for one example, at most."""

SETTLED = 64
"""Number of targets from which on their spread is measured now and then, not for each."""


@inner
def _slopes(alpha, grad, bound, low, epsilon):
    """Slopes upwards and downwards of one coefficient; infinite where it cannot move."""
    up = grad - (epsilon if alpha >= 0.0 else -epsilon) if alpha < bound else -np.inf
    down = grad - (epsilon if alpha > 0.0 else -epsilon) if alpha > low * bound else np.inf
    return up, down


@inner
def _extremes(n, alpha, grad, bounds, low, epsilon):
    """The row of largest slope upwards, that slope, and the least slope downwards."""
    top, g_max, g_min = -1, -np.inf, np.inf
    for s in range(n):
        up, down = _slopes(alpha[s], grad[s], bounds[s], low, epsilon)
        if up > g_max:
            top, g_max = s, up
        g_min = min(g_min, down)
    return top, g_max, g_min


@inner
def _partner(n, top, g_max, row, alpha, grad, bounds, diagonals, low, epsilon):
    """The row that gains most when it goes down as ``top`` goes up."""
    best, gain = -1, 0.0
    for s in range(n):
        _, down = _slopes(alpha[s], grad[s], bounds[s], low, epsilon)
        rise = g_max - down
        if rise > 0.0:
            found = rise * rise / curvature_of(diagonals[top], diagonals[s], row[s])
            if found > gain:
                best, gain = s, found
    return best


@inner
def _move(i, j, rise, k_ij, alpha, bounds, diagonals, low):
    """alpha_i up, alpha_j down; how far. A step ends at zero, where the slope jumps."""
    curvature = curvature_of(diagonals[i], diagonals[j], k_ij)
    end_i = bounds[i] if alpha[i] >= 0.0 else 0.0
    end_j = low * bounds[j] if alpha[j] <= 0.0 else 0.0
    room_i, room_j = end_i - alpha[i], alpha[j] - end_j
    step = min(rise / curvature, room_i, room_j)
    alpha[i] = end_i if step >= room_i else alpha[i] + step
    alpha[j] = end_j if step >= room_j else alpha[j] - step
    return step


@jit
def _learn(
    x, target, bound, diagonal, mass, goal, code, gamma, coef0, degree, epsilon, low, most,
    rows, squares, row_i, row_j, alphas, grads, members, bounds, diagonals, keys, bias, delta, count,
):  # fmt: skip
    """Learn x; the number of kernel rows that were computed. -2: x is far; nothing was done.

    ``low`` is -1 where coefficients may be negative, else 0. ``rows`` has room for nine rows more.
    """
    n, x_square = count[N], squared_norm(x)
    alpha, grad = alphas[0], grads[0]
    if code == RBF and x_square > far_row(gamma):
        return -2
    kernel_values(x, x_square, rows, squares, n, code, gamma, coef0, degree, row_i)
    g = target
    for s in range(n):
        g -= alpha[s] * row_i[s]
    if mass == 0.0 and abs(g - bias[0]) <= epsilon:
        return 1
    for s in range(n):
        grad[s] -= mass * np.float64(row_i[s])
    for f in range(x.shape[0]):
        rows[n, f] = x[f]
    squares[n], alpha[n], grad[n] = x_square, mass, g - mass * diagonal
    bounds[n], diagonals[n], members[0, n], keys[n] = bound, diagonal, True, -1
    n += 1
    count[N] = count[STORED] = n
    done = 1
    for _ in range(most):
        i, g_max, g_min = _extremes(n, alpha, grad, bounds, low, epsilon)
        if not g_max - g_min > goal:
            break
        kernel_values(rows[i], squares[i], rows, squares, n, code, gamma, coef0, degree, row_i)
        j = _partner(n, i, g_max, row_i, alpha, grad, bounds, diagonals, low, epsilon)
        kernel_values(rows[j], squares[j], rows, squares, n, code, gamma, coef0, degree, row_j)
        row_i[i], row_j[j] = diagonals[i], diagonals[j]
        done += 2
        _, down = _slopes(alpha[j], grad[j], bounds[j], low, epsilon)
        step = _move(i, j, g_max - down, row_i[j], alpha, bounds, diagonals, low)
        for s in range(n):
            grad[s] -= step * (np.float64(row_i[s]) - np.float64(row_j[s]))
    _, g_max, g_min = _extremes(n, alpha, grad, bounds, low, epsilon)
    g_max = g_max if g_max > -np.inf else g_min  # all on one bound: the bias is that of the edge
    g_min = g_min if g_min < np.inf else g_max
    bias[0], delta[0] = (g_max + g_min) / 2, g_max - g_min
    return done


class OneValue:
    """The arrays of a support set, ready for one call after another (see ``one.OneByOne``)."""

    def __init__(self, support: Support, kernel: Kernel):
        store, a, task = support.store, support.a, support.task
        self.a, self.dense = a, store.dense
        self.most = min(len(a.bound), len(store.dense)) - EIGHT - 1
        low = -1.0 if isinstance(task, Regression) else 0.0
        rows = np.empty((2, len(store.dense)), np.float32)
        self._rest = (
            *kernel.params, task.epsilon, low, MOST_STEPS, store.dense, store.squares, *rows,
            a.alpha, a.grad, a.member, a.bound, a.diagonal, a.key, a.bias, a.delta, a.count,
        )  # fmt: skip

    def fits(self, support: Support) -> bool:
        """Whether these still are the arrays in use, with room for one more row."""
        store = support.store
        return self.a is support.a and self.dense is store.dense and store.n <= self.most

    def learn(self, *given: Any) -> int:
        """As ``_learn`` says."""
        return _learn(*given, *self._rest)


class OneValueAtATime:
    """Mixin of the learner: one dense example for one machine that learns no classes."""

    if TYPE_CHECKING:
        support: Support
        kernel: Kernel
        watch: Any
        _one: Any
        _deepen: Any

    def learn_few(self, fresh: Examples) -> bool:
        """Examples of a stream, one after another; false where they must be learned in a block."""
        values: Any = fresh.rows.values
        if fresh.rows.is_sparse or fresh.rows.has_second_parts() or not self._takes_one():
            return False
        if (fresh.rows.squares > self.kernel.far).any():
            return False
        for q in range(len(values)):
            self.learn_value(values[q], fresh.label[q], fresh.bound[q], fresh.diagonal[q])
        return True

    def learn_value(self, x: np.ndarray, label: Any, bound: float, diagonal: float) -> bool:
        """One dense example, float32 and shifted like the others; false: nothing was done."""
        support = self.support
        if not self._takes_one():
            return False
        one = self._one
        if one is None or not one.fits(support):
            n, held = support.n + EIGHT + 2, len(support.a.bound)
            support.reserve(n if n <= held else 2 * n)
            support.store.reserve(len(support.a.bound))
            one = self._one = OneValue(support, self.kernel)
        n, task = support.n, support.task
        target = float(np.ravel(label)[0])
        mass = task.nu * bound
        goal = task.depths.stream_delta * float(support.unit[0])
        made = one.learn(x, target, bound, diagonal, mass, goal)
        if made < 0:
            return False
        self.kernel.n_evaluations += made * (n + 1)
        if support.n > n:
            support.a.label[n], support.a.handle[n] = label, n
            support.store.n = n + 1
        self._note(target)
        self._deepen(1)
        return True

    def _takes_one(self) -> bool:
        store = self.support.store
        return (
            self.support.n > 0
            and self.support.machines == 1
            and self.watch is None
            and self.kernel.is_compiled
            and not store.is_sparse
            and not store.has_second_parts()
        )

    def _note(self, target: float) -> None:
        """The unit follows the targets: at once while they are few."""
        task = self.support.task
        if isinstance(task, Regression):
            task.note(target)
            if len(task.recent) < SETTLED:
                task.observe(task.recent[:0], self.support)
