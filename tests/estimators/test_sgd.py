"""NORMA, Pegaz and OL SVM: equal to their lists after every step, and their promises."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive.sgd import NaiveNORMA, NaiveOLSVM, NaivePegaz
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from onlinesvm.estimators.sgd import NORMAClassifier, OLSVMClassifier, PegazClassifier

FAMILY = (NORMAClassifier, PegazClassifier, OLSVMClassifier)
CASES = {
    "norma": (NORMAClassifier, {}, NaiveNORMA, {}),
    "pegaz": (PegazClassifier, {}, NaivePegaz, {}),
    "olsvm": (OLSVMClassifier, {}, NaiveOLSVM, {}),
    "olsvm-bias": (OLSVMClassifier, {"fit_intercept": True}, NaiveOLSVM, {"bias": True}),
    "olsvm-3a": (OLSVMClassifier, {"loss": "regularized_hinge"}, NaiveOLSVM, {"regularized": True}),
    "olsvm-3a-bias": (
        OLSVMClassifier, {"loss": "regularized_hinge", "fit_intercept": True},
        NaiveOLSVM, {"regularized": True, "bias": True},
    ),
}  # fmt: skip
cases = pytest.mark.parametrize("case", CASES)
family = pytest.mark.parametrize("cls", FAMILY)
averagings = pytest.mark.parametrize("averaging", ["last", "average"])
kernels = pytest.mark.parametrize("kernel", ["linear", "rbf"])


def problem(n=40, seed=0):
    """Random points whose float32 values are exact, so that twins see the same kernel values."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 3)) * 8) / 8
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(n) > 0, 1, -1)
    y[:2] = -1, 1
    return X, y


def gram(kernel, X):
    return linear_kernel(X) if kernel == "linear" else rbf_kernel(X, gamma=0.5)


def make(case, **more):
    cls, params, twin, twin_params = CASES[case]
    return cls(gamma=0.5, **params, **more), lambda *args: twin(*args, **twin_params)


def assert_equal(model, twin, X, K, averaging):
    """Coefficients, support set, bias and decision values of a model and its twin."""
    alpha, b = twin.final(averaging)
    found = np.zeros(len(alpha))
    np.add.at(found, where_in(X, model.support_vectors_), model.dual_coef_[0])
    atol = 1e-6 * max(1.0, abs(alpha).max())
    np.testing.assert_allclose(found, alpha, rtol=1e-5, atol=atol)
    used = np.unique(where_in(X, X[abs(alpha) > 1e-12]))
    assert set(np.flatnonzero(abs(found) > 1e-12)) == set(used)
    np.testing.assert_allclose(model.intercept_, [b], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        model.decision_function(X), K @ alpha + b, rtol=1e-4, atol=1e-4 * (1 + abs(K @ alpha).max())
    )


def where_in(X, rows):
    """Numbers of the rows in X, all different."""
    return [int(np.flatnonzero((abs(X - row) < 1e-4).all(axis=1))[0]) for row in rows]


@cases
@kernels
@averagings
def test_equals_the_list_after_every_step_of_a_stream(case, kernel, averaging):
    X, y = problem()
    X = X[np.unique(X, axis=0, return_index=True)[1]]
    y = y[: len(X)]
    K = gram(kernel, X)
    model, make_twin = make(case, C=0.7, kernel=kernel, averaging=averaging)
    twin = make_twin(K, y, 0.7)
    for i in range(len(X)):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
        twin.step(i)
        assert_equal(model, twin, X, K, averaging)


@cases
@kernels
@pytest.mark.parametrize("outputs", ["cached", "expansion"])
def test_equals_the_list_after_every_epoch_and_block(case, kernel, outputs, monkeypatch):
    """Examples met again, in blocks smaller than the data set, every epoch."""
    from onlinesvm.core.sgd import learner as sgd_learner

    monkeypatch.setattr(sgd_learner, "BLOCK", 7)
    X, y = problem(seed=3)
    K = gram(kernel, X)
    weight = np.linspace(0.5, 2, len(X))
    for averaging in ("last", "average"):
        for epochs in (1, 2, 4):
            model, make_twin = make(
                case, C=0.4, kernel=kernel, averaging=averaging, outputs=outputs, epochs=epochs,
                shuffle=False,
            )  # fmt: skip
            model.fit(X, y, sample_weight=weight)
            twin = make_twin(K, y, 0.4, weight)
            for i in list(range(len(X))) * epochs:
                twin.step(i)
            alpha, b = twin.final(averaging)
            found = np.zeros(len(X))
            found[model.support_] = model.dual_coef_[0]
            scale = abs(alpha).max()
            np.testing.assert_allclose(found, alpha, rtol=1e-5, atol=1e-7 * scale)
            assert set(model.support_) == set(np.flatnonzero(alpha))
            np.testing.assert_allclose(model.intercept_, [b], rtol=1e-6, atol=1e-9)


@cases
def test_outputs_cached_and_from_the_expansion_agree(case):
    X, y = make_moons(1500, noise=0.2, random_state=0)
    models = [
        make(case, C=2.0, epochs=3, outputs=outputs, random_state=0)[0].fit(X, y)
        for outputs in ("cached", "expansion")
    ]
    a, b = (model.decision_function(X) for model in models)
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6 * abs(a).max())


@cases
def test_kept_columns_change_nothing(case, monkeypatch):
    from onlinesvm.core.sgd import learner as sgd_learner

    X, y = make_moons(1300, noise=0.2, random_state=0)
    model = make(case, C=2.0, epochs=3, random_state=0)[0]
    plain = clone(model).fit(X, y)
    monkeypatch.setattr(sgd_learner, "EXPENSIVE", 1)
    kept = clone(model).fit(X, y)
    some = clone(model).set_params(cache_size=3).fit(X, y)
    assert kept.n_kernel_evaluations_ < some.n_kernel_evaluations_ < plain.n_kernel_evaluations_
    expected = plain.decision_function(X)
    for other in (kept, some):
        np.testing.assert_allclose(other.decision_function(X), expected, rtol=1e-6, atol=1e-6)


@given(st.integers(0, 10**6), st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_a_stream_in_pieces_of_any_size_is_the_same_stream(seed, sizes):
    X, y = problem(sum(sizes) + 2, seed)
    for case in ("norma", "pegaz", "olsvm-bias"):
        whole = make(case, averaging="average")[0].partial_fit(X, y)
        pieces = make(case, averaging="average")[0]
        for part in np.split(np.arange(len(X)), np.cumsum(sizes)):
            if len(part):
                pieces.partial_fit(X[part], y[part])
        a, b = whole.decision_function(X), pieces.decision_function(X)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5 * (1 + abs(a).max()))


@family
def test_one_epoch_equals_the_stream_in_the_same_order(cls):
    X, y = make_moons(400, noise=0.2, random_state=0)
    fitted = cls(gamma=1.0, shuffle=False).fit(X, y)
    streamed = cls(gamma=1.0).partial_fit(X, y)
    np.testing.assert_allclose(
        fitted.decision_function(X), streamed.decision_function(X), rtol=1e-5, atol=1e-5
    )


def test_the_two_losses_agree_on_a_stream():
    X, y = make_moons(300, noise=0.3, random_state=1)
    a, b = (OLSVMClassifier(loss=loss).partial_fit(X, y) for loss in ("hinge", "regularized_hinge"))
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)


@family
def test_one_vs_rest_machines_are_binary_machines_on_shared_kernel_values(cls):
    X, y = make_classification(600, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    model = cls(gamma=0.2, epochs=2, random_state=1).fit(X, y)
    values = model.decision_function(X)
    for label in range(3):
        alone = cls(gamma=0.2, epochs=2, random_state=1).fit(X, y == label)
        np.testing.assert_allclose(
            values[:, label], alone.decision_function(X), rtol=1e-5, atol=1e-5
        )
    assert model.n_kernel_evaluations_ == alone.n_kernel_evaluations_


@family
def test_three_labels_from_two_machines(cls):
    """The machine of two labels, seen from each side, goes on as if there had been two."""
    X, y = make_classification(300, 4, n_informative=3, n_redundant=0, n_classes=3, random_state=0)
    first, second = np.flatnonzero(y < 2), np.flatnonzero(y == 2)
    surprised = cls(gamma=0.2).partial_fit(X[first], y[first])
    told = cls(gamma=0.2).partial_fit(X[first], y[first], classes=[0, 1, 2])
    for model in (surprised, told):
        model.partial_fit(X[second], y[second])
    a, b = (model.decision_function(X) for model in (surprised, told))
    np.testing.assert_allclose(a[:, :2], b[:, :2], rtol=1e-6, atol=1e-6)
    assert (surprised.predict(X[second]) == 2).mean() > 0.5


@family
def test_a_late_label_learns_the_support_vectors_as_counter_examples(cls):
    X, y = problem(60, seed=5)
    model = cls(gamma=0.5).partial_fit(X, y)
    rows, present = model.support_vectors_, len(model.support_vectors_)
    alone = cls(gamma=0.5, C=model.C)
    alone.partial_fit(rows, np.zeros(present), classes=[0, 1])
    model.partial_fit(X[:1] + 9, [7])
    alone.partial_fit(X[:1] + 9, [1])
    values = model.decision_function(X)[:, list(model.classes_).index(7)]
    np.testing.assert_allclose(values, alone.decision_function(X), rtol=1e-4, atol=1e-5)


@family
def test_dense_and_sparse_rows_agree(cls):
    X, y = load_digits(return_X_y=True)
    X, y = X[:400], y[:400]
    dense = cls(gamma=0.001, shuffle=False).fit(X, y)
    csr = cls(gamma=0.001, shuffle=False).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(
        dense.decision_function(X),
        csr.decision_function(sparse.csr_matrix(X)),
        rtol=1e-3,
        atol=1e-3,
    )


@family
def test_precomputed_and_callable_kernels(cls):
    X, y = problem()
    K = rbf_kernel(X, gamma=0.5)
    named = cls(gamma=0.5, shuffle=False, epochs=2).fit(X, y)
    square = cls(kernel="precomputed", shuffle=False, epochs=2).fit(K, y)
    function = cls(kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5), shuffle=False, epochs=2)
    expected = named.decision_function(X)
    np.testing.assert_allclose(square.decision_function(K), expected, rtol=1e-4, atol=1e-4)
    function.fit(X, y)
    np.testing.assert_allclose(function.decision_function(X), expected, rtol=1e-4, atol=1e-4)


@family
def test_weights_are_costs(cls):
    X, y = problem(60, seed=2)
    weighted = cls(gamma=0.5, shuffle=False).fit(X, y, sample_weight=np.where(y > 0, 3.0, 1.0))
    by_class = cls(gamma=0.5, shuffle=False, class_weight={1: 3.0}).fit(X, y)
    np.testing.assert_array_equal(weighted.dual_coef_, by_class.dual_coef_)
    plain = cls(gamma=0.5, shuffle=False).fit(X, y)
    assert not np.allclose(plain.decision_function(X), weighted.decision_function(X))
    without = np.arange(60) % 3 > 0
    dropped = cls(gamma=0.5, shuffle=False).fit(X, y, sample_weight=without.astype(float))
    absent = cls(gamma=0.5, shuffle=False).fit(X[without], y[without])
    np.testing.assert_allclose(
        dropped.decision_function(X), absent.decision_function(X), rtol=1e-5, atol=1e-6
    )


def test_norma_forgets_and_its_support_set_grows_like_the_root_of_time():
    rng = np.random.default_rng(0)
    model = NORMAClassifier(gamma=10.0, C=0.01)
    counts = []
    for _ in range(20):
        X = rng.uniform(-1, 1, (1000, 2))
        model.partial_fit(X, np.sign(X[:, 0] * X[:, 1]))
        counts.append(len(model.support_vectors_))
    assert counts[-1] < 20_000 * 0.4
    assert counts[-1] < 2.6 * counts[3]  # five times the examples, about sqrt(5) the rows


def test_norma_average_keeps_its_digits_over_many_steps():
    """Coefficients shrink by far more than float64 holds; averages must not notice."""
    rng = np.random.default_rng(1)
    X = np.round(rng.standard_normal((1500, 2)) * 64) / 64
    y = np.where(X[:, 0] > 0, 1, -1)
    model = NORMAClassifier(kernel="linear", averaging="average", C=0.01).partial_fit(X, y)
    twin = NaiveNORMA(X @ X.T, y, 0.01)
    for i in range(len(X)):
        twin.step(i)
    alpha, _ = twin.final("average")
    w = X.T @ alpha
    np.testing.assert_allclose(model.decision_function(X), X @ w, rtol=1e-4, atol=1e-6)


@family
def test_bad_parameters(cls):
    X, y = problem()
    for name in ("C", "epochs"):
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            cls(**{name: 0}).fit(X, y)
