"""Promises of a stream learner, kept by every public online classifier."""

import copy
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from classifiers import FIRST, finish, learns_singly, make, one_by_one, parameters
from classifiers import ONLINE as PUBLIC
from joblib import Parallel, delayed
from passive_aggressive import KernelPassiveAggressiveClassifier
from plain_kernels import plain_rbf
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onlinesvm

ONLINE = [*PUBLIC, KernelPassiveAggressiveClassifier]
"""The public classifiers, and one that is defined outside the package."""

every_online = pytest.mark.parametrize("kind", ONLINE, ids=lambda kind: kind.__name__)


def default_ctrl_c():
    """As at a terminal; a shell starts what it puts in the background deaf to it."""
    return signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def stream():
    """Three classes that can be separated: every algorithm of the family learns them."""
    X, y = make_blobs(180, centers=3, n_features=4, cluster_std=0.8, random_state=3)
    X = StandardScaler().fit_transform(X)
    return X, y


@pytest.fixture(scope="module")
def pair(stream):
    X, y = stream
    return X[y < 2], y[y < 2]


def decide(model, X):
    return model.decision_function(X).copy()


# -- before learning, and with little of it ---------------------------------------------------


@every_online
def test_prediction_before_learning_says_so(kind, stream):
    model = make(kind)
    for call in (model.predict, model.decision_function):
        with pytest.raises(NotFittedError):
            call(stream[0])
    with pytest.raises(NotFittedError):
        finish(model).predict(stream[0])
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "support_vectors_")


@every_online
def test_one_class_only_predicts_that_class(kind, stream):
    X, y = stream
    only = X[y == 2]
    model = one_by_one(kind)
    for first in range(0, 20, 5):
        model.partial_fit(only[first : first + 5], np.full(5, 2))
        assert model.classes_.tolist() == [2]
        assert (model.predict(X) == 2).all()
    assert (finish(model).predict(X) == 2).all()
    other = only[:1] + 5.0
    assert model.partial_fit(other, [7]).predict(other).tolist() == [7]


@every_online
def test_one_row_is_enough(kind, stream):
    X, y = stream
    model = make(kind).partial_fit(X[:1], y[:1])
    assert model.predict(X).shape == (len(X),)
    assert model.n_features_in_ == 4


# -- the stream ---------------------------------------------------------------------------------


SINGLY = [kind for kind in ONLINE if learns_singly(kind)]


@pytest.mark.parametrize("kind", SINGLY, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_many_at_once_equal_one_by_one(kind, stream, classes):
    X, y = stream
    X, y = X[y < classes], y[y < classes]
    at_once, singly, mixed = (one_by_one(kind).partial_fit(X[:FIRST], y[:FIRST]) for _ in range(3))
    at_once.partial_fit(X[FIRST:], y[FIRST:])
    for k in range(FIRST, len(y)):
        singly.partial_fit(X[k : k + 1], y[k : k + 1])
    for first in range(FIRST, len(y), 7):
        mixed.partial_fit(X[first : first + 7], y[first : first + 7])
    expected = decide(at_once, X)
    np.testing.assert_allclose(decide(singly, X), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(decide(mixed, X), expected, rtol=1e-6, atol=1e-6)
    assert at_once.n_support_.tolist() == singly.n_support_.tolist()


@every_online
def test_it_learns(kind, stream):
    X, y = stream
    model = make(kind)
    for first in range(0, len(y), 20):
        model.partial_fit(X[first : first + 20], y[first : first + 20])
    assert model.score(X, y) > 0.9
    assert finish(model).score(X, y) > 0.9
    model.partial_fit(X[:20], y[:20])  # learning goes on after the finishing step
    assert model.score(X, y) > 0.9


@every_online
def test_new_labels_in_mid_stream(kind, stream):
    X, y = stream
    model = one_by_one(kind)
    for known in (1, 2, 3):
        old = np.flatnonzero(y < known)
        for first in range(0, len(old), 10):
            part = old[first : first + 10]
            model.partial_fit(X[part], y[part])
        assert model.classes_.tolist() == list(range(known))
    assert decide(model, X).shape == (len(X), 3)
    assert (finish(model).predict(X) == 2).any()
    assert model.score(X, y) > 0.8


@every_online
def test_labels_announced_and_late(kind, stream):
    """``classes`` is accepted; labels below those known do not upset the order of columns."""
    X, y = stream
    model = one_by_one(kind).partial_fit(X[y == 2][:20], y[y == 2][:20], classes=[1, 2])
    assert model.classes_.tolist() == [1, 2]
    model.partial_fit(X[y == 1], y[y == 1]).partial_fit(X[y == 0], y[y == 0])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.partial_fit(X, y).score(X, y) > 0.8


@every_online
@pytest.mark.parametrize("order", [["wren", "robin"], ["robin", "wren"]])
def test_string_labels(kind, pair, order):
    X, y = pair
    names = np.array(order)[y]
    model = one_by_one(kind)
    for first in range(0, len(y), 10):
        model.partial_fit(X[first : first + 10], names[first : first + 10])
    assert model.classes_.tolist() == ["robin", "wren"]
    assert model.score(X, names) > 0.9
    positive = model.predict(X) == "wren"
    np.testing.assert_array_equal(decide(model, X) > 0, positive)
    longer = np.full(5, "kingfisher")
    model.partial_fit(X[:5] + 10, longer)
    assert model.classes_.tolist() == ["kingfisher", "robin", "wren"]


# -- memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [k for k in ONLINE if "budget" in parameters(k)], ids=lambda kind: kind.__name__
)
def test_memory_is_bounded_under_a_budget(kind):
    """An endless stream of noise: support vectors and the size of the model stay.

    Up to 2,048 scores are kept for probabilities: they are all there after 52 calls.
    """
    rng = np.random.default_rng(0)
    model = make(kind, budget=25)
    sizes = []
    for _ in range(100):
        model.partial_fit(rng.normal(size=(40, 5)), rng.integers(3, size=40))
        assert len(model.support_vectors_) <= 25
        sizes.append(len(pickle.dumps(model)))
    assert max(sizes[52:]) <= 1.2 * max(sizes[42:52])


# -- copies ---------------------------------------------------------------------------------------


@every_online
@pytest.mark.parametrize("block_size", [1, 2048])
def test_a_copy_in_mid_stream_goes_on_alike(kind, stream, block_size):
    X, y = stream
    model = make(kind, block_size=block_size).partial_fit(X[:90], y[:90])
    before = decide(model, X)
    for duplicate in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        original = copy.deepcopy(model)
        np.testing.assert_array_equal(decide(duplicate, X), before)
        original.partial_fit(X[90:], y[90:])
        duplicate.partial_fit(X[90:], y[90:])
        np.testing.assert_array_equal(decide(duplicate, X), decide(original, X))
        assert duplicate.n_kernel_evaluations_ == original.n_kernel_evaluations_
    np.testing.assert_array_equal(decide(model, X), before)


@every_online
def test_clone_is_unfitted_and_equal(kind, stream):
    X, y = stream
    model = make(kind).partial_fit(X, y)
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "classes_")


@every_online
def test_the_same_seed_gives_the_same_bits(kind, stream):
    X, y = stream
    models = [make(kind).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(decide(models[0], X), decide(models[1], X))
    np.testing.assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)
    np.testing.assert_array_equal(models[0].support_, models[1].support_)


@pytest.mark.parametrize(
    "kind", [k for k in ONLINE if "shuffle" in parameters(k)], ids=lambda kind: kind.__name__
)
def test_another_seed_is_another_order(kind):
    X, y = make_blobs(200, centers=2, n_features=2, cluster_std=4.0, random_state=0)
    one, other = (make(kind, C=1.0, random_state=seed).fit(X, y) for seed in (0, 1))
    assert not np.array_equal(decide(one, X), decide(other, X))


@every_online
def test_fit_begins_anew(kind, stream):
    X, y = stream
    fresh = make(kind).fit(X, y)
    used = make(kind).fit(X[:, :3], np.where(y == 0, 7, 8)).fit(X, y)
    np.testing.assert_array_equal(decide(fresh, X), decide(used, X))
    assert used.classes_.tolist() == [0, 1, 2]


@every_online
def test_sparse_equals_dense(kind, stream):
    """To the last digits for the linear kernel; for RBF, dense rows are shifted before rounding."""
    X, y = stream
    X = np.where(np.abs(X) > 0.3, X, 0.0)
    S = sparse.csr_matrix(X)
    for kernel, close in (("linear", 1e-6), ("rbf", 0.1)):
        dense, csr = (one_by_one(kind, kernel=kernel).partial_fit(A, y) for A in (X, S))
        np.testing.assert_allclose(decide(csr, S), decide(dense, X), atol=close, rtol=close)
        assert (csr.predict(X) == dense.predict(X)).mean() > 0.98
        for model in (dense, csr):
            np.testing.assert_allclose(decide(model, S), decide(model, X), atol=1e-4)
        dense.partial_fit(S[:5], y[:5])
        csr.partial_fit(X[:5], y[:5])


# -- bad input changes nothing --------------------------------------------------------------------


def spoilt(X):
    labels = np.array([0, 1, 0])
    nan, inf = X[:3].copy(), X[:3].copy()
    nan[1, 1], inf[2, 0] = np.nan, np.inf
    return {
        "nan": (nan, labels, "NaN"),
        "infinity": (inf, labels, "infinity"),
        "features": (X[:3, :2], labels, "features"),
        "empty": (X[:0], labels[:0], "0 sample"),
        "length": (X[:3], labels[:2], "inconsistent"),
        "missing labels": (X[:3], None, "y to be passed|y cannot be None"),
        "continuous": (X[:3], np.array([0.1, 0.2, 0.35]), "continuous"),
        "mixed": (X[:3], np.array([1, "a", 2], dtype=object), "Mix of label"),
        "other kind": (X[:3], np.array(["a", "b", "a"]), "Mix of label"),
        "objects as labels": (X[:3], [object()] * 3, "label"),
        "no labels": (X[:3], np.array([None] * 3), "label|None"),
        "too large": (np.outer([1, -1, 1], [1e200] * 4), labels, "too large"),
        "text": (np.full((3, 4), "word"), labels, "could not convert string|numeric"),
    }


@every_online
@pytest.mark.parametrize("classes", [2, 3])
def test_a_bad_batch_changes_nothing(kind, stream, classes):
    X, y = stream
    X, y = X[y < classes], y[y < classes]
    model = one_by_one(kind).partial_fit(X[:60], y[:60])
    values, state = decide(model, X), pickle.dumps(model)
    names = set(vars(model))
    for what, (bad_X, bad_y, words) in spoilt(X).items():
        with pytest.raises((ValueError, TypeError), match=words):
            model.partial_fit(bad_X, bad_y)
        assert set(vars(model)) == names, what
        np.testing.assert_array_equal(decide(model, X), values, err_msg=what)
        assert pickle.dumps(model) == state, what
    untouched = one_by_one(kind).partial_fit(X[:60], y[:60])
    for each in (model, untouched):
        each.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(decide(model, X), decide(untouched, X))


@every_online
def test_a_bad_first_batch_leaves_the_model_unfitted(kind, stream):
    X, _ = stream
    for what, (bad_X, bad_y, words) in spoilt(X).items():
        if what in ("features", "other kind"):
            continue  # nothing is wrong with these on a first call
        model = make(kind)
        before = dict(vars(model))
        with pytest.raises((ValueError, TypeError), match=words):
            model.partial_fit(bad_X, bad_y)
        assert vars(model) == before, what
        with pytest.raises((ValueError, TypeError), match=words):
            model.fit(bad_X, bad_y)
        assert vars(model) == before, what
        with pytest.raises(NotFittedError):
            model.predict(X)


@every_online
def test_fit_refuses_a_single_class(kind, stream):
    with pytest.raises(ValueError, match="greater than one"):
        make(kind).fit(stream[0], np.ones(len(stream[0])))


@every_online
def test_a_callable_kernel_that_fails_changes_nothing(kind, stream):
    """At its first call for a batch, or half-way through it."""
    X, y = stream
    calls = [0, np.inf]

    def kernel(A, B):
        calls[0] += 1
        if calls[0] > calls[1]:
            raise RuntimeError("the kernel gave up")
        return plain_rbf(A, B, 0.3)

    model = one_by_one(kind, kernel=kernel).partial_fit(X[:60], y[:60])
    values = decide(model, X)
    for learn, part in ((model.partial_fit, slice(60, None)), (model.fit, slice(None))):
        before = calls[0]
        copy.deepcopy(model).__getattribute__(learn.__name__)(X[part], y[part])
        needed = calls[0] - before
        for allowed in {0, needed // 2, needed - 1}:
            calls[1] = calls[0] + allowed
            with pytest.raises(RuntimeError, match="gave up"):
                learn(X[part], y[part])
            calls[1] = np.inf
            np.testing.assert_array_equal(decide(model, X), values)


@every_online
@pytest.mark.parametrize("dtype", [np.int64, np.float64, bool, "U3"])
def test_labels_of_a_stream_keep_their_type(kind, stream, dtype):
    X, y = stream
    y = np.where(y == 0, "no", "yes") if dtype == "U3" else (y > 0).astype(dtype)
    model = make(kind).partial_fit(X[:1], y[:1]).partial_fit(X, y)
    assert model.classes_.dtype == y.dtype
    assert model.predict(X).dtype == y.dtype


# -- interruption -----------------------------------------------------------------------------------


@every_online
def test_ctrl_c_leaves_a_usable_model(kind, stream):
    few = 5 * len(stream[1])
    X, y = np.tile(stream[0], (20, 1)), np.tile(stream[1], 20)  # of several blocks
    calls = [0]

    def kernel(A, B):
        calls[0] += len(A) != len(B)  # equal numbers: k(x, x) is asked for before learning
        if calls[0] == 2:
            calls[0] += 1
            signal.raise_signal(signal.SIGINT)
        return plain_rbf(A, B, 0.3)

    model = one_by_one(kind, kernel=kernel)
    usual = default_ctrl_c()
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, usual)
    assert model.classes_.tolist() == [0, 1, 2]
    assert np.isfinite(model.decision_function(X)).all()
    assert model.partial_fit(X[:few], y[:few]).score(X, y) > 0.8


INTERRUPTED = """
import signal, time
import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from onlinesvm import LASVMClassifier

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)
X = rng.normal(size=(20000, 3))
y = (X[:, 0] + rng.normal(size=20000) > 0).astype(int)

def kernel(A, B):
    if len(A) != len(B) and not kernel.told:
        kernel.told = True
        print("learning", flush=True)
    time.sleep(0.001)
    return rbf_kernel(A, B, gamma=0.5)

kernel.told = False
model = LASVMClassifier(kernel=kernel, block_size=1)
try:
    model.fit(X, y)
except KeyboardInterrupt:
    print("interrupted", len(model.support_) > 0, np.isfinite(model.decision_function(X[:50])).all())
else:
    print("not interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to a process there")
def test_sigint_from_outside():
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() == "learning"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=240)
    assert output.strip() == "interrupted True True"
    assert process.returncode == 0


@every_online
def test_fit_outside_the_main_thread(kind, stream):
    """Signals belong to the main thread; learning elsewhere must not touch them."""
    X, y = stream
    results = []
    thread = threading.Thread(target=lambda: results.append(make(kind).fit(X, y)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(decide(results[0], X), decide(make(kind).fit(X, y), X))


# -- threads, processes, scikit-learn's tools -------------------------------------------------------


@every_online
def test_concurrent_prediction(kind, stream):
    X, y = stream
    model = make(kind).fit(X, y)
    expected = decide(model, X)
    fresh = pickle.loads(pickle.dumps(model))  # nothing kept from an earlier prediction
    with ThreadPoolExecutor(8) as pool:
        for values in pool.map(lambda _: fresh.decision_function(X), range(40)):
            np.testing.assert_array_equal(values, expected)


@every_online
def test_joblib_threads(kind, stream):
    X, y = stream
    expected = decide(make(kind).fit(X, y), X)
    models = Parallel(4, prefer="threads")(delayed(make(kind).fit)(X, y) for _ in range(8))
    for model in models:
        np.testing.assert_array_equal(decide(model, X), expected)


def test_joblib_processes(stream):
    X, y = stream
    expected = decide(make(onlinesvm.LASVMClassifier).fit(X, y), X)
    models = Parallel(2)(delayed(make(onlinesvm.LASVMClassifier).fit)(X, y) for _ in range(4))
    for model in models:
        np.testing.assert_array_equal(decide(model, X), expected)


@every_online
def test_scikit_learns_tools(kind, stream):
    X, y = stream
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert cross_val_score(make(kind), X, y, cv=3).mean() > 0.8
        assert make_pipeline(StandardScaler(), make(kind)).fit(X, y).score(X, y) > 0.8
        search = GridSearchCV(make(kind), {"gamma": [0.1, 0.5]}, cv=2).fit(X, y)
    assert search.best_params_["gamma"] in (0.1, 0.5)
    assert search.score(X, y) > 0.8


# -- callbacks ----------------------------------------------------------------------------------------


class Counting:
    """A callback that counts its calls, keeps the models shown, and may ask to stop."""

    def __init__(self, stop_after=None):
        self.setups = self.teardowns = self.begun = self.ended = 0
        self.names, self.shown, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        self.setups += 1

    def teardown(self, estimator, context):
        self.teardowns += 1

    def on_fit_task_begin(self, estimator, context):
        self.begun += 1
        self.names.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.ended += 1
        self.shown.append(fitted_estimator)
        return self.stop_after is not None and self.ended >= self.stop_after


@every_online
def test_callbacks(kind, stream):
    pytest.importorskip("sklearn.callback")
    X, y = stream
    counting = Counting()
    model = make(kind, block_size=30, epochs=2).set_callbacks(counting).fit(X, y)
    assert (counting.setups, counting.teardowns) == (1, 1)
    assert counting.begun == counting.ended
    assert counting.names[0] == "fit"
    if "epochs" in parameters(kind):
        assert {"epoch 1", "epoch 2"} <= set(counting.names)
    np.testing.assert_array_equal(
        decide(model, X), decide(make(kind, block_size=30, epochs=2).fit(X, y), X)
    )
    np.testing.assert_array_equal(decide(counting.shown[-1], X), decide(model, X))


def test_callbacks_see_the_model_as_it_was():
    pytest.importorskip("sklearn.callback")
    X, y = make_blobs(400, centers=2, n_features=3, cluster_std=4.0, random_state=0)
    counting = Counting()
    kind = onlinesvm.LASVMClassifier
    model = make(kind, block_size=100).set_callbacks(counting).fit(X, y)
    assert counting.names.count("block") == 4
    assert all(np.isfinite(decide(shown, X)).all() for shown in counting.shown)
    assert not np.array_equal(decide(counting.shown[0], X), decide(model, X))


def test_a_callback_may_stop():
    pytest.importorskip("sklearn.callback")
    X, y = make_blobs(400, centers=2, n_features=3, random_state=0)
    counting = Counting(stop_after=2)
    model = make(onlinesvm.LASVMClassifier, block_size=100).set_callbacks(counting).fit(X, y)
    assert counting.names.count("block") == 2
    assert counting.begun == counting.ended
    assert model.score(X, y) > 0.8


def test_progress_bar(stream, capfd):
    callback = pytest.importorskip("sklearn.callback")
    X, y = stream
    model = make(onlinesvm.LASVMClassifier, block_size=30)
    model.set_callbacks(callback.ProgressBar()).fit(X, y)
    assert "LASVMClassifier" in capfd.readouterr().out
