"""Questions of one batch differ from each other."""

import numpy as np
import pytest
from digits_pool import BINARY as y_pool
from digits_pool import X as X_pool
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from onlinesvm import ActiveLearner, LASVMClassifier
from onlinesvm.active.strategies import best_apart

MODELS = {
    "lasvm": LASVMClassifier(C=10, gamma=0.001),
    "other": SGDClassifier(random_state=0),
}


def copied_pool(n=120, copies=6):
    """Every example several times, copies far from each other."""
    return np.tile(X_pool[:n], (copies, 1)), np.tile(y_pool[:n], copies)


def started(model, X, y, **settings):
    learner = ActiveLearner(model, X, random_state=0, **settings)
    first = [int(np.flatnonzero(y == label)[0]) for label in np.unique(y)]
    return learner.teach(first, y[first])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sample_size", [None, 20])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_no_two_copies_in_a_batch(model, sample_size, form):
    X, y = copied_pool()
    learner = started(MODELS[model], form(X), y, sample_size=sample_size)
    for _ in range(3):
        batch = learner.query(20)
        assert len(np.unique(batch)) == 20
        assert len(np.unique(X[batch], axis=0)) == 20
        learner.teach(batch, y[batch])


@pytest.mark.parametrize("sample_size", [None, 4])
def test_a_pool_of_copies_is_asked_about_all_the_same(sample_size):
    X = np.repeat([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 10, axis=0)
    y = np.repeat([0, 1, 1], 10)
    learner = started(LASVMClassifier(), X, y, sample_size=sample_size)
    batch = learner.query(12)
    assert len(np.unique(batch)) == 12
    assert len(np.unique(X[batch], axis=0)) == 3
    assert len(np.unique(learner.query(28))) == 28


def test_a_batch_begins_with_the_question_asked_alone():
    learner = started(MODELS["lasvm"], X_pool, y_pool, sample_size=None)
    assert learner.query(20)[0] == learner.query(1)[0] == learner.query()[0]


def test_questions_of_a_batch_are_farther_apart_than_the_closest_to_the_boundary():
    X, y = copied_pool(300, 3)
    X = X + np.random.default_rng(0).normal(0.0, 0.05, X.shape)  # nearly copies
    learner = started(MODELS["lasvm"], X, y, sample_size=None)
    batch, utilities = learner.query(20, return_utilities=True)
    closest = np.argsort(-np.where(np.isnan(utilities), -np.inf, utilities))[:20]

    def nearest(which):
        gaps = ((X[which, None] - X[None, which]) ** 2).sum(axis=2)
        return (gaps + np.where(np.eye(20), np.inf, 0.0)).min(axis=1)

    assert np.median(nearest(batch)) > 5 * np.median(nearest(closest))


def test_utilities_may_be_infinite():
    """Those of minus infinity are left out, and the others are chosen as if there were no more."""
    points = np.random.default_rng(0).standard_normal((40, 2))
    apart = lambda a, b: ((points[a][:, None] - points[b][None]) ** 2).sum(axis=-1)  # noqa: E731
    utilities = -np.abs(points[:, 0])
    some = np.append(utilities[:30], np.full(10, -np.inf))
    np.testing.assert_array_equal(best_apart(some, 6, apart), best_apart(utilities[:30], 6, apart))
    assert sorted(best_apart(some, 35, apart)[:30]) == list(range(30))
    some[[3, 8, 20]] = np.inf
    assert set(best_apart(some, 3, apart)) == {3, 8, 20}
    assert set(best_apart(some, 5, apart)) > {3, 8, 20}
    assert max(best_apart(some, 5, apart)) < 30
