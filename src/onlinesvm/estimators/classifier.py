"""The base of all classifiers: labels, their checks, streams with new labels, prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from ._progress import FitProgress, with_callbacks
from .base import Absent, KernelEstimator, one_row, trained_of, view_of
from .checks import Checked, check_number
from .labels import (
    Indicators,
    LabelBook,
    check_both_signs,
    check_several,
    first_examples,
    stream_labels,
    unique_labels,
    unrounded,
)
from .params import shared_docs
from .trained import Trained
from .weights import check_two_classes, example_weights

if TYPE_CHECKING:
    from .suspects import Suspects


@shared_docs
class KernelClassifier(ClassifierMixin, KernelEstimator):  # type: ignore[misc,unused-ignore]
    """Base of the classifiers. Subclasses make the learner and run its epochs."""

    _weighted: ClassVar[bool] = True  # whether the algorithm has a cost that weights can scale

    predict_proba: Any = Absent("wrap it in sklearn.calibration.CalibratedClassifierCV.")
    predict_log_proba: Any = Absent("wrap it in sklearn.calibration.CalibratedClassifierCV.")

    # -- for subclasses -------------------------------------------------------------------

    @property
    def _in_turn(self) -> bool:
        """Whether a stream is learned one example at a time, however it is cut into calls.

        The machine of a new label then begins at its first example, else at the call's first.
        """
        return True

    def _check_labels(self, n_labels: int) -> None:
        """Refuse more labels than the settings allow: by default, any number is welcome."""

    def _indicators(self, y: np.ndarray, classes: Any) -> Indicators:
        """What y means where examples have several labels: by default, that is refused."""
        raise ValueError(
            f"{type(self).__name__} learns one label per example; LASVMClassifier learns several, or use "
            "sklearn.multiclass.OneVsRestClassifier."
        )

    def _run(self, trained: Trained, data: Any, rng: Any, progress: FitProgress) -> Iterator[Any]:
        """Learn a data set at hand: the algorithm's epochs and its finishing step.

        A generator: it yields after each step, where an interruption may come.
        """
        learner, order = trained.learner, np.arange(len(data.rows))
        for epoch in range(getattr(self, "epochs", 1)):
            if getattr(self, "shuffle", True):
                order = rng.permutation(len(data.rows))
            steps = learner.epoch(data, order)
            yield from progress.epoch(f"epoch {epoch + 1}", steps, None)
        learner.finish()

    # -- learning -------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn a data set at hand.

        Parameters
        ----------
        X (or objects), y (labels), sample_weight : shared

        Returns
        -------
        self : object
            The fitted classifier. After Ctrl-C it is what was learned so far.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn examples of a stream, one row or many, in the order given.

        A call with bad input changes nothing. Labels never seen before are welcome. After Ctrl-C
        the examples up to the last finished block are learned, the others are not.

        Parameters
        ----------
        X (stream), y (labels), classes, sample_weight : shared

        Returns
        -------
        self : object
            The classifier, which has learned the examples.
        """
        return self._learn_many(X, y, classes, sample_weight)

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn one example: as ``partial_fit`` with one row, in microseconds.

        For streams of dense input once the model has seen its first examples. Of scikit-learn's
        checks it makes those that protect the model: the number of features, and that they are
        finite. A call with bad input changes nothing.

        Parameters
        ----------
        x : shared
        y : label
            Label; a new one is welcome.
        sample_weight : float, default=1.0
            Weight that multiplies the cost of the example.

        Returns
        -------
        self : object
            The classifier, which has learned the example.
        """
        return self._learn_one(x, y, sample_weight)

    def _encoder(self, y: np.ndarray) -> Any:
        if y.ndim == 2:
            return self._indicators(y, None)
        labels = unique_labels(y, whole_set=True)
        check_several(labels)
        self._check_labels(len(labels))
        return self._book(labels)

    def _book(self, labels: Any = ()) -> LabelBook:
        """What labels mean to the machines: by default, there is one for each."""
        return LabelBook(labels)

    def _stream_encoder(self, y: np.ndarray, known: Any, classes: Any) -> Any:
        if y.ndim == 2:
            return self._indicators(y, classes)
        if isinstance(known, Indicators):
            raise ValueError(
                f"The examples learned so far had {len(known)} labels each: give y one column for each."
            )
        book = known or self._book()
        book = book.extended(stream_labels(y, classes), y if self._in_turn else None)
        self._check_labels(len(book))
        return book

    def _weights(self, y: np.ndarray, encoder: Any, sample_weight: Any) -> tuple[np.ndarray, Any]:
        """Weight of each example, class_weight times sample_weight, and of each class."""
        class_weight = getattr(self, "class_weight", None)
        if sample_weight is not None and not self._weighted:
            raise ValueError(f"{type(self).__name__} has no cost that sample_weight could scale.")
        labels = None if encoder is None else encoder.classes
        return example_weights(sample_weight, class_weight, y, labels)

    def _due(self, trained: Trained, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        due = super()._due(trained, y, weight)
        if not (self._in_turn and len(due)) or isinstance(trained.encoder, Indicators):
            return due
        label, new = trained.encoder.encode(y), len(trained.encoder) - len(due)
        present, first = np.unique(label, return_index=True)
        first = first[present >= new]
        # Where ``classes`` names labels that are still to come, or labels have their numbers from
        # before (an older file), all are known from the start.
        if len(first) < len(due) or (np.diff(first) < 0).any():
            return due
        return first_examples(label, weight > 0, range(new, len(trained.encoder)))

    def _checked(self, X: Any, y: Any, before: Trained | None) -> Checked:
        return super()._checked(X, unrounded(y), before)

    def _row_weight(self, y: Any, weight: float) -> float | None:
        class_weight = getattr(self, "class_weight", None)
        if class_weight is None:
            return weight
        return weight * class_weight.get(y, 1.0) if isinstance(class_weight, dict) else None

    def _check_prepared(self, trained: Trained, data: Any) -> None:
        if isinstance(trained.encoder, Indicators):
            check_both_signs(data.label)
        else:
            check_two_classes(data.label, data.bound)

    # -- prediction -----------------------------------------------------------------------

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance from the boundary, in units of the margin.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples; with ``kernel="precomputed"`` their kernel values with the examples given.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]`` with two classes, else one column per class, or per label
            where examples have several: positive where they have it.
        """
        check_is_fitted(self)
        view = self._view()
        return self._decided(view.values(X), view.encoder)

    def _decided(self, values: np.ndarray, encoder: Any) -> np.ndarray:
        """The decision function, (n,) or (n, classes), from values of machines (n, machines)."""
        decided: np.ndarray = encoder.scores(values)
        return decided

    def _winners(self, values: np.ndarray, encoder: Any) -> np.ndarray:
        """Places in ``classes_`` of the labels that values of machines (n, machines) predict."""
        winners: np.ndarray = encoder.winners(values)
        return winners

    def _check_ties(self) -> None:
        """Refuse settings that do not say which of equal classes is predicted."""

    def _predicted(self, values: np.ndarray, encoder: Any) -> np.ndarray:
        """Labels from values of machines (n, machines)."""
        if isinstance(encoder, Indicators):
            return encoder.decode(values)
        return np.asarray(encoder.classes[self._winners(values, encoder)])

    def predict(self, X: Any) -> np.ndarray:
        """The label of each example.

        Parameters
        ----------
        X : shared

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels; where examples have several, 1 for those they have, else 0.
        """
        check_is_fitted(self)
        self._check_ties()
        view = self._view()
        return self._predicted(view.values(X), view.encoder)

    def decision_one(self, x: Any) -> Any:
        """Decision value of one row, or one for each class: as ``decision_function``.

        Parameters
        ----------
        x : shared

        Returns
        -------
        value : float or ndarray of shape (n_classes,)
            Positive for the second class; with several classes, one value for each.
        """
        values, encoder = self._decide_one(one_row(x, "decision_one", "decision_function"))
        return self._decided(values, encoder)[0]

    def predict_one(self, x: Any) -> Any:
        """Label of one row: as ``predict``.

        Parameters
        ----------
        x : shared

        Returns
        -------
        label : label
            The label.
        """
        values, encoder = self._decide_one(one_row(x, "predict_one", "predict"))
        return self._predicted(values, encoder)[0]

    def suspects(self, n: int | None = None) -> Suspects:
        """Examples whose labels are probably wrong, the most doubtful first.

        Every support vector is judged by all others: its own term is taken out of the decision
        function. Examples that are no support vectors agree with the model.

        Parameters
        ----------
        n : int or None, default=None
            Maximum number of examples; None: all whose label the others contradict.

        Returns
        -------
        suspects : Suspects
            ``index``, the rows in the X given to ``fit`` (-1: learned from a stream), ``position`` in
            ``support_vectors_``, ``label``, ``suggestion`` and ``score``.

        Examples
        --------
        >>> import numpy as np
        >>> from onlinesvm import LASVMClassifier
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> y = X[:, 0] > 0
        >>> y[0] = not y[0]  # a label that is wrong
        >>> found = LASVMClassifier().fit(X, y).suspects(3)
        >>> 0 in found.index
        True
        """
        from .suspects import suspects

        check_is_fitted(self)
        if n is not None:
            check_number(n, "n is a number of examples", 1, " or None")
        view = self._view()
        if isinstance(view.encoder, Indicators):
            raise ValueError("suspects is for examples with one label each; these have several.")
        return suspects(view, n)

    # -- fitted attributes ----------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        """Labels known so far, sorted."""
        return self._seen("classes_").classes.copy()

    @property
    def n_support_(self) -> np.ndarray:
        """Support vectors of each class; where examples have several labels, of each machine."""
        view = self._seen("n_support_")
        if isinstance(view.encoder, Indicators):
            return np.count_nonzero(view.coefficients(), axis=1)
        return np.bincount(view.label_numbers(), minlength=len(view.order))[view.order]

    @property
    def class_weight_(self) -> np.ndarray:
        """Weights that multiply ``C``, one per class."""
        view = self._seen("class_weight_")
        if not hasattr(self, "class_weight"):
            raise AttributeError(f"{type(self).__name__} has no weights of classes.")
        table = view.trained.class_weights
        return np.array([table.get(label, 1.0) for label in view.classes.tolist()], np.float64)


def scores_and_labels(classifier: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the classes, (n,) or (n, classes), and predicted labels, by one look at the rows."""
    if not isinstance(classifier, KernelClassifier):
        return classifier.decision_function(X), classifier.predict(X)
    check_is_fitted(classifier)
    view = view_of(classifier)
    values = view.values(X)
    return view.encoder.scores(values), classifier._predicted(values, view.encoder)


def check_new_labels(classifier: KernelClassifier, labels: np.ndarray) -> None:
    """Refuse labels that the classifier, as it is, could not learn."""
    trained = trained_of(classifier)
    known = None if trained is None else trained.encoder
    classifier._stream_encoder(labels, known, None)
    classifier._weights(labels, None, None)


@shared_docs
class UnweightedClassifier(KernelClassifier):
    """Base of the classifiers whose algorithm has no cost to scale.

    There is no ``sample_weight`` in the signatures, so that tools which look there (scikit-learn's
    ``has_fit_parameter``, ensembles, searches) do not offer one; who passes it is told why not.
    """

    _weighted = False

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Learn a data set at hand.

        Parameters
        ----------
        X (square), y (labels) : shared
        **refused : dict
            There is no cost to scale: ``sample_weight`` is refused.

        Returns
        -------
        self : object
            The fitted classifier. After Ctrl-C it is what was learned so far.
        """
        return super().fit(X, y, **refused)

    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any, classes: Any = None, **refused: Any
    ) -> Self:
        """Learn examples of a stream, one row or many, in the order given.

        A call with bad input changes nothing. Labels never seen before are welcome.

        Parameters
        ----------
        X (stream), y (labels), classes : shared
        **refused : dict
            There is no cost to scale: ``sample_weight`` is refused.

        Returns
        -------
        self : object
            The classifier, which has learned the examples.
        """
        return super().partial_fit(X, y, classes, **refused)

    def learn_one(self, x: Any, y: Any, **refused: Any) -> Self:  # type: ignore[override]
        """Learn one example: as ``partial_fit`` with one row, in microseconds.

        A call with bad input changes nothing.

        Parameters
        ----------
        x : shared
        y : label
            Label; a new one is welcome.
        **refused : dict
            There is no cost to scale: ``sample_weight`` is refused.

        Returns
        -------
        self : object
            The classifier, which has learned the example.
        """
        if refused:
            return self.partial_fit(np.asarray(x)[None, :], [y], **refused)
        return super().learn_one(x, y)
