"""What an unfriendly user types, and what files are like: one sentence, exit code 2, nothing lost."""

import re

import numpy as np
import pytest
from click.testing import CliRunner

from onlinesvm import LASVMClassifier, LASVMRegressor
from onlinesvm.cli import main
from onlinesvm.model.files import read_model

RNG = np.random.default_rng(1)
X = RNG.normal(size=(400, 3)).round(2)
Y = (X[:, 0] > 0).astype(int)
LINES = ["a,b,c,t", *(f"{','.join(map(str, row))},{y}" for row, y in zip(X, Y))]
TEXT = "\n".join(LINES) + "\n"


def ask(*arguments):
    result = CliRunner().invoke(main, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def refused(says, *arguments):
    result = ask(*arguments)
    assert result.exit_code == 2, result.output
    assert re.search(says, " ".join(result.stderr.split())), result.stderr
    assert result.stdout == ""


@pytest.fixture
def csv(tmp_path):
    (tmp_path / "t.csv").write_text(TEXT)
    return tmp_path / "t.csv"


def changed(number, line):
    return "\n".join([*LINES[:number], line, *LINES[number + 1 :]]) + "\n"


@pytest.mark.parametrize(
    ("text", "more", "says"),
    [
        (changed(200, "1,zero,2,1"), [], r"line 201 of .* 'zero' in column 'b'.*most rows have numbers.*--ignore b.*--categorical b"),
        (changed(200, "1,,2,1"), [], r"line 201 of .* no value in column 'b'.*--missing.*--ignore b"),
        ("a,b,c,t", [], "has a header but no rows"),
        ("\n\n", [], "only blank lines"),
        (TEXT.encode("utf-16"), [], "not UTF-8 .is it UTF-16.*save it as UTF-8"),
        (TEXT.replace(",", ";"), [], "its columns are 'a;b;c;t'. Give --delimiter ';'"),
        (TEXT, ["--delimiter", ";;"], "delimiter must be one character"),
        (TEXT.replace(",1\n", ",1.5\n"), [], "label 1.5: numbers with fractions.*--algorithm lasvm-regressor"),
        (TEXT.replace(",1\n", ",yes\n"), ["--algorithm", "lasvm-regressor"], "line .* the label '(yes|0)', which is not a number"),
        (TEXT, ["--kernel", "rfb"], "'rfb' is not laplacian, linear, matern12, poly, rbf, sigmoid. Did you mean rbf"),
        (TEXT, ["--kernel", "laplace"], "'laplace' is not .* Did you mean laplacian"),
        (TEXT, ["--class-weight", "{a:2}"], "is not balanced or weights such as"),
        (TEXT, ["--probability", "--algorithm", "norma"], "norma has no parameter probability"),
        (changed(200, "1e30,1,2,1"), [], "too large.*--standardize scales them"),
        (changed(390, "1e30,1,2,1"), [], "too large.*--standardize scales them.*line 258 of .* or after it"),
        (changed(200, "1e200,1,2,1"), ["--standardize"], "feature 1 are too large.*line 2 of .* or after it"),
        ("\n".join(LINES[1:]), [], "no column 't' for the label; its columns are .* If the first line is a row"),
    ],
)  # fmt: skip
def test_files_and_options_of_train(tmp_path, text, more, says):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(says, "train", path, "--label", "t", "-o", tmp_path / "m", *more)
    assert not (tmp_path / "m").exists()


def test_the_remedy_of_a_gap_is_one_that_predict_can_follow(csv, tmp_path):
    """predict refuses --missing, because the columns are those of the model."""
    assert ask("train", csv, "--label", "t", "-o", tmp_path / "m").exit_code == 0
    gap = tmp_path / "gap.csv"
    gap.write_text(changed(300, "1,,2,1"))
    refused("line 301 .* train with a replacement .--missing", "predict", tmp_path / "m", gap)


def test_a_row_far_too_large_is_named_by_every_command_that_reads_it(csv, tmp_path):
    model, far = tmp_path / "m", tmp_path / "far.csv"
    far.write_text(changed(300, "1e30,1,2,1"))
    assert ask("train", csv, "--label", "t", "-o", model).exit_code == 0
    says = "too large.*line 2 of .* or after it"
    refused(says, "predict", model, far)
    refused(says, "evaluate", model, far, "--label", "t")
    refused(says, "train", csv, "--label", "t", "-o", tmp_path / "n", "--test", far)
    refused("too large.*--standardize scales", "tune", far, "--label", "t", "--batch-rows", "100")


def test_a_column_of_words_and_numbers_can_be_meant(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(changed(200, "1,zero,2,1"))
    line = ("train", path, "--label", "t", "-o", tmp_path / "m", "--categorical", "b")
    assert ask(*line).exit_code == 0


def test_what_another_program_or_task_has_made(csv, tmp_path):
    model, words = tmp_path / "m", tmp_path / "words.csv"
    LASVMClassifier().fit([[0.0], [1.0]], [0, 1]).save(model)
    train = ("train", csv, "--label", "t", "-o", model)
    refused("not made by train.* leave out --resume to replace this one", *train, "--resume")
    LASVMRegressor().fit(X, X[:, 0]).save(model)
    words.write_text("a,b,c,t\n" + "1,2,3,red\n" * 5)
    refused("labels are not numbers.* check --label", "evaluate", model, words, "--label", "t")


def test_options_that_mean_nothing_here(csv, tmp_path):
    train = ("train", csv, "--label", "t", "-o", tmp_path / "m")
    refused("'--time-limit': nan is not a number", *train, "--time-limit", "nan")
    refused("'--overlap': nan is not a number", "label", csv, "--overlap", "nan")
    refused("-o needs the name of a file; - is none", *train[:-1], "-")
    refused("--label says how SOURCE is read, but there is no SOURCE", "train", "--label", "t")
    refused(
        "--missing says how SOURCE is read, but", "train", "--missing", "0", "-o", tmp_path / "m"
    )
    refused("--quantile '0.1,0.9' is not a number or none", *train, "--algorithm", "lasvm-regressor",
            "--quantile", "0.1,0.9")  # fmt: skip
    refused("--feature-weights '1,2' is not learn or none", *train, "--feature-weights", "1,2")
    refused("takes MODEL and SOURCE, but got m t.csv t2.csv", "evaluate", "m", "t.csv", "t2.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.csv"]


def test_tune_of_a_single_candidate_measures_it(csv):
    line = ("tune", csv, "--label", "t", "--C", "1", "--gamma", "1", "--first-round", "10")
    found = ask(*line, "--batch-rows", "10")
    assert found.exit_code == 0, found.output
    assert re.search(r"│1 │ +1 │ +1 │ +30 │ +0\.\d{4}│", found.stdout), found.stdout


def test_what_is_read_is_never_overwritten(csv, tmp_path):
    assert ask("train", csv, "--label", "t", "-o", tmp_path / "m").exit_code == 0
    before = (tmp_path / "m").read_bytes()
    (tmp_path / "link.csv").symlink_to(csv)
    for option, *line in (
        ("-o", "train", csv, "--label", "t", "-o", csv),
        ("-o", "train", tmp_path / "link.csv", "--label", "t", "-o", csv),
        ("--log", "train", csv, "--label", "t", "-o", tmp_path / "n", "--log", csv),
        ("--plot", "train", csv, "--label", "t", "-o", tmp_path / "n", "--plot", tmp_path / "n"),
        ("-o", "predict", tmp_path / "m", csv, "-o", csv),
        ("-o", "predict", tmp_path / "m", csv, "-o", tmp_path / "m"),
        ("-o", "export", tmp_path / "m", "--to", "python", "-o", tmp_path / "m"),
        ("--plot", "evaluate", tmp_path / "m", csv, "--plot", csv),
    ):
        refused(f"{option} would overwrite it; choose another {option}", *line)
    assert csv.read_text() == TEXT
    assert (tmp_path / "m").read_bytes() == before


def test_predictions_appear_whole(csv, tmp_path):
    ask("train", csv, "--label", "t", "-o", tmp_path / "m")
    (tmp_path / "p.txt").write_text("before\n")
    (tmp_path / "cut.csv").write_text(TEXT + "1,2\n")
    refused(
        "line 402: 2 values",
        "predict",
        tmp_path / "m",
        tmp_path / "cut.csv",
        "-o",
        tmp_path / "p.txt",
    )
    assert (tmp_path / "p.txt").read_text() == "before\n"
    assert ask("predict", tmp_path / "m", csv, "-o", tmp_path / "p.txt").exit_code == 0
    assert len((tmp_path / "p.txt").read_text().split()) == 400


def test_predictions_on_a_full_disk(csv, tmp_path, monkeypatch):
    ask("train", csv, "--label", "t", "-o", tmp_path / "m")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    line = ("predict", tmp_path / "m", csv, "-o", tmp_path / "p.txt")
    refused("p.txt was not written: No space left on device.*free disk space", *line)
    assert not (tmp_path / "p.txt").exists()


def test_resume_with_another_source(csv, tmp_path):
    model = tmp_path / "m"
    base = ("--label", "t", "-o", model, "--batch-rows", "100")
    ask("train", csv, *base, "--time-limit", "1e-9")
    before = model.read_bytes()
    assert read_model(model).summary["stream"]["rows"] == 100
    (tmp_path / "r.svm").write_text("1 1:2\n-1 1:3\n" * 200)
    (tmp_path / "o.csv").write_text(changed(50, "9,9,9,1"))
    (tmp_path / "s.csv").write_text("\n".join(LINES[:51]) + "\n")
    for says, source, *more in (
        ("started with rows of format csv, not libsvm", "r.svm"),
        ("does not start with the rows with which the run was started", "o.csv"),
        ("does not start with the rows", "s.csv"),
        ("started with --label t, not --label a", "t.csv", "--label", "a"),
    ):
        refused(says, "train", tmp_path / source, *base, "--resume", *more)
        assert model.read_bytes() == before
    assert ask("train", csv, *base, "--resume").exit_code == 0
    assert read_model(model).summary["stream"]["rows"] == 400
    said = ask("train", csv, *base, "--resume")
    assert said.exit_code == 0
    assert "is finished: nothing is left to learn" in said.stderr


@pytest.mark.parametrize("ending", ["csv", "svm", "npy", "npz", "parquet"])
def test_a_source_with_fewer_rows_than_were_learned(tmp_path, ending):
    import pyarrow as pa
    import pyarrow.parquet

    from onlinesvm import open_reader
    from onlinesvm.stream.errors import StreamError

    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        path.write_text(TEXT)
    elif ending == "svm":
        path.write_text("1 1:2\n" * 400)
    elif ending == "parquet":
        pyarrow.parquet.write_table(pa.table({"a": X[:, 0], "t": Y}), path)
    else:
        np.save(path, np.c_[X, Y]) if ending == "npy" else np.savez(path, X=X, y=Y)
    label = {"npy": "-1", "csv": "t", "parquet": "t"}.get(ending)
    reader = open_reader(path, label=label)
    assert [block.n for block in reader.blocks(100, 400)] == []
    with pytest.raises(StreamError, match="has 400 rows, but the run has already learned 500"):
        list(reader.blocks(100, 500))


def test_a_bad_test_file_is_found_before_learning(csv, tmp_path):
    (tmp_path / "bad.csv").write_text("a,b,c\n1,2,3\n")
    line = ("train", csv, "--label", "t", "-o", tmp_path / "m", "--test", tmp_path / "bad.csv")
    refused("bad.csv' has no column 't' for the label", *line)
    assert not (tmp_path / "m").exists()


def test_one_class_only_is_told(csv, tmp_path):
    csv.write_text(re.sub(r",[01]\n", ",5\n", TEXT))
    said = ask("train", csv, "--label", "t", "-o", tmp_path / "m")
    assert said.exit_code == 0
    assert "All rows have the label 5" in said.stderr


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ("0\n" * 399, r"fewer predictions \(399\) than rows"),
        ("0\n" * 401, "more predictions than rows"),
        (
            "0\n" * 7 + "zero\n" + "0\n" * 392,
            "p.txt', line 8: the prediction 'zero' is not a number",
        ),
    ],
)
def test_lines_that_do_not_fit(csv, tmp_path, lines, says):
    (tmp_path / "p.txt").write_text(lines)
    refused(says, "evaluate", "--predictions", tmp_path / "p.txt", csv, "--label", "t")


def test_both_from_standard_input():
    refused("cannot both come from standard input", "evaluate", "--predictions", "-", "-")


def test_a_plot_of_any_name_is_a_png(csv, tmp_path):
    line = ("train", csv, "--label", "t", "-o", tmp_path / "m", "--plot", tmp_path / "curve")
    assert ask(*line).exit_code == 0
    assert (tmp_path / "curve").read_bytes().startswith(b"\x89PNG")


def test_labels_that_all_differ_are_told(csv, tmp_path):
    """A column of ids as the label made a machine for each of them, without a word."""
    rows = "\n".join(f"{k},{line}" for k, line in enumerate(LINES[1:]))
    (tmp_path / "ids.csv").write_text(f"id,{LINES[0]}\n{rows[: rows.index(chr(10) + '60,')]}\n")
    line = ("train", tmp_path / "ids.csv", "--label", "id", "-o", tmp_path / "m")
    said = ask(*line)
    assert said.exit_code == 0, said.output
    assert "60 rows have 60 different labels; check --label." in said.stderr
    assert "--algorithm lasvm-regressor" in said.stderr
    assert "different labels" not in ask(*line, "--algorithm", "lasvm-regressor").stderr
    assert "different labels" not in ask("train", csv, "--label", "t", "-o", tmp_path / "n").stderr


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_the_label_cannot_be_ignored(tmp_path, kind):
    import pandas as pd

    path, table = tmp_path / f"t.{kind}", pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "t": Y})
    if kind == "csv":
        table.to_csv(path, index=False)
    elif kind == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_parquet(path)
    columns = (path, "--label", "t", "--ignore", "t")
    for line in (("train", *columns, "-o", tmp_path / "m"), ("tune", *columns)):
        refused(r"Column 't' is the label and cannot be ignored; leave it out of --ignore", *line)
    assert not (tmp_path / "m").exists()
    assert ask("train", path, "--label", "t", "-o", tmp_path / "m").exit_code == 0
    found = ask("predict", tmp_path / "m", path, "--ignore", "t")  # which reads no labels
    assert found.exit_code == 0, found.output


def test_tune_says_that_columns_are_of_very_different_scale(tmp_path):
    def written(factors, more=""):
        lines = [
            ",".join(f"{v:.6g}" for v in row) + f"{more},{y}" for row, y in zip(X * factors, Y)
        ]
        path = tmp_path / "t.csv"
        path.write_text("\n".join(["a,b,c" + (",d" if more else "") + ",t", *lines]) + "\n")
        return ask("tune", path, "--label", "t", "--C", "1", "--gamma", "1,2", *options)

    options = ()
    said = written([1.0, 1.0, 5000.0])
    assert said.exit_code == 0, said.output
    assert re.search(r"is [45],\d{3} times the smallest.*--standardize", said.stderr), said.stderr
    assert "--standardize" not in written([1.0, 30.0, 0.5]).stderr
    assert "--standardize" not in written([1.0, 1.0, 1.0], ",1e9").stderr  # a constant column
    assert "--standardize" not in written([1.0, 1.0, 1.0], ",red").stderr
    options = ("--standardize",)
    assert "times the smallest" not in written([1.0, 1.0, 5000.0]).stderr
