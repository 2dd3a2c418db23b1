"""Example selection in fit and on a stream, early stopping, delta_max."""

from copy import deepcopy

import numpy as np
import pytest
from naive.lockstep import Lockstep
from naive.selection import CHOICES, boundary_distance
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.svm import SVC

from onlinesvm import LASVMClassifier
from onlinesvm.core.lasvm.choose.criteria import (
    MOST_SAMPLED,
    NEAR_ENOUGH,
    agreement,
    best_of,
    distance,
    sets_of_equal_size,
    sets_until_enough,
)
from onlinesvm.core.lasvm.choose.selection import SelectiveLASVM, Urn

SELECTIVE = ("gradient", "active", "autoactive")


def noisy(n=3000, seed=0):
    """A task on which an SVM errs on about a tenth; test part last."""
    X, y = make_classification(
        n, 10, n_informative=6, n_redundant=0, flip_y=0.1, class_sep=1.0, random_state=seed
    )
    return X[:-1000], y[:-1000], X[-1000:], y[-1000:]


# --- criteria -------------------------------------------------------------------------------------


def test_distance_of_one_machine_is_the_absolute_value():
    values = np.array([0.5, -0.25, 2.0])
    np.testing.assert_array_equal(distance(values), [0.5, 0.25, 2.0])
    np.testing.assert_array_equal(distance(values[:, None]), [0.5, 0.25, 2.0])


def test_distance_of_several_machines_is_half_the_gap_of_the_two_best():
    values = np.random.RandomState(0).randn(50, 4)
    np.testing.assert_allclose(distance(values), boundary_distance(values))


def test_two_mirrored_machines_agree_with_one():
    f, label = np.random.RandomState(1).randn(40), np.random.RandomState(2).randint(2, size=40)
    both = np.stack([-f, f], axis=1)
    np.testing.assert_allclose(distance(both), distance(f))
    np.testing.assert_allclose(agreement(both, label), agreement(f, label))


def test_agreement_with_several_classes():
    values, label = np.array([[3.0, 1.0, 0.0], [3.0, 1.0, 2.5]]), np.array([0, 2])
    np.testing.assert_array_equal(agreement(values, label), [1.0, -0.25])


def test_autoactive_sets_end_with_the_fifth_near_example_or_the_hundredth():
    far = np.full(250, 9.0)
    assert sets_until_enough(far, 1.0, 9) == [(0, MOST_SAMPLED), (MOST_SAMPLED, 2 * MOST_SAMPLED)]
    near = np.zeros(23)
    assert sets_until_enough(near, 1.0, 9) == [(i, i + NEAR_ENOUGH) for i in (0, 5, 10, 15)]
    assert sets_until_enough(near, 1.0, 2) == [(0, 5), (5, 10)]
    assert sets_until_enough(far[:30], 1.0, 9) == [(0, 30)]


def test_best_of_each_set():
    scores = np.array([3.0, 1.0, 2.0, 0.5, 0.7])
    np.testing.assert_array_equal(best_of(scores, sets_of_equal_size(5, 3)), [1, 3])


def test_an_urn_draws_by_weight_and_never_what_was_removed():
    rng, urn = np.random.RandomState(0), Urn(np.array([1.0, 0.0, 3.0, 1.0]))
    urn.remove(np.array([3]))
    urn._left = 10**9  # never "all of them"
    drawn = urn.draw(4000, rng)
    assert set(drawn.tolist()) == {0, 2}
    assert abs(np.mean(drawn == 2) - 0.75) < 0.03


def test_an_urn_with_few_left_gives_them_all_and_then_none():
    rng, urn = np.random.RandomState(0), Urn(np.ones(100))
    urn.remove(np.arange(90))
    assert sorted(urn.draw(50, rng)) == list(range(90, 100))
    urn.remove(np.arange(90, 100))
    assert len(urn.draw(50, rng)) == 0


# --- the procedure of section 4.3 -----------------------------------------------------------------


@pytest.mark.parametrize("delta_max", [np.inf, 1.5])
@pytest.mark.parametrize("selection", SELECTIVE)
def test_step_by_step_it_is_the_listing(selection, delta_max):
    """Same candidates: every choice is the twin's, and every coefficient to the last bit."""
    X, y = make_moons(400, noise=0.3, random_state=3)
    lock = Lockstep(X, y, C=5.0)
    lock.learner = SelectiveLASVM(
        lock.kernel, lock.data.rows, 2, block_size=1, selection=selection, sample_size=20,
        cache_size=1.0, delta_max=delta_max,
    )  # fmt: skip
    machine = lock.twin.machines[0]
    seen = []
    urn = Urn(lock.data.bound, 120)
    draw = urn.draw
    urn.draw = lambda count, rng: seen.append(draw(count, rng)) or seen[-1]
    for step, chosen in enumerate(lock.learner.choose(lock.data, np.random.RandomState(0), urn)):
        if step:
            assert len(chosen) == 1
            assert chosen[0] == CHOICES[selection](machine, seen[-1].tolist())
        for k in chosen.tolist():
            visit(lock.twin, k, delta_max)
        lock.compare_machine(0)
    assert step == 120 - 10  # after ten seeds, one by one
    assert lock.learner.choices()[1] == 120


def visit(twin, k, delta_max):
    """One online iteration of section 3.5: REPROCESS until delta < delta_max."""
    if twin.is_seed(k):
        twin.seed(k)
        return
    machine = twin.machines[0]
    machine.process(k)
    while machine.reprocess() and machine.delta >= delta_max:
        pass


def test_the_loops_repeat_reprocess_until_delta_max():
    X, y = make_moons(300, noise=0.3, random_state=0)
    lock = Lockstep(X, y, C=10.0)
    lock.learner.delta_max = 0.5
    for k in np.random.RandomState(0).permutation(300):
        lock.visit(k)
        visit(lock.twin, k, 0.5)
        lock.compare()
        if not lock.learner.seeds.any():
            assert lock.a.delta[0] < 0.5


@pytest.mark.parametrize("block_size", [1, 256])
def test_delta_max_leaves_a_small_delta_behind(block_size):
    X, y, _, _ = noisy()
    rough, fine = (
        LASVMClassifier(C=10, block_size=block_size, delta_max=d).partial_fit(X[:1000], y[:1000])
        for d in (None, 0.1)
    )
    assert (
        fine._trained.learner.support.a.delta[0] < 0.1 < rough._trained.learner.support.a.delta[0]
    )


def test_look_ahead_chooses_within_the_noise_of_sampling():
    """Error and support of the block form are those of the exact procedure, over six seeds."""
    X, y, X_test, y_test = noisy(6000)
    found = {}
    for block_size in (1, 2048):
        models = [
            LASVMClassifier(
                C=10, gamma=0.1, selection="active", sample_size=50, max_examples=600,
                block_size=block_size, random_state=seed,
            ).fit(X, y)
            for seed in range(6)
        ]  # fmt: skip
        error = [1 - m.score(X_test, y_test) for m in models]
        support = [m.n_support_.sum() for m in models]
        found[block_size] = np.mean(error), np.std(error) / np.sqrt(6), np.mean(support)
    exact, ahead = found[1], found[2048]
    assert abs(exact[0] - ahead[0]) < 3 * np.hypot(exact[1], ahead[1]) + 0.002
    assert abs(exact[2] / ahead[2] - 1) < 0.2


def test_a_choice_made_ahead_is_still_among_the_best_of_its_sample():
    """Judged again when all others of the same look are learned, the last chosen ranks high."""
    X, y, _, _ = noisy(6000)
    model = LASVMClassifier(C=10, gamma=0.1, selection="active", max_examples=500, random_state=0)
    learner = model.fit(X, y)._trained.learner
    data = model._trained.examples(X, y, np.full(len(y), model.C))
    urn, rng, ranks = Urn(data.bound), np.random.RandomState(1), []
    urn.remove(model.support_)
    for _ in range(20):
        steps = learner._ahead()
        assert steps >= 15
        candidates = urn.draw(50 * steps, rng)
        chosen = best_of(learner._judge(data.take(candidates)), sets_of_equal_size(50 * steps, 50))
        later = deepcopy(learner)
        later._learn_chosen(data.take(np.unique(candidates[chosen[:-1]])), np.empty(0))
        last = distance(later.score(data.rows.take(candidates[-50:])))
        ranks.append((last < last[chosen[-1] - 50 * (steps - 1)]).sum())
    # Of 50: the best of the moment would have rank 0, a random one 24.5 on average.
    assert np.mean(ranks) < 6


# --- fit ------------------------------------------------------------------------------------------


def test_active_selection_needs_a_fraction_of_labels_and_support_vectors():
    X, y, X_test, y_test = noisy(6000)
    exact = SVC(C=10, gamma=0.1).fit(X, y)
    model = LASVMClassifier(C=10, gamma=0.1, selection="active", max_examples=700, random_state=0)
    model.fit(X, y)
    assert model.n_iter_ == 700
    assert model.n_support_.sum() < 0.5 * exact.n_support_.sum()
    assert model.score(X_test, y_test) > exact.score(X_test, y_test) - 0.02


def test_gradient_selection_suffers_from_noisy_labels():
    X, y, X_test, y_test = noisy(6000)
    scores = {
        selection: np.mean(
            [
                LASVMClassifier(
                    C=10, gamma=0.1, selection=selection, max_examples=600, random_state=seed
                )
                .fit(X, y)
                .score(X_test, y_test)
                for seed in range(3)
            ]
        )
        for selection in ("gradient", "active", "autoactive")
    }
    assert scores["gradient"] < min(scores["active"], scores["autoactive"]) - 0.02


@pytest.mark.parametrize("selection", SELECTIVE)
@pytest.mark.parametrize("block_size", [1, 2048])
def test_without_a_limit_every_example_is_processed_once(selection, block_size):
    X, y = make_moons(300, noise=0.2, random_state=0)
    model = LASVMClassifier(selection=selection, block_size=block_size, random_state=0).fit(X, y)
    assert model.n_iter_ == model.n_learned_ == 300
    assert model.n_looked_at_ >= 290
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("selection", SELECTIVE)
def test_several_classes(selection):
    X, y = load_digits(return_X_y=True)
    model = LASVMClassifier(C=10, selection=selection, max_examples=500, random_state=0)
    assert model.fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.9
    assert model.n_iter_ == 500


def test_selection_then_convergence_is_the_exact_svm():
    X, y, X_test, _ = noisy(1500)
    model = LASVMClassifier(C=2, gamma=0.1, selection="active", epochs="converge", random_state=0)
    exact = SVC(C=2, gamma=0.1).fit(X, y)
    difference = model.fit(X, y).decision_function(X_test) - exact.decision_function(X_test)
    assert abs(difference).max() < 0.02


def test_two_epochs_go_over_the_examples_again():
    X, y = make_moons(200, noise=0.2, random_state=0)
    for block_size in (1, 2048):
        model = LASVMClassifier(selection="active", epochs=2, block_size=block_size, random_state=0)
        assert model.fit(X, y).n_iter_ == 400
        assert len(np.unique(model.support_)) == len(model.support_)


def test_svcs_limit_of_iterations_is_no_limit_of_examples():
    """A ported ``SVC(max_iter=1000)`` must not silently learn 1,000 examples."""
    X, y = make_moons(1500, noise=0.2, random_state=0)
    assert LASVMClassifier(max_iter=1000, random_state=0).fit(X, y).n_iter_ >= 1500


@pytest.mark.parametrize("selection", ["random", "active"])
def test_max_examples_limits_what_is_learned(selection):
    X, y, _, _ = noisy()
    model = LASVMClassifier(selection=selection, max_examples=150, random_state=0).fit(X, y)
    assert model.n_iter_ == 150
    assert model.n_support_.sum() <= 150


def test_random_with_a_limit_is_the_plain_algorithm_on_fewer_examples():
    X, y, X_test, _ = noisy()
    limited = LASVMClassifier(C=10, max_examples=500, shuffle=False).fit(X, y)
    fewer = LASVMClassifier(C=10, gamma=limited._trained.kernel.gamma, shuffle=False).fit(
        X[:500], y[:500]
    )
    np.testing.assert_allclose(
        limited.decision_function(X_test), fewer.decision_function(X_test), atol=5e-3
    )


def test_heavier_examples_are_looked_at_more_often():
    """An example of weight three is drawn like three copies of it."""
    X, y, _, _ = noisy()
    weight = np.where(np.arange(len(y)) < 1000, 9.0, 1.0)
    model = LASVMClassifier(C=0.1, selection="autoactive", max_examples=300, random_state=0)
    support = model.fit(X, y, sample_weight=weight).support_
    assert np.mean(support < 1000) > 0.75


def test_the_same_seed_gives_the_same_model():
    X, y, X_test, _ = noisy()
    first, second = (
        LASVMClassifier(selection="active", max_examples=200, random_state=3).fit(X, y)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.decision_function(X_test), second.decision_function(X_test))


# --- early stopping -------------------------------------------------------------------------------


@pytest.mark.parametrize("selection", ["random", "active"])
def test_stops_when_no_unseen_example_lies_inside_the_margin(selection):
    rng = np.random.RandomState(0)
    X = np.r_[rng.randn(2000, 2) * 0.3 - 3, rng.randn(2000, 2) * 0.3 + 3]
    y = np.repeat([0, 1], 2000)
    model = LASVMClassifier(
        C=10, gamma=0.05, selection=selection, early_stopping="margin", block_size=64,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.n_iter_ < len(y) / 2
    assert model.score(X, y) == 1.0
    unseen = np.setdiff1d(np.arange(4000), model.support_)
    assert (abs(model.decision_function(X[unseen])) >= 0.7).all()


def test_does_not_stop_while_the_margin_is_full():
    X, y, _, _ = noisy(1500)
    for limit in (100, 200):
        settings = {"C": 0.1, "selection": "active", "max_examples": limit, "random_state": 0}
        model = LASVMClassifier(early_stopping="margin", **settings).fit(X, y)
        assert model.n_iter_ == limit


@pytest.mark.parametrize("selection", ["random", "active"])
def test_stops_when_the_support_set_stalls(selection):
    X, y = make_moons(5000, noise=0.1, random_state=0)
    model = LASVMClassifier(
        C=10, gamma=2.0, selection=selection, early_stopping="support", n_iter_no_change=3,
        block_size=64, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.n_iter_ < 4000
    assert model.score(X, y) > 0.98


@pytest.mark.parametrize("selection", ["random", "autoactive"])
def test_stops_when_the_validation_score_does(selection):
    X, y, X_test, y_test = noisy(6000)
    model = LASVMClassifier(
        C=1, gamma=0.1, selection=selection, early_stopping="score", n_iter_no_change=4,
        validation_fraction=0.2, block_size=128, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.n_iter_ < 3900
    assert model.score(X_test, y_test) > 0.8


def test_examples_held_out_are_never_learned():
    from onlinesvm.estimators._progress import hold_out

    X, y, _, _ = noisy(1500)
    held = hold_out(y, 0.3, np.random.RandomState(7))
    assert abs(len(held) - 150) <= 2
    assert abs(y[held].mean() - y.mean()) < 0.02
    for selection in ("random", "active"):
        model = LASVMClassifier(
            selection=selection, early_stopping="score", validation_fraction=0.3, epochs=2,
            n_iter_no_change=1000, random_state=7,
        ).fit(X, y)  # fmt: skip
        assert not np.isin(model.support_, held).any()
        assert model.n_iter_ == 2 * (len(y) - len(held))


@pytest.mark.parametrize(
    "setting", [{"max_examples": 10}, {"early_stopping": "support"}, {"budget": 50}]
)
def test_convergence_allows_no_limit(setting):
    X, y = make_moons(100, random_state=0)
    with pytest.raises(ValueError, match="cannot be combined"):
        LASVMClassifier(epochs="converge", **setting).fit(X, y)


@pytest.mark.parametrize(
    "setting",
    [
        {"selection": "best"},
        {"sample_size": 0},
        {"max_examples": 0},
        {"early_stopping": "loss"},
        {"delta_max": 0.0},
        {"validation_fraction": 1.0},
        {"n_iter_no_change": 0},
    ],
)
def test_bad_settings_are_refused(setting):
    X, y = make_moons(100, random_state=0)
    with pytest.raises(ValueError, match=next(iter(setting))):
        LASVMClassifier(**setting).fit(X, y)


# --- a stream -------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [1, 100])
def test_a_stream_skips_what_is_far_from_the_boundary(piece):
    X, y = make_moons(1800, noise=0.15, random_state=0)
    model = LASVMClassifier(C=10, gamma=1.0, selection="active", delta_max=0.5)
    for start in range(0, 800, piece):
        part = slice(start, start + piece)
        model.partial_fit(X[part], y[part])
    assert model.n_looked_at_ == 800
    assert 10 <= model.n_learned_ < 500
    assert model.score(X[800:], y[800:]) > 0.97


def test_what_is_skipped_changes_nothing():
    X, y = make_moons(1000, noise=0.1, random_state=0)
    model = LASVMClassifier(C=10, gamma=1.0, selection="active", delta_max=0.5)
    model.partial_fit(X[:500], y[:500])
    values = model.decision_function(X)
    far = np.flatnonzero(abs(values) > 1 + model._trained.learner.support.a.delta[0] / 2)[:20]
    assert len(far) == 20
    learned = model.n_learned_
    model.partial_fit(X[far], 1 - y[far])  # wrong labels, but nobody looks at them
    assert model.n_learned_ == learned
    np.testing.assert_array_equal(model.decision_function(X), values)


def test_gradient_on_a_stream_learns_what_violates():
    X, y = make_moons(1000, noise=0.1, random_state=0)
    model = LASVMClassifier(C=10, gamma=1.0, selection="gradient", delta_max=0.5)
    model.partial_fit(X[:500], y[:500])
    far = np.flatnonzero(abs(model.decision_function(X)) > 1.3)[:1]
    learned = model.n_learned_
    model.partial_fit(X[far], y[far])
    assert model.n_learned_ == learned
    model.partial_fit(X[far], 1 - y[far])
    assert model.n_learned_ == learned + 1


def test_a_stream_learns_a_label_it_has_never_seen():
    X, y = load_digits(n_class=3, return_X_y=True)
    model = LASVMClassifier(C=10, gamma=0.001, selection="active")
    order = np.argsort(y, kind="stable")  # the last class comes late
    for start in range(0, len(y), 20):
        part = order[start : start + 20]
        model.partial_fit(X[part], y[part])
    assert set(model.classes_) == {0, 1, 2}
    assert (model.predict(X[y == 2]) == 2).mean() > 0.8


def test_counts_belong_to_a_selection():
    X, y = make_moons(100, random_state=0)
    with pytest.raises(AttributeError, match="selection"):
        LASVMClassifier().fit(X, y).n_learned_


def test_early_stopping_by_score_of_classes_of_one_example_is_refused_with_a_remedy():
    with pytest.raises(ValueError, match="no class has two: use early_stopping='margin'"):
        LASVMClassifier(early_stopping="score").fit([[0.0], [1.0]], [0, 1])
