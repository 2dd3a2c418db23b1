"""Hundreds of classes: what machines share is computed once, and the solution is that of each alone."""

import numpy as np
import pytest

from onlinesvm import LASVMClassifier
from onlinesvm.core.lasvm import state
from onlinesvm.core.lasvm.block import block, second_look, working_set


def classes(count, rows, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = np.repeat(3.0 * rng.standard_normal((count, 20)), rows, axis=0)
    return X + noise * rng.standard_normal(X.shape), np.repeat(np.arange(count), rows)


def alone(monkeypatch):
    """Every machine by itself, as where there are few."""
    for module in (working_set, block):
        monkeypatch.setattr(module, "MANY", 10**9)


# gamma 0.05: rows hardly meet, and nearly all are support vectors of every machine; 0.003: few are
@pytest.mark.parametrize("gamma", [0.05, 0.003])
def test_kernel_values_do_not_grow_with_the_number_of_machines(gamma):
    found = []
    for count in (60, 240):
        X, y = classes(count, 5)
        model = LASVMClassifier(C=10, gamma=gamma, random_state=0).fit(X, y)
        found.append(model.n_kernel_evaluations_ / len(X) ** 2)
        assert model.score(X, y) == 1.0
    assert found[1] < 2 * found[0] + 1
    assert found[1] < 12


@pytest.mark.parametrize("gamma", [0.05, 0.003])
@pytest.mark.parametrize("epochs", [1, "converge"])
def test_the_solution_is_that_of_machines_alone(monkeypatch, gamma, epochs):
    X, y = classes(70, 6, noise=1.0)
    settings = {"C": 10, "gamma": gamma, "tol": 1e-4, "epochs": epochs, "random_state": 0}
    together = LASVMClassifier(**settings).fit(X, y)
    assert together.fit_status_ == 0
    assert (together._trained.learner.delta <= 1.01e-4).all()
    alone(monkeypatch)
    apart = LASVMClassifier(**settings).fit(X, y)
    np.testing.assert_allclose(
        together.decision_function(X),
        apart.decision_function(X),
        atol=1e-3 if epochs == 1 else 3e-4,
    )
    assert together.n_kernel_evaluations_ < apart.n_kernel_evaluations_


def test_shared_values_change_no_bit(monkeypatch):
    """With the same rule for what is solved, and how far: only where values come from differs."""
    for name, value in {"FEW_ROWS": 0, "INNER_GOAL": 0.5, "EMBEDDED": 0.9}.items():
        monkeypatch.setattr(working_set, name, value)
    monkeypatch.setattr(block, "MANY", 10**9)  # a sum in another order
    X, y = classes(30, 8, noise=2.0)
    model = LASVMClassifier(C=10, gamma=0.01, random_state=0).fit(X, y)
    alone(monkeypatch)
    apart = LASVMClassifier(C=10, gamma=0.01, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, apart.dual_coef_)
    np.testing.assert_array_equal(model.intercept_, apart.intercept_)


def test_shared_values_keep_to_the_memory(monkeypatch):
    """Where they would take more than the machines themselves do, each machine computes its own."""
    X, y = classes(40, 15)
    made = []
    share = working_set._share
    monkeypatch.setattr(
        working_set, "_share", lambda *given: made.append(share(*given)) or made[-1]
    )
    LASVMClassifier(C=10, gamma=0.05, random_state=0, cache_size=1).fit(X, y)
    assert made
    assert all(one.values is None for one in made)
    made.clear()
    LASVMClassifier(C=10, gamma=0.05, random_state=0).fit(X, y)
    assert any(one.values is not None for one in made)


def test_many_machines_judge_together(monkeypatch):
    asked = []
    judge = block.judge
    monkeypatch.setattr(block, "judge", lambda *given: asked.append(given[3:]) or judge(*given))
    X, y = classes(300, 4)
    LASVMClassifier(C=10, gamma=0.003, random_state=0).fit(X, y)
    together = -(-300 // second_look.TOGETHER)
    assert len(asked) <= 10 * together  # not 300 times and more


def test_a_stream_of_many_classes():
    X, y = classes(100, 5)
    order = np.random.default_rng(0).permutation(len(X))
    model = LASVMClassifier(C=10, gamma=0.01)
    for part in np.array_split(order, 4):
        model.partial_fit(X[part], y[part])
    assert model.finish().score(X, y) > 0.99


def test_labels_that_come_one_by_one_are_not_copied_each_time(monkeypatch):
    """Each new label would copy the machines of all others: their number squared."""
    X, y = classes(120, 1)
    model = LASVMClassifier(C=10, gamma=0.01).partial_fit(X[:30], y[:30])
    support, copies, pad = model._trained.learner.support, [], np.pad

    def counted(array, width, *given, **more):
        copies.append(array.ndim == 3 and width[1][1] > 0)  # space for more machines
        return pad(array, width, *given, **more)

    monkeypatch.setattr(state.np, "pad", counted)
    for _ in range(60):
        model._trained.learner.add_label()
    assert support.machines == 90
    assert 0 < sum(copies) <= 2 * 6  # reals and flags
    monkeypatch.undo()
    assert not support.a.alpha[30:].any()
    assert not support.a.member[30:].any()
    assert support.n <= 30
    model = LASVMClassifier(C=10, gamma=0.01).partial_fit(X[:30], y[:30])
    for x, label in zip(X[30:], y[30:].tolist()):
        model.learn_one(x, label)
    assert model.finish().score(X, y) == 1.0
