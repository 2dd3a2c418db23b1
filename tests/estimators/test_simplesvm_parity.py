"""SimpleSVM beside scikit-learn: rows far from zero, infinite C, weight vectors, attributes, copies."""

import copy
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, OneClassSVM

from onlinesvm import ActiveLearner, SimpleSVMClassifier, SimpleSVMOneClass, SimpleSVMRegressor


@pytest.fixture(scope="module")
def clouds():
    X, y = make_classification(120, 5, flip_y=0.1, random_state=0)
    return X, y


@pytest.mark.parametrize("gamma", [0.3, "scale"])
@pytest.mark.parametrize("offset", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_rows_far_from_zero_equal_svc(clouds, offset, form, gamma):
    X, y = clouds
    far = X + offset
    model = SimpleSVMClassifier(gamma=gamma).fit(form(far), y)
    # SVC itself loses digits far from zero, so it gets the same numbers moved back.
    reference = SVC(gamma=gamma, tol=1e-8).fit(far - offset, y)
    np.testing.assert_allclose(
        model.decision_function(form(far)), reference.decision_function(far - offset), atol=1e-5
    )
    assert sparse.issparse(model.support_vectors_) == (form is sparse.csr_matrix)
    vectors = model.support_vectors_
    vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
    np.testing.assert_allclose(vectors, far[model.support_], rtol=1e-12)
    # More rows of either form belong to the same model.
    model.partial_fit(form(far[:5]), y[:5]).partial_fit(far[5:10], y[5:10])
    np.testing.assert_allclose(
        model.decision_function(far), model.decision_function(sparse.csr_matrix(far)), atol=1e-9
    )


def test_sparse_rows_near_zero_stay_sparse():
    rng = np.random.default_rng(0)
    X = sparse.random(80, 300, 0.02, format="csr", random_state=0)
    model = SimpleSVMClassifier(gamma=1.0).fit(X, rng.integers(2, size=80))
    assert model.support_vectors_.nnz <= X.nnz


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_infinite_cost_of_regression_is_the_hard_tube(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, -2.0] + 0.05 * rng.uniform(-1, 1, size=60)
    model = SimpleSVMRegressor(C=np.inf, epsilon=0.1, kernel=kernel, gamma=0.5).fit(X, y)
    reference = SVR(C=1e6, epsilon=0.1, kernel=kernel, gamma=0.5, tol=1e-8).fit(X, y)
    assert np.abs(model.predict(X) - y).max() <= 0.1 + 1e-6
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=1e-3)
    weight = np.ones(60)
    weight[::3] = 0.0
    some = SimpleSVMRegressor(C=np.inf, kernel=kernel, gamma=0.5).fit(X, y, sample_weight=weight)
    kept = SimpleSVMRegressor(C=np.inf, kernel=kernel, gamma=0.5).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(some.predict(X), kept.predict(X), atol=1e-6)


def test_a_tube_that_does_not_exist_is_refused():
    X = np.array([[0.0], [0.0], [1.0]])
    model = SimpleSVMRegressor(C=np.inf, epsilon=0.1)
    with pytest.raises(ValueError, match=r"within epsilon=0\.1 of all values"):
        model.fit(X, [0.0, 1.0, 2.0])
    assert not hasattr(model, "support_")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_a_linear_kernel_predicts_with_its_weight_vectors(form):
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, random_state=0)
    model = SimpleSVMClassifier(kernel="linear").fit(form(X), y)
    expected = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.decision_function(form(X)), expected, rtol=1e-9, atol=1e-9)
    asked = copy.copy(model._trained.learner.rows.kernel)
    from onlinesvm.core.kernel.exact import ExactRows

    before = asked.n_evaluations
    model._trained.learner.decide(ExactRows(X, asked))
    assert asked.n_evaluations - before == 150 * 3  # one value per machine, not per support vector


@pytest.mark.parametrize(
    "model",
    [SimpleSVMClassifier(), SimpleSVMRegressor(), SimpleSVMOneClass()],
    ids=lambda m: str(m),
)
def test_shape_and_status_are_those_of_svc(clouds, model):
    X, y = clouds
    reference = SVC().fit(X, y)
    model.fit(X, y)
    assert model.shape_fit_ == reference.shape_fit_
    assert model.fit_status_ == reference.fit_status_ == 0
    model.partial_fit(X[:2], y[:2])
    assert model.shape_fit_ == (122, 5)
    with pytest.warns(Warning, match="max_sweeps"):
        model.set_params(max_sweeps=1, block_size=1, selection="sweep").fit(X, y)
    assert model.fit_status_ == 1


def test_copies_share_what_neither_changes(clouds):
    X, y = clouds
    model = SimpleSVMClassifier(gamma=0.3).fit(X, y)
    twin = copy.deepcopy(model)
    assert twin._trained.learner.rows.values is model._trained.learner.rows.values
    assert twin._trained.learner.source.slots is model._trained.learner.source.slots
    values, evaluations = model.decision_function(X), model.n_kernel_evaluations_
    twin.partial_fit(X[:30] + 0.1, 1 - y[:30]).forget(range(40))
    assert not np.allclose(twin.decision_function(X), values)
    np.testing.assert_array_equal(model.decision_function(X), values)
    assert model.n_kernel_evaluations_ == evaluations
    again = SimpleSVMClassifier(gamma=0.3).fit(
        np.concatenate([X[40:], X[:30] + 0.1]), np.concatenate([y[40:], 1 - y[:30]])
    )
    np.testing.assert_allclose(twin.decision_function(X), again.decision_function(X), atol=1e-4)


def test_a_twin_of_the_store_writes_into_memory_of_its_own():
    from onlinesvm.core.kernel.exact import ExactRows
    from onlinesvm.core.kernel.kernel import make_kernel
    from onlinesvm.core.simplesvm.kernel_store import KernelStore

    rows = ExactRows(np.random.default_rng(0).normal(size=(20, 3)), make_kernel("rbf", gamma=0.5))
    store = KernelStore(rows, 10 * 20 * 8 / 2**20 + 1e-9)
    store.keep(np.arange(6), evict=False)
    twin = store.twin(rows)
    K, slots = rows.block(rows), store.slots.copy()
    twin.keep(np.arange(10, 20), evict=True)
    np.testing.assert_array_equal(store.slots[:6], slots[:6])
    for one in (store, twin):
        which = np.arange(20)
        np.testing.assert_allclose(one.block(which), K, atol=1e-12)


def test_teaching_goes_on_from_the_shared_state(clouds):
    X, y = clouds
    learner = ActiveLearner(SimpleSVMClassifier(gamma=0.3), X)
    start = [int(np.flatnonzero(y == c)[0]) for c in (0, 1)]
    learner.teach(start, y[start])
    for _ in range(5):
        asked = learner.query()
        learner.teach(asked, y[asked])
    assert learner.estimator.shape_fit_[0] == 7


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rounding_is_not_taken_for_progress():
    """An objective near zero fell by 1e-17 in each sweep, for ever."""
    X = np.random.default_rng(244).normal(size=(50, 2)) * 1e6
    settings = {"nu": 0.8, "kernel": "linear", "tol": 1e-8}
    model = SimpleSVMOneClass(**settings, random_state=0, max_sweeps=300).fit(X)
    assert model.n_sweeps_ < 100
    theirs = OneClassSVM(**settings, max_iter=10**6).fit(X)
    assert (
        model.dual_objective_[0]
        <= np.sum((theirs.dual_coef_ @ theirs.support_vectors_) ** 2) / 2 + 1.0
    )


@pytest.mark.parametrize(("offset", "status"), [(10.0, 0), (1e5, 0), (1e7, 1)])
def test_a_solution_that_is_all_rounding_is_none(offset, status):
    """The polynomial kernel of rows far from zero has values of which targets are the last digits."""
    X = np.random.default_rng(0).standard_normal((60, 2))
    y = X.sum(axis=1)
    model = SimpleSVMRegressor(kernel="poly", gamma=0.5)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(X + offset, y)
    assert model.fit_status_ == status
    assert [w.category for w in found] == [ConvergenceWarning] * status
    close = np.abs(model.predict(X + offset) - y).max() < 1.0
    assert close == (status == 0)
