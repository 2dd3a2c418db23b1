"""Does a stream without end stay as it is? ``python -m benchmarks.streams.endless [--rows N]``.

Examples of 20 features go through ``learn_one``, with a window of 1,000 and with a budget of 500. Their
labels are noisy, and the boundary turns slowly. Printed, and kept in
``benchmarks/results/endless.json``: resident memory and processor time of an example over the
first fifth of the stream and over the last, and by how much the gradients maintained all along
differ from those computed anew, in parts of the largest.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks.memory import resident_mb
from benchmarks.quick import results

FORMS: dict[str, dict[str, Any]] = {"window=1000": {"window": 1000}, "budget=500": {"budget": 500}}
ROWS, FEATURES, AT_ONCE = 5_000_000, 20, 1000


def part(number: int, rows: int) -> tuple[np.ndarray, list[int]]:
    """The examples of one part of the stream."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((rows, FEATURES))
    turn = 1e-4 * number
    along = np.cos(turn) * X[:, 0] + np.sin(turn) * X[:, 1]
    noise = 0.5 * rng.standard_normal(rows)
    return X, (along * X[:, 2] + 0.3 * X[:, 3] + noise > 0).astype(int).tolist()


def drift_of_gradients(model: Any) -> float:
    """Largest difference of a maintained gradient from the recomputed one, over the largest."""
    learner = model._trained.learner
    a, n = learner.support.a, learner.n
    alpha, grad, linear = a.alpha[:, :n], a.grad[:, :n], a.p[:, :n]
    rows = learner.store.rows()
    K = learner.kernel.block(rows, rows).astype(np.float64)
    np.fill_diagonal(K, learner.kernel.diagonal(rows))
    true = linear - alpha @ K
    return float(np.abs(grad - true).max() / np.abs(true).max())


def endless(settings: dict[str, Any], rows: int = ROWS) -> dict[str, float]:
    """What one form of memory does."""
    from onlinesvm import LASVMClassifier

    model = LASVMClassifier(C=10.0, gamma=0.05, n_jobs=None, **settings)
    parts = rows // AT_ONCE
    spent, memory = np.zeros(parts), np.zeros(parts)
    for number in range(parts):
        X, labels = part(number, AT_ONCE)
        if number == 0:
            model.partial_fit(X[:10], labels[:10])
        start = time.thread_time()
        for x, label in zip(X, labels):
            model.learn_one(x, label)
        spent[number] = 1e6 * (time.thread_time() - start) / AT_ONCE
        memory[number] = resident_mb() or np.nan
    fifth = max(1, parts // 5)
    return {
        "rows": parts * AT_ONCE,
        "memory_first_fifth_mb": float(memory[fifth - 1]),
        "memory_end_mb": float(memory[-1]),
        "us_first_fifth": float(np.median(spent[:fifth])),
        "us_last_fifth": float(np.median(spent[-fifth:])),
        "gradient_error": drift_of_gradients(model),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams.endless")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--only", choices=list(FORMS))
    asked = parser.parse_args()
    for name in [asked.only] if asked.only else FORMS:
        found = endless(FORMS[name], asked.rows)
        file = results() / "endless.json"
        known = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        file.write_text(json.dumps(known | {name: found}, indent=1) + "\n", encoding="utf-8")
        print(name, json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
