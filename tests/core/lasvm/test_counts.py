"""A guard against getting slower: what a fit spends, counted, with upper bounds.

Seconds depend on the machine; kernel values, pair steps and looks at an example do not. The
bounds are the counts measured when they were last improved, and a tenth more.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from onlinesvm import LASVMClassifier, LASVMOneClass, LASVMRegressor
from onlinesvm.core.lasvm.block import block as lasvm_block
from onlinesvm.core.lasvm.block import working_set


def waveform(n, seed=0):
    """Breiman's waveform, class 1 against the rest, columns standardised."""
    rng = np.random.default_rng(seed)
    i = np.arange(1, 22)
    waves = np.array([np.maximum(6 - abs(i - p), 0) for p in (7, 11, 15)])
    c = rng.integers(3, size=n)
    a, b = np.array([(0, 2), (0, 1), (1, 2)])[c].T
    u = rng.random((n, 1))
    X = u * waves[a] + (1 - u) * waves[b] + rng.standard_normal((n, 21))
    return (X - X.mean(axis=0)) / X.std(axis=0), c


@pytest.fixture
def spent(monkeypatch):
    """Pair steps and examples judged, summed over a fit."""
    count = {"steps": 0, "judged": 0}
    solve, judge = working_set.smo.solve, lasvm_block.judge

    def counted_solve(*args):
        steps, gap = solve(*args)
        count["steps"] += steps
        return steps, gap

    def counted_judge(support, kernel, examples, *machines):
        count["judged"] += len(examples.rows)
        return judge(support, kernel, examples, *machines)

    monkeypatch.setattr(working_set.smo, "solve", counted_solve)
    monkeypatch.setattr(lasvm_block, "judge", counted_judge)
    return count


CASES = {
    # name: (labels, parameters, kernel values, pair steps, looks at an example, all machines' looks)
    "binary": (2, {}, (20_104_482, 3008, 1.208)),
    "three classes": (3, {}, (46_981_874, 9833, 2.040)),
    "converged": (2, {"epochs": "converge"}, (40_484_129, 3550, 2.444)),
    "listing": (2, {"block_size": 1}, (7_572_193, 0, 0.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fit_spends_no_more_than_it_did(name, spent):
    labels, parameters, (values, steps, looks) = CASES[name]
    X, c = waveform(8000)
    y = c if labels == 3 else (c == 1).astype(int)
    model = LASVMClassifier(C=1.0, gamma=0.05, random_state=0, **parameters).fit(X, y)
    made = (model.n_kernel_evaluations_, spent["steps"], spent["judged"] / len(y))
    assert made[0] <= 1.1 * values, made
    assert made[1] <= 1.1 * steps, made
    assert made[2] <= 1.1 * looks, made


def assert_no_more(model, spent, n, bounds):
    made = (model.n_kernel_evaluations_, spent["steps"], spent["judged"] / n)
    assert all(now <= 1.1 * most for now, most in zip(made, bounds)), made


VALUES = {1: (113_834_725, 196_011, 1.733), "converge": (144_944_125, 238_894, 2.234)}


@pytest.mark.parametrize("epochs", VALUES)
def test_a_regression_spends_no_more_than_it_did(epochs, spent):
    X, y = make_friedman1(8000, noise=1.0, random_state=0)
    y = (y - y.mean()) / y.std()
    model = LASVMRegressor(C=10.0, gamma=0.5, random_state=0, epochs=epochs).fit(X, y)
    assert_no_more(model, spent, len(y), VALUES[epochs])


def test_one_class_spends_no_more_than_it_did(spent):
    X, _ = waveform(8000)
    model = LASVMOneClass(nu=0.1, gamma=0.05, random_state=0).fit(X)
    assert_no_more(model, spent, len(X), (8_937_870, 313, 1.138))
