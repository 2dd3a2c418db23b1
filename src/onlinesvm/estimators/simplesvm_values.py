"""SimpleSVM for values and for novelty: see ``SimpleSVMRegressor`` and ``SimpleSVMOneClass``."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval

from ._progress import with_callbacks
from ._simplesvm import SimpleSVMEstimator
from .labels import Targets, check_share
from .novelty import NoveltyDetector
from .params import SIMPLESVM_CONSTRAINTS, shared_docs


@shared_docs
class SimpleSVMRegressor(RegressorMixin, SimpleSVMEstimator):
    """Exact support vector regression that keeps its optimum while examples come and go.

    Solves the problem of ``SVR`` by the active-set method of ``SimpleSVMClassifier``: errors up
    to ``epsilon`` cost nothing, larger ones C times the excess.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error beyond ``epsilon``. Infinity is allowed if some function has errors of at
        most ``epsilon`` everywhere.
    epsilon, kernel, gamma (SimpleSVM), degree, coef0, tol, low_rank, selection, block_size : shared
    max_sweeps, cache_size (SimpleSVM), time_limit, n_jobs : shared
    random_state : int, RandomState instance or None, default=None
        Seed for random selection.

    Attributes
    ----------
    support_vectors_, support_ (SimpleSVM) : shared
    dual_coef_ : ndarray of shape (1, n_SV)
        Signed coefficients.
    gamma_ (SimpleSVM), coef_ (SimpleSVM), intercept_ (SimpleSVM), n_support_ (number) : shared
    shape_fit_ (SimpleSVM), fit_status_ (SimpleSVM), n_kernel_evaluations_, n_sweeps_ : shared
    kkt_violation_, dual_objective_, n_features_in_, feature_names_in_ (SimpleSVM) : shared

    See Also
    --------
    onlinesvm.LASVMRegressor : For more rows and streams.
    onlinesvm.SimpleSVMClassifier : The same for classes.

    References
    ----------
    S.V.N. Vishwanathan, A.J. Smola, M.N. Murty. SimpleSVM. ICML 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from onlinesvm import SimpleSVMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SimpleSVMRegressor(C=100.0, epsilon=10.0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.4)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SIMPLESVM_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    _y_checks: ClassVar[dict[str, Any] | None] = {"y_numeric": True}

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-5,
        low_rank: Any = None,
        selection: str = "block",
        block_size: int = 256,
        max_sweeps: int | None = None,
        cache_size: float = 200,
        time_limit: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ):
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.low_rank = low_rank
        self.selection = selection
        self.block_size = block_size
        self.max_sweeps = max_sweeps
        self.cache_size = cache_size
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to a data set.

        Parameters
        ----------
        X (square) : shared
        y : array-like of shape (n_samples,)
            Values.
        sample_weight : shared

        Returns
        -------
        self : object
            The fitted regressor. After Ctrl-C it has what was learned so far.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more examples; afterwards the solution is that of all examples kept.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples, one or many.
        y : array-like of shape (n_samples,)
            Values.
        sample_weight : shared

        Returns
        -------
        self : object
            The regressor.
        """
        return self._learn_checked(X, y, None, sample_weight)

    def _encoder(self, y: np.ndarray) -> Targets:
        return Targets(1, False)

    def _stream_encoder(self, y: np.ndarray, known: Targets | None, classes: Any) -> Targets:
        return Targets(1, False)

    def _task(self, encoder: Any) -> Any:
        from ..core.simplesvm.tasks import Regression

        return Regression(float(self.C), float(self.epsilon))

    def _explained(self, error: Exception) -> Exception:
        if type(error).__name__ != "NoSolutionError":
            return error
        return ValueError(
            f"C={self.C} has no solution: no function of this kernel is within epsilon="
            f"{self.epsilon} of all values. Use a finite C, or a larger epsilon."
        )

    def predict(self, X: Any) -> np.ndarray:
        """The value of each example.

        Parameters
        ----------
        X : shared

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Values.
        """
        return self._view().decide(X)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Prediction intervals that contain the target in a share ``coverage`` of cases.

        All intervals have the same width, a quantile of the errors of ``leave_one_out_decision`` on
        the stored examples (the jackknife). These are computed in every call, so pass many examples
        at once.

        Parameters
        ----------
        X : shared
        coverage : float, default=0.9
            Share of the targets that should lie inside, between 0 and 1.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends; infinite if there are too few examples for this coverage.
        """
        check_share(coverage, "coverage")
        values = self.predict(X)
        predicted, trained = self._leave_one_out()
        errors = np.sort(np.abs(predicted[:, 0] - trained.learner.target))
        needed = math.ceil(coverage * (len(errors) + 1) * (1.0 - 1e-12))
        half = errors[needed - 1] if needed <= len(errors) else np.inf
        return np.stack([values - half, values + half], axis=-1)

    def leave_one_out_decision(self) -> np.ndarray:
        """Predicted values of the stored examples, each by the model without that example.

        Returns
        -------
        values : ndarray of shape (n_kept,)
            In the order in which the examples were given.
        """
        return self._leave_one_out()[0][:, 0]

    def leave_one_out_error(self) -> float:
        """Mean absolute error of ``leave_one_out_decision``.

        Returns
        -------
        error : float
            In units of y.
        """
        values, trained = self._leave_one_out()
        return float(np.abs(values[:, 0] - trained.learner.target).mean())


@shared_docs
class SimpleSVMOneClass(SimpleSVMEstimator, NoveltyDetector):
    """Exact one-class SVM that keeps its optimum while examples come and go.

    Solves the problem of ``OneClassSVM``, the support of a distribution, by the active-set method
    of ``SimpleSVMClassifier``.

    Parameters
    ----------
    kernel, gamma (SimpleSVM), degree, coef0, nu, tol, low_rank, selection, block_size : shared
    max_sweeps, cache_size (SimpleSVM), time_limit, n_jobs : shared
    random_state : int, RandomState instance or None, default=None
        Seed for the start and for random selection.

    Attributes
    ----------
    support_vectors_, support_ (SimpleSVM), dual_coef_ (novelty), gamma_ (SimpleSVM) : shared
    coef_ (SimpleSVM), intercept_ (SimpleSVM), offset_, n_support_ (number) : shared
    shape_fit_ (SimpleSVM), fit_status_ (SimpleSVM), n_kernel_evaluations_, n_sweeps_ : shared
    kkt_violation_, dual_objective_, n_features_in_, feature_names_in_ (SimpleSVM) : shared

    See Also
    --------
    onlinesvm.LASVMOneClass : For more rows and streams.
    onlinesvm.SimpleSVMClassifier : The same for classes.

    References
    ----------
    S.V.N. Vishwanathan, A.J. Smola, M.N. Murty. SimpleSVM. ICML 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinesvm import SimpleSVMOneClass
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = SimpleSVMOneClass(nu=0.1).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SIMPLESVM_CONSTRAINTS,
        "nu": [Interval(Real, 0.0, 1.0, closed="right")],
    }

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        nu: float = 0.5,
        tol: float = 1e-5,
        low_rank: Any = None,
        selection: str = "block",
        block_size: int = 256,
        max_sweeps: int | None = None,
        cache_size: float = 200,
        time_limit: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.nu = nu
        self.tol = tol
        self.low_rank = low_rank
        self.selection = selection
        self.block_size = block_size
        self.max_sweeps = max_sweeps
        self.cache_size = cache_size
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the support of a data set.

        Parameters
        ----------
        X (square) : shared
        y : Ignored
            Not used; present for API consistency.
        sample_weight (bound) : shared

        Returns
        -------
        self : object
            The fitted estimator. After Ctrl-C it has what was learned so far.
        """
        return self._fit(X, None, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn more examples; afterwards the solution is that of all examples kept.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples, one or many.
        y : Ignored
            Not used; present for API consistency.
        sample_weight (bound) : shared

        Returns
        -------
        self : object
            The estimator.
        """
        return self._learn_checked(X, None, None, sample_weight)

    def _task(self, encoder: Any) -> Any:
        from ..core.simplesvm.tasks import OneClass

        return OneClass(float(self.nu))

    def p_values(self, X: Any) -> np.ndarray:
        """Conformal p-values: how often a normal example is at least as unusual as each of these.

        The share of the stored examples, and the example itself, whose decision value by the model
        without them is no larger. Of examples from the distribution that was learned, the share
        with a p-value of at most p is at most about p: the rate of false alarms, whatever ``nu``
        is.

        Parameters
        ----------
        X : shared

        Returns
        -------
        p : ndarray of shape (n_samples,)
            Between 0 and 1, small for novelties.
        """
        values = self.decision_function(X)
        known = np.sort(self.leave_one_out_decision())
        return (1 + np.searchsorted(known, values, side="right")) / (1 + len(known))

    def leave_one_out_decision(self) -> np.ndarray:
        """Decision values of the stored examples, each by the model without that example.

        Returns
        -------
        values : ndarray of shape (n_kept,)
            In the order in which the examples were given.
        """
        return self._leave_one_out()[0][:, 0]

    def leave_one_out_error(self) -> float:
        """Share of the stored examples that are outliers to the model without them.

        Returns
        -------
        error : float
            Between 0 and 1.
        """
        return float(np.mean(self.leave_one_out_decision() < 0))
