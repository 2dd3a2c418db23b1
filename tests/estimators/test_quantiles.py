"""Quantiles and intervals of values: next to SVR, to a duality gap, and on streams that change."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.svm import SVR

from onlinesvm import LASVMRegressor, load_model

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]


def rbf(A, B, gamma):
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


@pytest.fixture(scope="module")
def noisy():
    """Noise that depends on a feature."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(1200, 2))
    return X, np.sin(X[:, 0]) + (0.2 + 0.3 * np.abs(X[:, 1])) * rng.normal(size=1200)


def inside(interval, y):
    return (interval[..., 0] <= y) & (y <= interval[..., 1])


# -- quantiles ------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_converged_quantiles_close_the_duality_gap(noisy, scale):
    X, y = noisy[0][:500], noisy[1][:500] * scale
    C, gamma = 2.0 * scale, 0.5
    model = LASVMRegressor(quantile=LEVELS, C=C, gamma=gamma, epochs="converge").fit(X, y)
    assert model.fit_status_ == 0
    K = rbf(X, X, gamma)
    for m, tau in enumerate(LEVELS):
        alpha = np.zeros(len(X))
        alpha[model.support_] = model.dual_coef_[m]
        assert abs(alpha.sum()) < 1e-9 * C
        assert (alpha >= -C * (1 - tau) * (1 + 1e-9)).all()
        assert (alpha <= C * tau * (1 + 1e-9)).all()
        error = y - K @ alpha - model.intercept_[m]
        primal = alpha @ K @ alpha / 2 + C * np.maximum(tau * error, (tau - 1) * error).sum()
        dual = y @ alpha - alpha @ K @ alpha / 2
        assert 0 <= primal - dual + 1e-6 * primal < 1e-4 * primal


def test_a_converged_quantile_is_that_of_a_general_solver():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    K, C, tau = rbf(X, X, 0.5), 1.0, 0.8
    found = minimize(
        lambda a: a @ K @ a / 2 - y @ a, np.zeros(40), jac=lambda a: K @ a - y, method="SLSQP",
        bounds=[(-C * (1 - tau), C * tau)] * 40, options={"maxiter": 2000, "ftol": 1e-14},
        constraints={"type": "eq", "fun": np.sum, "jac": np.ones_like},
    )  # fmt: skip
    model = LASVMRegressor(quantile=tau, C=C, gamma=0.5, epochs="converge", tol=1e-6).fit(X, y)
    alpha = np.zeros(40)
    alpha[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(K @ alpha, K @ found.x, atol=1e-4)


def test_the_median_is_svr_without_a_tube(noisy):
    X, y = noisy
    ours = LASVMRegressor(quantile=0.5, C=2, gamma=0.5, epochs="converge", tol=1e-4).fit(X, y)
    peer = SVR(C=1, gamma=0.5, epsilon=0, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), atol=2e-3)


def test_one_quantile_is_the_same_alone_and_in_company(noisy):
    X, y = noisy
    company = LASVMRegressor(quantile=[0.1, 0.9], gamma=0.5, epochs="converge").fit(X, y)
    alone = LASVMRegressor(quantile=0.9, gamma=0.5, epochs="converge").fit(X, y)
    np.testing.assert_allclose(company.predict(X)[:, 1], alone.predict(X), atol=5e-3)
    assert alone.predict(X).shape == (1200,)
    assert company.n_kernel_evaluations_ < 2 * alone.n_kernel_evaluations_


@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_very_many_quantiles_of_a_large_block(fit):
    """Terms and bounds of so many machines are made some machines at a time."""
    rng, levels = np.random.default_rng(7), np.linspace(0.01, 0.99, 45)
    X = rng.uniform(-3, 3, size=(2600, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=2600)
    values = getattr(LASVMRegressor(quantile=levels, gamma=0.5), fit)(X, y).predict(X)
    np.testing.assert_allclose((y[:, None] < values).mean(axis=0), levels, atol=0.03)


def test_the_shares_below_are_those_asked_for(noisy):
    X, y = noisy
    values = LASVMRegressor(quantile=LEVELS, C=2, gamma=0.5).fit(X, y).predict(X)
    shares = (y[:, None] < values).mean(axis=0)
    np.testing.assert_allclose(shares, LEVELS, atol=0.02)


def test_pinball_loss_is_no_more_than_that_of_boosted_trees(noisy):
    rng = np.random.default_rng(5)
    X, y = noisy
    Xt = rng.uniform(-3, 3, size=(4000, 2))
    yt = np.sin(Xt[:, 0]) + (0.2 + 0.3 * np.abs(Xt[:, 1])) * rng.normal(size=4000)
    values = LASVMRegressor(quantile=[0.1, 0.5, 0.9], C=2, gamma=0.5).fit(X, y).predict(Xt)
    for column, tau in zip(values.T, (0.1, 0.5, 0.9), strict=True):
        peer = HistGradientBoostingRegressor(loss="quantile", quantile=tau, random_state=0)
        theirs = peer.fit(X, y).predict(Xt)
        assert mean_pinball_loss(yt, column, alpha=tau) <= mean_pinball_loss(yt, theirs, alpha=tau)


def test_quantiles_that_cross_are_sorted():
    """Few rows and close levels: machines are learned one by one, and their values cross."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 5)), rng.normal(size=60)
    model = LASVMRegressor(quantile=[0.4, 0.45, 0.5, 0.55, 0.6], C=10).fit(X, y)
    asked = rng.normal(size=(500, 5))
    assert (np.diff(model.predict(asked), axis=1) >= 0).all()
    plain = model.explain(asked)  # of the machines as they are
    machines = plain.base_values + plain.values.sum(axis=1)
    assert (np.diff(machines, axis=1) < 0).any()
    np.testing.assert_allclose(np.sort(machines, axis=1), model.predict(asked), atol=1e-4)
    np.testing.assert_allclose(model.predict_one(asked[0]), model.predict(asked[:1])[0], atol=1e-6)


@pytest.mark.parametrize("limits", [{}, {"window": 400}, {"budget": 150}, {"half_life": 200}])
def test_streams_files_and_single_rows(noisy, limits, tmp_path):
    X, y = noisy
    model = LASVMRegressor(quantile=[0.1, 0.9], C=2, gamma=0.5, **limits)
    other = LASVMRegressor(quantile=[0.1, 0.9], C=2, gamma=0.5, **limits)
    hits = []
    for i, (row, target) in enumerate(zip(X[:800], y[:800], strict=True)):
        if i >= 400:
            low, high = model.predict_one(row)
            hits.append(low <= target <= high)
        model.learn_one(row, target)
    assert 0.6 < np.mean(hits) < 0.95
    for row, target in zip(X[:800], y[:800], strict=True):
        other.partial_fit(row[None], [target])
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = load_model(path)
    for both in (model, again):
        both.learn_one(X[900], y[900])
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    np.testing.assert_array_equal(model.predict_interval(X), again.predict_interval(X))
    np.testing.assert_array_equal(model.finish().predict(X), again.finish().predict(X))


def test_a_window_of_quantiles_is_that_of_its_rows(noisy):
    X, y = noisy
    stream = LASVMRegressor(quantile=[0.2, 0.8], gamma=0.5, window=300, tol=1e-4)
    stream.partial_fit(X[:900], y[:900]).finish()
    rows = slice(600, 900)
    exact = LASVMRegressor(quantile=[0.2, 0.8], gamma=0.5, epochs="converge", tol=1e-4)
    np.testing.assert_allclose(
        stream.predict(X[900:]), exact.fit(X[rows], y[rows]).predict(X[900:]), atol=5e-3
    )


def test_several_targets_have_one_quantile(noisy):
    X, y = noisy
    both = LASVMRegressor(quantile=0.9, gamma=0.5).fit(X, np.c_[y, -y]).predict(X)
    np.testing.assert_allclose((np.c_[y, -y] < both).mean(axis=0), 0.9, atol=0.02)


def test_zero_inflated_targets_have_their_quantiles():
    """Most targets are zero, a few are large: the median is zero, the highest quantile is not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = np.where(rng.random(800) < 0.2, rng.exponential(50.0, 800), 0.0)
    values = LASVMRegressor(quantile=[0.5, 0.95], C=10, gamma=0.1).fit(X, y).predict(X)
    assert np.abs(np.median(values[:, 0])) < 0.5
    assert (y < values[:, 1]).mean() == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize(
    ("quantile", "message"),
    [
        (0.0, "between 0 and 1"), (1.0, "between 0 and 1"), (-0.1, "between 0 and 1"),
        (np.nan, "between 0 and 1"), ([0.1, 2], "between 0 and 1"), ([], "between 0 and 1"),
        ([0.9, 0.1], "ascending"), ([0.5, 0.5], "ascending"), ([["a"]], "numbers"),
        ([[0.1, 0.9]], "between 0 and 1"),
    ],
)  # fmt: skip
def test_bad_quantiles_are_refused_and_the_model_stays(noisy, quantile, message):
    X, y = noisy
    model = LASVMRegressor(gamma=0.5).fit(X[:100], y[:100])
    before = model.predict(X)
    with pytest.raises(ValueError, match=message):
        model.set_params(quantile=quantile).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_several_quantiles_of_several_targets_are_refused(noisy):
    X, y = noisy
    with pytest.raises(ValueError, match="Several quantiles are learned of one target"):
        LASVMRegressor(quantile=[0.1, 0.9]).fit(X, np.c_[y, y])


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ([0.1, 0.9], [0.1, 0.5, 0.9], "has learned 2 quantiles, .* asks for 3 quantiles now"),
        ([0.1, 0.9], None, "has learned 2 quantiles, .* asks for one value of each target now"),
        (0.5, [0.1, 0.9], "has learned one value of each target, .* asks for 2 quantiles now"),
    ],
)
def test_another_number_of_quantiles_needs_a_new_fit(noisy, before, after, message):
    X, y = noisy
    model = LASVMRegressor(quantile=before).fit(X[:100], y[:100])
    told = model.predict(X)
    with pytest.raises(ValueError, match=f"{message}: set quantile back, or call fit"):
        model.set_params(quantile=after).partial_fit(X[100:], y[100:])
    np.testing.assert_array_equal(model.predict(X), told)
    assert model.fit(X, y).predict(X).shape == (len(X), *np.shape(after))


# -- intervals ------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"quantile": [0.05, 0.95]}, {"quantile": 0.5}])
@pytest.mark.parametrize("n", [300, 3000])
def test_intervals_after_a_fit_cover(settings, n):
    X, y = make_friedman1(n, noise=1.0, random_state=0)
    Xt, yt = make_friedman1(4000, noise=1.0, random_state=1)
    model = LASVMRegressor(C=10, gamma=0.3, epsilon=0.5, **settings).fit(X, y)
    for coverage in (0.5, 0.9):
        share = inside(model.predict_interval(Xt, coverage), yt).mean()
        assert coverage - 0.06 < share < coverage + 0.16
    widths = [np.diff(model.predict_interval(Xt, c)).mean() for c in (0.5, 0.8, 0.95)]
    assert widths[0] < widths[1] < widths[2]


@pytest.mark.parametrize("first", [100, 300, 1000, 2000, 5000])
@pytest.mark.parametrize("quantile", [None, [0.05, 0.95]])
def test_intervals_after_the_first_call_of_a_stream_are_about_as_wide_as_after_fit(first, quantile):
    """A model that has learned nothing predicts no value, and is not wrong by the size of the target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(first + 2000, 3))
    y = 20.0 + X[:, 0] + 0.3 * rng.normal(size=len(X))
    settings = {"C": 10.0, "quantile": quantile}
    stream = LASVMRegressor(**settings).partial_fit(X[:first], y[:first])
    fitted = LASVMRegressor(**settings).fit(X[:first], y[:first])
    widths = [np.diff(m.predict_interval(X[first:])).mean() for m in (stream, fitted)]
    assert 0.5 < widths[0] / widths[1] < 2.0
    assert inside(stream.predict_interval(X[first:]), y[first:]).mean() > 0.84


def test_intervals_of_quantiles_follow_the_noise(noisy):
    X, y = noisy
    model = LASVMRegressor(quantile=[0.05, 0.95], C=2, gamma=0.5).fit(X, y)
    width = np.diff(model.predict_interval(X))[:, 0]
    assert width[np.abs(X[:, 1]) > 2.5].mean() > 2 * width[np.abs(X[:, 1]) < 0.5].mean()


@pytest.mark.parametrize("limits", [{"window": 200}, {"budget": 150}])
def test_coverage_holds_on_a_stream_and_after_a_level_shift(limits):
    rng = np.random.default_rng(0)
    n = 2400
    X = np.c_[np.sin(np.arange(n) / 20), rng.normal(size=n)]
    y = 2 * X[:, 0] + 0.3 * rng.standard_t(3, size=n)
    y[n // 2 :] += 10.0
    model = LASVMRegressor(C=10, gamma=0.5, **limits)
    hits = np.zeros(n, bool)
    for i in range(n):
        if i >= 60:
            low, high = model.predict_interval_one(X[i])
            hits[i] = low <= y[i] <= high
        model.learn_one(X[i], y[i])
    for first in range(200, n - 999, 250):
        assert 0.87 < hits[first : first + 1000].mean() < 0.93


def test_one_row_has_the_interval_of_many(noisy):
    X, y = noisy
    for quantile in (None, [0.1, 0.9]):
        model = LASVMRegressor(quantile=quantile, gamma=0.5).partial_fit(X, y)
        one = model.predict_interval_one(X[3], coverage=0.8)
        np.testing.assert_allclose(one, model.predict_interval(X[3:4], 0.8)[0], atol=1e-5)
    several = LASVMRegressor(gamma=0.5).fit(X, np.c_[y, 3 * y])
    assert several.predict_interval(X).shape == (1200, 2, 2)
    assert several.predict_interval_one(X[0]).shape == (2, 2)


def test_what_cannot_be_told_is_said(noisy):
    X, y = noisy
    model = LASVMRegressor(gamma=0.5).partial_fit(X[:5], y[:5])
    with pytest.raises(ValueError, match="at least 20 examples"):
        model.predict_interval(X)
    model.partial_fit(X, y).partial_fit(X, y)
    for coverage in (0.0, 1.0, -1, "much", None, True):
        with pytest.raises(ValueError, match="coverage must be a number between 0 and 1"):
            model.predict_interval(X, coverage)
    assert np.isinf(model.predict_interval(X[:1], 0.9999)).all()


# -- calibrated quantiles -------------------------------------------------------------------------

OUTER = [0.1, 0.5, 0.9]


def drawn(n, seed, scale=1.0):
    """Noise that depends on a feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(n, 2))
    noise = (0.2 + 0.3 * np.abs(X[:, 1])) * rng.normal(size=n)
    return X, scale * (np.sin(X[:, 0]) + noise)


def losses(y, values):
    return [mean_pinball_loss(y, v, alpha=q) for v, q in zip(values.T, OUTER, strict=True)]


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
@pytest.mark.parametrize("order", ["random", "sorted", "copies"])
def test_calibrated_shares_are_those_of_new_targets(order, scale):
    """A model that follows its targets closely: without an offset, its quantiles are too near."""
    X, y = drawn(1000, 0, scale)
    Xt, yt = drawn(8000, 1, scale)
    if order == "sorted":
        X, y = X[np.argsort(y)], np.sort(y)
    if order == "copies":
        X, y = np.repeat(X[:500], 3, axis=0), np.repeat(y[:500], 3)
    settings = {"quantile": OUTER, "C": 30.0 * scale, "gamma": 1.0}
    plain = LASVMRegressor(**settings).fit(X, y).predict(Xt)
    values = LASVMRegressor(calibrated=True, **settings).fit(X, y).predict(Xt)
    peer = np.column_stack([
        HistGradientBoostingRegressor(loss="quantile", quantile=q, random_state=0).fit(X, y).predict(Xt)
        for q in OUTER
    ])  # fmt: skip
    off, off_plain, off_peer = (
        np.abs((yt[:, None] < v).mean(axis=0) - OUTER) for v in (values, plain, peer)
    )
    within = 0.02 if order != "copies" else 0.04  # a standard error is .022 of 500 rows
    assert (off[[0, 2]] < within).all()
    assert off[1] < 0.05  # three standard errors of 1,000 rows
    assert (off_plain[[0, 2]] > 0.03).all()
    assert (off[[0, 2]] < off_peer[[0, 2]]).all()
    assert np.mean(losses(yt, values)) < np.mean(losses(yt, plain))


@pytest.mark.parametrize("kind", ["zeros", "heavy", "rounded", "constant"])
def test_calibration_of_awkward_targets(kind):
    rng = np.random.default_rng(3)

    def draw(n):
        X = rng.normal(size=(n, 2))
        y = {
            "zeros": np.where(rng.random(n) < 0.7, 0.0, rng.exponential(1 + np.exp(X[:, 0]), n)),
            "heavy": X[:, 0] + rng.standard_t(1.5, n),
            "rounded": np.round(X[:, 0] + rng.normal(size=n)),
            "constant": np.full(n, 7.0),
        }[kind]
        return X, y

    (X, y), (Xt, yt) = draw(800), draw(8000)
    plain, calibrated = (
        LASVMRegressor(quantile=OUTER, C=1.0, gamma=0.5, calibrated=c).fit(X, y).predict(Xt)
        for c in (False, True)
    )
    tie = 1e-3 * yt.std()
    assert ((yt[:, None] < calibrated - tie).mean(axis=0) < np.array(OUTER) + 0.04).all()
    assert ((yt[:, None] <= calibrated + tie).mean(axis=0) > np.array(OUTER) - 0.04).all()
    assert np.mean(losses(yt, calibrated)) <= 1.01 * np.mean(losses(yt, plain))


def test_the_exact_problem_is_left_alone_and_only_the_offsets_differ():
    X, y = drawn(400, 0)
    settings = {"quantile": OUTER, "C": 30.0, "gamma": 1.0, "epochs": "converge"}
    exact, other = (LASVMRegressor(calibrated=c, **settings).fit(X, y) for c in (False, True))
    np.testing.assert_array_equal(exact.support_, other.support_)
    np.testing.assert_array_equal(exact.dual_coef_, other.dual_coef_)
    moved = other.intercept_ - exact.intercept_
    assert moved[0] < -0.1 < 0.1 < moved[2]
    again = rbf(X, X[other.support_], 1.0) @ other.dual_coef_.T + other.intercept_
    np.testing.assert_allclose(other.predict(X), np.sort(again, axis=1), atol=5e-4)


def test_offsets_are_those_of_models_without_the_examples():
    """Next to ten fits of nine tenths each, whose folds are other ones."""
    X, y = drawn(600, 0)
    settings = {"quantile": OUTER, "C": 30.0, "gamma": 1.0}
    plain = LASVMRegressor(**settings).fit(X, y).intercept_
    moved = LASVMRegressor(calibrated=True, **settings).fit(X, y).intercept_ - plain
    fold, errors = np.arange(600) % 10, np.empty((600, 3))
    for k in range(10):
        there = fold == k
        part = LASVMRegressor(**settings).fit(X[~there], y[~there]).predict(X[there])
        errors[there] = y[there, None] - part
    expected = [np.quantile(e, q) for e, q in zip(errors.T, OUTER, strict=True)]
    np.testing.assert_allclose(moved, expected, atol=0.06)
    assert np.abs(expected)[[0, 2]].min() > 0.12


def test_weights_count_in_calibration():
    """Examples of weight 0.001 are nearly absent: their targets do not move the quantiles."""
    X, y = drawn(600, 0)
    Xt, yt = drawn(4000, 1)
    both, far = np.concatenate([X, X + 0.01]), np.concatenate([y, y + 50.0])
    weight = np.repeat([1.0, 1e-3], 600)
    model = LASVMRegressor(quantile=OUTER, C=10.0, gamma=1.0, calibrated=True)
    values = model.fit(both, far, sample_weight=weight).predict(Xt)
    np.testing.assert_allclose((yt[:, None] < values).mean(axis=0), OUTER, atol=0.05)


@pytest.mark.parametrize("limits", [{"window": 200}, {"budget": 100}, {"half_life": 200}])
def test_calibrated_streams_follow_a_change(limits):
    X, y = drawn(1600, 0)
    y[800:] = 3 * y[800:] + 5.0
    model = LASVMRegressor(quantile=OUTER, C=5.0, gamma=1.0, calibrated=True, **limits)
    plain = LASVMRegressor(quantile=OUTER, C=5.0, gamma=1.0, **limits)
    told, was = np.zeros((2, 1600, 3))
    for i in range(1600):
        if i >= 20:
            told[i], was[i] = model.predict_one(X[i]), plain.predict_one(X[i])
        model.learn_one(X[i], y[i])
        plain.learn_one(X[i], y[i])
    for part in (slice(100, 800), slice(800, 1600)):
        off = np.abs((y[part, None] < told[part]).mean(axis=0) - OUTER)
        assert (off < 0.03).all()
        off_plain = np.abs((y[part, None] < was[part]).mean(axis=0) - OUTER)
        assert off_plain[[0, 2]].max() > off[[0, 2]].max() + 0.02


@pytest.mark.parametrize("learned", ["fit", "stream", "window", "fit, then stream"])
def test_everything_sees_the_same_offsets(learned, tmp_path):
    X, y = drawn(700, 0)
    model = LASVMRegressor(
        quantile=OUTER, C=30.0, gamma=1.0, calibrated=True, window=300 if learned == "window" else None
    )  # fmt: skip
    if learned.startswith("fit"):
        model.fit(X[:500], y[:500])
    if learned != "fit":
        for i in range(500, 620):
            model.learn_one(X[i], y[i])
    bare = rbf(X, model.support_vectors_, 1.0) @ model.dual_coef_.T
    offsets = model.intercept_.copy()
    values = model.predict(X)
    np.testing.assert_allclose(np.sort(bare + offsets, axis=1), values, atol=5e-4)
    for i in (0, 1, 650):
        np.testing.assert_allclose(model.predict_one(X[i]), values[i], atol=1e-5)
    why = model.explain(X[:5])
    np.testing.assert_allclose(
        np.sort(why.base_values + why.values.sum(axis=1), axis=1), values[:5], atol=1e-4
    )
    model.save(tmp_path / "model.safetensors")
    others = [
        load_model(tmp_path / "model.safetensors"),
        pickle.loads(pickle.dumps(model)),
        deepcopy(model),
    ]
    for other in others:
        np.testing.assert_array_equal(other.predict(X), values)
        np.testing.assert_array_equal(other.predict_interval(X), model.predict_interval(X))
    model.partial_fit(X[620:], y[620:])
    for other in others:
        other.partial_fit(X[620:], y[620:])
        np.testing.assert_array_equal(other.intercept_, model.intercept_)
        np.testing.assert_array_equal(other.predict_interval(X), model.predict_interval(X))


def test_a_calibrated_interval_is_not_widened_twice():
    """Its errors are those of the shifted quantiles: on a band that holds, little is left to add."""
    X, y = drawn(1000, 0)
    Xt, yt = drawn(4000, 1)
    settings = {"quantile": [0.05, 0.95], "C": 30.0, "gamma": 1.0, "calibrated": True}
    model = LASVMRegressor(**settings).fit(X, y)
    assert inside(model.predict(Xt), yt).mean() == pytest.approx(0.9, abs=0.03)
    assert inside(model.predict_interval(Xt, 0.9), yt).mean() == pytest.approx(0.9, abs=0.03)


def test_forgotten_errors_leave_the_offsets():
    """Wild targets, far away from the others: without them offsets are those of the rest."""
    X, y = drawn(400, 0)
    rng = np.random.default_rng(0)
    wild = rng.choice(400, 120, replace=False)
    y[wild] += rng.choice([-100.0, 100.0], 120)
    model = LASVMRegressor(quantile=OUTER, C=1.0, gamma=1.0, calibrated=True).fit(X, y)
    wide = np.diff(model.intercept_[[0, 2]])
    model.forget(wild, X, y)
    rest = np.delete(np.arange(400), wild)
    without = LASVMRegressor(quantile=OUTER, C=1.0, gamma=1.0, calibrated=True).fit(
        X[rest], y[rest]
    )
    np.testing.assert_allclose(model.intercept_, without.intercept_, atol=0.35)
    assert wide > 10 * np.diff(model.intercept_[[0, 2]])


def test_few_examples_are_not_calibrated():
    X, y = drawn(19, 0)
    fitted = [LASVMRegressor(quantile=OUTER, C=3.0, calibrated=c).fit(X, y) for c in (False, True)]
    np.testing.assert_array_equal(fitted[0].intercept_, fitted[1].intercept_)


def test_without_quantiles_there_is_nothing_to_calibrate():
    X, y = drawn(200, 0)
    plain, other = (LASVMRegressor(calibrated=c).fit(X, y) for c in (False, True))
    np.testing.assert_array_equal(plain.predict(X), other.predict(X))
