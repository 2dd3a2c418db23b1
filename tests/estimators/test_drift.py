"""Drift noticed by LASVMClassifier, and the window that follows it."""

import copy
import pickle

import numpy as np
import pytest

from onlinesvm import LASVMClassifier


def swapped(n=1600, seed=0, features=3):
    """Labels that swap their meaning in mid-stream."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    y = (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)
    y[n // 2 :] = 1 - y[n // 2 :]
    return X, y


def learned(X, y, size, between=lambda model: model, first=40, **settings):
    """A stream in pieces of a certain size; the first piece fixes what is the same for all."""
    model = LASVMClassifier(gamma=0.5, **settings).partial_fit(X[:first], y[:first])
    for start in range(first, len(X), size):
        model = between(model.partial_fit(X[start : start + size], y[start : start + size]))
    return model


def told(model):
    return model.n_drifts_, model.prequential_error_, model._trained.learner.watch.detector.last


def asked(model):
    model.predict_set(model._trained.learner.store.rows().to_array()[:1])
    return model


WAYS = {
    "as one": (5000, lambda m: m),
    "one by one": (1, lambda m: m),
    "by seven": (7, lambda m: m),
    "pickled": (90, lambda m: pickle.loads(pickle.dumps(m))),
    "copied": (90, copy.deepcopy),
    "asked": (50, asked),
}


@pytest.mark.parametrize("settings", [{"window": "auto"}, {"window": "auto", "budget": 120}])
def test_results_do_not_depend_on_cuts_copies_threads_or_cache(settings):
    X, y = swapped()
    settings = settings | {"probability": True}
    reference = learned(X, y, 100, **settings)
    assert reference.n_drifts_ == 1
    others = [learned(X, y, *way, **settings) for way in WAYS.values()]
    others += [learned(X, y, 100, n_jobs=1, cache_size=0.01, **settings)]
    for model in others:
        assert told(model) == told(reference)
        assert model.window_ == reference.window_
        for name in ("decision_function", "predict_proba", "predict_set"):
            np.testing.assert_array_equal(getattr(model, name)(X), getattr(reference, name)(X))
        model.finish()
    for model in others[1:]:
        np.testing.assert_array_equal(model.decision_function(X), others[0].decision_function(X))


@pytest.mark.parametrize("settings", [{}, {"block_size": 1}, {"budget": 150}, {"window": 400}])
def test_a_label_swap_is_noticed_once_and_soon(settings):
    X, y = swapped()
    model = LASVMClassifier(gamma=0.5, detect_drift=True, **settings).partial_fit(X[:40], y[:40])
    found = []
    for i in range(40, len(X)):
        model.learn_one(X[i], y[i])
        if model.drift_detected_:
            found.append(i)
    assert len(found) == model.n_drifts_ == 1
    assert 800 < found[0] < 900


def test_nothing_is_noticed_where_nothing_changes():
    X, y = swapped()
    for settings in ({}, {"budget": 30}, {"window": 100}, {"window": "auto"}):
        model = learned(X[:800], y[:800], 40, detect_drift=True, **settings)
        assert (model.n_drifts_, model.drift_detected_) == (0, False)


def test_the_window_shrinks_at_a_drift_and_grows_again():
    X, y = swapped()
    model = LASVMClassifier(gamma=0.5, window="auto").partial_fit(X[:40], y[:40])
    widths = []
    for x, label in zip(X[40:], y[40:], strict=True):
        model.learn_one(x, label)
        widths.append(model.window_)
    widths = np.array(widths)
    assert widths[700] > 700
    assert widths.min() == widths[820:].min() == 100
    assert widths[-1] > 700
    fixed = learned(X, y, 1, window=1000)
    late = slice(1000, 1200)
    assert learned(X[:1000], y[:1000], 1, window="auto").score(X[late], y[late]) > 0.85
    assert fixed.score(X[late], y[late]) < 0.95


def test_finished_auto_window_is_the_svm_of_the_window():
    from sklearn.svm import SVC

    X, y = swapped(1200)
    model = learned(X, y, 50, window="auto", C=2.0, tol=1e-4).finish()
    n = model.window_
    svc = SVC(gamma=0.5, C=2.0, tol=1e-5).fit(X[-n:], y[-n:])
    np.testing.assert_allclose(model.decision_function(X), svc.decision_function(X), atol=5e-3)


def test_scores_noted_are_the_decision_values_before_learning():
    X, y = swapped(400)
    for settings in ({"window": 100}, {"budget": 30}, {"block_size": 1}, {}):
        model = LASVMClassifier(gamma=0.5, probability=True, **settings).partial_fit(X[:40], y[:40])
        for i in range(40, 120):
            before = model.decision_one(X[i])
            evaluations = model._trained.learner.kernel.n_evaluations
            model.learn_one(X[i], y[i])
            watch = model._trained.learner.watch
            assert watch.n == i + 1
            if "window" not in settings:  # there, what leaves the window does so before
                np.testing.assert_allclose(watch.scores[i, 0], before, atol=1e-5)
            assert model._trained.learner.kernel.n_evaluations >= evaluations
        plain = LASVMClassifier(gamma=0.5, **settings).partial_fit(X[:40], y[:40])
        for i in range(40, 120):
            plain.learn_one(X[i], y[i])
        if settings:  # without a bound, the first call is learned in smaller blocks
            assert plain.n_kernel_evaluations_ == model.n_kernel_evaluations_
            np.testing.assert_array_equal(plain.dual_coef_, model.dual_coef_)


def test_blocks_are_scored_before_they_are_learned():
    X, y = swapped(600)
    X, y = X[:300], y[:300]
    model = LASVMClassifier(gamma=0.5, detect_drift=True, block_size=50, probability=True)
    model.partial_fit(X[:100], y[:100])
    before = model.decision_function(X[100:150])
    model.partial_fit(X[100:150], y[100:150])
    np.testing.assert_allclose(model._trained.learner.watch.scores[100:150, 0], before, atol=1e-5)


@pytest.mark.parametrize(
    "settings", [{"epochs": 3}, {"epochs": 3, "block_size": 1}, {"epochs": 3, "budget": 40}]
)
def test_only_the_first_epoch_is_noted(settings):
    X, y = swapped(400)
    model = LASVMClassifier(gamma=0.5, probability=True, random_state=0, **settings).fit(X, y)
    assert model._trained.learner.watch.n == 400


def test_attributes_say_what_they_need():
    X, y = swapped(200)
    model = LASVMClassifier()
    for name in ("drift_detected_", "n_drifts_", "prequential_error_", "window_"):
        assert not hasattr(model, name)
    model.fit(X, y)
    with pytest.raises(AttributeError, match=r"n_drifts_ needs a drift detector: set detect_drift"):
        model.n_drifts_
    with pytest.raises(AttributeError, match="window_ is not available"):
        model.window_
    assert LASVMClassifier(window=50).partial_fit(X, y).window_ == 50


@pytest.mark.parametrize("window", ["automatic", 1, 2.5, "Auto"])
def test_windows_that_mean_nothing_are_refused(window):
    X, y = swapped(50)
    with pytest.raises(ValueError, match="'window' parameter"):
        LASVMClassifier(window=window).partial_fit(X, y)


@pytest.mark.parametrize(
    "setting", [{"window": "auto"}, {"detect_drift": True}, {"probability": True}]
)
def test_chosen_examples_tell_nothing_about_the_stream(setting):
    X, y = swapped(50)
    with pytest.raises(ValueError, match="selection='active' learns examples"):
        LASVMClassifier(selection="active", **setting).fit(X, y)


def test_exact_svm_has_no_window():
    X, y = swapped(50)
    with pytest.raises(ValueError, match="window='auto'"):
        LASVMClassifier(window="auto", epochs="converge").fit(X, y)
