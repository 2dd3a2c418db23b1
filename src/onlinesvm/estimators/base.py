"""What all classifiers of the family share: validation, labels, blocks, fitted attributes.

A classifier hands examples to its *learner*, a class of the core with these verbs:

``learn(fresh)``       examples in order (``core.examples.Examples``)
``add_label()``        one more label
``finish()``           the algorithm's finishing step, if it has one
``expansion()``        support rows, coefficients (machines, n), biases, slots
``keys(slots)``        the data-set numbers of support rows
``labels(slots)``      their labels

Everything that can be wrong with the input is found before the learner sees any of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..core.interrupts import Deadline, Interruptible, TimeUp, checkpoint, interrupted
from ..core.kernel.kernel import KERNEL_NAMES, Kernel, check_size, make_kernel
from ..core.state.compact import compact, restore
from ..core.state.published import published
from .checks import check_rows_and_labels, check_square
from .first_rows import FirstRows, is_estimated, joined
from .fitted import FittedModel
from .labels import LabelBook, check_several, stream_labels, unique_labels
from .objects import ObjectKernel, as_objects, check_objects_and_labels, learned_rows
from .progress import CallbackSupportMixin, FitProgress, with_callbacks
from .saving import Saving
from .stopping import warn_of_time_limit
from .weights import (
    check_sample_weight,
    check_two_classes,
    class_table,
    finite_cost,
    scaled_by_class,
)

_ARRAYS = ("_original", "_centre")

SPARSE_BELOW = 0.25
"""Dense input with a smaller share of non-zeros than this is kept sparse: it is faster."""

SPARSE_FROM = 32
"""... provided that it has at least this number of features."""

KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}


class OnlineKernelClassifier(
    FittedModel, Saving, CallbackSupportMixin, ClassifierMixin, BaseEstimator
):
    """Base of the online kernel classifiers. Subclasses make the learner and run its epochs."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}
    _kernel: Kernel
    _book: LabelBook
    _first_rows: FirstRows | None = None
    time_limit: float | None
    _objects: np.ndarray | None = None  # the examples, where they are not rows of numbers
    _weighted = True  # whether the algorithm has a cost that weights can scale

    # -- for subclasses -------------------------------------------------------------------

    def _make_learner(self, kernel: Kernel, rows: Any, n_labels: int) -> Any:
        raise TypeError(f"{type(self).__name__} does not make a learner.")  # pragma: no cover

    def _check_labels(self, n_labels: int) -> None:
        """Refuse more labels than the settings allow: by default, any number is welcome."""

    def _prepare(self, data: Any) -> Any:
        """What ``fit`` makes of the examples before they are learned: by default, nothing."""
        return data

    def _run(self, learner: Any, data: Any, rng: np.random.RandomState, progress: Any) -> Any:
        """Learn a data set at hand: the algorithm's epochs and its finishing step.

        A generator: it yields after each step, where an interruption may come.
        """
        order = np.arange(len(data.rows))
        for epoch in range(getattr(self, "epochs", 1)):
            if getattr(self, "shuffle", True):
                order = rng.permutation(len(data.rows))
            steps = learner.epoch(data, order)
            yield from progress.epoch(f"epoch {epoch + 1}", steps, None)
        learner.finish()

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return state | {name: compact(state[name]) for name in _ARRAYS if name in state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        own = {name: restore(state[name]) for name in _ARRAYS if name in state}
        super().__setstate__(state | own)

    # -- learning -------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn a data set at hand.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples; with ``kernel="precomputed"`` the square matrix of kernel values. With a
            callable kernel it may be a list of objects of any type, such as strings.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights that multiply each example's cost.

        Returns
        -------
        self : object
            The fitted classifier. After Ctrl-C it is what was learned so far.
        """
        with self._learning(), Deadline(self.time_limit) as deadline:
            before = dict(self.__dict__)
            try:
                data, X, y = self._data_at_hand(X, y, sample_weight)
                learner = self._make_learner(self._kernel, data.rows, len(self._book))
            except BaseException:
                self.__dict__ = before
                raise
            self._train(learner, data, X, y, before, deadline)
        if deadline.has_passed:
            warn_of_time_limit(self.time_limit)
        return self

    def _data_at_hand(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, np.ndarray]:
        """Everything that ``fit`` does before it learns: the examples, and X and y as checked."""
        X, y = self._check_examples(X, y, reset=True)
        checkpoint()
        labels = unique_labels(y)
        check_several(labels)
        self._check_labels(len(labels))
        self._prepare_kernel(X, LabelBook(labels))
        cost = self._cost(y, labels, sample_weight)
        data = _with_cost(self._fresh(X, y, cost))
        checkpoint()
        data = self._prepare(data)
        check_two_classes(data.label, data.bound)
        checkpoint()
        self._original, self._first_rows = data.key, None
        self.shape_fit_ = X.shape if self._objects is None else self._objects.shape
        return data._replace(key=np.arange(len(data.key))), X, y

    def _train(
        self, learner: Any, data: Any, X: Any, y: Any, before: dict[str, Any], deadline: Deadline
    ) -> None:
        """Run the epochs. An error leaves the model as it was, Ctrl-C what was learned.

        The time limit holds from the first step on, so that there is a model.
        """
        rng = check_random_state(getattr(self, "random_state", None))
        self._learner = learner
        progress = FitProgress(self, X, y, None)
        try:
            for _ in self._run(learner, data, rng, progress):
                deadline.arm()
                checkpoint()
                if progress.stopped:
                    break
        except TimeUp:
            pass
        except KeyboardInterrupt:
            raise
        except BaseException:
            self.__dict__ = before
            raise
        progress.close()

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Learn examples of a stream, one row or many, in the order given.

        A call with bad input changes nothing. Labels never seen before are welcome. After Ctrl-C
        the examples up to the last finished block are learned, the others are not.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples. ``gamma="scale"`` is estimated from the first 100 rows.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            Labels to expect; accepted for scikit-learn's sake, never required.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights that multiply each example's cost.

        Returns
        -------
        self : object
            The classifier, which has learned the examples.
        """
        with self._learning():
            before = dict(self.__dict__)
            goes_on = "_learner" in before and self._first_rows is None
            try:
                data, y, cost, labels = self._stream_data(X, y, classes, sample_weight)
                self._learn(data, y, cost, labels, before["_learner"] if goes_on else None)
            except BaseException as error:
                interrupted_later = isinstance(error, KeyboardInterrupt) and (
                    goes_on or self.__dict__.get("_learner") is not before.get("_learner")
                )
                if not interrupted_later:
                    self.__dict__ = before
                raise
        return self

    def _stream_data(
        self, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
        """What ``partial_fit`` does before it learns: examples, y, weights, labels to know."""
        if getattr(self, "kernel", None) == "precomputed":
            raise ValueError(
                "kernel='precomputed' needs all examples at once: use fit, or pass the "
                "kernel as a function of two arrays."
            )
        if callable(self.kernel) and (self._objects is not None or as_objects(X) is not None):
            raise ValueError(
                "Examples that are not rows of numbers are learned all at once: use fit."
            )
        first = not hasattr(self, "_learner")
        X, y = self._check_examples(X, y, reset=first)
        labels = stream_labels(y, classes)
        cost = self._cost(y, None, sample_weight)
        if first:
            self._book, self._original = LabelBook(), np.empty(0, np.int64)
        self._book.check(labels)
        if first or self._first_rows is not None:
            X, y, cost = self._from_the_start(X, y, cost)
        data = _with_cost(self._fresh(X, None, cost))
        checkpoint()
        return data, y, cost, labels

    def _from_the_start(self, X: Any, y: np.ndarray, cost: np.ndarray) -> FirstRows:
        """All rows of the stream so far, of which gamma is estimated; they are learned anew."""
        rows = joined(self._first_rows, X, y, cost)
        evaluations = self._kernel.n_evaluations if self._first_rows is not None else 0
        self._prepare_kernel(rows.X, self._book)
        self._kernel.n_evaluations = evaluations
        self._first_rows = rows.kept() if is_estimated(self) else None
        return rows

    def _learn(
        self, data: Any, y: np.ndarray, cost: np.ndarray, labels: np.ndarray, learner: Any
    ) -> None:
        """Hand validated examples to the learner, or to a new one."""
        book = deepcopy(self._book)
        fresh_labels = book.missing(labels)
        book.add(fresh_labels)
        self._check_labels(len(book))
        data = data._replace(label=book.encode(y[cost > 0]))
        if learner is None:
            learner = self._make_learner(self._kernel, data.rows, len(book))
        else:
            self._first_rows = None
            if not self._kernel.is_compiled:  # a callable may fail half-way
                learner = deepcopy(learner)
            for _ in range(len(fresh_labels)):
                learner.add_label()
        try:
            learner.learn(data)
        except KeyboardInterrupt:  # at a checkpoint, what was learned before it stays
            self._first_rows = None
            if self._kernel.is_compiled or interrupted():
                self._learner, self._book, self._kernel = learner, book, learner.kernel
            raise
        self._learner, self._book, self._kernel = learner, book, learner.kernel

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

    # -- checks ---------------------------------------------------------------------------

    def _check_examples(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        objects = as_objects(X) if reset and callable(self.kernel) else None
        if reset:
            self._objects = objects
        if objects is not None:
            for name in ("n_features_in_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            return learned_rows(len(objects)), check_objects_and_labels(self, objects, y)
        X, y = check_rows_and_labels(self, X, y, reset)
        if reset:
            check_square(self, X)
        return X, y

    def _cost(self, y: np.ndarray, labels: Any, sample_weight: Any) -> np.ndarray:
        """Weight of each example: class_weight times sample_weight."""
        class_weight = getattr(self, "class_weight", None)
        if sample_weight is not None and not self._weighted:
            raise ValueError(f"{type(self).__name__} has no cost that sample_weight could scale.")
        weight = check_sample_weight(sample_weight, y)
        self._class_table = class_table(class_weight, y, labels)
        return scaled_by_class(weight, self._class_table, y)

    def _prepare_kernel(self, X: Any, book: LabelBook) -> None:
        """Fix on the first examples what stays: gamma, the shift, dense or sparse."""
        self._book = book
        self._kernel = make_kernel(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0,
            n_jobs=self.n_jobs, X=X,
        )  # fmt: skip
        if self._objects is not None:
            self._kernel.function = ObjectKernel(self.kernel, self._objects)
        dense = not sparse.issparse(X)
        self._packs = bool(
            dense
            and self._kernel.is_compiled
            and X.shape[1] >= SPARSE_FROM
            and np.count_nonzero(X[:1000]) < SPARSE_BELOW * X[:1000].size
        )
        self._centre, self._sparse = None, self._packs or not dense
        if self._kernel.ignores_shift:
            from ..core.kernel.centre import centre_of

            self._centre = centre_of(X, self._kernel.gamma, self._sparse)

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = getattr(self, "kernel", None) == "precomputed"
        return tags


def _with_cost(data: Any) -> Any:
    """The examples that have a cost; those of weight zero are as if absent."""
    if (data.bound > 0).all():
        return data
    return data.take(np.flatnonzero(data.bound > 0))
