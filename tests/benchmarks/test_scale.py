"""The command of scale runs on generated data; the cost model agrees with what was measured."""

import pytest
from click.testing import CliRunner

from benchmarks import parts, quick
from benchmarks.scale import __main__ as scale
from benchmarks.scale import model, parquet


def test_parts_run_in_the_quick_form(monkeypatch, tmp_path):
    form = quick.quick_form
    monkeypatch.setattr(quick._state, "folder", tmp_path / "results")
    monkeypatch.setattr(parts, "quick_form", lambda: form(tmp_path / "quick"))
    done = CliRunner().invoke(scale.main, ["--quick", "--only", "errors,sorted,cells"])
    assert done.exit_code == 0, done.output
    assert "dual, relative" in done.output
    assert "overlap 0.1" in done.output


@pytest.mark.parametrize(("data", "workers", "looks", "measured"), model.MEASURED)
def test_the_formula_predicts_what_one_and_two_workers_took(data, workers, looks, measured):
    predicted = model.seconds(data, workers, looks)
    assert abs(predicted - measured) < 0.2 * measured


def test_more_machines_are_never_slower_by_more_than_sending():
    times = [model.seconds(model.MANY, w, 1) for w in (1, 2, 4, 16, 64, 256)]
    assert all(b < a for a, b in zip(times, times[1:]))


def test_generated_files_hold_what_was_asked_for(tmp_path):
    import pyarrow.parquet as pq

    parquet.write(tmp_path, 1000, 400)
    assert [pq.ParquetFile(p).metadata.num_rows for p in sorted(tmp_path.iterdir())] == [
        400, 400, 200,
    ]  # fmt: skip
