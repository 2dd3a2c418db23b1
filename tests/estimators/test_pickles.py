"""Pickles: small, exact, and able to learn on, also from a memory map."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from classifiers import CSR, DENSE, OWN, Y, every_own, make
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from onlinesvm import (
    HullerClassifier,
    LASVMClassifier,
    LASVMOneClass,
    LASVMRegressor,
    SimpleSVMClassifier,
    SimpleSVMOneClass,
    SimpleSVMRegressor,
)
from onlinesvm.core.runtime.compact import Packed, compact, restore
from onlinesvm.exceptions import ModelFileError

LABELS = np.random.default_rng(1).integers(3, size=DENSE.shape[0])


def noisy(n=1500, d=20):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, ((X[:, 0] + X[:, 1] ** 2 > 0.8) ^ (rng.random(n) < 0.2)).astype(int)


@every_own
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("block_size", [1, 2048])
def test_a_model_from_a_memory_map_learns_on(kind, tmp_path, block_size):
    for X in (DENSE, CSR):
        model = make(kind, block_size=block_size).fit(X, LABELS)
        joblib.dump(model, tmp_path / "model")
        mapped = joblib.load(tmp_path / "model", mmap_mode="r")
        np.testing.assert_array_equal(mapped.decision_function(X), model.decision_function(X))
        twin = pickle.loads(pickle.dumps(model))
        for each in (mapped, twin):
            if hasattr(each, "learn_one") and X is DENSE:
                each.learn_one(X[0], LABELS[0])
            each.finish().partial_fit(X, (LABELS + 1) % 4).finish()  # with a new label
        np.testing.assert_array_equal(mapped.decision_function(X), twin.decision_function(X))
        assert mapped.n_kernel_evaluations_ == twin.n_kernel_evaluations_


@every_own
@pytest.mark.filterwarnings("ignore")
def test_a_pickle_has_no_spare_room(kind):
    """Rows in single precision, a few numbers for each row and machine, and what every one has."""
    X, y = noisy(400, 60)
    for rows, form in ((X, np.asarray), (np.where(abs(X) > 1, X, 0.0), sparse.csr_matrix)):
        model = make(kind, kernel="rbf", gamma=0.02)
        for k in range(0, 400, 10):
            model.partial_fit(form(rows[k : k + 10]), y[k : k + 10])
        learner = model._trained.learner
        store = next(part.store for part in held(learner) if hasattr(part, "store"))
        used = 4 * 60 * store.n if form is np.asarray else 8 * store.rows().width() * store.n
        balls = 3 * 32 * 32 * 8 + 8 * 32 * store.n if "StreamSVM" in kind.__name__ else 0
        size = len(pickle.dumps(model))
        assert size < used + 60 * store.n + balls + 3000
        model.predict(form(rows))
        assert len(pickle.dumps(model)) == size


def held(learner):
    """The learner, or the part of it that has the rows."""
    return [learner, *(v for v in vars(learner).values() if hasattr(v, "__dict__"))]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
def test_smaller_than_svc(form):
    """With all that is needed to learn on: gradients, and rows that are no support vectors yet."""
    X, y = noisy()
    X = form(np.where(abs(X) > 0.7, X, 0.0))
    model, peer = LASVMClassifier(gamma=0.05).fit(X, y), SVC(gamma=0.05).fit(X, y)
    per_vector = len(pickle.dumps(model)) / len(model.support_)
    assert per_vector < 0.9 * len(pickle.dumps(peer)) / len(peer.support_)


def test_smaller_than_svc_on_adult(data_dir):
    from benchmarks.datasets import load

    data = load("a9a")
    model = LASVMClassifier(C=100, gamma=0.005, random_state=0).fit(data.X_train, data.y_train)
    assert len(model.support_) > 9000
    assert len(pickle.dumps(model)) < 2_400_000 / 4  # SVC: 2.4 MB


@pytest.mark.filterwarnings("ignore")
def test_a_budget_perceptron_keeps_its_kernel_values_where_it_must():
    """Left out of the pickle they are computed again, to the same bits and without counting."""
    from onlinesvm import BudgetPerceptronClassifier

    X, y = noisy()
    model = BudgetPerceptronClassifier(budget=60, gamma=0.05).partial_fit(X[:500], y[:500])
    assert len(pickle.dumps(model)) < 60 * (4 * 20 + 100) + 4000  # rows, and a little more
    twins = [pickle.loads(pickle.dumps(model)), model]
    for twin in twins:
        twin.partial_fit(X[500:], y[500:])
    np.testing.assert_array_equal(twins[0].decision_function(X), model.decision_function(X))
    assert twins[0].n_kernel_evaluations_ == model.n_kernel_evaluations_
    assert twins[0]._trained.learner.a.gram.size > 0


ARRAYS = {
    "empty": np.empty((2, 0)),
    "constant": np.full((3, 50), 0.1),
    "minus zero": np.tile([0.0, -0.0, 1.0], 50),
    "nan": np.tile([np.nan, 1.0, np.inf], 50),
    "few": np.tile(np.float32([0.1, 0.2, 0.3]), 70).reshape(10, 21),
    "many": np.random.default_rng(0).normal(size=(4, 100)),
    "single": np.random.default_rng(0).normal(size=400).astype(np.float32).astype(np.float64),
    "zeros": np.where(np.arange(999) % 7, 0.0, np.random.default_rng(0).normal(size=999)),
    "truth": np.arange(101).reshape(1, 101) % 3 == 0,
    "whole": np.arange(-5, 300),
    "large": np.array([2**62, -(2**62)] * 50),
    "late": np.concatenate([np.zeros(70_000), np.arange(70_000.0) + 0.1]),
    "fortran": np.asfortranarray(np.arange(200.0).reshape(10, 20) / 3),
    "text": np.array(["a", "bc"] * 50),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_come_back_to_the_last_bit(name):
    array = ARRAYS[name]
    made = compact({"a": [array, (array, 3)]})
    found = restore(pickle.loads(pickle.dumps(made)))["a"]
    for each in (found[0], found[1][0]):
        assert (each.dtype, each.shape) == (array.dtype, array.shape)
        assert each.tobytes() == np.ascontiguousarray(array).tobytes()
        assert each.flags.writeable
        assert each.flags.c_contiguous
        assert not np.shares_memory(each, array)


@given(st.lists(st.floats(width=64), min_size=64, max_size=90), st.booleans())
def test_any_numbers_come_back(values, narrow):
    array = np.array(values)
    if narrow:
        with np.errstate(all="ignore"):
            array = array.astype(np.float32)
    assert restore(compact(array)).tobytes() == array.tobytes()


def test_small_arrays_stay_as_they_are():
    assert not isinstance(compact(np.arange(10)), Packed)


# -- states, for libraries that keep them in files of their own -------------------------------

SIMPLE = [SimpleSVMClassifier, SimpleSVMRegressor, SimpleSVMOneClass]


def is_plain(value):
    """Whether it is made of numbers, text and bytes alone."""
    if isinstance(value, dict):
        return all(map(is_plain, [*value, *value.values()]))
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    return value is None or type(value) in (bool, int, float, str, bytes)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [*OWN, *SIMPLE, LASVMRegressor, LASVMOneClass])
def test_a_state_is_plain_data_and_goes_on_exactly(kind):
    model = kind(**({"probability": True} if kind is LASVMClassifier else {}))
    model.fit(DENSE[:60], Y[:60]).partial_fit(DENSE[60:75], Y[60:75])
    state = model.__getstate__()
    assert is_plain(state)
    twin = kind.__new__(kind)
    twin.__setstate__(state)
    for each in (model, twin):
        each.partial_fit(DENSE[75:], Y[75:])
    np.testing.assert_array_equal(twin.predict(DENSE), model.predict(DENSE))
    if hasattr(model, "decision_function"):
        np.testing.assert_array_equal(twin.decision_function(DENSE), model.decision_function(DENSE))
    if kind is LASVMClassifier:
        np.testing.assert_array_equal(twin.predict_proba(DENSE), model.predict_proba(DENSE))
    assert twin.get_params() == model.get_params()


def dot(X, Z):
    return X @ Z.T


class Mine(LASVMClassifier):
    """Of a user: no class that a model file knows."""


@pytest.mark.parametrize("model", [LASVMClassifier(kernel=dot), Mine(), LASVMClassifier()])
def test_a_state_keeps_what_cannot_be_data(model):
    if type(model) is Mine or callable(model.kernel):
        model.fit(DENSE, Y)
    twin = type(model).__new__(type(model))
    twin.__setstate__(model.__getstate__())
    assert twin.get_params() == model.get_params()
    if hasattr(model, "n_features_in_"):
        np.testing.assert_array_equal(twin.decision_function(DENSE), model.decision_function(DENSE))


def test_pickles_and_copies_do_not_make_a_file_first(monkeypatch):
    model = LASVMClassifier().fit(DENSE, Y)
    monkeypatch.delattr("onlinesvm.model.files.data_of")
    for twin in (pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.decision_function(DENSE), model.decision_function(DENSE))


def test_a_state_that_was_changed_is_refused():
    state = LASVMClassifier().fit(DENSE, Y).__getstate__()
    data = bytearray(state["_trained"])
    data[-1] ^= 1
    with pytest.raises(ModelFileError, match=r"The state of the estimator is not.*checksum"):
        LASVMClassifier().__setstate__(state | {"_trained": bytes(data)})
    with pytest.raises(
        ModelFileError, match="that of a LASVMClassifier, not of a HullerClassifier"
    ):
        HullerClassifier().__setstate__(state)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [*OWN, *SIMPLE, LASVMRegressor, LASVMOneClass])
def test_skops_asks_for_trust_in_one_class(kind):
    io = pytest.importorskip("skops.io")
    model = make_pipeline(StandardScaler(), kind()).fit(DENSE, Y)
    data = io.dumps(model)
    unknown = io.get_untrusted_types(data=data)
    assert unknown == [f"{kind.__module__}.{kind.__name__}"]
    again = io.loads(data, trusted=unknown)
    np.testing.assert_array_equal(again.predict(DENSE), model.predict(DENSE))
