"""StreamSVM: each step against vectors written out, radii, the l2-SVM, constant state."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive.streamsvm import NaiveStreamSVM, feature_map, lift, one_ball, smallest_ball
from scipy import sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.preprocessing import Normalizer, normalize
from sklearn.svm import LinearSVC

from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.streamsvm.balls import N
from onlinesvm.core.streamsvm.enclosing_ball import enclose
from onlinesvm.estimators.streamsvm import StreamSVMClassifier


def problem(n, seed, d=4):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = rng.standard_normal((n, d)) + 0.8 * y[:, None]
    return X.astype(np.float32).astype(float), y


def written_out(X, y, C, kernel, unit=True):
    """phi and z of all examples, of unit length unless told otherwise."""
    rows = Rows.of(X)
    K = kernel.block(rows, rows).astype(float)
    K = (K + K.T) / 2
    length = np.sqrt(np.diag(K)) if unit else np.ones(len(y))
    K = K / np.outer(length, length)
    phi = X / length[:, None] if kernel.name == "linear" else feature_map(K)
    return phi, lift(phi, y, C)


# -- the twin --------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [Kernel("linear"), Kernel("rbf", 0.3)], ids=lambda k: k.name)
@pytest.mark.parametrize(("n_balls", "merge"), [(1, "all"), (4, "all"), (1, "pair"), (3, "pair")])
def test_every_step_equals_the_twin(kernel, n_balls, merge):
    X, y = problem(36, 1)
    C = 2.0
    phi, Z = written_out(X, y, C, kernel)
    twin = NaiveStreamSVM(n_balls, merge)
    model = StreamSVMClassifier(
        C=C, n_balls=n_balls, merge=merge, kernel=kernel.name, gamma=kernel.gamma
    )
    for k in range(36):
        model.partial_fit(X[k : k + 1], y[k : k + 1], classes=[-1, 1])
        twin.learn(Z[k])
        b = model._trained.learner.balls[0]
        n = b.state[N]
        assert n == len(twin.balls)
        centres, radii = (np.array(part) for part in zip(*twin.balls))
        np.testing.assert_allclose(b.radius[:n], radii, atol=2e-5)
        w, axes = centres[:, : phi.shape[1]], centres[:, phi.shape[1] :]
        np.testing.assert_allclose(b.own_axes[:n], (axes**2).sum(axis=1), atol=2e-5)
        np.testing.assert_allclose(b.gram[:n, :n], w @ w.T, atol=2e-5)
        centre, radius = smallest_ball(centres, radii)
        assert model.radius_[0] == pytest.approx(radius, abs=2e-5)
        values = phi @ centre[: phi.shape[1]] / (centre @ centre)
        np.testing.assert_allclose(model.decision_function(X), values, atol=2e-3)
    assert model.n_support_.sum() > n_balls + 2


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_one_ball_is_the_update_of_the_text(C):
    X, y = problem(300, 2)
    _, Z = written_out(X, y, C, Kernel("linear"))
    centre, radius = one_ball(Z)
    model = StreamSVMClassifier(C=C, n_balls=1).partial_fit(X, y)
    assert model.radius_[0] == pytest.approx(radius, rel=1e-5)
    w = centre[:4]
    np.testing.assert_allclose(model.coef_[0], w / (centre @ centre), rtol=1e-3, atol=1e-5)


@given(st.integers(0, 10_000), st.integers(1, 7), st.integers(1, 4))
def test_smallest_ball_around_balls(seed, n, d):
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((n, d))
    radii = rng.uniform(0, 1, n) * (rng.random(n) < 0.5)
    weight = np.zeros(n)
    R = enclose(centres @ centres.T, np.zeros(n), radii, n, weight)
    c = weight @ centres
    assert weight.sum() == pytest.approx(1.0)
    assert (np.linalg.norm(centres - c, axis=1) + radii).max() == pytest.approx(R, abs=1e-7)
    assert smallest_ball(centres, radii)[1] == pytest.approx(R, rel=1e-5, abs=1e-6)


def test_blocks_equal_one_by_one():
    X, y = problem(700, 4)
    for merge in ("all", "pair"):
        whole = StreamSVMClassifier(n_balls=6, merge=merge).partial_fit(X, y)
        parts = StreamSVMClassifier(n_balls=6, merge=merge)
        for start in range(0, 700, 13):
            parts.partial_fit(X[start : start + 13], y[start : start + 13])
        np.testing.assert_allclose(whole.coef_, parts.coef_, rtol=1e-3, atol=1e-4)


# -- radius and solution ---------------------------------------------------------------------


def exact_radius(X, y, C):
    """R^2 = 1 + 1/C - |c|^2, and the l2-SVM has 1 / |c|^2 = |w|^2 + C sum slack^2."""
    svm = LinearSVC(C=C / 2, fit_intercept=False, tol=1e-12, max_iter=1_000_000).fit(X, y)
    slack = np.maximum(0, 1 - y * (X @ svm.coef_[0]))
    return np.sqrt(1 + 1 / C - 1 / (svm.coef_[0] @ svm.coef_[0] + C * slack @ slack))


def test_radius_within_the_proven_factor_and_closer_with_more_balls():
    ratios = []
    for seed in range(8):
        X, y = problem(60, seed, d=3)
        exact = exact_radius(normalize(X), y, 1.0)
        row = []
        for n_balls in (1, 4, 16, 64):
            model = StreamSVMClassifier(n_balls=n_balls).partial_fit(X, y)
            row.append(model.radius_[0] / exact)
        ratios.append(row)
    assert np.max(np.array(ratios)[:, 0]) <= 1.5
    mean = np.mean(ratios, axis=0)
    assert (np.diff(mean) < 0).all()
    assert mean[0] > 1.05
    np.testing.assert_allclose(np.array(ratios)[:, -1], 1.0, atol=1e-5)  # 64 balls: all wait


@pytest.mark.parametrize("merge", ["all", "pair"])
def test_the_ball_encloses_all_examples(merge):
    X, y = problem(400, 3)
    _, Z = written_out(X, y, 0.5, Kernel("linear"))
    model = StreamSVMClassifier(C=0.5, n_balls=5, merge=merge).partial_fit(X, y)
    w = model.coef_[0] * model._trained.learner.final()[1][0]
    slack = model._trained.learner.final()[1][0] - w @ w
    # the farthest an example may be: those that entered share an axis with the centre
    distance = np.sqrt(((Z[:, :4] - w) ** 2).sum(axis=1) + slack + 2.0)
    inside = distance <= model.radius_[0] + 1e-5
    assert (~inside).sum() <= model.n_support_.sum()
    assert inside.mean() > 0.8


def test_enough_balls_give_the_l2_svm():
    X, y = problem(80, 5)
    X = normalize(X)
    for C in (0.3, 10.0):
        model = StreamSVMClassifier(C=C, n_balls=100).fit(X, y)
        exact = LinearSVC(C=C / 2, fit_intercept=False, tol=1e-10, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(model.coef_, exact.coef_, rtol=2e-3, atol=1e-3)


def test_more_balls_learn_digits_better():
    X, y = load_digits(return_X_y=True)
    A, b = X[np.isin(y, (8, 9))], y[np.isin(y, (8, 9))]
    score = {}
    for n_balls in (1, 8, 100):
        models = [StreamSVMClassifier(C=10, n_balls=n_balls, random_state=s) for s in range(5)]
        scores = [m.fit(A[:250], b[:250]).score(A[250:], b[250:]) for m in models]
        score[n_balls] = np.mean(scores)
    exact = LinearSVC(C=5, fit_intercept=False).fit(normalize(A[:250]), b[:250])
    assert score[100] >= exact.score(normalize(A[250:]), b[250:]) - 0.03
    assert score[100] > score[8] + 0.03
    assert score[8] > score[1] + 0.1


# -- state -----------------------------------------------------------------------------------


def test_state_does_not_grow_with_the_stream():
    rng = np.random.default_rng(0)
    model = StreamSVMClassifier(n_balls=8)
    sizes, pickles = [], []
    for n in (1_000, 100_000):
        y = rng.integers(2, size=n)
        model.partial_fit(rng.standard_normal((n, 20)) + y[:, None], y)
        sizes.append(model._trained.learner.state_size)
        pickles.append(len(pickle.dumps(model._trained.learner.centres.table)))
    assert sizes[0] == sizes[1]
    assert pickles[0] == pickles[1]
    assert model._trained.learner.centres.table.shape == (8, 20)


def test_other_kernels_keep_what_entered():
    X, y = problem(500, 6)
    model = StreamSVMClassifier(kernel="rbf", gamma=0.3, n_balls=4).partial_fit(X, y)
    assert len(model.support_vectors_) <= model.n_support_.sum() < 250
    values = np.exp(-0.3 * ((X[:, None] - model.support_vectors_[None]) ** 2).sum(axis=2))
    np.testing.assert_allclose(values @ model.dual_coef_[0], model.decision_function(X), atol=1e-4)
    with pytest.raises(AttributeError, match="linear kernel"):
        model.coef_


# -- kinds of input --------------------------------------------------------------------------


def test_normalize_scales_rows_to_unit_norm():
    X, y = problem(300, 7)
    scale = np.random.default_rng(0).uniform(0.1, 10, 300)[:, None]
    a = StreamSVMClassifier(n_balls=5).partial_fit(X, y)
    b = StreamSVMClassifier(n_balls=5).partial_fit(X * scale, y)
    c = StreamSVMClassifier(n_balls=5, normalize=False).partial_fit(normalize(X), y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(a.coef_, c.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(
        a.decision_function(X), c.decision_function(normalize(X)), rtol=1e-3, atol=1e-4
    )


def test_sparse_equals_dense_and_seeds_reproduce():
    X, y = problem(400, 8)
    X[np.abs(X) < 0.3] = 0
    X[:, 0] += 0.01
    dense = StreamSVMClassifier(n_balls=4, random_state=0).fit(X, y)
    same = StreamSVMClassifier(n_balls=4, random_state=0).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(dense.coef_, same.coef_.toarray(), rtol=1e-3, atol=1e-4)
    again = StreamSVMClassifier(n_balls=4, random_state=0).fit(X, y)
    other = StreamSVMClassifier(n_balls=4, random_state=1).fit(X, y)
    assert (dense.coef_ == again.coef_).all()
    assert (dense.coef_ != other.coef_).any()


def test_precomputed_and_callable_kernels():
    X, y = problem(120, 9)
    T = problem(40, 10)[0]

    def cubic(A, B):
        return (A @ B.T + 1) ** 3

    options = {"n_balls": 4, "random_state": 0}
    a = StreamSVMClassifier(kernel="poly", gamma=1.0, coef0=1.0, **options).fit(X, y)
    b = StreamSVMClassifier(kernel=cubic, **options).fit(X, y)
    c = StreamSVMClassifier(kernel="precomputed", **options).fit(cubic(X, X), y)
    np.testing.assert_allclose(a.decision_function(T), b.decision_function(T), atol=1e-3)
    assert (a.predict(T) == c.predict(cubic(T, X))).all()


def test_kernel_values_are_counted_while_learning_only():
    X, y = problem(2000, 2)
    model = StreamSVMClassifier(n_balls=4).partial_fit(X, y)
    seen = model.n_kernel_evaluations_
    assert 2000 * 4 <= seen < 2000 * 40
    model.predict(X)
    assert model.n_kernel_evaluations_ == seen


# -- streams ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_new_labels_in_mid_stream(kernel):
    X, y = make_blobs(1200, centers=4, n_features=8, cluster_std=0.5, random_state=0)
    names = np.array(["d", "a", "c", "b"])[y]
    model = StreamSVMClassifier(kernel=kernel, gamma=0.05, n_balls=32)
    for label in (0, 1, 2, 3):
        keep = (y <= label) & (np.arange(1200) % 5 == label)
        model.partial_fit(X[keep], names[keep])
        assert len(model.classes_) == label + 1
    model.partial_fit(X[600:], names[600:])
    assert model.score(X, names) > 0.8  # the fourth label came late, against balls made before
    assert model.radius_.shape == (4,)


def test_two_classes_become_two_machines():
    X, y = problem(200, 3)
    model = StreamSVMClassifier(n_balls=4).partial_fit(X, y)
    before = model.decision_function(X)
    model.partial_fit(X[:1], [7])
    learner = model._trained.learner
    np.testing.assert_allclose(learner.balls[0].radius, learner.balls[1].radius, atol=0.1)
    assert model.decision_function(X).shape == (200, 3)
    close = np.corrcoef(model.decision_function(X)[:, 1], before)[0, 1]
    assert close > 0.9


# -- bad input -------------------------------------------------------------------------------


def test_bad_input_changes_nothing():
    X, y = problem(60, 1)
    model = StreamSVMClassifier(n_balls=4).partial_fit(X, y)
    before = model.coef_
    broken = X.copy()
    broken[3, 1] = np.inf
    cases = [
        (broken, y, "infinity"),
        (X[:, :2], y, "2 features"),
        (X, np.array([None] * 60), "label|None"),
        (X, ["a"] * 60, "Mix of label"),
    ]
    for bad, labels, words in cases:
        with pytest.raises((ValueError, TypeError), match=words):
            model.partial_fit(bad, labels)
    with pytest.raises(ValueError, match="does not support sample_weight: it has no cost"):
        model.partial_fit(X, y, sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="greater than one"):
        StreamSVMClassifier().fit(X, np.ones(60))
    with pytest.raises(ValueError, match=r"k\(x, x\) of row 0 is negative"):
        StreamSVMClassifier(kernel="sigmoid", gamma=1.0, coef0=-1e3).fit(X, y)
    assert (model.coef_ == before).all()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_rows_of_zeros_stay_zero_as_normalizer_leaves_them(form):
    X, y = problem(60, 1)
    X[[0, 5, 40]] = 0.0
    unit = Normalizer().fit_transform(X)
    ours = StreamSVMClassifier(n_balls=4, shuffle=False).fit(form(X), y)
    same = StreamSVMClassifier(n_balls=4, shuffle=False, normalize=False).fit(form(unit), y)
    difference = ours.coef_ - same.coef_
    np.testing.assert_allclose(np.abs(difference).max(), 0.0, atol=1e-5)
    np.testing.assert_allclose(
        ours.decision_function(form(X)), same.decision_function(form(unit)), atol=1e-5
    )
    assert (ours.decision_function(np.zeros((1, 4))) == 0).all()


# -- the paper's table, where the data is ----------------------------------------------------


def test_mnist_0_against_1(data_dir):
    with np.load(data_dir / "mnist.npz") as z:
        parts = [z[name] for name in ("X_train", "y_train", "X_test", "y_test")]
    keep = [parts[1] < 2, parts[3] < 2]
    X, T = parts[0][keep[0]].astype(np.float32), parts[2][keep[1]].astype(np.float32)
    model = StreamSVMClassifier(C=10, random_state=0).fit(X, parts[1][keep[0]])
    assert model.score(T, parts[3][keep[1]]) >= 0.9971
