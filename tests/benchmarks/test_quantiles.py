"""The benchmark of quantiles: how settings are chosen, what is counted."""

import numpy as np
import pytest

from benchmarks import quantiles
from benchmarks.quick import quick_form


class Constant:
    """Predicts a number that it is given, one for all quantiles, or the same for each."""

    def __init__(self, value, columns=None):
        self.value, self.columns = value, columns

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X) if self.columns is None else (len(X), self.columns), self.value)


Y = np.linspace(0.0, 1.0, 101)
X = Y[:, None]
VALUES = [{"value": value} for value in (0.0, 0.1, 0.5, 0.9, 1.0)]


def make_one(X, level, value):
    return Constant(value)


def make_all(X, levels, value):
    return Constant(value, len(levels))


def test_each_quantile_has_the_setting_with_the_lowest_loss():
    who = quantiles.Contender(VALUES, make_one, False)
    best = quantiles.tuned(who, X, Y)
    assert [each["value"] for each in best.chosen] == [0.1, 0.5, 0.9]
    assert best.tried == len(VALUES)
    found = quantiles.predictions(who, best.chosen, X, Y, X)
    np.testing.assert_allclose((Y[:, None] <= found).mean(axis=0), [0.1, 0.5, 0.9], atol=0.02)
    expected = [np.mean(np.maximum(q * (Y - v), (q - 1) * (Y - v))) for q, v in zip((0.1, 0.5, 0.9), (0.1, 0.5, 0.9))]  # fmt: skip
    np.testing.assert_allclose(quantiles.losses(found, Y), expected)


def test_quantiles_with_the_same_setting_have_one_model():
    made = []

    def make(X, levels, value):
        made.append((levels, value))
        return Constant(value, len(levels))

    who = quantiles.Contender(VALUES, make, True)
    found = quantiles.predictions(who, [{"value": v} for v in (0.1, 0.1, 0.9)], X, Y, X)
    assert made == [([0.1, 0.5], 0.1), ([0.9], 0.9)]
    np.testing.assert_array_equal(found, np.tile([0.1, 0.1, 0.9], (101, 1)))


def test_quantiles_are_shifted_to_their_shares():
    fine, one = np.linspace(0.0, 1.0, 2001), [{"value": 0.5}]
    best = quantiles.tuned(quantiles.Contender(one, make_all, True), fine[:, None], fine)
    np.testing.assert_allclose(best.shift, [-0.4, 0.0, 0.4], atol=0.06)  # of 401 rows


def test_settings_are_tried_until_the_time_is_over():
    who = quantiles.Contender(VALUES, make_one, False)
    assert quantiles.tuned(who, X, Y, limit=0.0).tried == 1


def test_quantiles_are_sorted():
    who = quantiles.Contender(VALUES, make_one, False)
    found = quantiles.predictions(who, [{"value": v} for v in (0.9, 0.1, 0.5)], X, Y, X)
    np.testing.assert_array_equal(found, np.tile([0.1, 0.5, 0.9], (101, 1)))


def test_equal_targets_have_the_only_share_that_there_is():
    """Of 60 % zeros, zero is the quantile .1 and .5: none lie below it, and 60 % at or below it."""
    y = np.concatenate([np.zeros(60), np.linspace(1.0, 2.0, 40)])
    values = np.tile([1e-6, -1e-6, 1.75], (100, 1))
    np.testing.assert_allclose(quantiles.off(values, y), [0.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(quantiles.off(values + 0.1, y), [0.52, 0.12, 0.04], atol=0.02)


def measured(losses, seconds, shares=(0.0, 0.0, 0.0)):
    return quantiles.Measured(
        np.array(losses), np.array(shares), np.array(losses), np.array(shares), seconds, 16
    )


def test_the_bars_count_sets():
    better, worse = measured([0.1, 0.2, 0.1], 1.0), measured([0.2, 0.2, 0.2], 2.0, (0.05, 0.0, 0.0))
    text = quantiles.report({"one": {"ours": better, "other": worse}})
    assert "- lowest mean loss on 1 of 1 sets (5 of 7): **met**" in text
    assert "no more than 2 points on 1 of 1 sets: **met**" in text
    text = quantiles.report({"one": {"ours": worse, "other": better}})
    assert "- lowest mean loss on 0 of 1 sets (5 of 7): **missed**" in text
    assert "no more than 2 points on 0 of 1 sets: **missed**" in text
    assert "no more time than either on 0 of 1 sets: **missed**" in text


def test_columns_of_streams_are_targets():
    with quick_form():
        data = quantiles.SETS["demand"](200, 0)
    assert data.X_train.shape == (200, 18)  # of twenty generated columns
    assert data.y_train.std() == pytest.approx(1.0, abs=0.2)


def test_the_quick_form_prints_a_table_and_unknown_sets_are_refused(capsys, monkeypatch):
    few = {
        name: who._replace(settings=who.settings[:1]) for name, who in quantiles.CONTENDERS.items()
    }
    monkeypatch.setattr(quantiles, "CONTENDERS", few)
    quantiles.main(["--quick"])
    out = capsys.readouterr().out
    for name in few:
        assert f"| friedman | {name} |" in out
    with pytest.raises(SystemExit):
        quantiles.main(["nothing"])
