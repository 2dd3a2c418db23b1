"""What all tasks of a fit share: an estimator with kernel, centre and classes fixed, and no learner.

Rows of a partition become examples by it, and a support set becomes an ordinary fitted estimator.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.examples import Examples
from ..core.kernel.kernel import Kernel
from ..core.lasvm.learner import LASVM
from ..core.lasvm.state import Support
from ..estimators.labels import LabelBook
from ..estimators.lasvm import LASVMClassifier
from ..estimators.online import with_cost
from .partitions import as_arrays
from .summary import Whole


def make_frame(model: LASVMClassifier, whole: Whole, names: list[str] | None) -> LASVMClassifier:
    """Fix on ``model`` what the summary of all partitions decides."""
    asked = model.gamma
    if asked == "scale":
        model.gamma = 1.0 / (whole.features * whole.variance) if whole.variance > 0 else 1.0
    model._prepare_kernel(whole.sample, LabelBook(whole.labels))
    model.gamma = asked
    model._class_table = _class_table(model.class_weight, whole)
    model._first_rows, model._objects = None, None
    model.n_features_in_, model.shape_fit_ = whole.features, (sum(whole.rows), whole.features)
    if names is not None:
        model.feature_names_in_ = np.array(names, object)
    return model


def _class_table(class_weight: Any, whole: Whole) -> dict[Any, float]:
    if class_weight is None:
        return {}
    if isinstance(class_weight, dict):
        return dict(class_weight)
    weights = sum(whole.rows) / (len(whole.labels) * whole.counts)
    return dict(zip(whole.labels.tolist(), weights.tolist()))


def kernel_of(frame: LASVMClassifier, threads: int = 1) -> Kernel:
    """A kernel of one's own, with its own count of values."""
    return replace(frame._kernel, n_jobs=threads, n_evaluations=0)


def examples_of(frame: LASVMClassifier, part: Any, number: int, offset: int) -> Examples:
    """The examples of a partition; keys are row numbers in the whole data set."""
    X, y = as_arrays(part, number)
    if isinstance(X, np.ndarray) and X.dtype == np.float32 and not X.flags.writeable:
        X = X.copy()  # loops are compiled for arrays that can be written
    table = frame._class_table
    labels, which = np.unique(y, return_inverse=True)
    cost = np.array([table.get(label, 1.0) for label in labels.tolist()], np.float64)[which]
    data = with_cost(frame._fresh(X, y, cost))
    return data._replace(key=data.key + offset)


def fitted(frame: LASVMClassifier, support: Support, evaluations: int, done: bool) -> Any:
    """An ordinary estimator that has learned this support set."""
    model = copy(frame)
    model._kernel = replace(frame._kernel, n_jobs=frame.n_jobs, n_evaluations=evaluations)
    learner = LASVM(
        model._kernel, support.rows(), len(frame._book), tau=float(frame.tol),
        cache_size=frame.cache_size, block_size=frame.block_size,
    )  # fmt: skip
    learner.support, learner.converged = support, done
    n, key = support.n, support.a.key
    model._original = key[:n].copy()
    key[:n] = np.arange(n)
    model._learner, model.fit_status_ = learner, int(not done)
    model.n_iter_ = int(frame.shape_fit_[0])
    return model
