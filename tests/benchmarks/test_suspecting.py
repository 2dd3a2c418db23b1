"""The benchmark of wrong labels: what it spoils, what it measures."""

import numpy as np
import pytest

from benchmarks import suspecting


def test_a_tenth_of_the_labels_is_replaced_by_another_one():
    data = suspecting.letters(1000, 0)
    problem = suspecting.spoiled(data, 0)
    assert problem.wrong.sum() == 100
    np.testing.assert_array_equal(problem.y != data.y_train, problem.wrong)


def test_wrong_labels_are_found():
    problem = suspecting.spoiled(suspecting.letters(1500, 0), 0)
    precision, seconds, ranking = suspecting.measure(problem, "suspects")
    assert 0.7 < precision <= 1.0  # by chance: 0.1
    assert seconds > ranking > 0


def test_probabilities_of_the_given_labels_rank_wrong_ones_first():
    pytest.importorskip("cleanlab")
    problem = suspecting.spoiled(suspecting.letters(1500, 0), 0)
    precision, *_ = suspecting.measure(problem, "cleanlab, 5 folds")
    assert precision > 0.7


def test_the_bars_are_told_for_the_ranking_alone_and_with_the_fit():
    peer = suspecting.Measured(0.9, 10.0, 0.01)
    assert suspecting.verdict(suspecting.Measured(0.885, 1.4, 0.5), peer) == [
        "yes",
        "yes, 5%",
        "no, 14%",
    ]
    assert suspecting.verdict(suspecting.Measured(0.875, 0.9, 0.5), peer) == [
        "no",
        "yes, 5%",
        "yes, 9%",
    ]


def test_the_quick_form_prints_a_table_and_unknown_sets_are_refused(capsys, monkeypatch):
    def missing(problem, n):
        raise ImportError

    monkeypatch.setitem(suspecting.METHODS, "cleanlab, 5 folds", missing)
    suspecting.main(["letters", "mnist", "--quick"])
    out = capsys.readouterr().out
    assert "| letters, 300 rows | suspects |" in out
    assert "| mnist, 300 rows | cleanlab, 5 folds | not installed |" in out
    with pytest.raises(SystemExit):
        suspecting.main(["nothing"])
