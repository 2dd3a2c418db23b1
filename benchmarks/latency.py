"""Microseconds to learn one example of a stream: ``python -m benchmarks.latency``.

A model of about 500 support vectors in 20 dimensions takes one example after another through
``partial_fit`` and through ``learn_one``; medians, for models that hold between 400 and 500 rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np

from onlinesvm import LASVMClassifier

DIMENSIONS, FEWEST, MOST = 20, 400, 500


def stream(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Examples whose class is the sign of a quadratic form."""
    X = np.random.default_rng(seed).standard_normal((4000, DIMENSIONS))
    return X, (X[:, 0] * X[:, 1] + 0.3 * X[:, 2] ** 2 > 0.3).astype(int)


def median_microseconds(learn: Callable[[LASVMClassifier, np.ndarray, int], None]) -> float:
    """Median time of ``learn`` while the model grows from 400 to 500 support vectors."""
    X, y = stream()
    model = LASVMClassifier(C=1.0, gamma=0.05).partial_fit(X[:40], y[:40])
    times = []
    for x, label in zip(X[40:], y[40:].tolist(), strict=True):
        size = len(model.support_)
        if size >= MOST:
            break
        start = perf_counter()
        learn(model, x, label)
        if size >= FEWEST:
            times.append(perf_counter() - start)
    return 1e6 * float(np.median(times))


def by_row(model: LASVMClassifier, x: np.ndarray, label: int) -> None:
    """scikit-learn's way, with all its checks."""
    model.partial_fit(x[None, :], [label])


def by_one(model: LASVMClassifier, x: np.ndarray, label: int) -> None:
    """The trusted way."""
    model.learn_one(x, label)


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for learn in (by_row, by_one):
        median_microseconds(learn)  # compiles
    print("| way | µs an example (median) |\n| --- | ---: |")
    for name, learn in (("partial_fit, one row", by_row), ("learn_one", by_one)):
        print(f"| {name} | {min(median_microseconds(learn) for _ in range(3)):.1f} |")


if __name__ == "__main__":
    main()
