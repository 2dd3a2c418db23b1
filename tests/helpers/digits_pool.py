"""Handwritten digits, odd against even, as a pool to ask about."""

import numpy as np
from sklearn.datasets import load_digits

from onlinesvm import LASVMClassifier
from onlinesvm.active.learner import ActiveLearner

X, Y = load_digits(return_X_y=True)
BINARY = np.where(Y % 2, 1, -1)


def digits(estimator=None, n=600, **settings):
    settings = {"random_state": 0} | settings
    return ActiveLearner(estimator or LASVMClassifier(C=10, gamma=0.001), X[:n], **settings)


def teach(learner, labels, n):
    for _ in range(n):
        question = learner.query()
        learner.teach(question, labels[question])
    return learner


def state(learner):
    """All that a failed call must leave alone."""
    values = learner.estimator.decision_function(X[:50]) if learner.labels else None
    return values, learner.taught.tolist(), learner.labels, learner.set_aside.tolist(), len(learner)


def assert_same_state(one, other):
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1:] == other[1:]
