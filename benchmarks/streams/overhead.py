"""What River's door costs: ``python -m benchmarks.streams.overhead``.

Median microseconds of ``learn_one`` and ``predict_one`` with an array of ten features, and with a
dictionary through ``onlinesvm.river``: the same model, calls in turn, time of the processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import onlinesvm

FEATURES, ROWS, BUDGET = 10, 4000, 50


def overhead(rows: int = ROWS) -> dict[str, tuple[float, float]]:
    """Microseconds with arrays and with dictionaries, of each verb."""
    from onlinesvm.river import LASVMClassifier

    X = np.random.default_rng(0).standard_normal((rows, FEATURES))
    settings: dict[str, Any] = {"C": 1.0, "gamma": 0.1, "budget": BUDGET, "policy": "oldest"}
    plain = onlinesvm.LASVMClassifier(n_jobs=None, **settings)
    river = LASVMClassifier(half_life=None, **settings)
    times: dict[str, tuple[list[int], list[int]]] = {"predict": ([], []), "learn": ([], [])}
    for k, x in enumerate(X):
        named, label = dict(zip("abcdefghij", x.tolist())), bool(x[0] * x[1] > 0)
        if k:
            times["predict"][0].append(_spent(lambda x=x: plain.predict_one(x)))
            times["predict"][1].append(_spent(lambda x=named: river.predict_one(x)))
        times["learn"][0].append(_spent(lambda x=x, y=label: plain.learn_one(x, y)))
        times["learn"][1].append(_spent(lambda x=named, y=label: river.learn_one(x, y)))
    return {
        verb: (float(np.median(by_array)) / 1e3, float(np.median(by_name)) / 1e3)
        for verb, (by_array, by_name) in times.items()
    }


def _spent(call: Callable[[], Any]) -> int:
    start = time.thread_time_ns()
    call()
    return time.thread_time_ns() - start


if __name__ == "__main__":
    for verb, (by_array, by_name) in overhead().items():
        print(
            f"{verb}_one: {by_array:.1f} µs with an array, {by_name:.1f} µs with a dictionary: "
            f"{by_name - by_array:+.1f} µs"
        )
