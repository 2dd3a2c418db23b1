"""The floor under a fit: what its kernel values alone would cost.

The bare fused tile makes ``sum_j k(x_i, z_j) c_j`` for a block of rows against many others and does
nothing else. Its time a value, times the number of kernel values that a fit reports, is the least
the fit could take if everything but kernel values were free.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.clock import best_of

BLOCK_ROWS = 2048
SUPPORT_ROWS = 4096
REPEATS = 7


def seconds_per_value(X: Any, gamma: float) -> float:
    """Best time a kernel value of the fused RBF tile, on rows of `X`, with all cores."""
    from onlinesvm import LASVMClassifier
    from onlinesvm.core.kernel.kernel import Kernel

    order = np.random.default_rng(0).permutation(X.shape[0])
    rows = min(BLOCK_ROWS, len(order) // 2)
    few = X[order[:100]]
    model = LASVMClassifier(gamma=gamma).fit(few, np.arange(len(order[:100])) % 2)
    block = model._trained.rows(X[order[:rows]])  # dense, sparse or packed: as in a fit
    support = model._trained.rows(X[order[rows : rows + SUPPORT_ROWS]])
    coef = np.random.default_rng(1).standard_normal((1, len(support)))
    kernel = Kernel("rbf", gamma=gamma)
    best = best_of(lambda: kernel.product(block, support, coef), REPEATS)
    return best / (len(block) * len(support))
