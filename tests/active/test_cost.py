"""What a question costs, counted in kernel values: never much more than asking anew."""

import numpy as np
import pytest
from digits_pool import BINARY, X
from scipy import sparse

from onlinesvm import LASVMClassifier
from onlinesvm.active.learner import ActiveLearner
from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.lasvm.choose import pool as lasvm_pool

FORMS = {"dense": np.asarray, "sparse": sparse.csr_matrix}
RNG = np.random.RandomState(0)
LARGE = np.repeat(X, 4, axis=0) + RNG.randint(2, size=(4 * len(X), 64)) * (X > 0).repeat(4, axis=0)
LABELS = np.repeat(BINARY, 4)


@pytest.fixture
def count(monkeypatch):
    """Kernel values made in rows over a pool, and in all other ways."""
    made = {"in rows": 0, "else": 0}
    make, block, product = lasvm_pool.PoolRows._make, Kernel.block, Kernel.product

    def counted_make(self, i):
        made["in rows"] += self.n
        return make(self, i)

    def counted_block(self, X, Z, *rest):
        made["else"] += len(X) * len(Z)
        return block(self, X, Z, *rest)

    def counted_product(self, X, Z, coef):
        made["else"] += len(X) * len(Z)
        return product(self, X, Z, coef)

    monkeypatch.setattr(lasvm_pool.PoolRows, "_make", counted_make)
    monkeypatch.setattr(Kernel, "block", counted_block)
    monkeypatch.setattr(Kernel, "product", counted_product)
    return made


def cost(count, call):
    count.update({"in rows": 0, "else": 0})
    call()
    return sum(count.values())


def lagging(form, sample_size, n_labels):
    model = LASVMClassifier(C=10, gamma=0.001)
    learner = ActiveLearner(model, FORMS[form](LARGE), sample_size=sample_size, random_state=0)
    which = np.random.RandomState(1).permutation(len(LARGE))[:n_labels]
    return learner.teach(which, LABELS[which])


@pytest.mark.parametrize("form", FORMS)
def test_many_questions_at_once_after_many_single_labels(form, count):
    learner = lagging(form, 10, 400)
    for _ in range(3):
        question = learner.query()
        learner.teach(question, LABELS[question])
    anew = 20 * 10 * learner.estimator.n_support_.sum()
    typical = 2 * 20 * 10 * lasvm_pool.TYPICAL  # a sparse row costs less than its values say
    for _ in range(3):
        assert cost(count, lambda: learner.query(20)) <= 1.1 * anew + typical
    single = 10 * learner.estimator.n_support_.sum()
    assert cost(count, learner.query) <= 1.1 * single
    assert cost(count, lambda: learner.teach(3, LABELS[3])) <= 600


@pytest.mark.parametrize("form", FORMS)
def test_the_whole_pool_after_many_labels_is_one_product(form, count):
    learner = lagging(form, None, 400)
    cost(count, learner.query)
    n_support = learner.estimator.n_support_.sum()
    assert n_support > 4 * lasvm_pool.FEW_ROWS
    assert count["in rows"] == 0
    assert count["else"] <= 1.1 * len(LARGE) * n_support
    question = learner.query()
    learner.teach(question, LABELS[question])
    assert cost(count, learner.query) <= 40 * len(LARGE)  # rows of what the label has changed
    found = learner._pool.decide(learner.estimator, np.arange(len(LARGE)))
    expected = learner.estimator.decision_function(LARGE)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_values_that_lag_catch_up_with_a_steady_run_of_questions(form, count):
    learner = lagging(form, 100, 60)
    for _ in range(60):
        question = learner.query()
        learner.teach(question, LABELS[question])
    cost(count, learner.query)
    assert learner._pool._keeps_pace
    assert count["else"] == 0
    found = learner._pool.decide(learner.estimator, np.arange(100))
    expected = learner.estimator.decision_function(LARGE[:100])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_a_wide_search_for_the_second_class_looks_at_each_pair_once(count):
    model = LASVMClassifier(C=10, gamma=0.001)
    learner = ActiveLearner(model, LARGE, sample_size=None, random_state=0)
    learner.teach(np.arange(50), [1] * 50)
    left = len(LARGE) - 50
    assert cost(count, learner.query) <= left * (50 + 1)
