"""ActiveLearner refuses bad input with a clear error, and nothing is half-changed."""

import numpy as np
import pytest
from digits_pool import BINARY, X, assert_same_state, digits, state, teach
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier
from onlinesvm.active.learner import ActiveLearner


@pytest.mark.parametrize(
    ("indices", "labels", "error"),
    [
        ([600], [1], IndexError),
        ([-1], [1], IndexError),
        ([70, 70], [1, 1], ValueError),
        ([70, 71], [1], ValueError),
        ([1.5], [1], ValueError),
        ([70, 71], [1, "one"], ValueError),
        ([70], ["one"], ValueError),
        ([70], [[1]], ValueError),
    ],
)
def test_a_bad_lesson_changes_nothing(indices, labels, error):
    learner = teach(digits(), BINARY, 20)
    before = state(learner)
    with pytest.raises(error):
        learner.teach(indices, labels)
    assert_same_state(state(learner), before)


def test_an_unknown_class_where_classes_are_fixed():
    learner = digits(classes=[-1, 1])
    learner.teach([0, 1], [1, -1])
    with pytest.raises(ValueError, match="Unknown label 7"):
        learner.teach([2, 3], [1, 7])
    assert learner.taught.tolist() == [0, 1]
    assert learner.estimator.classes_.tolist() == [-1, 1]


def test_a_kernel_that_fails_half_way_changes_nothing():
    calls = []

    def kernel(A, B):
        calls.append(0)
        if len(calls) > 60:
            raise RuntimeError("out of order")
        return A @ B.T

    learner = digits(LASVMClassifier(kernel=kernel), selection="random")
    learner.teach([0, 1, 2], BINARY[:3])
    calls[:] = [0] * 50
    with pytest.raises(RuntimeError, match="out of order"):
        learner.teach(np.arange(3, 40), BINARY[3:40])
    calls.clear()
    fresh = digits(LASVMClassifier(kernel=kernel), selection="random").teach([0, 1, 2], BINARY[:3])
    calls.clear()
    assert_same_state(state(learner), state(fresh))


def test_more_classes_than_the_budget_allows():
    learner = digits(LASVMClassifier(gamma=0.001, budget=2)).teach([0, 1], [0, 1])
    with pytest.raises(ValueError, match="budget"):
        learner.teach([2], [2])
    assert learner.taught.tolist() == [0, 1]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_pool_with_holes_in_it(bad):
    broken = X[:100].copy()
    broken[7, 7] = bad
    for model in (LASVMClassifier(), SGDClassifier()):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            ActiveLearner(model, broken)
        learner = ActiveLearner(model, X[:100], random_state=0)
        question = learner.query()
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            learner.add_to_pool(broken)
        assert len(learner) == 100
        np.testing.assert_array_equal(learner.query(), question)


@pytest.mark.parametrize("model", [LASVMClassifier(), SGDClassifier()])
def test_more_examples_of_another_width(model):
    learner = ActiveLearner(model, X[:100])
    with pytest.raises(ValueError, match="features"):
        learner.add_to_pool(X[:10, :60])
    assert len(learner) == 100


@pytest.mark.parametrize("empty", [np.empty((0, 5)), sparse.csr_matrix((0, 5))])
def test_an_empty_pool(empty):
    with pytest.raises(ValueError, match="minimum of 1"):
        ActiveLearner(LASVMClassifier(), empty)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "all"])
def test_a_bad_number_of_questions(n):
    with pytest.raises(ValueError, match="n must be"):
        digits().query(n)


def test_more_questions_than_examples():
    with pytest.raises(ValueError, match="only 600"):
        digits().query(601)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"selection": "clever"}, ValueError, "clever"),
        ({"sample_size": 0}, ValueError, "sample_size"),
        ({"sample_size": 2.5}, ValueError, "sample_size"),
        ({"estimator": SVC()}, TypeError, "partial_fit"),
        ({"estimator": LASVMClassifier(kernel="precomputed")}, ValueError, "precomputed"),
        ({"estimator": LASVMClassifier(C=-1)}, ValueError, "C"),
    ],
)
def test_bad_settings(settings, error, words):
    with pytest.raises(error, match=words):
        digits(**settings)


@pytest.mark.parametrize("model", [LASVMClassifier(), SGDClassifier()])
def test_a_label_of_another_kind_than_those_so_far(model):
    """While the labels wait for a second class, and afterwards."""
    learner = ActiveLearner(model, X[:100], random_state=0).teach(0, 1)
    with pytest.raises(ValueError, match="Mix of label input types"):
        learner.teach(1, "one")
    learner.teach(1, 0)
    with pytest.raises(ValueError, match="Mix of label input types"):
        learner.teach(2, "one")
    with pytest.raises(ValueError, match="NaN"):
        learner.teach(2, float("nan"))
    assert learner.labels == [1, 0]


@pytest.mark.parametrize("model", [LASVMClassifier(), SGDClassifier()])
def test_a_pool_of_one(model):
    learner = ActiveLearner(model, X[:1], random_state=0)
    assert learner.query().tolist() == [0]
    learner.teach(0, 1)
    with pytest.raises(ValueError, match="no unlabelled examples left"):
        learner.query()
    learner.add_to_pool(X[1:2])
    learner.teach(learner.query(), 0)
    assert learner.taught.tolist() == [0, 1]
    assert learner.estimator.classes_.tolist() == [0, 1]


def test_no_answers_are_no_lesson():
    learner = teach(digits(), BINARY, 20)
    question, before = learner.query(), state(learner)
    learner.teach([], [])
    np.testing.assert_array_equal(learner.query(), question)
    assert_same_state(state(learner), before)


@pytest.mark.parametrize("bad", [1, "no", None])
def test_a_bad_choice_about_the_pickle(bad):
    with pytest.raises(ValueError, match="pickle_pool"):
        digits(pickle_pool=bad)


@pytest.mark.parametrize("model", [LASVMClassifier(), SGDClassifier(random_state=0)])
@pytest.mark.parametrize("verb", ["decision_values", "similarities", "contributions"])
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ([False, True], ValueError),  # a mask
        (1.7, ValueError),
        (["1"], ValueError),
        (None, ValueError),
        ([[1, 2]], ValueError),
        (-1, IndexError),
        (600, IndexError),
        (2**63, IndexError),
    ],
)
def test_numbers_that_no_example_has_are_refused(model, verb, wrong, error):
    learner = teach(digits(model), BINARY, 20)
    ask = getattr(learner, verb)
    with pytest.raises(error, match=r"^(indices must be an integer|The pool has no example)"):
        ask(wrong, [0]) if verb == "similarities" else ask(wrong)


def test_contributions_are_those_of_one_example():
    with pytest.raises(ValueError, match="index must be one integer; got 2"):
        teach(digits(), BINARY, 20).contributions([1, 2])


def test_numbers_of_any_width_are_numbers():
    learner = teach(digits(), BINARY, 20)
    np.testing.assert_array_equal(learner.query(np.int8(3)), learner.query(3))
    np.testing.assert_array_equal(learner.decision_values(7), learner.decision_values([7]))
    np.testing.assert_array_equal(
        learner.decision_values(np.uint64(7)), learner.decision_values([7])
    )
