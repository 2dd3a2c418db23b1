"""A class of which the window has no example is never predicted, until it returns."""

import pickle
import runpy

import numpy as np
import pytest

from onlinesvm import LASVMClassifier, load_model
from onlinesvm.model.export.onnx import export_onnx
from onlinesvm.model.export.python import export_python
from onlinesvm.river import LASVMClassifier as RiverLASVM

BOUNDS = {
    "window": {"window": 200},
    "budget too": {"window": 200, "budget": 50},
    "joined": {"window": 200, "budget": 50, "policy": "join"},
    "half-life": {"half_life": 6.0},  # which has a window of 200
}


def quarters(rng, n, without=None):
    """Four classes around a middle where no machine of a linear model says yes."""
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1) * rng.uniform(0.5, 2.0, (n, 1))
    y = (2.0 * angle // np.pi).astype(int)
    return (X, y) if without is None else (X[y != without], y[y != without])


def left(gone, rng=None, **settings):
    """A stream on which one class of four has left the window."""
    rng = rng or np.random.default_rng(0)
    model = LASVMClassifier(C=10.0, **{"kernel": "linear", **settings})
    model.partial_fit(*quarters(rng, 300))
    return model.partial_fit(*quarters(rng, 800, gone))


ASKED = 5.0 * np.random.default_rng(1).standard_normal((2000, 2))


@pytest.mark.parametrize("decision", ["ovr", "ovo"])
@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("gone", range(4))
def test_it_is_never_predicted(gone, bound, decision, tmp_path):
    model = left(gone, decision=decision, probability=True, **BOUNDS[bound])
    for _ in range(2):
        found, chance = model.predict(ASKED), model.predict_proba(ASKED)
        assert gone not in found
        assert (chance[:, gone] == 0.0).all()
        np.testing.assert_allclose(chance.sum(axis=1), 1.0)
        assert np.array_equal(model.classes_[chance.argmax(axis=1)], found)
        assert [model.predict_one(x) for x in ASKED[:200]] == found[:200].tolist()
        ones = np.array([model.predict_proba_one(x) for x in ASKED[:200]])
        np.testing.assert_allclose(ones, chance[:200], atol=1e-4)  # in single precision
        model.finish()
    found, chance = model.predict(ASKED), model.predict_proba(ASKED)
    model.save(tmp_path / "model.safetensors")
    for again in (load_model(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(again.predict(ASKED), found)
        np.testing.assert_array_equal(again.predict_proba(ASKED), chance)
    export_python(model, tmp_path / "exported.py")
    exported = runpy.run_path(str(tmp_path / "exported.py"))
    assert np.array_equal(exported["predict"](ASKED), found)
    if decision == "ovr":
        np.testing.assert_allclose(exported["predict_proba"](ASKED), chance, atol=1e-9)


def test_exports_to_onnx_say_the_same(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    model = left(0, window=200, probability=True)
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    names = [each.name for each in session.get_outputs()]
    out = dict(zip(names, session.run(None, {"X": ASKED.astype(np.float32)}), strict=True))
    assert 0 not in out["label"]
    np.testing.assert_allclose(out["probabilities"], model.predict_proba(ASKED), atol=1e-5)


def test_it_is_predicted_again_once_it_returns():
    rng = np.random.default_rng(2)
    model = left(1, rng, kernel="rbf", window=200, probability=True)
    assert 1 not in model.predict(ASKED)
    x = np.array([-1.0, 1.0])  # in the middle of its quarter
    model.learn_one(x, 1)
    assert model.predict_one(x) == 1
    assert model.predict_proba_one(x)[1] > 0.1


@pytest.mark.parametrize("settings", [{"window": 200}, {"window": 200, "budget": 20}])
def test_it_counts_as_long_as_the_window_has_an_example(settings):
    """Whether or not one of its rows is stored: with a budget few are."""
    rng = np.random.default_rng(3)
    model = LASVMClassifier(C=10.0, kernel="linear", **settings).partial_fit(*quarters(rng, 300))
    X, y = quarters(rng, 400, 2)
    model.learn_one([-1.0, -1.0], 2)
    for k in range(199):
        model.learn_one(X[k], y[k])
        assert model.predict_proba(ASKED[:1])[0, 2] > 0.0
    model.learn_one(X[199], y[199])  # the 200th: now the window is these
    assert model.predict_proba(ASKED[:1])[0, 2] == 0.0


def test_one_by_one_is_as_many_at_once():
    rng = np.random.default_rng(4)
    X, y = quarters(rng, 600)
    X, y = np.concatenate([X, X[y != 3]]), np.concatenate([y, y[y != 3]])
    whole = LASVMClassifier(C=10.0, kernel="linear", window=150).partial_fit(X, y)
    ones = LASVMClassifier(C=10.0, kernel="linear", window=150).partial_fit(
        X[:20], y[:20], [0, 1, 2, 3]
    )
    for row, label in zip(X[20:], y[20:], strict=True):
        ones.learn_one(row, label)
    assert np.array_equal(whole.predict(ASKED), ones.predict(ASKED))
    assert 3 not in whole.predict(ASKED)


def test_a_class_whose_examples_in_the_window_are_forgotten_is_absent():
    rng = np.random.default_rng(5)
    model = LASVMClassifier(C=10.0, kernel="linear", window=200).partial_fit(*quarters(rng, 300))
    X, y = quarters(rng, 200)
    model.partial_fit(X, y)
    model.forget(300 + np.flatnonzero(y == 1))
    assert 1 not in model.predict(ASKED)
    assert (model.predict_proba(ASKED)[:, 1] == 0.0).all()


@pytest.mark.parametrize("settings", [{}, {"budget": 30}])
def test_without_a_window_all_that_was_learned_counts(settings):
    """A budget summarises the past: a class is not absent because it did not come for a while."""
    model = left(2, **settings)
    assert (model.predict_proba(ASKED)[:, 2] > 0.0).all()


def test_prediction_sets_keep_their_coverage_where_classes_come_and_go():
    """A class that has left the window may return with the next example."""
    rng = np.random.default_rng(6)
    model = LASVMClassifier(C=10.0, gamma=1.0, window=20, probability=True)
    centres, covered, absent = rng.standard_normal((30, 2)) * 3.0, [], 0
    y = rng.integers(0, 30, 3000)
    X = centres[y] + 0.3 * rng.standard_normal((3000, 2))
    for k, (row, label) in enumerate(zip(X, y, strict=True)):
        if k > 1000 and k % 5 == 0:
            sets = model.predict_set(row[None], 0.2)[0]
            covered.append(sets[np.flatnonzero(model.classes_ == label)[0]])
            absent += label not in y[k - 20 : k]
        model.learn_one(row, label)
    assert absent > 0.3 * len(covered)
    assert np.mean(covered) > 0.7


def test_river_does_not_predict_it():
    rng = np.random.default_rng(7)
    model = RiverLASVM(C=10.0, kernel="linear", window=200)
    for X, y in (quarters(rng, 300), quarters(rng, 800, 3)):
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            model.learn_one(dict(enumerate(row)), label)
    asked = [dict(enumerate(row)) for row in ASKED[:300].tolist()]
    assert 3 not in {model.predict_one(x) for x in asked}
    assert all(model.predict_proba_one(x).get(3, 0.0) == 0.0 for x in asked)


def test_suspects_do_not_suggest_it():
    rng = np.random.default_rng(8)
    model = LASVMClassifier(C=10.0, kernel="linear", window=200).partial_fit(*quarters(rng, 300))
    X, y = quarters(rng, 600, 3)
    y[::7] = (y[::7] + 1) % 3
    assert 3 not in model.partial_fit(X, y).suspects().suggestion


@pytest.mark.parametrize("decision", ["ovr", "ovo"])
@pytest.mark.parametrize("labels", [2, 3])
def test_suspects_of_a_window_with_one_class_have_finite_scores(labels, decision):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), rng.integers(0, labels, 80)
    y[60:] = 0
    for limits in ({"window": 15}, {"window": 15, "budget": 12}, {"window": 15, "half_life": 5.0}):
        model = LASVMClassifier(gamma=0.5, decision=decision, **limits).partial_fit(X, y)
        found = model.suspects(5)
        assert np.isfinite(found.score).all()
        assert set(found.suggestion) <= {0}
