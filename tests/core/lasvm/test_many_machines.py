"""Hundreds of classes: what machines share is computed once, and the solution is that of each alone."""

import time
import tracemalloc

import numpy as np
import pytest
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier
from onlinesvm.core.kernel.buffers import RESERVE, Buffers
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.lasvm import state
from onlinesvm.core.lasvm.block import block, second_look, together, working_set


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


@pytest.mark.parametrize("gamma", [0.3, 0.05, 0.003])
def test_kernel_values_of_all_pairs_are_computed_twice(gamma):
    """Once to learn, once to finish: one half of the pairs each time."""
    model = LASVMClassifier(C=10, gamma=gamma, random_state=0).fit(*classes(210, 5))
    assert model.n_kernel_evaluations_ < 1.2 * 1050**2


@pytest.mark.parametrize("gamma", [0.3, 0.05, 0.01, 0.003])
@pytest.mark.parametrize("noise", [0.3, 2.0])
def test_converges_to_one_svc_for_each_class(gamma, noise):
    X, y = classes(70, 5, noise)
    model = LASVMClassifier(C=10, gamma=gamma, tol=1e-4, epochs="converge").fit(X, y)
    exact = OneVsRestClassifier(SVC(C=10, gamma=gamma, tol=1e-5)).fit(X, y)
    assert model.fit_status_ == 0
    np.testing.assert_allclose(
        model.decision_function(X), exact.decision_function(X), rtol=0, atol=5e-4
    )


def test_bounds_and_weights_hold_in_every_machine():
    """A small C: the start along the means ends at a bound; rows without weight do not count."""
    X, y = classes(70, 5, noise=1.0)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y))
    for C in (0.1, 1e4):
        model = LASVMClassifier(C=C, gamma=0.05, tol=1e-4, epochs="converge").fit(X, y, weight)
        assert np.isfinite(model.dual_coef_).all()
        assert (np.abs(model.dual_coef_) <= C * weight[model.support_] * (1 + 1e-9)).all()
        np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0.0, atol=1e-9 * C)
        for m in (0, 33, 69):
            exact = SVC(C=C, gamma=0.05, tol=1e-5).fit(X, y == m, weight)
            np.testing.assert_allclose(
                model.decision_function(X)[:, m], exact.decision_function(X), rtol=0, atol=1e-3
            )


def shared_values(gamma, noise=0.3):
    X, y = classes(80, 5, noise)
    rows, n = Rows.of(X.astype(np.float32)), len(X)
    K = Kernel("rbf", gamma).block(rows, rows, Buffers().square(n))
    p = np.where(y == 7, 1.0, -1.0)
    return K, p, np.minimum(10.0 * p, 0.0), np.maximum(10.0 * p, 0.0)


def gap(alpha, grad, lo, hi):
    return grad[alpha < hi].max() - grad[alpha > lo].min()


@pytest.mark.parametrize("gamma", [0.3, 0.05, 0.003])
def test_level_weights_put_all_rows_at_the_same_height(gamma):
    K, *_ = shared_values(gamma, noise=1.0)
    v, height = together.level(K)
    assert (v >= 0.0).all()
    np.testing.assert_allclose(height, K[:, : len(v)].astype(np.float64) @ v, atol=1e-5)
    np.testing.assert_allclose(height[v > together.LEVEL], 1.0, atol=0.1)
    assert (height > 0.9).all()


@pytest.mark.parametrize("C", [10.0, 0.5, 1e-3])
@pytest.mark.parametrize("noise", [0.3, 1.0, 2.0])
def test_the_start_is_nearly_the_solution(noise, C):
    K, p, lo, hi = shared_values(0.05, noise)
    lo, hi, n = lo * C / 10, hi * C / 10, len(p)
    alpha, grad = np.zeros(n), p.copy()
    assert together.start(K, *together.level(K), p, lo, hi, alpha, grad, block.START)
    np.testing.assert_allclose(grad, p - K[:, :n].astype(np.float64) @ alpha, atol=1e-6)
    assert ((lo <= alpha) & (alpha <= hi)).all()
    assert abs(alpha.sum()) < 1e-9 * C * n
    assert gap(alpha, grad, lo, hi) < 0.02  # of 2; SMO does the rest


def test_no_start_where_few_rows_will_have_a_coefficient(monkeypatch):
    asked = []
    monkeypatch.setattr(together, "start", lambda *given: asked.append(given))
    for gamma in (0.003, 0.05):
        LASVMClassifier(C=10, gamma=gamma, random_state=0).fit(*classes(80, 5, 0.3))
        assert bool(asked) == (gamma == 0.05)


@pytest.mark.parametrize("gamma", [0.3, 0.02, 0.003])
@pytest.mark.parametrize("members", ["all", "some"])
def test_a_machine_on_shared_values_is_that_on_its_own(gamma, members):
    """The twin: the working set of the same rows, with their own kernel values."""
    K, p, lo, hi = shared_values(gamma, noise=1.0)
    n, rng = len(p), np.random.default_rng(0)
    member = (p > 0) | (rng.random(n) < 0.4) if members == "some" else np.ones(n, bool)
    alpha, grad, diagonal = np.zeros(n), p.copy(), np.ones(n)
    space = together.space(Buffers(), n)
    reached = together.optimise(
        K, space, diagonal, alpha, grad, lo, hi, member, (1.0, 0.0), 0.0, 1e-4, 0.9e-4
    )
    assert reached
    assert not alpha[~member].any()
    np.testing.assert_allclose(grad, p - K[:, :n].astype(np.float64) @ alpha, atol=1e-9)
    own = np.flatnonzero(member)
    assert gap(alpha[own], grad[own], lo[own], hi[own]) <= 1e-4
    assert abs(alpha.sum()) < 1e-9
    exact = SVC(C=10, kernel="precomputed", tol=1e-5).fit(K[np.ix_(own, own)], p[own])
    values = K[:, own].astype(np.float64) @ alpha[own]
    theirs = exact.decision_function(K[np.ix_(own, own)]) - exact.intercept_
    np.testing.assert_allclose(values[own], theirs, atol=1e-3)


def test_a_fit_takes_little_more_memory_than_its_machines():
    """In arrays of (machines, rows) double values, the seven of the state included."""
    X, y = classes(300, 5)
    LASVMClassifier(C=10, gamma=0.003).fit(X[:400], y[:400])
    tracemalloc.start()
    model = LASVMClassifier(C=10, gamma=0.003, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        model._trained.learner.support.capacity < len(X) + 64
    )  # no space for rows that never come
    peak -= 4 * RESERVE  # for kernel values, most of it never touched
    assert peak / (8 * 300 * len(X)) < 15


@pytest.mark.parametrize("gamma", [0.05, 0.003])
def test_a_fit_does_not_take_longer_than_svc(gamma):
    """Processor time in the same run; it takes about as long, and took four times as long."""
    X, y = classes(300, 5)
    LASVMClassifier(C=10, gamma=gamma).fit(*classes(70, 5))  # compiles

    def seconds(model):
        begin = time.process_time()
        model.fit(X, y)
        return time.process_time() - begin

    both = [
        (
            seconds(LASVMClassifier(C=10, gamma=gamma, random_state=0)),
            seconds(SVC(C=10, gamma=gamma)),
        )
        for _ in range(3)
    ]
    own, others = np.min(both, axis=0)
    assert own < 2.5 * others


def test_a_block_that_is_cut_short_leaves_a_model(monkeypatch):
    """Ctrl-C is heard between two machines; biases belong to the coefficients then."""
    X, y = classes(80, 5)
    model = LASVMClassifier(C=10, gamma=0.01, random_state=0).partial_fit(X[:200], y[:200])
    asked = []

    def stop():
        asked.append(None)
        if len(asked) == 30:
            raise KeyboardInterrupt

    monkeypatch.setattr(working_set, "checkpoint", stop)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[200:], y[200:], classes=None)
    monkeypatch.undo()
    support = model._trained.learner.support
    n, rows = support.n, support.rows()
    K = model._trained.learner.kernel.block(rows, rows).astype(np.float64)
    grad = np.where(
        support.a.member[:, :n], support.a.p[:, :n] - support.alpha() @ K, support.a.grad[:, :n]
    )
    np.testing.assert_allclose(support.a.grad[:, :n], grad, atol=1e-6)
    before = support.a.bias.copy()
    support.measure()
    np.testing.assert_array_equal(support.a.bias, before)
    assert model.finish().score(X[:200], y[:200]) > 0.9
