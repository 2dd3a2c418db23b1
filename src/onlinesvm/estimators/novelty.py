"""The base of the one-class estimators: no y, and values that are positive inside."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from .base import KernelEstimator
from .labels import NoTargets

WEIGHTS = (1e-12, 1e12)
"""Range of weights: tolerances of the offset are in their unit, and sums of them must keep their digits."""


class NoveltyDetector(OutlierMixin, KernelEstimator):  # type: ignore[misc,unused-ignore]
    """Base of the one-class estimators: no y, and values positive inside."""

    _y_checks = None

    def _encoder(self, y: Any) -> NoTargets:
        return NoTargets()

    def _stream_encoder(self, y: Any, known: Any, classes: Any) -> NoTargets:
        return NoTargets()

    def _weights(self, y: Any, encoder: Any, sample_weight: Any) -> tuple[np.ndarray, Any]:
        weight, table = super()._weights(y, encoder, sample_weight)
        if not self._is_in_range(weight):
            least, most = weight[weight > 0].min(), weight.max()
            raise ValueError(
                f"sample_weight is between {least:.3g} and {most:.3g}; the weights of one class must be "
                f"between {WEIGHTS[0]:g} and {WEIGHTS[1]:g}, or zero. Only their ratios matter: divide "
                "them by their mean."
            )
        return weight, table

    def _row_weight(self, y: Any, weight: float) -> float | None:
        own, (least, most) = super()._row_weight(y, weight), WEIGHTS
        return own if own is not None and (own == 0 or least <= own <= most) else None

    @staticmethod
    def _is_in_range(weight: np.ndarray) -> bool:
        least, most = WEIGHTS
        return bool(((weight == 0) | ((least <= weight) & (weight <= most))).all())

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
