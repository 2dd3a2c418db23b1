"""What users of SVR and OneClassSVM rely on, stated of LASVM trained to the end."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, make_classification, make_regression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR, LinearSVR, OneClassSVM
from svc_parity import NEW, X, Y, close, exact_one_class, exact_regressor, shuffled_iris

EXACT = {"regressor": exact_regressor, "one class": exact_one_class}
every_kind = pytest.mark.parametrize("kind", EXACT.values(), ids=EXACT)
OPPOSED = np.array([[-2, 0], [-1, -1], [0, -2], [0, 2], [1, 1], [2, 0]], float)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


# -- regression ------------------------------------------------------------------------------


def test_a_linear_model_is_that_of_svr_and_of_linear_svr(diabetes):
    given, y = diabetes
    model = exact_regressor(kernel="linear", C=1e3).fit(given, y)
    theirs = SVR(kernel="linear", C=1e3).fit(given, y)
    assert model.score(given, y) == pytest.approx(theirs.score(given, y), abs=2e-3)
    np.testing.assert_allclose(model.coef_, theirs.coef_, atol=0.02 * np.abs(theirs.coef_).max())
    primal = LinearSVR(C=1e3, max_iter=10_000).fit(given, y)
    assert model.score(given, y) == pytest.approx(primal.score(given, y), abs=0.01)


def test_a_little_cost_learns_a_little(diabetes):
    given, y = diabetes
    model, theirs = exact_regressor(kernel="linear", C=10), SVR(kernel="linear", C=10)
    score = model.fit(given, y).score(given, y)
    assert score == pytest.approx(theirs.fit(given, y).score(given, y), abs=1e-3)
    assert score > 0.02


def test_predictions_follow_from_weights_or_support_vectors():
    given, y = shuffled_iris()
    linear = exact_regressor(kernel="linear", C=0.1).fit(given, y)
    close(linear.predict(given), (given @ linear.coef_.T + linear.intercept_).ravel(), atol=1e-5)
    model = exact_regressor(gamma=1).fit(given, y)
    K = rbf_kernel(given, model.support_vectors_, gamma=model.gamma_)
    close(model.predict(given), (K @ model.dual_coef_.T + model.intercept_).ravel(), atol=1e-5)
    close(model.predict(given), SVR(gamma=1).fit(given, y).predict(given))


@pytest.mark.parametrize(
    ("weight", "sign"),
    [
        ([1] * 6, 0),
        ([10.0, 0.1, 0.1, 0.1, 0.1, 10.0], -1),
        ([1.0, 0.1, 10.0, 10.0, 0.1, 0.1], 1),
    ],
)
def test_heavier_targets_attract_the_values(weight, sign):
    model = exact_regressor(C=1e-2, kernel="linear").fit(OPPOSED, Y, sample_weight=weight)
    value = model.predict([[-1.0, 1.0]])[0] - 1.5
    assert abs(value) < 1e-3 if sign == 0 else np.sign(value) == sign


def test_a_tube_around_all_targets_needs_no_support_vector():
    rows = sparse.csr_array(np.eye(4)[[1, 3, 2, 3]])
    model = exact_regressor(kernel="linear").fit(rows, [0.04, 0.04, 0.10, 0.16])
    assert model.support_vectors_.shape == (0, 4)
    assert model.dual_coef_.size == 0
    assert model.n_support_.tolist() == [0]


def test_a_kernel_that_returns_one_value_only_is_refused():
    model = exact_regressor(kernel=lambda A, B: np.ones((1, 1)))
    with pytest.raises(ValueError, match=r"returned an array of shape \(1, 1\) for 2 by 2"):
        model.fit([[0.0], [1.0]], [0.0, 0.5])


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_an_infinite_cost_is_a_very_large_one(kernel):
    given, y = make_regression(random_state=0)
    settings = {"kernel": kernel, "epsilon": 1.0}
    hard, large = (exact_regressor(C=C, **settings).fit(given, y) for C in (np.inf, 1e10))
    np.testing.assert_array_equal(hard.predict(given), large.predict(given))
    assert np.abs(hard.predict(given) - y).max() < 1.0 + 1e-3 * y.std()
    theirs = SVR(C=np.inf, **settings).fit(given, y)
    close(hard.predict(given), theirs.predict(given), atol=5e-3 * y.std())


# -- one class -------------------------------------------------------------------------------


def test_the_toy_problem_has_the_solution_of_one_class_svm():
    model, theirs = exact_one_class().fit(X), OneClassSVM().fit(X)
    assert model.predict(NEW).tolist() == theirs.predict(NEW).tolist() == [1, -1, -1]
    assert model.predict(NEW).dtype == theirs.predict(NEW).dtype
    close(model.intercept_, theirs.intercept_)
    close(model.dual_coef_, [[0.75] * 4])
    assert not hasattr(model, "coef_")


def test_what_is_like_the_examples_is_inside():
    rng = np.random.default_rng(0)
    corners = np.array([[2.0, 2.0], [-2.0, -2.0]])
    learned, usual = (
        np.repeat(corners, n, 0) + 0.3 * rng.normal(size=(2 * n, 2)) for n in (100, 400)
    )
    odd = rng.uniform(-4, 4, (400, 2))
    odd = odd[np.abs(odd[:, None] - corners).max(2).min(1) > 1.2]
    settings = {"nu": 0.1, "gamma": 0.1}
    model, theirs = exact_one_class(**settings).fit(learned), OneClassSVM(**settings).fit(learned)
    assert (model.predict(usual) == 1).mean() > 0.85
    assert (model.predict(odd) == -1).mean() > 0.9
    for asked in (usual, odd):
        values = model.decision_function(asked)
        assert ((values > 0) == (model.predict(asked) == 1)).all()
        close(values, theirs.decision_function(asked), atol=1e-2)


def test_scores_are_decision_values_without_the_offset():
    model = exact_one_class(gamma=1).fit([[1, 1], [1, 2], [2, 1]])
    asked = [[2.0, 2.0]]
    close(model.score_samples(asked), model.decision_function(asked) + model.offset_, atol=1e-12)
    close(
        model.score_samples(asked),
        OneClassSVM(gamma=1).fit([[1, 1], [1, 2], [2, 1]]).score_samples(asked),
    )


# -- both ------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("weight", [0.0, -0.3])
def test_weights_that_leave_nothing_are_refused_in_svrs_words(kind, weight):
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        kind(kernel="linear").fit(X, Y, sample_weight=[weight] * 6)


@every_kind
def test_support_vectors_are_counted(kind):
    given = np.array([[0], [0.44], [0.45], [0.46], [1]])
    assert not hasattr(kind(), "n_support_")
    model = kind().fit(given, np.arange(5))
    assert model.n_support_.tolist() == [len(model.support_vectors_)]


@every_kind
def test_weights_cannot_be_changed(kind):
    model = kind(kernel="linear").fit(*shuffled_iris())
    with pytest.raises(AttributeError):
        model.coef_ = np.arange(4)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 0


@every_kind
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_n_iter_is_a_whole_number(kind, n_classes):
    given, y = make_classification(n_classes=n_classes, n_informative=n_classes, random_state=0)
    model = kind(kernel="linear").fit(given + 1, y)
    assert type(model.n_iter_) is int
    assert model.n_iter_ == 100
