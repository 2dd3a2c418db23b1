"""train, predict, evaluate, info, tune: through the commands, as users type them."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner
from killing import trial, whole_run, write_data

from onlinesvm import load_model
from onlinesvm.cli import main
from onlinesvm.cli.algorithms import algorithms
from onlinesvm.model.files import read_model

FAST = ("--batch-rows", "300", "--gamma", "0.2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    write_data(folder, 1500)
    return folder


def ask(*arguments, given=None):
    return CliRunner().invoke(main, [str(a) for a in arguments], input=given, prog_name="onlinesvm")


def done(*arguments, given=None):
    result = ask(*arguments, given=given)
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result


def train(folder, *more, name="model.safetensors", source="train.csv"):
    label = () if source.endswith("svm") else ("--label", "target")
    return done("train", folder / source, *label, "-o", folder / name, *FAST, *more)


# -- train ---------------------------------------------------------------------------------------


def test_train_then_evaluate_predict_and_info(folder):
    found = train(folder, "--test", folder / "train.csv", "--C", "5", "--json")
    result = json.loads(found.stdout)
    assert result["rows"] == 1500
    assert result["finished"] is True
    assert 0.05 < result["test_error"] < 0.15
    assert 0.05 < result["error"] < 0.25
    model = load_model(folder / "model.safetensors")
    assert (model.C, model.gamma, model.random_state) == (5.0, 0.2, 0)
    judged = done("evaluate", folder / "model.safetensors", folder / "train.csv", "--json")
    judged = json.loads(judged.stdout)
    assert judged["error"] == pytest.approx(result["test_error"])
    assert judged["classes"] == ["no", "yes"]
    assert np.sum(judged["confusion"]) == 1500
    lines = done("predict", folder / "model.safetensors", folder / "train.csv").stdout.split()
    truth = [line.rsplit(",", 1)[1] for line in (folder / "train.csv").read_text().split()[1:]]
    assert np.mean(np.array(lines) != truth) == pytest.approx(judged["error"])
    piped = done(
        "evaluate", "--predictions", "-", folder / "train.csv", "--label", "target", "--json",
        given="\n".join(lines),
    )  # fmt: skip
    assert judged.pop("auc") > 0.9  # labels alone have no scores to rank
    assert 0.0 < judged.pop("log_loss") < 0.5  # nor probabilities
    assert json.loads(piped.stdout) == judged
    facts = json.loads(done("info", folder / "model.safetensors", "--json").stdout)
    assert facts["algorithm"] == "LASVMClassifier"
    assert facts["parameters"]["C"] == 5.0
    assert facts["rows_learned"] == 1500
    assert facts["n_support"] == len(model.support_)
    assert "a (number)" in facts["columns"]


def test_what_people_see(folder):
    text = train(folder, "--test", folder / "train.csv").stdout
    assert re.search(
        r"LASVMClassifier: 1,500 rows in \d+\.\d s, error so far 0\.\d{4}, [\d,]+ sup", text
    )
    assert re.search(r"Test error: 0\.\d{4}\nModel: .*model.safetensors", text)
    text = done("evaluate", folder / "model.safetensors", folder / "train.csv").stdout
    assert re.search(r"Error \d+\.\d\d %: [\d,]+ of 1,500 rows", text)
    assert "precision" in text
    text = done("info", folder / "model.safetensors").stdout
    assert "algorithm: LASVMClassifier" in text
    assert "rows learned: 1,500" in text


def test_without_a_source_the_embedded_digits_are_learned(tmp_path):
    result = json.loads(done("train", "--json", "-o", tmp_path / "m").stdout)
    assert result["rows"] == 1200
    assert result["test_error"] < 0.05


@pytest.mark.filterwarnings("ignore")
def test_standard_input_in_text(folder):
    text = (folder / "train.svm").read_bytes()
    found = done("train", "-", "-o", folder / "s", *FAST, "--json", given=text)
    assert json.loads(found.stdout)["rows"] == 1500
    train(folder, name="f", source="train.svm")
    assert (folder / "s").read_bytes() == (folder / "f").read_bytes()
    found = done("predict", folder / "s", "-", "--scores", given=text[: text.index(b"\n", 3000)])
    lines = found.stdout.splitlines()
    assert re.fullmatch(r"-?1\t-?[\d.e-]+", lines[0])
    scores = load_model(folder / "s").decision_function(
        next(iter_blocks(folder / "train.svm", len(lines)))
    )
    np.testing.assert_allclose([float(line.split("\t")[1]) for line in lines], scores, atol=1e-6)


LIVE = {
    "csv": ("a,b,target\n", "{a},{b},{y}\n"),
    "jsonl": ("", '{{"b": {b}, "target": {y}, "a": {a}}}\n'),
    "libsvm": ("", "{y} 1:{a} 2:{b}\n"),
}


@pytest.mark.parametrize("kind", LIVE)
def test_a_live_stream_is_learned_and_predicted_as_it_comes(tmp_path, kind):
    """Rows of a pipe that stays open: a checkpoint of the first ones, and a label for each row."""
    header, form = LIVE[kind]
    rng = np.random.default_rng(0)
    rows = [form.format(a=a, b=b, y=int(a > 0)) for a, b in rng.normal(size=(100, 2)).round(3)]
    label = [] if kind == "libsvm" else ["--label", "target"]
    model = tmp_path / "m"
    every = ["--batch-rows", "50", "--checkpoint", "50"]
    with live("train", "-", *label, "-o", model, *every) as process:
        process.stdin.write(header + "".join(rows[:60]))
        process.stdin.flush()
        wait_for(model.exists, process)
        assert read_model(model).summary["stream"]["rows"] == 50
        process.stdin.write("".join(rows[60:]))
        process.stdin.close()
        assert process.wait(120) == 0
    assert read_model(model).summary["stream"]["rows"] == 100
    with live("predict", model, "-") as process:
        process.stdin.write(header)
        for row in rows[:3]:  # a row is sent when the one before is answered
            process.stdin.write(row)
            process.stdin.flush()
            assert process.stdout.readline().strip() in ("0", "1")
        process.stdin.close()
        assert process.wait(120) == 0


def live(*arguments):
    """The command with pipes that stay open."""
    command = [sys.executable, "-m", "onlinesvm", *map(str, arguments)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def wait_for(there, process, seconds=120):
    end = time.monotonic() + seconds
    while not there():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)


def iter_blocks(path, n):
    from onlinesvm import open_reader

    for block in open_reader(path, n_features=5).blocks(n):
        yield block.X


def test_log_plot_and_scaling(folder):
    log, plot = folder / "log.jsonl", folder / "curve.png"
    train(folder, "--log", log, "--plot", plot, "--standardize", name="z")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["rows"] for line in lines] == [300, 600, 900, 1200, 1500]
    assert {"error", "n_support", "delta", "memory", "seconds"} <= set(lines[-1])
    assert plot.read_bytes().startswith(b"\x89PNG")
    model = read_model(folder / "z")
    assert model.preprocessing["standardize"]["count"] == 1500
    done("evaluate", folder / "z", folder / "train.csv", "--plot", folder / "c.png")
    assert (folder / "c.png").read_bytes().startswith(b"\x89PNG")


def test_numbers_and_novelty(folder):
    rows = (folder / "train.csv").read_text().replace("yes", "1.5").replace("no", "0.25")
    (folder / "numbers.csv").write_text("\n".join(rows.split("\n")[:300]))
    found = done(
        "train", folder / "numbers.csv", "--label", "target", "-o", folder / "r", "--algorithm",
        "simplesvm-regressor", "--json",
    )  # fmt: skip
    assert json.loads(found.stdout)["measure"] == "mean absolute error"
    assert load_model(folder / "r").predict([[0, 0, 0, 0, 0]]).shape == (1,)
    found = done("evaluate", folder / "r", folder / "numbers.csv", "--json")
    assert 0 < json.loads(found.stdout)["mean_absolute_error"] < 1
    (folder / "rows.csv").write_text(
        "\n".join(",".join(r.split(",")[:5]) for r in rows.split()[:200])
    )
    done("train", folder / "rows.csv", "-o", folder / "n", "--algorithm", "SimpleSVMOneClass")
    lines = done("predict", folder / "n", folder / "rows.csv", "--json").stdout.splitlines()
    assert set(lines) <= {'{"label": 1}', '{"label": -1}'}
    assert len(lines) == 199


# -- checkpoints ---------------------------------------------------------------------------------


def test_time_limit_and_resume_end_with_the_same_file(folder):
    train(folder, name="whole")
    found = train(folder, "--time-limit", "1e-9", "--json", name="parts")
    assert "time limit" in found.stderr
    assert json.loads(found.stdout)["rows"] == 300
    load_model(folder / "parts").predict(np.zeros((1, 5)))
    found = train(folder, "--resume", "--time-limit", "1e-9", "--json", name="parts")
    assert json.loads(found.stdout)["rows"] == 600
    found = train(folder, "--resume", "--json", name="parts")
    assert json.loads(found.stdout)["rows"] == 1500
    assert (folder / "parts").read_bytes() == (folder / "whole").read_bytes()
    train(folder, "--resume", name="parts")  # nothing left to do
    assert (folder / "parts").read_bytes() == (folder / "whole").read_bytes()


def test_resume_refuses_other_settings(folder):
    train(folder, "--time-limit", "1e-9", name="mine")
    before = (folder / "mine").read_bytes()
    base = ("train", folder / "train.csv", "--label", "target", "-o", folder / "mine", "--resume")
    for more, says in (
        ((*FAST, "--C", "7"), "started with C=1.0, not 7.0"),
        (("--batch-rows", "200"), "started with batch_rows=300, not 200"),
        ((*FAST, "--algorithm", "norma"), "contains a LASVMClassifier; give --algorithm lasvm"),
    ):
        result = ask(*base, *more)
        assert result.exit_code == 2
        assert says in result.stderr
    assert (folder / "mine").read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_killed_at_random_moments_the_last_file_is_the_same(folder):
    import random

    kind = "csv, budget"
    seconds = whole_run(folder, kind, folder / "unkilled.safetensors")
    kills = trial(folder, kind, folder / "killed.safetensors", random.Random(1), seconds, most=2)
    assert kills > 0
    whole = (folder / "unkilled.safetensors").read_bytes()
    assert (folder / "killed.safetensors").read_bytes() == whole


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
def test_ctrl_c_saves_and_says_so(folder):
    """While it waits for rows, as at any other moment; resumed, the file is that of a whole run."""
    model = folder / "stopped.safetensors"
    text = (folder / "train.svm").read_bytes()
    command = [
        sys.executable, "-m", "onlinesvm", "train", "-", "--format", "libsvm", "-o", str(model),
        *FAST, "--log", str(folder / "stop.jsonl"), "--resume",
    ]  # fmt: skip
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ},
    )  # fmt: skip
    process.stdin.write(text)
    process.stdin.flush()
    log = folder / "stop.jsonl"
    while not log.exists() or log.read_text().count("\n") < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert re.search(
        rb"Stopped by Ctrl-C; the model of [\d,]+ rows is in .*--resume continues", said
    )
    assert b"Traceback" not in said
    rows = read_model(model).summary["stream"]["rows"]
    assert rows >= 600
    assert rows % 300 == 0
    done("train", "-", "--format", "libsvm", "-o", model, *FAST, "--resume", given=text)
    done("train", "-", "--format", "libsvm", "-o", folder / "unstopped", *FAST, given=text)
    assert model.read_bytes() == (folder / "unstopped").read_bytes()


def test_what_killed_processes_left_is_removed(folder):
    old, new = (folder / f".left.{k}.tmp" for k in "ab")
    other = folder / ".else.a.tmp"
    for path in (old, new, other):
        path.write_bytes(b"half a file")
    for path in (old, other):
        os.utime(path, (1, 1))
    train(folder, name="left")
    assert [path.exists() for path in (old, new, other)] == [False, True, True]
    for path in (new, other):
        path.unlink()


# -- tune ----------------------------------------------------------------------------------------


def test_tune_halves_the_candidates(folder):
    found = done(
        "tune", folder / "train.csv", "--label", "target", "--C", "1,10", "--gamma", "0.2,1e-6",
        "--first-round", "400", "--batch-rows", "200", "--json",
    )  # fmt: skip
    result = json.loads(found.stdout)
    assert result["gamma"] == 0.2
    rounds = [line["rounds"] for line in result["table"]]
    assert rounds == sorted(rounds, reverse=True)
    assert rounds[-2:] == [1, 1]
    assert [line["gamma"] for line in result["table"][-2:]] == [1e-6, 1e-6]
    text = done(
        "tune", folder / "train.csv", "--label", "target", "--C", "1", "--first-round", "400"
    )
    assert "onlinesvm train" in text.stdout


# -- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["train", "no.csv", "-o", "m"], "There is no file 'no.csv'"),
        (["train", "{csv}", "-o", "m"], r"needs a label column: give --label"),
        (["train", "{csv}", "-o", "m", "--label", "nope"], "no column 'nope' .*'a', 'b'.*'target'"),
        (["train", "{csv}", "--label", "target"], "The model needs a file: give -o MODEL"),
        (["train", "{csv}", "--label", "target", "-o", "no/such/m"], "There is no folder"),
        (["train", "{csv}", "--label", "target", "-o", "."], "is a folder; name a file with -o"),
        (["train", "{csv}", "-o", "m", "--algorithm", "lasmv"], "no algorithm 'lasmv'. Did you mean lasvm"),
        (["train", "{csv}", "-o", "m", "--gama", "1"], "--gama.*--gamma"),
        (["train", "{csv}", "-o", "m", "--C", "much"], "--C 'much' is not a float"),
        (["train", "{csv}", "-o", "m", "--C", "-1"], "'C' parameter .* must be .*Got -1.0"),
        (["train", "{csv}", "-o", "m", "--algorithm", "norma", "--budget", "5"], "norma has no parameter budget"),
        (["train", "{csv}", "-o", "m", "--label", "target", "--kernel", "precomputed"], "precomputed"),
        (["train", "{csv}", "-o", "m", "--epochs", "0"], "epochs"),
        (["predict", "no-model", "{csv}"], "no-model does not exist"),
        (["predict", "{csv}", "{csv}"], "train.csv is not a valid model file"),
        (["evaluate", "{model}"], "evaluate takes MODEL and SOURCE"),
        (["evaluate", "{model}", "{narrow}", "--label", "target"], "no column 'b', on which the model was trained"),
        (["predict", "{model}", "{svm}"], "feature 6, but there are at most 5|trained on"),
        (["info", "no-model"], "does not exist"),
        (["export", "no-model", "--to", "onnx", "-o", "m"], "does not exist"),
        (["tune", "{csv}", "--label", "target", "--C", "a,b"], "takes positive numbers"),
        (["tune", "{csv}", "--label", "target", "--algorithm", "perceptron"], "no algorithm"),
        (["tune", "{csv}", "--label", "target", "--algorithm", "kernel-perceptron"], "has no C and gamma to tune; choose another --algorithm"),
        (["train", "{csv}", "--label", "target", "-o", "m", "--test", "no.csv"], "no file 'no.csv' to test on"),
    ],
)  # fmt: skip
def test_one_sentence_and_exit_code_2(folder, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    if not (folder / "model.safetensors").exists():
        train(folder)
    (tmp_path / "narrow.csv").write_text("a,target\n1,yes\n")
    (tmp_path / "wide.svm").write_text("1 1:1 6:1\n")
    places = {
        "csv": folder / "train.csv", "model": folder / "model.safetensors",
        "narrow": tmp_path / "narrow.csv", "svm": tmp_path / "wide.svm",
    }  # fmt: skip
    result = ask(*(argument.format(**places) for argument in arguments))
    assert result.exit_code == 2, result.output
    assert re.search(says, " ".join(result.stderr.split())), result.stderr
    assert "Traceback" not in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.stdout == ""


def test_a_disk_that_is_full_leaves_the_old_model(folder, monkeypatch):
    train(folder, name="old")
    before = (folder / "old").read_bytes()

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = ask(
        "train", folder / "train.csv", "--label", "target", "-o", folder / "old", "--C", "9"
    )
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert (folder / "old").read_bytes() == before
    assert not list(folder.glob(".old.*.tmp"))


# -- help ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["train", "predict", "evaluate", "info", "tune", "export"])
def test_help_has_an_example_and_json(name):
    text = done(name, "--help").stdout
    assert f"onlinesvm {name} " in text.split("xample")[-1]
    assert "--json" in text


def test_every_parameter_of_every_class_has_an_option():
    import inspect

    from onlinesvm.cli.algorithms import NOT_OF_A_STREAM

    text = done("train", "--help").stdout
    for each in algorithms().values():
        for name in set(inspect.signature(each).parameters) - NOT_OF_A_STREAM:
            assert f"--{name.replace('_', '-')} " in text


def test_parameters_are_parsed_by_their_constraints():
    from onlinesvm import LASVMClassifier
    from onlinesvm.cli.algorithms import parsed

    cases = {
        ("C", "10"): 10.0, ("gamma", "scale"): "scale", ("gamma", "0.5"): 0.5, ("degree", "2"): 2,
        ("budget", "none"): None, ("budget", "50"): 50, ("class_weight", "balanced"): "balanced",
        ("class_weight", '{"1": 2, "a": 3}'): {1: 2.0, "a": 3.0}, ("kernel", "poly"): "poly",
    }  # fmt: skip
    for (name, text), value in cases.items():
        found = parsed(LASVMClassifier, name, text)
        assert found == value
        assert type(found) is type(value)
