"""The SimpleSVM estimators: exactness, coming and going of examples, leave-one-out, bad input."""

import pickle
import signal
import warnings

import numpy as np
import pytest
from plain_kernels import plain_rbf
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from onlinesvm.estimators.simplesvm import SimpleSVMClassifier
from onlinesvm.estimators.simplesvm_values import SimpleSVMOneClass, SimpleSVMRegressor

KERNELS = [
    {"kernel": "linear"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.1},
    {"kernel": "rbf", "gamma": 0.1},
]
kernels = pytest.mark.parametrize("options", KERNELS, ids=lambda o: o["kernel"])


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return ((X - X.mean(axis=0)) / X.std(axis=0))[:250], y[:250]


def kernel_matrix(X, options):
    X = X.toarray() if sparse.issparse(X) else X
    rest = {k: v for k, v in options.items() if k != "kernel"}
    return pairwise_kernels(X, metric=options["kernel"], **rest)


def coefficients(model, n):
    values = model.dual_coef_
    values = values.toarray() if sparse.issparse(values) else np.asarray(values)
    out = np.zeros(n)
    out[model.support_] = values.ravel()
    return out


def check_against(model, reference, K, objective, decide="decision_function", X=None):
    """Objective to 1e-6 relative, decision values to 1e-3."""
    n = len(K)
    ours, theirs = objective(coefficients(model, n)), objective(coefficients(reference, n))
    assert ours == pytest.approx(theirs, rel=1e-6)
    assert ours == pytest.approx(model.dual_objective_[0], rel=1e-9)
    a, b = getattr(model, decide)(X), getattr(reference, decide)(X)
    np.testing.assert_allclose(a, b, atol=1e-3 * max(1.0, np.abs(b).max()))
    assert model.kkt_violation_ < 1e-5


def check_c_svc(X, y, C, options):
    K = kernel_matrix(X, options)
    model = SimpleSVMClassifier(C=C, **options).fit(X, y)
    reference = SVC(C=C, tol=1e-8, **options).fit(X, y)
    check_against(model, reference, K, lambda c: c @ K @ c / 2 - np.abs(c).sum(), X=X)


@kernels
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_linear_slack_equals_svc(cancer, options, C):
    check_c_svc(*cancer, C, options)


@kernels
def test_nu_equals_nu_svc(cancer, options):
    X, y = cancer
    model = SimpleSVMClassifier(nu=0.2, **options).fit(X, y)
    reference = NuSVC(nu=0.2, tol=1e-8, **options).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), reference.decision_function(X), atol=1e-3
    )
    K = kernel_matrix(X, options)
    a, b = coefficients(model, len(y)), coefficients(reference, len(y))
    assert a @ K @ a == pytest.approx(b @ K @ b, rel=1e-5)
    np.testing.assert_allclose(a[y == 1].sum(), b[y == 1].sum(), rtol=1e-5)


@kernels
def test_quadratic_slack_equals_hard_margin_on_a_shifted_kernel(cancer, options):
    X, y = cancer
    C = 2.0
    K = kernel_matrix(X, options) + np.eye(len(y)) / C
    model = SimpleSVMClassifier(C=C, margin="quadratic", **options).fit(X, y)
    reference = SVC(C=1e8, kernel="precomputed", tol=1e-8).fit(K, y)
    c, r = coefficients(model, len(y)), coefficients(reference, len(y))
    objective = c @ K @ c / 2 - np.abs(c).sum()
    assert objective == pytest.approx(r @ K @ r / 2 - np.abs(r).sum(), rel=1e-6)
    assert objective == pytest.approx(model.dual_objective_[0], rel=1e-9)
    np.testing.assert_allclose(
        model.decision_function(X) + c / C, reference.decision_function(K), atol=1e-3
    )


@kernels
def test_hard_margin_equals_svc_without_slack(options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.where(y, 0.5, -0.5)
    model = SimpleSVMClassifier(margin="hard", **options).fit(X, y)
    reference = SVC(C=1e8, tol=1e-8, **options).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), reference.decision_function(X), atol=1e-3
    )
    assert np.where(y, 1, -1) @ np.sign(model.decision_function(X)) == len(y)
    assert (np.abs(model.decision_function(X)) >= 1 - 1e-4).all()


@kernels
def test_regression_equals_svr(options):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:200] / X.std(), y[:200]
    K = kernel_matrix(X, options)
    model = SimpleSVMRegressor(C=5.0, epsilon=8.0, **options).fit(X, y)
    reference = SVR(C=5.0, epsilon=8.0, tol=1e-8, **options).fit(X, y)

    def objective(c):
        return c @ K @ c / 2 - c @ y + 8.0 * np.abs(c).sum()

    check_against(model, reference, K, objective, "predict", X)


@pytest.mark.parametrize("options", KERNELS[1:], ids=lambda o: o["kernel"])
def test_one_class_equals_scikit_learn(cancer, options):
    X, _ = cancer
    K = kernel_matrix(X, options)
    model = SimpleSVMOneClass(nu=0.3, **options).fit(X)
    reference = OneClassSVM(nu=0.3, tol=1e-8, **options).fit(X)
    check_against(model, reference, K, lambda c: c @ K @ c / 2, X=X)
    np.testing.assert_allclose(model.score_samples(X), reference.score_samples(X), rtol=1e-6)
    assert model.offset_ == pytest.approx(reference.offset_, rel=1e-6)
    agree = np.abs(reference.decision_function(X)) > 1e-4
    np.testing.assert_array_equal(model.predict(X)[agree], reference.predict(X)[agree])


def papers_data(data_dir, name):
    from benchmarks.datasets import load

    if name == "a1a":
        data = load(name)
        return data.X_train.astype(float), data.y_train
    with np.load(data_dir / f"{name}.npz") as z:
        return z["X"].astype(float), z["y"]


papers_names = pytest.mark.parametrize("name", ["two_spirals", "wbc", "sonar", "vote", "a1a"])


@kernels
@papers_names
def test_papers_data_equal_svc(data_dir, name, options):
    check_c_svc(*papers_data(data_dir, name), 1.0, options)


@papers_names
def test_papers_data_equal_the_other_problems(data_dir, name):
    X, y = papers_data(data_dir, name)
    n, options = len(y), {"kernel": "rbf", "gamma": 0.1}
    K = kernel_matrix(X, options)
    nu = 0.9 * 2 * min(np.mean(y > 0), np.mean(y <= 0))
    model = SimpleSVMClassifier(nu=nu, **options).fit(X, y)
    reference = NuSVC(nu=nu, tol=1e-8, **options).fit(X, y)
    c = coefficients(reference, n)
    c *= nu * n / np.abs(c).sum()
    assert model.dual_objective_[0] == pytest.approx(c @ K @ c / 2, rel=1e-6)
    values = reference.decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), values, atol=1e-3)

    model = SimpleSVMOneClass(nu=0.2, **options).fit(X)
    reference = OneClassSVM(nu=0.2, tol=1e-8, **options).fit(X)
    check_against(model, reference, K, lambda c: c @ K @ c / 2, X=X)

    K[np.diag_indices(n)] += 1.0
    model = SimpleSVMClassifier(margin="quadratic", **options).fit(X, y)
    reference = SVC(C=1e8, kernel="precomputed", tol=1e-8).fit(K, y)
    c = coefficients(reference, n)
    assert model.dual_objective_[0] == pytest.approx(c @ K @ c / 2 - np.abs(c).sum(), rel=1e-6)
    values = model.decision_function(X) + coefficients(model, n)
    np.testing.assert_allclose(values, reference.decision_function(K), atol=1e-3)


@pytest.mark.parametrize("weighted", ["sample", "class", "balanced"])
def test_weights_are_those_of_svc(cancer, weighted):
    X, y = cancer
    weight = np.random.default_rng(0).uniform(0, 2, len(y)) if weighted == "sample" else None
    table = {"class": {0: 0.5, 1: 3.0}, "balanced": "balanced"}.get(weighted)
    model = SimpleSVMClassifier(gamma=0.1, class_weight=table).fit(X, y, sample_weight=weight)
    reference = SVC(gamma=0.1, class_weight=table, tol=1e-8).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(
        model.decision_function(X), reference.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("margin", ["linear", "quadratic", "hard"])
def test_weight_zero_is_absence(cancer, margin):
    X, y = cancer
    weight = np.ones(len(y))
    weight[::5] = 0
    model = SimpleSVMClassifier(margin=margin, gamma=0.1).fit(X, y, sample_weight=weight)
    kept = weight > 0
    reference = SimpleSVMClassifier(margin=margin, gamma=0.1).fit(X[kept], y[kept])
    np.testing.assert_allclose(
        model.decision_function(X), reference.decision_function(X), atol=1e-6
    )


def test_every_choice_leads_to_the_same_solution(cancer):
    X, y = cancer
    base = SimpleSVMClassifier(C=3.0, tol=1e-8).fit(X, y)
    for change in (
        {"init": "pairs"},
        {"init": "random", "random_state": 3},
        {"selection": "sweep", "block_size": 20},
        {"selection": "random"},
        {"block_size": 2},
        {"cache_size": 3.0},
    ):
        other = clone(base).set_params(**change).fit(X, y)
        assert other.dual_objective_[0] == pytest.approx(base.dual_objective_[0], rel=1e-9), change
        np.testing.assert_allclose(other.decision_function(X), base.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_nu_does_not_depend_on_the_start(cancer, seed):
    X, y = cancer[0][:59], cancer[1][:59]
    base = SimpleSVMClassifier(nu=0.1, gamma=0.1, tol=1e-9, random_state=100).fit(X, y)
    other = clone(base).set_params(random_state=seed).fit(X, y)
    assert other.dual_objective_[0] == pytest.approx(base.dual_objective_[0], rel=1e-9)


def test_sparse_equals_dense(cancer):
    X, y = cancer
    dense = SimpleSVMClassifier(gamma=0.1).fit(X, y)
    thin = SimpleSVMClassifier(gamma=0.1).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(
        thin.decision_function(X), dense.decision_function(sparse.csr_matrix(X)), atol=1e-8
    )
    np.testing.assert_array_equal(thin.support_, dense.support_)
    assert sparse.issparse(thin.support_vectors_)
    np.testing.assert_allclose(dense.support_vectors_, X[dense.support_], atol=1e-12)


def test_precomputed_and_callable_equal_the_named_kernel(cancer):
    X, y = cancer
    K = pairwise_kernels(X, metric="rbf", gamma=0.1)
    named = SimpleSVMClassifier(gamma=0.1).fit(X, y)
    given = SimpleSVMClassifier(kernel="precomputed").fit(K, y)
    called = SimpleSVMClassifier(
        kernel=lambda A, B: pairwise_kernels(A, B, metric="rbf", gamma=0.1)
    ).fit(X, y)
    np.testing.assert_allclose(given.decision_function(K), named.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(called.decision_function(X), named.decision_function(X), atol=1e-8)
    assert given.forget([3, 7]).kkt_violation_ < 1e-5
    assert given.leave_one_out_error() == pytest.approx(named.forget([3, 7]).leave_one_out_error())


def test_one_against_the_rest_shares_kernel_values():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = SimpleSVMClassifier(C=10.0, gamma=0.5).fit(X, names[y])
    values = model.decision_function(X)
    for k in range(3):
        alone = SimpleSVMClassifier(C=10.0, gamma=0.5).fit(X, y == k)
        np.testing.assert_allclose(values[:, k], alone.decision_function(X), atol=1e-6)
    K = pairwise_kernels(X, model.support_vectors_, metric="rbf", gamma=0.5)
    np.testing.assert_allclose(K @ model.dual_coef_.T + model.intercept_, values, atol=1e-9)
    assert model.score(X, names[y]) > 0.95
    assert model.n_support_.sum() == len(model.support_)


# -- coming and going ---------------------------------------------------------------------

TASKS = {
    "linear": SimpleSVMClassifier(gamma=0.1, C=2.0),
    "quadratic": SimpleSVMClassifier(gamma=0.1, margin="quadratic"),
    "hard": SimpleSVMClassifier(gamma=1.0, margin="hard"),
    "nu": SimpleSVMClassifier(gamma=0.1, nu=0.1),
    "low rank": SimpleSVMClassifier(kernel="linear", low_rank="linear"),
    "low rank quadratic": SimpleSVMClassifier(
        kernel="linear", low_rank="linear", margin="quadratic"
    ),
    "regression": SimpleSVMRegressor(gamma=0.1, C=2.0, epsilon=0.1),
    "one class": SimpleSVMOneClass(gamma=0.1, nu=0.3),
}
tasks = pytest.mark.parametrize("task", TASKS)


def values_of(model, X):
    return model.predict(X) if hasattr(model, "epsilon") else model.decision_function(X)


def fitted(task, X, y):
    return clone(TASKS[task]).set_params(tol=1e-9).fit(X, y)


@tasks
def test_pieces_equal_the_whole(cancer, task):
    X, y = cancer[0][:120], cancer[1][:120]
    whole = fitted(task, X, y)
    model = fitted(task, X[:50], y[:50])
    for first in (50, 51, 90):
        last = {50: 51, 51: 90, 90: 120}[first]
        model.partial_fit(X[first:last], y[first:last])
        assert model.kkt_violation_ <= 1e-8
    assert model.dual_objective_[0] == pytest.approx(whole.dual_objective_[0], rel=1e-8)
    np.testing.assert_allclose(values_of(model, X), values_of(whole, X), atol=1e-6)


@tasks
@pytest.mark.parametrize("k", [1, 7, 60])
def test_forgetting_equals_never_having_seen(cancer, task, k):
    X, y = cancer[0][:120], cancer[1][:120]
    gone = np.random.default_rng(k).choice(120, k, replace=False)
    model = fitted(task, X, y).forget(gone)
    kept = np.setdiff1d(np.arange(120), gone)
    fresh = fitted(task, X[kept], y[kept])
    assert model.dual_objective_[0] == pytest.approx(fresh.dual_objective_[0], rel=1e-8)
    np.testing.assert_allclose(values_of(model, X), values_of(fresh, X), atol=1e-6)
    assert np.isin(model.support_, kept).all()


def test_a_long_life(cancer):
    """Examples come and go many times; the solution stays that of those who are there."""
    X, y = cancer
    rng = np.random.default_rng(0)
    model = SimpleSVMClassifier(gamma=0.1, C=5.0, tol=1e-9).fit(X[:60], y[:60])
    kept, seen, where = list(range(60)), 60, list(range(60))
    for _ in range(30):
        gone = rng.choice(len(kept), 4, replace=False)
        model.forget([kept[g] for g in gone])
        kept = [v for p, v in enumerate(kept) if p not in gone]
        where = [v for p, v in enumerate(where) if p not in gone]
        fresh = rng.integers(len(y), size=4)
        model.partial_fit(X[fresh], y[fresh])
        kept += list(range(seen, seen + 4))
        where += fresh.tolist()
        seen += 4
    again = SimpleSVMClassifier(gamma=0.1, C=5.0, tol=1e-9).fit(X[where], y[where])
    assert model.dual_objective_[0] == pytest.approx(again.dual_objective_[0], rel=1e-8)
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), atol=1e-6)


@tasks
def test_leave_one_out_equals_learning_without(cancer, task):
    X, y = cancer[0][:60], cancer[1][:60]
    model = fitted(task, X, y)
    found = model.leave_one_out_decision()
    for i in range(60):
        rest = np.arange(60) != i
        fresh = fitted(task, X[rest], y[rest])
        np.testing.assert_allclose(found[i], values_of(fresh, X[i : i + 1])[0], atol=1e-6)
    assert np.isfinite(model.leave_one_out_error())


def test_leave_one_out_of_several_classes():
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    model = SimpleSVMClassifier(C=3.0, gamma=0.5, tol=1e-9).fit(X, y)
    found = model.leave_one_out_decision()
    wrong = 0
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        fresh = clone(model).fit(X[rest], y[rest])
        np.testing.assert_allclose(found[i], fresh.decision_function(X[i : i + 1])[0], atol=1e-6)
        wrong += fresh.predict(X[i : i + 1])[0] != y[i]
    assert model.leave_one_out_error() == pytest.approx(wrong / len(y))


def test_a_third_class_may_come_late(cancer):
    X, y = load_iris(return_X_y=True)
    two = y < 2
    model = SimpleSVMClassifier(gamma=0.5).partial_fit(X[two], y[two]).partial_fit(X[~two], y[~two])
    whole = SimpleSVMClassifier(gamma=0.5).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-4)


def test_a_stream_may_start_with_one_class(cancer):
    X, y = cancer
    model = SimpleSVMClassifier(gamma=0.1).partial_fit(X[y == 1][:5], y[y == 1][:5])
    assert (model.predict(X) == 1).all()
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.9


def test_pickling_in_mid_stream(cancer):
    X, y = cancer
    model = SimpleSVMClassifier(gamma=0.1).fit(X[:100], y[:100])
    twin = pickle.loads(pickle.dumps(model))
    model.partial_fit(X[100:], y[100:]).forget(range(20))
    twin.partial_fit(X[100:], y[100:]).forget(range(20))
    np.testing.assert_allclose(twin.decision_function(X), model.decision_function(X), atol=1e-9)


# -- low rank -----------------------------------------------------------------------------


@pytest.mark.parametrize("margin", ["linear", "quadratic"])
def test_low_rank_forms(cancer, margin):
    X, y = cancer
    options = {"kernel": "linear", "margin": margin, "tol": 1e-7}
    dense = SimpleSVMClassifier(**options).fit(X, y)
    for form in ("linear", 1e-12, X.shape[1], lambda A: np.asarray(A)):
        low = SimpleSVMClassifier(low_rank=form, **options).fit(X, y)
        np.testing.assert_allclose(low.decision_function(X), dense.decision_function(X), atol=1e-4)
    coarse = SimpleSVMClassifier(low_rank=3, **options).fit(X, y)
    assert coarse.score(X, y) > 0.8


# -- bad input ----------------------------------------------------------------------------


def check_refused(model, X, action, match, kind=ValueError):
    before = model.decision_function(X) if model._trained else None
    with pytest.raises(kind, match=match):
        action()
    if before is None:
        assert model._trained is None
    else:
        np.testing.assert_array_equal(model.decision_function(X), before)


def test_what_cannot_be_separated_is_refused(cancer):
    X, y = cancer
    hard = SimpleSVMClassifier(kernel="linear", margin="hard")
    noisy = np.where(np.arange(len(y)) % 3 == 0, 1 - y, y)
    check_refused(hard, X, lambda: hard.fit(X, noisy), "cannot be separated")
    # Conflicting duplicates, also when they come later.
    rbf = SimpleSVMClassifier(gamma=1.0, margin="hard").fit(X, y)
    check_refused(rbf, X, lambda: rbf.partial_fit(X[:1], 1 - y[:1]), "cannot be separated")
    check_refused(rbf, X, lambda: rbf.fit(X, noisy[:-1]), "inconsistent")


def test_infeasible_nu_names_the_largest(cancer):
    X, y = cancer
    largest = 2 * min(y.mean(), 1 - y.mean())
    model = SimpleSVMClassifier(nu=0.1).fit(X, y)
    model.set_params(nu=1.0)
    check_refused(model, X, lambda: model.fit(X, y), f"at most {largest:.6g}")
    model = SimpleSVMClassifier(nu=largest).fit(X, y)
    minority = np.flatnonzero(y == (y.mean() < 0.5))[:5]
    check_refused(model, X, lambda: model.forget(minority), "at most")
    with pytest.raises(ValueError, match="margin"):
        SimpleSVMClassifier(nu=0.1, margin="hard").fit(X, y)


def test_forgetting_what_is_not_there_is_refused(cancer):
    X, y = cancer
    model = SimpleSVMClassifier().fit(X, y).forget([5])
    check_refused(model, X, lambda: model.forget([len(y)]), "never seen")
    check_refused(model, X, lambda: model.forget([-1]), "never seen")
    check_refused(model, X, lambda: model.forget([4, 5]), "already forgotten")
    check_refused(model, X, lambda: model.forget([4, 4]), "example 4 twice")
    check_refused(model, X, lambda: model.forget([len(y), len(y)]), "never seen")
    check_refused(model, X, lambda: model.forget([0.5]), "integer")
    ones = np.setdiff1d(np.flatnonzero(y == 1), [5])
    check_refused(model, X, lambda: model.forget(ones), "class 1 would be forgotten")


def test_memory_beyond_the_cache_says_what_fits(cancer):
    X, y = cancer
    model = SimpleSVMClassifier(margin="quadratic", cache_size=0.02)
    check_refused(
        model, X, lambda: model.fit(X, y), "do not fit into memory.*low_rank", MemoryError
    )


def memory_for(room):
    """``cache_size`` in which exactly so many members of a working set fit."""
    return 2 * 16 * (room + 0.5) ** 2 / 2**20


# A kernel of low rank needs no square matrix.
@pytest.mark.parametrize("task", [task for task in TASKS if "low rank" not in task])
@pytest.mark.parametrize("selection", ["block", "sweep"])
def test_memory_that_suffices_is_enough(cancer, task, selection):
    X, y = cancer
    free = fitted(task, X, y)
    needed = len(free._trained.learner.machines[0].held)
    model = clone(free).set_params(cache_size=memory_for(needed), selection=selection)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    assert model.dual_objective_[0] == pytest.approx(free.dual_objective_[0], rel=1e-8)
    model.set_params(cache_size=memory_for(needed // 2))
    before = values_of(model, X)
    with pytest.raises(MemoryError, match=f"More than {needed // 2} support vectors"):
        model.fit(X, y)
    np.testing.assert_array_equal(values_of(model, X), before)


def test_memory_that_does_not_suffice_later(cancer):
    X, y = cancer
    model = SimpleSVMRegressor(gamma=0.1, cache_size=memory_for(20)).fit(X[:15], y[:15])
    before = model.predict(X)
    with pytest.raises(MemoryError, match=r"More than 20 support vectors.*low_rank"):
        model.partial_fit(X[15:], y[15:])
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.partial_fit(X[15:17], y[15:17]).kkt_violation_ < 1e-5


@pytest.mark.parametrize("kind", [SimpleSVMClassifier, SimpleSVMRegressor, SimpleSVMOneClass])
def test_ctrl_c_leaves_a_usable_model(cancer, kind):
    X, y = cancer
    calls = [0, 3]

    def kernel(A, B):
        calls[0] += 1
        if calls[0] == calls[1]:
            signal.raise_signal(signal.SIGINT)
        return plain_rbf(A, B, 0.1)

    model = kind(kernel=kernel, selection="sweep", block_size=5)
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        before = values_of(model, X)
        assert np.isfinite(before).all()
        calls[1] = calls[0] + 3
        with pytest.raises(KeyboardInterrupt):  # as it was
            model.partial_fit(X[:50], y[:50])
    finally:
        signal.signal(signal.SIGINT, usual)
    np.testing.assert_array_equal(values_of(model, X), before)
    model.partial_fit(X[:5], y[:5])
    assert model.kkt_violation_ < 1e-5


def test_the_rest_of_bad_input(cancer):
    X, y = cancer
    model = SimpleSVMClassifier().fit(X, y)
    check_refused(model, X, lambda: model.partial_fit(X[:, :3], y), "features")
    bad = X.copy()
    bad[3, 3] = np.nan
    check_refused(model, X, lambda: model.partial_fit(bad, y), "NaN")
    check_refused(model, X, lambda: model.partial_fit(X, y, sample_weight=-y), "[Nn]egative")
    check_refused(model, X, lambda: model.partial_fit(X, y, sample_weight=0 * y), "zero")
    check_refused(model, X, lambda: model.partial_fit(X[:2], ["a", "b"]), "label input types")
    with pytest.raises(ValueError, match="low_rank='linear'"):
        SimpleSVMClassifier(low_rank="linear").fit(X, y)
    given = SimpleSVMClassifier(kernel="precomputed").fit(X @ X.T, y)
    with pytest.raises(ValueError, match="precomputed"):
        given.partial_fit(X @ X.T, y)


def test_max_sweeps_warns(cancer):
    from sklearn.exceptions import ConvergenceWarning

    X, y = cancer
    with pytest.warns(ConvergenceWarning, match="max_sweeps"):
        model = SimpleSVMClassifier(max_sweeps=1, block_size=4, selection="sweep").fit(X, y)
    assert model.n_sweeps_ == 1


def test_kernel_values_are_fewer_than_two_rows_a_step_of_smo(cancer):
    X, y = make_classification(600, 10, random_state=0)
    model = SimpleSVMClassifier(C=1.0).fit(X, y)
    smo = SVC(C=1.0, tol=1e-5).fit(X, y)
    assert model.n_kernel_evaluations_ < 2 * len(y) * smo.n_iter_[0]
