"""Labels beyond 2**53, which float64 does not tell apart: kept apart exactly, or refused whole."""

import pickle

import numpy as np
import pytest
from classifiers import every_online, make
from sklearn.svm import SVC

from onlinesvm import ActiveLearner, LASVMClassifier, SimpleSVMClassifier, load_model

BIG = 2**53
RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(c, 0.2, (40, 2)) for c in (0, 3, 6)])
Y = np.repeat(np.array([BIG, BIG + 1, BIG + 2]), 40)
HIGH = Y.astype(np.uint64) + np.uint64(2**63)
FAR = RNG.normal(9, 0.2, (40, 2))


@every_online
@pytest.mark.parametrize("kind_of", ["float64", "uint64", "int8"])
def test_numbers_of_another_type_come_later(kind, kind_of, tmp_path):
    model = make(kind, gamma=1.0)
    model.partial_fit(X, Y)
    model.partial_fit(FAR, np.ones(40, kind_of))
    model.partial_fit(np.concatenate([X, FAR]), np.append(Y, np.ones(40, int)))
    assert model.classes_.tolist() == [1, BIG, BIG + 1, BIG + 2]
    assert model.classes_.dtype.kind == "i"
    same = make(kind, gamma=1.0)
    for rows, labels in ((X, Y), (FAR, np.ones(40, int)), (X, Y), (FAR, np.ones(40, int))):
        same.partial_fit(rows, labels)
    assert set(model.predict(FAR).tolist()) <= set(model.classes_.tolist())
    path = tmp_path / "model"
    model.save(path)
    for again in (load_model(path), pickle.loads(pickle.dumps(model))):
        assert (again.classes_ == model.classes_).all()
        assert (again.predict(X) == model.predict(X)).all()


def test_accuracy_like_svc_on_all_labels_at_once():
    model = LASVMClassifier(gamma=1.0).partial_fit(X, Y)
    model.partial_fit(FAR, np.ones(40)).finish()
    every, labels = np.concatenate([X, FAR]), np.append(Y, np.ones(40, int))
    assert model.decision_function(every).shape == (160, 4)
    assert (model.predict(every) == SVC(gamma=1.0).fit(every, labels).predict(every)).all()
    assert (model.predict(every) == labels).all()


@pytest.mark.parametrize("kind", [LASVMClassifier, SimpleSVMClassifier])
def test_unsigned_then_signed(kind):
    model = kind(gamma=1.0).partial_fit(X, HIGH)
    model.partial_fit(FAR, np.full(40, 5))  # an int64 that uint64 holds as well
    assert model.classes_.tolist() == [5, *(2**63 + BIG + k for k in range(3))]


@every_online
def test_what_no_type_holds_is_refused_and_changes_nothing(kind):
    model = make(kind, gamma=1.0)
    model.partial_fit(X, HIGH)
    before = pickle.dumps(model)
    for labels in (np.full(40, -5), np.full(40, -5.0), [-5, *HIGH[:39].tolist()]):
        with pytest.raises(ValueError, match="give all labels as int64, or all as strings"):
            model.partial_fit(FAR, labels)
    with pytest.raises(ValueError, match="give all labels as int64, or all as strings"):
        model.partial_fit(FAR, HIGH[:40], classes=[-5, 2**63])
    assert pickle.dumps(model) == before


def test_one_at_a_time_and_the_first_rows():
    """Labels of the first 100 rows are kept while gamma is not fixed; their types may differ."""
    model, whole = LASVMClassifier(), LASVMClassifier()
    for k in range(90):
        x, y = X[(7 * k) % 120], int(Y[(7 * k) % 120])
        model.learn_one(x, y if k % 3 else np.uint64(y))
    model.learn_one(FAR[0], 1.0)
    order = (7 * np.arange(90)) % 120
    whole.partial_fit(np.vstack([X[order], FAR[:1]]), np.append(Y[order], 1))
    assert model.classes_.tolist() == whole.classes_.tolist() == [1, BIG, BIG + 1, BIG + 2]
    assert (model.decision_function(X) == whole.decision_function(X)).all()


@every_online
def test_a_list_of_whole_numbers_and_floats(kind):
    model = make(kind, gamma=1.0)
    model.partial_fit(np.vstack([X, FAR]), [*Y.tolist(), *np.ones(40).tolist()])
    assert model.classes_.tolist() == [1, BIG, BIG + 1, BIG + 2]


def test_active_learner():
    learner = ActiveLearner(LASVMClassifier(gamma=1.0), np.vstack([X, FAR]))
    learner.teach([0, 40, 80], [BIG, BIG + 1, BIG + 2])
    learner.teach([120], [1.0])
    learner.teach([121, 41], [np.float64(1), BIG + 1])
    assert learner.estimator.classes_.tolist() == [1, BIG, BIG + 1, BIG + 2]
    with pytest.raises(ValueError, match="whole numbers beyond 2"):
        learner.teach([1, 122], [2**63, -5])
    assert len(learner.labels) == 6
    strict = ActiveLearner(LASVMClassifier(gamma=1.0), X, classes=[BIG, BIG + 1, 1.0])
    with pytest.raises(ValueError, match=f"Unknown label {BIG + 2}"):
        strict.teach([80], [BIG + 2])
