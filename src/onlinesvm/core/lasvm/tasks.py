"""What the machines learn: classes, values, or the support of a distribution.

All three are one problem,

    max_a  sum_i p_i a_i - 1/2 sum_ij a_i a_j K_ij - epsilon sum_i |a_i|
    with   sum_i a_i = s,   lo_i <= a_i <= hi_i

and differ in the linear term p, the bounds, epsilon and s alone:

    classification    p = y = +-1    0 <= y a <= C     epsilon = 0    s = 0
    regression        p = target     -C <= a <= C      epsilon        s = 0    (epsilon-SVR)
    one class         p = 0          0 <= a <= w       epsilon = 0    s = nu sum(w), w the weights

With gradient g = p - K a and bias b, the decision function is f(x) = p - g + b. An example that is
not a member has a = 0; its *slack* is how far it violates the optimality conditions: the larger of
(g - epsilon) - b, if a may go up, and b - (g + epsilon), if a may go down.

Where the target comes in any size, so do gradients. Tolerances and thresholds are numbers that
suit gradients of about 1, times the *unit* of a machine: a power of two, so that dividing
by it is exact. The unit of classification is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from .support import Support

_SMALLEST, _LARGEST = 2.0**-200, 2.0**200


class Depths(NamedTuple):
    """How far a machine is optimised, and what leaves, in units of the machine."""

    depth: float  # gap to which the working set of a block is optimised
    slack: float  # in ``fit``, members at zero leave that lie so far beyond the margin
    stream_slack: float  # the same on a stream, where what has left is lost
    stream_delta: float  # on a stream, a gap above this one is reduced to ``stream_goal``:
    stream_goal: float  # steps on the newest examples alone leave the bias without meaning
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

ENOUGH = 0.1
"""Share of epsilon up to which violations are left alone after a fit that need not converge."""

_NORMAL = 1.4826  # standard deviation over median deviation of a normal distribution


def spread_of(targets: np.ndarray) -> np.ndarray:
    """Standard deviation of each column, or what few outliers leave of it.

    At most four times what the median deviation says, unless most targets are the same.
    """
    deviation = targets.std(axis=0)
    robust = 4.0 * _NORMAL * np.median(np.abs(targets - np.median(targets, axis=0)), axis=0)
    return np.where(robust > 0.0, np.minimum(deviation, robust), deviation)


class Classification:
    """One machine per label, against all others; two labels make one machine."""

    epsilon = 0.0
    nu = 0.0  # s as a share of the bounds of all examples
    both_signs = True  # a machine starts when it has seen both signs
    depths: ClassVar = Depths(0.5, 0.1, 1.0, 2.0, 1.0, 0.1, 1.0, 0.02, 1.0)

    def no_labels(self, capacity: int) -> np.ndarray:
        """Space for the labels of n slots."""
        return np.zeros(capacity, np.int64)

    def linear(self, labels: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """p of examples with these labels, (machines, n)."""
        return np.where(labels[None, :] == positive[:, None], 1.0, -1.0)

    def bounds(self, linear: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi of examples with this p, shaped as p."""
        reach = linear * bound
        return np.minimum(reach, 0.0), np.maximum(reach, 0.0)

    def slack(self, linear: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Slack from the residual g - b: y (g - b) = 1 - y f(x)."""
        return linear * residual

    def observe(self, labels: np.ndarray, support: Support) -> None:
        """Take note of examples that are about to be learned."""

    def measured(self, support: Support) -> None:
        """Take note that gradients and biases have changed."""

    def enough(self, unit: np.ndarray) -> float:
        """Gap at which a fit may end that need not converge, in units of the machine: tol."""
        return 0.0


class Regression:
    """One machine per target; labels are the targets, (n, machines)."""

    nu = 0.0
    both_signs = False
    depths: ClassVar = Depths(0.3, 0.05, 0.5, 0.1, 0.05, 0.1, np.inf, 0.0, 0.0)

    def __init__(self, epsilon: float, machines: int):
        self.epsilon = epsilon
        self.recent = np.empty((0, machines))  # targets seen last

    def no_labels(self, capacity: int) -> np.ndarray:
        """Space for the targets of n slots."""
        return np.zeros((capacity, self.recent.shape[1]))

    def linear(self, labels: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """p of examples with these targets, (machines, n); machine m has column positive[m]."""
        return np.ascontiguousarray(labels.T[positive])

    def bounds(self, linear: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi of examples with this p, shaped as p."""
        high = np.broadcast_to(bound, linear.shape)
        return -high, high

    def slack(self, linear: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Slack from the residual g - b: how far the target lies outside the tube."""
        return np.abs(residual) - self.epsilon

    def note(self, target: float) -> None:
        """Remember one target, without a look at the unit."""
        self.recent = np.concatenate([self.recent[1 - RECENT :], [[target]]])

    def keep(self, targets: np.ndarray) -> None:
        """Remember targets, without a look at the unit."""
        kept = self.recent[max(0, len(self.recent) + len(targets) - RECENT) :]
        self.recent = np.concatenate([kept, targets])[-RECENT:]

    def observe(self, labels: np.ndarray, support: Support) -> None:
        """The unit is about the spread of these targets, and of the last ones before them."""
        known = np.concatenate([self.recent, labels])
        self.recent = known[-RECENT:].copy()
        spread = spread_of(known if len(labels) >= RECENT else self.recent)
        support.unit = np.where(spread > 0.0, power_of_two(spread), support.unit)

    def measured(self, support: Support) -> None:
        """Nothing to do: the unit depends on the targets alone."""

    def enough(self, unit: np.ndarray) -> float:
        """Gap at which a fit may end that need not converge, in units of the machine.

        A share of epsilon: errors as large as epsilon cost nothing.
        """
        return min(ENOUGH * self.epsilon / float(unit.max()), self.depths.rough / 2)


class OneClass:
    """One machine; its coefficients sum to nu times the weights of the examples seen."""

    epsilon = 0.0
    both_signs = False
    depths: ClassVar = Depths(0.05, 0.02, 0.2, 0.1, 0.05, 0.01, 0.1, 0.0, 0.5)

    def __init__(self, nu: float):
        self.nu = nu

    def no_labels(self, capacity: int) -> np.ndarray:
        """Space for the labels of n slots; all are zero."""
        return np.zeros(capacity, np.int64)

    def linear(self, labels: np.ndarray, positive: np.ndarray) -> np.ndarray:
        """p = 0, (1, n)."""
        return np.zeros((1, len(labels)))

    def bounds(self, linear: np.ndarray, bound: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi, shaped as p."""
        return np.zeros(linear.shape), np.broadcast_to(bound, linear.shape)

    def slack(self, linear: np.ndarray, residual: np.ndarray) -> np.ndarray:
        """Slack from the residual g - b: -f(x), positive outside."""
        return residual

    def observe(self, labels: np.ndarray, support: Support) -> None:
        """Nothing to do: the unit depends on the gradients."""

    def measured(self, support: Support) -> None:
        """The unit is about the offset rho of the decision function."""
        size = np.abs(support.a.grad[:, : support.n]).mean(axis=1) if support.n else 0.0
        support.unit = power_of_two(np.maximum(np.abs(support.a.bias), size))

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
