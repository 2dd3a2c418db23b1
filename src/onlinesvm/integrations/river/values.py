"""A regressor and a novelty detector for River: see ``onlinesvm.river``."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
from river import base

from ...estimators import lasvm_values
from ...estimators.labels import check_quantiles, check_share
from ...estimators.named_rows import NamedModel
from ...estimators.params import shared_docs

__all__ = ["LASVMOneClass", "LASVMRegressor"]


@shared_docs
class LASVMRegressor(NamedModel, base.Regressor):
    """Support vector regression that learns one example at a time, in bounded memory (LASVM).

    Features should be of about the same scale: put ``river.preprocessing.StandardScaler`` in front.
    ``C`` and ``epsilon`` suit a target with a standard deviation of about 1: wrap the model in
    ``river.preprocessing.TargetStandardScaler``. See ``onlinesvm.LASVMRegressor``.

    Parameters
    ----------
    C : float, default=4.0
        Cost of an error beyond ``epsilon``.
    epsilon, kernel (River), gamma (River), degree, coef0, window, budget (River), policy : shared
    half_life : shared
    quantile : float, list of float or None, default=None
        Predict this quantile of the target instead of its middle. If there are several, in
        ascending order, ``predict_quantiles_one`` returns them, and ``predict_one`` the one nearest
        to 0.5.
    calibrated : bool, default=False
        Shift each quantile so that about the share asked for of new targets lies below it, also if
        the distribution changes.

    See Also
    --------
    onlinesvm.LASVMRegressor : The same with scikit-learn's interface.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from onlinesvm.river import LASVMRegressor
    >>> scaled = preprocessing.TargetStandardScaler(LASVMRegressor())
    >>> model = preprocessing.StandardScaler() | scaled
    >>> error = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    >>> error.get() < 1.0
    True
    """

    _kind = lasvm_values.LASVMRegressor

    def __init__(
        self,
        C: float = 4.0,
        epsilon: float = 0.1,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        window: int | None = None,
        budget: int | None = 1000,
        policy: str = "oldest",
        half_life: float | None = 1000,
        quantile: Any = None,
        calibrated: bool = False,
    ):
        super().__init__()
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.window = window
        self.budget = budget
        self.policy = policy
        self.half_life = half_life
        self.quantile = quantile
        self.calibrated = calibrated

    def _answers(self) -> list[float]:
        return np.atleast_1d(check_quantiles(self.quantile)).tolist()

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn one example. Invalid input raises an error and changes nothing.

        Parameters
        ----------
        x
            Features: names and finite numbers.
        y
            Target.
        w
            Weight that multiplies the cost of the example.
        """
        self._check_single(y, "target")
        self._learn_named(x, lambda model, row: model.learn_one(row, y, w))

    def predict_one(self, x: dict[Any, Any]) -> float:
        """The value of one example; 0 before the first example.

        Parameters
        ----------
        x
            Features. Names that were never learned are left out.
        """
        row = self._rows.known(x)
        if self._model is None:
            return 0.0
        values = np.atleast_1d(self._model.predict_one(row))
        if len(values) == 1:
            return float(values[0])
        return float(values[np.abs(np.array(self._answers()) - 0.5).argmin()])

    def predict_quantiles_one(self, x: dict[Any, Any]) -> dict[float, float]:
        """The quantiles of the parameter ``quantile``; empty before the first example.

        Parameters
        ----------
        x
            Features. Names that were never learned are left out.
        """
        if self.quantile is None:
            raise ValueError(
                "predict_quantiles_one needs quantiles: set quantile, for instance to [0.05, "
                "0.5, 0.95]."
            )
        row, model = self._rows.known(x), self._model
        values = [] if model is None else np.atleast_1d(model.predict_one(row)).tolist()
        return dict(zip(self._answers(), values, strict=False))

    def predict_interval_one(self, x: dict[Any, Any], coverage: float = 0.9) -> tuple[float, float]:
        """Interval that contains the target in a share ``coverage`` of cases: lower and upper end.

        It adapts to the errors of recent predictions, each made before its target was learned, even
        if the distribution changes. Infinite before the first example.

        Parameters
        ----------
        x
            Features. Names that were never learned are left out.
        coverage
            Share of targets inside, between 0 and 1.
        """
        check_share(coverage, "coverage")
        row, model = self._rows.known(x), self._model
        if model is None:
            return -inf, inf
        low, high = model.predict_interval_one(row, coverage).tolist()
        return low, high


@shared_docs
class LASVMOneClass(NamedModel, base.AnomalyDetector):
    """Novelty detection that learns one example at a time, in bounded memory (LASVM).

    Features should be of about the same scale: put ``river.preprocessing.StandardScaler`` in front.
    See ``onlinesvm.LASVMOneClass``.

    Parameters
    ----------
    nu : float, default=0.1
        Approximate share of the examples that lie outside.
    kernel (River), gamma (River), degree, coef0, window : shared
    budget : int or None, default=None
        Maximum number of support vectors; None: no limit.
    half_life (novelty) : shared

    See Also
    --------
    onlinesvm.LASVMOneClass : The same with scikit-learn's interface.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from onlinesvm.river import LASVMOneClass
    >>> model = preprocessing.StandardScaler() | LASVMOneClass()
    >>> for x, _ in datasets.Phishing():
    ...     model.learn_one(x)
    >>> strange = {name: 9.0 for name in x}
    >>> model.score_one(strange) > model.score_one(x)
    True
    """

    _kind = lasvm_values.LASVMOneClass
    _sign = -1.0

    def __init__(
        self,
        nu: float = 0.1,
        kernel: str = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        window: int | None = 1000,
        budget: int | None = None,
        half_life: float | None = None,
    ):
        super().__init__()
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.window = window
        self.budget = budget
        self.half_life = half_life

    def learn_one(self, x: dict[Any, Any], w: float = 1.0) -> None:
        """Learn one example. Invalid input raises an error and changes nothing.

        Parameters
        ----------
        x
            Features: names and finite numbers.
        w
            Weight of the example.
        """
        self._learn_named(x, lambda model, row: model.learn_one(row, w))

    def score_one(self, x: dict[Any, Any]) -> float:
        """Anomaly score of one example: negative inside; 0 before the first example.

        The negative decision function; its scale is that of the sum of the
        coefficients, ``nu`` times the weights in the window.

        Parameters
        ----------
        x
            Features. Names that were never learned are left out.
        """
        row = self._rows.known(x)
        return 0.0 if self._model is None else -float(self._model.decision_one(row))

    def p_value_one(self, x: dict[Any, Any]) -> float:
        """How often an example like those learned is at least as strange; 1 before anything was learned.

        Parameters
        ----------
        x
            Features. Names that were never learned are left out.
        """
        row = self._rows.known(x)
        return 1.0 if self._model is None else float(self._model.p_value_one(row))
