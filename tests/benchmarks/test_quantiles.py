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


def test_each_quantile_has_the_setting_with_the_lowest_loss():
    who = quantiles.Contender(VALUES, lambda X, level, value: Constant(value), False)
    order = np.random.default_rng(0).permutation(101)
    chosen = quantiles.tuned(who, X[order], Y[order])
    assert [model.value for _, model in chosen] == [0.1, 0.5, 0.9]
    found = quantiles.predicted(chosen, X)
    np.testing.assert_allclose((Y[:, None] <= found).mean(axis=0), [0.1, 0.5, 0.9], atol=0.02)
    expected = [np.mean(np.maximum(q * (Y - v), (q - 1) * (Y - v))) for q, v in zip((0.1, 0.5, 0.9), (0.1, 0.5, 0.9))]  # fmt: skip
    np.testing.assert_allclose(quantiles.losses(found, Y), expected)


def test_quantiles_with_the_same_setting_have_one_model():
    def make(X, levels, value):
        return Constant(value, len(levels))

    order = np.random.default_rng(0).permutation(101)
    few = [{"value": value} for value in (0.3, 0.9)]
    chosen = quantiles.tuned(quantiles.Contender(few, make, True), X[order], Y[order])
    assert [(which, model.value, model.columns) for which, model in chosen] == [
        ([0, 1], 0.3, 2), ([2], 0.9, 1),
    ]  # fmt: skip
    found = quantiles.predicted(chosen, X)
    np.testing.assert_array_equal(found, np.tile([0.3, 0.3, 0.9], (101, 1)))


def test_the_bars_count_sets():
    better = quantiles.Measured(np.array([0.1, 0.2, 0.1]), np.array([0.1, 0.5, 0.9]), 1.0)
    worse = quantiles.Measured(np.array([0.2, 0.2, 0.2]), np.array([0.1, 0.5, 0.9]), 2.0)
    text = quantiles.report({"one": {"ours": better, "other": worse}})
    assert "lowest mean loss on 1 of 1 sets (5 of 7): **met**" in text
    text = quantiles.report({"one": {"ours": worse, "other": better}})
    assert "on 0 of 1 sets (5 of 7): **missed**" in text
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
