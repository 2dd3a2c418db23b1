"""Probabilities beside scikit-learn's: ``python -m benchmarks.calibration [set ...]``.

For each of eight sets of different size and balance, the probabilities of ``probability=True`` after
``fit``, after a stream (``partial_fit``) and from ``ActiveLearner``, and those of
``CalibratedClassifierCV(cv=5)`` around the same LASVM without probabilities (on the examples that were
labelled, in active learning). Printed: mean probability less the share of positives, and the Brier
score divided by scikit-learn's. Small sets are drawn several times, and the figures averaged: one draw
of 300 rows has a share of its own.

Bars: a mean within 0.01 of the share, and a Brier score at most 2 % above. ``--quick`` cuts every set.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss

from benchmarks.datasets import Dataset, arrays, load
from benchmarks.markdown import markdown
from onlinesvm import ActiveLearner, LASVMClassifier

BATCH = 100
"""Rows of a stream in one call."""

LARGEST_POOL = 20_000


def _rare(seed: int) -> Dataset:
    """Generated: 2.5 % positive, drawn with known probabilities."""
    rng, n = np.random.default_rng([seed, 2]), 20_000
    X = rng.standard_normal((n + 50_000, 6)).astype(np.float32)
    log_odds = 3 * X[:, 0] + 2 * np.sin(2 * X[:, 1]) + 2 * X[:, 2] * X[:, 3] - 8.4
    y = np.where(rng.random(len(X)) < 1.0 / (1.0 + np.exp(-log_odds)), 1, -1)
    return Dataset("rare", X[:n], y[:n], X[n:], y[n:], 1.0, 0.1, "generated")


def _noisy(rows: int) -> Callable[[int], Dataset]:
    """Two normal clouds, every tenth label wrong."""

    def make(seed: int) -> Dataset:
        data = load(f"two_normals:{rows}", seed)
        rng = np.random.default_rng([seed, 1])
        wrong = [np.where(rng.random(len(y)) < 0.1, -y, y) for y in (data.y_train, data.y_test)]
        return replace(data, y_train=wrong[0], y_test=wrong[1])

    return make


def _elec2(seed: int) -> Dataset:
    """The price stream in random order, which asks for less than the order of time."""
    z = arrays("elec2")
    X = np.delete(z["X"], (0, 3), axis=1).astype(float)
    X, order = (X - X.mean(axis=0)) / X.std(axis=0), np.random.default_rng(seed).permutation(len(X))
    train, test = order[:20_000], order[20_000:]
    y = np.where(z["y"] > 0, 1, -1)
    return Dataset("elec2", X[train], y[train], X[test], y[test], 10.0, 0.5, "in random order")


SETS: dict[str, tuple[Callable[[int], Dataset], int]] = {
    "banana, 300": (lambda seed: load("banana:300", seed), 10),
    "noise, 500": (_noisy(500), 10),
    "rare, 20,000": (_rare, 3),
    "elec2, 20,000": (_elec2, 1),
    "forest, 20,000": (lambda seed: load("forest:20000", seed), 1),
    "a9a": (lambda seed: load("a9a", seed), 1),
    "ijcnn1": (lambda seed: load("ijcnn1", seed), 1),
    "w8a": (lambda seed: load("w8a", seed), 1),
    "noise, 100,000": (_noisy(100_000), 1),
}
"""Each set, and how often it is drawn."""


def _mixed(data: Dataset, seed: int, most: int | None) -> Dataset:
    """Training rows in random order, at most so many; labels 0 and 1."""
    order = np.random.default_rng([seed, 9]).permutation(len(data.y_train))[:most]
    y, y_test = ((labels > 0).astype(int) for labels in (data.y_train[order], data.y_test))
    return replace(data, X_train=data.X_train[order], y_train=y, y_test=y_test)


def _model(data: Dataset, probability: bool) -> LASVMClassifier:
    return LASVMClassifier(C=data.C, gamma=data.gamma, probability=probability, random_state=0)


def _fitted(data: Dataset) -> tuple[Any, Any, np.ndarray]:
    return _model(data, True).fit(data.X_train, data.y_train), data.X_train, data.y_train


def _streamed(data: Dataset) -> tuple[Any, Any, np.ndarray]:
    model = _model(data, True)
    for first in range(0, len(data.y_train), BATCH):
        part = slice(first, first + BATCH)
        model.partial_fit(data.X_train[part], data.y_train[part])
    return model.finish(), data.X_train, data.y_train


def _taught(data: Dataset) -> tuple[Any, Any, np.ndarray]:
    """A tenth of the pool is labelled, but at least 200 examples and at most 1,000."""
    X, y = data.X_train[:LARGEST_POOL], data.y_train[:LARGEST_POOL]
    learner = ActiveLearner(_model(data, True), X, random_state=0)
    for _ in range(int(np.clip(len(y) // 10, 200, 1000))):
        question = learner.query()
        learner.teach(question, y[question])
    return learner.estimator, X[learner.taught], np.array(learner.labels)


WAYS = {"fit": _fitted, "stream": _streamed, "active": _taught}


def compare(data: Dataset, way: str) -> tuple[float, float, float]:
    """Bias of ours, bias of theirs, and our Brier score divided by theirs."""
    model, X, y = WAYS[way](data)
    peer = CalibratedClassifierCV(_model(data, False), cv=5).fit(X, y)
    own, theirs = (m.predict_proba(data.X_test)[:, 1] for m in (model, peer))
    share, truth = data.y_test.mean(), data.y_test
    ratio = brier_score_loss(truth, own) / brier_score_loss(truth, theirs)
    return own.mean() - share, theirs.mean() - share, ratio


def measure(name: str, way: str, most: int | None = None) -> tuple[float, float, float]:
    """The same, averaged over the draws of a set."""
    make, draws = SETS[name]
    found = [compare(_mixed(make(seed), seed, most), way) for seed in range(draws)]
    return tuple(np.mean(found, axis=0).tolist())


def rows(names: list[str], ways: list[str], most: int | None) -> Iterator[list[str]]:
    for name in names:
        for way in ways:
            own, theirs, ratio = measure(name, way, most)
            met = abs(own) <= 0.01 and ratio <= 1.02
            yield [
                name,
                way,
                f"{own:+.4f}",
                f"{theirs:+.4f}",
                f"{ratio:.3f}",
                "yes" if met else "no",
            ]


HEADER = ["set", "after", "mean p - share", "scikit-learn's", "Brier, ratio", "within the bars"]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Probabilities beside scikit-learn's.")
    parser.add_argument("sets", nargs="*", metavar="set", help=f"of {'; '.join(SETS)}")
    parser.add_argument("--after", choices=list(WAYS), action="append", help="one way alone")
    parser.add_argument("--quick", action="store_true", help="at most 2,000 training rows")
    given = parser.parse_args(argv)
    unknown = [name for name in given.sets if name not in SETS]
    if unknown:
        parser.error(f"no set {unknown[0]!r}; there are {'; '.join(SETS)}")
    most = 2000 if given.quick else None
    found = []
    for row in rows(given.sets or list(SETS), given.after or list(WAYS), most):
        print("  ".join(row), flush=True)
        found.append(row)
    print(markdown(HEADER, found))


if __name__ == "__main__":
    main()
