"""Forgetting examples, and fitting without them.

    python -m benchmarks.forgetting                 20,000 rows of a9a, and 20,000 generated ones
    python -m benchmarks.forgetting --sets waveform --rows 5000
    python -m benchmarks.forgetting --json

A model is fitted with ``epochs="converge"``. Copies of it forget 1, 10 and 1,000 rows, with the data
set given again: rows drawn at random (one of them a support vector), or the support vectors with
the largest coefficients. A second model is fitted without the rows. Both times are the best of
several, taken in turns; a copy is made before the clock runs. The difference is the largest of the
decision values of both, over all rows of training and test.
"""

from __future__ import annotations

import argparse
import json
from copy import deepcopy
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.clock import best_of, seconds_of, warn_of_load
from benchmarks.datasets import Dataset, load

COUNTS = (1, 10, 1000)
SETS = ("a9a", "waveform")
KINDS = ("random", "strongest")


def single_rows(data: Dataset) -> np.ndarray:
    """Rows that occur once: copies of a row are forgotten together."""
    X = data.X_train.toarray() if sparse.issparse(data.X_train) else data.X_train
    rows = np.column_stack([X, data.y_train])
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    return np.sort(first[counts == 1])


def chosen(model: Any, kind: str, count: int, among: np.ndarray) -> np.ndarray:
    """Rows to forget."""
    coef = model.dual_coef_
    coef = coef.toarray() if sparse.issparse(coef) else coef
    strongest = model.support_[np.argsort(-np.abs(coef[0]), kind="stable")]
    strongest = strongest[np.isin(strongest, among)]
    if kind == "strongest":
        return strongest[:count]
    rng = np.random.default_rng(0)
    first = rng.choice(strongest)
    others = rng.permutation(np.setdiff1d(among, first))
    return np.append(first, others[: count - 1])


def compare(data: Dataset, kind: str, count: int, repeats: int) -> dict[str, Any]:
    """One model that forgets, and one that never saw the rows."""
    from onlinesvm import LASVMClassifier

    X, y = data.X_train, data.y_train
    settings = {"C": data.C, "gamma": data.gamma, "epochs": "converge", "random_state": 0}
    model = LASVMClassifier(**settings).fit(X, y)
    gone = chosen(model, kind, count, single_rows(data))
    left = np.setdiff1d(np.arange(len(y)), gone)
    fewer = X[left]
    without = LASVMClassifier(**settings)
    fits, forgets, alone = [], [], []
    for _ in range(repeats):
        fits.append(best_of(lambda: without.fit(fewer, y[left]), 1))
        one, other = deepcopy(model), deepcopy(model)
        forgets.append(seconds_of(lambda m=one: m.forget(gone, X, y)))
        alone.append(seconds_of(lambda m=other: m.forget(gone)))
    report = one.forget_report_

    def apart(first: Any, rows: Any) -> float:
        found = np.abs(first.decision_function(rows) - without.decision_function(rows))
        return float(found.max(initial=0.0))

    return {
        "set": data.name, "rows": len(y), "kind": kind, "forgotten": len(gone),
        "support_vectors": report["support_vectors"], "joined": report["joined"],
        "fit_seconds": min(fits), "seconds": min(forgets), "seconds_without_X": min(alone),
        "times": min(fits) / min(forgets), "times_without_X": min(fits) / min(alone),
        "difference": max(apart(one, X), apart(one, data.X_test)),
        "difference_without_X": max(apart(other, X), apart(other, data.X_test)),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    warn_of_load()
    found = []
    for name in arguments.sets.split(","):
        data = load(f"{name}:{arguments.rows}")
        for kind in KINDS:
            for count in COUNTS:
                r = compare(data, kind, count, arguments.repeats)
                found.append(r)
                if not arguments.json:
                    print(f"{r['set']}, {r['rows']:,} rows, {r['forgotten']:,} forgotten ({kind}, "
                          f"{r['support_vectors']:,} support vectors): {1e3 * r['seconds']:.0f} ms, "
                          f"fit {1e3 * r['fit_seconds']:.0f} ms, {r['times']:.1f} times; differs by "
                          f"{r['difference']:.4f}; without X {1e3 * r['seconds_without_X']:.0f} ms, "
                          f"{r['difference_without_X']:.4f}", flush=True)  # fmt: skip
    if arguments.json:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
