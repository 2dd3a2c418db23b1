"""The commands of papers and streams: names, kept runs, the quick form; nothing is timed."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from benchmarks import datasets, parts, quick
from benchmarks.papers import __main__ as papers
from benchmarks.papers import page
from benchmarks.parts import chosen
from benchmarks.runs import Runs
from benchmarks.single_rows import __main__ as stream


@pytest.fixture
def call(monkeypatch, tmp_path):
    """Runs a command with its results in a temporary folder and its page written nowhere."""
    form = quick.quick_form
    monkeypatch.setattr(quick._state, "folder", tmp_path / "results")
    monkeypatch.setattr(papers, "quick_form", lambda: form(tmp_path / "quick"))
    monkeypatch.setattr(parts, "quick_form", lambda: form(tmp_path / "quick"))
    written = []
    monkeypatch.setattr(page, "write", written.append)
    monkeypatch.setattr(page, "copy_figures", lambda *_: None)

    def run(*arguments, command=papers.main):
        done = CliRunner().invoke(command, arguments)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done

    run.written = written
    return run


def test_every_part_on_the_page_has_a_function():
    assert set(page.published()) <= set(papers.PARTS) | set(stream.PARTS)


def test_only_names_papers_or_parts_in_the_order_given():
    parts = ["a.one", "a.two", "b.one"]
    assert chosen(parts, None) == parts
    assert chosen(parts, "b, a.two") == ["b.one", "a.two"]
    assert chosen(parts, "a") == ["a.one", "a.two"]


@pytest.mark.parametrize("command", [papers.main, stream.main])
def test_an_unknown_name_is_wrong_usage_and_lists_the_names(call, command):
    done = call("--only", "nonsense", command=command)
    assert done.exit_code == 2
    assert "there are" in done.output
    assert not call.written


def test_parts_are_measured_once_and_again_when_asked(call, monkeypatch):
    calls = []

    def part():
        """A table."""
        calls.append(1)
        return {"report": "the table"}

    monkeypatch.setattr(papers, "PARTS", {"huller.mnist": part})
    for _ in range(2):
        done = call()
        assert done.exit_code == 0
        assert "the table" in done.output
    assert len(calls) == 1
    assert call.written[-1] == {"huller.mnist": {"report": "the table"}}
    call("--again")
    assert len(calls) == 2


def test_again_forgets_the_single_runs_of_a_part_too(call):
    runs = Runs("active.json")
    runs.write({"pool one": 1, "adult split": 2})
    papers.forget(["active.pool"])
    assert runs.known() == {"adult split": 2}


def test_without_the_data_folder_a_part_is_named_and_the_others_run(call, monkeypatch):
    monkeypatch.delenv("ONLINESVM_DATA", raising=False)
    state = papers.PARTS["streamsvm.state"]
    parts = {"huller.mnist": papers.PARTS["huller.mnist"], "other.one": lambda: {"report": "done"}}
    parts["other.one"].__doc__ = state.__doc__
    monkeypatch.setattr(papers, "PARTS", parts)
    done = call()
    assert done.exit_code == 2
    assert "set ONLINESVM_DATA" in done.output
    assert "done" in done.output
    assert list(call.written[-1]) == ["other.one"]


@pytest.mark.parametrize(
    "part",
    ["perceptron.mnist", "perceptron.banana", "huller.mnist", "streamsvm.radius",
     "simplesvm.forget", "simplesvm.lowrank", "active.latency"],
)  # fmt: skip
def test_the_quick_form_gives_every_number_without_data_and_writes_no_page(
    call, monkeypatch, tmp_path, part
):
    if part == "active.latency":
        pytest.importorskip("skactiveml")
    monkeypatch.delenv("ONLINESVM_DATA", raising=False)
    before = page.PAGE.read_bytes()
    done = call("--quick", "--only", part)
    assert done.exit_code == 0, done.output
    kept = (tmp_path / "quick" / "papers.json").read_text(encoding="utf-8")
    section = json.loads(kept)[part]
    assert section.keys() - {"report"} == page.published()[part].keys()
    rows = section.get("rows", [])
    assert [len(row) for row in rows] == [
        len(row) for row in page.published()[part].get("rows", [])
    ]
    assert not call.written
    assert page.PAGE.read_bytes() == before
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("name", sorted(datasets.DATASETS))
def test_every_set_has_a_small_stand_in(monkeypatch, tmp_path, name):
    monkeypatch.delenv("ONLINESVM_DATA", raising=False)
    with quick.quick_form(tmp_path, 60):
        data = datasets.load(f"{name}:5000")
        again = datasets.load(f"{name}:5000")
    assert data.X_train.shape[0] == len(data.y_train) <= 60
    assert sp.issparse(data.X_train) == (name in datasets.SPARSE)
    assert len(np.unique(data.y_train)) == (10 if name in quick.TEN_CLASSES else 2)
    assert np.array_equal(data.y_train, again.y_train)
    assert quick.generated_rows() is None


def test_figures_of_measured_parts_are_copied(tmp_path):
    results, images = tmp_path / "results", tmp_path / "images"
    results.mkdir()
    images.mkdir()
    for drawn, _ in page.FIGURES.values():
        (results / drawn).write_bytes(b"picture")
    page.copy_figures(["active.mnist", "huller.mnist"], results, images)
    assert [path.name for path in images.iterdir()] == ["active-mnist.png"]
