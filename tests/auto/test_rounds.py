"""Candidates with labels are compared by their margins, and shown by their wrong labels."""

import numpy as np

from onlinesvm import LASVMClassifier
from onlinesvm.auto.candidates import Setting
from onlinesvm.auto.race import Candidate, Race, Result, behind

RNG = np.random.default_rng(0)


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
