"""The tables of ``benchmarks.papers.lasvm``: their arithmetic, on a small set; nothing is timed."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import startup
from benchmarks.datasets import load
from benchmarks.papers import lasvm, references
from onlinesvm import LASVMClassifier

SMALL = "waveform:600"


def cells(text):
    """Rows of a Markdown table without its rule."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[c.strip() for c in line.strip("|").split("|")] for line in (lines[0], *lines[2:])]


@pytest.fixture
def small(monkeypatch, tmp_path):
    monkeypatch.setattr(lasvm, "SETS", (SMALL,))
    monkeypatch.setattr(lasvm, "FIGURE_8", {SMALL: 1.0})
    monkeypatch.setattr(lasvm, "SEEDS", range(2))
    monkeypatch.setattr(references, "FILE", tmp_path / "references.json")


def test_verdict():
    assert lasvm.verdict(1.0, 1.0) == "yes"
    assert lasvm.verdict(1.01, 1.0) == "**no**"
    assert lasvm.verdict(float("nan"), 1.0) == "**no**"


def test_one_pass_stands_next_to_the_exact_solution(small):
    found = lasvm.one_pass()
    head, row, average = cells(found["report"])
    (shown,) = found["rows"]  # for the page
    assert shown[1:3] == [row[3], row[5]]
    assert len(head) == len(row) == len(average)
    exact = references.reference(SMALL, 0)
    assert float(row[5]) == pytest.approx(100 * exact["error"], abs=0.01)
    difference = float(row[6])
    assert difference == pytest.approx(float(row[3]) - float(row[5]), abs=0.02)
    assert average[6].startswith(f"**{difference:+.2f}"[:5])


def test_evaluations_are_counted_over_rows_times_support_vectors(small):
    head, row = cells(lasvm.evaluations())
    assert len(head) == len(row)
    ratios = []
    for seed in range(2):
        data = load(SMALL, seed)
        model = LASVMClassifier(C=data.C, gamma=data.gamma, random_state=seed, block_size=1)
        model.fit(data.X_train, data.y_train)
        ratios.append(model.n_kernel_evaluations_ / (600 * model.n_support_.sum()))
    assert float(row[3].strip("*")) == pytest.approx(np.mean(ratios), abs=0.01)


def test_references_are_kept_and_a_busy_machine_gives_no_time(small, monkeypatch):
    monkeypatch.setattr(references, "BUSY", True)
    first = references.reference(SMALL, 0)
    assert first["seconds"] is None
    monkeypatch.setattr(references, "load", lambda *_: pytest.fail("it is known already"))
    assert references.reference(SMALL, 1) == first
    assert set(json.loads(references.FILE.read_text(encoding="utf-8"))) == {SMALL}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_copies_of_a_row_and_label_count_once(form):
    X = form(np.array([[0, 1], [0, 1], [0, 1], [1, 0], [0, 0]], np.float32))
    y = np.array([1, 1, -1, 1, 1])
    assert references.distinct(X, y, np.arange(5)) == 4
    assert references.distinct(X, y, np.array([0, 1])) == 1


def test_import_time_is_asked_of_a_new_process():
    assert startup.import_time("json") > 0
    assert startup.imports_numba() is False
