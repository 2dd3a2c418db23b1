"""Quantiles beside boosted trees and linear quantiles: ``python -m benchmarks.quantiles [set ...]``.

Pinball loss of the quantiles .1, .5 and .9 on seven sets, of

    LASVMRegressor(quantile=[.1, .5, .9])                one model for all that have the same setting
    HistGradientBoostingRegressor(loss="quantile")       one model each
    QuantileRegressor on Nystroem features               one model each, a linear program

tuned alike: each has six settings, of which, for each quantile, the one with the lowest pinball loss on
a fifth of the training rows is fitted to all of them. Seconds are those of everything. The bar: the lowest mean loss of the three on at least five of seven sets, in no
more time. ``--rows`` is the number of training rows at most (``QuantileRegressor`` takes minutes for
many), ``--quick`` takes a few generated rows.
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

ROWS, TEST_ROWS, QUICK_ROWS = 4000, 5000, 200

COMPONENTS = 200


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


def _lasvm(X: np.ndarray, levels: list[float], kernel: str, scale: tuple[float, float]) -> Any:
    factor, C = scale
    gamma = factor * (_spread(X) if kernel == "rbf" else _distances(X))
    return LASVMRegressor(quantile=levels, kernel=kernel, C=C, gamma=gamma, n_jobs=1)


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
        _grid(kernel=("rbf", "laplacian"), scale=((1.0, 1.0), (1.0, 10.0), (3.0, 10.0))),
        _lasvm,
        True,
    ),
    "HistGradientBoosting": Contender(
        _grid(learning_rate=(0.05, 0.1, 0.2), max_leaf_nodes=(15, 31)), _trees, False
    ),
    "QuantileRegressor, Nystroem": Contender(
        _grid(factor=(0.3, 1.0, 3.0), alpha=(1e-5, 1e-3)), _linear, False
    ),
}


def losses(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pinball loss of each quantile, of predictions (n, quantiles)."""
    pairs = zip(values.T, LEVELS, strict=True)
    return np.array([mean_pinball_loss(y, column, alpha=level) for column, level in pairs])


class Made(NamedTuple):
    """A fitted model, and the numbers of the quantiles that it predicts."""

    quantiles: list[int]
    model: Any


def predicted(made: list[Made], X: np.ndarray) -> np.ndarray:
    """Predictions (n, quantiles)."""
    values = np.empty((len(X), len(LEVELS)))
    for which, model in made:
        values[:, which] = np.reshape(model.predict(X), (len(X), -1))
    return values


def fitted(
    who: Contender, chosen: list[dict[str, Any]], X: np.ndarray, y: np.ndarray
) -> list[Made]:
    """Models with these settings, one for each quantile."""
    if not who.all_at_once:
        pairs = enumerate(zip(LEVELS, chosen, strict=True))
        return [Made([k], who.make(X, level, **own).fit(X, y)) for k, (level, own) in pairs]
    made = []
    for own in who.settings:
        which = [k for k in range(len(LEVELS)) if chosen[k] == own]
        if which:
            levels = [LEVELS[k] for k in which]
            made.append(Made(which, who.make(X, levels, **own).fit(X, y)))
    return made


def tuned(who: Contender, X: np.ndarray, y: np.ndarray) -> list[Made]:
    """The models with the best settings, fitted to all rows."""
    cut = int(0.8 * len(y))
    found = np.array([
        losses(predicted(fitted(who, [each] * len(LEVELS), X[:cut], y[:cut]), X[cut:]), y[cut:])
        for each in who.settings
    ])  # fmt: skip
    return fitted(who, [who.settings[best] for best in found.argmin(axis=0)], X, y)


# -- the table --------------------------------------------------------------------------------------


class Measured(NamedTuple):
    """Pinball loss of each quantile, the share of targets below it, and seconds."""

    losses: np.ndarray
    below: np.ndarray
    seconds: float


def measure(data: Dataset, who: Contender) -> Measured:
    few = slice(0, 100)
    fitted(who, [who.settings[0]] * len(LEVELS), data.X_train[few], data.y_train[few])
    with Clock() as clock:
        models = tuned(who, data.X_train, data.y_train)
    values = predicted(models, data.X_test[:TEST_ROWS])
    y = data.y_test[:TEST_ROWS]
    return Measured(losses(values, y), (y[:, None] <= values).mean(axis=0), clock.seconds)


def report(found: dict[str, dict[str, Measured]]) -> str:
    """The table, and whether the bar was met."""
    rows, best, in_time = [], 0, 0
    for name, by_who in found.items():
        for who, own in by_who.items():
            shares = " ".join(f"{share:.3f}" for share in own.below)
            each = [f"{loss:.4f}" for loss in (*own.losses, own.losses.mean())]
            rows.append([name, who, *each, shares, f"{own.seconds:.1f}"])
        ours, *others = by_who.values()
        best += all(ours.losses.mean() <= other.losses.mean() for other in others)
        in_time += all(ours.seconds <= other.seconds for other in others)
    header = ["set", "model", *(f"loss, {level}" for level in LEVELS), "mean", "shares below", "s"]
    lines = [
        markdown(header, rows),
        bar(
            f"lowest mean loss on {best} of {len(found)} sets (5 of 7)", 7 * best >= 5 * len(found)
        ),
        bar(f"no more time than either on {in_time} of {len(found)} sets", in_time == len(found)),
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
            found[name][who] = measure(each, contender)
            print(f"{name}  {who}  {found[name][who].losses.mean():.4f}", flush=True)
    print(f"load per core: {load_per_core():.2f}")
    print(report(found))


if __name__ == "__main__":
    main()
