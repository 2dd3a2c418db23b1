"""Prediction and fitted attributes, all read from the model after the last call that has ended.

What is returned belongs to the caller: writing into it changes no model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .view import FittedView


class Absent:
    """A method that users of other classifiers know: asking for it says what to do instead.

    ``hasattr`` is false, as scikit-learn expects of a method that is not there.
    """

    def __init__(self, remedy: str):
        self.remedy = remedy

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__} has no {self.name}: {self.remedy}")


class FittedExpansion:
    """What users see of any model that has learned: its expansion."""

    _fitted: Any  # of the class that this is mixed into: the learner, or an error

    def _view(self) -> FittedView:
        """The model after the last call that has ended."""
        raise TypeError(f"{type(self).__name__} has no view.")  # pragma: no cover

    def _seen(self, name: str) -> Any:
        """The view from which a fitted attribute is read."""
        self._fitted(name)
        return self._view()

    @property
    def support_vectors_(self) -> Any:
        """Support vectors, (n_SV, n_features); empty for a precomputed kernel, as in ``SVC``.

        Where the examples are objects, an array of objects.
        """
        view = self._seen("support_vectors_")
        return np.empty((0, 0)) if view.kernel.name == "precomputed" else view.vectors()

    @property
    def support_(self) -> np.ndarray:
        """Row indices of the support vectors in the X given to ``fit``, in ascending order.

        -1 for support vectors learned from a stream.
        """
        return self._seen("support_").support

    @property
    def dual_coef_(self) -> np.ndarray:
        """Signed coefficients, one row per machine over all support vectors."""
        return self._seen("dual_coef_").coefficients()

    @property
    def coef_(self) -> np.ndarray:
        """Weight vectors of the linear kernel, one row per machine; read-only, as in ``SVC``."""
        view = self._seen("coef_")
        if view.kernel.name != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel.")
        weights = view.to_classes(view.weights())
        weights.flags.writeable = False  # writing would change no model
        return weights

    @property
    def gamma_(self) -> float:
        """The gamma in use."""
        kernel = self._seen("gamma_").kernel
        if kernel.name not in ("rbf", "poly", "sigmoid"):
            raise AttributeError(
                f"gamma_ is not available: the kernel {kernel.name!r} has no gamma."
            )
        return float(kernel.gamma)

    @property
    def intercept_(self) -> np.ndarray:
        """Bias of each machine."""
        return self._seen("intercept_").biases()

    @property
    def n_support_(self) -> np.ndarray:
        """Number of support vectors."""
        return np.array([len(self._seen("n_support_").support)])


class FittedModel(FittedExpansion):
    """What users see of a classifier that has learned."""

    predict_proba = Absent("wrap it in sklearn.calibration.CalibratedClassifierCV.")
    predict_log_proba = Absent("wrap it in sklearn.calibration.CalibratedClassifierCV.")

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance from the boundary, in units of the margin.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples; with ``kernel="precomputed"`` their kernel values with the examples given.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]`` with two classes, else one column per class.
        """
        check_is_fitted(self)
        return self._view().decide(X)

    def predict(self, X: Any) -> np.ndarray:
        """The label of each example.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self)
        return self._view().predict(X)

    @property
    def classes_(self) -> np.ndarray:
        """Labels known so far, sorted."""
        return self._seen("classes_").classes.copy()

    @property
    def n_support_(self) -> np.ndarray:
        """Support vectors of each class."""
        view = self._seen("n_support_")
        return np.bincount(view.label_numbers(), minlength=len(view.order))[view.order]


class FittedOneClass(FittedExpansion):
    """What users see of a novelty detector that has learned."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance from the edge, positive inside.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples; with ``kernel="precomputed"`` their kernel values with the examples given.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Distances.
        """
        check_is_fitted(self)
        return self._view().decide(X)

    def score_samples(self, X: Any) -> np.ndarray:
        """The decision function without its offset.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Larger for examples that are more like those learned.
        """
        check_is_fitted(self)
        view = self._view()
        return view.decide(X) - view.biases()[0]

    def predict(self, X: Any) -> np.ndarray:
        """Whether each example is like those learned.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            1 inside, -1 outside.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    @property
    def offset_(self) -> float:
        """``score_samples(X) - offset_`` is the decision function."""
        return float(-self._seen("offset_").biases()[0])
