"""Pairs of classes as machines over one support set: numbering, votes, invariants of the state."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from onlinesvm.core.examples import Examples
from onlinesvm.core.kernel.kernel import make_kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.lasvm.learner import LASVM
from onlinesvm.core.lasvm.pairs import (
    Pairs,
    count_votes,
    labels_of_pairs,
    least_margins,
    mean_margins,
    n_pairs,
)

C, GAMMA = 2.0, 0.2


def test_a_new_label_adds_machines_at_the_end():
    seen = []
    for n in range(2, 40):
        assert Pairs().positives(n)[: len(seen)] == list(range(len(seen)))
        new = Pairs().added(n) if n > 2 else [0]
        first, second = labels_of_pairs(np.array(new))
        assert first.tolist() == list(range(n - 1))
        assert (second == n - 1).all()
        seen += new
        assert len(seen) == n_pairs(n)


def test_votes_are_those_of_svc():
    X, y = make_blobs(120, centers=5, cluster_std=4.0, random_state=0)
    svc = SVC(decision_function_shape="ovo").fit(X, y)
    first, second = np.triu_indices(5, 1)
    place = second * (second - 1) // 2 + first
    values = np.empty((len(X), 10))
    values[:, place] = -svc.decision_function(X)  # positive for the later class
    votes = count_votes(values, 5)
    svc.decision_function_shape = "ovr"
    np.testing.assert_allclose(votes, svc.decision_function(X), atol=1e-12)
    assert (np.rint(votes).argmax(axis=1) == svc.predict(X)).all()


def test_least_and_mean_margins():
    values = np.array([[1.0, -2.0, 0.5]])  # (0, 1), (0, 2), (1, 2)
    np.testing.assert_array_equal(least_margins(values, 3), [[-1.0, -0.5, -2.0]])
    np.testing.assert_array_equal(mean_margins(values.T, 3).T, [[0.5, 0.25, -0.75]])
    unknown = np.array([[1.0, np.nan, 0.5]])
    np.testing.assert_array_equal(least_margins(unknown, 3), [[-1.0, -0.5, 0.5]])


def learner_of(X, y, n_labels=4, **settings):
    kernel = make_kernel("rbf", gamma=GAMMA, degree=3, coef0=0.0, n_jobs=1, X=X)
    rows = Rows.of(X)
    data = Examples(rows, y, np.full(len(X), C), np.ones(len(X)), np.arange(len(X)))
    return LASVM(kernel, rows, n_labels, task=Pairs(), **settings), data


def check(learner, X, y):
    """Bounds, sums, gradients, and nothing where an example has no part."""
    support, n = learner.support, learner.n
    a, key = support.a, support.a.key[:n]
    alpha, p = support.alpha(), Pairs().linear(y[key], a.positive)
    np.testing.assert_array_equal(a.p[:, :n], p)
    assert (np.abs(alpha) <= C * np.abs(p) + 1e-9).all()
    assert (alpha * p >= 0.0).all()
    np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-9)
    true = p - alpha @ rbf_kernel(X[key], gamma=GAMMA)
    members = a.member[:, :n]
    np.testing.assert_allclose(a.grad[:, :n][members], true[members], atol=1e-4)
    if learner.memory is None:
        assert not members[p == 0.0].any()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"block_size": 1},
        {"block_size": 32},
        {"limits": {"budget": 30}},
        {"limits": {"window": 60}},
    ],
)
@pytest.mark.parametrize("size", [1, 5, 50])
def test_the_state_is_consistent_after_every_step(settings, size):
    X, y = make_blobs(200, centers=4, cluster_std=3.0, random_state=1)
    limits = settings.get("limits")
    given = {
        **settings,
        "limits": limits
        and {
            "window": None,
            "budget": None,
            "half_life": None,
            "policy": "oldest",
            "cost": C,
            **limits,
        },
    }
    learner, data = learner_of(X, y, **given)
    for first in range(0, len(X), size):
        learner.learn(data.take(slice(first, first + size)))
        check(learner, X, y)
    learner.finish()
    check(learner, X, y)


def test_labels_that_come_late():
    X, y = make_blobs(160, centers=4, cluster_std=2.0, random_state=2)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    learner, data = learner_of(X, y, n_labels=1)
    for label in range(4):
        if label:
            learner.add_label()
        assert learner.machines == n_pairs(label + 1)
        learner.learn(data.take(np.flatnonzero(y == label)))
        check(learner, X, y)
    learner.finish()
    votes = count_votes(learner.decide(data.rows), 4)
    assert (np.rint(votes).argmax(axis=1) == y).mean() > 0.8
