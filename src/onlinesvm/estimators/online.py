"""What all online models share, whatever they predict: kernel, rows, fit, finish, publication.

A model hands examples to its *learner*, a class of the core with these verbs:

``learn(fresh)``       examples in order (``core.examples.Examples``)
``finish()``           the algorithm's finishing step, if it has one
``expansion()``        support rows, coefficients (machines, n), biases, slots
``keys(slots)``        the data-set numbers of support rows
``labels(slots)``      their labels

Everything that can be wrong with the input is found before the learner sees any of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..core.interrupts import (
    Deadline,
    Interruptible,
    TimeUp,
    checkpoint,
    interrupted,
    listen_again,
)
from ..core.kernel.kernel import KERNEL_NAMES, Kernel, check_size
from ..core.state.compact import compact, restore
from ..core.state.published import published
from .first_rows import FirstRows, is_estimated, joined
from .fitted import FittedExpansion
from .kernel_estimator import KernelEstimator
from .objects import ObjectKernel, as_objects
from .progress import FitProgress
from .stopping import warn_of_time_limit
from .view import View
from .weights import finite_cost

_ARRAYS = ("_original", "_centre")

SPARSE_BELOW = 0.25
"""Dense input with a smaller share of non-zeros than this is kept sparse: it is faster."""

SPARSE_FROM = 32
"""... provided that it has at least this number of features."""

SPARSE_ROWS = 8
"""... and that at least this number of rows says so: a stream that is standardised on the fly, or
that brings one row at a time, may begin with a row of zeros, and is faster dense."""

BRIEFLY = 2.0
"""Seconds of the finishing step, at most, after Ctrl-C has ended a fit."""

KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}


class OnlineKernelModel(FittedExpansion, KernelEstimator):
    """Base of the online kernel models.

    Subclasses check their examples (``_data_at_hand``, ``_stream_data``), make the learner, run
    its epochs (``_run``) and hand it the examples of a stream (``_learn``).
    """

    _kernel: Kernel
    _book: Any  # what labels mean: ``LabelBook`` or its kin
    _first_rows: FirstRows | None = None
    _objects: np.ndarray | None = None  # the examples, where they are not rows of numbers

    # -- for subclasses -------------------------------------------------------------------

    def _make_learner(self, kernel: Kernel, rows: Any, n_labels: int) -> Any:
        raise TypeError(f"{type(self).__name__} does not make a learner.")  # pragma: no cover

    def _prepare(self, data: Any) -> Any:
        """What ``fit`` makes of the examples before they are learned: by default, nothing."""
        return data

    def _data_at_hand(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
        """Everything that ``fit`` does before it learns: the examples, and X and y as checked."""
        raise TypeError(f"{type(self).__name__} does not fit.")  # pragma: no cover

    def _stream_data(self, *given: Any) -> tuple[Any, ...]:
        """Everything that ``partial_fit`` does before it learns."""
        raise TypeError(f"{type(self).__name__} does not stream.")  # pragma: no cover

    def _run(self, learner: Any, data: Any, rng: np.random.RandomState, progress: Any) -> Any:
        """Learn a data set at hand. A generator: it yields where an interruption may come."""
        raise TypeError(f"{type(self).__name__} has no epochs.")  # pragma: no cover

    def _learn(self, *data_and_learner: Any) -> None:
        """Hand examples of a stream to the learner, or to a new one where it is None."""
        raise TypeError(f"{type(self).__name__} does not stream.")  # pragma: no cover

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("_validated", None)
        return state | {name: compact(state[name]) for name in _ARRAYS if name in state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = {name: restore(state[name]) for name in _ARRAYS if name in state}
        super().__setstate__(state | own)

    # -- learning -------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learn a data set at hand; an error leaves the model as it was."""
        with self._learning(), Deadline(self.time_limit) as deadline:
            before = dict(self.__dict__)
            try:
                data, X, y = self._data_at_hand(X, y, sample_weight)
                learner = self._make_learner(self._kernel, data.rows, len(self._book))
            except BaseException:
                self.__dict__ = before
                raise
            finished = self._train(learner, data, X, y, before, deadline)
        if deadline.has_passed:
            warn_of_time_limit(self.time_limit, self._told_learned(len(data.rows)), finished)

    def _train(
        self, learner: Any, data: Any, X: Any, y: Any, before: dict[str, Any], deadline: Deadline
    ) -> bool:
        """Run the epochs. An error leaves the model as it was, Ctrl-C what was learned.

        Ctrl-C in the finishing step ends it at once; in a pass, its cheap part is made.

        Returns whether what was learned has had its finishing step.
        """
        rng = check_random_state(getattr(self, "random_state", None))
        self._learner = learner
        progress = FitProgress(self, X, y, None)
        try:
            steps = self._run(learner, data, rng, progress)
            finished = self._take_steps(steps, learner, progress, deadline)
        except KeyboardInterrupt:
            if interrupted() and progress.learning:
                self._finish_briefly(learner)
            raise
        except BaseException:
            self.__dict__ = before
            raise
        progress.close()
        return finished

    def _take_steps(
        self, steps: Iterator[Any], learner: Any, progress: FitProgress, deadline: Deadline
    ) -> bool:
        """The steps of a fit within the time limit; what was learned is finished in any case.

        The limit holds from the first step on, so that there is a model, and learning ends so early
        that there is time for the finishing step. Returns whether there was.
        """
        start = last = deadline.elapsed
        try:
            for _ in steps:
                deadline.arm()
                if self.time_limit is not None:
                    now = deadline.elapsed
                    rate = (now - start) / max(1, learner.kernel.n_evaluations)
                    deadline.keep(rate * learner.finishing_work() + now - last)  # and one more step
                    last = now
                checkpoint()
                if progress.stopped:
                    break
            if not progress.stopped:
                return True
        except TimeUp:
            pass
        deadline.keep(0.0)
        try:
            self._wind_up(learner, briefly=False)
        except TimeUp:
            return False
        return True

    def _finish_briefly(self, learner: Any) -> None:
        """After Ctrl-C: the cheap part of the finishing step, which another Ctrl-C ends at once."""
        listen_again()
        with Deadline(BRIEFLY) as deadline:
            deadline.arm()
            with suppress(TimeUp):
                self._wind_up(learner, briefly=True)

    def _wind_up(self, learner: Any, briefly: bool) -> None:
        """The finishing step of a fit that is cut short; ``briefly``: the cheap part, if it has one."""
        learner.finish()

    def _told_learned(self, n: int) -> str:
        """How far a fit has come that was to learn n examples, for a warning."""
        return "the model is what was learned until then"

    def _learn_stream(self, *given: Any) -> None:
        """Learn examples of a stream; an error leaves the model as it was."""
        with self._learning():
            before = dict(self.__dict__)
            goes_on = "_learner" in before and self._first_rows is None
            try:
                data = self._stream_data(*given)
                self._learn(*data, before["_learner"] if goes_on else None)
            except BaseException as error:
                interrupted_later = isinstance(error, KeyboardInterrupt) and (
                    goes_on or self.__dict__.get("_learner") is not before.get("_learner")
                )
                if not interrupted_later:
                    self.__dict__ = before
                raise

    def _from_the_start(self, X: Any, y: np.ndarray, cost: np.ndarray) -> FirstRows:
        """All rows of the stream so far, of which gamma is estimated; they are learned anew."""
        rows = joined(self._first_rows, X, y, cost)
        evaluations = self._kernel.n_evaluations if self._first_rows is not None else 0
        self._prepare_kernel(rows.X, self._book)
        self._kernel.n_evaluations = evaluations
        self._first_rows = rows.kept() if is_estimated(self) else None
        return rows

    def finish(self) -> Any:
        """Run the algorithm's finishing step on what was learned; learning may go on after it.

        Returns
        -------
        self : object
            The classifier.
        """
        check_is_fitted(self)
        with self._learning():
            done = self._learner.finish()
        self._tell_of_finish(done)
        return self

    def _tell_of_finish(self, done: Any) -> None:
        """Warn where the finishing step did not reach what it should: by default, it does."""

    @contextmanager
    def _learning(self) -> Iterator[None]:
        """Around whatever changes the model.

        Ctrl-C waits for a checkpoint, other threads that learn wait for the end, and those that
        predict use the model as it was before.
        """
        with Interruptible(), published(self).change(self._make_view):
            yield

    # -- the model for those who read -----------------------------------------------------

    def _make_view(self) -> View | None:
        return View(self) if hasattr(self, "_learner") else None

    def _view(self) -> View:
        """The model after the last call that has ended."""
        with Interruptible():
            view = published(self).get(self._make_view)
        if view is None:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet.")
        return view

    def _more(self, learner: Any) -> dict[str, Any]:
        """What a view needs besides the model, for fitted attributes of a subclass."""
        return {}

    @property
    def n_kernel_evaluations_(self) -> int:
        """Kernel values computed while learning."""
        self._fitted("n_kernel_evaluations_")
        return int(self._kernel.n_evaluations)

    # -- checks and conversion ------------------------------------------------------------

    def _note_objects(self, X: Any) -> np.ndarray | None:
        """The X of ``fit`` as objects, where the kernel is a function that may compare such."""
        self._objects = as_objects(X) if callable(self.kernel) else None
        if self._objects is not None:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
        return self._objects

    def _shape_of(self, X: Any) -> tuple[int, ...]:
        """The shape of the X given to ``fit``, checked."""
        return X.shape if self._objects is None else self._objects.shape

    def _check_stream(self, X: Any) -> None:
        """Refuse a stream where kernel values or objects are given instead of rows."""
        self._check_stream_kernel()
        if callable(self.kernel) and (self._objects is not None or as_objects(X) is not None):
            raise ValueError(
                "Examples that are not rows of numbers are learned all at once: use fit."
            )

    def _prepare_kernel(self, X: Any, book: Any) -> None:
        """Fix on the first examples what stays: gamma, the shift, dense or sparse."""
        self._book = book
        self._kernel = self._make_kernel(X)
        if self._objects is not None:
            self._kernel.function = ObjectKernel(self.kernel, self._objects)
        dense = not sparse.issparse(X)
        self._packs = bool(
            dense
            and self._kernel.is_compiled
            and X.shape[0] >= SPARSE_ROWS
            and X.shape[1] >= SPARSE_FROM
            and np.count_nonzero(X[:1000]) < SPARSE_BELOW * X[:1000].size
        )
        self._sparse = self._packs or not dense
        self._centre = self._centre_for(self._kernel, X, self._sparse)

    def _rows(self, X: Any, key: np.ndarray | None = None) -> Any:
        from ..core.kernel.rows import Rows

        far = self._kernel.far
        if self._kernel.name == "precomputed" and sparse.issparse(X):
            X = X.toarray()
        if self._packs and not sparse.issparse(X):
            rows = Rows.packed(X, self._centre, key, far)
        else:
            if sparse.issparse(X) and self._centre is not None and not self._sparse:
                X = X.toarray()  # The model is dense and shifted; a block at a time, it fits.
            rows = Rows.of(X, self._centre, key, far)
        check_size(rows.squares)
        return rows

    def _fresh(self, X: Any, y: np.ndarray | None, cost: np.ndarray) -> Any:
        from ..core.examples import Examples

        n = X.shape[0]
        number = np.arange(n)
        rows = self._rows(X, number if self._kernel.name == "precomputed" else None)
        diagonal = self._kernel.diagonal(rows)
        check_size(diagonal)
        if self._kernel.is_compiled:
            check_size(self._kernel.bound(rows))
        label = np.zeros(n, np.int64) if y is None else self._book.encode(y)
        bound = cost * finite_cost(getattr(self, "C", None))
        return Examples(rows, label, bound, diagonal, number if y is not None else np.full(n, -1))


def with_cost(data: Any) -> Any:
    """The examples that have a cost; those of weight zero are as if absent."""
    if (data.bound > 0).all():
        return data
    return data.take(np.flatnonzero(data.bound > 0))
