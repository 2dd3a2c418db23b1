"""What ``explain`` returns: the share of each feature and of the most similar support vectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.runtime.dependencies import require

MOST_BARS = 12
"""Number of features shown in a plot; the others are summed in one bar."""


@dataclass(frozen=True, eq=False)
class SupportShares:
    """The support vectors with the largest share in each decision value.

    ``share`` is the coefficient times the kernel value. The shares and ``rest``, the sum of all
    others, add up to f(x) - b.

    Attributes
    ----------
    position : ndarray of shape (n_samples, n_examples) or (n_samples, n_examples, n_classes)
        Index of each support vector in ``support_vectors_`` and ``dual_coef_``.
    index : ndarray of the same shape
        Its row in the X given to ``fit``; -1 for one learned from a stream.
    share : ndarray of the same shape
        Its share; largest absolute value first.
    rest : ndarray of shape (n_samples,) or (n_samples, n_classes)
        The sum of the shares of all others.
    """

    position: np.ndarray
    index: np.ndarray
    share: np.ndarray
    rest: np.ndarray

    def __getitem__(self, which: Any) -> SupportShares:
        parts = (self.position, self.index, self.share, self.rest)
        return SupportShares(*(part[which] for part in parts))


@dataclass(frozen=True, eq=False)
class Explanation:
    """Shapley values: ``base_values + values.sum(axis=1)`` are the decision values.

    The attributes have the names that ``shap.plots`` expects; ``to_shap`` makes an object of that
    library, if it is installed.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_classes)
        Share of each feature.
    base_values : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Decision value without any feature.
    data : ndarray or CSR matrix of shape (n_samples, n_features)
        The examples.
    feature_names : list of str
        Names of the features.
    output_names : list of str or None
        Names of the classes, if there are more than two.
    examples : SupportShares
        The support vectors with the largest share.
    """

    values: np.ndarray
    base_values: np.ndarray
    data: Any
    feature_names: list[str]
    output_names: list[str] | None
    examples: SupportShares

    display_data: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of ``values``."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, which: Any) -> Explanation:
        """One example (a number), or some (a slice, indices, a mask)."""
        return replace(
            self, values=self.values[which], base_values=self.base_values[which],
            data=_row_of(self.data, which), examples=self.examples[which],
        )  # fmt: skip

    def importance(self) -> np.ndarray:
        """Mean absolute share of each feature over these examples.

        Returns
        -------
        importance : ndarray of shape (n_features,) or (n_features, n_classes)
            Mean of the absolute values.
        """
        one = self.base_values.ndim == (0 if self.output_names is None else 1)
        return np.abs(self.values) if one else np.abs(self.values).mean(axis=0)

    def to_shap(self) -> Any:
        """Convert to an object of the library ``shap``, for its plots.

        Returns
        -------
        explanation : shap.Explanation
            Values, base values, data and names.
        """
        shap = require("shap", "to_shap")
        return shap.Explanation(
            self.values, self.base_values, self.data,
            feature_names=self.feature_names, output_names=self.output_names,
        )  # fmt: skip

    def plot(self, output: int | str | None = None, ax: Any = None) -> Any:
        """Draw bars: the shares of one example, or the importance over several.

        Parameters
        ----------
        output : int, str or None, default=None
            The class, by number or name, if there are more than two. None: the class with the
            highest decision value (one example), or the mean over the classes (several).
        ax : matplotlib Axes or None, default=None
            Where to draw; None: a new figure.

        Returns
        -------
        ax : matplotlib Axes
            The axes.
        """
        from .explanation_plot import plot

        return plot(self, output, ax)


def _row_of(data: Any, which: Any) -> Any:
    """Rows of an array or CSR matrix; a single row is an array of one dimension."""
    row = data[which]
    return row.toarray().ravel() if np.ndim(which) == 0 and hasattr(row, "toarray") else row
