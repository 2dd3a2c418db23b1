"""Rounding of dot products: values of the RBF kernel stay right to 1e-5, and exact data cost nothing."""

import numpy as np
import pytest
from scipy import sparse

from onlinesvm.core.kernel.kernel import Kernel
from onlinesvm.core.kernel.rows import Rows
from onlinesvm.core.kernel.tiles.dense import TileJob
from onlinesvm.core.kernel.tiles.rbf import TOLERANCE


def exact(A, B, gamma):
    """Kernel values in double precision, from differences of the rows as they are kept."""
    a, b = (np.asarray(rows.to_dense().values, np.float64) for rows in (A, B))
    square = np.array([((row - b) ** 2).sum(axis=1) for row in a])
    return np.exp(-gamma * square)


@pytest.mark.parametrize("width", [4, 16, 64, 256])
@pytest.mark.parametrize("share", [0.4, 0.6, 0.9, 3.0])
@pytest.mark.parametrize("factor", [30, 200])
def test_one_feature_dominates(width, share, factor):
    """The one case in which the error exceeds 1e-5: by a factor of two at most (``rbf``)."""
    rng = np.random.default_rng(width)
    X = rng.standard_normal((300, width))
    X[:, 0] = factor * np.sqrt(width) * rng.uniform(0.9, 1.0, 300)
    Z = X + 1e-3 * rng.standard_normal(X.shape)
    A, B = Rows.of(X), Rows.of(Z)
    # So much of the tolerance is what rows without such a feature may reach.
    gamma = share * TOLERANCE * 2.0**24 / ((3 + 1.25 * np.sqrt(width)) * 2 * A.squares.max())
    kernel = Kernel("rbf", gamma=gamma)
    true = exact(A, B, np.float64(kernel.params.gamma))
    assert abs(kernel.block(A, B) - true).max() < 2e-5
    assert abs(kernel.product(A, B, np.eye(300)) - true).max() < 2e-5


@pytest.mark.parametrize("whole", [True, False])
def test_whole_numbers_need_no_differences(whole):
    """They are exact, so they must not pay for a look at pairs; the values are the same."""
    rng = np.random.default_rng(0)
    X = sparse.random(200, 300, 0.3, format="csr", random_state=0)
    X.data = rng.integers(-3, 4, X.nnz).astype(float) + (0.0 if whole else 0.1)
    kernel, rows = Kernel("rbf", gamma=0.3), Rows.of(X)
    values = kernel.block(rows, rows)
    assert np.isinf(TileJob(kernel, rows, rows).limit) == whole
    rows.whole = False
    np.testing.assert_array_equal(kernel.block(rows, rows), values)
    assert np.isfinite(TileJob(kernel, rows, rows).limit)
    assert abs(values - exact(rows, rows, 0.3)).max() < 1e-5


def test_rows_know_whether_they_are_whole():
    from onlinesvm.core.kernel.rows import RowStore

    X = sparse.csr_matrix(np.eye(4))
    half = sparse.csr_matrix(np.eye(4) / 2)
    whole, other = Rows.of(X), Rows.of(half)
    assert whole.whole
    assert whole.take(slice(1, 2)).whole
    assert not other.whole
    store = RowStore(whole)
    store.append(whole)
    assert store.rows().whole
    store.append(other)
    assert not store.rows().whole
