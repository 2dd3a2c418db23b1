"""Labels that come late: a stream is the same however it is cut into calls."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

import onlinesvm
from onlinesvm import LASVMClassifier
from onlinesvm.core.lasvm.learner import LASVM
from onlinesvm.estimators.labels import LabelBook, by_appearance, first_examples

FORMS = {
    "budget": lambda rng: {
        "budget": int(rng.integers(8, 40)),
        "policy": str(rng.choice(["oldest", "outlier", "join"])),
    },
    "window": lambda rng: {"window": int(rng.integers(20, 80))},
    "half-life": lambda rng: {"half_life": float(rng.integers(5, 50))},
    "budget and half-life": lambda rng: {"budget": 20, "half_life": 30.0},
    "window that follows": lambda rng: {"window": "auto", "probability": True},
    "as listed": lambda rng: {"block_size": 1},
}


def history(rng, n=150):
    """Rows, labels of which some come late, and weights."""
    X = rng.standard_normal((n, 2))
    classes = int(rng.integers(2, 6))
    y = np.clip(np.digitize(X @ rng.standard_normal(2), [-1.0, -0.3, 0.3, 1.0]), 0, classes - 1)
    come = rng.integers(0, n, classes) * (rng.random(classes) < 0.7)
    come[rng.integers(classes)] = 0
    first = int(np.flatnonzero(come == 0)[0])
    y = np.where(np.arange(n) >= come[y], y, first)
    names = rng.permutation(
        np.array(["e", "b", "a", "d", "c"]) if rng.random() < 0.5 else [9, 3, 7, 1, 5]
    )
    weight = rng.choice([0.5, 1.0, 2.0], n) if rng.random() < 0.5 else None
    return X, names[y], weight


def learned(model, X, y, weight, cuts):
    """The stream in pieces; pieces of one row by ``learn_one``.

    The first five rows are always a piece of their own: it fixes by how much rows are shifted.
    """
    for part in np.split(np.arange(len(y)), [5, *(cut for cut in cuts if cut > 5)]):
        own = {} if weight is None else {"sample_weight": weight[part]}
        if len(part) == 1:
            own = {} if weight is None else {"sample_weight": float(weight[part[0]])}
            model.learn_one(X[part[0]], y[part[0]].item(), **own)
        else:
            model.partial_fit(X[part], y[part], **own)
    return model


def random_cuts(rng, n):
    return np.sort(rng.choice(np.arange(1, n), int(rng.integers(0, 12)), replace=False))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", range(6))
def test_cuts_do_not_matter(form, seed):
    rng = np.random.default_rng([seed, len(form)])
    X, y, weight = history(rng)
    settings = {"C": 5.0, "gamma": 0.5, **FORMS[form](rng)}
    one = learned(LASVMClassifier(**settings), X, y, weight, np.arange(1, len(y)))
    for _ in range(2):
        cut = learned(LASVMClassifier(**settings), X, y, weight, random_cuts(rng, len(y)))
        np.testing.assert_array_equal(cut.classes_, one.classes_)
        np.testing.assert_array_equal(cut.decision_function(X), one.decision_function(X))
        if "probability" in settings:
            assert (cut.n_drifts_, cut.window_) == (one.n_drifts_, one.window_)
            np.testing.assert_array_equal(cut.predict_set(X), one.predict_set(X))


@pytest.mark.parametrize("name", onlinesvm.__all__)
def test_so_it_is_with_every_algorithm_that_learns_one_by_one(name):
    each = getattr(onlinesvm, name)
    if not name.endswith("Classifier") or name.startswith(
        ("Huller", "SimpleSVM", "LASVM", "Cell", "Auto")
    ):
        pytest.skip("learns many examples at a time, or is tested above")
    settings = {"budget": 20} if "Budget" in name else {}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y, _ = history(rng)
        one = learned(each(gamma=0.5, **settings), X, y, None, np.arange(1, len(y)))
        cut = learned(each(gamma=0.5, **settings), X, y, None, random_cuts(rng, len(y)))
        atol = 1e-6 if name.startswith("StreamSVM") else 0.0  # sums over blocks of rows are rounded
        np.testing.assert_allclose(
            cut.decision_function(X), one.decision_function(X), rtol=0, atol=atol
        )


def test_a_drift_found_before_a_late_label_belongs_to_the_call():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 3))
    y = (X[:, 0] > 0).astype(int)
    y[600:] = 1 - y[600:]
    y[900:][X[900:, 1] > 1] = 2
    model = LASVMClassifier(gamma=0.5, budget=100, detect_drift=True)
    model.partial_fit(X[:500], y[:500]).partial_fit(X[500:], y[500:])
    assert model.n_drifts_ >= 1
    assert model.drift_detected_


def test_named_labels_are_known_from_the_start():
    X, y = np.array([[0.0], [1.0], [9.0]]), np.array([5, 5, 1])
    model = LASVMClassifier(gamma=0.5, budget=5).partial_fit(X[:2], y[:2], classes=[1, 3, 5])
    assert model.classes_.tolist() == [1, 3, 5]
    assert model.decision_function(X).shape == (3, 3)
    assert model.partial_fit(X, y).decision_function(X).shape == (3, 3)
    assert model.predict_one(X[2]) == 1


def test_an_interruption_before_a_late_label_leaves_a_whole_model(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 2))
    y = np.array(["c"] * 20 + ["a"] * 20 + ["c"] * 20 + ["b"] * 30)
    model = LASVMClassifier(gamma=0.5, budget=30).partial_fit(X[:10], y[:10])
    add = LASVM.add_label

    def add_label(learner):
        if learner.n_labels == 2:
            raise KeyboardInterrupt
        add(learner)

    monkeypatch.setattr(LASVM, "add_label", add_label)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[10:], y[10:])
    monkeypatch.undo()
    expected = LASVMClassifier(gamma=0.5, budget=30).partial_fit(X[:10], y[:10])
    expected.partial_fit(X[10:60], y[10:60])
    assert model.classes_.tolist() == ["a", "c"]
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))
    for each in (model, expected):
        each.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_labels_in_the_order_of_their_appearance():
    y = np.array([7, 3, 7, 5])
    assert by_appearance(np.array([1, 3, 5, 7, 9]), y).tolist() == [1, 9, 7, 3, 5]
    book = LabelBook(by_appearance(np.array([3, 5, 7]), y))
    assert book.encode(y).tolist() == [0, 1, 0, 2]
    assert book.first(2).classes.tolist() == [3, 7]
    assert book.first(2).numbers == {7: 0, 3: 1}
    kept = np.array([True, True, False, True])
    assert first_examples(book.encode(y), kept, range(1, 3)).tolist() == [1, 2]
    assert first_examples(np.array([0, 3, 0, 1]), kept, range(1, 4)).tolist() == [2, 2, 2]


def test_warning_of_many_classes_is_for_data_sets_alone() -> None:
    """As in scikit-learn: `fit` warns where most labels differ, pieces of a stream do not."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LASVMClassifier(random_state=0).partial_fit(X[:1], y[:1], classes=np.arange(30))
        model.partial_fit(X, y)
    for estimator in (SVC(), LASVMClassifier(random_state=0)):
        with pytest.warns(UserWarning, match="unique classes"):
            estimator.fit(X, y)


@pytest.mark.parametrize("later", ["M8[ns]", "M8[s]", "i8", "m8[s]"])
@pytest.mark.parametrize("one_by_one", [True, False])
def test_dates_in_another_unit_do_not_become_classes_of_their_own(later, one_by_one):
    X = np.random.default_rng(0).normal(size=(20, 2))
    days = np.array(["2020-01-01", "2021-06-01"] * 10, "M8[D]")
    model = LASVMClassifier(gamma=1.0).partial_fit(X[:10], days[:10])
    before = model.decision_function(X)
    others = days[10:].astype("M8[s]").astype(later)
    with pytest.raises(ValueError, match="dates and durations must all be of one type"):
        model.learn_one(X[10], others[0]) if one_by_one else model.partial_fit(X[10:], others)
    np.testing.assert_array_equal(model.decision_function(X), before)
    twin = LASVMClassifier(gamma=1.0).partial_fit(X[:10], days[:10])
    model.partial_fit(X[10:], days[10:])
    np.testing.assert_array_equal(model.predict(X), twin.partial_fit(X[10:], days[10:]).predict(X))


@pytest.mark.parametrize("kind", ["M8[D]", "m8[D]"])
@pytest.mark.parametrize("form", [np.asarray, list, pd.Series])
def test_a_date_that_is_missing_is_no_class(kind, form):
    X = np.random.default_rng(0).normal(size=(20, 2))
    days = np.array([3, 700] * 10).astype(kind)
    missing = days.copy()
    missing[7] = "NaT"
    model = LASVMClassifier(gamma=1.0).partial_fit(X, days)
    with pytest.raises(ValueError, match="1 of 20 values are missing, the first in row 7"):
        clone(model).fit(X, form(missing))
    with pytest.raises(ValueError, match="1 of 20 values are missing, the first in row 7"):
        model.partial_fit(X, form(missing))
    with pytest.raises(ValueError, match="1 of 1 values are missing"):
        model.learn_one(X[7], missing[7])
    np.testing.assert_array_equal(model.classes_, days[:2])
