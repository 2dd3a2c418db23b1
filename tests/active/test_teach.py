"""ActiveLearner learns: one iteration a label, corrections, a growing pool, any model."""

import pickle

import numpy as np
import pytest
from digits_pool import BINARY, X, Y, assert_same_state, digits, state, teach
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from onlinesvm import (
    AveragedPerceptronClassifier,
    HullerClassifier,
    KernelPerceptronClassifier,
    LASVMClassifier,
    NORMAClassifier,
    OLSVMClassifier,
    PegazClassifier,
    SimpleSVMClassifier,
    StreamSVMClassifier,
)
from onlinesvm.active.curve import labelling_curve
from onlinesvm.active.learner import ActiveLearner


def test_active_questions_need_fewer_labels():
    curves = labelling_curve(
        LASVMClassifier(C=10, gamma=0.001), X[:1200], BINARY[:1200], X[1200:], BINARY[1200:],
        n_labels=200, n_points=4, n_runs=3, random_state=0,
    )  # fmt: skip
    asked, drawn = (curve.error.mean(axis=0)[-1] for curve in curves)
    assert asked < drawn
    assert asked < 0.05


def test_a_label_is_one_iteration_of_lasvm():
    pool = sparse.csr_matrix(X[:600])
    learner = ActiveLearner(LASVMClassifier(C=10, gamma=0.001), pool, random_state=0)
    teach(learner, BINARY, 80)
    model = LASVMClassifier(C=10, gamma=0.001, block_size=1)
    for i in learner.taught:
        model.partial_fit(pool[i : i + 1], BINARY[i : i + 1])
    np.testing.assert_array_equal(
        learner.estimator.decision_function(pool), model.decision_function(pool)
    )


def test_many_labels_at_once_are_one_iteration_each():
    one, many = digits(), digits()
    which = np.arange(100)
    many.teach(which, BINARY[:100])
    for i in which:
        one.teach(i, BINARY[i])
    assert_same_state(state(one), state(many))


def test_the_model_is_a_model():
    learner = teach(digits(), Y, 60)
    model = learner.estimator
    assert set(model.support_) <= set(learner.taught.tolist())
    np.testing.assert_allclose(np.asarray(model.support_vectors_), X[model.support_], atol=1e-4)
    assert model.n_features_in_ == 64
    assert model.n_support_.sum() == len(model.support_)
    assert len(model.classes_) == len(set(learner.labels))
    assert model.finish().score(X[:600], Y[:600]) > 0.8
    learner.teach(learner.query(), [3])


@pytest.mark.parametrize("again", [3, [3]])
def test_a_corrected_label_is_as_if_given_first_time(again):
    order = np.arange(60)
    wrong = BINARY[:60].copy()
    wrong[3] = -wrong[3]
    corrected, right = digits().teach(order, wrong), digits().teach(order, BINARY[:60])
    assert abs(state(corrected)[0] - state(right)[0]).max() > 0
    corrected.teach(again, BINARY[3])
    assert_same_state(state(corrected), state(right))


def test_the_same_label_again_changes_nothing():
    learner = teach(digits(), BINARY, 30)
    before = state(learner)
    learner.teach(learner.taught[:5], BINARY[learner.taught[:5]])
    assert_same_state(state(learner), before)


def test_a_label_that_is_taken_back():
    learner = digits().teach(np.arange(40), BINARY[:40])
    learner.teach([5], [None])
    rest = np.delete(np.arange(40), 5)
    assert_same_state(state(learner)[:1], state(digits().teach(rest, BINARY[rest]))[:1])
    assert learner.set_aside.tolist() == [5]
    learner.teach([5], [BINARY[5]])
    assert learner.taught[-1] == 5
    assert not len(learner.set_aside)


def test_dont_know_sets_an_example_aside():
    learner = digits(n=30)
    asked = []
    for _ in range(30):
        question = learner.query()
        asked += question.tolist()
        unknown = question[0] % 3 == 0
        learner.teach(question, [None] if unknown else BINARY[question])
    assert sorted(asked) == list(range(30))
    assert learner.set_aside.tolist() == list(range(0, 30, 3))
    with pytest.raises(ValueError, match="no unlabelled examples left"):
        learner.query()


def test_the_pool_grows_while_it_runs():
    learner = teach(digits(n=50), BINARY, 50)
    with pytest.raises(ValueError, match="no unlabelled examples left"):
        learner.query()
    before = learner.estimator.decision_function(X)
    np.testing.assert_array_equal(learner.add_to_pool(X[50:90]), np.arange(50, 90))
    np.testing.assert_array_equal(learner.estimator.decision_function(X), before)
    assert len(learner) == 90
    assert learner.query()[0] >= 50
    teach(learner, BINARY, 40)
    assert len(learner.taught) == 90


def test_labels_may_be_text():
    names = np.array(["even", "odd"])[Y % 2]
    learner = teach(digits(), names, 40)
    assert set(learner.estimator.predict(X)) == {"even", "odd"}
    learner.teach(learner.query(), "even")


def test_a_new_class_may_come_at_any_time():
    learner = teach(digits(), np.minimum(Y, 1), 30)
    which = np.flatnonzero(Y[:600] == 5)[:10]
    learner.teach(which, Y[which])
    assert 5 in learner.estimator.classes_


def test_a_model_that_has_learned_goes_on():
    model = LASVMClassifier(C=10, gamma=0.001).fit(X[600:900], BINARY[600:900])
    learner = digits(model, sample_size=None)
    assert learner.query()[0] == abs(model.decision_function(X[:600])).argmin()
    before = model.decision_function(X)
    teach(learner, BINARY, 5)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_selective_models_learn_what_they_are_taught():
    model = LASVMClassifier(C=10, gamma=0.001, selection="active", delta_max=0.1)
    plain = LASVMClassifier(C=10, gamma=0.001, delta_max=0.1)
    which = np.arange(100)
    taught = digits(model).teach(which, BINARY[:100])
    assert_same_state(state(taught), state(digits(plain).teach(which, BINARY[:100])))


def test_a_learner_can_be_pickled_in_mid_stream():
    learner = teach(digits(), BINARY, 25)
    copy = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(learner.query(), copy.query())
    assert_same_state(state(teach(learner, BINARY, 10)), state(teach(copy, BINARY, 10)))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_dense_and_sparse_pools(form):
    learner = ActiveLearner(LASVMClassifier(C=10, gamma=0.001), form(X[:600]), random_state=0)
    teach(learner, BINARY, 60)
    learner.add_to_pool(form(X[600:700]))
    assert learner.estimator.score(form(X[700:]), BINARY[700:]) > 0.8


MODELS = [
    HullerClassifier(gamma=0.001),
    KernelPerceptronClassifier(gamma=0.001),
    AveragedPerceptronClassifier(gamma=0.001),
    NORMAClassifier(gamma=0.001),
    PegazClassifier(gamma=0.001),
    OLSVMClassifier(gamma=0.001),
    StreamSVMClassifier(),
    SimpleSVMClassifier(gamma=0.001),
    SGDClassifier(random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_every_classifier_with_partial_fit_and_a_decision_function(model):
    learner = teach(digits(model, n=300), BINARY, 60)
    assert learner.estimator.score(X[300:], BINARY[300:]) > 0.65
    learner.teach(learner.taught[:1], -BINARY[learner.taught[:1]])
    learner.teach(learner.query(), [None])
