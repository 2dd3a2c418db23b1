"""The comparisons of regression and novelty: sets, measures, tables; nothing here is timed."""

import numpy as np
import pytest

from benchmarks import datasets, values
from benchmarks.compare import plots, report, value_measures, value_report, worker
from benchmarks.compare.peers import PEERS
from benchmarks.compare.suites import NOVELTY_PEERS, SUITES, VALUE_PEERS


def measured(shape, error, other):
    def entry(peer, seconds, found):
        job = {"peer": peer, "dataset": "one", "limit": 600.0, "measure": shape}
        result = {"status": "ok", "format": "dense32", "fit_s": [seconds], "errors": found}
        return {"job": job, "result": result | {"peak_mb": 5.0, "note": "made up"}, "others": []}

    machine = {"cpu": "some", "cores": 2, "python": "3", "versions": {}}
    entries = [entry("onlinesvm LASVMRegressor", 2.0, error), entry("sklearnex SVR", 16.0, other)]
    head = {"suite": "test", "title": "Test", "shape": shape, "machine": machine}
    return head | {"entries": entries}


SLOW_TO_IMPORT = ("sklearnex SVR", "HistGradientBoosting")


@pytest.mark.parametrize("peer", [p for p in VALUE_PEERS if p not in SLOW_TO_IMPORT])
def test_every_regressor_is_measured_on_a_generated_set(peer):
    spec = {"peer": peer, "dataset": "friedman:300", "measure": "regression", "repeats": 1}
    found = worker.run(spec | {"format": PEERS[peer].forms_for("friedman")[0]})
    assert found["status"] == "ok", found
    assert 0.0 < found["errors"][0] < 1.0
    assert found["n_train"] == 300


@pytest.mark.parametrize("peer", NOVELTY_PEERS)
def test_every_detector_is_measured(monkeypatch, peer):
    rng = np.random.default_rng(0)
    X, far = rng.normal(size=(300, 3)), rng.normal(size=(100, 3)) + 4.0
    asked, known = np.concatenate([X[:100], far]), np.repeat([1.0, 0.0], 100)
    made = values.Novelty("clouds", X, np.ones(300), asked, known, 1.0, 0.3, "made up")
    monkeypatch.setitem(values.SETS, "clouds", lambda rows, seed: made)
    spec = {"peer": peer, "dataset": "clouds", "measure": "novelty", "repeats": 1}
    found = worker.run(spec | {"format": "dense64"})
    assert found["status"] == "ok", found
    assert found["errors"][0] < 0.05


def test_errors_are_what_they_are_called():
    class Model:
        def predict(self, X):
            return X[:, 0]

        decision_function = predict

    X, y = np.array([[0.0], [1.0], [3.0], [2.0]]), np.array([0.0, 1.0, 1.0, 2.0])
    assert value_measures.rmse(Model(), X, y) == 1.0
    assert value_measures.one_minus_auc(Model(), X, np.array([0, 1, 0, 1])) == 0.5


def test_the_pages_say_the_ratios_and_the_errors(tmp_path):
    text = report.write(measured("regression", [0.201], [0.2]), tmp_path)
    assert "| one | 8 |" in text
    assert "| one | +0.50 % |" in text
    assert (tmp_path / "test.png").is_file()
    text = report.write(measured("novelty", [0.1], [0.098]), tmp_path)
    assert "| one | -0.0020 |" in text
    assert "0.9000" in text


def test_a_plot_of_nothing_is_no_error(tmp_path):
    empty = measured("regression", [0.1], [0.1])
    for entry in empty["entries"]:
        entry["result"] = {"status": "failed", "reason": "none"}
    plots.draw(empty, tmp_path)
    assert not list(tmp_path.iterdir())
    assert value_report.error(empty["entries"][0]["result"]) is None


def test_regression_sets_are_standardised_and_split(data_dir):
    data = datasets.load("elevators")
    y = np.concatenate([data.y_train, data.y_test])
    assert y.mean() == pytest.approx(0.0, abs=1e-9)
    assert y.std() == pytest.approx(1.0)
    assert len(data.y_train) == int(0.9 * len(y))
    assert (data.C, data.gamma, data.epsilon) == (1.0, 0.05, 0.1)


def test_novelty_sets_learn_one_class_and_ask_for_two(data_dir):
    data = datasets.load("mnist_zero:100")
    assert len(data.X_train) == 100
    assert set(np.unique(data.y_test)) == {0.0, 1.0}


def test_quick_forms_of_both_suites_are_small():
    for name in ("regression", "novelty"):
        assert all(job.rows == 2000 and job.repeats == 1 for job in SUITES[name].quick().jobs)
