"""The streams: features standardised on the fly, two classes, one example after another.

Every model is given the same numbers: each column less its mean, over its standard deviation, both
of the rows up to and including the present one, whose label is not needed for that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from benchmarks import datasets

GENERATED_ROWS = 20_000
COVTYPE_ROWS = 50_000


@dataclass(frozen=True)
class Stream:
    """A stream: what it is, and a function that makes its first rows (None: all)."""

    note: str
    make: Callable[[int | None], tuple[np.ndarray, np.ndarray]]


def standardised(X: np.ndarray) -> np.ndarray:
    """Each row by the mean and deviation of the rows up to it; a column of one value is zero."""
    count = np.arange(1, len(X) + 1)[:, None]
    X = X.astype(np.float64)
    moved = X - X[:1]  # digits are not lost to a large mean
    mean = np.cumsum(moved, axis=0) / count
    variance = np.maximum(np.cumsum(moved**2, axis=0) / count - mean**2, 0.0)
    scale = np.sqrt(variance)
    enough = scale > 1e-9 * np.maximum(np.abs(mean), 1e-30)
    return np.where(enough, (moved - mean) / np.where(enough, scale, 1.0), 0.0)


def examples(name: str, rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Standardised features and labels False or True, of one stream."""
    X, y = STREAMS[name].make(rows)
    return standardised(X[:rows]), y[:rows].astype(bool)


def _table(name: str, drop: tuple[int, ...], positive: Any, most: int | None = None) -> Any:
    def make(rows: int | None) -> tuple[np.ndarray, np.ndarray]:
        z = datasets.arrays(name)
        last = most if rows is None else rows
        return np.delete(z["X"][:last], drop, axis=1), positive(z["y"][:last])

    return make


def sea(rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    data = datasets.sea(rows or GENERATED_ROWS, seed=0)
    return data.X_train, data.y_train > 0


def _river(generator: Callable[[], Any]) -> Any:
    def make(rows: int | None) -> tuple[np.ndarray, np.ndarray]:
        pairs = list(islice(generator(), rows or GENERATED_ROWS))
        X = np.array([list(x.values()) for x, _ in pairs], float)
        return X, np.array([y for _, y in pairs]) > 0

    return make


def _hyperplane() -> Any:
    from river.datasets import synth

    return synth.Hyperplane(
        seed=0, n_features=10, n_drift_features=10, mag_change=0.001, noise_percentage=0.05
    )


def _clusters() -> Any:
    from river.datasets import synth

    return synth.RandomRBFDrift(
        seed_model=0, seed_sample=0, n_classes=2, n_features=10, n_centroids=50,
        change_speed=0.0002, n_drift_centroids=50,
    )  # fmt: skip


def swap(rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """The class is the sign of a quadratic form; after the first half, of its negative."""
    n = rows or GENERATED_ROWS
    X = np.random.default_rng(0).standard_normal((n, 5))
    inside = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] > 0
    return X, inside ^ (np.arange(n) >= n // 2)


STREAMS: dict[str, Stream] = {
    "elec2": Stream(
        "electricity prices in New South Wales, up or down; no date column",
        _table("elec2", (0,), lambda y: y == y.max()),
    ),
    "weather": Stream("rain or none in Nebraska", _table("weather", (), lambda y: y == y.max())),
    "sea": Stream("SEA: four concepts, 10 % of the labels wrong", sea),
    "hyperplane": Stream("rotating hyperplane, 5 % of the labels wrong", _river(_hyperplane)),
    "clusters": Stream("fifty Gaussian clusters that move (RandomRBFDrift)", _river(_clusters)),
    "swap": Stream("labels swapped in the middle of the stream", swap),
    "covtype": Stream(
        f"forest cover type 2 against the rest, in order; {COVTYPE_ROWS:,} rows",
        _table("covtype", (), lambda y: y == 2, COVTYPE_ROWS),
    ),
}
