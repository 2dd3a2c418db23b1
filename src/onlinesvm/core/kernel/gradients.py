"""Gradients of an expansion with respect to the features of a row.

    f_m(x) = sum_s coef[m, s] k(x, z_s) + bias_m          g_j(x)^2 = sum_m (df_m / dx_j)^2

Kernels of distances have dk/dx = d(x, z) (x - z), kernels of dot products dk/dx = d(x, z) z, with a
number d for each pair: one kernel block and one matrix product, about the price of a prediction.
The Laplacian kernel has one sign per feature instead: dk/dx_j = -gamma k sign(x_j - z_j).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from ..runtime.interrupts import checkpoint
from .kernel import Kernel
from .rows import Rows

WITH_GRADIENT = ("rbf", "laplacian", "matern12", "linear", "poly", "sigmoid")
"""Kernels of which the gradient is known."""

_CHUNK = 4_000_000
"""Numbers of a kernel block, or of gradients, at a time."""

_NEAR = 1e-5
"""``matern12`` has a cone at distance zero; pairs nearer than this share of its length have gradient zero."""


def squared_gradients(kernel: Kernel, X: Rows, Z: Rows, coef: np.ndarray) -> np.ndarray:
    """The mean over the rows X of g_j(x)^2, (n_features,). ``coef`` is (machines, len(Z))."""
    total = np.zeros(X.n_features)
    if not len(X) or not len(Z):
        return total
    vectors: Any = Z.to_array()
    step = max(1, _CHUNK // max(len(Z), X.n_features))
    for first in range(0, len(X), step):
        part = X.take(slice(first, first + step))
        for gradient in _gradients(replace(kernel), part, Z, vectors, coef):
            total += np.einsum("ij,ij->j", gradient, gradient)
        checkpoint()
    return total / len(X)


def _gradients(kernel: Kernel, X: Rows, Z: Rows, vectors: Any, coef: np.ndarray) -> Any:
    """The gradient of each machine at each row of X, (n, n_features)."""
    if kernel.name == "laplacian":
        return _signed(kernel, X, Z, vectors, coef)
    return _linear(kernel, X, Z, vectors, coef)


def _linear(kernel: Kernel, X: Rows, Z: Rows, vectors: Any, coef: np.ndarray) -> Any:
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


def _signed(kernel: Kernel, X: Rows, Z: Rows, vectors: Any, coef: np.ndarray) -> Any:
    """Of the Laplacian kernel; halfway between both sides where x_j = z_j."""
    values = -kernel.gamma * kernel.block(X, Z)
    here, there = _dense(X.to_array()), _dense(vectors)
    gradients = np.empty((len(coef), *here.shape))
    weighted = [values * machine.astype(np.float32) for machine in coef]
    for j in range(here.shape[1]):
        sign = np.sign(here[:, j, None] - there[None, :, j]).astype(np.float32)
        for m, each in enumerate(weighted):
            gradients[m, :, j] = np.einsum("ij,ij->i", each, sign)
    return gradients


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if sparse.issparse(values) else values)
