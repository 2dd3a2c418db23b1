"""What every estimator of the package is, LASVM's kin and SimpleSVM alike.

An estimator has the parameters of a kernel, learns with callbacks and a time limit, can be saved,
and is fitted once it has a ``_learner``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from ..core.kernel.kernel import Kernel, make_kernel
from .progress import CallbackSupportMixin
from .saving import Saving


class KernelEstimator(Saving, CallbackSupportMixin, BaseEstimator):
    """Base of all estimators."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _learner: Any
    time_limit: float | None

    # -- the kernel -----------------------------------------------------------------------

    def _make_kernel(self, X: Any) -> Kernel:
        """The kernel that the parameters name, with gamma estimated from X where it is asked for."""
        return make_kernel(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0,
            n_jobs=self.n_jobs, X=X,
        )  # fmt: skip

    def _centre_for(self, kernel: Kernel, X: Any, stays_sparse: bool) -> np.ndarray | None:
        """The origin of the rows, where moving them changes no kernel value; else None."""
        if not kernel.ignores_shift:
            return None
        from ..core.kernel.centre import centre_of

        return centre_of(X, kernel.gamma, stays_sparse)

    def _check_stream_kernel(self) -> None:
        """Refuse a stream where kernel values are given instead of examples."""
        if getattr(self, "kernel", None) == "precomputed":
            raise ValueError(
                "kernel='precomputed' needs all examples at once: use fit, or pass the "
                "kernel as a function of two arrays."
            )

    # -- fitted or not --------------------------------------------------------------------

    def _fitted(self, name: str) -> Any:
        """The learner, of which a fitted attribute is read."""
        if not hasattr(self, "_learner"):
            raise AttributeError(
                f"{type(self).__name__} has no {name} yet: call fit or partial_fit first."
            )
        return self._learner

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags
