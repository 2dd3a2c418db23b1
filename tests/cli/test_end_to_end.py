"""The real command, as a shell runs it: train on each format, predict | evaluate, export."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from sklearn.datasets import dump_svmlight_file

import onlinesvm
from onlinesvm.cli import main

SOURCE = str(Path(onlinesvm.__file__).resolve().parent.parent)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("end")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4)).round(3)
    y = (X[:, 0] + X[:, 1] ** 2 > 0.8).astype(int)
    table = pa.table({**{f"c{k}": X[:, k] for k in range(4)}, "target": y})
    for name, rows in (("train", slice(0, 900)), ("test", slice(900, None))):
        dump_svmlight_file(X[rows], y[rows], str(folder / f"{name}.svm"), zero_based=False)
        np.savez(folder / f"{name}.npz", X=X[rows], y=y[rows])
        np.save(folder / f"{name}.npy", np.c_[X[rows], y[rows]])
        part = table.slice(0, 900) if rows.start == 0 else table.slice(900)
        pyarrow.csv.write_csv(part, folder / f"{name}.csv")
        pyarrow.csv.write_csv(
            part, folder / f"{name}.tsv", pyarrow.csv.WriteOptions(delimiter="\t")
        )
        pyarrow.parquet.write_table(part, folder / f"{name}.parquet")
    return folder


def shell(line, folder):
    """The line in a shell, with ``onlinesvm`` as the command of this package."""
    script = f'set -eo pipefail\nonlinesvm() {{ "{sys.executable}" -m onlinesvm "$@"; }}\n{line}'
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def ask(*arguments):
    result = CliRunner().invoke(main, [str(a) for a in arguments], prog_name="onlinesvm")
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_train_then_predict_into_evaluate(folder):
    found = shell(
        "onlinesvm train train.csv --label target -o m.safetensors --C 10 --gamma 0.3 --seed 0\n"
        "onlinesvm predict m.safetensors test.csv | tee labels.txt | "
        "onlinesvm evaluate --predictions - test.csv --label target --json",
        folder,
    )
    result = json.loads(found.splitlines()[-1])
    assert result["rows"] == 300
    assert result["error"] < 0.05
    labels = [int(line) for line in (folder / "labels.txt").read_text().split()]
    rows = np.load(folder / "test.npz")
    np.testing.assert_array_equal(
        labels, onlinesvm.load_model(folder / "m.safetensors").predict(rows["X"])
    )


FORMATS = {
    "svm": (), "csv": ("--label", "target"), "tsv": ("--label", "target"),
    "parquet": ("--label", "target"), "npz": (), "npy": ("--label", "-1"),
}  # fmt: skip


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_and_every_export(folder, ending):
    label, model = FORMATS[ending], folder / f"{ending}.safetensors"
    ask("train", folder / f"train.{ending}", *label, "-o", model, "--C", "10", "--gamma", "0.3")
    judged = json.loads(ask("evaluate", model, folder / f"test.{ending}", *label, "--json"))
    assert judged["error"] < 0.05
    rows = np.load(folder / "test.npz")["X"]
    wanted = onlinesvm.load_model(model).predict(rows)
    given = () if ending in ("csv", "tsv", "parquet") else label
    lines = ask("predict", model, folder / f"test.{ending}", *given).split()
    np.testing.assert_array_equal([int(line) for line in lines], wanted)
    runtime = pytest.importorskip("onnxruntime")
    ask("export", model, "--to", "onnx", "-o", folder / "m.onnx")
    session = runtime.InferenceSession(folder / "m.onnx")
    found = session.run(["label"], {session.get_inputs()[0].name: rows.astype(np.float32)})[0]
    assert np.mean(found == wanted) > 0.99  # in single precision, rows on the boundary may differ


def test_a_standardisation_goes_into_the_export(folder):
    runtime = pytest.importorskip("onnxruntime")
    model = folder / "z.safetensors"
    ask("train", folder / "train.csv", "--label", "target", "-o", model, "--standardize")
    lines = ask("predict", model, folder / "test.csv", "--scores").splitlines()
    ask("export", model, "--to", "onnx", "-o", folder / "z.onnx")
    session = runtime.InferenceSession(folder / "z.onnx")
    rows = np.load(folder / "test.npz")["X"].astype(np.float32)
    found = session.run(["scores"], {session.get_inputs()[0].name: rows})[0].ravel()
    np.testing.assert_allclose([float(line.split("\t")[1]) for line in lines], found, atol=1e-4)


@pytest.mark.skipif(shutil.which("svm-predict") is None, reason="libsvm-tools is not installed")
def test_svm_predict_gives_the_same_labels(folder):
    model = folder / "l.safetensors"
    ask("train", folder / "train.svm", "-o", model, "--C", "10", "--gamma", "0.3")
    ask("export", model, "--to", "libsvm", "-o", folder / "l.model")
    command = ["svm-predict", folder / "test.svm", folder / "l.model", folder / "l.out"]
    subprocess.run(command, check=True, capture_output=True)
    found = (folder / "l.out").read_text().split()
    assert found == ask("predict", model, folder / "test.svm").split()


def test_columns_of_a_model_from_python_are_found_by_name(folder, tmp_path):
    """In whatever order a file has them, and beside others; ``SVC`` refuses another order."""
    pandas = pytest.importorskip("pandas")
    train, test = (pandas.read_csv(folder / f"{name}.csv") for name in ("train", "test"))
    names = [f"c{k}" for k in range(4)]
    model = onlinesvm.LASVMClassifier(C=10, gamma=0.3).fit(train[names], train["target"])
    model.save(tmp_path / "m")
    wanted = model.predict(test[names])
    turned = test[[*names[::-1], "target"]]
    for form, write in (("csv", turned.to_csv), ("parquet", turned.to_parquet)):
        path = tmp_path / f"turned.{form}"
        write(path, index=False)
        for more in ((), ("--label", "target")):
            found = ask("predict", tmp_path / "m", path, *more)
            np.testing.assert_array_equal(np.array(found.split(), int), wanted)
    told = json.loads(ask("evaluate", tmp_path / "m", path, "--label", "target", "--json"))
    assert told["error"] == pytest.approx(np.mean(wanted != test["target"]))
    told = ask("predict", tmp_path / "m", path, "--explain", "4").splitlines()[0].split("\t")[1:]
    shares = model.explain(test[names][:1]).values[0]
    for each in told:
        name, _, share = each.rpartition(":")
        assert abs(float(share)) == pytest.approx(abs(shares[names.index(name)]), abs=1e-2)
    turned.drop(columns="c2").to_csv(tmp_path / "less.csv", index=False)
    said = CliRunner().invoke(main, ["predict", str(tmp_path / "m"), str(tmp_path / "less.csv")])
    assert said.exit_code == 2
    assert "has no column 'c2', on which the model was trained" in said.output


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("label", [None, "?"])
def test_predict_needs_no_labels_even_where_their_column_is(folder, tmp_path, ending, label):
    """Rows to predict often have an empty column for the label."""
    ask("train", folder / "train.csv", "--label", "target", "-o", tmp_path / "m", "--gamma", 0.3)
    frame = pa.csv.read_csv(folder / "test.csv").to_pandas()
    frame["target"] = label
    path = tmp_path / f"unknown.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False) if ending == "csv" else frame.to_json(
            path, orient="records", lines=True
        )
    expected = ask("predict", tmp_path / "m", folder / "test.csv")
    assert ask("predict", tmp_path / "m", path) == expected
    assert ask("predict", tmp_path / "m", path, "--label", "target") == expected
    result = CliRunner().invoke(main, ["evaluate", str(tmp_path / "m"), str(path)])
    assert result.exit_code == 2


def test_a_feature_of_the_model_is_not_its_label(folder, tmp_path):
    ask("train", folder / "train.csv", "--label", "target", "-o", tmp_path / "m", "--gamma", 0.3)
    for ending in ("csv", "parquet"):
        given = ["evaluate", tmp_path / "m", folder / f"test.{ending}", "--label", "c1"]
        result = CliRunner().invoke(main, [str(a) for a in given])
        assert result.exit_code == 2
        assert "Column 'c1' is a feature of the model" in result.output
    expected = ask("predict", tmp_path / "m", folder / "test.csv")
    assert ask("predict", tmp_path / "m", folder / "test.csv", "--label", "c1") == expected


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_predictions_are_compared_with_labels_whatever_other_columns_have(format, tmp_path):
    """What the model replaced (gaps) or ignored (lists, free text) is not read again."""
    sizes = np.random.default_rng(0).normal(size=200).tolist()
    table = {
        "size": [None if k % 5 == 2 else size for k, size in enumerate(sizes)],
        "note": [f"note {k}" if format == "csv" else [k] for k in range(200)],
        "target": ["yes" if size > 0 else "no" for size in sizes],
    }
    rows = pa.table(table)
    if format == "csv":
        pyarrow.csv.write_csv(rows, tmp_path / "rows.csv")
    elif format == "parquet":
        pyarrow.parquet.write_table(rows, tmp_path / "rows.parquet")
    else:
        (tmp_path / "rows.jsonl").write_text(
            "".join(f"{json.dumps(row)}\n" for row in rows.to_pylist())
        )
    source = f"rows.{format}"
    found = shell(
        f"onlinesvm train {source} --label target --ignore note --missing median -o m.safetensors\n"
        f"onlinesvm predict m.safetensors {source} | "
        f"onlinesvm evaluate --predictions - {source} --label target --json\n"
        f"onlinesvm evaluate m.safetensors {source} --json",
        tmp_path,
    )
    of_lines, of_model = (json.loads(line) for line in found.splitlines()[-2:])
    assert of_lines["rows"] == 200
    assert of_lines["confusion"] == of_model["confusion"]
