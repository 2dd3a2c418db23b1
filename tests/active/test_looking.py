"""Decision values, similarities and contributions of examples of the pool; copies that go on."""

import copy

import numpy as np
import pytest
from digits_pool import BINARY, X, Y, digits, teach
from scipy import sparse
from sklearn.linear_model import SGDClassifier
from sklearn.metrics.pairwise import cosine_similarity, rbf_kernel

from onlinesvm import LASVMClassifier
from onlinesvm.active.learner import ActiveLearner

labels = pytest.mark.parametrize("y", [BINARY, Y], ids=["two", "ten"])


@labels
def test_decision_values_are_those_of_the_model(y):
    learner = teach(digits(), y, 60)
    which = np.array([3, 590, 17])
    wanted = learner.estimator.decision_function(X[which])
    np.testing.assert_allclose(learner.decision_values(which), wanted, atol=1e-5)
    assert learner.decision_values([]).shape == (0,)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@labels
def test_many_decision_values_of_a_linear_model(y, make):
    """They are made of its weights, not of its support vectors."""
    learner = ActiveLearner(LASVMClassifier(kernel="linear"), make(X / 16), random_state=0)
    teach(learner, y, 60)
    many = learner.decision_values(np.arange(len(X)))
    np.testing.assert_allclose(learner.decision_values(np.arange(1100)), many[:1100], atol=1e-12)
    few = np.concatenate([learner.decision_values(np.arange(i, i + 599)) for i in (0, 599, 1198)])
    np.testing.assert_allclose(many, few, atol=1e-4)


def test_decision_values_do_not_depend_on_what_was_asked_before():
    """To the last bit: a session that is started again must ask the same question."""
    learner = teach(digits(sample_size=None), Y, 60)  # its values of the pool were kept up to date
    again = digits().teach(learner.taught, learner.labels)
    everything = np.arange(600)
    np.testing.assert_array_equal(
        learner.decision_values(everything), again.decision_values(everything)
    )


def test_before_two_classes_there_is_no_opinion():
    learner = digits()
    assert not learner.decision_values([0, 1]).any()
    learner.teach(0, 1)
    assert not learner.decision_values([0, 1]).any()
    indices, shares = learner.contributions(5)
    assert len(indices) == 0
    assert shares.shape == (1, 0)


def test_similarities_are_kernel_values():
    learner = digits(LASVMClassifier(gamma=0.001))
    wanted = rbf_kernel(X[:5], X[3:9], gamma=0.001)
    np.testing.assert_allclose(learner.similarities(range(5), range(3, 9)), wanted, atol=1e-5)
    linear = digits(LASVMClassifier(kernel="linear"))
    wanted = cosine_similarity(X[:5], X[3:9])
    np.testing.assert_allclose(linear.similarities(range(5), range(3, 9)), wanted, atol=1e-4)
    other = digits(SGDClassifier(random_state=0))
    np.testing.assert_allclose(other.similarities(range(5), range(3, 9)), wanted, atol=1e-6)


@labels
def test_contributions_add_up_to_the_decision(y):
    learner = teach(digits(), y, 60)
    indices, shares = learner.contributions(7)
    model = learner.estimator
    assert set(indices) <= set(learner.taught)
    sums = shares.sum(axis=1) + model.intercept_
    np.testing.assert_allclose(sums, np.ravel(model.decision_function(X[7:8])), atol=1e-5)


def test_contributions_of_another_library_are_refused():
    learner = teach(digits(SGDClassifier(random_state=0)), BINARY, 20)
    with pytest.raises(TypeError, match="SGDClassifier"):
        learner.contributions(0)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_a_copy_of_a_learner_that_kept_its_values_can_be_taught(make):
    rows = make(np.where(X > 8, X, 0.0)[:300])
    learner = ActiveLearner(LASVMClassifier(gamma=0.001), rows, random_state=0, sample_size=None)
    teach(learner, Y, 40)
    twin = copy.deepcopy(learner)
    question = int(twin.query()[0])
    assert question == int(learner.query()[0])
    other = copy.deepcopy(learner)
    other.teach(question, Y[question])
    learner.teach(question, Y[question])
    assert int(other.query()[0]) == int(learner.query()[0])
