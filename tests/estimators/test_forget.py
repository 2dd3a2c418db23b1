"""Examples are taken back: the model is that of a fit without them, and no file holds them."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_friedman1, make_moons
from sklearn.svm import SVC, SVR

from onlinesvm import LASVMClassifier, LASVMRegressor


@pytest.fixture(scope="module")
def table():
    return make_classification(1500, 8, n_informative=5, flip_y=0.1, random_state=0)


@pytest.mark.parametrize("count", [1, 10, 200])
@pytest.mark.parametrize("again", [False, True])
def test_what_is_left_is_the_svm_of_what_is_left(table, count, again):
    X, y = table
    settings = {"C": 2.0, "gamma": 0.1, "tol": 1e-4}
    model = LASVMClassifier(epochs="converge", **settings).fit(X, y)
    carrying = model.support_[np.abs(model.dual_coef_[0]).argsort()[::-1]]
    gone = carrying[:count]
    model.forget(gone, *((X, y) if again else ()))
    report = model.forget_report_
    assert (report["forgotten"], report["support_vectors"]) == (count, count)
    assert report["looked_again"] is again
    assert not set(gone) & set(model.support_)
    left = np.setdiff1d(np.arange(len(X)), gone)
    peer = SVC(C=2.0, gamma=0.1, tol=1e-6).fit(X[left], y[left])
    ours, theirs = model.decision_function(X), peer.decision_function(X)
    if again:
        assert np.abs(ours - theirs).max() < 2e-3
    else:  # rows beyond the margin were not looked at
        assert ((ours > 0) == (theirs > 0)).mean() > 0.98
    assert model.fit_status_ == 0


def test_others_than_support_vectors_change_nothing(table):
    X, y = table
    model = LASVMClassifier(gamma=0.1, epochs="converge").fit(X, y)
    before = model.decision_function(X)
    gone = np.setdiff1d(np.arange(len(X)), model.support_)[:20]
    model.forget(gone)
    assert model.forget_report_["support_vectors"] == 0
    np.testing.assert_allclose(model.decision_function(X), before, atol=2e-3)


def test_several_classes_and_values():
    X, y = make_classification(600, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=1)
    model = LASVMClassifier(gamma=0.2, epochs="converge", tol=1e-4).fit(X, y)
    other = LASVMClassifier(gamma=0.2, epochs="converge", tol=1e-4)
    gone, left = model.support_[:30], np.setdiff1d(np.arange(600), model.support_[:30])
    model.forget(gone, X, y)
    other.fit(X[left], y[left])
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=3e-3)

    X, target = make_friedman1(500, random_state=0)
    values = LASVMRegressor(C=10, gamma=0.5, epochs="converge", tol=1e-4).fit(X, target)
    gone = values.support_[:10]
    left = np.setdiff1d(np.arange(500), gone)
    peer = SVR(C=10, gamma=0.5, tol=1e-6).fit(X[left], target[left])
    values.forget(gone, X, target)
    np.testing.assert_allclose(values.predict(X), peer.predict(X), atol=0.02)


def test_all_of_a_class_may_go(table):
    X, y = table
    model = LASVMClassifier(gamma=0.1).fit(X, y)
    model.forget(np.flatnonzero(y == 1), X, y)
    assert (model.predict(X) == 0).all()


def test_forgetting_goes_on_where_it_ended(table):
    X, y = table
    once = LASVMClassifier(gamma=0.1, epochs="converge", tol=1e-4).fit(X, y)
    twice = LASVMClassifier(gamma=0.1, epochs="converge", tol=1e-4).fit(X, y)
    gone = once.support_[:40]
    once.forget(gone, X, y)
    for each in np.split(gone, 4):
        twice.forget(each, X, y)
    np.testing.assert_allclose(once.decision_function(X), twice.decision_function(X), atol=3e-3)
    twice.partial_fit(X[:50], y[:50])
    assert twice.score(X, y) > 0.85


def test_no_file_holds_a_byte_of_the_row(tmp_path, table):
    X, y = (part.copy() for part in table)
    X[7] = np.random.default_rng(5).normal(size=8) * 3
    y[7] = 1 - y[7]
    model = LASVMClassifier(gamma=0.1, shuffle=False).fit(X, y)

    def held():
        path = tmp_path / "model.safetensors"
        model.save(path)
        data = path.read_bytes()
        shifted = model._trained.centre
        rows = (X[7], X[7] if shifted is None else X[7] - shifted)
        return any(row.astype(kind).tobytes() in data for row in rows for kind in ("f4", "f8"))

    assert 7 in model.support_
    assert held()
    model.forget(7)
    assert not held()


def common_letters(left, right):
    return np.array([[len(set(a) & set(b)) for b in right] for a in left], float)


def test_objects_are_forgotten_too():
    words = [f"{first}{last}" for first in "abcdefgh" for last in ("xyz", "uvw", "klm", "qrs")]
    y = [word[0] < "e" for word in words]
    words[5] = "averyspecialword"
    model = LASVMClassifier(kernel=common_letters, C=10.0).fit(words, y)
    assert b"averyspecialword" in pickle.dumps(model)
    model.forget(5)
    assert b"averyspecialword" not in pickle.dumps(model)
    assert len(model.predict(words)) == len(words)
    assert None not in model.support_vectors_.tolist()


def test_contradicting_and_repeated_rows():
    X, y = make_moons(200, noise=0.2, random_state=0)
    X, y = np.r_[X, X[:20], X[:20]], np.r_[y, y[:20], 1 - y[:20]]
    model = LASVMClassifier(gamma=1.0, epochs="converge", tol=1e-4).fit(X, y)
    with pytest.raises(ValueError, match="a duplicate of an earlier example"):
        model.forget(205)
    model.forget(range(220, 240), X, y)  # the contradictions
    exact = LASVMClassifier(gamma=1.0, epochs="converge", tol=1e-4).fit(X[:220], y[:220])
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=3e-3)


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([0, 0], "example 0 twice"), (-1, "never learned"), (10**6, "never learned"), (0.5, "integer"),
        ([10**6, 10**6], "never learned"),
        ([[1]], "integer"), ("all", "integer"),
    ],
)  # fmt: skip
def test_bad_numbers_change_nothing(table, indices, message):
    X, y = table
    model = LASVMClassifier(gamma=0.1).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=message):
        model.forget(indices)
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.forget(5)
    with pytest.raises(ValueError, match="forgotten already"):
        model.forget(5)


@pytest.mark.parametrize("epochs", [1, "converge"])
def test_other_data_are_refused(table, epochs):
    X, y = table
    model = LASVMClassifier(gamma=0.1, epochs=epochs).fit(X, y)
    before = model.decision_function(X)
    for others in ((X[:100], y[:100]), (X[::-1], y[::-1]), (X, 1 - y), (X, y + 1), (X, y - 7)):
        with pytest.raises(ValueError, match="those given to fit"):
            model.forget(3, *others)
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
def test_the_same_data_in_another_form(table, form):
    X, y = table
    X = np.where(X > 0.5, X, 0.0).astype(np.float32)
    model = LASVMClassifier(gamma=0.1, epochs="converge").fit(form(X), y)
    twin = deepcopy(model)
    gone = model.support_[:5]
    one = model.forget(gone, X.astype(np.float64), y).decision_function(X)
    two = twin.forget(gone, sparse.csr_matrix(X), y).decision_function(X)
    np.testing.assert_allclose(one, two, atol=1e-6)


def test_with_the_data_it_is_exact_whatever_the_fit_was(table):
    """A fit of one epoch has not looked at all rows; forgetting with the data does."""
    X, y = make_classification(3000, 8, n_informative=5, flip_y=0.1, random_state=0)
    model = LASVMClassifier(C=5.0, gamma=0.1, tol=1e-4).fit(X, y)
    gone = np.setdiff1d(np.arange(3000), model.support_)[:20]
    left = np.setdiff1d(np.arange(3000), gone)
    model.forget(gone, X, y)
    peer = SVC(C=5.0, gamma=0.1, tol=1e-6).fit(X[left], y[left])
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), atol=2e-3)


def test_all_may_go(table):
    X, y = table
    for again in ((), (X, y)):
        model = LASVMClassifier(gamma=0.1, epochs="converge").fit(X, y)
        model.forget(np.arange(len(X)), *again)
        assert len(model.support_) == 0
        assert (model.partial_fit(X, y).predict(X) == y).mean() > 0.8


@pytest.mark.parametrize("seed", range(6))
def test_to_look_again_scores_few_examples_whatever_the_rounding(seed):
    """Coefficients sum to zero but for rounding, which is no reason to bring in others."""
    settings = {"n_informative": 5, "n_redundant": 0, "flip_y": 0.1}
    X, y = make_classification(1500, 6, **settings, random_state=seed)
    model = LASVMClassifier(C=0.7, gamma=0.2, epochs="converge").fit(X, y)
    before = model.n_kernel_evaluations_
    model.forget(model.support_[:3], X, y)
    assert model.n_kernel_evaluations_ - before < len(model.support_) * len(X)
    alpha = abs(model.dual_coef_)
    assert alpha.min() > 1e-12


def test_to_forget_nothing_changes_nothing(table):
    X, y = table
    model = LASVMClassifier(gamma=0.1, epochs="converge").fit(X, y)
    before = model.decision_function(X)
    for nothing in ([], np.array([], int), ()):
        model.forget(nothing)
        assert model.forget_report_["forgotten"] == 0
        np.testing.assert_allclose(model.decision_function(X), before, atol=2e-3)


@pytest.mark.parametrize("decision", ["ovr", "ovo"])
@pytest.mark.parametrize("again", [False, True])
def test_a_class_of_three_that_is_gone_is_never_predicted(decision, again):
    X, y = make_classification(600, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=1)
    model = LASVMClassifier(gamma=0.2, epochs="converge", decision=decision).fit(X, y)
    model.forget(np.flatnonzero(y == 2), *((X, y) if again else ()))
    left = SVC(gamma=0.2).fit(X[y < 2], y[y < 2])
    assert set(model.predict(X)) == {0, 1}
    assert (model.predict(X) == left.predict(X)).mean() > 0.98


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("block_size", [1, 2048])
@pytest.mark.parametrize(("gone", "back"), [((0, 1), 1), ((0, 2), 2), ((1, 2), 1)])
def test_of_classes_that_are_gone_one_comes_back(gone, back, block_size):
    """Its pairs with the other ones have no coefficient any more, and start as at first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] > 0.5, 0, np.where(X[:, 0] < -0.5, 1, 2))
    model = LASVMClassifier(gamma=0.5, decision="ovo", block_size=block_size)
    model.partial_fit(X[:200], y[:200]).forget(np.flatnonzero(np.isin(y[:200], gone)))
    assert not model.dual_coef_.any()
    for x in X[200:][y[200:] == back]:
        model.learn_one(x, back)
    (stayed,) = {0, 1, 2} - set(gone)
    assert set(model.finish().predict(X)) <= {stayed, back}
    if block_size > 1:  # else few rows of the class that stayed are stored
        assert (model.predict(X) == y)[np.isin(y, [stayed, back])].mean() > 0.8


@pytest.mark.parametrize("gone", [0, 1])
@pytest.mark.parametrize("share", [0.05, 0.95])
@pytest.mark.parametrize("again", [False, True])
def test_the_class_that_is_left_is_predicted_whatever_the_bias_was(gone, share, again):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (rng.random(400) < share).astype(int)
    model = LASVMClassifier(gamma=0.5).fit(X, y)
    model.forget(np.flatnonzero(y == gone), *((X, y) if again else ()))
    assert set(model.predict(X)) == {1 - gone}
    assert (model.partial_fit(X, y).predict(X) == y).mean() > 0.9  # and it learns on


@pytest.mark.parametrize(
    "settings",
    [{}, {"quantile": [0.2, 0.8]}, {"window": 300}, {"window": 120}, {"budget": 60}],
    ids=["all", "quantiles", "window", "short window", "budget"],
)
@pytest.mark.parametrize("way", ["fit", "stream"])
def test_no_file_holds_a_byte_of_the_target(tmp_path, settings, way):
    """Nor of targets that are kept for their spread, or in a window."""
    X, target = make_friedman1(200, noise=1.0, random_state=0)
    model = LASVMRegressor(C=5.0, gamma=0.5, **settings)
    if way == "fit":
        model.fit(X, target)
    else:
        for first in range(0, 200, 30):
            model.partial_fit(X[first : first + 30], target[first : first + 30])
    held = model._trained.learner.support.linear()
    gone = max(i for i in range(200) if target[i] in held)
    path = tmp_path / "model.safetensors"
    model.save(path)
    assert target[gone].tobytes() in path.read_bytes()
    model.forget(gone)
    model.save(path)
    assert target[gone].tobytes() not in path.read_bytes()


def test_the_target_of_a_row_that_is_not_stored_goes_if_the_data_are_given(tmp_path):
    X, target = make_friedman1(200, noise=1.0, random_state=0)
    model = LASVMRegressor(C=5.0, gamma=0.5, epsilon=1.0, epochs="converge").fit(X, target)
    learner = model._trained.learner
    stored = model._trained.original[learner.keys(np.arange(learner.n))]
    gone = np.setdiff1d(np.arange(200), stored)[0]
    path = tmp_path / "model.safetensors"
    model.save(path)
    assert target[gone].tobytes() in path.read_bytes()
    without = deepcopy(model).forget(gone)
    assert any(
        "last targets: that of" in line for line in without.forget_report_["depends_on_them_still"]
    )
    model.forget(gone, X, target)
    assert not any(
        "last targets: that of" in line for line in model.forget_report_["depends_on_them_still"]
    )
    model.save(path)
    assert target[gone].tobytes() not in path.read_bytes()


@pytest.mark.parametrize("block_size", [1, 2048])
@pytest.mark.parametrize("class_weight", [None, {0: 3.0, 1: 0.5}])
def test_examples_given_again_cost_what_they_did_in_fit(class_weight, block_size):
    """Whatever C and class_weight are by now; with other weights they are other examples."""
    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((400, 3)), rng.uniform(0.5, 2.0, 400)
    y = (X[:, 0] + 0.5 * rng.standard_normal(400) > 0).astype(int)
    settings = {"gamma": 0.5, "epochs": "converge", "class_weight": class_weight}
    model = LASVMClassifier(block_size=block_size, **settings).fit(X, y, sample_weight=weight)
    model.set_params(C=20.0, class_weight=None)
    if block_size == 1:  # else the weights are known
        with pytest.raises(ValueError, match="must be those given to fit"):
            model.forget(np.arange(40), X, y)
    model.forget(np.arange(40), X, y, sample_weight=weight)
    refit = LASVMClassifier(**settings).fit(X[40:], y[40:], sample_weight=weight[40:])
    gap = np.abs(model.decision_function(X) - refit.decision_function(X)).max()
    assert gap < 0.01
