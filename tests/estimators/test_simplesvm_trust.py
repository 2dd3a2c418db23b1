"""SimpleSVM on awkward input: whose arrays, malformed sparse rows, odd weights, free offsets,
threads, Ctrl-C, files. ``SVC`` and its relatives stand beside it where they have an answer.
"""

import contextlib
import pickle
import signal
import threading

import joblib
import numpy as np
import pytest
from plain_kernels import plain_rbf
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from onlinesvm import SimpleSVMClassifier, SimpleSVMOneClass, SimpleSVMRegressor, load_model
from onlinesvm.core.kernel import exact as exact_kernels
from onlinesvm.core.kernel.csr import canonical_csr
from onlinesvm.core.kernel.exact import ExactRows
from onlinesvm.core.kernel.kernel import make_kernel
from onlinesvm.core.simplesvm.kernel_store import KernelStore

KINDS = [SimpleSVMClassifier, SimpleSVMRegressor, SimpleSVMOneClass]
kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__[9:])


def blobs(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    return X, y


def values_of(model, X):
    regression = isinstance(model, SimpleSVMRegressor | SVR)
    return (model.predict if regression else model.decision_function)(X)


# -- arrays -----------------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("form", ["float64", "float32", "csr"])
@pytest.mark.parametrize("options", [{"kernel": "linear"}, {"kernel": "rbf"}, {"low_rank": 5}])
def test_a_model_does_not_change_with_the_users_arrays(kind, form, options):
    X, y = blobs()
    X = sparse.csr_matrix(X) if form == "csr" else X.astype(form)
    y, weight = y.astype(float), np.ones(len(y))
    grid, more = X[:20].copy(), X[:5].copy()
    model = kind(**options).fit(X, y, sample_weight=weight)
    longer = kind(**options).fit(X[:50].copy(), y[:50].copy()).partial_fit(more, y[:5])
    twins = [pickle.loads(pickle.dumps(each)) for each in (model, longer)]
    for array in (X.data if form == "csr" else X, more.data if form == "csr" else more, y, weight):
        array[...] = 0
    for each, twin in zip((model, longer), twins):
        np.testing.assert_array_equal(values_of(each, grid), values_of(twin, grid))
        for changed in (each, twin):
            changed.forget([3])
        np.testing.assert_allclose(values_of(each, grid), values_of(twin, grid), atol=1e-9)


def test_a_given_kernel_matrix_and_a_given_map_are_copied():
    X, y = blobs()
    K, Z = X @ X.T, X.copy()
    grid, table = K[:20].copy(), {len(X): Z}
    model = SimpleSVMClassifier(kernel="precomputed").fit(K, y)
    mapped = SimpleSVMClassifier(kernel="linear", low_rank=lambda A: table.get(len(A), A)).fit(X, y)
    before, mapped_before = model.decision_function(grid), mapped.decision_function(X[:20])
    K[...], Z[...] = 0, 0
    np.testing.assert_array_equal(model.decision_function(grid), before)
    np.testing.assert_array_equal(mapped.decision_function(X[:20]), mapped_before)


@kinds
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_fitted_attributes_are_copies(kind, form):
    X, y = blobs()
    model = kind(kernel="linear").fit(form(X), y)
    before = values_of(model, X)
    for name in ("support_vectors_", "dual_coef_", "intercept_", "support_", "classes_"):
        if hasattr(model, name):
            array = getattr(model, name)
            (array.data if sparse.issparse(array) else array)[...] = 0
    np.testing.assert_array_equal(values_of(model, X), before)
    if kind is SimpleSVMClassifier:
        assert set(model.predict(X)) == {0, 1}


def forms_of(S):
    """The same matrix in every legal form that a caller may build."""
    rng = np.random.default_rng(1)
    order = np.concatenate([a + rng.permutation(b - a) for a, b in zip(S.indptr, S.indptr[1:])])
    yield "unsorted", (S.data[order], S.indices[order], S.indptr)
    data = np.stack([0.3 * S.data, 0.7 * S.data], axis=1).ravel()
    yield "duplicates", (data, np.repeat(S.indices, 2), 2 * S.indptr)
    record = np.zeros(S.nnz, [("column", "i4"), ("gap", "i4"), ("value", "f8")])
    record["column"], record["value"] = S.indices, S.data
    yield "fields", (record["value"], record["column"], S.indptr)
    yield "reversed", (S.data[::-1].copy()[::-1], S.indices[::-1].copy()[::-1], S.indptr)
    yield "int64", (S.data, S.indices.astype(np.int64), S.indptr.astype(np.int64))


@kinds
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_form_of_csr_is_the_same_matrix_and_stays_as_it_is(kind, kernel):
    S = sparse.random(60, 30, 0.3, format="csr", random_state=0)
    X, y = S.toarray(), (np.arange(60) % 2)
    model = kind(kernel=kernel, gamma=0.1).fit(X, y)
    for name, parts in forms_of(S):
        given = sparse.csr_matrix(S.shape)
        given.data, given.indices, given.indptr = parts
        copies = [part.copy() for part in parts]
        for part in parts:
            part.flags.writeable = False
        other = kind(kernel=kernel, gamma=0.1).fit(given, y)
        np.testing.assert_allclose(values_of(other, X), values_of(model, X), atol=1e-9)
        np.testing.assert_allclose(values_of(model, given), values_of(model, X), atol=1e-12)
        for part, was in zip((given.data, given.indices, given.indptr), copies):
            np.testing.assert_array_equal(part, was, err_msg=name)


def broken(case):
    X = sparse.random(30, 10, 0.3, format="csr", random_state=0)
    if case == "beyond":
        X.indices[3] = 10
    elif case == "far beyond":
        X.indices[3] = 2_000_000_000
    elif case == "negative":
        X.indices[3] = -5
    elif case == "pointer beyond":
        X.indptr[-1] += 10_000_000
    elif case == "pointer falls":
        X.indptr[5] = X.indptr[-1]
    elif case == "pointer starts late":
        X.indptr[0] = 1
    elif case == "few values":
        X.data = X.data[:-3]
    return X


@pytest.mark.parametrize(
    "case",
    [
        "beyond", "far beyond", "negative", "pointer beyond", "pointer falls",
        "pointer starts late", "few values",
    ],
)  # fmt: skip
def test_malformed_csr_is_refused(case):
    y = np.arange(30) % 2
    good = sparse.random(30, 10, 0.3, format="csr", random_state=0)
    model = SimpleSVMClassifier().fit(good, y)
    before = model.decision_function(good)
    for call in (
        lambda: SimpleSVMClassifier().fit(broken(case), y),
        lambda: model.partial_fit(broken(case), y),
        lambda: model.predict(broken(case)),
    ):
        with pytest.raises(ValueError, match="sparse matrix is malformed"):
            call()
    np.testing.assert_array_equal(model.decision_function(good), before)


def test_a_flag_that_lies_is_not_believed():
    X = sparse.csr_matrix(np.array([[1.0, 2.0, 0.0]]))
    X.has_canonical_format = True
    X.indices[:], X.data[:] = X.indices[::-1].copy(), X.data[::-1].copy()
    np.testing.assert_array_equal(canonical_csr(X).indices, [0, 1])
    np.testing.assert_array_equal(canonical_csr(X).toarray(), [[1.0, 2.0, 0.0]])


def test_rows_of_another_width_never_reach_compiled_code():
    kernel = make_kernel("rbf", gamma=1.0)
    with pytest.raises(ValueError, match="features"):
        ExactRows(np.ones((3, 4)), kernel).block(ExactRows(np.ones((3, 5)), kernel))


# -- kernel values ----------------------------------------------------------------------------


def dot_products(A, B):
    values = A @ B.T
    return values.toarray() if sparse.issparse(values) else values


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", ["linear", "poly", "sigmoid", "rbf", "laplacian", dot_products])
def test_the_diagonal_is_that_of_the_block(form, kernel):
    X = np.random.default_rng(0).normal(size=(7, 3)) * np.arange(1, 8)[:, None]
    rows = ExactRows(form(X), make_kernel(kernel, gamma=0.2, coef0=0.5))
    np.testing.assert_allclose(rows.diagonal(), rows.block(rows).diagonal(), rtol=1e-14)


@pytest.mark.parametrize("low_rank", [None, 4])
def test_a_python_kernel_gives_the_model_of_the_same_kernel_by_name(low_rank):
    X, y = blobs(80)
    options = {"low_rank": low_rank, "tol": 1e-8}
    own = SimpleSVMClassifier(kernel=dot_products, **options).fit(X, y)
    peer = SVC(kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(
        own.decision_function(X), peer.decision_function(X), atol=1e-4, rtol=0
    )


@kinds
def test_a_stream_of_far_rows_and_a_python_kernel_ends(kind):
    """Most values are tiny and some rows far away: the scale of the kernel must be the true one."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, size=(39, 40)) * 1e-3 * (rng.random((39, 40)) < 0.1)
    X[rng.random(39) < 0.1] = -999999.0
    y = rng.integers(2, size=39).astype(float)
    models = [kind(kernel=kernel, random_state=0) for kernel in (dot_products, "linear")]
    for model in models:
        if "C" in model.get_params():
            model.set_params(C=100.0)
        for first, last in ((0, 10), (10, 39), (0, 11), (11, 39)):
            part = slice(first, last)
            model.partial_fit(*([X[part]] if kind is SimpleSVMOneClass else [X[part], y[part]]))
    near = X[np.abs(X).max(axis=1) < 1]  # equal far rows have both labels: theirs are not unique
    ours, named = (values_of(model, near) for model in models)
    np.testing.assert_allclose(ours, named, atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("gamma", [1.0, 100.0, 1e300, 1e308])
def test_rbf_values_are_right_at_any_offset(form, offset, gamma):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5))
    X = np.concatenate([X, X[:3]]) + offset
    apart = ((X[:, None] - X) ** 2).sum(-1)
    with np.errstate(over="ignore"):
        true = np.where(apart == 0, 1.0, np.exp(-gamma * apart))
    kernel = make_kernel("rbf", gamma=gamma)
    for other in (form, np.asarray):
        K = ExactRows(form(X), kernel).block(ExactRows(other(X), kernel))
        np.testing.assert_allclose(K, true, atol=1e-10)
        assert K.min() >= 0
        assert K.max() <= 1


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("awkward", ["offset", "outlier", "missing"])
def test_far_from_the_origin_equals_svc(form, awkward):
    X, y = blobs(200)
    moved, grid = X.copy(), slice(100, 200)
    if awkward == "offset":
        moved += 1e6
        near = SVC(gamma=1.0, tol=1e-8).fit(X, y).decision_function(X)
    else:
        moved[7 if awkward == "outlier" else slice(0, 8), 1] = -999999.0
        # SVC as well computes |x|^2 + |z|^2 - 2 <x, z>: it is given the values.
        apart = ((moved[:, None] - moved) ** 2).sum(-1)
        near = SVC(kernel="precomputed", tol=1e-8).fit(np.exp(-apart), y)
        near = near.decision_function(np.exp(-apart))
    model = SimpleSVMClassifier(gamma=1.0).fit(form(moved), y)
    np.testing.assert_allclose(model.decision_function(form(moved))[grid], near[grid], atol=1e-4)


def test_a_gamma_beyond_all_bounds():
    X, y = blobs()
    model = SimpleSVMClassifier(gamma=1e300).fit(X, y)
    assert model.score(X, y) == 1.0
    far = model.decision_function(X + 1.0)
    np.testing.assert_array_equal(far, np.full(len(X), model.intercept_[0]))


@kinds
def test_complex_kernels_are_refused(kind):
    X, y = blobs()
    with pytest.raises(ValueError, match="real numbers, not complex"):
        kind(kernel=lambda A, B: A @ B.T + 1j).fit(X, y)


# -- weights ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({0: np.nan, 1: 1.0}, "class_weight of class 0 must be a finite number"),
        ({0: -1.0, 1: 1.0}, "class_weight of class 0 must be .* not negative"),
        ({0: "much", 1: 1.0}, "class_weight of class 0 must be a finite number"),
        ({0: 0.0, 1: 0.0}, "all samples have zero or negative weights"),
        ({0: 0.0, 1: 1.0}, "all samples with positive weights belong to the same class"),
    ],
)
def test_odd_class_weights_are_refused(weights, message):
    X, y = blobs()
    with pytest.raises(ValueError, match=message):
        SimpleSVMClassifier(class_weight=weights).fit(X, y)
    if weights[1] != 1.0 or weights[0] != 0.0:  # a stream may begin with one class
        with pytest.raises(ValueError, match=message):
            SimpleSVMClassifier(class_weight=weights).partial_fit(X, y)


@pytest.mark.parametrize("margin", ["linear", "quadratic", "hard"])
def test_weights_that_leave_one_class_are_refused(margin):
    X, y = blobs()
    with pytest.raises(
        ValueError, match="all samples with positive weights belong to the same class"
    ):
        SimpleSVMClassifier(margin=margin).fit(X, y, sample_weight=y.astype(float))


def test_the_last_example_with_a_weight_is_not_forgotten():
    X, y = blobs()
    weight = np.ones(len(y))
    weight[np.flatnonzero(y == 1)[1:]] = 0.0
    model = SimpleSVMClassifier().fit(X, y, sample_weight=weight)
    with pytest.raises(
        ValueError, match="class 1 would be forgotten; keep at least one of positive weight"
    ):
        model.forget(np.flatnonzero(y == 1)[0])


@pytest.mark.parametrize("kind", [SimpleSVMRegressor, SimpleSVMOneClass])
@pytest.mark.parametrize("low_rank", [None, 3])
def test_the_last_example_that_counts_cannot_be_forgotten(kind, low_rank, tmp_path):
    """A model of weightless examples is a constant, and no file can hold it."""
    X, _ = blobs(8)
    targets = () if kind is SimpleSVMOneClass else (X[:, 0],)
    weight = np.array([1.0, 2.0, 0.5, 0, 0, 0, 0, 0])
    model = kind(low_rank=low_rank, random_state=0).fit(X, *targets, sample_weight=weight)
    before = values_of(model, X)
    with pytest.raises(ValueError, match="of positive weight would be forgotten; keep at least"):
        model.forget([0, 1, 2, 5])
    np.testing.assert_array_equal(values_of(model, X), before)
    model.forget([0, 2, 3, 4]).save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(values_of(again, X), values_of(model, X))


def test_quadratic_slack_never_advises_itself():
    X = np.array([[1.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match=r"C=1e\+20 is too large for margin='quadratic'"):
        SimpleSVMClassifier(kernel="linear", margin="quadratic", C=1e20).fit(X, [0, 1, 1])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
def test_quadratic_slack_on_contradictory_labels_of_any_scale(scale):
    X, y = np.array([[1.0], [1.0], [3.0], [4.0]]) * scale, np.array([-1, 1, 1, 1])
    model = SimpleSVMClassifier(kernel="linear", margin="quadratic", C=1.0).fit(X, y)
    alpha = np.zeros(4)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    margin = y * model.decision_function(X)  # 1 - alpha / C, or more than 1 where alpha is 0
    tolerance = 1e-5 if scale <= 1 else 1e-3  # 1 beside 1e13 has few digits
    np.testing.assert_allclose((margin + alpha)[alpha > 0], 1.0, atol=tolerance)
    assert (margin[alpha == 0] >= 1 - tolerance).all()
    assert alpha[:2].min() > 0.3


# -- the offset -------------------------------------------------------------------------------


def test_a_free_offset_is_in_the_middle_as_in_libsvm():
    X, y = blobs(40)
    for C in (1e-6, 1e-4, 1e-3):  # balanced: all coefficients at C
        pick = np.concatenate([np.flatnonzero(y == k)[:15] for k in (0, 1)])
        model = SimpleSVMClassifier(C=C, gamma=0.3).fit(X[pick], y[pick])
        twin = SVC(C=C, gamma=0.3, tol=1e-10).fit(X[pick], y[pick])
        np.testing.assert_allclose(model.intercept_, twin.intercept_, atol=1e-9)
    for nu in (0.1, 0.25, 0.5):  # nu n is whole
        model = SimpleSVMOneClass(nu=nu, gamma=1e-3).fit(X)
        twin = OneClassSVM(nu=nu, gamma=1e-3, tol=1e-12).fit(X)
        np.testing.assert_allclose(model.intercept_, twin.intercept_, atol=1e-9)
    wide = SimpleSVMRegressor(epsilon=10.0).fit(X, y)
    np.testing.assert_allclose(wide.intercept_, SVR(epsilon=10.0).fit(X, y).intercept_)


def test_leaving_one_out_puts_a_free_offset_in_the_middle_too():
    X, y = blobs(30)
    pick = np.concatenate([np.flatnonzero(y == k)[:10] for k in (0, 1)])
    X, y = X[pick], y[pick]
    model = SimpleSVMClassifier(C=1e-3, gamma=0.3).fit(X, y)
    rest = [np.delete(np.arange(20), i) for i in range(20)]
    apart = [
        SVC(C=1e-3, gamma=0.3, tol=1e-10).fit(X[r], y[r]).decision_function(X[[i]])[0]
        for i, r in enumerate(rest)
    ]
    np.testing.assert_allclose(model.leave_one_out_decision(), apart, atol=1e-8)


# -- awkward data beside scikit-learn ---------------------------------------------------------


def awkward(rng):
    """A small set with one or two things wrong with it; its scale."""
    n, d = int(rng.choice([2, 3, 5, 20, 50])), int(rng.choice([1, 2, 5]))
    X = rng.normal(size=(n, d))
    kind = rng.integers(5)
    if kind == 0:
        X = X[rng.integers(n, size=n) // 3]
    elif kind == 1:
        X[:, 0] = 7.0
    elif kind == 2:
        X = np.round(X)
    y = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    trouble = rng.integers(4)
    if trouble == 0:
        y[:] = 0
    elif trouble == 1:
        y = rng.integers(2, size=n)
    y[:2] = 0, 1
    if trouble == 2:
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    scale = 10.0 ** rng.choice([-6, -3, 0, 0, 3, 6])
    return X * scale, y, scale


def pair_of(task, options, X, y, weight, rng):
    """A SimpleSVM and its counterpart, both fitted; the counterpart sees no weight of zero."""
    C, kept = 10.0 ** rng.uniform(-6, 4), np.flatnonzero(weight)
    if options["kernel"] == "linear":
        C *= options["gamma"]
    ours, theirs = {"tol": 1e-8}, {"tol": 1e-8, "max_iter": 10**6}
    if task == "C":
        ours, theirs = SimpleSVMClassifier(C=C, **ours), SVC(C=C, **theirs)
    elif task == "nu":
        weights = [weight[y == k].sum() for k in (0, 1)]
        nu = 2 * min(weights) / weight.sum() * rng.uniform(0.1, 0.99)
        ours, theirs = SimpleSVMClassifier(nu=nu, **ours), NuSVC(nu=nu, **theirs)
    elif task == "regression":
        y = X[:, 0] * np.sqrt(options["gamma"]) + rng.normal(size=len(y))
        ours, theirs = SimpleSVMRegressor(C=C, **ours), SVR(C=C, **theirs)
    else:
        nu = rng.uniform(0.05, 1.0)
        ours, theirs = SimpleSVMOneClass(nu=nu, **ours), OneClassSVM(nu=nu, **theirs)
    ours.set_params(**options).fit(X, y, sample_weight=weight)
    try:
        theirs.set_params(**options).fit(X[kept], y[kept], sample_weight=weight[kept])
    except ValueError as error:
        if "not finite" not in str(error):
            raise
        theirs = None  # NuSVC where there is no margin at all
    return ours, theirs, y, kept


def objective(task, K, a, y, total):
    """What is minimised, from signed coefficients; nu's are brought to the sum they had."""
    if task in ("nu", "one class"):
        a = a * total / np.abs(a).sum()
        return a @ K @ a / 2
    linear = -np.abs(a).sum() if task == "C" else 0.1 * np.abs(a).sum() - a @ y
    return a @ K @ a / 2 + linear


@pytest.mark.parametrize("task", ["C", "nu", "regression", "one class"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_awkward_data_beside_scikit_learn(task):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X, y, scale = awkward(rng)
        options = {
            "kernel": str(rng.choice(["rbf", "rbf", "linear", "poly"])), "degree": 2,
            "gamma": 10.0 ** rng.uniform(-1, 1) / scale**2, "coef0": 1.0,
        }  # fmt: skip
        weight = rng.choice([0.0, 1.0, 1.0, 2.0], size=len(y)) if seed % 3 == 0 else np.ones(len(y))
        weight[[np.argmax(y == 0), np.argmax(y == 1)]] = 1.0
        ours, theirs, target, kept = pair_of(task, options, X, y, weight, rng)
        assert np.isfinite(values_of(ours, X)).all()
        if theirs is None:
            continue
        given = {} if options["kernel"] == "linear" else {"gamma": options["gamma"]}
        if options["kernel"] == "poly":
            given |= {"degree": 2, "coef0": 1.0}
        K = pairwise_kernels(X, metric=options["kernel"], **given)
        a, b = np.zeros(len(y)), np.zeros(len(y))
        a[ours.support_] = ours.dual_coef_[0]
        b[kept[theirs.support_]] = theirs.dual_coef_[0]
        total = getattr(ours, "nu", 0) and ours.nu * weight.sum()
        mine, other = (objective(task, K, c, target, total) for c in (a, b))
        rounding = 1e-11 * np.abs(K).max() * (total or np.abs(a).sum()) ** 2
        assert mine <= other + 1e-6 * abs(other) + rounding, seed
        if mine >= other - 1e-9 * abs(other):  # where libsvm's answer is as good
            f, g = values_of(ours, X), values_of(theirs, X)
            size = 1 + np.abs(f).max()
            np.testing.assert_allclose(f, g, atol=2e-3 * size, err_msg=str(seed))


def test_nu_and_one_class_do_not_depend_on_the_unit_of_x():
    X, y = blobs(40)
    for options in ({"nu": 0.4}, {}):
        kind = SimpleSVMClassifier if options else SimpleSVMOneClass
        small = kind(kernel="linear", **options).fit(X * 1e-6, y)
        model = kind(kernel="linear", **options).fit(X, y)
        unit = 1.0 if options else 1e-12
        np.testing.assert_allclose(
            small.decision_function(X * 1e-6), model.decision_function(X) * unit, atol=1e-4 * unit
        )


def test_small_targets_are_learned_as_well_as_large_ones():
    X, y = blobs(60)
    model = SimpleSVMRegressor(C=1e-6, epsilon=1e-9, gamma=0.3).fit(X, y * 1e-8)
    twin = SVR(C=1e2, epsilon=0.1, gamma=0.3, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.predict(X) * 1e8, twin.predict(X), atol=1e-4)


# -- threads ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_predictions_while_learning_are_those_of_one_model(form):
    X, y = blobs(160)
    y[120:] += 1  # a third class: one machine becomes three
    model, X = SimpleSVMClassifier(gamma=0.3).fit(form(X[:40]), y[:40]), form(X)
    grid = X[:30]
    models, seen, stop = [model.decision_function(grid)], [], threading.Event()

    def watch():
        while not stop.is_set():
            try:
                seen.append(model.decision_function(grid))
            except Exception as error:  # any would be wrong
                seen.append(error)

    threads = [threading.Thread(target=watch) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for first in range(40, 160, 8):
            model.partial_fit(X[first : first + 8], y[first : first + 8])
            models.append(model.decision_function(grid))
            if first % 3 == 0:
                models.append(model.forget([first]).decision_function(grid))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert seen
    for values in seen:
        assert any(np.array_equal(values, known) for known in models), values


@pytest.mark.parametrize("options", [{}, {"low_rank": 20}])
def test_predictions_do_not_count(options):
    X, y = blobs(200)
    model = SimpleSVMClassifier(**options).fit(X, y)
    count = model.n_kernel_evaluations_
    threads = [threading.Thread(target=model.predict, args=(X,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_kernel_evaluations_ == count
    model.partial_fit(X[:5], y[:5])
    assert model.n_kernel_evaluations_ > count


# -- Ctrl-C -----------------------------------------------------------------------------------


class InterruptedKernel:
    """An RBF kernel that presses Ctrl-C, once or twice, in the middle of call number ``at``."""

    def __init__(self):
        self.at, self.calls, self.times = -1, 0, 1

    def arm(self, at, times):
        self.at, self.calls, self.times = at, 0, times

    def __call__(self, A, B):
        self.calls += 1
        if self.calls == self.at:
            for _ in range(self.times):
                signal.raise_signal(signal.SIGINT)
        return plain_rbf(A, B, 0.3)


@pytest.fixture
def usual_ctrl_c():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@kinds
@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_at_any_kernel_call_leaves_the_old_or_the_new_model(kind, times, usual_ctrl_c):
    X, y = blobs(80)
    kernel = InterruptedKernel()
    options = {"selection": "sweep", "block_size": 5, "cache_size": 0.08}
    model = kind(kernel=kernel, **options).fit(X[:50], y[:50])
    whole = kind(kernel="rbf", gamma=0.3, **options).fit(X, y)
    acts = {
        "partial_fit": lambda m: m.partial_fit(X[50:], y[50:]),
        "forget": lambda m: m.forget([0, 1, 2]),
        "fit": lambda m: m.fit(X, y),
    }
    heard = 0
    for name, act in acts.items():
        for at in (1, 2, 5, 13):
            twin = pickle.loads(pickle.dumps(model))
            before = values_of(twin, X)
            twin.kernel.arm(at, times)
            twin._trained.learner.rows.kernel.function = twin.kernel
            try:
                act(twin)
            except KeyboardInterrupt:
                heard += 1
            twin.kernel.arm(-1, 1)
            after = values_of(twin, X)
            assert np.isfinite(after).all()
            if (
                name != "fit"
                and twin._trained.learner.seen == 50
                and len(twin._trained.learner.rows) == 50
            ):
                np.testing.assert_array_equal(after, before)
            # Learning goes on, to the same end.
            if twin._trained.learner.seen == 50 and len(twin._trained.learner.rows) == 50:
                twin.partial_fit(X[50:], y[50:])
            elif name == "forget":
                twin.partial_fit(X[:3], y[:3]).partial_fit(X[50:], y[50:])
            elif twin._trained.learner.seen == 80:
                twin.partial_fit(X[:1], y[:1]).forget([80])
            np.testing.assert_allclose(values_of(twin, X), values_of(whole, X), atol=1e-3)
    assert heard > 6


def test_a_kernel_store_survives_being_broken_off():
    X, _ = blobs(40)
    kernel = InterruptedKernel()
    rows = ExactRows(X, make_kernel(kernel))
    true = pairwise_kernels(X, metric="rbf", gamma=0.3)
    for at in (1, 2):
        store = KernelStore(rows, 10 * 40 * 8 / 2**20)  # ten rows
        for which in (np.arange(8), np.arange(6, 14), np.arange(20, 30)):
            kernel.arm(at, 1)
            with contextlib.suppress(KeyboardInterrupt):
                store.keep(which, evict=True)
            kernel.arm(-1, 1)
            np.testing.assert_allclose(store.block(np.arange(40)), true, atol=1e-12)
            kept = np.arange(40) % 3 > 0
            smaller = store.restrict(rows.take(np.flatnonzero(kept)), kept)
            found = smaller.block(np.arange(kept.sum()))
            np.testing.assert_allclose(found, true[kept][:, kept], atol=1e-12)


# -- forgetting, files ------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["linear", "quadratic", "nu", "one class", "regression"])
def test_forgetting_one_makes_no_factor_anew(task, monkeypatch):
    X, y = blobs(150)
    model = {
        "linear": SimpleSVMClassifier(C=1e3, gamma=1.0),
        "quadratic": SimpleSVMClassifier(margin="quadratic", gamma=1.0),
        "nu": SimpleSVMClassifier(nu=0.3, gamma=1.0),
        "one class": SimpleSVMOneClass(nu=0.5, gamma=1.0),
        "regression": SimpleSVMRegressor(C=1e3, epsilon=0.01, gamma=1.0),
    }[task].fit(X, y)
    machine = model._trained.learner.machines[0]
    free = machine.problem.row[machine.held]
    assert len(free) > 20
    with monkeypatch.context() as patch:
        patch.setattr(type(machine), "rebuild", lambda self: pytest.fail("a factor was made"))
        for i in free[:5]:
            model.forget(int(i))
    kept = np.delete(np.arange(150), free[:5])
    fresh = type(model)(**model.get_params()).fit(X[kept], y[kept])
    np.testing.assert_allclose(values_of(model, X), values_of(fresh, X), atol=1e-4)


@kinds
@pytest.mark.parametrize("options", [{}, {"low_rank": 10}, {"kernel": "linear"}])
def test_a_memory_mapped_model_goes_on_learning(kind, options, tmp_path):
    X, y = blobs(80)
    X = sparse.csr_matrix(X) if "kernel" in options else X
    model = kind(**options).fit(X[:60], y[:60])
    model.partial_fit(X[:2], y[:2]).forget([60, 61]).predict(X)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    compiled = [exact_kernels._dense_dots, exact_kernels._sparse_dots]
    before = [len(getattr(function, "signatures", ())) for function in compiled]
    np.testing.assert_array_equal(values_of(mapped, X), values_of(model, X))
    for each in (model, mapped):
        each.partial_fit(X[60:], y[60:]).forget([0, 70])
    np.testing.assert_allclose(values_of(mapped, X), values_of(model, X), atol=1e-7)
    # Compiled loops see arrays of the type that they know: nothing is compiled for mapped ones.
    assert [len(getattr(function, "signatures", ())) for function in compiled] == before


def test_pickles_hold_the_examples_and_little_else():
    X, y = blobs(400, 10)
    model = SimpleSVMClassifier(C=1e3, gamma=1.0).fit(X, y)
    assert len(model._trained.learner.machines[0].held) > 300
    text = pickle.dumps(model)
    assert len(text) < X.nbytes + 64 * len(X) + 6000  # its factor alone would be 720,000
    twin = pickle.loads(text)
    for each in (model, twin):
        each.partial_fit(X[:3] + 0.1, y[:3]).forget([5, 6])
    np.testing.assert_allclose(twin.decision_function(X), model.decision_function(X), atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "before", "after", "peer"),
    [
        (SimpleSVMClassifier, {"C": 1.0}, {"C": 50.0}, SVC),
        (SimpleSVMClassifier, {"C": 50.0}, {"C": 0.1}, SVC),
        (SimpleSVMClassifier, {"C": 50.0}, {"nu": 0.3}, NuSVC),
        (SimpleSVMClassifier, {"nu": 0.3}, {"nu": None}, SVC),
        (SimpleSVMClassifier, {"margin": "quadratic"}, {"margin": "linear"}, SVC),
        (SimpleSVMRegressor, {"C": 1.0}, {"C": 20.0, "epsilon": 0.4}, SVR),
        (SimpleSVMOneClass, {"nu": 0.1}, {"nu": 0.5}, OneClassSVM),
    ],
)
def test_settings_changed_in_mid_stream_hold_for_all_examples(kind, before, after, peer):
    """The optimum of the new settings, not a mixture of two of them."""
    X, y = blobs(100)
    y = X[:, 0] if kind is SimpleSVMRegressor else y
    before = {"margin": "linear", **before} if kind is SimpleSVMClassifier else before
    model = kind(gamma=0.5, tol=1e-9, **before).partial_fit(X[:60], y[:60])
    model.set_params(**after).partial_fit(X[60:], y[60:])
    known = {
        name: getattr(model, name) for name in ("C", "nu", "epsilon") if name in peer().get_params()
    }
    if peer is NuSVC:
        known.pop("C", None)
    expected = peer(gamma=0.5, tol=1e-9, **known).fit(X, y)
    found = values_of(model, X)
    if kind is SimpleSVMOneClass:
        found, expected_values = found / abs(found).max(), values_of(expected, X)
        np.testing.assert_allclose(found, expected_values / abs(expected_values).max(), atol=1e-5)
    else:
        np.testing.assert_allclose(found, values_of(expected, X), atol=1e-5)
