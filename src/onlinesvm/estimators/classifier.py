"""The base of all classifiers: labels, their checks, streams with new labels, prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from ..core.runtime.interrupts import Interruptible
from ..core.runtime.published import published
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

_WRAP = "fit sklearn.calibration.CalibratedClassifierCV({owner}(...)) in its place."


@shared_docs
class KernelClassifier(ClassifierMixin, KernelEstimator):  # type: ignore[misc,unused-ignore]
    """Base of the classifiers. Subclasses make the learner and run its epochs."""

    _weighted: ClassVar[bool] = True  # whether the algorithm has a cost that weights can scale

    predict_proba: Any = Absent(_WRAP)
    predict_log_proba: Any = Absent(_WRAP)

    # -- for subclasses -------------------------------------------------------------------

    @property
    def _in_turn(self) -> bool:
        """Whether a stream is learned one example at a time, however it is cut into calls.

        The machine of a new label then begins at its first example, else at the call's first.
        """
        return True

    def _check_labels(self, n_labels: int) -> None:
        """Refuse more labels than the settings allow; by default there is no limit."""

    def _indicators(self, y: np.ndarray, classes: Any) -> Indicators:
        """Encoder of y if examples have several labels; by default, raises an error."""
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
        """Fit the model to a data set.

        Parameters
        ----------
        X (or objects), y (labels), sample_weight : shared

        Returns
        -------
        self : object
            The fitted classifier. After Ctrl-C it has what was learned so far.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn examples of a stream, one row or many, in the order given.

        Invalid input raises an error and changes nothing. New labels are accepted at any time. After Ctrl-C
        the examples up to the last finished block are learned, the others are not.

        Parameters
        ----------
        X (stream), y (labels), classes, sample_weight : shared

        Returns
        -------
        self : object
            The classifier, updated.
        """
        return self._learn_many(X, y, classes, sample_weight)

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn one example, as ``partial_fit`` does with one row, in microseconds.

        For streams of dense input once the model has seen its first examples. It makes only those
        of scikit-learn's checks that protect the model: the number of features, and finite values.
        Invalid input raises an error and changes nothing.

        Parameters
        ----------
        x : shared
        y : label
            Label; it may be a new one.
        sample_weight : float, default=1.0
            Weight that multiplies the cost of the example.

        Returns
        -------
        self : object
            The classifier, updated.
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
                f"The model was trained with a y of {len(known)} columns, one per label; y must "
                "have the same columns."
            )
        book = known or self._book()
        book = book.extended(stream_labels(y, classes), y if self._in_turn else None)
        self._check_labels(len(book))
        return book

    def _weights(self, y: np.ndarray, encoder: Any, sample_weight: Any) -> tuple[np.ndarray, Any]:
        """Weight of each example, class_weight times sample_weight, and of each class."""
        class_weight = getattr(self, "class_weight", None)
        if sample_weight is not None and not self._weighted:
            raise ValueError(
                f"{type(self).__name__} does not support sample_weight: it has no cost that "
                "weights could scale."
            )
        labels = None if encoder is None else encoder.classes
        return example_weights(sample_weight, class_weight, y, labels)

    def _due(self, trained: Trained, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        due = super()._due(trained, y, weight)
        if not (self._in_turn and len(due)) or isinstance(trained.encoder, Indicators):
            return due
        label, new = trained.encoder.encode(y), len(trained.encoder) - len(due)
        present, first = np.unique(label, return_index=True)
        first = first[present >= new]
        # If ``classes`` has labels that have not appeared yet, or labels have their numbers from an
        # older file, all are known from the start.
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
            Examples; with ``kernel="precomputed"`` their kernel values with the training examples.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes, positive for ``classes_[1]``; otherwise one column per class. If
            examples have several labels, one column per label, positive if the label is predicted.
        """
        check_is_fitted(self)
        view = self._view()
        return self._decided(view.values(X), view.encoder)

    def _decided(self, values: np.ndarray, encoder: Any) -> np.ndarray:
        """The decision function, (n,) or (n, classes), from values of machines (n, machines)."""
        decided: np.ndarray = encoder.scores(values)
        return decided

    def _winners(self, values: np.ndarray, encoder: Any, present: np.ndarray | None) -> np.ndarray:
        """Places in ``classes_`` of the labels that values of machines (n, machines) predict.

        ``present``: whether each label, by number, has examples; None: all have.
        """
        winners: np.ndarray = encoder.winners(values, present)
        return winners

    def _check_ties(self) -> None:
        """Refuse settings that leave open which of several tied classes is predicted."""

    def _predicted(
        self, values: np.ndarray, encoder: Any, present: np.ndarray | None
    ) -> np.ndarray:
        """Labels from values of machines (n, machines)."""
        if isinstance(encoder, Indicators):
            return encoder.decode(values)
        return np.asarray(encoder.classes[self._winners(values, encoder, present)])

    def predict(self, X: Any) -> np.ndarray:
        """The label of each example.

        Parameters
        ----------
        X : shared

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels; if examples have several, a matrix of 0 and 1 with one column per label.
        """
        check_is_fitted(self)
        self._check_ties()
        view = self._view()
        return self._predicted(view.values(X), view.encoder, view.present)

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
        x = one_row(x, "predict_one", "predict")
        state = published(self)
        if state.is_torn:
            return self.predict(x[None, :])[0]
        with state:  # all of it from one moment, while another thread learns
            values, encoder = self._decide_one(x)
            present = self._fitted("predict_one").present()
        return self._predicted(values, encoder, present)[0]

    def suspects(self, n: int | None = None) -> Suspects:
        """Examples whose labels are probably wrong, the most doubtful first.

        Every support vector is scored by the model without its own term. Examples that are not
        support vectors agree with the model. Of LASVM models without ``window``, ``budget`` and
        ``half_life``, those that the model contradicts are scored once more, by the model without all
        of them, which wrong labels no longer mislead.

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
            check_number(n, "n must be a number of examples", 1, " or None")
        with Interruptible(), published(self):
            view = self._view()
            self._check_one_label(view)
            trained = self._fitted("suspects")
            return suspects(view, n, trained.held_values(view), trained.values_without(view))

    @staticmethod
    def _check_one_label(view: Any) -> None:
        if isinstance(view.encoder, Indicators):
            raise ValueError(
                "suspects supports one label per example; this model was trained with several."
            )

    # -- fitted attributes ----------------------------------------------------------------

    @property
    def classes_(self) -> np.ndarray:
        """Labels known so far, sorted."""
        return self._seen("classes_").classes.copy()

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors of each class; with several labels each, of each machine."""
        view = self._seen("n_support_")
        if isinstance(view.encoder, Indicators):
            return np.count_nonzero(view.coefficients(), axis=1)
        return np.bincount(view.label_numbers(), minlength=len(view.order))[view.order]

    @property
    def class_weight_(self) -> np.ndarray:
        """Weights that multiply ``C``, one per class."""
        view = self._seen("class_weight_")
        if not hasattr(self, "class_weight"):
            raise AttributeError(f"{type(self).__name__} has no class weights.")
        table = view.trained.class_weights
        return np.array([table.get(label, 1.0) for label in view.classes.tolist()], np.float64)


def scores_and_labels(classifier: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the classes, (n,) or (n, classes), and predicted labels, from one evaluation."""
    if not isinstance(classifier, KernelClassifier):
        return classifier.decision_function(X), classifier.predict(X)
    check_is_fitted(classifier)
    view = view_of(classifier)
    values = view.values(X)
    return view.encoder.scores(values), classifier._predicted(values, view.encoder, view.present)


def check_new_labels(classifier: KernelClassifier, labels: np.ndarray) -> None:
    """Refuse labels that the classifier cannot learn with its current settings."""
    trained = trained_of(classifier)
    known = None if trained is None else trained.encoder
    classifier._stream_encoder(labels, known, None)
    classifier._weights(labels, None, None)


@shared_docs
class UnweightedClassifier(KernelClassifier):
    """Base class of the classifiers whose algorithm has no cost that weights could scale.

    There is no ``sample_weight`` in the signatures, so that tools which look there (scikit-learn's
    ``has_fit_parameter``, ensembles, searches) do not offer one; passing it raises an error that
    says why.
    """

    _weighted = False

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Fit the model to a data set.

        Parameters
        ----------
        X (square), y (labels) : shared
        **refused : dict
            ``sample_weight`` is not supported: there is no cost that it could scale.

        Returns
        -------
        self : object
            The fitted classifier. After Ctrl-C it has what was learned so far.
        """
        return super().fit(X, y, **refused)

    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any, classes: Any = None, **refused: Any
    ) -> Self:
        """Learn examples of a stream, one row or many, in the order given.

        Invalid input raises an error and changes nothing. New labels are accepted at any time.

        Parameters
        ----------
        X (stream), y (labels), classes : shared
        **refused : dict
            ``sample_weight`` is not supported: there is no cost that it could scale.

        Returns
        -------
        self : object
            The classifier, updated.
        """
        return super().partial_fit(X, y, classes, **refused)

    def learn_one(self, x: Any, y: Any, **refused: Any) -> Self:  # type: ignore[override]
        """Learn one example, as ``partial_fit`` does with one row, in microseconds.

        Invalid input raises an error and changes nothing.

        Parameters
        ----------
        x : shared
        y : label
            Label; it may be a new one.
        **refused : dict
            ``sample_weight`` is not supported: there is no cost that it could scale.

        Returns
        -------
        self : object
            The classifier, updated.
        """
        if refused:
            return self.partial_fit(np.asarray(x)[None, :], [y], **refused)
        return super().learn_one(x, y)
