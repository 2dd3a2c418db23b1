"""``train --resume``: the same bytes as a run that was never interrupted, or one sentence."""

import json

import click
import numpy as np
import pytest
from click.testing import CliRunner

from onlinesvm.cli import main
from onlinesvm.cli.algorithms import algorithms
from onlinesvm.cli.sources import NAMES, source_options
from onlinesvm.persistence import read_model

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
    ("lasvm", "--epochs", "3", "--probability"),
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


# -- rows that come later ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def halves(folder):
    """The same rows in two files, each with its header; the second has its columns in another order."""
    head, *lines = (folder / "d.csv").read_text().splitlines()
    (folder / "first.csv").write_text("\n".join([head, *lines[:300]]) + "\n")
    turned = [",".join(line.split(",")[::-1]) for line in (head, *lines[300:])]
    (folder / "second.csv").write_text("\n".join(turned) + "\n")
    return folder


def learn(folder, source, name, *more, given=None):
    """A run of ``train`` over some of the rows, and what it says."""
    line = ("train", source, "--label", "target", "--ignore", "three", "--batch-rows", "150")
    line += ("-o", folder / name, "--standardize", "--window", "200", "--format", "csv", *more)
    return CliRunner().invoke(main, [*map(str, line)], input=given, prog_name="onlinesvm")


def stopped_after_two_blocks(folder, name):
    for more in ((), ("--resume",)):
        assert learn(folder, folder / "d.csv", name, *more, *AT_ONCE).exit_code == 0


def test_new_rows_continue_as_if_the_stream_had_not_stopped(halves):
    """No row is skipped or learned twice: the model is that of one run over all rows."""
    result = learn(halves, halves / "d.csv", "whole")
    assert result.exit_code == 0
    stopped_after_two_blocks(halves, "parts")
    found = learn(halves, halves / "second.csv", "parts", "--resume", "--new-rows")
    assert found.exit_code == 0, found.output
    whole, parts = (read_model(halves / name) for name in ("whole", "parts"))
    assert parts.summary["stream"]["rows"] == 450
    assert parts.summary["stream"]["loss"] == whole.summary["stream"]["loss"]
    assert parts.preprocessing["standardize"] == whole.preprocessing["standardize"]
    np.testing.assert_array_equal(parts.estimator.dual_coef_, whole.estimator.dual_coef_)
    np.testing.assert_array_equal(
        parts.estimator.support_vectors_, whole.estimator.support_vectors_
    )


def test_new_rows_after_a_finished_run(halves):
    """Today's file after yesterday's; the second run can be interrupted and resumed as well."""
    for name in ("once", "twice"):
        assert learn(halves, halves / "first.csv", name).exit_code == 0
    found = learn(halves, halves / "second.csv", "twice", "--resume")
    assert "add --new-rows" in found.stderr
    more = ("--resume", "--new-rows")
    assert learn(halves, halves / "second.csv", "once", *more).exit_code == 0
    assert learn(halves, halves / "second.csv", "twice", *more, *AT_ONCE).exit_code == 0
    assert not read_model(halves / "twice").summary["stream"]["finished"]
    assert learn(halves, halves / "second.csv", "twice", "--resume").exit_code == 0
    assert read_model(halves / "twice").summary["stream"]["rows"] == 450
    assert (halves / "once").read_bytes() == (halves / "twice").read_bytes()


def test_a_pipe_that_is_resumed_says_which_rows_it_skips(halves):
    head, *lines = (halves / "d.csv").read_text().splitlines()
    rest = "\n".join([head, *lines[300:]]) + "\n"
    whole = "\n".join([head, *lines]) + "\n"
    for name, given, more, skipped in (
        ("skipping", whole, (), True), ("new", rest, ("--new-rows",), False)
    ):  # fmt: skip
        stopped_after_two_blocks(halves, name)
        found = learn(halves, "-", name, "--resume", *more, given=given)
        assert found.exit_code == 0, found.output
        assert ("The first 300 rows of standard input are skipped" in found.stderr) == skipped
        assert read_model(halves / name).summary["stream"]["rows"] == 450


def test_new_rows_need_resume_and_the_same_columns(halves):
    found = learn(halves, halves / "second.csv", "never", "--new-rows")
    assert found.exit_code == 2
    assert "give both" in found.stderr
    assert not (halves / "never").exists()
    assert learn(halves, halves / "first.csv", "kept").exit_code == 0
    before = (halves / "kept").read_bytes()
    (halves / "narrow.csv").write_text("a,b,target,three\n1,2,0,a\n3,4,1,b\n")
    found = learn(halves, halves / "narrow.csv", "kept", "--resume", "--new-rows")
    assert found.exit_code == 2
    assert found.stderr.count("\n") == 1
    assert (halves / "kept").read_bytes() == before
    assert learn(halves, halves / "first.csv", "new", "--resume", "--new-rows").exit_code == 0


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
