"""River's door: its own checks, names that come and go, bad input, bounded memory."""

import copy
import functools
import pickle

import numpy as np
import pandas as pd
import pytest
from river import checks, evaluate, metrics, preprocessing, stream

import onlinesvm
from onlinesvm.river import (
    BudgetPerceptronClassifier,
    LASVMClassifier,
    LASVMOneClass,
    LASVMRegressor,
)

KINDS = {
    "lasvm": LASVMClassifier(gamma=0.001, budget=200),
    "lasvm, scale": LASVMClassifier(budget=100),
    "lasvm, probability": LASVMClassifier(gamma=0.001, budget=200, probability=True),
    "perceptron": BudgetPerceptronClassifier(gamma=0.001, budget=50),
    "values": LASVMRegressor(gamma=0.001, budget=200),
    "novelty": LASVMOneClass(gamma=0.001, window=100),
}

# With gamma="scale" the first 100 examples take another way: the checks that look at that.
OF_SCALE = (
    "check_learn_many_matches_learn_one", "check_shuffle_features_no_impact",
    "check_emerging_features", "check_clone_is_independent",
)  # fmt: skip


def strange_examples(n=2000):
    """River's own data for detectors must be downloaded."""
    rng = np.random.default_rng(0)
    strange = rng.random(n) < 0.05
    X = rng.normal(size=(n, 5)) * 30 + 150 * strange[:, None]
    return [(dict(zip("abcde", x.tolist())), int(y)) for x, y in zip(X, strange)]


def offline(model, check):
    if isinstance(model, LASVMOneClass) and "dataset" in getattr(check, "keywords", {}):
        data = strange_examples()
        short = data if check.__name__ == "check_bounded_memory_growth" else data[:300]
        return functools.wraps(check)(functools.partial(check.func, dataset=short))
    return check


def river_checks():
    return [
        pytest.param(model, offline(model, check), id=f"{name}-{k}-{check.__name__}")
        for name, model in KINDS.items()
        for k, check in enumerate(checks.yield_checks(model))
        if name != "lasvm, scale" or check.__name__ in OF_SCALE
    ]


@pytest.mark.parametrize(("model", "check"), river_checks())
def test_rivers_own_checks(model, check):
    check(model.clone())


def test_none_of_rivers_checks_is_skipped():
    assert not any(model._unit_test_skips() for model in KINDS.values())


def examples(n=300, seed=0, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0


def named(row, names="abcdefghij"):
    return dict(zip(names, row.tolist()))


def taught(model, X, y):
    for row, label in zip(X, y.tolist()):
        model.learn_one(named(row), label)
    return model


def test_values_and_novelty_are_those_of_learn_one_with_arrays():
    X, _ = examples(200)
    y = X[:, 0] * X[:, 1]
    river, plain = (
        (LASVMRegressor(gamma=0.2, window=80), LASVMOneClass(gamma=0.2, window=80)),
        (
            onlinesvm.LASVMRegressor(C=4, gamma=0.2, window=80, budget=1000, half_life=1000),
            onlinesvm.LASVMOneClass(nu=0.1, gamma=0.2, window=80),
        ),
    )
    assert river[0].predict_one(named(X[0])) == river[1].score_one(named(X[0])) == 0.0
    for row, target in zip(X, y.tolist()):
        river[0].learn_one(named(row), target)
        river[1].learn_one(named(row), w=2.0)
        plain[0].learn_one(row, target)
        plain[1].learn_one(row, 2.0)
    assert [river[0].predict_one(named(x)) for x in X] == [plain[0].predict_one(x) for x in X]
    assert [-river[1].score_one(named(x)) for x in X] == [plain[1].decision_one(x) for x in X]
    before = pickle.dumps(river)
    for bad in (np.nan, "much"):
        with pytest.raises(ValueError, match="number"):
            river[0].learn_one({"a": bad}, 1.0)
        with pytest.raises(ValueError, match="number"):
            river[1].learn_one({"a": bad})
    with pytest.raises(ValueError, match="NaN"):
        river[0].learn_one(named(X[0]), np.nan)
    assert pickle.dumps(river) == before


# -- the same model as with arrays -----------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern12", "linear", "poly", "sigmoid"])
def test_the_model_is_that_of_learn_one_with_arrays(kernel):
    X, y = examples()
    river = taught(LASVMClassifier(C=2, kernel=kernel, gamma=0.2, budget=50, half_life=100), X, y)
    plain = onlinesvm.LASVMClassifier(
        C=2, kernel=kernel, gamma=0.2, budget=50, half_life=100, policy="oldest"
    )
    for row, label in zip(X, y.tolist()):
        plain.learn_one(row, label)
    np.testing.assert_array_equal(river.estimator.dual_coef_, plain.dual_coef_)
    assert [river.predict_one(named(row)) for row in X] == plain.predict(X).tolist()
    frame = pd.DataFrame(X, columns=list("abcd"), index=range(5, 305))
    many = river.predict_many(frame)
    assert many.tolist() == plain.predict(X).tolist()
    assert many.index.equals(frame.index)


@pytest.mark.parametrize("late", [False, True])
def test_features_far_from_zero_keep_their_digits(late):
    """Time stamps and coordinates, known from the start or from the 20th example on."""
    Z = np.random.default_rng(0).standard_normal((600, 2))
    hits = []
    for far in (0.0, 1.7e9):
        model = LASVMClassifier(C=10.0, gamma=0.5)
        right = 0
        for k, (a, b) in enumerate(Z):
            x = {"a": a + far} if late and k < 20 else {"a": a + far, "b": b + far}
            right += model.predict_one(x) == bool(a * b > 0)
            model.learn_one(x, bool(a * b > 0))
        hits.append(right / len(Z))
    assert hits[0] > 0.9
    assert hits[1] > hits[0] - 0.02


def test_a_pipeline_in_rivers_evaluation():
    X, y = examples(600)
    model = preprocessing.StandardScaler() | LASVMClassifier(gamma=0.3)
    accuracy = evaluate.progressive_val_score(
        stream.iter_array(X, y.tolist()), model, metrics.Accuracy()
    )
    assert accuracy.get() > 0.8


def test_labels_are_those_of_python():
    model = taught(LASVMClassifier(gamma=0.2), *examples(40))
    assert type(model.predict_one({"a": 1.0})) is bool
    model = LASVMClassifier(gamma=0.2)
    for k, label in enumerate(["x", "y", "z"] * 10):
        model.learn_one({"a": float(k % 3)}, label)
    assert [model.predict_one({"a": float(k)}) for k in range(3)] == ["x", "y", "z"]
    assert type(model.predict_one({"a": 0.0})) is str
    chances = model.predict_proba_one({"a": 0.0})
    assert max(chances, key=chances.get) == "x"


# -- names that come and go ------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern12", "linear", "poly", "sigmoid"])
@pytest.mark.parametrize(
    "limit", [{"window": 60, "budget": None}, {"budget": 40}, {"budget": None}]
)
def test_names_that_come_late_are_as_if_known_from_the_start(kernel, limit):
    X, y = examples(200, d=9)
    born = np.array([0, 0, 0, 30, 31, 60, 100, 100, 150])
    X[np.arange(200)[:, None] < born] = 0.0
    settings = {"kernel": kernel, "gamma": 0.2, "half_life": None, **limit}
    late, early = LASVMClassifier(**settings), LASVMClassifier(**settings)
    for t, (row, label) in enumerate(zip(X, y.tolist())):
        early.learn_one(named(row), label)
        there = {n: v for n, v, b in zip("abcdefghi", row.tolist(), born) if t >= b}
        late.learn_one(there, label)
    assert late.feature_names == list("abcdefghi")
    decided = [m.estimator.decision_one(m._rows.known(named(X[7]))) for m in (late, early)]
    np.testing.assert_allclose(decided[0], decided[1], rtol=1e-4, atol=1e-5)
    wrong = sum(late.predict_one(named(x)) != early.predict_one(named(x)) for x in X)
    assert wrong == 0
    width = late.estimator.n_features_in_
    assert 9 <= width <= 18
    assert late.estimator.support_vectors_.shape[1] == width


def test_names_that_come_within_the_first_rows_that_set_gamma():
    X, y = examples(150, d=6)
    X[:20, 3:] = 0.0
    late = LASVMClassifier()
    early = taught(LASVMClassifier(), X, y)
    for t, (row, label) in enumerate(zip(X, y.tolist())):
        late.learn_one(named(row[: 3 if t < 20 else 6]), label)
    assert late.estimator.gamma_ == pytest.approx(early.estimator.gamma_)
    assert all(late.predict_one(named(x)) == early.predict_one(named(x)) for x in X)


def test_names_that_were_never_learned_are_left_out_of_predictions():
    model = taught(LASVMClassifier(gamma=0.2), *examples(60))
    x = {"a": 0.3, "b": -0.2, "c": 1.0, "d": 0.1}
    before = pickle.dumps(model)
    assert model.predict_proba_one({**x, "new": 5.0, 7: 1.0}) == model.predict_proba_one(x)
    assert model.predict_one({"new": 5.0}) == model.predict_one(dict.fromkeys("abcd", 0))
    assert pickle.dumps(model) == before


def test_a_name_may_be_anything_that_a_dictionary_takes():
    model = LASVMClassifier(gamma=0.2)
    model.learn_one({("a", 1): 1.0, 3: True, "3": np.float32(2)}, 1)
    model.learn_one({None: 1, 3: np.int64(4)}, 0)
    assert set(model.feature_names) == {("a", 1), 3, "3", None}


def test_a_stream_whose_first_row_is_all_zero_is_not_taken_for_sparse():
    """As it is behind a scaler, for which the first row is its own mean."""
    model, rng = LASVMClassifier(gamma=0.01), np.random.default_rng(0)
    names = [f"x{k}" for k in range(40)]
    model.learn_one(dict.fromkeys(names, 0.0), False)
    for row in rng.normal(size=(20, 40)):
        model.learn_one(dict(zip(names, row.tolist())), bool(row[0] > 0))
    assert isinstance(model.estimator.support_vectors_, np.ndarray)


# -- many at a time --------------------------------------------------------------------------------


def test_many_at_a_time_are_learned_as_one_by_one():
    X, y = examples(200)
    one = taught(LASVMClassifier(gamma=0.2, budget=40), X, y)
    many = LASVMClassifier(gamma=0.2, budget=40)
    many.learn_one(named(X[0]), bool(y[0]))  # the centre of the rows is that of the first call
    for first in range(1, 200, 50):
        part = slice(first, first + 50)
        many.learn_many(pd.DataFrame(X[part], columns=list("abcd")), pd.Series(y[part]))
    np.testing.assert_array_equal(one.estimator.dual_coef_, many.estimator.dual_coef_)
    frame = pd.DataFrame(X, columns=list("abcd"))
    table = many.predict_proba_many(frame)
    assert table.columns.tolist() == [False, True]
    np.testing.assert_allclose(table.sum(axis=1), 1.0)
    assert (table[True] > 0.5).tolist() == many.predict_many(frame).tolist()


def test_before_anything_is_learned_and_without_rows():
    model, frame = LASVMClassifier(), pd.DataFrame({"a": [1.0, 2.0]})
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_many(frame).tolist() == [None, None]
    assert model.predict_proba_many(frame).empty
    model.learn_many(frame[:0], pd.Series([], dtype=bool))
    assert model.estimator is None
    model.learn_many(frame, [True, False])
    assert len(model.predict_many(frame[:0])) == len(model.predict_proba_many(frame[:0])) == 0


def test_new_labels_within_a_frame_come_when_they_come():
    X, y = examples(120)
    y = np.where((np.arange(120) > 70) & (X[:, 3] > 0.5), "c", np.where(y, "a", "b"))
    one = taught(LASVMClassifier(gamma=0.2), X, y)
    many = LASVMClassifier(gamma=0.2)
    many.learn_one(named(X[0]), str(y[0]))
    many.learn_many(pd.DataFrame(X[1:], columns=list("abcd")), pd.Series(y[1:]))
    np.testing.assert_array_equal(one.estimator.dual_coef_, many.estimator.dual_coef_)


# -- bad input -------------------------------------------------------------------------------------

BAD = {
    "text": ({"a": "3.5"}, ValueError, "'a' was a number before and is '3.5' .*must be numbers"),
    "new text": ({"z": "tall"}, ValueError, "'z' is 'tall' .str.: features must be numbers"),
    "none": ({"a": None}, ValueError, "'a' was a number before and is None"),
    "list": ({"a": [1.0]}, ValueError, "'a' .*must be numbers"),
    "complex": ({"a": 1j}, ValueError, "'a' .*must be numbers"),
    "nan": ({"a": 1.0, "b": float("nan")}, ValueError, "'b' is nan: .*finite"),
    "infinite": ({"a": -np.inf}, ValueError, "'a' is -inf: .*finite"),
    "both": ({"a": np.inf, "b": -np.inf}, ValueError, "'a' is inf"),
    "huge": ({"a": 10**400}, ValueError, "'a' is 1.*finite"),
    "empty": ({}, ValueError, "The dictionary is empty"),
    "array": (np.ones(4), TypeError, "a dictionary of features, not ndarray"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("fresh", [True, False])
def test_bad_examples_are_refused_in_one_sentence_and_change_nothing(case, fresh):
    x, error, message = BAD[case]
    model = LASVMClassifier(gamma=0.2)
    if fresh:
        message = message.replace(" was a number before and", "")
    else:
        taught(model, *examples(30))
    before = pickle.dumps(model)
    for call in (lambda: model.learn_one(x, True), lambda: model.predict_one(x),
                 lambda: model.predict_proba_one(x)):  # fmt: skip
        with pytest.raises(error, match=message):
            call()
    assert pickle.dumps(model) == before


def test_values_whose_sum_overflows_are_finite():
    model = LASVMClassifier(gamma=0.2)
    x = model._rows.learned({"a": 1e308, "b": 1e308})[0]
    assert x.tolist() == [1e308, 1e308]


@pytest.mark.parametrize(
    ("frame", "labels", "message"),
    [
        (pd.DataFrame({"a": [1.0, np.nan]}), [True, False], "'a' is nan"),
        (pd.DataFrame({"a": [1.0, 2.0], "z": ["x", "y"]}), [True, False], "'z' is 'x'"),
        (pd.DataFrame({"a": [1.0, None]}, dtype=object), [True, False], "'a' .*is None"),
        (pd.DataFrame({"a": [1.0, 2.0]}), [True], "2 rows, but 1 labels"),
        (pd.DataFrame(index=[0, 1]), [True, False], "The data frame has no columns"),
        (pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]), [True], "more than one column 'a'"),
        (pd.DataFrame({"a": [1.0], "z": [2.0]}), ["text"], "Mix of label"),
    ],
)
def test_bad_frames_change_nothing(frame, labels, message):
    model = taught(LASVMClassifier(gamma=0.2), *examples(30))
    names, chances = model.feature_names, model.predict_proba_one({"a": 0.5})
    with pytest.raises(ValueError, match=message):
        model.learn_many(frame, pd.Series(labels))
    with pytest.raises(ValueError, match=r"2 rows, but labels of shape \(2, 1\)"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.DataFrame({"y": [True, False]}))
    assert model.feature_names == names
    assert model.predict_proba_one({"a": 0.5}) == chances
    taught(model, *examples(5, seed=1))


def test_a_label_that_cannot_be_one_changes_nothing():
    model = taught(LASVMClassifier(gamma=0.2), *examples(30))
    chances = model.predict_proba_one({"a": 0.5})
    with pytest.raises(ValueError, match="label"):
        model.learn_one({"a": 1.0, "new": 2.0}, "text")
    assert "new" not in model.feature_names
    assert model.predict_proba_one({"a": 0.5}) == chances
    model.learn_one({"a": 1.0, "other": 2.0}, True)
    assert model.feature_names == [*"abcd", "other"]
    fresh = LASVMClassifier()
    with pytest.raises(ValueError, match="label"):
        fresh.learn_one({"a": 1.0}, None)
    assert fresh.predict_one({"a": 1.0}) is None
    assert fresh.feature_names == []


@pytest.mark.parametrize("kind", [LASVMClassifier, BudgetPerceptronClassifier, LASVMRegressor])
@pytest.mark.parametrize("several", [(1, 0), [0.5, 2.0], np.array([1, 0]), {"first": 1, "last": 0}])
@pytest.mark.parametrize("weight", [1.0, 2.0])
def test_an_example_has_one_answer(kind, several, weight):
    what = "target" if kind is LASVMRegressor else "label"
    fresh, model = kind(), taught(kind(), *examples(30))
    answer = model.predict_one({"a": 0.5})
    for each in (fresh, model):
        with pytest.raises(ValueError, match=rf"takes one {what} for each example.*multioutput"):
            each.learn_one({"a": 1.0, "new": 2.0}, several, weight)
    assert fresh.feature_names == []
    assert fresh.predict_one({"a": 0.5}) == (0.0 if what == "target" else None)
    assert model.feature_names == list("abcd")
    assert model.predict_one({"a": 0.5}) == answer


def test_bad_parameters_are_told_with_the_first_example():
    with pytest.raises(ValueError, match="'budget' parameter"):
        LASVMClassifier(budget=1).learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match="precomputed"):
        LASVMClassifier(kernel="precomputed").learn_one({"a": 1.0}, True)


def test_weights_scale_the_cost_where_there_is_one():
    X, y = examples(60)
    weighted = LASVMClassifier(C=1, gamma=0.2, half_life=None)
    for row, label in zip(X, y.tolist()):
        weighted.learn_one(named(row), label, w=0.25)
    assert np.abs(weighted.estimator.dual_coef_).max() == pytest.approx(0.25)
    with pytest.raises(ValueError, match="does not support weights: it has no cost"):
        BudgetPerceptronClassifier(gamma=0.2).learn_one({"a": 1.0}, True, w=2.0)


# -- memory, copies --------------------------------------------------------------------------------


def test_memory_is_bounded_by_default():
    X, y = examples(4000)
    rng = np.random.default_rng(1)
    y = y ^ (rng.random(len(y)) < 0.3)  # noise: nearly every example wants to stay
    model, sizes = LASVMClassifier(gamma=0.5), []
    for k in range(0, 4000, 100):
        model.learn_many(pd.DataFrame(X[k : k + 100]), pd.Series(y[k : k + 100]))
        sizes.append(model._raw_memory_usage)
    assert len(model.estimator.support_) <= 1000
    assert sizes[-1] <= 1.02 * sizes[20]


def test_copies_and_pickles_learn_on_by_themselves():
    X, y = examples(80)
    model = taught(LASVMClassifier(gamma=0.2, budget=20), X[:40], y[:40])
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    before = model.predict_proba_one(named(X[0]))
    for each in copies:
        taught(each, X[40:], y[40:])
    assert model.predict_proba_one(named(X[0])) == before
    taught(model, X[40:], y[40:])
    for each in copies:
        assert each.predict_proba_one(named(X[0])) == model.predict_proba_one(named(X[0]))


def test_probabilities_are_calibrated():
    """``hasattr(model, "predict_proba")`` was false for every model that could be made here."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    truth = 1.0 / (1.0 + np.exp(-1.5 * X[:, 0] - 0.5))
    y = rng.random(1500) < truth
    plain, asked = (LASVMClassifier(gamma=0.2, probability=p) for p in (False, True))
    losses, raw = {plain: [], asked: []}, []
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        for model in (plain, asked):
            if i > 500:
                chance = model.predict_proba_one(named(x))
                assert abs(sum(chance.values()) - 1.0) < 1e-9
                assert max(chance, key=chance.get) == model.predict_one(named(x))
                losses[model].append((chance[True] - truth[i]) ** 2)
                score = model.estimator.decision_one(model._rows.known(named(x)))
                raw.append((1.0 / (1.0 + np.exp(-2.0 * score)) - truth[i]) ** 2)
            model.learn_one(named(x), label)
    for model in (plain, asked):
        assert np.mean(losses[model]) < 0.95 * np.mean(raw)
    row = [asked._rows.known(named(X[0]))]
    own = asked.estimator.predict_proba(np.array(row))[0]
    np.testing.assert_allclose(list(asked.predict_proba_one(named(X[0])).values()), own, atol=1e-6)


# -- what else a model can be asked ----------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"detect_drift": True}, {"window": "auto"}])
def test_drifts_are_those_of_the_estimator(settings):
    X, y = examples(1500)
    y = np.where(np.arange(1500) < 900, y, ~y)
    river = LASVMClassifier(gamma=0.2, **settings)
    assert (river.drift_detected_, river.n_drifts_) == (False, 0)
    plain = onlinesvm.LASVMClassifier(
        C=4.0, gamma=0.2, budget=1000, policy="oldest", half_life=1000, **settings
    )
    found = []
    for row, label in zip(X, y.tolist()):
        river.learn_one(named(row), label)
        plain.learn_one(row, label)
        found.append(river.drift_detected_)
        assert found[-1] == plain.drift_detected_
    assert any(found[900:])
    assert river.n_drifts_ == plain.n_drifts_ > 0
    assert 0.0 < river.prequential_error_ == plain.prequential_error_ < 0.5
    silent = taught(LASVMClassifier(gamma=0.2), X[:9], y[:9])
    with pytest.raises(AttributeError, match="detect_drift=True"):
        _ = silent.drift_detected_


def test_sets_hold_the_label():
    X, y = examples(700)
    river = LASVMClassifier(gamma=0.2)
    assert river.predict_set_one(named(X[0])) == set()
    held = []
    for k, (row, label) in enumerate(zip(X, y.tolist())):
        if k >= 300:
            held.append(label in river.predict_set_one(named(row)))
        river.learn_one(named(row), label)
    assert 0.84 < np.mean(held) < 0.97
    assert river.predict_set_one(named(X[0]), 1e-5) == {False, True}
    with pytest.raises(ValueError, match="alpha must be"):
        river.predict_set_one(named(X[0]), 2.0)


def test_quantiles_and_intervals():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(900, 2))
    y = X[:, 0] + rng.normal(size=900)
    levels = [0.1, 0.5, 0.9]
    several = LASVMRegressor(gamma=0.3, half_life=None, quantile=levels)
    high, plain = LASVMRegressor(gamma=0.3, half_life=None, quantile=0.9), LASVMRegressor(gamma=0.3)
    assert several.predict_quantiles_one(named(X[0])) == {}
    assert plain.predict_interval_one(named(X[0])) == (-np.inf, np.inf)
    below, inside = [], []
    for k, (row, target) in enumerate(zip(X, y.tolist())):
        x = named(row)
        if k >= 400:
            found = several.predict_quantiles_one(x)
            assert list(found) == levels
            assert list(found.values()) == sorted(found.values())
            assert several.predict_one(x) == found[0.5]
            below.append([target < v for v in found.values()] + [target < high.predict_one(x)])
            low, top = plain.predict_interval_one(x, 0.8)
            inside.append(low <= target <= top)
        for model in (several, high, plain):
            model.learn_one(x, target)
    np.testing.assert_allclose(np.mean(below, axis=0), [0.1, 0.5, 0.9, 0.9], atol=0.07)
    assert abs(np.mean(inside) - 0.8) < 0.05
    settings = {"C": 20.0, "gamma": 3.0, "budget": 60, "quantile": [0.1, 0.9]}
    loose, tight = (LASVMRegressor(calibrated=c, **settings) for c in (True, False))
    off = []
    for k, (row, target) in enumerate(zip(X, y.tolist())):
        if k >= 300:
            told = [model.predict_quantiles_one(named(row)) for model in (loose, tight)]
            off.append([[target < v for v in each.values()] for each in told])
        for model in (loose, tight):
            model.learn_one(named(row), target)
    shares = np.abs(np.mean(off, axis=0) - [0.1, 0.9])
    assert (shares[0] < 0.05).all()
    assert (shares[1] > shares[0] + 0.05).all()
    with pytest.raises(ValueError, match="set quantile"):
        plain.predict_quantiles_one(named(X[0]))
    with pytest.raises(ValueError, match="coverage"):
        plain.predict_interval_one(named(X[0]), 1.5)


@pytest.mark.parametrize("calibrated", [False, True])
def test_a_single_quantile_is_named_too(calibrated):
    X, y = examples(60)
    model = LASVMRegressor(quantile=0.9, calibrated=calibrated)
    assert model.predict_quantiles_one(named(X[0])) == {}
    taught(model, X, y.astype(float))
    x = named(X[0])
    assert model.predict_quantiles_one(x) == {0.9: model.predict_one(x)}
    assert list(model.explain_one(x)) == list(x)


def test_explanations_name_the_features():
    X, y = examples(300)
    x = named(X[0])
    two = taught(LASVMClassifier(gamma=0.2), X, y)
    three = taught(LASVMClassifier(gamma=0.2), X, np.where(X[:, 3] > 0.5, 2, y.astype(int)))
    values = taught(LASVMRegressor(gamma=0.2), X, X[:, 0] * X[:, 1])
    novelty = LASVMOneClass(gamma=0.2)
    assert two.clone().explain_one(x) == novelty.explain_one(x) == {}
    for row in X:
        novelty.learn_one(named(row))

    def base(model):
        return float(model.estimator.explain_one(model._rows.known(x)).base_values)

    for model, answer in (
        (two, two.estimator.decision_one(X[0])),
        (values, values.predict_one(x)),
    ):
        shares = model.explain_one(x)
        assert list(shares) == model.feature_names
        assert sum(shares.values()) + base(model) == pytest.approx(float(answer), abs=1e-4)
    shares = novelty.explain_one(x)
    assert sum(shares.values()) - base(novelty) == pytest.approx(novelty.score_one(x), abs=1e-4)
    assert list(three.explain_one(x)) == [0, 1, 2]
    assert all(list(part) == three.feature_names for part in three.explain_one(x).values())
    two.learn_one(x | {"later": 1.0}, True)
    assert list(two.explain_one(x))[-1] == "later"


def test_defaults_that_differ_are_in_the_table_of_the_docs():
    import inspect
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "guide" / "streams.md").read_text(encoding="utf-8")
    table = text.split("| class | parameter | here |")[1].split("\n\n")[0]
    for kind in (LASVMClassifier, LASVMRegressor, LASVMOneClass, BudgetPerceptronClassifier):
        own = inspect.signature(kind).parameters
        theirs = inspect.signature(getattr(onlinesvm, kind.__name__)).parameters
        for name, parameter in own.items():
            default, other = parameter.default, theirs[name].default
            if default != other:
                shown = [
                    f'"{v}"' if isinstance(v, str) else f"{v:g}" if v else str(v)
                    for v in (default, other)
                ]
                assert f"| `{name}` | {shown[0]} | {shown[1]} |" in table


def test_pairs_of_labels_vote_as_those_of_the_estimator():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.array(["a", "b", "c", "d"])[(X[:, 0] > 0) * 2 + (X[:, 1] > 0)].tolist()
    door = LASVMClassifier(gamma=0.5, decision="ovo", budget=100, half_life=None)
    own = onlinesvm.LASVMClassifier(
        C=4.0, gamma=0.5, decision="ovo", budget=100, policy="oldest", n_jobs=None
    )
    for row, label in zip(X, y, strict=True):
        door.learn_one(dict(zip("xyz", row.tolist(), strict=True)), label)
        own.learn_one(row, label)
    assert len(door.estimator.intercept_) == 6  # pairs of four labels
    asked = [dict(zip("xyz", row.tolist(), strict=True)) for row in X[:40]]
    assert [door.predict_one(x) for x in asked] == own.predict(X[:40]).tolist()
    wrong = LASVMClassifier(gamma=0.5, decision="all")
    with pytest.raises(ValueError, match="decision"):
        wrong.learn_one({"x": 1.0}, "a")


def test_p_values_of_novelties():
    model, rng = LASVMOneClass(gamma=0.5, nu=0.2, window=300), np.random.default_rng(0)
    assert model.p_value_one({"x": 1.0}) == 1.0
    p = []
    for row in rng.normal(size=(900, 2)).tolist():
        x = dict(zip("xy", row, strict=True))
        p.append(model.p_value_one(x))
        model.learn_one(x)
    assert abs(np.mean(np.array(p[300:]) <= 0.1) - 0.1) < 0.05
    assert model.p_value_one({"x": 9.0, "y": 9.0}) < 0.02
