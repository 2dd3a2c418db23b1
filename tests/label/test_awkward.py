"""Sources as people have them: odd files, odd names, odd images, few items and many classes."""

import io
import json
import os
import sys
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from labelling import ME, answer, open_digits, state
from PIL import Image

import onlinesvm
from onlinesvm.label.errors import LabelError, RefusedError
from onlinesvm.label.exporting import FORMATS, write_labels
from onlinesvm.label.images import decoded
from onlinesvm.label.importing import import_labels, read_labels
from onlinesvm.label.modelling import predictions, save_final_model
from onlinesvm.label.opening import Settings, open_session
from onlinesvm.label.record import checked_name
from onlinesvm.label.server import reduced
from onlinesvm.label.teaching import predicted

NAMES = [
    "quo\"ted, 'and' commas",
    "👨\u200d👩\u200d👧 family",
    "שלום, עולם",
    "می\u200cخواهم",
    "a/b\\c:d*?",
    "..",
    "con",
    " % 25 ",
    "ein=Nam;e\u0301",
    "-1",
    "NA",
]


def opened(path, **settings):
    return open_session(Settings(str(path), path.with_name("labels.db"), **settings))


def texts_of(path, content, **settings):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = opened(path, **({"text": "text"} | settings))
    return found.session.source.texts.to_pylist(), found


# -- tables ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "lines",
    [
        ["NA", "null", "nan", "hello", "N/A"],
        ["007", "7", "7.0"],
        ["2020-01-01 10:00", "2020-01-02"],
        ["true", "False"],
        ["a\x00b", "c"],
        ["  two  spaces ", "two spaces"],
    ],
    ids=lambda lines: lines[0][:5],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_texts_are_what_is_written(tmp_path, lines, ending):
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        pq.write_table(pa.table({"text": lines, "n": range(len(lines))}), path)
        found = opened(path, text="text").session.source.texts.to_pylist()
    elif ending == "jsonl":
        found, _ = texts_of(path, "".join(json.dumps({"text": t, "n": 1}) + "\n" for t in lines))
    else:
        found, _ = texts_of(path, "n,text\n" + "".join(f'1,"{t}"\n' for t in lines))
    assert found == lines


def test_a_byte_order_mark_is_not_part_of_a_name(tmp_path):
    found, _ = texts_of(tmp_path / "t.csv", "\ufefftext,n\nhello world,1\nfoo,2\n")
    assert found == ["hello world", "foo"]
    (tmp_path / "t.jsonl").write_bytes('\ufeff{"text": "a b"}\n{"text": "c"}\n'.encode())
    session = open_session(Settings(str(tmp_path / "t.jsonl"), tmp_path / "j.db", "text")).session
    assert session.source.texts.to_pylist() == ["a b", "c"]
    (tmp_path / "n.csv").write_bytes("\ufeffheight,n\n1,1\n3,2\n4,5\n".encode())
    session = open_session(Settings(str(tmp_path / "n.csv"), tmp_path / "n.db")).session
    assert session.question(ME)["item"]["cells"][0][0] == "height"


def test_other_columns_may_hold_anything(tmp_path):
    """Only the column of texts is read: one that changes its type half-way is no error."""
    rows = [{"text": f"text {k}", "n": k if k < 5 else f"n{k}", "more": [k]} for k in range(10)]
    found, _ = texts_of(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert found == [row["text"] for row in rows]


def test_empty_texts_and_gaps_are_listed(tmp_path):
    rows = [{"a": 1}, {"text": "x y"}, {"text": None}, {"text": "  "}, {"text": "z"}]
    found, o = texts_of(tmp_path / "t.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert found == ["x y", "z"]
    assert o.messages == ["3 items are left out (row 1: no text; row 3: no text; row 4: no text)."]
    assert o.session.question(ME)["item"]["name"] in ("row 2", "row 5")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.jsonl", b'{"text": ["a", "b"]}\n{"text": ["c"]}\n', "cannot be read as jsonl"),
        ("t.jsonl", b'{"body": "a"}\n{"body": "b", "n": 1}\n', "no column 'text'; it has body, n"),
        ("t.json", b'[{"text": "a"}]', "cannot be read as jsonl"),
        ("t.csv", "text\nmüll\n".encode("latin-1"), "cannot be read as csv"),
        ("t.csv", b"text,text\na,b\nc,d\n", "several columns 'text'"),
        ("t.csv", b'text\n""\n""\n', "has no text"),
    ],
)  # fmt: skip
def test_tables_that_cannot_be_used_are_one_sentence(tmp_path, name, content, said):
    with pytest.raises(LabelError, match=said):
        texts_of(tmp_path / name, content)
    assert not (tmp_path / "labels.db").exists()


@pytest.mark.parametrize(
    "column",
    [pa.array([["a"], ["b"]]), pa.array([b"a\xff", b"b"]), pa.nulls(3)],
    ids=["lists", "bytes", "nothing"],
)
def test_columns_that_are_no_text_are_one_sentence(tmp_path, column):
    pq.write_table(pa.table({"text": column}), tmp_path / "t.parquet")
    with pytest.raises(LabelError):
        opened(tmp_path / "t.parquet", text="text")


def test_several_columns_of_one_name_are_refused_in_tables_of_numbers(tmp_path):
    (tmp_path / "n.csv").write_text("a,a\n1,2\n3,4\n")
    with pytest.raises(LabelError, match="several columns 'a'"):
        opened(tmp_path / "n.csv")


# -- texts without words ---------------------------------------------------------------------


def test_texts_of_signs_alone_can_be_labelled_and_told_apart(tmp_path):
    lines = [sign * k for k in range(1, 30) for sign in ("!", "?", "😀 ")]
    _, o = texts_of(tmp_path / "t.csv", "text\n" + "".join(f"{t}\n" for t in lines))
    answer(o.session, lambda i: o.session.source.text(i)[0], 12)
    right = [row["predicted"] == row["text"][0] for row in predictions(o.session)]
    assert np.mean(right) > 0.95


def test_words_that_are_there_once_are_no_error(tmp_path):
    lines = [f"w{i}x{i * 7}" for i in range(1200)]
    found, o = texts_of(tmp_path / "t.csv", "text\n" + "\n".join(lines) + "\n")
    assert len(found) == 1200
    assert not o.session.question(ME)["done"]


def test_texts_without_spaces_are_told_apart_and_their_model_takes_texts(tmp_path):
    """Whole sentences without a space, as in Chinese: long ones, of which words say nothing."""
    rng = np.random.default_rng(0)
    signs = {"好": [chr(0x4E00 + k) for k in range(40)], "坏": [chr(0x5E00 + k) for k in range(40)]}
    truth = rng.choice(list(signs), 120)
    common = [chr(0x6E00 + k) for k in range(300)]
    lines = ["".join([*rng.choice(common, 220), *rng.choice(signs[t], 90)]) for t in truth]
    _, o = texts_of(tmp_path / "t.csv", "text\n" + "\n".join(lines) + "\n")
    answer(o.session, lambda i: truth[i], 30)
    rows = list(predictions(o.session))
    assert np.mean([row["predicted"] == t for row, t in zip(rows, truth)]) > 0.9
    save_final_model(o.session, tmp_path / "m.safetensors")
    model = onlinesvm.load_model(tmp_path / "m.safetensors")
    assert model.predict(lines[:50]).tolist() == [row["predicted"] for row in rows[:50]]


def test_texts_of_unknown_words_are_no_copies_of_one_another(tmp_path):
    """With 1,000 texts, words that are there once are not kept: rows of such texts are all zero."""
    rng = np.random.default_rng(0)
    words = [f"word{k}" for k in range(300)]
    lines = [" ".join(rng.choice(words, 80)) for _ in range(1100)]
    for k in range(5):
        lines[k * 200] = " ".join(f"only{k}x{j}" for j in range(80))
    _, o = texts_of(tmp_path / "t.csv", "text\n" + "\n".join(lines) + "\n")
    assert o.session.pool.n_groups == 1100


def test_100_000_equal_texts_are_one_question(tmp_path):
    _, o = texts_of(tmp_path / "t.csv", "text\n" + "the same again\n" * 100_000 + "another one\n")
    session = o.session
    assert session.pool.n_groups == 2
    asked = answer(session, lambda i: session.source.text(i).split()[-1], 2)
    assert {session.source.text(i) for i in asked} == {"the same again", "another one"}
    assert session.question(ME)["done"]
    assert write_labels("csv", tmp_path / "l.csv", session.record, session.pool) == 100_001


# -- few items, one class, many classes ------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2])
def test_one_item_and_two(tmp_path, n):
    _, o = texts_of(tmp_path / "t.csv", "text\n" + "".join(f"text {k}\n" for k in range(n)))
    session = o.session
    with session.reading() as overview:
        assert len(overview.map()["items"]) == n
    answer(session, lambda i: f"class {i}", n)
    assert session.question(ME)["done"]
    assert session.grid(ME, "class 0") == []
    if n == 1:
        with pytest.raises(LabelError, match="at least two classes; label more"):
            next(predictions(session))
    else:
        assert len(list(predictions(session))) == 2


def test_a_single_class_is_searched_for_by_what_is_alike(tmp_path):
    """Before there is an answer of another class, find all asks about items like those found."""
    session = open_digits(tmp_path)
    from sklearn.datasets import load_digits

    sixes = np.flatnonzero(load_digits().target == 6)
    session.answer(ME, int(sixes[0]), "label", "six", "first-key")
    asked = answer(session, lambda i: "six", 5, first=100, mode="find", label="six")
    assert set(asked) <= set(sixes.tolist())
    assert session.panel(ME)["accuracy"] is None or session.panel(ME)["labelled"] == 6


def test_300_classes(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8)).repeat(4, axis=0) + rng.normal(scale=0.05, size=(1200, 8))
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    lines = "text\n" + "".join(f"item {k}\n" for k in range(1200))
    names = [f"class {k}" for k in range(300)]
    _, o = texts_of(tmp_path / "t.csv", lines, features=tmp_path / "x.npy", classes=names)
    session = o.session
    rows = ({"row": 4 * k + 1, "label": names[k]} for k in range(300))
    import_labels(rows, session.pool, session.journal, "ann", "file")
    found = session.question(ME)
    assert {each["count"] for each in session.panel(ME)["classes"]} == {1}
    assert len(found["belief"]["shares"]) == 300
    right = predicted(session.learner, np.arange(1200)) == np.arange(1200) // 4
    assert right.mean() > 0.5
    assert len(session.look_ahead(ME)) >= 1


# -- names -----------------------------------------------------------------------------------


def test_names_that_look_alike_are_one_class():
    assert checked_name("cafe\u0301") == checked_name("café")
    for name in ("x\u202eevil", "a\u2066b", "\u200d", "\ue000", "a\x00"):
        with pytest.raises(RefusedError):
            checked_name(name)


@pytest.mark.parametrize("format_", FORMATS)
def test_names_of_all_kinds_come_back_from_every_format(tmp_path, format_):
    folder = tmp_path / "pictures with # and spaces" / "one" / "two"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    files = [f"{k:02d} #%41 ü.png" for k in range(50)]
    for name in files:
        Image.fromarray(rng.integers(0, 255, (9, 9, 3), dtype=np.uint8)).save(folder / name)
    session = opened(folder.parent.parent).session
    assert session.source.ids == sorted(f"one/two/{name}" for name in files)
    for k, name in enumerate(NAMES):
        session.answer(ME, 3 * k, "label", name, f"key-of-{k:03d}", note='a "note"\nof two, lines')
    path = tmp_path / {"folders": "out", "labelstudio": "l.json"}.get(format_, f"l.{format_}")
    write_labels(format_, path, session.record, session.pool)
    other = open_session(Settings(str(folder.parent.parent), tmp_path / "other.db"))
    import_labels(
        read_labels(path, format_), other.session.pool, other.session.journal, "ann", "file"
    )
    again = open_session(Settings(str(folder.parent.parent), tmp_path / "other.db")).session
    mine, theirs = state(session), state(again)
    assert dict(theirs["labels"]) == dict(mine["labels"])
    if format_ != "folders":
        for name in ("labels", "given", "classes", "open", "asked", "values"):
            assert mine[name] == theirs[name], name


def test_folder_names_that_are_too_long_write_nothing(tmp_path):
    (tmp_path / "images").mkdir()
    Image.new("RGB", (5, 5)).save(tmp_path / "images" / "a.png")
    session = opened(tmp_path / "images").session
    session.answer(ME, 0, "label", "ü" * 200, "first-key")
    with pytest.raises(LabelError, match="more than 255 bytes"):
        write_labels("folders", tmp_path / "out", session.record, session.pool)
    assert not (tmp_path / "out").exists()


def test_columns_called_like_ours_do_not_replace_them(tmp_path):
    """A table with its own id, label and row: the export has the answer, and both come back."""
    rng = np.random.default_rng(0)
    lines = ["id,label,row,x,predicted"]
    lines += [f"{1000 + k},unknown,{9 * k},{rng.normal():.4f},p" for k in range(30)]
    (tmp_path / "n.csv").write_text("\n".join(lines) + "\n")
    session = opened(tmp_path / "n.csv").session
    answer(session, lambda i: "odd" if i % 2 else "even", 12)
    for format_ in ("csv", "jsonl", "parquet", "labelstudio"):
        path = tmp_path / f"l.{format_}"
        write_labels(format_, path, session.record, session.pool)
        rows = list(read_labels(path, format_))
        assert {row["label"] for row in rows} == {"odd", "even"}
        assert all(int(row["source_row"]) == 9 * (int(row["row"]) - 1) for row in rows)
        other = open_session(Settings(str(tmp_path / "n.csv"), tmp_path / f"{format_}.db"))
        assert import_labels(iter(rows), other.session.pool, other.session.journal, "ann", "f") == (
            len(rows),
            0,
        )
    row = next(predictions(session))
    assert row["predicted"] in ("odd", "even")
    assert row["source_predicted"] == "p"


def test_parquet_has_the_types_of_the_source(tmp_path, monkeypatch):
    """The first rows may be empty where later ones are not."""
    from onlinesvm.label import exporting

    monkeypatch.setattr(exporting, "BATCH", 3)
    values = [None] * 10 + [k + 0.5 for k in range(10)]
    pq.write_table(pa.table({"x": range(20), "y": values}), tmp_path / "n.parquet")
    session = opened(tmp_path / "n.parquet").session
    for i in range(20):
        session.answer(ME, i, "label", "ab"[i % 2], f"key-of-{i:03d}", change=True)
    write_labels("parquet", tmp_path / "l.parquet", session.record, session.pool)
    found = pq.read_table(tmp_path / "l.parquet")
    assert found["y"].to_pylist() == values
    assert found.schema.field("y").type == pa.float64()


def test_hugging_face_reads_the_parquet(tmp_path):
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    from labelling import write_texts

    labels = write_texts(tmp_path / "t.csv", 60)
    session = opened(tmp_path / "t.csv", text="body").session
    answer(session, lambda i: labels[i], 20)
    write_labels("parquet", tmp_path / "l.parquet", session.record, session.pool)
    found = datasets.load_dataset(
        "parquet",
        data_files=str(tmp_path / "l.parquet"),
        cache_dir=str(tmp_path / "cache"),
        split="train",
    )
    assert list(found["label"]) == [labels[row - 1] for row in found["row"]]
    assert found.features["label"].dtype == "string"
    encoded = found.class_encode_column("label")
    assert encoded.features["label"].names == sorted(set(found["label"]))


# -- images ----------------------------------------------------------------------------------


def as_file(image, format_="PNG", **settings):
    out = io.BytesIO()
    image.save(out, format_, **settings)
    return out.getvalue()


def test_16_bit_images_are_not_white():
    grey = np.linspace(0, 65535, 64 * 64).reshape(64, 64)
    found = np.asarray(decoded(as_file(Image.fromarray(grey.astype(np.uint16)))), float)
    plain = np.asarray(decoded(as_file(Image.fromarray((grey / 256).astype(np.uint8)))), float)
    assert np.abs(found - plain).max() <= 1


def test_small_images_are_as_the_browser_shows_large_ones():
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (400, 600, 3), dtype=np.uint8)
    turned = Image.Exif()
    turned[0x112] = 6
    small, media = reduced(as_file(Image.fromarray(noise), "JPEG", exif=turned), "image/jpeg")
    assert media == "image/jpeg"
    assert Image.open(io.BytesIO(small)).size == (133, 200)
    clear = np.dstack([noise, np.zeros((400, 600), np.uint8)])
    small, _ = reduced(as_file(Image.fromarray(clear)), "image/png")
    assert np.asarray(Image.open(io.BytesIO(small))).min() > 250
    deep = rng.integers(20_000, 30_000, (400, 600)).astype(np.uint16)
    small, _ = reduced(as_file(Image.fromarray(deep)), "image/png")
    assert 80 < np.asarray(Image.open(io.BytesIO(small))).mean() < 120


def test_images_of_all_kinds_become_items(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (40, 60, 3), dtype=np.uint8)
    photo = as_file(Image.fromarray(noise), "JPEG")
    second = Image.new("RGB", (20, 20), "blue")
    files = {
        "pixel.png": as_file(Image.new("RGB", (1, 1), "red")),
        "wide.png": as_file(Image.new("L", (3000, 1), 7)),
        "grey-alpha.png": as_file(Image.fromarray(noise[..., :2].copy())),
        "deep.png": as_file(Image.fromarray(noise[..., 0].astype(np.uint16) * 256)),
        "print.jpg": as_file(Image.fromarray(noise).convert("CMYK"), "JPEG"),
        "palette.png": as_file(Image.fromarray(noise).convert("P")),
        "bits.png": as_file(Image.fromarray(noise).convert("1")),
        "moves.webp": as_file(
            Image.new("RGB", (20, 20), "red"), "WEBP", save_all=True, append_images=[second]
        ),
        "CAPITALS.JPG": photo,
        "cut.jpg": photo[: len(photo) // 2],
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    found = opened(folder)
    assert set(found.session.source.ids) == set(files) - {"cut.jpg"}
    assert found.messages[0].startswith("1 items are left out (cut.jpg: cannot be decoded")
    assert np.isfinite(found.session.prepared.X).all()
    for i in range(len(found.session.source)):
        data, media = found.session.source.image(i)
        assert reduced(data + bytes(30_000), media)[1] == "image/jpeg"


@pytest.mark.skipif(sys.platform != "linux", reason="needs file names that are no UTF-8")
def test_file_names_that_are_no_text_are_left_out(tmp_path):
    folder = tmp_path / "images"
    folder.mkdir()
    Image.new("RGB", (5, 5), "red").save(folder / "a.png")
    os.rename(folder / "a.png", os.fsencode(folder) + b"/b\xff.png")
    Image.new("RGB", (5, 5), "blue").save(folder / "c.png")
    found = opened(folder)
    assert found.session.source.ids == ["c.png"]
    assert "its name is not UTF-8" in found.messages[0]


# -- places ----------------------------------------------------------------------------------


@pytest.fixture
def nobody(tmp_path):
    """A folder that this process may read and not write, for as long as the test lasts."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions of folders are those of POSIX")
    # All modules are imported before anything is closed: Python's own files may be closed as well.
    import onlinesvm.cli.label
    import onlinesvm.label.running  # noqa: F401

    source = tmp_path / "rows.csv"
    source.write_text("a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(40)))
    opened_once = open_session(Settings(source, tmp_path / "warm.db"))
    opened_once.session.journal.close()
    folder = tmp_path / "closed"
    folder.mkdir()
    yield folder
    folder.chmod(0o755)


@contextmanager
def without_permission(folder):
    """Nothing can be written to the folder, by root either: it is somebody else meanwhile."""
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    outer = [place for place in folder.parents if place.stat().st_mode & 0o011 != 0o011]
    for place in outer if is_root else []:
        place.chmod(place.stat().st_mode | 0o011)
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        for place in outer if is_root else []:
            place.chmod(place.stat().st_mode & ~0o011)


def test_a_folder_that_cannot_be_written_is_one_sentence(nobody):
    from click.testing import CliRunner

    from onlinesvm.cli import main

    words = ["label", str(nobody.parent / "rows.csv"), "-o", str(nobody / "a.db"), "--no-open"]
    with without_permission(nobody):
        result = CliRunner().invoke(main, words, prog_name="onlinesvm")
    assert result.exit_code == 2, result.output
    assert "Nothing can be written to" in " ".join(result.output.split())
    assert len(result.output.splitlines()) < 8
    assert list(nobody.iterdir()) == []


def test_a_database_in_a_closed_folder_is_not_touched(nobody):
    """SQLite needs the folder too: answers that are there can be seen, and none is lost or added."""
    settings = Settings(nobody.parent / "rows.csv", nobody / "a.db")
    session = open_session(settings).session
    answer(session, lambda i: "a", 3)
    session.journal.close()
    with without_permission(nobody), pytest.raises(LabelError, match="cannot be"):
        open_session(settings)
    assert len(open_session(settings).session.record.labels) == 3
