"""Probabilities and prediction sets from scores that were noted before examples were learned.

See ``core/prequential``: nothing here computes a kernel value that ``decision_function`` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..core.interrupts import Interruptible
from ..core.state.published import published
from .single_rows import one_row

_WITHOUT = (
    "{} is not available when fitted with probability=False: learn again with probability=True."
)


class WithProbability:
    """A method that is there with ``probability=True`` only, as ``hasattr`` says."""

    def __init__(self, method: Callable[..., Any]):
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self.method
        if not instance.probability:
            raise AttributeError(
                f"{owner.__name__} has no {self.method.__name__}: set probability=True before it "
                "learns, or wrap it in sklearn.calibration.CalibratedClassifierCV."
            )
        return self.method.__get__(instance, owner)


def chances(values: np.ndarray, order: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Probabilities (n, classes) from decision values (n, machines) in the order of classes.

    ``order`` is the number of each class: the scores noted are those of the labels as they came.
    """
    from ..core.prequential.calibration import follow, probabilities

    if len(order) == 1:
        return np.ones((len(values), 1))
    if values.shape[1] > 1:
        return follow(probabilities(values, slopes), values.argmax(axis=1))
    swapped = order[1] == 0
    chance = probabilities(-values if swapped else values, slopes)
    chance = np.ascontiguousarray(chance[:, ::-1]) if swapped else chance
    return follow(chance, (values[:, 0] > 0).astype(int))


class Probabilities:
    """What a classifier can say about how sure it is."""

    if TYPE_CHECKING:  # of the classes that it is mixed into
        probability: bool
        _view: Any
        _book: Any
        _learner: Any
        _decide_quickly: Any
        _class_table: dict[Any, float]

    def _snapshot(self, learner: Any) -> dict[str, Any]:
        """For a view: what probabilities and sets are made of."""
        watch = learner.watch
        if watch is None or watch.thresholds is None:
            return {}
        table = self._class_table
        weights = [table.get(label, 1.0) or 1.0 for label in self._book.numbers]
        return {"prequential": watch.snapshot(np.array(weights))}

    def _scored(self, X: Any, method: str) -> tuple[Any, Any, np.ndarray]:
        """The view, its snapshot, and decision values (n, machines) in the order of classes.

        ``method`` is what the user has called.
        """
        check_is_fitted(self)
        view = self._view()
        if "prequential" not in view.more:
            raise NotFittedError(_WITHOUT.format(method))
        values = view.decide(X)
        return view, view.more["prequential"], values.reshape(len(values), -1)

    @WithProbability
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class; the most probable one is what ``predict`` returns.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        chances : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        with Interruptible():
            view, record, values = self._scored(X, "predict_proba")
            return chances(values, view.order, record.calibration.slopes)

    @WithProbability
    def predict_proba_one(self, x: Any) -> np.ndarray:
        """Probability of each class for one row: as ``predict_proba``, in microseconds.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Features.

        Returns
        -------
        chances : ndarray of shape (n_classes,)
            In the order of ``classes_``.
        """
        x = one_row(x, "predict_proba_one", "predict_proba")
        with Interruptible(), published(self):
            values, _ = self._decide_quickly(x)
            record = self._snapshot(self._learner)
            if not record:
                raise NotFittedError(_WITHOUT.format("predict_proba_one"))
            slopes = record["prequential"].calibration.slopes
            return chances(values[None, :], self._book.order(), slopes)[0]

    @WithProbability
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        logs : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @WithProbability
    def predict_set(self, X: Any, alpha: Any = 0.1) -> np.ndarray:
        """For each example the classes that its label is among, in a share 1 - alpha of cases.

        The sets adapt while the model learns: of the examples of any long stretch of a stream, each
        asked for before it is learned, about a share alpha has a label outside its set, also
        while the world changes. After ``fit`` they are those of conformal prediction from cross-fitted
        scores: of new examples like those learned, coverage differs from 1 - alpha by about 1 point
        for thousands of examples learned, 3 for hundreds.

        On a stream alpha is met exactly, in the long run, for 0.001, 0.002, 0.005, 0.01,
        0.02, 0.03, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3 and 0.4 to 0.9; sets for values
        between these are interpolated, and smaller values give all classes.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.
        alpha : float, default=0.1
            Share of labels that may be outside, between 0 and 1.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether each class, in the order of ``classes_``, is in the set. A set may be empty,
            where the model is wrong less often than alpha and the example is unlike the others,
            and may hold all classes.
        """
        from ..core.prequential.record import excess
        from ..core.prequential.thresholds import interpolated

        if not isinstance(alpha, Real) or not 0.0 < float(alpha) < 1.0:
            raise ValueError(f"alpha must be a number between 0 and 1; got {alpha!r}.")
        with Interruptible():
            view, record, values = self._scored(X, "predict_set")
            q, n = interpolated(record.q, float(alpha)), len(values)
            if len(view.classes) == 1:
                return np.ones((n, 1), bool)
            columns = [excess(values, np.full(n, k)) <= q for k in range(len(view.classes))]
            return np.stack(columns, axis=1)
