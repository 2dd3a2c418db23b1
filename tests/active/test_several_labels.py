"""ActiveLearner for several labels per example: the least sure label, answers that are rows of 0 and 1."""

import copy
import pickle

import digits_pool
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from onlinesvm import HullerClassifier, LASVMClassifier, SimpleSVMClassifier, labelling_curve
from onlinesvm.active.learner import ActiveLearner
from onlinesvm.active.strategies import active

GAMMA, C, LABELS = 0.05, 5.0, 4


def generated(seed, n=1200):
    X, Y = make_multilabel_classification(n, 20, n_classes=LABELS, n_labels=2, random_state=seed)
    return X / X.std(axis=0), Y


X, Y = generated(0)


def model(**settings):
    return LASVMClassifier(**{"C": C, "gamma": GAMMA} | settings)


def several(estimator=None, pool=X[:400], **settings):
    settings = {"random_state": 0, "n_labels": LABELS} | settings
    return ActiveLearner(estimator or model(), pool, **settings)


def teach(learner, n, labels=Y):
    return digits_pool.teach(learner, labels, n)


def state(learner):
    values = learner.estimator.decision_function(X[:50]) if learner.labels else None
    return values, learner.taught.tolist(), learner.labels, learner.set_aside.tolist()


def assert_same_state(one, other):
    np.testing.assert_array_equal(one[0], other[0])
    assert one[1:] == other[1:]


# -- which question -----------------------------------------------------------------------


def test_the_question_is_the_example_whose_least_sure_label_is_closest_to_its_boundary():
    learner = teach(several(sample_size=None), 60)
    question, utilities = learner.query(return_utilities=True)
    distances = abs(learner.estimator.decision_function(X[:400]))
    left = np.setdiff1d(np.arange(400), learner.taught)
    assert question[0] == left[distances.min(axis=1)[left].argmin()]
    np.testing.assert_allclose(utilities[left], -distances.min(axis=1)[left], atol=1e-5)
    assert np.isnan(utilities[learner.taught]).all()
    np.testing.assert_array_equal(learner.least_sure_labels(left), distances.argmin(axis=1)[left])
    assert len(set(learner.least_sure_labels(left).tolist())) == LABELS


def macro_f1_of_questions(selection, seed, n_answers):
    """Macro F1 of our model, and of scikit-learn refitted on the rows that were asked about."""
    X, Y = generated(seed, 2400)
    learner = ActiveLearner(model(), X[:1600], selection, random_state=seed, n_labels=LABELS)
    asked = teach(learner, n_answers, Y).taught
    refitted = OneVsRestClassifier(SVC(C=C, gamma=GAMMA)).fit(X[asked], Y[asked])
    return [
        f1_score(Y[1600:], found.predict(X[1600:]), average="macro", zero_division=0.0)
        for found in (learner.estimator.finish(), refitted)
    ]


def test_active_questions_are_worth_more_than_random_ones():
    """Of our own model, and of the SVMs that scikit-learn fits to the same answers."""
    asked, drawn = (
        np.array([macro_f1_of_questions(selection, seed, 120) for seed in range(5)])
        for selection in ("active", "random")
    )
    assert (asked.mean(axis=0) >= drawn.mean(axis=0)).all()
    assert np.abs(asked[:, 0] - asked[:, 1]).max() < 0.03


def test_questions_of_a_batch_differ():
    learner = teach(several(pool=np.repeat(X[:100], 4, axis=0)), 40, np.repeat(Y[:100], 4, axis=0))
    for n in (2, 8):
        questions = learner.query(n)
        assert len(set(questions.tolist())) == n
        assert len(set((questions // 4).tolist())) == n  # no copies of each other
    whole = several(pool=np.repeat(X[:100], 4, axis=0), sample_size=None)
    questions = teach(whole, 40, np.repeat(Y[:100], 4, axis=0)).query(8)
    assert len(set((questions // 4).tolist())) == 8


def test_random_questions_and_callables():
    drawn = teach(several(selection="random"), 60)
    assert len(set(drawn.taught.tolist())) == 60
    asked, named = (teach(several(selection=selection), 60) for selection in ("active", active))
    np.testing.assert_array_equal(asked.taught, named.taught)
    brightest = several(selection=lambda _, rows: rows.sum(axis=1), sample_size=None)
    teach(brightest, 30)
    left = np.setdiff1d(np.arange(400), brightest.taught)
    assert brightest.query()[0] == left[X[left].sum(axis=1).argmax()]


def test_asking_changes_nothing():
    nosy, plain = several(), several()
    for _ in range(20):
        nosy.query(3)
        question = nosy.query()
        nosy.least_sure_labels(question)
        np.testing.assert_array_equal(question, plain.query())
        nosy.teach(question, Y[question])
        plain.teach(question, Y[question])
    assert_same_state(state(nosy), state(plain))


# -- what is learned ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "kernel"),
    [(np.asarray, "linear"), (sparse.csr_matrix, "linear"), (sparse.csr_matrix, "rbf")],
)
def test_an_answer_is_one_iteration_of_lasvm(form, kernel):
    """To the last bit where rows are not shifted: of a dense stream, they are by its first row."""
    pool, settings = form(X[:400]), {"block_size": 1, "kernel": kernel}
    learner = teach(several(model(**settings), pool), 80)
    streamed = model(**settings)
    for i in learner.taught:
        streamed.partial_fit(pool[i : i + 1], Y[i : i + 1])
    expected = streamed.decision_function(pool)
    np.testing.assert_array_equal(learner.estimator.decision_function(pool), expected)
    np.testing.assert_allclose(learner.decision_values(np.arange(400)), expected, atol=1e-4)


def test_the_finished_model_is_one_svc_for_each_label():
    learner = teach(several(model(tol=1e-4)), 100)
    found = learner.estimator.finish()
    each = OneVsRestClassifier(SVC(C=C, gamma=GAMMA, tol=1e-4)).fit(
        X[learner.taught], np.array(learner.labels)
    )
    agree = found.predict(X[400:]) == each.predict(X[400:])
    assert agree.mean() > 0.97  # examples beyond the margin were forgotten on the way


def test_the_first_answers_are_learned_as_one_label_at_a_time_would_be():
    """Rows are kept without a step only while all of them have the same labels."""
    corners, answers = np.array([[0.0, 0], [0, 3], [3, 0]]), np.array([[1, 0], [0, 1], [0, 0]])
    learner = ActiveLearner(LASVMClassifier(gamma=1.0), corners, n_labels=2)
    streamed, each = LASVMClassifier(gamma=1.0), [LASVMClassifier(gamma=1.0) for _ in range(2)]
    for i in range(3):
        learner.teach(i, answers[i])
        streamed.partial_fit(corners[i : i + 1], answers[i : i + 1])
        for label, alone in enumerate(each):
            alone.partial_fit(corners[i : i + 1], answers[i : i + 1, label])
        if i:
            expected = np.stack([alone.decision_function(corners) for alone in each], axis=1)
            assert np.ptp(expected, axis=0).min() > 0.9
            for found in (learner.estimator, streamed):
                np.testing.assert_allclose(found.decision_function(corners), expected, atol=1e-5)


def test_a_pool_of_sparse_rows_asks_as_a_dense_one():
    rows = np.where(X[:400] > 1.0, X[:400], 0.0)
    forms = (np.asarray, sparse.csr_matrix)
    dense, thin = (several(model(kernel="linear"), form(rows)) for form in forms)
    assert teach(dense, 60).taught.tolist() == teach(thin, 60).taught.tolist()


FORMS = {
    "rows": lambda rows: rows,
    "lists": np.ndarray.tolist,
    "tuples": lambda rows: tuple(map(tuple, rows.tolist())),
    "bool": lambda rows: rows.astype(bool),
    "float": lambda rows: rows.astype(float),
    "object": lambda rows: rows.astype(object),
    "csr": sparse.csr_matrix,
    "csc array": sparse.csc_array,
    "list of sparse rows": lambda rows: [sparse.csr_matrix(row) for row in rows],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_answers(form):
    plain, given = several().teach(np.arange(30), Y[:30]), several()
    given.teach(np.arange(29), FORMS[form](Y[:29])).teach([29], FORMS[form](Y[29:30]))
    assert_same_state(state(given), state(plain))
    assert given.labels == [tuple(row) for row in Y[:30].tolist()]


def test_a_row_alone_and_a_data_frame():
    pandas = pytest.importorskip("pandas")
    table, plain, given = pandas.DataFrame(Y), several(), several()
    plain.teach(np.arange(12), Y[:12])
    given.teach(np.arange(9), table.iloc[:9]).teach(9, table.iloc[9]).teach([10], Y[10])
    given.teach(11, Y[11].tolist())
    assert_same_state(state(given), state(plain))


def test_a_corrected_row_is_as_if_given_the_first_time():
    wrong = Y[:60].copy()
    wrong[3] = 1 - wrong[3]
    corrected, right = several().teach(range(60), wrong), several().teach(range(60), Y[:60])
    assert np.abs(state(corrected)[0] - state(right)[0]).max() > 0
    corrected.teach(3, Y[3])
    assert_same_state(state(corrected), state(right))
    corrected.teach(3, Y[3])  # the same again
    assert_same_state(state(corrected), state(right))


def test_an_unknown_row_is_set_aside_and_a_known_one_taken_back():
    learner = several().teach(range(40), Y[:40])
    learner.teach([5, 41], [None, Y[41]]).teach(50, None)
    rest = [*range(5), *range(6, 40), 41]
    assert_same_state(state(learner)[:1], state(several().teach(rest, Y[rest]))[:1])
    assert learner.set_aside.tolist() == [5, 50]
    assert not np.isin(learner.query(300), [5, 50]).any()


def test_what_the_model_says_can_be_looked_at():
    learner = several()
    assert learner.decision_values([3, 4]).tolist() == [[0.0] * LABELS] * 2
    assert learner.least_sure_labels([3, 4]).tolist() == [-1, -1]
    assert learner.contributions(3)[1].shape == (LABELS, 0)
    teach(learner, 60)
    found = learner.estimator
    which = np.array([7, 399])
    np.testing.assert_allclose(
        learner.decision_values(which), found.decision_function(X[which]), atol=1e-5
    )
    items, shares = learner.contributions(7)
    assert set(items) <= set(learner.taught)
    np.testing.assert_allclose(
        shares.sum(axis=1) + found.intercept_, found.decision_function(X[7:8])[0], atol=1e-5
    )


def test_the_pool_grows_and_a_pipeline_is_taken_apart():
    learner = several(make_pipeline(StandardScaler(), model()), X[:100])
    teach(learner, 60)
    np.testing.assert_array_equal(learner.add_to_pool(X[100:400]), np.arange(100, 400))
    teach(learner, 60)
    assert (learner.estimator.predict(X[400:]) == Y[400:]).mean() > 0.75


# -- copies, other estimators -------------------------------------------------------------


@pytest.mark.parametrize("pickle_pool", [True, False])
def test_pickles_and_copies_go_on(pickle_pool):
    learner = teach(several(pickle_pool=pickle_pool, sample_size=None), 25)
    loaded, copied = pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)
    if not pickle_pool:
        loaded.attach(X[:400])
    teach(learner, 10)
    for other in (loaded, copied):
        assert other.n_labels == LABELS
        assert_same_state(state(teach(other, 10)), state(learner))


def test_a_model_that_has_learned_goes_on():
    trained = model().fit(X[400:800], Y[400:800])
    learner = several(trained, sample_size=None, n_labels=None)
    assert learner.n_labels == LABELS
    assert learner.query()[0] == abs(trained.decision_function(X[:400])).min(axis=1).argmin()
    before = trained.decision_function(X)
    teach(learner, 5)
    np.testing.assert_array_equal(trained.decision_function(X), before)


def test_another_estimator_learns_the_answers_so_far():
    learner = teach(several(), 30)
    learner.estimator = model(C=1.0)
    again = several(model(C=1.0)).teach(learner.taught, learner.labels)
    assert_same_state(state(learner), state(again))
    before, one = state(learner), model().fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="trained with one label per example"):
        learner.estimator = one
    assert_same_state(state(learner), before)
    single = ActiveLearner(model(), X[:400]).teach([0, 1], [0, 1])
    with pytest.raises(ValueError, match="trained with 4 labels"):
        single.estimator = model().fit(X, Y)
    assert single.labels == [0, 1]


def test_curves_of_several_labels():
    curves = labelling_curve(
        model(), X[:400], Y[:400], X[400:], sparse.csr_matrix(Y[400:]),
        n_labels=60, n_points=3, n_runs=2, random_state=0,
    )  # fmt: skip
    for curve in curves:
        assert curve.labels.tolist() == [20, 40, 60]
        assert (curve.n_support <= curve.labels).all()
    learner = teach(several(selection="random"), 1)  # the first point of a curve may be one answer
    expected = np.mean(learner.estimator.predict(X[400:]) != Y[400:])
    assert 0 < expected < 1
    asked = curves[0].error[:, -1].mean()
    assert asked < min(Y[400:].mean(), 1 - Y[400:].mean())  # better than a constant answer
    with pytest.raises(ValueError, match="y_pool has 4 columns, but y_test has 3 columns"):
        labelling_curve(model(), X[:400], Y[:400], X[400:], Y[400:, :3])


# -- awkward labels -----------------------------------------------------------------------


def test_labels_that_never_or_always_occur():
    """They have no boundary: they decide no question, and every prediction has or lacks them."""
    labels = Y.copy()
    labels[:, 1], labels[:, 2] = 0, 1
    learner = teach(several(sample_size=None), 60, labels)
    assert not np.isin(learner.least_sure_labels(np.arange(400)), [1, 2]).any()
    predicted = learner.estimator.predict(X)
    assert not predicted[:, 1].any()
    assert predicted[:, 2].all()
    two = several(sample_size=None, n_labels=2)
    assert teach(two, 60, labels[:, [0, 3]]).taught.tolist() == learner.taught.tolist()


def test_while_all_answers_are_the_same_questions_are_diverse():
    learner = several(sample_size=None)
    for _ in range(8):
        learner.teach(learner.query(), [0, 1, 1, 0])
    gaps = ((X[:400, None] - X[None, learner.taught]) ** 2).sum(axis=2).min(axis=1)
    gaps[learner.taught] = -1.0
    assert gaps[learner.query()[0]] >= 0.999 * gaps.max()
    assert learner.least_sure_labels([0]).tolist() == [-1]
    assert (learner.estimator.predict(X[:20]) == [0, 1, 1, 0]).all()


def test_a_label_that_is_constant_until_late_is_asked_about_then():
    labels = Y.copy()
    early, first = np.arange(60), int(np.flatnonzero(Y[60:400, 3])[0]) + 60
    labels[:60, 3] = 0
    learner = several(sample_size=None).teach(early, labels[early])
    assert 3 not in learner.least_sure_labels(np.arange(400))
    learner.teach(first, labels[first])
    assert 3 in learner.least_sure_labels(np.arange(400))
    teach(learner, 100, labels)
    left = np.setdiff1d(np.arange(400), early)
    assert f1_score(Y[left, 3], learner.estimator.predict(X[left])[:, 3]) > 0.6


def test_equal_rows_with_contradicting_labels():
    rows, labels = np.repeat(X[:50], 2, axis=0), np.repeat(Y[:50], 2, axis=0)
    labels[1::2] = 1 - labels[1::2]
    learner = teach(several(pool=rows, sample_size=None), 100, labels)
    assert np.isfinite(learner.decision_values(np.arange(100))).all()
    values = learner.estimator.finish().decision_function(rows)
    assert np.ptp(values, axis=0).max() < 0.01  # nothing can be known: a constant
    assert np.abs(values).max() < 1.01
    with pytest.raises(ValueError, match="no unlabelled examples left"):
        learner.query()


def test_equal_rows_without_any_boundary():
    learner = several(pool=np.ones((6, 3)), n_labels=2)
    for _ in range(6):
        question = learner.query()
        learner.teach(question, [[question[0] % 2, 1]])
    assert np.isfinite(learner.decision_values([0, 1])).all()


def test_a_rare_label_is_found():
    rng = np.random.default_rng(0)
    pool = rng.normal(size=(2000, 4))
    labels = np.stack([pool[:, 0] > 0, np.zeros(2000)], axis=1).astype(int)
    rare = rng.choice(2000, 10, replace=False)
    pool[rare, 1] += 8.0
    labels[rare, 1] = 1
    found = []
    for selection in ("active", "random"):
        learner = several(LASVMClassifier(C=10), pool, selection=selection, n_labels=2)
        teach(learner.teach(rare[0], labels[rare[0]]), 100, labels)
        found.append(f1_score(labels[:, 1], learner.estimator.predict(pool)[:, 1]))
    assert found[0] > max(0.8, found[1])


# -- bad input ----------------------------------------------------------------------------


BAD_ROWS = {
    "fewer": ([70], [[0, 1, 0]], r"example 70 must be 4 numbers, one per label.*\[0, 1, 0\]"),
    "more": ([70], [[0, 1, 0, 1, 1]], "4 numbers"),
    "another number": ([70], [[0, 2, 0, 1]], r"each 1 or 0; got \[0, 2, 0, 1\]"),
    "minus one": ([70], [[-1, 1, -1, 1]], "each 1 or 0"),
    "not a number": ([70], [[0.0, np.nan, 0, 1]], "nan"),
    "half": ([70], [[0, 0.5, 0, 1]], "each 1 or 0"),
    "none in a row": (70, [0, None, 0, 1], "None"),
    "text": ([70], [["0", "1", "0", "1"]], "each 1 or 0"),
    "one label": (70, 1, r"got \[1\]"),
    "a name": (70, "red", "red"),
    "one label each": ([70, 71], [0, 1], "2 indices, but 1 rows"),
    "one row for two": ([70, 71], [[0, 1, 0, 1]], "2 indices, but 1 rows"),
    "the second is bad": ([70, 71], [[0, 1, 0, 1], [0, 1, 0, 3]], "example 71"),
    "ragged": ([70, 71], [[0, 1, 0, 1], [0, 1]], "example 71"),
    "three dimensions": ([70], np.zeros((1, 1, 4)), "4 numbers"),
    "twice": ([70, 70], [[0, 1, 0, 1]] * 2, "occur twice"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_bad_row_changes_nothing(case):
    indices, labels, words = BAD_ROWS[case]
    learner = teach(several(), 20)
    before = state(learner)
    with pytest.raises(ValueError, match=words):
        learner.teach(indices, labels)
    assert_same_state(state(learner), before)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_labels": 1}, "n_labels must be an integer of at least 2"),
        ({"n_labels": 2.5}, "n_labels"),
        ({"n_labels": "two"}, "n_labels"),
        ({"n_labels": True}, "n_labels"),
        ({"classes": [0, 1]}, "classes supports one label per example"),
        ({"estimator": model(probability=True)}, "probability=True supports one label"),
        ({"estimator": model(decision="ovo")}, "decision='ovo' supports one label"),
        ({"estimator": model(class_weight={0: 2.0})}, "class_weight"),
        ({"estimator": model(budget=3)}, "budget=3"),
        ({"estimator": HullerClassifier()}, "HullerClassifier learns one label per example"),
        ({"estimator": SimpleSVMClassifier()}, "SimpleSVMClassifier learns one label"),
        ({"estimator": SGDClassifier()}, "n_labels=4 needs a LASVMClassifier"),
    ],
)
def test_settings_that_are_not_for_several_labels(settings, words):
    with pytest.raises(ValueError, match=words):
        several(**settings)


def test_an_estimator_trained_with_another_number_of_labels():
    trained = model().fit(X, Y)
    with pytest.raises(ValueError, match="n_labels=3, but the estimator was trained with 4 labels"):
        several(trained, n_labels=3)
    with pytest.raises(ValueError, match="classes supports one label"):
        several(trained, n_labels=None, classes=[0, 1])


def test_rows_for_a_learner_of_single_labels_say_what_to_do():
    learner = ActiveLearner(model(), X[:50])
    for index, rows in ((3, Y[3]), ([3], Y[3:4])):
        with pytest.raises(ValueError, match="give ActiveLearner n_labels"):
            learner.teach(index, rows)
    with pytest.raises(ValueError, match="make the ActiveLearner with n_labels"):
        learner.least_sure_labels([0])
    assert learner.labels == []
