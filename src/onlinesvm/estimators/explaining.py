"""Explain the predictions of a fitted model of any algorithm, from its kernel expansion.

    f(x) = b + sum_i a_i k(x, s_i)

By features, for kernels that are products over them (``core.explain.shapley``), and for the linear
kernel, whose shares are w_j x_j. By support vectors, for the same kernels: a_i k(x, s_i).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .checks import check_rows
from .explanation import Explanation, SupportShares

_PART_VALUES = 1 << 22
"""Kernel values at a time."""


class Expansion(NamedTuple):
    """A model and the examples to explain, in double precision, as the kernel takes them."""

    X: Any  # both dense or both CSR
    S: Any
    kernel: Any
    coef: np.ndarray  # (machines, n_SV)
    bias: np.ndarray
    length: np.ndarray | None  # f is divided by it, if it is not None


def explain(view: Any, X: Any, n_examples: int) -> Explanation:
    """The shares of features and support vectors in the decision values of X."""
    refuse_unexplained(view.kernel)
    features = view.trained.features
    checked = check_rows(features, X)
    model = view.expansion(X)
    values, base = _by_features(model)
    if model.length is not None:
        values /= model.length[:, None, None]
        base = base / model.length[:, None]
    names = features.names
    several = len(model.coef) > 1
    return Explanation(
        values=np.ascontiguousarray(values.transpose(0, 2, 1)) if several else values[:, 0],
        base_values=base if several else base[:, 0],
        data=checked.copy(),
        feature_names=[f"x{j}" for j in range(checked.shape[1])] if names is None else list(names),
        output_names=[str(each) for each in view.classes] if several else None,
        examples=_by_support(model, view.support, n_examples, several),
    )


def refuse_unexplained(kernel: Any) -> None:
    """Raise an error for a kernel that has no exact explanation."""
    from ..core.explain.shapley import PRODUCT_KERNELS

    if kernel.name in (*PRODUCT_KERNELS, "linear"):
        return
    raise ValueError(
        f"explain has no exact result for kernel {kernel.name!r}: it takes kernels that are a "
        "product over features (rbf, laplacian), or a sum (linear). Fit one of these, or use an "
        "explainer that samples, such as shap.KernelExplainer."
    )


def _by_features(model: Expansion) -> tuple[np.ndarray, np.ndarray]:
    """Shares (n, machines, features) and the base values (n, machines)."""
    from ..core.explain.shapley import shapley_values
    from ..core.kernel.exact import as_array

    if model.kernel.name == "linear":
        weights = np.asarray(model.coef @ model.S)
        values, base = as_array(model.X)[:, None, :] * weights, model.bias
    else:
        values = shapley_values(model.X, model.S, model.coef, model.kernel)
        base = model.bias + model.coef.sum(axis=1)
    return values, np.tile(base, (model.X.shape[0], 1))


def _by_support(
    model: Expansion, support: np.ndarray, n_examples: int, several: bool
) -> SupportShares:
    """The support vectors with the largest shares, of every example and machine."""
    n, size = model.X.shape[0], max(1, _PART_VALUES // max(1, len(support)))
    k = min(n_examples, len(support))
    position = np.empty((n, k, len(model.coef)), np.int64)
    share, rest = np.empty(position.shape), np.empty((n, len(model.coef)))
    for first in range(0, n, size):
        part = slice(first, first + size)
        values = _kernel_values(model, part)
        for m, coef in enumerate(model.coef):
            shares = values * coef
            top = _largest(shares, k)
            position[part, :, m] = top
            share[part, :, m] = np.take_along_axis(shares, top, axis=1)
            np.put_along_axis(shares, top, 0.0, axis=1)
            rest[part, m] = shares.sum(axis=1)
    if model.length is not None:
        share /= model.length[:, None, None]
        rest /= model.length[:, None]
    found = SupportShares(position, support[position], share, rest)
    return found if several else found[..., 0]


def _kernel_values(model: Expansion, part: slice) -> np.ndarray:
    from ..core.kernel.exact import ExactRows

    return ExactRows(model.X[part], model.kernel).block(ExactRows(model.S, model.kernel))


def _largest(shares: np.ndarray, k: int) -> np.ndarray:
    """Columns of the k largest absolute values of each row, largest first; of ties, the first."""
    if not k:
        return np.empty((len(shares), 0), np.int64)
    amounts = np.abs(shares)
    some = np.sort(np.argpartition(-amounts, k - 1, axis=1)[:, :k], axis=1)
    order = np.argsort(-np.take_along_axis(amounts, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


def alike(X: Any, S: Any) -> tuple[Any, Any]:
    """Examples and support vectors in one format: CSR if the support vectors are, else dense."""
    if not sparse.issparse(S):
        return X.toarray() if sparse.issparse(X) else X, S
    X, S = sparse.csr_matrix(X), sparse.csr_matrix(S)
    for rows in (X, S):
        rows.sum_duplicates()
    return X, S
