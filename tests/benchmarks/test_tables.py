"""The comparison on tables: sets, methods, what is made of the runs; no timings."""

import numpy as np
import pytest

from benchmarks.tables.__main__ import SPLITS, arguments, averaged
from benchmarks.tables.methods import METHODS, error_of
from benchmarks.tables.report import compared, draw, page, ratios
from benchmarks.tables.sets import SETS
from benchmarks.tables.worker import measured

RUNS = {
    "a AutoSVM": {"error": 0.1, "seconds": 3.0, "rows": 50},
    "a LightGBM": {"error": 0.2, "seconds": 1.0, "rows": 50},
    "b AutoSVM": {"error": 0.4, "seconds": 3.0, "rows": 70},
    "b LightGBM": {"error": 0.1, "seconds": 1.0, "rows": 70},
    "c AutoSVM": {"failed": "MemoryError"},
    "c LightGBM": {"error": 0.1, "seconds": 1.0, "rows": 70},
}


def test_ratios_leave_out_what_failed():
    assert ratios(RUNS, ["a", "b", "c"], "LightGBM").tolist() == pytest.approx([0.5, 4.0])
    line = compared(RUNS, ["a", "b", "c"], "LightGBM")
    assert "mean 1.414, better on 1 of 2 sets, at worst 4.00" in line
    assert "nothing to compare" in compared(RUNS, ["c"], "LightGBM")


def test_page_and_picture(tmp_path):
    text = page(RUNS, ["a", "b", "c"], ["AutoSVM", "LightGBM"])
    assert "| a | 50 | 0.1 (3 s) | 0.2 (1 s) |" in text
    draw(RUNS, ["a", "b"], ["AutoSVM", "LightGBM"], tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_splits_do_not_overlap_and_are_the_same_for_all_methods():
    table = SETS["wine"]()
    A, a, B, b = table.split(60, 0)
    assert len(a) == 60
    assert len(b) == len(table.y) // 4
    assert not {tuple(row) for row in A} & {tuple(row) for row in B}
    assert np.array_equal(table.split(60, 0)[1], a)


def test_small_tables_are_split_several_times():
    seeds = []

    def run(task):
        seeds.append(task["seed"])
        if task["set"] == "failing" and len(seeds) == 3:
            return {"failed": "MemoryError"}
        error = {"error": 0.1 * len(seeds), "seconds": 2.0, "cpu_seconds": 1.0, "rows": 150}
        return error | {"of": 5000 if task["set"] == "large" else 200}

    found = averaged({"set": "small", "seed": 7}, run)
    assert seeds == list(range(7, 7 + SPLITS))
    assert found["error"] == pytest.approx(0.1 * (1 + SPLITS) / 2)
    assert len(found["errors"]) == SPLITS
    seeds.clear()
    assert averaged({"set": "large", "seed": 0}, run)["error"] == pytest.approx(0.1)
    assert len(seeds) == 1
    seeds.clear()
    assert averaged({"set": "failing", "seed": 0}, run) == {"failed": "MemoryError"}


@pytest.mark.parametrize("method", ["LASVM default", "HistGradientBoosting", "random forest"])
@pytest.mark.parametrize("name", ["wine", "mixed2"])
def test_methods_take_arrays_and_data_frames(method, name):
    pytest.importorskip("pandas")
    task = {"set": name, "method": method, "rows": 200, "limit": 5.0, "threads": 1, "seed": 0}
    found = measured(task)
    assert found["error"] < (0.2 if name == "wine" else 1.0)
    assert found["seconds"] > 0


def test_errors_are_shares_or_in_standard_deviations():
    truth = np.array([1.0, 2.0, 3.0, 6.0])
    assert error_of(truth, truth, True) == 0.0
    assert error_of(np.full(4, truth.mean()), truth, True) == pytest.approx(1.0)
    assert error_of(np.array(["a", "b"]), np.array(["a", "a"]), False) == 0.5


def test_unknown_names_are_refused(capsys):
    for words in (["--sets", "nothing"], ["--methods", "nothing"]):
        with pytest.raises(SystemExit):
            arguments(words)
    assert "is none of" in capsys.readouterr().err
    assert next(iter(METHODS)) == "AutoSVM"
