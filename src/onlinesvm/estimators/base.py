"""What all classifiers of the family share: labels, their checks, streams with new labels.

Their learners have, besides the verbs of ``online``, ``add_label()``: one more label.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context

from ..core.interrupts import checkpoint, interrupted
from .checks import check_rows_and_labels, check_square
from .fitted import FittedModel
from .labels import (
    LabelBook,
    by_appearance,
    check_several,
    first_examples,
    stream_labels,
    unique_labels,
    unrounded,
)
from .objects import check_objects_and_labels, learned_rows
from .online import KERNEL_CONSTRAINTS as KERNEL_CONSTRAINTS
from .online import OnlineKernelModel, with_cost
from .progress import with_callbacks
from .singles import Singles
from .view import to_classes
from .weights import check_two_classes, example_weights


class OnlineKernelClassifier(Singles, FittedModel, ClassifierMixin, OnlineKernelModel):
    """Base of the online kernel classifiers. Subclasses make the learner and run its epochs."""

    _book: LabelBook
    _class_table: dict[Any, float]
    _weighted = True  # whether the algorithm has a cost that weights can scale

    # -- for subclasses -------------------------------------------------------------------

    @property
    def _in_turn(self) -> bool:
        """Whether a stream is learned one example at a time, however it is cut into calls.

        The machine of a new label then begins at its first example, else at the call's first.
        """
        return True

    def _check_labels(self, n_labels: int) -> None:
        """Refuse more labels than the settings allow: by default, any number is welcome."""

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
        self._fit(X, y, sample_weight)
        self._note_validated()
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
        data = with_cost(self._fresh(X, y, cost))
        checkpoint()
        data = self._prepare(data)
        check_two_classes(data.label, data.bound)
        checkpoint()
        self._original, self._first_rows = data.key, None
        self.shape_fit_ = self._shape_of(X)
        return data._replace(key=np.arange(len(data.key))), X, y

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
        if classes is not None or not self._learn_only_row(X, y, sample_weight):
            self._learn_checked(X, y, classes, sample_weight)
            self._note_validated()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def _learn_checked(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        self._learn_stream(X, y, classes, sample_weight)

    def _stream_data(
        self, X: Any, y: Any, classes: Any, sample_weight: Any
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
        """What ``partial_fit`` does before it learns: examples, y, weights, labels to know."""
        self._check_stream(X)
        first = not hasattr(self, "_learner")
        X, y = self._check_examples(X, y, reset=first)
        labels = stream_labels(y, classes)
        cost = self._cost(y, None, sample_weight)
        if first:
            self._book, self._original = LabelBook(), np.empty(0, np.int64)
        self._book.check(labels)
        if first or self._first_rows is not None:
            X, y, cost = self._from_the_start(X, y, cost)
        data = with_cost(self._fresh(X, None, cost))
        checkpoint()
        return data, y, cost, labels

    def _begin_stream(self, X: Any) -> None:
        """Fix on these examples what a stream fixes on its first ones."""
        self._prepare_kernel(X, LabelBook())
        self._original = np.empty(0, np.int64)

    def _learn(
        self, data: Any, y: np.ndarray, cost: np.ndarray, labels: np.ndarray, learner: Any
    ) -> None:
        """Hand validated examples to the learner, or to a new one."""
        book = deepcopy(self._book)
        missing = book.missing(labels)
        # Where ``classes`` names labels that are still to come, all are known from the start.
        in_turn = self._in_turn and bool(np.isin(missing, y).all())
        book.add(by_appearance(missing, y) if in_turn else missing)
        self._check_labels(len(book))
        label = book.encode(y)
        data = data._replace(label=label[cost > 0])
        known = 0 if learner is None else learner.n_labels
        due = np.zeros(len(book) - known, np.int64)
        if in_turn:
            due = first_examples(label, cost > 0, range(known, len(book)))
        if learner is None:
            learner = self._make_learner(self._kernel, data.rows, int((due == 0).sum()))
            due = due[due > 0]
        else:
            self._first_rows = None
            if not self._kernel.is_compiled:  # a callable may fail half-way
                learner = deepcopy(learner)
        try:
            _learn_pieces(learner, data, due)
        except KeyboardInterrupt:  # at a checkpoint, what was learned before it stays
            self._first_rows = None
            if self._kernel.is_compiled or interrupted():
                book = book.first(learner.n_labels)
                self._learner, self._book, self._kernel = learner, book, learner.kernel
            raise
        self._learner, self._book, self._kernel = learner, book, learner.kernel

    # -- checks ---------------------------------------------------------------------------

    def _check_examples(self, X: Any, y: Any, reset: bool) -> tuple[Any, np.ndarray]:
        objects = self._note_objects(X) if reset else None
        if objects is not None:
            return learned_rows(len(objects)), check_objects_and_labels(self, objects, unrounded(y))
        X, y = check_rows_and_labels(self, X, y, reset)
        if reset:
            check_square(self, X)
        return X, y

    def _cost(self, y: np.ndarray, labels: Any, sample_weight: Any) -> np.ndarray:
        """Weight of each example: class_weight times sample_weight."""
        class_weight = getattr(self, "class_weight", None)
        if sample_weight is not None and not self._weighted:
            raise ValueError(f"{type(self).__name__} has no cost that sample_weight could scale.")
        weight, self._class_table = example_weights(sample_weight, class_weight, y, labels)
        return weight

    # -- fitted attributes ----------------------------------------------------------------

    def _to_classes(self, values: np.ndarray) -> np.ndarray:
        """Machines in the order of ``classes_``; two classes: the second is positive."""
        return to_classes(values, self._book.order())

    @property
    def class_weight_(self) -> np.ndarray:
        """Weights that multiply ``C``, one per class."""
        view = self._seen("class_weight_")
        if not hasattr(self, "class_weight"):
            raise AttributeError(f"{type(self).__name__} has no weights of classes.")
        table = view.settings._class_table
        return np.array([table.get(label, 1.0) for label in view.classes.tolist()], np.float64)


def _learn_pieces(learner: Any, data: Any, due: np.ndarray) -> None:
    """One call of a stream; ``due`` says before which example each new label is added."""
    n, watch = len(data.rows), getattr(learner, "watch", None)
    begun = 0 if watch is None else watch.n
    edges = np.unique(np.append(due, 0)).tolist()
    try:
        for begin, end in zip(edges, [*edges[1:], n], strict=True):
            for _ in range(np.count_nonzero(due == begin)):
                learner.add_label()
            if begin < n or not n:
                learner.learn(data.take(slice(begin, end)) if len(edges) > 1 else data)
    finally:
        if watch is not None:
            watch.begin(begun)
