"""What the SimpleSVM estimators share: checks, rows in double precision, learning, forgetting.

Everything that was learned, and all that a prediction needs, hangs on one attribute, ``_learner``.
A learner that an estimator has is never changed: work is done on a new one or on a copy, which
takes its place in one step, together with the number and the names of the features. Bad input,
data that cannot be separated, a working set that does not fit, Ctrl-C: the model stays as it was,
and predictions in other threads use the old model or the new one.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.interrupts import Deadline, TimeUp
from ..core.kernel.csr import canonical_csr, check_structure
from ..core.kernel.kernel import make_kernel
from .base import KERNEL_CONSTRAINTS
from .first_rows import FirstRows, is_estimated, joined
from .fitted import check_linear, gamma_of, read_only
from .interrupt import Interruptible
from .progress import CallbackSupportMixin, FitProgress
from .saving import Saving
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

CENTRE_ROWS = 1000
"""Examples whose median is the origin of RBF rows."""


class Checked(NamedTuple):
    """Input that was found to be good, and the attributes that go with it once it is learned."""

    X: Any
    y: Any
    features: dict[str, Any]


class SimpleSVMBase(Saving, CallbackSupportMixin, BaseEstimator):
    """Base of the SimpleSVM estimators. Subclasses say what the task is."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    time_limit: float | None

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
                        self._publish(learner.copy(), data.features)
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
            warn_of_time_limit(self.time_limit, stacklevel=4)
        else:
            self._warn(learner)

    def _prepared(self, X: Any) -> tuple[Any, Any, Any]:
        """Rows of a new model, their origin, and the factor of a kernel of low rank."""
        kernel = make_kernel(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0,
            n_jobs=self.n_jobs, X=X,
        )  # fmt: skip
        centre = None
        if kernel.ignores_shift and not sparse.issparse(X):
            centre = np.median(X[:: -(-X.shape[0] // CENTRE_ROWS)], axis=0)
        key = np.arange(X.shape[0]) if kernel.name == "precomputed" else None
        rows = _rows(X, kernel, centre, key, own=True)
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
        if getattr(self, "kernel", None) == "precomputed":
            raise ValueError(
                "kernel='precomputed' needs all examples at once: use fit, or pass the kernel as "
                "a function of two arrays."
            )
        learner = self._learner.copy()
        if learner.first_rows is not None:
            rows = joined(learner.first_rows, data.X, target, weight)
            self._learn_first(Checked(rows.X, rows.y, data.features), rows.y, rows.weight, labels)
            return
        learner.task, learner.labels = self._task(labels), labels
        rows = _rows(data.X, learner.rows.kernel, learner.centre, own=True)
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
        """Do nothing: the solution is optimal after every call. For the family's sake.

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
        precomputed = getattr(self, "kernel", None) == "precomputed"
        if reset and precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be a square matrix: the kernel value of every pair of "
                f"training examples. Input is a {X.shape[0]}x{X.shape[1]} matrix."
            )
        features = {name: vars(target)[name] for name in FEATURES if name in vars(target)}
        return Checked(X, y, features)

    def _features(self, rows: Any, centre: Any) -> Any:
        if self.low_rank is None:
            return None
        from ..core.simplesvm.learner import Features

        if self.low_rank == "linear":
            if self.kernel != "linear":
                raise ValueError("low_rank='linear' is for kernel='linear', whose factor is X.")
            return Features(rows, None, _as_array)
        if callable(self.low_rank):
            return Features(rows, None, _Shifted(self.low_rank, centre))
        return Features(rows, self.low_rank, None)

    # -- what was learned -----------------------------------------------------------------

    def _decide(self, X: Any) -> tuple[np.ndarray, Any]:
        """Decision values, (n, machines), and the learner that they come from."""
        check_is_fitted(self)
        learner = self._learner
        X = self._check_X(X, "no_validation", False).X
        kernel = copy.copy(learner.rows.kernel)  # its count is that of learning
        return learner.decide(_rows(X, kernel, learner.centre)), learner

    def _leave_one_out(self) -> tuple[np.ndarray, Any]:
        """Decision values of the kept examples, each by the model without it, and the learner."""
        from ..core.simplesvm.leave_one_out import leave_one_out

        check_is_fitted(self)
        learner = self._learner
        return leave_one_out(learner), learner

    def _fitted(self, name: str) -> Any:
        if not hasattr(self, "_learner"):
            raise AttributeError(f"{type(self).__name__} has no {name} yet: call fit first.")
        return self._learner

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

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
        values = learner.rows.take(learner.expansion()[0]).values
        return values if learner.centre is None else values + learner.centre

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags


class _Copies:
    """Copies of a learner at work, as often as they cost a fiftieth of its time."""

    def __init__(self) -> None:
        self.copy: Any = None
        self._next = time.perf_counter() + 0.1  # less is soon learned again

    def of(self, learner: Any) -> Any:
        """The last copy, or a new one if that is due."""
        begin = time.perf_counter()
        if begin >= self._next:
            self.copy = learner.copy()
            end = time.perf_counter()
            self._next = end + 50 * (end - begin)
        return self.copy


def _rows(
    X: Any, kernel: Any, centre: Any, key: np.ndarray | None = None, own: bool = False
) -> Any:
    """Checked input as rows; ``own``: in memory that is not the user's."""
    from ..core.kernel.exact import ExactRows

    if kernel.name == "precomputed" and sparse.issparse(X):
        X = X.toarray()
    if centre is not None:
        X = (X.toarray() if sparse.issparse(X) else X) - centre
    with np.errstate(over="ignore"):
        rows = ExactRows(X, kernel, key, own)
        largest = 0.0 if kernel.name == "callable" else np.abs(rows.diagonal()).max()
    if not np.isfinite(largest + rows.squares.max()):
        raise ValueError(
            "The values are too large for kernel values in double precision; scale the "
            "features (for example with StandardScaler)."
        )
    return rows


def _as_array(values: Any) -> np.ndarray:
    return values.toarray() if sparse.issparse(values) else values


class _Shifted:
    """The user's feature map, which expects examples as the user knows them."""

    def __init__(self, function: Callable[[Any], Any], centre: np.ndarray | None):
        self.function, self.centre = function, centre

    def __call__(self, values: Any) -> np.ndarray:
        return self.function(values if self.centre is None else values + self.centre)
