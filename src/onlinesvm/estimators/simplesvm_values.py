"""SimpleSVM for values and for novelty: see ``SimpleSVMRegressor`` and ``SimpleSVMOneClass``."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval

from ._progress import with_callbacks
from ._simplesvm import SimpleSVMEstimator
from .base import NoveltyDetector
from .labels import Targets
from .params import SIMPLESVM_CONSTRAINTS


class SimpleSVMRegressor(RegressorMixin, SimpleSVMEstimator):
    """Exact support vector regression that keeps its optimum while examples come and go.

    Solves the problem of ``SVR`` by the active-set method of ``SimpleSVMClassifier``: errors up
    to ``epsilon`` cost nothing, larger ones C times what exceeds it.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error beyond ``epsilon``. Infinity is allowed where a function exists whose
        errors are all at most ``epsilon``.
    epsilon : float, default=0.1
        Errors up to this cost nothing.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        Kernel. A callable takes arrays of shapes (n, d) and (m, d) and returns (n, m) values.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of ``rbf``, ``poly`` and ``sigmoid``.
    degree : int, default=3
        Degree of ``poly``.
    coef0 : float, default=0.0
        Constant of ``poly`` and ``sigmoid``.
    tol : float, default=1e-5
        Learning stops when no example's part of the KKT gap exceeds it.
    low_rank : int, float, "linear", callable or None, default=None
        Replace the kernel matrix by one of low rank, as in ``SimpleSVMClassifier``.
    selection : {"block", "sweep", "random"}, default="block"
        Violators to work on next, as in ``SimpleSVMClassifier``.
    block_size : int, default=256
        Violators at a time.
    max_sweeps : int or None, default=None
        Maximum number of sweeps.
    cache_size : float, default=200
        Memory in MB, half of it for the factor, half for kernel values.
    time_limit : float or None, default=None
        Seconds after which ``fit`` ends with what was learned so far, and a warning;
        ``partial_fit`` goes on from there.
    n_jobs : int or None, default=-1
        Number of threads. -1 is all cores; None is 1, unless in a ``joblib.parallel_config``.
    random_state : int, RandomState instance or None, default=None
        Seed of random selection.

    Attributes
    ----------
    support_vectors_ : {ndarray, CSR matrix} of shape (n_SV, n_features)
        Support vectors.
    support_ : ndarray of shape (n_SV,)
        Their numbers among the examples given, ascending.
    dual_coef_ : ndarray of shape (1, n_SV)
        Signed coefficients.
    gamma_ : float
        The gamma in use; kernels that have one.
    coef_ : ndarray of shape (1, n_features)
        Weight vectors; linear kernel only.
    intercept_ : ndarray of shape (1,)
        Bias.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    shape_fit_ : tuple of int
        Number of examples kept, and of their features.
    fit_status_ : int
        0 if the solution is optimal, 1 if ``max_sweeps`` ended the search before.
    n_kernel_evaluations_ : int
        Kernel values computed while learning.
    n_sweeps_ : int
        Sweeps made.
    kkt_violation_ : float
        Largest part of the KKT gap of any example.
    dual_objective_ : ndarray of shape (1,)
        The minimised objective.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where X had some.

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
        """Learn a data set at hand.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples; with ``kernel="precomputed"`` the square matrix of kernel values.
        y : array-like of shape (n_samples,)
            Values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights that multiply each example's cost.

        Returns
        -------
        self : object
            The fitted regressor. After Ctrl-C it is what was learned so far.
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
        sample_weight : array-like of shape (n_samples,), default=None
            Weights that multiply each example's cost.

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
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Values.
        """
        return self._view().decide(X)

    def leave_one_out_decision(self) -> np.ndarray:
        """Predicted values of the kept examples, each by the model without that example.

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


class SimpleSVMOneClass(SimpleSVMEstimator, NoveltyDetector):
    """Exact one-class SVM that keeps its optimum while examples come and go.

    Solves the problem of ``OneClassSVM``, the support of a distribution, by the active-set method
    of ``SimpleSVMClassifier``.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable, default="rbf"
        Kernel. A callable takes arrays of shapes (n, d) and (m, d) and returns (n, m) values.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of ``rbf``, ``poly`` and ``sigmoid``.
    degree : int, default=3
        Degree of ``poly``.
    coef0 : float, default=0.0
        Constant of ``poly`` and ``sigmoid``.
    nu : float, default=0.5
        At most this share of the examples lies outside, at least this share supports the edge.
    tol : float, default=1e-5
        Learning stops when no example's part of the KKT gap exceeds it.
    low_rank : int, float, "linear", callable or None, default=None
        Replace the kernel matrix by one of low rank, as in ``SimpleSVMClassifier``.
    selection : {"block", "sweep", "random"}, default="block"
        Violators to work on next, as in ``SimpleSVMClassifier``.
    block_size : int, default=256
        Violators at a time.
    max_sweeps : int or None, default=None
        Maximum number of sweeps.
    cache_size : float, default=200
        Memory in MB, half of it for the factor, half for kernel values.
    time_limit : float or None, default=None
        Seconds after which ``fit`` ends with what was learned so far, and a warning;
        ``partial_fit`` goes on from there.
    n_jobs : int or None, default=-1
        Number of threads. -1 is all cores; None is 1, unless in a ``joblib.parallel_config``.
    random_state : int, RandomState instance or None, default=None
        Seed of the start and of random selection.

    Attributes
    ----------
    support_vectors_ : {ndarray, CSR matrix} of shape (n_SV, n_features)
        Support vectors.
    support_ : ndarray of shape (n_SV,)
        Their numbers among the examples given, ascending.
    dual_coef_ : ndarray of shape (1, n_SV)
        Coefficients.
    gamma_ : float
        The gamma in use; kernels that have one.
    coef_ : ndarray of shape (1, n_features)
        Weight vectors; linear kernel only.
    intercept_ : ndarray of shape (1,)
        Bias.
    offset_ : float
        ``score_samples(X) - offset_`` is the decision function.
    n_support_ : ndarray of shape (1,)
        Number of support vectors.
    shape_fit_ : tuple of int
        Number of examples kept, and of their features.
    fit_status_ : int
        0 if the solution is optimal, 1 if ``max_sweeps`` ended the search before.
    n_kernel_evaluations_ : int
        Kernel values computed while learning.
    n_sweeps_ : int
        Sweeps made.
    kkt_violation_ : float
        Largest part of the KKT gap of any example.
    dual_objective_ : ndarray of shape (1,)
        The minimised objective.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray
        Names of the features, where X had some.

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
        """Learn the support of a data set at hand.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples; with ``kernel="precomputed"`` the square matrix of kernel values.
        y : Ignored
            There for scikit-learn's sake.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights that multiply each example's bound.

        Returns
        -------
        self : object
            The fitted estimator. After Ctrl-C it is what was learned so far.
        """
        return self._fit(X, None, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn more examples; afterwards the solution is that of all examples kept.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples, one or many.
        y : Ignored
            There for scikit-learn's sake.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights that multiply each example's bound.

        Returns
        -------
        self : object
            The estimator.
        """
        return self._learn_checked(X, None, None, sample_weight)

    def _task(self, encoder: Any) -> Any:
        from ..core.simplesvm.tasks import OneClass

        return OneClass(float(self.nu))

    def leave_one_out_decision(self) -> np.ndarray:
        """Decision values of the kept examples, each by the model without that example.

        Returns
        -------
        values : ndarray of shape (n_kept,)
            In the order in which the examples were given.
        """
        return self._leave_one_out()[0][:, 0]

    def leave_one_out_error(self) -> float:
        """Share of the kept examples that the model without them calls outliers.

        Returns
        -------
        error : float
            Between 0 and 1.
        """
        return float(np.mean(self.leave_one_out_decision() < 0))
