"""What users of SVC rely on, stated of LASVM trained to the end: solution, decisions, weights.

The behaviours are those that scikit-learn's own tests of SVC state. ``test_svc_parity_cases.py`` has the
list: each case with our test of it, or the reason why it differs. Two classes are compared with SVC
itself, several classes with one SVC against the rest for each class, and one against one with SVC.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs, make_classification
from sklearn.metrics import f1_score
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.svm import SVC
from svc_parity import ANSWERS, NEW, X, Y, close, exact, shuffled_iris

from onlinesvm import LASVMClassifier, SimpleSVMClassifier

OPPOSED = np.array([[-2, 0], [-1, -1], [0, -2], [0, 2], [1, 1], [2, 0]], float)
BETWEEN = np.array([[-1.0, 1.0]])


@pytest.fixture(scope="module")
def iris():
    return shuffled_iris()


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


def test_precomputed_values_may_be_lists():
    model = exact(kernel="precomputed").fit(linear_kernel(X).tolist(), Y.tolist())
    assert model.predict(linear_kernel(NEW, X).tolist()).tolist() == ANSWERS


def test_classes_are_sorted_whatever_their_order(iris):
    names = np.array(["setosa", "versicolor", "virginica"])[iris[1]]
    model = exact().fit(iris[0][::-1], names[::-1])
    assert model.classes_.tolist() == sorted(set(names))
    assert model.score(iris[0], names) > 0.9


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


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("decision", ["ovr", "ovo"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_linear_decision_values_are_those_of_coef_to_the_last_digits(iris, form, decision, scale):
    """Rows are not rounded to single precision; those that are in it already are taken as they are."""
    rows = iris[0] * scale
    model = exact(kernel="linear", C=0.1 / scale**2, decision=decision).fit(form(rows), iris[1])
    model.decision_function_shape = decision
    coef = model.coef_.toarray() if sparse.issparse(model.coef_) else model.coef_
    for asked in (rows, rows.astype(np.float32)):
        expected = asked.astype(np.float64) @ coef.T + model.intercept_
        found = model.decision_function(form(asked))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_linear_decision_values_do_not_depend_on_layout_format_or_other_rows(n_classes):
    """Sums have one order: of wide rows, too, which are multiplied in several parts."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((400, 3000)) * (rng.random((400, 3000)) < 0.9)
    labels = rng.integers(n_classes, size=400)
    model = LASVMClassifier(kernel="linear", random_state=0).fit(rows, labels)
    values = model.decision_function(rows)
    for form in (
        np.asfortranarray,
        lambda X: X[:, ::-1].copy()[:, ::-1],
        sparse.csr_matrix,
        sparse.csc_matrix,
    ):
        assert (model.decision_function(form(rows)) == values).all()
    for one in (0, 86, 87, 399):
        assert (model.decision_function(rows[one : one + 1]) == values[one]).all()
    assert len(model.decision_function(sparse.csr_matrix(rows)[:1])) == 1


def test_numbers_that_are_too_large_are_refused_by_a_linear_model_too():
    model = exact(kernel="linear").fit(X, Y)
    with pytest.raises(ValueError, match="large"):
        model.decision_function(X * 1e25)


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


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_vs_one_has_svcs_decision_values_and_predictions(kernel, iris):
    ours = OneVsOneClassifier(exact(kernel=kernel, gamma=0.3)).fit(*iris)
    theirs = SVC(kernel=kernel, gamma=0.3).fit(*iris)
    close(ours.decision_function(iris[0]), theirs.decision_function(iris[0]), atol=2e-2)
    assert (ours.predict(iris[0]) == theirs.predict(iris[0])).all()
    theirs.set_params(decision_function_shape="ovo")
    pairs = np.stack([-machine.decision_function(iris[0]) for machine in ours.estimators_], axis=1)
    close(pairs, theirs.decision_function(iris[0]), atol=2e-2)


def test_probabilities_come_from_calibration_as_in_current_svc(iris):
    model = CalibratedClassifierCV(exact(), ensemble=False).fit(*iris)
    chances = model.predict_proba(iris[0])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (chances.argmax(axis=1) == model.predict(iris[0])).all()
    theirs = CalibratedClassifierCV(SVC(), ensemble=False).fit(*iris)
    assert abs(chances - theirs.predict_proba(iris[0])).mean() < 0.05


@pytest.mark.parametrize("classes", [2, 3])
def test_it_works_inside_one_vs_rest(classes):
    given, y = make_blobs(centers=classes, random_state=0)
    assert OneVsRestClassifier(exact()).fit(given, y).score(given, y) > 0.8


# -- weights ---------------------------------------------------------------------------------


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 0.5}, {1: 3.0, 0: 0.2}])
def test_class_weight_is_svcs_attribute(class_weight):
    given, y = make_classification(100, weights=[0.8], random_state=0)
    ours, theirs = exact(class_weight=class_weight), SVC(class_weight=class_weight)
    np.testing.assert_allclose(ours.fit(given, y).class_weight_, theirs.fit(given, y).class_weight_)
    assert not hasattr(exact(), "class_weight_")


def test_a_class_of_little_weight_is_given_up():
    assert (exact(class_weight={1: 0.1}).fit(X, Y).predict(X) == 2).all()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_class_weights_are_svcs(kernel):
    given, y = make_classification(200, 10, weights=[0.833, 0.167], random_state=2)
    settings = {"kernel": kernel, "class_weight": {0: 0.1, 1: 10}}
    ours, theirs = (m.fit(given[:100], y[:100]) for m in (exact(**settings), SVC(**settings)))
    assert f1_score(y[100:], ours.predict(given[100:])) > 0.3
    close(ours.decision_function(given), theirs.decision_function(given), atol=2e-2)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_balanced_weights_help_the_rare_class(kernel, iris):
    given, y = iris[0][:, :2], iris[1] + 1
    kept = np.delete(np.arange(len(y)), np.flatnonzero(y > 2)[::2])
    plain, balanced = (
        exact(kernel=kernel, class_weight=weight).fit(given[kept], y[kept]).predict(given)
        for weight in (None, "balanced")
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
@pytest.mark.parametrize("form", [lambda w: [w] * 6, lambda w: w])
def test_weights_that_leave_nothing_are_refused_in_svcs_words(weight, form):
    with pytest.raises(ValueError, match="all samples have zero or negative weights"):
        exact(kernel="linear").fit(X, Y, sample_weight=form(weight))


@pytest.mark.parametrize(
    "weight",
    [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, -0.5, 0, 1, 1, 1], [1, 1, 1, 0, -0.1, -0.3]],
)
def test_weights_that_leave_one_class_are_refused_in_svcs_words(weight):
    message = "all samples with positive weights belong to the same class"
    for kind in (exact, SVC, SimpleSVMClassifier):
        with pytest.raises(ValueError, match=message):
            kind(kernel="linear").fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize(("absent", "expected"), [(1, [0.4, 0.4]), (3, [0.4, 0.4])])
def test_an_example_of_weight_zero_is_as_if_absent(absent, expected):
    weight = np.ones(6)
    weight[absent] = 0
    model = exact(kernel="linear", tol=1e-5).fit(X, Y, sample_weight=weight)
    close(model.coef_, [expected])
    assert model.coef_[0, 0] == pytest.approx(model.coef_[0, 1], rel=1e-3)
    assert absent not in model.support_
    close(model.coef_, SVC(kernel="linear").fit(X, Y, sample_weight=weight).coef_)
