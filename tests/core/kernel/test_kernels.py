"""Kernel blocks and products against scikit-learn's, for every kernel and every kind of row."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive.lockstep import assert_same
from scipy import sparse
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier
from onlinesvm.core.kernel.buffers import Buffers
from onlinesvm.core.kernel.kernel import KERNEL_NAMES, Kernel, _params, make_kernel
from onlinesvm.core.kernel.rows import Rows

KERNELS = {
    "linear": (Kernel("linear"), pairwise.linear_kernel),
    "poly": (
        Kernel("poly", gamma=0.3, degree=3, coef0=0.7),
        lambda X, Z: pairwise.polynomial_kernel(X, Z, degree=3, gamma=0.3, coef0=0.7),
    ),
    "poly0": (Kernel("poly", gamma=0.3, degree=0), lambda X, Z: np.ones((len(X), len(Z)))),
    "poly1": (
        Kernel("poly", gamma=0.3, degree=1, coef0=-1.0),
        lambda X, Z: 0.3 * X @ Z.T - 1.0,
    ),
    "rbf": (Kernel("rbf", gamma=0.4), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=0.4)),
    "sigmoid": (
        Kernel("sigmoid", gamma=0.2, coef0=-0.5),
        lambda X, Z: pairwise.sigmoid_kernel(X, Z, gamma=0.2, coef0=-0.5),
    ),
    "laplacian": (
        Kernel("laplacian", gamma=0.3),
        lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=0.3),
    ),
    "matern12": (
        Kernel("matern12", gamma=0.4),
        lambda X, Z: np.exp(-0.4 * pairwise.euclidean_distances(X, Z)),
    ),
    "callable": (
        Kernel("callable", function=pairwise.laplacian_kernel),
        pairwise.laplacian_kernel,
    ),
}
COMPILED = [name for name, (kernel, _) in KERNELS.items() if kernel.is_compiled]
kinds = pytest.mark.parametrize("left", ["dense", "sparse"])
other_kinds = pytest.mark.parametrize("right", ["dense", "sparse"])


def half_zero(rng, n, d):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    X[: n // 10] = 0.0  # empty rows
    return X.astype(np.float32).astype(np.float64)


def as_rows(X, kind):
    return Rows.of(sparse.csr_matrix(X) if kind == "sparse" else X)


# A callable sees the rows as they are; the estimator never mixes dense and sparse ones.
FORMS = [
    (name, left, right)
    for name in KERNELS
    for left in ("dense", "sparse")
    for right in ("dense", "sparse")
    if name != "callable" or left == right
]


@pytest.mark.parametrize(("name", "left", "right"), FORMS)
@pytest.mark.parametrize("d", [1, 7, 70])
def test_block_is_sklearns(name, left, right, d):
    rng = np.random.default_rng(d)
    X, Z = half_zero(rng, 23, d), half_zero(rng, 131, d)
    kernel, reference = KERNELS[name]
    values = kernel.block(as_rows(X, left), as_rows(Z, right))
    assert values.dtype == np.float32
    # d products are summed in float32, each of size at most |x| |z|.
    size = np.linalg.norm(X, axis=1).max() * np.linalg.norm(Z, axis=1).max()
    if name == "poly":
        size = 3 * (0.3 * size + 0.7) ** 3
    np.testing.assert_allclose(values, reference(X, Z), atol=2**-23 * max(4, d / 8) * (1 + size))


def test_exponential_is_good_to_single_precision():
    """Relative error over the whole range, down to where float32 ends."""
    distance = np.linspace(0.0, 9.3, 5000)[:, None]
    values = Kernel("rbf", gamma=1.0).block(Rows.of(distance), Rows.of(np.zeros((1, 1))))[:, 0]
    exact = np.exp(-(distance[:, 0].astype(np.float32).astype(np.float64) ** 2))
    # The exponent has size up to 87, so its own rounding is 87 * 2^-24 relative to the value.
    assert np.abs(values / exact - 1).max() < 90 * 2**-23
    near = distance[:, 0] < 1
    assert np.abs(values - exact)[near].max() < 4 * 2**-23
    far = Kernel("rbf", gamma=1.0).block(Rows.of([[1e6]]), Rows.of([[0.0]]))
    assert 0 <= far[0, 0] < 1e-37


@pytest.mark.parametrize("name", COMPILED)
@kinds
@other_kinds
def test_product_is_block_times_coefficients(name, left, right):
    rng = np.random.default_rng(0)
    X, Z = as_rows(half_zero(rng, 200, 20), left), as_rows(half_zero(rng, 150, 20), right)
    coef = rng.normal(size=(3, 150))
    kernel = KERNELS[name][0]
    K = kernel.block(X, Z).astype(np.float64)
    np.testing.assert_allclose(
        kernel.product(X, Z, coef), K @ coef.T, rtol=0, atol=1e-13 * np.abs(K).max() * 150
    )


def test_product_of_a_callable_and_of_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    kernel = KERNELS["callable"][0]
    rows, coef = Rows.of(X), rng.normal(size=(2, 5))
    expected = pairwise.laplacian_kernel(X, X[:5]) @ coef.T
    np.testing.assert_allclose(kernel.product(rows, rows.take(slice(5)), coef), expected, atol=1e-5)
    none = rows.take(slice(0))
    for kernel in (KERNELS["rbf"][0], KERNELS["callable"][0]):
        assert kernel.product(none, rows, np.ones((2, 1500))).shape == (0, 2)
        np.testing.assert_array_equal(kernel.product(rows, none, np.ones((2, 0))), 0.0)


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("d", [3, 40])
def test_a_value_is_the_same_to_the_last_bit_however_it_is_computed(name, d):
    """In a block or alone, as (x, z) or (z, x), dense or sparse, by one thread or two."""
    rng = np.random.default_rng(d)
    X = half_zero(rng, 150, d)
    kernel, dense = KERNELS[name][0], Rows.of(X)
    K = kernel.block(dense, dense)
    assert_same(K, K.T)
    for rows in (dense, as_rows(X, "sparse")):
        for size in (1, 5, 6, 7, 63, 64, 65, 97):
            first = int(rng.integers(0, 150 - size))
            part = slice(first, first + size)
            assert_same(kernel.block(rows.take(part), dense), K[part])
            assert_same(kernel.block(dense, rows.take(part)), K[:, part])
            where = rng.permutation(150)[:size]
            assert_same(kernel.block(rows.take(where), rows.take(where)), K[np.ix_(where, where)])


@pytest.mark.parametrize("name", ["rbf", "laplacian", "matern12"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_threads_do_not_change_the_values(kind, name):
    rng = np.random.default_rng(1)
    X, coef = as_rows(half_zero(rng, 700, 12), kind), rng.normal(size=(2, 700))
    settings = {"name": name, "gamma": 0.1}
    alone, many = Kernel(**settings, n_jobs=1), Kernel(**settings, n_jobs=2)
    assert_same(alone.block(X, X), many.block(X, X))
    assert_same(alone.product(X, X, coef), many.product(X, X, coef))


def test_block_into_a_wider_array_leaves_the_rest_alone():
    X = Rows.of(np.random.default_rng(2).normal(size=(10, 3)))
    out = np.full((10, 16), -7.0, np.float32)
    kernel = KERNELS["rbf"][0]
    kernel.block(X, X, out)
    assert_same(out[:, :10], kernel.block(X, X))
    assert (out[:, 10:] == -7).all()


@pytest.mark.parametrize("name", [name for name in COMPILED if name != "poly0"])
@kinds
def test_diagonal(name, left):
    X = as_rows(half_zero(np.random.default_rng(3), 50, 9), left)
    kernel = KERNELS[name][0]
    full = kernel.block(X, X).diagonal()
    np.testing.assert_allclose(kernel.diagonal(X), full, rtol=4e-6, atol=4e-7)


def test_precomputed():
    rng = np.random.default_rng(4)
    K = rng.normal(size=(6, 6)).astype(np.float32)
    rows = Rows.of(K, key=np.arange(6))
    kernel = Kernel("precomputed")
    assert_same(kernel.block(rows, rows.take(np.array([4, 1]))), K[:, [4, 1]])
    assert_same(kernel.diagonal(rows), K.diagonal().astype(np.float64))


def test_values_are_counted():
    X = Rows.of(np.ones((7, 2)))
    for kernel in (Kernel("rbf"), Kernel("callable", function=pairwise.linear_kernel)):
        kernel.block(X, X.take(slice(3)))
        kernel.product(X, X, np.ones((4, 7)))
        assert kernel.n_evaluations == 7 * 3 + 7 * 7


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_gamma(make):
    X = half_zero(np.random.default_rng(5), 40, 6)
    assert make_kernel("rbf", gamma="scale", X=make(X)).gamma == pytest.approx(1 / (6 * X.var()))
    assert make_kernel("rbf", gamma="auto", X=make(X)).gamma == pytest.approx(1 / 6)
    assert make_kernel("rbf", gamma=0.25).gamma == 0.25
    assert make_kernel("rbf", gamma="scale", X=make(np.ones((4, 3)))).gamma == 1.0


def test_unknown_names_are_refused_with_the_known():
    with pytest.raises(ValueError, match="'gauss' does not exist; choose one of linear, poly, rbf"):
        make_kernel("gauss")
    with pytest.raises(ValueError, match="'fast' is not valid; use 'scale', 'auto' or a number"):
        make_kernel("rbf", gamma="fast", X=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"'Laplace' does not exist.* Did you mean 'laplacian'\?"):
        make_kernel("Laplace")
    names = {"linear", "poly", "rbf", "laplacian", "matern12", "sigmoid", "precomputed"}
    assert set(KERNEL_NAMES) == names


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_gamma_of_kernels_whose_distance_is_not_squared(make, offset):
    """1 / the spread of the rows: a change of units changes no kernel value, an offset nothing at all."""
    X = half_zero(np.random.default_rng(5), 40, 6) + offset
    deviations = X.std(axis=0)
    for unit in (2.0**-30, 1.0, 2.0**30):
        found = [make_kernel(name, X=make(unit * X)).gamma for name in ("laplacian", "matern12")]
        wanted = 1 / (unit * deviations.sum()), 1 / (unit * np.sqrt((deviations**2).sum()))
        assert found == pytest.approx(wanted, rel=1e-9)
    assert make_kernel("laplacian", gamma="auto", X=make(X)).gamma == pytest.approx(1 / 6)
    for name in ("laplacian", "matern12"):
        assert make_kernel(name, X=make(np.ones((4, 3)))).gamma == 1.0


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, Z: np.ones(len(X)), r"shape \(4,\) for 4 by 4 examples.* \(4, 4\)"),
        (lambda X, Z: np.full((len(X), len(Z)), np.nan), "NaN or infinity"),
        (lambda X, Z: np.full((len(X), len(Z)), 1e60), "single precision"),
        (lambda X, Z: np.full((len(X), len(Z)), "a"), "real numbers"),
        (lambda X, Z: np.full((len(X), len(Z)), 1j), "real numbers"),
    ],
)
def test_a_callable_that_errs(function, message):
    X = Rows.of(np.ones((4, 2)))
    with pytest.raises(ValueError, match=message):
        Kernel("callable", function=function).block(X, X)


def test_a_callable_may_return_sparse_values():
    X = Rows.of(np.eye(3))
    kernel = Kernel("callable", function=lambda X, Z: sparse.csr_matrix(X @ Z.T))
    assert_same(kernel.block(X, X), np.eye(3, dtype=np.float32))


def test_far_from_the_origin():
    """Features of size 1e6 that differ by 1: float32 alone would see nothing but noise."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    X = (X + 1e6) - 1e6  # what is left of the digits at 1e6
    settings = {"C": 10.0, "gamma": 0.5, "tol": 1e-4}
    exact = SVC(**settings).fit(X, y).decision_function(X)
    model = LASVMClassifier(**settings, epochs="converge", random_state=0).fit(X + 1e6, y)
    np.testing.assert_allclose(model.decision_function(X + 1e6), exact, atol=1e-2)
    np.testing.assert_allclose(model.support_vectors_, (X + 1e6)[model.support_], atol=1e-6)


@pytest.mark.parametrize("name", ["linear", "rbf", "laplacian", "matern12"])
def test_a_million_features_stay_sparse(name):
    rng = np.random.default_rng(7)
    n, d = 300, 1_000_000
    X = sparse.random(n, d, 2e-5, format="csr", random_state=rng, dtype=np.float32)
    kernel = Kernel(name, gamma=0.5, n_jobs=1)
    kernel.block(Rows.of(X[:2]), Rows.of(X[:2]))  # compiling takes memory of its own
    tracemalloc.start()
    values = kernel.block(Rows.of(X), Rows.of(X))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6  # 1,200 MB if it were dense
    wanted = {
        "linear": pairwise.linear_kernel,
        "rbf": lambda X: pairwise.rbf_kernel(X, gamma=0.5),
        "laplacian": lambda X: np.exp(-0.5 * pairwise.manhattan_distances(X)),
        "matern12": lambda X: np.exp(-0.5 * pairwise.euclidean_distances(X)),
    }
    np.testing.assert_allclose(values, wanted[name](X.astype(np.float64)), atol=1e-5)


@given(st.integers(0, 2**32 - 1))
def test_rbf_values_are_those_of_a_kernel(seed):
    """Between 0 and 1, 1 only for equal rows, and positive semi-definite up to rounding."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)) * 10 ** rng.uniform(-3, 1)
    K = Kernel("rbf", gamma=0.5).block(Rows.of(X), Rows.of(X)).astype(np.float64)
    size = 0.5 * (X**2).sum(axis=1).max()
    slack = 2**-22 * (1 + size)
    assert K.min() >= 0
    assert K.max() <= 1 + slack
    assert np.linalg.eigvalsh(K).min() > -40 * slack


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(("fresh", "held"), [(1, 0), (7, 3), (70, 130), (200, 81), (300, 400)])
def test_fresh_rows_meet_those_held_and_each_other(fresh, held, form):
    rng = np.random.default_rng(0)
    X, Z = (Rows.of(form(rng.standard_normal((n, 54)).astype(np.float32))) for n in (fresh, held))
    for name in ("rbf", "laplacian", "matern12", "poly", "linear"):
        kernel = Kernel(name, gamma=0.02, coef0=1.0)
        expected = np.hstack([kernel.block(X, Z), kernel.block(X, X)])
        counted = kernel.n_evaluations
        np.testing.assert_array_equal(kernel.block_with_self(X, Z, Buffers()), expected)
        assert kernel.n_evaluations == 2 * counted


def test_a_callable_meets_as_the_tiles_do():
    rng = np.random.default_rng(0)
    X, Z = (Rows.of(rng.standard_normal((n, 5)).astype(np.float32)) for n in (7, 4))
    kernel = Kernel("callable", function=lambda a, b: a @ b.T)
    expected = Kernel("linear").block_with_self(X, Z, Buffers())
    np.testing.assert_allclose(
        kernel.block_with_self(X, Z, Buffers()), expected, rtol=1e-5, atol=1e-6
    )


def test_sparse_rows_against_none():
    """A support set that is still empty, with more features than a panel has columns for."""
    X = sparse.random(20, 5000, 0.01, format="csr", random_state=0)
    rows = Rows.of(X)
    kernel = Kernel("rbf", gamma=0.5)
    values = kernel.block_with_self(rows, rows.take(slice(0, 0)), Buffers())
    assert_same(values, kernel.block(rows, rows))


def test_degrees_that_no_integer_of_the_processor_holds():
    """They are refused by nobody, and unused by most kernels."""
    assert _params("poly", 1.0, 0.0, 10**20).degree == 2**31 - 2
    assert _params("poly", 1.0, 0.0, 10**20 + 1).degree == 2**31 - 1


@pytest.mark.parametrize("machines", [1, 2, 5])
def test_the_product_of_one_row_is_that_of_many(machines):
    """One row has a compiled function of its own (``row_product``), unless it is far; same bits."""
    rng = np.random.default_rng(machines)
    for width, n in [(1, 1), (3, 63), (4, 64), (17, 65), (100, 300)]:
        kernel = Kernel("rbf", gamma=0.5 / width)
        X, Z = (rng.normal(size=(rows, width)) for rows in (9, n))
        X[0] *= 300.0
        X, Z, coef = Rows.of(X), Rows.of(Z), rng.normal(size=(machines, n))
        alone = [kernel.product(X.take(slice(i, i + 1)), Z, coef)[0] for i in range(9)]
        assert kernel.n_evaluations == 9 * n
        np.testing.assert_array_equal(kernel.product(X, Z, coef), alone)
        wanted = pairwise.rbf_kernel(X.to_array(), Z.to_array(), gamma=kernel.gamma) @ coef.T
        np.testing.assert_allclose(alone, wanted, atol=1e-4)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_machine_has_the_same_sums_alone_and_among_many(kind):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((210, 7)).astype(np.float32)
    rows = Rows.of(values if kind == "dense" else sparse.csr_matrix(values))
    coef = rng.standard_normal((23, 150))
    kernel, vectors = Kernel("rbf", gamma=0.2), rows.take(slice(150))
    together = kernel.product(rows, vectors, coef)
    for machine in range(23):
        alone = kernel.product(rows, vectors, coef[machine : machine + 1])
        np.testing.assert_array_equal(together[:, machine], alone[:, 0])


def test_a_model_puts_its_rows_in_order_once(monkeypatch):
    """Rows of very different size are added by their size: sorting them for each row asked is dear."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 5)) * 40
    y = rng.integers(0, 3, 600)
    model = LASVMClassifier(gamma=1.0, random_state=0).fit(X, y)
    whole = model.decision_function(X[:40])
    sorted_, argsort = [], np.argsort
    monkeypatch.setattr(
        np, "argsort", lambda *a, **k: sorted_.append(len(a[0])) or argsort(*a, **k)
    )
    alone = np.vstack([model.decision_function(X[i : i + 1]) for i in range(40)])
    assert_same(alone, whole)
    assert not [size for size in sorted_ if size > 100]
