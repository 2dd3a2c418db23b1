"""Kernel machines that set themselves: what they learn, what they say, what they refuse."""

import pickle
import time
import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_friedman1, make_gaussian_quantiles
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from onlinesvm import (
    AutoSVMClassifier,
    AutoSVMRegressor,
    LASVMClassifier,
    LASVMRegressor,
    load_model,
    save_model,
)
from onlinesvm.auto import learning
from onlinesvm.auto import race as racing
from onlinesvm.auto.candidates import SCALES, Metric, Setting, first_settings, kernels
from onlinesvm.auto.learning import expected_error, race_and_learn
from onlinesvm.auto.race import (
    ALLOWED,
    TOGETHER,
    Candidate,
    Race,
    Round,
    behind,
    fits_of,
    seconds_for,
    sharing,
    still_learns,
    work_of,
)
from onlinesvm.auto.tables import TableEncoder

RNG = np.random.default_rng(0)


def mixed(n, seed):
    """A table of numbers, categories, gaps and a date, its label and its value."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], n)
    size, age = rng.normal(size=n), rng.exponential(size=n)
    day = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D")
    value = size * np.where(colour == "red", 2.0, -1.0) + np.log(age) + (day.month > 6)
    size = np.where(rng.random(n) < 0.1, np.nan, size)
    table = pd.DataFrame({"colour": colour, "size": size, "age": age, "day": day})
    return table, np.where(value > 0, "yes", "no"), value


@pytest.fixture(scope="module")
def fitted():
    table, label, value = mixed(300, 0)
    return (
        AutoSVMClassifier(time_limit=None).fit(table, label),
        AutoSVMRegressor(time_limit=None).fit(table, value),
    )


def test_a_mixed_table_needs_nothing_but_fit(fitted):
    table, label, value = mixed(1000, 1)
    assert fitted[0].score(table, label) > 0.8
    assert fitted[1].score(table, value) > 0.6
    probability = fitted[0].predict_proba(table)
    assert probability.shape == (1000, 2)
    assert np.allclose(probability.sum(axis=1), 1)
    assert fitted[0].classes_.tolist() == ["no", "yes"]
    assert fitted[0].decision_function(table).shape == (1000,)
    assert fitted[0].feature_names_in_.tolist() == ["colour", "size", "age", "day"]
    assert fitted[0].n_features_in_ == 4


def test_what_was_found_is_there_to_read(fitted):
    for model, kind in zip(fitted, (LASVMClassifier, LASVMRegressor)):
        race = model.race_
        assert len({len(column) for column in race.values()}) == 1
        assert set(race["kernel"]) == set(kernels())
        assert race["won"].any()
        won = race["kernel"][race["won"]]
        assert model.best_params_["kernel"] == won[0]
        assert isinstance(model.best_estimator_, Pipeline)
        assert type(model.best_estimator_[-1]) is kind
        assert model.best_params_["C"] == model.best_estimator_[-1].C
        assert model.learned_from_ == "all rows"
        assert len(model.feature_weights_) == len(model.feature_names_out_)
        assert model.best_error_ == pytest.approx(
            race["error"][race["won"] & (race["rows"] == race["rows"].max())][0]
        )
        figure = model.plot_race()
        assert len(figure.axes[0].lines) == len(np.unique(race["candidate"]))
        assert figure.axes[0].get_ylabel() == "error on held-out rows"
        assert model.plot_feature_weights(most=2).axes[0].get_yticklabels()


def test_the_error_of_the_race_is_that_of_new_rows(fitted):
    table, label, _ = mixed(3000, 2)
    error = 1 - fitted[0].score(table, label)
    assert abs(error - fitted[0].best_error_) < 0.06


def test_the_same_seed_gives_the_same_model():
    table, label, _ = mixed(120, 0)
    models = [AutoSVMClassifier(time_limit=None).fit(table, label) for _ in range(2)]
    assert models[0].best_params_["C"] == models[1].best_params_["C"]
    assert np.array_equal(*(m.decision_function(table) for m in models))
    assert np.array_equal(*(m.race_["error"] for m in models))
    alone = AutoSVMClassifier(time_limit=None, n_jobs=1).fit(table, label)
    assert np.array_equal(alone.decision_function(table), models[0].decision_function(table))


def test_files_pickles_and_streams_take_the_pipeline(fitted, tmp_path):
    table, label, value = mixed(300, 3)
    for model, target in zip(fitted, (label, value)):
        want = model.predict(table)
        save_model(model.best_estimator_, tmp_path / "m")
        assert np.array_equal(load_model(tmp_path / "m").predict(table), want)
        assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(table), want)
        encode, svm = pickle.loads(pickle.dumps(model.best_estimator_))
        svm.partial_fit(encode.transform(table), target)
        assert len(svm.predict(encode.transform(table))) == 300


def test_many_categories_can_be_saved(tmp_path, short_race):
    pd = pytest.importorskip("pandas")
    town = RNG.integers(0, 60, 300)
    table = pd.DataFrame({"town": [f"t{k}" for k in town], "x": RNG.normal(size=300)})
    for model, y in (
        (AutoSVMClassifier(time_limit=None), town % 3),
        (AutoSVMRegressor(time_limit=None), (town % 3).astype(float)),
    ):
        model.fit(table, y)
        save_model(model.best_estimator_, tmp_path / "m")
        loaded = load_model(tmp_path / "m")
        assert np.array_equal(loaded.predict(table), model.predict(table))


def test_polars_is_as_good_as_pandas(fitted, short_race):
    pl = pytest.importorskip("polars")
    table, label, _ = mixed(300, 3)
    other = pl.from_pandas(table)
    assert np.array_equal(fitted[0].predict(other), fitted[0].predict(table))
    assert clone(fitted[0]).fit(other, label).score(other, label) > 0.8


def test_it_is_no_worse_than_plain_machines():
    X, y = load_breast_cancer(return_X_y=True)
    model = AutoSVMClassifier(time_limit=None).fit(X[::3], y[::3])
    assert model.score(X[1::3], y[1::3]) > 0.94
    X, y = make_friedman1(600, n_features=12, random_state=0)
    plain = LASVMRegressor(C=10).fit(X[:250], y[:250]).score(X[250:], y[250:])
    found = AutoSVMRegressor(time_limit=None).fit(X[:250], y[:250])
    assert found.score(X[250:], y[250:]) > plain
    counts = dict(zip(found.feature_names_out_, found.feature_weights_))
    assert counts["x11"] < counts["x3"]


def test_labels_that_surround_each_other_are_told_apart_in_pairs(monkeypatch):
    """Each label but the first is a shell: one machine for it against all others is poor at that."""
    X, y = make_gaussian_quantiles(n_samples=3000, n_features=6, n_classes=3, random_state=0)
    fit = partial(AutoSVMClassifier(time_limit=None, random_state=0).fit, X[:1200], y[:1200])
    model = fit()
    assert model.best_params_["decision"] == "ovo"
    assert set(model.race_["decision"]) == {"ovr", "ovo"}
    proba = model.predict_proba(X[1200:])
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(X[1200:])).mean() > 0.98
    error = 1 - model.score(X[1200:], y[1200:])
    monkeypatch.setattr(racing, "IN_PAIRS", (99, 99))
    alone = fit()
    assert set(alone.race_["decision"]) == {"ovr"}
    assert error < 0.9 * (1 - alone.score(X[1200:], y[1200:]))
    peer = SVC(C=10, gamma="scale").fit(X[:1200], y[:1200])
    assert error < 1 - peer.score(X[1200:], y[1200:]) + 0.01


@pytest.mark.parametrize("share", [0.001, 0.02])
def test_a_few_huge_targets_leave_all_others_as_they_are(share):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    true = X[:, 0] + np.sin(2 * X[:, 1])
    y = true + 0.1 * rng.normal(size=600)
    plain = AutoSVMRegressor(time_limit=None, random_state=0).fit(X[:400], y[:400])
    spoilt = y.copy()
    spoilt[rng.permutation(400)[: max(1, int(share * 400))]] *= 1e12
    model = AutoSVMRegressor(time_limit=None, random_state=0).fit(X[:400], spoilt[:400])
    error, least = (np.median(np.abs(m.predict(X[400:]) - true[400:])) for m in (model, plain))
    assert error < 3 * least


# -- time ---------------------------------------------------------------------------------


def test_a_short_limit_gives_the_best_so_far_and_says_so():
    X = RNG.normal(size=(30_000, 8))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    AutoSVMClassifier(time_limit=None).fit(X[:60], y[:60])  # loops are compiled
    with pytest.warns(ConvergenceWarning, match="time_limit=0.01 s"):
        model = AutoSVMClassifier(time_limit=0.01).fit(X, y)
    assert "sample" in model.learned_from_
    assert len(model.predict(X[:3000])) == 3000


def test_the_limit_is_kept():
    X = RNG.normal(size=(20_000, 20))
    y = (X[:, 0] * X[:, 1] + RNG.normal(size=20_000) > 0).astype(int)
    AutoSVMClassifier(time_limit=None).fit(X[:60], y[:60])
    begin = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = AutoSVMClassifier(time_limit=5).fit(X, y)
    assert time.monotonic() - begin < 5 * 1.2 + 1.5
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("kind", [AutoSVMClassifier, AutoSVMRegressor])
def test_the_time_that_was_left_is_no_setting_of_the_model(kind):
    """The pipeline can be fitted again, to more rows, without a limit that its user did not set."""
    X = RNG.normal(size=(60, 3))
    model = kind(time_limit=30).fit(X, np.arange(60) % 3)
    assert model.best_estimator_[-1].time_limit is None
    assert clone(model.best_estimator_)[-1].time_limit is None


def test_the_race_leaves_time_for_the_winner():
    """Fits that are slow, as on a busy machine: the first round alone would take all of the time."""
    limits, X = [], RNG.normal(size=(250, 3))

    class Slow(LASVMRegressor):
        def fit(self, X, y):
            limits.append(self.time_limit)
            time.sleep(0.03)
            return super().fit(X, y)

    for kernel in kernels():  # loops are compiled
        LASVMRegressor(kernel=kernel, gamma=1.0).fit(X[:50], X[:50, 0])
    found = race_and_learn(
        Slow, {"standard": X}, X[:, 0] ** 2 + X[:, 1], False,
        begin=time.monotonic(), limit=2.0, n_jobs=1, seed=0, tell=lambda words: None,
    )  # fmt: skip
    assert limits[-1] > 0.25 * 2.0
    assert found.learned_from() == "all rows"
    assert found.race.out_of_time
    assert found.race.error(found.winner) < np.std(found.race.y)


def scales_of(model, X, y, monkeypatch, seconds=0.0):
    """The scales of numbers that a fit has encoded the table with, each in so many seconds."""
    used, encode = [], TableEncoder.fit_transform

    def noted(self, X, y=None):
        used.append(self.numbers)
        time.sleep(seconds)
        return encode(self, X, y)

    with monkeypatch.context() as changed, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        changed.setattr(TableEncoder, "fit_transform", noted)
        model.fit(X, y)
    assert set(model.race_["numbers"]) <= set(used)
    return used


def test_a_table_that_takes_long_to_encode_is_encoded_once(monkeypatch):
    """Hundreds of columns of many rows: a second scale of numbers would leave no time to learn."""
    X = RNG.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    for limit, want in ((2.0, ["standard"]), (None, ["standard", "ranks"])):
        model = AutoSVMClassifier(time_limit=limit)
        assert scales_of(model, X, y, monkeypatch, 0.25) == want
        assert len(model.predict(X)) == 60


def test_two_valued_columns_are_not_encoded_as_ranks(monkeypatch):
    """These have no ranks: both scales would give the same rows, and the same candidates twice."""
    X = RNG.integers(0, 2, (60, 3))
    y = X[:, 0] ^ X[:, 1]
    assert scales_of(AutoSVMClassifier(time_limit=None), X, y, monkeypatch) == ["standard"]


# -- the race -----------------------------------------------------------------------------


def test_the_plainer_of_two_that_do_not_differ_wins():
    X = {scale: RNG.normal(size=(200, 2)) for scale in SCALES}
    race = Race(
        LASVMClassifier, X, np.arange(200) % 2, True, ends=np.inf, threads=1, seed=0,
        tell=lambda text: None,
    )  # fmt: skip
    plain = Candidate(0, Setting("rbf", 1.0, 1.0))
    other = Candidate(1, Setting("rbf", 1.0, 1.0, numbers="ranks"))
    losses = (np.arange(1000) % 10 == 0).astype(float)
    slightly, clearly = losses.copy(), losses.copy()
    slightly[[0, 1, 10]] = 0.0, 1.0, 0.0
    clearly[:500] = 0.0
    for better, winner in ((slightly, plain), (clearly, other)):
        plain.rounds, other.rounds = [Round(100, losses, 1.0)], [Round(100, better, 1.0)]
        assert race._winner([other, plain]) is winner
    other.rounds = [Round(50, clearly, 1.0)]  # of fewer rows: not compared
    assert race._winner([other, plain]) is plain


def test_rows_that_are_scored_were_not_learned():
    y = np.arange(1003) % 3
    X = {scale: RNG.normal(size=(1003, 2)) for scale in SCALES}
    race = Race(LASVMClassifier, X, y, True, ends=np.inf, threads=1, seed=0, tell=lambda text: None)
    scored = np.concatenate([fold.score for fold in race.folds])
    assert len(np.unique(scored)) == len(scored) == 1003
    for fold in race.folds:
        assert not set(fold.learn) & set(fold.score)
        assert len(fold.learn) + len(fold.score) == 1003
        begin = y[fold.learn[:60]]
        assert np.bincount(begin).min() >= 15  # every label from the beginning


def raced(n, seed=0, **more):
    """A race of labels, and of every fit the number of rows and its work."""
    rng, sizes = np.random.default_rng(seed), []
    X = rng.normal(size=(n, 4))
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)

    class Counted(LASVMClassifier):
        def fit(self, X, y):
            sizes.append((len(y), fits_of(len(self._shares)) * work_of(len(y))))
            return super().fit(X, y)

    race = Race(
        Counted, {"standard": X}, y, True, ends=np.inf, threads=1, seed=0, tell=lambda text: None,
    )  # fmt: skip
    return race, race.run(), sizes


def test_a_race_does_the_work_that_it_is_allowed(monkeypatch):
    """All but the first round and its variants are planned; these are a small part of the work."""
    monkeypatch.setattr("onlinesvm.auto.race.SMALLEST", (40, 1500))
    allowed = max(ALLOWED * work_of(2500), 40 * work_of(1500))
    race, winner, sizes = raced(2500)
    done = sum(work for _, work in sizes)
    assert race.work_left == pytest.approx(allowed - done, abs=0.05 * allowed)
    assert done < 1.25 * allowed
    assert len(race.candidates) > 24
    assert winner.last.rows == 2000


def test_candidates_that_differ_in_cost_are_one_fit():
    """24 candidates of 8 kernels and gamma learn the rows of the first round in 8 fits."""
    race, _, sizes = raced(9000)
    first = [c for c in race.candidates if c.number < 24]
    rows = first[0].rounds[0].rows
    assert len(first) == 24
    assert len(sharing(first, rows)) == 8
    assert all(c.rounds[0].sharers == 3 for c in first)
    assert len({c.rounds[0].seconds for c in first}) == 8  # each has its share
    assert all(c.rounds[0].alone > c.rounds[0].seconds for c in first)
    scored = sum(c.rounds[0].rows == rows for c in race.candidates)
    assert sum(n == rows for n, _ in sizes) <= scored - 16
    assert all(c.last.sharers == 1 for c in race.candidates if c.last.rows > TOGETHER)
    for candidate in first[::5]:  # alone, it predicts the same
        alone = Candidate(-1, candidate.setting)
        (result,) = race._score([alone], 0, rows)
        assert np.mean(result.errors != candidate.rounds[0].errors) < 0.005


@pytest.mark.parametrize("n", [60, 300, 1500])
def test_a_race_goes_to_its_last_round(n):
    race, winner, _ = raced(n)
    assert winner.last.rows == min(len(fold.learn) for fold in race.folds)


@pytest.mark.parametrize("folds", [1, 2, 3])
def test_candidates_go_on_after_a_round_of_any_number_of_folds(folds):
    n = {1: 8000, 2: 5000, 3: 3000}[folds]
    race = Race(
        LASVMClassifier, {"standard": RNG.normal(size=(n, 2))}, np.arange(n) % 2, True,
        ends=np.inf, threads=1, seed=0, tell=lambda text: None,
    )  # fmt: skip
    assert len(race.folds) == folds
    among = [race._join(Setting("rbf", 1.0, 1.0)), race._join(Setting("rbf", 1.0, 1.0))]
    assert race._round(among, 100, folds) == among


def test_who_is_clearly_behind_leaves_the_round():
    race, winner, _ = raced(1500)
    rows = winner.last.rows
    assert len(race.folds) == 5
    poor = race._join(Setting("rbf", 0.001, 1e-4))
    assert race._round([poor], rows, 5, winner) == []
    assert len(poor.last.losses) == sum(len(fold.score) for fold in race.folds[:2])
    assert behind(poor.last, winner.last) > 2
    again = race._join(winner.setting)
    assert race._round([again], rows, 5, winner) == [again]
    assert np.array_equal(again.last.errors, winner.last.errors)
    assert np.allclose(again.last.losses, winner.last.losses, atol=1e-3)  # it shared its fit


def test_a_race_of_one_round_looks_in_all_directions(monkeypatch):
    asked, neighbours = [], Setting.neighbours

    def noted(self, up=False):
        asked.append(up)
        return neighbours(self, up)

    monkeypatch.setattr(Setting, "neighbours", noted)
    raced(300)
    assert set(asked) == {False}


def test_a_large_fold_is_enough_to_see_who_is_clearly_behind(monkeypatch):
    monkeypatch.setattr("onlinesvm.auto.race.TOLD", 200)
    race, winner, _ = raced(1500)
    poor = race._join(Setting("rbf", 0.001, 1e-4))
    assert race._round([poor], winner.last.rows, 5, winner) == []
    assert len(poor.last.losses) == len(race.folds[0].score)


@pytest.mark.parametrize("n", [2, 3, 60, 1500, 2400, 3000, 4000, 7000, 8000, 30_000])
def test_no_row_is_scored_twice_and_half_of_them_or_more_are_learned(n):
    race = Race(
        LASVMRegressor, {"standard": np.arange(2.0 * n).reshape(n, 2)}, np.arange(float(n)), False,
        ends=np.inf, threads=1, seed=0, tell=lambda text: None,
    )  # fmt: skip
    scored = np.concatenate([fold.score for fold in race.folds])
    assert len(np.unique(scored)) == len(scored)
    assert len(scored) >= min(n, 4000)
    assert max(len(fold.score) for fold in race.folds) < 20_000
    for fold in race.folds:
        assert len(fold.learn) >= min(0.5 * (n - 1), 2000)
        assert len(np.union1d(fold.learn, fold.score)) == n
    assert not set(race.unscored) & set(scored)
    assert len(race.unscored) + len(scored) == n


def test_weights_are_learned_once_for_each_kernel_and_scale(monkeypatch):
    """Rows that no fold scores serve all folds; other C and gamma use the same weights."""
    monkeypatch.setattr("onlinesvm.auto.race.METRIC_ROWS", 400)
    monkeypatch.setattr("onlinesvm.auto.race.SCORED", 400)
    sizes = []

    class Counted(LASVMClassifier):
        def fit(self, X, y):
            sizes.append(len(y))
            return super().fit(X, y)

    X = RNG.normal(size=(1500, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    race = Race(
        Counted, {"standard": X}, y, True, ends=np.inf, threads=1, seed=0, tell=lambda text: None,
    )  # fmt: skip
    assert len(race.folds) == 2
    assert len(race.unscored) == 900
    first = race._variants([_scored(race, Setting("rbf", 4.0, 1.0))], 300)
    race._round(first, 300, 2)
    assert sizes.count(400) == 3
    later = race._possible(_scored(race, Setting("rbf", 12.0, 2.0)), 300)
    assert [s.metric.by for s in later if s.metric] == [Setting("rbf", 4.0, 1.0)] * 2
    race._round([race._join(s) for s in later], 300, 2)
    assert sizes.count(400) == 3
    metric = Metric(first[-1].setting, 1, 700)  # goes on from these, on more rows
    weights = race.final_weights(metric)
    assert sizes.count(400) == 3
    assert sizes.count(700) == 1
    assert weights[:2].min() > 2 * weights[2:].max()
    assert race.final_weights(None) is None


def _scored(race, setting):
    """A candidate that has taken part in a round."""
    made = race._join(setting)
    made.rounds.append(Round(300, np.zeros(10), 1.0))
    return made


def test_a_table_too_large_for_the_time_is_cut_into_cells(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (6000, 2))
    label = np.floor(6 * X).sum(axis=1).astype(int) % 2
    monkeypatch.setattr(learning, "_affordable", lambda *_: 3000)
    monkeypatch.setattr(learning, "CELL_ROWS", (200, 1000))
    AutoSVMClassifier(time_limit=None).fit(X[:100], label[:100])  # loops are compiled
    with pytest.warns(ConvergenceWarning, match="cells"):
        model = AutoSVMClassifier(time_limit=120).fit(X, label)
    assert "of 6,000 rows, in " in model.learned_from_
    assert model.score(X, label) > 0.9
    assert model.predict_proba(X).shape == (6000, 2)
    assert model.best_params_["kernel"] in kernels()
    assert len(model.feature_weights_) == 2
    with pytest.raises((TypeError, ValueError), match="CellClassifier"):
        save_model(model.best_estimator_, "never written")
    made = race_and_learn(
        LASVMClassifier, {"standard": X[:2000]}, label[:2000], True, begin=time.monotonic(),
        limit=120, n_jobs=1, seed=0, tell=lambda text: None, cells=False,
    )  # fmt: skip
    assert type(made.model) is LASVMClassifier


def test_the_time_of_small_cells_follows_from_a_large_round():
    """A winner that joined in the last round has no other one."""
    known = Round(16_000, np.zeros(10), 3.0)
    assert seconds_for(known, 16_000) == 3.0
    assert seconds_for(known, 32_000) > 6.0
    assert 16_000 / 1000 * seconds_for(known, 1000) < 1.0  # in cells it is quicker, not slower


def test_cells_that_are_no_better_than_a_sample_are_not_kept():
    rounds = [Round(1000, np.full(10, 0.4), 1.0), Round(4000, np.full(10, 0.2), 1.0)]
    assert expected_error(rounds, 16_000) == pytest.approx(0.1)
    assert expected_error(rounds, 10) == pytest.approx(0.2)
    assert expected_error(rounds[:1], 16_000) == 0.4
    assert expected_error(rounds[::-1], 16_000) == 0.4  # it has not got better


def test_the_first_round_has_at_least_24_candidates():
    assert len(first_settings(True)) == 24 * len(kernels()) // 3
    step = Setting("rbf", 4.0, 1.0, 0.1)
    assert step in [near for s in step.neighbours() for near in s.neighbours()]
    assert all(variant.structure != step.structure for variant in step.variants(2500))


def test_larger_settings_are_worth_trying_while_more_rows_help():
    losses = np.arange(1000) % 10
    few, more = Round(300, (losses < 3) + 0.0, 1.0), Round(900, (losses < 2) + 0.0, 1.0)
    candidate = Candidate(0, Setting("rbf", 1.0, 1.0), [few, more])
    assert still_learns(candidate)
    candidate.rounds.append(Round(2700, np.roll(more.losses, 3), 1.0))
    assert not still_learns(candidate)
    candidate.rounds = [few]
    assert still_learns(candidate)  # nothing is known


def test_weights_are_rescaled_again_when_there_are_more_rows():
    plain = Setting("rbf", 4.0, 1.0)
    weighted = next(s for s in plain.variants(2500) if s.rounds == 3)
    assert weighted.metric == Metric(plain, 3, 2500)
    assert not any(s.rounds > 3 for s in weighted.variants(2500))
    again = next(s for s in weighted.variants(6000) if s.rounds > 3)
    assert again.metric == Metric(weighted, 1, 6000)
    assert again.rounds == 4
    assert plain in again.variants(6000)
    assert [s.gamma for s in plain.neighbours(up=True)] == [2.0, 1.0]
    assert [s.C for s in plain.neighbours(up=True)] == [4.0, 12.0]


# -- bad input ----------------------------------------------------------------------------

AUTOS = [AutoSVMClassifier, AutoSVMRegressor]


@pytest.mark.parametrize("kind", AUTOS)
def test_bad_tables_are_one_sentence_and_the_model_stays(kind, short_race):
    table, label, value = mixed(60, 0)
    y = label if kind is AutoSVMClassifier else value
    model = kind(time_limit=None).fit(table, y)
    before = model.predict(table)
    for bad, words in (
        (table.assign(tags=[[1]] * 60), "'tags' contains values of type list"),
        (table.assign(size=np.inf), "infinity"),
        (table.iloc[:1], "sample"),
        (table.iloc[:0], "sample"),
        (table.iloc[:50], "inconsistent"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(bad, y[: len(bad)] if words != "inconsistent" else y)
        assert np.array_equal(model.predict(table), before)
    with pytest.raises(ValueError, match="lacks the column 'age'"):
        model.predict(table.drop(columns="age"))
    with pytest.warns(UserWarning, match="left out: 'nothing'"):
        model.fit(table.assign(nothing=None), y)
    new = table.assign(colour="never seen")
    assert len(model.predict(new.assign(nothing=1))) == 60


def test_an_id_does_not_make_the_rows_that_were_learned_strangers():
    """Somebody who comes back has a known id; LightGBM's error on the same rows is next to nothing."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    y = (X["a"] + X["b"] > 0).to_numpy()
    model = AutoSVMClassifier(time_limit=None).fit(X.assign(id=[f"id {k}" for k in range(300)]), y)
    back = X + 0.01 * rng.normal(size=X.shape)  # the same people, measured again
    assert np.mean(model.predict(back.assign(id=[f"id {k}" for k in range(300)])) != y) < 0.1


@pytest.mark.parametrize(("unit", "remedy"), [(1e150, "Divide y"), (1e-150, "Multiply y")])
def test_targets_beyond_what_squares_can_hold_are_refused(unit, remedy):
    """They were learned as a constant, or predicted as NaN, without a word."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match=remedy):
        AutoSVMRegressor(time_limit=5).fit(X, unit * X[:, 0])


@pytest.mark.parametrize("kind", AUTOS)
def test_tables_in_which_nothing_varies_or_columns_have_no_order(kind):
    pd = pytest.importorskip("pandas")
    y = np.arange(40) % 2
    with pytest.raises(
        ValueError, match=r"has the same value in all rows.* Give at least one column whose"
    ):
        kind().fit(pd.DataFrame({"a": [1] * 40, "b": [2.5] * 40}), y)
    for bad in ({"a": np.arange(40), "b": np.arange(40)}, [{"a": k} for k in range(40)]):
        with pytest.raises(ValueError, match="made of dictionaries: give a data frame"):
            kind().fit(bad, y)
    pl = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="'a' contains values of type dict"):
        kind().fit(pl.DataFrame({"a": [{"b": k} for k in range(40)]}), y)


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_dates_and_durations_are_no_targets(unit):
    """They were learned in a unit that nobody had asked for, and a gap as -9.2e18."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match=r"The targets are dates, .* such as .y - y.min"):
        AutoSVMRegressor().fit(X, np.arange(40).astype(f"M8[{unit}]"))
    with pytest.raises(
        ValueError, match=r"The targets are durations, .* such as y / numpy.timedelta64"
    ):
        AutoSVMRegressor().fit(X, np.arange(40).astype(f"m8[{unit}]"))


def test_bad_targets_are_one_sentence():
    table, label, value = mixed(60, 0)
    with pytest.raises(ValueError, match="only one class is present: all 60 labels are 'yes';"):
        AutoSVMClassifier().fit(table, np.repeat("yes", 60))
    pd = pytest.importorskip("pandas")
    for missing in (None, pd.NA):
        for y in (
            pd.array([missing, *label[1:]], dtype="string"),
            np.array([missing, *label[1:]], object),
        ):
            with pytest.raises(ValueError, match=r"y contains NaN: 1 of 60 .* first in row 0"):
                AutoSVMClassifier().fit(table, y)
    with pytest.raises(ValueError, match="labels must all be numbers or all be strings"):
        AutoSVMClassifier().fit(table, np.array([1, *label[1:]], object))
    with pytest.raises(ValueError, match=r"not numbers \(for example"):
        AutoSVMRegressor().fit(table, label)
    with pytest.raises(ValueError, match="NaN"):
        AutoSVMRegressor().fit(table, np.where(value > 1, np.nan, value))
    with pytest.raises(NotFittedError):
        AutoSVMClassifier().predict(table)
    for bad in ({"time_limit": 0}, {"time_limit": "long"}, {"verbose": 3}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            AutoSVMClassifier(**bad).fit(table, label)


@pytest.mark.parametrize("n", [2, 3, 9])
def test_very_few_rows_and_rare_labels(n, short_race):
    X = RNG.normal(size=(n, 3))
    y = np.r_[1, np.zeros(n - 1, int)]
    assert len(AutoSVMClassifier(time_limit=None).fit(X, y).predict(X)) == n
    assert len(AutoSVMRegressor(time_limit=None).fit(X, X[:, 0]).predict(X)) == n
    assert np.allclose(AutoSVMRegressor(time_limit=None).fit(X, np.ones(n)).predict(X), 1, atol=0.1)


def test_the_bar_shows_the_race(capsys, short_race):
    table, label, _ = mixed(80, 0)
    AutoSVMClassifier(time_limit=None, verbose=True).fit(table, label)
    assert "done" in capsys.readouterr().out
