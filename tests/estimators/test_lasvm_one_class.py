"""``LASVMOneClass``: the exact OneClassSVM at convergence, about its ranking after one pass."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import OneClassSVM

from onlinesvm import LASVMOneClass, SimpleSVMOneClass

GAMMA = 0.3


@pytest.fixture(scope="module")
def clouds():
    """Two clouds of different width."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(size=(500, 3)), 3 + 0.3 * rng.normal(size=(300, 3))])


@pytest.fixture(scope="module")
def questions(clouds):
    """Examples like those, and novel ones; with their labels."""
    rng = np.random.default_rng(1)
    novel = rng.uniform(-5, 8, (400, 3))
    return np.concatenate([clouds[::2], novel]), np.repeat([1, 0], [400, 400])


def make(**settings):
    return LASVMOneClass(**{"nu": 0.1, "gamma": GAMMA, "random_state": 0, **settings})


def objective(model, X):
    a = np.zeros(len(X))
    a[model.support_] = np.ravel(model.dual_coef_)
    return a @ rbf_kernel(X, gamma=GAMMA) @ a / 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("nu", [0.01, 0.2, 0.5, 0.95])
def test_exact(clouds, nu, weighted):
    weight = np.random.default_rng(2).uniform(0.1, 3.0, len(clouds)) if weighted else None
    # At its own tol of 1e-3 OneClassSVM is less exact than that where nu n is small.
    exact = OneClassSVM(nu=nu, gamma=GAMMA, tol=1e-6).fit(clouds, sample_weight=weight)
    model = make(nu=nu, epochs="converge", block_size=128).fit(clouds, sample_weight=weight)
    assert objective(model, clouds) == pytest.approx(objective(exact, clouds), rel=1e-5)
    expected = exact.decision_function(clouds)
    difference = np.abs(model.decision_function(clouds) - expected).max()
    assert difference < 0.01 * expected.std()
    assert model.dual_coef_.sum() == pytest.approx(exact.dual_coef_.sum())
    assert model.offset_ == pytest.approx(exact.offset_[0], rel=2e-3)


def test_one_pass_ranks_as_well(clouds, questions):
    X, y = questions
    exact = OneClassSVM(nu=0.1, gamma=GAMMA).fit(clouds)
    best = roc_auc_score(y, exact.decision_function(X))
    for shuffle in (True, False):  # without it, one cloud comes after the other
        model = make(block_size=64, shuffle=shuffle).fit(clouds)
        assert roc_auc_score(y, model.decision_function(X)) == pytest.approx(best, abs=0.002)


def test_nu_means_what_it_says(clouds):
    for nu in (0.05, 0.3):
        model = make(nu=nu).fit(clouds)
        assert np.mean(model.decision_function(clouds) < -1e-2 * model.offset_) <= nu
        assert len(model.support_) >= nu * len(clouds)


def test_nu_of_one_has_every_example_outside_or_on_the_edge(clouds):
    model = make(nu=1.0).fit(clouds)
    np.testing.assert_array_equal(model.dual_coef_, 1.0)
    values = model.decision_function(clouds)
    assert values.max() <= 1e-4 * model.offset_
    assert values.max() >= -1e-4 * model.offset_


def test_scores_and_predictions_belong_together(clouds, questions):
    X, _ = questions
    model = make().fit(clouds)
    values = model.decision_function(X)
    np.testing.assert_allclose(model.score_samples(X) - model.offset_, values)
    np.testing.assert_array_equal(model.predict(X), np.where(values >= 0, 1, -1))
    np.testing.assert_array_equal(model.fit_predict(clouds), model.predict(clouds))
    assert model.intercept_[0] == -model.offset_


@pytest.mark.parametrize("size", [1, 5, 100])
def test_a_stream_keeps_nu(clouds, questions, size):
    X, y = questions
    order = np.random.default_rng(3).permutation(len(clouds))[:400]
    model = make()
    for first in range(0, 400, size):
        part = order[first : first + size]
        model.partial_fit(clouds[part])
        seen = first + len(part)
        assert model._trained.learner.support.alpha().sum() == pytest.approx(0.1 * seen)
    exact = OneClassSVM(nu=0.1, gamma=GAMMA).fit(clouds[order])
    best = roc_auc_score(y, exact.decision_function(X))
    assert roc_auc_score(y, model.decision_function(X)) > best - 0.02
    assert roc_auc_score(y, model.finish().decision_function(X)) > best - 0.01


def test_learn_one_is_partial_fit_with_one_row(clouds):
    quick, slow = make(), make()
    for x, weight in zip(clouds[:150], np.tile([1.0, 2.0, 0.5], 50)):
        quick.learn_one(x, weight)
        slow.partial_fit(x[None], None, [weight])
    np.testing.assert_array_equal(quick.decision_function(clouds), slow.decision_function(clouds))


def test_learning_goes_on_after_a_pickle(clouds):
    model = make().partial_fit(clouds[:300])
    again = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    for one in (model, *again):
        one.partial_fit(clouds[300:600])
    for one in again:
        np.testing.assert_array_equal(
            one.decision_function(clouds), model.decision_function(clouds)
        )


def test_sparse_and_other_kernels(clouds):
    dense = make().fit(clouds)
    csr = make().fit(sparse.csr_matrix(clouds))
    values = dense.decision_function(clouds)
    np.testing.assert_allclose(csr.decision_function(clouds), values, atol=5e-3 * dense.offset_)
    K = rbf_kernel(clouds, gamma=GAMMA)
    given = make(kernel="precomputed").fit(K)
    np.testing.assert_allclose(given.decision_function(K), values, atol=5e-3 * dense.offset_)
    linear = make(kernel="linear", epochs="converge").fit(clouds + 5.0)
    exact = OneClassSVM(kernel="linear", nu=0.1).fit(clouds + 5.0)
    np.testing.assert_allclose(
        linear.decision_function(clouds), exact.decision_function(clouds),
        atol=0.01 * np.abs(exact.offset_[0]),
    )  # fmt: skip


@pytest.mark.parametrize("kind", [LASVMOneClass, SimpleSVMOneClass])
@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_only_ratios_of_weights_matter(clouds, kind, size):
    weight = np.random.default_rng(2).uniform(1.0, 2.0, len(clouds[::2]))
    weight[0], weight[1] = 1.0, 1.0
    scaled = weight * size if size < 1 else weight * (size / weight.max())
    exact = OneClassSVM(nu=0.2, gamma=GAMMA, tol=1e-6).fit(clouds[::2], sample_weight=weight)
    model = kind(nu=0.2, gamma=GAMMA).fit(clouds[::2], sample_weight=scaled)
    same = (model.predict(clouds) == exact.predict(clouds)).mean()
    assert same > 0.98


@pytest.mark.parametrize("kind", [LASVMOneClass, SimpleSVMOneClass])
@pytest.mark.parametrize("size", [1e-100, 1e-20, 1e30, 1e300])
def test_weights_in_a_strange_unit_are_refused(clouds, kind, size):
    """Edges were NaN or zero, or the fit did not end; ``OneClassSVM`` is wrong as well."""
    model = kind(nu=0.2, gamma=GAMMA).fit(clouds[:50])
    before = model.decision_function(clouds)
    with pytest.raises(ValueError, match="Only their ratios matter"):
        model.partial_fit(clouds[50:60], sample_weight=np.full(10, size))
    if kind is LASVMOneClass:
        with pytest.raises(ValueError, match="Only their ratios matter"):
            model.learn_one(clouds[0], sample_weight=size)
    np.testing.assert_array_equal(model.decision_function(clouds), before)
    with pytest.raises(ValueError, match="Only their ratios matter"):
        kind().fit(clouds[:50], sample_weight=np.r_[size, np.ones(49)])


def test_copies_count_as_often_as_they_come(clouds):
    twice = make(epochs="converge").fit(np.repeat(clouds, 2, axis=0))
    weighted = make(epochs="converge").fit(clouds, sample_weight=np.full(len(clouds), 2.0))
    np.testing.assert_allclose(
        twice.decision_function(clouds), weighted.decision_function(clouds),
        atol=5e-3 * weighted.offset_,
    )  # fmt: skip


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.1, np.nan])
def test_nu_outside_its_range(clouds, nu):
    with pytest.raises(ValueError, match="'nu' parameter"):
        make(nu=nu).fit(clouds)


def test_bad_input_changes_nothing(clouds):
    model = make().partial_fit(clouds[:300])
    before = model.decision_function(clouds)
    bad = clouds[:20].copy()
    bad[3, 1] = np.nan
    for call in (
        lambda: model.partial_fit(bad),
        lambda: model.fit(bad),
        lambda: model.learn_one(bad[3]),
        lambda: model.learn_one(clouds[0, :2]),
        lambda: model.learn_one(clouds[:2]),
        lambda: model.partial_fit(clouds[:20], None, np.zeros(20)),
        lambda: model.partial_fit(clouds[:20], None, np.full(20, -1.0)),
    ):
        with pytest.raises(ValueError, match=r"NaN|features|one row|weight"):
            call()
        np.testing.assert_array_equal(model.decision_function(clouds), before)


def test_one_example_and_equal_examples():
    model = make().fit([[1.0, 2.0]])
    assert model.predict([[1.0, 2.0], [9.0, 9.0]]).tolist() == [1, -1]
    model = make().fit(np.ones((50, 2)))
    assert model.predict([[1.0, 1.0], [9.0, 9.0]]).tolist() == [1, -1]


def test_a_warning_names_no_parameter_that_it_does_not_have():
    X = np.random.default_rng(0).normal(size=(300, 5))  # the origin is inside: no edge separates it
    model = LASVMOneClass(nu=0.3, kernel="poly", gamma=0.2, epochs="converge")
    with pytest.warns(ConvergenceWarning, match="Use a larger tol, or scale the features"):
        model.fit(X)
    assert model.fit_status_ == 1
