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
        (["train", "{same}", "--label", "t", "-o", "{m}", "--auto"], "same label"),
        (["train", "{classes}", "--label", "t", "-o", "{m}", "--auto", "--algorithm", "lasvm-regressor"], "number"),
        (["train", "--auto"], "needs a SOURCE"),
        (["tune", "{classes}", "--label", "t", "--time-limit", "3"], "--time-limit needs --auto"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(folder, words, says):
    names = {n: folder / f"{n}.csv" for n in ("classes", "same")} | {"m": folder / "m"}
    said = ask(*(word.format(**names) for word in words))
    assert said.exit_code == 2
    assert says in said.output
    assert not (folder / "m").exists()
