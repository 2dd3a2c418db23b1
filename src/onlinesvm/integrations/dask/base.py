"""Base class of the classifiers on Dask: parameters, a summary of the data, prediction."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ...core.kernel.kernel import COLUMN_NAMES, KERNEL_NAMES
from ...estimators.lasvm import LASVMClassifier
from ...estimators.params import with_nearest_kernel
from .frame import Frame
from .partitions import Partitions, partitions_of
from .predicting import accuracy, outcome
from .running import Run
from .summary import Whole, summarise, whole_of
from .tasks import Place

CONSTRAINTS: dict[str, list[Any]] = {
    "C": [Interval(Real, 0.0, None, closed="right")],
    "kernel": [StrOptions(set(KERNEL_NAMES) - {"precomputed"}), callable],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "partition_size": [Interval(Integral, 1, None, closed="left"), None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
}


class DaskClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc,unused-ignore]
    """Base of the classifiers on Dask. ``_model`` is what predicts."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS
    C: float
    kernel: Any
    gamma: float | str
    degree: int
    coef0: float
    tol: float
    class_weight: Any
    partition_size: int | None
    verbose: bool
    random_state: Any
    _model: Any
    _schema: dict[str, Any] | None

    def _validate_params(self) -> None:
        try:
            super()._validate_params()
        except ValueError as error:
            raise with_nearest_kernel(error, self.kernel) from None

    def _local_estimator(self, **more: Any) -> LASVMClassifier:
        """An ordinary estimator with the same settings."""
        return LASVMClassifier(
            C=self.C, kernel=self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0,
            tol=self.tol, class_weight=self.class_weight, random_state=self.random_state, **more,
        )  # fmt: skip

    def _first_look(self, run: Run, X: Any, y: Any) -> tuple[Partitions, Whole, Frame]:
        """Partitions, their summary, and the estimator with what follows from it."""
        partitions = partitions_of(run, X, y, self.partition_size)
        count, by_column = len(partitions.parts), self.kernel in COLUMN_NAMES
        found = run.results(
            [
                run.task("summary", i, summarise, part, i, count, by_column)
                for i, part in enumerate(partitions.parts)
            ]
        )
        whole = whole_of(found)
        partitions = partitions._replace(names=partitions.names or whole.names)
        frame = Frame.of(self._local_estimator(), whole, partitions.names)
        self._largest = max(part.nbytes for part in found)
        return partitions, whole, frame

    def _places(self, whole: Whole) -> list[Place]:
        """Number, first row and seed of every partition."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        offsets = whole.offsets()
        return [Place(i, offsets[i], seed) for i in range(len(whole.rows))]

    def _note(self, whole: Whole, partitions: Partitions) -> None:
        """Fitted attributes that come from the data."""
        names, self._schema = partitions.names, partitions.schema
        self.classes_ = whole.labels
        self.n_features_in_ = whole.features
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, object)
        self.n_partitions_ = len(whole.rows)
        self.partition_bytes_ = self._largest

    @property
    def _names(self) -> Any:
        """Names of the columns, if the model was fitted on a data frame."""
        return getattr(self, "feature_names_in_", None)

    def predict(self, X: Any) -> Any:
        """The label of each example.

        Parameters
        ----------
        X : Dask array, Dask data frame, list of delayed, folder of Parquet, array-like or CSR matrix
            Examples.

        Returns
        -------
        y : Dask array or ndarray of shape (n_samples,), or list of delayed
            Labels; lazy if X is a Dask collection.
        """
        check_is_fitted(self, "classes_")
        return outcome(self._model, X, "predict", self._schema, self._names)

    def decision_function(self, X: Any) -> Any:
        """Signed distance from the boundary, in units of the margin.

        Parameters
        ----------
        X : Dask array, Dask data frame, list of delayed, folder of Parquet, array-like or CSR matrix
            Examples.

        Returns
        -------
        values : Dask array or ndarray, (n_samples,) or (n_samples, n_classes), or list of delayed
            Positive for ``classes_[1]`` with two classes, else one column per class.
        """
        check_is_fitted(self, "classes_")
        return outcome(self._model, X, "decision_function", self._schema, self._names)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Share of correct predictions.

        Parameters
        ----------
        X : Dask array, Dask data frame, list of delayed, folder of Parquet, array-like or CSR matrix
            Examples.
        y : the labels, as in ``fit``, default=None
            True labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the examples.

        Returns
        -------
        score : float, or a Dask scalar where X is a Dask collection
            Accuracy.
        """
        check_is_fitted(self, "classes_")
        return accuracy(self._model, X, y, sample_weight, self._schema, self._names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
