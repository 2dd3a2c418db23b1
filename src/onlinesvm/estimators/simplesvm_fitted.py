"""Decision values and fitted attributes of the SimpleSVM estimators, read from their learner."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .fitted import check_linear, gamma_of, read_only
from .simplesvm_rows import exact_rows, moved_back


class SimpleSVMFitted:
    """What users see of a SimpleSVM that has learned."""

    _learner: Any
    _fitted: Any  # of the class that this is mixed into: the learner, or an error
    low_rank: Any
    _check_X: Any  # noqa: N815 - of the class that this is mixed into: good input or an error

    # -- what was learned -----------------------------------------------------------------

    def _decide(self, X: Any) -> tuple[np.ndarray, Any]:
        """Decision values, (n, machines), and the learner that they come from."""
        check_is_fitted(self)
        learner = self._learner
        X = self._check_X(X, "no_validation", False).X
        kernel = copy.copy(learner.rows.kernel)  # its count is that of learning
        rows = exact_rows(X, kernel, learner.centre, learner.rows.is_sparse)
        return learner.decide(rows), learner

    def _leave_one_out(self) -> tuple[np.ndarray, Any]:
        """Decision values of the kept examples, each by the model without it, and the learner."""
        from ..core.simplesvm.leave_one_out import leave_one_out

        check_is_fitted(self)
        learner = self._learner
        return leave_one_out(learner), learner

    @property
    def support_(self) -> np.ndarray:
        """Numbers of the support vectors among the examples given."""
        learner = self._fitted("support_")
        return learner.number[learner.expansion()[0]]

    @property
    def support_vectors_(self) -> Any:
        """Support vectors, (n_SV, n_features); empty for a precomputed kernel, as in ``SVC``."""
        learner = self._fitted("support_vectors_")
        if learner.rows.kernel.name == "precomputed":
            return np.empty((0, 0))
        return moved_back(learner.rows.take(learner.expansion()[0]).values, learner.centre)

    @property
    def dual_coef_(self) -> np.ndarray:
        """Signed coefficients, one row per machine over all support vectors."""
        return self._fitted("dual_coef_").expansion()[1]

    @property
    def intercept_(self) -> np.ndarray:
        """Bias of each machine."""
        return self._fitted("intercept_").readings()[0]

    @property
    def coef_(self) -> np.ndarray:
        """Weight vectors of the linear kernel, one row per machine; read-only, as in ``SVC``."""
        check_linear(self._fitted("coef_").rows.kernel)
        if self.low_rank not in (None, "linear"):
            raise AttributeError("coef_ is not available with a kernel matrix of low rank.")
        return read_only(np.asarray(self.dual_coef_ @ self.support_vectors_))

    @property
    def gamma_(self) -> float:
        """The gamma in use."""
        return gamma_of(self._fitted("gamma_").rows.kernel)

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors."""
        return np.array([len(self._fitted("n_support_").expansion()[0])])

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
