"""Regression and novelty detection with a bounded memory: invariants, cuts, beside the peers."""

import copy
import pickle

import numpy as np
import pytest
from held import check_pairs
from naive.bounded_tasks import NaiveNovelty, NaiveValues
from scipy import sparse
from sklearn.svm import SVR, OneClassSVM

from onlinesvm import LASVMOneClass, LASVMRegressor
from onlinesvm.core.examples import Examples
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.lasvm.learner import LASVM
from onlinesvm.core.lasvm.state import REMOVALS
from onlinesvm.core.lasvm.tasks import OneClass, Regression

SETTINGS = {
    "window": {"window": 60},
    "outlier": {"budget": 30, "policy": "outlier"},
    "join": {"budget": 30, "policy": "join"},
    "half-life": {"half_life": 15.0},
    "all": {"window": 120, "budget": 25, "half_life": 60.0},
}
every_setting = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
both = pytest.mark.parametrize("kind", [LASVMRegressor, LASVMOneClass])
N = 200


def stream(n=250, seed=0, targets=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    return X, y if targets is None else np.stack([y, 1e3 * X[:, 1] ** 2, np.ones(n)], 1)[
        :, :targets
    ]


def make(kind, **settings):
    own = {"C": 5.0, "epsilon": 0.05} if kind is LASVMRegressor else {"nu": 0.2}
    return kind(**{"gamma": 0.4, **own, **settings})


def learn(model, X, y, first=0, last=None, step=50, weight=None):
    last = len(y) if last is None else last
    for begin in range(first, last, step):
        part = slice(begin, min(last, begin + step))
        own = None if weight is None else weight[part]
        target = y[part] if isinstance(model, LASVMRegressor) else None
        model.partial_fit(X[part], target, sample_weight=own)
    return model


def outputs(model, X):
    return model.predict(X) if isinstance(model, LASVMRegressor) else model.decision_function(X)


def check(learner):
    """Bounds, sums, gradients and kernel values are what they should be."""
    n = learner.n
    a = learner.support.a
    alpha, grad, linear, hi = a.alpha[:, :n], a.grad[:, :n], a.p[:, :n], a.hi[:, :n]
    K = check_pairs(learner)
    assert (hi <= a.bound[:n]).all()
    scale = max(1.0, abs(linear).max(), abs(alpha).sum(axis=1).max())
    np.testing.assert_allclose(grad, linear - alpha @ K.astype(float), atol=1e-10 * scale)
    mass = a.mass
    if learner.task.nu and hi.sum() < mass[0]:
        np.testing.assert_array_equal(alpha, hi)
    else:
        np.testing.assert_allclose(alpha.sum(axis=1), mass, atol=1e-10 * scale)
    assert learner.memory.labels_held[0] == n
    assert not learner.budget or n <= learner.budget


def step_by_step(learner, data, twin, steps):
    """Learner and twin, after every example; the twin is told the unit of the machine."""
    for k in range(steps):
        twin.tau = 1e-3 * learner.unit[0]
        twin.beyond = learner.task.beyond(learner.unit)[0]
        learner.learn(data.take(slice(k, k + 1)))
        score, n = twin.learn(k), learner.n
        assert learner.support.a.born[:n].tolist() == twin.S, k
        found = [*learner.support.a.alpha[0, :n], learner.scores[0, 0], learner.support.a.bias[0]]
        expected = [*(twin.alpha[s] for s in twin.S), score, twin.bias]
        np.testing.assert_allclose(found, expected, atol=1e-8, err_msg=str(k))


@pytest.mark.parametrize("settings", [{"window": 50}, {"budget": 20, "policy": "oldest"}])
@both
def test_every_example_leaves_what_the_twin_leaves(kind, settings):
    X, y = stream(200, seed=9)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 200)
    kernel, rows, values = Kernel("rbf", gamma=0.4), Rows.of(X), kind is LASVMRegressor
    bound = np.full(200, 2.0) if values else weight
    label = y[:, None] if values else np.zeros(200, np.int64)
    task = Regression(0.1, 1) if values else OneClass(0.25)
    learner = LASVM(kernel, rows, 1, task=task, limits=settings)
    data = Examples(rows, label, bound, kernel.diagonal(rows), np.full(200, -1))
    K = kernel.block(rows, rows).astype(float)
    np.fill_diagonal(K, data.diagonal)
    if values:
        twin = NaiveValues(K, y, 2.0, 1e-3, **settings)
        twin.epsilon = 0.1
    else:
        twin = NaiveNovelty(K, weight, 1e-3, **settings)
        twin.nu = 0.25
    # Later on, the last digit of the mass decides between equal gradients.
    step_by_step(learner, data, twin, 200 if values else 120)
    assert twin.removals > 10 or "budget" not in settings


@every_setting
@both
def test_invariants_hold_after_every_example(kind, settings):
    X, y = stream(targets=2)
    weight = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    model = learn(make(kind, **settings), X, y, last=5, weight=weight)
    age = np.arange(len(y))
    for k in range(5, len(y)):
        learn(model, X, y, k, k + 1, weight=weight)
        learner = model._trained.learner
        if k % 3 == 0:
            check(learner)
        if kind is LASVMOneClass:
            counts = (k - age >= 0) & (k - age < (learner.window or np.inf))
            left = 2.0 ** (-(k - age[counts]) / learner.memory.half_life)
            assert learner.support.a.whole_mass[0] == pytest.approx(0.2 * left @ weight[counts])
            if learner.budget is None:
                assert learner.support.a.mass[0] == learner.support.a.whole_mass[0]
            assert learner.support.a.mass[0] <= learner.support.a.whole_mass[0] * (1 + 1e-12)


@pytest.mark.parametrize("form", ["dense", "sparse", "callable", "far"])
@pytest.mark.parametrize("settings", [SETTINGS["window"], SETTINGS["all"]], ids=["window", "all"])
@both
def test_cuts_copies_and_pickles_change_nothing(kind, settings, form):
    X, y = stream(200, seed=2)
    more = {"kernel": lambda A, B: A @ B.T + 1.0} if form == "callable" else {}
    X = sparse.csr_matrix(X) if form == "sparse" else X * (3e4 if form == "far" else 1.0)
    if form == "far":
        more = {"gamma": 0.4 / 9e8}
    whole = learn(make(kind, **settings, **more), X, y, last=20)
    learn(whole, X, y, first=20, step=200)
    model = learn(make(kind, n_jobs=1, **settings, **more), X, y, last=20)
    for first in range(20, 200, 16):
        learn(model, X, y, first, min(200, first + 16), step=7)
        if form != "callable":
            model = pickle.loads(pickle.dumps(model)) if first % 32 else copy.deepcopy(model)
    np.testing.assert_array_equal(outputs(model, X), outputs(whole, X))
    if form in ("dense", "far"):
        model = learn(make(kind, **settings, **more), X, y, last=20)
        for k in range(20, 200):
            target = (float(y[k]),) if kind is LASVMRegressor else ()
            assert model._learn_quickly(X[k], *(target or (None,)), 1.0)
            one = model.predict_one(X[k]) if target else model.decision_one(X[k])
            assert one == pytest.approx(outputs(model, X[k : k + 1])[0], abs=1e-9)
        np.testing.assert_array_equal(outputs(model, X), outputs(whole, X))


def dual(model, K, y, epsilon):
    """Objective of the dual, of the coefficients of all rows."""
    return y @ model - model @ K @ model / 2 - epsilon * np.abs(model).sum()


def coefficients(model, X):
    """One for each of these rows, which are all different or share theirs."""
    rows, a = model.support_vectors_, model.dual_coef_[0]
    place = np.argmin(((np.asarray(rows)[:, None] - X[None]) ** 2).sum(axis=2), axis=1)
    return np.bincount(place, a, len(X))


CASES = {
    "plain": {},
    "millions": {"size": 1e6},
    "millionths": {"size": 1e-6},
    "sorted": {"sort": True},
    "drift": {"drift": True},
    "weights": {"weigh": True},
    "copies": {"copies": True},
    "high cost": {"C": 200.0},
}


@pytest.mark.parametrize("case", CASES)
def test_a_finished_window_is_the_svr_of_the_window(case):
    options = {"size": 1.0, "C": 5.0, **CASES[case]}
    size, C = options["size"], options["C"]
    X, y = stream(500, seed=3)
    if "copies" in options:
        X[1::2], y[3::4] = X[::2], y[2::4]
    if "sort" in options:
        order = np.argsort(y)
        X, y = X[order], y[order]
    if "drift" in options:
        y = y + np.linspace(0.0, 30.0, 500)
    rng = np.random.default_rng(0)
    weight = rng.choice([0.0, 0.3, 1.0, 4.0], 500) if "weigh" in options else np.ones(500)
    y = y * size
    model = LASVMRegressor(C=C * size, epsilon=0.05 * size, gamma=0.4, window=N, tol=1e-4)
    learn(model, X, y, weight=weight).finish()
    last = np.flatnonzero(weight)[-N:]
    exact = SVR(C=C * size, epsilon=0.05 * size, gamma=0.4, tol=1e-5 * size)
    exact.fit(X[last], y[last], sample_weight=weight[last])
    K = np.exp(-0.4 * ((X[last][:, None] - X[last][None]) ** 2).sum(axis=2))
    duals = [dual(coefficients(m, X[last]), K, y[last], 0.05 * size) for m in (model, exact)]
    assert abs(duals[0] - duals[1]) <= 1e-4 * abs(duals[1])
    spread = y[last].std()
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=0.01 * spread)


def test_several_targets_are_learned_each_by_itself():
    X, y = stream(400, seed=4, targets=3)
    model = learn(LASVMRegressor(C=100, gamma=0.4, window=N, tol=1e-4), X, y).finish()
    for m in range(3):
        alone = SVR(C=100, gamma=0.4, tol=1e-5).fit(X[-N:], y[-N:, m])
        spread = max(y[:, m].std(), 0.1)
        np.testing.assert_allclose(model.predict(X)[:, m], alone.predict(X), atol=0.01 * spread)


@every_setting
def test_a_constant_target_is_predicted(settings):
    X, _ = stream(150)
    model = learn(make(LASVMRegressor, **settings), X, np.full(150, 7e5))
    np.testing.assert_allclose(model.predict(X), 7e5, atol=0.1)


@pytest.mark.parametrize("nu", [0.02, 0.3, 0.95])
@pytest.mark.parametrize("case", ["plain", "sorted", "drift", "weights", "copies"])
def test_a_finished_window_is_the_one_class_svm_of_the_window(nu, case):
    X, _ = stream(500, seed=5)
    weight = np.ones(500)
    if case == "sorted":
        X = X[np.argsort(X[:, 0])]
    elif case == "drift":
        X += np.linspace(0.0, 10.0, 500)[:, None]
    elif case == "weights":
        weight = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 4.0], 500)
    elif case == "copies":
        X[1::2] = X[::2]
    model = LASVMOneClass(nu=nu, gamma=0.4, window=N, tol=1e-5)
    learn(model, X, np.zeros(500), weight=weight).finish()
    check(model._trained.learner)
    last = np.flatnonzero(weight)[-N:]
    exact = OneClassSVM(nu=nu, gamma=0.4, tol=1e-6).fit(X[last], sample_weight=weight[last])
    K = np.exp(-0.4 * ((X[last][:, None] - X[last][None]) ** 2).sum(axis=2))
    duals = [dual(coefficients(m, X[last]), K, np.zeros(N), 0.0) for m in (model, exact)]
    assert abs(duals[0] - duals[1]) <= 1e-4 * abs(duals[1])
    np.testing.assert_allclose(
        model.decision_function(X), exact.decision_function(X), atol=0.01 * exact.offset_[0]
    )


def test_finishing_finds_room_for_the_mass_of_those_inside():
    """They were let go; those that carried it for them have left the window since."""
    rng = np.random.default_rng(7)
    X = np.r_[
        rng.normal(size=(60, 3)) * 2, rng.normal(size=(60, 3)) * 0.3, rng.normal(size=(60, 3))
    ]
    weight = np.repeat([1.0, 1.0, 1e-3], 60)
    model = learn(LASVMOneClass(nu=0.3, gamma=0.4, window=120, tol=1e-5), X, weight, weight=weight)
    learner = model._trained.learner
    assert learner.support.a.alpha[0, : learner.n].sum() < 0.9 * learner.support.a.mass[0]
    model.finish()
    check(learner)
    exact = OneClassSVM(nu=0.3, gamma=0.4, tol=1e-6).fit(X[-120:], sample_weight=weight[-120:])
    np.testing.assert_allclose(
        model.decision_function(X), exact.decision_function(X), atol=0.01 * exact.offset_[0]
    )


def test_all_examples_on_their_bounds():
    """nu = 1: every coefficient is one, and the edge is that of the outermost example."""
    X, _ = stream(200)
    model = learn(LASVMOneClass(nu=1.0, gamma=0.4, window=80), X, np.zeros(200)).finish()
    np.testing.assert_allclose(np.sort(model.dual_coef_[0]), np.ones(80))
    assert model.decision_function(X[-80:]).max() == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("nu", [0.2, 0.5])
def test_nu_means_about_the_same_with_a_budget(nu):
    X, _ = stream(3000, seed=6)
    model = LASVMOneClass(nu=nu, gamma=0.4, budget=300).partial_fit(X[:2000])
    assert model._trained.learner.support.a.count[REMOVALS] > 50
    outside = (model.predict(X[2000:]) < 0).mean()
    assert nu / 2 < outside < 2 * nu


@both
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"window": 1}, "window"),
        ({"window": "auto"}, "window"),
        ({"budget": 1}, "budget"),
        ({"half_life": 0.5}, "half_life"),
        ({"window": 50, "policy": "newest"}, "policy"),
        ({"window": 50, "epochs": "converge"}, "cannot be combined with window=50"),
    ],
)
def test_bad_settings(kind, settings, words):
    X, y = stream(50)
    for verb in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=words):
            getattr(make(kind, **settings), verb)(X, y)


@both
def test_bad_input_changes_nothing(kind):
    X, y = stream(100)
    model = learn(make(kind, window=40), X, y)
    before = outputs(model, X)
    bad = X[:1].copy()
    bad[0, 0] = np.nan
    target = [1.0] if kind is LASVMRegressor else []
    with pytest.raises(ValueError, match="NaN"):
        model.learn_one(bad[0], *target)
    with pytest.raises(ValueError, match="features"):
        model.learn_one(X[0, :2], *target)
    if target:
        for wrong, words in ((np.nan, "NaN"), (np.inf, "infinity"), ("high", "y must be numbers")):
            with pytest.raises(ValueError, match=words):
                model.learn_one(X[0], wrong)
    np.testing.assert_array_equal(outputs(model, X), before)
    assert model.window_ == 40


def test_a_window_takes_memory_as_examples_come():
    X = np.random.default_rng(0).normal(size=(40, 2))
    small, large = (LASVMOneClass(nu=0.2, gamma=0.5, window=w).fit(X) for w in (40, 2**40))
    np.testing.assert_array_equal(small.decision_function(X), large.decision_function(X))
    assert len(large._trained.learner.memory.masses) < 1000
