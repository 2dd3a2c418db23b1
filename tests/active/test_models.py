"""ActiveLearner with pipelines, with another estimator half-way, with settings changed."""

import numpy as np
import pytest
from awkward_values import as_dense
from digits_pool import BINARY, X, Y, assert_same_state, digits, state, teach
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import SGDClassifier, SGDOneClassSVM
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from onlinesvm import HullerClassifier, LASVMClassifier, LASVMOneClass, load_model, save_model
from onlinesvm.active.curve import labelling_curve
from onlinesvm.active.learner import ActiveLearner

FINAL = {"own": LASVMClassifier(C=10), "other": SGDClassifier(random_state=0)}


# -- pipelines ----------------------------------------------------------------------------


@pytest.mark.parametrize("final", FINAL.values(), ids=FINAL)
def test_a_pipeline_is_its_last_step_over_the_transformed_pool(final):
    pipeline = make_pipeline(StandardScaler(), PCA(20, random_state=0), final)
    learner = teach(ActiveLearner(pipeline, X[:600], random_state=0), BINARY, 40)
    made = make_pipeline(*(step for _, step in pipeline.steps[:-1])).fit(X[:600])
    by_hand = ActiveLearner(final, made.transform(X[:600]), random_state=0)
    teach(by_hand, BINARY, 40)
    assert learner.taught.tolist() == by_hand.taught.tolist()
    np.testing.assert_array_equal(
        learner.estimator.decision_function(X[600:]),
        by_hand.estimator.decision_function(made.transform(X[600:])),
    )
    assert isinstance(learner.estimator, Pipeline)
    assert learner.estimator.score(X[600:], BINARY[600:]) > 0.75


def test_the_pipeline_of_the_user_is_left_alone():
    pipeline = make_pipeline(StandardScaler(), LASVMClassifier())
    teach(ActiveLearner(pipeline, X[:100], random_state=0), BINARY, 20)
    assert not hasattr(pipeline[0], "mean_")
    assert not vars(pipeline[-1]).keys() - pipeline[-1].get_params().keys()


def test_fitted_transformers_are_used_as_they_are():
    pipeline = make_pipeline(StandardScaler(), LASVMClassifier()).fit(X[600:900], BINARY[600:900])
    before = pipeline.decision_function(X)
    learner = ActiveLearner(pipeline, X[:600], sample_size=None, random_state=0)
    np.testing.assert_array_equal(learner.estimator.decision_function(X), before)
    assert learner.query()[0] == abs(before[:600]).argmin()
    teach(learner, BINARY, 20)
    np.testing.assert_array_equal(learner.estimator[0].mean_, pipeline[0].mean_)
    np.testing.assert_array_equal(pipeline.decision_function(X), before)


def test_more_examples_are_transformed_too():
    pipeline = make_pipeline(StandardScaler(), LASVMClassifier())
    learner = teach(ActiveLearner(pipeline, X[:100], random_state=0), BINARY, 20)
    mean = learner.estimator[0].mean_.copy()
    learner.add_to_pool(X[100:200])
    np.testing.assert_array_equal(learner.estimator[0].mean_, mean)
    values = learner._pool.decide(learner.estimator[-1], np.arange(200))
    np.testing.assert_allclose(values, learner.estimator.decision_function(X[:200]), atol=1e-9)


def test_a_pool_of_texts():
    words = [["svm", "kernel", "margin"], ["bread", "butter", "cheese"]]
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=60)
    texts = [" ".join(rng.choice(words[label], 2)) + f" t{rng.randint(9)}" for label in y]
    pipeline = make_pipeline(TfidfVectorizer(), "passthrough", LASVMClassifier(C=10))
    learner = ActiveLearner(pipeline, texts, random_state=0)
    for _ in range(15):
        question = learner.query()
        learner.teach(question, y[question])
    assert learner.estimator.score(texts, y) == 1.0


def test_transformers_that_need_labels_or_fail():
    with pytest.raises((TypeError, ValueError)) as caught:
        ActiveLearner(make_pipeline(SelectKBest(k=5), LASVMClassifier()), X[:100])
    assert "SelectKBest could not be fitted on the pool" in caught.value.__notes__[0]
    with pytest.raises(TypeError, match="no decision_function"):
        ActiveLearner(make_pipeline(LASVMClassifier(), StandardScaler()), X[:100])


def test_transformers_that_need_no_fitting():
    pipeline = make_pipeline(FunctionTransformer(np.sqrt), LASVMClassifier(C=10))
    learner = teach(ActiveLearner(pipeline, X[:300], random_state=0), BINARY, 40)
    assert learner.estimator.score(X[300:], BINARY[300:]) > 0.75


def test_a_corrected_label_in_a_pipeline():
    def taught(labels):
        pipeline = make_pipeline(StandardScaler(), LASVMClassifier(C=10))
        return ActiveLearner(pipeline, X[:100], random_state=0).teach(np.arange(60), labels)

    wrong = BINARY[:60].copy()
    wrong[3] = -wrong[3]
    assert_same_state(state(taught(wrong).teach(3, BINARY[3])), state(taught(BINARY[:60])))


def test_learning_curves_of_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), LASVMClassifier(C=10))
    (curve,) = labelling_curve(
        pipeline, X[:600], BINARY[:600], X[600:], BINARY[600:], ["active"], n_labels=60,
        n_points=2, random_state=0,
    )  # fmt: skip
    assert curve.error[0, -1] < 0.3
    assert (curve.n_support[0] > 1).all()


# -- another estimator --------------------------------------------------------------------

OTHERS = {
    "same kind": LASVMClassifier(C=1, gamma=0.002),
    "another of the library": HullerClassifier(gamma=0.001, random_state=0),
    "another library's": SGDClassifier(random_state=0),
    "a pipeline": make_pipeline(StandardScaler(), LASVMClassifier(C=10)),
}


@pytest.mark.parametrize("second", OTHERS)
@pytest.mark.parametrize("first", ["same kind", "another library's"])
def test_another_estimator_learns_the_answers_so_far(first, second):
    learner = teach(digits(OTHERS[first]), BINARY, 30)
    learner.estimator = OTHERS[second]
    fresh = digits(OTHERS[second]).teach(learner.taught, BINARY[learner.taught])
    assert_same_state(state(learner), state(fresh))
    assert learner.estimator is not OTHERS[second]
    assert not hasattr(OTHERS[second], "classes_")
    for sign in (-1, 1):
        learner.teach(learner.taught[4], sign * BINARY[learner.taught[4]])
    assert teach(learner, BINARY, 20).estimator.score(X[600:], BINARY[600:]) > 0.65


def test_an_estimator_that_has_learned_is_taken_to_know_the_answers():
    learner = teach(digits(), BINARY, 30)
    fitted = LASVMClassifier(C=10, gamma=0.001).fit(X[learner.taught], BINARY[learner.taught])
    learner.estimator = fitted
    np.testing.assert_array_equal(
        learner.estimator.decision_function(X), fitted.decision_function(X)
    )
    question = learner.query()[0]
    learner.teach(question, BINARY[question])
    learner.teach(question, -BINARY[question])  # built anew: from the fitted one, and this label
    expected = digits(fitted).teach(question, -BINARY[question])
    np.testing.assert_array_equal(state(learner)[0], state(expected)[0])


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (LASVMClassifier(kernel="precomputed"), ValueError),
        (StandardScaler(), TypeError),
        (LASVMClassifier().fit(X[:50, :9], BINARY[:50]), ValueError),
        (LASVMClassifier(budget=2), ValueError),
    ],
)
def test_an_estimator_that_will_not_do_changes_nothing(wrong, error):
    learner = teach(digits(), Y, 30)
    before, question, model = state(learner), learner.query(), learner.estimator
    with pytest.raises(error):
        learner.estimator = wrong
    assert learner.estimator is model
    assert_same_state(state(learner), before)
    np.testing.assert_array_equal(learner.query(), question)


@pytest.mark.parametrize("detector", [LASVMOneClass(), SGDOneClassSVM()])
def test_a_detector_of_novelty_is_no_classifier(detector):
    for model in (detector, make_pipeline(StandardScaler(), detector)):
        with pytest.raises(TypeError, match="is no classifier"):
            ActiveLearner(model, X[:300])


def test_in_a_pipeline_the_last_step_is_replaced():
    pipeline = make_pipeline(StandardScaler(), LASVMClassifier(C=10))
    learner = teach(ActiveLearner(pipeline, X[:300], random_state=0), BINARY, 30)
    learner.estimator = SGDClassifier(random_state=0)
    assert isinstance(learner.estimator[0], StandardScaler)
    assert learner.estimator.score(X[300:], BINARY[300:]) > 0.65
    with pytest.raises(ValueError, match="last step"):
        learner.estimator = pipeline


def test_settings_changed_half_way_count_from_then_on():
    """As in partial_fit of the estimator itself."""
    pool = sparse.csr_matrix(X[:100])
    learner = ActiveLearner(LASVMClassifier(C=10, gamma=0.001), pool)
    learner.teach(np.arange(20), BINARY[:20])
    model = LASVMClassifier(C=10, gamma=0.001, block_size=1)
    for i in range(40):
        if i == 20:
            model.set_params(C=0.01)
            learner.estimator.set_params(C=0.01)
        model.partial_fit(pool[i : i + 1], BINARY[i : i + 1])
    learner.teach(np.arange(20, 40), BINARY[20:40])
    found, expected = (m.decision_function(X) for m in (learner.estimator, model))
    np.testing.assert_array_equal(found, expected)
    assert (abs(as_dense(model.dual_coef_)) == 0.01).any()


@pytest.mark.parametrize("probability", [False, True])
def test_a_model_taught_from_a_pool_is_saved_and_loaded(tmp_path, probability):
    learner = teach(digits(LASVMClassifier(probability=probability)), Y, 60)
    save_model(learner.estimator, tmp_path / "m.safetensors")
    again = load_model(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.predict(X), learner.estimator.predict(X))
    np.testing.assert_array_equal(again.support_, learner.estimator.support_)
    again.partial_fit(X[700:800], Y[700:800])
    other = digits(again)
    other.teach(5, Y[5])
