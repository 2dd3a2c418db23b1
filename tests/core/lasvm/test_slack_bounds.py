"""After a change of the model, slacks that are known bound those that are not computed again."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics.pairwise import rbf_kernel

from onlinesvm import LASVMClassifier, LASVMRegressor
from onlinesvm.core.lasvm.block import block, second_look, slack_bounds

TOL = 1e-3


def table(n=900, classes=2, seed=0):
    return make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=classes, flip_y=0.08, class_sep=1.2,
        random_state=seed,
    )  # fmt: skip


def repeated(X, y):
    return np.r_[X, X[:200], X[:50]], np.r_[y, y[:200], y[:50]]


def contradictory(X, y):
    return np.r_[X, X[:60]], np.r_[y, 1 - y[:60]]


CASES = {
    "rbf": ({"C": 5.0, "gamma": 0.2}, None),
    "rbf, tiny C": ({"C": 1e-3, "gamma": 0.2}, None),
    "rbf, huge C": ({"C": 1e4, "gamma": 0.2}, None),
    "rbf, wide": ({"C": 5.0, "gamma": 1e-4}, None),
    "rbf, narrow": ({"C": 5.0, "gamma": 20.0}, None),
    "laplacian": ({"kernel": "laplacian", "gamma": 0.2}, None),
    "matern12": ({"kernel": "matern12", "gamma": 0.3}, None),
    "linear": ({"kernel": "linear"}, None),
    "poly": ({"kernel": "poly", "degree": 3, "gamma": 0.1, "coef0": 1.0}, None),
    "poly, long rows": ({"kernel": "poly", "degree": 2, "gamma": 1.0, "C": 0.1}, None),
    "poly, not definite": (
        {"kernel": "poly", "degree": 3, "gamma": 0.1, "coef0": -0.2, "C": 0.1}, None
    ),
    "callable": ({"kernel": lambda A, B: rbf_kernel(A, B, gamma=0.2)}, None),
    "scaled": ({"C": 5.0, "gamma": 2e-7}, lambda X, y: (1e3 * X, y)),
    "shifted": ({"C": 5.0, "gamma": 0.2}, lambda X, y: (X + 1e4, y)),
    "linear, shifted": ({"kernel": "linear", "C": 0.1}, lambda X, y: (X + 10, y)),
    "repeated": ({"C": 5.0, "gamma": 0.2}, repeated),
    "contradictory": ({"C": 5.0, "gamma": 0.2}, contradictory),
    "sparse": ({"C": 5.0, "gamma": 0.2}, lambda X, y: (sparse.csr_matrix(np.where(X > 0, X, 0)), y)),
    "sorted": ({"C": 5.0, "gamma": 0.2}, lambda X, y: (X[np.argsort(y)], np.sort(y))),
}  # fmt: skip


def true_slacks(model, X, y):
    """Slacks of all examples that remain, by the model as it is; -inf for members."""
    trained = model._trained
    learner, support = trained.learner, trained.learner.support
    left = trained.original
    key = left if trained.kernel.name == "precomputed" else None
    values = learner.decide(trained.rows(X[left], key)).T
    linear = support.linear(trained.encoder.encode(y[left]))
    slacks = support.task.slack(linear, linear - values)
    held = support.a.key[: support.n]
    slacks[:, held] = np.where(support.a.member[:, : support.n], -np.inf, slacks[:, held])
    return slacks


def check(model, X, y, gone, tol=TOL, **fit):
    """The quick road and the one that scores all: the same model; bounds hold; nothing violates."""
    assert model._trained.learner.known_slacks() is not None
    other = deepcopy(model)
    other._trained.learner.judged = None
    model.forget(gone, X, y, **fit)
    other.forget(gone, X, y, **fit)
    learner = model._trained.learner
    unit = learner.unit[:, None]
    slacks = true_slacks(model, X, y)
    kept = learner.known_slacks().slacks
    assert kept.shape == slacks.shape
    assert (kept >= slacks - 1e-4 * unit).all()
    assert (slacks <= tol * unit).all()
    np.testing.assert_allclose(
        model.decision_function(X) if hasattr(model, "classes_") else model.predict(X),
        other.decision_function(X) if hasattr(model, "classes_") else other.predict(X),
        atol=4 * tol * float(unit.max()),
    )


def strongest(model, count):
    coef = model.dual_coef_
    coef = coef.toarray() if sparse.issparse(coef) else np.asarray(coef)
    return model.support_[np.argsort(-np.abs(coef).max(axis=0), kind="stable")[:count]]


@pytest.mark.parametrize("name", CASES)
def test_awkward_data_and_kernels(name):
    settings, change = CASES[name]
    X, y = table()
    if change is not None:
        X, y = change(X, y)
    model = LASVMClassifier(epochs="converge", tol=TOL, random_state=0, **settings).fit(X, y)
    for count in (1, 7, 40):  # one after the other: bounds of bounds
        check(model, X, y, strongest(model, count))


@pytest.mark.parametrize("decision", ["ovr", "ovo"])
def test_several_classes(decision):
    X, y = table(900, 4)
    model = LASVMClassifier(gamma=0.2, epochs="converge", decision=decision).fit(X, y)
    for count in (1, 20):
        check(model, X, y, strongest(model, count))


def test_several_labels():
    X, y = table()
    Y = np.stack([y, X[:, 0] > 0.5, X[:, 1] + X[:, 2] > 0], axis=1).astype(int)
    model = LASVMClassifier(gamma=0.2, epochs="converge").fit(X, Y)
    for count in (1, 20):
        check(model, X, Y, strongest(model, count))


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e6])
@pytest.mark.parametrize("quantile", [None, 0.8, [0.1, 0.5, 0.9]])
def test_values_and_quantiles(scale, quantile):
    X, y = make_friedman1(700, noise=1.0, random_state=0)
    y = scale * y + 3.0 * scale
    settings = {} if quantile is not None else {"epsilon": 0.5 * scale}
    model = LASVMRegressor(
        C=scale, gamma=0.5, epochs="converge", quantile=quantile, tol=TOL, **settings
    ).fit(X, y)
    for count in (1, 20):
        check(model, X, y, strongest(model, count))


def test_weights():
    X, y = repeated(*table())
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    model = LASVMClassifier(gamma=0.2, epochs="converge").fit(X, y, sample_weight=weight)
    gone = strongest(model, 10)
    check(model, X, y, gone, sample_weight=weight)
    left = np.setdiff1d(model._trained.original, [])
    bound = np.broadcast_to(model._trained.learner.judged.bound, len(left))
    held = model._trained.learner.support
    np.testing.assert_array_equal(held.a.bound[: held.n], bound[held.a.key[: held.n]])


def test_kernel_values_of_others():
    X, y = table(500)
    K = rbf_kernel(X, gamma=0.2)
    model = LASVMClassifier(kernel="precomputed", epochs="converge").fit(K, y)
    check(model, K, y, strongest(model, 5))


def test_few_examples_are_scored_again(monkeypatch):
    X, y = table(3000)
    model = LASVMClassifier(gamma=0.1, epochs="converge", random_state=0).fit(X, y)
    other, gone, scored = deepcopy(model), strongest(model, 1), []
    other._trained.learner.judged = None
    judge = block.judge
    monkeypatch.setattr(
        block, "judge", lambda *given: scored.append(len(given[2].rows)) or judge(*given)
    )
    model.forget(gone, X, y)
    few = sum(scored)
    other.forget(gone, X, y)
    assert few < 0.02 * len(X) < 0.5 * len(X) < sum(scored) - few
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=4 * TOL)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern12"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_with_a_wide_kernel_a_centre_rules_out_most(monkeypatch, kernel, form):
    """Bounds hold where rows are close to a common point, and few changes are computed."""
    rng = np.random.default_rng(0)
    ones = (rng.uniform(size=(2000, 60)) < 0.2).astype(float)
    y = ones @ rng.normal(size=60) + rng.normal(size=2000) > 0
    X, gamma = form(ones), {"rbf": 0.003, "laplacian": 0.005, "matern12": 0.01}[kernel]
    settings = {"kernel": kernel, "gamma": gamma, "C": 10.0, "epochs": "converge"}
    model = LASVMClassifier(random_state=0, **settings).fit(X, y)
    gone, computed = strongest(model, 1), []
    after = slack_bounds.Reference._after
    monkeypatch.setattr(
        slack_bounds.Reference,
        "_after",
        lambda *given: computed.append(len(given[2].rows)) or after(*given),
    )
    with monkeypatch.context() as without:
        without.setattr(slack_bounds, "CLOSE", 0.0)
        deepcopy(model).forget(gone, X, y)
    by_length = sum(computed)
    computed.clear()
    check(model, X, y, gone)
    assert sum(computed) < 0.75 * by_length


def test_what_is_learned_since_ends_it_and_pickles_do_not_have_it():
    X, y = table()
    model = LASVMClassifier(gamma=0.2, epochs="converge").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert again._trained.learner.judged is None
    gone = strongest(model, 5)
    np.testing.assert_allclose(
        again.forget(gone, X, y).decision_function(X),
        deepcopy(model).forget(gone, X, y).decision_function(X), atol=4 * TOL,
    )  # fmt: skip
    assert again._trained.learner.known_slacks() is not None  # it has scored all
    model.partial_fit(X[:20] + 0.1, 1 - y[:20])
    assert model._trained.learner.known_slacks() is None
    model.forget(gone, X, y)
    slacks = true_slacks_of_fit(model, X, y)
    assert (slacks <= TOL).all()


def true_slacks_of_fit(model, X, y):
    """The same where rows of a stream are held as well."""
    trained = model._trained
    left, support = trained.original, trained.learner.support
    values = trained.learner.decide(trained.rows(X[left])).T
    linear = support.linear(trained.encoder.encode(y[left]))
    slacks = support.task.slack(linear, linear - values)
    held = np.flatnonzero(support.a.key[: support.n] >= 0)
    slacks[:, support.a.key[held]] = -np.inf
    return slacks


def test_without_the_data_it_is_known_how_many_may_matter():
    X, y = table(2000)
    settings = {"C": 5.0, "gamma": 0.2, "epochs": "converge"}
    model = LASVMClassifier(**settings).fit(X, y)
    gone = strongest(model, 10)
    blind, seeing = deepcopy(model).forget(gone), deepcopy(model).forget(gone, X, y)
    found = blind.forget_report_["unchecked"]
    assert seeing.forget_report_["unchecked"] == 0
    assert seeing.forget_report_["joined"] <= found < len(X)
    slacks, kept = true_slacks(blind, X, y), blind._trained.learner.known_slacks().slacks
    assert (kept >= slacks - 1e-4).all()
    later = np.setdiff1d(strongest(model, 20), gone)  # from bounds that are not close
    blind.forget(later, X, y)
    seeing.forget(later, X, y)
    difference = blind.decision_function(X) - seeing.decision_function(X)
    assert np.abs(difference).max() < 4 * TOL


def test_rows_of_a_stream_are_not_taken_for_the_last_example():
    """They have negative keys; once, the last example of the data set was left out for them."""
    X, y = table(400)
    settings = {"C": 1.0, "gamma": 0.2, "shuffle": False}
    first = LASVMClassifier(**settings).fit(X[:300], y[:300])
    order = np.argsort(np.isin(np.arange(300), stored_numbers(first)), kind="stable")[::-1]
    X, y = np.r_[X[:300][order], X[300:]], np.r_[y[:300][order], y[300:]]
    model = LASVMClassifier(**settings).fit(X[:300], y[:300])
    assert 299 not in stored_numbers(model)
    model.partial_fit(X[300:], y[300:])
    trained = model._trained
    assert (trained.learner.support.a.key[: trained.learner.n] < 0).any()
    data, slacks = trained.examples(X[:300], y[:300], np.ones(300)), np.full((1, 300), np.inf)
    second_look.admit(trained.learner, data, slacks, np.inf, np.array([-np.inf]))
    np.testing.assert_array_equal(stored_numbers(model), np.arange(300))


def stored_numbers(model):
    key = model._trained.learner.support.a.key[: model._trained.learner.n]
    return np.sort(key[key >= 0])
