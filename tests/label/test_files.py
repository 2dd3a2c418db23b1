"""Sources, features, and labels in and out: round trips and bad input."""

import json
import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from labelling import (
    DIGITS,
    ME,
    YOU,
    answer,
    digit,
    open_digits,
    state,
    texts,
    write_images,
    write_texts,
)
from PIL import Image

import onlinesvm
from onlinesvm.cli import main
from onlinesvm.label.errors import LabelError
from onlinesvm.label.exporting import FORMATS, label_rows, write_labels
from onlinesvm.label.features import cache_path, prepare
from onlinesvm.label.importing import import_labels, read_labels
from onlinesvm.label.modelling import predictions, save_final_model
from onlinesvm.label.near_copies import equal_groups, near_groups
from onlinesvm.label.opening import Settings, open_session
from onlinesvm.label.session import Session
from onlinesvm.label.sources import MOST_PIXELS, open_source

ENDINGS = {
    "csv": "a.csv",
    "jsonl": "a.jsonl",
    "parquet": "a.parquet",
    "labelstudio": "a.json",
    "folders": "out",
}


def invoke(*words):
    return CliRunner().invoke(main, ["label", *map(str, words)], prog_name="onlinesvm")


def opened(source, database, **settings):
    return open_session(Settings(str(source), database, **settings))


# -- round trips -----------------------------------------------------------------------------


def worked_on(session, truth):
    """A session with everything in it that an export has."""
    answer(session, truth, 25)
    number = session.question(ME)["item"]["number"]
    session.answer(ME, number, "aside", None, "aside-key", note='blurred; "quoted", and\nmore')
    number = session.question(YOU)["item"]["number"]
    session.answer(YOU, number, "label", truth(number), "noted-key", note="sure")
    session.change_classes(ME, "rename", truth(0), "ein=Nam/e, ü", "rename-key")
    return session


@pytest.mark.parametrize("format_", FORMATS)
def test_exports_come_back(tmp_path, format_):
    labels = write_images(tmp_path / "images")
    source = tmp_path / "images"
    session = worked_on(opened(source, tmp_path / "a.db").session, lambda i: labels[f"{i:03d}.png"])
    path = tmp_path / ENDINGS[format_]
    n = write_labels(format_, path, session.record, session.pool)
    other = opened(source, tmp_path / "b.db").session
    import_labels(read_labels(path, format_), other.pool, other.journal, "ann", "file")
    other = opened(source, tmp_path / "b.db").session
    mine, theirs = state(session), state(other)
    if format_ == "folders":  # has the labels and nothing else
        assert n == 26
        assert dict(mine["labels"]) == dict(theirs["labels"])
        return
    assert n == 27
    for name in ("labels", "aside", "given", "asked", "open", "classes"):
        assert mine[name] == theirs[name], name
    np.testing.assert_allclose(mine["values"], theirs["values"], atol=1e-12)


def test_an_export_of_an_import_is_the_same_file(tmp_path):
    labels = write_texts(tmp_path / "t.csv")
    session = worked_on(
        opened(tmp_path / "t.csv", tmp_path / "a.db", text="body").session, lambda i: labels[i]
    )
    write_labels("csv", tmp_path / "1.csv", session.record, session.pool)
    other = opened(tmp_path / "t.csv", tmp_path / "b.db", text="body").session
    import_labels(read_labels(tmp_path / "1.csv", "csv"), other.pool, other.journal, "x", "1.csv")
    other = opened(tmp_path / "t.csv", tmp_path / "b.db", text="body").session
    write_labels("csv", tmp_path / "2.csv", other.record, other.pool)
    assert (tmp_path / "1.csv").read_text() == (tmp_path / "2.csv").read_text()


def test_label_studio_has_choices(tmp_path):
    session = open_digits(tmp_path)
    answer(session, digit, 5)
    write_labels("labelstudio", tmp_path / "a.json", session.record, session.pool)
    tasks = json.loads((tmp_path / "a.json").read_text())
    result = tasks[0]["annotations"][0]["result"][0]
    assert result["type"] == "choices"
    assert result["value"]["choices"] == [
        session.record.name(next(iter(session.record.labels.values())))
    ]


def test_copies_are_exported_with_the_label(tmp_path):
    labels = write_images(tmp_path / "images", 20)
    shutil.copy(tmp_path / "images" / "000.png", tmp_path / "images" / "zzz.png")
    session = opened(tmp_path / "images", tmp_path / "a.db").session
    assert session.pool.n_groups == 20
    session.answer(ME, 0, "label", labels["000.png"], "first-key")
    write_labels("jsonl", tmp_path / "a.jsonl", session.record, session.pool)
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [(row["id"], row["label"], row["copy_of"]) for row in rows] == [
        ("000.png", labels["000.png"], None),
        ("zzz.png", labels["000.png"], "000.png"),
    ]


def test_tables_without_ids_are_recognised_by_their_text(tmp_path):
    labels = write_texts(tmp_path / "t.csv", 50)
    found, _ = texts(50)
    session = opened(tmp_path / "t.csv", tmp_path / "a.db", text="body").session
    rows = [{"text": t, "label": label} for t, label in zip(found[:20], labels)]
    n, unknown = import_labels(
        iter([*rows, {"text": "?", "label": "x"}]), session.pool, session.journal, "ann", "f"
    )
    assert (n, unknown) == (20, 1)


@pytest.mark.parametrize("row", [{"id": "digit-0001"}, {"id": "digit-0001", "label": "x" * 999}])
def test_a_bad_row_imports_nothing(tmp_path, row):
    session = open_digits(tmp_path)
    good = {"id": "digit-0002", "label": "1"}
    with pytest.raises(LabelError, match="row 2 of f"):
        import_labels(iter([good, row]), session.pool, session.journal, "ann", "f")
    assert session.journal.last() == 0


def test_predictions_and_model(tmp_path):
    labels = write_texts(tmp_path / "t.csv")
    session = opened(tmp_path / "t.csv", tmp_path / "a.db", text="body").session
    with pytest.raises(LabelError, match="two classes"):
        save_final_model(session, tmp_path / "m.safetensors")
    answer(session, lambda i: labels[i], 60)
    rows = list(predictions(session))
    assert np.mean([row["predicted"] == label for row, label in zip(rows, labels)]) > 0.9
    shares = np.array([[row[f"p_{name}"] for name in sorted(set(labels))] for row in rows])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-4)
    save_final_model(session, tmp_path / "m.safetensors")
    model = onlinesvm.load_model(tmp_path / "m.safetensors")
    found, _ = texts(400)
    assert model.predict(found).tolist() == [row["predicted"] for row in rows]


# -- the commands ----------------------------------------------------------------------------


def test_export_and_import_without_the_page(tmp_path):
    labels = write_texts(tmp_path / "t.csv")
    session = opened(tmp_path / "t.csv", tmp_path / "a.db", text="body").session
    answer(session, lambda i: labels[i], 30)
    session.journal.close()
    for name in ("l.csv", "l.jsonl", "l.parquet", "l.json"):
        assert invoke("export", tmp_path / "a.db", "-o", tmp_path / name).exit_code == 0
    result = invoke("export", tmp_path / "a.db", "-o", tmp_path / "p.csv", "--what", "predictions")
    assert result.exit_code == 0, result.output
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 401
    assert (
        invoke(
            "export", tmp_path / "a.db", "-o", tmp_path / "m.safetensors", "--what", "model"
        ).exit_code
        == 0
    )
    result = invoke(
        "import",
        tmp_path / "new.db",
        tmp_path / "l.csv",
        "--source",
        tmp_path / "t.csv",
        "--text",
        "body",
    )
    assert result.exit_code == 0, result.output
    assert "30 labels" in result.output
    invoke("export", tmp_path / "new.db", "-o", tmp_path / "again.csv")
    assert (tmp_path / "l.csv").read_text() == (tmp_path / "again.csv").read_text()
    only = invoke("export", tmp_path / "a.db", "-o", tmp_path / "only.csv", "--only-labels")
    assert only.exit_code == 0
    assert "refund" in (tmp_path / "only.csv").read_text()


def test_labels_are_exported_without_features_or_a_model(tmp_path, monkeypatch):
    """A million texts have gigabytes of them, and labels need none."""
    labels = write_texts(tmp_path / "t.csv")
    session = opened(tmp_path / "t.csv", tmp_path / "a.db", text="body").session
    answer(session, lambda i: labels[i], 30)
    wanted = list(label_rows(session.record, session.pool))
    session.journal.close()
    loaded, load = [], np.lib.npyio.NpzFile.__getitem__
    monkeypatch.setattr(
        np.lib.npyio.NpzFile,
        "__getitem__",
        lambda self, name: loaded.append(name) or load(self, name),
    )
    monkeypatch.setattr(Session, "__init__", None)
    assert invoke("export", tmp_path / "a.db", "-o", tmp_path / "l.jsonl").exit_code == 0
    assert "group" in loaded
    assert not {"X", "data", "indices"} & set(loaded)
    found = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text().splitlines()]
    assert found == wanted
    other = invoke("export", tmp_path / "a.db", "-o", tmp_path / "o.csv", "--source", tmp_path)
    assert other.exit_code != 0
    assert not (tmp_path / "o.csv").exists()


def test_the_page_has_help_of_its_own():
    result = invoke("--help")
    assert result.exit_code == 0
    assert "--guidelines" in result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{dir}/none", "-o", "{dir}/a.db"], "There is no file or folder"),
        (["{dir}/empty", "-o", "{dir}/a.db"], "has no PNG, JPEG or WebP"),
        (["{dir}/t.csv", "--text", "boddy", "-o", "{dir}/a.db"], "no column 'boddy'; it has number, body"),
        (["{dir}/t.csv", "-o", "{dir}/a.db"], "--text body"),
        (["{dir}/t.csv", "--text", "body", "-o", "{dir}/digits.db"], "another source (digits, not text)"),
        (["{dir}/other.csv", "--text", "body", "-o", "{dir}/texts.db"], "another source"),
        (["{dir}/t.csv", "--text", "body", "-o", "{dir}/t.csv"], "read by this command"),
        (["{dir}/t.csv", "--text", "body", "-o", "{dir}/nowhere/a.db"], "There is no folder"),
        (["{dir}/header.csv", "--text", "body", "-o", "{dir}/a.db"], "has no rows"),
        (["{dir}/t.csv", "--text", "body", "--features", "{dir}/short.npy", "-o", "{dir}/a.db"], "has shape (3, 2)"),
        (["{dir}/t.txt", "-o", "{dir}/a.db"], "neither a folder of images nor a table"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_touches_nothing(tmp_path, words, said):
    (tmp_path / "empty").mkdir()
    write_texts(tmp_path / "t.csv", 20)
    write_texts(tmp_path / "other.csv", 20, seed=5)
    (tmp_path / "t.txt").write_text("x")
    (tmp_path / "header.csv").write_text("number,body\n")
    np.save(tmp_path / "short.npy", np.zeros((3, 2)))
    open_session(Settings(None, tmp_path / "digits.db")).session.journal.close()
    opened(tmp_path / "t.csv", tmp_path / "texts.db", text="body").session.journal.close()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    result = invoke(*[word.format(dir=tmp_path) for word in words], "--no-open")
    assert result.exit_code == 2, result.output
    assert said in " ".join(result.output.split())
    assert len(result.output.splitlines()) < 8
    after = {
        p.name: p.read_bytes()
        for p in tmp_path.iterdir()
        if p.is_file() and "features" not in p.name
    }
    assert after == {name: data for name, data in before.items() if "features" not in name}


# -- sources that change ---------------------------------------------------------------------


def test_rows_may_move_come_and_go(tmp_path):
    labels = write_texts(tmp_path / "t.csv", 100)
    session = opened(tmp_path / "t.csv", tmp_path / "a.db", text="body").session
    answered = [session.source.text(i) for i in answer(session, lambda i: labels[i], 20)]
    by_text = dict(zip(texts(100)[0], labels))
    session.journal.close()
    lines = (tmp_path / "t.csv").read_text().splitlines()
    gone = next(line for line in lines if answered[0] in line)
    kept = [line for line in lines[1:] if line != gone][::-1]
    (tmp_path / "t.csv").write_text(
        "\n".join([lines[0], *kept, "100,a new text about nothing"]) + "\n"
    )
    again = opened(tmp_path / "t.csv", tmp_path / "a.db", text="body")
    assert "1 new items were added to the pool." in again.messages
    assert any("1 answered items are no longer" in message for message in again.messages)
    session = again.session
    assert len(session.record.labels) == 20
    assert len(session.learner.taught) == 19
    for number, label in zip(session.learner.taught.tolist(), session.learner.labels):
        assert by_text[session.source.text(number)] == session.record.name(label)


def test_images_that_cannot_be_read_are_listed_and_left_out(tmp_path):
    write_images(tmp_path / "images", 10)
    (tmp_path / "images" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"x" * 50)
    (tmp_path / "images" / "text.jpg").write_text("<svg onload='alert(1)'/>")
    (tmp_path / "images" / "link.png").symlink_to("/etc/hostname")
    huge = Image.new("1", (60_000, 1000))
    huge.save(tmp_path / "images" / "huge.png")
    assert MOST_PIXELS < 60_000 * 1000
    found = opened(tmp_path / "images", tmp_path / "a.db")
    assert len(found.session.source) == 10
    message = next(m for m in found.messages if "left out" in m)
    assert message.startswith("4 items")
    for name in ("broken.png", "text.jpg", "link.png", "huge.png"):
        assert name in message
    again = opened(tmp_path / "images", tmp_path / "a.db")  # from what was kept
    assert again.messages == found.messages


def test_features_are_kept_and_made_anew_when_the_source_changes(tmp_path, monkeypatch):
    write_images(tmp_path / "images", 10)
    stages = []
    source = open_source(str(tmp_path / "images"))
    first = prepare(source, tmp_path / "a.db", None, lambda *a: stages.append(a[0]))
    assert "reading images" in stages
    stages.clear()
    again = prepare(
        open_source(str(tmp_path / "images")),
        tmp_path / "a.db",
        None,
        lambda *a: stages.append(a[0]),
    )
    assert not stages
    np.testing.assert_array_equal(first.X, again.X)
    write_images(tmp_path / "images", 11)
    prepare(
        open_source(str(tmp_path / "images")),
        tmp_path / "a.db",
        None,
        lambda *a: stages.append(a[0]),
    )
    assert stages
    cache_path(tmp_path / "a.db").write_bytes(b"rubbish")
    prepare(open_source(str(tmp_path / "images")), tmp_path / "a.db", None, lambda *a: None)


def test_embeddings_made_elsewhere_are_matched_by_row(tmp_path):
    write_images(tmp_path / "images", 30)
    (tmp_path / "images" / "005.png").write_bytes(b"broken")
    rows = np.random.default_rng(0).normal(size=(30, 7)).astype(np.float32)
    np.save(tmp_path / "e.npy", rows)
    session = opened(tmp_path / "images", tmp_path / "a.db", features=tmp_path / "e.npy").session
    np.testing.assert_array_equal(session.prepared.X, np.delete(rows, 5, axis=0))


def test_numbers_categories_and_gaps(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["a,b,c"] + [
        f"{rng.normal():.3f},{'' if k % 7 == 0 else k},{'xy'[k % 2]}" for k in range(60)
    ]
    (tmp_path / "n.csv").write_text("\n".join(lines) + "\n")
    session = opened(tmp_path / "n.csv", tmp_path / "a.db").session
    X = session.prepared.X
    assert np.isfinite(X).all()
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-5)
    answer(session, lambda i: "xy"[i % 2], 30)
    assert session.question(ME)["item"]["cells"][2][0] == "c"


def test_image_features_tell_digits_apart(tmp_path):
    from sklearn.model_selection import cross_val_score
    from sklearn.svm import SVC

    write_images(tmp_path / "images", 300)
    session = opened(tmp_path / "images", tmp_path / "a.db").session
    assert cross_val_score(SVC(C=10), session.prepared.X, DIGITS.target[:300], cv=3).mean() > 0.93


# -- near copies -----------------------------------------------------------------------------


def naive_groups(X, radius):
    """The first row within the radius that is no copy itself."""
    group = np.arange(len(X))
    for i in range(len(X)):
        for j in range(i):
            if group[j] == j and np.linalg.norm(X[i] - X[j]) <= radius:
                group[i] = j
                break
    return group


def test_near_copies_are_found(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20)).astype(np.float32)
    X[200:] = X[:100] + rng.normal(size=(100, 20)) * 0.001
    found = near_groups(X, 0.02, np.arange(300))
    wanted = naive_groups(X, 0.02)
    assert (wanted != np.arange(300)).sum() == 100
    assert (found == wanted).mean() > 0.99
    different = found != np.arange(300)
    assert (np.linalg.norm(X[different] - X[found[different]], axis=1) <= 0.02).all()


def test_equal_texts_are_one_question(tmp_path):
    assert equal_groups(["a", "b", "a", "c", "b"]).tolist() == [0, 1, 0, 3, 1]
    lines = [f"{k},Same   TEXT here {k % 5}" for k in range(50)] + ["50,same text HERE 1"]
    (tmp_path / "t.csv").write_text("number,body\n" + "\n".join(lines) + "\n")
    session = opened(tmp_path / "t.csv", tmp_path / "a.db", text="body").session
    assert session.pool.n_groups == 5
    answer(session, lambda i: "ab"[i % 2], 5)
    assert session.question(ME)["done"]
