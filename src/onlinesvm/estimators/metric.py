"""Feature weights: given by the user, or learned from a sample of the examples.

A kernel with one gamma treats all features alike. If some matter more, it helps to multiply each by
a weight. Weights are learned in rounds: fit, measure how fast the decision function changes along
each feature (the root of its mean squared gradient), multiply the features by that, fit again. The
weights of features that the function does not depend on shrink with every round.

Rounds can do harm, so the number of rounds is chosen by cross-validation: all rounds are run on
each of a few folds, and weights of one are kept unless a round is better by more than noise. Of
rounds that are equally good, the last one is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..core.runtime.dependencies import require

SAMPLE = 3000
"""Number of examples that the weights are learned from."""

FEWEST = 20
"""Number of examples below which nothing is learned: all weights are one."""

ROUNDS, FOLDS = 5, 3
"""Number of rounds, and of folds that choose among them."""

POINTS = 1000
"""Number of examples at which the gradient is measured."""

SURE = 2.0
"""A round is better than weights of one if its gain is this number of standard errors."""

TIED = 1.0
"""Two rounds are equally good if they differ by no more than this number of standard errors."""


class TooLong(Exception):  # noqa: N818 - not an error
    """There is no time for another fit."""


class Sample(NamedTuple):
    """Examples that weights are learned from: checked rows, labels or targets, their weights."""

    X: Any
    y: np.ndarray
    weight: np.ndarray
    has_classes: bool

    def take(self, which: np.ndarray) -> Sample:
        """Some of them."""
        return self._replace(X=self.X[which], y=self.y[which], weight=self.weight[which])


Fit = Callable[[Sample, "np.ndarray | None"], Any]
"""Fits an estimator on a sample with feature weights; None: all are one."""


# -- weights as data ----------------------------------------------------------------------


def check_weights(given: Any, n_features: int) -> np.ndarray:
    """Weights that a user gives; raises an error if invalid."""
    try:
        weights = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "feature_weights must be None, 'learn' or one number for each feature."
        ) from None
    if weights.shape != (n_features,):
        raise ValueError(
            f"feature_weights has the shape {weights.shape}, and X has {n_features} features: give one "
            "number for each."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("feature_weights must be finite and not negative.")
    if not weights.any():
        raise ValueError("feature_weights are all zero: no feature would be left to learn from.")
    return weights.copy()


# -- learning -----------------------------------------------------------------------------


def learned_weights(fit: Fit, given: Sample, rng: np.random.RandomState) -> np.ndarray:
    """Weights of all features; all one if no round is clearly better than that.

    All are also one if ``fit`` raises ``TooLong``.
    """
    try:
        return _learned(fit, _sampled(given, rng), rng)
    except TooLong:
        return np.ones(given.X.shape[1])


def _learned(fit: Fit, sample: Sample, rng: np.random.RandomState) -> np.ndarray:
    plain = np.ones(sample.X.shape[1])
    folds = _folds(sample, rng)
    if folds is None:
        return plain
    losses = np.concatenate([_losses(fit, sample, folds == k, rng) for k in range(FOLDS)], axis=1)
    weight = np.concatenate([sample.weight[folds == k] for k in range(FOLDS)])
    rounds = chosen_round(losses, weight)
    spread, weights = spread_of(sample.X), None
    for _ in range(rounds):
        weights = next_weights(fit(sample, weights), sample.X, weights, spread, rng)
    return plain if weights is None else weights


def next_weights(
    model: Any, X: Any, weights: np.ndarray | None, spread: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """The root mean squared gradient of a fitted model along each feature, in the user's units.

    Weights keep the mean distance of two examples, so that gamma keeps its meaning. Features that
    do not vary in X have the weight one.
    """
    from ..core.kernel.gradients import squared_gradients
    from .base import view_of

    view = view_of(model)
    points = X[rng.permutation(X.shape[0])[:POINTS]]
    rows = view.trained.rows(points)
    squares = squared_gradients(view.kernel, rows, view.model.rows, view.model.coef)
    found = np.sqrt(squares) * (1.0 if weights is None else weights)
    return kept_distance(found, spread, view.kernel.name)


def kept_distance(weights: np.ndarray, spread: np.ndarray, kernel: str) -> np.ndarray:
    """The weights, scaled so that the mean distance of two examples is that without weights."""
    varies = spread > 0
    power = 1 if kernel == "laplacian" else 2  # distances add up, or their squares do
    size = ((weights * spread)[varies] ** power).sum()
    if not (np.isfinite(size) and size > 0):
        return np.ones(len(weights))
    factor = ((spread[varies] ** power).sum() / size) ** (1 / power)
    return np.where(varies, weights * factor, 1.0)


def chosen_round(losses: np.ndarray, weight: np.ndarray) -> int:
    """The last round that is within the noise of the best one; 0 if that is not clearly better than 0.

    The last, because weights of features that do not matter shrink with every round. ``losses`` is
    (rounds + 1, examples); the first row is that of weights of one.
    """
    share = weight / weight.sum()
    best = int((losses @ share).argmin())
    if best == 0 or _gain(losses[0] - losses[best], share) < SURE:
        return 0
    later = range(best, len(losses))
    return max(r for r in later if _gain(losses[r] - losses[best], share) <= TIED)


def _gain(difference: np.ndarray, share: np.ndarray) -> float:
    """A mean difference in standard errors."""
    mean = float(difference @ share)
    error = np.sqrt(float((share**2) @ (difference - mean) ** 2))
    return mean / error if error > 0 else 0.0


def _losses(fit: Fit, sample: Sample, held: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Losses of the held-out examples after each number of rounds on the others."""
    learn, score = sample.take(np.flatnonzero(~held)), sample.take(np.flatnonzero(held))
    spread, weights, found = spread_of(learn.X), None, []
    for done in range(ROUNDS + 1):
        model = fit(learn, weights)
        found.append(loss(model, score))
        if done < ROUNDS:
            weights = next_weights(model, learn.X, weights, spread, rng)
    return np.array(found)


def loss(model: Any, score: Sample) -> np.ndarray:
    """The loss of each example: whether its label is wrong, or the squared error."""
    predicted = model.predict(score.X)
    if score.has_classes:
        return np.asarray(predicted != score.y, np.float64)
    squares = (
        np.reshape(predicted, (len(score.y), -1)) - np.reshape(score.y, (len(score.y), -1))
    ) ** 2
    return np.asarray(squares.sum(axis=1))


def spread_of(X: Any) -> np.ndarray:
    """The standard deviation of each feature."""
    if not sparse.issparse(X):
        return np.asarray(X.std(axis=0, dtype=np.float64))
    mean = np.asarray(X.mean(axis=0)).ravel()
    square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
    return np.sqrt(np.maximum(square - mean**2, 0.0))


def _sampled(given: Sample, rng: np.random.RandomState) -> Sample:
    """At most ``SAMPLE`` of the examples that count."""
    counts = np.flatnonzero(given.weight > 0)
    return given.take(np.sort(rng.permutation(counts)[:SAMPLE]))


def _folds(sample: Sample, rng: np.random.RandomState) -> np.ndarray | None:
    """The fold of each example, every label in every fold; None where there are too few."""
    n = len(sample.y)
    if n < FEWEST:
        return None
    order = rng.permutation(n)
    if sample.has_classes:
        _, label, counts = np.unique(sample.y, return_inverse=True, return_counts=True)
        if np.sort(counts)[-2:].min() < FOLDS or len(counts) < 2:
            return None
        order = order[np.argsort(label[order], kind="stable")]
    fold = np.empty(n, np.int64)
    fold[order] = np.arange(n) % FOLDS
    return fold


# -- a picture ----------------------------------------------------------------------------


def plot_weights(weights: np.ndarray, names: Any, ax: Any, most: int) -> Any:
    """Bars, the largest weights on top; returns the figure."""
    figures = require("matplotlib.figure", "A plot", "plots")

    order = np.argsort(-weights, kind="stable")[:most]
    if ax is None:
        ax = figures.Figure(figsize=(6, 1 + 0.25 * len(order)), layout="constrained").subplots()
    words = [str(j) if names is None else str(names[j]) for j in order]
    ax.barh(range(len(order)), weights[order])
    ax.set_yticks(range(len(order)), words)
    ax.invert_yaxis()
    ax.set(xlabel="weight of the feature")
    return ax.figure
