"""What reaches compiled code: every layout of the same numbers, and nothing that is malformed."""

import pickle

import numpy as np
import pytest
from classifiers import CSR, DENSE, Y, every_own, make, one_by_one
from scipy import sparse
from sklearn.exceptions import NotFittedError

from onlinesvm import ActiveLearner, LASVMClassifier
from onlinesvm.core.kernel.csr import canonical_csr, check_structure
from onlinesvm.core.runtime.numerics import JIT_DISABLED

RNG = np.random.default_rng(1)


# -- the same numbers in another layout -----------------------------------------------------------


def spaced(array):
    """The values with gaps between them."""
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def swapped(array):
    return array.astype(array.dtype.newbyteorder())


LAYOUTS = {
    "fortran": np.asfortranarray,
    "columns": spaced,
    "rows": lambda X: np.repeat(X, 2, axis=0)[::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "mirrored": lambda X: X[:, ::-1].copy()[:, ::-1],
    "swapped": swapped,
    "frozen": frozen,
    "single": lambda X: X.astype(np.float32),
    "frozen single": lambda X: frozen(X.astype(np.float32)),
    "list": lambda X: X.tolist(),
}


def with_parts(X, data=None, indices=None, indptr=None):
    """The matrix with these arrays as they are: SciPy is not asked."""
    made = X.copy()
    made.data = X.data if data is None else data
    made.indices = X.indices if indices is None else indices
    made.indptr = X.indptr if indptr is None else indptr
    return made


def unsorted(X):
    made = X.copy()
    for first, last in zip(made.indptr[:-1], made.indptr[1:], strict=True):
        made.indices[first:last] = made.indices[first:last][::-1].copy()
        made.data[first:last] = made.data[first:last][::-1].copy()
    made.has_sorted_indices = made.has_canonical_format = False
    return made


def unsorted_unflagged(X):
    made = unsorted(X)
    made.has_sorted_indices = made.has_canonical_format = True
    return made


def doubled(X):
    """Every entry in two parts, the second halves after the first ones."""
    whole = X.tocoo()
    row, col = np.tile(whole.row, 2), np.tile(whole.col, 2)
    data = np.concatenate([0.25 * whole.data, 0.75 * whole.data])
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=X.shape[0]))])
    return sparse.csr_matrix((data[order], col[order], indptr), X.shape)


CSR_LAYOUTS = {
    "spaced": lambda X: with_parts(X, spaced(X.data), spaced(X.indices), spaced(X.indptr)),
    "frozen": lambda X: with_parts(X, frozen(X.data), frozen(X.indices), frozen(X.indptr)),
    "long": lambda X: with_parts(
        X, None, X.indices.astype(np.int64), X.indptr.astype(np.int64)
    ),
    "unsorted": unsorted,
    "unsorted, says it is not": unsorted_unflagged,
    "doubled": doubled,
    "spare room": lambda X: with_parts(
        X, np.append(X.data, [1.0, 2.0]), np.append(X.indices, [3, 7]).astype(np.int32)
    ),
    "array": sparse.csr_array,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "bsr": lambda X: X.tobsr((5, 4)),
    "lil": sparse.lil_matrix,
}  # fmt: skip


def memory(X):
    """The arrays of X, to see whether they have changed."""
    if not sparse.issparse(X):
        return [np.array(X)]
    names = ("data", "indices", "indptr", "row", "col")
    return [getattr(X, n).copy() for n in names if isinstance(getattr(X, n, None), np.ndarray)]


def learned(kind, X, y, **settings):
    """Through every public entry: fit, then a stream, then prediction."""
    model = make(kind, **settings).fit(X, y)
    values = [model.decision_function(X)]
    model = make(kind, **settings).partial_fit(X, y).partial_fit(X, y)
    return [*values, model.decision_function(X), model.predict(X)]


@every_own
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_layouts_of_dense_rows(kind, kernel):
    expected = learned(kind, DENSE, Y, kernel=kernel)
    for name, layout in LAYOUTS.items():
        X = layout(DENSE)
        before = memory(X)
        found = learned(kind, X, Y.tolist(), kernel=kernel)
        close = 1e-4 if "single" in name else 0.0
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=close, atol=close, err_msg=name)
        for one, other in zip(memory(X), before, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)


@every_own
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_layouts_of_sparse_rows(kind, kernel):
    expected = learned(kind, CSR, Y, kernel=kernel)
    for name, layout in CSR_LAYOUTS.items():
        X = layout(CSR)
        before = memory(X)
        found = learned(kind, X, Y, kernel=kernel)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5, err_msg=name)
        for one, other in zip(memory(X), before, strict=True):
            np.testing.assert_array_equal(one, other, err_msg=name)


# -- malformed matrices ---------------------------------------------------------------------------


def at(array, place, value):
    array = array.copy()
    array[place] = value
    return array


MALFORMED = {
    "negative": lambda X: with_parts(X, indices=at(X.indices, 3, -5)),
    "beyond": lambda X: with_parts(X, indices=at(X.indices, 3, 40)),
    "far beyond": lambda X: with_parts(X, indices=at(X.indices, 3, 2_000_000_000)),
    "far negative": lambda X: with_parts(X, indices=at(X.indices, 3, -2_000_000_000)),
    "pointer beyond": lambda X: with_parts(X, indptr=at(X.indptr, -1, X.nnz + 10_000_000)),
    "pointer falls": lambda X: with_parts(X, indptr=at(X.indptr, 5, 0)),
    "pointer not from 0": lambda X: with_parts(X, indptr=at(X.indptr, 0, -3)),
    "pointer short": lambda X: with_parts(X, indptr=X.indptr[:-1].copy()),
    "data short": lambda X: with_parts(X, data=X.data[:-5].copy()),
    "csc": lambda X: with_parts(X.tocsc(), indices=at(X.tocsc().indices, 3, 500)),
    "bsr": lambda X: with_parts(X.tobsr((5, 4)), indices=at(X.tobsr((5, 4)).indices, 3, 11)),
}


@every_own
@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_matrix_is_refused_everywhere(kind, what):
    bad = MALFORMED[what](CSR)
    unfitted = make(kind)
    for call in (unfitted.fit, unfitted.partial_fit):
        with pytest.raises(ValueError, match="malformed"):
            call(bad, Y)
    with pytest.raises(NotFittedError):
        unfitted.predict(CSR)
    model = make(kind).partial_fit(CSR, Y)
    state = pickle.dumps(model)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="malformed"):
            call(bad, Y)
    for call in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="malformed"):
            call(bad)
    assert pickle.dumps(model) == state


def test_a_malformed_pool_is_refused():
    bad = MALFORMED["beyond"](CSR)
    with pytest.raises(ValueError, match="malformed"):
        ActiveLearner(LASVMClassifier(), bad)
    learner = ActiveLearner(LASVMClassifier(), CSR)
    with pytest.raises(ValueError, match="malformed"):
        learner.add_to_pool(bad)
    assert len(learner) == len(Y)


def test_a_good_matrix_passes_as_it_is():
    X = sparse.csr_matrix(DENSE)
    check_structure(X)
    assert canonical_csr(X) is X
    assert canonical_csr(sparse.csr_matrix((3, 4))).nnz == 0
    assert (canonical_csr(doubled(X)).toarray() == X.toarray()).all()


# -- one row --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("how", ["fit", "partial_fit"])
def test_learn_one_refuses_rows_that_are_not_in_order(kernel, how):
    X = RNG.normal(size=(120, 5))
    y = (X[:, 0] > 0).astype(int)
    model = getattr(LASVMClassifier(kernel=kernel, gamma=0.3), how)(X, y)
    for k in range(20):
        model.learn_one(X[k], y[k])
    state, good = pickle.dumps(model), X[0]
    features = "features, but LASVMClassifier is expecting 5 features"
    bad = [
        (np.ones(10), features),
        (np.ones(4), features),
        (np.ones(100_000), features),
        (np.ones(0), "feature"),
        (np.ones((1, 5)), "learn_one takes one row"),
        (np.ones((5, 1)), "learn_one takes one row"),
        (np.float64(1.0), "learn_one takes one row"),
        (sparse.csr_matrix(np.ones((1, 5))), "learn_one takes one row"),
        (at(good, 2, np.nan), "NaN"),
        (at(good, 2, np.inf), "infinity"),
        (at(good, 2, 1e200), "too large"),
        (at(good, 2, 1e30), "too large"),
        (["a"] * 5, "could not convert|dtype"),
        (good * 1j, "Complex"),
    ]
    for row, message in bad:
        with pytest.raises(ValueError, match=message):
            model.learn_one(row, 1)
        assert pickle.dumps(model) == state
    for weight in (np.nan, -1.0, np.inf, 0.0):
        with pytest.raises(ValueError, match=r"(?i)weight"):
            model.learn_one(good, 1, sample_weight=weight)
    with pytest.raises((ValueError, TypeError)):
        model.learn_one(good, [1, 2])
    assert pickle.dumps(model) == state


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_learn_one_takes_any_layout(kernel):
    X = RNG.integers(-3, 4, size=(150, 5)).astype(float)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    layouts = [
        np.asarray,
        spaced,
        swapped,
        frozen,
        list,
        lambda x: x[::-1].copy()[::-1],
        lambda x: x.astype(np.float32),
        lambda x: x.astype(np.int8),
        lambda x: x.astype(np.float16),
    ]
    expected, found = (
        LASVMClassifier(kernel=kernel, gamma=0.1).partial_fit(X[:20], y[:20]) for _ in range(2)
    )
    for k in range(20, 150):
        expected.learn_one(X[k], y[k])
        found.learn_one(layouts[k % len(layouts)](X[k]), y[k])
    np.testing.assert_array_equal(found.decision_function(X), expected.decision_function(X))


# -- the number of features -----------------------------------------------------------------------


@every_own
def test_another_number_of_features_is_refused_everywhere(kind):
    for X in (DENSE, CSR):
        model = make(kind).partial_fit(X, Y)
        state = pickle.dumps(model)
        wide = sparse.hstack([X, X]).tocsr() if sparse.issparse(X) else np.hstack([X, X])
        for bad in (X[:, :-1], wide):
            with pytest.raises(ValueError, match="features, but"):
                model.partial_fit(bad, Y)
            for call in (model.predict, model.decision_function):
                with pytest.raises(ValueError, match="features, but"):
                    call(bad)
        assert pickle.dumps(model) == state


# -- own copies -----------------------------------------------------------------------------------


@every_own
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_what_the_user_changes_afterwards_does_not_change_the_model(kind, kernel):
    for form in (np.array, lambda X: X.astype(np.float32), sparse.csr_matrix):
        X, y = form(DENSE), Y.copy()
        model, twin = (make(kind, kernel=kernel, gamma=0.1).fit(form(DENSE), Y) for _ in range(2))
        for each, Z, labels in ((model, X, y), (twin, form(DENSE), Y.copy())):
            each.fit(Z, labels).partial_fit(Z, labels)
        (X.data if sparse.issparse(X) else X)[...] = 7.0
        y[...] = 5
        for _ in range(2):
            np.testing.assert_array_equal(
                model.decision_function(form(DENSE)), twin.decision_function(form(DENSE))
            )
            assert model.classes_.tolist() == [0, 1]
            for each in (model, twin):
                each.partial_fit(form(DENSE), Y)


@every_own
@pytest.mark.filterwarnings("ignore")
def test_fitted_attributes_are_copies(kind):
    for X in (DENSE, CSR):
        model = one_by_one(kind).partial_fit(X, Y)
        before = model.decision_function(X)
        names = ["dual_coef_", "intercept_", "support_vectors_", "support_", "classes_"]
        for name in [*names, "n_support_", "coef_", "radius_"]:
            value = getattr(model, name, None)
            parts = [value.data, value.indices, value.indptr] if sparse.issparse(value) else [value]
            for part in parts:
                if part is not None and part.flags.writeable:
                    part[...] = 0
            np.testing.assert_array_equal(model.decision_function(X), before, err_msg=name)
        assert model.classes_.tolist() == [0, 1]
        twin = one_by_one(kind).partial_fit(X, Y)
        np.testing.assert_array_equal(
            model.partial_fit(X, Y).decision_function(X),
            twin.partial_fit(X, Y).decision_function(X),
        )


def test_weights_may_change_afterwards():
    weight = np.ones(len(Y))
    models = [make(LASVMClassifier).fit(DENSE, Y, sample_weight=weight) for _ in range(2)]
    weight[:] = 1e6
    for model in models:
        model.partial_fit(DENSE, Y)
    fresh = make(LASVMClassifier).fit(DENSE, Y, sample_weight=np.ones(len(Y)))
    np.testing.assert_array_equal(
        models[0].decision_function(DENSE), fresh.partial_fit(DENSE, Y).decision_function(DENSE)
    )


# -- the intrinsics -------------------------------------------------------------------------------


@pytest.mark.skipif(JIT_DISABLED, reason="nothing is compiled")
def test_intrinsics_refuse_other_layouts():
    import numba
    from numba.core.errors import TypingError

    from onlinesvm.core.kernel.emit import vector, vector64

    single, double = np.zeros((6, 64), np.float32), np.zeros((6, 32))
    whole = np.zeros(8, np.int32)

    def panel(x, panel, out):
        vector.panel_dot(x, 0, panel, 0, out, 0, 6)

    def panels(x, panel, out):
        vector.panel_dots(x, 0, panel, 0, out, 0, 6)

    def gather(indices, data, columns, tile, out):
        vector.gather_dot(indices, data, 0, 1, columns, tile, out, 0)

    def largest(values):
        return vector.chunk_max(values, 0)

    def smallest(values):
        return vector.chunk_min(values, 0)

    def sparse64(indices, data, panel, out):
        vector64.sparse_panel_dot(indices, data, 0, 1, panel, out)

    def dense64(row, panel, out):
        vector64.dense_panel_dot(row, panel, out)

    x = np.zeros((6, 6), np.float32)
    good = {
        panel: (x, single, single),
        panels: (x, single, single),
        gather: (whole, single[0], whole, single, single),
        largest: (single[0],),
        smallest: (single[0],),
        sparse64: (whole, double[0], double, double[0].copy()),
        dense64: (np.zeros(6), double, double[0].copy()),
    }
    for function, arguments in good.items():
        compiled = numba.njit(function)
        compiled(*arguments)
        for place, array in enumerate(arguments):
            for other in (spaced(array), array.astype(np.int16), array[None]):
                wrong = [*arguments[:place], other, *arguments[place + 1 :]]
                with pytest.raises(TypingError, match="must be a C-contiguous array"):
                    compiled(*wrong)
