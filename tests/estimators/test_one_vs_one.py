"""One-vs-one: with decision="ovo" LASVM is SVC on three classes and more, whatever the data."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from onlinesvm import ActiveLearner, LASVMClassifier, load_model

DIGITS = load_digits(return_X_y=True)
IRIS = load_iris(return_X_y=True)


def exact(**settings):
    return LASVMClassifier(**{"epochs": "converge", "tol": 1e-4, "decision": "ovo"} | settings)


def svc(**settings):
    return SVC(**{"tol": 1e-4} | settings)


def blobs(n=300, centers=4, seed=0, spread=3.0):
    return make_blobs(n, centers=centers, cluster_std=spread, random_state=seed)


def agree(ours, theirs, X, share=0.995, atol=5e-3):
    """Same decision values of all pairs, votes and predictions."""
    for shape in ("ovo", "ovr"):
        own = ours.set_params(decision_function_shape=shape).decision_function(X)
        other = theirs.set_params(decision_function_shape=shape).decision_function(X)
        assert own.shape == other.shape
        if shape == "ovo":
            np.testing.assert_allclose(own, other, atol=atol)
        else:
            assert (np.abs(own - other) < atol).all(axis=1).mean() >= share
    assert (ours.predict(X) == theirs.predict(X)).mean() >= share


# -- the same model as SVC ----------------------------------------------------------------


def test_digits_are_those_of_svc():
    X, y = DIGITS
    ours, theirs = exact(C=10, gamma=0.001), svc(C=10, gamma=0.001)
    ours.fit(X[:1000], y[:1000])
    theirs.fit(X[:1000], y[:1000])
    agree(ours, theirs, X[1000:])
    assert (ours.predict(X[1000:]) == theirs.predict(X[1000:])).mean() >= 0.995


def test_attributes_are_those_of_svc():
    X, y = DIGITS
    ours = exact(C=10, gamma=0.001).fit(X[:600], y[:600])
    theirs = svc(C=10, gamma=0.001).fit(X[:600], y[:600])
    assert (ours.support_ == theirs.support_).all()
    assert (ours.n_support_ == theirs.n_support_).all()
    np.testing.assert_allclose(ours.support_vectors_, theirs.support_vectors_, atol=1e-5)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=5e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_weights_of_a_linear_kernel_are_those_of_svc(form):
    X, y = IRIS
    ours = exact(kernel="linear").fit(form(X), y)
    theirs = svc(kernel="linear").fit(form(X), y)
    assert sparse.issparse(ours.coef_) == sparse.issparse(theirs.coef_)
    assert sparse.issparse(ours.dual_coef_) == sparse.issparse(theirs.dual_coef_)
    dense = (lambda a: a.toarray()) if sparse.issparse(ours.coef_) else np.asarray
    np.testing.assert_allclose(dense(ours.coef_), dense(theirs.coef_), atol=5e-3)
    np.testing.assert_allclose(dense(ours.dual_coef_), dense(theirs.dual_coef_), atol=0.02)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "precomputed", "callable"])
def test_every_kind_of_kernel(kernel):
    X, y = blobs()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    train, test = (
        (X[:200], X[200:])
        if kernel != "precomputed"
        else (X[:200] @ X[:200].T, X[200:] @ X[:200].T)
    )
    given = {"kernel": (lambda a, b: a @ b.T) if kernel == "callable" else kernel, "gamma": 0.5}
    agree(exact(**given).fit(train, y[:200]), svc(**given).fit(train, y[:200]), test)


@pytest.mark.parametrize(
    "settings", [{"class_weight": "balanced"}, {"class_weight": {0: 10.0, 2: 0.1}}, {}]
)
def test_weights_of_classes_and_of_examples(settings):
    X, y = blobs(seed=1)
    weight = np.random.RandomState(0).uniform(0.1, 5.0, len(X)) if not settings else None
    ours = exact(gamma=0.1, **settings).fit(X, y, sample_weight=weight)
    theirs = svc(gamma=0.1, **settings).fit(X, y, sample_weight=weight)
    agree(ours, theirs, X)


# -- awkward data -------------------------------------------------------------------------


def test_a_class_of_one_row_and_a_rare_one():
    X, y = blobs(400)
    rng = np.random.RandomState(3)
    X = np.concatenate([X, rng.normal([30, 30], 0.1, (1, 2)), rng.normal([-30, 30], 1.0, (4, 2))])
    y = np.concatenate([y, [7], [9] * 4])
    agree(exact(gamma=0.05).fit(X, y), svc(gamma=0.05).fit(X, y), X)


def test_rare_classes_that_overlap_with_frequent_ones():
    rng = np.random.RandomState(0)
    sizes = [2500, 60, 12, 3]
    X = np.concatenate([rng.normal(k, 1.0, (n, 3)) for k, n in enumerate(sizes)])
    y = np.repeat(np.arange(4), sizes)
    agree(exact(gamma=0.3).fit(X, y), svc(gamma=0.3).fit(X, y), X)


def test_sorted_rows_without_shuffling():
    X, y = DIGITS
    order = np.argsort(y, kind="stable")
    ours = exact(C=10, gamma=0.001, shuffle=False).fit(X[order], y[order])
    agree(ours, svc(C=10, gamma=0.001).fit(X[order], y[order]), X)
    one_pass = LASVMClassifier(C=10, gamma=0.001, shuffle=False, decision="ovo").fit(
        X[order], y[order]
    )
    assert (one_pass.predict(X) == ours.predict(X)).mean() > 0.995


def test_labels_are_text_in_any_order():
    X, y = blobs(centers=5)
    names = np.array(["pear", "apple", "fig", "kiwi", "lime"])[y]
    ours, theirs = exact(gamma=0.1).fit(X, names), svc(gamma=0.1).fit(X, names)
    agree(ours, theirs, X)
    assert ours.predict(X).dtype == theirs.predict(X).dtype


def test_copies_and_contradictions():
    X, y = blobs(150)
    X, y = np.concatenate([X, X, X]), np.concatenate([y, y, np.roll(y, 1)])
    agree(exact(gamma=0.2).fit(X, y), svc(gamma=0.2).fit(X, y), X)


def test_rows_that_are_all_equal():
    X, y = np.ones((30, 3)), np.arange(30) % 3
    found = exact(gamma=1.0).fit(X, y).decision_function(X)
    assert np.isfinite(found).all()


def test_shifted_and_scaled_rows():
    X, y = blobs(centers=3)
    far = X * 1e-3 + 1e3
    theirs = svc(gamma=0.1).fit(X, y)  # on the rows as they were: SVC has float64 alone
    agree(exact(gamma=1e5).fit(far, y), svc(gamma=1e5).fit(far, y), far, atol=0.02)
    assert (exact(gamma=1e5).fit(far, y).predict(far) == theirs.predict(X)).all()


def test_many_classes():
    """66 machines and more: kernel values of all pairs of rows are shared."""
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.normal(c, 0.6, (25, 6)) for c in rng.uniform(-1, 1, (14, 6))])
    y = np.repeat(np.arange(14), 25)
    agree(exact(gamma=0.3).fit(X, y), svc(gamma=0.3).fit(X, y), X)


def test_two_classes_are_those_of_one_vs_rest():
    X, y = blobs(centers=2)
    one, other = (LASVMClassifier(gamma=0.1, decision=d).fit(X, y) for d in ("ovo", "ovr"))
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    theirs = svc(gamma=0.1).fit(X, y)
    assert (exact(gamma=0.1).fit(X, y).support_ == theirs.support_).all()  # class by class


# -- votes --------------------------------------------------------------------------------


def test_ties_go_to_the_first_class_or_to_the_most_confident():
    X, y = blobs(120, centers=3, seed=42)
    grid = np.stack(np.meshgrid(*[np.linspace(-40, 40, 60)] * 2), -1).reshape(-1, 2)
    found = 0
    for gamma in (0.01, 0.3, 3.0):
        ours, theirs = exact(gamma=gamma).fit(X, y), svc(gamma=gamma).fit(X, y)
        for ties in (False, True):
            own = ours.set_params(break_ties=ties).predict(grid)
            assert (own == theirs.set_params(break_ties=ties).predict(grid)).mean() > 0.995
        found += (own != ours.set_params(break_ties=False).predict(grid)).sum()
        assert (own == ours.classes_[ours.decision_function(grid).argmax(axis=1)]).all()
    assert found > 0  # there were ties


def test_ties_cannot_be_broken_by_pairs():
    X, y = IRIS
    model = exact(break_ties=True, decision_function_shape="ovo").fit(X, y)
    for asked in (model.predict, model.predict_proba, lambda X: model.predict_one(X[0])):
        with pytest.raises(ValueError, match="break_ties must be False"):
            asked(X)


def test_a_single_row_is_answered_as_many_are():
    X, y = IRIS
    model = LASVMClassifier(gamma=0.3, decision="ovo").partial_fit(X, y)
    for shape in ("ovr", "ovo"):
        values = model.set_params(decision_function_shape=shape).decision_function(X[:5])
        np.testing.assert_allclose([model.decision_one(x) for x in X[:5]], values, atol=1e-5)
    assert [model.predict_one(x) for x in X] == model.predict(X).tolist()
    chances = model.predict_proba(X[:5])
    np.testing.assert_allclose([model.predict_proba_one(x) for x in X[:5]], chances, atol=1e-5)


def test_one_vs_rest_has_no_pairs_to_show():
    with pytest.raises(ValueError, match=r"one machine per pair.*decision='ovo'"):
        LASVMClassifier(decision_function_shape="ovo").fit(*IRIS)


# -- probabilities ------------------------------------------------------------------------


@pytest.mark.parametrize("probability", [False, True])
def test_the_most_probable_label_is_the_predicted_one(probability):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(400, 3)), rng.randint(6, size=400)  # nothing to learn: ties and cycles
    model = LASVMClassifier(gamma=1.0, decision="ovo", probability=probability).fit(X, y)
    rows = rng.normal(size=(3000, 3))
    chances = model.predict_proba(rows)
    assert (model.classes_[chances.argmax(axis=1)] == model.predict(rows)).all()
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-9)


def test_probabilities_are_no_worse_than_one_vs_rest():
    X, y = DIGITS
    order = np.random.RandomState(0).permutation(len(X))
    (X, y), losses = (X[order], y[order]), {}
    for decision in ("ovr", "ovo"):
        model = LASVMClassifier(C=10, gamma=0.001, decision=decision).fit(X[:900], y[:900])
        losses[decision] = log_loss(y[900:], model.predict_proba(X[900:]))
        inside = model.predict_set(X[900:], 0.1)[np.arange(len(X) - 900), y[900:]]
        assert 0.85 < inside.mean() < 0.95
    assert losses["ovo"] < 1.1 * losses["ovr"]


# -- streams ------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_stream_with_late_classes_ends_near_svc(size):
    X, y = DIGITS
    late = np.argsort(
        np.where(y < 3, 0, np.random.RandomState(0).randint(1, 3, len(y))), kind="stable"
    )
    late = late[:900]
    model = LASVMClassifier(C=10, gamma=0.001, decision="ovo")
    for first in range(0, len(late), size):
        part = late[first : first + size]
        model.partial_fit(X[part], y[part])
    rest = np.setdiff1d(np.arange(len(X)), late)
    theirs = SVC(C=10, gamma=0.001).fit(X[late], y[late])
    assert model.finish().score(X[rest], y[rest]) > theirs.score(X[rest], y[rest]) - 0.02
    assert model.classes_.tolist() == list(range(10))


def test_learn_one_is_partial_fit_with_one_row_in_the_listing():
    X, y = blobs(120)
    one, other = (LASVMClassifier(gamma=0.1, decision="ovo", block_size=1) for _ in range(2))
    for row, label in zip(X, y, strict=True):
        one.learn_one(row, label)
        other.partial_fit([row], [label], sample_weight=[1.0])
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))


def test_the_listing_ends_as_svc():
    X, y = blobs(200)
    ours = exact(gamma=0.1, block_size=1, epochs="converge").fit(X, y)
    agree(ours, svc(gamma=0.1).fit(X, y), X, atol=0.02)


def test_a_finished_window_is_the_svm_of_the_window():
    X, y = blobs(260, centers=4, seed=2)
    model = LASVMClassifier(gamma=0.1, decision="ovo", window=150, tol=1e-4)
    model.partial_fit(X, y).finish()
    agree(model, svc(gamma=0.1).fit(X[-150:], y[-150:]), X)


def test_a_class_that_left_the_window_is_not_predicted():
    X, y = blobs(300, spread=1.0)
    order = np.argsort(y == 1, kind="stable")[::-1]  # class 1 first
    model = LASVMClassifier(gamma=0.1, decision="ovo", window=100).partial_fit(X[order], y[order])
    assert 1 not in model.finish().predict(X)


@pytest.mark.parametrize(
    "settings", [{"budget": 40}, {"half_life": 60}, {"budget": 40, "policy": "join"}]
)
def test_bounded_memory(settings):
    X, y = blobs(400, spread=1.5)
    model, rest = (
        LASVMClassifier(gamma=0.1, decision=each, **settings).partial_fit(X, y)
        for each in ("ovo", "ovr")
    )
    assert model.score(X, y) > rest.score(X, y) - 0.05
    assert len(model.support_) <= settings.get("budget", 400)


def test_a_stream_that_begins_with_one_class():
    X, y = blobs(200, spread=1.0)
    order = np.argsort(y, kind="stable")
    model = LASVMClassifier(gamma=0.1, decision="ovo")
    for first in range(0, 200, 20):
        part = order[first : first + 20]
        model.partial_fit(X[part], y[part])
        assert set(model.predict(X[part])) <= set(model.classes_)
    assert model.score(X, y) > SVC(gamma=0.1).fit(X, y).score(X, y) - 0.03


def test_classes_that_are_announced_and_have_not_come():
    X, y = blobs(100, centers=3, spread=1.0)
    model = LASVMClassifier(gamma=0.1, decision="ovo").partial_fit(X, y, classes=range(6))
    assert set(model.predict(X)) == {0, 1, 2}
    assert model.decision_function(X).shape == (100, 6)


def test_drift_is_noticed():
    X, y = blobs(1200, centers=3, spread=1.0)
    y[600:] = (y[600:] + 1) % 3
    model = LASVMClassifier(gamma=0.1, decision="ovo", window="auto")
    for row, label in zip(X, y, strict=True):
        model.learn_one(row, label)
    assert model.n_drifts_ >= 1
    assert model.score(X[900:], y[900:]) > 0.9


# -- what else is asked of a model --------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"window": 80}, {"probability": True}])
def test_a_file_goes_on_as_the_model_would(tmp_path, settings):
    X, y = blobs(200, centers=5)
    names = np.array(["e", "b", "d", "a", "c"])[y]
    model = LASVMClassifier(gamma=0.1, decision="ovo", **settings).partial_fit(X[:120], names[:120])
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    for each in (model, again):
        each.partial_fit(X[120:], names[120:]).finish()
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


@pytest.mark.parametrize(("names", "epochs"), [("abcd", 1), ("dcba", 2), ("ba", "converge")])
def test_n_iter_is_one_number_for_each_pair_as_in_svc(names, epochs, tmp_path):
    """The examples of the two classes that were learned, pairs in the order of ``classes_``."""
    X, number = blobs(centers=len(names))
    weights = np.arange(len(number)) % (number + 2) > 0  # classes of different sizes
    X, y = X[weights], np.array(list(names))[number[weights]]
    model = exact(epochs=epochs).fit(X, y)
    each = {label: (y == label).sum() * (epochs if epochs == 2 else 1) for label in names}
    classes = sorted(names)
    pairs = [each[a] + each[b] for i, a in enumerate(classes) for b in classes[i + 1 :]]
    assert type(model.n_iter_) is type(svc().fit(X, y).n_iter_)
    assert model.n_iter_.tolist() == pairs
    assert model.n_iter_.shape == svc().fit(X, y).n_iter_.shape
    model.save(tmp_path / "model.safetensors")
    assert load_model(tmp_path / "model.safetensors").n_iter_.tolist() == pairs
    assert exact(decision="ovr", epochs=epochs).fit(X, y).n_iter_ == sum(each.values())


def test_n_iter_counts_what_was_learned_and_knows_late_classes():
    X, y = blobs(centers=3)
    model = exact(epochs=1, max_examples=60, random_state=0).fit(X, y)
    assert model.n_iter_.sum() == 2 * 60  # each example has a part in two of three machines
    before = model.n_iter_.tolist()
    model.partial_fit(X[:5], np.full(5, 7))
    first, second, third = before
    a, b, c = (
        np.array([first + second - third, first + third - second, second + third - first]) // 2
    )
    assert model.n_iter_.tolist() == [first, second, a, third, b, c]  # none of the late class


def test_forgetting_gives_the_svm_of_the_rest():
    X, y = blobs(300)
    ours = exact(gamma=0.1).fit(X, y)
    gone = ours.support_[::7]
    ours.forget(gone, X, y)
    rest = np.setdiff1d(np.arange(300), gone)
    agree(ours, svc(gamma=0.1).fit(X[rest], y[rest]), X)


def test_wrong_labels_are_suspected():
    X, y = blobs(400, spread=0.3)
    wrong = np.arange(0, 400, 40)
    flipped = y.copy()
    flipped[wrong] = (y[wrong] + 1) % 4
    found = LASVMClassifier(gamma=0.1, decision="ovo").fit(X, flipped).suspects(len(wrong))
    assert len(np.intersect1d(found.index, wrong)) >= 9
    right = np.isin(found.index, wrong)
    assert (found.suggestion[right] == y[found.index[right]]).all()


def test_explanations_add_up_to_the_mean_against_the_others():
    X, y = IRIS
    model = exact(gamma=0.3, decision_function_shape="ovo").fit(X, y)
    why, pairs = model.explain(X[:10]), model.decision_function(X[:10])
    means = (
        np.stack(
            [pairs[:, 0] + pairs[:, 1], pairs[:, 2] - pairs[:, 0], -pairs[:, 1] - pairs[:, 2]], 1
        )
        / 2
    )
    np.testing.assert_allclose(why.base_values + why.values.sum(axis=1), means, atol=1e-5)
    shares = why.examples.share.sum(axis=1) + why.examples.rest
    assert shares.shape == means.shape


def test_an_active_learner_asks_and_learns():
    X, y = blobs(400, spread=1.0)
    learner = ActiveLearner(LASVMClassifier(gamma=0.1, decision="ovo"), X, random_state=0)
    learner.teach(np.arange(8), y[:8])
    for _ in range(30):
        asked = learner.query(1)
        learner.teach(asked, y[asked])
    assert learner.estimator.score(X, y) > SVC(gamma=0.1).fit(X, y).score(X, y) - 0.03
    assert learner.decision_values([0, 1]).shape == (2, len(np.unique(y)))


@pytest.mark.parametrize("rule", ["margin", "support", "score"])
def test_learning_may_stop_early(rule):
    X, y = DIGITS
    model = LASVMClassifier(C=10, gamma=0.001, decision="ovo", early_stopping=rule, block_size=200)
    assert model.fit(X, y).score(X, y) > 0.9


def test_what_is_refused():
    X, y = IRIS
    with pytest.raises(ValueError, match="each pair of classes has its own"):
        LASVMClassifier(decision="ovo", selection="active").fit(X, y)
    several = np.stack([y == 0, y == 1, y > 0], axis=1).astype(int)
    with pytest.raises(ValueError, match="decision='ovo' supports one label per example"):
        LASVMClassifier(decision="ovo").fit(X, several)
    with pytest.raises(ValueError, match="decision"):
        LASVMClassifier(decision="pairs").fit(X, y)


# -- a limit of iterations ----------------------------------------------------------------


@pytest.mark.parametrize("decision", ["ovr", "ovo"])
def test_max_iter_ends_a_fit_with_a_warning(decision):
    from sklearn.exceptions import ConvergenceWarning

    X, y = DIGITS
    model = LASVMClassifier(gamma=0.001, C=10, decision=decision, epochs="converge", max_iter=3)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3.*tol"):
        model.fit(X[:500], y[:500])
    assert model.fit_status_ == 1
    coef = np.abs(np.asarray(model.dual_coef_))
    assert 0 < np.count_nonzero(coef) <= 2 * 3 * len(model.intercept_)  # a step moves two
    whole = LASVMClassifier(gamma=0.001, C=10, decision=decision, epochs="converge").fit(
        X[:500], y[:500]
    )
    model.set_params(max_iter=10**6).fit(X[:500], y[:500])
    assert model.fit_status_ == 0
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-3)


def test_a_fit_that_ended_at_max_iter_may_go_on():
    X, y = blobs(300)
    model = LASVMClassifier(gamma=0.1, decision="ovo", max_iter=2)
    with pytest.warns(match="max_iter=2"):
        model.fit(X, y)
    before = model.score(X, y)
    assert model.partial_fit(X, y).finish().score(X, y) > before


@pytest.mark.parametrize(
    "settings", [{"block_size": 1}, {"window": 50}, {"budget": 50}, {"half_life": 9.0}]
)
def test_max_iter_is_for_blocks(settings):
    with pytest.raises(ValueError, match="max_iter=5"):
        LASVMClassifier(max_iter=5, **settings).fit(*IRIS)
