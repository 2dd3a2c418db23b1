"""What ``train`` and ``info`` tell of drift: a line at once, the log, the result, the model file."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from onlinesvm import load_model
from onlinesvm.cli import main

ROWS, CHANGE = 3000, 1500


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2)).round(3)
    y = (X[:, 0] > 0) ^ (np.arange(ROWS) >= CHANGE)
    lines = [f"{int(label)} 1:{a} 2:{b}" for (a, b), label in zip(X, y, strict=True)]
    (tmp_path / "swap.svm").write_text("\n".join(lines) + "\n")
    return tmp_path


def run(*words):
    result = CliRunner().invoke(main, [str(word) for word in words], prog_name="onlinesvm")
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result


def train(folder, *words):
    return run(
        "train", folder / "swap.svm", "-o", folder / "m", "--C", 4, "--gamma", 0.5,
        "--batch-rows", 250, *words,
    )  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [("--detect-drift", "--budget", 300, "--policy", "oldest", "--half-life", 300),
     ("--window", "auto")],
)  # fmt: skip
def test_a_drift_is_told_logged_and_kept(folder, words):
    log = folder / "log.jsonl"
    done = train(folder, "--log", log, *words)
    found = re.findall(r"Drift: .* between rows ([\d,]+) and ([\d,]+) \((\d+) drift", done.stderr)
    assert found == [("1,501", "1,750", "1")]
    assert "support vectors, 1 drift detected" in done.stdout
    counts = [json.loads(line)["n_drifts"] for line in log.read_text().splitlines()]
    assert counts == [0] * (CHANGE // 250) + [1] * ((ROWS - CHANGE) // 250)
    assert load_model(folder / "m").n_drifts_ == 1
    assert "drifts detected: 1\n" in run("info", folder / "m").stdout
    assert json.loads(run("info", folder / "m", "--json").stdout)["drifts_detected"] == 1


def test_json_is_all_that_is_printed(folder):
    done = train(folder, "--detect-drift", "--window", 300, "--json")
    assert json.loads(done.stdout)["n_drifts"] == 1
    assert "Drift" not in done.stderr


def test_nothing_is_said_where_nobody_looks(folder):
    log = folder / "log.jsonl"
    done = train(folder, "--window", 300, "--log", log)
    assert "rift" not in done.output + run("info", folder / "m").stdout.replace("detect_drift", "")
    assert json.loads(log.read_text().splitlines()[-1])["n_drifts"] is None


def test_a_run_that_goes_on_does_not_tell_of_old_drifts(folder):
    words = ("--detect-drift", "--window", 300, "--epochs", 1)
    whole = train(folder, *words)
    again = train(folder, *words, "--resume")
    assert whole.stderr.count("Drift") == 1
    assert again.stderr.count("Drift") == 0
    assert "1 drift detected" in again.stdout
