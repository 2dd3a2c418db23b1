"""Quantiles beside boosted trees and linear quantiles: ``python -m benchmarks.quantiles [set ...]``.

Pinball loss of the quantiles .1, .5 and .9 on seven sets, of

    LASVMRegressor(quantile=[.1, .5, .9], calibrated=True)     one model for all that have the same setting
    HistGradientBoostingRegressor(loss="quantile")             one model each
    QuantileRegressor on Nystroem features                     one model each, a linear program

tuned alike, on training rows alone: each has settings around its defaults, of which, for each quantile,
the one with the lowest pinball loss on a fifth of the training rows is fitted to all of them. Settings
are tried in random order until ``LIMIT`` seconds have passed, and how many were tried is told. Ours may
have learned weights of features. The quantiles of each example are sorted, for all alike. Seconds are
processor time of everything.

"shifted": the same models, each quantile moved by the constant that has the lowest loss on the fifth of
the rows on which its setting was chosen (the quantile of the errors there). Models that follow the
training targets closely have too many targets outside on new rows; this mends it, for all alike.
``calibrated=True`` has mended it before.

The share of targets below a quantile is off where more than that share lie below it, or less lie at or
below it. Up to ``TIE`` of the spread counts as equal: many equal targets (zeros) have no other share.

Bars: the lowest mean loss of the three on at least five of seven sets, in no more time; shares off by no more
than 2 points. ``--rows`` is the number of training rows at most, ``--quick`` takes a few generated rows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.pipeline import make_pipeline

from benchmarks.clock import Clock, load_per_core, warn_of_load
from benchmarks.datasets import Dataset, arrays, load
from benchmarks.markdown import bar, markdown
from benchmarks.quick import quick_form, set_options
from onlinesvm import LASVMRegressor

LEVELS = (0.1, 0.5, 0.9)

ROWS, TEST_ROWS, QUICK_ROWS = 2000, 5000, 200

LIMIT = 15.0
"""Seconds of processor time after which no more settings are tried on a set."""

TIE = 1e-3
"""Share of the standard deviation within which a target is equal to a prediction: the tolerance of fits."""

NEAR = 0.02
"""By how much a share of targets below a quantile may be off."""

KERNELS = ("rbf", "laplacian")

COMPONENTS = 100
"""Nystroem's default; a linear program of 200 takes about three times as long."""


def _column(name: str, target: int, left_out: tuple[int, ...]) -> Callable[[int, int], Dataset]:
    """A column of a stream, to be predicted from others, in random order."""

    def read(rows: int, seed: int) -> Dataset:
        X = arrays(name)["X"].astype(np.float64)
        order = np.random.default_rng(seed).permutation(len(X))
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        y, X = X[order, target], np.delete(X, (target, *left_out), axis=1)[order]
        train, test = slice(rows), slice(rows, rows + TEST_ROWS)
        return Dataset(name, X[train], y[train], X[test], y[test], 1.0, 1.0, "in random order")

    return read


def _table(name: str) -> Callable[[int, int], Dataset]:
    return lambda rows, seed: load(f"{name}:{rows}", seed)


SETS: dict[str, Callable[[int, int], Dataset]] = {
    **{name: _table(name) for name in ("bike", "elevators", "kin40k", "pol", "protein")},
    "demand": _column("elec2", 4, (0,)),
    "temperature": _column("weather", 0, (6, 7)),  # without the highest and the lowest of the day
}


# -- who predicts -----------------------------------------------------------------------------------


class Contender(NamedTuple):
    """Settings to choose among, and what they make: one model for several quantiles, or one for each."""

    settings: list[dict[str, Any]]
    make: Callable[..., Any]
    all_at_once: bool


def _spread(X: np.ndarray) -> float:
    return 1.0 / (X.shape[1] * float(X.var()) or 1.0)


def _distances(X: np.ndarray) -> float:
    """As ``_spread`` for a kernel of the sum of absolute differences."""
    return 1.0 / (float(np.abs(X - np.median(X, axis=0)).mean(axis=0).sum()) or 1.0)


def _lasvm(
    X: np.ndarray, levels: list[float], kernel: str, factor: float, C: float, weights: str | None
) -> Any:
    gamma = factor * (_spread(X) if kernel == "rbf" else _distances(X))
    settings = {"kernel": kernel, "C": C, "gamma": gamma, "feature_weights": weights}
    return LASVMRegressor(quantile=levels, calibrated=True, n_jobs=1, **settings)


def _trees(X: np.ndarray, level: float, **settings: Any) -> Any:
    return HistGradientBoostingRegressor(
        loss="quantile", quantile=level, random_state=0, **settings
    )


def _linear(X: np.ndarray, level: float, factor: float, alpha: float) -> Any:
    features = Nystroem(
        gamma=factor * _spread(X), n_components=min(COMPONENTS, len(X)), random_state=0
    )
    return make_pipeline(features, QuantileRegressor(quantile=level, alpha=alpha))


def _grid(**values: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


CONTENDERS: dict[str, Contender] = {
    "LASVMRegressor": Contender(
        _grid(kernel=KERNELS, factor=(0.3, 1.0, 3.0), C=(1.0, 10.0), weights=(None,))
        + _grid(kernel=KERNELS, factor=(0.3, 1.0), C=(10.0,), weights=("learn",)),
        _lasvm,
        True,
    ),
    "HistGradientBoosting": Contender(
        _grid(
            learning_rate=(0.03, 0.06, 0.1, 0.2), max_leaf_nodes=(7, 15, 31),
            min_samples_leaf=(5, 20, 50), max_iter=(100, 300),
        ),
        _trees,
        False,
    ),
    "QuantileRegressor, Nystroem": Contender(
        _grid(factor=(0.1, 0.3, 1.0, 3.0), alpha=(1e-6, 1e-5, 1e-4, 1e-3)), _linear, False
    ),
}  # fmt: skip


def losses(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pinball loss of each quantile, of predictions (n, quantiles)."""
    pairs = zip(values.T, LEVELS, strict=True)
    return np.array([mean_pinball_loss(y, column, alpha=level) for column, level in pairs])


def off(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By how much the share of targets below each quantile misses it."""
    tie, levels = TIE * float(y.std()), np.array(LEVELS)
    below = (y[:, None] < values - tie).mean(axis=0)
    not_above = (y[:, None] <= values + tie).mean(axis=0)
    return np.maximum(np.maximum(below - levels, levels - not_above), 0.0)


Chosen = list[dict[str, Any]]  # a setting for each quantile


def predictions(
    who: Contender, chosen: Chosen, X: np.ndarray, y: np.ndarray, asked: np.ndarray
) -> np.ndarray:
    """Predictions (n, quantiles) for the rows asked, of models with these settings fitted to X and y."""
    found = np.empty((len(asked), len(LEVELS)))
    for k, (level, own) in enumerate(zip(LEVELS, chosen, strict=True)):
        if not who.all_at_once:
            found[:, k] = who.make(X, level, **own).fit(X, y).predict(asked)
        elif chosen.index(own) == k:  # one model for all that have the same setting
            which = [j for j in range(len(LEVELS)) if chosen[j] == own]
            model = who.make(X, [LEVELS[j] for j in which], **own).fit(X, y)
            found[:, which] = np.reshape(model.predict(asked), (len(asked), -1))
    return np.sort(found, axis=1)


class Tuned(NamedTuple):
    """The best setting for each quantile, and how its predictions are to be shifted."""

    chosen: Chosen
    shift: np.ndarray
    tried: int


def tuned(who: Contender, X: np.ndarray, y: np.ndarray, limit: float = LIMIT) -> Tuned:
    """The settings with the lowest loss on a fifth of the rows, among those tried within the limit."""
    rng = np.random.default_rng(0)
    order, cut = rng.permutation(len(y)), int(0.8 * len(y))
    first, rest = order[:cut], order[cut:]
    settings = [who.settings[k] for k in rng.permutation(len(who.settings))]
    values: list[np.ndarray] = []
    clock = Clock()
    for each in settings:
        with clock:
            values.append(predictions(who, [each] * len(LEVELS), X[first], y[first], X[rest]))
        if clock.cpu_seconds > limit:
            break
    found = np.array([losses(each, y[rest]) for each in values])
    best = found.argmin(axis=0)
    errors = [y[rest] - values[which][:, k] for k, which in enumerate(best)]
    shift = [np.quantile(each, level) for each, level in zip(errors, LEVELS, strict=True)]
    return Tuned([settings[which] for which in best], np.array(shift), len(values))


# -- the table --------------------------------------------------------------------------------------


class Measured(NamedTuple):
    """Pinball loss of each quantile, by how much its share is off, as fitted and shifted; seconds."""

    losses: np.ndarray
    off: np.ndarray
    shifted_losses: np.ndarray
    shifted_off: np.ndarray
    seconds: float
    tried: int  # settings


def measure(data: Dataset, who: Contender) -> Measured:
    few, X, y = slice(0, 100), data.X_train, data.y_train
    predictions(who, [who.settings[0]] * len(LEVELS), X[few], y[few], X[few])
    asked, expected = data.X_test[:TEST_ROWS], data.y_test[:TEST_ROWS]
    with Clock() as clock:
        best = tuned(who, X, y)
        values = predictions(who, best.chosen, X, y, asked)
    shifted = np.sort(values + best.shift, axis=1)
    return Measured(
        losses(values, expected), off(values, expected), losses(shifted, expected),
        off(shifted, expected), clock.cpu_seconds, best.tried,
    )  # fmt: skip


def _percent(shares: np.ndarray) -> str:
    return " ".join(f"{100 * share:.0f}" for share in shares)


def _is_best(by_who: dict[str, Measured], name: str) -> bool:
    """Whether the first has the lowest mean of these losses."""
    ours, *others = (float(getattr(each, name).mean()) for each in by_who.values())
    return ours <= min(others)


def report(found: dict[str, dict[str, Measured]]) -> str:
    """The table, and whether the bars were met."""
    rows, in_time, near, n = [], 0, 0, len(found)
    for name, by_who in found.items():
        for who, own in by_who.items():
            each = [f"{loss:.4f}" for loss in (*own.losses, own.losses.mean())]
            rows.append([
                name, who, *each, _percent(own.off), f"{own.shifted_losses.mean():.4f}",
                _percent(own.shifted_off), f"{own.seconds:.1f}", str(own.tried),
            ])  # fmt: skip
        ours, *others = by_who.values()
        in_time += all(ours.seconds <= other.seconds for other in others)
        near += bool((ours.off <= NEAR).all())
    best = sum(_is_best(by_who, "losses") for by_who in found.values())
    shifted = sum(_is_best(by_who, "shifted_losses") for by_who in found.values())
    header = [
        "set", "model", *(f"loss, {level}" for level in LEVELS), "mean", "shares off by, %",
        "mean, shifted", "shares off by, %, shifted", "s", "settings tried",
    ]  # fmt: skip
    lines = [
        markdown(header, rows),
        bar(f"lowest mean loss on {best} of {n} sets (5 of 7)", 7 * best >= 5 * n),
        bar(f"shifted: lowest mean loss on {shifted} of {n} sets (5 of 7)", 7 * shifted >= 5 * n),
        bar(f"shares off by no more than 2 points on {near} of {n} sets", near == n),
        bar(f"no more time than either on {in_time} of {n} sets", in_time == n),
    ]
    return "\n".join(lines)


def main(argv: list[str] | None = None) -> None:
    given = set_options(argv, "Quantiles beside trees and linear quantiles.", SETS, ROWS)
    warn_of_load()
    found: dict[str, dict[str, Measured]] = {}
    if given.quick:
        with quick_form():
            data = {"friedman": load(f"friedman:{QUICK_ROWS}")}
    else:
        data = {name: SETS[name](given.rows, 0) for name in given.sets}
    for name, each in data.items():
        found[name] = {}
        for who, contender in CONTENDERS.items():
            own = found[name][who] = measure(each, contender)
            loss, shifted = own.losses.mean(), own.shifted_losses.mean()
            print(f"{name}  {who}  {loss:.4f}  {shifted:.4f}  {own.seconds:.1f} s", flush=True)
    print(f"load per core: {load_per_core():.2f}")
    print(report(found))


if __name__ == "__main__":
    main()
