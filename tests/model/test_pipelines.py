"""Pipelines in model files: data only, the same predictions, and a sentence for what is not held."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomTreesEmbedding
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from onlinesvm import (
    LASVMClassifier,
    LASVMOneClass,
    LASVMRegressor,
    load_model,
    save_model,
)
from onlinesvm.cli import main
from onlinesvm.model import pipelines, transformers
from onlinesvm.model.errors import InvalidState, ModelFileError

RNG = np.random.default_rng(3)
N = 120
X = RNG.normal(size=(N, 3)) * [1.0, 10.0, 0.1] + 4.0
Y = (X[:, 0] > 4.0).astype(int)
TEXTS = [" ".join(RNG.choice(["red", "green", "blue", "grey"], 5)) for _ in range(N)]
TABLE = pd.DataFrame(
    {
        "size": np.where(RNG.random(N) < 0.1, np.nan, X[:, 0]),
        "colour": RNG.choice(["red", "green", "blue"], N).astype(object),
        "count": RNG.integers(0, 9, N),
        "rest": X[:, 1],
    }
)
COLUMNS = ColumnTransformer(
    [
        ("size", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["size"]),
        ("colour", OneHotEncoder(handle_unknown="ignore", max_categories=2), ["colour"]),
        ("count", OrdinalEncoder(), slice(2, 3)),
    ],
    remainder="passthrough",
)

CASES = {
    "standard": ([StandardScaler()], X),
    "range": ([MinMaxScaler(feature_range=(-1, 1)), MaxAbsScaler()], X),
    "robust": ([RobustScaler(), Normalizer()], X),
    "power": ([PowerTransformer(), QuantileTransformer(n_quantiles=20)], X),
    "components": ([VarianceThreshold(), PCA(2)], X),
    "union": ([FeatureUnion([("one", PCA(1)), ("all", StandardScaler())])], X),
    "nothing": (["passthrough"], X),
    "columns": ([COLUMNS], TABLE),
    "imputer": ([SimpleImputer(strategy="median"), StandardScaler()], np.where(X > 5, np.nan, X)),
    "words": ([TfidfVectorizer(ngram_range=(1, 2), stop_words=["grey"])], TEXTS),
    "counts": ([CountVectorizer(), TfidfTransformer(), TruncatedSVD(2)], TEXTS),
    "hashed": ([HashingVectorizer(n_features=64)], TEXTS),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_predictions_and_the_same_bytes(name, tmp_path):
    steps, rows = CASES[name]
    pipeline = make_pipeline(*steps, LASVMClassifier(gamma=0.3, random_state=0)).fit(rows, Y)
    save_model(pipeline, tmp_path / "a", extra={"rows": N})
    again = load_model(tmp_path / "a")
    assert [name for name, _ in again.steps] == [name for name, _ in pipeline.steps]
    np.testing.assert_array_equal(again.predict(rows), pipeline.predict(rows))
    np.testing.assert_allclose(
        again.decision_function(rows), pipeline.decision_function(rows), rtol=1e-12
    )
    save_model(again, tmp_path / "b", extra={"rows": N})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_values_novelty_and_an_estimator_by_itself(tmp_path):
    for model, y in ((LASVMRegressor(), X[:, 1]), (LASVMOneClass(), None)):
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
        save_model(pipeline, tmp_path / "model")
        np.testing.assert_array_equal(
            load_model(tmp_path / "model").predict(X), pipeline.predict(X)
        )
    model = LASVMClassifier(gamma=0.3).fit(X, Y)
    save_model(model, tmp_path / "model")
    model.save(tmp_path / "same")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "same").read_bytes()
    assert isinstance(load_model(tmp_path / "model"), LASVMClassifier)


def test_a_loaded_pipeline_learns_anew(tmp_path):
    pipeline = make_pipeline(COLUMNS, LASVMClassifier(gamma=0.3, random_state=0)).fit(TABLE, Y)
    save_model(pipeline, tmp_path / "model")
    again = load_model(tmp_path / "model").fit(TABLE, Y)
    np.testing.assert_array_equal(again.decision_function(TABLE), pipeline.decision_function(TABLE))


@pytest.mark.parametrize(
    ("steps", "problem"),
    [
        (
            [RandomTreesEmbedding(n_estimators=2)],
            "is RandomTreesEmbedding, which model files do not",
        ),
        ([FunctionTransformer(np.log1p)], r"steps\.0\.1\.func is log1p, which model files do not"),
        (
            [ColumnTransformer([("all", StandardScaler(), make_column_selector())])],
            "is make_column_selector, which model files do not support",
        ),
    ],
)
def test_what_is_not_held_is_said_in_a_sentence(steps, problem, tmp_path):
    table = pd.DataFrame(abs(X), columns=list("abc"))
    pipeline = make_pipeline(*steps, LASVMClassifier(gamma=0.3)).fit(table, Y)
    with pytest.raises(ModelFileError, match=problem):
        save_model(pipeline, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_models_of_others(tmp_path):
    inner = CalibratedClassifierCV(LASVMClassifier(gamma=0.3), cv=2).fit(X, Y)
    with pytest.raises(
        ModelFileError, match="CalibratedClassifierCV cannot be saved: save_model takes"
    ):
        save_model(inner, tmp_path / "model")
    for other in (inner, LogisticRegression()):
        pipeline = make_pipeline(StandardScaler(), other).fit(X, Y)
        with pytest.raises(ModelFileError, match="cannot be saved as a model file"):
            save_model(pipeline, tmp_path / "model")
    pipeline = make_pipeline(
        StandardScaler(), LASVMClassifier(gamma=0.3), memory=str(tmp_path / "m")
    )
    with pytest.raises(ModelFileError, match="set memory=None"):
        save_model(pipeline.fit(X, Y), tmp_path / "model")


def test_a_pipeline_that_is_not_fitted(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save_model(make_pipeline(StandardScaler(), LASVMClassifier()), tmp_path / "model")


# -- files made with intent ---------------------------------------------------------------


def facts(change):
    """A pipeline as data, with a change in it."""
    pipeline = make_pipeline(StandardScaler(), LASVMClassifier(gamma=0.3)).fit(X, Y)
    model, found = pipelines.split(pipeline)
    change(found)
    return found, model


def scaler(found):
    return found["pipeline"][2]["steps"][1][0][1][1]


def renamed(name):
    def change(found):
        steps = found["pipeline"][2]["steps"][1]
        steps[0] = ("tuple", [("value", "scaler"), ("object", name, {})])

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (renamed("Popen"), "'Popen', which is not known"),
        (renamed("KBinsDiscretizer"), "which is not known"),
        (renamed(["StandardScaler"]), "which is not known"),
        (lambda f: scaler(f)[2].update({"transform": ("value", 1)}), "no attribute 'transform'"),
        (lambda f: scaler(f)[2].update({"__class__": ("value", 1)}), "no attribute '__class__'"),
        (lambda f: scaler(f)[2].update({"with_mean": ("value", "x")}), "parameter of its Standard"),
        (lambda f: scaler(f)[2].pop("with_mean"), "parameter of its StandardScaler"),
        (lambda f: scaler(f)[2].update({"mean_": ("code", "1")}), "a value of the kind 'code'"),
        (lambda f: scaler(f)[2].update({"mean_": "1"}), "malformed"),
        (lambda f: scaler(f)[2].update({"mean_": ("type", "object_")}), "type of its pipeline"),
        (lambda f: f["pipeline"][2]["steps"][1].pop(), "does not end with the model"),
        (lambda f: f["pipeline"][2].update({"memory": ("value", "/tmp")}), "memory is not None"),
        (lambda f: f.update({"more": 1}), "its pipeline is malformed"),
        (lambda f: f.update({"pipeline": ("model",)}), "does not end with the model"),
    ],
)
def test_a_changed_file_is_refused(change, problem):
    found, model = facts(change)
    with pytest.raises(InvalidState, match=problem):
        pipelines.joined(found, model)


def learned_arrays(pipeline):
    """All arrays of numbers that transformers have learned: who holds them, and their names."""
    found = []

    def look(part):
        if type(part).__name__ in pipelines.TRANSFORMERS:
            arrays = transformers.LEARNED.get(type(part).__name__, ())
            found.extend((part, name) for name in arrays if vars(part).get(name) is not None)
            look(list(vars(part).values()))
        elif isinstance(part, list | tuple):
            for each in part:
                look(each)

    look(pipeline)
    return found


def with_one(value):
    def change(array):
        array = array.copy()
        array.flat[0] = value
        return array

    return change


BROKEN = {
    "longer": lambda array: np.concatenate([array, array[:1]]),
    "one value": lambda array: array.flat[:1].reshape((1,) * array.ndim),
    "another axis": lambda array: array[None],
    "no array": lambda array: float(array.flat[0]),
    "text": lambda array: array.astype(str),
    "NaN": with_one(np.nan),
    "infinite": with_one(np.inf),
}
"""Changes that would be broadcast, or make every prediction NaN."""


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("nothing", "hashed")])
def test_every_array_of_a_pipeline_is_checked(name):
    steps, rows = CASES[name]
    pipeline = make_pipeline(*steps, LASVMClassifier(gamma=0.3, random_state=0)).fit(rows, Y)
    arrays = learned_arrays(pipeline)
    assert arrays
    for holder, attribute in arrays:
        for how, change in BROKEN.items():
            right = getattr(holder, attribute)
            if right.shape == (1,) and how in ("one value", "NaN"):
                continue  # as it was; or a column of gaps alone, where it is the only array
            if attribute in ("statistics_", "variances_", "lambdas_") and how == "NaN":
                continue  # a column of gaps alone
            setattr(holder, attribute, change(right))
            model, found = pipelines.split(pipeline)
            setattr(holder, attribute, right)
            with pytest.raises(InvalidState, match=rf"{type(holder).__name__}\.\w+_ "):
                pipelines.joined(found, model)
    model, found = pipelines.split(pipeline)
    pipelines.joined(found, model)


def test_columns_of_gaps_alone_are_no_damage(tmp_path):
    """scikit-learn scales such a column by NaN, and the imputer behind it leaves it out."""
    gaps = np.column_stack([X, np.full(N, np.nan)])
    for scale in (StandardScaler(), MinMaxScaler(), RobustScaler(), MaxAbsScaler()):
        pipeline = make_pipeline(scale, SimpleImputer(), LASVMClassifier(gamma=0.3))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipeline.fit(gaps, Y)
            save_model(pipeline, tmp_path / "model")
            again = load_model(tmp_path / "model")
            np.testing.assert_array_equal(again.predict(gaps), pipeline.predict(gaps))


@pytest.mark.parametrize(
    ("attribute", "value", "problem"),
    [
        ("n_features_in_", ("value", -1), "not a number of features"),
        ("n_features_in_", ("value", 4), "has the shape"),
        ("feature_names_in_", ("value", np.array(["a"], object)), "not an array of 3 names"),
        ("categories_", ("list", [("value", np.arange(2))]), "not a list of 3 arrays"),
        ("vocabulary_", ("dict", [["a", ("value", 1)]]), "leaves some out"),
        ("vocabulary_", ("dict", [["a", ("value", "b")]]), "does not give a column"),
    ],
)
def test_names_categories_and_words_are_checked(attribute, value, problem):
    found, model = facts(lambda f: scaler(f)[2].update({attribute: value}))
    with pytest.raises(InvalidState, match=problem):
        pipelines.joined(found, model)


def test_a_damaged_file_is_one_sentence(tmp_path):
    pipeline = make_pipeline(StandardScaler(), LASVMClassifier(gamma=0.3)).fit(X, Y)
    save_model(pipeline, tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    (tmp_path / "model").write_bytes(data.replace(b"StandardScaler", b"StandardSurfer"))
    with pytest.raises(ModelFileError, match="not a valid model file"):
        load_model(tmp_path / "model")


def test_the_command_line_says_that_it_runs_no_pipeline(tmp_path):
    pipeline = make_pipeline(StandardScaler(), LASVMClassifier(gamma=0.3)).fit(X, Y)
    save_model(pipeline, tmp_path / "model")
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",")
    arguments = ["predict", str(tmp_path / "model"), str(tmp_path / "rows.csv")]
    done = CliRunner().invoke(main, arguments, prog_name="onlinesvm")
    assert done.exit_code != 0
    assert "saved as a scikit-learn pipeline" in done.output


def test_the_file_is_json_and_arrays(tmp_path):
    """Nothing but names, numbers and text."""
    pipeline = make_pipeline(StandardScaler(), LASVMClassifier(gamma=0.3)).fit(X, Y)
    save_model(pipeline, tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert set(header.pop("__metadata__"))
    assert all(set(each) == {"dtype", "shape", "data_offsets"} for each in header.values())


def test_a_vocabulary_of_200_000_words_comes_back(tmp_path):
    """As JSON it would not fit into the header that a file may have."""
    words = [f"wörd{k:x}" for k in range(200_000)]
    texts = [" ".join(words[k::N]) for k in range(N)]
    pipeline = make_pipeline(TfidfVectorizer(), LASVMClassifier(kernel="linear")).fit(texts, Y)
    save_model(pipeline, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again[0].vocabulary_ == pipeline[0].vocabulary_
    np.testing.assert_array_equal(
        again.decision_function(texts[:5]), pipeline.decision_function(texts[:5])
    )
    done = CliRunner().invoke(main, ["info", str(tmp_path / "model")], prog_name="onlinesvm")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    "fields",
    [
        {"text": np.frombuffer(b"abcd", np.uint8)},
        {"text": np.frombuffer(b"abcd", np.uint8), "length": np.array([2, 3])},
        {"text": np.frombuffer(b"abcd", np.uint8), "length": np.array([5, -1])},
        {"text": np.frombuffer(b"abcd", np.uint8), "length": np.array([2.0, 2.0])},
        {"text": np.frombuffer(b"abab", np.uint8), "length": np.array([2, 2])},
        {"text": np.frombuffer(b"ab\xff\xff", np.uint8), "length": np.array([2, 2])},
        [1, 2],
    ],
)
def test_malformed_vocabularies_are_refused(fields):
    found, model = facts(lambda f: scaler(f)[2].update({"vocabulary_": ("words", fields)}))
    with pytest.raises(InvalidState, match="vocabulary"):
        pipelines.joined(found, model)


def test_a_header_that_could_not_be_read_is_not_written(tmp_path):
    pipeline = make_pipeline(FunctionTransformer(), LASVMClassifier(gamma=0.3)).fit(X, Y)
    pipeline[0].kw_args = {"words": "x" * 9_000_000}
    with pytest.raises(ModelFileError, match="cannot be saved"):
        save_model(pipeline, tmp_path / "model")
    assert not (tmp_path / "model").exists()
