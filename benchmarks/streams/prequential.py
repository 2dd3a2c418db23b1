"""Predict, then learn, one example at a time: accuracy, kappa, time, memory."""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np

from benchmarks.clock import WARM_UP

PIECES = 100
"""Pieces of the stream whose accuracies make the curve."""


def compile_loops(model: Any, names: list[str], X: np.ndarray, y: np.ndarray) -> None:
    """The first examples, predicted and learned by a model that is not measured."""
    for x, target in zip(X[:WARM_UP].tolist(), y[:WARM_UP].tolist()):
        model.predict_one(dict(zip(names, x)))
        model.learn_one(dict(zip(names, x)), target)


def prequential(make: Any, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """What one model does on one stream. Times are of the processor, this thread."""
    names = [f"x{k}" for k in range(X.shape[1])]
    compile_loops(make(), names, X, y)
    model, clock = make(), time.thread_time_ns
    answers = np.zeros(len(y), bool)
    predicting = learning = 0
    for k, (x, label) in enumerate(zip(X.tolist(), y.tolist())):
        row = dict(zip(names, x))
        start = clock()
        answer = model.predict_one(row)
        middle = clock()
        model.learn_one(row, label)
        learning += clock() - middle
        predicting += middle - start
        answers[k] = bool(answer)  # no answer before the first example counts as False
    gc.collect()
    right = answers == y
    return {
        "rows": len(y),
        "accuracy": float(right.mean()),
        "kappa": kappa(answers, y),
        "learn_us": learning / 1e3 / len(y),
        "predict_us": predicting / 1e3 / len(y),
        "memory_mb": model._raw_memory_usage / 2**20,
        "curve": [round(float(piece.mean()), 4) for piece in np.array_split(right, pieces(len(y)))],
    }


def pieces(rows: int) -> int:
    """Pieces of the curve: at least 30 examples each."""
    return max(1, min(PIECES, rows // 30))


def kappa(answers: np.ndarray, y: np.ndarray) -> float:
    """Cohen's kappa: accuracy above that of chance with the same frequencies."""
    agreed = float((answers == y).mean())
    p, q = float(answers.mean()), float(y.mean())
    chance = p * q + (1 - p) * (1 - q)
    return 0.0 if chance == 1.0 else (agreed - chance) / (1 - chance)
