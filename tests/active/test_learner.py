"""ActiveLearner asks: pure queries, the closest to the boundary, any model's strategy."""

import numpy as np
import pytest
from digits_pool import BINARY, X, Y, assert_same_state, digits, state, teach
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from onlinesvm.active.strategies import active, best_of_samples, diverse


def test_a_query_is_pure():
    learner = teach(digits(), BINARY, 30)
    before = state(learner)
    first, second = learner.query(3), learner.query(3)
    np.testing.assert_array_equal(first, second)
    assert_same_state(state(learner), before)
    learner.teach(first, BINARY[first])
    assert not np.isin(learner.query(3), first).any()


def test_asking_does_not_change_what_is_asked_later():
    nosy, plain = digits(), digits()
    for _ in range(20):
        nosy.query(2)
        question = nosy.query()
        np.testing.assert_array_equal(question, plain.query())
        nosy.teach(question, BINARY[question])
        plain.teach(question, BINARY[question])


def test_the_question_is_the_closest_to_the_boundary():
    learner = teach(digits(sample_size=None), BINARY, 40)
    question, utilities = learner.query(return_utilities=True)
    values = abs(learner.estimator.decision_function(X[:600]))
    left = np.setdiff1d(np.arange(600), learner.taught)
    assert question[0] == left[values[left].argmin()]
    np.testing.assert_allclose(utilities[left], -values[left], atol=1e-6)
    assert np.isnan(utilities[learner.taught]).all()


def test_a_sample_is_what_is_looked_at():
    learner = teach(digits(sample_size=50), BINARY, 30)
    question, utilities = learner.query(return_utilities=True)
    assert np.isfinite(utilities).sum() == 50
    assert question[0] == np.nanargmax(utilities)
    questions, utilities = learner.query(4, return_utilities=True)
    assert np.isfinite(utilities).sum() == 200
    assert len(set(questions.tolist())) == 4


def test_several_classes_are_asked_about_by_the_smallest_margin_of_the_two_best():
    learner = teach(digits(sample_size=None), Y, 60)
    values = np.sort(learner.estimator.decision_function(X[:600]), axis=1)
    left = np.setdiff1d(np.arange(600), learner.taught)
    margin = (values[:, -1] - values[:, -2])[left]
    assert learner.query()[0] == left[margin.argmin()]
    np.testing.assert_array_equal(learner.query(5), left[np.argsort(margin, kind="stable")[:5]])


def test_first_questions_are_diverse():
    """Each lies far from the others: farther than random ones do."""

    def closest_pair(which):
        gaps = np.linalg.norm(X[which][:, None] - X[which][None], axis=2)
        return gaps[np.triu_indices(len(which), 1)].min()

    rng = np.random.RandomState(0)
    chosen = digits(sample_size=None).query(10)
    typical = np.median([closest_pair(rng.choice(600, 10, replace=False)) for _ in range(200)])
    assert closest_pair(chosen) > typical


def test_questions_are_diverse_until_two_classes_are_known():
    learner = digits(sample_size=None)
    for _ in range(5):
        question = learner.query()
        learner.teach(question, [7])
    gaps = ((X[:600, None] - X[None, learner.taught]) ** 2).sum(axis=2).min(axis=1)
    gaps[learner.taught] = -1
    assert gaps[learner.query()[0]] >= 0.999 * gaps.max()


def test_random_questions():
    learner = teach(digits(selection="random"), Y, 100)
    assert len(set(learner.taught.tolist())) == 100
    first = digits(selection="random").query(100)
    assert abs(first.mean() - 300) < 60


def test_a_callable_strategy():
    def brightest(estimator, candidates):
        return candidates.sum(axis=1)

    learner = teach(digits(selection=brightest, sample_size=None), BINARY, 12)
    left = np.setdiff1d(np.arange(600), learner.taught)
    assert learner.query()[0] == left[X[left].sum(axis=1).argmax()]


@pytest.mark.parametrize("wrong", [lambda m, c: c, lambda m, c: np.full(len(c), np.nan)])
def test_a_callable_that_answers_nonsense(wrong):
    learner = digits(selection=wrong)
    learner.teach([0, 1], [0, 1])
    with pytest.raises(ValueError, match="strategy returned"):
        learner.query()


@pytest.mark.parametrize("labels", [BINARY, Y])
@pytest.mark.parametrize("model", [SVC(gamma=0.001), LogisticRegression(tol=0.5, max_iter=1000)])
def test_the_strategy_takes_any_classifier(model, labels):
    model = clone(model).set_params(C=1.0).fit(X[:300], labels[:300])
    values = model.decision_function(X[300:400])
    two = np.sort(values, axis=1)[:, -2:] if values.ndim == 2 else np.stack([-values, values]).T
    utilities = active(model, X[300:400])
    assert utilities.argmax() == abs(two[:, 1] - two[:, 0]).argmin()


def test_choices_among_samples():
    utilities = np.array([0.0, 3, 1, 2, 9, 4, 5])
    apart = lambda a, b: np.ones((len(a), len(b)))  # noqa: E731 - no copies
    np.testing.assert_array_equal(best_of_samples(utilities, 2, apart), [1, 4])
    points = np.array([0.0, 1.0, 10.0, 11.0, 5.0])
    gaps = lambda k: abs(points - points[k])  # noqa: E731
    np.testing.assert_array_equal(diverse(np.full(5, np.inf), 3, gaps), [0, 3, 4])
