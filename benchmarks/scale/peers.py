"""What users do where a kernel SVM does not fit: error against time, on the same rows in one run."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.clock import Clock, warm_up
from benchmarks.datasets import Dataset, load
from benchmarks.markdown import markdown, number, percent
from benchmarks.papers.page import Section
from benchmarks.quick import few, generated_rows

SETS = ("waveform:320000", "forest:500000")
SUBSAMPLE = 50_000


class Subsample:
    """LASVM on some of the rows."""

    def __init__(self, model: Any, rows: int):
        self.model, self.rows = model, rows

    def fit(self, X: Any, y: np.ndarray) -> Any:
        some = np.random.default_rng(0).permutation(len(y))[: self.rows]
        self.model.fit(X[some], y[some])
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.model.predict(X)

    def score(self, X: Any, y: np.ndarray) -> float:
        return self.model.score(X, y)


def models(data: Dataset) -> dict[str, Any]:
    """Ours and the alternatives, with the same C and gamma where they have them."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import SGDClassifier
    from sklearn.pipeline import make_pipeline

    from onlinesvm import LASVMClassifier
    from onlinesvm.dask import CellLASVMClassifier, TreeLASVMClassifier

    n, quick = len(data.y_train), generated_rows() is not None
    settings = {"C": data.C, "gamma": data.gamma, "random_state": 0}
    features = Nystroem(gamma=data.gamma, n_components=50 if quick else 1000, random_state=0)
    sgd = SGDClassifier(alpha=1.0 / (data.C * n), random_state=0)
    found = {
        "64 cells": CellLASVMClassifier(n_cells=4 if quick else 64, **settings),
        "tree": TreeLASVMClassifier(**settings),
        f"LASVM on {SUBSAMPLE:,} rows": Subsample(LASVMClassifier(**settings), SUBSAMPLE),
        "Nystroem + SGD": make_pipeline(features, sgd),
        "HistGradientBoosting": HistGradientBoostingClassifier(random_state=0),
    }
    if data.name.startswith("forest"):
        del found["tree"]  # see the part ``cells``
    return found


def part() -> Section:
    """Ours next to subsampling, Nystroem with SGD, and gradient boosting."""
    rows, numbers = [], {}
    for name in few(SETS):
        data = load(name)
        for label, model in models(data).items():
            if not isinstance(model, Subsample):
                warm_up(model, data.X_train, data.y_train)
            with Clock() as clock:
                model.fit(data.X_train, data.y_train)
            error = 100 * (1 - float(model.score(data.X_test, data.y_test)))
            numbers[f"{name} {label}"] = {"seconds": clock.seconds, "error": error}
            rows.append([name, label, f"{number(clock.seconds)} s", percent(error)])
    return {"report": markdown(["data", "model", "time", "error"], rows), "numbers": numbers}
