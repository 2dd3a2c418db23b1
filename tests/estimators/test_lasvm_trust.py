"""LASVM on rare, late, sorted and tiny input: next to SVC, and never a silent wrong model."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from onlinesvm import ActiveLearner, LASVMClassifier


def rare(n, few, minority, rng, gap=6.0):
    y = np.full(n, 1 - minority)
    y[rng.choice(n, few, replace=False)] = minority
    return rng.normal(size=(n, 3)) + gap * (y == minority)[:, None], y


# -- a rare or late class -------------------------------------------------------------------------


@pytest.mark.parametrize("minority", [0, 1])
@pytest.mark.parametrize(("few", "epochs"), [(1, 1), (5, 1), (5, 2), (20, 1)])
def test_a_rare_class_is_found(minority, few, epochs):
    X, y = rare(20_000, few, minority, np.random.default_rng(few))
    for seed in range(3):
        model = LASVMClassifier(C=10, gamma=0.1, epochs=epochs, random_state=seed).fit(X, y)
        assert (model.predict(X) == y).all()


@pytest.mark.parametrize("minority", [0, 1])
def test_a_rare_class_that_overlaps_is_treated_as_svc_does(minority):
    X, y = rare(6000, 30, minority, np.random.default_rng(0), gap=2.0)
    exact = SVC(C=10, gamma=0.1).fit(X, y)
    for seed in range(3):
        model = LASVMClassifier(C=10, gamma=0.1, random_state=seed).fit(X, y)
        wanted = balanced_accuracy_score(y, exact.predict(X))
        assert balanced_accuracy_score(y, model.predict(X)) >= wanted - 0.02


@pytest.mark.parametrize("block_size", [100, 2048])
@pytest.mark.parametrize("labels", [[1, 0], [0, 1], [0, 1, 2], [2, 1, 0]])
def test_sorted_rows_without_shuffling(labels, block_size):
    y = np.repeat(labels, 1500)
    X = np.random.default_rng(0).normal(size=(len(y), 3)) + 3 * np.eye(3)[y]
    model = LASVMClassifier(gamma=0.1, shuffle=False, block_size=block_size).fit(X, y)
    assert model.score(X, y) >= SVC(gamma=0.1).fit(X, y).score(X, y) - 0.005


@pytest.mark.parametrize("column", [0, 1])
def test_rows_sorted_by_a_feature_without_shuffling(column):
    X, y = make_moons(3000, noise=0.25, random_state=0)
    order = np.argsort(X[:, column])
    X, y = X[order], y[order]
    exact = SVC(C=10, gamma=2.0).fit(X, y)
    model = LASVMClassifier(C=10, gamma=2.0, block_size=200, shuffle=False).fit(X, y)
    assert model.score(X, y) >= exact.score(X, y) - 0.005


@pytest.mark.parametrize("n", [8, 30, 300])
def test_few_rows_are_learned_to_the_end(n):
    X, y = make_moons(n, noise=0.3, random_state=1)
    order = np.lexsort([X[:, 0], y])
    exact = SVC(C=10, gamma=2.0, tol=1e-5).fit(X[order], y[order])
    model = LASVMClassifier(C=10, gamma=2.0, shuffle=False).fit(X[order], y[order])
    values = model.decision_function(X) - exact.decision_function(X)
    assert abs(values).max() < 0.01


def draw(n, rng, classes=2, only=None):
    y = rng.integers(classes, size=n) if only is None else np.full(n, only)
    return rng.normal(size=(n, 3)) + 4 * np.eye(3)[y], y


@pytest.mark.parametrize("size", [1, 5, 40, 3000])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("known", [True, False])
def test_a_stream_that_begins_with_one_class_recovers(size, classes, first, known):
    rng = np.random.default_rng(0)
    model = LASVMClassifier(gamma=0.1)
    X, y = draw(40 if size < 40 else size, rng, only=first)
    for a in range(0, len(y), size):
        expected = np.arange(classes) if known and a == 0 else None
        model.partial_fit(X[a : a + size], y[a : a + size], classes=expected)
    assert (model.predict(X) == first).all()
    X2, y2 = draw(600, rng, classes)
    for a in range(0, len(y2), size):
        model.partial_fit(X2[a : a + size], y2[a : a + size])
    exact = OneVsRestClassifier(SVC(gamma=0.1)).fit(np.vstack([X, X2]), np.append(y, y2))
    X, y = draw(1000, rng, classes)
    assert model.score(X, y) >= exact.score(X, y) - 0.005
    assert (model.dual_coef_ != 0).any(axis=1).all()


def test_a_stream_of_one_class_keeps_a_bounded_number_of_rows():
    rng = np.random.default_rng(0)
    for size, first, classes in ((1000, 0, None), (1000, 1, [0, 1]), (300, 1, [0, 1, 2])):
        model = LASVMClassifier(gamma=0.1)
        for _ in range(10):
            X, y = draw(size, rng, only=first)
            model.partial_fit(X, y, classes=classes)
        assert model._trained.learner.support.n <= 2048
        assert (model.predict(X) == first).all()


def test_a_label_that_never_comes_does_not_keep_rows():
    """Rows that the machines of the labels seen have evicted are gone."""
    rng = np.random.default_rng(0)
    held = []
    for classes in ([0, 1], [0, 1, 2]):
        model = LASVMClassifier(gamma=0.1)
        for _ in range(20):
            X, y = draw(500, rng)
            model.partial_fit(X, y, classes=classes)
        held.append(model._trained.learner.support.n)
    assert held[1] < 2 * held[0]


def test_weights_that_leave_one_class_predict_that_class():
    X, y = draw(200, np.random.default_rng(0))
    for only in (0, 1):
        model = LASVMClassifier(gamma=0.1).partial_fit(X, y, sample_weight=(y == only) * 1.0)
        assert (model.predict(X) == only).all()


# -- examples that were ignored -------------------------------------------------------------------


@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_every_misclassified_single_example_changes_the_model(how):
    X, y = make_moons(2000, noise=0.25, random_state=0)
    model = getattr(LASVMClassifier(gamma=1.0, random_state=0), how)(X, y)
    rng = np.random.default_rng(1)
    for label in (1, 0) * 4:
        sign = 1 if label == 1 else -1
        worst = np.argmin(sign * model.decision_function(X))
        before = model.decision_function(X)
        model.partial_fit(X[worst : worst + 1] + 0.01 * rng.normal(size=2), [label])
        assert np.abs(model.decision_function(X) - before).max() > 0.01


def test_every_answer_to_an_active_learner_counts():
    X, y = make_moons(1000, noise=0.25, random_state=0)
    model = LASVMClassifier(gamma=1.0, random_state=0).fit(X[:200], y[:200])
    learner = ActiveLearner(model, X[200:], random_state=0)
    for _ in range(8):
        before = learner.estimator.decision_function(X)
        index = learner.query()
        learner.teach(index, y[200:][index])
        assert np.abs(learner.estimator.decision_function(X) - before).max() > 0


def test_a_late_label_is_selected_like_the_others():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    model = LASVMClassifier(C=10, gamma=0.001, selection="active")
    model.partial_fit(X[y < 9], y[y < 9])
    late = X[y == 9][rng.integers((y == 9).sum(), size=600)] + rng.normal(size=(600, 64))
    for part in np.array_split(late, 3):
        before = model.n_learned_
        model.partial_fit(part, np.full(len(part), 9))
        assert model.n_learned_ > before
    assert model.n_learned_ - before < 0.9 * len(part)


# -- few rows a call ------------------------------------------------------------------------------


def noisy_drift(n, seed):
    """Labels that the features do not decide, around a boundary that turns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    angle = np.linspace(0, 1.5, n)
    side = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1]
    return X, ((side + 0.5 * rng.normal(size=n)) > 0).astype(int)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_small_batches_are_as_good_as_large_ones(C):
    (X, y), test = noisy_drift(2000, 0), noisy_drift(2000, 1)
    exact = SVC(C=C, gamma=0.5).fit(X, y).score(*test)
    scores = {}
    for size in (1, 20, 100, 1000):
        model = LASVMClassifier(C=C, gamma=0.5)
        for a in range(0, len(y), size):
            model.partial_fit(X[a : a + size], y[a : a + size])
        scores[size] = model.score(*test)
    few = min(scores[1], scores[20], scores[100])
    assert few > max(scores.values()) - 0.03, scores
    assert few > exact - 0.06, (scores, exact)


# -- convergence ----------------------------------------------------------------------------------


@pytest.mark.parametrize("block_size", [1, 7, 2048])
def test_convergence_is_never_claimed_falsely(block_size):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, C = int(rng.integers(20, 60)), float(10 ** rng.uniform(-2, 0))
        X = rng.normal(size=(n, 2))
        y = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
        y[:2] = 0, 1
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model = LASVMClassifier(
                C=C, gamma=0.1, epochs="converge", block_size=block_size, random_state=0
            ).fit(X, y)
        sign, alpha = np.where(y == 1, 1.0, -1.0), np.zeros(n)
        alpha[model.support_] = model.dual_coef_[0]
        gradient = sign - rbf_kernel(X, gamma=0.1) @ alpha
        up = alpha < np.maximum(0, sign * C) - 1e-12
        down = alpha > np.minimum(0, sign * C) + 1e-12
        assert gradient[up].max() - gradient[down].min() < 1.1e-3


@pytest.mark.timeout(60)
@pytest.mark.parametrize("settings", [{"block_size": 1}, {"budget": 100}, {}])
def test_finishing_at_a_large_c_ends(settings):
    """Pair steps of first order would zig-zag for minutes; SVC takes milliseconds."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(400, 2)))
    y = (X[:, 0] + 0.7 * rng.normal(size=400) > 0).astype(int)
    exact = SVC(C=1e6, gamma=1.0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LASVMClassifier(C=1e6, gamma=1.0, random_state=0, **settings).fit(X, y)
    if "budget" not in settings:
        assert model.score(X, y) >= exact.score(X, y) - 0.02


def test_a_stream_that_cannot_be_finished_says_so():
    X, y = make_moons(300, noise=0.3, random_state=0)
    model = LASVMClassifier(C=1e6, gamma=10.0, tol=1e-12).partial_fit(X, y)
    with pytest.warns(ConvergenceWarning, match="tol"):
        model.finish()


@pytest.mark.timeout(60)
def test_kernel_rows_that_are_not_kept_do_not_prolong_an_example():
    """The number of REPROCESS is limited also where each of them must ask for a kernel row."""
    rng = np.random.default_rng(0)
    X = 1e6 * rng.normal(size=(60, 2))
    y = rng.integers(0, 2, size=60)
    small, large = (
        LASVMClassifier(kernel="linear", cache_size=size).partial_fit(X[:20], y[:20])
        for size in (1e-5, 200)
    )
    for x, label in zip(X[20:], y[20:]):
        small.partial_fit(x[None], [label])
        large.partial_fit(x[None], [label])
    np.testing.assert_array_equal(small.decision_function(X), large.decision_function(X))


@pytest.mark.timeout(60)
def test_finishing_ends_where_gradients_overflow():
    """A model file may say so; no data do."""
    X, y = make_moons(60, noise=0.3, random_state=0)
    model = LASVMClassifier(gamma=1.0).partial_fit(X, y)
    grad = model._trained.learner.support.a.grad
    grad[0, :30], grad[0, 30:60] = 1.5e308, -1.5e308
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.finish()
