"""A regressor and a novelty detector for River: see ``river``."""

from __future__ import annotations

from typing import Any

from river import base

from .estimators import lasvm_values
from .estimators.named_rows import NamedModel

__all__ = ["LASVMOneClass", "LASVMRegressor"]


class LASVMRegressor(NamedModel, base.Regressor):
    """Support vector regression that learns one example at a time, in bounded memory (LASVM).

    Features should be of about the same scale: put ``river.preprocessing.StandardScaler`` in front.
    ``C`` and ``epsilon`` suit a target with a standard deviation of about 1: wrap the model in
    ``river.preprocessing.TargetStandardScaler``. See ``onlinesvm.LASVMRegressor``.

    Parameters
    ----------
    C : float, default=4.0
        Cost of an error beyond ``epsilon``.
    epsilon : float, default=0.1
        Errors up to this cost nothing.
    kernel : {"rbf", "linear", "poly", "sigmoid"}, default="rbf"
        Kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of ``rbf``, ``poly`` and ``sigmoid``. ``"scale"`` is
        1 / (features * variance of their values), estimated from the first 100 examples;
        ``"auto"`` is 1 / features of the first example.
    degree : int, default=3
        Degree of ``poly``.
    coef0 : float, default=0.0
        Constant of ``poly`` and ``sigmoid``.
    window : int or None, default=None
        Number of most recent examples that count; None: no limit.
    budget : int or None, default=1000
        Maximum number of support vectors; None: no limit. Without window, budget and half-life the
        memory is not bounded.
    policy : {"outlier", "oldest", "join"}, default="oldest"
        Which support vector makes way when the budget is full; ``"oldest"`` forgets fastest.
    half_life : float or None, default=1000
        Number of examples after which the cost of an old one has shrunk to one half.

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

    def learn_one(self, x: dict[Any, Any], y: float, w: float = 1.0) -> None:
        """Learn one example. Bad input changes nothing.

        Parameters
        ----------
        x
            Features: names and finite numbers.
        y
            Target.
        w
            Weight that multiplies the cost of the example.
        """
        self._learn_named(x, lambda model, row: model.learn_one(row, y, w))

    def predict_one(self, x: dict[Any, Any]) -> float:
        """The value of one example; 0 before anything was learned.

        Parameters
        ----------
        x
            Features. Names that were never learned are left out.
        """
        row = self._rows.known(x)
        return 0.0 if self._model is None else float(self._model.predict_one(row))


class LASVMOneClass(NamedModel, base.AnomalyDetector):
    """Novelty detection that learns one example at a time, in bounded memory (LASVM).

    Features should be of about the same scale: put ``river.preprocessing.StandardScaler`` in front.
    See ``onlinesvm.LASVMOneClass``.

    Parameters
    ----------
    nu : float, default=0.1
        Share of the examples that lie outside, about.
    kernel : {"rbf", "linear", "poly", "sigmoid"}, default="rbf"
        Kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of ``rbf``, ``poly`` and ``sigmoid``. ``"scale"`` is
        1 / (features * variance of their values), estimated from the first 100 examples;
        ``"auto"`` is 1 / features of the first example.
    degree : int, default=3
        Degree of ``poly``.
    coef0 : float, default=0.0
        Constant of ``poly`` and ``sigmoid``.
    window : int or None, default=1000
        Number of most recent examples that count; None: no limit.
    budget : int or None, default=None
        Maximum number of support vectors; None: no limit.
    half_life : float or None, default=None
        Number of examples after which the weight of an old one has shrunk to one half.

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
        """Learn one example. Bad input changes nothing.

        Parameters
        ----------
        x
            Features: names and finite numbers.
        w
            Weight of the example.
        """
        self._learn_named(x, lambda model, row: model.learn_one(row, w))

    def score_one(self, x: dict[Any, Any]) -> float:
        """How strange one example is: negative inside; 0 before anything was learned.

        The decision function with the other sign; its scale is that of the sum of the
        coefficients, ``nu`` times the weights in the window.

        Parameters
        ----------
        x
            Features. Names that were never learned are left out.
        """
        row = self._rows.known(x)
        return 0.0 if self._model is None else -float(self._model.decision_one(row))
