"""What can be wrong with data files: one sentence that names the file, the line and the remedy."""

import gzip
import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from onlinesvm import LASVMClassifier, fit_stream, open_reader
from onlinesvm.exceptions import MissingDependencyError, StreamError

CSV = "a,b,target\n" + "1,2,x\n3,4,y\n" * 5


def refused(path, says, format=None, **options):
    with pytest.raises(StreamError, match=says) as caught:
        list(open_reader(path, format, **options).blocks())
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


@pytest.mark.parametrize("name", ["no.csv", "no.svm", "no.parquet", "no.npz", "no.npy", "no"])
def test_missing_files(tmp_path, name):
    refused(tmp_path / name, r"There is no file '.*no[^']*'; check", label="target")


def test_folders(tmp_path):
    refused(tmp_path, "has no \\*.parquet file", label="target")
    refused(tmp_path, "is a folder; name a file", "csv", label="target")


@pytest.mark.parametrize("name", ["e.csv", "e.svm", "e.parquet", "e.npy", "e.npz", "e.svm.gz", "e"])
def test_empty_files(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith("gz") else b"")
    refused(tmp_path / name, "is empty", label="target")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a,b,target\n", "header but no rows"),
        (CSV + "1,2\n", "line 12: 2 values, but the header has 3; the line may be incomplete"),
        (CSV + "1,2,x,9\n", "line 12: 4 values, but the header has 3"),
        (CSV + "1,,x\n", "line 12 of .* has no value in column 'b'"),
        (CSV + "1,inf,x\n", "line 12 of .* has inf in column 'b'"),
        (CSV + "1,2,\n", "line 12 of .* has no label in column 'target'"),
        ("a,a,target\n1,2,x\n", "has two columns 'a'"),
        ("1,1,x\n1,2,x\n", "has two columns '1'; .* If the first line is a row, write a line of column names"),
        ("target\nx\n", "no column besides the label"),
        (CSV.replace("target", "label"), "has no column 'target' for the label; its columns are 'a', 'b', 'label'"),
    ],
)  # fmt: skip
def test_tables(tmp_path, text, says):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    assert "bad.csv" in refused(path, says, label="target")


def test_a_table_without_a_word_about_the_label(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    refused(tmp_path / "t.csv", "needs a label column: give --label NAME; its columns are 'a', 'b'")


def late(first, second, n=70_000):
    """Lines of which the last is beyond what decides on the types."""
    return f"a,b,target\n{first * n}{second}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (late("1,22222222222,7\n", "1,zz,7\n"), "line 70002: column 'b' has 'zz' where .*--ignore b"),
        (late("1,22222222222,7\n", "1,2,z\n"), "line 70002 of .* has the label 'z'"),
        (late("1,22222222222,7\n", "1\n"), "line 70002: 1 values, but the header"),
        (late("1,22222222222,7\n", "1,,7\n"), "line 70002 of .* no value in column 'b'"),
    ],
)  # fmt: skip
def test_tables_that_go_wrong_in_mid_stream(tmp_path, text, says):
    (tmp_path / "late.csv").write_text(text)
    refused(tmp_path / "late.csv", says, label="target")


def test_tables_in_another_encoding(tmp_path):
    (tmp_path / "t.csv").write_bytes(CSV.encode() + "1,2,Zürich\n".encode("latin-1"))
    refused(tmp_path / "t.csv", "not UTF-8; save", label="target")
    (tmp_path / "t.csv").write_bytes(CSV.replace("b", "Größe").encode("latin-1"))
    refused(tmp_path / "t.csv", "UTF-8", label="target")
    (tmp_path / "t.csv").write_bytes(CSV.encode("utf-16"))
    refused(tmp_path / "t.csv", "t.csv", label="target")


def test_text_where_numbers_are_needed(tmp_path):
    lines = "".join(f"{k},name{k},1\n" for k in range(2000))
    (tmp_path / "t.csv").write_text("a,b,target\n" + lines)
    refused(
        tmp_path / "t.csv",
        "'b' .* not numeric and has 2,000 different .*--ignore b",
        label="target",
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"1 1:2\nspam 1:2\n", "line 2: the label 'spam' is not a finite number"),
        (b"1 1:2\n1 1:2 2\n", "line 2: '2' is not 'index:value'"),
        (b"1 1:2\n1 1:2 3:\n", "line 2: '3:' is not 'index:value'"),
        (b"1 1:2\n1 x:2\n", "line 2: 'x:2' is not 'index:value'"),
        (b"1 1:2\n\n# comment\n1 2:1 1:2\n", "line 4: feature 1 follows feature 2"),
        (b"1 1:2\n1 0:2\n", "line 2: feature 0, but features are counted from 1.*--zero-based"),
        (b"1 1:nan\n", "line 1: '1:nan' is not 'index:value' with a finite"),
        (b"nan 1:1\n", "line 1: the label 'nan'"),
        (b"1 1:2 4000000000:1\n", "line 1: feature 4000000000, but there are at most"),
        (b"1 1:2 99999999999999999999:1\n", "line 1: feature 99999999999999999999"),
        (b"# nothing\n\n", "has no examples"),
        (b"1,2 1:1\n", "line 1: the label '1,2'"),
        (b"1 1:1 \xff\xfe\n", "line 1: bytes that are not LIBSVM text"),
    ],
)
def test_libsvm_text(tmp_path, text, says):
    path = tmp_path / "bad.svm"
    path.write_bytes(text)
    assert "bad.svm" in refused(path, says)


def test_more_features_than_a_model_has(tmp_path):
    (tmp_path / "t.svm").write_bytes(b"1 1:1\n1 8:1\n")
    refused(tmp_path / "t.svm", "line 2: feature 8, but there are at most 5", n_features=5)


@pytest.mark.parametrize("ending", ["gz", "xz", "bz2"])
def test_compressed_files_that_are_cut(tmp_path, ending):
    import importlib

    module = {"gz": "gzip", "xz": "lzma", "bz2": "bz2"}[ending]
    rng = np.random.default_rng(0)
    text = "".join(f"1 1:{v}\n" for v in rng.random(5000)).encode()
    data = importlib.import_module(module).compress(text)
    (tmp_path / f"t.svm.{ending}").write_bytes(data[: len(data) // 2])
    refused(tmp_path / f"t.svm.{ending}", "damaged or truncated.*write or download it again")
    (tmp_path / f"t.csv.{ending}").write_bytes(data[: len(data) // 2])
    refused(tmp_path / f"t.csv.{ending}", "damaged or truncated", label="target")


def test_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pa.table({"a": [1.0, 2.0], "s": [[1], [2]], "y": [0, 1]}), path)
    refused(path, "'s' .* neither numbers nor text; leave it out", label="y")
    refused(path, "no column 'z' for the label; its columns are 'a', 's', 'y'", label="z")
    path.write_bytes(path.read_bytes()[:-20])
    refused(path, "t.parquet.* not Parquet, or is damaged", label="y")
    refused("-", "cannot be read from standard input", "parquet")
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([0])], ["a", "a", "y"])
    pyarrow.parquet.write_table(twice, path)
    refused(path, "t.parquet' has two columns 'a'; rename one", label="y")


def test_numpy_files(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.zeros((3, 2)), labels=[0, 1, 0], short=[1])
    refused(tmp_path / "a.npz", "no array 'y' for the labels; its arrays are X, labels, short")
    refused(tmp_path / "a.npz", "3 rows, but labels of shape", label="short")
    np.savez(tmp_path / "o.npz", X=np.zeros((3, 2)), y=np.array([{}, 1, 2], object))
    refused(tmp_path / "o.npz", "contains Python objects, which are not read")
    np.savez(tmp_path / "f.npz", X=np.asfortranarray(np.zeros((3, 2))), y=[1, 2, 3])
    refused(tmp_path / "f.npz", "stored by columns")
    np.save(tmp_path / "t.npy", np.zeros((3, 2)))
    refused(tmp_path / "t.npy", "t.npy' needs labels: give --label")
    refused(tmp_path / "t.npy", "has no column 7; its shape is", label="7")
    np.save(tmp_path / "n.npy", np.array([[1.0, np.nan, 0.0], [1, 1, 1]]))
    refused(tmp_path / "n.npy", "row 1 of .* not a finite number", label="2")
    np.save(tmp_path / "o.npy", np.array([[object()]]), allow_pickle=True)
    refused(tmp_path / "o.npy", "not an .npy file, or is damaged", label="0")
    data = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(data[: len(data) // 2])
    refused(tmp_path / "cut.npz", "not an .npz file, or is damaged")
    with zipfile.ZipFile(tmp_path / "t.csv.zip", "w") as archive:
        archive.writestr("t.csv", "a,y\n1,2\n")
    (tmp_path / "t").write_bytes((tmp_path / "t.csv.zip").read_bytes())
    refused(tmp_path / "t", r"a zip archive without NumPy arrays; unpack it, .* \(t.csv\)")


def test_what_cannot_be_known(tmp_path):
    (tmp_path / "what").write_text("hello world\n")
    refused(tmp_path / "what", "format of .*what' cannot be recognised; give it")
    refused(tmp_path / "what", "Unknown format 'xls'", "xls")


def test_one_pass_only_from_what_cannot_be_read_twice():
    source = io.BytesIO(b"1 1:1\n2 1:2\n" * 50)
    with pytest.raises(StreamError, match="can be read only once"):
        fit_stream(LASVMClassifier(), open_reader(source, "libsvm"), epochs=2)


def test_an_error_of_the_estimator_names_the_rows(tmp_path):
    (tmp_path / "t.csv").write_text("a,target\n" + "1e30,1\n-1e30,2\n" * 40)
    with pytest.raises(StreamError, match=r"too large.*--standardize.*line 2 of .*t.csv"):
        fit_stream(LASVMClassifier(), open_reader(tmp_path / "t.csv", label="target"))


def test_without_pyarrow_the_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    import sys

    (tmp_path / "t.csv").write_text(CSV)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        MissingDependencyError, match=r't\.csv.* needs pyarrow.*pip install "pyarrow'
    ):
        open_reader(tmp_path / "t.csv", label="target")
