"""Limits on what is remembered: a window, a budget, a half-life; and which rows leave for them.

    window      only the last examples count; what leaves the window is pushed out of the model
    budget      the number of stored rows is bounded; ``policy`` says which row is removed
    half_life   bounds shrink with age: an example counts half after this number of others

Before an example is learned, rows that are older than the window leave, and the bounds of two rows
shrink to what their age (with a half-life) and the budget (CAPPED) leave of them. Afterwards rows
that have no coefficient and lie beyond the margin leave. Above the budget one row is removed: one
without coefficients if there is one, else the policy chooses. The last few rows of a label stay, so
that a rare class is not forgotten in favour of frequent ones.

A row is never simply deleted: its bound becomes zero, and its coefficient is moved to others
(``steps.bring_down``). All pairs of kernel values are kept, so results depend on the examples and
their order alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernel.emit.records import Layout, Numbers, Reals
from ...runtime.numerics import inlined, keep_small, linked
from ..state import CLOCK, NEXT_TO_DECAY, REMOVALS, N
from .policies import OUTLIER
from .steps import bring_down, leave, move, value_of

SEEDS = 5
"""Rows of each label that are kept although they lie beyond the margin; while no other class has been
seen, the only ones."""

YOUNG = 50
"""Age below which a row is no outlier: it may be the first of a new concept."""

CAPPED = 3.0
"""Largest bound, in units of 1 / k(x, x), of an example of weight 1 once rows that carry had to make
way (OUTLIER). With few support vectors a larger C overfits."""


class Limits(NamedTuple):
    """What compiled loops see of the limits."""

    half_life: float
    cap: float  # largest bound times k(x, x) after the first row that carried was pushed out
    window: int  # examples that count; 0: all
    budget: int  # rows; 0: any number
    policy: int  # which row is removed (``policies``)
    protected: int  # number of rows of a label from which on they may
    labels: Numbers  # rows held of each label
    masses: Reals  # what the examples of the window brought (``mass``)


LIMITS = Layout(Limits)


@inlined
def share_of_bound(a, limits, diagonal):
    """What is left of the bound of a row with this k(x, x), whatever its age."""
    capped = limits.policy == OUTLIER and a.count[REMOVALS] > 0
    return min(1.0, limits.cap / max(diagonal, 1e-300)) if capped else 1.0


@linked
def nearest(a, c, s, n):
    """The slot of the nearest other row with the same label; -1 where there is none."""
    keep_small()
    best, value = -1, -np.inf
    for r in range(n):
        if r != s and a.label[r] == a.label[s]:
            nearness = 2.0 * value_of(c, s, r) - a.diagonal[r]
            if nearness > value:
                best, value = r, nearness
    return best


@linked
def count_in(a, c, labels, k, near):
    """The row in slot k, which has joined, is counted, and known to its neighbours."""
    keep_small()
    label = a.label[k]
    labels[label] += 1
    if near is not None:
        near[k] = nearest(a, c, k, k + 1)
        for s in range(k):
            r = near[s]
            if a.label[s] == label and (
                r < 0
                or 2.0 * value_of(c, s, k) - a.diagonal[k] > 2.0 * value_of(c, s, r) - a.diagonal[r]
            ):
                near[s] = k


@inlined
def count_out(a, c, labels, near, s, along):
    """The row in slot s leaves."""
    labels[a.label[s]] -= 1
    last = a.count[N] - 1
    leave(s, a, c, along)
    if near is not None:
        for r in range(last):
            if near[r] == s:
                near[r] = nearest(a, c, r, last)
            elif near[r] == last:
                near[r] = s


@inlined
def violation_of(a, m, s, epsilon):
    """How far a row at zero violates the optimality conditions; negative beyond the margin."""
    residual = a.grad[m, s] - a.bias[m]
    up = residual - epsilon if a.hi[m, s] > 0.0 else -np.inf
    down = -residual - epsilon if a.lo[m, s] < 0.0 else -np.inf
    return max(up, down)


@inlined
def _largest_violation(a, s, epsilon):
    """Over the machines, in units of how far beyond the margin rows leave; inf where it carries."""
    largest = -np.inf
    for m in range(a.positive.shape[0]):
        carries = a.alpha[m, s] != 0.0 or (a.delta[m] == np.inf and a.hi[m, s] > a.lo[m, s])
        violation = np.inf if carries else violation_of(a, m, s, epsilon) / a.beyond[m]
        largest = max(largest, violation)
    return largest


@inlined
def _next_to_leave(a, limits, epsilon, after, below):
    """The last slot below ``below`` whose row leaves by itself; -1: there is none."""
    found, s = -1, below - 1
    while s >= 0 and found < 0:
        if after:
            if a.alpha[0, s] == 0.0 and limits.labels[a.label[s]] > SEEDS:
                found = s if _largest_violation(a, s, epsilon) < -1.0 else -1
        elif a.born[s] <= a.count[CLOCK] - limits.window:
            found = s
        s -= 1
    return found


@linked
def choose(a, limits, epsilon):
    """The row to remove, and whether it has coefficients.

    It is the row without coefficients that lies farthest beyond the margins; where there is none,
    and the policy is OUTLIER, three times of four the row farthest on the wrong side of its machine,
    unless it is young; else the oldest.
    """
    keep_small()
    count, protected, labels = a.count, limits.protected, limits.labels
    outlier = limits.policy == OUTLIER and (count[REMOVALS] + 1) % 4 != 0
    idle, wrong, oldest, any_oldest = -1, -1, -1, -1
    idle_value, wrong_value = np.inf, 1.0
    for s in range(count[N]):
        born, free = a.born[s], labels[a.label[s]] > protected
        if any_oldest < 0 or born < a.born[any_oldest]:
            any_oldest = s
        if free and (oldest < 0 or born < a.born[oldest]):
            oldest = s
        largest = -np.inf
        for m in range(a.positive.shape[0]):
            value, violation = a.alpha[m, s], violation_of(a, m, s, epsilon)
            idles = value == 0.0 and (a.delta[m] < np.inf or a.hi[m, s] <= a.lo[m, s])
            largest = max(largest, violation / a.beyond[m] if idles else np.inf)
            suspect = outlier and free and born <= count[CLOCK] - YOUNG
            if suspect and value != 0.0 and violation / a.unit[m] > wrong_value:
                wrong, wrong_value = s, violation / a.unit[m]
        if free and largest < idle_value:
            idle, idle_value = s, largest
    carries = idle < 0
    if carries:
        idle = wrong if wrong >= 0 else (oldest if oldest >= 0 else any_oldest)
    return idle, carries


@linked
def hand_over(a, c, limits, epsilon, near):
    """A row whose coefficients change the decision function least if moved to its neighbour.

    The neighbour takes what it has space for. -1: there is no such row.
    """
    keep_small()
    best, value, n = -1, np.inf, a.count[N]
    for s in range(n):
        r = near[s]
        free = limits.labels[a.label[s]] > limits.protected
        if r < 0 or not free or a.born[s] > a.count[CLOCK] - YOUNG:
            continue
        carried = 0.0
        for m in range(a.positive.shape[0]):
            carried = max(carried, abs(a.alpha[m, s]))
        apart = a.diagonal[s] + a.diagonal[r] - 2.0 * value_of(c, s, r)
        cost = carried * np.sqrt(max(apart, 0.0))
        if cost < value:
            best, value = s, cost
    for m in range(a.positive.shape[0] if best >= 0 else 0):
        carried, r = a.alpha[m, best], near[best]
        if carried != 0.0:
            i, j = (r, best) if carried > 0.0 else (best, r)
            move(a, c, m, i, j, abs(carried), epsilon)
    return best


@linked
def forget(a, c, along, limits, epsilon, near, nu, after):
    """Rows leave, or their bounds shrink: ``after`` an example was learned, or before.

    Whatever the reason, coefficients are brought down in one place, which saves compiling it
    several times. Returns whether coefficients may have changed.
    """
    keep_small()
    count = a.count
    changed, below, shrunk = False, count[N], 0
    capped = limits.cap < np.inf and limits.policy == OUTLIER and count[REMOVALS] > 0
    shrinks = limits.half_life < np.inf or capped
    if not after and limits.window == 0:
        below = 0
    while True:
        n, part, leaves = count[N], 0.0, True
        s = _next_to_leave(a, limits, epsilon, after, below)
        below = max(s, 0)
        if s < 0 and not after and shrinks and shrunk < min(2, n):
            s, leaves = count[NEXT_TO_DECAY] % n, False
            shrunk, count[NEXT_TO_DECAY] = shrunk + 1, s + 1
            part = 2.0 ** (-(count[CLOCK] - a.born[s]) / limits.half_life)
            part *= share_of_bound(a, limits, a.diagonal[s])
        if s < 0 and after and limits.budget > 0 and n > limits.budget:
            s, carries = choose(a, limits, epsilon)
            count[REMOVALS] += carries
            if near is not None and carries:
                joined = hand_over(a, c, limits, epsilon, near)
                s = joined if joined >= 0 else s
            if nu is not None:
                a.mass[0] -= a.alpha[0, s]
        if s < 0:
            break
        for m in range(a.positive.shape[0]):
            bring_down(a, c, m, s, a.bound[s] * part, epsilon, nu is None)
        if leaves:
            count_out(a, c, limits.labels, near, s, along)
        changed = True
    return changed
