"""The demand for electricity, next to River's regressors: ``--only demand``.

elec2 in order: ``nswdemand`` from the other columns, no date. Features and target are standardised
on the fly, by the rows up to the present one, for the target up to the one before: all models are
given the same numbers. Each example is predicted, then learned. Our C and gamma were chosen among a
dozen on this stream, which flatters ours a little; River's models have their defaults.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.markdown import markdown, number
from benchmarks.streams.prequential import compile_loops
from benchmarks.streams.sources import standardised

DATE, DEMAND = 0, 4
"""Columns of elec2: date, day, period, nswprice, nswdemand, vicprice, vicdemand, transfer."""

NAME = "demand"

JUMP = 17_424
"""Row at which three columns begin to vary. On the fly, their first values are standardised to
enormous ones: River's linear regression does not recover."""


def _lasvm(**settings: Any) -> Any:
    from onlinesvm.river import LASVMRegressor

    return LASVMRegressor(C=1.0, gamma=1.0, **settings)


def _linear() -> Any:
    from river.linear_model import LinearRegression

    return LinearRegression()


def _tree() -> Any:
    from river.tree import HoeffdingAdaptiveTreeRegressor

    return HoeffdingAdaptiveTreeRegressor(seed=0)


MODELS: dict[str, Callable[[], Any]] = {
    "LASVM, window": lambda: _lasvm(window=1000, budget=None, half_life=None),
    "LASVM, budget and half-life": _lasvm,
    "linear regression": _linear,
    "Hoeffding adaptive tree": _tree,
}


def examples(rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Features and the demand, both standardised on the fly."""
    X = datasets.arrays("elec2")["X"][:rows]
    features = standardised(np.delete(X, (DATE, DEMAND), axis=1))
    return features, targets(X[:, DEMAND].astype(np.float64))


def targets(y: np.ndarray) -> np.ndarray:
    """Each target by the mean and deviation of those before it."""
    count = np.arange(1, len(y) + 1)
    mean = np.cumsum(y) / count
    spread = np.sqrt(np.maximum(np.cumsum(y**2) / count - mean**2, 0.0))
    before = np.r_[y[0], mean[:-1]], np.r_[0.0, spread[:-1]]
    return np.asarray((y - before[0]) / np.where(before[1] > 1e-9, before[1], 1.0))


def prequential(make: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """What one model does on the stream. Times are of the processor, this thread."""
    names = [f"x{k}" for k in range(X.shape[1])]
    compile_loops(make(), names, X, y)
    model, clock, spent = make(), time.thread_time_ns, 0
    answers = np.zeros(len(y))
    for k, (x, target) in enumerate(zip(X.tolist(), y.tolist())):
        row = dict(zip(names, x))
        start = clock()
        answers[k] = model.predict_one(row)
        model.learn_one(row, target)
        spent += clock() - start
    error = answers - y
    return {
        "rows": len(y),
        "rmse": float(np.sqrt(np.mean(error**2))),
        "rmse_before": float(np.sqrt(np.mean(error[:JUMP] ** 2))),
        "mae": float(np.abs(error).mean()),
        "us": spent / 1e3 / len(y),
    }


def table(measured: dict[str, dict[str, Any]]) -> str:
    """Errors and times, in Markdown."""
    rows = [
        [
            name,
            *(f"{found[key]:.3g}" for key in ("rmse_before", "rmse", "mae")),
            number(found["us"]),
        ]
        for name, found in measured.items()
    ]
    head = ["model", f"RMSE, first {JUMP:,}", "RMSE", "mean absolute error", "µs an example"]
    return f"Demand of elec2, in standard deviations\n\n{markdown(head, rows)}"
