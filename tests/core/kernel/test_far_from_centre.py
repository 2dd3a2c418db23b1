"""Values of kernels of a distance, far from the centre: right to 1e-5, in [0, 1], the same in every way.

The twin is NumPy in extended precision, by differences. Data: an offset, one outlier, a sentinel
value in a column, a stream that moves; dense, CSR, and dense rows kept sparse.
"""

import copy
import pickle

import numpy as np
import pytest
from awkward_values import as_dense
from hypothesis import given
from hypothesis import strategies as st
from naive.lockstep import assert_same
from scipy import sparse
from sklearn.svm import SVC

import onlinesvm
from onlinesvm import LASVMClassifier
from onlinesvm.core.examples import first_equal
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows, RowStore
from onlinesvm.core.lasvm.choose.pool import PoolRows

SENTINEL = -999999.0
FORMS = {
    "dense": Rows.of,
    "csr": lambda X, **how: Rows.of(sparse.csr_matrix(X), **how),
    "packed": Rows.packed,
}
forms = pytest.mark.parametrize("form", FORMS)


def offset(by):
    return lambda rng, n, d: by + rng.normal(size=(n, d))


def outlier(rng, n, d):
    X = rng.normal(size=(n, d))
    X[n // 2, d // 2] = 1e7
    return X


def sentinels(rng, n, d):
    X = rng.normal(size=(n, d))
    X[rng.random(n) < 0.1, d // 2] = SENTINEL
    return X


def moving(rng, n, d):
    return rng.normal(size=(n, d)) + 1000.0 * (np.arange(n) >= n // 2)[:, None]


def mostly_zero(rng, n, d):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.2)
    X[: n // 2] *= 1e4
    return X


DATA = {f"offset {by:g}": offset(by) for by in (0, 1, 1e2, 1e3, 1e4, 1e6)} | {
    make.__name__: make for make in (outlier, sentinels, moving, mostly_zero)
}
data = pytest.mark.parametrize("make", DATA.values(), ids=DATA)


kernels = pytest.mark.parametrize("name", ["rbf", "laplacian", "matern12"])


def true_values(X, Z, gamma, name="rbf"):
    X, Z = X.astype(np.longdouble), Z.astype(np.longdouble)
    power = 1 if name == "laplacian" else 2
    distance = sum(abs(X[:, [j]] - Z[:, j]) ** power for j in range(X.shape[1]))
    distance = np.sqrt(distance) if name == "matern12" else distance
    return np.exp(-gamma * distance).astype(np.float64)


def rows_of(form, X, kernel):
    return FORMS[form](X, far=kernel.far, absolute=kernel.absolute)


def scaled(name, width, d, spread=1.0):
    """gamma with which the exponent of two rows of d features of this spread is about ``width``."""
    unit = {"rbf": d * spread**2, "laplacian": d * spread, "matern12": d**0.5 * spread}
    return width / unit[name]


@forms
@data
@kernels
@pytest.mark.parametrize("d", [1, 10, 70])
def test_values_are_right_and_the_same_however_computed(form, make, d, name):
    rng = np.random.default_rng(d)
    X = make(rng, 150, d)
    X[:20] = X[20:40] + 1e-3 * rng.normal(size=(20, d))  # pairs close to each other
    X[40:45] = X[45:50]
    for width in (0.01, 1.0, 10.0):
        gamma = scaled(name, width, d)
        kernel = Kernel(name, gamma=gamma, n_jobs=2)
        left, right = (rows_of(form, part, kernel) for part in (X, X[:100]))
        K = kernel.block(left, right)
        assert K.min() >= 0.0
        assert K.max() <= 1.0
        np.testing.assert_allclose(K, true_values(X, X[:100], gamma, name), atol=1e-5)
        if name != "rbf":
            assert (kernel.block(left, left).diagonal() == 1.0).all()
            assert (K[40:45, 45:50].diagonal() == 1.0).all()
        assert_same(kernel.block(right, left).T, K)
        assert_same(kernel.block(left, left)[:, :100], K)
        assert_same(kernel.product(left, right, np.eye(100)), K)
        assert_same(np.concatenate([kernel.block(left, right.take([j])) for j in range(100)], 1), K)
        plain = rows_of("dense", X, kernel)
        assert_same(kernel.block(plain, plain)[:, :100], K)


@given(
    name=st.sampled_from(["rbf", "laplacian", "matern12"]),
    seed=st.integers(0, 10**6),
    d=st.integers(1, 40),
    shift=st.floats(-1e6, 1e6),
    spread=st.sampled_from([1e-6, 1e-3, 1.0, 1e3, 1e6]),
    width=st.floats(1e-3, 1e3),
    close=st.sampled_from([0.0, 1e-12, 1e-7, 1e-4, 1e-2]),
    form=st.sampled_from(list(FORMS)),
)
def test_any_offset_and_scale(name, seed, d, shift, spread, width, close, form):
    rng = np.random.default_rng(seed)
    X = shift + spread * rng.normal(size=(30, d))
    X[:10] = X[10:20] + close * spread * rng.normal(size=(10, d))  # near copies
    # 48 bits of a value are kept: it is for the true values that these are the values.
    most = 1e-5 * 2.0**48 / (abs(shift) + spread) ** (2 if name == "rbf" else 1) / d
    gamma = min(scaled(name, width, d, spread), most if name != "rbf" else most * d)
    kernel = Kernel(name, gamma=gamma)
    rows = rows_of(form, X, kernel)
    K = kernel.block(rows, rows_of(form, X, kernel))
    assert K.max() <= 1.0
    np.testing.assert_allclose(K, true_values(X, X, gamma, name), atol=1e-5)
    np.testing.assert_allclose(kernel.block(rows, rows).diagonal(), 1.0, atol=1e-5)
    if name != "rbf":
        assert (K.diagonal() == 1.0).all()
        assert (kernel.block(rows, rows).diagonal() == 1.0).all()


@kernels
@pytest.mark.parametrize("exponent", [-60, -30, 0, 30, 60])
def test_units_change_no_value(name, exponent):
    """Powers of two change digits of no number: the same values to the last bit."""
    X = np.random.default_rng(0).normal(size=(90, 7)).astype(np.float32).astype(float)
    unit, gamma = 2.0**exponent, 2.0**-2
    plain = Kernel(name, gamma=gamma)
    if abs(exponent) > 30 and name == "rbf":
        pytest.skip("gamma is beyond single precision")
    moved = Kernel(name, gamma=gamma / unit ** (2 if name == "rbf" else 1))
    K = [
        kernel.block(*[rows_of("dense", Z, kernel)] * 2)
        for kernel, Z in ((plain, X), (moved, unit * X))
    ]
    assert_same(K[1], K[0])


@forms
def test_the_second_part_stays_with_its_row(form):
    """Near rows first: the store gets second parts when the first far row arrives."""
    rng = np.random.default_rng(0)
    kernel = Kernel("rbf", gamma=1.0)
    near, far = (rng.normal(size=(400, 30)) * (rng.random((400, 30)) < 0.4) for _ in range(2))
    far[far != 0] += 1e6
    rows = [FORMS[form](part, far=kernel.far) for part in (near, far)]
    store, kept = RowStore(rows[0]), np.concatenate([near, far])
    store.append(rows[0])
    assert not store.has_second_parts()
    store.append(rows[1].to_sparse() if form == "dense" else rows[1].to_dense())
    number = np.arange(800)
    for _ in range(30):  # rows leave, the last ones fill the holes; sparse stores are repacked
        holes = np.sort(rng.choice(len(number) - 20, 20, replace=False))
        source, n = np.arange(len(number) - 20, len(number)), len(number) - 20
        store.move(source, holes, n)
        number[holes] = number[source]
        number = number[:n]
        values = store.rows().to_array()
        values = values if form == "dense" else values.toarray()
        np.testing.assert_allclose(values, kept[number], rtol=1e-7, atol=1e-6)
        assert store.has_second_parts()
    copied = pickle.loads(pickle.dumps(copy.deepcopy(store)))
    again = FORMS[form](kept[number], far=kernel.far)
    assert_same(kernel.block(copied.rows(), rows[1]), kernel.block(again, rows[1]))
    if form == "dense":
        store.rearrange(np.flatnonzero(number < 400), store.rows())
        assert not store.has_second_parts()


@forms
@kernels
@pytest.mark.parametrize("d", [1, 3, 70])
@pytest.mark.parametrize("share", [0.02, 1.0], ids=["few pairs", "many pairs"])
def test_rows_with_second_parts_meet_rows_that_have_none(form, d, share, name):
    rng = np.random.default_rng(d)
    kernel = Kernel(name, gamma=1.0)
    size = {"rbf": 20.0 / np.sqrt(d), "laplacian": 10.0 / d, "matern12": 9.0 / np.sqrt(d)}[name]
    spread = 0.3 if name == "rbf" else 2.0 / d
    X = spread * rng.normal(size=(100, d)) + size * (rng.random((100, 1)) < share)
    Z = X + 1e-4 * rng.normal(size=X.shape)
    far = np.concatenate([X, [[1e6] * d]])
    some, others = rows_of(form, far, kernel), rows_of(form, Z, kernel)
    assert some.has_second_parts()
    assert not others.has_second_parts()
    K = kernel.block(some, others)
    np.testing.assert_allclose(K, true_values(far, Z, 1.0, name), atol=1e-5)
    np.testing.assert_array_equal(kernel.block(others, some), K.T)


@forms
def test_rows_that_differ_in_the_second_part_are_no_duplicates(form):
    X = 1e6 + np.array([[0.001, 1.0], [0.002, 1.0], [0.001, 1.0], [0.002, 1.0]])
    rows = FORMS[form](X, far=1.0)
    assert first_equal(rows, np.zeros(4, int)).tolist() == [0, 1, 0, 1]
    assert first_equal(FORMS[form](X), np.zeros(4, int)).tolist() == [0, 0, 0, 0]


@kernels
@pytest.mark.parametrize("form", ["dense", "packed"])
@pytest.mark.parametrize("gamma", [0.02, 1.0, 30.0], ids=["near", "a few pairs", "far"])
def test_rows_of_a_pool_are_rows_of_the_block(form, gamma, name):
    rng = np.random.default_rng(0)
    X = 1.0 + rng.normal(size=(200, 30)) * (rng.random((200, 30)) < 0.3)
    X[100:110] = X[:10] + 1e-3
    kernel = Kernel(name, gamma=gamma)
    rows = rows_of(form, X, kernel)
    pool = PoolRows(rows, kernel, 10.0)
    assert_same(np.stack([pool[i] for i in range(200)]), kernel.block(rows, rows.take(slice(200))))


# -- models --------------------------------------------------------------------------------


def problem(rng, n, d=6):
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)


def with_sentinels(X, rng, value=SENTINEL):
    X = X.copy()
    X[rng.random(len(X)) < 0.02, 5] = value
    return X


def given_as(X, form):
    return sparse.csr_matrix(X) if form == "csr" else X


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("by", [0.0, 1e3, 1e4, 1e6, "sentinels", "outlier"])
def test_a_converged_model_is_that_of_svc(form, by):
    rng = np.random.default_rng(0)
    X, y = problem(rng, 700)
    if by == "sentinels":
        X = with_sentinels(X, rng)
    elif by == "outlier":
        X[17, 3] = 1e7
    else:
        X += by
    fit, test = slice(400), slice(400, None)
    expected = SVC(C=10, gamma=0.1, tol=1e-5).fit(X[fit], y[fit]).decision_function(X[test])
    if by == 1e6:  # libsvm computes |x|^2 + |z|^2 - 2 x.z too, and at 1e6 is off itself
        expected = SVC(C=10, gamma=0.1, tol=1e-5).fit(X[fit] - by, y[fit])
        expected = expected.decision_function(X[test] - by)
    model = LASVMClassifier(C=10, gamma=0.1, epochs="converge", tol=1e-4, random_state=0)
    model.fit(given_as(X[fit], form), y[fit])
    values = model.decision_function(given_as(X[test], form))
    np.testing.assert_allclose(values, expected, atol=0.01)
    vectors = model.support_vectors_
    vectors = vectors.toarray() if form == "csr" else vectors
    np.testing.assert_allclose(vectors, X[fit][model.support_], atol=1e-5)
    K = true_values(X[test], vectors, 0.1)
    np.testing.assert_allclose(
        K @ as_dense(model.dual_coef_)[0] + model.intercept_, values, atol=1e-3
    )


ONLINE = [
    "LASVMClassifier",
    "HullerClassifier",
    "NORMAClassifier",
    "PegazClassifier",
    "OLSVMClassifier",
    "StreamSVMClassifier",
    "KernelPerceptronClassifier",
    "AveragedPerceptronClassifier",
    "BudgetPerceptronClassifier",
]


@pytest.mark.filterwarnings("ignore:The hulls")  # C=None: a hard margin on data with errors
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("name", ONLINE)
def test_every_classifier_bears_sentinels(name, form):
    """-30 instead of -999999 has the same kernel values: the same model, and SVC's beside it."""
    X, y = problem(np.random.default_rng(0), 1500)
    fit, test = slice(1000), slice(1000, None)
    scores = []
    for value in (-30.0, SENTINEL):
        Z = with_sentinels(X, np.random.default_rng(1), value)
        model = getattr(onlinesvm, name)(gamma=0.1, random_state=0)
        model.fit(given_as(Z[fit], form), y[fit])
        scores.append(model.score(given_as(Z[test], form), y[test]))
    assert abs(scores[1] - scores[0]) <= 0.01
    if name in ("LASVMClassifier", "HullerClassifier"):
        assert scores[1] > SVC(gamma=0.1).fit(Z[fit], y[fit]).score(Z[test], y[test]) - 0.03


@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("by", [1e3, 1e4])
def test_a_stream_that_moves(form, by):
    rng = np.random.default_rng(1)
    model = LASVMClassifier(C=10, gamma=0.1)
    errors = []
    for block in range(9):
        X, y = problem(rng, 500)
        X += by * (block >= 2)
        if block >= 6:
            errors.append(np.mean(model.predict(given_as(X, form)) != y))
        model.partial_fit(given_as(X, form), y)
    reference = SVC(C=10, gamma=0.1).fit(X - by, y)  # on one block of the three and more
    X, y = problem(rng, 500)
    assert np.mean(errors) < np.mean(reference.predict(X) != y)


@kernels
@pytest.mark.parametrize("settings", [{}, {"budget": 30}, {"window": 60}, {"selection": "active"}])
@pytest.mark.parametrize("by", [3.0, 1e3, 1e6])
def test_learn_one_equals_partial_fit_in_a_stream_that_moves_and_returns(settings, by, name):
    rng = np.random.default_rng(0)
    X, y = problem(rng, 150)
    X[40:90] += by
    X[60] = X[61] + 1e-4
    rows, one = (
        LASVMClassifier(kernel=name, gamma=2.0, **settings).partial_fit(X[:20], y[:20])
        for _ in range(2)
    )
    for x, label in zip(X[20:], y[20:].tolist(), strict=True):
        rows.partial_fit(x[None, :], [label])
        one.learn_one(x, label)
    assert_same(one.decision_function(X), rows.decision_function(X))
    single = [one.decision_one(x) for x in X]  # summed in another order, in double precision
    np.testing.assert_allclose(single, one.decision_function(X), atol=1e-12)
    assert one.n_kernel_evaluations_ == rows.n_kernel_evaluations_
    again = pickle.loads(pickle.dumps(one)).learn_one(X[50] + 0.1, 1)
    assert_same(again.decision_function(X), one.learn_one(X[50] + 0.1, 1).decision_function(X))


# -- parameters at the ends of their range --------------------------------------------------


@forms
@kernels
@pytest.mark.parametrize("gamma", [1e-300, 1e-45, 1e30, 1e300, 1.7e308])
def test_gamma_of_any_size(form, gamma, name):
    X = np.random.default_rng(0).normal(size=(90, 4))
    X[:40, 1:] = 0.0
    kernel = Kernel(name, gamma=gamma)
    rows = rows_of(form, X, kernel)
    wanted = np.eye(90) if gamma > 1 else np.ones((90, 90))
    np.testing.assert_allclose(kernel.block(rows, rows), wanted, atol=1e-30)
    copies = rows_of(form, X, kernel)
    np.testing.assert_allclose(kernel.block(rows, copies), wanted, atol=1e-30)


@pytest.mark.filterwarnings("ignore:The hulls")
@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern12", "poly", "sigmoid"])
@pytest.mark.parametrize("gamma", [1e-300, 1e300])
def test_no_model_holds_nan(name, kernel, gamma):
    X, y = problem(np.random.default_rng(0), 80)
    X[::4, 1:] = 0.0  # dot products that are zero
    X[0, 0] = 0.0
    model = getattr(onlinesvm, name)(kernel=kernel, gamma=gamma, coef0=1.0, random_state=0)
    if kernel == "poly" and gamma > 1:
        with pytest.raises(ValueError, match="too large"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(as_dense(model.dual_coef_)).all()


def test_polynomial_values_that_overflow_are_refused():
    X = np.array([[1.0], [-1.0], [0.5]])
    with pytest.raises(ValueError, match="too large"):  # k(x, x) = 0, k(x, -x) = -8e39
        LASVMClassifier(kernel="poly", gamma=1e13, coef0=-1e13).fit(X, [0, 1, 0])
    model = LASVMClassifier(kernel="poly", gamma=1.0).fit(X, [0, 1, 0])
    with pytest.raises(ValueError, match="too large"):
        model.decision_function([[1e18]])


def test_prediction_keeps_the_second_part_of_support_vectors():
    """Two clouds so far apart that one of them is far from any centre; SVC beside it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X[150:] += 1e5
    model = LASVMClassifier(C=10, gamma=1.0, epochs="converge", random_state=0).fit(X, y)
    exact = SVC(C=10, gamma=1.0, tol=1e-5).fit(X, y)
    difference = np.abs(model.decision_function(X) - exact.decision_function(X))
    assert difference.max() < 0.01
