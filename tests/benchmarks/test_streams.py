"""The benchmark of changing streams: scaling on the fly, scores, ranks, kept runs, the picture."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import cohen_kappa_score

from benchmarks import quick
from benchmarks.streams import __main__ as streams
from benchmarks.streams import demand, endless, overhead, picture, report
from benchmarks.streams.models import MODELS, OURS, RIVER
from benchmarks.streams.prequential import kappa, prequential
from benchmarks.streams.sources import STREAMS, examples, standardised


@pytest.fixture
def call(monkeypatch, tmp_path):
    form = quick.quick_form
    monkeypatch.setattr(quick._state, "folder", tmp_path / "results")
    monkeypatch.setattr(streams, "quick_form", lambda: form(tmp_path / "quick", rows=90))
    monkeypatch.delenv("ONLINESVM_DATA", raising=False)
    return lambda *arguments: CliRunner().invoke(streams.main, arguments)


@pytest.mark.parametrize("settings", [{"window": 100}, {"budget": 50}], ids=["window", "budget"])
def test_a_stream_without_end_stays_as_it_is(settings):
    found = endless.endless(settings, rows=10_000)
    assert found["gradient_error"] < 1e-6
    assert found["memory_end_mb"] <= 1.02 * found["memory_first_fifth_mb"]


def test_rows_are_scaled_by_those_up_to_them():
    rng = np.random.default_rng(0)
    X = np.c_[1e6 + rng.normal(size=50), 5.0 * rng.random(50), np.full(50, 3.0)]
    found = standardised(X)
    for k in (1, 7, 49):
        seen = X[: k + 1, :2]
        np.testing.assert_allclose(
            found[k, :2], (X[k, :2] - seen.mean(axis=0)) / seen.std(axis=0), rtol=1e-6
        )
    assert not found[0].any()
    assert not found[:, 2].any()
    np.testing.assert_array_equal(standardised(X[:20]), found[:20])  # nothing of the future


def test_kappa_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.3
    answers = y ^ (rng.random(200) < 0.2)
    assert kappa(answers, y) == pytest.approx(cohen_kappa_score(answers, y))
    assert kappa(np.ones(5, bool), np.ones(5, bool)) == 0.0


def test_each_example_is_predicted_before_it_is_learned():
    class Parrot:
        _raw_memory_usage = 2**20
        seen = None

        def predict_one(self, x):
            return self.seen

        def learn_one(self, x, y):
            self.seen = y

    y = np.arange(600) % 2 == 1
    found = prequential(Parrot, np.zeros((600, 2)), y)
    assert found["accuracy"] == pytest.approx(1 / 600)  # the first has no answer, which is False
    assert found["memory_mb"] == 1.0
    assert len(found["curve"]) == 20


def test_ranks_share_ties_and_take_streams_that_all_models_have():
    def found(*accuracies):
        return {name: {"accuracy": a} for name, a in zip("abc", accuracies)}

    measured = {"one": found(0.9, 0.8, 0.7), "two": found(0.9, 0.9, 0.1), "three": found(0.1, 0.2)}
    assert report.ranks(measured) == {"a": 1.25, "b": 1.75, "c": 3.0}


@pytest.mark.parametrize("name", [n for n in STREAMS if n not in ("elec2", "weather", "covtype")])
def test_generated_streams_need_no_data_and_are_the_same_every_time(monkeypatch, name):
    monkeypatch.delenv("ONLINESVM_DATA", raising=False)
    X, y = examples(name, 200)
    again, _ = examples(name, 200)
    np.testing.assert_array_equal(X, again)
    assert len(X) == len(y) == 200
    assert 0.1 < y.mean() < 0.9


def test_the_quick_form_runs_every_model_and_goes_on_where_it_was(call, tmp_path):
    done = call("--quick", "--only", "swap")
    assert done.exit_code == 0, done.output
    assert all(f"| {name} |" in done.output for name in MODELS)
    known = json.loads((tmp_path / "quick" / "streams.json").read_text(encoding="utf-8"))
    assert list(known) == [f"swap {name} rows=90" for name in MODELS]
    assert (tmp_path / "quick" / "streams.png").is_file()
    assert not (tmp_path / "results").exists()


def test_runs_are_kept_until_again(call, monkeypatch):
    made = []
    found = {"rows": 60, "accuracy": 0.5, "kappa": 0.0, "learn_us": 1.0, "predict_us": 1.0,
             "memory_mb": 0.1, "curve": [0.5, 0.5]}  # fmt: skip
    monkeypatch.setattr(streams, "prequential", lambda make, X, y: made.append(1) or found)
    for expected in (len(MODELS), len(MODELS)):
        assert call("--only", "sea", "--rows", "60").exit_code == 0
        assert len(made) == expected
    call("--only", "sea", "--rows", "60", "--again")
    assert len(made) == 2 * len(MODELS)


def test_without_data_the_generated_streams_run(call, monkeypatch):
    monkeypatch.setattr(streams, "MODELS", {"ALMA": RIVER["ALMA"]})
    done = call("--only", "elec2;swap", "--rows", "90")
    assert done.exit_code == 2
    assert "elec2: this data set is read from a folder" in done.output
    assert "| River | ALMA | " in done.output


def test_an_unknown_stream_is_wrong_usage(call):
    done = call("--only", "nonsense")
    assert done.exit_code == 2
    assert "there are elec2" in done.output


def test_one_setting_for_all_streams():
    """Models are made without knowing the stream."""
    assert all(make.__code__.co_argcount == 0 for make in MODELS.values())
    assert set(OURS) | set(RIVER) == set(MODELS)


def test_recovery_counts_examples_after_the_swap():
    found = np.ones(4000, bool)
    found[2000:2100] = False
    assert picture.recovery(found) == 100 + picture.LAST - int(0.02 * picture.LAST)
    found[2000:] = False
    assert picture.recovery(found) is None


def test_the_overhead_is_measured_for_both_verbs():
    found = overhead.overhead(rows=30)
    assert set(found) == {"learn", "predict"}
    assert min(min(pair) for pair in found.values()) > 0


def test_the_stream_of_values_is_measured_by_itself(call):
    result = call("--only", "demand", "--quick")
    assert result.exit_code == 0
    for model in demand.MODELS:
        assert f"| {model} |" in result.output


def test_the_target_is_standardised_by_what_came_before():
    y = np.array([5.0, 7.0, 6.0, 9.0])
    values = demand.targets(y)
    expected = [0.0, 2.0, 0.0, 3.0 / y[:3].std()]
    np.testing.assert_allclose(values, expected)
