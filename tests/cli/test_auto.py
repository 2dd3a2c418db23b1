"""``train --auto`` and ``tune --auto``, as users type them."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from onlinesvm import load_model
from onlinesvm.cli import main


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    colour, x, z = rng.choice(["a", "b"], 160), rng.normal(size=160), 1e3 * rng.normal(size=160)
    value = x * np.where(colour == "a", 1, -1)
    for name, target in (("classes", np.where(value > 0, "yes", "no")), ("values", value)):
        rows = [f"{c},{u:.4f},{v:.4f},{t}" for c, u, v, t in zip(colour, x, z, target)]
        (tmp_path / f"{name}.csv").write_text("colour,x,z,t\n" + "\n".join(rows) + "\n")
    (tmp_path / "same.csv").write_text("x,t\n1,a\n2,a\n3,a\n")
    (tmp_path / "constant.csv").write_text("x,t\n1,a\n1,b\n1,a\n")
    return tmp_path


def ask(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_train_auto_makes_a_model_that_every_command_takes(folder):
    csv, model = folder / "classes.csv", folder / "m"
    said = ask("train", csv, "--label", "t", "-o", model, "--auto", "--test", csv, "--json")
    assert said.exit_code == 0, said.output
    facts = json.loads(said.stdout.strip().splitlines()[-1])
    assert facts["test_error"] < 0.1
    assert facts["learned_from"] == "all rows"
    predicted = ask("predict", model, csv, "--probabilities")
    assert predicted.exit_code == 0, predicted.output
    assert {line.split("\t")[0] for line in predicted.stdout.splitlines()} == {"yes", "no"}
    measured = ask("evaluate", model, csv, "--label", "t", "--json")
    assert measured.exit_code == 0, measured.output
    assert ask("info", model).exit_code == 0
    assert load_model(model).kernel == facts["kernel"]


def test_train_auto_of_values_and_tune(folder):
    csv = folder / "values.csv"
    more = ["--label", "t", "--algorithm", "lasvm-regressor", "--auto"]
    said = ask("train", csv, "-o", folder / "m", *more)
    assert said.exit_code == 0, said.output
    assert "root mean squared error on rows not learned" in said.stdout
    said = ask("tune", csv, *more, "--json")
    assert said.exit_code == 0, said.output
    found = json.loads(said.stdout.strip().splitlines()[-1])
    assert sum(line["won"] for line in found["table"]) >= 1
    assert len({line["candidate"] for line in found["table"]}) >= 24


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["train", "{classes}", "--label", "t", "-o", "{m}", "--auto", "--C", "3"], "leave out --C"),
        (["train", "{classes}", "--label", "t", "-o", "{m}", "--auto", "--algorithm", "huller"], "lasvm-regressor"),
        (["train", "{classes}", "--label", "t", "-o", "{m}", "--auto", "--epochs", "3"], "leave out --epochs"),
        (["train", "{classes}", "--label", "t", "-o", "{m}", "--auto", "--resume"], "leave out --resume"),
        (["train", "{same}", "--label", "t", "-o", "{m}", "--auto"], "same label"),
        (["train", "{classes}", "--label", "t", "-o", "{m}", "--auto", "--algorithm", "lasvm-regressor"], "number"),
        (["train", "{values}", "--label", "t", "-o", "{m}", "--auto"], "numbers with fractions are values"),
        (["tune", "{values}", "--label", "t", "--auto"], "line 2 of"),
        (["tune", "{classes}", "--label", "t", "--auto", "--C", "1,2"], "leave out --C, or --auto"),
        (["tune", "{classes}", "--label", "t", "--auto", "--first-round", "90"], "leave out --first-round"),
        (["train", "{constant}", "--label", "t", "-o", "{m}", "--auto"], "same value in all rows: nothing can"),
        (["train", "--auto"], "needs a SOURCE"),
        (["tune", "{classes}", "--label", "t", "--time-limit", "3"], "--time-limit needs --auto"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(folder, words, says):
    names = {n: folder / f"{n}.csv" for n in ("classes", "values", "same", "constant")}
    names["m"] = folder / "m"
    said = ask(*(word.format(**names) for word in words))
    assert said.exit_code == 2
    assert says in said.output
    assert not (folder / "m").exists()


def write_mixed(path, seed, order, colours=("red", "blue", "green"), gaps=0.1):
    """A CSV with words, numbers, dates and truth values, each with gaps; what the label should be."""
    rng, n = np.random.default_rng(seed), 300
    colour, x, flag = rng.choice(colours, n), rng.normal(size=n), rng.random(n) < 0.5
    day = np.datetime64("2021-01-01") + rng.integers(0, 900, n)
    value = x * np.where(colour == "red", 1, -1) + 0.5 * flag
    columns = {
        "colour": colour, "x": x.round(4), "day": day, "flag": flag,
        "wide": np.exp(3 * rng.normal(size=n)).round(4),
    }  # fmt: skip
    table = {name: column.astype(str) for name, column in columns.items()}
    for column in table.values():
        column[rng.random(n) < gaps] = ""
    table["t"] = np.where(value > 0, "yes", "no")
    rows = [",".join(table[name][i] for name in order) for i in range(n)]
    path.write_text("\n".join([",".join(order), *rows]) + "\n")
    return table["t"]


def test_gaps_and_words_need_no_option(tmp_path, short_race):
    names = ["colour", "x", "day", "flag", "wide", "t"]
    train, other, model = tmp_path / "train.csv", tmp_path / "other.csv", tmp_path / "m"
    write_mixed(train, 0, names)
    truth = write_mixed(other, 1, names[::-1], ("red", "blue", "green", "violet"))
    said = ask("train", train, "--label", "t", "-o", model, "--auto")
    assert said.exit_code == 0, said.output
    predicted = ask("predict", model, other)
    assert predicted.exit_code == 0, predicted.output
    assert np.mean(np.array(predicted.stdout.split()) != truth) < 0.25
    said = ask("tune", train, "--label", "t", "--auto", "--time-limit", 3)
    assert said.exit_code == 0, said.output


def test_gaps_that_come_with_prediction(tmp_path, short_race):
    names = ["colour", "x", "day", "flag", "wide", "t"]
    train, other, model = tmp_path / "train.csv", tmp_path / "other.csv", tmp_path / "m"
    write_mixed(train, 0, names, gaps=0.0)
    truth = write_mixed(other, 1, names)
    assert ask("train", train, "--label", "t", "-o", model, "--auto").exit_code == 0
    predicted = ask("predict", model, other)
    assert predicted.exit_code == 0, predicted.output
    assert np.mean(np.array(predicted.stdout.split()) != truth) < 0.25


def test_sparse_rows_are_scaled_alike_when_learned_and_when_predicted(tmp_path, short_race):
    """Sparse rows are not shifted when they are predicted, so they must not be when learned."""
    rng = np.random.default_rng(0)
    X = (rng.random((400, 20)) < 0.2) * rng.exponential(size=(400, 20))
    X[:, :4] += 5.0
    y = np.where(X[:, :8].sum(axis=1) > X[:, 8:16].sum(axis=1) + 20, 1, -1)
    lines = [
        f"{label} " + " ".join(f"{j + 1}:{row[j]:.4f}" for j in np.flatnonzero(row))
        for row, label in zip(X, y)
    ]
    train, test = tmp_path / "train.svm", tmp_path / "test.svm"
    train.write_text("\n".join(lines[:200]) + "\n")
    test.write_text("\n".join(lines[200:]) + "\n")
    said = ask("train", train, "-o", tmp_path / "m", "--auto", "--test", test, "--json")
    assert said.exit_code == 0, said.output
    facts = json.loads(said.stdout.strip().splitlines()[-1])
    assert facts["test_error"] < facts["error"] + 0.1
