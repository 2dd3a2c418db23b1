"""What all tasks of a fit share: an untrained model with fixed kernel, centre and classes.

It converts rows of a partition to examples, and a support set to an ordinary fitted estimator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from ...core.examples import Examples
from ...core.kernel.kernel import Kernel, make_kernel
from ...core.lasvm.parts import merging
from ...core.lasvm.state import Support
from ...estimators.base import install
from ...estimators.checks import Checked, Features, check_rows, check_scale
from ...estimators.labels import LabelBook
from ...estimators.lasvm import LASVMClassifier
from ...estimators.trained import Trained, finite_cost
from .partitions import as_arrays
from .summary import Whole


@dataclass
class Frame:
    """An estimator with its settings, and the model that it has before anything is learned."""

    estimator: LASVMClassifier
    trained: Trained

    @classmethod
    def of(cls, estimator: LASVMClassifier, whole: Whole, names: list[str] | None) -> Frame:
        """Fix what the summary of all partitions decides."""
        gamma = estimator.gamma
        if gamma == "scale":
            gamma = whole.gamma(estimator.kernel)
        kernel = make_kernel(
            estimator.kernel, gamma=gamma, degree=estimator.degree, coef0=estimator.coef0,
            n_jobs=estimator.n_jobs, X=whole.sample,
        )  # fmt: skip
        if estimator.gamma == "scale":
            check_scale(kernel, whole.sample)
        named = None if names is None else np.array(names, object)
        features = Features(type(estimator).__name__, whole.features, named)
        table = _class_table(estimator.class_weight, whole)
        given = Checked(whole.sample, None, features)
        trained = Trained.begin(kernel, given, LabelBook(whole.labels), table)
        trained.shape_fit = sum(whole.rows), whole.features
        return cls(estimator, trained)

    @property
    def tol(self) -> float:
        """Tolerance of the optimality conditions."""
        return float(self.estimator.tol)

    @property
    def book(self) -> LabelBook:
        """The labels of all partitions."""
        book: LabelBook = self.trained.encoder
        return book

    def kernel(self, threads: int = 1) -> Kernel:
        """A copy of the kernel, with its own count of values."""
        return replace(self.trained.kernel, n_jobs=threads, n_evaluations=0)

    def rows(self, X: Any) -> Any:
        """Rows as users have them, checked, as the model takes them."""
        return self.trained.rows(check_rows(self.trained.features, X))

    def examples(self, part: Any, number: int, offset: int) -> Examples:
        """The examples of a partition; keys are row numbers in the whole data set."""
        X, y = as_arrays(part, number)
        if isinstance(X, np.ndarray) and X.dtype == np.float32 and not X.flags.writeable:
            X = X.copy()  # loops are compiled for arrays that can be written
        table = self.trained.class_weights or {}
        labels, which = np.unique(y, return_inverse=True)
        cost = np.array([table.get(label, 1.0) for label in labels.tolist()], np.float64)[which]
        data = self.trained.examples(X, y, cost * finite_cost(self.estimator.C))
        return data._replace(key=data.key + offset)

    def fitted(self, support: Support, evaluations: int, done: bool) -> LASVMClassifier:
        """An ordinary estimator that has learned this support set."""
        own, trained = self.estimator, self.trained
        kernel = replace(trained.kernel, n_jobs=own.n_jobs, n_evaluations=evaluations)
        learner, original = merging.learner_of(
            support, kernel, len(self.book), done,
            tau=self.tol, cache_size=own.cache_size, block_size=own.block_size,
        )  # fmt: skip
        assert trained.shape_fit is not None
        model: LASVMClassifier = clone(own)
        install(
            model,
            replace(
                trained, kernel=kernel, learner=learner, original=original,
                n_iter=int(trained.shape_fit[0]), fit_status=int(not done),
            ),
        )  # fmt: skip
        return model


def _class_table(class_weight: Any, whole: Whole) -> dict[Any, float]:
    if class_weight is None:
        return {}
    if isinstance(class_weight, dict):
        return dict(class_weight)
    weights = sum(whole.rows) / (len(whole.labels) * whole.counts)
    return dict(zip(whole.labels.tolist(), weights.tolist()))
