"""Offsets of calibrated quantiles: next to NumPy's quantiles, with weights, and on a stream."""

import numpy as np
import pytest

from onlinesvm.core.prequential.offsets import RATE, followed, quantiles_of

LEVELS = np.array([0.03, 0.5, 0.9])


@pytest.mark.parametrize("n", [1, 2, 20, 999])
def test_quantiles_are_those_of_numpy(n):
    errors = np.random.default_rng(n).normal(size=(n, 3))
    expected = [np.quantile(e, q, method="weibull") for e, q in zip(errors.T, LEVELS, strict=True)]
    np.testing.assert_allclose(quantiles_of(errors, np.full(n, 0.3), LEVELS), expected)


def test_a_weight_counts_as_so_many_copies():
    rng = np.random.default_rng(0)
    errors, copies = rng.normal(size=(800, 3)), rng.integers(0, 4, 800)
    weighted = quantiles_of(errors, copies.astype(float), LEVELS)
    repeated = np.repeat(errors, copies, axis=0)
    np.testing.assert_allclose(
        weighted, quantiles_of(repeated, np.ones(len(repeated)), LEVELS), atol=0.02
    )
    np.testing.assert_array_equal(quantiles_of(errors, np.zeros(800), LEVELS), 0.0)


def test_shares_follow_the_misses_of_any_sequence():
    """Errors that jump: over all of them the share below differs by at most 1 / (RATE T)."""
    rng = np.random.default_rng(1)
    errors = rng.normal(size=(6000, 3)) + np.repeat([0.0, 8.0, -8.0], 2000)[:, None]
    shares, below = LEVELS, np.zeros(3)
    for first in range(0, 6000, 20):
        offsets = np.zeros(3)
        if first:
            known = errors[max(0, first - 500) : first]
            offsets = quantiles_of(known, np.ones(len(known)), shares)
        new = errors[first : first + 20]
        below += (new < offsets).sum(axis=0)
        shares = followed(shares, LEVELS, offsets, new, np.ones(20))
    np.testing.assert_allclose(below / 6000, LEVELS, atol=1.0 / (RATE * 6000) + 1e-9)
