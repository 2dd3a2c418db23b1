"""Gradients of an expansion with respect to the features of a row.

    f_m(x) = sum_s coef[m, s] k(x, z_s) + bias_m          g_j(x)^2 = sum_m (df_m / dx_j)^2

Kernels of distances have dk/dx = d(x, z) (x - z), kernels of dot products dk/dx = d(x, z) z, with a
number d for each pair: one kernel block and one matrix product, about the price of a prediction.

The Laplacian kernel has a kink at every support vector, and slopes at a point reflect the kinks
more than f. Chords are used instead: the change of f when feature j is taken from another row,
divided by the distance between the two. The kernel is a product over features, so that this needs
one factor for each pair and feature. A feature with two values (one-hot, yes or no) has only two
factors, and all of its chords are one matrix product.

Chords also tell whether a feature matters. If the targets do not depend on it given the others, then a row
that f has not learned and the same row with the feature of another one are equally likely to have its
target, and what f gains by the true feature is as often negative as positive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from ..runtime.interrupts import checkpoint
from .kernel import Kernel
from .rows import Rows

WITH_GRADIENT = ("rbf", "laplacian", "matern12", "linear", "poly", "sigmoid")
"""Kernels of which the gradient is known."""

_CHUNK = 4_000_000
"""Numbers of a kernel block, or of gradients, at a time."""

_CHORDS, _FEWEST_CHORDS = 20_000_000, 64
"""Kernel values of chords: about 0.1 s; and rows that chords of a feature begin at in any case."""

_IN_CACHE = 65_536
"""Numbers of the buffers of chords: new memory would cost more than the arithmetic."""

_SMALLEST = np.finfo(np.float32).tiny
"""Kernel values too small for single precision are rounded to this."""

_LARGEST_FACTOR = 40.0
"""Exponents of factors up to this size do not lift a kernel value that was rounded to zero."""

_NEAR = 1e-5
"""``matern12`` has a cone at distance zero; pairs nearer than this share of its length have gradient zero."""


def squared_gradients(kernel: Kernel, X: Rows, Z: Rows, coef: np.ndarray) -> np.ndarray:
    """The mean over the rows X of g_j(x)^2, (n_features,). ``coef`` is (machines, len(Z)).

    Chords of the Laplacian kernel lead from each row to the next: rows should be in random order.
    """
    if not len(X) or not len(Z):
        return np.zeros(X.n_features)
    measure = _squared_chords if kernel.name == "laplacian" else _squared_slopes
    return measure(replace(kernel), X, Z, coef)


def _squared_slopes(kernel: Kernel, X: Rows, Z: Rows, coef: np.ndarray) -> np.ndarray:
    total, vectors = np.zeros(X.n_features), Z.to_array()
    step = max(1, _CHUNK // max(len(Z), X.n_features))
    for first in range(0, len(X), step):
        part = X.take(slice(first, first + step))
        for gradient in _gradients(kernel, part, Z, vectors, coef):
            total += np.einsum("ij,ij->j", gradient, gradient)
        checkpoint()
    return total / len(X)


def _gradients(kernel: Kernel, X: Rows, Z: Rows, vectors: Any, coef: np.ndarray) -> Any:
    """The gradient of each machine at each row of X, (n, n_features)."""
    slope = _slopes(kernel, X, Z)
    here = _dense(X.to_array()) if kernel.name in ("rbf", "matern12") else None
    for machine in coef:
        weighted = slope * machine
        gradient = _dense((vectors.T @ weighted.T).T)
        if here is not None:
            gradient = here * weighted.sum(axis=1)[:, None] - gradient
        yield gradient


def _slopes(kernel: Kernel, X: Rows, Z: Rows) -> np.ndarray:
    """d(x, z) of each pair."""
    gamma = kernel.gamma
    if kernel.name == "linear":
        return np.ones((len(X), len(Z)))
    if kernel.name == "poly":
        inner = gamma * Kernel("linear", n_jobs=kernel.n_jobs).block(X, Z).astype(np.float64)
        power = max(kernel.degree - 1, 0)
        return np.asarray(kernel.degree * gamma * (inner + kernel.coef0) ** power)
    values = kernel.block(X, Z).astype(np.float64)
    if kernel.name == "sigmoid":
        return np.asarray(gamma * (1.0 - values**2))
    if kernel.name == "rbf":
        return np.asarray(-2.0 * gamma * values)
    with np.errstate(divide="ignore"):
        length = -np.log(values)  # gamma |x - z|
    near = length < _NEAR
    return np.where(near, 0.0, -(gamma**2) * values / np.where(near, 1.0, length))


def _squared_chords(kernel: Kernel, X: Rows, Z: Rows, coef: np.ndarray) -> np.ndarray:
    """The mean squared change of f from row to row in one feature, over the squared distance."""
    squares, distance = np.zeros((2, X.n_features))
    for features, _, change, away in _chords(kernel, X, Z, coef):
        squares[features] += np.square(change, dtype=np.float64).sum(axis=(0, 1))
        distance[features] += np.square(away, dtype=np.float64).sum(axis=0)
    return np.divide(squares, distance, out=np.zeros_like(squares), where=distance > 0)


def gains_of_features(
    kernel: Kernel, X: Rows, Z: Rows, coef: np.ndarray, targets: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How much better f agrees with targets at a row than with one feature taken from the row before.

        gain_ij = sum_m targets[m, i] (f_m(x_i) - f_m(x_i with feature j of row i - 1))

    Given rows X in random order, which f has not learned, their ``targets`` (machines, n), and the
    Laplacian kernel. Returned are sums over the rows of the gains of each feature, and of their squares.
    """
    sums, squares = np.zeros((2, X.n_features))
    for features, rows, change, _ in _chords(replace(kernel), X, Z, coef):
        gain = -np.einsum("mij,mi->ij", change, targets[:, rows])
        sums[features] += gain.sum(axis=0)
        squares[features] += np.square(gain).sum(axis=0)
    return sums, squares


Chord: TypeAlias = tuple[Any, np.ndarray, np.ndarray, np.ndarray]
"""Features, rows at which chords begin, changes (machines, rows, features), and differences of the features."""


def _chords(kernel: Kernel, X: Rows, Z: Rows, coef: np.ndarray) -> Iterator[Chord]:
    """Changes of f where one feature of a row is taken from the row before, for some rows and features at a time."""
    if not len(Z):  # a constant
        return
    most = max(_FEWEST_CHORDS, _CHORDS // (len(Z) * X.n_features))
    here, vectors = (np.asarray(_dense(rows.to_array()), np.float32) for rows in (X, Z))
    there, gamma = np.roll(here, 1, axis=0), np.float32(kernel.gamma)
    exponent = _exponents(kernel, X, Z, here, vectors)
    values, weights = np.exp(-exponent), np.asarray(coef.T, np.float32)
    columns = np.ascontiguousarray(vectors.T)
    two = _two_values(here, vectors, gamma)
    yield from _chords_of_two_values(
        here, there, vectors, np.flatnonzero(two), gamma, values, weights
    )
    step = max(1, _IN_CACHE // len(Z))
    buffers = np.empty((2, step, len(Z)), np.float32)
    for j in np.flatnonzero(~two):
        column = columns[j]
        used = np.flatnonzero(there[:, j] != here[:, j])[:most]  # others say nothing
        for first in range(0, len(used), step):
            rows = used[first : first + step]
            start, end = here[rows, j, None], there[rows, j, None]
            moved, other = buffers[:, : len(rows)]
            np.abs(np.subtract(end, column, out=moved), out=moved)
            moved -= np.abs(np.subtract(start, column, out=other), out=other)
            moved *= gamma
            moved += np.take(exponent, rows, axis=0, out=other)
            np.exp(np.minimum(np.negative(moved, out=moved), 0.0, out=moved), out=moved)
            moved -= np.take(values, rows, axis=0, out=other)
            yield slice(j, j + 1), rows, (moved @ weights).T[:, :, None], end - start
        checkpoint()


def _two_values(here: np.ndarray, vectors: np.ndarray, gamma: np.float32) -> np.ndarray:
    """Which features have at most two values, whose distance is no more than the factors allow."""
    low = np.minimum(here.min(axis=0), vectors.min(axis=0))
    high = np.maximum(here.max(axis=0), vectors.max(axis=0))
    two = gamma * (high - low) < _LARGEST_FACTOR
    for rows in (here, vectors):
        two &= ((rows == low) | (rows == high)).all(axis=0)
    return np.asarray(two)


def _chords_of_two_values(
    here: np.ndarray, there: np.ndarray, vectors: np.ndarray, two: np.ndarray, gamma: np.float32,
    values: np.ndarray, weights: np.ndarray,
) -> Iterator[Chord]:  # fmt: skip
    """The same for the features ``two``, which have two values.

    Support vectors at one of the values come nearer by the same factor, the others move away by it.
    """
    step, every = max(1, _CHUNK // (len(here) * weights.shape[1])), np.arange(len(here))
    for first in range(0, len(two), step):
        some = two[first : first + step]
        low = np.minimum(here[:, some].min(axis=0), vectors[:, some].min(axis=0))
        gap = np.maximum(here[:, some].max(axis=0), vectors[:, some].max(axis=0)) - low
        nearer, farther = np.expm1(gamma * gap), np.expm1(-gamma * gap)
        is_high, away = (vectors[:, some] > low).astype(np.float32), there[:, some] - here[:, some]
        starts_high, moves = here[:, some] > low, away != 0
        change = np.empty((weights.shape[1], *away.shape), np.float32)
        for machine, own in zip(weights.T, change, strict=True):
            terms = values * machine
            at_high, at_all = terms @ is_high, terms.sum(axis=1, keepdims=True)
            at_start = np.where(starts_high, at_high, at_all - at_high)
            np.multiply(farther * at_start + nearer * (at_all - at_start), moves, out=own)
            checkpoint()
        yield some, every, change, away


def _exponents(
    kernel: Kernel, X: Rows, Z: Rows, here: np.ndarray, vectors: np.ndarray
) -> np.ndarray:
    """gamma |x - z| of all pairs; from the differences where the kernel value is too small to tell."""
    values = kernel.block(X, Z)
    found = -np.log(np.maximum(values, _SMALLEST))
    far, near = np.nonzero(values <= _SMALLEST)
    step = max(1, _CHUNK // here.shape[1])
    for first in range(0, len(far), step):
        x, z = far[first : first + step], near[first : first + step]
        found[x, z] = kernel.gamma * np.abs(here[x] - vectors[z]).sum(axis=1)
        checkpoint()
    return found


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if sparse.issparse(values) else values)
