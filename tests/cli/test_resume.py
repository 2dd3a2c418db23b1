"""``train --resume``: the same bytes as a run that was never interrupted, or one sentence."""

import json

import click
import numpy as np
import pytest
from click.testing import CliRunner

from onlinesvm.cli import main
from onlinesvm.cli.algorithms import algorithms
from onlinesvm.cli.sources import NAMES, source_options

AT_ONCE = ("--time-limit", "1e-9")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume")
    rng = np.random.default_rng(0)
    X, colour = rng.normal(size=(450, 3)).round(2), rng.choice(["red", "green", "blue"], 450)
    y = (X[:, 0] * X[:, 1] + (colour == "red") + 0.3 * rng.normal(size=450) > 0).astype(int)
    three = np.where(X[:, 2] > 0.5, "c", np.where(y, "a", "b"))
    lines = ["a,b,c,colour,target,three"]
    lines += [
        f"{r[0]},{r[1]},{r[2]},{c},{t},{name}"
        for r, c, t, name in zip(X, colour, y, three, strict=True)
    ]
    (folder / "d.csv").write_text("\n".join(lines) + "\n")
    rows = [
        f"{t} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(r) if v)
        for t, r in zip(y, X, strict=True)
    ]
    (folder / "d.svm").write_text("\n".join(rows) + "\n")
    return folder


def ask(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments], prog_name="onlinesvm")


def result_of(*arguments):
    found = ask(*arguments, "--json")
    assert found.exit_code == 0, (found.output, found.exception)
    return json.loads(found.stdout.splitlines()[-1])


def train(folder, name, *more, label="target", ignore=("three",)):
    left_out = [part for column in ignore for part in ("--ignore", column)]
    base = ("train", folder / "d.csv", "--label", label, *left_out, "--batch-rows", "150")
    return (*base, "-o", folder / name, *more)


def check_same_bytes(folder, *more, **columns):
    """One block in each process; after the last one the finishing step is left to the next."""
    result_of(*train(folder, "whole", *more, **columns))
    (folder / "parts").unlink(missing_ok=True)
    for _ in range(40):
        line = train(folder, "parts", "--resume", *AT_ONCE, *more, **columns)
        if result_of(*line)["finished"]:
            break
    else:
        pytest.fail("never finished")
    assert (folder / "parts").read_bytes() == (folder / "whole").read_bytes()


@pytest.mark.parametrize("name", algorithms())
def test_every_algorithm(folder, name):
    check_same_bytes(folder, "--algorithm", name)


OPTIONS = [
    ("simplesvm", "--margin", "quadratic", "--C", "3"),
    ("simplesvm", "--nu", "0.3"),
    ("simplesvm", "--selection", "random", "--gamma", "0.5"),
    ("simplesvm", "--selection", "sweep", "--block-size", "5"),
    ("simplesvm", "--block-size", "5000", "--cache-size", "2"),
    ("simplesvm", "--low-rank", "20"),
    ("simplesvm", "--low-rank", "20", "--margin", "quadratic"),
    ("simplesvm-regressor", "--epsilon", "0.01", "--C", "10"),
    ("simplesvm-one-class", "--nu", "0.2"),
    ("lasvm", "--epochs", "2", "--shuffle-buffer", "200", "--standardize"),
    ("lasvm", "--window", "150"),
    ("lasvm", "--budget", "40", "--half-life", "100", "--probability"),
    ("lasvm", "--kernel", "poly", "--class-weight", '{"1": 2}'),
    ("huller", "--C", "5"),
]


@pytest.mark.parametrize("line", OPTIONS, ids=" ".join)
def test_options(folder, line):
    check_same_bytes(folder, "--algorithm", *line)


@pytest.mark.parametrize("name", ["simplesvm", "lasvm"])
def test_three_classes(folder, name):
    check_same_bytes(folder, "--algorithm", name, label="three", ignore=("target",))


# -- column options ------------------------------------------------------------------------------

OTHERS = {
    "label": "a", "ignore": "a", "categorical": "a", "encode": "hash", "hash_size": "8",
    "missing": "3", "delimiter": ";", "n_features": "9", "zero_based": None,
}  # fmt: skip


@click.command()
@source_options
def reading(**options):
    """All options of sources, to look at."""


def other_value(name):
    """A value that the run was not begun with, of any option that sources have."""
    if name in OTHERS:
        return OTHERS[name]
    option = next(param for param in reading.params if param.name == name)
    if getattr(option, "is_flag", False):
        return None
    return option.type.choices[-1] if hasattr(option.type, "choices") else "a"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "format"])
def test_no_column_option_is_accepted_and_not_heeded(folder, name):
    result_of(*train(folder, "m", *AT_ONCE))
    before, value = (folder / "m").read_bytes(), other_value(name)
    option = f"--{name.replace('_', '-')}"
    typed = [option] if value is None else [option, value]
    found = ask(*train(folder, "m", "--resume"), *typed)
    assert found.exit_code == 2
    assert "was started with" in found.stderr
    assert option in found.stderr
    assert found.stderr.count("\n") == 1
    assert (folder / "m").read_bytes() == before


def test_options_that_are_not_given_again_are_those_of_the_file(folder):
    more = ("--categorical", "b", "--encode", "hash", "--hash-size", "16", "--missing", "0")
    result_of(*train(folder, "whole", *more))
    result_of(*train(folder, "m", *more, *AT_ONCE))
    base = ("train", folder / "d.csv", "-o", folder / "m", "--batch-rows", "150", "--resume")
    result_of(*base, *AT_ONCE)
    result_of(*base, "--categorical", "b", "--encode", "hash")
    assert (folder / "m").read_bytes() == (folder / "whole").read_bytes()


def test_the_width_of_libsvm_text(folder):
    base = ("train", folder / "d.svm", "-o", folder / "w", "--batch-rows", "150")
    result_of(*base, "--n-features", "7", *AT_ONCE)
    found = ask(*base, "--resume", "--n-features", "8")
    assert found.exit_code == 2
    assert "--n-features 7, not --n-features 8" in found.stderr
    assert result_of(*base, "--resume", "--n-features", "7")["finished"]


def test_predict_and_evaluate_refuse_other_columns(folder):
    result_of(*train(folder, "p"))
    for command in ("predict", "evaluate"):
        base = (command, folder / "p", folder / "d.csv")
        for more, says in (
            (("--encode", "hash"), "--encode onehot, and its columns cannot change"),
            (("--missing", "3"), "no --missing"),
            (("--ignore", "a"), "trained on column 'a'"),
        ):
            found = ask(*base, *more)
            assert found.exit_code == 2, more
            assert says in found.stderr
        assert ask(*base, "--ignore", "three", "--encode", "onehot").exit_code == 0


# -- the time limit ------------------------------------------------------------------------------


def test_a_limit_that_is_short_for_the_finishing_step(folder, monkeypatch):
    """All rows are read and the limit leaves no time: the next run finishes, whatever its limit."""
    base = train(folder, "f", "--batch-rows", "450")
    whole = result_of(*train(folder, "whole", "--batch-rows", "450"))
    assert whole["finished"]
    found = ask(*base, *AT_ONCE)
    assert found.exit_code == 0
    assert "--resume continues" in found.stderr
    first = json.loads(ask("info", folder / "f", "--json").stdout)
    assert (first["rows_learned"], first["finished"]) == (450, False)
    assert result_of(*base, *AT_ONCE, "--resume")["finished"]
    assert (folder / "f").read_bytes() == (folder / "whole").read_bytes()
