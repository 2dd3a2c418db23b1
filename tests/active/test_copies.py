"""Pickles with and without the pool, copies, a user's array changed afterwards, sparse forms."""

import copy
import pickle

import numpy as np
import pytest
from digits_pool import BINARY, X, assert_same_state, digits, state, teach
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from onlinesvm import LASVMClassifier
from onlinesvm.active.learner import ActiveLearner
from onlinesvm.core.kernel.kernel import Kernel

MODELS = {
    "own": LASVMClassifier(C=10, gamma=0.001),
    "other": SGDClassifier(random_state=0),
    "pipeline": make_pipeline(StandardScaler(), LASVMClassifier()),
}
by_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def reloaded(learner):
    return pickle.loads(pickle.dumps(learner))


@by_model
def test_a_pickle_without_the_pool_is_small_and_goes_on_with_it(model):
    learner = teach(digits(model, pickle_pool=False), BINARY, 25)
    assert len(pickle.dumps(learner)) < X[:600].nbytes / 4
    other = reloaded(learner)
    assert len(other) == 600
    assert other.taught.tolist() == learner.taught.tolist()
    np.testing.assert_array_equal(other.estimator.predict(X), learner.estimator.predict(X))
    other = reloaded(other).attach(X[:600])
    np.testing.assert_array_equal(learner.query(), other.query())
    assert_same_state(state(teach(learner, BINARY, 10)), state(teach(other, BINARY, 10)))


@by_model
def test_a_pickle_with_the_pool_holds_it_once(model):
    size = len(pickle.dumps(teach(digits(model), BINARY, 25)))
    small = len(pickle.dumps(teach(digits(model, pickle_pool=False), BINARY, 25)))
    assert size - small < 1.02 * X[:600].nbytes


def test_without_its_pool_a_learner_says_what_it_needs():
    learner = reloaded(teach(digits(pickle_pool=False), BINARY, 25))
    before = state(learner)
    for call in (
        learner.query,
        lambda: learner.teach(3, 1),
        lambda: learner.add_to_pool(X[:5]),
        lambda: setattr(learner, "estimator", LASVMClassifier()),
    ):
        with pytest.raises(ValueError, match=r"its 600 examples with attach\(X_pool\)"):
            call()
    assert_same_state(state(learner), before)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (X[:599], r"\(599, 64\), not \(600, 64\)"),
        (X[:600, :63], "shape"),
        (X[1:601], "other values"),
        (X[:600] + (np.arange(600) == 17)[:, None] * 0.01, "other values"),
        (X[:600][::-1], "other values"),
        (sparse.csr_matrix(X[:600]), "sparse, not dense"),
    ],
)
def test_another_pool_is_refused(wrong, words):
    learner = reloaded(teach(digits(pickle_pool=False), BINARY, 25))
    with pytest.raises(ValueError, match=words):
        learner.attach(wrong)
    with pytest.raises(ValueError, match="attach"):
        learner.query()
    learner.attach(X[:600].tolist()).query()
    with pytest.raises(ValueError, match="has its pool"):
        learner.attach(X[:600])


def test_the_pool_that_comes_back_has_what_was_added():
    learner = teach(digits(n=500, pickle_pool=False), BINARY, 10)
    pickle.dumps(learner)
    learner.add_to_pool(X[500:600])
    other = reloaded(learner)
    with pytest.raises(ValueError, match=r"not \(600, 64\)"):
        other.attach(X[:500])
    np.testing.assert_array_equal(other.attach(X[:600]).query(), learner.query())


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
@by_model
def test_copies_have_the_pool_and_go_their_own_way(model, duplicate):
    learner = teach(digits(model, pickle_pool=False, sample_size=None), BINARY, 20)
    other = duplicate(learner)
    before = state(learner)
    teach(other, BINARY, 10)
    assert_same_state(state(learner), before)
    assert_same_state(state(teach(learner, BINARY, 10)), state(other))
    if isinstance(model, LASVMClassifier):
        assert other._pool._own is other.estimator._trained.learner


FORMS = {
    "dense": np.array,
    "float32": lambda A: A.astype(np.float32),
    "columns first": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csr array": sparse.csr_array,
    "csr, 64-bit": lambda A: _wide(sparse.csr_matrix(A)),
    "csr, unsorted in parts": lambda A: _in_parts(A),
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "lil": sparse.lil_matrix,
}


def _wide(A):
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


def _in_parts(A):
    """Each row: its entries backwards, each half, then again each half, and one explicit zero."""
    rows = []
    for a in A:
        j = np.flatnonzero(a)[::-1]
        rows.append((np.concatenate([j, j, [5]]), np.concatenate([a[j] / 2, a[j] / 2, [0.0]])))
    pointer = np.append(0, np.cumsum([len(j) for j, _ in rows]))
    data, indices = np.concatenate([v for _, v in rows]), np.concatenate([j for j, _ in rows])
    return sparse.csr_matrix((data, indices, pointer), A.shape)


def parts_of(A):
    return [A] if isinstance(A, np.ndarray) else [A.data, getattr(A, "indices", A.data)]


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("form", [form for form in FORMS if form != "float32"])
def test_every_form_of_pool_gives_the_same_questions(form, kernel):
    model = LASVMClassifier(C=1, kernel=kernel, gamma=0.001)
    sizes = {"sample_size": None, "random_state": 0}
    plain = sparse.csr_matrix if form[:1] in "cl" and form != "columns first" else np.asarray
    expected = teach(ActiveLearner(model, plain(X[:200]), **sizes), BINARY, 30)
    pool = FORMS[form](X[:200])
    before = copy.deepcopy(parts_of(pool))
    learner = teach(ActiveLearner(model, pool, **sizes), BINARY, 30)
    assert learner.taught.tolist() == expected.taught.tolist()
    for part, kept in zip(parts_of(pool), before, strict=True):
        np.testing.assert_array_equal(part, kept)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("form", ["dense", "float32", "csr"])
@pytest.mark.parametrize("model", ["own", "other"])
def test_an_array_changed_afterwards_changes_nothing(form, model, kernel):
    model = copy.deepcopy(MODELS[model])
    if isinstance(model, LASVMClassifier):
        model.kernel = kernel
    pool, more = FORMS[form](X[:100]), FORMS[form](X[100:150])
    learner, untouched = (ActiveLearner(model, A, random_state=0) for A in (pool, pool.copy()))
    untouched.add_to_pool(more)
    (pool if form != "csr" else pool.data)[:] = 7.0
    learner.add_to_pool(more)
    (more if form != "csr" else more.data)[:] = 7.0
    assert_same_state(state(teach(learner, BINARY, 20)), state(teach(untouched, BINARY, 20)))
    assert_same_state(state(reloaded(learner)), state(untouched))


@pytest.mark.parametrize("how", [copy.deepcopy, reloaded], ids=["copied", "pickled"])
def test_a_copy_goes_on_without_making_kernel_rows_one_by_one(how, monkeypatch):
    """The labelling page copies the learner for every possible answer before it is given."""
    learner = teach(digits(MODELS["own"]), BINARY, 60)
    other, sizes, block = how(learner), [], Kernel.block

    def counted(self, rows, held, *more):
        sizes.append(len(rows) * len(held))
        return block(self, rows, held, *more)

    monkeypatch.setattr(Kernel, "block", counted)
    other.teach(100, BINARY[100])
    computed, calls = sum(sizes), len(sizes)
    monkeypatch.undo()
    held = len(learner.estimator.support_)
    assert calls <= 1
    assert computed == 0 if how is copy.deepcopy else computed >= held
    assert_same_state(state(learner.teach(100, BINARY[100])), state(other))
