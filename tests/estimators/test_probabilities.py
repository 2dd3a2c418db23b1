"""Probabilities and prediction sets of LASVMClassifier."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification, make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss, log_loss

from onlinesvm import ActiveLearner, LASVMClassifier, load_model
from onlinesvm.core.prequential.record import excess
from onlinesvm.core.prequential.thresholds import interpolated

NAMES = ("predict_proba", "predict_log_proba", "predict_set")


def noisy(n=1200, classes=2, seed=0):
    return make_classification(
        n, 8, n_informative=5, n_classes=classes, flip_y=0.2, class_sep=0.8, random_state=seed
    )


SETTINGS = {
    "blocks": {},
    "listing": {"block_size": 1},
    "budget": {"budget": 200},
    "window": {"window": 500},
    "auto": {"window": "auto"},
    "weights": {"class_weight": {0: 0.2, 1: 3.0}},
}
every_setting = pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)


@every_setting
@pytest.mark.parametrize("classes", [2, 4])
def test_most_probable_class_is_the_predicted_one(settings, classes):
    X, y = noisy(600, classes)
    names = np.array(["d", "a", "c", "b"])[y]  # appear in another order than they are sorted
    if "class_weight" in settings:
        settings = {"class_weight": {"a": 3.0, "d": 0.3}}
    model = LASVMClassifier(probability=True, gamma=0.1, random_state=0, **settings)
    for learned in (model.fit(X[:400], names[:400]), model.partial_fit(X[400:500], names[400:500])):
        chance = learned.predict_proba(X)
        np.testing.assert_array_equal(learned.classes_[chance.argmax(axis=1)], learned.predict(X))
        np.testing.assert_allclose(chance.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(learned.predict_log_proba(X), np.log(chance))
        late = slice(500, None)
        assert log_loss(names[late], chance[late]) < 0.95 * np.log(classes)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_as_good_as_those_of_five_folds(classes):
    X, y = noisy(3000, classes)
    train, test = slice(0, 1500), slice(1500, None)
    model = LASVMClassifier(C=1.0, gamma=0.1, random_state=0)
    theirs = CalibratedClassifierCV(model, cv=5).fit(X[train], y[train]).predict_proba(X[test])
    ours = clone(model).set_params(probability=True).fit(X[train], y[train]).predict_proba(X[test])
    own, peer = (
        brier_score_loss(y[test], chance[:, 1]) if classes == 2 else log_loss(y[test], chance)
        for chance in (ours, theirs)
    )
    assert own < 1.04 * peer


def test_probabilities_of_a9a(data_dir):
    import lzma

    from sklearn.datasets import load_svmlight_file

    with lzma.open(data_dir / "a9a.xz") as file:
        X, y = load_svmlight_file(file, n_features=123)
    y = (y > 0).astype(int)
    train, test = slice(0, 8000), slice(8000, 16000)
    model = LASVMClassifier(C=100, gamma=0.005, random_state=0)
    theirs = CalibratedClassifierCV(model, cv=5).fit(X[train], y[train]).predict_proba(X[test])
    ours = clone(model).set_params(probability=True).fit(X[train], y[train]).predict_proba(X[test])
    own, peer = (brier_score_loss(y[test], chance[:, 1]) for chance in (ours, theirs))
    assert own < 1.02 * peer


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("settings", [{}, {"budget": 60}])
def test_one_row_has_the_same_probabilities(classes, settings):
    X, y = noisy(400, classes)
    model = LASVMClassifier(probability=True, gamma=0.1, **settings).partial_fit(X[:50], y[:50])
    for x, label in zip(X[50:], y[50:].tolist(), strict=True):
        one = model.predict_proba_one(x)
        assert model.classes_[one.argmax()] == model.predict_one(x)
        np.testing.assert_allclose(one, model.predict_proba(x[None])[0], atol=1e-6)
        model.learn_one(x, label)
    with pytest.raises(NotFittedError):
        LASVMClassifier(probability=True).predict_proba_one(X[0])
    with pytest.raises(NotFittedError):
        LASVMClassifier().predict_proba_one(X[0])


def test_labels_are_not_confused_when_they_appear_in_another_order():
    X, y = noisy(600)
    start = np.flatnonzero(y == 1)[0], np.flatnonzero(y == 0)[0]
    probabilities = []
    for order in (start, start[::-1]):
        model = LASVMClassifier(probability=True, gamma=0.1, budget=300)
        for i in order:
            model.partial_fit(X[[i]], y[[i]])
        probabilities.append(model.partial_fit(X, y).predict_proba(X))
    assert abs(probabilities[0] - probabilities[1]).mean() < 0.05
    assert np.mean(probabilities[0].argmax(axis=1) == y) > 0.75


def test_classes_that_come_later():
    X, y = noisy(900, 3)
    order = np.argsort(y >= 2, kind="stable")  # the third class comes last
    X, y = X[order], y[order]
    model = LASVMClassifier(probability=True, gamma=0.1, window=600)
    model.partial_fit(X[:1], y[:1])
    assert model.predict_proba(X[:5]).tolist() == [[1.0]] * 5
    assert model.predict_set(X[:5]).tolist() == [[True]] * 5
    for start in range(1, 900, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
        chance, sets = model.predict_proba(X), model.predict_set(X)
        assert chance.shape == sets.shape == (900, len(model.classes_))
        np.testing.assert_array_equal(model.classes_[chance.argmax(axis=1)], model.predict(X))
    assert len(model.classes_) == 3


@every_setting
def test_copies_and_pickles_say_the_same_and_go_on_alike(settings):
    X, y = noisy(500)
    model = LASVMClassifier(probability=True, gamma=0.1, **settings).partial_fit(X[:300], y[:300])
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        mine = copy.deepcopy(model)
        for twin in (mine, other):
            twin.partial_fit(X[300:], y[300:])
        for name in NAMES:
            np.testing.assert_array_equal(getattr(mine, name)(X), getattr(other, name)(X))
    assert clone(model)._trained is None


def test_sparse_and_precomputed_input():
    X, y = noisy(400)
    X = np.where(X > 0.5, X, 0.0)
    dense, packed = (
        LASVMClassifier(probability=True, gamma=0.1, random_state=0).fit(given, y)
        for given in (X, sparse.csr_matrix(X))
    )
    np.testing.assert_allclose(
        dense.predict_proba(X), packed.predict_proba(sparse.csr_matrix(X)), atol=1e-3
    )
    K = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    exact = LASVMClassifier(probability=True, kernel="precomputed", random_state=0).fit(K, y)
    np.testing.assert_allclose(exact.predict_proba(K), dense.predict_proba(X), atol=1e-3)


def drawn(n, seed, intercept):
    """Two classes with known probabilities; the share of the second depends on ``intercept``."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    chance = 1.0 / (1.0 + np.exp(-(2.0 * X[:, 0] + X[:, 1] * X[:, 2] + intercept)))
    return X, (rng.random(n) < chance).astype(int), chance


@pytest.mark.parametrize("intercept", [0.0, 1.5, -4.0])
@pytest.mark.parametrize("settings", [{}, {"epochs": 2}, {"shuffle": False}])
def test_mean_probability_after_fit_is_the_share(intercept, settings):
    X, y, chance = drawn(9000, 0, intercept)
    order = np.argsort(y[:5000], kind="stable")  # sorted rows are no harm
    model = LASVMClassifier(probability=True, gamma=0.1, random_state=0, **settings)
    own = model.fit(X[:5000][order], y[:5000][order]).predict_proba(X[5000:])[:, 1]
    assert abs(own.mean() - y[:5000].mean()) < 0.01 + abs(
        chance[5000:].mean() - chance[:5000].mean()
    )
    if not settings:
        plain = LASVMClassifier(gamma=0.1, random_state=0)
        peer = CalibratedClassifierCV(plain, cv=5).fit(X[:5000], y[:5000])
        theirs = peer.predict_proba(X[5000:])[:, 1]
        assert brier_score_loss(y[5000:], own) < 1.02 * brier_score_loss(y[5000:], theirs)


def test_scores_of_a_fit_are_those_of_cross_validation():
    from sklearn.model_selection import cross_val_predict

    X, y, _ = drawn(600, 1, 0.5)
    model = LASVMClassifier(gamma=0.3, C=30, random_state=0)
    theirs = cross_val_predict(model, X, y, cv=10, method="decision_function")
    watch = clone(model).set_params(probability=True).fit(X, y)._trained.learner.watch
    own, label = watch.scores[:600, 0], watch.label[:600]
    for name in (0, 1):
        quantiles = [
            np.quantile(v, [0.1, 0.25, 0.5, 0.75]) for v in (own[label == name], theirs[y == name])
        ]
        np.testing.assert_allclose(*quantiles, atol=0.25)
    fitted = model.fit(X, y).decision_function(X)
    assert np.mean((own > 0) != label) > 1.2 * np.mean((fitted > 0) != y)  # unlike fitted scores


def test_a_plain_fit_scores_nobody_twice():
    X, y = noisy(3000)
    plain = LASVMClassifier(gamma=0.1, random_state=0).fit(X, y)
    asked = LASVMClassifier(gamma=0.1, random_state=0, probability=True).fit(X, y)
    assert (
        plain.n_kernel_evaluations_ < asked.n_kernel_evaluations_ < 8 * plain.n_kernel_evaluations_
    )
    np.testing.assert_array_equal(plain.decision_function(X), asked.decision_function(X))


def test_a_label_of_one_example_has_probabilities():
    X, y = noisy(300, 3)
    keep = np.concatenate([np.flatnonzero(y != 2), np.flatnonzero(y == 2)[:1]])
    model = LASVMClassifier(probability=True, gamma=0.1, random_state=0).fit(X[keep], y[keep])
    chance = model.predict_proba(X)
    assert np.isfinite(chance).all()
    assert chance[:, 2].mean() < 0.1


# -- without probability=True ------------------------------------------------------------------


def made_sets():
    yield *noisy(6000), {"C": 2.0, "gamma": 0.2}
    yield *noisy(6000, 4, seed=3), {"C": 2.0, "gamma": 0.1}
    X, y, _ = drawn(6000, 0, 1.5)
    yield X, y, {"C": 30.0, "gamma": 0.3}
    X, y, _ = drawn(6000, 1, -3.0)
    yield np.round(X), y, {"gamma": 0.3}  # many copies
    yield 1e6 + 1e-3 * X, y, {"gamma": 1e5}


def brier(y, chance):
    return ((chance - np.eye(chance.shape[1])[y]) ** 2).sum(axis=1).mean()


@pytest.mark.parametrize("number", range(5))
def test_a_plain_fit_is_as_good_as_five_folds(number):
    X, y, params = list(made_sets())[number]
    train, test = slice(0, 3000), slice(3000, None)
    model = LASVMClassifier(random_state=0, **params)
    theirs = CalibratedClassifierCV(model, cv=5).fit(X[train], y[train]).predict_proba(X[test])
    own = model.fit(X[train], y[train]).predict_proba(X[test])
    np.testing.assert_array_equal(model.classes_[own.argmax(axis=1)], model.predict(X[test]))
    assert brier(y[test], own) < 1.02 * brier(y[test], theirs)
    share = np.bincount(y[train]) / 3000
    if len(share) == 2:
        assert abs(own.mean(axis=0) - share).max() < 0.02
    sets = [model.predict_set(X[test], a)[np.arange(3000), y[test]].mean() for a in (0.1, 0.2)]
    assert (np.array(sets) > [0.87, 0.77]).all()
    if number < 3:  # of others many scores are equal
        assert (np.array(sets) < [0.93, 0.83]).all()


@pytest.mark.parametrize("name", ["a9a", "elec2"])
def test_a_plain_fit_of_known_sets_is_as_good_as_five_folds(name, data_dir):
    if name == "a9a":
        import lzma

        from sklearn.datasets import load_svmlight_file

        with lzma.open(data_dir / "a9a.xz") as file:
            X, y = load_svmlight_file(file, n_features=123)
        params = {"C": 100, "gamma": 0.005}
    else:
        with np.load(data_dir / "elec2.npz") as data:
            X, y = data["X"][:8000, 1:].astype(float), data["y"][:8000]
        order = np.random.default_rng(0).permutation(8000)
        X, y, params = (
            (X / np.maximum(X.std(axis=0), 1e-9))[order],
            y[order],
            {"C": 10, "gamma": 0.5},
        )
    y, train, test = (y > 0).astype(int), slice(0, 4000), slice(4000, 8000)
    model = LASVMClassifier(random_state=0, **params)
    theirs = CalibratedClassifierCV(model, cv=5).fit(X[train], y[train]).predict_proba(X[test])
    own = model.fit(X[train], y[train]).predict_proba(X[test])
    assert brier(y[test], own) < 1.02 * brier(y[test], theirs)


def test_asking_changes_nothing():
    X, y = noisy(2500)
    model, twin = (LASVMClassifier(gamma=0.1, random_state=0).fit(X, y) for _ in range(2))
    values, count = model.decision_function(X), model.n_kernel_evaluations_
    first = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), first)
    np.testing.assert_array_equal(model.decision_function(X), values)
    assert model.n_kernel_evaluations_ == count == twin.n_kernel_evaluations_
    for each in (model, twin):
        each.partial_fit(X[:500], 1 - y[:500])
    np.testing.assert_array_equal(model.decision_function(X), twin.decision_function(X))


@every_setting
@pytest.mark.parametrize("classes", [2, 4])
def test_streams_have_probabilities_without_a_switch(settings, classes):
    X, y = noisy(3000, classes)
    model = LASVMClassifier(gamma=0.1, **settings)
    sure = LASVMClassifier(gamma=0.1, probability=True, **settings)
    for start, end in (
        (0, 700),
        (700, 1000),
        *((k, k + 5) for k in range(1000, 1200, 5)),
        (1200, 2500),
    ):
        for each in (model, sure):
            each.partial_fit(X[start:end], y[start:end])
        if start in (0, 700, 1195, 1200):
            chance, peer = (m.predict_proba(X[2500:]) for m in (model, sure))
            np.testing.assert_array_equal(chance.argmax(axis=1), model.predict(X[2500:]))
            assert brier(y[2500:], chance) < 1.06 * brier(y[2500:], peer)
    for x, label in zip(X[2500:2600], y[2500:2600].tolist(), strict=True):
        model.learn_one(x, label)
    one = model.predict_proba_one(X[2700])
    np.testing.assert_allclose(one, model.predict_proba(X[[2700]])[0], atol=1e-6)


@pytest.mark.parametrize("fitted", [0, 300])
@pytest.mark.parametrize("classes", [2, 3])
def test_examples_of_a_stream_that_are_not_held_count(fitted, classes):
    """The rows that a model holds are the hard ones: without the others nobody would be certain."""
    found = []
    for seed in (2, 3, 4):
        X, y = make_classification(
            6000, 6, n_informative=4, n_redundant=0, n_classes=classes, n_clusters_per_class=1,
            weights=[0.8, 0.1, 0.1] if classes == 3 else [0.8], flip_y=0.05, random_state=seed,
        )  # fmt: skip
        model = LASVMClassifier(C=10, gamma=0.1, random_state=0)
        theirs = CalibratedClassifierCV(model, cv=5).fit(X[:1000], y[:1000])
        model = model.fit(X[:fitted], y[:fitted]) if fitted else model
        for start in range(fitted, 1000, 50):
            model.partial_fit(X[start : start + 50], y[start : start + 50])
        own, peer = (m.predict_proba(X[1000:]) for m in (model.finish(), theirs))
        bias = abs(own.mean(axis=0) - np.bincount(y) / len(y)).max()
        found.append([brier(y[1000:], own) / brier(y[1000:], peer), bias])
    ratio, bias = np.mean(found, axis=0)
    assert ratio < 1.04
    assert bias < 0.015


def test_what_was_found_for_few_examples_is_not_used_for_many():
    X, y = noisy(1300)
    model = LASVMClassifier(gamma=0.1, random_state=0).fit(X[:100], y[:100])
    asked = copy.deepcopy(model)
    asked.predict_proba(X)
    for each in (model, asked):
        for start in range(100, 1000, 50):
            each.partial_fit(X[start : start + 50], y[start : start + 50])
    np.testing.assert_array_equal(model.predict_proba(X), asked.predict_proba(X))


@every_setting
def test_copies_pickles_and_files_of_plain_models_say_the_same(settings, tmp_path):
    from onlinesvm import load_model

    X, y = noisy(700)
    for model in (
        LASVMClassifier(gamma=0.1, **settings).fit(X[:600], y[:600]),
        LASVMClassifier(gamma=0.1, **settings).partial_fit(X[:600], y[:600]),
    ):
        for asked in (False, True):
            model.save(tmp_path / "model")
            others = (
                copy.deepcopy(model),
                pickle.loads(pickle.dumps(model)),
                load_model(tmp_path / "model"),
            )
            if asked:
                model.partial_fit(X[600:650], y[600:650])
                for other in others:
                    other.partial_fit(X[600:650], y[600:650])
            for other in others:
                for name in NAMES:
                    np.testing.assert_array_equal(getattr(model, name)(X), getattr(other, name)(X))


def test_labels_that_come_later_have_probabilities_without_a_switch():
    X, y = noisy(900, 4)
    order = np.argsort(y, kind="stable")
    for settings in ({}, {"budget": 300}):
        model = LASVMClassifier(gamma=0.1, **settings)
        for start in range(0, 900, 60):
            rows = order[start : start + 60]
            chance = model.partial_fit(X[rows], y[rows]).predict_proba(X)
            assert chance.shape == (900, len(model.classes_))
            assert np.isfinite(chance).all()
        assert len(model.classes_) == 4


def test_tiny_and_repeated_data_have_probabilities_without_a_switch():
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    for model in (LASVMClassifier().fit(X, y), LASVMClassifier().partial_fit(X, y)):
        chance = model.predict_proba(X)
        np.testing.assert_array_equal(chance.argmax(axis=1), model.predict(X))
        assert np.isfinite(chance).all()
    X, y = np.array([[0.0], [1.0]] * 300), np.array([0, 1] * 300)
    y[:80] = 1  # 40 copies of the first point have the other label
    model = LASVMClassifier(random_state=0).fit(X, y)
    assert model.predict_proba([[0.0]])[0, 1] == pytest.approx(40 / 300, abs=0.08)


def test_examples_that_were_chosen_make_no_probabilities():
    X, y = noisy(200)
    learner = ActiveLearner(LASVMClassifier(gamma=0.1), X, random_state=0)
    for _ in range(30):
        k = learner.query()
        learner.teach(k, y[k])
    with pytest.raises(NotFittedError, match=r"ActiveLearner.*learn again with probability=True"):
        learner.estimator.predict_proba(X)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_chosen_examples_are_those_of_the_model_served(classes):
    """Scores of finished models say little about those of a model that is far from its optimum."""
    X, y = noisy(600, classes)
    learner = ActiveLearner(LASVMClassifier(C=100.0, probability=True), X, random_state=0)
    for _ in range(150):
        k = learner.query()
        learner.teach(k, y[k])
    model = learner.estimator
    finished = copy.deepcopy(model).finish()
    np.testing.assert_allclose(
        model.decision_function(X), finished.decision_function(X), rtol=0, atol=0.01
    )
    np.testing.assert_allclose(model.predict_proba(X), finished.predict_proba(X), rtol=0, atol=0.01)


def test_the_model_served_is_that_of_the_labelled_examples():
    """Examples that left too early come back: models of the folds are made with all the others, too."""
    for seed in (0, 3):
        X, y = make_moons(2000, noise=0.3, random_state=seed)
        learner = ActiveLearner(
            LASVMClassifier(C=300, gamma=1, probability=True), X[:1000], random_state=0
        )
        for _ in range(200):
            k = learner.query()
            learner.teach(k, y[k])
        served, taught = learner.estimator, learner.taught
        exact = LASVMClassifier(C=300, gamma=1, epochs="converge").fit(X[taught], y[taught])
        difference = served.decision_function(X[1000:]) - exact.decision_function(X[1000:])
        assert abs(difference).mean() < 0.1
        k = learner.query()  # the pool knows the rows by their numbers, as before
        learner.teach(k, y[k])
        assert set(learner.estimator.support_.tolist()) <= set(learner.taught.tolist())


def test_a_fit_cut_short_has_probabilities():
    X, y = noisy(6000)
    model = LASVMClassifier(gamma=0.1, max_examples=3000, random_state=0).fit(X, y)
    chance = model.predict_proba(X)
    assert brier(y, chance) < 0.35
    assert abs(chance[:, 1].mean() - y.mean()) < 0.03


# -- prediction sets --------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1000, 4000])
def test_sets_after_fit_of_noisy_labels_are_not_too_large(n):
    covered = []
    for seed in range(3):
        X, y, _ = drawn(n + 4000, seed, 1.0)
        model = LASVMClassifier(probability=True, gamma=0.3, C=30, random_state=0).fit(X[:n], y[:n])
        covered.append([
            model.predict_set(X[n:], alpha)[np.arange(4000), y[n:]].mean() for alpha in (0.1, 0.2)
        ])  # fmt: skip
    assert abs(np.mean(covered, axis=0) - [0.9, 0.8]).max() < 0.02


def drifting(n, seed=0):
    """Four classes whose meaning is permuted in mid-stream."""
    X, y = noisy(n, 4, seed)
    return X, np.where(np.arange(n) < n // 2, y, (y + 1) % 4)


def coverage(model, X, y, alphas, every):
    """Whether the set of each example, asked for before it is learned, holds its label.

    As ``predict_set`` does it, with which it is compared now and then, in less time.
    """
    covers = np.zeros((len(y), len(alphas)), bool)
    for i, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        scores, own = np.atleast_2d(model.decision_one(x)), np.searchsorted(model.classes_, label)
        watch = model._trained.learner.watch
        watch.look()
        q = [interpolated(watch.thresholds.q, alpha) for alpha in alphas]
        covers[i] = excess(scores, np.array([own]))[0] <= np.array(q)
        if i % every == 0:
            sets = [model.predict_set(x[None], alpha)[0, own] for alpha in alphas]
            np.testing.assert_array_equal(covers[i], sets)
        model.learn_one(x, label)
    return covers


def test_sets_cover_before_and_after_a_drift():
    X, y = drifting(4000)
    model = LASVMClassifier(probability=True, gamma=0.1, budget=100).partial_fit(X[:20], y[:20])
    alphas = np.array([0.05, 0.1, 0.17, 0.2])
    covers = coverage(model, X[20:], y[20:], alphas, 200)
    for stretch in (slice(400, 1980), slice(1980, 3980), slice(2400, 3980)):
        assert abs(covers[stretch].mean(axis=0) - (1 - alphas)).max() < 0.03


@pytest.mark.parametrize("n", [100, 300])
def test_sets_of_a_young_stream_cover(n):
    covered = []
    for seed in range(6):
        X, y = noisy(n + 3000, 3, seed)
        model = LASVMClassifier(gamma=0.1, probability=True)
        for start in range(0, n, 20):
            model.partial_fit(X[start : start + 20], y[start : start + 20])
        sets = [model.predict_set(X[n:], a)[np.arange(3000), y[n:]] for a in (0.1, 0.05)]
        covered.append(np.mean(sets, axis=1))
    assert (np.mean(covered, axis=0) > [0.87, 0.92]).all()


@pytest.mark.parametrize("classes", [2, 4])
def test_sets_after_fit_cover(classes):
    X, y = noisy(8000, classes)
    model = LASVMClassifier(probability=True, gamma=0.1, random_state=0).fit(X[:4000], y[:4000])
    for alpha in (0.1, 0.2):
        sets = model.predict_set(X[4000:], alpha)
        assert abs(sets[np.arange(4000), y[4000:]].mean() - (1 - alpha)) < 0.03


def test_sets_of_the_price_stream_cover(data_dir):
    """Every stretch of 5,000, also after the labels are swapped."""
    with np.load(data_dir / "elec2.npz") as data:
        X, y = data["X"][:9000, 1:].astype(float), data["y"][:9000]
    y = np.where(np.arange(9000) < 5000, y, -y)
    count = np.arange(1, 9001)[:, None]
    mean = np.cumsum(X, axis=0) / count
    spread = np.sqrt(np.maximum(np.cumsum(X**2, axis=0) / count - mean**2, 1e-9))
    X = (X - mean) / spread
    model = LASVMClassifier(probability=True, gamma=0.5, budget=200, half_life=1000)
    model.partial_fit(X[:100], y[:100])
    covers = coverage(model, X[100:], y[100:], [0.1], 1000)[:, 0]
    share = np.convolve(covers, np.full(5000, 1 / 5000), "valid")
    assert share.min() > 0.88
    assert share.max() < 0.92


def test_smaller_alpha_gives_larger_sets():
    X, y = noisy(1500, 4)
    model = LASVMClassifier(probability=True, gamma=0.1, random_state=0).fit(X[:1000], y[:1000])
    sizes = [model.predict_set(X[1000:], a).sum(axis=1).mean() for a in (1e-5, 0.02, 0.1, 0.3, 0.6)]
    assert sizes[0] == 4.0
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1.0


# -- not there --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_methods_are_always_there(name):
    X, y = noisy(50)
    for model in (LASVMClassifier(), LASVMClassifier(probability=True)):
        assert hasattr(model, name)
        with pytest.raises(NotFittedError):
            getattr(model, name)(X)
    late = LASVMClassifier().fit(X, y).set_params(probability=True)
    assert getattr(late, name)(X).shape == (50, 2)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_without_scores_says_what_to_do(name):
    X, y = noisy(300)
    chosen = LASVMClassifier(selection="gradient", random_state=0).fit(X, y)
    old = LASVMClassifier().fit(X, y)
    old._trained.learner.asides = None  # as in files of earlier versions
    for model in (chosen, old):
        before = model.decision_function(X)
        with pytest.raises(NotFittedError, match="learn again with probability=True"):
            getattr(model, name)(X)
        np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 2, np.nan, "0.1", None])
def test_alpha_is_between_zero_and_one(alpha):
    X, y = noisy(50)
    model = LASVMClassifier(probability=True).fit(X, y)
    with pytest.raises(ValueError, match="alpha must be a number between 0 and 1; got"):
        model.predict_set(X, alpha)


def test_tiny_data_sets_give_probabilities():
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    for model in (
        LASVMClassifier(probability=True).fit(X, y),
        LASVMClassifier(probability=True, budget=2).partial_fit(X, y),
    ):
        chance = model.predict_proba(X)
        np.testing.assert_array_equal(chance.argmax(axis=1), model.predict(X))
        assert np.isfinite(chance).all()
        assert model.predict_set(X).shape == (2, 2)


def test_copies_of_an_example_count():
    X, y = np.array([[0.0], [1.0]] * 300), np.array([0, 1] * 300)
    y[:80] = 1  # 40 copies of the first point have the other label
    model = LASVMClassifier(probability=True, random_state=0).fit(X, y)
    assert model.predict_proba([[0.0]])[0, 1] == pytest.approx(40 / 300, abs=0.08)


def saved(model, path):
    model.save(path)
    return load_model(path)


def _weighted(n=200, grid=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X = np.round(0.7 * X) if grid else X
    noise = 0.7 * rng.normal(size=n)
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] + noise > 0).astype(int), rng


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("way", [lambda model, path: model, saved], ids=["same", "file"])
def test_examples_of_weight_zero_make_nobody_surer(grid, way, tmp_path):
    X, y, rng = _weighted(grid=grid)
    counts = rng.random(len(X)) < 0.5
    settings = {"gamma": 0.5, "C": 2.0}
    found = LASVMClassifier(**settings).fit(X, y, sample_weight=counts.astype(float))
    wanted = LASVMClassifier(**settings).fit(X[counts], y[counts])
    found = way(found, tmp_path / "model.safetensors")
    np.testing.assert_allclose(found.predict_proba(X), wanted.predict_proba(X), atol=2e-3)
    assert (found.predict_set(X) == wanted.predict_set(X)).mean() > 0.99


def test_a_heavy_example_is_not_taken_for_copies():
    apart = []
    for seed in range(5):
        X, y, rng = _weighted(seed=seed)
        weight = rng.choice([0.2, 1.0, 4.0], len(X))
        X[1], y[1] = X[0], y[0]  # the only copy
        near = X.copy()
        near[1] += 1e-4
        one, two = (
            LASVMClassifier(gamma=0.5, C=2.0).fit(each, y, sample_weight=weight).predict_proba(X)
            for each in (X, near)
        )
        apart.append(np.abs(one - two).mean())
    assert np.mean(apart) < 0.05  # another row in a fold changes some


def test_copies_are_known_after_others_were_forgotten(tmp_path):
    X, y, _ = _weighted(grid=True)
    model = LASVMClassifier(gamma=0.5, C=2.0, epochs="converge").fit(X, y)
    _, first, counts = np.unique(np.c_[X, y], axis=0, return_index=True, return_counts=True)
    assert counts.max() > 3
    gone = np.sort(first)[::3]
    model.forget(gone, X, y)
    left = dict(zip(first.tolist(), counts.tolist()))
    chance = model.predict_proba(X)
    for found in (model, saved(model, tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        trained = found._trained
        assert trained.copies.tolist() == [left[k] for k in trained.original.tolist()]
        assert len(trained.copies) == len(left) - len(gone)
        np.testing.assert_allclose(found.predict_proba(X), chance, atol=1e-6)


def test_the_error_about_missing_scores_names_a_selection_only_if_there_was_one():
    X, y = noisy(200)
    learner = ActiveLearner(LASVMClassifier(), X, random_state=0)
    for question in range(40):
        learner.teach(question, y[question])
    chosen = LASVMClassifier(selection="active").fit(X, y)
    for model, says in ((learner.estimator, False), (chosen, True)):
        with pytest.raises(NotFittedError, match="needs scores of examples") as told:
            model.predict_proba(X)
        assert ("learned with selection='active'" in str(told.value)) == says
        assert "selection='random'" not in str(told.value)
