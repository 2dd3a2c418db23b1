"""Prediction sets whose coverage holds whatever the stream does (adaptive conformal inference).

Given: the *excess* e of each example in turn: by how much the best score of another label exceeds
the score of its own, by the model before the example was learned. The set of an example holds
all labels whose excess is at most q. For each level alpha a threshold q is tracked,

    q <- q + rate ((e > q) - alpha)

It rises where the set missed the label and falls a little where it did not. Summed over a stretch
of T examples, misses - alpha T = (change of q) / rate: the share of misses differs from alpha by at
most |change of q| / (rate T), for every sequence of examples, drifting or not.

See Gibbs and Candes (2021); thresholds instead of quantiles: Angelopoulos, Candes, Tibshirani (2023).

Notes
-----
The rate is 0.03 times the recent average |e|, and larger at the beginning, so that the unit
of the scores does not matter. Between two levels, thresholds are interpolated.
"""

from __future__ import annotations

import numpy as np

from ..runtime.compact import Compact
from ..runtime.numerics import jit

LEVELS = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5,
    0.6, 0.7, 0.8, 0.9,
)  # fmt: skip
"""Shares of misses whose thresholds are tracked."""

RATE = 0.03
"""How far a threshold moves at a miss, in units of the average excess."""

FIRST_RATE = 0.5
"""The same at the first example; it falls with the square root of their number."""

MEMORY = 10_000
"""Examples over which the excess is averaged."""


@jit
def track(excess, levels, q, state):
    """Thresholds after these examples; ``state`` is their number and the average |e|."""
    for e in excess:
        state[0] += 1.0
        state[1] += (abs(e) - state[1]) / min(state[0], MEMORY)
        rate = state[1] * max(RATE, FIRST_RATE / np.sqrt(state[0]))
        for a in range(levels.shape[0]):
            q[a] += rate * ((1.0 if e > q[a] else 0.0) - levels[a])


class Thresholds(Compact):
    """One threshold for each level."""

    def __init__(self) -> None:
        self.levels, self.q = np.array(LEVELS), np.zeros(len(LEVELS))
        self.state = np.zeros(2)

    def update(self, excess: np.ndarray) -> None:
        """More examples, in order."""
        track(excess, self.levels, self.q, self.state)

    def use_quantiles(self, excess: np.ndarray, weight: np.ndarray) -> None:
        """Quantiles of these examples, as in conformal prediction, each counted by its weight.

        The example to come counts as one more, of average weight, that exceeds every threshold.
        """
        order = np.argsort(excess, kind="stable")
        below = np.cumsum(weight[order])
        share = below / (below[-1] + below[-1] / len(excess))
        place = np.searchsorted(share, (1.0 - self.levels) * (1.0 - 1e-12))
        self.q[:] = excess[order][np.minimum(place, len(excess) - 1)]


def interpolated(q: np.ndarray, alpha: float) -> float:
    """The threshold for this share of misses; below the first level every label is in."""
    return float("inf") if alpha < LEVELS[0] else float(np.interp(alpha, LEVELS, q))
