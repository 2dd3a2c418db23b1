"""ActiveLearner: pure queries, atomic lessons, corrections, any model; learning_curve."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_moons
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import SVC

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
from onlinesvm.active import ActiveLearner
from onlinesvm.curves import learning_curve
from onlinesvm.selection import active, best_of_samples, diverse

X, Y = load_digits(return_X_y=True)
BINARY = np.where(Y % 2, 1, -1)


def digits(estimator=None, n=600, **settings):
    settings = {"random_state": 0} | settings
    return ActiveLearner(estimator or LASVMClassifier(C=10, gamma=0.001), X[:n], **settings)


def teach(learner, labels, n):
    for _ in range(n):
        question = learner.query()
        learner.teach(question, labels[question])
    return learner


def state(learner):
    """All that a failed call must leave alone."""
    values = learner.estimator.decision_function(X[:50]) if learner.labels else None
    return values, learner.taught.tolist(), learner.labels, learner.set_aside.tolist(), len(learner)


def assert_same_state(one, other):
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1:] == other[1:]


# --- asking ---------------------------------------------------------------------------------------


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
    learner = teach(digits(strategy="random"), Y, 100)
    assert len(set(learner.taught.tolist())) == 100
    first = digits(strategy="random").query(100)
    assert abs(first.mean() - 300) < 60


def test_a_callable_strategy():
    def brightest(estimator, candidates):
        return candidates.sum(axis=1)

    learner = teach(digits(strategy=brightest, sample_size=None), BINARY, 12)
    left = np.setdiff1d(np.arange(600), learner.taught)
    assert learner.query()[0] == left[X[left].sum(axis=1).argmax()]


@pytest.mark.parametrize("wrong", [lambda m, c: c, lambda m, c: np.full(len(c), np.nan)])
def test_a_callable_that_answers_nonsense(wrong):
    learner = digits(strategy=wrong)
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
    np.testing.assert_array_equal(best_of_samples(utilities, 2), [1, 4])
    points = np.array([0.0, 1.0, 10.0, 11.0, 5.0])
    gaps = lambda k: np.full(5, np.inf) if k is None else abs(points - points[k])  # noqa: E731
    np.testing.assert_array_equal(diverse(5, 3, gaps), [0, 3, 4])


# --- learning -------------------------------------------------------------------------------------


def test_active_questions_need_fewer_labels():
    curves = learning_curve(
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
    with pytest.raises(ValueError, match="run dry"):
        learner.query()


def test_the_pool_grows_while_it_runs():
    learner = teach(digits(n=50), BINARY, 50)
    with pytest.raises(ValueError, match="run dry"):
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


# --- bad input ------------------------------------------------------------------------------------


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

    learner = digits(LASVMClassifier(kernel=kernel), strategy="random")
    learner.teach([0, 1, 2], BINARY[:3])
    calls[:] = [0] * 50
    with pytest.raises(RuntimeError, match="out of order"):
        learner.teach(np.arange(3, 40), BINARY[3:40])
    calls.clear()
    fresh = digits(LASVMClassifier(kernel=kernel), strategy="random").teach([0, 1, 2], BINARY[:3])
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
        ({"strategy": "clever"}, ValueError, "clever"),
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


# --- learning curves ------------------------------------------------------------------------------


def test_learning_curves_and_their_picture():
    A, b = make_moons(400, noise=0.2, random_state=0)
    curves = learning_curve(
        LASVMClassifier(C=10, gamma=1.0), A[:300], b[:300], A[300:], b[300:],
        ("active", "random", active), n_labels=50, n_points=5, n_runs=2, random_state=0,
    )  # fmt: skip
    assert [curve.strategy for curve in curves] == ["active", "random", "active"]
    for curve in curves:
        assert curve.labels.tolist() == [10, 20, 30, 40, 50]
        for values in (curve.error, curve.n_support, curve.seconds):
            assert values.shape == (2, 5)
        assert (np.diff(curve.seconds, axis=1) > 0).all()
        assert (curve.n_support <= curve.labels).all()
        assert ((curve.error >= 0) & (curve.error <= 1)).all()
    np.testing.assert_array_equal(curves[0].error, curves[2].error)
    figure = curves.plot()
    assert len(figure.axes) == 2
    assert len(figure.axes[0].lines) == 3


# --- scikit-activeml ------------------------------------------------------------------------------


def test_inside_scikit_activeml():
    pool = pytest.importorskip("skactiveml.pool")
    from skactiveml.classifier import SklearnClassifier
    from skactiveml.utils import MISSING_LABEL
    from sklearn.calibration import CalibratedClassifierCV

    labels = (BINARY[:400] > 0).astype(float)
    known = np.full(400, MISSING_LABEL)
    known[:20] = labels[:20]
    model = CalibratedClassifierCV(LASVMClassifier(C=10, gamma=0.001), ensemble=False, cv=3)
    wrapped = SklearnClassifier(model, classes=[0.0, 1.0], random_state=0)
    strategy = pool.UncertaintySampling(method="margin_sampling", random_state=0)
    for _ in range(15):
        question = strategy.query(X[:400], known, wrapped, batch_size=2)
        assert np.isnan(known[question]).all()
        known[question] = labels[question]
    wrapped.fit(X[:400], known)
    assert wrapped.score(X[400:], (BINARY[400:] > 0).astype(float)) > 0.8
