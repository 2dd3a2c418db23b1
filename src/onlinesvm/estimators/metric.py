"""Feature weights: given by the user, or learned from a sample of the examples.

A kernel with one gamma treats all features alike. If some matter more, it helps to multiply each by
a weight. Weights are learned in rounds: fit, measure how fast the decision function changes along
each feature (the root of its mean squared gradient), multiply the features by that, fit again. The
weights of features that the function does not depend on shrink with every round.

A function of the Laplacian kernel has a kink at every support vector, so that it changes along every
feature about as fast as its weight allows, whether the feature matters or not. Its weights are
therefore also shrunk by a test: two fits of one half of the examples each judge the other half, with each
feature as it is and as another example has it. Of a feature that does not matter, the function gains nothing
by the true one; t, the gain in standard errors, is then about a standard normal variable, and 1 - 1/t^2 is
an estimate of the share of t^2 that is not noise.

Rounds can do harm, so the number of rounds is chosen by cross-validation: all rounds are run on
each of a few folds, and weights of one are kept unless a round is better by more than noise; labels are
compared by how sure they are, too, which is less noisy than wrong ones (``label_losses``). Of
rounds that are equally good, the last one is used. Weights that are small beside the others, with a
gap between, are then set to zero if the held-out examples are predicted as well without them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..core.runtime.dependencies import require
from .label_losses import losses_of_labels, margins_of

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

TESTED = ("laplacian",)
"""Kernels whose weights are also tested."""

USUAL = (0.02, 0.98)
"""Quantiles that targets are cut off at for the test."""

LEAST_SHARE = 0.3
"""What the test leaves of a weight in one round, at least: a feature may turn out to matter without the noise."""

TIED = 1.0
"""Two rounds are equally good if they differ by no more than this number of standard errors."""

NEGLIGIBLE, WIDE = 0.03, 2.0
"""Share of the largest weight below which weights are equally small; and the least factor of a gap between
weights that count and those that do not."""

MIDDLE = np.array(0.5)
"""The quantile of a regressor that predicts none: few targets far from all others decide nothing."""


class TooLong(Exception):  # noqa: N818 - not an error
    """There is no time for another fit."""


class Sample(NamedTuple):
    """Examples that weights are learned from: checked rows, labels or targets, their weights.

    ``levels``: the quantiles that are predicted, if they are, one for all targets or several of one.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray
    has_classes: bool
    levels: np.ndarray | None = None
    unit: np.ndarray | float = 1.0  # of each target: that of all examples, also for a part

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


def in_units(sample: Sample) -> Sample:
    """The same, with the unit of its targets."""
    return sample._replace(unit=unit_of(sample.y, sample.has_classes))


def _learned(fit: Fit, sample: Sample, rng: np.random.RandomState) -> np.ndarray:
    sample = in_units(sample)
    plain = np.ones(sample.X.shape[1])
    folds = _folds(sample, rng)
    if folds is None:
        return plain
    paths = [_Path(fit, sample, folds == k, rng) for k in range(FOLDS)]
    losses = np.concatenate([path.losses for path in paths], axis=1)
    weight = np.concatenate([path.score.weight for path in paths])
    rounds = last_of_best(losses, weight)
    drops = rounds > 0 and _may_drop(paths, losses, rounds, weight)
    if not drops and not chosen_round(losses, weight):
        return plain
    spread, weights = spread_of(sample.X), plain
    for done in range(rounds):
        before = weights if done else None
        weights = tested_weights(fit, fit(sample, before), sample, before, spread, rng)
    return without_small(weights, spread, paths[0].kernel) if drops else weights


def _may_drop(paths: list[_Path], losses: np.ndarray, rounds: int, weight: np.ndarray) -> bool:
    """Whether all folds have small weights after this round, and predict as well without them."""
    found = [each for path in paths if (each := path.without_small(rounds)) is not None]
    if len(found) < len(paths):
        return False
    fewer = np.concatenate(found)
    behind, ahead = (_gain(d, weight) for d in (fewer - losses[rounds], losses[0] - fewer))
    return behind <= TIED and ahead >= SURE


def next_weights(
    model: Any, X: Any, weights: np.ndarray | None, spread: np.ndarray, rng: np.random.RandomState,
    unit: np.ndarray | float = 1.0,
) -> np.ndarray:  # fmt: skip
    """The root mean squared gradient of a fitted model along each feature, in the user's units.

    Weights keep the mean distance of two examples, so that gamma keeps its meaning. Features that
    do not vary in X have the weight one. ``unit``: that of the decision values of each machine.
    """
    from ..core.kernel.gradients import squared_gradients
    from .base import view_of

    view = view_of(model)
    points = X[rng.permutation(X.shape[0])[:POINTS]]
    rows = view.trained.rows(points)
    coef = view.model.coef / np.reshape(unit, (-1, 1))
    squares = squared_gradients(view.kernel, rows, view.model.rows, coef)
    found = np.sqrt(squares) * (1.0 if weights is None else weights)
    return kept_distance(found, spread, view.kernel.name)


def tested_weights(
    fit: Fit, model: Any, sample: Sample, weights: np.ndarray | None, spread: np.ndarray,
    rng: np.random.RandomState,
) -> np.ndarray:  # fmt: skip
    """The next weights of a model that ``fit`` has fitted on the sample, shrunk by the test if its kernel needs it."""
    found = next_weights(model, sample.X, weights, spread, rng, sample.unit)
    halves = _folds(sample, rng, 2) if model.kernel in TESTED else None
    if halves is None:
        return found
    gains = [
        gains_of(
            fit(sample.take(np.flatnonzero(halves != k)), weights),
            sample.take(np.flatnonzero(halves == k)),
            rng,
        )
        for k in (0, 1)
    ]
    return kept_distance(found * shares_kept(*np.sum(gains, axis=0)), spread, model.kernel)


def shares_kept(gains: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """What the test leaves of the weight of each feature, given the sums of its gains and of their squares."""
    errors = np.divide(gains, np.sqrt(squares), out=np.zeros_like(gains), where=squares > 0)
    return np.maximum(np.sqrt(1.0 - 1.0 / np.maximum(errors, 1.0) ** 2), LEAST_SHARE)


def gains_of(model: Any, held: Sample, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Sums of what a model gains by each feature of examples that it has not learned, and of the squares."""
    from ..core.kernel.gradients import gains_of_features
    from .base import view_of

    view = view_of(model)
    held = held.take(rng.permutation(len(held.y))[: POINTS // 2])
    unit, rows = np.reshape(held.unit, (-1, 1)), view.trained.rows(held.X)
    coef = view.encoder.shares(view.model.coef) / unit
    targets = _targets_of(held, model.classes_[-len(coef) :] if held.has_classes else coef)
    return gains_of_features(view.kernel, rows, view.model.rows, coef, targets)


def _targets_of(held: Sample, machines: np.ndarray) -> np.ndarray:
    """What the values of each machine should rise with, (machines, n), from y alone, with mean zero.

    ``machines``: the label of each, or one row for each. A few targets far from all others decide nothing.
    """
    if held.has_classes:
        found = np.where(held.y == np.reshape(machines, (-1, 1)), 1.0, -1.0)
    elif held.levels is not None:
        cuts = np.quantile(held.y, np.reshape(held.levels, (-1, 1)))
        found = np.where(held.y.ravel() > cuts, 1.0, -1.0)
    else:
        columns = np.reshape(held.y, (len(held.y), -1))
        found = (np.clip(columns, *np.quantile(columns, USUAL, axis=0)) / held.unit).T
    return np.asarray(found - found.mean(axis=1, keepdims=True))


def kept_distance(weights: np.ndarray, spread: np.ndarray, kernel: str) -> np.ndarray:
    """The weights, scaled so that the mean distance of two examples is that without weights."""
    varies = spread > 0
    power = 1 if kernel == "laplacian" else 2  # distances add up, or their squares do
    size = ((weights * spread)[varies] ** power).sum()
    if not (np.isfinite(size) and size > 0):
        return np.ones(len(weights))
    factor = ((spread[varies] ** power).sum() / size) ** (1 / power)
    return np.where(varies, weights * factor, 1.0)


def without_small(weights: np.ndarray, spread: np.ndarray, kernel: str) -> np.ndarray:
    """Weights with zero for the small ones: those below the widest gap, if there is one."""
    size = weights * spread
    if len(size) < 2 or not size.any():
        return weights
    order = np.argsort(-size, kind="stable")
    ranked = np.maximum(size[order], NEGLIGIBLE * size[order[0]])
    gaps = ranked[:-1] / ranked[1:]
    if gaps.max() < WIDE:
        return weights
    kept = weights.copy()
    kept[order[gaps.argmax() + 1 :]] = 0.0
    return kept_distance(kept, spread, kernel)


def chosen_round(losses: np.ndarray, weight: np.ndarray) -> int:
    """The last round that is within the noise of the best one; 0 if that is not clearly better than 0."""
    best = int((losses @ weight).argmin())
    return last_of_best(losses, weight) if _gain(losses[0] - losses[best], weight) >= SURE else 0


def last_of_best(losses: np.ndarray, weight: np.ndarray) -> int:
    """The last round that is within the noise of the best one; 0 if no round is better than 0.

    The last, because weights of features that do not matter shrink with every round. ``losses`` is
    (rounds + 1, examples); the first row is that of weights of one.
    """
    best = int((losses @ weight).argmin())
    later = range(best, len(losses)) if best else range(1)
    return max(r for r in later if _gain(losses[r] - losses[best], weight) <= TIED)


def _gain(difference: np.ndarray, weight: np.ndarray) -> float:
    """A mean difference in standard errors."""
    share = weight / weight.sum()
    mean = float(difference @ share)
    error = np.sqrt(float((share**2) @ (difference - mean) ** 2))
    return mean / error if error > 0 else 0.0


class _Path:
    """Rounds on the examples of all folds but one, and the losses of the held-out examples."""

    def __init__(self, fit: Fit, sample: Sample, held: np.ndarray, rng: np.random.RandomState):
        self.fit, self.score = fit, sample.take(np.flatnonzero(held))
        self.learn = sample.take(np.flatnonzero(~held))
        self.spread = spread_of(self.learn.X)
        self.weights: list[np.ndarray | None] = [None]
        found = []
        for done in range(ROUNDS + 1):
            model = fit(self.learn, self.weights[done])
            found.append(loss(model, self.score))
            if done < ROUNDS:
                before = self.weights[done]
                self.weights.append(
                    tested_weights(fit, model, self.learn, before, self.spread, rng)
                )
        self.losses, self.kernel = np.array(found), model.kernel

    def without_small(self, rounds: int) -> np.ndarray | None:
        """Losses with the weights of a round, the small ones set to zero; None if none are small."""
        weights = self.weights[rounds]
        assert weights is not None
        fewer = without_small(weights, self.spread, self.kernel)
        if fewer is weights:
            return None
        return loss(self.fit(self.learn, fewer), self.score)


def loss(model: Any, score: Sample) -> np.ndarray:
    """The loss of each example: that of labels, or the one that a regressor minimises."""
    predicted = model.predict(score.X)
    if not score.has_classes:
        levels = MIDDLE if score.levels is None else score.levels
        return pinball(predicted, score.y, levels, score.unit)
    margins = margins_of(model.decision_function(score.X), model.classes_, score.y)
    return losses_of_labels(errors_of(predicted, score.y, True), margins)


def pinball(
    predicted: np.ndarray, truth: np.ndarray, levels: np.ndarray, unit: np.ndarray | float
) -> np.ndarray:
    """The pinball loss of each example, of all targets, in these units, or quantiles together."""
    columns = (np.reshape(values, (len(truth), -1)) for values in (truth, predicted))
    errors = np.subtract(*columns) / unit
    return np.asarray(np.maximum(levels * errors, (levels - 1.0) * errors).sum(axis=1))


def errors_of(predicted: np.ndarray, truth: np.ndarray, has_classes: bool) -> np.ndarray:
    """Whether each label is wrong, or squared errors."""
    if has_classes:
        return np.asarray(predicted != truth, np.float64)
    squares = (np.reshape(predicted, (len(truth), -1)) - np.reshape(truth, (len(truth), -1))) ** 2
    return np.asarray(squares.sum(axis=1))


def unit_of(y: np.ndarray, has_classes: bool) -> np.ndarray | float:
    """The standard deviation of each of several targets, which may have different units; else one."""
    if has_classes or y.ndim == 1 or y.shape[1] == 1:
        return 1.0
    spread = y.std(axis=0, dtype=np.float64)
    return np.where(spread > 0, spread, 1.0)


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


def _folds(sample: Sample, rng: np.random.RandomState, folds: int = FOLDS) -> np.ndarray | None:
    """The fold of each example, every label in every fold; None where there are too few."""
    n = len(sample.y)
    if n < FEWEST:
        return None
    order = rng.permutation(n)
    if sample.has_classes:
        _, label, counts = np.unique(sample.y, return_inverse=True, return_counts=True)
        if np.sort(counts)[-2:].min() < folds or len(counts) < 2:
            return None
        order = order[np.argsort(label[order], kind="stable")]
    fold = np.empty(n, np.int64)
    fold[order] = np.arange(n) % folds
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
