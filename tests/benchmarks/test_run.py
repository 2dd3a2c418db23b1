"""The comparison's arithmetic and its lists; nothing here is timed."""

import dataclasses
import json
import math

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import clock, datasets, run, values
from benchmarks.compare import plots, readme, report, worker
from benchmarks.compare.peers import PEERS
from benchmarks.compare.suites import SUITES, Job
from benchmarks.markdown import number


def entry(peer, dataset, limit=600.0, **result):
    job = {"peer": peer, "dataset": dataset, "limit": limit}
    return {"job": job, "result": {"status": "ok", "format": "dense32", **result}, "others": []}


def measurements(entries, shape="comparison"):
    machine = {"cpu": "some", "cores": 2, "python": "3", "versions": {"onlinesvm": "0"}}
    base = {"suite": "test", "title": "Test", "shape": shape, "machine": machine}
    return base | {"entries": entries}


@pytest.fixture
def two_sets():
    stopped = {"status": "timeout", "reason": "a fit was stopped after 600 s"}
    missing = {"status": "not installed", "reason": "pip install thundersvm"}
    return measurements(
        [
            entry("onlinesvm", "one", fit_s=[2.0, 1.0], errors=[0.1, 0.2], peak_mb=10.0),
            entry("sklearnex SVC", "one", fit_s=[4.0, 5.0], errors=[0.125], peak_mb=30.0),
            entry("thundersvm SVC", "one") | {"result": missing},
            entry("onlinesvm", "two", fit_s=[2.0], errors=[0.3], peak_mb=10.0),
            entry("sklearnex SVC", "two", fit_s=[18.0], errors=[0.3], peak_mb=20.0),
            entry("sklearn SVC", "two") | {"result": stopped},
        ]
    )


def test_geometric_mean():
    mean = report.geometric_mean([report.Ratio(4.0), report.Ratio(9.0)])
    assert mean.value == pytest.approx(6.0)
    assert not mean.bound
    assert report.geometric_mean([]) is None


def test_geometric_mean_with_a_bound_is_a_bound():
    assert report.geometric_mean([report.Ratio(4.0), report.Ratio(9.0, bound=True)]).bound


def test_ratio_uses_the_best_fit(two_sets):
    found = report.by_dataset(two_sets)["one"]
    r = report.ratio(found["sklearnex SVC"], report.ours(found), report.fit_time)
    assert r == report.Ratio(4.0)


def test_ratio_to_a_stopped_fit_is_a_lower_bound(two_sets):
    found = report.by_dataset(two_sets)["two"]
    r = report.ratio(found["sklearn SVC"], report.ours(found), report.fit_time)
    assert r == report.Ratio(300.0, bound=True)
    assert str(r) == "> 300"


def test_ratio_to_what_is_missing_is_none(two_sets):
    found = report.by_dataset(two_sets)["one"]
    assert report.ratio(found["thundersvm SVC"], report.ours(found), report.fit_time) is None
    assert report.ratio(None, report.ours(found), report.fit_time) is None


def test_error_is_the_mean_over_seeds_in_percent():
    assert report.error({"errors": [0.1, 0.2]}) == pytest.approx(15.0)
    assert report.error({}) is None


@pytest.mark.parametrize("power", [0.5, 1.0, 1.7, 2.0])
def test_fitted_exponent_recovers_a_power_law(power):
    rows = [10, 20, 40, 80]
    assert report.fitted_exponent(rows, [3 * n**power for n in rows]) == pytest.approx(power)


def test_fitted_exponent_is_least_squares_on_logarithms():
    rows, times = [1, 10, 100, 1000], [1.0, 30.0, 200.0, 9000.0]
    slope = np.polyfit(np.log(rows), np.log(times), 1)[0]
    assert report.fitted_exponent(rows, times) == pytest.approx(slope)
    assert report.fitted_exponent([1], [1.0]) is None
    assert report.fitted_exponent([5, 5], [1.0, 2.0]) is None


def test_over_floor():
    result = {"fit_s": [3.2, 4.0], "kernel_evaluations": 2_000_000, "floor_s_per_value": 1e-6}
    assert report.over_floor(result) == pytest.approx(1.6)


def test_comparison_names_what_was_not_measured(two_sets):
    text = report.page(two_sets)
    assert "not installed: pip install thundersvm" in text
    assert "timeout: a fit was stopped after 600 s" in text
    # sqrt(4 × 9) = 6 over both sets for oneDAL; SVC has one set only, and says so.
    assert "| geometric mean | **6** | – | **> 300** (1 sets) |" in text
    assert "| least | 4 | – | > 300 |" in text


def test_comparison_gives_our_error_minus_theirs(two_sets):
    assert "| one | +2.50 | – | – |" in report.error_gap_table(two_sets)


def test_growth_page_and_plot(tmp_path):
    entries = [
        entry(peer, f"waveform:{n}", n_train=n, fit_s=[1e-6 * n**power], errors=[0.1])
        for peer, power in (("onlinesvm", 1.5), ("sklearn SVC", 2.0))
        for n in (1000, 2000, 4000)
    ]
    text = report.write(measurements(entries, "growth"), tmp_path)
    assert "| onlinesvm | 1,000 to 4,000 | 1.5 |" in text
    assert "| sklearn SVC | 1,000 to 4,000 | 2 |" in text
    assert (tmp_path / "test-growth.png").stat().st_size > 1000


def test_comparison_plots_are_drawn(two_sets, tmp_path):
    report.write(two_sets, tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {
        "test.md",
        "test.png",
        "test-memory.png",
    }


def test_bars_have_the_best_time_its_ratio_and_the_error(two_sets):
    found = {(bar["data"], bar["model"]): bar for bar in report.bars(two_sets)}
    assert len(found) == 5  # a library that is not installed has no bar
    own = found["one", "onlinesvm"]
    assert (own["seconds"], own["ratio"], own["error"]) == (1.0, None, pytest.approx(15.0))
    assert (found["one", "sklearnex SVC"]["ratio"], own["bound"]) == (4.0, False)
    stopped = found["two", "sklearn SVC"]
    assert (stopped["seconds"], stopped["ratio"], stopped["bound"]) == (600.0, 300.0, True)


def test_the_plot_has_bars_on_log_axes_and_errors_as_text(two_sets, tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(plots, "_save", lambda figure, path: figures.append(figure))
    plots.times_and_ratios(report.bars(two_sets), tmp_path / "none.png")
    left, right = figures[0].axes
    assert left.get_xscale() == right.get_xscale() == "log"
    texts = [text.get_text().strip() for text in left.texts]
    assert texts == ["1 s, 15.00 %", "4 s, 12.50 %", "2 s, 30.00 %", "18 s, 30.00 %", "> 600 s"]
    assert [text.get_text().strip() for text in right.texts] == ["4", "9", "> 300"]
    assert {patch.get_x() for patch in right.patches} == {1.0}


def test_the_numbers_of_the_plot_are_those_of_the_readme():
    text = (readme.ROOT / "README.md").read_text(encoding="utf-8")
    table = text.split(readme.BEGIN)[1].split(readme.END)[0].replace("*", "")
    lines = [[cell.strip() for cell in line.split("|")] for line in table.splitlines()]
    rows = {cells[1]: cells[2:] for cells in lines if len(cells) > 9}
    shown = json.loads(readme.PUBLISHED.read_text(encoding="utf-8"))
    assert len(shown) == 3 * 7
    for bar in shown:
        row, place = rows[bar["data"]], 2 * readme.SHOWN.index(bar["model"])
        place += place == 4  # the ratio to oneDAL stands before SVC
        sign = "> " if bar["bound"] else ""
        assert row[place] == f"{sign}{number(bar['seconds'])} s"
        if bar["error"] is not None and place < 5:  # the table has no errors of SVC
            assert row[place + 1] == f"{bar['error']:.2f} %"
        if bar["ratio"] is not None:
            assert row[4 if place == 2 else 6] == f"{sign}{bar['ratio']:.3g}"


def test_jobs_name_peers_and_sets_that_exist():
    for suite in SUITES.values():
        assert suite.shape in report.SHAPES
        for job in suite.jobs:
            assert job.peer in PEERS
            assert job.dataset.partition(":")[0] in {*datasets.DATASETS, *values.SETS}
            assert job.measure in worker.MEASURES
            assert PEERS[job.peer].stream == (job.measure == "stream")


def test_every_peer_is_in_some_suite():
    used = {job.peer for suite in SUITES.values() for job in suite.jobs}
    assert used == set(PEERS)


def test_the_quick_suite_needs_no_data_folder():
    assert all(j.dataset.partition(":")[0] in datasets.GENERATED for j in SUITES["quick"].jobs)


def test_quick_suites_are_small():
    for name, suite in SUITES.items():
        assert suite.quick().jobs, name
        for job in suite.quick().jobs:
            rows = job.rows or int(job.dataset.partition(":")[2])
            assert rows <= 20_000
            assert job.repeats == 1


def test_quick_growth_keeps_different_sizes():
    assert len({job.dataset for job in SUITES["growth"].quick().jobs}) == 2


def test_no_job_sets_a_hyper_parameter():
    allowed = {"peer", "dataset", "measure", "repeats", "fresh", "rows", "limit"}
    assert set(Job.__dataclass_fields__) == allowed


def test_a_sparse_set_is_tried_in_both_forms_a_dense_one_in_one():
    assert PEERS["sklearn SVC"].forms_for("a9a") == ["csr64", "dense64"]
    assert PEERS["sklearn SVC"].forms_for("mnist8:10000") == ["dense64"]
    assert PEERS["sklearnex SVC one-vs-rest"].forms_for("a9a") == ["dense32"]


def test_a_missing_peer_is_named(monkeypatch):
    monkeypatch.setattr(type(PEERS["onlinesvm"]), "version", lambda self: None)
    found = run.run_job(Job("vowpalwabbit ksvm", "waveform:100"))
    assert found["result"]["status"] == "not installed"
    assert "vowpalwabbit" in found["result"]["reason"]


def test_unknown_suite_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        run.main(["--only", "nonsense"])
    assert "speed" in capsys.readouterr().err


def test_without_a_data_folder_the_error_says_what_to_set(monkeypatch):
    monkeypatch.delenv("ONLINESVM_DATA", raising=False)
    with pytest.raises(datasets.DataFolderError, match="set ONLINESVM_DATA"):
        datasets.load("a9a")
    spec = {"peer": "sklearn SVC", "dataset": "a9a", "measure": "fit", "format": "csr64"}
    assert worker.run(spec)["status"] == "no data"


def test_unknown_data_set_lists_those_there_are():
    with pytest.raises(ValueError, match="waveform"):
        datasets.load("nonsense")


@pytest.mark.parametrize("name", sorted(datasets.GENERATED))
def test_generated_sets_are_reproducible(name):
    first, again, other = (datasets.load(f"{name}:1200", seed=s) for s in (0, 0, 1))
    assert len(first.y_train) == 1200
    assert np.array_equal(first.X_train, again.X_train)
    assert not np.array_equal(first.X_train, other.X_train)
    assert set(np.unique(first.y_train)) == {-1, 1}


def test_cut_draws_rows_at_random_but_keeps_the_order_of_a_stream():
    data = datasets.load("waveform:1000")
    sorted_by_class = dataclasses.replace(data, y_train=np.arange(1000) >= 500)
    small = sorted_by_class.cut(100)
    assert small.X_train.shape == small.X_test.shape == (100, 21)
    assert 20 < small.y_train.sum() < 80
    stream = datasets.load("sea:1200")
    assert np.array_equal(stream.cut(50).X_train, stream.X_train[:50])


def test_waveform_is_scaled_by_its_training_part():
    data = datasets.load("waveform:3000")
    assert np.allclose(data.X_train.mean(axis=0), 0, atol=1e-4)
    assert np.allclose(data.X_train.std(axis=0), 1, atol=1e-4)
    assert data.X_test.shape == (10_000, 21)


@pytest.mark.parametrize(
    ("name", "rows", "features", "positive"),
    [("a1a", 1605, 123, 395), ("ijcnn1", 49990, 22, 4853), ("usps0", 7291, 256, 1194)],
)
def test_sets_from_files_have_the_stated_counts(data_dir, name, rows, features, positive):
    data = datasets.load(name)
    assert data.X_train.shape == (rows, features)
    assert sp.issparse(data.X_train) == (name in datasets.SPARSE)
    assert np.sum(data.y_train > 0) == positive
    assert data.X_train.dtype == np.float32


@pytest.mark.parametrize("form", ["dense32", "dense64", "csr32", "csr64"])
def test_convert_keeps_values(form):
    X = np.array([[0.0, 1.5], [2.0, 0.0]], np.float32)
    for given in (X, sp.csr_matrix(X)):
        out = datasets.convert(given, form)
        assert sp.issparse(out) == form.startswith("csr")
        assert out.dtype == (np.float64 if form.endswith("64") else np.float32)
        assert np.array_equal(out.toarray() if sp.issparse(out) else out, X)


def test_warm_up_sees_every_class():
    y = np.r_[np.zeros(5000), np.ones(3)]
    assert set(y[clock.warm_up_rows(y)]) == {0, 1}


def test_worker_measures_a_fit():
    spec = {"peer": "sklearn SVC", "dataset": "checkerboard:300", "measure": "fit", "repeats": 2}
    found = worker.run(spec | {"format": "dense64", "rows": 200})
    assert found["status"] == "ok"
    assert found["n_train"] == 200
    assert len(found["fit_s"]) == len(found["errors"]) == 2
    assert 0 < found["errors"][0] < 0.5
    assert found["n_support"] > 0
    json.dumps(found)


def test_worker_stream_errs_less_than_guessing():
    spec = {"peer": "RBFSampler + SGD stream", "dataset": "sea:1400", "measure": "stream"}
    found = worker.run(spec | {"format": "dense32"})
    assert found["status"] == "ok"
    assert found["errors"][0] < 0.4


def test_a_fit_that_takes_too_long_is_reported_as_stopped():
    # A fresh process is stopped by the alarm long before LIBSVM is through with this.
    job = Job("sklearn SVC", "checkerboard:20000", repeats=1, limit=0.001)
    found = run.run_form(job, "dense64")
    assert found["status"] == "timeout"
    assert math.isclose(job.limit, 0.001)
    assert "0.001 s" in found["reason"]
