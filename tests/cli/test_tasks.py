"""Probabilities, values and novelty through the commands; tune; what predict and evaluate agree on."""

import json
import shlex

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import mean_squared_error, r2_score

from onlinesvm import LASVMClassifier, load_model
from onlinesvm.cli import main
from onlinesvm.model.files import read_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 3)).round(3)
Y = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)
VALUES = (X[:, 0] + X[:, 1] ** 2).round(3)


def ask(*arguments, given=None):
    result = CliRunner().invoke(main, [str(a) for a in arguments], input=given)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def done(*arguments, given=None):
    result = ask(*arguments, given=given)
    assert result.exit_code == 0, result.output
    return result


def write(path, last, head="a,b,c,t"):
    rows = (",".join(map(str, row)) for row in X)
    path.write_text(head + "\n" + "".join(f"{row},{v}\n" for row, v in zip(rows, last)))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    write(folder / "classes.csv", Y)
    write(folder / "values.csv", VALUES)
    return folder


def train(folder, source, *more):
    done("train", folder / source, "--label", "t", "-o", folder / "m", *more)
    return folder / "m"


# -- probabilities -------------------------------------------------------------------------------


def test_probabilities_stream_in_order(folder):
    model = train(folder, "classes.csv", "--probability", "--gamma", "0.5", "--batch-rows", "200")
    lines = done(
        "predict",
        model,
        folder / "classes.csv",
        "--probabilities",
        "--scores",
        "--batch-rows",
        "64",
    ).stdout.splitlines()
    table = np.array([line.split("\t") for line in lines], float)
    estimator = load_model(model)
    np.testing.assert_array_equal(table[:, 0], estimator.predict(X))
    np.testing.assert_allclose(table[:, 1], estimator.decision_function(X), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(table[:, 2:], estimator.predict_proba(X), rtol=1e-6, atol=1e-9)
    first = json.loads(
        done("predict", model, folder / "classes.csv", "--probabilities", "--json").stdout.split(
            "\n"
        )[0]
    )
    assert first["probabilities"] == pytest.approx(table[0, 2:].tolist(), abs=1e-7)


def test_probabilities_that_a_model_has_not(folder):
    model = train(folder, "classes.csv", "--no-probability")
    bare = load_model(model)
    bare._trained.learner.asides = None  # as in files of earlier versions
    bare.save(model)
    said = ask("predict", model, folder / "classes.csv", "--probabilities")
    assert (said.exit_code, said.stdout) == (2, "")
    assert "trained without --probability, and has no scores" in said.stderr
    assert "train again with --probability" in said.stderr


def test_probabilities_need_no_switch(folder):
    model = train(folder, "classes.csv", "--no-probability", "--gamma", "0.5")
    lines = done("predict", model, folder / "classes.csv", "--probabilities").stdout.splitlines()
    table = np.array([line.split("\t") for line in lines], float)
    np.testing.assert_allclose(table[:, 1:].sum(axis=1), 1.0, atol=1e-5)
    told = json.loads(done("evaluate", model, folder / "classes.csv", "--json").stdout)
    assert 0.0 < told["log_loss"] < np.log(table.shape[1] - 1)


# -- values --------------------------------------------------------------------------------------


def test_values_have_rmse_and_r2_from_a_model_and_from_lines(folder):
    model = train(
        folder, "values.csv", "--algorithm", "lasvm-regressor", "--batch-rows", "200",
        "--test", folder / "values.csv",
    )  # fmt: skip
    found = load_model(model).predict(X)
    told = json.loads(done("evaluate", model, folder / "values.csv", "--json").stdout)
    squared = mean_squared_error(VALUES, found)
    assert told["root_mean_squared_error"] == pytest.approx(np.sqrt(squared))
    assert told["r2"] == pytest.approx(r2_score(VALUES, found))
    lines = done("predict", model, folder / "values.csv").stdout
    piped = done(
        "evaluate", "--predictions", "-", folder / "values.csv", "--label", "t", "--json",
        "--plot", folder / "v.png", given=lines,
    )  # fmt: skip
    assert json.loads(piped.stdout) == told
    assert (folder / "v.png").read_bytes().startswith(b"\x89PNG")
    said = ask("predict", model, folder / "values.csv", "--scores")
    assert said.exit_code == 2
    assert "predicts values and has no scores" in said.stderr


def test_r2_far_from_zero():
    """Sums of squares would lose all digits."""
    from onlinesvm.cli.measures import Deviations

    rng = np.random.default_rng(0)
    y = 1e9 + rng.normal(size=1000)
    found = y + 0.3 * rng.normal(size=1000)
    sums = Deviations()
    for part in (slice(0, 10), slice(10, 700), slice(700, None)):
        sums.add(y[part].tolist(), found[part].tolist())
    assert sums.result()["r2"] == pytest.approx(r2_score(y, found), rel=1e-6)


# -- novelty -------------------------------------------------------------------------------------


def test_novelty_is_the_share_flagged(folder):
    (folder / "rows.csv").write_text(
        "a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in X)
    )
    told = done(
        "train", folder / "rows.csv", "-o", folder / "o", "--algorithm", "lasvm-one-class",
        "--nu", "0.1", "--batch-rows", "200", "--test", folder / "rows.csv", "--json",
    )  # fmt: skip
    told, flagged = json.loads(told.stdout), load_model(folder / "o").predict(X) == -1
    assert told["measure"] == "share flagged"
    assert told["test_error"] == flagged.mean()
    assert 0.02 < told["error"] < 0.3
    judged = json.loads(done("evaluate", folder / "o", folder / "rows.csv", "--json").stdout)
    assert judged == {
        "rows": 700, "flagged": flagged.sum(), "share_flagged": flagged.mean(),
    }  # fmt: skip
    per_label = done(
        "evaluate", folder / "o", folder / "classes.csv", "--label", "t", "--json"
    ).stdout
    shares = [each["share_flagged"] for each in json.loads(per_label)["per_label"]]
    assert shares == pytest.approx([flagged[v == Y].mean() for v in (0, 1)])
    write(folder / "signs.csv", np.where(Y, 1, -1))
    signs = done("evaluate", folder / "o", folder / "signs.csv", "--label", "t", "--json").stdout
    assert json.loads(signs)["classes"] == [-1, 1]
    assert json.loads(signs)["error"] == pytest.approx(np.mean(flagged != (Y == 0)))


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_labels_of_a_model_that_was_trained_without(folder, format):
    """The file that is evaluated says what they are: names, or whole numbers."""
    rows = folder / "unlabelled.csv"
    rows.write_text("a,b,c\n" + "".join(",".join(map(str, row)) + "\n" for row in X))
    done("train", rows, "-o", folder / "free", "--algorithm", "lasvm-one-class")
    flagged = load_model(folder / "free").predict(X) == -1
    for names in (("bad", "good"), (5, 12)):
        source = folder / f"named.{format}"
        if format == "csv":
            write(source, [names[v] for v in Y])
        else:
            table = [dict(zip("abct", (*row, names[v]))) for row, v in zip(X.tolist(), Y.tolist())]
            source.write_text("".join(f"{json.dumps(row)}\n" for row in table))
        found = done("evaluate", folder / "free", source, "--label", "t", "--json").stdout
        per_label = json.loads(found)["per_label"]
        assert {type(each["label"]) for each in per_label} == {type(names[0])}
        shares = {each["label"]: each["share_flagged"] for each in per_label}
        assert shares == pytest.approx({names[v]: flagged[v == Y].mean() for v in (0, 1)})


# -- labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names", [('"a\tb"', '"c\nd"'), (" x", "y "), ("007", "010"), ("[red]", "blue"), ("NA", "1")]
)
def test_labels_survive_the_way_through_lines(folder, names):
    """Tabs, line breaks, spaces, leading zeros: predict | evaluate is evaluate of the model."""
    write(folder / "names.csv", [names[v] for v in Y])
    model = train(folder, "names.csv", "--gamma", "0.5")
    assert load_model(model).classes_.dtype.kind == "U"
    lines = done("predict", model, folder / "names.csv").stdout
    assert lines.count("\n") == len(Y)
    told = done("evaluate", model, folder / "names.csv", "--json").stdout
    piped = done(
        "evaluate",
        "--predictions",
        "-",
        folder / "names.csv",
        "--label",
        "t",
        "--json",
        given=lines,
    )
    by_model = json.loads(told)
    assert by_model.pop("auc") > 0.9  # needs scores, which lines of labels do not have
    assert 0.0 < by_model.pop("log_loss") < 0.3  # and this needs probabilities
    assert json.loads(piped.stdout) == by_model
    assert by_model["error"] < 0.1
    assert names[0].strip('"') in done("evaluate", model, folder / "names.csv").stdout.replace(
        "a       b", "a\tb"
    )


# -- streams that widen --------------------------------------------------------------------------


def test_rows_with_new_features_are_predicted_before_they_are_learned(folder):
    lines = [f"{2 * y - 1} 1:{a} {2 + k // 100}:{b}" for k, (y, (a, b, _)) in enumerate(zip(Y, X))]
    (folder / "wide.svm").write_text("\n".join(lines) + "\n")
    done("train", folder / "wide.svm", "-o", folder / "w", "--batch-rows", "100", "--gamma", "0.5")
    assert read_model(folder / "w").summary["stream"]["n_judged"] == 600


# -- tune ----------------------------------------------------------------------------------------


def test_tune_of_values_is_a_search_by_hand(folder):
    """Of two pairs the one with the smaller mean absolute error; the same again by the same seed."""
    from onlinesvm import LASVMRegressor

    line = (
        "tune", folder / "values.csv", "--label", "t", "--algorithm", "lasvm-regressor", "--C",
        "0.001,10", "--gamma", "0.5", "--batch-rows", "100", "--first-round", "300", "--json",
    )  # fmt: skip
    told = json.loads(done(*line).stdout)
    assert done(*line).stdout == json.dumps(told) + "\n"
    assert (told["C"], told["measure"]) == (10.0, "mean absolute error")
    for each in told["table"]:
        model, losses = LASVMRegressor(C=each["C"], gamma=0.5, random_state=0), []
        for first in range(0, 300, 100):
            rows = slice(first, first + 100)
            if first:
                losses.append(np.abs(model.predict(X[rows]) - VALUES[rows]))
            model.partial_fit(X[rows], VALUES[rows])
        assert each["error"] == pytest.approx(np.mean(losses))
        assert each["rows"] == 300


def test_tune_says_how_to_train_with_what_it_found(folder):
    told = done(
        "tune", folder / "classes.csv", "--label", "t", "--C", "1", "--gamma", "0.5",
        "--standardize", "--ignore", "c",
    ).stdout.splitlines()  # fmt: skip
    assert told[-1].startswith("onlinesvm train ")
    assert told[-1].endswith("--label t --ignore c --standardize --C 1 --gamma 0.5 -o MODEL")


READ = {
    "csv": ["--label", "t", "--numeric", "zip", "--missing", "-1234567.5", "--missing-indicator", "--encode",
            "hash", "--hash-size", "3", "--seed", "3"],
    "libsvm": ["--zero-based", "--n-features", "7"],
}  # fmt: skip


@pytest.mark.parametrize("kind", READ)
@pytest.mark.parametrize("auto", [[], ["--auto", "--time-limit", "2"]], ids=["grid", "auto"])
def test_what_tune_says_reads_the_rows_in_the_same_way(folder, kind, auto):
    """The line can be copied: with all options of the source, and its features."""
    path, model = folder / f"rows.{kind}", folder / "m"
    rng = np.random.default_rng(0)
    rows = list(zip(rng.integers(0, 9999, 600), rng.normal(size=600).round(3), strict=True))
    lines = {
        "csv": [f"{k:05d},{'' if k % 5 == 0 else x},{'ab'[k % 2]},{x > 0}" for k, x in rows],
        "libsvm": [f"{2 * (x > 0) - 1} 0:{x} 3:{k / 9999:.3f}" for k, x in rows],
    }[kind]
    path.write_text("\n".join([*["zip,x,word,t"][: kind == "csv"], *lines]) + "\n")
    given = READ[kind]
    choices = auto or ["--C", "1", "--gamma", "0.5", "--standardize"]
    said = done("tune", path, *given, *choices).stdout.splitlines()[-1]
    words = shlex.split(said)
    assert words[:3] == ["onlinesvm", "train", str(path)]
    done(*words[1:-1], model)
    done("train", path, *given, "-o", folder / "other")
    read, other = (read_model(each) for each in (model, folder / "other"))
    assert read.preprocessing["schema"] == other.preprocessing["schema"]
    assert read.estimator.n_features_in_ == {"csv": 1 + 2 + 3, "libsvm": 7}[kind]


def test_tune_of_few_rows_predicts_most_of_them(folder):
    """Settings are compared on nearly all rows of a small table, not on the last of them alone."""
    for rows in (40, 300):
        path = folder / f"{rows}.csv"
        path.write_text(
            "\n".join((folder / "classes.csv").read_text().split("\n")[: rows + 1]) + "\n"
        )
        line = ("tune", path, "--label", "t", "--C", "1,10", "--gamma", "0.5,2", "--json")
        for each in json.loads(done(*line).stdout)["table"]:
            wrong = each["error"] * (rows - rows // 8)
            assert each["rows"] == rows
            assert wrong == pytest.approx(round(wrong))
            assert each["error"] < 0.5


@pytest.mark.parametrize(
    ("labels", "rows", "says"),
    [(Y, 1, "too few rows"), (np.zeros(700, int), 700, "the same label")],
)
def test_tune_without_anything_to_choose_by(folder, labels, rows, says):
    path = write(folder / "few.csv", labels)
    path.write_text("\n".join(path.read_text().split("\n")[: rows + 1]) + "\n")
    said = ask("tune", path, "--label", "t", "--C", "1,2", "--gamma", "1")
    assert (said.exit_code, said.stdout) == (2, "")
    assert says in said.stderr


def test_tune_stopped_by_ctrl_c_shows_the_table_so_far(folder, monkeypatch):
    learn, calls = LASVMClassifier.partial_fit, []

    def interrupted(self, *arguments):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return learn(self, *arguments)

    monkeypatch.setattr(LASVMClassifier, "partial_fit", interrupted)
    result = ask(
        "tune", folder / "classes.csv", "--label", "t", "--C", "1,10", "--gamma", "0.5",
        "--batch-rows", "100", "--json",
    )  # fmt: skip
    assert result.exit_code == 130
    assert "Stopped by Ctrl-C" in result.stderr
    assert len(json.loads(result.stdout)["table"]) == 2
