"""One example at a time, for callers who count microseconds.

``learn_one``, ``predict_one`` and ``decision_one`` take one dense row. Of scikit-learn's checks they
make those that protect the model: the number of features, and that they are finite numbers. What
needs a closer look (a new label, a sparse model, the first rows of a stream) takes the way of
``partial_fit`` and ``predict``, with all checks.
"""

from __future__ import annotations

from functools import cache
from operator import is_
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg.blas import dnrm2
from sklearn.exceptions import NotFittedError

from ..core.interrupts import Interruptible
from ..core.state.published import published
from .view import to_classes
from .weights import finite_cost

if TYPE_CHECKING:
    from ..core.kernel.kernel import Kernel

LONGEST = 1e19
"""Rows of less length have a square within single precision."""


class Singles:
    """Learning and predicting one row, for the online classifiers."""

    if TYPE_CHECKING:  # of the classes that it is mixed into
        _book: Any
        _kernel: Kernel
        _centre: np.ndarray | None
        _sparse: bool
        _first_rows: Any
        n_features_in_: int
        _make_view: Any
        _view: Any
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
        x = _one_row(x, "learn_one", "partial_fit")
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
        x = _one_row(x, "decision_one", "decision_function")
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
        x = _one_row(x, "predict_one", "predict")
        values, classes = self._decide_quickly(x)
        if len(classes) == 1:
            return classes[0]
        return classes[int(values[0] > 0) if len(values) == 1 else int(values.argmax())]

    # -- inside ---------------------------------------------------------------------------

    def _row_in_order(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The row as the learner takes it, float32 and shifted, and what it was before float32.

        None: it needs a closer look.
        """
        if len(x) != self.n_features_in_ or x.dtype.kind not in "fiub":
            return None
        if not self._kernel.is_compiled or self._sparse:
            return None
        centre = self._centre
        shifted = x if centre is None else x - centre
        if not dnrm2(shifted) < LONGEST:  # NaN included
            return None
        return np.ascontiguousarray(shifted, np.float32), shifted

    def _learn_quickly(self, x: np.ndarray, y: Any, weight: float) -> bool:
        """Learn a row that is in order; false where it needs all checks. Nothing was done then."""
        state = published(self)
        with state:
            learner = self.__dict__.get("_learner")
            if learner is None or self._first_rows is not None:
                return False
            rows, label = self._row_in_order(x), self._known_label(y)
            if rows is None or label is None or not self._is_validated():
                return False
            class_weight = getattr(self, "class_weight", None)
            if class_weight is not None:
                if not isinstance(class_weight, dict):
                    return False
                weight = weight * class_weight.get(y, 1.0)
            if not 0 < weight < np.inf:
                return False
            state.version += 1
            if not self._hand_over(learner, *rows, label, weight):
                return False
            if state.waiting:
                state.serve(self._make_view)
        return True

    def _learn_only_row(self, X: Any, y: Any, sample_weight: Any) -> bool:
        """Learn a batch of one dense row quickly; false where it is something else."""
        if type(X) is not np.ndarray or X.shape[:1] != (1,) or X.ndim != 2:
            return False
        if type(y) not in (np.ndarray, list) or len(y) != 1 or sample_weight is not None:
            return False
        label = y[0].item() if isinstance(y[0], np.generic) else y[0]
        if isinstance(label, np.ndarray | list):
            return False
        with Interruptible():
            return self._learn_quickly(X[0], label, 1.0)

    # -- parameters, validated when they change -------------------------------------------

    def _parameters(self) -> tuple[Any, ...]:
        own = vars(self)
        kind: Any = type(self)
        return tuple(own[name] for name in _names(kind))

    def _note_validated(self) -> None:
        self._validated = self._parameters()

    def _is_validated(self) -> bool:
        """Whether the parameters are those that were validated last."""
        noted = self.__dict__.get("_validated")
        return noted is not None and all(map(is_, noted, self._parameters()))

    def _known_label(self, y: Any) -> int | None:
        try:
            number: int | None = self._book.numbers.get(y)
            return number
        except TypeError:  # cannot be a label
            return None

    def _hand_over(
        self, learner: Any, row: np.ndarray, wide: np.ndarray, label: int, weight: float
    ) -> bool:
        """The example to the learner: through its own quick way if it has one."""
        bound = weight * finite_cost(getattr(self, "C", None))
        kernel = learner.kernel
        quick = getattr(learner, "learn_one", None)
        if quick is not None and kernel.name == "rbf":
            if quick(row, label, bound, 1.0):
                return True
            learn_far = getattr(learner, "learn_far", None)
            if learn_far is not None:
                learn_far(row, wide, label, bound)
            return learn_far is not None
        from ..core.examples import Examples
        from ..core.kernel.rows import Rows

        rows = Rows.of(row[None, :])
        diagonal = kernel.diagonal(rows)
        if not np.isfinite(diagonal[0]) or rows.squares[0] > kernel.far:
            return False
        if quick is not None:
            return bool(quick(row, label, bound, float(diagonal[0])))
        learner.learn(
            Examples(rows, np.array([label]), np.array([bound]), diagonal, np.array([-1]))
        )
        return True

    def _decide_quickly(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Decision values of one row, in the order of the classes, and the classes."""
        state = published(self)
        with state:
            learner = self.__dict__.get("_learner")
            if learner is None:
                raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet.")
            rows = self._row_in_order(x)
            decide = getattr(learner, "decide_one", None)
            if rows is not None and decide is not None:
                values = decide(rows[0])
                if values is None and hasattr(learner, "decide_far"):
                    values = learner.decide_far(*rows)
                if values is not None:
                    return to_classes(values, self._book.order()), self._book.classes
            view = self._view()
        return np.atleast_1d(view.decide(x[None, :])[0]), view.classes


@cache
def _names(kind: Any) -> tuple[str, ...]:
    """Names of the parameters of a class."""
    names: list[str] = kind._get_param_names()
    return tuple(names)


def _one_row(x: Any, name: str, instead: str) -> np.ndarray:
    """x as an array of one dimension, or one clear error."""
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError(
            f"{name} takes one row of features, not an array of shape {x.shape}; use {instead} "
            "for several rows and for sparse ones."
        )
    return x
