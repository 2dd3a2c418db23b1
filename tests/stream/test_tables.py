"""Columns of every kind, gaps, JSON lines: the features that pandas has, in every format."""

import datetime
import gzip
import io
import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from awkward_tables import check
from scipy import sparse

from onlinesvm import open_reader
from onlinesvm.stream.blocks import stacked
from onlinesvm.stream.errors import StreamError


def whole(reader, size=64):
    block = stacked(list(reader.blocks(size)))
    return block.X.toarray() if sparse.issparse(block.X) else block.X, block.y


def csv(text, **options):
    return open_reader(io.BytesIO(text.encode()), "csv", label="y", **options)


def lines(rows, **options):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    return open_reader(io.BytesIO(text.encode()), "jsonl", label="y", **options)


def one_column(values, **options):
    """A CSV of one column; labels in turn."""
    return csv("c,y\n" + "".join(f"{v},{k % 2}\n" for k, v in enumerate(values)), **options)


@pytest.mark.parametrize("first", range(0, 50, 10))
def test_fifty_tables_as_pandas_and_svc_have_them(first):
    for seed in range(first, first + 10):
        check(seed)


# -- categories and moments -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["1.50", "2.70"], ["c=1.5", "c=2.7", "c=other"]),
        (["1.0", "2.0"], ["c=1", "c=2", "c=other"]),
        (["1.5", "1.50"], ["c=1.5", "c=other"]),
        (["02139", "03301"], ["c=02139", "c=03301", "c=other"]),
        (["True", "False"], ["c=false", "c=true", "c=other"]),
        (["9007199254740993", "9007199254740992"], ["c=9007199254740992", "c=9007199254740993", "c=other"]),
        (["2020-01-01", "2021-06-01"], ["c=2020-01-01", "c=2021-06-01", "c=other"]),
    ],
)  # fmt: skip
def test_no_category_of_the_first_rows_is_other(values, names):
    reader = one_column(values * 10, categorical=["c"])
    X, _ = whole(reader)
    assert reader.feature_names() == names
    assert not X[:, -1].any()
    np.testing.assert_array_equal(X[:, :-1].sum(axis=1), 1.0)
    assert len(np.unique(X[:2], axis=0)) == len(names) - 1


def test_digits_after_a_leading_zero_are_names_unless_told():
    values = ["02139", "10001", "00501"] * 5
    reader = one_column(values)
    whole(reader)
    assert reader.feature_names() == ["c=00501", "c=02139", "c=10001", "c=other"]
    X, _ = whole(one_column(values, numeric=["c"]))
    np.testing.assert_array_equal(X[:3, 0], [2139, 10001, 501])
    X, _ = whole(one_column(["0.5", "0", "10"] * 5))  # plain numbers
    np.testing.assert_array_equal(X[:3, 0], [0.5, 0, 10])


MOMENTS = ["2024-02-29T23:30:00Z", "2021-06-06T12:00:00+02:00", "1969-12-31T00:00:00.250Z"]


@pytest.mark.parametrize(
    "values",
    [
        MOMENTS,
        ["2024-02-29 23:30", "2021-06-06 10:00:00", "1969-12-31 00:00:00.250"],
        [
            "2024-02-29T23:30:00.000000000",
            "2021-06-06T10:00:00+00",
            "1969-12-31T00:00:00.250000000Z",
        ],
    ],
)
def test_moments_are_their_parts_in_utc(values, tmp_path):
    at = pd.to_datetime(pd.Series(MOMENTS), utc=True, format="ISO8601")
    expected = np.column_stack(
        [at.dt.year, at.dt.month, at.dt.day, at.dt.day_of_week, (at - at.dt.normalize()) / pd.Timedelta("1h")]
    )  # fmt: skip
    table = pa.table({"c": pa.array(at.dt.tz_convert("Asia/Tokyo")), "y": [0, 1, 0]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    rows = [{"c": v, "y": k % 2} for k, v in enumerate(values)]
    for reader in (one_column(values), lines(rows), open_reader(tmp_path / "t.parquet", label="y")):
        X, _ = whole(reader)
        np.testing.assert_allclose(X, expected, rtol=1e-12)
        assert reader.feature_names() == [
            f"c.{p}" for p in ("year", "month", "day", "weekday", "hour")
        ]


def test_times_are_hours_and_a_day_that_does_not_exist_is_told():
    X, _ = whole(one_column(["08:30", "9:15", "17:45:36.5"]))
    np.testing.assert_allclose(X[:, 0], [8.5, 9.25, 17.76013888888889])
    with pytest.raises(
        StreamError, match=r"line 4 of .* '2021-02-30' in column 'c', where most rows have dates"
    ):
        whole(one_column(["2021-01-30", "2021-03-30", "2021-02-30"]))  # fmt: skip
    reader = one_column(["2021-01-30", "2021-03-30"])
    whole(reader)
    later = open_reader(
        io.BytesIO(b"c\n2021-01-30\nsoon\n"), "csv", schema=reader.schema, needs_label=False
    )
    with pytest.raises(
        StreamError, match=r"line 3 of .* 'soon' in column 'c' where the rows before have dates"
    ):
        whole(later)  # fmt: skip


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1.0], [2.0]]),
        pa.array([{"a": [1]}, {"a": [2]}]),
        pa.array([[("k", 1)], [("l", 2)]], pa.map_(pa.string(), pa.int64())),
        pa.array([b"\xff\xfe", b"\x00"], pa.binary()),
        pa.array([b"\xff\xfe", b"\x00\x01"], pa.binary(2)),
    ],
    ids=["list", "list in structure", "map", "bytes", "fixed bytes"],
)
def test_what_cannot_be_used_is_told_in_a_sentence(values, tmp_path):
    pyarrow.parquet.write_table(pa.table({"c": values, "y": [0, 1]}), tmp_path / "t.parquet")
    with pytest.raises(
        StreamError, match=r"Column 'c.*' of .*neither numbers nor text; leave it out"
    ):
        whole(open_reader(tmp_path / "t.parquet", label="y"))


def test_a_model_of_one_format_reads_the_others(tmp_path):
    """Dates, truth values, categories that are numbers, numbers: learned from CSV, read elsewhere."""
    text = "d,t,k,v,y\n" + "2021-01-30,true,1.50,3,0\n2022-12-05,false,2.0,4.5,1\n" * 4
    reader = csv(text, categorical=["k"])
    expected, _ = whole(reader)
    days = [datetime.date(2021, 1, 30), datetime.date(2022, 12, 5)] * 4
    columns = {"v": [3.0, 4.5] * 4, "k": [1.5, 2.0] * 4, "t": [True, False] * 4}
    table = pa.table({**columns, "d": pa.array(days, pa.date64())})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    rows = [{"d": str(d)} | {n: v[k] for n, v in columns.items()} for k, d in enumerate(days)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("t.parquet", "t.jsonl"):
        X, _ = whole(open_reader(tmp_path / name, schema=reader.schema, needs_label=False))
        np.testing.assert_array_equal(X, expected)


@pytest.mark.parametrize(
    ("values", "spelled"),
    [
        ([True, False], [("True", "False"), ("true", "false"), ("TRUE", "FALSE")]),
        ([1, 0], [("1", "0"), ("1.0", "0.0"), (" 1", "0")]),
        ([2**53 + 1, 0], [(str(2**53 + 1), "0")]),
    ],
)
def test_labels_are_the_same_whatever_the_format_and_the_spelling(values, spelled, tmp_path):
    """pandas writes True, JSON true, spreadsheets TRUE: a model of one said that all of the others is wrong."""
    table = pa.table({"a": [0.5] * 8, "y": values * 4})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    rows = [{"a": 0.5, "y": value} for value in values * 4]
    texts = ["a,y\n" + "".join(f"0.5,{word}\n" for word in pair * 4) for pair in spelled]
    first = csv(texts[0])
    _, expected = whole(first)
    assert len(set(expected.tolist())) == 2
    assert set(first.schema["label_kind"].split()) <= {"truth", "integer"}
    for schema in (first.schema, None):
        others = [
            open_reader(tmp_path / "t.parquet", label="y", schema=schema),
            lines(rows, schema=schema),
        ]
        others += [csv(text, schema=schema) for text in texts if schema or "." not in text]
        for reader in others:
            _, y = whole(reader)
            assert y.dtype.kind == expected.dtype.kind
            np.testing.assert_array_equal(y, expected)


def test_a_third_label_beside_truth_values():
    head = "a,y\n" + "1,True\n2,False\n" * 2
    assert whole(csv(head + "3,perhaps\n"))[1].tolist()[2:] == ["True", "False", "perhaps"]
    first = csv(head)
    whole(first)
    assert whole(csv("a,y\n3,perhaps\n4,TRUE\n", schema=first.schema))[1].tolist() == [
        "perhaps",
        "true",
    ]
    with pytest.raises(StreamError, match=r"line 6 of .* has no label in column 'y'"):
        whole(csv(head + "3,NA\n"))


@pytest.mark.parametrize(
    "values",
    [
        pa.array([[1], [2]]),
        pa.array([b"\xff\xfe", b"\x00"], pa.binary()),
        pa.array([{"a": [1]}] * 2),
    ],
    ids=["list", "bytes", "structure"],
)
def test_labels_that_are_neither_numbers_nor_text(values, tmp_path):
    pyarrow.parquet.write_table(pa.table({"a": [1, 2], "y": values}), tmp_path / "t.parquet")
    label = "y.a" if pa.types.is_struct(values.type) else "y"
    says = rf"row 1 of .* has a label of type '.*' in column '{label}', neither a number nor text"
    first = csv("a,y\n1,0\n2,1\n")
    whole(first)
    for schema in (None, first.schema | {"label": label}):
        with pytest.raises(StreamError, match=says):
            whole(open_reader(tmp_path / "t.parquet", label=label, schema=schema))


def test_names_in_advice_can_be_copied_into_a_shell():
    with pytest.raises(StreamError, match=r"--ignore 'home town'\)"):
        whole(csv("home town,y\n1,0\n,1\n"))
    with pytest.raises(
        StreamError, match=r"--ignore 'home town'\), or .*--categorical 'home town'\)"
    ):
        whole(csv("home town,y\n1,0\n2,1\n3,1\nx,1\n"))
    with pytest.raises(StreamError, match=r"--ignore ''\)"):
        whole(csv("a,y,\n1,0,\n2,1,\n"))


@pytest.mark.parametrize(
    "word", ["\N{ARABIC-INDIC DIGIT THREE}", "\N{FULLWIDTH DIGIT ONE}", "1_000"]
)
def test_digits_that_pyarrow_does_not_read_make_no_categories_of_numbers(word):
    """float reads them, PyArrow does not: all numbers of the column were categories, without a word."""
    with pytest.raises(
        StreamError, match=r"line 6 of .* in column 'c', where most rows have numbers"
    ):
        whole(one_column([1, 2, 3, 4, word]))
    reader = one_column([1, 2, 1000, 4, word] * 2, categorical=["c"])
    whole(reader)
    assert f"c={word}" in reader.feature_names()


def test_small_files_of_a_folder_decide_together(tmp_path):
    for k, town in enumerate(("Ulm", "Bonn", "Oslo")):
        table = pa.table({"town": [town] * 3, "v": [1.0, 2.0, 3.0], "y": [0, 1, 0]})
        pyarrow.parquet.write_table(table, tmp_path / f"{k}.parquet", row_group_size=2)
    reader = open_reader(tmp_path, label="y")
    whole(reader)
    assert reader.feature_names() == ["town=Bonn", "town=Oslo", "town=Ulm", "town=other", "v"]


# -- gaps -----------------------------------------------------------------------------------------


GAPS = "a,d,town,y\n1,2021-01-30,Ulm,0\n,,,1\n5,2021-01-30,,0\n1,2023-01-30,Bonn,1\n"


@pytest.mark.parametrize(
    ("missing", "a", "year"),
    [("mean", 7 / 3, 2021 + 2 / 3), ("median", 1, 2021), ("most_frequent", 1, 2021), (9.0, 9, 9)],
)
def test_gaps_are_filled_from_the_first_rows_and_marked(missing, a, year):
    reader = csv(GAPS, missing=missing, missing_indicator=True)
    X, _ = whole(reader)
    names = reader.feature_names()
    assert "a=missing" in names
    assert "d=missing" in names
    assert "town=" in names  # a category of its own
    row = dict(zip(names, X[1]))
    assert row["a"] == pytest.approx(a)
    assert row["d.year"] == pytest.approx(year)
    assert (row["a=missing"], row["d=missing"], row["town="]) == (1, 1, 1)
    assert dict(zip(names, X[0]))["a=missing"] == 0
    # The same numbers in rows that come later, whatever they hold.
    later = io.BytesIO(b"town,d,a\nUlm,2030-01-01,100\n,,\n")
    again, _ = whole(
        open_reader(later, "csv", schema=json.loads(json.dumps(reader.schema)), needs_label=False)
    )
    assert dict(zip(names, again[1])) == row


def test_a_column_without_any_value_has_no_mean():
    with pytest.raises(StreamError, match=r"'b', and neither have the first rows.*--ignore b"):
        whole(csv("a,b,y\n1,,0\n2,,1\n", missing="mean"))
    with pytest.raises(StreamError, match=r"line 2 of .* no value in column 'b'.*--missing"):
        whole(csv("a,b,y\n1,,0\n2,,1\n"))
    X, _ = whole(csv("a,b,y\n1,,0\n2,,1\n", missing=0.0))
    np.testing.assert_array_equal(X, [[1, 0], [2, 0]])


def test_not_a_number_is_a_gap(tmp_path):
    table = pa.table({"a": np.array([1.0, np.nan, 3.0]), "y": [0, 1, 0]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    X, _ = whole(open_reader(tmp_path / "t.parquet", label="y", missing="mean"))
    np.testing.assert_array_equal(X[:, 0], [1, 2, 3])


def test_options_that_contradict():
    with pytest.raises(StreamError, match="missing is a number or one of mean, median"):
        one_column(["1"], missing="mode")
    with pytest.raises(StreamError, match="'c' cannot be categorical and numeric"):
        one_column(["1"], categorical=["c"], numeric=["c"])


def test_what_is_said_about_columns_is_not_ignored_elsewhere(tmp_path):
    np.save(tmp_path / "t.npy", np.eye(3))
    for option in ({"ignore": ("a",)}, {"missing": "mean"}, {"encode": "hash"}):
        with pytest.raises(StreamError, match=r"is for tables \(csv.*not for npy; leave it out"):
            open_reader(tmp_path / "t.npy", label="0", **option)


# -- quoted line breaks ---------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_quoted_line_break_anywhere(tmp_path, end, monkeypatch):
    """However the text is cut: the rows of pandas, and line numbers of an editor."""
    from onlinesvm.stream import lines as module

    monkeypatch.setattr(module, "PIECE", 61)
    row = f'1,"x ""y"",{end}z",0{end}2,5" pipe,1{end}{end}3,"",0{end}'
    path = tmp_path / "t.csv"
    for pad in range(12):
        path.write_bytes((f"a,c,y{end}3,{'p' * pad},1{end}" + row * 30).encode())
        frame = pd.read_csv(path, keep_default_na=False)
        reader = open_reader(path, label="y", encode="hash", hash_size=4096)
        X, y = whole(reader)
        np.testing.assert_array_equal(X[:, 0], frame["a"])
        np.testing.assert_array_equal(y, frame["y"])
        assert len(np.unique(X[1:, 1:], axis=0)) == frame["c"][1:].nunique() == 3
    path.write_bytes((f"a,c,y{end}" + row * 30 + f"x,w,0{end}").encode())
    with pytest.raises(StreamError, match=r"line 152"):
        whole(open_reader(path, label="y", ignore=["c"]))


@pytest.mark.parametrize("piece", [10, 61, 1 << 20])
def test_a_header_or_a_first_row_longer_than_the_head(tmp_path, piece, monkeypatch):
    """A hundred thousand columns have names of more than a megabyte."""
    from onlinesvm.stream import lines as module

    monkeypatch.setattr(module, "PIECE", piece)
    names = [f"feature {k}" for k in range(40)]
    path = tmp_path / "t.csv"
    for text in (
        ",".join([*names, "y"]) + "\n\n" + "\n".join("1," * 40 + label for label in "abba") + "\n",
        'x,"note",y\n1,' + "r" * 500 + ",a\n" + "2,s,b\n" * 3,
        'x,"note",y\n1,' + "r" * 500 + ",a",
    ):
        path.write_text(text)
        frame = pd.read_csv(path)
        X, y = whole(open_reader(path, label="y"))
        assert y.tolist() == frame["y"].tolist()
        np.testing.assert_array_equal(X[:, 0], frame.iloc[:, 0])


def test_a_quotation_mark_that_is_never_closed(tmp_path):
    (tmp_path / "t.csv").write_text('a,c,y\n1,x,0\n2,"z,1\n3,w,0\n')
    with pytest.raises(StreamError, match=r"line 3: a quotation mark is not closed"):
        whole(open_reader(tmp_path / "t.csv", label="y"))


# -- JSON lines -----------------------------------------------------------------------------------


ROWS = [
    {"age": 31, "home": {"town": "Ulm", "geo": {"lat": 48.4}}, "y": "yes"},
    {"y": "no", "home": {"geo": {"lat": 50.7}, "town": "Bonn"}, "age": 42},
    {"home": {"town": "Ulm", "geo": {}}, "y": "no", "age": 18.5},
]


@pytest.mark.parametrize("name", ["t.jsonl", "t.ndjson", "t.jsonl.gz", "t", None])
def test_json_lines_by_name_and_by_content(tmp_path, name):
    text = "".join(json.dumps(row) + "\n\n" for row in ROWS).encode()
    data = gzip.compress(text) if name and name.endswith("gz") else text
    source = io.BytesIO(data) if name is None else tmp_path / name
    if name is not None:
        source.write_bytes(data)
    reader = open_reader(source, label="y", missing=-1.0)
    assert reader.kind == "jsonl"
    X, y = whole(reader)
    assert reader.feature_names() == [
        "age", "home.geo.lat", "home.town=Bonn", "home.town=Ulm", "home.town=other"
    ]  # fmt: skip
    np.testing.assert_array_equal(
        X, [[31, 48.4, 0, 1, 0], [42, 50.7, 1, 0, 0], [18.5, -1, 0, 1, 0]]
    )
    assert y.tolist() == ["yes", "no", "no"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"a": 1, "y": 0', r"line 4: not JSON: .* at character 16; correct the line"),
        ('{"a": "x", "y": 0}', r"line 4 of .* 'x' in column 'a', where most rows have numbers"),
        ('{"a": [1], "y": 0}', r"Column 'a' of .* contains lists.*--ignore a"),
        ('{"a": {"b": 1}, "a.b": 2, "y": 0}', r"line 4: two values for 'a.b'"),
        ('{"a": 1}', r"line 4 of .* has no label in column 'y'"),
        ('{"y": 0}', r"line 4 of .* has no value in column 'a'.*--missing"),
        ('{"a": 1e999, "y": 0}', r"line 4 of .* has inf in column 'a'"),
        ("[1, 2]", r"line 4: a list where an object is needed"),
        ('{"a": 1, "a": 2, "y": 0}', r"line 4: two values for 'a'; rename one"),
        ('{"b": {"a": 1, "a": 2}, "a": 1, "y": 0}', r"line 4: two values for 'a'; rename one"),
        ('{"a": "\\ud83d", "y": 0}', r"line 4: an escape such as .ud83d without its second half"),
        ('{"a": 1, "y": "\\ud83d"}', r"line 4: an escape such as .ud83d without its second half"),
        ('{"\\uD83D": 1, "y": 0}', r"line 4: an escape such as .ud83d without its second half"),
        ('{"a": 1, "y": [0]}', r"The label 'y' of .* is a list; a label is one number or text"),
        ('{"a": "\xff"}'.encode("latin-1"), r"line 4: text that is not UTF-8"),
    ],
)
def test_a_broken_line_is_named(line, says):
    good = b'{"a": 1, "y": 0}\n'
    line = line if isinstance(line, bytes) else line.encode()
    text = good + b"\n" + good + line + b"\n" + good * 3
    with pytest.raises(StreamError, match=says):
        whole(open_reader(io.BytesIO(text), label="y"))


def test_one_array_is_told_from_lines():
    with pytest.raises(StreamError, match=r"one array: write one object per line"):
        whole(open_reader(io.BytesIO(b'[{"a": 1},\n{"a": 2}]\n'), label="a"))


# -- pipes ----------------------------------------------------------------------------------------


PIPED = {
    "csv": ("a,t,y\n", "{a},w{a},{y}\n"),
    "jsonl": ("", '{{"a": {a}, "t": "w{a}", "y": {y}}}\n'),
    "libsvm": ("", "{y} 1:{a} 2:1\n"),
}


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("kind", PIPED)
def test_rows_of_a_pipe_are_there_as_soon_as_they_were_sent(kind, named):
    """The pipe stays open; the first block decides on the columns, however it is sent."""
    header, form = PIPED[kind]
    rows = [form.format(a=a, y=a % 2) for a in range(1, 9)]
    label = None if kind == "libsvm" else "y"
    found = []
    for cut in (1, 3, 8):
        end, start = os.pipe()
        with (
            ThreadPoolExecutor(1) as pool,
            os.fdopen(end, "rb") as file,
            os.fdopen(start, "wb", 0) as sent,
        ):
            sent.write((header + "".join(rows[:cut])).encode())
            if cut < 3:
                sent.write("".join(rows[cut:]).encode())
            opened = pool.submit(open_reader, file, kind if named else None, label=label)
            blocks = opened.result(60).blocks(3)
            block = pool.submit(next, blocks).result(60)
            assert block.n == 3
            found.append(block.X.toarray() if sparse.issparse(block.X) else block.X)
    assert found[0].shape[1] == (2 if kind == "libsvm" else 5)
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


# -- digits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet", "npy", "libsvm"])
def test_features_far_from_zero_keep_their_digits(tmp_path, format):
    X = 1.7e9 + np.random.default_rng(0).normal(size=(50, 2))
    y = np.arange(50) % 2
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=y)
    path, label = tmp_path / f"t.{format}", "y"
    if format == "csv":
        frame.to_csv(path, index=False)
    elif format == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dict("records")))
    elif format == "parquet":
        frame.to_parquet(path)
    elif format == "npy":
        np.save(path, frame.to_numpy())
        label = "-1"
    else:
        path.write_text("".join(f"{k} 1:{a!r} 2:{b!r}\n" for (a, b), k in zip(X.tolist(), y)))
    found, _ = whole(open_reader(path, label=label))
    np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize("gap", ["NA", "nan", "NULL", "#N/A"])
@pytest.mark.parametrize("labels", [["0", "1"], ["0.5", "2"]])
def test_a_missing_label_among_numbers_is_no_class(gap, labels):
    """pandas reads these words as missing, and SVC refuses them."""
    rows = [f"{k},{labels[k % 2]}" for k in range(9)] + [f"9,{gap}"]
    with pytest.raises(StreamError, match=r"line 11 of .* has no label in column 'y'"):
        whole(csv("a,y\n" + "\n".join(rows)))
    late = "\n".join(rows[:9] * 30 + [f"9,{gap}"])
    with pytest.raises(StreamError, match=r"line 272 of .* has no label in column 'y'"):
        whole(csv("a,y\n" + late))


def test_a_name_of_a_class_may_look_like_a_gap():
    _, y = whole(csv("a,y\n1,NA\n2,DE\n3,NA"))
    assert y.tolist() == ["NA", "DE", "NA"]
    _, y = whole(csv("a,y\n1,NA\n2,1\n3,NA"))
    assert y.tolist() == ["NA", "1", "NA"]


@pytest.mark.parametrize(
    "values", [["1,5", "2,25", "-3,5"], ["1,5", "2", ""], ["1,234", "12,345.5", "1,234,567"]]
)
def test_numbers_with_commas_are_no_categories(values):
    quoted = [f'"{value}"' for value in values] * 5
    with pytest.raises(StreamError, match=r"line 2 of .* has '1,\d+' in column 'c': write numbers"):
        whole(one_column(quoted))
    reader = one_column(quoted, categorical=["c"])
    whole(reader)
    assert "c=1,5" in reader.feature_names() or "c=1,234" in reader.feature_names()


@pytest.mark.parametrize(
    "values",
    [["$1.50", "-$2.25", "$ 3"], ["1.5%", "2 %", "7"], ["1.50 €", "2\u00a0€", ""],
     ["1'234.5", "12'345'678", "3"], ["$1,234.50", "$12", "-3"], ["1\u202f234", "12\u00a0345", "7"]],
)  # fmt: skip
def test_numbers_with_marks_are_no_categories(values):
    """Each price would be a category, and those of later rows another one."""
    quoted = [f'"{value}"' for value in values] * 5
    with pytest.raises(StreamError, match=r"line 2 of .* in column 'c': write numbers with a"):
        whole(one_column(quoted))
    reader = one_column(quoted, categorical=["c"])
    whole(reader)
    assert f"c={values[1]}" in reader.feature_names()


@pytest.mark.parametrize(
    "form",
    ["%d.%m.%Y", "%m/%d/%Y", "%d-%m-%Y", "%m/%d/%y", "%Y/%m/%d", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y",
     "%d.%m.%Y %H:%M", "%m/%d/%Y %I:%M:%S %p", "%Y-%m-%d %H:%M:%S UTC"],
)  # fmt: skip
def test_dates_that_are_not_iso_8601_are_no_categories(form):
    """All days of later rows would be the same category, that of the others."""
    days = pd.date_range("2021-01-01", periods=15, freq="31D").strftime(form)
    quoted = [f'"{day}"' for day in days]
    with pytest.raises(StreamError, match=r"line 2 of .* in column 'c': write dates as 2021-03-31"):
        whole(one_column(quoted))
    reader = one_column(quoted, categorical=["c"])
    whole(reader)
    assert f"c={days[0]}" in reader.feature_names()


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["1.2.3", "1.2.4", "2.0.1"], ["c=1.2.3", "c=1.2.4", "c=2.0.1"]),
        (["10.0.0.1", "10.0.0.2", "x"], ["c=10.0.0.1", "c=10.0.0.2", "c=x"]),
        (["1-2-3", "7-12-9", "3-3-3"], ["c=1-2-3", "c=3-3-3", "c=7-12-9"]),
        (["1,5", "a,b", "1, 2"], ["c=1, 2", "c=1,5", "c=a,b"]),
        (["$1", "$x", "3"], ["c=$1", "c=$x", "c=3"]),
        (["3 m", "4 m", "5 m"], ["c=3 m", "c=4 m", "c=5 m"]),
        (["%", "$", "€"], ["c=$", "c=%", "c=€"]),
        (["1'2", "3'4", "5'6"], ["c=1'2", "c=3'4", "c=5'6"]),
    ],
)
def test_words_with_commas_or_marks_are_categories(values, names):
    reader = one_column([f'"{value}"' for value in values] * 5)
    whole(reader)
    assert reader.feature_names() == [*names, "c=other"]


def test_the_delimiter_is_suggested_wherever_the_header_is_one_name():
    given = csv("a,y\n1,0\n2,1\n")
    whole(given)
    other = open_reader(io.BytesIO(b"a;y\n1;0\n"), "csv", schema=given.schema, needs_label=False)
    for reader in (other, csv("a;y\n1,5;0\n2,5;1\n")):
        with pytest.raises(StreamError, match="Give --delimiter ';'"):
            whole(reader)


def test_numbers_of_which_some_are_text_in_json_are_numbers():
    """As pandas reads them; each would be a category of its own otherwise."""
    values = [0.5, "1.5", 2, "NA", "3", None, 4]
    X, _ = whole(lines([{"c": v, "y": k % 2} for k, v in enumerate(values * 5)], missing=-1.0))
    frame = pd.read_json(
        io.StringIO("".join(json.dumps({"c": v}) + "\n" for v in values)), lines=True
    )
    expected = pd.to_numeric(frame["c"], errors="coerce").fillna(-1.0)
    np.testing.assert_array_equal(X[:7, 0], expected)
    later = lines([{"c": 0.5, "y": 0}] * 64 + [{"c": "7", "y": 1}])
    np.testing.assert_array_equal(whole(later)[0][-1], [7.0])
    words = lines([{"c": v, "y": k % 2} for k, v in enumerate([1, "a", "b", 2.5, "c"])])
    whole(words)
    assert words.feature_names() == ["c=1", "c=2.5", "c=a", "c=b", "c=c", "c=other"]
