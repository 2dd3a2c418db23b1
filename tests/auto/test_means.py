"""Mean targets of categories with few rows: an estimate by hand, and scikit-learn's beside it."""

import numpy as np
import pytest
import sklearn
from sklearn.preprocessing import TargetEncoder

from onlinesvm import load_model, save_model
from onlinesvm.auto.means import MOST, smoothing, target_columns
from onlinesvm.tables import TableEncoder

pd = pytest.importorskip("pandas")


def drawn(seed, n, levels, between=1.0):
    """Categories, targets, and the true mean of each category."""
    rng = np.random.default_rng(seed)
    which, effect = rng.integers(0, levels, n), between * rng.normal(size=levels)
    return which, effect[which] + 0.7 * rng.normal(size=n), effect


def by_hand(which, columns):
    """One-way analysis of variance, category by category."""
    groups = [columns[which == k] for k in np.unique(which)]
    n, k = len(which), len(groups)
    within = sum(((each - each.mean(axis=0)) ** 2).sum() for each in groups) / (n - k)
    between = sum(len(each) * (each.mean(axis=0) ** 2).sum() for each in groups) / (k - 1)
    rows = (n - sum(len(each) ** 2 for each in groups) / n) / (k - 1)
    tau = (between - within) / rows
    return within / tau if tau > 0 else MOST


@pytest.mark.parametrize("labels", [None, 2, 4])
@pytest.mark.parametrize(("n", "levels"), [(300, 100), (500, 400), (200, 7)])
def test_the_weight_of_the_mean_of_all_is_that_of_an_analysis_of_variance(labels, n, levels):
    which, y, _ = drawn(0, n, levels)
    if labels:
        y = np.array(list("abcd"))[np.digitize(y, np.quantile(y, np.arange(1, labels) / labels))]
    columns, _ = target_columns(y, labels is None)
    assert columns.shape == (n, labels or 1)
    found = smoothing(which.astype(str).astype(object), columns)
    assert found == pytest.approx(by_hand(which, columns), rel=1e-9)


def test_categories_that_say_nothing_have_no_means():
    rng = np.random.default_rng(0)
    columns, _ = target_columns(rng.normal(size=200), True)
    assert smoothing(np.arange(200), columns) == MOST  # a row for each
    assert smoothing(np.zeros(200), columns) == MOST
    assert smoothing(np.arange(200) // 2, target_columns(np.ones(200), True)[0]) == MOST


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e50])
def test_means_of_few_rows_are_nearer_to_the_truth_than_with_scikit_learn(scale):
    """Its estimate for each category alone believes a category of one row as one of a hundred."""
    ours, theirs = [], []
    for seed in range(5):
        which, y, effect = drawn(seed, 600, 300)
        table = pd.DataFrame({"id": [f"id {k}" for k in which]})
        encoder = TableEncoder(target_type="continuous").fit(table, scale * y)
        known = pd.DataFrame({"id": [f"id {k}" for k in np.unique(which)]})
        means = encoder.transform(known) * encoder.means_spread_ + encoder.means_centre_
        peer = TargetEncoder(target_type="continuous", random_state=0).fit(table, scale * y)
        truth = effect[np.unique(which)]
        ours.append(np.sqrt(np.mean((means[:, 0] / scale - truth) ** 2)))
        theirs.append(np.sqrt(np.mean((peer.transform(known)[:, 0] / scale - truth) ** 2)))
    assert np.mean(ours) < 0.93 * np.mean(theirs)


@pytest.mark.parametrize("targets", ["labels", "values"])
def test_an_id_of_its_own_for_each_row_moves_no_row(targets):
    """It is the same for all rows while they are learned, and it was one standard deviation later."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": [f"id {k}" for k in range(200)], "x": rng.normal(size=200)})
    y = rng.integers(0, 2, 200) if targets == "labels" else rng.normal(size=200)
    encoder = TableEncoder()
    learned = encoder.fit_transform(table, y)
    np.testing.assert_allclose(encoder.transform(table), learned, atol=0.1)


def test_each_column_has_its_own_weight_and_files_keep_them(tmp_path):
    rng = np.random.default_rng(0)
    which, y, _ = drawn(0, 400, 40)
    table = pd.DataFrame({"town": [f"t{k}" for k in which], "id": [f"id {k}" for k in range(400)]})
    for target in (y, np.digitize(y, [-0.5, 0.5])):
        encoder = TableEncoder().fit(table, target)
        good, none = (each.smooth for each in encoder.means_)
        assert good < 5
        assert none == MOST
        names = encoder.get_feature_names_out().tolist()
        assert len(names) == encoder.transform(table).shape[1]
        assert [name.split("_")[0] for name in names] == sorted(
            (name.split("_")[0] for name in names), reverse=True
        )
    from sklearn.pipeline import make_pipeline

    from onlinesvm import LASVMRegressor

    model = make_pipeline(TableEncoder(target_type="continuous"), LASVMRegressor()).fit(table, y)
    save_model(model, tmp_path / "m")
    shuffled = table.iloc[rng.permutation(400)]
    np.testing.assert_array_equal(
        load_model(tmp_path / "m").predict(shuffled), model.predict(shuffled)
    )


def test_an_encoder_of_an_earlier_version_has_one_encoder_of_means_for_all_columns():
    which, y, _ = drawn(0, 400, 40)
    table = pd.DataFrame({"a": [f"a{k}" for k in which], "b": [f"b{k}" for k in which[::-1]]})
    encoder = TableEncoder(target_type="continuous").fit(table, y)
    names = encoder.get_feature_names_out().tolist()
    old = TargetEncoder(target_type="continuous", random_state=0).fit(table.to_numpy(object), y)
    encoder.means_ = old
    expected = old.transform(table.to_numpy(object))
    found = encoder.transform(table) * encoder.means_spread_ + encoder.means_centre_
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert encoder.get_feature_names_out().tolist() == names


def test_mean_targets_while_metadata_routing_is_enabled():
    """scikit-learn 1.9's encoder then asks for groups that nobody passed."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"who": [f"user {k % 90}" for k in range(360)], "x": rng.normal(size=360)})
    y = rng.random(360) < 0.5
    plain = TableEncoder().fit_transform(table, y)
    with sklearn.config_context(enable_metadata_routing=True):
        assert (TableEncoder().fit_transform(table, y) == plain).all()
