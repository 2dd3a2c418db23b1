"""The active-learning benchmark: its retraining twin is honest, its runs are kept; no timings."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from benchmarks.datasets import Dataset
from benchmarks.markdown import bar
from benchmarks.papers.active_pool import EVERY, METHODS, Retrained, _ask
from benchmarks.runs import Runs

X, Y = load_digits(return_X_y=True)
X, Y = X / 16, np.where(Y == 0, 1, -1).astype(np.int8)
DATA = Dataset("digits", X[:400], Y[:400], X[400:], Y[400:], 100.0, 0.3, "")


@pytest.mark.parametrize("method", METHODS)
def test_a_run_measures_after_every_25_labels(method):
    found = _ask(DATA, method, 0, 2 * EVERY)
    assert len(found["errors"]) == 2
    assert found["errors"][-1] < 10
    assert found["seconds"] > 0


@pytest.mark.parametrize("method", ["retrain active 50", "retrain active all"])
def test_kept_kernel_values_change_no_question_of_retraining(method):
    learner = Retrained(DATA, method, 0)
    for _ in range(40):
        learner.step()
    left = np.setdiff1d(np.arange(400), learner.known)
    plain = learner._plain()
    np.testing.assert_allclose(
        learner._decide(left), plain.decision_function(DATA.X_train[left]), atol=1e-6
    )
    if learner.size is None:
        expected = left[abs(plain.decision_function(DATA.X_train[left])).argmin()]
        learner.step()
        assert learner.known[-1] == expected


def test_a_run_is_made_once(tmp_path, capsys):
    runs = Runs(tmp_path / "results" / "active.json")
    calls = []

    def run():
        runs.kept("adult inner", lambda: 1)  # written while the outer one runs
        calls.append(0)
        return {"error": 2.5}

    assert runs.kept("pool one", run) == {"error": 2.5}
    assert runs.kept("pool one", run) == {"error": 2.5}
    assert len(calls) == 1
    assert runs.kept("adult inner", run) == 1
    runs.forget(["pool"])
    runs.kept("pool one", run)
    runs.kept("adult inner", run)
    assert len(calls) == 2
    assert "pool one" in capsys.readouterr().err


def test_claims_say_whether_they_are_met():
    assert bar("a > b", True) == "- a > b: **met**"
    assert bar("a > b", False).endswith("**missed**")
