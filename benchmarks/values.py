"""Data sets for regression and for novelty detection, with the settings they are compared at.

:func:`benchmarks.datasets.load` knows them too. Regression: columns and target standardised, 90 %
for training; C, γ and ε as in the project's data notes. Novelty: the training part has one class
only, the test part that class (1) and others (0); γ and ν come with the set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.datasets import Dataset, arrays, forest, load, mnist
from benchmarks.quick import generated_rows

TEST_ROWS = 10_000


@dataclass(frozen=True)
class Values(Dataset):
    """A regression problem."""

    epsilon: float = 0.1


@dataclass(frozen=True)
class Novelty(Dataset):
    """One class to learn; ``C`` is not used."""

    nu: float = 0.1


def _standard(X: np.ndarray) -> np.ndarray:
    scale = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0))


def _table(name: str, C: float, gamma: float) -> Callable[..., Values]:
    def read(rows: int | None, seed: int) -> Values:
        z = arrays(name)
        X, y = _standard(z["X"].astype(float)).astype(np.float32), _standard(z["y"].astype(float))
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = np.split(order, [int(0.9 * len(y))])
        train = train[:rows]
        note = "columns and target standardised; 90 % for training"
        return Values(name, X[train], y[train], X[test], y[test], C, gamma, note)

    return read


def friedman(rows: int | None, seed: int) -> Values:
    """Friedman's first function of ten variables, five of which matter."""
    n = rows or 20_000
    rng = np.random.default_rng(seed)
    X = rng.random((n + TEST_ROWS, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    y = _standard(y + 10 * X[:, 3] + 5 * X[:, 4] + rng.standard_normal(len(X)))
    X = X.astype(np.float32)
    return Values("friedman", X[:n], y[:n], X[n:], y[n:], 10.0, 0.5, "generated; noise 1")


def _one_of(data: Dataset, keep: np.ndarray, known: np.ndarray, gamma: float, note: str) -> Novelty:
    """The rows of one class to learn; ``known`` says which test rows are like them."""
    parts = (data.X_train[keep], np.ones(int(keep.sum())), data.X_test, known.astype(float))
    return Novelty(data.name, *parts, 1.0, gamma, note)


def mnist_zero(rows: int | None, seed: int) -> Novelty:
    data = mnist(None, seed)
    keep = data.y_train == 0
    note = "digit 0 learned, ten digits asked; pixels / 255"
    return _thinned(_one_of(data, keep, data.y_test == 0, 0.02, note), rows, seed)


def w8a_rest(rows: int | None, seed: int) -> Novelty:
    data = load("w8a", seed)
    note = "class -1 learned, both asked; as in the LIBSVM collection"
    return _thinned(_one_of(data, data.y_train < 0, data.y_test < 0, 0.05, note), rows, seed)


def forest_two(rows: int | None, seed: int) -> Novelty:
    """Covertype, class 2, of which there are 283,301 rows."""
    data = forest(2 * (rows or 60_000) + 20_000 if generated_rows() is None else rows, seed)
    keep = np.flatnonzero(data.y_train > 0)[: rows or 60_000]
    mask = np.zeros(len(data.y_train), bool)
    mask[keep] = True
    note = f"class 2 learned, all asked; {data.note}"
    return _one_of(data, mask, data.y_test > 0, 5.0, note)


def _thinned(data: Novelty, rows: int | None, seed: int) -> Novelty:
    return data if rows is None else data.cut(rows)  # type: ignore[return-value]


VALUES: dict[str, Callable[..., Values]] = {
    "pol": _table("pol", 10.0, 0.1),
    "elevators": _table("elevators", 1.0, 0.05),
    "bike": _table("bike", 10.0, 0.1),
    "kin40k": _table("kin40k", 10.0, 0.2),
    "protein": _table("protein", 1.0, 0.5),
    "friedman": friedman,
}

NOVELTY: dict[str, Callable[..., Any]] = {
    "mnist_zero": mnist_zero,
    "w8a_rest": w8a_rest,
    "forest_two": forest_two,
}

SETS: dict[str, Callable[..., Any]] = {**VALUES, **NOVELTY}
