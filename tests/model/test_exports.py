"""Exports say the same as the model: LIBSVM's text, ONNX, Python, pipelines."""

import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
from model_cases import CASES, CSR, VALUES, WORDS, X, Y, fitted, learn, make, outputs
from sklearn.base import RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import dump_svmlight_file
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from onlinesvm import (
    HullerClassifier,
    KernelPerceptronClassifier,
    LASVMClassifier,
    LASVMRegressor,
    NORMAClassifier,
    OLSVMClassifier,
    PegazClassifier,
    SimpleSVMClassifier,
    SimpleSVMOneClass,
    SimpleSVMRegressor,
    StreamSVMClassifier,
    register_onnx,
    save_model,
)
from onlinesvm.model.errors import ModelFileError
from onlinesvm.model.export.libsvm import export_libsvm
from onlinesvm.model.export.onnx import export_onnx
from onlinesvm.model.export.python import MOST_NUMBERS, export_python

pytestmark = pytest.mark.filterwarnings("ignore")

KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "gamma": 0.2, "coef0": 0.5, "degree": 3},
    "rbf": {"kernel": "rbf", "gamma": 0.3},
    "laplacian": {"kernel": "laplacian", "gamma": 0.3},
    "matern12": {"kernel": "matern12", "gamma": 0.5},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.05, "coef0": -0.2},
}
CLASSES = [name for name in CASES if "cache" not in name]
WITHOUT_BIAS = [NORMAClassifier, PegazClassifier, OLSVMClassifier, KernelPerceptronClassifier]
NOT_IN_LIBSVM = ("laplacian", "matern12")
every_kernel = pytest.mark.parametrize("kernel", KERNELS)
TWO = Y > 0
SCALING = {"mean": X.mean(axis=0) + 3.0, "scale": X.std(axis=0) * np.arange(1.0, 7.0)}
STANDARD = (X - SCALING["mean"]) / SCALING["scale"]


# -- ONNX ---------------------------------------------------------------------------------


def run_onnx(path, rows):
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": rows})
    return dict(zip((o.name for o in session.get_outputs()), found))


def assert_onnx(model, path, rows, dtype, preprocessing=None, raw=None):
    """``rows`` as the model knows them; ``raw`` as the exported one is given them."""
    raw = rows if raw is None else raw
    export_onnx(model, path, preprocessing, dtype=dtype)
    given = np.ascontiguousarray(raw.astype(dtype))
    known = given.astype(np.float64) if preprocessing is None else rows
    found = run_onnx(path, given)
    values = outputs(model, known)
    near = 1e-4 * max(1.0, abs(values).max())
    scores = found["scores" if "scores" in found else "value"]
    assert scores.dtype == dtype
    assert scores.shape == values.shape
    np.testing.assert_allclose(scores, values, atol=near, rtol=0)
    if "label" in found:
        margin = abs(values) if values.ndim == 1 else np.diff(np.sort(values, axis=1))[:, -1]
        clear = margin > 2 * near
        assert clear.mean() > 0.9
        np.testing.assert_array_equal(found["label"][clear], model.predict(known)[clear])


@every_kernel
@pytest.mark.parametrize("labels", ["two", "three", "words"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_onnx_says_what_the_model_says(kernel, labels, dtype, tmp_path):
    y = {"two": TWO.astype(int), "three": Y, "words": WORDS}[labels]
    model = LASVMClassifier(random_state=0, **KERNELS[kernel]).fit(X, y)
    assert_onnx(model, tmp_path / "model.onnx", X, dtype)


@pytest.mark.parametrize("name", CLASSES)
def test_onnx_of_every_class(name, tmp_path):
    rows = CASES[name][2]
    rows = rows.toarray() if not isinstance(rows, np.ndarray) else rows
    for dtype in (np.float32, np.float64):
        assert_onnx(fitted(name), tmp_path / "model.onnx", rows, dtype)


@pytest.mark.parametrize("offset", [1e2, 1e4, 1e6])
def test_onnx_of_rows_far_from_zero(offset, tmp_path):
    """The centre is subtracted first; what single precision has lost before, nobody can know."""
    rows = (X + offset).astype(np.float32).astype(np.float64)
    for settings in ({"gamma": 0.3}, {"gamma": 0.3, "C": 1000.0}):
        model = LASVMClassifier(random_state=0, **settings).fit(rows, Y)
        assert_onnx(model, tmp_path / "model.onnx", rows, np.float32)
        assert_onnx(model, tmp_path / "model.onnx", rows, np.float64)


def test_onnx_of_rows_far_from_each_other(tmp_path):
    """Clusters 1e3 units apart: in single precision dot products lose what kernel values need."""
    rows = X + 1e3 * np.arange(len(X))[:, None] // 110
    rows = rows.astype(np.float32).astype(np.float64)
    model = SimpleSVMClassifier(gamma=0.3, C=10.0).fit(rows, Y)
    assert_onnx(model, tmp_path / "model.onnx", rows, np.float32)


@every_kernel
def test_onnx_with_a_standardisation(kernel, tmp_path):
    model = LASVMClassifier(random_state=0, **KERNELS[kernel]).fit(STANDARD, Y)
    assert_onnx(model, tmp_path / "model.onnx", STANDARD, np.float64, SCALING, X)


LABELS = {
    "int8": np.array([3, -7, 11], np.int8),
    "bool": np.array([True, False, True]),
    "float": np.array([1.0, -2.0, 0.0]),
    "text": np.array(["b", "ä\N{SNOWMAN}", ""]),
    "objects": np.array(["b", "a", "longer"], object),
    "uint64": np.array([2**64 - 1, 2**63, 1], np.uint64),
}
DATES = {
    "days": np.array(["2020-01-01", "2021-06-01", "1999-01-01"], "M8[D]"),
    "nanoseconds": np.array(["2020-01-01", "2021-06-01", "1999-01-01"], "M8[ns]"),
    "durations": np.array([1, 20, 3], "m8[ns]"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_onnx_labels_of_every_type(kind, tmp_path):
    y = LABELS[kind][Y]
    model = make("LASVM").fit(X, y)
    assert_onnx(model, tmp_path / "model.onnx", X, np.float64)


@pytest.mark.parametrize("kind", DATES)
def test_onnx_has_dates_as_text(kind, tmp_path):
    model = make("LASVM").fit(X, DATES[kind][Y])
    export_onnx(model, tmp_path / "model.onnx", dtype=np.float64)
    found = run_onnx(tmp_path / "model.onnx", X)["label"]
    np.testing.assert_array_equal(found, model.predict(X).astype(str))


@pytest.mark.parametrize("kind", LABELS | DATES)
def test_python_labels_of_every_type(kind, tmp_path):
    model = make("LASVM").fit(X, (LABELS | DATES)[kind][Y])
    export_python(model, tmp_path / "model.py")
    found = run_python(tmp_path / "model.py")["predict"](X)
    assert found.dtype.kind == model.classes_.dtype.kind or kind == "objects"
    np.testing.assert_array_equal(found, model.predict(X))


@pytest.mark.parametrize("labels", ["uint64", "days"])
def test_large_labels_and_dates_through_skl2onnx(labels, tmp_path):
    skl2onnx = pytest.importorskip("skl2onnx")
    register_onnx()
    model = make("LASVM").fit(X, (LABELS | DATES)[labels][Y])
    path = tmp_path / "model.onnx"
    path.write_bytes(skl2onnx.to_onnx(model, X[:1]).SerializeToString())
    expected = model.predict(X) if labels == "uint64" else model.predict(X).astype(str)
    np.testing.assert_array_equal(run_onnx(path, X)["label"], expected)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("decision", ["ovr", "ovo"])
def test_the_python_function_refuses_rows_of_another_width(kernel, decision, tmp_path):
    """NumPy would repeat a single column for all features, and predict from that."""
    model = LASVMClassifier(decision=decision, **KERNELS[kernel]).fit(X, Y)
    export_python(model, tmp_path / "model.py")
    scope = run_python(tmp_path / "model.py")
    for rows in (X[:, :1], X[:, :2], X[0], X[:, :, None]):
        for name in ("predict", "decision_function"):
            with pytest.raises(ValueError, match=r"it must have rows of 6 features"):
                scope[name](rows)


def test_onnx_of_a_stream_that_has_seen_one_class(tmp_path):
    model = LASVMClassifier(gamma=0.3).partial_fit(X[:9], ["only"] * 9)
    export_onnx(model, tmp_path / "model.onnx")
    assert set(run_onnx(tmp_path / "model.onnx", np.float32(X))["label"]) == {"only"}


def test_the_same_onnx_file_every_time(tmp_path):
    for name in "ab":
        export_onnx(fitted("LASVM"), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [LASVMClassifier, SimpleSVMRegressor, SimpleSVMOneClass])
def test_a_pipeline_through_skl2onnx(kind, dtype, tmp_path):
    skl2onnx = pytest.importorskip("skl2onnx")
    register_onnx()
    y = {LASVMClassifier: WORDS, SimpleSVMRegressor: VALUES}.get(kind)
    rows = (X * 5 + 40).astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), kind(gamma=0.3, random_state=0)).fit(rows, y)
    made = skl2onnx.to_onnx(pipeline, rows[:1].astype(dtype), target_opset=17)
    (tmp_path / "pipeline.onnx").write_bytes(made.SerializeToString())
    found = run_onnx(tmp_path / "pipeline.onnx", rows.astype(dtype))
    values = outputs(pipeline, rows.astype(dtype))
    np.testing.assert_allclose(found.get("scores", found.get("value")), values, atol=1e-4)
    if "label" in found:
        margin = abs(values) if values.ndim == 1 else np.diff(np.sort(values, axis=1))[:, -1]
        clear = margin > 2e-4
        assert clear.mean() > 0.8  # all free support vectors of one class are on the edge
        same = found["label"] == pipeline.predict(rows.astype(dtype))
        assert same[clear].all()


def with_skl2onnx(model, rows, **options):
    """Outputs of a model that skl2onnx has converted."""
    skl2onnx = pytest.importorskip("skl2onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    register_onnx()
    made = skl2onnx.to_onnx(
        model, rows[:1], target_opset=17, options={id(model): options} if options else None
    )
    session = onnxruntime.InferenceSession(
        made.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return dict(zip((o.name for o in session.get_outputs()), session.run(None, {"X": rows})))


two_or_more = pytest.mark.parametrize("y", [TWO, WORDS, Y], ids=["truth", "words", "numbers"])


@two_or_more
@pytest.mark.parametrize("base", [LASVMClassifier, HullerClassifier, SVC])
def test_calibrated_by_scikit_learn(base, y):
    """As with SVC: scores of an estimator within another one, a column for each class."""
    rows = X.astype(np.float32)
    settings = {"gamma": 0.3, "C": 1.0, **({} if base is SVC else {"random_state": 0})}
    model = CalibratedClassifierCV(base(**settings), cv=2).fit(rows, y)
    found = with_skl2onnx(model, rows, zipmap=False)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-4)
    np.testing.assert_array_equal(found["label"], model.predict(rows))


@two_or_more
def test_a_vote_takes_probabilities(y):
    """Not scores, which are the other thing that a classifier within another one may give."""
    rows = X.astype(np.float32)
    sure = LASVMClassifier(gamma=0.3, random_state=0, probability=True)
    model = VotingClassifier(
        [("svm", sure), ("linear", LogisticRegression())], voting="soft", flatten_transform=False
    ).fit(rows, y)
    found = with_skl2onnx(model, rows, zipmap=False)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-4)


# -- probabilities ------------------------------------------------------------------------


def sure_models():
    """Labels in the order of the classes and in the other one; of a fit and of a stream."""
    for name, y in {"words": WORDS, "two": TWO, "swapped": ~TWO, "numbers": Y}.items():
        for verb in ("fit", "partial_fit"):
            model = LASVMClassifier(gamma=0.3, random_state=0, probability=True)
            yield f"{name}, {verb}", getattr(model, verb)(X, y)


def test_probabilities_are_part_of_an_export(tmp_path):
    for name, model in sure_models():
        wanted = model.predict_proba(X)
        assert wanted.min() < 0.2 < 0.8 < wanted.max()
        for dtype in (np.float32, np.float64):
            export_onnx(model, tmp_path / "model.onnx", dtype=dtype)
            found = run_onnx(tmp_path / "model.onnx", X.astype(dtype))
            assert list(found) == ["label", "scores", "probabilities"]
            assert found["probabilities"].dtype == dtype
            np.testing.assert_allclose(found["probabilities"], wanted, atol=1e-5, err_msg=name)
        export_python(model, tmp_path / "model.py")
        found = run_python(tmp_path / "model.py")["predict_proba"](X)
        np.testing.assert_allclose(found, wanted, atol=1e-5, err_msg=name)


def test_probabilities_of_a_pipeline_through_skl2onnx():
    rows = X.astype(np.float32)
    model = LASVMClassifier(gamma=0.3, random_state=0, probability=True)
    pipeline = make_pipeline(StandardScaler(), model).fit(rows, WORDS)
    found = with_skl2onnx(pipeline, rows)
    np.testing.assert_allclose(found["probabilities"], pipeline.predict_proba(rows), atol=1e-4)
    np.testing.assert_allclose(found["scores"], pipeline.decision_function(rows), atol=1e-3)


def test_one_class_alone_and_probabilities_that_are_not_asked_for(tmp_path):
    alone = LASVMClassifier(gamma=0.3, probability=True).partial_fit(X[:5], ["a"] * 5)
    for model in (alone, fitted("LASVM")):
        export_onnx(model, tmp_path / "model.onnx")
        found = run_onnx(tmp_path / "model.onnx", X.astype(np.float32))
        assert set(found) == {"label", "scores"}


@pytest.mark.filterwarnings("default")
def test_libsvm_text_says_that_it_has_no_probabilities(tmp_path):
    model = LASVMClassifier(gamma=0.3, random_state=0, probability=True).fit(X, TWO)
    with pytest.warns(UserWarning, match="cannot contain the probabilities"):
        export_libsvm(model, tmp_path / "model.txt")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        export_libsvm(LASVMClassifier(gamma=0.3).fit(X, TWO), tmp_path / "model.txt")


# -- LIBSVM -------------------------------------------------------------------------------

needs_libsvm = pytest.mark.skipif(
    shutil.which("svm-predict") is None, reason="svm-predict is missing: apt install libsvm-tools"
)


def svm_predict(path, rows, folder):
    """The labels, or values, that Debian's svm-predict finds."""
    data, found = folder / "rows.txt", folder / "found.txt"
    dump_svmlight_file(rows, np.zeros(rows.shape[0]), str(data), zero_based=False)
    command = ["svm-predict", str(data), str(path), str(found)]
    subprocess.run(command, check=True, capture_output=True)
    return np.loadtxt(found, ndmin=1)


@needs_libsvm
@pytest.mark.parametrize("kernel", [name for name in KERNELS if name not in NOT_IN_LIBSVM])
@pytest.mark.parametrize("rows", [X, X + 100.0, CSR], ids=["dense", "shifted", "sparse"])
def test_svm_predict_gives_the_same_labels(kernel, rows, tmp_path):
    if rows is not X and kernel != "rbf" and rows is not CSR:
        rows = X + 1.0  # a polynomial of hundreds is another matter
    y = np.where(TWO, 5, -3)
    model = LASVMClassifier(random_state=0, **KERNELS[kernel]).fit(rows, y)
    (path,) = export_libsvm(model, tmp_path / "model.txt")
    clear = abs(model.decision_function(rows)) > 1e-4 * abs(model.decision_function(rows)).max()
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(
        svm_predict(path, rows, tmp_path)[clear], model.predict(rows)[clear]
    )
    assert set(model.predict(rows)) == {5, -3}


@needs_libsvm
def test_one_file_for_each_class(tmp_path):
    for name in ("LASVM", "SimpleSVM", "OLSVM"):
        model = fitted(name)
        paths = export_libsvm(model, tmp_path / "model.txt")
        assert [path.name for path in paths] == [f"model.{k}.txt" for k in (1, 2, 3)]
        values = model.decision_function(X)
        for path, column in zip(paths, values.T):
            clear = abs(column) > 1e-4
            found = svm_predict(path, X, tmp_path)
            np.testing.assert_array_equal(found[clear], np.sign(column)[clear])


@needs_libsvm
def test_regression_and_one_class_in_libsvm(tmp_path):
    model = fitted("SVR")
    (path,) = export_libsvm(model, tmp_path / "model.txt")
    np.testing.assert_allclose(svm_predict(path, X, tmp_path), model.predict(X), atol=1e-4)
    model = fitted("one class")
    (path,) = export_libsvm(model, tmp_path / "model.txt")
    clear = abs(model.decision_function(X)) > 1e-6
    np.testing.assert_array_equal(svm_predict(path, X, tmp_path)[clear], model.predict(X)[clear])


@needs_libsvm
def test_a_standardisation_in_libsvm_where_it_can_be(tmp_path):
    equal = {"mean": SCALING["mean"], "scale": np.full(6, 2.5)}
    cases = [("linear", SCALING), ("rbf", equal)]
    for kernel, scaling in cases:
        rows = (X - scaling["mean"]) / scaling["scale"]
        model = LASVMClassifier(random_state=0, **KERNELS[kernel]).fit(rows, TWO.astype(int))
        (path,) = export_libsvm(model, tmp_path / "model.txt", scaling)
        clear = abs(model.decision_function(rows)) > 1e-4
        found = svm_predict(path, X, tmp_path)
        np.testing.assert_array_equal(found[clear], model.predict(rows)[clear])
    model = LASVMClassifier(random_state=0, **KERNELS["poly"]).fit(STANDARD, TWO)
    with pytest.raises(ModelFileError, match="cannot contain a standardisation before the poly"):
        export_libsvm(model, tmp_path / "other.txt", SCALING)
    assert not (tmp_path / "other.txt").exists()


def test_the_text_is_that_of_an_svc(tmp_path):
    """Exact solutions agree, so a file of SimpleSVM has SVC's vectors and bias."""
    settings = {"C": 1.0, "gamma": 0.3, "tol": 1e-8}
    peer = SVC(**settings).fit(X, TWO)
    (path,) = export_libsvm(SimpleSVMClassifier(**settings).fit(X, TWO), tmp_path / "model.txt")
    lines = dict(line.split(" ", 1) for line in path.read_text().splitlines()[:8])
    assert lines["svm_type"] == "c_svc"
    assert int(lines["total_sv"]) == peer.n_support_.sum()
    assert float(lines["rho"]) == pytest.approx(-peer.intercept_[0], abs=1e-5)


# -- Python -------------------------------------------------------------------------------


def run_python(path):
    scope = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    return scope


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern12"])
@pytest.mark.parametrize("make", WITHOUT_BIAS)
def test_far_from_all_vectors_the_label_is_the_same(make, kernel, tmp_path):
    """Models without a bias: values vanish there, but not in the library, where coefficients decide."""
    rng = np.random.default_rng(0)
    rows, far = X[:, :2], (-1.0) ** np.arange(200)[:, None] * (300.0 + 100.0 * rng.random((200, 2)))
    for y in (TWO.astype(int), Y):
        model = make(kernel=kernel, gamma=1.0).fit(rows, y)
        assert (abs(model.decision_function(far)) < 1e-35).all()
        export_python(model, tmp_path / "model.py")
        found = run_python(tmp_path / "model.py")["predict"](far)
        np.testing.assert_array_equal(found, model.predict(far))
        for dtype in (np.float32, np.float64):
            given = far.astype(dtype)
            export_onnx(model, tmp_path / "model.onnx", dtype=dtype)
            found = run_onnx(tmp_path / "model.onnx", given)["label"]
            np.testing.assert_array_equal(found, model.predict(given.astype(np.float64)))


@pytest.mark.parametrize("name", CLASSES)
def test_the_python_function_of_every_class(name, tmp_path):
    rows = CASES[name][2]
    rows = rows.toarray() if not isinstance(rows, np.ndarray) else rows
    model = fitted(name, 60)
    export_python(model, tmp_path / "model.py")
    scope = run_python(tmp_path / "model.py")
    values = outputs(model, rows)
    near = 1e-4 * max(1.0, abs(values).max())
    np.testing.assert_allclose(scope["decision_function"](rows), values, atol=near)
    if isinstance(model, RegressorMixin):
        return
    margin = abs(values) if values.ndim == 1 else np.diff(np.sort(values, axis=1))[:, -1]
    clear = margin > 2 * near  # support vectors of one class are on its edge
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(scope["predict"](rows)[clear], model.predict(rows)[clear])


@every_kernel
def test_the_python_function_with_a_standardisation(kernel, tmp_path):
    """Of a model in double precision, so that nothing but the export is measured."""
    model = SimpleSVMClassifier(random_state=0, **KERNELS[kernel]).fit(STANDARD[:80], WORDS[:80])
    export_python(model, tmp_path / "model.py", SCALING)
    found = run_python(tmp_path / "model.py")["decision_function"](X)
    np.testing.assert_allclose(found, model.decision_function(STANDARD), atol=1e-7)


def test_the_python_file_needs_numpy_alone(tmp_path):
    export_python(fitted("LASVM", 60), tmp_path / "small.py")
    code = (
        "import sys; sys.path.insert(0, '.'); import small; "
        "print(list(small.predict([[0.0] * 6])), 'onlinesvm' in sys.modules, 'sklearn' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert done.stdout.endswith("False False\n")


def test_a_large_model_is_no_python_file(tmp_path):
    wide = np.random.default_rng(0).normal(size=(330, 100))
    model = SimpleSVMClassifier(gamma=0.1).fit(wide, Y)
    assert model.support_vectors_.size > MOST_NUMBERS
    with pytest.raises(ModelFileError, match=r"at most 20000: export it to ONNX"):
        export_python(model, tmp_path / "model.py")
    assert not list(tmp_path.iterdir())


# -- what cannot be exported --------------------------------------------------------------

EXPORTS = {"onnx": export_onnx, "libsvm": export_libsvm, "python": export_python}
every_export = pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)


@every_export
def test_kernels_that_other_programs_lack(export, tmp_path):
    with pytest.raises(ModelFileError, match="a precomputed kernel cannot be exported"):
        export(LASVMClassifier(kernel="precomputed").fit(X @ X.T, Y), tmp_path / "model")
    with pytest.raises(ModelFileError, match="a callable kernel cannot be exported"):
        export(LASVMClassifier(kernel=lambda A, B: A @ B.T).fit(X, Y), tmp_path / "model")


@pytest.mark.parametrize("kernel", NOT_IN_LIBSVM)
def test_libsvm_text_has_no_such_kernel(kernel, tmp_path):
    model = LASVMClassifier(**KERNELS[kernel]).fit(X, TWO)
    with pytest.raises(ModelFileError, match=f"no {kernel} kernel: export to ONNX or Python"):
        export_libsvm(model, tmp_path / "model.txt")
    assert not list(tmp_path.iterdir())


@every_export
def test_bad_preprocessing(export, tmp_path):
    model = make("LASVM linear").fit(X, Y)
    with pytest.raises(
        ModelFileError,
        match=r"shape \(3,\); it must have one finite number for each of the 6 features",
    ):
        export(model, tmp_path / "model", {"mean": np.zeros(3)})
    with pytest.raises(ModelFileError, match="scale that is not positive"):
        export(model, tmp_path / "model", {"scale": np.zeros(6)})
    with pytest.raises(ModelFileError, match="'hashed' cannot be exported"):
        export(model, tmp_path / "model", {"hashed": 8})
    assert not list(tmp_path.iterdir())


@every_export
def test_a_folder_that_is_not_there(export, tmp_path):
    with pytest.raises(ModelFileError, match="was not written: No such file or directory"):
        export(make("LASVM linear").fit(X, Y), tmp_path / "none" / "model")


def test_streams_are_exported_in_mid_stream(tmp_path):
    model = learn(make("LASVM"), "LASVM", 0, 50)
    export_onnx(model, tmp_path / "model.onnx", dtype=np.float64)
    found = run_onnx(tmp_path / "model.onnx", X)["scores"]
    np.testing.assert_allclose(found, model.decision_function(X), atol=1e-4)


@every_kernel
def test_rows_of_unit_length(kernel, tmp_path):
    """StreamSVM divides by the length of phi(x); a row of zeros has none."""
    rows = np.vstack([X, np.zeros((1, 6))])
    settings = {**KERNELS[kernel], "coef0": 0.5} if kernel == "sigmoid" else KERNELS[kernel]
    model = StreamSVMClassifier(n_balls=4, random_state=0, **settings).fit(X, Y)
    assert_onnx(model, tmp_path / "model.onnx", rows, np.float64)


# -- several columns: targets, quantiles, labels ------------------------------------------

INDICATORS = np.stack([Y == 0, Y > 0, X[:, 0] > 0], axis=1).astype(int)


def quantile_models():
    """Of a fit, of a stream whose machines cross, and of a window."""
    settings = {"quantile": [0.05, 0.45, 0.5, 0.55, 0.95], "random_state": 0}
    yield "fit", LASVMRegressor(gamma=0.3, **settings).fit(X, VALUES)
    noise = np.random.default_rng(0).normal(size=len(X))
    yield "crossing", LASVMRegressor(gamma=0.3, **settings).partial_fit(X, noise)
    yield "window", LASVMRegressor(gamma=0.3, window=50, **settings).partial_fit(X, VALUES)
    yield "linear", LASVMRegressor(kernel="linear", **settings).fit(X, VALUES)
    calibrated = LASVMRegressor(gamma=2.0, C=20.0, calibrated=True, **settings)
    yield "calibrated", calibrated.fit(X, VALUES)
    yield "one of them", LASVMRegressor(gamma=0.3, quantile=[0.9]).fit(X, VALUES)
    yield "large", LASVMRegressor(gamma=0.3, C=1e9, quantile=[0.1, 0.9]).fit(X, VALUES * 1e9)


def test_quantiles_are_sorted_in_every_export(tmp_path):
    for name, model in quantile_models():
        for dtype in (np.float32, np.float64):
            given = X.astype(dtype)
            wanted = model.predict(given)
            export_onnx(model, tmp_path / "model.onnx", dtype=dtype)
            found = run_onnx(tmp_path / "model.onnx", given)
            assert list(found) == ["value"]
            assert (found["value"].dtype, found["value"].shape) == (dtype, wanted.shape)
            near = 1e-4 * max(1.0, abs(wanted).max())
            np.testing.assert_allclose(found["value"], wanted, atol=near, rtol=0, err_msg=name)
            assert (np.diff(found["value"], axis=1) >= 0).all()
        export_python(model, tmp_path / "model.py")
        found = run_python(tmp_path / "model.py")["predict"](X)
        near = 1e-4 * max(1.0, abs(wanted).max())
        np.testing.assert_allclose(found, model.predict(X), atol=near, rtol=0, err_msg=name)
    model = dict(quantile_models())["crossing"]
    values = rbf_kernel(X, model.support_vectors_, 0.3) @ model.dual_coef_.T + model.intercept_
    assert (np.diff(values, axis=1) < -1e-3).any()  # there was something to sort


@pytest.mark.parametrize("rows", [X, CSR], ids=["dense", "sparse"])
@pytest.mark.parametrize("verb", ["fit", "partial_fit"])
def test_several_labels_per_example_in_onnx_and_python(rows, verb, tmp_path):
    model = getattr(LASVMClassifier(gamma=0.3, random_state=0), verb)(rows, INDICATORS)
    asked = X if rows is X else CSR.toarray()
    wanted, values = model.predict(asked), model.decision_function(asked)
    clear = np.abs(values) > 1e-3
    assert set(wanted[clear].tolist()) == {0, 1}
    for dtype in (np.float32, np.float64):
        export_onnx(model, tmp_path / "model.onnx", dtype=dtype)
        found = run_onnx(tmp_path / "model.onnx", asked.astype(dtype))
        assert list(found) == ["label", "scores"]
        np.testing.assert_allclose(found["scores"], values, atol=1e-3)
        assert found["label"].dtype == np.int64
        np.testing.assert_array_equal(found["label"][clear], wanted[clear])
    export_python(model, tmp_path / "model.py")
    scope = run_python(tmp_path / "model.py")
    np.testing.assert_array_equal(scope["predict"](asked)[clear], wanted[clear])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_several_columns_of_a_pipeline_through_skl2onnx(dtype):
    rows = X.astype(dtype)
    quantiles = LASVMRegressor(gamma=0.3, quantile=[0.1, 0.5, 0.9], random_state=0)
    pipeline = make_pipeline(StandardScaler(), quantiles).fit(rows, VALUES)
    found = with_skl2onnx(pipeline, rows)
    np.testing.assert_allclose(found["value"], pipeline.predict(rows), atol=1e-4)
    labels = LASVMClassifier(gamma=0.3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), labels).fit(rows, INDICATORS)
    found, values = with_skl2onnx(pipeline, rows), pipeline.decision_function(rows)
    np.testing.assert_allclose(found["scores"], values, atol=1e-3)
    clear = np.abs(values) > 2e-3
    np.testing.assert_array_equal(found["label"][clear], pipeline.predict(rows)[clear])


@needs_libsvm
def test_one_libsvm_file_for_each_column(tmp_path):
    quantiles = LASVMRegressor(gamma=0.3, quantile=[0.1, 0.9], random_state=0).fit(X, VALUES)
    paths = export_libsvm(quantiles, tmp_path / "model.txt")
    found = np.stack([svm_predict(path, X, tmp_path) for path in paths], axis=1)
    np.testing.assert_allclose(np.sort(found, axis=1), quantiles.predict(X), atol=1e-4)
    labels = LASVMClassifier(gamma=0.3, random_state=0).fit(X, INDICATORS)
    clear = np.abs(labels.decision_function(X)) > 1e-4
    paths = export_libsvm(labels, tmp_path / "model.txt")
    found = np.stack([svm_predict(path, X, tmp_path) for path in paths], axis=1)
    np.testing.assert_array_equal(found[clear], labels.predict(X)[clear])


def test_a_target_of_one_column_stays_one(tmp_path):
    model = LASVMRegressor(gamma=0.3).fit(X, VALUES[:, None])
    export_onnx(model, tmp_path / "model.onnx")
    export_python(model, tmp_path / "model.py")
    found = run_onnx(tmp_path / "model.onnx", X.astype(np.float32))["value"]
    written = run_python(tmp_path / "model.py")["predict"](X)
    assert found.shape == written.shape == model.predict(X).shape == (len(X), 1)


# -- one machine per pair of classes ------------------------------------------------------

PAIRS = {"decision": "ovo", "epochs": "converge"}


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("way", [{}, {"break_ties": True}, {"decision_function_shape": "ovo"}])
@pytest.mark.parametrize("probability", [False, True])
def test_pairs_of_classes_vote_in_onnx_and_python(tmp_path, kernel, way, probability):
    model = LASVMClassifier(**KERNELS[kernel], **PAIRS, **way, probability=probability)
    model.fit(X, np.array(["one", "two", "three", "four"])[np.arange(len(X)) % 4])
    asked = X.astype(np.float64)
    export_onnx(model, tmp_path / "model.onnx", dtype=np.float64)
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(
        str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"]
    )
    found = session.run(None, {"X": asked})
    export_python(model, tmp_path / "model.py")
    written = {}
    exec((tmp_path / "model.py").read_text(encoding="utf-8"), written)
    scale = np.abs(model.decision_function(asked)).max()
    for label, scores in (
        (found[0], found[1]),
        (written["predict"](asked), written["decision_function"](asked)),
    ):
        assert (label == model.predict(asked)).mean() > 0.99  # rounding of a vote near zero
        same = np.abs(scores - model.decision_function(asked)) <= 1e-3 * scale
        assert same.all(axis=1).mean() > 0.99
    if probability:
        for chances in (found[2], written["predict_proba"](asked)):
            same = np.abs(chances - model.predict_proba(asked)) <= 1e-3
            assert same.all(axis=1).mean() > 0.99


@pytest.mark.parametrize(
    "kernel", [name for name in KERNELS if name not in (*NOT_IN_LIBSVM, "sigmoid")]
)
@pytest.mark.parametrize("labels", [[3, 1, 2], ["c", "a", "b"]])
def test_pairs_of_classes_are_libsvms_own_form(tmp_path, kernel, labels):
    program = shutil.which("svm-predict")
    if program is None:
        pytest.skip("needs LIBSVM's svm-predict")
    model = LASVMClassifier(**KERNELS[kernel], **PAIRS).fit(
        X, np.array(labels)[np.arange(len(X)) % 3]
    )
    paths = export_libsvm(model, tmp_path / "model")
    assert paths == [tmp_path / "model"]
    dump_svmlight_file(X, np.zeros(len(X)), str(tmp_path / "rows"), zero_based=False)
    run = [program, tmp_path / "rows", tmp_path / "model", tmp_path / "out"]
    subprocess.run(run, check=True, capture_output=True)
    found = np.loadtxt(tmp_path / "out").astype(int)
    whole = isinstance(labels[0], int)
    expected = model.predict(X) if whole else np.searchsorted(model.classes_, model.predict(X))
    assert (found == expected).mean() > 0.99


@pytest.mark.parametrize("export", [export_onnx, export_libsvm, export_python])
def test_what_holds_a_model_says_where_it_is(export, tmp_path):
    """It said that a Pipeline cannot be saved, which it can, and listed sixteen classes."""
    pipeline = make_pipeline(StandardScaler(), LASVMClassifier()).fit(X, Y)
    search = GridSearchCV(LASVMClassifier(), {"C": [1.0]}, cv=2).fit(X, Y)
    best = GridSearchCV(pipeline, {"lasvmclassifier__C": [1.0]}, cv=2).fit(X, Y)
    for model, part, words in (
        (pipeline, pipeline[-1], r"A Pipeline cannot be exported .* its last step, pipeline\[-1\]"),
        (search, search.best_estimator_, r"A GridSearchCV cannot be .* its best_estimator_, whose"),
        (best, best.best_estimator_[-1], r"A GridSearchCV cannot be .* its best_estimator_\[-1\]"),
    ):
        with pytest.raises(ModelFileError, match=words):
            export(model, tmp_path / "m")
        assert not list(tmp_path.iterdir())
        export(part, tmp_path / "m")
        for path in tmp_path.iterdir():
            path.unlink()
    with pytest.raises(ModelFileError, match="Save its best_estimator_, or use pickle or skops"):
        save_model(search, tmp_path / "m")
