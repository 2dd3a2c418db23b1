"""One engine, three problems: pair steps, block steps and finishing for regression and one class."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import smo as naive
from sklearn.svm import SVR, OneClassSVM

from onlinesvm.core.examples import Examples
from onlinesvm.core.kernel.buffers import padded as padded_width
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.lasvm.block import block, smo, working_set
from onlinesvm.core.lasvm.fit import Fit, Plan
from onlinesvm.core.lasvm.learner import LASVM
from onlinesvm.core.lasvm.tasks import OneClass, Regression, power_of_two, spread_of

GAMMA = 0.5


def rbf(X):
    rows = Rows.of(X)
    return Kernel("rbf", gamma=GAMMA).block(rows, rows).astype(np.float64)


def noisy_values(n, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n)


def solve(K, p, a, lo, hi, epsilon, tol, steps):
    n = len(p)
    padded = np.zeros((n, padded_width(n)), np.float32)
    padded[:, :n] = K
    diagonal = np.zeros(padded.shape[1], np.float32)
    diagonal[:n] = padded.diagonal()
    gradient = p - padded[:, :n].astype(np.float64) @ a
    return smo.solve(padded, diagonal, a, gradient, lo, hi, epsilon, tol, steps)


# -- pair steps ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5])
def test_pair_steps_are_those_of_the_twin(epsilon):
    X, p = noisy_values(40)
    K, hi = rbf(X), np.full(40, 0.4)
    slow = np.tile([0.05, -0.05], 20)
    a, stopped = slow.copy(), 0
    for _ in range(200):
        expected = naive.step(K, p, slow, -hi, hi, epsilon, 1e-3)
        if expected is None:
            break
        solve(K, p, a, -hi, hi, epsilon, 1e-3, 1)
        np.testing.assert_allclose(a, expected, atol=1e-5)
        stopped += np.any((slow != 0) & (expected == 0))
        slow = expected
        a[:] = expected  # rounding must not add up
    assert expected is None
    assert stopped  # some step ended at zero


def test_a_step_ends_at_zero():
    """Without the kink a would change its sign at once: 0.1 -> -0.1."""
    K, p = np.eye(2), np.array([-1.0, 1.0])
    a = np.array([0.1, -0.1])
    solve(K, p, a, np.full(2, -1.0), np.full(2, 1.0), 0.9, 1e-6, 1)
    np.testing.assert_array_equal(a, 0.0)


@given(st.integers(0, 2**32 - 1))
def test_solve_on_whatever_problem(seed):
    """Grid points (ties, copies, contradictions), bounds of their own, any feasible start."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    X = rng.integers(-2, 3, (n, 2)).astype(float)
    p, bound = rng.normal(size=n), rng.uniform(0.1, 3.0, n)
    epsilon = float(rng.choice([0.0, 0.1, 1.0]))
    lo = -bound if rng.random() < 0.7 else np.zeros(n)
    a = np.clip(rng.normal(size=n), lo, bound) * (rng.random(n) < 0.5)
    total = a.sum()
    K = rbf(X)
    before = naive.dual(K, p, a, epsilon)
    _, gap = solve(K, p, a, lo, bound, epsilon, 1e-4, 100_000)
    assert gap <= 1e-4
    assert (a >= lo).all()
    assert (a <= bound).all()
    assert a.sum() == pytest.approx(total, abs=1e-9)
    assert naive.gap(a, p - K @ a, lo, bound, epsilon) <= 2e-4
    assert naive.dual(K, p, a, epsilon) >= before - 1e-6


# -- block steps --------------------------------------------------------------------------------


class Run:
    """A learner with a data set, and what is true of it."""

    def __init__(self, X, label, task, bound=1.0, block_size=64, machines=1):
        self.kernel, n = Kernel("rbf", gamma=GAMMA), len(X)
        rows = Rows.of(X)
        self.K = self.kernel.block(rows, rows).astype(np.float64)
        bound = np.broadcast_to(np.asarray(bound, float), n).copy()
        self.data = Examples(rows, label, bound, np.ones(n), np.arange(n))
        self.learner = LASVM(self.kernel, rows, machines, task=task, block_size=block_size)
        self.fit = Fit(self.learner, self.data, np.random.RandomState(0), Plan(converge=True))
        self.support = self.learner.support

    def coefficients(self):
        alpha = np.zeros((self.support.machines, len(self.data.rows)))
        alpha[:, self.support.a.key[: self.support.n]] = self.support.alpha()
        return alpha

    def steps(self):
        """All steps of the fit; after each the state is checked."""
        for stage in self.fit.stages():
            for _ in stage.steps:
                self.check()
                yield stage.name

    def check(self):
        support, n = self.support, self.support.n
        alpha, keys = support.alpha(), support.a.key[:n]
        low, high = support.bounds()
        assert (alpha >= low).all()
        assert (alpha <= high).all()
        true = support.linear() - self.coefficients() @ self.K[:, keys]
        member = support.a.member[:, :n]
        drift = np.abs(support.a.grad[:, :n] - true)[member]
        assert drift.max(initial=0.0) < 1e-4 * max(1.0, np.abs(true).max(initial=0.0))
        assert not alpha[~member].any()


def test_blocks_of_a_regression_keep_what_must_hold():
    X, y = noisy_values(400)
    run = Run(X, y[:, None], Regression(0.1, 1), bound=2.0)
    best = 0.0
    for name in run.steps():
        alpha = run.coefficients()[0]
        assert abs(alpha.sum()) < 1e-9
        dual = naive.dual(run.K, y, alpha, 0.1)
        if name == "epoch 1":
            assert dual >= best - 1e-6
        best = dual
    exact = SVR(kernel="precomputed", C=2.0, epsilon=0.1, tol=1e-5).fit(run.K, y)
    expected = np.zeros(400)
    expected[exact.support_] = exact.dual_coef_[0]
    assert best == pytest.approx(naive.dual(run.K, y, expected, 0.1), rel=1e-5)


def test_blocks_of_one_class_keep_what_must_hold():
    X = noisy_values(400)[0]
    weight = np.random.default_rng(1).uniform(0.2, 2.0, 400)
    run = Run(X, np.zeros(400, np.int64), OneClass(0.2), bound=weight)
    seen = 0
    for name in run.steps():
        seen = run.fit.n_iter if name == "epoch 1" else 400
        learned = np.isfinite(run.fit.slacks[0]) | np.isneginf(run.fit.slacks[0])
        assert run.coefficients().sum() == pytest.approx(0.2 * weight[learned].sum())
        assert learned.sum() == seen
    exact = OneClassSVM(kernel="precomputed", nu=0.2, tol=1e-6).fit(run.K, sample_weight=weight)
    expected = np.zeros(400)
    expected[exact.support_] = exact.dual_coef_[0]
    alpha = run.coefficients()[0]
    assert alpha @ run.K @ alpha == pytest.approx(expected @ run.K @ expected, rel=1e-5)
    assert -run.support.a.bias[0] == pytest.approx(exact.offset_[0], rel=1e-3)


def test_a_second_epoch_brings_no_more_mass():
    X = noisy_values(200)[0]
    run = Run(X, np.zeros(200, np.int64), OneClass(0.3))
    run.fit.plan = Plan(epochs=3)
    for _ in run.steps():
        pass
    assert run.coefficients().sum() == pytest.approx(60.0)


def test_the_examples_outside_the_tube_join_and_those_well_inside_leave():
    X, y = noisy_values(300)
    run = Run(X, y[:, None], Regression(0.3, 1), bound=1.0)
    learner, support = run.learner, run.support
    first, second = run.data.take(slice(0, 200)), run.data.take(slice(200, 300))
    learner.support.task.observe(first.label, support)
    block.learn_block(support, run.kernel, first, support.slots(first.key))
    alpha, bias = run.coefficients()[0], support.a.bias[0]
    slack = np.abs(y - run.K @ alpha - bias) - 0.3
    block.learn_block(support, run.kernel, second, support.slots(second.key))
    joined = np.isin(second.key, support.a.key[: support.n])
    clear = np.abs(slack[200:]) > 1e-5
    np.testing.assert_array_equal(joined[clear], slack[200:][clear] > 0)
    alpha, bias = run.coefficients()[0], support.a.bias[0]
    slack = np.abs(y - run.K @ alpha - bias) - 0.3
    before = support.a.key[: support.n].copy()
    gone, gone_slack = block.evict(support, 0.1)
    leaves = (alpha[before] == 0) & (slack[before] < -0.1 * support.unit[0])
    np.testing.assert_array_equal(np.sort(gone), np.sort(before[leaves]))
    np.testing.assert_allclose(gone_slack[0], slack[gone], atol=1e-5)


def test_mass_goes_to_those_that_violate_most():
    share = block.shared_out(2.5, np.array([0.0, 3.0, -1.0, 2.0]), np.array([1.0, 1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(share, [0.5, 1.0, 0.0, 1.0])
    assert not block.shared_out(0.0, np.ones(3), np.ones(3)).any()


# -- finishing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("task", [Regression(0.1, 1), OneClass(0.3)], ids=["values", "one class"])
@pytest.mark.parametrize("megabytes", [1e-6, 100.0])
def test_finishing_by_working_sets_reaches_the_optimum(monkeypatch, task, megabytes):
    """Sets so small that a few hundred rows make many rounds and are set aside in stages."""
    for name, value in {"LARGE_SET": 32, "WHOLE": 48, "EXPENSIVE": 1}.items():
        monkeypatch.setattr(working_set, name, value)
    X, y = noisy_values(300)
    label = y[:, None] if isinstance(task, Regression) else np.zeros(300, np.int64)
    run = Run(X, label, task, bound=1.0)
    run.learner.learn(run.data._replace(key=np.arange(300)))
    assert working_set.optimise(run.support, run.kernel, 0, 1e-3, megabytes)
    run.support.measure()
    run.check()
    assert run.support.a.delta[0] <= 1.01e-3 * run.support.unit[0]


def test_a_round_tells_the_gain_of_the_dual_with_its_kink(monkeypatch):
    """Else a round that does nothing but shrink coefficients would seem to be in vain."""
    monkeypatch.setattr(working_set, "WHOLE", 16)
    X, y = noisy_values(120)
    run = Run(X, y[:, None], Regression(0.5, 1), bound=1.0)
    run.learner.learn(run.data)
    problem = working_set.problem_of(run.support, 0, np.arange(run.support.n))
    problem.alpha[:] = np.tile([0.9, -0.9], 60)[: run.support.n]
    problem.alpha[-1] -= problem.alpha.sum()
    rows, p = run.support.rows(), run.support.linear()[0]
    K = run.kernel.block(rows, rows).astype(np.float64)
    problem.grad[:] = p - K @ problem.alpha
    keeper = working_set.RowKeeper(run.kernel, rows, 1e-6)
    before = naive.dual(K, p, problem.alpha, 0.5)
    W = np.arange(40)
    buffer = run.support.buffers.square(len(W))
    gain = working_set._round(problem, run.kernel, keeper, W, buffer, 1e-3)
    assert gain == pytest.approx(naive.dual(K, p, problem.alpha, 0.5) - before, rel=1e-4)


# -- units --------------------------------------------------------------------------------------


def test_units_are_powers_of_two():
    np.testing.assert_array_equal(
        power_of_two(np.array([0.0, 1.0, 1.3, 77.0, 1e-6])), [1.0, 1.0, 1.0, 64.0, 2.0**-20]
    )


@pytest.mark.parametrize("factor", [2.0**20, 2.0**-20])
def test_a_power_of_two_changes_nothing_but_the_unit(factor):
    """Every threshold is in units: the same steps, to the last bit."""
    X, y = noisy_values(300)
    runs = []
    for scale in (1.0, factor):
        run = Run(X, y[:, None] * scale, Regression(0.1 * scale, 1), bound=2.0 * scale)
        for stage in run.fit.stages():
            for _ in stage.steps:
                pass
        runs.append(run)
    assert runs[1].support.unit[0] == factor * runs[0].support.unit[0]
    np.testing.assert_array_equal(runs[1].coefficients(), factor * runs[0].coefficients())


def test_the_unit_follows_the_targets_of_a_stream():
    X, y = noisy_values(200)
    run = Run(X, y[:, None], Regression(0.1, 1))
    for part in range(0, 200, 50):
        run.learner.learn(run.data.take(slice(part, part + 50)))
        assert run.support.unit[0] == power_of_two(np.array([y[: part + 50].std()]))[0]
    for _ in range(3):  # most of the targets seen last are larger then
        run.learner.learn(run.data._replace(label=1e6 * y[:, None]))
    assert run.support.unit[0] > 1e5


def test_few_outliers_do_not_make_the_unit():
    y = np.random.default_rng(0).normal(size=1000)
    y[:10] = 1e9
    assert spread_of(y[:, None])[0] < 8.0
    assert spread_of(np.array([[0.0], [0.0], [0.0], [8.0]]))[0] == np.sqrt(12.0)
