"""Ctrl-C leaves a consistent model at whatever moment, and however often, it comes."""

import itertools
import signal
import subprocess
import sys
import threading
import time
from copy import deepcopy

import interrupting
import numpy as np
import pytest
from interrupting import KINDS, check, check_held, make_stream, trial, trials
from plain_kernels import plain_rbf

from onlinesvm import ActiveLearner, LASVMClassifier
from onlinesvm.core.lasvm.block import together, working_set
from onlinesvm.core.lasvm.learner import LASVM
from onlinesvm.core.lasvm.online.one_by_one import OneByOne
from onlinesvm.core.runtime.interrupts import Interruptible, checkpoint
from onlinesvm.core.runtime.numerics import JIT_DISABLED

X, y = make_stream()

unix = pytest.mark.skipif(
    sys.platform == "win32", reason="SIGINT cannot be sent to a process there"
)


@pytest.fixture(autouse=True)
def usual_ctrl_c():
    """As at a terminal; a shell starts what it puts in the background deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def strike(times=1):
    for _ in range(times):
        signal.raise_signal(signal.SIGINT)


# -- at random moments ----------------------------------------------------------------------------


@unix
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "verb", "strikes"), trials())
def test_a_model_is_consistent_after_ctrl_c(name, verb, strikes):
    trial(name, verb, strikes, np.random.default_rng(strikes), X, y)


# -- where it is heard ----------------------------------------------------------------------------


@pytest.mark.parametrize("strikes", [1, 2, 3])
@pytest.mark.parametrize("verb", ["fit", "finish"])
def test_finishing_is_interrupted_between_working_sets(monkeypatch, strikes, verb):
    """With gradients that belong to the coefficients reached, rows set aside included."""
    monkeypatch.setattr(working_set, "WHOLE", 60)  # several rounds, and rows set aside
    monkeypatch.setattr(working_set, "SET_SIZE", 40)
    rounds, made = working_set._round, []

    def struck(*arguments):
        gain = rounds(*arguments)
        made.append(gain)
        if len(made) == 4:
            strike(strikes)
        return gain

    model = LASVMClassifier(gamma=0.1, C=10.0, random_state=0, n_jobs=1)
    if verb == "finish":
        model.partial_fit(X[:1000], y[:1000])
    monkeypatch.setattr(working_set, "_round", struck)
    with pytest.raises(KeyboardInterrupt):
        _ = model.fit(X[:1000], y[:1000]) if verb == "fit" else model.finish()
    assert len(made) == 4
    check(model, X[:20])
    check(model.finish(), X[:20])
    assert len(made) > 4


def test_several_machines_stop_together(monkeypatch):
    labels = (2 * X[:900, 0]).round().clip(-1, 1).astype(int)
    solve, number = working_set._solve_whole, itertools.count()

    def struck(*arguments):
        first = next(number) == 0
        solve(*arguments)
        if first:
            strike()
            time.sleep(0.05)

    monkeypatch.setattr(working_set, "_solve_whole", struck)
    model = LASVMClassifier(gamma=0.1, C=10.0, random_state=0, n_jobs=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:900], labels)
    check_held(model._trained.learner)
    check_held(model.finish()._trained.learner)


@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_many_machines_are_interrupted_while_they_start(monkeypatch, verb):
    """Between two of them: the starts of thousands of machines take seconds."""
    rng = np.random.default_rng(0)
    rows = np.repeat(3.0 * rng.standard_normal((80, 20)), 5, axis=0)
    rows, labels = rows + 0.3 * rng.standard_normal(rows.shape), np.repeat(np.arange(80), 5)
    start, begun = together.start, []

    def struck(*arguments):
        begun.append(None)
        if len(begun) == 30:
            strike()
        return start(*arguments)

    monkeypatch.setattr(together, "start", struck)
    model = LASVMClassifier(C=10.0, gamma=interrupting.GAMMA, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        getattr(model, verb)(rows, labels)
    assert len(begun) == 30  # of 80
    learner = model._trained.learner
    check_held(learner)
    bias = learner.bias.copy()
    learner.support.measure()
    np.testing.assert_array_equal(learner.bias, bias)  # it belongs to the coefficients
    check_held(model.finish()._trained.learner)
    assert model.score(rows, labels) > 0.9


@pytest.mark.parametrize("name", KINDS)
def test_a_long_batch_is_learned_as_far_as_it_came(name):
    """Ctrl-C is heard between blocks of ``partial_fit``, not at its end."""
    kind, settings = KINDS[name]
    if name == "LASVM":
        settings = {"block_size": 400}
    calls, strikes = [0], [0]
    whole_blocks = name in ("NORMA", "Pegaz", "OLSVM", "perceptron", "averaged")

    def kernel(A, B):
        calls[0] += 1
        # Equal numbers, few: k(x, x), asked for before learning. Some make all outputs first, too.
        if 16 < len(A) == len(B) if whole_blocks else len(A) != len(B):
            strike(strikes[0])
            strikes[0] = 0
        return plain_rbf(A, B, interrupting.GAMMA)

    model = kind(**{"random_state": 0, **settings, "kernel": kernel}).partial_fit(X[:60], y[:60])
    before, whole, needed = model.decision_function(X[:50]), deepcopy(model), calls[0]
    whole.partial_fit(X[:1200], y[:1200])
    needed, calls[0], strikes[0] = calls[0] - needed, 0, 2
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[:1200], y[:1200])
    assert calls[0] < needed
    assert not np.array_equal(model.decision_function(X[:50]), before)
    check(model.partial_fit(X[:40], y[:40]), X[:20])


def test_a_long_prediction_is_interrupted(monkeypatch):
    from onlinesvm.core import model as core_model

    model = LASVMClassifier(gamma=0.1).fit(X[:300], y[:300])
    expected = model.decision_function(X)
    monkeypatch.setattr(core_model, "_PART_WORK", 1_000_000)
    np.testing.assert_array_equal(model.decision_function(X), expected)
    product, made = core_model.checkpoint, []

    def struck():
        made.append(1)
        strike(len(made) == 3)
        product()

    monkeypatch.setattr(core_model, "checkpoint", struck)
    with pytest.raises(KeyboardInterrupt):
        model.decision_function(X)
    assert len(made) == 3


def test_teaching_is_noted_or_undone():
    learner = ActiveLearner(LASVMClassifier(gamma=0.1), X[:200], random_state=0)
    learner.teach(range(20), y[:20])
    learn = learner._pool.learn

    def struck(*arguments):
        learn(*arguments)
        strike(2)

    learner._pool.learn = struck
    with pytest.raises(KeyboardInterrupt):
        learner.teach([20, 21, 22], y[20:23])
    assert learner.taught.tolist() == list(range(23))
    model = learner.estimator
    with pytest.raises(KeyboardInterrupt):  # builds a model anew, which is not taken
        learner.teach(3, 1 - y[3])
    assert learner.estimator is model
    assert learner.labels == y[:23].tolist()


# -- the context ----------------------------------------------------------------------------------


def test_ctrl_c_is_delivered_once_at_the_end():
    with pytest.raises(KeyboardInterrupt), Interruptible():  # noqa: PT012
        strike(3)
        done = True
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    checkpoint()  # nothing is left over


def test_contexts_within_others_wait_for_the_outermost():
    reached = []
    with pytest.raises(KeyboardInterrupt), Interruptible():  # noqa: PT012
        with Interruptible():
            strike(2)
        reached.append("inner ended")
    assert reached == ["inner ended"]
    with pytest.raises(KeyboardInterrupt), Interruptible():  # noqa: PT012
        with Interruptible() as inner:
            strike()
            inner.check()
        reached.append("not reached")
    assert reached == ["inner ended"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_is_kept_as_the_context_of_ctrl_c():
    with pytest.raises(KeyboardInterrupt) as caught, Interruptible():  # noqa: PT012
        strike()
        raise ValueError("an error of its own")
    assert isinstance(caught.value.__context__, ValueError)


def test_the_users_handler_is_called():
    calls = []
    signal.signal(signal.SIGINT, lambda number, frame: calls.append((number, frame)))
    with Interruptible():
        strike(2)
        assert not calls
        checkpoint()
        assert len(calls) == 1
        checkpoint()
        assert len(calls) == 1
        strike()
    assert [number for number, _ in calls] == [signal.SIGINT] * 2
    assert all(frame is not None for _, frame in calls)
    model = LASVMClassifier(gamma=0.1, n_jobs=2, C=10.0, random_state=0)
    labels = (2 * X[:600, 0]).round().clip(-1, 1).astype(int)
    expected = model.fit(X[:600], labels).decision_function(X[:50])
    np.testing.assert_array_equal(model.fit(X[:600], labels).decision_function(X[:50]), expected)


def test_ctrl_c_that_is_ignored_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interruptible():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        strike()
        checkpoint()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_neither_hold_nor_hear():
    """While the main thread holds Ctrl-C, a thread of the user's own is not stopped."""
    found = []

    def learn():
        with Interruptible():
            found.append(LASVMClassifier(gamma=0.1, block_size=1).fit(X[:300], y[:300]))

    with pytest.raises(KeyboardInterrupt), Interruptible():  # noqa: PT012
        strike()
        thread = threading.Thread(target=learn)
        thread.start()
        thread.join()
    assert len(found) == 1


# -- the first call -------------------------------------------------------------------------------

FIRST_CALL = """
import importlib.abc, signal, sys
import numpy as np
from onlinesvm import {kind}

signal.signal(signal.SIGINT, signal.default_int_handler)

class Strikes(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Strikes())
X = np.random.default_rng(0).normal(size=(200, 3))
y = (X[:, 0] > 0).astype(int)
try:
    {kind}(gamma=0.5).fit(X, y)
except KeyboardInterrupt:
    print("interrupted", end=" ")
print({kind}(gamma=0.5).fit(X, y).score(X, y) > 0.9)
"""


@pytest.mark.parametrize("module", ["numba.np.ufunc"])
def test_ctrl_c_while_numba_is_imported(module):
    code = FIRST_CALL.format(kind="LASVMClassifier", module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["interrupted", "True"], done.stderr[-500:]


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize(
    "verb", ["fit", "partial_fit", "learn_one", "decision_function", "predict"]
)
def test_ctrl_c_while_a_loop_is_compiled(verb, monkeypatch):
    """Inside any of the verbs, which compile what they need on the way."""
    import numba
    from numba.core import event

    from onlinesvm.core.kernel import rows

    class Strikes(event.Listener):
        def on_start(self, _):
            strike(2)

        def on_end(self, _):
            pass

    @numba.njit
    def double(x):
        return 2 * x

    def compiled(self):
        assert double(3) == 6
        return len(self.squares)

    model = LASVMClassifier(gamma=0.1).fit(X[:100], y[:100])
    model.learn_one(X[0], y[0])
    listener = Strikes()
    one = verb == "learn_one"
    arguments = (X[0], y[0]) if one else (X[:90], y[:90]) if "fit" in verb else (X[:90],)
    if one:
        model._trained.learner._one_by_one = None  # it prepares anew
        monkeypatch.setattr(OneByOne, "_call_for", compiling(double))
    else:
        monkeypatch.setattr(rows.Rows, "__len__", compiled)
    event.register("numba:compile", listener)
    try:
        with pytest.raises(KeyboardInterrupt):
            getattr(model, verb)(*arguments)
    finally:
        event.unregister("numba:compile", listener)
    assert double.signatures
    monkeypatch.undo()
    check_held(model.partial_fit(X[100:200], y[100:200])._trained.learner)


def compiling(loop):
    prepare = OneByOne._call_for

    def prepared(self, *given):
        assert loop(3) == 6
        return prepare(self, *given)

    return prepared


@pytest.mark.parametrize("again", [False, True])
def test_ctrl_c_in_a_pass_is_followed_by_the_cheap_part_of_finishing(monkeypatch, again):
    """The model left is one that was optimised roughly; another Ctrl-C ends that at once."""
    learn, finish, blocks, asked = LASVM._learn_block, LASVM.finish, [], []

    def struck(self, *given, **more):
        blocks.append(1)
        if len(blocks) == 3:
            strike()
        return learn(self, *given, **more)

    def watched(self, tol=None):
        asked.append(tol)
        if again:
            strike()
        return finish(self, tol)

    monkeypatch.setattr(LASVM, "_learn_block", struck)
    monkeypatch.setattr(LASVM, "finish", watched)
    model = LASVMClassifier(gamma=0.1, C=10.0, block_size=300, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(blocks) == 3
    assert asked == [model._trained.learner.tolerances.rough]
    is_rough = bool((model._trained.learner.delta <= model._trained.learner.tolerances.rough).all())
    assert is_rough is not again
    check(model, X[:20])
    check(model.partial_fit(X[:50], y[:50]), X[:20])
