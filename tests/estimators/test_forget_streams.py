"""Examples of streams are taken back by their number in the order of arrival."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_classification
from sklearn.svm import SVC, SVR

from onlinesvm import LASVMClassifier, LASVMRegressor, load_model

LIMITS = {
    "window": {"window": 120},
    "budget": {"budget": 60},
    "joined": {"budget": 60, "policy": "join"},
    "oldest": {"budget": 60, "policy": "oldest"},
    "window and budget": {"window": 150, "budget": 60},
    "half-life": {"half_life": 40.0},
}
SETTINGS = {"C": 2.0, "gamma": 0.2, "tol": 1e-4}


@pytest.fixture(scope="module")
def stream():
    X, y = make_classification(500, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=0)
    return X, np.where(y > 0, "yes", "no")


def stored(model):
    """Numbers of the rows that the support set has, by their values."""
    trained = model._trained
    rows = trained.learner.store.rows().to_array(trained.centre)
    return np.asarray(rows.todense()) if sparse.issparse(rows) else rows


def numbers_held(model, X):
    """The same as row indices of X, all of whose rows differ."""
    far = np.abs(stored(model)[:, None] - X[None]).max(axis=2)
    assert (far.min(axis=1) < 1e-5).all()
    return np.sort(far.argmin(axis=1))


def one_by_one(model, X, y):
    for x, label in zip(X, y):
        model.learn_one(x, label)


def in_batches(model, X, y, size=37):
    for first in range(0, X.shape[0], size):
        model.partial_fit(X[first : first + size], y[first : first + size])


@pytest.mark.parametrize("learn", [one_by_one, in_batches])
@pytest.mark.parametrize("limits", [{}, *LIMITS.values()], ids=["all", *LIMITS])
def test_the_right_rows_leave_and_no_other(stream, learn, limits):
    X, y = stream
    model = LASVMClassifier(**SETTINGS, **limits)
    learn(model, X, y)
    before = numbers_held(model, X)
    gone = np.r_[before[:3], before[-2:]]
    absent = np.setdiff1d(np.arange(300), before)[:4]
    model.forget(np.r_[gone, absent])
    report = model.forget_report_
    assert report["forgotten"] == len(gone) + len(absent)
    assert set(absent) >= set(report["not_stored"])
    assert not set(gone) & set(report["not_stored"])
    after = numbers_held(model, X)
    assert not set(gone) & set(after)
    if "window" not in limits and "half_life" not in limits:  # of a window others may be admitted
        np.testing.assert_array_equal(after, np.setdiff1d(before, gone))
    assert (model.support_ == -1).all()
    learn(model, X[:60] + 0.01, y[:60])  # and it learns on
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("limits", [{}, *LIMITS.values()], ids=["all", *LIMITS])
def test_the_state_is_consistent(stream, limits):
    X, y = stream
    model = LASVMClassifier(**SETTINGS, **limits)
    in_batches(model, X, y)
    model.forget(numbers_held(model, X)[::3])
    learner = model._trained.learner
    a, n, support = learner.support.a, learner.n, learner.support
    K = learner.kernel.block(support.rows(), support.rows()).astype(float)
    alpha, (lo, hi) = support.alpha(), support.bounds()
    assert abs(alpha.sum()) < 1e-9
    assert ((alpha >= lo) & (alpha <= hi)).all()
    np.testing.assert_allclose(a.grad[:, :n], a.p[:, :n] - alpha @ K, atol=1e-5)
    if learner.memory is not None:
        np.testing.assert_allclose(learner.values.square(), K, atol=1e-6)
        held = np.bincount(a.label[:n], minlength=2)
        np.testing.assert_array_equal(learner.memory.labels_held, held)
    if limits.get("policy") == "join":
        nearness = 2 * K - a.diagonal[:n]
        nearness[(a.label[:n, None] != a.label[:n]) | np.eye(n, dtype=bool)] = -np.inf
        np.testing.assert_array_equal(a.near[:n], nearness.argmax(axis=1))
    assert model.forget_report_["gap"] <= SETTINGS["tol"]


def forget_some(model, peer, X, y, count):
    """Forget some of the rows that are stored; the peer learns the others."""
    in_batches(model, X, y)
    model.forget(numbers_held(model, X)[:count])
    left = numbers_held(model, X)
    return peer.set_params(C=2.0, gamma=0.2, tol=1e-6).fit(X[left], y[left])


def test_it_is_the_svm_of_the_rows_that_are_stored(stream):
    X, y = stream
    model = LASVMClassifier(**SETTINGS)
    peer = forget_some(model, SVC(), X, y, 20)
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=2e-3)


def test_a_window_is_the_svm_of_its_other_examples(stream):
    X, y = stream
    model = LASVMClassifier(**SETTINGS, window=120)
    in_batches(model, X, y)
    gone = np.r_[numbers_held(model, X)[-8:], np.arange(400, 410)]
    model.forget(np.unique(gone))
    left = np.setdiff1d(np.arange(380, 500), gone)
    peer = SVC(C=2.0, gamma=0.2, tol=1e-6).fit(X[left], y[left])
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=2e-3)


def test_values(stream):
    X, _ = stream
    target = X[:, 0] * 3 + np.sin(X[:, 1])
    model = LASVMRegressor(**SETTINGS)
    peer = forget_some(model, SVR(), X, target, 10)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), atol=5e-3)
    assert any("targets" in part for part in model.forget_report_["depends_on_them_still"])


def test_examples_of_weight_zero_are_counted_and_fit_comes_first(stream):
    X, y = stream
    model = LASVMClassifier(**SETTINGS).fit(X[:100], y[:100])
    weight = np.ones(50)
    weight[::2] = 0
    model.partial_fit(X[100:150], y[100:150], sample_weight=weight)
    for x, label in zip(X[150:160], y[150:160]):
        model.learn_one(x, label)
    model.partial_fit(X[160:300], y[160:300])
    for _ in range(3):
        held = numbers_held(model, X)
        late = held[held >= 100]
        gone = np.r_[held[:2], late[:2], late[-2:]]
        model.forget(gone)
        assert not set(gone) & set(numbers_held(model, X))
    assert model.forget_report_["not_stored"] == []
    model.forget(102)
    assert model.forget_report_["not_stored"] == [102]


def test_gamma_that_is_still_being_estimated_stays(stream):
    X, y = stream
    model = LASVMClassifier(C=2.0).partial_fit(X[:30], y[:30])
    gone = numbers_held(model, X)[3]
    gamma = model.gamma_
    model.forget(gone)
    assert model.gamma_ == gamma
    assert any("gamma_" in part for part in model.forget_report_["depends_on_them_still"])
    model.partial_fit(X[30:200], y[30:200])
    assert gone not in numbers_held(model, X)
    other = numbers_held(model, X)[-1]
    model.forget(other)
    assert other not in numbers_held(model, X)


@pytest.mark.parametrize("how", ["pickle", "file"])
@pytest.mark.parametrize("limits", [{}, *LIMITS.values()], ids=["all", *LIMITS])
def test_numbers_last(stream, how, limits, tmp_path):
    X, y = stream
    model = LASVMClassifier(**SETTINGS, **limits)
    in_batches(model, X[:250], y[:250])
    one_by_one(model, X[250:300], y[250:300])
    if how == "pickle":
        twin = pickle.loads(pickle.dumps(model))
    else:
        model.save(tmp_path / "model")
        twin = load_model(tmp_path / "model")
    for each in (model, twin):
        in_batches(each, X[300:], y[300:])
        each.forget(numbers_held(each, X)[::4])
    np.testing.assert_array_equal(numbers_held(model, X), numbers_held(twin, X))
    np.testing.assert_allclose(model.decision_function(X), twin.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
@pytest.mark.parametrize("limits", [{}, *LIMITS.values()], ids=["all", *LIMITS])
def test_no_file_holds_a_byte_of_the_row(stream, form, limits, tmp_path):
    X, y = (part.copy() for part in stream)
    X[450:460] = np.random.default_rng(5).normal(size=(10, 5)) * 2
    model = LASVMClassifier(**SETTINGS, **limits)
    in_batches(model, form(X), y)
    in_recent = "window" in limits and "budget" not in limits
    held = np.arange(450, 460) if in_recent else np.intersect1d(
        numbers_held(model, X), np.arange(450, 460))  # fmt: skip
    assert len(held)

    def found(number):
        model.save(tmp_path / "model")
        data = (tmp_path / "model").read_bytes()
        centre = model._trained.centre
        rows = (X[number], X[number] if centre is None else X[number] - centre)
        return any(row.astype(kind).tobytes() in data for row in rows for kind in ("f4", "f8"))

    for number in held[:3]:
        assert found(number)
        model.forget(number)
        assert not found(number)
        assert not any(x.tobytes() in pickle.dumps(model)
                       for x in (X[number], X[number].astype("f4")))  # fmt: skip
    in_batches(load_model(tmp_path / "model"), form(X[:50]), y[:50])  # the file is in order


def test_wrong_numbers_change_nothing(stream):
    X, y = stream
    model = LASVMClassifier(**SETTINGS)
    in_batches(model, X[:100], y[:100])
    before = model.decision_function(X)
    for indices, message in (
        ([0, 0], "twice"), (-1, "never learned"), (100, "never learned: there were examples 0 to 99"),
        (0.5, "integer"), ("all", "integer"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            model.forget(indices)
    with pytest.raises(ValueError, match="learned a stream: leave X out"):
        model.forget(3, X[:100], y[:100])
    np.testing.assert_array_equal(model.decision_function(X), before)
    bounded = LASVMClassifier(**SETTINGS, budget=50).fit(X, y)
    with pytest.raises(ValueError, match="leave X out"):
        bounded.forget(3, X, y)


def test_models_of_a_fit_with_limits(stream):
    X, y = stream
    for limits in LIMITS.values():
        model = LASVMClassifier(**SETTINGS, **limits, shuffle=False).fit(X, y)
        before = numbers_held(model, X)
        np.testing.assert_array_equal(np.unique(before), before)
        model.forget(before[:4])
        assert not set(before[:4]) & set(numbers_held(model, X))
        with pytest.raises(ValueError, match="forgotten already"):
            model.forget(before[0])
        model.partial_fit(X[:30] + 0.5, y[:30])
        held = model._trained.learner.support.a.key[: model._trained.learner.n]
        streamed = held[held < 0]
        if len(streamed):
            model.forget(500 - 2 - int(streamed[0]))
            assert model.forget_report_["not_stored"] == []


def test_a_model_of_an_older_file_says_so(stream):
    X, y = stream
    model = LASVMClassifier(**SETTINGS).partial_fit(X, y)
    model._trained.streamed = None  # as in a file that has no number
    with pytest.raises(ValueError, match="saved by an earlier version"):
        model.forget(3)
    model.learn_one(X[0], y[0])
    fitted = LASVMClassifier(**SETTINGS).fit(X, y)
    fitted._trained.streamed = None
    fitted.forget(3)


def test_selected_examples_have_their_numbers(stream):
    X, y = stream
    model = LASVMClassifier(**SETTINGS, selection="active")
    in_batches(model, X[:200], y[:200])
    one_by_one(model, X[200:400], y[200:400])
    gone = numbers_held(model, X)[::5]
    model.forget(gone)
    assert not set(gone) & set(numbers_held(model, X))


def test_a_copy_forgets_alone(stream):
    X, y = stream
    for limits in ({}, *LIMITS.values()):
        model = LASVMClassifier(**SETTINGS, **limits)
        in_batches(model, X, y)
        before, twin = model.decision_function(X), deepcopy(model)
        twin.forget(numbers_held(twin, X)[:5])
        np.testing.assert_array_equal(model.decision_function(X), before)
        model.learn_one(X[0], y[0])


@pytest.mark.parametrize("limits", [{}, {"window": 40}], ids=["all", "window"])
@pytest.mark.parametrize("learn", [one_by_one, in_batches])
def test_a_copy_that_has_forgotten_all_learns_far_rows_exactly(limits, learn):
    """It has no memory for rows yet when the first one comes, nor for what rounding takes from it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[40:, 0] = 3e5
    y = X[:, 1] + X[:, 2]
    model = LASVMRegressor(kernel="laplacian", gamma=0.3, C=10.0, **limits)
    in_batches(model, X[:40], y[:40])
    model.forget(np.arange(40))
    twin = pickle.loads(pickle.dumps(model))
    for one in (model, twin):
        learn(one, X[40:], y[40:])
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    peer = SVR(kernel=lambda A, B: np.exp(-0.3 * cdist(A, B, "cityblock")), C=10.0).fit(
        X[40:], y[40:]
    )
    assert abs(twin.finish().predict(X[40:]) - peer.predict(X[40:])).max() < 0.1


@pytest.mark.parametrize("probability", [False, True])
def test_a_window_without_rows_has_the_probabilities_of_its_biases(probability):
    """All rows of the window were forgotten; one that had left it before was not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.zeros(40, int)
    y[3] = 1
    model = LASVMClassifier(gamma=0.5, window=10, probability=probability).partial_fit(X, y)
    model.forget(np.delete(np.arange(40), 3))
    expected = model.classes_[model.predict_proba(X).argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X), expected)
