"""Several labels per example: next to one SVC for each label, on streams, in files, and what is refused."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from onlinesvm import ActiveLearner, HullerClassifier, LASVMClassifier, load_model

GAMMA, C = 0.05, 2.0


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(900, 20, n_classes=5, n_labels=2, random_state=0)
    return X / X.std(axis=0), Y


def model(**settings):
    return LASVMClassifier(gamma=GAMMA, C=C, **settings)


def errors(found, Y):
    return (found != Y).mean()


# -- the optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [np.asarray, sparse.csr_matrix, sparse.csc_array, np.ndarray.tolist]
)
def test_it_converges_to_one_svc_per_label(data, kind):
    X, Y = data
    found = model(epochs="converge", tol=1e-4).fit(X[:600], kind(Y[:600]))
    each = OneVsRestClassifier(SVC(gamma=GAMMA, C=C, tol=1e-4)).fit(X[:600], Y[:600])
    values = found.decision_function(X)
    assert values.shape == Y.shape
    np.testing.assert_allclose(values, each.decision_function(X), atol=1e-3)
    predicted = found.predict(X)
    assert predicted.dtype == Y.dtype
    assert (predicted == each.predict(X)).all()
    assert found.score(X, Y) == each.score(X, Y)
    assert found.classes_.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", [bool, np.int8, np.float32, object])
def test_zeros_and_ones_of_any_type_are_the_same(data, kind):
    X, Y = data
    found, expected = model().fit(X[:200], Y[:200].astype(kind)), model().fit(X[:200], Y[:200])
    assert (found.decision_function(X) == expected.decision_function(X)).all()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_of_labels_is_a_matrix_of_labels(data, library):
    X, Y = data
    frame = pytest.importorskip(library).DataFrame({f"label {j}": Y[:, j] for j in range(5)})
    found, expected = model().fit(X[:200], frame[:200]), model().fit(X[:200], Y[:200])
    found.partial_fit(X[200:300], frame[200:300])
    expected.partial_fit(X[200:300], Y[200:300])
    assert (found.decision_function(X) == expected.decision_function(X)).all()


def test_two_labels_that_exclude_each_other_are_two_machines():
    """A matrix of two columns is no binary problem, even where it could be one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    first = X[:, 0] > 0
    found = LASVMClassifier(gamma=0.5, epochs="converge").fit(X, np.stack([first, ~first], axis=1))
    values = found.decision_function(X)
    assert values.shape == (200, 2)
    np.testing.assert_allclose(values[:, 0], -values[:, 1], atol=5e-3)
    assert found.predict(X).shape == (200, 2)


def test_kernel_values_are_shared(data):
    X, Y = data
    together = model().fit(X, Y).n_kernel_evaluations_
    alone = sum(model().fit(X, Y[:, k]).n_kernel_evaluations_ for k in range(5))
    assert together < 0.65 * alone


def test_weights_count_as_repetitions(data):
    X, Y = data[0][:150], data[1][:150]
    weight = np.random.default_rng(0).integers(0, 3, size=150)
    weighted = model(epochs="converge", tol=1e-5).fit(X, Y, sample_weight=weight)
    repeated = model(epochs="converge", tol=1e-5).fit(
        np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)
    )
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-4
    )


def test_copies_with_other_labels_are_not_merged(data):
    X, Y = data[0][:100], data[1][:100]
    twice, labels = np.concatenate([X, X]), np.concatenate([Y, 1 - Y])
    found = model(epochs="converge").fit(twice, labels)  # contradictions: nothing can be known
    assert np.abs(found.decision_function(X)).max() < 1e-2


def test_a_rare_label_is_learned_in_sorted_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    Y = np.stack([X[:, 0] > 0, X[:, 1] > 2.3, X[:, 2] > -2.3], axis=1).astype(int)
    order = np.argsort(Y[:, 1], kind="stable")
    for shuffle in (True, False):
        found = LASVMClassifier(gamma=0.3, C=100, shuffle=shuffle).fit(X[order], Y[order])
        each = OneVsRestClassifier(SVC(gamma=0.3, C=100)).fit(X[order], Y[order])
        assert errors(found.predict(X), Y) <= errors(each.predict(X), Y) + 0.001


@pytest.mark.parametrize("block_size", [1, 64])
def test_small_blocks_learn_the_same(data, block_size):
    X, Y = data
    found = model(block_size=block_size, epochs="converge" if block_size > 1 else 2)
    each = OneVsRestClassifier(SVC(gamma=GAMMA, C=C)).fit(X[:600], Y[:600])
    found.fit(X[:600], Y[:600])
    assert errors(found.predict(X[600:]), each.predict(X[600:])) < 0.02


def test_very_many_labels(data):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    Y = (X @ rng.normal(size=(5, 80)) > 1).astype(int)
    found = LASVMClassifier(gamma=0.1, epochs="converge", tol=1e-4).fit(X, Y)
    each = OneVsRestClassifier(SVC(gamma=0.1, tol=1e-4)).fit(X, Y)
    np.testing.assert_allclose(found.decision_function(X), each.decision_function(X), atol=2e-3)


# -- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_stream_learns_about_what_a_fit_learns(data, size):
    X, Y = data
    stream = model()
    for first in range(0, 600, size):
        stream.partial_fit(X[first : first + size], Y[first : first + size])
    each = OneVsRestClassifier(SVC(gamma=GAMMA, C=C)).fit(X[:600], Y[:600])
    assert (
        errors(stream.finish().predict(X[600:]), Y[600:])
        < errors(each.predict(X[600:]), Y[600:]) + 0.02
    )


def test_one_row_at_a_time_is_as_partial_fit(data):
    X, Y = data
    quick, checked = model(), model()
    for x, labels in zip(X[:150], Y[:150], strict=True):
        quick.learn_one(x, labels)
        checked.partial_fit(x[None], labels[None], sample_weight=[1.0])
    np.testing.assert_allclose(quick.decision_function(X), checked.decision_function(X), atol=1e-5)
    assert (quick.predict_one(X[0]) == quick.predict(X[:1])[0]).all()
    np.testing.assert_allclose(
        quick.decision_one(X[0]), quick.decision_function(X[:1])[0], atol=1e-5
    )


def test_a_stream_may_begin_without_a_label(data):
    X, Y = data
    Y = Y.copy()
    Y[:300, 2] = 0
    Y[:50] = 0
    stream = model().partial_fit(X[:20], Y[:20])
    assert not stream.predict(X).any()
    for first in range(20, 900, 40):
        stream.partial_fit(X[first : first + 40], Y[first : first + 40])
        if first < 260:
            assert not stream.predict(X)[:, 2].any()
    late = stream.finish().predict(X[300:])[:, 2]
    assert (late == Y[300:, 2]).mean() > 0.8
    assert late.any()


@pytest.mark.parametrize(
    "limits",
    [{"window": 200}, {"budget": 150}, {"half_life": 300.0}, {"budget": 100, "policy": "join"}],
)
def test_memory_may_be_bounded(data, limits):
    X, Y = data
    stream = model(**limits).partial_fit(X[:400], Y[:400])
    for x, labels in zip(X[400:600], Y[400:600], strict=True):
        stream.learn_one(x, labels)
    assert len(stream.support_vectors_) <= min(limits.get("budget", 900), 900)
    constant = np.minimum(Y.mean(axis=0), 1 - Y.mean(axis=0)).mean()
    assert errors(stream.finish().predict(X[600:]), Y[600:]) < 0.85 * constant


def test_a_finished_window_is_the_svm_of_the_window(data):
    X, Y = data
    stream = model(window=250, tol=1e-4).partial_fit(X[:600], Y[:600]).finish()
    each = OneVsRestClassifier(SVC(gamma=GAMMA, C=C, tol=1e-4)).fit(X[350:600], Y[350:600])
    np.testing.assert_allclose(stream.decision_function(X), each.decision_function(X), atol=5e-3)


# -- copies, files and tools ----------------------------------------------------------------------


def saved(estimator, folder):
    estimator.save(folder / "model.safetensors")
    return load_model(folder / "model.safetensors")


@pytest.mark.parametrize("settings", [{}, {"window": 100}, {"budget": 80}, {"block_size": 1}])
@pytest.mark.parametrize("copies", ["pickle", "deepcopy", "file"])
def test_a_copy_goes_on_to_the_last_bit(data, tmp_path, settings, copies):
    X, Y = data
    first = model(**settings).partial_fit(X[:200], Y[:200])
    for x, labels in zip(X[200:220], Y[200:220], strict=True):
        first.learn_one(x, labels)
    again = {
        "pickle": lambda: pickle.loads(pickle.dumps(first)),
        "deepcopy": lambda: deepcopy(first),
        "file": lambda: saved(first, tmp_path),
    }[copies]()
    for each in (first, again):
        each.partial_fit(X[220:300], Y[220:300]).finish()
    assert (first.decision_function(X) == again.decision_function(X)).all()
    assert (first.predict(X) == again.predict(X)).all()


def test_a_file_of_the_first_rows_of_a_stream_goes_on(data, tmp_path):
    X, Y = data
    first = LASVMClassifier().partial_fit(X[:30], Y[:30])  # gamma is not known for good
    again = saved(first, tmp_path)
    for each in (first, again):
        each.partial_fit(X[30:200], Y[30:200])
    assert (first.decision_function(X) == again.decision_function(X)).all()


def test_forget_explain_and_search(data):
    X, Y = data[0][:200], data[1][:200]
    found = model(epochs="converge", tol=1e-4).fit(X, Y)
    why = found.explain(X[:3])
    np.testing.assert_allclose(
        why.base_values + why.values.sum(axis=1), found.decision_function(X[:3]), atol=1e-4
    )
    found.forget([0, 1, 2], X, Y)
    left = model(epochs="converge", tol=1e-4).fit(X[3:], Y[3:])
    np.testing.assert_allclose(found.decision_function(X), left.decision_function(X), atol=1e-3)
    search = GridSearchCV(LASVMClassifier(gamma=GAMMA), {"C": [0.1, 2.0]}, cv=3).fit(X, Y)
    assert search.predict(X).shape == Y.shape
    assert (found.n_support_ == np.count_nonzero(found.dual_coef_, axis=1)).all()


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [2, -1, 0.5])
@pytest.mark.parametrize("make", [np.array, sparse.csr_matrix])
def test_other_numbers_are_refused(data, wrong, make):
    X, Y = data
    Y = Y.astype(float)
    Y[3, 1] = wrong
    with pytest.raises(ValueError, match=rf"1 or 0 .* got the value {wrong}"):
        model().fit(X, make(Y))


def test_text_is_refused(data):
    with pytest.raises(ValueError, match="1 or 0"):
        model().fit(data[0], np.where(data[1] > 0, "yes", "no"))


@pytest.mark.parametrize(("value", "who"), [(0, "no example"), (1, "every example")])
def test_a_label_that_says_nothing_is_refused(data, value, who):
    X, Y = data
    Y = Y.copy()
    Y[:, 3] = value
    with pytest.raises(ValueError, match=rf"Column 3 of y: {who}"):
        model().fit(X, Y)
    weight = np.ones(len(X))
    weight[data[1][:, 3] != value] = 0.0
    with pytest.raises(ValueError, match=rf"Column 3 of y: {who}"):
        model().fit(X, data[1], sample_weight=weight)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"probability": True}, "probability"), ({"detect_drift": True}, "detect_drift"),
        ({"window": "auto"}, "window"), ({"selection": "active"}, "selection"),
        ({"early_stopping": "score"}, "early_stopping"), ({"class_weight": "balanced"}, "class_weight"),
        ({"class_weight": {0: 2.0}}, "class_weight"),
    ],
)  # fmt: skip
def test_settings_for_one_label_are_refused(data, settings, name):
    X, Y = data
    for learn in (model(**settings).fit, model(**settings).partial_fit):
        with pytest.raises(ValueError, match=rf"{name}=.* one label per example"):
            learn(X, Y)


def test_a_refusal_leaves_the_model_as_it_was(data):
    X, Y = data
    found = model().fit(X[:300], Y[:300])
    before = found.decision_function(X)
    for wrong in (Y[:9, :4], Y[:9, 0], 2 * Y[:9], np.hstack([Y[:9], Y[:9]])):
        with pytest.raises(ValueError, match=r"label|columns|1 or 0"):
            found.partial_fit(X[:9], wrong)
        with pytest.raises(ValueError, match=r"label|columns|1 or 0"):
            found.learn_one(X[0], wrong[0])
    with pytest.raises(ValueError, match="classes supports one label"):
        found.partial_fit(X[:9], Y[:9], classes=[0, 1])
    assert (found.decision_function(X) == before).all()
    one = model().fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="had one label each"):
        one.partial_fit(X[:9], Y[:9])


def test_what_is_for_one_label_says_so(data, tmp_path):
    X, Y = data
    found = model().fit(X[:300], Y[:300])
    with pytest.raises(ValueError, match="suspects supports one label per example"):
        found.suspects()
    with pytest.raises(ValueError, match=r"1d|dimension"):
        HullerClassifier().fit(X, Y)
    with pytest.raises(ValueError, match=r"one per label|one label"):
        ActiveLearner(found, X).teach(0, 1)
