"""Examples that are not rows of numbers: a kernel function compares them, as SVC allows."""

import pickle

import numpy as np
import pytest
from classifiers import every_own, make
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC, SVR

from onlinesvm import LASVMClassifier, LASVMOneClass, LASVMRegressor

TEXTS = ["A A", "A", "B", "B B", "A B", "A A B", "B A B B"]
COUNTS = np.array([[text.count("A"), text.count("B")] for text in TEXTS], float)
LABELS = np.array([1, 1, 2, 2, 1, 1, 2])


def counted(left, right):
    """Number of equal letters of all pairs of texts."""
    assert all(isinstance(text, str) for text in (*left, *right))
    return np.array([[sum(a.count(c) * b.count(c) for c in "AB") for b in right] for a in left])


def shared(left, right):
    """Number of shared elements of all pairs of sets, of dictionaries, of lists of words."""
    return np.array([[len(set(a) & set(b)) for b in right] for a in left], float)


def exact(**settings):
    return LASVMClassifier(epochs="converge", random_state=0, **settings)


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, atol=5e-3, rtol=5e-3)


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda t: np.array(t, object)])
def test_texts_have_the_model_of_their_numbers(form):
    texts = form(TEXTS)
    model = exact(kernel=counted).fit(texts, LABELS)
    values = model.decision_function(texts)
    close(values, exact(kernel="linear").fit(COUNTS, LABELS).decision_function(COUNTS))
    K = counted(TEXTS, TEXTS)
    close(values, exact(kernel="precomputed").fit(K, LABELS).decision_function(K))
    close(values, SVC(kernel=counted).fit(TEXTS, LABELS).decision_function(TEXTS))
    assert model.predict(["A A A", "B"]).tolist() == [1, 2]
    assert model.score(texts, LABELS) == accuracy_score(LABELS, model.predict(TEXTS))


@pytest.mark.parametrize(
    "wrap",
    [set, lambda words: dict.fromkeys(words, 1), list, tuple],
    ids=["set", "dict", "list", "tuple"],
)
def test_any_object_will_do_that_is_not_a_row_of_numbers(wrap):
    objects = [wrap(text.split()) for text in TEXTS]
    model = exact(kernel=shared).fit(objects, LABELS)
    close(
        model.decision_function(objects),
        SVC(kernel=shared).fit(objects, LABELS).decision_function(objects),
    )


@every_own
def test_every_classifier_learns_them_as_it_learns_rows(kind):
    texts, rows = make(kind, kernel=counted), make(kind, kernel="linear")
    texts.fit(TEXTS, LABELS)
    rows.fit(COUNTS, LABELS)
    close(texts.decision_function(TEXTS), rows.decision_function(COUNTS))


@pytest.mark.parametrize("kind", [LASVMRegressor, LASVMOneClass])
def test_regression_and_novelty_take_them_as_svr_does(kind):
    y = np.arange(7.0)
    settings = {"epochs": "converge", "tol": 1e-5, "random_state": 0}
    model = kind(kernel=counted, **settings).fit(np.array(TEXTS), y)
    rows = kind(kernel="linear", **settings).fit(COUNTS, y)
    assert model.shape_fit_ == (7,)
    assert model.support_vectors_.tolist() == [TEXTS[i] for i in model.support_]
    if kind is LASVMOneClass:
        close(model.decision_function(TEXTS), rows.decision_function(COUNTS))
    else:
        close(model.predict(TEXTS), rows.predict(COUNTS))
        close(model.predict(TEXTS), SVR(kernel=counted).fit(TEXTS, y).predict(TEXTS))
    before = model.predict(TEXTS)
    for action in (
        lambda: model.partial_fit(TEXTS, y),
        lambda: model.partial_fit(COUNTS, y),
        lambda: model.partial_fit(COUNTS[:1], y[:1]),
        lambda: model.predict(COUNTS),
        lambda: model.predict_one([0.0]),
        lambda: kind(kernel=counted).partial_fit(TEXTS, y),
    ):
        with pytest.raises(ValueError, match=r"use fit|list of objects"):
            action()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(TEXTS), before)
    assert model.set_params(kernel="linear").fit(COUNTS, y).n_features_in_ == 2


@pytest.mark.parametrize(
    ("y", "message"),
    [(None, "requires y"), ([1.0, 2.0], "inconsistent"), (["a"] * 7, "numbers|convert")],
)
def test_targets_of_objects_are_checked(y, message):
    with pytest.raises(ValueError, match=message):
        LASVMRegressor(kernel=counted).fit(TEXTS, y)


def test_attributes_are_of_the_objects():
    model = exact(kernel=counted).fit(TEXTS, LABELS)
    assert model.support_vectors_.tolist() == [TEXTS[i] for i in model.support_]
    assert model.shape_fit_ == (len(TEXTS),)
    assert not hasattr(model, "n_features_in_")


def test_a_pickled_model_predicts_the_same():
    model = exact(kernel=counted).fit(TEXTS, LABELS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))
    assert again.finish().predict(TEXTS).tolist() == model.predict(TEXTS).tolist()


def test_cross_validation_and_search_take_them():
    texts, labels = TEXTS * 4, np.tile(LABELS, 4)
    assert cross_val_score(exact(kernel=counted), texts, labels, cv=2).mean() > 0.8
    search = GridSearchCV(exact(kernel=counted), {"C": [0.1, 1.0]}, cv=2).fit(texts, labels)
    assert search.best_score_ > 0.8


def test_a_model_may_learn_rows_after_objects_and_objects_after_rows():
    model = exact(kernel=counted).fit(TEXTS, LABELS)
    model.set_params(kernel="linear").fit(COUNTS, LABELS)
    assert model.n_features_in_ == 2
    assert model.predict(COUNTS).tolist() == LABELS.tolist()
    model.set_params(kernel=counted).fit(TEXTS, LABELS)
    assert not hasattr(model, "n_features_in_")
    assert model.predict(TEXTS).tolist() == LABELS.tolist()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda m: m.predict(COUNTS), "was fitted on a list of objects"),
        (lambda m: m.predict("A A"), "was fitted on a list of objects"),
        (lambda m: m.predict([]), "was fitted on a list of objects"),
        (lambda m: m.partial_fit(TEXTS, LABELS), "learned all at once: use fit"),
        (lambda m: m.partial_fit(COUNTS, LABELS), "learned all at once: use fit"),
        (lambda m: m.learn_one([0.0], 1), "learned all at once: use fit"),
        (lambda m: m.predict_one([0.0]), "was fitted on a list of objects"),
        (lambda m: m.fit(TEXTS, LABELS[:3]), "inconsistent numbers of samples"),
        (lambda m: m.fit(TEXTS, None), "requires y to be passed"),
        (lambda m: m.fit(TEXTS, [1] * 7), "number of classes"),
        (lambda m: m.fit([1, 2, 3], [1, 2, 2]), "Expected 2D array"),
        (lambda m: m.fit(["A", 1.0, "B"], [1, 2, 2]), "could not convert|Expected 2D"),
    ],
)
def test_bad_input_is_one_clear_error_and_changes_nothing(action, message):
    model = exact(kernel=counted).fit(TEXTS, LABELS)
    before = model.decision_function(TEXTS)
    with pytest.raises(ValueError, match=message):
        action(model)
    np.testing.assert_array_equal(model.decision_function(TEXTS), before)
    assert model.shape_fit_ == (len(TEXTS),)


def test_texts_without_a_function_to_compare_them_are_refused():
    with pytest.raises(ValueError, match="could not convert"):
        exact().fit(TEXTS, LABELS)
