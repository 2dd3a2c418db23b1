"""Bad input to LASVMClassifier: one clear error, the model as it was. Odd input: just works."""

import contextlib
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from awkward_values import as_dense
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

import onlinesvm
from onlinesvm import (
    AutoSVMClassifier,
    AutoSVMRegressor,
    LASVMClassifier,
    LASVMRegressor,
    SimpleSVMClassifier,
    SimpleSVMRegressor,
)

X, y = make_blobs(120, centers=2, n_features=3, cluster_std=1.0, random_state=0)
ONES = np.ones(120)


def changed(array, where, value):
    array = np.array(array, dtype=np.result_type(array, type(value)))
    array[where] = value
    return array


def wrong_shape(A, B):
    return np.ones((len(A), len(B) + 1))


def not_finite(A, B):
    return np.full((len(A), len(B)), np.inf)


# what is wrong: arguments of fit, parameters, part of the message
BAD_FIT = {
    "nan": ((changed(X, (3, 1), np.nan), y), {}, "Input X contains NaN"),
    "infinity": ((changed(X, (3, 1), -np.inf), y), {}, "Input X contains infinity"),
    "nan sparse": (
        (sparse.csr_matrix(changed(X, (3, 1), np.nan)), y), {}, "Input X contains NaN",
    ),
    "nan label": ((X, changed(y.astype(float), 5, np.nan)), {}, "Input y contains NaN"),
    "no rows": ((X[:0], y[:0]), {}, r"Found array with 0 sample\(s\)"),
    "no features": ((X[:, :0], y), {}, r"0 feature\(s\).* while a minimum of 1 is required"),
    "one dimension": ((X[0], y[:1]), {}, "Expected 2D array, got 1D array instead"),
    "lengths": ((X, y[:-1]), {}, "inconsistent numbers of samples"),
    "one class": ((X, ONES), {}, "number of classes has to be greater than one; got 1 class"),
    "continuous": ((X, X[:, 0]), {}, "Unknown label type: continuous"),
    "mixed labels": (
        (X, np.array([0, "a"] * 60, dtype=object)), {}, "Mix of label input types",
    ),
    "no labels": ((X, None), {}, "requires y to be passed"),
    "text": ((np.full((120, 3), "word"), y), {}, "could not convert string|dtype='numeric'"),
    "complex": ((X * 1j, y), {}, "Complex data not supported"),
    "too large": ((X * 1e25, y), {}, "too large for kernel values in single precision"),
    "far too large": ((X * 1e200, y), {}, "too large for kernel values in single precision"),
    "too large sparse": (
        (sparse.csr_matrix(X * 1e200), y), {}, "too large for kernel values in single precision",
    ),
    "poly too large": (
        (X * 1e8, y), {"kernel": "poly", "gamma": 1.0, "degree": 5},
        "too large for kernel values in single precision",
    ),
    "too small": ((X * 1e-21, y), {}, "too small for kernel values in single precision"),
    "far too small": ((X * 1e-40, y), {}, "too small for kernel values in single precision"),
    "too small sparse": (
        (sparse.csr_matrix(X * 1e-25), y), {}, "too small for kernel values in single precision",
    ),
    "matern12 too small": (
        (X * 1e-21, y), {"kernel": "matern12"}, "too small for kernel values in single precision",
    ),
    "negative weight": ((X, y, changed(ONES, 2, -1.0)), {}, "Negative values in data .*weight"),
    "zero weights": ((X, y, 0 * ONES), {}, "all samples have zero or negative weights"),
    "nan weight": ((X, y, changed(ONES, 2, np.nan)), {}, "sample_weight contains NaN"),
    "weights' length": ((X, y, ONES[:-1]), {}, r"sample_weight.shape == \(119,\)"),
    "one class left": ((X, y, (y == 0).astype(float)), {}, "positive weights belong to the same class"),
    "C zero": ((X, y), {"C": 0.0}, "'C' parameter of LASVMClassifier must be .* Got 0.0"),
    "C negative": ((X, y), {"C": -1.0}, "'C' parameter .* Got -1.0"),
    "C nan": ((X, y), {"C": np.nan}, "'C' parameter"),
    "kernel name": (
        (X, y), {"kernel": "gauss"},
        "(?s)'kernel' parameter .*(?=.*linear)(?=.*poly)(?=.*rbf)(?=.*sigmoid)(?=.*precomputed)"
        ".*Got 'gauss'",
    ),
    "gamma": ((X, y), {"gamma": -0.5}, "'gamma' parameter .* Got -0.5"),
    "tol": ((X, y), {"tol": 0.0}, "'tol' parameter"),
    "epochs": ((X, y), {"epochs": 0}, "'epochs' parameter"),
    "epochs name": ((X, y), {"epochs": "forever"}, "'epochs' parameter .*converge"),
    "block_size": ((X, y), {"block_size": 0}, "'block_size' parameter"),
    "budget": ((X, y), {"budget": 1}, "'budget' parameter"),
    "budget and converge": ((X, y), {"budget": 9, "epochs": "converge"}, "cannot be combined"),
    "cache": ((X, y), {"cache_size": 0}, "'cache_size' parameter"),
    "class_weight": ((X, y), {"class_weight": "even"}, "'class_weight' parameter"),
    "class_weight label": ((X, y), {"class_weight": {7: 2.0}}, "are not in class_weight"),
    "callable shape": (
        (X, y), {"kernel": wrong_shape}, "kernel function returned an array of shape",
    ),
    "callable values": ((X, y), {"kernel": not_finite}, "kernel function returned NaN or infinity"),
    "not square": (
        (X, y), {"kernel": "precomputed"}, "(?s)must be a square matrix.*120x3",
    ),
}  # fmt: skip

BAD_STREAM = {
    "features": ((X[:5, :2], y[:5]), "X has 2 features, but LASVMClassifier is expecting 3"),
    "nan": ((changed(X[:5], (3, 1), np.nan), y[:5]), "Input X contains NaN"),
    "empty": ((X[:0], y[:0]), r"Found array with 0 sample\(s\)"),
    "labels of another kind": ((X[:5], list("ababa")), "Mix of label input types"),
    "lengths": ((X[:5], y[:4]), "inconsistent numbers of samples"),
    "negative weight": ((X[:2], y[:2], None, [1.0, -1.0]), "Negative values in data .*weight"),
    "zero weights": ((X[:2], y[:2], None, [0.0, 0.0]), "all samples have zero or negative weights"),
    "classes of another kind": ((X[:2], y[:2], ["a", "b"]), "Mix of label input types"),
    "too large": (
        (np.outer([1, -1], [1e25] * 3), y[:2]), "too large for kernel values in single precision",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", list(BAD_FIT))
def test_bad_input_to_fit(what):
    arguments, settings, message = BAD_FIT[what]
    model = LASVMClassifier(random_state=0).fit(X, y)
    model.set_params(**settings)
    state, values = set(vars(model)), pickle.dumps(model._trained.learner)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError), match=message) as caught:
            model.fit(*arguments)
    assert "onlinesvm.core" not in str(caught.value)
    assert set(vars(model)) == state
    assert pickle.dumps(model._trained.learner) == values
    model.set_params(**LASVMClassifier(random_state=0).get_params())
    assert model.n_features_in_ == 3
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("what", list(BAD_FIT))
def test_bad_input_to_a_first_fit(what):
    arguments, settings, message = BAD_FIT[what]
    model = LASVMClassifier(**settings)
    before = dict(vars(model))
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(*arguments)
    assert vars(model) == before


@pytest.mark.parametrize("what", list(BAD_STREAM))
@pytest.mark.parametrize("block_size", [1, 2048])
def test_bad_input_to_partial_fit(what, block_size):
    arguments, message = BAD_STREAM[what]
    model = LASVMClassifier(gamma=0.5, block_size=block_size).partial_fit(X, y)
    state = pickle.dumps(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError), match=message):
            model.partial_fit(*arguments)
    assert pickle.dumps(model) == state


def test_a_stream_cannot_be_precomputed_or_balanced():
    with pytest.raises(ValueError, match="kernel='precomputed' needs all examples at once"):
        LASVMClassifier(kernel="precomputed").partial_fit(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="class_weight='balanced' needs all labels at once"):
        LASVMClassifier(class_weight="balanced").partial_fit(X, y)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (X[:, :2], "X has 2 features, but LASVMClassifier is expecting 3"),
        (changed(X, (0, 0), np.nan), "Input X contains NaN"),
        (X[:0], r"Found array with 0 sample\(s\)"),
        (X * 1e200, "too large for kernel values in single precision"),
    ],
)
def test_bad_input_to_predict(bad, message):
    model = LASVMClassifier(random_state=0).fit(X, y)
    for call in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match=message):
            call(bad)


@pytest.mark.parametrize("kind", [LASVMRegressor, SimpleSVMRegressor])
@pytest.mark.parametrize("gap", [None, np.nan, "nan"])
def test_a_missing_target_is_refused_whatever_stands_for_it(kind, gap):
    """NumPy makes NaN of None, and of the text; SVR learns it."""
    values = X[:, 0].astype(object)
    values[7] = gap
    model = kind().partial_fit(X, X[:, 0])
    before = model.predict(X)
    for given in (values, values.tolist()):
        for call in (kind().fit, kind().partial_fit, model.partial_fit):
            with pytest.raises(ValueError, match=r"Input (y )?contains NaN"):
                call(X, given)
    if kind is LASVMRegressor:
        with pytest.raises(ValueError, match="y contains NaN"):
            model.learn_one(X[0], gap)
    assert np.array_equal(model.predict(X), before)


DAYS = pd.date_range("2020-01-01", periods=120)
TIMES = {
    "dates": (DAYS.to_numpy(), "dates"),
    "with gaps": (np.array(["NaT", *["2020-01-01"] * 119], "M8[D]"), "dates"),
    "with a zone": (pd.Series(DAYS.tz_localize("UTC")), "dates"),
    "Python's": (DAYS.date.tolist(), "dates"),
    "durations": ((DAYS - DAYS[0]).to_numpy(), "durations"),
    "Python's durations": ((DAYS - DAYS[0]).to_pytimedelta(), "durations"),
    "a column": (pd.DataFrame({"day": DAYS}), "dates"),
}


@pytest.mark.parametrize("kind", [LASVMRegressor, SimpleSVMRegressor, AutoSVMRegressor])
@pytest.mark.parametrize("times", TIMES)
def test_dates_and_durations_are_no_values(kind, times):
    """SVR learns what NumPy makes of them: a number in the unit of the array, and -9.2e18 of a gap."""
    given, what = TIMES[times]
    if kind is AutoSVMRegressor and times == "a column":
        given = given["day"]
    says = f"The targets are {what}, which have no unit as numbers: give "
    with pytest.raises(ValueError, match=says):
        kind().fit(X, given)
    if kind is AutoSVMRegressor:
        return
    model = kind().fit(X, X[:, 0])
    before = model.predict(X)
    with pytest.raises(ValueError, match=says):
        model.partial_fit(X, given)
    if kind is LASVMRegressor:
        one = given[0] if isinstance(given, list | np.ndarray) else DAYS[0]
        with pytest.raises(ValueError, match=says):
            model.learn_one(X[0], one)
    assert np.array_equal(model.predict(X), before)


@pytest.mark.parametrize("kind", [LASVMClassifier, SimpleSVMRegressor])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dates_among_the_features_are_named(kind, library):
    """With numbers beside them they were a TypeError of NumPy; alone, numbers in the unit of the array."""
    frames = pytest.importorskip(library)
    for column in (DAYS.to_numpy(), (DAYS - DAYS[0]).to_numpy()):
        for beside in ({}, {"size": X[:, 0]}):
            frame = frames.DataFrame({**beside, "day": column})
            with pytest.raises(ValueError, match="Column 'day' of X contains dates or durations"):
                kind().fit(frame, y)
    model = kind().fit(X[:, :1], y)
    before = model.predict(X[:, :1])
    for call in (lambda D: model.partial_fit(D, y), model.predict):
        with pytest.raises(ValueError, match=r"X contains dates or durations.* leave them out"):
            call(DAYS.to_numpy()[:, None])
    assert np.array_equal(model.predict(X[:, :1]), before)


@pytest.mark.parametrize(("to", "first"), [(bool, True), (int, 3), (float, 3.0)])
def test_labels_that_are_numbers_in_an_array_of_objects(to, first):
    labels = np.where(y > 0, first, to(0)).astype(to).astype(object)
    for kind in (LASVMClassifier, SimpleSVMClassifier, AutoSVMClassifier):
        with pytest.raises(ValueError, match=f"Unknown label type.*y.astype.{to.__name__}"):
            kind().fit(X, labels)
    with pytest.raises(ValueError, match="Unknown label type"):
        SVC().fit(X, labels)
    assert set(LASVMClassifier().fit(X, labels.astype(to)).classes_) == {first, 0}


@pytest.mark.parametrize("missing", [None, pd.NA])
def test_a_missing_label_of_pandas_is_refused_in_a_sentence(missing):
    labels = np.where(y > 0, "a", "b").astype(object)
    labels[7] = missing
    for given in (labels, pd.array(labels, dtype="string"), pd.Series(labels, dtype="category")):
        with pytest.raises(
            ValueError, match="y contains NaN: 1 of 120 values are missing, the first in row 7"
        ):
            LASVMClassifier().fit(X, given)


def test_precomputed_prediction_wants_a_column_for_each_training_row():
    K = rbf_kernel(X, gamma=0.5)
    model = LASVMClassifier(kernel="precomputed").fit(K, y)
    assert model.predict(K[:7]).shape == (7,)
    with pytest.raises(
        ValueError, match="X has 119 features, but LASVMClassifier is expecting 120"
    ):
        model.predict(K[:, :-1])


def test_too_many_labels_for_the_budget_in_mid_stream():
    model = LASVMClassifier(budget=2, gamma=0.5).partial_fit(X, y)
    state = pickle.dumps(model)
    with pytest.raises(ValueError, match="budget=2 is too small for 3 classes"):
        model.partial_fit(X[:3], [2, 2, 2])
    assert pickle.dumps(model) == state


# -- odd, but nothing is wrong with it ----------------------------------------------------------------


def constant(X):
    return np.hstack([X, np.full((len(X), 2), 3.5)])


ODD = {
    "duplicates": (np.repeat(X, 5, axis=0), np.repeat(y, 5)),
    "one row many times": (np.vstack([X, np.tile(X[:1], (500, 1))]), np.append(y, [y[0]] * 500)),
    "contradictory labels": (np.vstack([X[:20], X]), np.append(1 - y[:20], y)),
    "constant features": (constant(X), y),
    "nothing but constants": (np.ones((40, 3)), np.arange(40) % 2),
    "zeros": (np.zeros((40, 3)), np.arange(40) % 2),
    "large": (X * 1e6, y),
    "small": (X * 1e-6, y),
    "far away": (X + 1e6, y),
    "scales mixed": (X * [1e6, 1.0, 1e-6], y),
    "more features than rows": (np.hstack([X[:12], np.zeros((12, 300))]), y[:12]),
    "two rows": (X[[np.argmin(y), np.argmax(y)]], np.array([0, 1])),
    "integers": (np.round(X).astype(int), y),
    "float32": (X.astype(np.float32), y),
    "big-endian": (X.astype(">f8"), y),
    "column order": (np.asfortranarray(X), y),
    "read-only": (X.copy(), y),
    "lists": (X.tolist(), y.tolist()),
    "booleans": (X, y.astype(bool)),
    "labels far apart": (X, np.where(y == 0, -(10**12), 10**12)),
    "a class of one": (X, np.append(y[:-1], 2)),
    "sparse": (sparse.csc_matrix(np.where(np.abs(X) > 1, X, 0)), y),
}
ODD["read-only"][0].flags.writeable = False
# Nothing to learn from, or not by one kernel: without errors or warnings is all that is asked.
HOPELESS = {"nothing but constants", "zeros", "scales mixed"}
# A shift of 1e6 is taken off for RBF alone; <x, z> of size 1e12 has no digits left for it.
RBF_ONLY = {"far away", "scales mixed"}
COST = {"small": 1e12}  # the linear kernel has values of size 1e-12 there


@pytest.mark.parametrize(
    ("kernel", "what"),
    [("rbf", what) for what in ODD] + [("linear", what) for what in ODD if what not in RBF_ONLY],
)
@pytest.mark.parametrize("block_size", [1, 2048])
def test_odd_input_just_works(what, kernel, block_size):
    A, b = ODD[what]
    C = COST.get(what, 1.0) if kernel == "linear" else 1.0
    for learn in ("fit", "partial_fit"):
        model = LASVMClassifier(C=C, kernel=kernel, block_size=block_size, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if kernel == "linear":  # values of 1e12 in single precision: it may say so
                warnings.simplefilter("ignore", ConvergenceWarning)
            getattr(model, learn)(A, b).finish()
        assert np.isfinite(model.decision_function(A)).all()
        assert np.isfinite(as_dense(model.dual_coef_)).all()
        assert model.score(A, b) >= (0.5 if what in HOPELESS else 0.85)


def test_weights_of_zero_are_rows_left_out():
    weight = np.where(np.arange(120) % 3 == 0, 0.0, 1.0)
    settings = {"gamma": 0.5, "shuffle": False}
    weighted = LASVMClassifier(**settings).fit(X, y, sample_weight=weight)
    without = LASVMClassifier(**settings).fit(X[weight > 0], y[weight > 0])
    assert not np.isin(weighted.support_, np.flatnonzero(weight == 0)).any()
    np.testing.assert_allclose(
        weighted.decision_function(X), without.decision_function(X), atol=1e-3
    )


def test_input_is_not_changed():
    A, S, b, w = X.copy(), sparse.csr_matrix(X), y.copy(), ONES.copy()
    for data in (A, S):
        LASVMClassifier(class_weight="balanced").fit(data, b, sample_weight=w).predict(data)
    np.testing.assert_array_equal(A, X)
    np.testing.assert_array_equal(S.toarray(), X)
    np.testing.assert_array_equal(b, y)
    np.testing.assert_array_equal(w, ONES)


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("LASVMClassifier", ("window", "budget", "max_examples", "block_size")),
        ("LASVMRegressor", ("window", "budget")),
        ("LASVMOneClass", ("window", "budget")),
        ("BudgetPerceptronClassifier", ("budget",)),
        ("HullerClassifier", ("max_sweeps",)),
    ],
)
def test_limits_beyond_64_bits_are_no_limits(name, limits):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    for limit in limits:
        large, huge = (
            getattr(onlinesvm, name)(**{limit: value, "gamma": 0.5, "random_state": 0}).fit(X, y)
            for value in (10**6, 10**30)
        )
        np.testing.assert_array_equal(huge.predict(X), large.predict(X))


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian", "matern12"])
def test_small_and_large_features_are_learned_or_refused(kernel):
    """Scaled by a power of two, and gamma with them, rows are the same to every kernel."""
    labels = (X[:, 0] * X[:, 1] > 0).astype(int)
    expected = LASVMClassifier(kernel=kernel).fit(X, labels).predict(X)
    learned = 0
    for power in range(-150, 130, 10):
        rows, model = X * 2.0**power, LASVMClassifier(kernel=kernel)
        if power < -60 or power > 50:  # a kernel may be able to, and then learns the same
            with contextlib.suppress(ValueError):
                assert (model.fit(rows, labels).predict(rows) == expected).mean() > 0.98
            continue
        assert (model.fit(rows, labels).predict(rows) == expected).mean() > 0.98
        learned += 1
    assert learned == 12
    for power in (-150, 140):
        message = r"too (small|large) for kernel values .*scale the features"
        with pytest.raises(ValueError, match=message):
            LASVMClassifier(kernel=kernel).fit(X * 2.0**power, labels)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_features_that_are_constant_but_for_rounding_are_learned(make):
    """Their variance is not zero, and so gamma is huge, as in SVC."""
    rows = np.full((7, 1), 1e-6)
    rows[::2] *= 1 + 1e-16 * np.arange(4)[:, None]
    rows[::3] = np.nextafter(rows[::3], 1.0)
    assert 1.0 / rows.var() > 1e38
    labels = [0, 1, 0, 1, 1, 0, 1]
    assert set(LASVMClassifier().fit(make(rows), labels).predict(make(rows))) <= {0, 1}
    assert set(SVC().fit(make(rows), labels).predict(make(rows))) <= {0, 1}


@pytest.mark.parametrize(
    "kind", [LASVMClassifier, LASVMRegressor, SimpleSVMRegressor, AutoSVMRegressor]
)
def test_whole_numbers_without_a_largest_one(kind):
    """Python's are not bounded: they ended in an OverflowError, which nobody catches as bad input."""
    rows, y = [[0.5, 1.0], [1.5, 2.0]] * 10, [0, 1] * 10
    large = [10**400, 1]
    if kind is not AutoSVMRegressor:  # a gap, as in a data frame
        with pytest.raises(ValueError, match=r"in double precision: int too large"):
            kind().fit([large, *rows[1:]], y)
    if kind is not LASVMClassifier:
        with pytest.raises(ValueError, match=r"in double precision: int too large"):
            kind().fit(rows, [10**400, *y[1:]])
        if hasattr(kind, "partial_fit"):
            model = kind().partial_fit(rows, y)
            before = model.predict(rows)
            with pytest.raises(ValueError, match=r"in double precision: int too large"):
                model.partial_fit(rows, [10**400, *y[1:]])
            np.testing.assert_array_equal(model.predict(rows), before)
