"""What users of SVC rely on with sparse rows, stated of LASVM trained to the end."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_blobs, make_classification
from sklearn.svm import SVC
from svc_parity import ANSWERS, NEW, X, Y, close, exact, shuffled_iris

FORMS = [sparse.csr_matrix, sparse.csr_array, sparse.lil_matrix, sparse.coo_matrix]
DIAGONAL = np.array([[0, 0, 0], [1, 1, 1], [2, 0, 0], [0, 0, 2], [3, 3, 3]], float)
DATA = {
    "toy": (X, Y),
    "five rows": (DIAGONAL, np.array([1, 2, 2, 2, 3])),
    "blobs": make_blobs(80, centers=10, random_state=0),
    "iris": shuffled_iris(),
}


def times(A, B):
    """The linear kernel as a function, of dense or sparse rows."""
    product = A @ B.T
    return product.toarray() if sparse.issparse(product) else product


@pytest.mark.parametrize("form", FORMS)
def test_sparse_rows_give_the_dense_model(form):
    ours, dense = exact().fit(form(X), Y), exact().fit(X, Y)
    assert sparse.issparse(ours.support_vectors_)
    close(ours.dual_coef_.toarray(), dense.dual_coef_)
    close(ours.decision_function(form(NEW)), dense.decision_function(NEW))


@pytest.mark.parametrize("name", list(DATA))
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_kernel_gives_the_dense_values(kernel, name):
    given, y = DATA[name]
    rows = sparse.csr_matrix(given)
    settings = {"kernel": kernel, "gamma": 1 / given.var() / 10, "tol": 1e-4}
    dense, ours = exact(**settings).fit(given, y), exact(**settings).fit(rows, y)
    values = dense.decision_function(given)
    bound = 1e-2 * max(1.0, np.ptp(values))
    for asked in (rows, given):
        close(ours.decision_function(asked), values, atol=bound)
    if kernel != "sigmoid":  # not a true kernel: several solutions
        assert (ours.predict(rows) == dense.predict(given)).mean() > 0.98


def test_support_vectors_and_their_numbers_are_those_of_the_dense_model():
    given, y = DATA["iris"]
    dense, ours = exact(gamma=0.5).fit(given, y), exact(gamma=0.5).fit(sparse.csr_matrix(given), y)
    assert ours.support_.tolist() == dense.support_.tolist()
    close(ours.support_vectors_.toarray(), dense.support_vectors_)


def test_entries_may_come_in_any_order():
    given, y = load_digits(return_X_y=True)
    rows = sparse.csr_matrix(given[:100])
    backwards = sparse.csr_matrix(
        (
            np.concatenate([rows[i].data[::-1] for i in range(100)]),
            np.concatenate([rows[i].indices[::-1] for i in range(100)]),
            rows.indptr,
        ),
        rows.shape,
    )
    assert not backwards.has_sorted_indices
    one, two = (exact(kernel="linear").fit(form[:50], y[:50]) for form in (rows, backwards))
    np.testing.assert_array_equal(one.coef_.toarray(), two.coef_.toarray())
    np.testing.assert_array_equal(one.decision_function(rows), two.decision_function(backwards))
    close(one.coef_.toarray(), exact(kernel="linear").fit(given[:50], y[:50]).coef_)


def test_a_callable_kernel_takes_sparse_rows_also_in_a_clone():
    rows = sparse.lil_matrix(X)
    ours, same = clone(exact(kernel=times)).fit(rows, Y), exact(kernel="linear").fit(rows, Y)
    assert (ours.predict(rows) == same.predict(rows)).all()
    close(ours.decision_function(rows), same.decision_function(rows))


def test_sparse_decision_values_follow_from_coef_and_intercept():
    given, y = DATA["iris"]
    rows = sparse.csr_matrix(given)
    model = exact(kernel="linear", C=0.1).fit(rows, y)
    close(model.decision_function(rows), (rows @ model.coef_.T).toarray() + model.intercept_)


@pytest.mark.parametrize("form", FORMS)
def test_sparse_rows_and_labels_that_do_not_match_are_refused(form):
    with pytest.raises(ValueError, match="inconsistent"):
        exact().fit(form(X), Y[:-1])


@pytest.mark.parametrize("form", FORMS)
def test_dense_rows_are_welcome_after_sparse_ones(form):
    assert exact().fit(form(X), Y).predict(NEW).tolist() == ANSWERS


def test_class_weights_of_sparse_rows_are_svcs():
    given, y = make_classification(200, 100, weights=[0.833, 0.167], random_state=0)
    rows = sparse.csr_matrix(given)
    settings = {"class_weight": {0: 5}}
    ours, theirs = (m.fit(rows[:180], y[:180]) for m in (exact(**settings), SVC(**settings)))
    assert (ours.predict(rows[180:]) == y[180:]).sum() >= 11
    close(ours.decision_function(rows), theirs.decision_function(rows), atol=2e-2)


def test_weights_of_sparse_rows_move_the_boundary():
    rows, asked = sparse.lil_matrix(X), X[2:3]
    assert exact().fit(rows, Y).predict(asked).tolist() == [1]
    weighted = exact().fit(rows, Y, sample_weight=[0.1] * 3 + [10] * 3)
    assert weighted.predict(asked).tolist() == [2]


def test_rows_that_are_mostly_empty_give_the_dense_model():
    rng = np.random.default_rng(0)
    given = np.zeros((80, 36))
    given[[7, 39, 77, 78], [6, 5, 35, 31]] = [0.04, 0.1, 0.01, 0.03]
    y = rng.integers(0, 4, 80)
    dense = exact(kernel="linear").fit(given, y)
    ours = exact(kernel="linear").fit(sparse.coo_matrix(given), y)
    close(ours.decision_function(given), dense.decision_function(given))
    close(ours.coef_.toarray(), dense.coef_)
    assert type(dense.support_vectors_) is np.ndarray
    np.testing.assert_array_equal(ours.support_vectors_.toarray(), dense.support_vectors_)


@pytest.mark.parametrize("form", FORMS)
def test_gamma_scale_of_sparse_rows_counts_the_zeros_as_svc_does(form):
    rows = form(sparse.random(60, 8, 0.2, random_state=0))
    y = np.arange(60) % 2
    assert exact().fit(rows, y).gamma_ == pytest.approx(SVC().fit(rows, y)._gamma)


def test_the_same_settings_give_the_same_values_of_sparse_rows():
    one, two = (exact().fit(sparse.csr_matrix(X), Y).decision_function(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)
