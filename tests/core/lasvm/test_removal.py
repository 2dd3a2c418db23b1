"""Rows leave: the short way to the model without them leads where the long one does, for every task."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1

from onlinesvm import LASVMClassifier, LASVMOneClass, LASVMRegressor
from onlinesvm.core.lasvm.block import removal, second_look

TOL = 1e-3


def table(seed, classes=2, n=700):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=classes, flip_y=0.08, random_state=seed
    )


def two_classes(seed):
    return LASVMClassifier(C=5.0, gamma=0.2), *table(seed), None


def four_classes(seed):
    return LASVMClassifier(C=5.0, gamma=0.2), *table(seed, 4), None


def pairs_of_classes(seed):
    return LASVMClassifier(C=5.0, gamma=0.2, decision="ovo"), *table(seed, 4), None


def several_labels(seed):
    X, y = table(seed)
    return LASVMClassifier(gamma=0.2), X, np.stack([y, X[:, 0] > 0.5], axis=1).astype(int), None


def values(seed):
    X, y = make_friedman1(500, noise=1.0, random_state=seed)
    return LASVMRegressor(C=5.0, gamma=0.5, epsilon=0.3), X, y, None


def quantiles(seed):
    X, y = make_friedman1(500, noise=1.0, random_state=seed)
    return LASVMRegressor(C=5.0, gamma=0.5, quantile=[0.2, 0.8]), X, y, None


def one_class(seed):
    return LASVMOneClass(gamma=0.2, nu=0.2), table(seed)[0], None, None


def weights(seed):
    X, y = table(seed)
    return LASVMClassifier(gamma=0.2), X, y, np.random.default_rng(seed).uniform(0.1, 3.0, len(y))


def copies(seed):
    X, y = table(seed)
    return LASVMClassifier(C=5.0, gamma=0.2), np.r_[X, X[:150]], np.r_[y, y[:150]], None


def wide_kernel(seed):
    return LASVMClassifier(C=100.0, gamma=0.002), *table(seed), None


TASKS = [
    two_classes, four_classes, pairs_of_classes, several_labels, values, quantiles, one_class,
    weights, copies, wide_kernel,
]  # fmt: skip


def chosen(model, count, rng):
    """Examples to forget: half of them support vectors, the strongest, half any others."""
    coef = np.abs(np.asarray(model.dual_coef_)).max(axis=0)
    strongest = model.support_[np.argsort(-coef, kind="stable")][: -(-count // 2)]
    others = np.setdiff1d(model._trained.original, strongest)
    return np.append(strongest, rng.choice(others, count // 2, replace=False))


def values_of(model, X):
    """Decision values of the machines, in their units."""
    learner = model._trained.learner
    return learner.decide(model._trained.rows(X)) / learner.unit


def violations(model, X, y):
    """Slacks of all examples that are left and no members, by machine, in its units."""
    trained, left = model._trained, model._trained.original
    learner, support = trained.learner, trained.learner.support
    decided = learner.decide(trained.rows(X[left])).T
    labels = np.zeros(len(left), np.int64) if y is None else trained.encoder.encode(y[left])
    linear = support.linear(labels)
    slacks = support.task.slack(linear, linear - decided)
    if support.task.partial:
        slacks[linear == 0.0] = -np.inf
    held = support.a.key[: support.n]
    slacks[:, held] = np.where(support.a.member[:, : support.n], -np.inf, slacks[:, held])
    return slacks / learner.unit[:, None]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("task", TASKS)
def test_examples_that_come_in_first_change_no_model(monkeypatch, task, seed):
    estimator, X, y, weight = task(seed)
    again = [X] if y is None else [X, y]
    model = estimator.set_params(epochs="converge", tol=TOL, random_state=seed)
    model.fit(*again, sample_weight=weight)
    rng = np.random.default_rng(seed)
    for count in (1, 6, 60):
        gone, long = chosen(model, count, rng), deepcopy(model)
        model.forget(gone, *again, sample_weight=weight)
        with monkeypatch.context() as patch:
            patch.setattr(removal, "_bring_near", lambda *given: removal.NOBODY)
            long.forget(gone, *again, sample_weight=weight)
        np.testing.assert_allclose(values_of(model, X), values_of(long, X), atol=4 * TOL)
        assert (violations(model, X, y) <= TOL).all()
        assert model.forget_report_["reached_tol"]
        learner, kept = model._trained.learner, model._trained.learner.known_slacks()
        assert (kept.slacks / learner.unit[:, None] >= violations(model, X, y) - 1e-4).all()


def test_few_forgets_are_optimised_twice(monkeypatch):
    """Examples next to the margin come in before rows leave, not after the model has been optimised."""
    X, y = table(0, n=3000)
    model = LASVMClassifier(C=5.0, gamma=0.2, epochs="converge", random_state=0).fit(X, y)
    twice, restart = [], second_look.restart
    monkeypatch.setattr(second_look, "restart", lambda *given: twice.append(1) or restart(*given))
    joined = 0
    for row in np.random.default_rng(0).choice(model.support_, 30, replace=False):
        one = deepcopy(model).forget(row, X, y)
        joined += one.forget_report_["joined"] > 0
    assert joined > 20
    assert len(twice) < joined / 2


def test_those_that_carry_the_model_have_joined():
    X, y = table(0, n=3000)
    model = LASVMClassifier(C=5.0, gamma=0.2, epochs="converge", random_state=0).fit(X, y)
    before = model._trained.learner.keys(np.arange(model._trained.learner.n)).tolist()
    gone = chosen(model, 10, np.random.default_rng(0))
    model.forget(gone, X, y)
    came = set(model.support_.tolist()) - set(before)
    assert model.forget_report_["joined"] >= len(came) > 0
    assert model.forget_report_["joined"] < removal.FEWEST_NEAR
