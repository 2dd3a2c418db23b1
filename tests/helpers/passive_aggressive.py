"""A kernel passive-aggressive classifier, written outside the package on its public verbs.

    f(x) = sum_i a_i k(x, x_i);   for each example:   a_t = y_t min(C, max(0, 1 - y_t f(x_t)) / k(x_t, x_t))

It is the worked example of CONTRIBUTING.md; every promise of a stream is tested on it too.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from onlinesvm.core.kernel.rows import RowStore
from onlinesvm.core.model import EpochLearner
from onlinesvm.core.runtime.compact import Compact
from onlinesvm.core.runtime.interrupts import checkpoint
from onlinesvm.estimators.classifier import KernelClassifier
from onlinesvm.estimators.params import AT_LEAST_ONE, KERNEL_CONSTRAINTS


class PassiveAggressive(Compact, EpochLearner):
    """Rows that carry a coefficient in some machine; two labels make one machine."""

    def __init__(self, kernel, like, n_labels):
        self.kernel, self.n_labels = kernel, n_labels
        self.store, self.keys_, self.labels_ = RowStore(like), np.empty(0, int), np.empty(0, int)
        self.alpha = np.zeros((1 if n_labels <= 2 else n_labels, 0))

    def signs(self, label):
        """y of an example with this label, for every machine."""
        positive = np.arange(len(self.alpha)) if self.n_labels > 2 else np.array([1])
        return np.where(positive == label, 1.0, -1.0)

    def steps(self, f, y, bound, diagonal):
        """Coefficients of an example with these decision values."""
        return y * np.minimum(bound, np.maximum(0.0, 1.0 - y * f) / max(diagonal, 1e-300))

    def learn(self, fresh):
        for q in range(len(fresh.rows)):
            one = fresh.take(slice(q, q + 1))
            f = self.alpha @ self.kernel.block(one.rows, self.store.rows())[0].astype(np.float64)
            about = self.signs(one.label[0]), one.bound[0], one.diagonal[0]
            step = self.steps(f, *about)
            if step.any():
                self.store.append(one.rows)
                self.alpha = np.append(self.alpha, step[:, None], axis=1)
                self.keys_, self.labels_ = (
                    np.append(self.keys_, one.key),
                    np.append(self.labels_, one.label),
                )

    def add_label(self):
        self.n_labels += 1
        if self.n_labels == 3:  # one hyperplane, seen from each side
            self.alpha = np.concatenate([-self.alpha, self.alpha])
        if self.n_labels > 2:  # the rows held are counter-examples of the new machine
            self.alpha = np.pad(self.alpha, ((0, 1), (0, 0)))
            self.alpha[-1] = -np.abs(self.alpha[:-1]).max(axis=0)

    def epoch(self, data, order) -> Iterator[int]:
        for done, k in enumerate(order.tolist(), 1):
            self.learn(data.take(slice(k, k + 1)))
            yield done
            checkpoint()

    def finish(self):
        """Nothing is left to do."""

    def finishing_work(self):
        return 0.0

    def expansion(self):
        return self.store.rows(), self.alpha, np.zeros(len(self.alpha)), np.arange(self.store.n)

    def keys(self, slots):
        return self.keys_[slots]

    def labels(self, slots):
        return self.labels_[slots]

    def stores(self):
        return [self.store]


class KernelPassiveAggressiveClassifier(KernelClassifier):
    """The estimator: parameters, their ranges, and which learner they make."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "epochs": [AT_LEAST_ONE],
    }

    def __init__(self, *, C=1.0, kernel="rbf", gamma="scale", degree=3, coef0=0.0, epochs=1, class_weight=None,
                 time_limit=None, n_jobs=-1, random_state=None):  # fmt: skip
        self.C, self.kernel, self.gamma, self.degree, self.coef0 = C, kernel, gamma, degree, coef0
        self.epochs, self.class_weight, self.time_limit = epochs, class_weight, time_limit
        self.n_jobs, self.random_state = n_jobs, random_state

    def _make_learner(self, trained, data, n_labels):
        return PassiveAggressive(trained.kernel, data.rows, n_labels)
