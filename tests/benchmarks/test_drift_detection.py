"""A small run of the comparison with ADWIN: as many drifts found, as soon, without false alarms."""

import numpy as np
import pytest

pytest.importorskip("river")

from benchmarks import drift_detection as drifts


def test_no_worse_than_adwin_with_models():
    kinds = [("label swap", True), ("rotation", False), ("recurring", True), ("none", True)]
    found = [drifts.compare(kind, forgets, 4, 2400, seed=3) for kind, forgets in kinds]
    own, adwin = (drifts.together(list(accounts)) for accounts in zip(*found, strict=True))
    assert len(own.delays) == len(adwin.delays) == 4 + 4 + 8
    assert own.found >= adwin.found >= 8
    assert own.delay <= adwin.delay
    assert own.false <= adwin.false


def test_accounts_count_delays_and_false_alarms():
    account = drifts.Account()
    account.add([50, 120, 130, 390], [100, 300, 350], 2000)
    account.add([3000], [1000], 4000)
    assert account.delays == [20, np.inf, 40, np.inf]
    assert (account.found, account.false) == (2, 2)
    assert account.delay == (20 + 1500 + 40 + 1500) / 4


@pytest.mark.parametrize("kind", drifts.KINDS)
def test_streams_change_where_they_say(kind):
    given = drifts.stream(kind, np.random.default_rng(0), 900)
    assert len(given.X) == len(given.y) == 900
    same = drifts.stream("none", np.random.default_rng(0), 900)
    first = given.changes[0] if given.changes else 900
    np.testing.assert_array_equal(given.X[:first], same.X[:first])
    np.testing.assert_array_equal(given.y[:first], same.y[:first])
    later = slice(first, None)
    assert kind == "none" or (
        (given.y[later] != same.y[later]).any() or (given.X[later] != same.X[later]).any()
    )


def test_the_table_is_printed(capsys):
    drifts.report(1, 300, 0)
    drifts.report_alarms(4000, 0)
    text = capsys.readouterr().out
    assert text.count("\n| label swap |") == 2
    assert "| 0.8 | 4,000 | 0 | 0 | 0 | 0 |" in text
