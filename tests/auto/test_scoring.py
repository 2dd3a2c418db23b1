"""What candidates with labels lose on held-out rows."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from onlinesvm import LASVMClassifier
from onlinesvm.auto.candidates import Setting
from onlinesvm.auto.race import Candidate, Race, Result, behind
from onlinesvm.auto.scoring import (
    doubts,
    losses_of_labels,
    margins_of,
    most_likely_slope,
)
from onlinesvm.estimators.costs import fit_costs, predict_costs

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("decision", ["ovr", "ovo"])
@pytest.mark.parametrize("names", [["b", "a"], ["b", "c", "a"]])
def test_a_margin_is_negative_where_the_label_is_wrong(names, decision):
    X = RNG.normal(size=(300, 3))
    which = (X[:, 0] > 0).astype(int) + (len(names) > 2) * (X[:, 1] > 0.5)
    truth = np.array(names)[which]
    model = LASVMClassifier(decision=decision)
    fit_costs(model, [1.0], X[:200], truth[:200])
    ((predicted, scores),) = predict_costs(model, 1, X[200:])
    margins = margins_of(scores, model.classes_, truth[200:])
    assert 0 < (predicted != truth[200:]).mean() < 0.4
    if decision == "ovr" or len(names) == 2:  # pairs vote, their scores do not
        assert np.array_equal(margins < 0, predicted != truth[200:])
    assert (margins_of(scores, model.classes_, predicted) >= 0).mean() > 0.98


def test_a_label_that_was_never_learned_has_no_margin():
    classes, truth = np.array(["a", "b"]), np.array(["a", "b", "c", "c"])
    margins = margins_of(np.array([0.5, 0.5, 0.5, -2.0]), classes, truth)
    assert margins.tolist() == [-0.5, 0.5, -0.5, -2.0]
    scores = np.array([[1.0, 0.2, -1.0], [0.0, 3.0, 1.0]])
    margins = margins_of(scores, np.array([1, 2, 3]), np.array([1, 7]))
    assert margins.tolist() == [0.8, -3.0]


@pytest.mark.parametrize("shift", [-0.3, 0.0, 0.3, 1.0, 2.0])
def test_the_slope_is_the_most_likely_one(shift):
    margins = RNG.normal(size=500) + shift
    found = most_likely_slope(margins)
    sign = np.where(np.arange(500) % 2, 1, -1)
    peer = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-8)
    want = peer.fit((margins * sign)[:, None], sign).coef_.item()
    assert found == pytest.approx(max(0.0, want), rel=1e-2, abs=1e-3)


def test_losses_do_not_depend_on_the_unit_of_scores():
    margins = RNG.normal(size=200) + 1.0
    for unit in (1e-12, 1e3, 1e12):
        np.testing.assert_allclose(doubts(unit * margins), doubts(margins), atol=1e-6)
    assert (doubts(np.ones(10)) < 1e-9).all()  # all are right
    assert (doubts(-np.ones(10)) >= 0.5 - 1e-9).all()
    assert (doubts(np.zeros(10)) == 0.5).all()
    losses = losses_of_labels(np.array([0.0, 1.0, 0.0]), np.array([2.0, -0.1, 1.0]))
    assert losses[1] > 0.5 > losses[2] > losses[0] >= 0.0


def test_what_is_shown_is_the_share_of_wrong_labels():
    X = {"standard": RNG.normal(size=(100, 2))}
    race = Race(
        LASVMClassifier, X, np.arange(100) % 2, True, ends=np.inf, threads=1, seed=0,
        tell=lambda text: None,
    )  # fmt: skip
    candidate = race._join(race.run().setting)
    wrong, margins = np.array([0.0, 1.0]), np.array([1.0, -2.0])
    candidate.score(80, [Result(wrong, margins, 1.0, 1), Result(wrong, margins, 2.0, 1)])
    assert race.error(candidate) == 0.5
    assert candidate.last.errors.tolist() == [0.0, 1.0, 0.0, 1.0]
    assert candidate.last.noise == 0.25
    assert candidate.loss != 0.5


def test_a_candidate_is_not_behind_itself_on_more_rows():
    """Rows that only one of two candidates was scored on change the slope of that one."""
    margins = np.concatenate([RNG.normal(size=200) + 0.5, RNG.normal(size=200) + 3.0])
    results = [Result((part < 0) + 0.0, part, 1.0, 1) for part in np.split(margins, 2)]
    less, more = (Candidate(k, Setting("rbf", 1.0, 1.0)) for k in range(2))
    less.score(80, results[:1])
    more.score(80, results)
    assert np.abs(less.last.losses - more.last.losses[:200]).max() > 0.01
    assert behind(less.last, more.last) == behind(more.last, less.last) == 0.0
