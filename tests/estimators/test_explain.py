"""``explain``: shares add up to the answers of every estimator, and bad input is refused."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import StandardScaler

import onlinesvm
from onlinesvm.cli import main

CLASSIFIERS = [
    "LASVMClassifier", "HullerClassifier", "SimpleSVMClassifier", "StreamSVMClassifier",
    "NORMAClassifier", "OLSVMClassifier", "PegazClassifier", "KernelPerceptronClassifier",
    "BudgetPerceptronClassifier", "AveragedPerceptronClassifier",
]  # fmt: skip
OTHERS = ["LASVMRegressor", "SimpleSVMRegressor", "LASVMOneClass", "SimpleSVMOneClass"]


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return StandardScaler().set_output(transform="pandas").fit_transform(X), y


def fitted(name, X, y, **settings):
    model = getattr(onlinesvm, name)(**settings)
    return model.fit(X) if "OneClass" in name else model.fit(X, y)


def answers(model, X):
    ask = getattr(model, "decision_function", model.predict)
    return ask(X)


def scale_of(model):
    """What rounding errors of single-precision kernel values are measured by."""
    return max(1.0, float(np.abs(model.dual_coef_).sum(axis=1).max()))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("name", CLASSIFIERS + OTHERS)
def test_shares_add_up_to_the_answer(name, kernel, cancer):
    X, y = cancer
    model = fitted(name, X, y, kernel=kernel)
    why = model.explain(X[:7])
    atol = 1e-6 * scale_of(model) * (1.0 if kernel == "rbf" else 30.0)
    np.testing.assert_allclose(
        why.base_values + why.values.sum(axis=1), answers(model, X[:7]), rtol=0, atol=atol
    )
    # Without features, the linear kernel leaves the bias; a product of no factors is 1.
    bias = model.intercept_[0] if kernel == "rbf" else why.base_values
    np.testing.assert_allclose(
        bias + why.examples.share.sum(axis=1) + why.examples.rest,
        why.base_values + why.values.sum(axis=1),
        rtol=0, atol=1e-11 * scale_of(model) * (1.0 if kernel == "rbf" else 30.0),
    )  # fmt: skip
    assert why.feature_names == list(X.columns)
    assert why.output_names is None
    np.testing.assert_array_equal(why.data, X[:7])


def test_the_examples_named_are_those_with_the_largest_shares(cancer):
    X, y = cancer
    model = fitted("SimpleSVMClassifier", X, y, gamma=0.02)
    why = model.explain(X[:20], n_examples=4)
    vectors = model.support_vectors_
    distance = ((X[:20].to_numpy()[:, None] - vectors[None]) ** 2).sum(axis=2)
    shares = model.dual_coef_[0] * np.exp(-0.02 * distance)
    np.testing.assert_allclose(
        np.abs(why.examples.share), np.sort(np.abs(shares), axis=1)[:, ::-1][:, :4], rtol=1e-9
    )
    np.testing.assert_array_equal(model.support_[why.examples.position], why.examples.index)
    np.testing.assert_allclose(
        why.examples.share.sum(axis=1) + why.examples.rest + model.intercept_[0],
        model.decision_function(X[:20]), rtol=0, atol=1e-10,
    )  # fmt: skip


def test_more_examples_than_support_vectors_or_none(cancer):
    X, y = cancer
    model = fitted("LASVMClassifier", X, y)
    many = model.explain(X[:2], n_examples=10_000).examples
    assert many.share.shape == (2, len(model.support_))
    np.testing.assert_array_equal(many.rest, 0.0)
    none = model.explain(X[:2], n_examples=0).examples
    assert none.share.shape == (2, 0)
    np.testing.assert_allclose(none.rest, many.share.sum(axis=1), atol=1e-9)


def test_classes_are_in_their_order_dense_and_sparse():
    X, y = load_digits(return_X_y=True)
    names = np.array([f"digit {label}" for label in y])
    dense = fitted("LASVMClassifier", X, names, gamma=0.001)
    why = dense.explain(X[:6])
    assert why.shape == (6, 64, 10)
    assert why.output_names == list(dense.classes_)
    np.testing.assert_allclose(
        why.base_values + why.values.sum(axis=1), dense.decision_function(X[:6]), atol=1e-5
    )
    thin = fitted("LASVMClassifier", sparse.csr_matrix(X), names, gamma=0.001)
    also = thin.explain(sparse.csr_matrix(X[:6]))
    np.testing.assert_allclose(also.values, why.values, atol=1e-4)
    assert also[2].data.shape == (64,)
    # "Because it is like these": the strongest support vectors of a digit are of that digit.
    own = why.examples.index[np.arange(6), 0, y[:6]]
    np.testing.assert_array_equal(y[own], y[:6])


def test_a_shift_of_the_features_changes_no_share():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = X[:, 0] * X[:, 1] > 0
    near = fitted("LASVMClassifier", X, y, gamma=0.5).explain(X[:5])
    far = fitted("LASVMClassifier", X + 1e4, y, gamma=0.5).explain(X[:5] + 1e4)
    np.testing.assert_allclose(near.values, far.values, atol=2e-3)


def test_streams_one_row_at_a_time_and_from_a_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = onlinesvm.LASVMClassifier(budget=40)
    for row, label in zip(X, y, strict=True):
        model.learn_one(row, label)
    why = model.explain_one(X[0])
    assert why.values.shape == (4, 3)
    np.testing.assert_allclose(
        why.base_values + why.values.sum(axis=0), model.decision_one(X[0]), atol=1e-4
    )
    assert (why.examples.index == -1).all()
    model.save(tmp_path / "model.safetensors")
    again = onlinesvm.load_model(tmp_path / "model.safetensors").explain_one(X[0])
    np.testing.assert_array_equal(again.values, why.values)
    model.learn_one(X[1], y[1])  # what was explained stays as it was
    np.testing.assert_array_equal(again.values, why.values)


@pytest.mark.parametrize("kernel", ["poly", "sigmoid", "precomputed"])
def test_other_kernels_are_refused_in_a_sentence(kernel):
    X, y = load_iris(return_X_y=True)
    given = X @ X.T if kernel == "precomputed" else X
    model = onlinesvm.LASVMClassifier(kernel=kernel).fit(given, y)
    with pytest.raises(ValueError, match=f"explain has no exact result for kernel '{kernel}'"):
        model.explain(given[:2])


def test_bad_input_is_refused_in_a_sentence(cancer):
    X, y = cancer
    with pytest.raises(NotFittedError):
        onlinesvm.LASVMClassifier().explain(X)
    model = fitted("LASVMClassifier", X, y)
    with pytest.raises(ValueError, match="30 features"):
        model.explain(X.to_numpy()[:, :5])
    with pytest.raises(ValueError, match="n_examples is the number"):
        model.explain(X, n_examples=-1)
    with pytest.raises(ValueError, match="explain_one takes one row"):
        model.explain_one(X)
    lowrank = onlinesvm.SimpleSVMClassifier(low_rank=20).fit(X, y)
    with pytest.raises(ValueError, match="low rank"):
        lowrank.explain(X[:2])


def test_plots_draw_every_bar(cancer):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    X, y = cancer
    why = fitted("LASVMClassifier", X, y).explain(X[:9])
    one = why[0].plot()
    assert len(one.patches) == 13
    assert "18 others" in [t.get_text() for t in one.get_yticklabels()]
    assert sum(bar.get_width() for bar in one.patches) == pytest.approx(why[0].values.sum())
    several = why.plot()
    assert "12 of 30 features" in several.get_xlabel()
    X, y = load_iris(return_X_y=True)
    why = onlinesvm.LASVMClassifier().fit(X, y).explain(X[:3])
    assert " for 0" in why[0].plot().get_xlabel()
    assert " for 2" in why[0].plot(output="2").get_xlabel()
    with pytest.raises(ValueError, match="no class '7'"):
        why[0].plot(output="7")


def test_the_command_line_tells_why(tmp_path):
    rng = np.random.default_rng(0)
    age, noise = rng.normal(size=200), rng.normal(size=200)
    lines = [
        f"{a:.4f},{b:.4f},{'old' if a > 0 else 'young'}" for a, b in zip(age, noise, strict=True)
    ]
    source, path = tmp_path / "people.csv", str(tmp_path / "model.safetensors")
    source.write_text("\n".join(["age,noise,label", *lines, ""]))

    def ask(*arguments):
        done = CliRunner().invoke(main, arguments, prog_name="onlinesvm")
        assert done.exit_code == 0, done.output
        return done.stdout.splitlines()

    ask("train", str(source), "--label", "label", "-o", path)
    printed = ask("predict", path, str(source), "--label", "label", "--explain", "1", "--header")
    assert printed[0] == "label\tbecause 1"
    first = [line.split("\t")[1].split(":")[0] for line in printed[1:]]
    assert first.count("age") > 160
    found = ask(
        "predict", path, str(source), "--label", "label", "--explain", "2", "--json", "--scores"
    )
    row = json.loads(found[0])
    assert set(row["because"]) == {"age", "noise"}
