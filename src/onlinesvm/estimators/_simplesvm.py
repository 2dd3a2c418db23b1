"""What the SimpleSVM estimators share: rows in double precision, learning, forgetting.

The learner of an estimator is immutable: all work is done on a new learner or on a copy, which
replaces it in one step, together with the number and the names of the features. After invalid
input, data that cannot be separated, a working set that does not fit, or Ctrl-C, the model is
unchanged. Predictions in other threads use either the old model or the new one, and never wait.
"""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..core.runtime.interrupts import Deadline, Interruptible, TimeUp, checkpoint, is_asked
from ._progress import FitProgress
from .base import KernelEstimator
from .checks import check_indices, check_once
from .exact import ExactTrained, Shifted
from .params import SIMPLESVM_CONSTRAINTS
from .trained import FittedView, Trained


class SimpleSVMEstimator(KernelEstimator):
    """Base of the SimpleSVM estimators. Subclasses say what the task is."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = SIMPLESVM_CONSTRAINTS
    _kind_of_model = ExactTrained
    _dtype = np.float64
    _takes_objects = False
    max_sweeps: int | None
    low_rank: Any

    # -- for subclasses -------------------------------------------------------------------

    @abstractmethod
    def _task(self, encoder: Any) -> Any:
        """The optimisation problems to solve on the examples."""

    def _explained(self, error: Exception) -> Exception:
        """The engine's errors in the user's words."""
        return error

    # -- learning -------------------------------------------------------------------------

    def _learning(self) -> AbstractContextManager[None]:
        """Context of everything that makes a new model; translates the engine's errors."""
        return _explaining(self)

    def _examples(self, trained: Trained, X: Any, y: Any, weight: np.ndarray) -> Any:
        return trained.examples(X, y, weight)  # all of them: users forget them by their number

    def _make_learner(self, trained: Trained, data: Any, n_labels: int) -> Any:
        from ..core.simplesvm.learner import SimpleSVM

        rows, target, weight = data
        features = self._features(rows, trained.centre)
        task, options = self._task(trained.encoder), self._options()
        return SimpleSVM(rows, target, weight, task, options, features)

    def _options(self) -> Any:
        from ..core.simplesvm.learner import Options

        return Options(
            tol=self.tol, cache_size=self.cache_size, selection=self.selection,
            block_size=self.block_size, init=getattr(self, "init", "random"),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )  # fmt: skip

    def _run(self, trained: Trained, data: Any, rng: Any, progress: FitProgress) -> Iterator[Any]:
        return progress.epoch("sweeps", trained.learner.optimise(self.max_sweeps), None)

    def _train(
        self, trained: Trained, data: Any, progress: FitProgress, deadline: Deadline
    ) -> bool:
        """A data set at hand, from scratch, with progress by sweep.

        After Ctrl-C the model is that of the last complete sweep; after a second Ctrl-C within a
        sweep, it is the last copy made, or unchanged if there is none.
        """
        before, copies, safe = self._trained, _Copies(), None
        try:
            for _ in self._run(trained, data, None, progress):
                safe = trained.learner if is_asked() else copies.of(trained.learner)
                if progress.root is not None:  # callbacks may read the estimator
                    snapshot = replace(trained, learner=trained.learner.snapshot())
                    self._trained = progress.trained = snapshot
                deadline.arm()
                checkpoint()
        except TimeUp:
            pass
        except BaseException as error:
            interrupted = isinstance(error, KeyboardInterrupt) and safe is not None
            self._trained = replace(trained, learner=safe) if interrupted else before
            raise
        self._trained = progress.trained = trained
        progress.close()
        if not deadline.has_passed:
            self._warn(trained.learner)
        return True

    def _due(self, trained: Trained, y: Any, weight: np.ndarray) -> np.ndarray:
        return np.empty(0, np.int64)  # labels are not added one by one: all are learned again

    def _teach(self, trained: Trained, data: Any, due: np.ndarray) -> None:
        """Learn more examples, starting from the current solution if there is one."""
        if trained.learner is None:
            trained.learner = self._make_learner(trained, data, len(trained.encoder))
            self._train(trained, data, FitProgress(None, None, None, None), Deadline(None))
            return
        learner = trained.learner.copy()
        task = self._task(trained.encoder)
        if _settings(task) != _settings(learner.task):
            learner.machines = []  # they have solved another problem, and start again
        learner.task = task
        learner.learn(*data)
        self._improve(trained, learner)

    def _improve(self, trained: Trained, learner: Any) -> None:
        """Optimise the learner and make it the model; after Ctrl-C the model is unchanged."""
        for _ in learner.optimise(self.max_sweeps):
            checkpoint()
        self._trained = replace(trained, learner=learner, kernel=learner.kernel)
        self._warn(learner)

    def finish(self) -> Self:
        """Do nothing: the solution is optimal after every call.

        The other estimators of this package have a finishing step of this name.

        Returns
        -------
        self : object
            The model.
        """
        check_is_fitted(self)
        return self

    def forget(self, indices: Any) -> Self:
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
        trained = self._fitted("")
        gone = self._positions(indices)
        self._check_forget(gone)
        with self._learning():
            learner = trained.learner.copy()
            learner.forget(gone)
            self._improve(replace(trained, first_rows=None), learner)
        return self

    def _positions(self, indices: Any) -> np.ndarray:
        """A mask over the kept examples; raises an error if invalid."""
        asked, learner = check_indices(indices), self._fitted("").learner
        unknown = asked[(asked < 0) | (asked >= learner.seen)]
        if len(unknown):
            raise ValueError(
                f"Example {unknown[0]} was never seen: {learner.seen} examples were given, "
                f"numbered 0 to {learner.seen - 1}."
            )
        check_once(asked)
        missing = asked[~np.isin(asked, learner.number)]
        if len(missing):
            raise ValueError(f"Example {missing[0]} was already forgotten.")
        return np.isin(learner.number, asked)

    def _check_forget(self, gone: np.ndarray) -> None:
        if gone.all():
            raise ValueError("All examples would be forgotten; nothing would be left to fit.")
        if not self._fitted("").learner.weight[~gone].any():
            raise ValueError(
                "All examples of positive weight would be forgotten; keep at least one of them."
            )

    def _warn(self, learner: Any) -> None:
        if not learner.converged:
            warnings.warn(
                f"SimpleSVM stopped before tol={self.tol} was reached; raise max_sweeps or tol, "
                "or scale the features.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _features(self, rows: Any, centre: np.ndarray | None) -> Any:
        if self.low_rank is None:
            return None
        from ..core.kernel.exact import as_array
        from ..core.simplesvm.learner import Features

        if self.low_rank == "linear":
            if self.kernel != "linear":
                raise ValueError("low_rank='linear' is for kernel='linear', whose factor is X.")
            return Features(rows, None, as_array)
        if callable(self.low_rank):
            return Features(rows, None, Shifted(self.low_rank, centre))
        return Features(rows, self.low_rank, None)

    # -- what was learned -----------------------------------------------------------------

    def _view(self) -> FittedView:
        check_is_fitted(self)
        return self._fitted("").view()

    def _leave_one_out(self) -> tuple[np.ndarray, Trained]:
        """Decision values of the kept examples, each by the model without it, and the model."""
        from ..core.simplesvm.leave_one_out import leave_one_out

        check_is_fitted(self)
        trained = self._fitted("")
        return leave_one_out(trained.learner), trained

    @property
    def fit_status_(self) -> int:
        """0 if the solution is optimal, 1 if ``max_sweeps`` was reached first."""
        return int(not self._fitted("fit_status_").learner.converged)

    @property
    def n_sweeps_(self) -> int:
        """Total number of sweeps of all machines."""
        return sum(machine.n_sweeps for machine in self._fitted("n_sweeps_").learner.machines)

    @property
    def kkt_violation_(self) -> float:
        """Largest part of the KKT gap of any example, as in the paper's stopping rule."""
        return max(m.kkt_violation() for m in self._fitted("kkt_violation_").learner.machines)

    @property
    def dual_objective_(self) -> np.ndarray:
        """The minimised objective of each machine."""
        return np.array([m.objective() for m in self._fitted("dual_objective_").learner.machines])


def _settings(task: Any) -> dict[str, Any]:
    """C, nu, epsilon, margin: what the user may have changed since."""
    return {name: value for name, value in vars(task).items() if name != "n_labels"}


@contextmanager
def _explaining(estimator: SimpleSVMEstimator) -> Iterator[None]:
    with Interruptible():
        try:
            yield
        except Exception as error:
            explained = estimator._explained(error)
            if explained is error:
                raise
            raise explained from error


class _Copies:
    """Copies of a learner while it works, made so often that they take a fiftieth of its time."""

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
