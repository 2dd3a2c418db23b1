"""Microseconds to learn one example of a stream: ``python -m benchmarks.single_rows --only latency``.

A model of about 500 support vectors in 20 dimensions takes one example after another through
``partial_fit`` and through ``learn_one``; medians, for models that hold between 400 and 500 rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.clock import Clock
from benchmarks.markdown import markdown
from benchmarks.papers.page import Section
from benchmarks.quick import few
from onlinesvm import LASVMClassifier

DIMENSIONS, FEWEST, MOST = 20, 400, 500


def stream(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Examples whose class is the sign of a quadratic form."""
    X = np.random.default_rng(seed).standard_normal((4000, DIMENSIONS))
    return X, (X[:, 0] * X[:, 1] + 0.3 * X[:, 2] ** 2 > 0.3).astype(int)


Learn = Callable[[LASVMClassifier, np.ndarray, int], None]


def start() -> tuple[LASVMClassifier, list[tuple[np.ndarray, int]]]:
    """A model of the first forty examples, and the stream of the others."""
    X, y = stream()
    model = LASVMClassifier(C=1.0, gamma=0.05).partial_fit(X[:40], y[:40])
    return model, list(zip(X[40:], y[40:].tolist(), strict=True))


def span(learn: Learn) -> tuple[int, int]:
    """The examples during which the model grows from 400 to 500 support vectors."""
    model, examples = start()
    sizes = []
    for x, label in examples:
        learn(model, x, label)
        sizes.append(len(model.support_))
        if sizes[-1] >= MOST:
            break
    return int(np.argmax(np.array(sizes) >= FEWEST)), len(sizes)


def median_microseconds(learn: Learn, first: int, last: int) -> float:
    """Median time of ``learn`` from example ``first`` to ``last``; the clock alone between them."""
    model, examples = start()
    times = []
    for x, label in examples[:last]:
        with Clock() as clock:
            learn(model, x, label)
        times.append(clock.seconds)
    return 1e6 * float(np.median(times[first:]))


def by_row(model: LASVMClassifier, x: np.ndarray, label: int) -> None:
    """scikit-learn's way, with all its checks."""
    model.partial_fit(x[None, :], [label])


def by_one(model: LASVMClassifier, x: np.ndarray, label: int) -> None:
    """The trusted way."""
    model.learn_one(x, label)


def part() -> Section:
    """Median microseconds to learn one example, model of 400 to 500 support vectors."""
    rows = []
    for name, learn in (("partial_fit, one row", by_row), ("learn_one", by_one)):
        during = span(learn)  # compiles, too
        best = min(median_microseconds(learn, *during) for _ in few(range(3)))
        rows.append([name, "20 features", f"{best:.1f}"])
    return {"report": markdown(("way", "stream", "µs an example (median)"), rows)}
