"""Pools in which one class is rare: questions find it, and stay useful while only one is known."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from onlinesvm import LASVMClassifier
from onlinesvm.active.learner import ActiveLearner


def rare_pool(n_rare, n=5000, seed=0):
    """A cloud, and a few examples well outside of it."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, 5))
    y = np.zeros(n, int)
    rare = rng.choice(n, n_rare, replace=False)
    X[rare, 0] += 8.0
    y[rare] = 1
    return X, y


MODELS = [LASVMClassifier(C=10), SGDClassifier(loss="perceptron", random_state=0)]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("sample_size", [None, 500])
def test_one_in_five_thousand_is_found_and_learned(model, sample_size):
    X, y = rare_pool(1)
    learner = ActiveLearner(model, X, sample_size=sample_size, random_state=0)
    while 1 not in learner.labels and len(learner.labels) < 1000:
        question = learner.query()
        learner.teach(question, y[question])
    assert len(learner.labels) <= (20 if sample_size is None else 100)  # by chance: 2,500
    for _ in range(20):
        question = learner.query()
        learner.teach(question, y[question])
    if isinstance(model, LASVMClassifier):
        found = learner.estimator.predict(X)
        assert found[y == 1].all()
        assert (found != y).mean() < 0.01


@pytest.mark.parametrize("seed", range(3))
def test_after_the_first_rare_one_the_others_are_asked_about(seed):
    X, y = rare_pool(10, 2000, seed)
    learner = ActiveLearner(LASVMClassifier(C=10), X, sample_size=None, random_state=0)
    for _ in range(60):
        question = learner.query()
        learner.teach(question, y[question])
    assert sum(learner.labels) >= 3  # by chance: 0.3
    assert (learner.estimator.predict(X) == y).mean() > 0.999


def test_without_a_boundary_questions_stay_diverse():
    """Utilities that are all the same say nothing: not the first of the pool, again and again."""
    X = rare_pool(10, 500)[0]
    flat = lambda model, candidates: np.zeros(len(candidates))  # noqa: E731
    learner = ActiveLearner(LASVMClassifier(), X, flat, sample_size=None).teach([0, 1], [0, 1])
    gaps = ((X[:, None] - X[None, [0, 1]]) ** 2).sum(axis=2).min(axis=1)
    assert gaps[learner.query()[0]] >= 0.999 * gaps.max()
