"""Labelling curves: test error and support vectors against labels used.

Given a pool whose labels are known, a test part and some strategies, lets an ``ActiveLearner`` ask
its questions, answers them, and measures at regular intervals (lasvm-2005, Figure 16).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import _num_samples

from ..core.runtime.dependencies import require
from ..estimators.labels import check_indicators, is_indicator_matrix, unique_labels
from .learner import ActiveLearner
from .strategies import Strategy, is_count

_USES = {"pool": "ask about", "test": "measure with"}


@dataclass(frozen=True)
class LabellingCurve:
    """One strategy. Arrays of shape (n_runs, n_points), except ``labels`` of shape (n_points,)."""

    selection: str
    labels: np.ndarray
    error: np.ndarray
    n_support: np.ndarray
    seconds: np.ndarray


class LabellingCurves(list[LabellingCurve]):
    """A list of curves that can be drawn."""

    def plot(self, axes: Any = None) -> Any:
        """Test error on the left, support vectors on the right, against labels used.

        Parameters
        ----------
        axes : sequence of two matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        figure : matplotlib Figure
            The figure drawn on. Runs are averaged; the band is one standard error wide.
        """
        figures = require("matplotlib.figure", "A plot", "plots")

        if axes is None:
            axes = figures.Figure(figsize=(9, 3.6), layout="constrained").subplots(1, 2)
        for curve in self:
            for axis, values in zip(axes, (curve.error, curve.n_support), strict=True):
                _draw(axis, curve.labels, values, curve.selection)
        axes[0].set(xlabel="labels", ylabel="test error")
        axes[1].set(xlabel="labels", ylabel="support vectors")
        axes[0].legend(frameon=False)
        return axes[0].figure


def _draw(axis: Any, labels: np.ndarray, values: np.ndarray, name: str) -> None:
    mean = values.mean(axis=0)
    (line,) = axis.plot(labels, mean, label=name)
    if len(values) > 1:
        spread = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        axis.fill_between(labels, mean - spread, mean + spread, color=line.get_color(), alpha=0.2)
    axis.grid(alpha=0.3)


def labelling_curve(
    estimator: Any,
    X_pool: Any,
    y_pool: Any,
    X_test: Any,
    y_test: Any,
    selections: Sequence[str | Strategy] = ("active", "random"),
    n_labels: int = 200,
    sample_size: int | None = 50,
    n_points: int = 20,
    n_runs: int = 1,
    random_state: Any = None,
) -> LabellingCurves:
    """Test error and support vectors against labels used, for several selection strategies.

    Parameters
    ----------
    estimator : classifier
        As in ``ActiveLearner``. Every run starts from a copy.
    X_pool : {array-like, CSR matrix} of shape (n_pool, n_features)
        Examples to ask about.
    y_pool : array-like of shape (n_pool,) or (n_pool, n_columns)
        The answers; if examples have several labels, rows of 0 and 1 with one column per label.
    X_test : {array-like, CSR matrix} of shape (n_test, n_features)
        Examples to measure with.
    y_test : array-like of shape (n_test,) or (n_test, n_columns)
        Their labels.
    selections : sequence of {"active", "random"} or callable, default=("active", "random")
        Selection strategies to compare; all use the same seeds.
    n_labels : int, default=200
        Number of examples whose labels are asked for, at most the size of the pool.
    sample_size : int or None, default=50
        As in ``ActiveLearner``.
    n_points : int, default=20
        Number of points of a curve, evenly spaced.
    n_runs : int, default=1
        Number of runs of each strategy, with different seeds.
    random_state : int, RandomState instance or None, default=None
        Seed for the runs.

    Returns
    -------
    curves : LabellingCurves
        A list with one ``LabellingCurve`` per strategy, and a method ``plot``. The error is the
        share of wrong predictions; if examples have several labels, of wrong labels (Hamming loss).

    See Also
    --------
    onlinesvm.ActiveLearner : Asks and teaches, one label at a time.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from onlinesvm import LASVMClassifier, labelling_curve
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> model = LASVMClassifier(C=10)
    >>> active, random = labelling_curve(
    ...     model, X[:500], y[:500], X[500:], y[500:], n_labels=60, n_points=3, random_state=0)
    >>> active.labels
    array([20, 40, 60])
    >>> bool(active.error[0, -1] < 0.05)
    True
    """
    y_pool = _check_labels(X_pool, y_pool, "pool")
    y_test = _check_labels(X_test, y_test, "test")
    if y_pool.shape[1:] != y_test.shape[1:]:
        pool, test = (
            "is 1d" if y.ndim == 1 else f"has {y.shape[1]} columns" for y in (y_pool, y_test)
        )
        raise ValueError(
            f"y_pool {pool}, but y_test {test}: both must have one dimension, or the same columns."
        )
    for name, count in (("n_labels", n_labels), ("n_points", n_points), ("n_runs", n_runs)):
        if not is_count(count):
            raise ValueError(f"{name} must be an integer of at least 1; got {count!r}.")
    n_labels = min(n_labels, len(y_pool))
    points = np.unique(np.linspace(0, n_labels, n_points + 1)[1:].astype(int))
    points = points[points > 0]
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n_runs)
    curves = LabellingCurves()
    for selection in selections:
        runs = []
        for seed in seeds:
            columns = y_pool.shape[1] if y_pool.ndim == 2 else None
            learner = ActiveLearner(
                estimator, X_pool, selection, sample_size, int(seed), n_labels=columns
            )
            runs.append(_run(learner, y_pool, X_test, y_test, points))
        error, support, seconds = np.array(runs).transpose(1, 0, 2)
        name = (
            selection if isinstance(selection, str) else getattr(selection, "__name__", "callable")
        )
        curves.append(LabellingCurve(name, points, error, support, seconds))
    return curves


def _check_labels(X: Any, y: Any, name: str) -> np.ndarray:
    """Labels, one for each example; raises an error if invalid."""
    y, n = _labels_or_rows(y), _num_samples(X)
    if len(y) != n:
        raise ValueError(
            f"X_{name} has {n} examples, but y_{name} {len(y)} labels: each example needs one."
        )
    if not n:
        raise ValueError(f"X_{name} is empty: there is nothing to {_USES[name]}.")
    if y.ndim == 1:
        unique_labels(y)
    return y


def _labels_or_rows(y: Any) -> np.ndarray:
    """Labels (n,), or rows of 0 and 1 (n, columns) where examples have several labels."""
    several = is_indicator_matrix(y if sparse.issparse(y) else np.asarray(y))
    return check_indicators(y, None) if several else column_or_1d(y)


def _run(
    learner: ActiveLearner, y_pool: np.ndarray, X_test: Any, y_test: np.ndarray, points: np.ndarray
) -> np.ndarray:
    """Error, support vectors and seconds of asking and teaching, at each of the points."""
    found, spent, asked = [], 0.0, 0
    for goal in points:
        start = time.perf_counter()
        while asked < goal:
            question = learner.query()
            learner.teach(question, y_pool[question])
            asked += 1
        spent += time.perf_counter() - start
        found.append((_error(learner, X_test, y_test), _n_support(learner), spent))
    return np.array(found, np.float64).T


def _error(learner: ActiveLearner, X: Any, y: np.ndarray) -> float:
    """Share of wrong labels; a model with a single class always predicts that class."""
    known = learner.labels
    if learner.n_labels is None and len(set(known)) < 2:
        return float(np.mean(y != known[0]))
    return float(np.mean(learner.estimator.predict(X) != y))


def _n_support(learner: ActiveLearner) -> float:
    model = learner._model
    if learner.n_labels is not None:  # n_support_ counts a row once for each label
        return float(len(model.support_))
    support = getattr(model, "n_support_", None)
    return float("nan") if support is None else float(np.sum(support))
