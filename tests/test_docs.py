"""What the pages of docs/ tell people to type works."""

import gzip
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from onlinesvm.cli import main

DOCS = Path(__file__).resolve().parent.parent / "docs"


def snippets(page, language):
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("from-svc.md", 6),
        ("streams.md", 6),
        ("regression.md", 4),
        ("tables.md", 3),
        ("explanations.md", 3),
    ],
)
def test_python_snippets_run_one_after_the_other(page, least, tmp_path, monkeypatch):
    if page == "tables.md":
        pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names = {}
    found = snippets(page, "python")
    assert len(found) >= least
    for code in found:
        exec(compile(code, page, "exec"), names)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files that the commands name."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)).round(3)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    rows = [",".join([*map(str, a), "ab"[b]]) for a, b in zip(X, y)]
    Path("train.csv").write_text("u,v,w,target\n" + "\n".join(rows[:700]) + "\n")
    Path("test.csv").write_text("u,v,w,target\n" + "\n".join(rows[700:]) + "\n")
    lines = [f"{b} 1:{a[0]} 2:{a[1]} 3:{a[2]}" for a, b in zip(X, y)]
    Path("stream.svm.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    events = [
        {"at": f"2024-02-{1 + k % 28:02d}T{k % 24:02d}:30:00", "late": k % 24 > 12}
        for k in range(200)
    ]
    events = [event if k % 9 else {"late": event["late"]} for k, event in enumerate(events)]
    Path("events.jsonl").write_text("\n".join(map(json.dumps, events)) + "\n")
    return tmp_path


def stage(words, given):
    """One command of a pipe: what it prints."""
    if words[0] == "zcat":
        return gzip.decompress(Path(words[1]).read_bytes())
    assert words[0] == "onlinesvm"
    result = CliRunner().invoke(main, words[1:], input=given, prog_name="onlinesvm")
    assert result.exit_code == 0, (words, result.output, result.exception)
    return result.stdout


def shell(line):
    """Pipes and a redirection, without a shell."""
    line, _, target = line.partition(" > ")
    given = None
    for part in line.split(" | "):
        given = stage(shlex.split(part), given)
    if target:
        Path(target.strip()).write_text(given)
    return given


def test_commands_run_one_after_the_other(folder):
    lines = [line for block in snippets("command-line.md", "bash") for line in block.splitlines()]
    lines = [line for line in lines if "export" not in line or exports_are_there(line)]
    assert len(lines) > 5
    for line in lines:
        assert shell(line)
    assert len(Path("labels.txt").read_text().split()) == 200


def exports_are_there(line):
    if "--to onnx" in line:
        pytest.importorskip("onnx")
    return True


def test_labelling_commands_run(tmp_path, monkeypatch):
    """Commands that open the page are started until they print its address."""
    from label_server import Server
    from labelling import answer, write_images, write_texts

    from onlinesvm.label.opening import Settings, open_session

    monkeypatch.chdir(tmp_path)
    write_images(tmp_path / "photos", 30)
    labels = write_texts(tmp_path / "tickets.csv", 60)
    (tmp_path / "rules.md").write_text("# Rules\n")
    np.save("photos.npy", np.random.default_rng(0).normal(size=(30, 8)))
    session = open_session(Settings("tickets.csv", tmp_path / "tickets.db", "body")).session
    answer(session, lambda i: labels[i], 30)
    session.journal.close()
    lines = [line for block in snippets("labelling.md", "bash") for line in block.splitlines()]
    assert len(lines) >= 8
    for line in lines:
        words = shlex.split(line)
        assert words[:2] == ["onlinesvm", "label"]
        if words[2] in ("export", "import"):
            assert shell(line)
        else:
            output = words.index("-o")
            rest = words[2:output] + words[output + 2 :]
            server = Server(tmp_path, *rest, database=words[output + 1])
            server.stop()
