"""Measures of models that predict values, and of those that detect novelty.

``regression`` and ``novelty`` are the measure ``fit`` of :mod:`benchmarks.compare.worker` with
another error: the root of the mean squared error on the test part, and 1 - AUC of the decision
function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.clock import Clock, timed_fit
from benchmarks.memory import peak_memory

WARM_UP = 300
ENOUGH_SECONDS = 45.0
"""Fits are repeated until they have taken this long together."""

Judge = Callable[[Any, Any, np.ndarray], float]


def rmse(model: Any, X: Any, y: np.ndarray) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def one_minus_auc(model: Any, X: Any, y: np.ndarray) -> float:
    """Share of the pairs of a known and a novel example that are ranked wrongly."""
    from sklearn.metrics import roc_auc_score

    return 1.0 - float(roc_auc_score(y, model.decision_function(X)))


def support_count(model: Any) -> int | None:
    """Number of support vectors, where there are any."""
    found = getattr(model, "support_", None)
    return None if found is None else len(found)


def _measure(spec: dict[str, Any], peer: Any, judge: Judge) -> dict[str, Any]:
    from benchmarks.compare.worker import read, time_limit

    data, X, X_test = read(spec)
    y = data.y_train
    peer.build(data, 0).fit(X[:WARM_UP], y[:WARM_UP]).predict(X[:WARM_UP])
    out: dict[str, Any] = {"n_train": len(y), "n_features": X.shape[1], "note": data.note}
    times: list[float] = []
    cpu_times: list[float] = []
    errors: list[float] = []
    for seed in range(spec.get("repeats", 3)):
        model = peer.build(data, seed)
        with time_limit(spec.get("limit")), peak_memory({} if times else out):
            clock = timed_fit(model, X, y)
        times.append(clock.seconds)
        cpu_times.append(clock.cpu_seconds)
        with Clock() as clock:
            errors.append(judge(model, X_test, data.y_test))
        out["predict_s"] = min(clock.seconds, out.get("predict_s", clock.seconds))
        if sum(times) > ENOUGH_SECONDS:
            break
    evaluations = getattr(model, "n_kernel_evaluations_", None)
    return out | {
        "fit_s": times,
        "cpu_s": cpu_times,
        "errors": errors,
        "n_support": support_count(model),
        "kernel_evaluations": None if evaluations is None else int(evaluations),
        "predict_rows_per_s": len(data.y_test) / out["predict_s"],
    }


def measure_regression(spec: dict[str, Any], peer: Any) -> dict[str, Any]:
    """Times of a fit and the RMSE."""
    return _measure(spec, peer, rmse)


def measure_novelty(spec: dict[str, Any], peer: Any) -> dict[str, Any]:
    """Times of a fit and 1 - AUC."""
    return _measure(spec, peer, one_minus_auc)
