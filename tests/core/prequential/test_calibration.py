"""Probabilities from scores: the optimum, extremes, the order of labels."""

import numpy as np
import pytest
from naive.prequential import best_slopes, loss, straight
from scipy.special import expit
from sklearn.calibration import _SigmoidCalibration

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
    unit = straight(scores, label)
    own, theirs = fit_slopes(scores, label, np.ones(800)), best_slopes(scores, label, unit)
    assert loss(own, scores, label, unit) <= loss(theirs, scores, label, unit) + 1e-9
    np.testing.assert_allclose(own, theirs, rtol=1e-2)


@pytest.mark.parametrize("machines", [1, 4])
def test_slopes_of_the_truth_are_found(machines):
    scores, label = sample(machines, 40000)
    np.testing.assert_allclose(fit_slopes(scores, label, np.ones(40000)), TRUE, rtol=0.15)


@pytest.mark.parametrize("weighted", [False, True])
def test_few_scores_are_about_as_good_as_for_platts_sigmoid(weighted):
    """Six slopes of a hundred scores would follow chance, where its two numbers do not."""
    rng, found = np.random.default_rng(0), []
    asked = rng.normal(0.0, 1.2, 20000)
    truth = expit(1.5 * asked)
    for _ in range(60):
        scores = rng.normal(0.0, 1.2, 100)
        label = (rng.random(100) < expit(1.5 * scores)).astype(int)
        weight = rng.choice([1.0, 10.0], 100) if weighted else np.ones(100)
        own = probabilities(asked[:, None], fit_slopes(scores[:, None], label, weight))[:, 1]
        peer = _SigmoidCalibration().fit(scores, label, weight).predict(asked)
        found.append([((p - truth) ** 2).mean() for p in (own, peer)])
    own, theirs = np.mean(found, axis=0)
    assert own < 1.1 * theirs


def test_a_few_scores_beyond_the_margin_make_nobody_certain():
    """Of chosen examples few are there, each stands for many, and they agree too often."""
    found = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scores = np.concatenate([rng.uniform(-1, 1, 200), np.repeat([-2.0, 2.0], 3)])
        label = (rng.random(206) < expit(1.5 * scores)).astype(int)
        label[200:] = scores[200:] > 0
        slopes = fit_slopes(scores[:, None], label, np.repeat([1.0, 10.0], [200, 6]))
        found.append(probabilities(np.array([[2.0]]), slopes)[0, 1])
    assert 0.9 < np.mean(found) < 0.97


def test_weights_count_as_copies():
    scores, label = sample(1, 20000)
    count = np.random.default_rng(0).integers(1, 4, 20000)
    weighted = fit_slopes(scores, label, count * 7.0)
    copied = fit_slopes(np.repeat(scores, count, 0), np.repeat(label, count), np.ones(count.sum()))
    # Targets and prior depend on the number of rows.
    np.testing.assert_allclose(weighted, copied, rtol=0.03)


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
