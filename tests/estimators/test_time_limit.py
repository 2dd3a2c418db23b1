"""time_limit: fit ends at the next checkpoint with what was learned, says so, and can go on."""

import pickle
import threading
import time
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import onlinesvm
from onlinesvm.core.interrupts import Deadline, TimeUp, checkpoint
from onlinesvm.core.threads import over_tasks

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
