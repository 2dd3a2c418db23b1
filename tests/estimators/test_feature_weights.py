"""Weights of features: given, learned, kept; and what they do to predictions."""

import pickle
import warnings

import numpy as np
import pytest
from awkward_values import as_dense
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from onlinesvm import LASVMClassifier, LASVMRegressor, load_model
from onlinesvm.estimators import metric
from onlinesvm.estimators.metric import (
    LEAST_SHARE,
    Sample,
    chosen_round,
    gains_of,
    kept_distance,
    shares_kept,
    without_small,
)
from onlinesvm.model.errors import ModelFileError
from onlinesvm.model.export.libsvm import export_libsvm
from onlinesvm.model.export.onnx import export_onnx
from onlinesvm.model.export.python import export_python

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
VALUES = np.sin(2 * X[:, 0]) + X[:, 1]
W = np.array([2.0, 0.5, 1.0, 0.0, 0.25])


def noisy(n, seed, noise=20):
    """Five features that count, and others that do not."""
    A = np.random.default_rng(seed).normal(size=(n, 5 + noise))
    f = np.sin(2 * A[:, 0]) + A[:, 1] * A[:, 2] + A[:, 3] - 0.5 * A[:, 4] ** 2 + 0.5
    return A, f


# -- weights that are given ---------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", "matern12"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, lambda a: a.astype(np.float32)])
def test_weights_are_as_if_the_rows_had_been_multiplied(kernel, form):
    A = form(np.where(np.abs(X) > 0.5, X, 0.0))
    B = sparse.csr_matrix(A.multiply(W)) if sparse.issparse(A) else A * W
    if sparse.issparse(B):
        B.eliminate_zeros()
    given = LASVMClassifier(kernel=kernel, feature_weights=W).fit(A, Y)
    before = LASVMClassifier(kernel=kernel).fit(B, Y)
    assert np.array_equal(given.decision_function(A), before.decision_function(B))
    assert np.array_equal(given.feature_weights_, W)
    if kernel != "linear":
        assert given.gamma_ == before.gamma_
    if kernel == "linear":
        assert np.allclose(as_dense(given.coef_), as_dense(before.coef_) * W)


def test_single_rows_know_the_weights():
    model = LASVMClassifier(feature_weights=W, gamma=0.3).fit(X, Y)
    before = LASVMClassifier(gamma=0.3).fit(X * W, Y)
    for a in (model.learn_one(X[0], 1 - Y[0]), before.learn_one(X[0] * W, 1 - Y[0])):
        assert a is not None
    assert model.decision_one(X[3]) == before.decision_one(X[3] * W)
    assert model.decision_function(X[3:4])[0] == pytest.approx(model.decision_one(X[3]))


def test_a_feature_of_weight_zero_has_no_influence():
    model = LASVMRegressor(feature_weights=W).fit(X, VALUES)
    other = X.copy()
    other[:, 3] = 1e5
    assert np.array_equal(model.predict(X), model.predict(other))


BAD = [
    (np.ones(4), "shape"), (np.ones((5, 1)), "shape"), ([1, 1, 1, 1, -1], "not negative"),
    ([1, 1, 1, 1, np.nan], "finite"), ([1, 1, 1, 1, np.inf], "finite"), (np.zeros(5), "all zero"),
    (["a"] * 5, "one number for each"), ("lern", "learn"),
]  # fmt: skip


@pytest.mark.parametrize(("weights", "words"), BAD, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("kind", [LASVMClassifier, LASVMRegressor])
def test_bad_weights_are_one_sentence_and_the_model_stays(kind, weights, words):
    model = kind().fit(X, Y)
    before = model.predict(X)
    model.set_params(feature_weights=weights)
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)
    assert np.array_equal(model.predict(X), before)


def test_weights_need_features():
    K = X @ X.T
    with pytest.raises(ValueError, match="rows of features"):
        LASVMClassifier(kernel="precomputed", feature_weights=np.ones(400)).fit(K, Y)
    with pytest.raises(ValueError, match="gradient of the kernel"):
        LASVMClassifier(kernel=lambda a, b: a @ b.T, feature_weights="learn").fit(X, Y)
    model = LASVMClassifier(kernel=lambda a, b: a @ b.T, feature_weights=W).fit(X, Y)
    assert np.allclose(
        model.decision_function(X),
        LASVMClassifier(kernel="linear").fit(X * W, Y).decision_function(X * W),
        atol=1e-3,
    )


# -- weights that are learned -------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern12"])
def test_noise_features_get_a_tenth_of_the_weight_and_less(kernel):
    A, f = noisy(1500, 0)
    T, g = noisy(2000, 1)
    plain = LASVMClassifier(C=3, kernel=kernel).fit(A, f > 0)
    model = LASVMClassifier(C=3, kernel=kernel, feature_weights="learn").fit(A, f > 0)
    weights = model.feature_weights_
    assert weights[5:].mean() < 0.1 * weights[:5].mean()
    assert weights[5:].max() < 0.1 * weights[:5].min()
    assert 1 - model.score(T, g > 0) < 0.5 * (1 - plain.score(T, g > 0))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("seed", [0, 3, 4, 5])
def test_noise_features_of_few_rows_get_a_tenth_of_the_weight_and_less(kernel, seed):
    A, f = noisy(600, seed)
    T, g = noisy(2000, 100 + seed)
    plain = LASVMClassifier(C=3, kernel=kernel).fit(A, f > 0)
    model = LASVMClassifier(C=3, kernel=kernel, feature_weights="learn").fit(A, f > 0)
    assert model.feature_weights_[5:].max() < 0.1 * model.feature_weights_[:5].min()
    assert 1 - model.score(T, g > 0) < 0.75 * (1 - plain.score(T, g > 0))


def test_the_test_leaves_what_is_not_noise():
    """t is 4, 1 and 0, and -3; of a feature that is the same everywhere, nothing is known."""
    left = shares_kept(np.array([8.0, 3.0, 0.0, -3.0, 0.0]), np.array([4.0, 9.0, 2.0, 1.0, 0.0]))
    assert np.allclose(left, [np.sqrt(15 / 16), *[LEAST_SHARE] * 4])


@pytest.mark.parametrize("kind", ["labels", "values"])
def test_what_a_model_gains_by_a_feature_of_noise_is_a_standard_normal_variable(kind):
    """Of rows that it has not learned, in standard errors; a feature that counts is many of them away."""
    found = []
    for seed in range(12):
        A, f = noisy(400, 50 + seed)
        y = f > 0 if kind == "labels" else f
        model = (LASVMClassifier if kind == "labels" else LASVMRegressor)(C=3, kernel="laplacian")
        model.fit(A[:200], y[:200])
        held = Sample(A[200:], y[200:], np.ones(200), kind == "labels")
        gains, squares = gains_of(model, held, np.random.RandomState(seed))
        found.append(gains / np.sqrt(squares))
    t = np.array(found)
    assert abs(t[:, 5:].mean()) < 4 / np.sqrt(t[:, 5:].size)
    assert 0.8 < t[:, 5:].std() < 1.2
    assert t[:, 3].min() > 3


def test_regression_and_several_classes_and_targets():
    A, f = noisy(1200, 2)
    T, g = noisy(2000, 3)
    for kind, target, held in (
        (LASVMRegressor, f, g),
        (LASVMRegressor, np.stack([f, A[:, 0]], 1), np.stack([g, T[:, 0]], 1)),
        (LASVMClassifier, np.digitize(f, [0, 1]), np.digitize(g, [0, 1])),
    ):
        plain = kind(C=3).fit(A, target).score(T, held)
        model = kind(C=3, feature_weights="learn").fit(A, target)
        assert model.score(T, held) > plain + 0.05
        assert model.feature_weights_[5:].max() < 0.2 * model.feature_weights_[:2].min()


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_weights_do_not_depend_on_the_shape_of_decision_values(shape):
    A, f = noisy(900, 4)
    y = np.digitize(f, [-1, 0, 1])
    settings = {"C": 3, "decision": "ovo", "feature_weights": "learn"}
    model = LASVMClassifier(**settings, decision_function_shape=shape).fit(A, y)
    assert model.feature_weights_[5:].max() < 0.2 * model.feature_weights_[:5].min()
    assert model.decision_function(A[:5]).shape == (5, 4 if shape == "ovr" else 6)


def test_few_wrong_labels_are_enough_to_see_that_weights_help():
    """A model of 1,000 digits errs on one in fifty: the few wrong labels of two rounds differ by chance."""
    X, y = load_digits(return_X_y=True)
    wrong = {None: 0, "learn": 0}
    for seed in range(3):
        parts = train_test_split(X, y, train_size=1000, random_state=seed, stratify=y)
        scaler = StandardScaler().fit(parts[0])
        A, T = (scaler.transform(part) for part in parts[:2])
        for weights in wrong:
            model = LASVMClassifier(C=3, feature_weights=weights).fit(A, parts[2])
            wrong[weights] += int((model.predict(T) != parts[3]).sum())
    assert wrong["learn"] < 0.7 * wrong[None]


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_several_targets_have_weights_whatever_their_units(scale):
    """The gradient of a target in grams is a thousand times that of a target in kilograms."""
    X = np.random.default_rng(5).standard_normal((900, 8))
    y = np.stack([scale * np.sin(2 * X[:, 0]), np.sin(2 * X[:, 1])], axis=1)
    C, epsilon = 10 * max(scale, 1.0), 0.01 * min(scale, 1.0)
    weights = (
        LASVMRegressor(C=C, epsilon=epsilon, feature_weights="learn").fit(X, y).feature_weights_
    )
    assert weights[:2].min() > 0.8 * weights[:2].max()
    assert weights[2:].max() < 0.1 * weights[:2].min()


@pytest.mark.parametrize("wrong", ["heavy tails", "a few far off"])
def test_a_few_targets_far_from_all_others_do_not_decide_weights(wrong):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    if wrong == "heavy tails":
        y += 0.3 * rng.standard_t(1.5, 1200)
    else:
        y[7::240] = 1e3
    weights = LASVMRegressor(C=3, feature_weights="learn").fit(X, y).feature_weights_
    assert weights[2:].max() < 0.25 * weights[:2].min()


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("quantile", [0.1, 0.9, [0.05, 0.95]])
def test_weights_of_outer_quantiles_are_those_of_the_noise_too(quantile, calibrated, kernel):
    """Feature 0 decides the middle, feature 3 how far targets are from it; the others nothing."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((1200, 8))
    y = np.sin(2 * X[:, 0]) + 0.5 * np.exp(X[:, 3]) * rng.standard_normal(1200)
    model = LASVMRegressor(
        kernel=kernel, quantile=quantile, calibrated=calibrated, feature_weights="learn"
    )
    weights = model.fit(X, y).feature_weights_
    assert weights[[0, 3]].min() > 0.4 * weights.max()
    assert np.delete(weights, [0, 3]).max() < 0.1 * weights.max()


def test_plain_weights_stay_where_nothing_is_to_gain():
    """A sphere, where all features count alike, and labels by chance."""
    changed = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(400, 4))
        for y in ((A**2).sum(axis=1) > 3.3, rng.integers(0, 2, 400)):
            model = LASVMClassifier(feature_weights="learn").fit(A, y)
            changed.append(not (model.feature_weights_ == 1).all())
    assert not any(changed)


def test_many_columns_and_few_rows_are_no_worse_than_plain():
    losses = []
    for seed in range(6):
        A, f = noisy(560, seed, noise=195)
        y = f > 0
        scores = [
            LASVMClassifier(feature_weights=w).fit(A[:60], y[:60]).score(A[60:], y[60:])
            for w in (None, "learn")
        ]
        losses.append(scores[0] - scores[1])
    assert np.mean(losses) < 0.01


def test_few_rows_and_rare_labels_are_no_error():
    for n in (3, 19, 25):
        y = np.zeros(n, int)
        y[:2] = 1
        assert (LASVMClassifier(feature_weights="learn").fit(X[:n], y).feature_weights_ == 1).all()
    many = np.arange(40) % 20
    LASVMClassifier(feature_weights="learn").fit(X[:40], many)


def test_a_constant_feature_keeps_the_weight_one():
    A, f = noisy(1000, 0)
    A[:, 7] = 4.0
    model = LASVMClassifier(C=3, feature_weights="learn").fit(A, f > 0)
    assert model.feature_weights_[7] == 1.0
    assert model.feature_weights_[0] > 1.0


def test_examples_of_weight_zero_are_as_if_absent():
    A, f = noisy(900, 0)
    y = (f > 0).astype(int)
    weight = np.r_[np.ones(600), np.zeros(300)]
    y[600:] = 1 - y[600:]
    model = LASVMClassifier(C=3, feature_weights="learn").fit(A, y, sample_weight=weight)
    assert model.feature_weights_[5:].max() < 0.2 * model.feature_weights_[:5].max()


def test_learning_is_repeatable_whatever_numpy_has_drawn():
    A, f = noisy(700, 0)
    found = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        found.append(LASVMClassifier(C=3, feature_weights="learn").fit(A, f > 0).feature_weights_)
    assert np.array_equal(*found)


def test_a_time_limit_leaves_plain_weights_and_a_model():
    A, f = noisy(3000, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LASVMClassifier(feature_weights="learn", time_limit=1e-3).fit(A, f > 0)
    assert (model.feature_weights_ == 1).all()
    assert len(model.predict(A)) == 3000


def test_the_round_is_chosen_by_more_than_noise():
    rng = np.random.default_rng(0)
    plain = rng.random(500)
    clear = np.array([plain, plain - 0.1, plain - 0.5 + 0.1 * rng.random(500)])
    noise = np.array([plain, plain + rng.normal(scale=0.5, size=500) - 0.02])
    even = np.ones(500)
    assert chosen_round(clear, even) == 2
    assert chosen_round(noise, even) == 0
    assert chosen_round(np.array([plain, plain]), even) == 0


def test_of_rounds_that_are_equally_good_the_last_is_chosen():
    """Weights of noise shrink with every round; a round that is clearly worse ends that."""
    rng = np.random.default_rng(0)
    plain = rng.random(500)
    good = plain - 0.5
    noise = rng.normal(size=500)
    noise += 0.5 * noise.std() / np.sqrt(500) - noise.mean()
    tied = good + 0.1 * noise  # half a standard error behind
    even = np.ones(500)
    assert chosen_round(np.array([plain, good, tied]), even) == 2
    assert chosen_round(np.array([plain, good, tied, good + 0.1 * rng.random(500)]), even) == 2
    assert chosen_round(np.array([plain, good + 0.1, good, plain]), even) == 2


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_weights_keep_the_mean_distance(kernel):
    spread = np.array([1.0, 2.0, 0.0, 3.0])
    weights = kept_distance(np.array([5.0, 0.1, 7.0, 0.0]), spread, kernel)
    power = 1 if kernel == "laplacian" else 2
    assert weights[2] == 1.0
    assert ((weights * spread) ** power).sum() == pytest.approx((spread**power).sum())
    assert (kept_distance(np.zeros(4), spread, kernel) == 1).all()


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_small_weights_are_those_below_the_widest_gap(kernel):
    even = np.ones(6)
    found = without_small(np.array([3.0, 0.2, 2.0, 0.25, 1.5, 1e-9]), even, kernel)
    assert (found == 0).tolist() == [False, True, False, True, False, True]
    assert (found ** (1 if kernel == "laplacian" else 2)).sum() == pytest.approx(6)
    gradual = np.array([3.0, 2.0, 1.4, 0.9, 0.6, 0.4])
    assert without_small(gradual, even, kernel) is gradual
    # Units of the features do not matter: the gap is that of weight times spread.
    units = np.array([1e3, 1.0, 1e-3, 1.0, 1.0, 1.0])
    scaled = without_small(np.array([3.0, 0.2, 2.0, 0.25, 1.5, 1e-9]) / units, units, kernel)
    assert np.array_equal(scaled == 0, found == 0)
    assert without_small(np.array([2.0]), np.ones(1), kernel).tolist() == [2.0]


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern12"])
@pytest.mark.parametrize("form", ["fit", "stream", "regression"])
def test_features_far_from_zero_have_the_same_learned_weights(kernel, form):
    """The variance of all values together, gamma's scale, would grow where equal means are weighted."""
    A, f = noisy(1200, 0)
    T, g = noisy(1000, 1)
    kind = LASVMRegressor if form == "regression" else LASVMClassifier
    y, z = (f, g) if kind is LASVMRegressor else (f > 0, g > 0)
    found, scores = [], []
    for shift in (0.0, 10.0, 1000.0):
        model = kind(C=3, kernel=kernel, feature_weights="learn")
        if form == "stream":
            model.partial_fit(A[:500] + shift, y[:500]).partial_fit(A[500:] + shift, y[500:])
        else:
            model.fit(A + shift, y)
        found.append(model.feature_weights_)
        scores.append(model.score(T + shift, z))
    for weights, score in zip(found, scores):
        assert weights[5:].max() < 0.2 * weights[:5].max()
        np.testing.assert_allclose(weights, found[0], rtol=0.1, atol=0.02)
        assert score == pytest.approx(scores[0], abs=0.01)


# -- streams, files, exports --------------------------------------------------------------


@pytest.mark.parametrize("sizes", [[1500], [1, 99, 400, 700, 300], [300] * 5])
@pytest.mark.parametrize("gamma", ["scale", 0.04])
def test_a_stream_learns_weights_once_and_goes_on(sizes, gamma):
    A, f = noisy(1500, 0)
    y, first, seen = (f > 0).astype(int), None, 0
    model = LASVMClassifier(C=3, gamma=gamma, feature_weights="learn")
    for size in sizes:
        model.partial_fit(A[seen : seen + size], y[seen : seen + size])
        seen += size
        if seen < 1000:
            assert (model.feature_weights_ == 1).all()
        elif first is None:
            first = model.feature_weights_
    assert first[5:].max() < 0.2 * first[:5].min()
    assert np.array_equal(model.feature_weights_, first)
    T, g = noisy(1500, 1)
    plain = LASVMClassifier(C=3, gamma=gamma).partial_fit(A, y).finish()
    assert model.finish().score(T, g > 0) > plain.score(T, g > 0) + 0.05


def test_a_stream_saved_before_its_weights_are_learned_goes_on(tmp_path):
    A, f = noisy(1200, 0)
    y = (f > 0).astype(int)
    model = LASVMClassifier(C=3, feature_weights="learn").partial_fit(A[:500], y[:500])
    model.save(tmp_path / "m")
    others = [load_model(tmp_path / "m"), pickle.loads(pickle.dumps(model))]
    model.partial_fit(A[500:], y[500:])
    assert not (model.feature_weights_ == 1).all()
    for other in others:
        other.partial_fit(A[500:], y[500:])
        assert np.array_equal(other.feature_weights_, model.feature_weights_)
        assert np.array_equal(other.decision_function(A), model.decision_function(A))


def test_single_rows_reach_the_weights_too():
    A, f = noisy(1001, 0)
    model = LASVMRegressor(C=3, gamma=0.04, feature_weights="learn").partial_fit(A[:990], f[:990])
    for x, value in zip(A[990:], f[990:]):
        model.learn_one(x, value)
    assert model.feature_weights_[5:].max() < 0.3 * model.feature_weights_[:2].min()


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "laplacian", "matern12"])
@pytest.mark.parametrize("weights", [W, None])
def test_files_and_exports_carry_the_weights(kernel, weights, tmp_path):
    model = LASVMClassifier(kernel=kernel, feature_weights=weights, budget=60).fit(X + 3.0, Y)
    want = model.decision_function(X)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert np.array_equal(loaded.decision_function(X), want)
    assert np.array_equal(loaded.feature_weights_, model.feature_weights_)
    export_python(model, tmp_path / "m.py")
    space: dict = {}
    exec((tmp_path / "m.py").read_text(), space)
    assert np.allclose(space["decision_function"](X), want, atol=1e-4)
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    export_onnx(model, tmp_path / "m.onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
    outputs = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})
    assert np.allclose(np.ravel(outputs[1]), want, atol=1e-3)


def test_libsvm_text_has_weights_where_it_can(tmp_path):
    for kernel in ("linear", "poly"):
        model = LASVMClassifier(kernel=kernel, feature_weights=W).fit(X, Y)
        export_libsvm(model, tmp_path / "m.txt")
        lines = (tmp_path / "m.txt").read_text().splitlines()
        head = dict(line.split(" ", 1) for line in lines[: lines.index("SV")])
        value = np.full(3, -float(head["rho"]))
        for line in lines[lines.index("SV") + 1 :]:
            coef, *parts = line.split()
            z = np.zeros(5)
            for part in parts:
                z[int(part.split(":")[0]) - 1] = float(part.split(":")[1])
            dots = X[:3] @ z
            k = dots if kernel == "linear" else (float(head["gamma"]) * dots) ** 3
            value += float(coef) * k
        assert np.allclose(value, model.decision_function(X[:3]), atol=1e-3)
    model = LASVMClassifier(feature_weights=W).fit(X, Y)
    with pytest.raises(ModelFileError, match="feature_weights"):
        export_libsvm(model, tmp_path / "m.txt")


def test_a_wider_stream_gives_new_features_the_weight_one():
    from onlinesvm.estimators.base import widen

    A = sparse.csr_matrix(X)
    model = LASVMClassifier(feature_weights=W, gamma=0.5).partial_fit(A, Y)
    before = model.decision_function(A)
    assert widen(model, 7)
    wide = sparse.csr_matrix(np.pad(X, ((0, 0), (0, 2))))
    assert np.array_equal(model.decision_function(wide), before)
    assert model.feature_weights_.tolist() == [*W, 1.0, 1.0]


def test_the_picture_has_the_largest_weights_on_top():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcde"))
    figure = LASVMClassifier(feature_weights=W).fit(frame, Y).plot_feature_weights(most=3)
    words = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert words == ["a", "c", "b"]


def test_losses_of_several_targets_are_in_the_units_of_all_examples(monkeypatch):
    """Whichever fold an example is in: those of folds that differ in spread are compared with one another."""
    seen, losses = [], metric.loss
    y = np.stack([RNG.normal(size=len(X)), 1000.0 * RNG.normal(size=len(X))], axis=1)
    y[:20] *= 10.0

    class Nothing:
        kernel = None

        def predict(self, X):
            return np.zeros((len(X), 2))

    def recorded(model, score):
        seen.append((losses(model, score), score.y))
        return seen[-1][0]

    monkeypatch.setattr(metric, "loss", recorded)
    monkeypatch.setattr(metric, "next_weights", lambda model, X, *rest: np.ones(X.shape[1]))
    sample = metric.Sample(X, y, np.ones(len(y)), False)
    metric.learned_weights(lambda sample, weights: Nothing(), sample, np.random.RandomState(0))
    assert len(seen) > 1
    for found, truth in seen:
        np.testing.assert_allclose(found, 0.5 * np.abs(truth / y.std(axis=0)).sum(axis=1))


def test_halves_that_are_constant_gain_nothing():
    """Of a few targets that differ, one half of the examples may have none."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    for which in range(0, 60, 3):
        y = np.zeros(60)
        y[which] = 3.0
        model = LASVMRegressor(kernel="laplacian", feature_weights="learn", random_state=which)
        assert np.isfinite(model.fit(X, y).feature_weights_).all()
