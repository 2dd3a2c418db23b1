"""Probabilities from scores: the optimum, extremes, the order of labels."""

import numpy as np
import pytest
from naive.prequential import best_slopes, loss

from onlinesvm.core.prequential.calibration import fit_slopes, follow, probabilities

TRUE = np.array([1.7, 0.8, 1.9, 1.1, 2.5, 1.2])


def sample(machines, n=3000, seed=0):
    """Scores, and labels drawn with the probabilities that they stand for."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(-0.3, 1.2, size=(n, machines))
    chance = probabilities(scores, TRUE).cumsum(axis=1)
    return scores, (rng.random((n, 1)) > chance[:, :-1]).sum(axis=1)


@pytest.mark.parametrize("machines", [1, 3, 5])
def test_slopes_are_the_optimum(machines):
    scores, label = sample(machines, 800)
    own, theirs = fit_slopes(scores, label, np.ones(800)), best_slopes(scores, label)
    assert loss(own, scores, label) <= loss(theirs, scores, label) + 1e-9
    np.testing.assert_allclose(own, theirs, rtol=1e-2)


@pytest.mark.parametrize("machines", [1, 4])
def test_slopes_of_the_truth_are_found(machines):
    scores, label = sample(machines, 40000)
    np.testing.assert_allclose(fit_slopes(scores, label, np.ones(40000)), TRUE, rtol=0.15)


def test_weights_count_as_copies():
    scores, label = sample(1, 6000)
    count = np.random.default_rng(0).integers(1, 4, 6000)
    weighted = fit_slopes(scores, label, count * 7.0)
    copied = fit_slopes(np.repeat(scores, count, 0), np.repeat(label, count), np.ones(count.sum()))
    np.testing.assert_allclose(weighted, copied, rtol=0.03)  # targets depend on the number of rows


CASES = {
    "none": (np.zeros((0, 1)), np.zeros(0, int)),
    "zeros": (np.zeros((50, 1)), np.arange(50) % 2),
    "one class": (np.full((50, 1), -1.0), np.zeros(50, int)),
    "all right": (np.repeat([[-2.0], [2.0]], 50, 0), np.repeat([0, 1], 50)),
    "all wrong": (np.repeat([[-2.0], [2.0]], 50, 0), np.repeat([1, 0], 50)),
    "far": (np.repeat([[-1e12], [1e12]], 50, 0), np.repeat([0, 1], 50)),
    "tiny": (np.repeat([[-1e-12], [1e-12]], 50, 0), np.repeat([0, 1], 50)),
    "single": (np.array([[0.5]]), np.array([1])),
    "three, all wrong": (np.eye(3)[np.arange(60) % 3] - 0.5, (np.arange(60) + 1) % 3),
}


@pytest.mark.parametrize("case", CASES)
def test_extremes_give_finite_probabilities_in_the_order_of_scores(case):
    scores, label = CASES[case]
    slopes = fit_slopes(scores, label, np.ones(len(label)))
    assert np.isfinite(slopes).all()
    assert (slopes > 0).all()
    asked = np.random.default_rng(0).normal(size=(200, scores.shape[1]))
    asked = np.concatenate([asked, 1e-300 * asked, 1e300 * asked])
    several = asked.shape[1] > 1
    winner = asked.argmax(axis=1) if several else (asked[:, 0] > 0).astype(int)
    chance = follow(probabilities(asked, slopes), winner)
    assert ((chance >= 0) & (chance <= 1)).all()
    np.testing.assert_allclose(chance.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(chance.argmax(axis=1), winner)
