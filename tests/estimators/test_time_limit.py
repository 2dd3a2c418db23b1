"""time_limit: fit ends at the next checkpoint with what was learned, says so, and can go on."""

import contextlib
import pickle
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import onlinesvm
from onlinesvm.core.lasvm.block import working_set
from onlinesvm.core.runtime import interrupts
from onlinesvm.core.runtime.interrupts import Deadline, TimeUp, checkpoint
from onlinesvm.core.runtime.threads import over_tasks
from onlinesvm.estimators._progress import FitProgress

CLASSIFIERS = {
    "LASVM": (onlinesvm.LASVMClassifier, {"block_size": 200}),
    "LASVM, one by one": (onlinesvm.LASVMClassifier, {"block_size": 1}),
    "LASVM, chosen": (onlinesvm.LASVMClassifier, {"selection": "active"}),
    "LASVM, to the end": (onlinesvm.LASVMClassifier, {"epochs": "converge", "C": 100.0}),
    "Huller": (onlinesvm.HullerClassifier, {"C": 10.0, "epochs": 3}),
    "StreamSVM": (onlinesvm.StreamSVMClassifier, {"kernel": "rbf"}),
    "NORMA": (onlinesvm.NORMAClassifier, {"epochs": 5}),
    "Pegaz": (onlinesvm.PegazClassifier, {"epochs": 5}),
    "OLSVM": (onlinesvm.OLSVMClassifier, {"epochs": 5}),
    "perceptron": (onlinesvm.KernelPerceptronClassifier, {"epochs": 5}),
    "averaged": (onlinesvm.AveragedPerceptronClassifier, {"epochs": 5}),
    "budget": (onlinesvm.BudgetPerceptronClassifier, {"budget": 40, "epochs": 5}),
}

every = pytest.mark.parametrize("name", CLASSIFIERS)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    return X, ((X[:, 0] + X[:, 1] ** 2 > 0.8) ^ (rng.random(1500) < 0.1)).astype(int)


def make(name, **more):
    kind, settings = CLASSIFIERS[name]
    return kind(gamma=0.2, random_state=0, **settings, **more)


@every
def test_a_fit_whose_time_is_up_leaves_a_model_that_goes_on(name, rows):
    X, y = rows
    with pytest.warns(
        ConvergenceWarning, match=r"fit stopped after time_limit=1e-09 seconds.*partial_fit"
    ):
        model = make(name, time_limit=1e-9).fit(X, y)
    assert set(model.predict(X)) <= {0, 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = make(name).fit(X, y)
        assert model.n_kernel_evaluations_ < whole.n_kernel_evaluations_
        again = pickle.loads(pickle.dumps(model))
        for each in (model, again):
            each.partial_fit(X, y).finish()  # no limit: it holds for fit alone
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@every
def test_a_fit_that_is_in_time_is_the_same_as_without_a_limit(name, rows):
    X, y = rows
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        limited, free = make(name, time_limit=1e6).fit(X, y), make(name).fit(X, y)
    assert not [w for w in told if "time_limit" in str(w.message)]
    np.testing.assert_array_equal(limited.decision_function(X), free.decision_function(X))


@pytest.mark.filterwarnings("ignore:SimpleSVM stopped")
@pytest.mark.parametrize("name", ["Classifier", "Regressor", "OneClass"])
def test_simplesvm(name, rows):
    X, y = (part[:600] for part in rows)
    kind = getattr(onlinesvm, f"SimpleSVM{name}")
    settings = {"gamma": 0.2, "random_state": 0, "block_size": 1}
    given = (X,) if name == "OneClass" else (X, y)
    with pytest.warns(ConvergenceWarning, match="fit stopped after time_limit=1e-09"):
        model = kind(time_limit=1e-9, **settings).fit(*given)
    whole = kind(**settings).fit(*given)
    assert model.n_kernel_evaluations_ <= whole.n_kernel_evaluations_
    model.predict(X)
    model.partial_fit(*(part[:5] for part in given))
    assert model.kkt_violation_ <= 1e-3 + 1e-9  # optimal over all of them


@pytest.mark.parametrize("value", [0, -1.0, "soon", np.nan])
def test_limits_that_are_none(value, rows):
    with pytest.raises(ValueError, match="time_limit"):
        onlinesvm.LASVMClassifier(time_limit=value).fit(*rows)


def test_in_another_thread(rows):
    """Where Ctrl-C never comes, a time limit holds all the same."""
    found = []

    def work():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(make("LASVM", time_limit=1e-9).fit(*rows).n_kernel_evaluations_)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found[0] < make("LASVM").fit(*rows).n_kernel_evaluations_


def test_a_deadline_counts_from_arm_on():
    with Deadline(1e-9) as deadline:
        time.sleep(1e-3)
        checkpoint()
        deadline.arm()
        with Deadline(None) as inner:  # of deadlines within one another the innermost counts
            inner.arm()
            checkpoint()
        with pytest.raises(TimeUp):
            checkpoint()
    assert deadline.has_passed
    checkpoint()


def test_threads_that_help_heed_the_deadline():
    began = []

    def task(number, worker):
        began.append(number)
        checkpoint()

    with Deadline(1e-9) as deadline:
        time.sleep(1e-3)
        deadline.arm()
        with pytest.raises(TimeUp):
            over_tasks(task, 50, 2)
    assert len(began) <= 4


# -- the finishing step within the limit ------------------------------------------------------------


class Clock:
    """One second for each checkpoint and each look at the time: no result depends on the machine."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        self.now += 1.0
        return self.now


@pytest.fixture
def ticks(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(interrupts, "clock", clock)
    return clock


def noisy(n, seed=0):
    """5 % wrong labels: much is held that only the finishing step sets right."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    clean = X[:, 0] * X[:, 1] + X[:, 2] ** 2 > 0.5
    return X, (clean ^ (rng.random(n) < 0.05)).astype(int), clean.astype(int)


def fit_within(seconds, task="classes", n=12_000, **more):
    X, y, clean = noisy(n)
    settings = {"gamma": 0.2, "block_size": 200, "random_state": 0, **more}
    if task == "classes":
        model = onlinesvm.LASVMClassifier(C=10.0, time_limit=seconds, **settings)
    elif task == "values":
        model = onlinesvm.LASVMRegressor(C=10.0, time_limit=seconds, **settings)
        y = y + 0.1 * clean
    else:
        model = onlinesvm.LASVMOneClass(nu=0.1, time_limit=seconds, **settings)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
    return model, [str(w.message) for w in told if "time_limit" in str(w.message)]


@pytest.mark.parametrize("task", ["classes", "values", "novelty"])
def test_a_limit_leaves_time_for_the_finishing_step(task, ticks):
    model, told = fit_within(100.0, task)
    assert 200 < model.n_iter_ < 12_000
    assert len(told) == 1
    assert f"{model.n_iter_:,} of 12,000 examples were learned" in told[0]
    assert "finish()" not in told[0]
    learner = model._trained.learner
    gap = learner.tolerances.rough if task == "values" else 1.5 * learner.tau
    assert (learner.delta <= gap * learner.support.unit).all()
    before = model.decision_function(noisy(50)[0]) if task != "values" else None
    if before is not None:
        after = model.finish().decision_function(noisy(50)[0])
        np.testing.assert_allclose(after, before, atol=2e-3)  # nothing was left to do


def test_more_time_does_not_make_the_model_worse(ticks):
    X, _, clean = noisy(4000, seed=1)
    scores, learned = [], []
    for seconds in (30.0, 120.0, 240.0):
        model, told = fit_within(seconds)
        assert told
        scores.append(model.score(X, clean))
        learned.append(model.n_iter_)
        assert model.finish().score(X, clean) <= scores[-1] + 0.002
    assert learned == sorted(learned)
    assert scores == sorted(scores)


def test_where_the_limit_leaves_no_time_the_warning_says_what_is_left():
    X, y, _ = noisy(600)
    with pytest.warns(
        ConvergenceWarning, match=r"200 of 600 examples were learned\. .* call finish\(\)"
    ):
        make("LASVM", time_limit=1e-9).fit(X, y)


def test_a_limit_in_the_finishing_step_keeps_what_it_has_reached(ticks, monkeypatch):
    """Cut after any number of checkpoints, the bias belongs to the coefficients."""
    monkeypatch.setattr(working_set, "WHOLE", 60)
    monkeypatch.setattr(working_set, "SET_SIZE", 40)
    X, y, _ = noisy(1500)
    duals = []
    for seconds in (0.5, 4.5, 8.5, 16.5):
        model = make("LASVM").partial_fit(X, y)
        with Deadline(seconds) as deadline:
            deadline.arm()
            with contextlib.suppress(TimeUp):
                model._trained.learner.finish()
        a, n = model._trained.learner.support.a, model._trained.learner.support.n
        duals.append(
            float(
                (a.alpha[:, :n] * (model._trained.learner.support.linear() + a.grad[:, :n])).sum()
            )
        )
        bias, delta = a.bias.copy(), a.delta.copy()
        model._trained.learner.support.measure()
        np.testing.assert_array_equal(a.bias, bias)
        np.testing.assert_array_equal(a.delta, delta)
    assert duals == sorted(duals)
    assert duals[0] < duals[-1]


@pytest.mark.parametrize("name", ["LASVM", "Huller", "Pegaz"])
def test_a_callback_that_stops_a_fit_leaves_a_finished_model(name, rows, monkeypatch):
    """As a time limit does: what was learned is finished."""
    finished = []
    model = make(name)
    kind = type(model)._make_learner

    def spied(self, *given):
        learner = kind(self, *given)
        finish = learner.finish
        learner.finish = lambda *tol: finished.append(tol) or finish(*tol)
        return learner

    monkeypatch.setattr(type(model), "_make_learner", spied)

    def stop_at_once(self, name, blocks, n_blocks):
        yield next(iter(blocks))
        self.stopped = True

    monkeypatch.setattr(FitProgress, "epoch", stop_at_once)
    model.fit(*rows)
    assert finished
