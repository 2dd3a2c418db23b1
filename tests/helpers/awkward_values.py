"""For awkward histories: what they are given, what is expected, kernel values in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist


class FailedCheckError(AssertionError):
    """A check that failed."""


def expect(condition: Any, *words: Any) -> None:
    """Fail with words unless the condition holds."""
    if not condition:
        raise FailedCheckError(" ".join(str(word) for word in words))


def as_dense(values: Any) -> np.ndarray:
    """An array of what is sparse where the input is."""
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


class Given:
    """The user's arrays, to see that they stay as they are."""

    def __init__(self, case: Any):
        self.case = case
        self.before = [part.copy() for part in self.parts()]

    def parts(self) -> list[np.ndarray]:
        X = self.case.X
        names = ("data", "indices", "indptr", "row", "col")
        arrays = [X] if not sparse.issparse(X) else [getattr(X, n) for n in names if hasattr(X, n)]
        return [*arrays, self.case.y, *([] if self.case.weight is None else [self.case.weight])]

    def unchanged(self) -> None:
        for now, before in zip(self.parts(), self.before):
            same = now.shape == before.shape and now.dtype == before.dtype
            expect(same and np.array_equal(now, before), "the input was changed")


def odd_targets(kind: str, values: np.ndarray) -> np.ndarray:
    """Targets of this kind (``awkward.TARGETS``) made of ordinary ones."""
    rng, n = np.random.default_rng(2), len(values)
    few = rng.permutation(n)[: max(1, n // 20)]
    if kind == "zero-inflated":
        values = np.where(rng.random(n) < 0.6, 0.0, values)
        values[few] = 1e6
    elif kind == "constant but few":
        values = np.zeros(n)
        values[few] = 1e5
    elif kind == "heavy-tailed":
        values = values + rng.standard_cauchy(n) ** 3
    elif kind == "shifted":
        values = 1e6 + 1e-2 * values
    return values


def kernel_values(
    name: str, A: np.ndarray, B: np.ndarray, gamma: float, degree: int, coef0: float
) -> tuple[np.ndarray, np.ndarray]:
    """k of all pairs in float64, and the size of what is summed up in it."""
    if name == "rbf":
        K = np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))
        return K, np.ones_like(K)
    if name in ("laplacian", "matern12"):
        metric = "cityblock" if name == "laplacian" else "euclidean"
        K = np.exp(-gamma * cdist(A, B, metric))
        return K, np.ones_like(K)
    dot, size = A @ B.T, abs(A) @ abs(B).T
    if name == "linear":
        return dot, size
    inner, outer = gamma * dot + coef0, gamma * size + abs(coef0)
    if name == "poly":
        return inner**degree, degree * outer**degree
    return np.tanh(inner), np.minimum(1.0 + outer, 1e5)
