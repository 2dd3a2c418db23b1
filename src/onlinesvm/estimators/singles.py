"""One example at a time, for callers who count microseconds.

``learn_one``, ``predict_one`` and ``decision_one`` take one dense row, with few checks
(``single_rows``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.interrupts import Interruptible
from .single_rows import SingleRows, one_row


class Singles(SingleRows):
    """Learning and predicting one row, for the online classifiers."""

    if TYPE_CHECKING:
        partial_fit: Any

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Any:
        """Learn one example: as ``partial_fit`` with one row, in microseconds.

        For streams of dense input once the model has seen its first examples. Of scikit-learn's
        checks it makes those that protect the model: the number of features, and that they are
        finite. A call with bad input changes nothing.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Features.
        y : label
            Label; a new one is welcome.
        sample_weight : float, default=1.0
            Weight that multiplies the cost of the example.

        Returns
        -------
        self : object
            The classifier, which has learned the example.
        """
        x = one_row(x, "learn_one", "partial_fit")
        with Interruptible():
            if not self._learn_quickly(x, y, sample_weight):
                weight = {} if sample_weight == 1.0 else {"sample_weight": [sample_weight]}
                self.partial_fit(x[None, :], [y], **weight)
        return self

    def decision_one(self, x: Any) -> Any:
        """Decision value of one row, or one for each class: as ``decision_function``.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Features.

        Returns
        -------
        value : float or ndarray of shape (n_classes,)
            Positive for the second class; with several classes, one value for each.
        """
        x = one_row(x, "decision_one", "decision_function")
        values, _ = self._decide_quickly(x)
        return values[0] if len(values) == 1 else values

    def predict_one(self, x: Any) -> Any:
        """Label of one row: as ``predict``.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Features.

        Returns
        -------
        label : label
            The label.
        """
        x = one_row(x, "predict_one", "predict")
        values, classes = self._decide_quickly(x)
        if len(classes) == 1:
            return classes[0]
        return classes[int(values[0] > 0) if len(values) == 1 else int(values.argmax())]

    # -- inside ---------------------------------------------------------------------------

    def _known_label(self, y: Any) -> int | None:
        try:
            number: int | None = self._book.numbers.get(y)
            return number
        except TypeError:  # cannot be a label
            return None

    def _weight_of(self, y: Any, weight: float) -> float | None:
        class_weight = getattr(self, "class_weight", None)
        if class_weight is None:
            return weight
        return weight * class_weight.get(y, 1.0) if isinstance(class_weight, dict) else None
