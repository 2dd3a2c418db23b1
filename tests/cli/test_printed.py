"""What commands print: AUC and log loss, ids and headers, whole sentences; streams that are closed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.metrics import log_loss, roc_auc_score

import onlinesvm
from onlinesvm import LASVMClassifier
from onlinesvm.cli import main, measures
from onlinesvm.cli.algorithms import algorithms, first_sentence, parameter_options

SOURCE = str(Path(onlinesvm.__file__).resolve().parent.parent)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("printed")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)).round(3)
    two = (X[:, 0] + 0.7 * rng.normal(size=500) > 0.8).astype(int)
    three = np.where(X[:, 1] > 0.6, "c", np.where(two, "a", "b"))
    lines = [f"{k:04d},{r[0]},{r[1]},{t},{s}" for k, (r, t, s) in enumerate(zip(X, two, three))]
    (folder / "d.csv").write_text("id,u,v,two,three\n" + "\n".join(lines) + "\n")
    rows = [f"{t} 1:{r[0]} 2:{r[1]}" for r, t in zip(X, two)]
    (folder / "d.svm").write_text("\n".join(rows) + "\n")
    for label, other in (("two", "three"), ("three", "two")):
        ask(
            "train", folder / "d.csv", "--label", label, "--ignore", other, "--ignore", "id",
            "--probability", "-o", folder / label,
        )  # fmt: skip
    ask("train", folder / "d.svm", "-o", folder / "plain")
    np.savez(folder / "d.npz", X=X, two=two, three=three)
    return folder


def ask(*arguments, code=0):
    found = CliRunner().invoke(main, [str(a) for a in arguments], prog_name="onlinesvm")
    assert found.exit_code == code, (found.output, found.exception)
    return found


# -- evaluate ------------------------------------------------------------------------------------


def expected(folder, label):
    model, data = onlinesvm.load_model(folder / label), np.load(folder / "d.npz")
    X, y = data["X"], data[label]
    scores, sides = model.decision_function(X), [y == c for c in model.classes_]
    areas = [roc_auc_score(y, scores)] if scores.ndim == 1 else map(roc_auc_score, sides, scores.T)
    return float(np.mean(list(areas))), log_loss(y, model.predict_proba(X), labels=model.classes_)


@pytest.mark.parametrize("label", ["two", "three"])
def test_auc_and_log_loss_are_those_of_scikit_learn(folder, label):
    found = json.loads(ask("evaluate", folder / label, folder / "d.csv", "--json").stdout)
    auc, loss = expected(folder, label)
    assert found["auc"] == pytest.approx(auc, abs=1e-12)
    assert found["log_loss"] == pytest.approx(loss, rel=1e-9)
    assert "auc_rows" not in found
    text = ask("evaluate", folder / label, folder / "d.csv").stdout
    assert f"AUC {auc:.4f}" in text
    assert f"Log loss {loss:.4f}" in text
    assert ("mean of each class" in text) == (label == "three")


def test_probabilities_without_a_switch(folder):
    found = json.loads(ask("evaluate", folder / "plain", folder / "d.svm", "--json").stdout)
    assert found["auc"] > 0.7
    assert 0.0 < found["log_loss"] < 0.8
    assert "Log loss" in ask("evaluate", folder / "plain", folder / "d.svm").stdout


def test_a_label_that_the_model_does_not_know(folder):
    (folder / "odd.csv").write_text("id,u,v,two\n1,0.5,0.5,7\n2,0.1,0.2,0\n3,2,0,1\n")
    found = json.loads(ask("evaluate", folder / "two", folder / "odd.csv", "--json").stdout)
    assert (found["auc"], found["log_loss"]) == (None, None)
    (folder / "one.csv").write_text("id,u,v,two\n2,0.1,0.2,0\n")
    found = json.loads(ask("evaluate", folder / "two", folder / "one.csv", "--json").stdout)
    assert found["auc"] is None
    assert found["log_loss"] > 0


def test_a_file_of_which_no_label_is_a_class_is_told(folder):
    (folder / "other.csv").write_text("id,u,v,two\n1,0.5,0.5,7\n2,0.1,0.2,8\n3,2,0,9\n4,2,0,10\n")
    found = ask("evaluate", folder / "two", folder / "other.csv")
    assert found.stderr == (
        "No label of the file is a class of the model: the file has '10', '7', '8', ..., the model '0', '1'; "
        "check --label.\n"
    )
    assert "Error 100.00 %" in found.stdout
    assert ask("evaluate", folder / "two", folder / "odd.csv").stderr == ""


def test_memory_does_not_grow_with_the_rows(folder, monkeypatch):
    monkeypatch.setattr(measures.Ranking, "MOST", 100)
    found = json.loads(ask("evaluate", folder / "two", folder / "d.csv", "--json").stdout)
    assert 50 <= found["auc_rows"] <= 100
    auc, loss = expected(folder, "two")
    assert abs(found["auc"] - auc) < 0.1  # of a sample
    assert found["log_loss"] == pytest.approx(loss, rel=1e-9)  # of all rows


def test_the_sample_is_evenly_spaced():
    ranking = measures.Ranking(["a", "b"])
    ranking.MOST = 64
    for first in range(0, 1000, 7):
        rows = np.arange(first, min(1000, first + 7))
        ranking.add(["ab"[int(k % 3 == 0)] for k in rows], rows.astype(float), None)
    kept = np.concatenate(ranking._scores)
    assert len(set(np.diff(kept))) == 1
    assert 32 <= len(kept) <= 64


@pytest.mark.parametrize("name", algorithms())
def test_a_model_of_every_algorithm_is_evaluated(folder, tmp_path, name):
    """Models that have probabilities without a record of scores, as SimpleSVM does, ended in a traceback."""
    data, path = np.load(folder / "d.npz"), tmp_path / "few.csv"
    rows = [f"{u},{v},{t}" for (u, v), t in zip(data["X"][:60], data["two"])]
    path.write_text("u,v,t\n" + "\n".join(rows) + "\n")
    ask("train", path, "--label", "t", "-o", tmp_path / "m", "--algorithm", name)
    found = json.loads(ask("evaluate", tmp_path / "m", path, "--label", "t", "--json").stdout)
    model = onlinesvm.load_model(tmp_path / "m")
    X, y = data["X"][:60], data["two"][:60]
    asked = CliRunner().invoke(main, ["predict", str(tmp_path / "m"), str(path), "--probabilities"])
    if not hasattr(model, "predict_proba"):
        assert asked.exit_code == 2
        assert "no probabilities" in asked.stderr
        assert found.get("log_loss") is None
        return
    lines = [line.split("\t")[1:] for line in asked.stdout.splitlines()]
    np.testing.assert_allclose(np.array(lines, float), model.predict_proba(X), atol=1e-6)
    assert found["log_loss"] == pytest.approx(log_loss(y, model.predict_proba(X)), rel=1e-6)


# -- predict -------------------------------------------------------------------------------------


def test_ids_and_a_header(folder):
    plain = ask("predict", folder / "three", folder / "d.csv", "--scores", "--probabilities").stdout
    found = ask(
        "predict", folder / "three", folder / "d.csv", "--scores", "--probabilities", "--id", "id",
        "--header",
    ).stdout  # fmt: skip
    header, *lines = found.splitlines()
    names = [f"{kind} {c}" for kind in ("score", "probability") for c in "abc"]
    assert header.split("\t") == ["id", "label", *names]
    assert [line.split("\t", 1)[0] for line in lines] == [f"{k:04d}" for k in range(500)]
    assert [line.split("\t", 1)[1] for line in lines] == plain.splitlines()
    two = ask("predict", folder / "two", folder / "d.csv", "--header", "--scores").stdout
    assert two.splitlines()[0] == "label\tscore"
    line = ask("predict", folder / "two", folder / "d.csv", "--json", "--id", "id").stdout
    assert json.loads(line.splitlines()[3])["id"] == "0003"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--id", "u"), "'u' is a feature of the model"),
        (("--id", "nothing"), "has no column 'nothing' for the id"),
        (("--header", "--json"), "leave out --header"),
    ],
)
def test_ids_that_cannot_be(folder, more, says):
    assert says in ask("predict", folder / "two", folder / "d.csv", *more, code=2).stderr


@pytest.mark.parametrize("model", ["two", "by itself"])
def test_a_row_without_an_id_is_told(folder, model, tmp_path):
    """Also where the model does not know columns by name: one that was saved in Python."""
    rows = "id,u,v\n0,0.5,1.0\n1,0.2,0.1\n,0.3,0.4\n"
    (tmp_path / "rows.csv").write_text(rows)
    if model == "by itself":
        data = np.load(folder / "d.npz")
        LASVMClassifier().fit(data["X"], data["two"]).save(folder / model)
    found = ask("predict", folder / model, tmp_path / "rows.csv", "--id", "id", code=2)
    assert "line 4 of" in found.stderr
    assert "has no id in column 'id'" in found.stderr
    assert "label" not in found.stderr


def test_libsvm_text_has_no_ids(folder):
    found = ask("predict", folder / "plain", folder / "d.svm", "--id", "id", code=2)
    assert "LIBSVM text has no named columns" in found.stderr


# -- help ----------------------------------------------------------------------------------------


def test_help_is_cut_at_the_end_of_a_sentence():
    texts = {option.name: option.help for option in parameter_options()}
    for name, text in texts.items():
        assert text.count("(") == text.count(")"), (name, text)
        assert not text.split(" [")[0].rstrip(".").endswith(("eq", "e.g", "i.e")), (name, text)
    assert "(eq. 6)." in texts["parameter_fit_intercept"]
    assert first_sentence("A bias, as in eq. 3 (see Sec. 2. Or not). More") == (
        "A bias, as in eq. 3 (see Sec. 2. Or not)"
    )
    assert first_sentence("One of: a, b") == "One of"


# -- closed streams ------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("train - --format csv --label two -o new <&-", 2, "Standard input is closed"),
        ("predict two - <&-", 2, "Standard input is closed"),
        ("evaluate --predictions - d.csv --label two <&-", 2, "Standard input is closed"),
        ("predict two d.csv >&-", 2, "Standard output is closed"),
        ("info two >&-", 2, "Standard output is closed"),
        ("predict two d.csv -o out.txt >&-", 0, ""),
        ("train d.csv --label two -o new >&-", 0, ""),
        ("train d.csv --label two -o new --time-limit 1e-9 2>&-", 0, None),
        ("predict two nothing.csv 2>&-", 2, None),
        ("train d.csv --label two -o all <&- >&- 2>&-", 0, None),
    ],
)
def test_closed_streams(folder, line, code, says):
    for name in ("new", "out.txt", "all"):
        (folder / name).unlink(missing_ok=True)
    script = f'"{sys.executable}" -m onlinesvm {line}'
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert says is None or says in done.stderr
    if "out.txt" in line:
        assert len((folder / "out.txt").read_text().splitlines()) == 500
    for name in ("new", "all"):
        if f"-o {name}" in line and code == 0:  # nothing else was written into the file
            onlinesvm.load_model(folder / name)


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("train d.csv --label two -o /dev/stdout > new", 2, "is standard output, to which"),
        ("export two --to python -o /dev/stdout | cat", 2, "is standard output, to which"),
        ("train d.csv --label two --ignore three -o new --log new2 > new2", 2, "name another file with --log"),
        ("export two --to python -o >(cat > out.txt) > /dev/null", 0, ""),
        ("export two --to python -o /dev/null > /dev/null", 0, ""),
        ("predict umlaut d.csv > new", 2, "has the encoding ascii, which lacks '"),
        ("predict umlaut d.csv -o new", 0, ""),
        ("evaluate umlaut d.csv --label two", 0, ""),
        ("info umlaut", 0, ""),
        ("predict two d.csv > /dev/full", 2, "The output cannot be written: No space left on device; free"),
    ],
)  # fmt: skip
def test_standard_output_that_is_no_place_for_it(folder, line, code, says):
    """What is printed must not go into the model, and a character that cannot be shown is no crash."""
    if "/dev/full" in line and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    for name in ("new", "new2", "new (deleted)", "out.txt"):
        (folder / name).unlink(missing_ok=True)
    if "umlaut" in line:
        data = np.load(folder / "d.npz")
        X, y = pd.DataFrame(data["X"], columns=["u", "v"]), np.where(data["two"], "jä", "nein")
        LASVMClassifier().fit(X, y).save(folder / "umlaut")
    environment = {**os.environ, "PYTHONPATH": SOURCE, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    script = f'set -o pipefail; "{sys.executable}" -m onlinesvm {line}'
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    assert says in done.stderr
    assert not (folder / "new (deleted)").exists()
    if code:
        assert not (folder / "new").exists() or not (folder / "new").read_text()
