"""More features in mid-stream: LIBSVM text shows how many there are only at its end.

Rows of a model that holds sparse rows have zeros in features that they never saw, so nothing has to
be computed again. ``gamma``, once fixed, stays as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..core.kernel.rows import RowStore
from ..core.state.published import published


def widen(estimator: Any, n_features: int) -> bool:
    """Let a classifier take rows of more features from now on. False where it cannot."""
    stores = _stores(getattr(estimator, "_learner", None))
    if not stores or not all(store.is_sparse for store in stores) or estimator._packs:
        return False
    with published(estimator).change(estimator._make_view):
        for store in stores:
            store.n_features = n_features
        estimator.n_features_in_ = n_features
        if estimator._centre is not None:
            more = np.zeros(n_features - len(estimator._centre), estimator._centre.dtype)
            estimator._centre = np.append(estimator._centre, more)
        first = estimator._first_rows
        if first is not None:
            X = sparse.csr_matrix(first.X)
            X.resize(X.shape[0], n_features)
            estimator._first_rows = first._replace(X=X)
    return True


def _stores(learner: Any) -> list[RowStore]:
    """Where a learner of the core has its rows: in itself, or in one of its parts."""
    parts = [learner, *getattr(learner, "__dict__", {}).values()]
    found = (getattr(part, "store", None) for part in parts)
    return list({id(store): store for store in found if isinstance(store, RowStore)}.values())
