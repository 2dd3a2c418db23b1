"""What users of SVC rely on, stated of LASVM trained to the end.

The behaviours are those that scikit-learn's own tests of SVC state. Two classes are compared with
SVC itself, several classes with one SVC against the rest for each class. What is different on
purpose is stated in the last part.
"""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier

X = np.array([[-2, -1], [-1, -1], [-1, -2], [1, 1], [1, 2], [2, 1]], float)
Y = np.array([1, 1, 1, 2, 2, 2])
NEW = np.array([[-1.0, -1.0], [2.0, 2.0], [3.0, 2.0]])
ANSWERS = [1, 2, 2]

OPPOSED = np.array([[-2, 0], [-1, -1], [0, -2], [0, 2], [1, 1], [2, 0]], float)
BETWEEN = np.array([[-1.0, 1.0]])


def exact(**settings):
    return LASVMClassifier(epochs="converge", **({"random_state": 0} | settings))


@pytest.fixture(scope="module")
def iris():
    data = load_iris()
    order = np.random.default_rng(42).permutation(len(data.target))
    return data.data[order], data.target[order]


def close(ours, theirs, atol=5e-3):
    np.testing.assert_allclose(ours, theirs, atol=atol, rtol=5e-3)


# -- the solution ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["linear", "precomputed", "callable"])
def test_the_toy_problem_has_svcs_solution(form):
    kernel = {"callable": lambda A, B: A @ B.T}.get(form, form)
    given, asked = (linear_kernel(X), linear_kernel(NEW, X)) if form == "precomputed" else (X, NEW)
    model = exact(kernel=kernel).fit(given, Y)
    close(model.dual_coef_, [[-0.25, 0.25]])
    close(model.intercept_, [0.0])
    assert model.support_.tolist() == [1, 3]
    assert model.predict(given).tolist() == Y.tolist()
    assert model.predict(asked).tolist() == ANSWERS
    if form != "precomputed":
        close(model.support_vectors_, X[[1, 3]])


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_two_classes_have_svcs_decision_values(kernel, C):
    given, y = make_classification(150, 6, random_state=1)
    ours, theirs = exact(kernel=kernel, C=C).fit(given, y), SVC(kernel=kernel, C=C).fit(given, y)
    close(ours.decision_function(given), theirs.decision_function(given), atol=2e-2)
    assert (ours.predict(given) == theirs.predict(given)).mean() > 0.98
    assert abs(ours.n_support_ - theirs.n_support_).max() <= 3


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_several_classes_have_the_decision_values_of_svc_against_the_rest(kernel, iris):
    model = exact(kernel=kernel, gamma=0.3).fit(*iris)
    theirs = OneVsRestClassifier(SVC(kernel=kernel, gamma=0.3)).fit(*iris)
    close(model.decision_function(iris[0]), theirs.decision_function(iris[0]), atol=2e-2)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_iris_is_learned(kernel, iris):
    model = exact(kernel=kernel).fit(*iris)
    assert hasattr(model, "coef_") == (kernel == "linear")
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(*iris) > 0.9


def test_a_precomputed_kernel_is_the_kernel(iris):
    K = linear_kernel(iris[0])
    ours, same = exact(kernel="precomputed").fit(K, iris[1]), exact(kernel="linear").fit(*iris)
    close(ours.decision_function(K), same.decision_function(iris[0]), atol=2e-2)


@pytest.mark.parametrize("case", ["toy", "iris"])
def test_prediction_needs_the_precomputed_values_of_support_vectors_only(case, iris):
    given, y = (X, Y) if case == "toy" else iris
    K = linear_kernel(given)
    model = exact(kernel="precomputed").fit(K, y)
    few = np.zeros_like(K)
    few[:, model.support_] = K[:, model.support_]
    close(model.decision_function(few), model.decision_function(K))


def test_a_callable_kernel_is_the_kernel_also_in_a_clone(iris):
    ours = clone(exact(kernel=lambda A, B: A @ B.T)).fit(*iris)
    same = exact(kernel="linear").fit(*iris)
    close(ours.intercept_, same.intercept_, atol=2e-2)
    close(ours.decision_function(iris[0]), same.decision_function(iris[0]), atol=2e-2)
    assert (ours.predict(iris[0]) == same.predict(iris[0])).all()


def test_the_same_settings_give_the_same_values():
    one, two = (exact().fit(X, Y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


# -- the decision function -------------------------------------------------------------------


def test_linear_decision_values_follow_from_coef_and_intercept(iris):
    model = exact(kernel="linear", C=0.1).fit(*iris)
    expected = iris[0] @ model.coef_.T + model.intercept_
    close(model.decision_function(iris[0]), expected)
    model.fit(X, Y)
    close(model.decision_function(X), (X @ model.coef_.T + model.intercept_).ravel())
    close(model.decision_function(X), [-1, -0.667, -1, 0.667, 1, 1])
    assert (model.predict(X) == model.classes_[(model.decision_function(X) > 0).astype(int)]).all()


def test_rbf_decision_values_follow_from_the_support_vectors():
    model = exact(gamma=1).fit(X, Y)
    K = rbf_kernel(X, model.support_vectors_, gamma=model.gamma_)
    close(model.decision_function(X), (K @ model.dual_coef_.T + model.intercept_).ravel())


@pytest.mark.parametrize("classes", [3, 5])
@pytest.mark.parametrize("gamma", ["scale", 1e6])
def test_the_prediction_is_the_largest_of_one_value_for_each_class(classes, gamma):
    given, y = make_blobs(80, centers=classes, random_state=4)
    model = exact(gamma=gamma).fit(given, y)
    asked = np.random.default_rng(0).uniform(-10, 10, (500, 2))
    values = model.decision_function(asked)
    assert values.shape == (500, classes)
    assert (model.predict(asked) == values.argmax(axis=1)).all()


def test_values_grow_with_the_distance_from_the_boundary():
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]], float)
    model = exact(kernel="linear").fit(corners, [0, 1, 2, 3])
    near, far = (model.decision_function(corners * size) for size in (5, 10))
    for values in (near, far):
        assert values.argmax(axis=1).tolist() == [0, 1, 2, 3]
    assert (near.diagonal() > 0).all()
    assert (near.diagonal() < far.diagonal()).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_it_works_inside_one_vs_rest(classes):
    given, y = make_blobs(centers=classes, random_state=0)
    assert OneVsRestClassifier(exact()).fit(given, y).score(given, y) > 0.8


# -- weights ---------------------------------------------------------------------------------


def test_a_class_of_little_weight_is_given_up():
    assert (exact(class_weight={1: 0.1}).fit(X, Y).predict(X) == 2).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_class_weights_are_svcs(kernel):
    given, y = make_classification(200, 10, weights=[0.833, 0.167], random_state=2)
    settings = {"kernel": kernel, "class_weight": {0: 0.1, 1: 10}}
    ours, theirs = (m.fit(given[:100], y[:100]) for m in (exact(**settings), SVC(**settings)))
    assert f1_score(y[100:], ours.predict(given[100:])) > 0.3
    close(ours.decision_function(given), theirs.decision_function(given), atol=2e-2)


def test_balanced_weights_help_the_rare_class(iris):
    given, y = iris[0][:, :2], iris[1] + 1
    kept = np.delete(np.arange(len(y)), np.flatnonzero(y > 2)[::2])
    plain, balanced = (
        exact(class_weight=w).fit(given[kept], y[kept]).predict(given) for w in (None, "balanced")
    )
    assert f1_score(y, plain, average="macro") <= f1_score(y, balanced, average="macro")


@pytest.mark.parametrize(
    ("weight", "sign"),
    [
        ([1] * 6, 0),
        ([10.0, 0.1, 0.1, 0.1, 0.1, 10.0], -1),
        ([1.0, 0.1, 10.0, 10.0, 0.1, 0.1], 1),
    ],
)
def test_the_heavier_side_moves_the_boundary(weight, sign):
    model = exact(C=1e-2, kernel="linear").fit(OPPOSED, Y, sample_weight=weight)
    value = model.decision_function(BETWEEN)[0]
    assert abs(value) < 1e-3 if sign == 0 else np.sign(value) == sign


def test_weights_of_a_hundredth_are_a_cost_of_a_hundredth():
    plain = exact().fit(X, Y)
    scaled = exact(C=100).fit(X, Y, sample_weight=np.full(6, 0.01))
    close(scaled.dual_coef_, plain.dual_coef_)


@pytest.mark.parametrize("weight", [0.0, -0.3])
def test_weights_that_leave_nothing_are_refused(weight):
    with pytest.raises(ValueError, match="weight"):
        exact(kernel="linear").fit(X, Y, sample_weight=[weight] * 6)


@pytest.mark.parametrize("weight", [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
def test_weights_that_leave_one_class_are_refused(weight):
    with pytest.raises(ValueError, match="same class"):
        exact(kernel="linear").fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize(("absent", "expected"), [(1, [0.4, 0.4]), (3, [0.4, 0.4])])
def test_an_example_of_weight_zero_is_as_if_absent(absent, expected):
    weight = np.ones(6)
    weight[absent] = 0
    model = exact(kernel="linear", tol=1e-5).fit(X, Y, sample_weight=weight)
    close(model.coef_, [expected])
    assert model.coef_[0, 0] == pytest.approx(model.coef_[0, 1], rel=1e-3)
    assert absent not in model.support_
    close(model.coef_, SVC(kernel="linear").fit(X, Y, sample_weight=weight).coef_)


# -- input -----------------------------------------------------------------------------------


def test_labels_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="inconsistent"):
        exact().fit(X, Y[:-1])


def test_arrays_may_lie_in_memory_as_they_like():
    y = np.ascontiguousarray(np.tile(Y, (2, 1)).T)[:, -1]
    assert not y.flags["C_CONTIGUOUS"]
    assert exact().fit(np.asfortranarray(X), y).predict(NEW).tolist() == ANSWERS


def test_a_precomputed_kernel_must_be_square():
    with pytest.raises(ValueError, match="square"):
        exact(kernel="precomputed").fit(X, Y)


@pytest.mark.parametrize("case", ["precomputed", "columns", "transposed"])
def test_prediction_refuses_another_number_of_features(case):
    model = exact(kernel="precomputed" if case == "precomputed" else "rbf")
    model.fit(linear_kernel(X) if case != "transposed" else X, Y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X.T if case == "transposed" else X)


def test_values_too_large_to_compute_with_are_refused():
    huge = np.finfo(float).max * np.random.default_rng(0).uniform(size=(10, 2))
    with pytest.raises(ValueError, match="too large"):
        exact().fit(huge, np.arange(10) % 2)


def test_a_kernel_that_returns_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="shape"):
        exact(kernel=lambda A, B: A).fit(X, Y)


def test_prediction_before_learning_is_an_error():
    with pytest.raises(NotFittedError, match="LASVMClassifier instance is not fitted"):
        exact().predict("no rows")


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array, sparse.lil_matrix])
def test_sparse_rows_give_the_dense_model(form):
    ours, dense = exact().fit(form(X), Y), exact().fit(X, Y)
    assert sparse.issparse(ours.support_vectors_)
    close(ours.dual_coef_, dense.dual_coef_)
    close(ours.decision_function(form(NEW)), dense.decision_function(NEW))


# -- attributes ------------------------------------------------------------------------------


def test_gamma_scale_is_a_number():
    assert exact().fit([[0.0], [1.0]], [0, 1]).gamma_ == pytest.approx(4)


def test_coef_cannot_be_changed(iris):
    model = exact(kernel="linear").fit(*iris)
    with pytest.raises(AttributeError):
        model.coef_ = np.arange(3)
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 0


@pytest.mark.parametrize("name", ["n_support_", "support_", "dual_coef_"])
def test_writing_into_an_attribute_harms_no_prediction(name):
    model = exact(kernel="linear").fit(X, Y)
    getattr(model, name)[...] = 1000000
    assert model.predict(X).tolist() == Y.tolist()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("infinite", [np.inf, float("inf")])
def test_an_infinite_cost_is_a_very_large_one(seed, infinite):
    given, y = make_classification(random_state=seed)
    hard, large, theirs = exact(C=infinite), exact(C=1e10), SVC(C=np.inf)
    for model in (hard, large, theirs):
        model.fit(given, y)
    assert (hard.predict(given) == large.predict(given)).all()
    assert (hard.predict(given) == theirs.predict(given)).all()


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_n_iter_counts_the_examples_learned(n_classes):
    given, y = make_classification(n_classes=n_classes, n_informative=n_classes, random_state=0)
    model = exact(kernel="linear", tol=0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(given, y)
    assert type(model.n_iter_) is int
    assert model.n_iter_ == 100


# -- different on purpose --------------------------------------------------------------------


def test_probabilities_are_not_offered():
    assert not hasattr(exact(), "predict_proba")


@pytest.mark.parametrize(
    "setting", ["max_iter", "probability", "shrinking", "decision_function_shape", "break_ties"]
)
def test_settings_without_a_meaning_here_are_refused(setting):
    with pytest.raises(TypeError, match=setting):
        LASVMClassifier(**{setting: 1})


def test_negative_weights_are_refused_where_svc_takes_them_for_zero():
    weight = [1, -0.5, 1, 1, 1, 1]
    SVC(kernel="linear").fit(X, Y, sample_weight=weight)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        exact(kernel="linear").fit(X, Y, sample_weight=weight)


def test_sparse_rows_are_welcome_after_dense_ones():
    dense, sparse_rows = X, sparse.csr_matrix(X)
    with pytest.raises(ValueError, match="sparse"):
        SVC().fit(dense, Y).predict(sparse_rows)
    model = exact().fit(dense, Y)
    close(model.decision_function(sparse_rows), model.decision_function(dense))
