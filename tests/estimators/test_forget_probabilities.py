"""Probabilities and prediction sets after examples were forgotten: those of the examples left."""

import pickle
import runpy

import numpy as np
import pytest
from sklearn.datasets import make_classification

from onlinesvm import LASVMClassifier, LASVMRegressor, load_model
from onlinesvm.model.export.python import export_python

SETTINGS = {"C": 2.0, "gamma": 0.1}


@pytest.fixture(scope="module")
def three():
    X, y = make_classification(
        4500, 8, n_informative=6, n_redundant=0, n_classes=3, flip_y=0.15, class_sep=1.0,
        random_state=1,
    )  # fmt: skip
    return X, np.array(["ant", "bee", "cat"])[y]


def brier(chances, y, classes):
    return ((chances - (y[:, None] == classes)) ** 2).sum(axis=1)


def learned(how, X, y, **settings):
    model = LASVMClassifier(**SETTINGS, **settings)
    return model.fit(X, y) if how == "fit" else model.partial_fit(X, y)


@pytest.mark.parametrize("decision", ["ovr", "ovo"])
@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("how", ["fit", "fit, data again", "stream"])
def test_after_a_class_of_three_is_gone_they_are_those_of_the_others(
    three, how, probability, decision
):
    X, y = three
    train, test = slice(0, 3000), slice(3000, 4500)
    settings = {"probability": probability, "decision": decision}
    model = learned(how[:3], X[train], y[train], **settings)
    model.predict_proba(X[:10])
    gone = np.flatnonzero(y[train] == "bee")
    model.forget(gone, *((X[train], y[train]) if "again" in how else ()))
    left = y[train] != "bee"
    peer = learned(how[:3], X[train][left], y[train][left], **settings)
    asked = X[test][y[test] != "bee"]
    truth = y[test][y[test] != "bee"]
    chances = model.predict_proba(asked)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    assert (chances[:, 1] == 0.0).all()
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(asked))
    ours = brier(chances, truth, model.classes_)
    theirs = brier(peer.predict_proba(asked), truth, peer.classes_)
    noise = (ours - theirs).std() / np.sqrt(len(ours))
    # Without the data, scores of rows that are not stored are those of the model before.
    assert ours.mean() - theirs.mean() < max(3 * noise, 0.01 if "again" in how else 0.015)
    np.testing.assert_allclose(model.predict_proba_one(asked[0]), chances[0], atol=1e-5)
    sets = model.predict_set(asked, alpha=0.1)
    assert not sets[:, 1].any()
    assert abs(sets[truth[:, None] == model.classes_].mean() - 0.9) < 0.04
    for twin in (pickle.loads(pickle.dumps(model)), model):
        assert (twin.predict_proba(asked)[:, 1] == 0.0).all()
    model.partial_fit(X[train][gone], y[train][gone])
    model.finish()
    back = model.predict_proba(X[test])
    assert (back[:, 1] > 0.0).all()  # it was learned again
    assert brier(back, y[test], model.classes_).mean() < 0.6


def test_a_class_that_is_gone_stays_so_in_files(three, tmp_path):
    X, y = three
    model = LASVMClassifier(**SETTINGS, probability=True).fit(X[:1500], y[:1500])
    model.forget(np.flatnonzero(y[:1500] == "cat"))
    model.save(tmp_path / "model")
    chances = load_model(tmp_path / "model").predict_proba(X[:100])
    assert (chances[:, 2] == 0.0).all()
    np.testing.assert_allclose(chances, model.predict_proba(X[:100]), atol=1e-6)


@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("kept", ["ant", "cat"])
def test_one_class_of_two_is_certain_when_the_other_is_gone(three, probability, kept):
    X, y = three
    two = y != "bee"
    X, y = X[two][:1200], y[two][:1200]
    model = LASVMClassifier(**SETTINGS, probability=probability).fit(X, y)
    model.forget(np.flatnonzero(y != kept))
    assert set(model.predict(X)) == {kept}
    np.testing.assert_array_equal(
        model.predict_proba(X), np.tile(model.classes_ == kept, (len(X), 1))
    )
    np.testing.assert_array_equal(
        model.predict_set(X), np.tile(model.classes_ == kept, (len(X), 1))
    )
    model.partial_fit(X, y)
    assert brier(model.predict_proba(X), y, model.classes_).mean() < 0.5


@pytest.mark.parametrize("probability", [False, True])
@pytest.mark.parametrize("learn", ["fit", "batches", "one by one", "window"])
def test_scores_of_the_forgotten_are_dropped(three, learn, probability):
    """Examples that contradict the others are forgotten: none of their scores is left."""
    X, y = three
    two = y != "bee"
    X, y = X[two][:1500], y[two][:1500].copy()
    wrong = np.arange(900, 1200)
    y[wrong] = np.where(y[wrong] == "ant", "cat", "ant")
    model = LASVMClassifier(
        **SETTINGS, probability=probability, **({"window": 1000} if learn == "window" else {})
    )
    if learn == "fit":
        model.fit(X, y)
    elif learn == "batches":
        for first in range(0, 1500, 50):
            model.partial_fit(X[first : first + 50], y[first : first + 50])
    else:
        for x, label in zip(X, y):
            model.learn_one(x, label)
    model.forget(wrong, *((X, y) if learn == "fit" else ()))
    learner = model._trained.learner
    kept = [learner.watch] if probability else [learner.asides]
    if not probability and learner.asides.beyond is not None:
        kept.append(learner.asides.beyond)
    for record in kept:
        if learn == "fit":
            left = np.setdiff1d(np.arange(1500), wrong)
            numbers = record.key[record.key >= 0]
            assert (numbers < len(left)).all()
            assert set(model._trained.original[numbers]) <= set(left)
        else:
            assert not set(-2 - wrong) & set(record.key.tolist())
            assert set(-2 - record.key[record.key < -1]) <= set(range(1500))
    right = np.setdiff1d(np.arange(500 if learn == "window" else 0, 1500), wrong)
    peer = LASVMClassifier(**SETTINGS, probability=probability).fit(X[right], y[right])
    ours = brier(model.predict_proba(X[right]), y[right], model.classes_).mean()
    theirs = brier(peer.predict_proba(X[right]), y[right], peer.classes_).mean()
    assert ours < theirs + 0.04


def test_errors_of_the_forgotten_are_dropped():
    """Rows with wild errors are forgotten: intervals are those of the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=1500)
    wild = np.sort(rng.choice(1500, 300, replace=False))
    y[wild] += 50.0 * rng.choice([-1, 1], 300)
    right = np.setdiff1d(np.arange(1500), wild)
    for learn in ("fit", "stream"):
        model = LASVMRegressor(C=1.0, gamma=0.5)
        model = model.fit(X, y) if learn == "fit" else model.partial_fit(X, y)
        wide = np.ptp(model.predict_interval(X[:50]), axis=1).mean()
        model.forget(wild, *((X, y) if learn == "fit" else ()))
        narrow = np.ptp(model.predict_interval(X[:50]), axis=1).mean()
        assert narrow < 0.2 * wide
        low, high = model.predict_interval(X[right]).T
        assert ((y[right] >= low) & (y[right] <= high)).mean() > 0.8


def test_the_report_says_what_is_left(three):
    X, y = three
    model = LASVMClassifier(**SETTINGS, epochs="converge").fit(X[:900], y[:900])
    model.forget(model.support_[0], X[:900], y[:900])
    said = model.forget_report_["depends_on_them_still"]
    assert any("scores of other examples" in each for each in said)
    model.forget(model.support_[: len(model.support_) // 2], X[:900], y[:900])
    said = model.forget_report_["depends_on_them_still"]
    assert not any("scores" in each for each in said)  # they were computed again
    stream = LASVMClassifier(**SETTINGS, detect_drift=True).partial_fit(X[:300], y[:300])
    stream.forget(3)
    said = stream.forget_report_["depends_on_them_still"]
    assert any("follow the share of errors" in each for each in said)


def quarters():
    """Four classes around a middle where no machine of a linear model says yes."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, 2.0 * np.pi, 600)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1) * rng.uniform(0.5, 2.0, (600, 1))
    return X, (2.0 * angle // np.pi).astype(int), 5.0 * rng.standard_normal((2000, 2))


@pytest.mark.parametrize("settings", [{"kernel": "linear"}, {"gamma": 50.0}])
@pytest.mark.parametrize("gone", range(4))
def test_a_class_that_was_forgotten_is_never_predicted(gone, settings, tmp_path):
    """Where all others say no by more than its machine, which says -1 everywhere; SVC has no such class."""
    X, y, asked = quarters()
    model = LASVMClassifier(C=10.0, epochs="converge", **settings).fit(X, y)
    model.forget(np.flatnonzero(y == gone), X, y)
    left, found = y != gone, model.predict(asked)
    assert gone not in found
    refit = LASVMClassifier(C=10.0, epochs="converge", **settings).fit(X[left], y[left])
    assert (found == refit.predict(asked)).mean() > 0.99
    assert [model.predict_one(x) for x in asked[:300]] == found[:300].tolist()
    model.save(tmp_path / "model.safetensors")
    assert np.array_equal(load_model(tmp_path / "model.safetensors").predict(asked), found)
    export_python(model, tmp_path / "exported.py")
    exported = runpy.run_path(str(tmp_path / "exported.py"))
    assert np.array_equal(exported["predict"](asked), found)
