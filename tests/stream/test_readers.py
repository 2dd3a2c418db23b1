"""Readers: every format gives the same rows, in blocks cut by row numbers, from any row on."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from onlinesvm import open_reader
from onlinesvm.stream.blocks import stacked

N, D = 700, 6


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)).round(3)
    X[rng.random((N, D)) < 0.3] = 0.0
    X[0, D - 1] = 0.5  # LIBSVM text knows its width from the first row on
    return X, rng.integers(3, size=N)


@pytest.fixture(scope="module")
def files(rows, tmp_path_factory):
    """The same rows in every format, with the options that reading them needs."""
    folder = tmp_path_factory.mktemp("rows")
    X, y = rows
    dump_svmlight_file(X, y, str(folder / "plain.svm"), zero_based=False)
    text = (folder / "plain.svm").read_bytes()
    for ending, module in (("gz", gzip), ("bz2", bz2), ("xz", lzma)):
        with module.open(folder / f"packed.svm.{ending}", "wb") as file:
            file.write(text)
    (folder / "packed.svm.zst").write_bytes(pa.Codec("zstd").compress(text).to_pybytes())
    table = pa.table({**{f"c{k}": X[:, k] for k in range(D)}, "target": y})
    pyarrow.csv.write_csv(table, folder / "table.csv")
    options = pyarrow.csv.WriteOptions(delimiter="\t")
    pyarrow.csv.write_csv(table, folder / "table.tsv", options)
    pyarrow.parquet.write_table(table, folder / "table.parquet", row_group_size=150)
    (folder / "parts").mkdir()
    for k in range(3):
        part = table.slice(k * 300, 300)
        pyarrow.parquet.write_table(part, folder / "parts" / f"{k}.parquet")
    np.savez(folder / "both.npz", X=X, y=y)
    np.savez_compressed(folder / "packed.npz", X=X, y=y)
    np.save(folder / "table.npy", np.c_[X, y])
    np.save(folder / "rows.npy", X)
    np.save(folder / "labels.npy", y)
    fields = np.rec.fromarrays([*X.T, y], names=[*(f"c{k}" for k in range(D)), "target"])
    np.save(folder / "fields.npy", np.asarray(fields))
    return folder


FILES = [
    ("plain.svm", {}), ("packed.svm.gz", {}), ("packed.svm.bz2", {}), ("packed.svm.xz", {}),
    ("packed.svm.zst", {}), ("table.csv", {"label": "target"}), ("table.tsv", {"label": "target"}),
    ("table.parquet", {"label": "target"}), ("parts", {"label": "target"}), ("both.npz", {}),
    ("packed.npz", {}), ("table.npy", {"label": "-1"}), ("rows.npy", {"label": "labels.npy"}),
    ("fields.npy", {"label": "target"}),
]  # fmt: skip

every_file = pytest.mark.parametrize(("name", "options"), FILES, ids=[name for name, _ in FILES])


def opened(files, name, options):
    options = dict(options)
    if options.get("label", "").endswith(".npy"):
        options["label"] = str(files / options["label"])
    return open_reader(files / name, **options)


def whole(blocks):
    block = stacked(list(blocks))
    return block.X.toarray() if sparse.issparse(block.X) else block.X, block.y


@every_file
def test_every_format_gives_the_same_rows(rows, files, name, options):
    X, y = whole(opened(files, name, options).blocks(64))
    np.testing.assert_array_equal(X, rows[0])
    np.testing.assert_array_equal(y, rows[1])


@every_file
def test_blocks_are_cut_by_row_numbers_from_any_row_on(rows, files, name, options):
    reader = opened(files, name, options)
    sizes = [(block.first, block.n) for block in reader.blocks(100)]
    assert sizes == [(k, 100) for k in range(0, N, 100)]
    for skip in (0, 1, 300, 650, N):  # several passes of one reader
        blocks = list(reader.blocks(100, skip))
        assert [b.first for b in blocks] == list(range(skip, N, 100))
        if blocks:
            X, y = whole(blocks)
            np.testing.assert_array_equal(X, rows[0][skip:])
            np.testing.assert_array_equal(y, rows[1][skip:])


@pytest.mark.parametrize("digits", [19, 30, 400, 5000])
def test_labels_with_more_digits_than_a_number_keeps_are_names(tmp_path, digits):
    first, second = "1" + "0" * (digits - 1), "1" + "0" * (digits - 2) + "1"
    (tmp_path / "t.csv").write_text(f"a,target\n1,{first}\n2,{second}\n3,7\n")
    _, y = whole(open_reader(tmp_path / "t.csv", label="target").blocks(64))
    assert y.tolist() == [first, second, "7"]


@pytest.mark.parametrize("name", ["plain.svm", "packed.svm.gz", "table.csv", "table.tsv"])
def test_text_from_an_open_file_and_its_format_by_content(rows, files, name):
    for given in (None, "libsvm" if "svm" in name else name[-3:]):
        with open(files / name, "rb") as file:
            label = None if "svm" in name else "target"
            X, _ = whole(open_reader(file, given, label=label).blocks(128))
        np.testing.assert_array_equal(X, rows[0])


def test_formats_by_content_of_files_without_an_ending(files, tmp_path):
    for name, kind in (("plain.svm", "libsvm"), ("table.csv", "csv"), ("table.parquet", "parquet"),
                       ("both.npz", "npz"), ("rows.npy", "npy")):  # fmt: skip
        path = tmp_path / kind
        path.write_bytes((files / name).read_bytes())
        assert open_reader(path, label="target").kind == kind


@pytest.mark.parametrize("name", ["table.csv", "table.parquet", "table.npy", "both.npz"])
def test_labels_may_be_absent_where_none_are_needed(rows, files, tmp_path, name):
    reader = open_reader(files / name, needs_label=False)
    block = next(reader.blocks(10))
    if name.startswith("table"):
        assert block.X.shape == (10, D + 1)
        assert block.y is None
    else:
        assert block.X.shape == (10, D)


def test_memory_does_not_grow_with_the_file(tmp_path, monkeypatch):
    """Peak of allocations while reading: that of a few blocks and pieces, not of the file."""
    import tracemalloc

    from onlinesvm.stream import arrays, lines

    monkeypatch.setattr(arrays, "PIECE_BYTES", 1 << 14)
    monkeypatch.setattr(lines, "PIECE", 1 << 12)
    np.savez(tmp_path / "a.npz", X=np.zeros((20_000, 20)), y=np.zeros(20_000, int))
    (tmp_path / "a.svm").write_bytes(b"1 1:0.25 2:0.5 7:1.125\n" * 40_000)
    for name in ("a.npz", "a.svm"):
        reader = open_reader(tmp_path / name)
        next(reader.blocks(64))  # imports what it needs
        tracemalloc.start()
        assert sum(block.n for block in reader.blocks(64)) in (20_000, 40_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1 << 19, name


# -- LIBSVM text ---------------------------------------------------------------------------------


def read(text, **options):
    return whole(open_reader(io.BytesIO(text), "libsvm", **options).blocks(2))


def test_text_as_others_write_it():
    """Comments, blank lines, trailing blanks, carriage returns, plus signs, query numbers."""
    text = b"# made by hand\n+1 1:1 3:-2.5e-1 # one\r\n\n-1 qid:7 2:4 \n   \n2\n1.5 1:0"
    X, y = read(text)
    np.testing.assert_array_equal(X, [[1, 0, -0.25], [0, 4, 0], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(y, [1, -1, 2, 1.5])


def test_the_same_as_scikit_learns_reader(data_dir):
    path = data_dir / "a1a.xz"
    with lzma.open(path) as file:
        X, y = load_svmlight_file(file)
    found = stacked(list(open_reader(path).blocks(333)))
    assert (found.X != X).nnz == 0
    np.testing.assert_array_equal(found.y, y)


def test_width_grows_with_the_rows_and_depends_on_nothing_else():
    text = b"1 2:1\n1 1:1\n1 5:1\n1 1:1\n"
    widths = [b.X.shape[1] for b in open_reader(io.BytesIO(text), "libsvm").blocks(1)]
    assert widths == [2, 2, 5, 5]
    widths = [b.X.shape[1] for b in open_reader(io.BytesIO(text), "libsvm", n_features=9).blocks(3)]
    assert widths == [9, 9]


def test_features_that_count_from_zero():
    X, _ = read(b"1 0:3 1:4\n", zero_based=True)
    np.testing.assert_array_equal(X, [[3, 4]])


# -- categories ------------------------------------------------------------------------------------


TABLE = b"age,town,paid,target\n" + b"31,Ulm,true,yes\n42,Bonn,false,no\n18,Ulm,true,no\n" * 10


def table(text, **options):
    return open_reader(io.BytesIO(text), "csv", label="target", **options)


def test_categories_become_columns_and_later_ones_share_one():
    late = TABLE + b"77,Oslo,false,yes\n,Ulm,true,no\n"
    reader = table(late, missing=-1.0)
    # The decision falls on the first megabyte; here it is made from the first rows alone.
    first = next(table(TABLE).blocks(30))
    schema = table(TABLE)
    list(schema.blocks())
    reader = open_reader(io.BytesIO(late), "csv", schema=schema.schema | {"missing": -1.0})
    X, y = whole(reader.blocks(8))
    assert reader.feature_names() == ["age", "town=Bonn", "town=Ulm", "town=other", "paid"]
    np.testing.assert_array_equal(X[0], [31, 0, 1, 0, 1])
    np.testing.assert_array_equal(X[-2], [77, 0, 0, 1, 0])
    np.testing.assert_array_equal(X[-1], [-1, 0, 1, 0, 1])
    assert y[-2] == "yes"
    assert first.X.shape[1] == X.shape[1]


def test_hashed_categories_need_no_list():
    X, _ = whole(table(TABLE + b"1,Oslo,true,no\n", encode="hash", hash_size=16).blocks())
    assert X.shape[1] == 1 + 16 + 1
    np.testing.assert_array_equal(X[:, 1:17].sum(axis=1), 1.0)
    assert (X[0] == X[2]).sum() == 17  # all but the age


def test_many_categories_make_sparse_rows():
    lines = "".join(f"c{k % 600},{k}.5,{k % 2}\n" for k in range(900))
    block = next(table(b"name,v,target\n" + lines.encode()).blocks(900))
    assert sparse.issparse(block.X)
    assert block.X.shape == (900, 602)
    np.testing.assert_array_equal(block.X.toarray()[:, -1], np.arange(900) + 0.5)
    np.testing.assert_array_equal(block.X.toarray()[:, :-1].sum(axis=1), 1.0)


def test_columns_are_found_by_name_in_another_order():
    schema = table(TABLE)
    list(schema.blocks())
    other = b"extra,paid,age,town\n9,true,31,Ulm\n"
    reader = open_reader(io.BytesIO(other), "csv", schema=schema.schema, needs_label=False)
    X, y = whole(reader.blocks())
    np.testing.assert_array_equal(X, [[31, 0, 1, 0, 1]])
    assert y is None


def test_numbers_that_are_categories_and_columns_to_leave_out():
    text = b"id,plz,target\n1,10115,0\n2,89073,1\n"
    X, _ = whole(table(text, categorical=["plz"], ignore=["id"]).blocks())
    np.testing.assert_array_equal(X, [[1, 0, 0], [0, 1, 0]])


@pytest.mark.parametrize(
    ("labels", "kind"), [(["1", "-1"], "i"), (["1.5", "2"], "f"), (["x", "1"], "U"), (["true", "false"], "U")]
)  # fmt: skip
def test_labels_keep_their_kind(labels, kind):
    text = "v,target\n" + "".join(f"{k},{label}\n" for k, label in enumerate(labels))
    _, y = whole(table(text.encode()).blocks())
    assert y.dtype.kind == kind
    assert [str(v) for v in y.tolist()] == [str(float(v)) if kind == "f" else v for v in labels]


def test_a_folder_by_class_has_its_label_in_the_names(tmp_path):
    for label in ("cat", "dog"):
        (tmp_path / f"kind={label}").mkdir()
        rows = pa.table({"a": [1.0, 2.0]})
        pyarrow.parquet.write_table(rows, tmp_path / f"kind={label}" / "0.parquet")
    X, y = whole(open_reader(tmp_path, label="kind").blocks())
    assert y.tolist() == ["cat", "cat", "dog", "dog"]
    np.testing.assert_array_equal(X.ravel(), [1, 2, 1, 2])
