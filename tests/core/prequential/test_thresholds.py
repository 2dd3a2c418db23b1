"""Thresholds of prediction sets: the twin, coverage whatever comes."""

import numpy as np
import pytest
from naive.prequential import track

from onlinesvm.core.prequential import thresholds
from onlinesvm.core.prequential.thresholds import LEVELS, Thresholds, interpolated


def covered(excess, level):
    """Whether the threshold of this level, before each example, covers it."""
    rule = (thresholds.RATE, thresholds.FIRST_RATE, thresholds.MEMORY)
    return excess <= track(excess, [level], *rule)[0][:, 0]


def test_thresholds_are_their_twin():
    excess = np.random.default_rng(0).normal(size=500)
    rule = (thresholds.RATE, thresholds.FIRST_RATE, thresholds.MEMORY)
    quick = Thresholds()
    for part in np.split(excess, [1, 2, 40, 333]):
        quick.update(part)
    np.testing.assert_allclose(quick.q, track(excess, LEVELS, *rule)[1], rtol=1e-12)


STREAMS = {
    "stationary": lambda rng, t: rng.normal(size=t),
    "swapped": lambda rng, t: rng.normal(size=t) * 0.7 + np.where(np.arange(t) < t // 2, -1, 1),
    "wild": lambda rng, t: rng.standard_t(2, t) + np.sin(np.arange(t) / 700.0),
    "constant": lambda rng, t: np.full(t, -1.0),
    "tiny": lambda rng, t: 1e-9 * rng.normal(size=t),
    "huge": lambda rng, t: 1e9 * rng.normal(size=t),
    "sorted": lambda rng, t: np.sort(rng.uniform(-1.0, 1.0, size=t)),
}


@pytest.mark.parametrize("kind", STREAMS)
@pytest.mark.parametrize("level", [0.05, 0.1, 0.3])
def test_coverage_of_every_long_stretch(kind, level):
    n, stretch = 12000, 5000
    covers = covered(STREAMS[kind](np.random.default_rng(1), n), level)[500:]
    share = np.convolve(covers, np.full(stretch, 1 / stretch), "valid")
    assert abs(share - (1 - level)).max() < 0.02


def test_between_two_levels_thresholds_are_interpolated():
    q = -np.arange(len(LEVELS), dtype=float)
    assert interpolated(q, LEVELS[8]) == -8.0
    assert interpolated(q, (LEVELS[3] + LEVELS[4]) / 2) == pytest.approx(-3.5)
    assert interpolated(q, LEVELS[0] / 2) == np.inf
    assert interpolated(q, 0.99) == q[-1]
