"""What the SimpleSVM estimators share: checks, rows in double precision, learning, forgetting.

Everything that was learned, and all that a prediction needs, hangs on one attribute, ``_learner``.
A learner that an estimator has is never changed: work is done on a new one or on a copy, which
takes its place in one step, together with the number and the names of the features. Bad input,
data that cannot be separated, a working set that does not fit, Ctrl-C: the model stays as it was,
and predictions in other threads use the old model or the new one.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.interrupts import Deadline, TimeUp
from ..core.kernel.csr import canonical_csr, check_structure
from .base import KERNEL_CONSTRAINTS
from .checks import check_square
from .first_rows import FirstRows, is_estimated, joined
from .interrupt import Interruptible
from .kernel_estimator import KernelEstimator
from .progress import FitProgress
from .simplesvm_fitted import SimpleSVMFitted
from .simplesvm_rows import Shifted, as_array, exact_rows
from .stopping import warn_of_time_limit

SIMPLESVM_CONSTRAINTS: dict[str, list[Any]] = {
    **KERNEL_CONSTRAINTS,
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "low_rank": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Real, 0.0, 1.0, closed="neither"),
        StrOptions({"linear"}),
        callable,
        None,
    ],
    "selection": [StrOptions({"block", "sweep", "random"})],
    "block_size": [Interval(Integral, 1, None, closed="left")],
    "max_sweeps": [Interval(Integral, 1, None, closed="left"), None],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
}

FEATURES = ("n_features_in_", "feature_names_in_")


class Checked(NamedTuple):
    """Input that was found to be good, and the attributes that go with it once it is learned."""

    X: Any
    y: Any
    features: dict[str, Any]


class SimpleSVMBase(SimpleSVMFitted, KernelEstimator):
    """Base of the SimpleSVM estimators. Subclasses say what the task is."""

    # -- for subclasses -------------------------------------------------------------------

    def _task(self, labels: Any) -> Any:
        raise TypeError(f"{type(self).__name__} has no task.")  # pragma: no cover

    # -- learning -------------------------------------------------------------------------

    def _learn_first(
        self, data: Checked, target: np.ndarray, weight: np.ndarray, labels: Any = None
    ) -> None:
        """The first examples of a stream, or all of them so far, from scratch."""
        rows = FirstRows(data.X, target, weight)
        first_rows = rows.kept() if is_estimated(self) else None
        self._learn_all(data, target, weight, labels, first_rows, limited=False)

    def _learn_all(
        self,
        data: Checked,
        target: np.ndarray,
        weight: np.ndarray,
        labels: Any = None,
        first_rows: FirstRows | None = None,
        limited: bool = True,
    ) -> None:
        """A data set at hand, from scratch, with progress by sweep, within the time limit.

        After Ctrl-C the model is what the last sweep left; after a second Ctrl-C, which does not
        wait for the end of a sweep, the copy that was made last, or as it was if there is none.
        """
        from ..core.simplesvm.learner import SimpleSVM

        safe = None
        rows, centre, features = self._prepared(data.X)
        deadline = Deadline(self.time_limit if limited else None)
        with Interruptible() as interruptible, deadline:
            options = self._options()
            learner = SimpleSVM(rows, target, weight, self._task(labels), options, features)
            learner.centre, learner.labels, learner.first_rows = centre, labels, first_rows
            progress = FitProgress(self, data.X, data.y, None)
            copies = _Copies()
            try:
                for _ in progress.epoch("sweeps", learner.optimise(self.max_sweeps), None):
                    safe = learner if interruptible.asked else copies.of(learner)
                    if progress.root is not None:  # somebody looks at the estimator
                        self._publish(learner.snapshot(), data.features)
                    deadline.arm()
                    interruptible.check()
            except TimeUp:
                pass
            except KeyboardInterrupt:
                if safe is not None:
                    self._publish(safe, data.features)
                raise
            self._publish(learner, data.features)
        progress.close()
        if deadline.has_passed:
            warn_of_time_limit(
                self.time_limit, "the model is what was learned until then", stacklevel=4
            )
        else:
            self._warn(learner)

    def _prepared(self, X: Any) -> tuple[Any, Any, Any]:
        """Rows of a new model, their origin, and the factor of a kernel of low rank."""
        kernel = self._make_kernel(X)
        centre = self._centre_for(kernel, X, sparse.issparse(X))
        key = np.arange(X.shape[0]) if kernel.name == "precomputed" else None
        rows = exact_rows(X, kernel, centre, sparse.issparse(X), key, own=True)
        return rows, centre, self._features(rows, centre)

    def _options(self) -> Any:
        from ..core.simplesvm.learner import Options

        return Options(
            tol=self.tol, cache_size=self.cache_size, selection=self.selection,
            block_size=self.block_size, init=getattr(self, "init", "random"),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )  # fmt: skip

    def _learn_more(
        self, data: Checked, target: np.ndarray, weight: np.ndarray, labels: Any = None
    ) -> None:
        """More examples, from the solution that is there."""
        self._check_stream_kernel()
        learner = self._learner.copy()
        if learner.first_rows is not None:
            rows = joined(learner.first_rows, data.X, target, weight)
            self._learn_first(Checked(rows.X, rows.y, data.features), rows.y, rows.weight, labels)
            return
        learner.task, learner.labels = self._task(labels), labels
        rows = exact_rows(
            data.X, learner.rows.kernel, learner.centre, learner.rows.is_sparse, own=True
        )
        self._replace_by(learner, lambda: learner.learn(rows, target, weight))

    def _replace_by(self, learner: Any, change: Callable[[], None]) -> None:
        """The learner, once it has changed and is optimal again; Ctrl-C before that: not at all."""
        with Interruptible() as interruptible:
            change()
            for _ in learner.optimise(self.max_sweeps):
                interruptible.check()
            self._publish(
                learner, {name: vars(self)[name] for name in FEATURES if name in vars(self)}
            )
        self._warn(learner)

    def _publish(self, learner: Any, features: dict[str, Any]) -> None:
        """The new model in place of the old one: one assignment, nothing in between."""
        others = {name: value for name, value in vars(self).items() if name not in FEATURES}
        self.__dict__ = {**others, **features, "_learner": learner}

    @contextmanager
    def _atomic(self) -> Iterator[None]:
        """An error leaves the model as it was, and is told in the user's words."""
        before = self.__dict__
        try:
            yield
        except Exception as error:
            self.__dict__ = before
            explained = self._explained(error)
            if explained is error:
                raise
            raise explained from error

    def _explained(self, error: BaseException) -> BaseException:
        """The engine's errors in the user's words."""
        return error

    def finish(self) -> Any:
        """Do nothing: the solution is optimal after every call.

        The other estimators of this package have a finishing step of this name.

        Returns
        -------
        self : object
            The model.
        """
        check_is_fitted(self)
        return self

    def forget(self, indices: Any) -> Any:
        """Remove examples and restore optimality over those that are left.

        Parameters
        ----------
        indices : int or array-like of int
            Numbers of the examples, counted from zero in the order they were given to ``fit`` and
            then ``partial_fit``. Numbers do not change when others are forgotten.

        Returns
        -------
        self : object
            The estimator, as if it had never seen them.
        """
        check_is_fitted(self)
        gone = self._positions(indices)
        self._check_forget(gone)
        with self._atomic():
            learner = self._learner.copy()
            learner.first_rows = None
            self._replace_by(learner, lambda: learner.forget(gone))
        return self

    def _positions(self, indices: Any) -> np.ndarray:
        """A mask over the kept examples, or one clear error."""
        asked = np.atleast_1d(np.asarray(indices))
        if asked.ndim != 1 or (asked.size and asked.dtype.kind not in "iu"):
            raise ValueError("indices must be an integer or a list of integers.")
        learner = self._learner
        unknown = asked[(asked < 0) | (asked >= learner.seen)]
        if len(unknown):
            raise ValueError(
                f"Example {unknown[0]} was never seen: {learner.seen} examples were given, "
                f"numbered 0 to {learner.seen - 1}."
            )
        missing = asked[~np.isin(asked, learner.number)]
        if len(missing):
            raise ValueError(f"Example {missing[0]} was already forgotten.")
        if len(np.unique(asked)) < len(asked):
            raise ValueError("indices names an example twice.")
        return np.isin(learner.number, asked)

    def _check_forget(self, gone: np.ndarray) -> None:
        if gone.all():
            raise ValueError("All examples would be forgotten; nothing would be left to fit.")

    def _warn(self, learner: Any) -> None:
        if not learner.converged:
            warnings.warn(
                f"SimpleSVM stopped before tol={self.tol} was reached; raise max_sweeps or tol, "
                "or scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # -- checks and conversion ------------------------------------------------------------

    def _check_X(self, X: Any, y: Any, reset: bool, **options: Any) -> Checked:
        """Good input, or one clear error; the estimator stays as it is."""
        target = object.__new__(type(self))
        target.__dict__.update(self.__dict__)
        if sparse.issparse(X):
            check_structure(X)
        checked = validate_data(
            target, X, y, accept_sparse="csr", dtype=np.float64, reset=reset, **options
        )
        X, y = checked if isinstance(checked, tuple) else (checked, None)
        if sparse.issparse(X):
            X = canonical_csr(X, copy=True)
        if reset:
            check_square(self, X)
        features = {name: vars(target)[name] for name in FEATURES if name in vars(target)}
        return Checked(X, y, features)

    def _features(self, rows: Any, centre: Any) -> Any:
        if self.low_rank is None:
            return None
        from ..core.simplesvm.learner import Features

        if self.low_rank == "linear":
            if self.kernel != "linear":
                raise ValueError("low_rank='linear' is for kernel='linear', whose factor is X.")
            return Features(rows, None, as_array)
        if callable(self.low_rank):
            return Features(rows, None, Shifted(self.low_rank, centre))
        return Features(rows, self.low_rank, None)


class _Copies:
    """Copies of a learner at work, as often as they cost a fiftieth of its time."""

    def __init__(self) -> None:
        self.copy: Any = None
        self._next = time.perf_counter() + 0.1  # less is soon learned again

    def of(self, learner: Any) -> Any:
        """The last copy, or a new one if that is due."""
        begin = time.perf_counter()
        if begin >= self._next:
            self.copy = learner.snapshot()
            end = time.perf_counter()
            self._next = end + 50 * (end - begin)
        return self.copy
