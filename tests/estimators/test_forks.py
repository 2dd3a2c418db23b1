"""A process that forks while one of its threads learns: the child has the published model."""

import os
import pickle
import threading

import numpy as np
import pytest
from sklearn.base import is_outlier_detector
from sklearn.exceptions import NotFittedError

from onlinesvm import LASVMClassifier, LASVMOneClass, LASVMRegressor, OLSVMClassifier
from onlinesvm.core.runtime import published as state

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"),
    pytest.mark.filterwarnings("ignore:This process"),  # Python's own, of forks beside threads
]

RNG = np.random.default_rng(0)
X = RNG.standard_normal((1200, 5))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


def in_child(task):
    """What a task returns, or the error that it raises, in a forked process."""
    read, write = os.pipe()
    if (number := os.fork()) == 0:
        try:
            found = task()
        except BaseException as error:
            found = error
        os.write(write, pickle.dumps(found))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        found = pickle.loads(pipe.read())
    os.waitpid(number, 0)
    return found


def learn_one(model, k):
    """Example number k, again and again from the first."""
    x, y = X[k % len(X)], Y[k % len(X)]
    _ = model.learn_one(x) if is_outlier_detector(model) else model.learn_one(x, y)


class Learning:
    """A thread that learns one example after another."""

    def __init__(self, model):
        self.model = model
        self.ended = False
        self.thread = threading.Thread(target=self.learn)

    def learn(self):
        k = 0
        while not self.ended:
            learn_one(self.model, k)
            k += 1

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()


@pytest.mark.parametrize("is_read", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        LASVMClassifier(gamma=0.2, probability=True),
        LASVMClassifier(gamma=0.2, budget=50, probability=True),
        LASVMRegressor(gamma=0.2),
        LASVMOneClass(gamma=0.2),
        OLSVMClassifier(gamma=0.2),
    ],
    ids=lambda model: type(model).__name__ + ", budget" * bool(getattr(model, "budget", None)),
)
def test_children_predict_while_a_thread_learns(model, is_read):
    """Also where nobody has asked for the model since it last changed."""

    def ask():
        whole = model.predict(X[:10])
        one = [model.predict_one(x) for x in X[:10]]
        chances = getattr(model, "predict_proba", None)
        if chances is not None:
            np.testing.assert_allclose(model.predict_proba_one(X[0]), chances(X[:1])[0], atol=1e-5)
        return whole.tolist(), one

    model.fit(X[:200], Y[:200])
    learn_one(model, 200)  # compiled, which may take longer than a fork waits
    with Learning(model):
        for _ in range(20):
            if is_read:
                model.predict(X[:10])
            found = in_child(ask)
            assert not isinstance(found, BaseException), repr(found)
            np.testing.assert_allclose(*found, atol=1e-5)


class Slow:
    """A kernel that waits, once asked to, until it may go on."""

    def __init__(self):
        self.waits = False
        self.reached, self.go = threading.Event(), threading.Event()

    def __deepcopy__(self, memo):
        return self

    def __call__(self, A, B):
        if self.waits:
            self.reached.set()
            self.go.wait(60)
        return np.exp(-0.2 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def learning(model, kernel, verb):
    """A thread that has begun to learn and does not end."""
    kernel.waits = True
    thread = threading.Thread(target=lambda: verb(X[100:200], Y[100:200]))
    thread.start()
    assert kernel.reached.wait(60)
    return thread


@pytest.mark.parametrize("name", ["fit", "partial_fit"])
def test_a_long_call_leaves_the_child_the_model_before_it(name):
    """Which it cannot change: what the call was changing is half-changed."""
    kernel = Slow()
    model = LASVMClassifier(kernel=kernel, block_size=1, random_state=0)
    model.partial_fit(X[:100], Y[:100])
    before = model.decision_function(X[:20])

    def ask(task):
        def in_time():
            kernel.waits = False
            return task()

        return in_child(in_time)

    thread = learning(model, kernel, getattr(model, name))
    try:
        np.testing.assert_array_equal(ask(lambda: model.decision_function(X[:20])), before)
        assert ask(lambda: model.predict_one(X[0])) == int(before[0] > 0)
        for task in (
            lambda: model.partial_fit(X[:10], Y[:10]),
            lambda: model.learn_one(X[0], Y[0]),
            lambda: model.finish(),
            lambda: model.fit(X[:10], Y[:10]),
        ):
            error = ask(task)
            assert isinstance(error, RuntimeError), error
            assert "forked while another thread was learning" in str(error)
    finally:
        kernel.waits = False
        kernel.go.set()
        thread.join()
    assert model.predict(X[:5]).shape == (5,)


@pytest.mark.parametrize("learned", [0, 100])
def test_a_model_without_a_finished_state_is_an_error_in_the_child(learned, monkeypatch):
    """A sentence, not whatever half-changed arrays give."""
    monkeypatch.setattr(state, "_FORK_PATIENCE", 0.2)
    kernel = Slow()
    model = LASVMClassifier(kernel=kernel, block_size=1, random_state=0)
    if learned:  # and nobody has asked for the model
        model.partial_fit(X[:learned], Y[:learned])
    thread = learning(model, kernel, model.partial_fit)
    try:
        error = in_child(lambda: model.predict(X[:5]))
    finally:
        kernel.waits = False
        kernel.go.set()
        thread.join()
    if learned:
        assert isinstance(error, RuntimeError)
        assert "no complete state of the model to predict with" in str(error)
    else:
        assert isinstance(error, NotFittedError)
    assert len(in_child(lambda: model.predict(X[:5]))) == 5


def test_a_child_goes_on_learning_where_no_thread_learns():
    def go_on():
        return model.partial_fit(X[200:300], Y[200:300]).decision_function(X[:20])

    model = LASVMClassifier(gamma=0.2, random_state=0).partial_fit(X[:200], Y[:200])
    np.testing.assert_array_equal(in_child(go_on), go_on())
