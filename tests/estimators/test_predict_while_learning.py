"""Prediction in one thread while another learns: an old or a new model, never a mixture."""

import threading

import numpy as np
import pytest
from awkward_values import as_dense
from classifiers import every_own, make, one_by_one
from scipy import sparse
from sklearn.datasets import make_blobs

from onlinesvm import LASVMClassifier
from onlinesvm.core.runtime.published import Published

forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])


@pytest.fixture(scope="module")
def stream():
    """Two classes that overlap, and a third one from half-way on."""
    X, y = make_blobs(240, centers=3, n_features=6, cluster_std=6.0, random_state=3)
    two, three = np.flatnonzero(y < 2), np.flatnonzero(y == 2)
    order = np.concatenate([two[:100], np.random.default_rng(0).permutation(
        np.concatenate([two[100:], three]))])  # fmt: skip
    return X[order] / 6.0, y[order]


def seen(model, X):
    """Everything that a reader can see, each by itself."""
    return {
        "decision": model.decision_function(X).tobytes(),
        "labels": model.predict(X).tobytes(),
        "classes": model.classes_.tobytes(),
        "dual": as_dense(model.dual_coef_).tobytes(),
        "intercept": model.intercept_.tobytes(),
        "support": model.support_vectors_.sum(),
        "counts": model.n_support_.tobytes(),
    }


def states(model, batches, learn, X):
    """What can be seen after each call, where nobody else is there."""
    found = []
    for batch in batches:
        learn(model, *batch)
        found.append(seen(model, X))
    return found


def watch(model, X, allowed, ended, wrong, looks):
    """Read until the end; whatever is seen must be one of the states."""
    while not ended.is_set():
        try:
            now = seen(model, X)
        except BaseException as error:
            wrong.append(f"{type(error).__name__}: {error}")
            return
        wrong += [name for name, value in now.items() if value not in allowed[name]]
        looks.append(1)


def learn_and_watch(model, batches, learn, expected, X):
    """Learn while two threads watch; returns what they found to be wrong, and the learner."""
    allowed = {name: {state[name] for state in expected} for name in expected[0]}
    wrong, looks, ended = [], [], threading.Event()
    learn(model, *batches[0])
    arguments = model, X, allowed, ended, wrong, looks
    threads = [threading.Thread(target=watch, args=arguments) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for batch, state in zip(batches[1:], expected[1:], strict=True):
            learn(model, *batch)
            stale = [name for name, value in seen(model, X).items() if value != state[name]]
            wrong += [f"stale {name}" for name in stale]
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert looks
    assert not wrong, sorted(set(wrong))


def partial_fit(model, X, y):
    model.partial_fit(X, y)


@every_own
@forms
@pytest.mark.filterwarnings("ignore")
def test_a_reader_sees_a_state_between_two_calls(kind, stream, form):
    X, y = form(stream[0]), stream[1]
    batches = [(X[k : k + 8], y[k : k + 8]) for k in range(0, X.shape[0], 8)]
    expected = states(one_by_one(kind), batches, partial_fit, X[:40])
    learn_and_watch(one_by_one(kind), batches, partial_fit, expected, X[:40])


@pytest.mark.parametrize("settings", [{}, {"budget": 20}, {"cache_size": 0.001}])
def test_a_reader_while_examples_are_learned_one_by_one(stream, settings):
    X, y = stream
    batches = [(X[:40], y[:40]), *zip(X[40:], y[40:].tolist(), strict=True)]

    def learn(model, x, label):
        _ = model.partial_fit(x, label) if x.ndim == 2 else model.learn_one(x, label)

    def new():
        return LASVMClassifier(gamma=0.3, **settings)

    expected = states(new(), batches, learn, X[:40])
    learn_and_watch(new(), batches, learn, expected, X[:40])


@every_own
@pytest.mark.filterwarnings("ignore")
def test_a_reader_during_fit_and_finish(kind, stream):
    """Also where the new data have other labels and another number of features."""
    X, y = stream
    narrow, names = X[:, :4], np.array(["b", "a", "c"])[y]
    model, wrong, looks, ended = make(kind).fit(X, y), [], [], threading.Event()
    old = model.predict(X).tolist()
    new = make(kind).fit(narrow, names).predict(narrow).tolist()

    def read():
        while not ended.is_set():
            for data, answer in ((X, old), (narrow, new)):
                try:
                    found = model.predict(data).tolist()
                except ValueError as error:
                    wrong.extend([] if "features, but" in str(error) else [str(error)])
                else:
                    wrong.extend([] if found == answer else ["mixture"])
                    looks.append(1)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(3):
            model.set_params(**make(kind).get_params()).fit(narrow, names)
            model.set_params(**make(kind).get_params()).fit(X, y)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert looks
    assert not wrong, set(wrong)


@every_own
def test_two_threads_that_learn_take_turns(kind, stream):
    X, y = stream
    model = one_by_one(kind).partial_fit(X[:30], y[:30])
    errors = []

    def learn(part):
        try:
            for k in range(part, 240, 2):
                model.partial_fit(X[k : k + 1], y[k : k + 1])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=learn, args=(part,)) for part in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert model.predict(X).shape == (240,)


def test_a_reader_is_not_kept_waiting_by_one_who_never_rests():
    """The changing thread makes the record for those who wait."""
    published, state, ended = Published(), [0], threading.Event()

    def change():
        while not ended.is_set():
            with published.change(lambda: state[0]):
                state[0] += 1

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            wanted = published.version
            assert published.get(lambda: state[0]) >= wanted
    finally:
        ended.set()
        thread.join()


def test_within_a_change_its_thread_sees_the_state_as_it_is():
    published, state = Published(), [0]
    make = lambda: state[0]  # noqa: E731
    assert published.get(make) == 0
    with published.change(make):
        state[0] = 1
        assert published.get(make) == 1
        found = []
        reader = threading.Thread(target=lambda: found.append(published.get(make)))
        reader.start()
        reader.join()
        assert found == [0]
    assert published.get(make) == 1
