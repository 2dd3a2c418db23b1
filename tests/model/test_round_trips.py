"""A model from a file, or a pickle, goes on learning as the one that was never saved."""

import pickle
import warnings
from dataclasses import fields

import numpy as np
import pytest
from model_cases import CASES, FIRST, X, Y, fitted, learn, make, outputs
from scipy import sparse

import onlinesvm
from onlinesvm import LASVMClassifier, load_model
from onlinesvm.estimators.exact import ExactTrained
from onlinesvm.exceptions import ModelFileError
from onlinesvm.model.files import read_model, write_model
from onlinesvm.model.state import ALGORITHMS

every_case = pytest.mark.parametrize("name", CASES)
pytestmark = pytest.mark.filterwarnings("ignore")


def through_a_file(model, folder):
    model.save(folder / "model.safetensors")
    return load_model(folder / "model.safetensors")


def through_a_pickle(model, folder):
    return pickle.loads(pickle.dumps(model))


WAYS = {"file": through_a_file, "pickle": through_a_pickle}
both_ways = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


def assert_same(model, twin, rows):
    np.testing.assert_array_equal(outputs(twin, rows), outputs(model, rows))
    assert twin.n_kernel_evaluations_ == model.n_kernel_evaluations_


def assert_learn_alike(model, twin, name, first):
    """Few rows at a time and many, the finishing step, and the same file in the end."""
    rows = CASES[name][2]
    assert_same(model, twin, rows)
    for one in (model, twin):
        learn(one, name, first, first + 10, 3)
        learn(one, name, first + 10, first + 40, 15)
        one.finish()
        learn(one, name, first + 40, first + 90)
    assert_same(model, twin, rows)


def test_the_cases_cover_every_class():
    kinds = {kind for kind, *_ in CASES.values()}
    public = {name for name in onlinesvm.__all__ if name.endswith(("fier", "ssor", "OneClass"))}
    searches = {"AutoSVMClassifier", "AutoSVMRegressor"}  # what they find is a pipeline, and saved
    assert kinds == public - searches == set(ALGORITHMS)


@every_case
@both_ways
def test_a_stream_goes_on(name, way, tmp_path):
    model = learn(make(name), name, 0, 240, 60)
    twin = way(model, tmp_path)
    assert_learn_alike(model, twin, name, 240)
    if way is through_a_file:
        paths = [tmp_path / "one", tmp_path / "two"]
        for one, path in zip((model, twin), paths):
            one.save(path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


@pytest.mark.parametrize("name", FIRST)
@both_ways
def test_the_first_rows_of_a_stream_are_kept(name, way, tmp_path):
    """gamma is not yet estimated for good."""
    model = learn(make(name), name, 0, 30, 10)
    twin = way(model, tmp_path)
    assert_learn_alike(model, twin, name, 30)
    learn(model, name, 120, 130)
    assert model.gamma_ == learn(twin, name, 120, 130).gamma_


@pytest.mark.parametrize("name", ["LASVM", "Huller", "StreamSVM", "NORMA", "SimpleSVM", "SVR"])
def test_a_fit_comes_back(name, tmp_path):
    model = fitted(name)
    twin = through_a_file(model, tmp_path)
    assert_same(model, twin, CASES[name][2])
    names = ("support_", "dual_coef_", "intercept_", "support_vectors_", "classes_", "n_support_")
    for attribute in names:
        if hasattr(model, attribute) and not (name == "SVR" and attribute == "classes_"):
            np.testing.assert_array_equal(getattr(twin, attribute), getattr(model, attribute))
    assert repr(twin) == repr(model)
    assert_learn_alike(model, twin, name, 200)


def test_a_new_label_and_forgetting_after_loading(tmp_path):
    labels = np.where(Y == 2, 0, Y)
    model = make("SimpleSVM").fit(X[:150], labels[:150])
    twin = through_a_file(model, tmp_path)
    for one in (model, twin):
        one.partial_fit(X[150:200], Y[150:200]).forget([3, 70, 160])
    assert_same(model, twin, X)
    for kind in ("LASVM", "Huller", "StreamSVM", "OLSVM", "budget perceptron"):
        model = make(kind).partial_fit(X[:150], labels[:150])
        twin = through_a_file(model, tmp_path)
        for one in (model, twin):
            one.partial_fit(X[150:200], Y[150:200])
        assert_same(model, twin, X)


def test_row_by_row_after_loading(tmp_path):
    model = LASVMClassifier(gamma=0.3).partial_fit(X[:100], Y[:100])
    twin = through_a_file(model, tmp_path)
    for x, y in zip(X[100:160], Y[100:160]):
        model.learn_one(x, y)
        twin.learn_one(x, y)
    assert_same(model, twin, X)


@pytest.mark.parametrize("settings", [{}, {"window": "auto"}, {"budget": 40}])
def test_what_was_noted_of_scores_comes_back(settings, tmp_path):
    settings = settings | {"probability": True, "detect_drift": True}
    model = LASVMClassifier(gamma=0.3, **settings).partial_fit(X[:101], Y[:101])
    twin = through_a_file(model, tmp_path)
    for start in (101, 150, 187):
        for name in ("predict_proba", "predict_set"):
            np.testing.assert_array_equal(getattr(model, name)(X), getattr(twin, name)(X))
        assert model.prequential_error_ == twin.prequential_error_
        for one in (model, twin):
            one.partial_fit(X[start : start + 30], Y[start : start + 30])
    assert pickle.dumps(model._trained.learner.watch) == pickle.dumps(twin._trained.learner.watch)


LABELS = {
    "int": np.array([3, -7, 11]),
    "int8": np.array([3, -7, 11], np.int8),
    "uint16": np.array([3, 700, 11], np.uint16),
    "float": np.array([1.0, -2.0, 0.0]),
    "float32": np.array([1.0, -2.0, 0.0], np.float32),
    "bool": np.array([True, False, True]),
    "text": np.array(["b", "ä\N{SNOWMAN}", ""]),
    "wide text": np.array(["b", "a", "c"], "<U300"),
    "objects": np.array(["b", "a", "longer"], object),
    "big-endian": np.array([3, -7, 11], ">i4"),
}


@pytest.mark.parametrize("kind", ["i4", "u1", "?", "f4", "f8", "O"])
@pytest.mark.parametrize("name", ["LASVMRegressor", "SimpleSVMRegressor"])
def test_targets_of_every_type_of_numbers(kind, name, tmp_path):
    """A SimpleSVMRegressor that had learned few whole numbers was saved, and its file refused."""
    y = (np.arange(160) % 2).astype(kind)
    model = getattr(onlinesvm, name)().partial_fit(X[:40], y[:40])
    twin = through_a_file(model, tmp_path)
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    for one in (model, twin):
        one.partial_fit(X[40:160], y[40:])
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    assert twin.gamma_ == model.gamma_


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", ["LASVM", "SimpleSVM"])
def test_labels_of_every_type(kind, name, tmp_path):
    y = LABELS[kind][np.arange(80) % 3]
    model = make(name).partial_fit(X[:80], y)
    twin = through_a_file(model, tmp_path)
    assert twin.classes_.dtype == model.classes_.dtype.newbyteorder("=")
    np.testing.assert_array_equal(twin.classes_, model.classes_)
    for one in (model, twin):
        one.partial_fit(X[80:160], y)
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    assert_same(model, twin, X)


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
@pytest.mark.parametrize("name", ["LASVM", "SimpleSVM"])
def test_dates_are_refused_when_saving_not_when_loading(name, unit, tmp_path):
    y = np.array(["2020-01-01", "2021-06-01"], f"M8[{unit}]")[np.arange(80) % 2]
    model = make(name).partial_fit(X[:80], y)
    with pytest.raises(ModelFileError, match=r"its labels are of type datetime64\[.*y.astype"):
        model.save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())
    assert_same(model, through_a_pickle(model, tmp_path), X)


def test_labels_of_mixed_numbers(tmp_path):
    """Whole numbers first, then floats: the first ones stay what they are."""
    model = make("LASVM").partial_fit(X[:60], Y[:60]).partial_fit(X[60:120], Y[60:120] + 2.0)
    twin = through_a_file(model, tmp_path)
    assert list(twin._trained.encoder.numbers.items()) == list(
        model._trained.encoder.numbers.items()
    )
    assert_learn_alike(model, twin, "LASVM linear", 120)


PARAMETERS = {
    "random generator": {"random_state": np.random.RandomState(3)},
    "generator in use": {"random_state": np.random.RandomState(5)},
    "class weights": {"class_weight": {0: 2.0, 1: 1, 2: 0.5}},
    "numpy numbers": {"C": np.float32(0.1), "block_size": np.int64(64), "shuffle": np.bool_(True)},
    "infinite": {"C": np.inf},
    "auto": {"gamma": "auto", "epochs": "converge", "early_stopping": None},
}


@pytest.mark.parametrize("kind", PARAMETERS)
def test_parameters_of_every_type(kind, tmp_path):
    settings = PARAMETERS[kind]
    if kind == "generator in use":
        settings["random_state"].standard_normal()
    model = LASVMClassifier(**{"random_state": 0, **settings}).fit(X[:150], Y[:150])
    twin = through_a_file(model, tmp_path)
    for name, value in model.get_params().items():
        if name == "random_state" and not isinstance(value, int | None):
            continue
        assert type(twin.get_params()[name]) is type(value)
        assert twin.get_params()[name] == value
    for one in (model, twin):  # draws from the generator
        one.fit(X, Y)
    assert_same(model, twin, X)


def test_feature_names(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "ç", "d e", "", "f"])
    for name in ("LASVM", "SimpleSVM"):
        model = make(name).fit(frame[:100], Y[:100])
        twin = through_a_file(model, tmp_path)
        assert list(twin.feature_names_in_) == list(frame.columns)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(twin.predict(frame), model.predict(frame))
        with pytest.raises(ValueError, match="feature names"):
            twin.predict(frame.rename(columns={"a": "z"}))


def test_precomputed_kernels(tmp_path):
    K = X @ X.T
    for name in ("LASVM", "SimpleSVM", "budget perceptron", "Huller", "StreamSVM rbf"):
        model = make(name).set_params(kernel="precomputed").fit(K[:100, :100], Y[:100])
        twin = through_a_file(model, tmp_path)
        np.testing.assert_array_equal(
            twin.decision_function(K[:, :100]), model.decision_function(K[:, :100])
        )


def test_what_the_writer_adds_comes_back(tmp_path):
    model = make("LASVM").fit(X, Y)
    preprocessing = {"mean": X.mean(axis=0), "scale": X.std(axis=0), "names": ["a", None]}
    summary = {"error": 0.25, "counts": {1: 2, "b": (3, float("inf"))}, "done": True}
    arrays = {"position": np.array([1, 2]), "rows": X[:3]}
    path = tmp_path / "model"
    write_model(path, model, preprocessing=preprocessing, summary=summary, arrays=arrays)
    found = read_model(path)
    assert found.summary == summary
    assert found.preprocessing["names"] == ["a", None]
    np.testing.assert_array_equal(found.preprocessing["mean"], X.mean(axis=0))
    np.testing.assert_array_equal(found.arrays["rows"], X[:3])
    assert found.header["algorithm"] == "LASVMClassifier"
    assert found.header["library_version"] == onlinesvm.__version__
    model.save(path, extra={"note": "of today"})
    assert read_model(path).summary == {"note": "of today"}


def test_every_attribute_of_an_estimator_is_in_the_file(tmp_path):
    """An attribute that is added later must be added to the file, or learning forgets it."""
    for name in CASES:
        model = learn(make(name), name, 0, 40)
        known = vars(model).keys() - {"_validated"}
        assert vars(through_a_file(model, tmp_path)).keys() == known, name
        here, there = model._trained.learner, through_a_file(model, tmp_path)._trained.learner
        assert type(here) is type(there)
        later = {"slots", "_vectors"}  # set when they are needed
        assert vars(there).keys() - later == vars(here).keys() - later, name


def differences(here, there, where):
    """Places at which two values differ; objects are compared by their attributes."""
    numbers = (float, np.floating)
    if type(here) is not type(there) and not isinstance(here, numbers) & isinstance(there, numbers):
        return [f"{where}: {type(here).__name__}, {type(there).__name__}"]
    if isinstance(here, np.ndarray) or sparse.issparse(here):
        same = here.dtype == there.dtype and here.shape == there.shape
        equal = same and (here != there).sum() == 0
        return [] if equal else [f"{where}: {here}, {there}"]
    if isinstance(here, tuple | list):
        here, there = (dict(enumerate(part)) for part in (here, there))
    elif hasattr(here, "__dict__"):
        here, there = vars(here), vars(there)
    if not isinstance(here, dict):
        return [] if here == there else [f"{where}: {here}, {there}"]
    if here.keys() != there.keys():
        return [f"{where}: {here.keys() ^ there.keys()}"]
    return [line for k in here for line in differences(here[k], there[k], f"{where}.{k}")]


# Of SimpleSVM: its ``shape_fit_`` is that of its rows.
UNUSED = {"shape_fit"}


@pytest.mark.parametrize("how", ["fit", "stream"])
@pytest.mark.parametrize("name", CASES)
def test_a_trained_model_is_the_same_in_all_its_fields(name, how, tmp_path):
    """All but the learner, which the tests above compare by what it does next."""
    model = fitted(name) if how == "fit" else learn(make(name), name, 0, 40)
    here, there = model._trained, through_a_file(model, tmp_path)._trained
    assert type(here) is type(there)
    left_out = {"learner"} | (UNUSED if isinstance(here, ExactTrained) else set())
    values = [{f.name: getattr(t, f.name) for f in fields(t)} for t in (here, there)]
    assert {"kernel", "encoder", "centre", "first_rows", "n_iter", "fit_status"} < values[0].keys()
    kept = [{k: v for k, v in each.items() if k not in left_out} for each in values]
    assert not differences(*kept, "trained")


@both_ways
@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.5, 1: 20.0}, None])
@pytest.mark.parametrize("name", ["LASVMClassifier", "SimpleSVMClassifier"])
def test_probabilities_do_not_depend_on_when_they_are_first_asked_for(
    name, class_weight, way, tmp_path
):
    """Weights of classes are in the weights of examples, and are divided out of probabilities."""
    y = (X[:, 0] + X[:, 1] > 1.5).astype(int)
    model = getattr(onlinesvm, name)(class_weight=class_weight).fit(X, y)
    twin = way(model, tmp_path)
    np.testing.assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(twin.predict_set(X), model.predict_set(X))


@pytest.mark.parametrize("kind", ["LASVMClassifier", "LASVMRegressor", "LASVMOneClass"])
def test_whether_a_fit_came_to_its_end_is_in_the_file(kind, tmp_path):
    for limit, status in ((None, 0), (1e-9, 1)):
        model = getattr(onlinesvm, kind)(time_limit=limit).fit(X, Y > 0)
        assert model.fit_status_ == through_a_file(model, tmp_path).fit_status_ == status


@pytest.mark.parametrize("name", ["LASVM", "LASVM gradient"])
def test_single_rows_after_a_reload_leave_the_same_file(name, tmp_path):
    """Also the capacity of the kernel cache, on which it depends what is kept."""
    model = learn(make(name), name, 0, 240, 1)
    twin = through_a_file(model, tmp_path)
    for one, path in zip((model, twin), ("one", "two")):
        for _ in range(3):
            learn(one, name, 0, 60, 1)
        one.save(tmp_path / path)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
