"""Labels that are wrong are found: next to cross-validated scores, and where nothing is wrong."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_predict
from threadpoolctl import threadpool_info, threadpool_limits

import onlinesvm
from onlinesvm import LASVMClassifier
from onlinesvm.estimators import suspects
from onlinesvm.estimators.base import trained_of, view_of


def flipped(y, share, seed=0):
    """Labels of which a share is another, and the numbers of these."""
    rng = np.random.default_rng(seed)
    classes, wrong = np.unique(y), rng.choice(len(y), int(share * len(y)), replace=False)
    given = y.copy()
    for i in wrong:
        given[i] = rng.choice(classes[classes != y[i]])
    return given, wrong


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_flipped_digits_are_found_as_by_cross_validation(make):
    X, y = load_digits(return_X_y=True)
    given, wrong = flipped(y, 0.1)
    model = LASVMClassifier(gamma=0.001, C=1).fit(make(X), given)
    found = model.suspects(len(wrong))
    ours = np.isin(found.index, wrong).mean()
    values = cross_val_predict(
        LASVMClassifier(gamma=0.001, C=1), X, given, cv=5, method="decision_function"
    )
    rows = np.arange(len(y))
    own, others = values[rows, given], values.copy()
    others[rows, given] = -np.inf
    theirs = np.isin(np.argsort(own - others.max(axis=1))[: len(wrong)], wrong).mean()
    assert ours >= theirs - 0.02
    np.testing.assert_array_equal(found.label, given[found.index])
    right = np.isin(found.index, wrong)
    assert (found.suggestion[right] == y[found.index[right]]).mean() > 0.95
    assert (np.diff(found.score) >= 0).all()


def clusters(n, classes, uneven, d=12):
    """Classes of two clusters each; uneven: the k-th has a share of about 1 / k."""
    rng = np.random.default_rng(0)
    centres = 1.3 * rng.normal(size=(classes, 2, d))
    share = 1.0 / np.arange(1, classes + 1) if uneven else np.ones(classes)
    y = rng.choice(classes, size=n, p=share / share.sum())
    return centres[y, rng.integers(2, size=n)] + rng.normal(size=(n, d)), y


@pytest.mark.parametrize(
    ("classes", "uneven", "share"),
    [(2, False, 0.1), (2, False, 0.3), (10, True, 0.02), (10, True, 0.1), (10, True, 0.3), (26, False, 0.1)],
)  # fmt: skip
def test_as_many_are_found_as_by_cross_validation_whatever_the_classes(classes, uneven, share):
    """Precision among as many as were flipped; the scores are those of five models, as cleanlab takes."""
    X, y = clusters(2500, classes, uneven)
    given, wrong = flipped(y, share)
    model = LASVMClassifier(gamma=0.03, C=10)
    values = cross_val_predict(model, X, given, cv=5, method="decision_function")
    values = np.stack([-values, values], axis=1) if values.ndim == 1 else values
    rows = np.arange(len(y))
    own, others = values[rows, given], values.copy()
    others[rows, given] = -np.inf
    theirs = np.isin(np.argsort(own - others.max(axis=1))[: len(wrong)], wrong).mean()
    found = model.fit(X, given).suspects(len(wrong))
    assert np.isin(found.index, wrong).mean() >= theirs - 0.02
    contradicted = found.score < 0
    assert (found.suggestion[contradicted] != found.label[contradicted]).all()


@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_values_that_the_learner_knows_are_those_of_the_model(classes, kernel):
    """Nothing is computed for them; where a machine does not keep a row, it lies beyond the margin."""
    X, y = load_digits(return_X_y=True)
    some = y < classes
    given, _ = flipped(y[some], 0.1)
    model = LASVMClassifier(kernel=kernel, gamma=0.001, epochs="converge").fit(X[some], given)
    view = view_of(model)
    known, computed = trained_of(model).held_values(view), view.support_values()
    sign = np.where(given[model.support_][:, None] == np.unique(given), 1.0, -1.0)
    is_kept = known != (sign if classes > 2 else sign[:, 1:])
    assert is_kept.any(axis=1).all()
    np.testing.assert_allclose(known[is_kept], computed[is_kept], atol=1e-3)
    assert (known[~is_kept] * computed[~is_kept] > 0.99).all()


@pytest.mark.parametrize("settings", [{"decision": "ovo"}, {"budget": 300}])
def test_values_are_computed_where_rows_have_no_gradient_in_all_machines(settings):
    X, y = load_digits(return_X_y=True)
    model = LASVMClassifier(gamma=0.001, **settings).fit(X[:600], y[:600])
    assert trained_of(model).held_values(view_of(model)) is None


def test_to_ask_changes_nothing():
    X, y = load_digits(return_X_y=True)
    given, _ = flipped(y[:900], 0.1)
    model = LASVMClassifier(gamma=0.001).fit(X[:900], given)
    before, count = model.decision_function(X), model.n_kernel_evaluations_
    first, again = model.suspects(50), model.suspects(50)
    np.testing.assert_array_equal(first.index, again.index)
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.n_kernel_evaluations_ == count


def test_small_systems_are_solved_by_one_thread(monkeypatch):
    """On a busy machine threads of BLAS that wait for each other took longer than all else."""
    X, y = make_moons(400, noise=0.3, random_state=0)
    model, seen, cholesky = LASVMClassifier().fit(X, y), [], suspects.cholesky

    def spy(*given, **how):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return cholesky(*given, **how)

    monkeypatch.setattr(suspects, "cholesky", spy)
    with threadpool_limits(2, user_api="blas"):
        model.suspects(5)
        after = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert set(seen) == {1}
    assert set(after) == {2}


@pytest.mark.parametrize("limits", [{"window": 500}, {"budget": 200}, {"half_life": 200.0}])
def test_models_with_limits_have_suspects_too(limits):
    X, y = load_digits(return_X_y=True)
    given, wrong = flipped(y[:900], 0.1)
    model = LASVMClassifier(gamma=0.001, **limits).fit(X[:900], given)
    before = model.decision_function(X)
    assert np.isin(model.suspects(5).index, wrong).mean() > 0.5
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("name", ["LASVMClassifier", "SimpleSVMClassifier", "HullerClassifier"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_two_classes_with_words_for_labels(name):
    X, y = make_moons(400, noise=0.15, random_state=0)
    words = np.array(["no", "yes"])[y]
    given, wrong = flipped(words, 0.05)
    settings = {"C": 1.0} if name != "HullerClassifier" else {"C": 0.1}
    model = getattr(onlinesvm, name)(gamma=2.0, **settings).fit(X, given)
    found = model.suspects(len(wrong))
    assert np.isin(found.index, wrong).mean() > 0.75
    assert set(found.suggestion) <= {"no", "yes"}


def test_few_are_suspected_where_all_is_right():
    X, y = load_digits(return_X_y=True)
    found = LASVMClassifier(gamma=0.001).fit(X, y).suspects()
    assert len(found.index) < 0.03 * len(y)
    assert (found.score < 0).all()


def test_streams_tell_positions():
    X, y = make_moons(300, noise=0.1, random_state=0)
    given, wrong = flipped(y, 0.05)
    model = LASVMClassifier(gamma=2.0).partial_fit(X, given)
    found = model.suspects(len(wrong))
    assert (found.index == -1).all()
    rows = np.asarray(model.support_vectors_)[found.position]
    distance = np.abs(rows[:, None] - X[wrong][None]).sum(axis=2).min(axis=1)
    assert (distance < 1e-5).mean() > 0.7


def test_contradicting_copies_and_tiny_models_have_an_answer():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    found = LASVMClassifier(gamma=1.0).fit(X, [0, 1, 1, 1]).suspects(4)
    assert np.isfinite(found.score).all()
    two = LASVMClassifier().fit([[0.0], [1.0]], [0, 1]).suspects(5)
    assert len(two.index) == 2


def test_bad_input_is_refused():
    X, y = make_moons(60, random_state=0)
    with pytest.raises(NotFittedError):
        LASVMClassifier().suspects()
    model = LASVMClassifier().fit(X, y)
    for n in (0, -3, 1.5, "all", True):
        with pytest.raises(ValueError, match="n must be a number of examples"):
            model.suspects(n)
    with pytest.raises(ValueError, match="not stored with kernel"):
        LASVMClassifier(kernel="precomputed").fit(X @ X.T, y).suspects()
