"""The Laplacian and the Matern kernel in estimators: fits are those of SVC on the same kernel values.

Random problems: tasks, sizes, scales, offsets, copies, near copies, dense and sparse. The suite solves
a few; ``ONLINESVM_PROBLEMS=200`` solves as many as it says.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from awkward import CLASSIFIERS
from awkward_values import as_dense
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.svm import SVC, SVR, OneClassSVM

import onlinesvm
from onlinesvm import (
    ActiveLearner,
    LASVMClassifier,
    LASVMOneClass,
    LASVMRegressor,
    SimpleSVMClassifier,
)

PROBLEMS = int(os.environ.get("ONLINESVM_PROBLEMS", "16"))
kernels = pytest.mark.parametrize("kernel", ["laplacian", "matern12"])


def values(kernel, X, Z, gamma):
    return np.exp(-gamma * cdist(X, Z, "cityblock" if kernel == "laplacian" else "euclidean"))


class Problem:
    """Rows, labels or targets, and the settings of a fit."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.kernel = ("laplacian", "matern12")[seed % 2]
        self.task = ("classes", "values", "novelty")[seed // 2 % 3]
        n, d = int(rng.integers(20, 200)), int(rng.integers(1, 15))
        self.unit, offset = 10.0 ** rng.uniform(-6, 6), rng.choice([0.0, 1.0, 100.0, 1e4])
        X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d))
        if rng.random() < 0.3:
            X *= rng.random((n, d)) < 0.4
        X[: n // 8], X[n // 8 : n // 4] = X[-(n // 8) :], X[-(n // 4 - n // 8) :] * (1 + 1e-7)
        self.sparse = bool(rng.random() < 0.3)
        signal = X[:, 0] * X[:, -1] + 0.3 * rng.normal(size=n)
        self.X = self.unit * (X + (0.0 if self.sparse else offset))
        self.y = (
            signal / signal.std() if self.task == "values" else (signal > np.median(signal)) + 0
        )
        exponent = 10.0 ** rng.uniform(-1, 1)
        measure = "cityblock" if self.kernel == "laplacian" else "euclidean"
        self.gamma = exponent / cdist(self.X, self.X, measure).mean()
        self.C, self.nu = 10.0 ** rng.uniform(-1, 1), rng.uniform(0.1, 0.6)
        self.K = values(self.kernel, self.X, self.X, self.gamma)

    def exact(self):
        """Decision values of scikit-learn's solver."""
        if self.task == "novelty":
            model = OneClassSVM(kernel="precomputed", nu=self.nu, tol=1e-6).fit(self.K)
            return model.decision_function(self.K)
        kind = SVC if self.task == "classes" else SVR
        model = kind(kernel="precomputed", C=self.C, tol=1e-6).fit(self.K, self.y)
        return (model.decision_function if kind is SVC else model.predict)(self.K)

    def learned(self):
        """Those of ours."""
        settings = {"kernel": self.kernel, "gamma": self.gamma, "epochs": "converge", "tol": 1e-5}
        X = sparse.csr_matrix(self.X) if self.sparse else self.X
        if self.task == "novelty":
            return LASVMOneClass(nu=self.nu, random_state=0, **settings).fit(X).decision_function(X)
        kind = LASVMClassifier if self.task == "classes" else LASVMRegressor
        model = kind(C=self.C, random_state=0, **settings).fit(X, self.y)
        return (model.decision_function if kind is LASVMClassifier else model.predict)(X)


@pytest.mark.parametrize("seed", range(PROBLEMS))
def test_a_converged_fit_is_that_of_svc_on_the_kernel_values(seed):
    problem = Problem(seed)
    wanted = problem.exact()
    near = 2e-3 * max(1.0, abs(wanted).max())
    np.testing.assert_allclose(problem.learned(), wanted, atol=near)


@kernels
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_an_exact_fit_is_that_of_svc(kernel, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5)) * (rng.random((120, 5)) < 0.6)
    X[:10] = X[10:20] * (1 + 1e-9)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    exact = SVC(kernel="precomputed", C=3.0, tol=1e-9).fit(values(kernel, X, X, 0.4), y)
    model = SimpleSVMClassifier(C=3.0, kernel=kernel, gamma=0.4, tol=1e-9).fit(form(X), y)
    new = rng.normal(size=(60, 5))
    wanted = exact.decision_function(values(kernel, new, X, 0.4))
    np.testing.assert_allclose(model.decision_function(form(new)), wanted, atol=1e-6)


@kernels
@pytest.mark.filterwarnings("ignore:The hulls")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_is_the_one_with_the_same_function(name, kernel):
    """A name and a Python function of the same values: the same decisions, up to single precision."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] > 0).astype(int)
    gamma, settings = 0.3, {"random_state": 0}
    named = getattr(onlinesvm, name)(kernel=kernel, gamma=gamma, **settings)
    called = getattr(onlinesvm, name)(kernel=lambda A, B: values(kernel, A, B, gamma), **settings)
    for model in (named, called):
        for first in range(0, 200, 50):
            model.partial_fit(X[first : first + 50], y[first : first + 50])
    wanted = called.decision_function(X)
    close = np.abs(named.decision_function(X) - wanted) < 1e-2 * np.abs(wanted).max()
    assert close.mean() > 0.98


@kernels
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_pool_knows_its_decision_values(kernel, form):
    """Those that are kept up to date, question by question, are those of the support vectors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * (rng.random((300, 4)) < 0.7)
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = LASVMClassifier(kernel=kernel, gamma=0.3, random_state=0)
    learner = ActiveLearner(model, form(X), sample_size=None, random_state=0)
    taught = [int(np.flatnonzero(y == c)[0]) for c in (0, 1)]
    learner.teach(taught, y[taught])
    for _ in range(25):
        (asked,) = learner.query(1)
        own = learner.estimator
        vectors = own.support_vectors_
        vectors = vectors.toarray() if sparse.issparse(vectors) else vectors
        K = values(kernel, X, vectors, 0.3)
        doubt = np.abs(K @ as_dense(own.dual_coef_)[0] + own.intercept_)
        doubt[taught] = np.inf
        assert doubt[asked] <= doubt.min() + 1e-4
        learner.teach([asked], y[[asked]])
        taught.append(int(asked))


@kernels
def test_default_gamma_bears_other_units_and_offsets(kernel):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(2, 400, 5)) * np.array([1.0, 1e-3, 1.0, 1.0, 1.0])
    y = X[:, 0] * X[:, 2] > 0
    decisions = [
        LASVMClassifier(kernel=kernel, epochs="converge", random_state=0)
        .fit(unit * X + offset, y)
        .decision_function(unit * new + offset)
        for unit, offset in ((1.0, 0.0), (1e-9, 0.0), (1e9, 0.0), (1.0, 1e5))
    ]
    for other in decisions[1:]:
        np.testing.assert_allclose(other, decisions[0], atol=1e-2)
    assert np.mean((decisions[0] > 0) == (new[:, 0] * new[:, 2] > 0)) > 0.85


@pytest.mark.parametrize(
    ("given", "meant"),
    [("laplace", "laplacian"), ("matern", "matern12"), ("RBF", "rbf"), ("polynomial", "poly")],
)
def test_the_nearest_name_is_suggested(given, meant):
    model = LASVMClassifier().fit([[0.0], [1.0]], [0, 1])
    before = model.decision_function([[0.3]])
    with pytest.raises(ValueError, match=rf"Got '{given}' instead\. Did you mean '{meant}'\?"):
        model.set_params(kernel=given).fit([[0.0], [2.0]], [0, 1])
    np.testing.assert_array_equal(model.decision_function([[0.3]]), before)


def test_a_name_like_no_other_suggests_nothing():
    with pytest.raises(ValueError, match=r"instead\.$"):
        LASVMClassifier(kernel="zzz").fit([[0.0], [1.0]], [0, 1])


def test_a_fit_compiles_nothing_of_kernels_that_it_does_not_use():
    """RBF, dense and sparse, blocks and single rows, rows that need differences."""
    code = """
import numpy as np
from scipy import sparse
from onlinesvm import LASVMClassifier
rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
X[:20] = X[20:40] + 1e-4
for rows in (X, sparse.csr_matrix(X), 1e4 * X, sparse.csr_matrix(1e4 * X)):
    model = LASVMClassifier(gamma=0.5).fit(rows, X[:, 0] > 0)
    model.predict(rows)
model = LASVMClassifier(gamma=0.5).partial_fit(X, X[:, 0] > 0)
model.learn_one(X[0], True)
model.predict_one(X[0])
from onlinesvm.core.kernel.tiles import laplacian, matern
for module in (laplacian, matern):
    for name, function in vars(module).items():
        if getattr(function, "py_func", None) and function.__module__ == module.__name__:
            print(name, len(function.signatures))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    counts = dict(line.split() for line in done.stdout.splitlines())
    assert {"absolute_sums", "sparse_absolute", "row_absolute", "close", "root_value"} <= set(
        counts
    )
    assert set(counts.values()) == {"0"}
