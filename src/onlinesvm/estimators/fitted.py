"""Prediction and fitted attributes, all read from the model after the last call that has ended.

What is returned belongs to the caller: writing into it changes no model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..core.interrupts import Interruptible
from ..core.kernel.kernel import Kernel
from ..core.state.published import published
from .labels import LabelBook
from .view import View, to_classes


def check_linear(kernel: Kernel) -> None:
    """Weight vectors are of the linear kernel."""
    if kernel.name != "linear":
        raise AttributeError("coef_ is only available when using a linear kernel.")


def read_only(values: np.ndarray) -> np.ndarray:
    """Values that cannot be written to: writing would change no model."""
    values.flags.writeable = False
    return values


def gamma_of(kernel: Kernel) -> float:
    """The number that ``gamma`` stands for."""
    if kernel.name not in ("rbf", "poly", "sigmoid"):
        raise AttributeError(f"gamma_ is not available: the kernel {kernel.name!r} has no gamma.")
    return float(kernel.gamma)


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

    _kernel: Kernel
    _book: Any
    _learner: Any
    _fitted: Any  # of the class that this is mixed into: the learner, or an error

    def _make_view(self) -> View | None:
        return View(self) if hasattr(self, "_learner") else None

    def _view(self) -> View:
        """The model after the last call that has ended."""
        view = published(self).get(self._make_view)
        if view is None:
            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet.")
        return view

    def _more(self, learner: Any) -> dict[str, Any]:
        """What a view needs besides the model, for fitted attributes of a subclass."""
        return {}

    # -- fitted attributes ----------------------------------------------------------------

    def _seen(self, name: str) -> View:
        """The view from which a fitted attribute is read."""
        self._fitted(name)
        with Interruptible():
            return self._view()

    @property
    def support_vectors_(self) -> Any:
        """Support vectors, (n_SV, n_features); empty for a precomputed kernel, as in ``SVC``.

        Where the examples are objects, an array of objects.
        """
        view = self._seen("support_vectors_")
        if view.settings._kernel.name == "precomputed":
            return np.empty((0, 0))
        if view.settings._objects is not None:
            return view.settings._objects[view.support[view.ascending]]
        vectors = view.model.rows.to_array(view.settings._centre)[view.ascending]
        return vectors.toarray() if view.settings._packs else vectors  # as they were given

    @property
    def support_(self) -> np.ndarray:
        """Row indices of the support vectors in the X given to ``fit``, in ascending order.

        -1 for support vectors learned from a stream.
        """
        view = self._seen("support_")
        return view.support[view.ascending]

    @property
    def dual_coef_(self) -> np.ndarray:
        """Signed coefficients, one row per machine over all support vectors."""
        view = self._seen("dual_coef_")
        return view.to_classes(view.model.coef)[:, view.ascending]

    @property
    def coef_(self) -> np.ndarray:
        """Weight vectors of the linear kernel, one row per machine; read-only, as in ``SVC``."""
        view = self._seen("coef_")
        check_linear(view.settings._kernel)
        return read_only(view.to_classes(view.weights()))

    @property
    def gamma_(self) -> float:
        """The gamma in use."""
        return gamma_of(self._seen("gamma_").settings._kernel)

    @property
    def intercept_(self) -> np.ndarray:
        """Bias of each machine."""
        view = self._seen("intercept_")
        return view.to_classes(view.model.bias)

    @property
    def n_kernel_evaluations_(self) -> int:
        """Kernel values computed while learning."""
        self._fitted("n_kernel_evaluations_")
        return int(self._kernel.n_evaluations)


class FittedModel(FittedExpansion):
    """What users see of a classifier that has learned."""

    _book: LabelBook
    _class_table: dict[Any, float]

    predict_proba = Absent("wrap it in sklearn.calibration.CalibratedClassifierCV.")
    predict_log_proba = Absent("wrap it in sklearn.calibration.CalibratedClassifierCV.")

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance from the boundary, in units of the margin.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]`` with two classes, else one column per class.
        """
        check_is_fitted(self)
        with Interruptible():
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
        with Interruptible():
            return self._view().predict(X)

    def _to_classes(self, values: np.ndarray) -> np.ndarray:
        """Machines in the order of ``classes_``; two classes: the second is positive."""
        return to_classes(values, self._book.order())

    @property
    def classes_(self) -> np.ndarray:
        """Labels known so far, sorted."""
        return self._seen("classes_").classes.copy()

    @property
    def n_support_(self) -> np.ndarray:
        """Support vectors of each class."""
        view = self._seen("n_support_")
        return np.bincount(view.model.label, minlength=len(view.order))[view.order]

    @property
    def class_weight_(self) -> np.ndarray:
        """Weights that multiply ``C``, one per class."""
        view = self._seen("class_weight_")
        if not hasattr(self, "class_weight"):
            raise AttributeError(f"{type(self).__name__} has no weights of classes.")
        table = view.settings._class_table
        return np.array([table.get(label, 1.0) for label in view.classes.tolist()], np.float64)
