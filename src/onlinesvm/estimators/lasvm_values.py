"""LASVM for values and for novelty: see ``LASVMRegressor`` and ``LASVMOneClass``."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin, _fit_context
from sklearn.metrics import d2_pinball_score
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ..core.runtime.interrupts import Interruptible
from ._lasvm import LASVMEstimator
from ._progress import with_callbacks
from .base import one_row
from .labels import Targets, check_quantiles, check_share, check_targets
from .novelty import NoveltyDetector
from .params import FEATURE_WEIGHTS, LASVM_CONSTRAINTS, shared_docs
from .trained import Trained


@shared_docs
class LASVMRegressor(RegressorMixin, LASVMEstimator):
    """Support vector regression that learns in blocks, or one example at a time (LASVM).

    Solves the problem of ``SVR``: errors up to ``epsilon`` cost nothing, larger ones C times
    the excess. Its dual is ::

        max_a  sum_i a_i y_i - 1/2 sum_ij a_i a_j k(x_i, x_j) - epsilon sum_i |a_i|
        with   sum_i a_i = 0,   -C <= a_i <= C

    and is optimised by the online iterations of ``LASVMClassifier``: examples outside the tube are
    added to the support set, which is improved block by block, and those that end up inside it are
    removed. One pass over the data predicts about as well as the exact ``SVR``;
    ``epochs="converge"`` gives the exact one.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error beyond ``epsilon``, as in ``SVR``. ``inf`` allows no such error, if
        the kernel can avoid them.
    epsilon : float, default=0.1
        Errors up to this size cost nothing, as in ``SVR``. It has no effect with ``quantile``.
    quantile : float, array-like of float or None, default=None
        Predict this quantile of the target, between 0 and 1, instead of its middle: errors above
        it cost ``quantile * C``, errors below ``(1 - quantile) * C`` (the pinball loss). Several, in
        ascending order, are learned at once on shared kernel values; predictions then have a
        column for each. About this share of the training targets lies below; of new targets, see
        ``calibrated``.
    calibrated : bool, default=False
        Shift each quantile so that about the share asked for of *new* targets lies below it. The more
        closely a model follows the training targets, the more new ones lie outside its outer
        quantiles, which are moved outwards. The offset of each is a quantile of the errors of
        examples by models that have not learned them: of a fit, models of 9 tenths of the data at a
        time, which takes as long as one to four further fits; of a stream or with a limited
        memory, models before each example is learned. ``intercept_``, predictions, explanations,
        files and exports include it. False: the exact solution of the problem, as ``SVR``'s.
        Without ``quantile``, or with fewer than 20 examples, it has no effect.
    kernel (LASVM), gamma, degree, coef0, feature_weights : shared
    tol : float, default=1e-3
        Tolerance: violations up to it are accepted, in units of about the standard deviation of y
        (the power of two nearest to it), or of most of its values if outliers make that large.
        With a number of ``epochs``, ``fit`` accepts violations of up to a tenth of ``epsilon``, if
        that is larger.
    epochs (LASVM), block_size (LASVM) : shared
    window : int or None, default=None
        Number of most recent examples that count. Examples that leave the window are removed
        exactly: after ``finish`` the model is the ``SVR`` of the last ``window`` examples.
    budget : shared
    policy : {"outlier", "oldest", "join"}, default="oldest"
        Which support vector is removed when the budget is full. ``"oldest"`` forgets fastest;
        ``"outlier"``: three times out of four the one farthest from the tube, otherwise the
        oldest; ``"join"`` moves a coefficient to the nearest neighbour.
    half_life, cache_size, shuffle (LASVM), time_limit (finishing), n_jobs : shared
    random_state (LASVM), shrinking, verbose (SVC), max_iter : shared

    Attributes
    ----------
    support_vectors_, support_ : shared
    dual_coef_ : ndarray of shape (n_targets, n_SV)
        Signed coefficients.
    gamma_ : shared
    coef_ : ndarray of shape (n_targets, n_features)
        Weight vectors; linear kernel only.
    intercept_ : ndarray of shape (n_targets,)
        Biases.
    feature_weights_ : shared
    n_support_ (number), fit_status_, shape_fit_, n_kernel_evaluations_, n_iter_, window_ : shared
    n_features_in_, feature_names_in_ : shared

    See Also
    --------
    onlinesvm.AutoSVMRegressor : Chooses kernel, C, gamma and epsilon by itself.
    onlinesvm.SimpleSVMRegressor : Exact at every step; leave-one-out.

    Notes
    -----
    *Targets of any size.* ``C`` and ``epsilon`` mean what they mean in ``SVR``: ``epsilon`` is in
    units of y, and with y multiplied by s, the same model needs ``s * epsilon`` and ``s * C``.
    The defaults suit a target with a standard deviation of about 1, so standardise it, for
    example with ``TransformedTargetRegressor(LASVMRegressor(), transformer=StandardScaler())``.
    Nothing else depends on the size of y: targets of 1e6 or 1e-6 lose no digits.

    *Several targets.* With a two-dimensional y each column is a separate problem; all share rows
    and, while the examples are learned, kernel values.

    Rows are stored in single precision. For the RBF kernel, which does not depend on the origin,
    they are centred by the median of the first block. Dense rows of mostly zeros are stored
    sparse. ``fit`` merges duplicates of an example into one whose cost is the sum of theirs, which
    is the same problem; its coefficient may then exceed ``C``.

    References
    ----------
    A. Bordes, S. Ertekin, J. Weston, L. Bottou. Fast Kernel Classifiers with Online and Active
    Learning. JMLR 6, 2005.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from onlinesvm import LASVMRegressor
    >>> X, y = make_friedman1(1200, random_state=0)
    >>> model = LASVMRegressor(C=100, gamma=0.5, random_state=0).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.95)
    True

    A stream, in pieces of any size:

    >>> stream = LASVMRegressor(C=100, gamma=0.5)
    >>> for start in range(0, 1000, 100):
    ...     stream = stream.partial_fit(X[start:start + 100], y[start:start + 100])
    >>> bool(stream.finish().score(X[1000:], y[1000:]) > 0.95)
    True

    Only the last 500 examples count:

    >>> recent = LASVMRegressor(C=100, gamma=0.5, window=500).partial_fit(X[:100], y[:100])
    >>> for x, target in zip(X[100:1000], y[100:1000]):
    ...     recent = recent.learn_one(x, target)
    >>> bool(recent.finish().score(X[1000:], y[1000:]) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LASVM_CONSTRAINTS,
        "C": [Interval(Real, 0.0, None, closed="right")],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "quantile": [Real, "array-like", None],
        "calibrated": ["boolean"],
        "feature_weights": FEATURE_WEIGHTS,
    }

    _y_checks: ClassVar[dict[str, Any] | None] = {"multi_output": True, "y_numeric": True}

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        quantile: Any = None,
        calibrated: bool = False,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        feature_weights: Any = None,
        tol: float = 1e-3,
        epochs: int | str = 1,
        block_size: int = 2048,
        window: int | None = None,
        budget: int | None = None,
        policy: str = "oldest",
        half_life: float | None = None,
        cache_size: float = 200,
        shuffle: bool = True,
        time_limit: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = 0,
        shrinking: bool = True,
        verbose: bool = False,
        max_iter: int = -1,
    ):
        self.C = C
        self.epsilon = epsilon
        self.quantile = quantile
        self.calibrated = calibrated
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.feature_weights = feature_weights
        self.tol = tol
        self.epochs = epochs
        self.block_size = block_size
        self.window = window
        self.budget = budget
        self.policy = policy
        self.half_life = half_life
        self.cache_size = cache_size
        self.shuffle = shuffle
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.shrinking = shrinking
        self.verbose = verbose
        self.max_iter = max_iter

    def _settings(self, trained: Trained) -> dict[str, Any]:
        common = {"tau": self.tol, "cache_size": self.cache_size, "block_size": self.block_size}
        return common | self._bounded_settings(trained)

    def _bounded_settings(self, trained: Trained) -> dict[str, Any]:
        from ..core.lasvm.tasks import Regression

        machines = len(trained.encoder)
        if self._shares is not None:
            from ..core.lasvm.costs import RegressionOfCosts

            return {"task": RegressionOfCosts(float(self.epsilon), self._shares, machines)}
        if self.quantile is None:
            return {"task": Regression(float(self.epsilon), machines)}
        return {"task": Regression(0.0, machines, self._levels(machines))}

    def _levels(self, machines: int) -> np.ndarray:
        """The quantile that each machine learns."""
        return np.broadcast_to(check_quantiles(self.quantile), machines).copy()

    @property
    def _quantiles(self) -> np.ndarray | None:
        return None if self.quantile is None else check_quantiles(self.quantile)

    def _make_learner(self, trained: Trained, data: Any, n_labels: int) -> Any:
        from ..core.prequential.residuals import Residuals

        learner = super()._make_learner(trained, data, n_labels)
        if self._shares is not None:
            return learner
        machines, several = learner.machines, self._n_quantiles is not None
        wanted = self.calibrated and self.quantile is not None
        learner.watch = Residuals(machines, several, self._levels(machines) if wanted else None)
        return learner

    def _view_extras(self, trained: Trained) -> dict[str, Any]:
        watch = trained.learner.watch
        return {"thresholds": None if watch is None else watch.snapshot()}

    @property
    def _n_quantiles(self) -> int | None:
        """Number of quantiles; None: one value for each target."""
        if self.quantile is None:
            return None
        levels = check_quantiles(self.quantile)
        return len(levels) if levels.ndim else None

    def _checked(self, X: Any, y: Any, before: Trained | None) -> Any:
        given = super()._checked(X, y, before)
        known = None if before is None else before.encoder
        return given._replace(y=check_targets(given.y, known, self._n_quantiles)[0])

    def _encoder(self, y: np.ndarray) -> Targets:
        return check_targets(y, None, self._n_quantiles)[1]

    def _stream_encoder(self, y: np.ndarray, known: Targets | None, classes: Any) -> Targets:
        return check_targets(y, known, self._n_quantiles)[1]

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to a data set.

        Parameters
        ----------
        X (or objects) : shared
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : shared

        Returns
        -------
        self : object
            The fitted regressor. After Ctrl-C it has what was learned so far.
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn examples of a stream, one row or many, in the order given.

        Invalid input raises an error and changes nothing. After Ctrl-C the examples up to the last finished
        block are learned, the others are not.

        Parameters
        ----------
        X (stream) : shared
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : shared

        Returns
        -------
        self : object
            The regressor, updated.
        """
        return self._learn_many(X, y, None, sample_weight)

    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn one example, as ``partial_fit`` does with one row, in microseconds.

        For streams of dense input once the model has seen its first examples. Invalid input raises an error and changes nothing.

        Parameters
        ----------
        x : shared
        y : float or array-like of shape (n_targets,)
            Target.
        sample_weight : float, default=1.0
            Weight.

        Returns
        -------
        self : object
            The regressor, updated.
        """
        return self._learn_one(x, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """The value of each example.

        Parameters
        ----------
        X : shared

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Values, in the shape of the y that was learned; (n_samples, n_quantiles) if there are
            several quantiles, in ascending order also where those of two machines cross.
        """
        check_is_fitted(self)
        with Interruptible():
            view = self._view()
            values: np.ndarray = view.encoder.decode(view.decide(X))
            return values

    def predict_one(self, x: Any) -> Any:
        """The value of one row: as ``predict``, in microseconds.

        Parameters
        ----------
        x : shared

        Returns
        -------
        y : float or ndarray of shape (n_targets,)
            Value, or one for each target if the y that was learned had two dimensions.
        """
        values, encoder = self._decide_one(one_row(x, "predict_one", "predict"))
        return encoder.decode(values)[0] if encoder.two_dimensional else float(values[0, 0])

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Prediction intervals that contain the target in a share ``coverage`` of cases.

        The intervals adapt while the model learns: over any long part of a stream, with each
        interval computed before its example is learned, about the share ``coverage`` of the targets
        lies inside, even if the distribution changes (adaptive conformal prediction). They are
        based on the errors of examples that were predicted before they were learned, and assume
        nothing about the errors. After ``fit`` they are quantiles of the errors in the second half
        of the data.

        With several quantiles, an interval extends from the lowest to the highest of them, adjusted
        by the errors, and its width differs between examples. Otherwise all intervals have the same
        width.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.
        coverage : float, default=0.9
            Share of the targets that should lie inside, between 0 and 1. Above 0.999 the intervals
            are infinite.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper ends.
        """
        check_share(coverage, "coverage")
        check_is_fitted(self)
        with Interruptible():
            view = self._view()
            values = view.encoder.decode(view.decide(X))
            return self._around(values, view.more["thresholds"], coverage)

    def predict_interval_one(self, x: Any, coverage: float = 0.9) -> np.ndarray:
        """The interval of one row: as ``predict_interval``, in microseconds.

        Parameters
        ----------
        x : array-like of shape (n_features,)
            Features.
        coverage : float, default=0.9
            Share of the targets that should lie inside, between 0 and 1.

        Returns
        -------
        interval : ndarray of shape (2,) or (n_targets, 2)
            Lower and upper end.
        """
        check_share(coverage, "coverage")
        values, _ = self._decide_one(one_row(x, "predict_interval_one", "predict_interval"))
        trained = self._fitted("")
        values = trained.encoder.decode(values if values.shape[1] > 1 else values[0])
        return self._around(values, self._view_extras(trained)["thresholds"], coverage)[0]

    def _around(self, values: np.ndarray, q: np.ndarray | None, coverage: float) -> np.ndarray:
        """Intervals around predictions; raises an error if too few errors are known."""
        from ..core.prequential.thresholds import interpolated

        if q is None:
            raise ValueError(
                "predict_interval needs the errors of at least 20 examples that were predicted "
                "before they were learned: learn more examples with fit, partial_fit or "
                "learn_one."
            )
        width = np.array([interpolated(each, 1.0 - coverage) for each in q])
        return intervals(values, width, self._n_quantiles is not None)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2 of the predictions; with several quantiles, the mean share of pinball loss explained.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Examples.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        score : float
            1 for perfect predictions; 0 for those of a constant model.
        """
        if self._n_quantiles is None:
            return float(super().score(X, y, sample_weight))
        values, levels = self.predict(X), check_quantiles(self.quantile)
        each = [
            d2_pinball_score(y, column, alpha=level, sample_weight=sample_weight)
            for column, level in zip(values.T, levels, strict=True)
        ]
        return float(np.mean(each))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


@shared_docs
class LASVMOneClass(LASVMEstimator, NoveltyDetector):
    """Novelty detection that learns in blocks, or one example at a time (LASVM).

    Solves the problem of ``OneClassSVM``, the support of a distribution. Its dual is ::

        min_a  1/2 sum_ij a_i a_j k(x_i, x_j)    with   0 <= a_i <= 1,   sum_i a_i = nu n

    for n examples. It is optimised by the online iterations of ``LASVMClassifier``: examples
    outside are added to the support set, which is improved block by block, and those that end up
    well inside are removed. One pass over the data gives about the ranking of the exact
    ``OneClassSVM``; ``epochs="converge"`` gives the exact one.

    Parameters
    ----------
    kernel (LASVM), gamma, degree, coef0, nu : shared
    tol : float, default=1e-3
        Tolerance: violations up to it are accepted, in units of about ``offset_``, or of the spread
        of most decision values if that is much smaller.
    epochs (LASVM), block_size (LASVM) : shared
    window : int or None, default=None
        Number of most recent examples that count. Examples that leave the window are removed
        exactly: after ``finish`` the model is the ``OneClassSVM`` of the last ``window`` examples.
    budget : shared
    policy : {"outlier", "oldest", "join"}, default="oldest"
        Which support vector is removed when the budget is full. ``"oldest"`` forgets fastest;
        ``"outlier"``: three times out of four the one farthest outside, otherwise the oldest;
        ``"join"`` moves a coefficient to the nearest neighbour.
    half_life (novelty), cache_size, shuffle (LASVM), time_limit (finishing), n_jobs : shared
    random_state (LASVM), shrinking, verbose (SVC), max_iter : shared

    Attributes
    ----------
    support_vectors_, support_, dual_coef_ (novelty), gamma_ : shared
    coef_ : ndarray of shape (1, n_features)
        Weight vector; linear kernel only.
    intercept_ : ndarray of shape (1,)
        Bias, ``-offset_``.
    offset_, n_support_ (number), fit_status_, shape_fit_, n_kernel_evaluations_, n_iter_ : shared
    window_, n_features_in_, feature_names_in_ : shared

    See Also
    --------
    onlinesvm.SimpleSVMOneClass : Exact at every step; leave-one-out.
    onlinesvm.LASVMClassifier : If there are labels.

    Notes
    -----
    On a stream the sum of the coefficients grows with every example, so that ``nu`` keeps its
    meaning for all examples seen. With weights, ``a_i`` is at most the weight, and the sum is
    ``nu`` times the sum of the weights, as in ``OneClassSVM``. ``fit`` merges duplicates of an
    example into one whose weight is the sum of theirs, which is the same problem.

    With ``window`` the sum is ``nu`` times the weights of the examples in the window, whether they
    are support vectors or not; with ``half_life`` the weights of old examples decrease. With
    ``budget``, a removed support vector takes its coefficient with it, so that a small ``budget``
    leaves more examples outside than ``nu`` says; use ``window`` if ``nu`` matters.

    References
    ----------
    A. Bordes, S. Ertekin, J. Weston, L. Bottou. Fast Kernel Classifiers with Online and Active
    Learning. JMLR 6, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinesvm import LASVMOneClass
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = LASVMOneClass(nu=0.1, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]])
    array([ 1, -1])

    The distribution changes; only the last 100 examples count:

    >>> stream = LASVMOneClass(nu=0.1, gamma=0.5, window=100)
    >>> for x in X + np.linspace(0, 9, 500)[:, None]:
    ...     stream = stream.learn_one(x)
    >>> stream.finish().predict([[0.0, 0.0], [8.0, 8.0]])
    array([-1,  1])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LASVM_CONSTRAINTS,
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
        tol: float = 1e-3,
        epochs: int | str = 1,
        block_size: int = 2048,
        window: int | None = None,
        budget: int | None = None,
        policy: str = "oldest",
        half_life: float | None = None,
        cache_size: float = 200,
        shuffle: bool = True,
        time_limit: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = 0,
        shrinking: bool = True,
        verbose: bool = False,
        max_iter: int = -1,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.nu = nu
        self.tol = tol
        self.epochs = epochs
        self.block_size = block_size
        self.window = window
        self.budget = budget
        self.policy = policy
        self.half_life = half_life
        self.cache_size = cache_size
        self.shuffle = shuffle
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.shrinking = shrinking
        self.verbose = verbose
        self.max_iter = max_iter

    def _settings(self, trained: Trained) -> dict[str, Any]:
        common = {"tau": self.tol, "cache_size": self.cache_size, "block_size": self.block_size}
        return common | self._bounded_settings(trained)

    def _bounded_settings(self, trained: Trained) -> dict[str, Any]:
        from ..core.lasvm.tasks import OneClass

        return {"task": OneClass(float(self.nu))}

    def _make_learner(self, trained: Trained, data: Any, n_labels: int) -> Any:
        from ..core.prequential.novelties import Novelties

        learner = super()._make_learner(trained, data, n_labels)
        learner.watch = Novelties(learner.support)
        return learner

    def _view_extras(self, trained: Trained) -> dict[str, Any]:
        return {"known": trained.learner.watch.snapshot()}

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the support of a data set.

        Parameters
        ----------
        X (or objects) : shared
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
        """Learn examples of a stream, one row or many, in the order given.

        Invalid input raises an error and changes nothing. After Ctrl-C the examples up to the last finished
        block are learned, the others are not.

        Parameters
        ----------
        X (stream) : shared
        y : Ignored
            Not used; present for API consistency.
        sample_weight (bound) : shared

        Returns
        -------
        self : object
            The estimator, updated.
        """
        return self._learn_many(X, None, None, sample_weight)

    def learn_one(self, x: Any, sample_weight: float = 1.0) -> Self:
        """Learn one example, as ``partial_fit`` does with one row, in microseconds.

        For streams of dense input once the model has seen its first examples. Invalid input raises an error and changes nothing.

        Parameters
        ----------
        x : shared
        sample_weight : float, default=1.0
            Weight.

        Returns
        -------
        self : object
            The estimator, updated.
        """
        return self._learn_one(x, None, sample_weight)

    def decision_one(self, x: Any) -> float:
        """Signed distance of one row from the boundary, as ``decision_function``, in microseconds.

        Parameters
        ----------
        x : shared

        Returns
        -------
        value : float
            Distance, positive inside.
        """
        values, _ = self._decide_one(one_row(x, "decision_one", "decision_function"))
        return float(values[0, 0])

    def p_values(self, X: Any) -> np.ndarray:
        """p-values for the hypothesis that each row is like the examples learned.

        The p-value is the share of examples whose decision value, by the model before it learned
        them, was no larger; the row itself is counted with them. These are the last 1,000 examples
        of a stream, or half of those of ``fit``, at most 4,096. Values of ``decision_function`` and
        of ``score_samples`` are both ranked, divided by the sum of the coefficients, which grows
        while a model learns; the larger share is the p-value. For new examples like those learned,
        the share with a p-value of at most p, the rate of false alarms, is about p up to
        p = ``nu``, and no larger than p above. It is below p after ``fit``, because earlier models
        knew fewer examples of the edge: of normal data in three dimensions 0.6 to 0.9 of p if
        ``nu`` times the number of examples is at least 50, and a quarter to a half of p if it is 10
        to 20; those of ``SimpleSVMOneClass``, by leave-one-out, were 0.7 to 1.2 of p. In ``fit``,
        copies of an example count once, which makes p-values larger, if anything.

        Parameters
        ----------
        X : shared

        Returns
        -------
        p : ndarray of shape (n_samples,)
            Between 0 and 1, small for novelties. As long as nothing is known, it is 1: after a first
            call of ``partial_fit`` too, if it learned its rows together, as one block.

        Examples
        --------
        >>> import numpy as np
        >>> from onlinesvm import LASVMOneClass
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> p = LASVMOneClass(nu=0.1, random_state=0).fit(X).p_values([[0.0, 0.0], [5.0, 5.0]])
        >>> p.round(2).tolist()
        [0.78, 0.0]
        """
        from ..core.prequential.novelties import p_values, ranked_by

        check_is_fitted(self)
        with Interruptible():
            view = self._view()
            by = view.coefficients().sum(), view.biases()[0]
            return p_values(view.more["known"], ranked_by(view.decide(X), *by))

    def p_value_one(self, x: Any) -> float:
        """The p-value of one row: as ``p_values``.

        Parameters
        ----------
        x : shared

        Returns
        -------
        p : float
            Between 0 and 1, small for a novelty.
        """
        from ..core.prequential.novelties import p_values, ranked_by

        values, _ = self._decide_one(one_row(x, "p_value_one", "p_values"))
        learner = self._fitted("").learner
        by = learner.support.alpha().sum(), learner.support.a.bias[0]
        return float(p_values(learner.watch.snapshot(), ranked_by(values[0], *by))[0])

    def predict_one(self, x: Any) -> int:
        """Whether one row is an inlier, as ``predict``.

        Parameters
        ----------
        x : shared

        Returns
        -------
        y : int
            1 inside, -1 outside.
        """
        return 1 if self.decision_one(one_row(x, "predict_one", "predict")) >= 0 else -1


def intervals(values: np.ndarray, width: np.ndarray, quantiles: bool) -> np.ndarray:
    """Lower and upper ends around values, or around the lowest and the highest quantile."""
    if quantiles:
        low, high = values[:, 0] - width[0], values[:, -1] + width[0]
        middle = (low + high) / 2  # a negative width may exceed the distance of the quantiles
        return np.stack([np.minimum(low, middle), np.maximum(high, middle)], axis=-1)
    half = width if values.ndim > 1 else width[0]
    return np.stack([values - half, values + half], axis=-1)
