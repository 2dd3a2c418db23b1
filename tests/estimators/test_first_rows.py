"""gamma="scale" on a stream: estimated from enough rows, however they are cut into calls."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import onlinesvm
from onlinesvm import (
    AveragedPerceptronClassifier,
    BudgetPerceptronClassifier,
    HullerClassifier,
    KernelPerceptronClassifier,
    LASVMClassifier,
    NORMAClassifier,
    OLSVMClassifier,
    PegazClassifier,
    SimpleSVMClassifier,
    SimpleSVMOneClass,
    SimpleSVMRegressor,
)
from onlinesvm.estimators.rows import ENOUGH

CLASSIFIERS = [
    LASVMClassifier(),
    LASVMClassifier(block_size=1),
    HullerClassifier(C=1.0),
    NORMAClassifier(),
    PegazClassifier(),
    OLSVMClassifier(),
    KernelPerceptronClassifier(),
    AveragedPerceptronClassifier(),
    BudgetPerceptronClassifier(),
    SimpleSVMClassifier(),
]
OTHERS = [SimpleSVMRegressor(), SimpleSVMOneClass()]


def stream(n=ENOUGH + 40, seed=0):
    rng = np.random.default_rng(seed)
    X = 3.0 * rng.normal(size=(n, 4)) + 2.0
    return X, (X[:, 0] * X[:, 1] > 4).astype(int)


def fixed(model):
    """The model with a seed, where it has one."""
    model = clone(model)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def values(model, X):
    return getattr(model, "decision_function", model.predict)(X)


def learn(model, X, y, cuts):
    for part in np.split(np.arange(len(y)), cuts):
        if isinstance(model, SimpleSVMOneClass):
            model.partial_fit(X[part])
        else:
            model.partial_fit(X[part], y[part])
    return model


@pytest.mark.parametrize("model", CLASSIFIERS + OTHERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_the_cut_of_the_first_rows_does_not_matter(model, form):
    X, y = stream(ENOUGH)
    X, model = form(X), fixed(model)
    whole = values(learn(clone(model), X, y, []), X)
    for cuts in ([1], [1, 2, 3, 50], [99], list(range(1, 12))):
        parts = values(learn(clone(model), X, y, cuts), X)
        np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-8)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_gamma_is_that_of_the_first_rows_and_stays(model):
    X, y = stream()
    model = learn(clone(model), X[:ENOUGH], y[:ENOUGH], [1, 7])
    gamma = 1.0 / (4 * X[:ENOUGH].var())
    kernel = lambda: model._trained.kernel  # noqa: E731
    assert kernel().gamma == pytest.approx(gamma)
    model.partial_fit(100.0 * X[ENOUGH:], y[ENOUGH:])
    assert kernel().gamma == pytest.approx(gamma)


def test_a_first_row_of_zeros_is_no_harm():
    """As a scaler that learns on the stream gives; next to SVC on the same rows."""
    X, y = stream(600)
    X = StandardScaler().fit_transform(X)
    X[0] = 0.0
    exact = SVC().fit(X, y).score(X, y)
    for first in (1, 3):
        model = learn(LASVMClassifier(), X, y, list(range(first, 600, 20)))
        assert model.score(X, y) > exact - 0.03


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize(
    "model", CLASSIFIERS[:1] + CLASSIFIERS[-1:], ids=lambda m: type(m).__name__
)
def test_a_copy_in_between_goes_on_alike(model, duplicate):
    X, y = stream()
    one = learn(fixed(model), X[:30], y[:30], [1])
    two = duplicate(one)
    values = [learn(m, X[30:], y[30:], [20, 90]).decision_function(X) for m in (one, two)]
    np.testing.assert_array_equal(*values)


def test_learn_one_from_the_first_row():
    X, y = stream(300)
    one, many = LASVMClassifier(), LASVMClassifier()
    for x, label in zip(X, y):
        one.learn_one(x, label)
        many.partial_fit(x[None], [label])
    np.testing.assert_array_equal(one.decision_function(X), many.decision_function(X))
    assert one.score(X, y) > 0.9


def test_bad_rows_among_the_first_change_nothing():
    X, y = stream(20)
    model = LASVMClassifier().partial_fit(X, y)
    before = model.decision_function(X)
    for bad in (np.full((1, 4), np.nan), np.ones((1, 3))):
        with pytest.raises(ValueError):
            model.partial_fit(bad, [0])
    with pytest.raises(ValueError):
        model.partial_fit(X[:1], ["text"])
    np.testing.assert_array_equal(model.decision_function(X), before)
    X[:] = 7.0  # the user's array, changed afterwards
    np.testing.assert_array_equal(model._trained.first_rows.X == 7.0, False)


def test_what_an_active_learner_taught_is_not_lost():
    X, y = stream(200)
    model = LASVMClassifier().partial_fit(X[:5], y[:5])
    learner = onlinesvm.ActiveLearner(model, X[5:], random_state=0)
    for _ in range(40):
        index = learner.query()
        learner.teach(index, y[5:][index])
    taught = learner.estimator
    score = taught.score(X, y)
    taught.partial_fit(X[:1], y[:1])
    assert taught.n_support_.sum() > 10
    assert taught.score(X, y) > score - 0.1
