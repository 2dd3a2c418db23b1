"""The kernel perceptrons: equal to their listings after every example, and their promises."""

import numpy as np
import pytest
from naive.perceptron import NaiveBudgetPerceptron, NaivePerceptron
from scipy import sparse
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from onlinesvm.estimators.perceptron import (
    AveragedPerceptronClassifier,
    BudgetPerceptronClassifier,
    KernelPerceptronClassifier,
)

FAMILY = (KernelPerceptronClassifier, AveragedPerceptronClassifier, BudgetPerceptronClassifier)
family = pytest.mark.parametrize("cls", FAMILY)
kernels = pytest.mark.parametrize("kernel", ["linear", "rbf"])
plain_or_averaged = pytest.mark.parametrize("cls", FAMILY[:2])


def problem(n=40, seed=0, labels=2):
    """Points on a grid, exact in float32: twins see the same kernel values."""
    rng = np.random.default_rng(seed)
    X = np.unique(np.round(rng.standard_normal((n, 3)) * 8) / 8, axis=0)
    X = X[rng.permutation(len(X))]
    score = X[:, 0] * X[:, 1] + 0.4 * rng.standard_normal(len(X))
    y = np.digitize(score, np.quantile(score, np.arange(1, labels) / labels))
    y[:labels] = np.arange(labels)
    return X, y


def gram(kernel, X):
    return linear_kernel(X) if kernel == "linear" else rbf_kernel(X, gamma=0.5)


def coefficients(model, X):
    """Per example of X, copies added up: (machines, n)."""
    found = np.zeros((len(model.dual_coef_), len(X)))
    for row, coef in zip(model.support_vectors_, model.dual_coef_.T):
        found[:, np.flatnonzero((abs(X - row) < 1e-4).all(axis=1))[0]] += coef
    return found


@plain_or_averaged
@kernels
def test_equals_the_listing_after_every_example(cls, kernel):
    X, y = problem()
    K = gram(kernel, X)
    twin = NaivePerceptron(K, 2.0 * y - 1)
    model = cls(kernel=kernel, gamma=0.5)
    for t in range(len(X)):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=[0, 1])
        twin.step(t)
        alpha = twin.alpha if cls is KernelPerceptronClassifier else twin.average()
        np.testing.assert_allclose(coefficients(model, X), [alpha], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.decision_function(X), K @ alpha, rtol=1e-4, atol=1e-4)
        assert model.n_support_.sum() == np.count_nonzero(alpha)


@plain_or_averaged
@kernels
def test_equals_the_listing_after_several_epochs(cls, kernel, monkeypatch):
    from onlinesvm.core.sgd import learner as sgd_learner

    monkeypatch.setattr(sgd_learner, "BLOCK", 7)
    X, y = problem(seed=1)
    K = gram(kernel, X)
    for epochs in (1, 2, 5):
        twin = NaivePerceptron(K, 2.0 * y - 1)
        for t in list(range(len(X))) * epochs:
            twin.step(t)
        model = cls(kernel=kernel, gamma=0.5, epochs=epochs, shuffle=False).fit(X, y)
        alpha = twin.alpha if cls is KernelPerceptronClassifier else twin.average()
        found = np.zeros(len(X))
        found[model.support_] = model.dual_coef_[0]
        np.testing.assert_allclose(found, alpha, rtol=1e-9, atol=1e-12)


@kernels
@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize(("budget", "margin"), [(1, 0.0), (5, 0.0), (8, 0.3), (100, 0.1)])
@pytest.mark.parametrize("cache_size", [200, 1e-9])
def test_budget_equals_the_listing_after_every_example(
    kernel, labels, budget, margin, cache_size, monkeypatch
):
    from onlinesvm.core.sgd import perceptron

    if cache_size < 1:  # kernel values among support vectors are not kept
        monkeypatch.setattr(perceptron, "BLOCK", 1)
    X, y = problem(labels=labels)
    K = gram(kernel, X)
    Y = np.array([np.where(y == c, 1, -1) for c in range(labels)][-1:] if labels == 2 else
                 [np.where(y == c, 1, -1) for c in range(labels)])  # fmt: skip
    twin = NaiveBudgetPerceptron(K, Y, margin, budget)
    model = BudgetPerceptronClassifier(
        budget=budget, margin=margin, kernel=kernel, gamma=0.5, cache_size=cache_size
    )
    for t in range(len(X)):
        model.partial_fit(X[t : t + 1], y[t : t + 1], classes=list(range(labels)))
        twin.step(t)
        assert model.n_support_.sum() == len(twin.S) <= budget
        np.testing.assert_array_equal(coefficients(model, X), twin.coefficients())
        values = model.decision_function(X).reshape(len(X), -1)
        np.testing.assert_allclose(values, K @ twin.coefficients().T, rtol=1e-4, atol=1e-4)


def test_budget_in_blocks_and_epochs_equals_the_listing():
    X, y = problem(700, seed=4)
    twin = NaiveBudgetPerceptron(rbf_kernel(X, gamma=0.5), 2.0 * y - 1, 0.2, 40)
    for t in list(range(len(X))) * 2:
        twin.step(t)
    for cache_size in (200, 1e-9):
        model = BudgetPerceptronClassifier(
            budget=40, margin=0.2, gamma=0.5, epochs=2, shuffle=False, cache_size=cache_size
        ).fit(X, y)
        np.testing.assert_array_equal(coefficients(model, X), twin.coefficients())
        assert sorted(model.support_) == sorted(i for i, _ in twin.S)


def test_the_budget_grows_beyond_a_block_with_and_without_kept_values():
    X, y = make_classification(1200, 4, flip_y=0.3, random_state=0)
    runs = [
        BudgetPerceptronClassifier(budget=300, gamma=0.2, cache_size=size, random_state=0).fit(X, y)
        for size in (200, 0.1)
    ]
    assert runs[0]._trained.learner.a.gram.size > 0 == runs[1]._trained.learner.a.gram.size
    np.testing.assert_array_equal(runs[0].dual_coef_, runs[1].dual_coef_)
    np.testing.assert_array_equal(runs[0].support_, runs[1].support_)
    assert runs[0].n_support_.sum() == 300


@pytest.mark.parametrize("labels", [2, 4])
def test_budget_is_never_exceeded(labels):
    X, y = make_classification(
        2000, 6, n_informative=5, n_redundant=0, n_classes=labels, flip_y=0.3, random_state=0
    )
    model = BudgetPerceptronClassifier(budget=30, gamma=0.2)
    for first in range(0, 2000, 100):
        model.partial_fit(X[first : first + 100], y[first : first + 100])
        assert model.n_support_.sum() <= 30
    assert model.n_support_.sum() == 30


def test_budget_and_average_beat_the_plain_perceptron_on_noisy_labels():
    """With a margin, and a budget that binds but leaves room for more than the wrong labels."""
    errors = {cls: [] for cls in FAMILY}
    for seed in range(5):
        X, y = make_moons(3000, noise=0.15, random_state=seed)
        noisy = y ^ (np.random.default_rng(seed).random(3000) < 0.1)
        for cls in FAMILY:
            more = {"budget": 1000, "margin": 100.0} if cls is BudgetPerceptronClassifier else {}
            model = cls(gamma=2.0, random_state=seed, **more).fit(X[:2000], noisy[:2000])
            assert model.n_support_.sum() == 1000 or cls is not BudgetPerceptronClassifier
            errors[cls].append(1 - model.score(X[2000:], y[2000:]))
    plain, averaged, budget = (np.mean(errors[cls]) for cls in FAMILY)
    assert budget < plain
    assert averaged < plain


def test_perceptron_stops_changing_on_separable_data():
    X, y = make_moons(300, noise=0.05, random_state=0)
    models = [
        KernelPerceptronClassifier(gamma=5.0, epochs=epochs, random_state=0).fit(X, y)
        for epochs in (20, 30)
    ]
    np.testing.assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)
    assert models[0].score(X, y) == 1.0


@family
def test_weights_are_refused_and_nothing_changes(cls):
    X, y = problem()
    model = cls(gamma=0.5).partial_fit(X, y)
    before = model.decision_function(X)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="does not support sample_weight: it has no cost"):
            learn(X, y, sample_weight=np.ones(len(X)))
    np.testing.assert_array_equal(model.decision_function(X), before)
    with pytest.raises(TypeError):
        cls(class_weight="balanced")


@pytest.mark.parametrize(
    ("params", "name"), [({"budget": 0}, "budget"), ({"margin": -1}, "margin")]
)
def test_bad_parameters(params, name):
    X, y = problem()
    with pytest.raises(ValueError, match=f"'{name}' parameter of BudgetPerceptronClassifier must"):
        BudgetPerceptronClassifier(**params).fit(X, y)


@family
def test_a_late_label_starts_against_the_present_support_vectors(cls):
    X, y = problem()
    model = cls(gamma=0.5).partial_fit(X, y)
    model.partial_fit(X[:1] + 9, [5])
    values = model.decision_function(model.support_vectors_[:-1])[:, 2]
    assert (values < 0.1).mean() > 0.8


@family
def test_one_vs_rest_of_mirrored_machines(cls):
    """Two labels are one machine; split by a third, each side is the other's mirror."""
    X, y = problem()
    model = cls(gamma=0.5).partial_fit(X, y)
    values = model.decision_function(X)
    model.partial_fit(X[:1] + 99, [5])  # far away: a kernel value of zero with all others
    if cls is not AveragedPerceptronClassifier:
        split = model.decision_function(X)
        np.testing.assert_allclose(split[:, 1], values, atol=1e-6)
        np.testing.assert_allclose(split[:, 0], -values, atol=1e-6)


@family
def test_dense_sparse_and_precomputed_agree(cls):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    csr, K = sparse.csr_matrix(X), rbf_kernel(X, gamma=0.001)
    values = [
        cls(gamma=0.001, shuffle=False).fit(X, y).decision_function(X),
        cls(gamma=0.001, shuffle=False).fit(csr, y).decision_function(csr),
        cls(kernel="precomputed", shuffle=False).fit(K, y).decision_function(K),
    ]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(values[2], values[0], rtol=1e-3, atol=1e-3)


@family
def test_kernel_evaluations_are_counted(cls):
    X, y = problem()
    model = cls(gamma=0.5).partial_fit(X, y)
    first = model.n_kernel_evaluations_
    model.predict(X)
    assert model.n_kernel_evaluations_ == first > 0
    model.partial_fit(X[:1], y[:1])
    assert model.n_kernel_evaluations_ > first
