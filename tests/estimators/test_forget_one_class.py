"""LASVMOneClass.forget: the detector of the rows that are left, with nu of their number."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import OneClassSVM

from onlinesvm import LASVMOneClass, load_model

SETTINGS = {"nu": 0.2, "gamma": 0.3, "tol": 1e-4}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.r_[rng.normal(size=(550, 3)), rng.normal(size=(50, 3)) * 3]


def peer_of(X, weight=None, nu=0.2, gamma=0.3):
    return OneClassSVM(nu=nu, gamma=gamma, tol=1e-8).fit(X, sample_weight=weight)


def assert_same(model, peer, X, n, atol=2e-3):
    """Same decision function, in units of the offset, and same share of the rows outside."""
    ours, theirs = model.decision_function(X), peer.decision_function(X)
    edge = atol * peer.offset_  # rows with free coefficients lie on the edge, up to rounding
    assert np.abs(ours - theirs).max() <= edge
    assert abs(np.mean(ours < -edge) - np.mean(theirs < -edge)) <= 3 / n
    assert np.mean(ours < -edge) <= model.nu <= np.mean(ours < edge)


@pytest.mark.parametrize(
    "fit", [{"epochs": "converge"}, {}, {"epochs": "converge", "block_size": 64}]
)
@pytest.mark.parametrize("count", [1, 10, 100])
@pytest.mark.parametrize("which", ["support vectors", "others"])
def test_it_becomes_the_detector_of_the_rows_left(rows, fit, count, which):
    model = LASVMOneClass(**SETTINGS, **fit).fit(rows)
    others = np.setdiff1d(np.arange(len(rows)), model.support_)
    gone = (model.support_ if which == "support vectors" else others)[:count]
    left = np.setdiff1d(np.arange(len(rows)), gone)
    model.forget(gone, rows)
    assert_same(model, peer_of(rows[left]), rows[left], len(left))
    assert model.dual_coef_.sum() == pytest.approx(0.2 * len(left), rel=1e-9)
    report = model.forget_report_
    assert (report["forgotten"], report["lacking"], report["reached_tol"]) == (count, 0.0, True)
    assert report["support_vectors"] == (count if which == "support vectors" else 0)


def test_rows_that_are_not_stored_take_their_mass_along(rows):
    """Without X: what is not stored needs no look, but nu refers to it."""
    model = LASVMOneClass(**SETTINGS, epochs="converge").fit(rows)
    inner = np.setdiff1d(np.arange(len(rows)), model.support_)[:240]
    model.forget(inner)
    left = np.setdiff1d(np.arange(len(rows)), inner)
    assert model.dual_coef_.sum() == pytest.approx(0.2 * len(left), rel=1e-9)
    assert_same(model, peer_of(rows[left]), rows[left], len(left))


def test_all_support_vectors_may_go(rows):
    with_data = LASVMOneClass(**SETTINGS, epochs="converge").fit(rows)
    alone = LASVMOneClass(**SETTINGS, epochs="converge").fit(rows)
    gone = with_data.support_
    left = np.setdiff1d(np.arange(len(rows)), gone)
    with_data.forget(gone, rows)
    assert_same(with_data, peer_of(rows[left]), rows[left], len(left))
    alone.forget(gone)  # few rows are stored besides: they cannot carry the sum
    report = alone.forget_report_
    assert report["lacking"] > 0.1
    assert not report["reached_tol"]
    assert alone.fit_status_ == 1
    alone.partial_fit(rows[left])  # and it learns on
    assert np.mean(alone.predict(rows[left]) == 1) > 0.5


def test_everything_may_go(rows):
    for again in ((), (rows,)):
        model = LASVMOneClass(**SETTINGS).fit(rows)
        model.forget(np.arange(len(rows)), *again)
        assert len(model.support_) == 0
        assert (model.predict(rows) == -1).all()  # nothing is known, so everything is new
        model.partial_fit(rows)
        assert abs(np.mean(model.predict(rows) == -1) - 0.2) < 0.1


def test_weights_and_repeated_rows(rows):
    X = np.r_[rows[:200], rows[:50], rows[:50]]
    weight = np.random.default_rng(1).uniform(0.2, 3.0, len(X))
    weight[7] = 0.0
    model = LASVMOneClass(**SETTINGS, epochs="converge").fit(X, sample_weight=weight)
    with pytest.raises(ValueError, match="duplicate of an earlier example"):
        model.forget(210)
    with pytest.raises(ValueError, match="had weight 0"):
        model.forget(7)
    gone = np.unique(np.r_[model.support_[:20], 100:120])
    copies = [i for i in range(300) if (np.abs(X[gone] - X[i]).max(axis=1) == 0).any()]
    left = np.setdiff1d(np.arange(300), copies)
    model.forget(gone, X, sample_weight=weight)
    assert model.dual_coef_.sum() == pytest.approx(0.2 * weight[left].sum(), rel=1e-9)
    assert_same(model, peer_of(X[left], weight[left]), X[left], len(left))


def one_by_one(model, X):
    for x in X:
        model.learn_one(x)


def in_batches(model, X, size=37):
    for first in range(0, X.shape[0], size):
        model.partial_fit(X[first : first + size])


@pytest.mark.parametrize("learn", [one_by_one, in_batches])
@pytest.mark.parametrize("how", ["as it is", "pickle", "file"])
def test_a_stream(rows, learn, how, tmp_path):
    order = np.random.default_rng(2).permutation(len(rows))
    X = rows[order]
    model = LASVMOneClass(**SETTINGS).partial_fit(X[:100])
    learn(model, X[100:])
    if how == "pickle":
        model = pickle.loads(pickle.dumps(model))
    elif how == "file":
        model.save(tmp_path / "model")
        model = load_model(tmp_path / "model")
    gone = np.arange(50, 130)
    model.forget(gone)
    left = np.r_[:50, 130:600]
    assert model.dual_coef_.sum() == pytest.approx(0.2 * len(left), rel=1e-9)
    peer = peer_of(X[left])
    if learn is one_by_one:  # nearly all rows are stored
        assert_same(model, peer, X[left], len(left))
    else:  # rows well inside are not, and cannot come back
        edge = 0.01 * peer.offset_
        outside = np.mean(model.decision_function(X[left]) < -edge)
        assert abs(outside - np.mean(peer.decision_function(X[left]) < -edge)) < 0.08
    before = model.decision_function(X)
    model.forget(gone[:50])  # again: they take nothing a second time
    assert model.forget_report_["not_stored"] == list(range(50, 100))
    assert model.dual_coef_.sum() == pytest.approx(0.2 * len(left), rel=1e-9)
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-3 * model.offset_)


@pytest.mark.parametrize("learn", [one_by_one, in_batches])
@pytest.mark.parametrize(
    "limits", [{"window": 150}, {"half_life": 60.0}], ids=["window", "half-life"]
)
def test_a_window_is_that_of_its_other_examples(rows, learn, limits):
    X = rows[np.random.default_rng(2).permutation(len(rows))]
    model = LASVMOneClass(**SETTINGS, **limits)
    learn(model, X)
    gone = np.r_[100:120, 480:500, 560:590]
    model.forget(gone)
    first = 600 - model.window_
    left = np.setdiff1d(np.arange(max(first, 0), 600), gone)
    half_life = limits.get("half_life", np.inf)
    weight = 2.0 ** (-(599 - left) / half_life)
    if "window" in limits:
        assert_same(model, peer_of(X[left]), X[left], len(left))
    assert model.dual_coef_.sum() == pytest.approx(0.2 * weight.sum(), rel=1e-6)
    learn(model, X[:300])  # the masses of the forgotten ones do not leave a second time
    model.finish()
    if "window" in limits:
        assert_same(model, peer_of(X[150:300]), X[150:300], 150)
    times = np.setdiff1d(np.arange(900 - model.window_, 900), gone)
    total = model._trained.learner.support.a.mass[0]
    assert total == pytest.approx(0.2 * (2.0 ** (-(899 - times) / half_life)).sum(), rel=1e-6)


def test_all_rows_held_of_a_window_may_go(rows):
    X = rows[np.random.default_rng(2).permutation(len(rows))]
    model = LASVMOneClass(**SETTINGS, window=150)
    in_batches(model, X)
    support = model._trained.learner.support
    gone = -2 - support.a.key[: support.n]
    model.forget(gone)
    left = np.setdiff1d(np.arange(450, 600), gone)
    assert_same(model, peer_of(X[left]), X[left], len(left))
    model.forget(left)
    assert len(model.support_vectors_) == 0
    in_batches(model, X[:150])
    assert_same(model.finish(), peer_of(X[:150]), X[:150], 150)


@pytest.mark.parametrize(
    "limits", [{"budget": 60}, {"budget": 60, "policy": "join"}, {"budget": 60, "window": 200}]
)
def test_a_budget(rows, limits):
    X = rows[np.random.default_rng(2).permutation(len(rows))]
    model = LASVMOneClass(**SETTINGS, **limits)
    in_batches(model, X)
    learner = model._trained.learner
    keys = learner.support.a.key[: learner.n].copy()
    gone = -2 - keys[::4]
    before = learner.support.a.mass[0]
    model.forget(gone)
    learner = model._trained.learner
    a, support = learner.support.a, learner.support
    assert not set(-2 - gone) & set(a.key[: learner.n])
    assert support.alpha().sum() == pytest.approx(a.mass[0], rel=1e-9)
    assert 0.5 * before < a.mass[0] < before
    K = learner.kernel.block(support.rows(), support.rows()).astype(float)
    np.testing.assert_allclose(a.grad[:, : learner.n], -support.alpha() @ K, atol=1e-4)
    np.testing.assert_allclose(learner.values.square(), K, atol=1e-5)
    assert model.forget_report_["gap"] <= SETTINGS["tol"] * learner.unit[0]
    in_batches(model, X[:200])
    assert 0.05 < np.mean(model.predict(X) == -1) < 0.6


def test_wrong_keys_change_nothing(rows):
    fitted = LASVMOneClass(**SETTINGS).fit(rows)
    streamed = LASVMOneClass(**SETTINGS).partial_fit(rows)
    for model in (fitted, streamed):
        before = model.decision_function(rows)
        for indices, message in (
            ([0, 0], "twice"), (-1, "never learned"), (600, "never learned"), (0.5, "integer"),
        ):  # fmt: skip
            with pytest.raises(ValueError, match=message):
                model.forget(indices)
        np.testing.assert_array_equal(model.decision_function(rows), before)
    before = fitted.decision_function(rows)
    for others in (rows[:100], rows[::-1]):
        with pytest.raises(ValueError, match="those given to fit"):
            fitted.forget(3, others)
    np.testing.assert_array_equal(fitted.decision_function(rows), before)
    with pytest.raises(ValueError, match="learned a stream: leave X out"):
        streamed.forget(3, rows)
    fitted.forget(5)
    with pytest.raises(ValueError, match="forgotten already"):
        fitted.forget(5)
    fitted._trained.learner.counted = None  # as in a file of an earlier version
    with pytest.raises(ValueError, match="earlier version of onlinesvm"):
        fitted.forget(6)


def test_to_forget_nothing_changes_nothing(rows):
    model = LASVMOneClass(**SETTINGS, epochs="converge").fit(rows)
    before = model.decision_function(rows)
    model.forget([])
    np.testing.assert_allclose(model.decision_function(rows), before, atol=1e-3 * model.offset_)


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
@pytest.mark.parametrize(
    "limits", [{}, {"window": 150}, {"budget": 60}], ids=["all", "window", "budget"]
)
def test_no_file_holds_a_byte_of_the_row(rows, form, limits, tmp_path):
    X = rows[np.random.default_rng(2).permutation(len(rows))]
    model = LASVMOneClass(**SETTINGS, **limits)
    in_batches(model, form(X))
    support = model._trained.learner.support
    centre = model._trained.centre

    def found(number):
        model.save(tmp_path / "model")
        data = (tmp_path / "model").read_bytes() + pickle.dumps(model)
        made = (X[number], X[number] if centre is None else X[number] - centre)
        return any(row.astype(kind).tobytes() in data for row in made for kind in ("f4", "f8"))

    for number in (-2 - support.a.key[: support.n])[-3:]:
        assert found(number)
        model.forget(int(number))
        assert not found(number)
    in_batches(load_model(tmp_path / "model"), form(X[:50]))  # the file is in order


def test_p_values_are_ranks_among_the_rows_left(rows):
    """The far rows are forgotten: a row like them is a novelty by far fewer of the values kept."""
    X = rows[np.random.default_rng(2).permutation(len(rows))]
    far = np.flatnonzero(np.abs(X).max(axis=1) > 3)
    model = LASVMOneClass(**SETTINGS)
    in_batches(model, X)
    one_by_one(model, X[:20])
    watch = model._trained.learner.watch
    assert watch.n + len(watch.waiting) > 500
    model.forget(far)
    watch = model._trained.learner.watch
    assert not set(-2 - far) & set(watch.key.tolist())
    assert model.p_values(X[far] * 1.5).max() < 0.02
    usual = np.random.default_rng(5).normal(size=(500, 3))
    assert np.mean(model.p_values(usual) <= 0.1) < 0.16


ROUND_ZERO = np.array([
    [-0.7, 0, 0], [0, 3.397, 0], [0, 0, 0], [0.581, 1.518, 1.998], [-1.324, -2.194, 0],
    [0, 0, -1.064], [-0.411, -0.131, -0.255], [0, 0, 0], [0, 0.488, -2.415],
])  # fmt: skip


@pytest.mark.parametrize("block_size", [1, 2048])
@pytest.mark.parametrize("gone", [[0, 2, 4, 6, 8], [0, 1, 2, 3], [5, 6, 7, 8], [1, 2, 5, 6]])
def test_an_offset_that_is_zero_but_for_rounding(gone, block_size):
    """Zero lies within the rows, and the kernel is linear: the unit was 1e-60, and all values were NaN."""
    model = LASVMOneClass(kernel="linear", nu=0.05, block_size=block_size)
    for part in np.split(ROUND_ZERO, [2, 5]):
        model.partial_fit(part)
    model.forget(gone)
    rest = np.delete(ROUND_ZERO, gone, axis=0)
    exact = OneClassSVM(kernel="linear", nu=0.05, tol=1e-9).fit(rest)
    for found in (model, model.finish()):
        values = found.decision_function(ROUND_ZERO)
        assert np.isfinite(values).all()
    np.testing.assert_allclose(values, exact.decision_function(ROUND_ZERO), atol=2e-3)
