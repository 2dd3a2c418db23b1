"""Decision values and fitted attributes of the SimpleSVM estimators, read from their learner."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .fitted import FittedExpansion
from .simplesvm_rows import exact_rows, moved_back
from .view import FittedView, shaped


class SimpleSVMView(FittedView):
    """A SimpleSVM with the number and names of its features, as they belong together."""

    def __init__(self, estimator: Any):
        self.settings = object.__new__(type(estimator))
        self.settings.__dict__.update(vars(estimator))
        self.learner = self.settings._learner
        labels = self.learner.labels  # None for values and novelty
        self.classes = np.empty(0) if labels is None else labels.classes.copy()
        self.order = np.zeros(1, np.int64) if labels is None else labels.order()

    def decide(self, X: Any) -> np.ndarray:
        """Decision values, (n,) or (n, classes)."""
        learner = self.learner
        X = self.settings._check_X(X, "no_validation", False).X
        kernel = copy.copy(self.kernel)  # its count is that of learning
        rows = exact_rows(X, kernel, learner.centre, learner.rows.is_sparse)
        return shaped(learner.decide(rows), self.order)

    @property
    def kernel(self) -> Any:
        """The kernel."""
        return self.learner.rows.kernel

    @cached_property
    def _expansion(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the support vectors and their coefficients."""
        which, coef = self.learner.expansion()
        return which, coef

    @property
    def support(self) -> np.ndarray:
        """Numbers of the support vectors among the examples given."""
        return self.learner.number[self._expansion[0]]

    def vectors(self) -> Any:
        """The support vectors as they were given."""
        return moved_back(self.learner.rows.take(self._expansion[0]).values, self.learner.centre)

    def coefficients(self) -> np.ndarray:
        """Coefficients of the support vectors, (machines, n_SV)."""
        return self.to_classes(self._expansion[1])

    def biases(self) -> np.ndarray:
        """Bias of each machine."""
        return self.to_classes(self.learner.readings()[0])

    def weights(self) -> np.ndarray:
        """Weight vectors of the linear kernel, (machines, n_features)."""
        if self.settings.low_rank not in (None, "linear"):
            raise AttributeError("coef_ is not available with a kernel matrix of low rank.")
        return np.asarray(self._expansion[1] @ self.vectors())

    def label_numbers(self) -> np.ndarray:
        """The number of each support vector's label."""
        return self.learner.target[self._expansion[0]]


class SimpleSVMFitted(FittedExpansion):
    """What users see of a SimpleSVM that has learned."""

    _learner: Any
    low_rank: Any

    def _view(self) -> SimpleSVMView:
        check_is_fitted(self)
        return SimpleSVMView(self)

    def _leave_one_out(self) -> tuple[np.ndarray, Any]:
        """Decision values of the kept examples, each by the model without it, and the learner."""
        from ..core.simplesvm.leave_one_out import leave_one_out

        check_is_fitted(self)
        learner = self._learner
        return leave_one_out(learner), learner

    @property
    def shape_fit_(self) -> tuple[int, int]:
        """Number of examples kept, and of their features."""
        learner = self._fitted("shape_fit_")
        return len(learner.rows), learner.rows.values.shape[1]

    @property
    def fit_status_(self) -> int:
        """0 if the solution is optimal, 1 if ``max_sweeps`` ended the search before."""
        return int(not self._fitted("fit_status_").converged)

    @property
    def n_kernel_evaluations_(self) -> int:
        """Kernel values computed while learning."""
        return int(self._fitted("n_kernel_evaluations_").rows.kernel.n_evaluations)

    @property
    def n_sweeps_(self) -> int:
        """Sweeps made by the machines together."""
        return sum(machine.n_sweeps for machine in self._fitted("n_sweeps_").machines)

    @property
    def kkt_violation_(self) -> float:
        """Largest part of the KKT gap of any example, as in the paper's stopping rule."""
        return max(m.kkt_violation() for m in self._fitted("kkt_violation_").machines)

    @property
    def dual_objective_(self) -> np.ndarray:
        """The minimised objective of each machine."""
        return np.array([m.objective() for m in self._fitted("dual_objective_").machines])
