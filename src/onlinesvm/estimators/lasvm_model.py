"""What LASVM's regressor and novelty detector share: fit, streams, one example at a time."""

from __future__ import annotations

from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from ..core.interrupts import Interruptible, checkpoint, interrupted
from ..core.kernel.kernel import Kernel
from .checks import check_square
from .lasvm_bounded import BOUNDED_CONSTRAINTS, BoundedMemory
from .lasvm_run import LASVMRun
from .online import KERNEL_CONSTRAINTS, OnlineKernelModel, with_cost
from .single_rows import SingleRows, one_row
from .targets import Targets
from .weights import check_sample_weight

LASVM_CONSTRAINTS: dict[str, list[Any]] = {
    **KERNEL_CONSTRAINTS,
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "epochs": [Interval(Integral, 1, None, closed="left"), StrOptions({"converge"})],
    "block_size": [Interval(Integral, 1, None, closed="left")],
    **BOUNDED_CONSTRAINTS,
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "shuffle": ["boolean"],
}


class LASVMModel(SingleRows, BoundedMemory, LASVMRun, OnlineKernelModel):
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
        self._check_converge()
        if self._is_bounded:
            return self._bounded_learner(kernel, rows, n_labels, task=self._task())
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
        if self.kernel != "precomputed" and not self._is_bounded:
            data = merge_duplicates(data)
        checkpoint()
        self._original, self._first_rows = data.key, None
        self.shape_fit_ = self._shape_of(X)
        return data._replace(key=np.arange(len(data.key))), X, y

    def _plan(self, data: Any, rng: np.random.RandomState) -> Any:
        """What the parameters say about epochs."""
        from ..core.lasvm.fitting import Plan

        converge = self.epochs == "converge"
        shuffle = self.shuffle and not self._in_order
        return Plan(1 if converge else int(self.epochs), converge, shuffle)

    def _stream_data(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any]:
        self._check_stream(X)
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

    @_fit_context(prefer_skip_nested_validation=True)
    def _learn_checked(self, X: Any, y: Any, sample_weight: Any) -> None:
        self._learn_stream(X, y, sample_weight)
        self._note_validated()

    def _learn_row(self, x: Any, y: Any, sample_weight: float) -> None:
        """Learn one dense row: quickly where it is in order, else with all checks."""
        x = one_row(x, "learn_one", "partial_fit")
        with Interruptible():
            if not self._learn_quickly(x, y, sample_weight):
                targets = None if y is None else np.array([y])
                self._learn_checked(x[None, :], targets, [sample_weight])
