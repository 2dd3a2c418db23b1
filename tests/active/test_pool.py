"""A pool's kernel rows and decision values: kept up to date, equal to those computed anew."""

import numpy as np
import pytest
from digits_pool import BINARY, X, Y, digits, teach
from scipy import sparse

from onlinesvm import LASVMClassifier
from onlinesvm.active.learner import ActiveLearner
from onlinesvm.core.kernel.kernel import make_kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.lasvm.choose.pool import PoolRows, row_cost

FORMS = {"dense": np.asarray, "sparse": sparse.csr_matrix}


def whole(settings=(), form=np.asarray, n=300):
    model = LASVMClassifier(**({"C": 10, "gamma": 0.001} | dict(settings)))
    return ActiveLearner(model, form(X[:n]), sample_size=None, random_state=0)


def assert_up_to_date(learner):
    """The values behind the next question are those of the model."""
    n = len(learner)
    found = learner._pool.decide(learner.estimator, np.arange(n))
    expected = learner.estimator.decision_function(learner._pool.X)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("megabytes", [200, 0.001], ids=["panels", "rows as they are"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "sigmoid"])
def test_rows_are_those_of_a_kernel_block(kernel, form, megabytes):
    rows = Rows.of(FORMS[form](X[:203] / 16))
    made = make_kernel(kernel, gamma=0.1, coef0=0.5)
    block = made.block(rows, rows)
    pool = PoolRows(rows, made, megabytes)
    for i in (0, 7, 202, 7):
        np.testing.assert_array_equal(pool[i], block[i])
    assert len(pool._kept) <= pool.most


def test_the_cost_of_a_row():
    dense = np.array([[1.0, 0, 2], [0, 0, 3], [4, 0, 0], [5, 0, 0]])
    assert row_cost(Rows.of(dense)) == 12
    assert row_cost(Rows.of(sparse.csr_matrix(dense))) == (9 + 4) / 4


@pytest.mark.parametrize("labels", [BINARY, Y], ids=["two classes", "ten"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("cache_size", [200, 0.01])
def test_values_follow_the_model(form, labels, cache_size):
    learner = whole({"cache_size": cache_size}, FORMS[form])
    for _ in range(12):
        teach(learner, labels, 5)
        if learner._has_boundary():
            assert_up_to_date(learner)
    assert learner._pool._values is not None


@pytest.mark.parametrize("form", FORMS)
def test_values_follow_what_is_done_to_the_model(form):
    learner = teach(whole(form=FORMS[form]), BINARY, 40)
    learner.estimator.finish()
    assert_up_to_date(learner)
    learner.teach(learner.taught[3], -BINARY[learner.taught[3]])
    assert_up_to_date(learner)
    learner.add_to_pool(FORMS[form](X[300:350]))
    assert_up_to_date(learner)
    learner.estimator.partial_fit(FORMS[form](X[400:420]), BINARY[400:420])
    assert_up_to_date(learner)
    assert_up_to_date(teach(learner, BINARY, 10))
    learner.estimator.fit(FORMS[form](X[500:600]), BINARY[500:600])
    assert_up_to_date(learner)
    assert_up_to_date(teach(learner, BINARY, 10))


def test_an_interrupted_question_is_asked_again():
    learner = teach(whole(), BINARY, 20)
    expected = teach(whole(), BINARY, 20).query()
    learner._pool._rows._kept.clear()
    learner._pool._values._key = learner._pool._values._key[:0]
    learner._pool._values._known[:] = 0.0
    learner._pool._values.values[:] = 0.0
    make, calls = learner._pool._rows._make, []

    def interrupted(i):
        calls.append(i)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return make(i)

    learner._pool._rows._make = interrupted
    with pytest.raises(KeyboardInterrupt):
        learner.query()
    np.testing.assert_array_equal(learner.query(), expected)
    assert_up_to_date(learner)


@pytest.mark.parametrize("sample_size", [None, 1], ids=["with rows of the pool", "without"])
@pytest.mark.parametrize("settings", [{}, {"budget": 20}, {"selection": "active"}], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_a_lesson_is_one_of_a_stream_to_the_last_bit(form, settings, sample_size):
    quick, plain = whole(settings, FORMS[form]), whole(settings, FORMS[form])
    quick.sample_size = sample_size
    teach(quick, BINARY, 80)
    for i, label in zip(quick.taught, quick.labels):
        plain._pool._own = None  # no rows of the pool, no compiled detour
        plain.teach(i, label)
    found, expected = quick.estimator, plain.estimator
    pool = quick._pool.X
    np.testing.assert_array_equal(found.decision_function(pool), expected.decision_function(pool))
    np.testing.assert_array_equal(found.support_, expected.support_)
    assert found.n_kernel_evaluations_ == expected.n_kernel_evaluations_


@pytest.mark.parametrize("labels", [BINARY, Y], ids=["two classes", "ten"])
@pytest.mark.parametrize("form", FORMS)
def test_a_few_values_without_rows(form, labels):
    model = LASVMClassifier(C=10, gamma=0.001)
    learner = ActiveLearner(model, FORMS[form](X), sample_size=5, random_state=0)
    teach(learner, labels, 60)
    assert learner._pool._values is None
    found = learner._pool.decide(learner.estimator, np.arange(5))
    expected = learner.estimator.decision_function(learner._pool.X[:5])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_samples_of_a_large_pool_are_judged_alone():
    """A row of the pool for each label would cost more than the sample's values."""
    learner = teach(digits(n=1700, sample_size=5), BINARY, 20)
    assert learner._pool._values is None
    learner = teach(digits(n=1700, sample_size=50), BINARY, 20)
    assert learner._pool._values is not None


def test_class_weights_count_in_every_lesson():
    weights = {-1: 0.5, 1: 2.0}
    learner = teach(whole({"C": 0.01, "class_weight": weights}), BINARY, 40)
    bound = abs(learner.estimator.dual_coef_[0])
    label = BINARY[learner.estimator.support_]
    assert bound[label == -1].max() == pytest.approx(0.005)
    assert bound[label == 1].max() == pytest.approx(0.02)
