"""The base of the one-class estimators: no y, and values that are positive inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from .base import KernelEstimator
from .labels import NoTargets


class NoveltyDetector(OutlierMixin, KernelEstimator):  # type: ignore[misc,unused-ignore]
    """Base of the one-class estimators: no y, and values positive inside."""

    _y_checks = None

    def _encoder(self, y: Any) -> NoTargets:
        return NoTargets()

    def _stream_encoder(self, y: Any, known: Any, classes: Any) -> NoTargets:
        return NoTargets()

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
