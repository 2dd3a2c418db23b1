"""Fitted attributes that users of SVC know, on every estimator that has them."""

import numpy as np
import pytest
from classifiers import every_online, make
from scipy import sparse
from sklearn.datasets import make_blobs, make_classification
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

import onlinesvm
from onlinesvm import HullerClassifier, LASVMClassifier, SimpleSVMClassifier

ESTIMATORS = [  # AutoSVM's winner is one of them
    name
    for name in onlinesvm.__all__
    if name.endswith(("Classifier", "Regressor", "OneClass")) and not name.startswith("Auto")
]
CLASSIFIERS = [name for name in ESTIMATORS if name.endswith("Classifier")]
EXPANSIONS = [name for name in ESTIMATORS if name != "StreamSVMClassifier"]

X, Y = make_classification(120, 5, n_informative=4, n_redundant=0, random_state=3)
THREE = make_blobs(120, 5, centers=3, cluster_std=4.0, random_state=0)


def fitted(name, X=X, y=Y, **settings):
    return getattr(onlinesvm, name)(random_state=0, **settings).fit(X, y)


def values(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gamma_is_the_number_in_use(name):
    assert not hasattr(getattr(onlinesvm, name)(), "gamma_")
    reference = SVC().fit(X, Y)
    assert fitted(name, kernel="rbf").gamma_ == pytest.approx(reference._gamma)
    assert fitted(name, kernel="rbf", gamma="auto").gamma_ == 0.2
    assert fitted(name, kernel="poly", gamma=0.3).gamma_ == 0.3
    assert not hasattr(fitted(name, kernel="linear"), "gamma_")


def as_array(coefficients):
    """Coefficients of sparse rows are sparse, as in SVC."""
    return coefficients.toarray() if sparse.issparse(coefficients) else coefficients


@pytest.mark.parametrize("name", EXPANSIONS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_support_vectors_are_in_ascending_order_and_belong_together(name, form):
    model = fitted(name, form(X), kernel="rbf", gamma=0.1)
    assert (np.diff(model.support_) >= 0).all()
    vectors = model.support_vectors_
    vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
    np.testing.assert_allclose(vectors, X[model.support_], atol=1e-5)
    assert sparse.issparse(model.dual_coef_) == (form is sparse.csr_matrix)
    assert model.n_support_.sum() == len(model.support_)
    K = pairwise_kernels(X, vectors, metric="rbf", gamma=0.1)
    expected = K @ as_array(model.dual_coef_)[0] + model.intercept_[0]
    np.testing.assert_allclose(values(model, form(X)), expected, atol=1e-3 * np.ptp(expected))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_coef_is_the_linear_model(name, form):
    settings = {"normalize": False} if name == "StreamSVMClassifier" else {}
    model = fitted(name, form(X), kernel="linear", **settings)
    expected = X @ as_array(model.coef_)[0] + model.intercept_[0]
    np.testing.assert_allclose(values(model, form(X)), expected, atol=1e-4 * np.ptp(expected))
    with pytest.raises(ValueError, match="read-only"):
        model.coef_[0, 0] = 1.0
    with pytest.raises(AttributeError):
        model.coef_ = np.zeros((1, 5))
    assert not hasattr(fitted(name, kernel="rbf"), "coef_")


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_coef_of_three_classes_has_a_row_for_each(name):
    settings = {"normalize": False} if name == "StreamSVMClassifier" else {}
    if name == "HullerClassifier":
        settings = {"C": 1.0}
    model = fitted(name, *THREE, kernel="linear", **settings)
    expected = THREE[0] @ model.coef_.T + model.intercept_
    assert model.coef_.shape == (3, 5)
    np.testing.assert_allclose(
        model.decision_function(THREE[0]), expected, atol=1e-4 * np.ptp(expected)
    )


def test_a_linear_model_predicts_from_one_weight_vector_for_each_machine(monkeypatch):
    model = fitted("LASVMClassifier", kernel="linear")
    widths = []
    kernel = type(model._trained.kernel)
    weighted_sums = kernel.weighted_sums

    def counted(self, X, summands):
        widths.append(len(summands.rows))
        return weighted_sums(self, X, summands)

    monkeypatch.setattr(kernel, "weighted_sums", counted)
    assert len(model.support_) > 10
    model.predict(X)
    assert widths == []  # no kernel values: products with the weights, in double precision
    model.predict(1e16 * X)  # its size has to be checked
    assert widths == [1]


@pytest.mark.parametrize(
    "model",
    [
        LASVMClassifier(C=np.inf, epochs="converge"),
        HullerClassifier(C=np.inf, epochs="converge", tol=1e-4),
        SimpleSVMClassifier(C=float("inf")),
        SimpleSVMClassifier(C=np.inf, margin="quadratic"),
    ],
)
def test_infinite_cost_is_the_hard_margin(model):
    blobs, y = make_blobs(60, 2, centers=2, cluster_std=1.0, random_state=6)
    model.set_params(kernel="linear").fit(blobs, y)
    expected = SVC(C=np.inf, kernel="linear", tol=1e-6).fit(blobs, y)
    np.testing.assert_allclose(
        model.decision_function(blobs), expected.decision_function(blobs), atol=0.02
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_infinite_cost_of_classes_that_overlap_ends_with_finite_values():
    twice = np.concatenate([X[:30], X[:30]])
    labels = np.repeat([0, 1], 30)
    model = LASVMClassifier(C=np.inf, epochs="converge").fit(twice, labels, np.arange(60) % 3)
    assert np.isfinite(model.decision_function(twice)).all()
    assert np.isfinite(model.dual_coef_).all()


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_precomputed_values_may_come_sparse(name):
    """``SVC`` refuses them with a clear error; here they are the values they are."""
    K = np.where(np.abs(X @ X.T) > 1.0, X @ X.T, 0.0) + 60.0 * np.eye(len(X))
    given = sparse.csr_matrix(K)
    dense, same = fitted(name, K, kernel="precomputed"), fitted(name, given, kernel="precomputed")
    np.testing.assert_array_equal(values(dense, K), values(same, given))


@every_online
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_support_vectors_are_dense_where_rows_were(kind, kernel):
    """Also where rows are mostly zeros, which are kept sparse."""
    X = np.zeros((60, 200))
    X[np.arange(60), np.arange(60) % 4] = 1.0 + np.arange(60) % 7
    y = np.arange(60) % 2
    model = make(kind, kernel=kernel).fit(X, y)
    assert type(model.support_vectors_) is np.ndarray
    assert model.support_vectors_.shape[1] == 200
