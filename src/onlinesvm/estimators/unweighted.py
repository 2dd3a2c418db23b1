"""Learning without weights, for algorithms that have no cost to scale.

There is no ``sample_weight`` in the signatures, so that tools which look there (scikit-learn's
``has_fit_parameter``, ensembles, searches) do not offer one; who passes it is told why not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import OnlineKernelClassifier


class UnweightedClassifier(OnlineKernelClassifier):
    """Base of the classifiers that refuse weights."""

    _weighted = False

    def fit(self, X: Any, y: Any, **refused: Any) -> Any:
        """Learn a data set at hand.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples; with ``kernel="precomputed"`` the square matrix of kernel values.
        y : array-like of shape (n_samples,)
            Labels.
        **refused : dict
            There is no cost to scale: ``sample_weight`` is refused.

        Returns
        -------
        self : object
            The fitted classifier. After Ctrl-C it is what was learned so far.
        """
        return super().fit(X, y, **refused)

    def partial_fit(  # type: ignore[override]
        self, X: Any, y: Any, classes: Any = None, **refused: Any
    ) -> Any:
        """Learn examples of a stream, one row or many, in the order given.

        A call with bad input changes nothing. Labels never seen before are welcome.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples. ``gamma="scale"`` is estimated from the first 100 rows.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            Labels to expect; accepted for scikit-learn's sake, never required.
        **refused : dict
            There is no cost to scale: ``sample_weight`` is refused.

        Returns
        -------
        self : object
            The classifier, which has learned the examples.
        """
        return super().partial_fit(X, y, classes, **refused)

    def learn_one(self, x: Any, y: Any, **refused: Any) -> Any:  # type: ignore[override]
        """Learn one example: as ``partial_fit`` with one row, in microseconds.

        A call with bad input changes nothing.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Features.
        y : label
            Label; a new one is welcome.
        **refused : dict
            There is no cost to scale: ``sample_weight`` is refused.

        Returns
        -------
        self : object
            The classifier, which has learned the example.
        """
        if refused:
            return self.partial_fit(np.asarray(x)[None, :], [y], **refused)
        return super().learn_one(x, y)
