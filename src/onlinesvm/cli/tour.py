"""The stops of the demo after the first: drift, an explanation, intervals, labels for a pool.

Each function makes its data, learns, and returns what there is to say and to draw. Small sizes make
it quick enough to compile the loops in advance.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

RECENT = 250
"""Predictions over which the error of a stream is averaged."""

FOLLOWS, KEEPS = 'window="auto"', "nothing forgotten"
"""Two memories of a stream."""

COVERAGE = 0.9
"""Share of the targets that an interval is asked to hold."""


@dataclass(frozen=True)
class Drift:
    """A stream whose labels are swapped in the middle, for each kind of memory."""

    n: int
    errors: dict[str, np.ndarray]
    """Error of the last ``RECENT`` predictions after each row, by name."""
    found_after: int | None
    """Rows between the change and the moment at which it was found."""

    def after(self, name: str) -> float:
        """Error over the rows from ``RECENT`` after the change to the end."""
        return float(self.errors[name][self.n // 2 + RECENT :].mean())


def drift(seed: int, n: int = 4000) -> Drift:
    """Predict every row, then learn it, with and without a memory that follows the change."""
    from .. import LASVMClassifier

    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = (X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0).astype(int)
    y[n // 2 :] = 1 - y[n // 2 :]
    errors: dict[str, np.ndarray] = {}
    found = None
    for name, window in ((FOLLOWS, "auto"), (KEEPS, None)):
        model = LASVMClassifier(C=4, gamma=0.2, window=window)
        errors[name], drifts = _prequential(model, X, y)
        later = [row for row in drifts if row >= n // 2]
        found = later[0] - n // 2 if later else found
    return Drift(n, errors, found)


def _prequential(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The error of the last predictions after each row, and the rows at which drift was found."""
    wrong: deque[bool] = deque(maxlen=RECENT)
    errors, drifts, known = np.full(len(y), np.nan), [], 0
    for row, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        if row:
            wrong.append(model.predict_one(x) != label)
            errors[row] = sum(wrong) / len(wrong)
        model.learn_one(x, label)
        count = getattr(model, "n_drifts_", None) or 0
        drifts += [row] * (count > known)
        known = count
    return errors, drifts


@dataclass(frozen=True)
class Why:
    """One answer, and the features that made it."""

    error: float
    answer: str
    score: float
    names: list[str]
    shares: np.ndarray
    rest: float
    """Score less the shares named: the other features, and the score where no feature is known."""


def explanation(seed: int, n: int = 400, most: int = 5) -> Why:
    """Why a tumour of scikit-learn's data is called malignant: exact Shapley values."""
    from sklearn.datasets import load_breast_cancer

    from .. import LASVMClassifier

    data = load_breast_cancer()
    order = np.random.default_rng(seed).permutation(len(data.target))
    train, test = order[:n], order[n:]
    X = (data.data - data.data[train].mean(axis=0)) / data.data[train].std(axis=0)
    y = np.where(data.target == 0, "malignant", "benign")
    model = LASVMClassifier(C=10, gamma=0.01, random_state=0).fit(X[train], y[train])
    scores = model.decision_function(X[test])  # positive: malignant, the second class
    which = int(np.argmin(np.abs(scores - 0.5 * scores.max())))
    shares = model.explain(X[test[which : which + 1]]).values[0]
    largest = np.argsort(-np.abs(shares))[:most]
    names = [str(data.feature_names[j]) for j in largest]
    error = float(np.mean(model.predict(X[test]) != y[test]))
    answer = str(model.predict(X[test[which : which + 1]])[0])
    rest = float(scores[which] - shares[largest].sum())
    return Why(error, answer, float(scores[which]), names, shares[largest], rest)


@dataclass(frozen=True)
class Interval:
    """Values that are uncertain in one place and certain in another, and intervals for them."""

    x: np.ndarray
    t: np.ndarray
    grid: np.ndarray
    low: np.ndarray
    high: np.ndarray
    coverage: float
    """Share of new targets inside their interval."""


def interval(seed: int, n: int = 1500) -> Interval:
    """Quantiles of a value whose noise grows, corrected so that intervals keep their coverage."""
    from .. import LASVMRegressor

    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, 2 * n)
    t = np.sin(x) + (0.05 + 0.06 * x) * rng.standard_normal(2 * n)
    model = LASVMRegressor(C=10, gamma=0.5, quantile=[0.05, 0.95], random_state=0)
    model.fit(x[:n, None], t[:n])
    found = np.asarray(model.predict_interval(x[n:, None], coverage=COVERAGE))
    inside = (found[:, 0] <= t[n:]) & (t[n:] <= found[:, 1])
    grid = np.linspace(0, 10, 200)
    low, high = np.asarray(model.predict_interval(grid[:, None], coverage=COVERAGE)).T
    return Interval(x[:n], t[:n], grid, low, high, float(inside.mean()))


@dataclass(frozen=True)
class Labels:
    """Test error against labels used, for two ways of choosing questions."""

    labels: np.ndarray
    errors: dict[str, np.ndarray]
    n_pool: int


def labels(seed: int, n_pool: int = 1200, n_labels: int = 160, n_points: int = 16) -> Labels:
    """A pool of handwritten digits: questions that the model chooses, next to random ones."""
    from sklearn.datasets import load_digits

    from .. import LASVMClassifier, labelling_curve

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    pool, test = order[:n_pool], order[n_pool:]
    curves = labelling_curve(
        LASVMClassifier(C=10, gamma=0.001), X[pool], y[pool], X[test], y[test],
        n_labels=n_labels, n_points=n_points, random_state=seed,
    )  # fmt: skip
    errors = {curve.selection: curve.error[0] for curve in curves}
    return Labels(curves[0].labels, errors, n_pool)
