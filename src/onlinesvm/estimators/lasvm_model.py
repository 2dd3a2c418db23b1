"""What LASVM's regressor and novelty detector share: fit, streams, one example at a time."""

from __future__ import annotations

from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.linalg.blas import dnrm2
from sklearn.utils._param_validation import Interval, StrOptions

from ..core.interrupts import Interruptible, checkpoint, interrupted
from ..core.kernel.kernel import Kernel
from ..core.state.published import published
from .checks import check_square
from .lasvm_run import LASVMRun
from .online import KERNEL_CONSTRAINTS, OnlineKernelModel, with_cost
from .targets import Targets
from .weights import check_sample_weight, finite_cost

LASVM_CONSTRAINTS: dict[str, list[Any]] = {
    **KERNEL_CONSTRAINTS,
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"converge"})],
    "block_size": [Interval(Integral, 1, None, closed="left")],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "shuffle": ["boolean"],
}

LONGEST = 1e19
"""Rows of less length have a square within single precision."""


class LASVMModel(LASVMRun, OnlineKernelModel):
    """Base of LASVM for tasks other than classification. Subclasses say which (``_task``)."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = LASVM_CONSTRAINTS
    _book: Targets
    epochs: int | str
    tol: float

    # -- for subclasses -------------------------------------------------------------------

    def _task(self) -> Any:
        raise TypeError(f"{type(self).__name__} has no task.")  # pragma: no cover

    def _check(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        """Checked examples and targets; makes ``_book`` known with the first ones."""
        raise TypeError(f"{type(self).__name__} checks nothing.")  # pragma: no cover

    # -- learning -------------------------------------------------------------------------

    def _make_learner(self, kernel: Kernel, rows: Any, n_labels: int) -> Any:
        from ..core.lasvm.learner import LASVM

        return LASVM(
            kernel, rows, n_labels, tau=self.tol, cache_size=self.cache_size,
            block_size=self.block_size, task=self._task(),
        )  # fmt: skip

    def _data_at_hand(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        from ..core.lasvm.duplicates import merge_duplicates

        X, y = self._check(X, y, reset=True)
        check_square(self, X)
        checkpoint()
        weight = check_sample_weight(sample_weight, X)
        self._prepare_kernel(X, self._book)
        data = with_cost(self._fresh(X, y, weight))
        if self.kernel != "precomputed":
            data = merge_duplicates(data)
        checkpoint()
        self._original, self._first_rows = data.key, None
        self.shape_fit_ = X.shape
        return data._replace(key=np.arange(len(data.key))), X, y

    def _plan(self, data: Any, rng: np.random.RandomState) -> Any:
        """What the parameters say about epochs."""
        from ..core.lasvm.fitting import Plan

        converge = self.epochs == "converge"
        return Plan(1 if converge else int(self.epochs), converge, self.shuffle)

    def _stream_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any]:
        self._check_stream_kernel()
        first = not hasattr(self, "_learner")
        X, y = self._check(X, y, reset=first)
        weight = check_sample_weight(sample_weight, X)
        if first:
            self._original = np.empty(0, np.int64)
        if first or self._first_rows is not None:
            X, y, weight = self._from_the_start(X, y, weight)
        data = self._fresh(X, y, weight)
        data = with_cost(data._replace(key=np.full(len(data.key), -1)))
        checkpoint()
        return (data,)

    def _learn(self, data: Any, learner: Any) -> None:
        """Hand validated examples to the learner, or to a new one."""
        if learner is None:
            learner = self._make_learner(self._kernel, data.rows, len(self._book))
        else:
            self._first_rows = None
            if not self._kernel.is_compiled:  # a callable may fail half-way
                learner = deepcopy(learner)
        try:
            learner.learn(data)
        except KeyboardInterrupt:  # at a checkpoint, what was learned before it stays
            self._first_rows = None
            if self._kernel.is_compiled or interrupted():
                self._learner, self._kernel = learner, learner.kernel
            raise
        self._learner, self._kernel = learner, learner.kernel

    def _learn_row(self, x: Any, y: Any, sample_weight: float) -> None:
        """Learn one dense row: quickly where it is in order, else with all checks."""
        x = np.asarray(x)
        if x.ndim != 1:
            raise ValueError(
                f"learn_one takes one row of features, not an array of shape {x.shape}; use "
                "partial_fit for several rows and for sparse ones."
            )
        state = published(self)
        with Interruptible():
            with state:
                if self._learn_quickly(x, y, sample_weight, state):
                    return
            self._learn_stream(x[None, :], None if y is None else np.array([y]), [sample_weight])

    def _learn_quickly(self, x: np.ndarray, y: Any, weight: float, state: Any) -> bool:
        """Learn a row that is in order; false where it needs a closer look, and all its checks."""
        from ..core.examples import Examples
        from ..core.kernel.rows import Rows

        if "_learner" not in self.__dict__ or self._first_rows is not None:
            return False
        label = np.zeros(1) if y is None else np.atleast_1d(np.asarray(y))
        if len(x) != self.n_features_in_ or x.dtype.kind not in "fiub":
            return False
        if label.shape != (len(self._book),) or label.dtype.kind not in "fiub":
            return False
        shifted = x if self._centre is None else x - self._centre
        in_order = 0 < weight < np.inf and np.isfinite(label).all() and dnrm2(shifted) < LONGEST
        if not (in_order and self._kernel.is_compiled and not self._sparse):
            return False
        rows = Rows.of(shifted[None, :], None, None, self._kernel.far)
        diagonal = self._kernel.diagonal(rows)
        if not np.isfinite(diagonal).all():
            return False
        bound = np.array([weight * finite_cost(getattr(self, "C", None))])
        label = self._book.encode(label[None, :])
        state.version += 1
        self._learner.learn(Examples(rows, label, bound, diagonal, np.array([-1])))
        if state.waiting:
            state.serve(self._make_view)
        return True

    # -- fitted attributes ----------------------------------------------------------------

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors."""
        return np.array([len(self._seen("n_support_").model.key)])
