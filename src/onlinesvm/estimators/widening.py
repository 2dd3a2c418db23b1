"""More features in mid-stream: LIBSVM text shows how many there are only at its end, and names of
features appear in dictionaries at any time.

The rows that a model holds have zeros in features that they never saw, and zeros change no kernel
value: nothing has to be computed again. ``gamma``, once fixed, stays as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..core.kernel.rows import RowStore
from ..core.state.published import published


def widen(estimator: Any, n_features: int, dense: bool = False) -> bool:
    """Let a classifier take rows of more features from now on. False where it cannot.

    Users of dense rows who give more features have made a mistake: a model of such rows becomes
    wider only with ``dense=True``.
    """
    stores = _stores(getattr(estimator, "_learner", None))
    kept_sparse = all(store.is_sparse for store in stores) and not getattr(
        estimator, "_packs", False
    )
    if not stores or not (dense or kept_sparse):
        return False
    with published(estimator).change(estimator._make_view):
        for store in stores:
            store.widen(n_features)
        estimator.n_features_in_ = n_features
        if estimator._centre is not None:
            more = n_features - len(estimator._centre)
            estimator._centre = np.pad(estimator._centre, (0, more))
        first = estimator._first_rows
        if first is not None:
            estimator._first_rows = first._replace(X=_wider(first.X, n_features))
    return True


def _wider(X: Any, n_features: int) -> Any:
    """Rows with zeros in the features that are new."""
    if not sparse.issparse(X):
        return np.pad(X, ((0, 0), (0, n_features - X.shape[1])))
    X = sparse.csr_matrix(X)
    X.resize(X.shape[0], n_features)
    return X


def _stores(learner: Any) -> list[RowStore]:
    """Where a learner of the core has its rows: in itself, or in one of its parts."""
    parts = [learner, *getattr(learner, "__dict__", {}).values()]
    found = (getattr(part, "store", None) for part in parts)
    return list({id(store): store for store in found if isinstance(store, RowStore)}.values())
