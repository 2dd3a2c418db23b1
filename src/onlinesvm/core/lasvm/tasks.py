"""What the machines learn: classes, several labels, values, or the support of a distribution.

All of them are one problem,

    max_a  sum_i p_i a_i - 1/2 sum_ij a_i a_j K_ij - epsilon sum_i |a_i|
    with   sum_i a_i = s,   lo_i <= a_i <= hi_i

and differ in the linear term p, the bounds, epsilon and s alone:

    classification    p = y = +-1    0 <= y a <= C     epsilon = 0    s = 0
    several labels    the same: y of machine m is +1 where the example has label m
    pairs of classes  the same, of examples of two classes; p = 0 and a = 0 for all others (``pairs``)
    regression        p = target     -C <= a <= C      epsilon        s = 0    (epsilon-SVR)
    quantile tau      p = target     -C (1 - tau) <= a <= C tau    epsilon = 0    s = 0
    one class         p = 0          0 <= a <= w       epsilon = 0    s = nu sum(w), w the weights

With gradient g = p - K a and bias b, the decision function is f(x) = p - g + b. An example that is
not a member has a = 0; its *slack* is how far it violates the optimality conditions: the larger of
(g - epsilon) - b, if a may go up, and b - (g + epsilon), if a may go down.

Where the target comes in any size, so do gradients. Tolerances and thresholds are numbers that
suit gradients of about 1, times the *unit* of a machine: a power of two, so that dividing
by it is exact. The unit of classification is 1, that of regression the spread of most targets, that
of one class the offset rho or, where kernel values are nearly equal, the spread of most decision
values. Neither follows a few outliers. Where a model is to be exact, a unit of regression is no larger
than what few examples can change (``reach_of``): targets may be much farther apart than coefficients
up to C can follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .state import Support

_SMALLEST, _LARGEST = 2.0**-200, 2.0**200


class Tolerances(NamedTuple):
    """How far a machine is optimised, and what leaves, in units of the machine."""

    block_gap: float  # gap to which the working set of a block is optimised
    beyond: float  # in ``fit``, members at zero leave that lie so far beyond the margin
    stream_beyond: float  # the same on a stream, where what has left is lost
    begun_beyond: (
        float  # the same once, when the beginning of a stream ends, which has kept all rows
    )
    stream_delta: float  # largest gap that steps on the newest examples may leave on a stream
    stream_goal: float  # gap to which a larger one is reduced
    rough: float  # gap before the second look
    near: float  # examples no farther than this beyond the margin get a second look
    reenter: float  # slack from which they join then
    wrong: float  # slack from which the model is plainly wrong about an example


def power_of_two(values: np.ndarray) -> np.ndarray:
    """The power of two nearest to each value, 1 for zero."""
    safe = np.clip(np.where(values > 0, values, 1.0), _SMALLEST, _LARGEST)
    return np.asarray(2.0 ** np.round(np.log2(safe)))


RECENT = 1024
"""Targets of a stream that are kept to know their spread."""

LIMITED_BEYOND = 0.2
"""With limits, rows at zero leave when they lie this many units beyond the margin."""

EPSILON_SHARE = 0.1
"""Share of epsilon up to which violations are left alone after a fit that need not converge."""

SPREADS = 4.0
"""How many times a robust measure of the spread the standard deviation may be: more is outliers."""

_NORMAL = 1.4826, 2.595
"""Standard deviation of a normal distribution over the median, and over the third decile, of the
distances from its median."""

FEW_OTHERS, MOST_OTHERS = 0.1, 0.5
"""Share of the targets up to which those that differ from all others have no say in the unit, without
and with an epsilon, which says how exact the equal ones should be ..."""

_TUBES, _LEAST = 100.0, 2.0**-10
"""... which is this many epsilons then (so that a gap of 1e-3 units is a tenth of epsilon), or, where
epsilon is zero, this share of the standard deviation."""

_FINEST = 2.0**-20
"""Least share of the standard deviation that is asked for: beyond it is rounding."""

_SAME = 1e-12
"""Targets that differ from their median by no more than this share of it are the same."""


REACH = 4.0
"""Examples that together can change a decision value by the largest unit of an exact regression."""

_ROUNDING = 2.0**-30
"""Least share of the largest target that this is: gradients are rounded as their targets are."""


def reach_of(support: Support, shares: np.ndarray | float = 1.0) -> np.ndarray | float:
    """The largest unit of an exact regression: REACH C k(x, x) of the median row held.

    ``shares``: of C, those that machines have.
    """
    change = support.a.bound[: support.n] * np.abs(support.diagonal())
    change = change[change > 0.0]
    if not len(change):
        return np.inf
    largest = float(np.abs(support.linear()).max())
    return power_of_two(np.maximum(REACH * np.median(change) * shares, _ROUNDING * largest))


def spread_of(targets: np.ndarray, epsilon: float = 0.0) -> np.ndarray:
    """Standard deviation of each column, or what outliers leave of it.

    Outliers are told by the distances from the median: half of them, half of those that are not zero
    (more than half of the targets may be the same: sales, claims, rain), and three tenths of
    those (they may be far apart in groups).
    """
    return np.array([_spread(column, epsilon) for column in targets.T])


def _spread(targets: np.ndarray, epsilon: float) -> float:
    if not len(targets):
        return 0.0
    deviation, middle = float(targets.std()), np.median(targets)
    distance = np.abs(targets - middle)
    others = distance[distance > _SAME * abs(middle)]
    if not len(others):
        return deviation
    half = np.median(distance) or np.inf
    robust = min(
        _NORMAL[0] * min(half, np.median(others)), _NORMAL[1] * float(np.quantile(others, 0.3))
    )
    spread = deviation if deviation <= SPREADS * robust else robust
    if len(others) <= (MOST_OTHERS if epsilon else FEW_OTHERS) * len(targets):
        least = max(_TUBES * epsilon, _FINEST * deviation) if epsilon else _LEAST * deviation
        spread = min(spread, least)
    return float(spread)


class EveryMachine:
    """What tasks share in which every example has a part in every machine."""

    partial = False  # else, examples have a part only in the machines in which p is not zero

    def positives(self, n_labels: int) -> list[int]:
        """The label, or the column, that each machine learns."""
        return list(range(n_labels))

    def added(self, n_labels: int) -> list[int]:
        """The numbers of the machines that the last of these labels, at least three, adds."""
        return [n_labels - 1]

    def n_scores(self, n_labels: int) -> int:
        """Number of scores of an example: one for each machine."""
        return len(self.positives(n_labels))

    def scores(self, values: np.ndarray, n_labels: int) -> np.ndarray:
        """Scores, for ``prequential``, from values of machines (n, machines): the same."""
        return values

    def make_exact(self, support: Support) -> None:
        """The model is to be optimised to tol: the unit should be fine enough for that."""


class Classification(EveryMachine):
    """One machine per label, against all others; two labels make one machine."""

    epsilon = 0.0
    nu = 0.0  # s as a share of the bounds of all examples
    both_signs = True  # a machine starts when it has seen both signs
    is_smooth = False  # decision values differ by a small share of their offset
    overlap = False  # most rows of one machine are those of others
    tolerances: ClassVar = Tolerances(0.5, 0.1, 1.0, 0.3, 2.0, 1.0, 0.1, 1.0, 0.02, 1.0)

    def positives(self, n_labels: int) -> list[int]:
        """The label that each machine calls +1."""
        return [1] if n_labels <= 2 else list(range(n_labels))

    def no_labels(self, capacity: int) -> np.ndarray:
        """Space for the labels of n slots."""
        return np.zeros(capacity, np.int64)

    def groups(self, labels: np.ndarray) -> np.ndarray:
        """Numbers by which rows are counted: their labels."""
        return labels

    def rarest(self, labels: np.ndarray) -> int:
        """Number of examples of the label that has fewest of these."""
        counts = np.bincount(labels)
        return int(counts[counts > 0].min(initial=len(labels)))

    def seeds(self, labels: np.ndarray, count: int) -> np.ndarray:
        """The first ``count`` examples of each label, in order."""
        by_label = np.argsort(labels, kind="stable")
        counts = np.bincount(labels)
        rank = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.sort(by_label[rank < count])

    def labels(self, groups: np.ndarray, linear: np.ndarray) -> np.ndarray:
        """Labels of rows, from their groups and their p."""
        return groups

    def beyond(self, unit: np.ndarray) -> np.ndarray:
        """With limits: how far beyond the margin rows at zero leave."""
        return LIMITED_BEYOND * unit

    def follow(self, support: Support) -> None:
        """With limits: the unit, from what was learned last."""

    def linear(self, labels: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """p of examples with these labels, (machines, n)."""
        return np.where(labels[None, :] == positive[:, None], 1.0, -1.0)

    def bounds(
        self, linear: np.ndarray, bound: np.ndarray, machines: slice = slice(None)
    ) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi of examples with this p, shaped as p, of all machines or some."""
        reach = linear * bound
        return np.minimum(reach, 0.0), np.maximum(reach, 0.0)

    def slack(self, linear: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Slack from the residual g - b: y (g - b) = 1 - y f(x)."""
        return linear * residual

    def slack_after(self, linear: np.ndarray, slack: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Slack after f(x) has changed, from the slack before."""
        return slack - linear * change

    def observe(self, labels: np.ndarray, support: Support) -> None:
        """Take note of examples that are about to be learned."""

    def measured(self, support: Support) -> None:
        """Take note that gradients and biases have changed."""

    def enough(self, unit: np.ndarray) -> float:
        """Gap at which a fit may end that need not converge, in units of the machine: tol."""
        return 0.0


class SeveralLabels(Classification):
    """One machine per label, of which an example may have any number; labels are 0 or 1, (n, machines)."""

    overlap = True

    def __init__(self, machines: int):
        self.machines = machines

    def positives(self, n_labels: int) -> list[int]:
        """The column that each machine learns."""
        return list(range(n_labels))

    def no_labels(self, capacity: int) -> np.ndarray:
        """Space for the labels of n slots."""
        return np.zeros((capacity, self.machines), np.int8)

    def groups(self, labels: np.ndarray) -> np.ndarray:
        """Numbers by which rows are counted: all are zero."""
        return np.zeros(len(labels), np.int64)

    def labels(self, groups: np.ndarray, linear: np.ndarray) -> np.ndarray:
        """Labels of rows, from their groups and their p."""
        return (linear.T > 0.0).astype(np.int8)

    def rarest(self, labels: np.ndarray) -> int:
        """Number of examples that have the rarest label, or of those that lack the most frequent."""
        counts = np.count_nonzero(labels, axis=0)
        return int(np.minimum(counts, len(labels) - counts).min(initial=len(labels)))

    def seeds(self, labels: np.ndarray, count: int) -> np.ndarray:
        """The first ``count`` examples that have each label, and that lack it, in order."""
        has = labels > 0
        first = (has & (np.cumsum(has, axis=0) <= count)).any(axis=1)
        first |= (~has & (np.cumsum(~has, axis=0) <= count)).any(axis=1)
        return np.flatnonzero(first)

    def linear(self, labels: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """p of examples with these labels, (machines, n)."""
        return np.where(labels.T[positive] > 0, 1.0, -1.0)


class Regression(EveryMachine):
    """One machine per target; labels are the targets, (n, machines).

    With ``quantiles``, one for each machine, errors above and below cost tau and 1 - tau.
    """

    nu = 0.0
    both_signs = False
    is_smooth = False
    overlap = False
    tolerances: ClassVar = Tolerances(0.3, 0.05, 0.5, 0.05, 0.1, 0.05, 0.1, np.inf, 0.0, 0.0)

    def __init__(self, epsilon: float, machines: int, quantiles: np.ndarray | None = None):
        self.epsilon, self.quantiles = epsilon, quantiles
        self.recent = np.empty((0, machines))  # targets seen last

    def no_labels(self, capacity: int) -> np.ndarray:
        """Space for the targets of n slots."""
        return np.zeros((capacity, self.recent.shape[1]))

    def groups(self, labels: np.ndarray) -> np.ndarray:
        """Numbers by which rows are counted: targets have none."""
        return np.zeros(len(labels), np.int64)

    def labels(self, groups: np.ndarray, linear: np.ndarray) -> np.ndarray:
        """Targets of rows, from their groups and their p."""
        return linear.T

    def beyond(self, unit: np.ndarray) -> np.ndarray:
        """With limits: how far inside the tube rows at zero leave; no farther than half-way."""
        if self.epsilon > 0.0:
            return np.minimum(LIMITED_BEYOND * unit, self.epsilon / 2)
        return LIMITED_BEYOND * unit

    def follow(self, support: Support) -> None:
        """With limits: the unit is about the spread of the last targets."""
        support.unit[:] = self.unit_of(self.recent, support.unit)

    def linear(self, labels: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """p of examples with these targets, (machines, n); machine m has column positive[m]."""
        return np.ascontiguousarray(labels.T[positive])

    def bounds(
        self, linear: np.ndarray, bound: np.ndarray, machines: slice = slice(None)
    ) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi of examples with this p, shaped as p, of all machines or some."""
        high = np.broadcast_to(bound, linear.shape)
        if self.quantiles is None:
            return -high, high
        tau = self.quantiles[machines, None]
        return (tau - 1.0) * high, tau * high

    def terms(self, target: float, bound: float) -> np.ndarray:
        """p, lo and hi of one example with the same target for every machine, (1, 3, machines)."""
        if self.quantiles is None and self.recent.shape[1] == 1:
            return np.array([[[target], [-bound], [bound]]])
        linear = np.full((self.recent.shape[1], 1), target)
        return np.stack([linear, *self.bounds(linear, np.array([bound]))]).transpose(2, 0, 1).copy()

    def slack(self, linear: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Slack from the residual g - b: how far the target lies outside the tube."""
        return np.abs(residual) - self.epsilon

    def slack_after(self, linear: np.ndarray, slack: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Slack after f(x) has changed, from the slack before, at most: its sign is not known."""
        return slack + np.abs(change)

    def keep(self, targets: np.ndarray) -> None:
        """Remember targets, without a look at the unit."""
        kept = self.recent[max(0, len(self.recent) + len(targets) - RECENT) :]
        self.recent = np.concatenate([kept, targets])[-RECENT:]

    def forget(self, targets: np.ndarray) -> None:
        """Drop these from the targets seen last, as far as they are there, one for each."""
        stays = np.ones(len(self.recent), bool)
        for target in targets:
            found = np.flatnonzero(stays & (self.recent == target).all(axis=1))
            stays[found[:1]] = False
        self.recent = self.recent[stays]

    def observe(self, labels: np.ndarray, support: Support) -> None:
        """The unit is about the spread of these targets, and of the last ones before them."""
        known = np.concatenate([self.recent, labels])
        self.recent = known[-RECENT:].copy()
        few = len(labels) < RECENT
        support.unit[:] = self.unit_of(self.recent if few else known, support.unit)

    def unit_of(self, targets: np.ndarray, before: np.ndarray) -> np.ndarray:
        """The unit of each machine; ``before`` where all targets are the same."""
        spread = spread_of(targets, self.epsilon)
        return np.where(spread > 0.0, power_of_two(spread), before)

    def make_exact(self, support: Support) -> None:
        """No unit is larger than what few examples can change, until targets are observed again."""
        np.minimum(support.unit, reach_of(support), out=support.unit)

    def measured(self, support: Support) -> None:
        """Nothing to do: the unit depends on the targets alone."""

    def enough(self, unit: np.ndarray) -> float:
        """Gap at which a fit may end that need not converge, in units of the machine.

        A share of epsilon: errors as large as epsilon cost nothing.
        """
        return min(EPSILON_SHARE * self.epsilon / float(unit.max()), self.tolerances.rough / 2)


_SMALLEST_SHARE = 2.0**-24
"""Decision values that differ by less than this share of rho do so by rounding."""

_LEAST_OFFSET = 2.0**-40
"""Share of the sum of coefficients times k(x, x) below which rho is rounding."""

_ENOUGH_OUTSIDE = 8
"""Rows outside from which on their decision values tell something: what the unit is, in medians of
them, at least and at most."""
_MEDIANS = 1.0, 32.0

_SMOOTH = 1.0 / 8.0
"""Share of rho below which decision values differ so little that the unit is their spread, and that
a single pass may mislead."""

_SAMPLE = 16
"""Rows whose kernel values tell what a single example means."""


class OneClass(EveryMachine):
    """One machine; its coefficients sum to nu times the weights of the examples seen."""

    epsilon = 0.0
    both_signs = False
    overlap = False
    tolerances: ClassVar = Tolerances(0.05, 0.02, 0.2, 0.05, 0.1, 0.05, 0.01, 0.1, 0.0, 0.5)

    def __init__(self, nu: float):
        self.nu = nu
        self.share = 1.0  # of rho that most decision values spread over
        self.influence = np.inf  # of one example on a decision value, about

    @property
    def is_smooth(self) -> bool:
        """Whether decision values differ by a small share of the offset."""
        return self.share < _SMOOTH

    def no_labels(self, capacity: int) -> np.ndarray:
        """Space for the labels of n slots; all are zero."""
        return np.zeros(capacity, np.int64)

    def groups(self, labels: np.ndarray) -> np.ndarray:
        """Numbers by which rows are counted: all are zero."""
        return labels

    def labels(self, groups: np.ndarray, linear: np.ndarray) -> np.ndarray:
        """Labels of rows: all are zero."""
        return groups

    def beyond(self, unit: np.ndarray) -> np.ndarray:
        """With limits: how far inside rows at zero leave."""
        return LIMITED_BEYOND * unit

    def follow(self, support: Support) -> None:
        """The unit follows the decision values of the rows held."""
        a, n = support.a, support.n
        alpha, size = a.alpha[0, :n], np.abs(support.diagonal())[a.alpha[0, :n] > 0.0]
        least = _LEAST_OFFSET * float(alpha.sum() * np.median(size)) if len(size) else 0.0
        bias = float(a.bias[0])
        support.unit[:] = self.unit_of(alpha, a.grad[0, :n], a.hi[0, :n], bias, least)

    def linear(self, labels: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """p = 0, (1, n)."""
        return np.zeros((1, len(labels)))

    def bounds(
        self, linear: np.ndarray, bound: np.ndarray, machines: slice = slice(None)
    ) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi, shaped as p."""
        return np.zeros(linear.shape), np.broadcast_to(bound, linear.shape)

    def slack(self, linear: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Slack from the residual g - b: -f(x), positive outside."""
        return residual

    def slack_after(self, linear: np.ndarray, slack: np.ndarray, change: np.ndarray) -> np.ndarray:
        """Slack after f(x) has changed, from the slack before."""
        return slack - change

    def observe(self, labels: np.ndarray, support: Support) -> None:
        """Nothing to do: the unit depends on the gradients."""

    def measured(self, support: Support) -> None:
        """The unit follows the decision values of the rows held."""
        self.follow(support)

    def unit_of(
        self, alpha: np.ndarray, grad: np.ndarray, high: np.ndarray, bias: float, least: float = 0.0
    ) -> np.ndarray:
        """The unit is about the offset rho of the decision function, or the spread of its values.

        Where kernel values are nearly equal the spread is a small share of rho. It is taken from the
        rows held while these are most of the examples seen. Later, when most examples have been
        found to lie farther inside than a part of the unit, the share stays as it is, within
        what the rows outside say, which are all held. Rows with free coefficients have no
        decision value: the influence of one example says how small the unit can reasonably be.
        An offset below ``least`` is zero but for rounding: zero lies within the examples.
        """
        size = max(abs(bias), float(np.abs(grad).mean()), least) if len(alpha) else 0.0
        if size == 0.0:
            return np.ones(1)
        distance = np.abs(grad - bias) / size
        outside = distance[alpha >= high * (1.0 - ON_BOUND)]
        if 2.0 * self.nu * high.sum() >= alpha.sum():
            self.share = SPREADS * float(np.quantile(distance, 0.75))
        elif len(outside) >= _ENOUGH_OUTSIDE:
            low, high = np.median(outside) * np.array(_MEDIANS)
            self.share = float(np.clip(self.share, low, high))
        self.share = float(np.clip(max(self.share, self.influence / size), _SMALLEST_SHARE, 1.0))
        return power_of_two(np.array([self.share * size if self.is_smooth else size]))

    def sample(self, alpha: np.ndarray) -> np.ndarray:
        """Some of the rows that carry."""
        used = np.flatnonzero(alpha)
        return used[:: max(1, len(used) // _SAMPLE)][:_SAMPLE]

    def weigh(self, alpha: np.ndarray, K: np.ndarray) -> None:
        """Coefficients and kernel values of a sample: what changes if one row takes another's place."""
        if len(alpha) > 1:
            own = K.diagonal().astype(np.float64)
            curvature = own[:, None] + own - 2.0 * K
            apart = np.median(np.sort(curvature, axis=1)[:, 1:], axis=1)
            self.influence = float(np.median(alpha * np.abs(apart)))

    def enough(self, unit: np.ndarray) -> float:
        """Gap at which a fit may end that need not converge, in units of the machine: tol."""
        return 0.0


Task = Classification | Regression | OneClass

FINISHING_PASSES = 2.0
"""Kernel values that finishing takes, as a multiple of all pairs of members: about 1 on ordinary sets."""


ON_BOUND = 1e-12
"""Share of a bound within which a coefficient is on it: rounding may leave it there."""


def one_sided(alpha: np.ndarray, grad: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of the objective to the right and to the left of alpha.

    The cost epsilon |a| has a kink at zero; elsewhere both slopes are the same.
    """
    if epsilon == 0.0:
        return grad, grad
    right = grad - np.where(alpha >= 0.0, epsilon, -epsilon)
    left = grad - np.where(alpha > 0.0, epsilon, -epsilon)
    return right, left
