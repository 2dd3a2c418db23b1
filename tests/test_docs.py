"""What the pages of docs/ tell people to type works."""

import ast
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
GENERATED = {"gallery", "generated", "backreferences"}


def snippets(page, language):
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


def pages(language):
    """Pages with blocks in a language, by their path in docs/."""
    found = sorted(p for p in DOCS.rglob("*.md") if not GENERATED & set(p.parts))
    names = [p.relative_to(DOCS).as_posix() for p in found]
    return [name for name in names if snippets(name, language)]


NEEDED = {"guide/streams.md": ["pyarrow"], "guide/scale.md": ["pyarrow"]}
"""Packages that a page uses without importing them."""

MAKES_ITS_FILES = {"develop/paths.md"}
"""Pages whose Python code writes the files that their commands read: both are run together."""

SAID = {"guide/deploying.md": "damaged.safetensors is not a valid model file: its arrays need"}
"""What a page prints, where that is the point of it."""


@pytest.mark.filterwarnings("default")  # a page may show one; a busy machine reaches time limits
@pytest.mark.parametrize("page", [p for p in pages("python") if p not in MAKES_ITS_FILES])
def test_python_snippets_run_one_after_the_other(page, tmp_path, monkeypatch, capsys):
    """Those of the README are run by ``test_readme.py``."""
    found = snippets(page, "python")
    imported = re.findall(r"^\s*(?:from|import) (\w+)", "\n".join(found), re.M)
    for name in {*imported, *NEEDED.get(page, ())} - {"onlinesvm"}:
        pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in found:
        exec(compile(code, page, "exec"), names)
    assert SAID.get(page, "") in capsys.readouterr().out


def test_every_guide_page_has_code_that_runs():
    guide = {p.relative_to(DOCS).as_posix() for p in (DOCS / "guide").glob("*.md")}
    assert guide - {*pages("python"), *pages("bash")} == {"guide/index.md"}


def sections(page):
    """The Python code of each section, as a syntax tree."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for part in re.split(r"^## ", text, flags=re.M):
        found = re.findall(r"^```python\n(.*?)^```$", part, re.M | re.S)
        if found:
            yield part.partition("\n")[0], ast.parse("\n".join(found))


def names_in(tree):
    """Names that code imports, that it makes in another way, and that it uses."""
    nodes = list(ast.walk(tree))
    imports = [n for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    imported = {(a.asname or a.name).partition(".")[0] for n in imports for a in n.names}
    made = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    made |= {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
    used = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return imported, made, used


@pytest.mark.parametrize("page", pages("python"))
def test_a_section_with_its_own_data_has_its_own_imports(page):
    """People copy from the middle of a page; where a section goes on with earlier data, they see it."""
    earlier_imports, earlier_data = set(), set()
    for title, tree in sections(page):
        imported, made, used = names_in(tree)
        if not used & (earlier_data - made):
            assert not used & (earlier_imports - imported), title
        earlier_imports |= imported
        earlier_data |= made


def test_blocks_that_no_test_runs_install_or_measure():
    """Languages other than python and bash are not run."""
    lines = [
        line
        for page in pages("sh")
        for block in snippets(page, "sh")
        for line in block.splitlines()
    ]
    assert not [line for line in lines if not re.match("pip install|python -m benchmarks", line)]


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
    if words[0] == "cat":
        return Path(words[1]).read_bytes()
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


def commands(page):
    """Lines of the blocks for a shell, those that end in a backslash joined with the next."""
    blocks = (re.sub(r"\\\n\s*", "", block) for block in snippets(page, "bash"))
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", [p for p in pages("bash") if p != "guide/labelling.md"])
def test_commands_run_one_after_the_other(page, folder):
    names = {}
    if page in MAKES_ITS_FILES:
        for package in ("pandas", "pyarrow", "dask"):
            pytest.importorskip(package)
        for code in snippets(page, "python"):
            exec(compile(code, page, "exec"), names)
    lines = [line for line in commands(page) if "export" not in line or exports_are_there(line)]
    for line in lines:
        assert shell(line)
    if "> labels.txt" in "\n".join(lines):
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
    lines = commands("guide/labelling.md")
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
