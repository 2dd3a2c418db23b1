"""What users of SVC rely on, stated of LASVM trained to the end: input and attributes.

What is different on purpose is stated in the last part.
"""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import linear_kernel
from sklearn.svm import SVC
from svc_parity import ANSWERS, NEW, X, Y, close, exact, shuffled_iris

from onlinesvm import LASVMClassifier, LASVMOneClass, LASVMRegressor


@pytest.fixture(scope="module")
def iris():
    return shuffled_iris()


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


@pytest.mark.parametrize("given", [X, sparse.csr_matrix(X)])
def test_the_shape_of_the_data_is_kept(given):
    assert exact().fit(given, Y).shape_fit_ == SVC().fit(given, Y).shape_fit_ == (6, 2)
    assert not hasattr(exact().partial_fit(given, Y), "shape_fit_")


def test_the_status_is_zero_where_the_solution_was_reached():
    assert not hasattr(exact(), "fit_status_")
    assert exact().fit(X, Y).fit_status_ == SVC().fit(X, Y).fit_status_ == 0


def test_a_solution_that_was_not_reached_is_told():
    given, y = make_classification(60, flip_y=0.3, random_state=0)
    model = exact(kernel="linear", C=1e5, tol=1e-10)
    with pytest.warns(ConvergenceWarning, match="stopped before it reached tol=1e-10"):
        model.fit(100 * given, y)
    assert model.fit_status_ == 1
    theirs = SVC(kernel="linear", max_iter=1)
    with pytest.warns(ConvergenceWarning):
        theirs.fit(given, y)
    assert theirs.fit_status_ == 1
    assert model.fit(X, Y).fit_status_ == 0


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


@pytest.mark.parametrize("name", ["predict_proba", "predict_log_proba"])
def test_probabilities_are_offered_without_a_request(name):
    assert hasattr(exact(), name)
    with pytest.raises(NotFittedError):
        getattr(exact(), name)(X)
    assert getattr(exact().fit(X, Y), name)(X).shape == (len(X), len(np.unique(Y)))


@pytest.mark.parametrize("ours", [LASVMClassifier, LASVMRegressor, LASVMOneClass])
def test_a_limit_of_iterations_ends_a_fit_as_in_svc(ours):
    rows = np.random.default_rng(0).normal(size=(200, 2))
    target = rows[:, 0] * rows[:, 1]
    model = ours(epochs="converge", max_iter=1, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match=r"terminated early \(max_iter=1\)"):
        model.fit(rows, target > 0 if ours is LASVMClassifier else target)
    assert model.fit_status_ == 1
    model.set_params(max_iter=-1, tol=1e-3).fit(
        rows, target > 0 if ours is LASVMClassifier else target
    )
    assert model.fit_status_ == 0


@pytest.mark.parametrize("ours", [LASVMClassifier, LASVMRegressor, LASVMOneClass])
@pytest.mark.parametrize(
    ("setting", "values"), [("shrinking", [True, False]), ("verbose", [False, True])]
)
def test_settings_of_svc_that_change_no_solution_are_accepted(ours, setting, values, capsys):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    first, second = (ours(**{setting: value}).fit(rows, rows[:, 0] > 0) for value in values)
    answer = "predict" if ours is LASVMRegressor else "decision_function"
    assert (getattr(first, answer)(rows) == getattr(second, answer)(rows)).all()
    assert not capsys.readouterr().out
    with pytest.raises(ValueError, match=f"The '{setting}' parameter"):
        ours(**{setting: "perhaps"}).fit(rows, rows[:, 0] > 0)


def test_predictions_are_those_of_the_largest_value_with_and_without_break_ties():
    rows, kinds = load_iris(return_X_y=True)
    for break_ties in (False, True):
        model = exact(break_ties=break_ties, decision_function_shape="ovr").fit(rows, kinds)
        values = model.decision_function(rows)
        assert (model.predict(rows) == values.argmax(axis=1)).all()


def test_one_column_per_pair_is_refused_where_it_is_not_one_per_class():
    rows, kinds = load_iris(return_X_y=True)
    two = exact(decision_function_shape="ovo").fit(rows[:100], kinds[:100])
    theirs = SVC(decision_function_shape="ovo").fit(rows[:100], kinds[:100])
    assert two.decision_function(rows).shape == theirs.decision_function(rows).shape
    before = two.decision_function(rows)
    for learn in (exact(decision_function_shape="ovo").fit, two.partial_fit):
        with pytest.raises(ValueError, match=r"per pair of the 3 classes.*decision='ovo'"):
            learn(rows, kinds)
    assert (two.decision_function(rows) == before).all()


def test_negative_weights_are_refused_where_svc_takes_them_for_zero():
    weight = [1, -0.5, 1, 1, 1, 1]
    SVC(kernel="linear").fit(X, Y, sample_weight=weight)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        exact(kernel="linear").fit(X, Y, sample_weight=weight)


def test_a_sparse_precomputed_kernel_is_welcome_where_svc_refuses_it():
    K = linear_kernel(X)
    with pytest.raises(TypeError, match="Sparse precomputed"):
        SVC(kernel="precomputed").fit(sparse.csr_matrix(K), Y)
    model = exact(kernel="precomputed").fit(sparse.csr_matrix(K), Y)
    close(model.dual_coef_, [[-0.25, 0.25]])


def test_coefficients_of_sparse_rows_are_sparse():
    for make in (SVC, exact):
        model = make(kernel="linear").fit(sparse.csr_matrix(X), Y)
        assert sparse.issparse(model.coef_)
        assert sparse.issparse(model.dual_coef_)
        with pytest.raises(ValueError, match="read-only"):
            model.coef_.data[0] = 1.0
    dense_rows = exact(kernel="linear").fit(X, Y)
    assert type(dense_rows.coef_) is type(dense_rows.dual_coef_) is np.ndarray


def test_sparse_rows_are_welcome_after_dense_ones():
    dense, sparse_rows = X, sparse.csr_matrix(X)
    with pytest.raises(ValueError, match="sparse"):
        SVC().fit(dense, Y).predict(sparse_rows)
    model = exact().fit(dense, Y)
    close(model.decision_function(sparse_rows), model.decision_function(dense))
