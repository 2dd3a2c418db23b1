"""Kernel SVMs with automatic settings: see ``AutoSVMClassifier`` and ``AutoSVMRegressor``."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import assert_all_finite, check_consistent_length, check_is_fitted

from ..core.runtime.interrupts import clock
from ..estimators.cells import CellEstimator
from ..estimators.explanation import Explanation
from ..estimators.labels import (
    LARGEST_TARGET,
    check_no_gaps,
    check_no_times,
    check_target_size,
    unique_labels,
)
from ..estimators.lasvm import LASVMClassifier
from ..estimators.lasvm_values import LASVMRegressor
from ..estimators.metric import plot_weights
from .callers import stacklevel_of_user
from .candidates import SCALES
from .columns import refuse_dictionaries
from .learning import Outcome, race_and_learn
from .showing import plot_race, race_bar, race_table
from .tables import TableEncoder

ENCODING = 0.1
"""Share of the time limit after which the table is not encoded again with another scale of numbers."""


class AutoSVM(BaseEstimator):
    """Base class of the classifier and the regressor."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "time_limit": [Interval(Real, 0.0, None, closed="neither"), None],
        "verbose": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    _has_classes: ClassVar[bool]
    _kind: ClassVar[Any]
    time_limit: float | None
    verbose: bool
    n_jobs: int | None
    random_state: Any
    best_estimator_: Pipeline
    feature_names_in_: np.ndarray

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Encode the table, race the settings, and fit the best one on all rows.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table: a data frame of pandas or polars with numbers, texts, categories, dates and
            gaps, or an array.
        y : array-like of shape (n_samples,)
            Labels, or numbers.

        Returns
        -------
        self : object
            The fitted estimator. After an error or Ctrl-C it is unchanged.
        """
        begin, seed = clock(), int(check_random_state(self.random_state).randint(2**31 - 1))
        y = self._checked(X, y)
        encoders, rows = self._encoded(X, y, seed, begin)
        with race_bar(self.verbose, begin, self.time_limit) as tell:
            found = race_and_learn(
                self._kind, rows, y, self._has_classes, begin=begin, limit=self.time_limit,
                n_jobs=self.n_jobs, seed=seed, tell=tell,
            )  # fmt: skip
        self._commit(found, encoders[found.winner.setting.numbers])
        return self

    def _encoded(
        self, X: Any, y: np.ndarray, seed: int, begin: float
    ) -> tuple[dict[str, TableEncoder], dict[str, np.ndarray]]:
        """Encoders and rows for each scale of numbers.

        Only for the first scale if the others would give the same rows, or if it has taken long.
        """
        encoders: dict[str, TableEncoder] = {}
        rows: dict[str, np.ndarray] = {}
        target = "auto" if self._has_classes else "continuous"
        latest = np.inf if self.time_limit is None else begin + ENCODING * self.time_limit
        for numbers in SCALES:
            if rows and (clock() > latest or not encoders[SCALES[0]].bent_.any()):
                break
            encoder = TableEncoder(numbers=numbers, target_type=target, random_state=seed)
            encoder.set_output(transform="default")  # arrays, whatever set_config asks for
            with warnings.catch_warnings():
                if rows:  # the first fit has warned already
                    warnings.simplefilter("ignore")
                rows[numbers] = encoder.fit_transform(X, y)
            encoders[numbers] = encoder
            if not rows[numbers].shape[1]:
                raise ValueError(
                    "Every column of the table has the same value in all rows: nothing can be learned. "
                    "Give at least one column whose values differ."
                )
        return encoders, rows

    def _commit(self, found: Outcome, encoder: TableEncoder) -> None:
        """Set all fitted attributes at once."""
        self.n_features_in_ = encoder.n_features_in_
        if hasattr(encoder, "feature_names_in_"):
            self.feature_names_in_ = encoder.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.best_estimator_ = Pipeline([("encode", encoder), ("svm", found.model)])
        self.best_params_ = found.parameters()
        self.best_error_ = found.race.error(found.winner)
        self.race_ = race_table(found.race, found.winner)
        self.learned_from_ = found.learned_from()
        if found.is_cut_short:
            level = stacklevel_of_user()
            warnings.warn(found.told(self.time_limit), ConvergenceWarning, stacklevel=level)

    # -- checks ---------------------------------------------------------------------------

    def _checked(self, X: Any, y: Any) -> np.ndarray:
        """y as an array; raises an error if invalid."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        refuse_dictionaries(X)
        check_no_gaps(y)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if len(y) < 2:
            raise ValueError(
                f"Found array with {len(y)} sample(s) while a minimum of 2 is required by "
                f"{type(self).__name__}."
            )
        return y

    def _fitted(self) -> Pipeline:
        """The fitted pipeline; raises an error before ``fit``."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    # -- using it -------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Labels or values of the rows of a table.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            A table with the columns of the training table.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels or values.
        """
        return np.asarray(self._fitted().predict(X))

    def explain(self, X: Any, *, n_examples: int = 3) -> Explanation:
        """Explain predictions: exact Shapley values of the encoded features.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            A table with the columns of the training table.
        n_examples : int, default=3
            Number of support vectors with the largest shares to return for each row.

        Returns
        -------
        explanation : Explanation
            As in ``LASVMClassifier.explain``, with the names of ``feature_names_out_``.
        """
        found: Explanation = self._asked("explain", X, n_examples=n_examples)
        return replace(found, feature_names=[str(name) for name in self.feature_names_out_])

    def _asked(self, name: str, X: Any, **rest: Any) -> Any:
        """The result of a method of the last step; raises an error if the model has cells."""
        pipeline = self._fitted()
        if isinstance(pipeline[-1], CellEstimator):
            raise ValueError(
                f"{name} needs a single model of all rows, and this model is divided into cells "
                f"({self.learned_from_}). Fit with a larger time_limit, or fit a sample of the "
                "rows."
            )
        return getattr(pipeline[-1], name)(pipeline[:-1].transform(X), **rest)

    @property
    def feature_weights_(self) -> np.ndarray:
        """Weights of the encoded features, in the order of ``feature_names_out_``."""
        weights: np.ndarray = self._fitted()[-1].feature_weights_
        return weights

    @property
    def feature_names_out_(self) -> np.ndarray:
        """Names of the encoded features."""
        names: np.ndarray = self._fitted()[0].get_feature_names_out()
        return names

    def plot_race(self, ax: Any = None) -> Any:
        """Draw the race: the error of each candidate against the number of rows it has learned.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        figure : matplotlib Figure
            The figure drawn on. The winner's line is thick.
        """
        self._fitted()
        return plot_race(self.race_, ax)

    def plot_feature_weights(self, ax: Any = None, most: int = 20) -> Any:
        """Draw ``feature_weights_`` as bars, the largest on top.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.
        most : int, default=20
            Number of features that are drawn.

        Returns
        -------
        figure : matplotlib Figure
            The figure drawn on.
        """
        return plot_weights(self.feature_weights_, self.feature_names_out_, ax, most)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


class AutoSVMClassifier(ClassifierMixin, AutoSVM):
    """Kernel support vector classifier for tables that chooses its settings.

    Columns are encoded (``onlinesvm.tables.TableEncoder``). Then candidates, which differ in
    kernel, C, gamma and feature weights, are compared in a race, similar to successive halving: they learn
    growing samples and are scored on held-out rows, the worse ones drop out, and the winner learns
    all rows. Of two candidates that differ by less than the noise, the simpler one wins.

    Parameters
    ----------
    time_limit : float or None, default=60
        Seconds that ``fit`` may take; None: no limit. If that is not enough to learn all rows in
        one model, the table is divided into cells with one model each, or a random sample is
        learned; ``fit`` then warns, and ``learned_from_`` says which.
    verbose : bool, default=False
        Whether to show a progress bar of the race.
    n_jobs : int or None, default=-1
        Number of threads. -1 is all cores; None is 1, unless in a ``joblib.parallel_config``.
    random_state : int, RandomState instance or None, default=0
        Seed for the samples. Two fits with the same seed are equal, unless the time limit
        determines the number of rounds or rows, which depends on the speed of the computer.

    Attributes
    ----------
    best_estimator_ : Pipeline
        The encoder and a ``LASVMClassifier``, which can be saved, exported, and trained further. A
        model of cells can only predict and be pickled.
    best_params_ : dict
        Parameters of that ``LASVMClassifier``.
    best_error_ : float
        Share of held-out rows that the winner misclassified in its last round.
    race_ : dict of ndarray
        One row for each candidate in each round; ``pandas.DataFrame(model.race_)`` shows it.
    learned_from_ : str
        The rows that the model has learned: all, cells, or a sample.
    feature_weights_ : ndarray
        Weights of the encoded features.
    feature_names_out_ : ndarray
        Names of the encoded features.
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray
        Names of the columns; only if X has some.

    See Also
    --------
    onlinesvm.LASVMClassifier : If the settings are known.
    onlinesvm.tables.TableEncoder : The first step of the pipeline.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from onlinesvm import AutoSVMClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = AutoSVMClassifier(time_limit=None).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _has_classes = True
    _kind = LASVMClassifier

    def __init__(
        self,
        *,
        time_limit: float | None = 60,
        verbose: bool = False,
        n_jobs: int | None = -1,
        random_state: Any = 0,
    ):
        self.time_limit = time_limit
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _checked(self, X: Any, y: Any) -> np.ndarray:
        y = super()._checked(X, y)
        assert_all_finite(y, input_name="y")
        labels = unique_labels(y, whole_set=True)
        if len(labels) < 2:
            raise ValueError(
                f"AutoSVMClassifier can't train when only one class is present: all {len(y)} labels "
                f"are {labels.tolist()[0]!r}; give rows of at least two classes."
            )
        return y

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed distance from the boundary, in units of the margin.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            A table with the columns of the training table.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for ``classes_[1]`` with two classes, else one column per class.
        """
        return np.asarray(self._fitted().decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            A table with the columns of the training table.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        return np.asarray(self._fitted().predict_proba(X))

    def predict_set(self, X: Any, alpha: Any = 0.1) -> np.ndarray:
        """Classes that are not excluded at level ``alpha``: see ``LASVMClassifier.predict_set``.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            A table with the columns of the training table.
        alpha : float, default=0.1
            Share of labels that may be outside, between 0 and 1.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether each class is in the set, in the order of ``classes_``.
        """
        return np.asarray(self._asked("predict_set", X, alpha=alpha))

    @property
    def classes_(self) -> np.ndarray:
        """Labels, sorted."""
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("AutoSVMClassifier has no classes_ yet: call fit first.")
        classes: np.ndarray = self.best_estimator_[-1].classes_
        return classes


class AutoSVMRegressor(RegressorMixin, AutoSVM):
    """Kernel support vector regression for tables that chooses its settings.

    As ``AutoSVMClassifier``, for numbers: candidates also differ in epsilon, and are scored by
    squared errors.

    Parameters
    ----------
    time_limit : float or None, default=60
        Seconds that ``fit`` may take, as in ``AutoSVMClassifier``; None: no limit.
    verbose : bool, default=False
        Whether to show a progress bar of the race.
    n_jobs : int or None, default=-1
        Number of threads. -1 is all cores; None is 1, unless in a ``joblib.parallel_config``.
    random_state : int, RandomState instance or None, default=0
        Seed for the samples, as in ``AutoSVMClassifier``.

    Attributes
    ----------
    best_estimator_ : Pipeline
        The encoder and a ``LASVMRegressor``, which can be saved, exported, and trained further.
    best_params_ : dict
        Parameters of that ``LASVMRegressor``.
    best_error_ : float
        Root mean squared error of the winner on held-out rows, in its last round.
    race_ : dict of ndarray
        One row for each candidate in each round; ``pandas.DataFrame(model.race_)`` shows it.
    learned_from_ : str
        The rows that the model has learned: all, cells, or a sample.
    feature_weights_ : ndarray
        Weights of the encoded features.
    feature_names_out_ : ndarray
        Names of the encoded features.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray
        Names of the columns; only if X has some.

    See Also
    --------
    onlinesvm.LASVMRegressor : If the settings are known; quantiles, intervals.
    onlinesvm.tables.TableEncoder : The first step of the pipeline.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from onlinesvm import AutoSVMRegressor
    >>> X, y = make_friedman1(600, random_state=0)
    >>> model = AutoSVMRegressor(time_limit=None).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.9)
    True
    """

    _has_classes = False
    _kind = LASVMRegressor

    def __init__(
        self,
        *,
        time_limit: float | None = 60,
        verbose: bool = False,
        n_jobs: int | None = -1,
        random_state: Any = 0,
    ):
        self.time_limit = time_limit
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _checked(self, X: Any, y: Any) -> np.ndarray:
        check_no_times(y)
        y = super()._checked(X, y)
        try:
            numbers = np.asarray(y, np.float64)
        except OverflowError as error:
            raise ValueError(f"y must be numbers in double precision: {error}.") from error
        except (TypeError, ValueError):
            raise ValueError(
                f"The targets are not numbers (for example {str(y[0])[:40]!r}): AutoSVMRegressor "
                "learns numbers; for labels use AutoSVMClassifier."
            ) from None
        assert_all_finite(numbers, input_name="y")
        check_target_size(numbers)
        largest = np.abs(numbers).max()
        if 0.0 < largest < 1.0 / LARGEST_TARGET:
            raise ValueError(
                f"y has no value larger than {largest:.3g}, whose square vanishes in double "
                "precision. Multiply y by a constant."
            )
        return numbers

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Prediction intervals that contain the target in a share ``coverage`` of cases.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            A table with the columns of the training table.
        coverage : float, default=0.9
            Share of the targets that should lie inside, between 0 and 1.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends: see ``LASVMRegressor.predict_interval``.
        """
        return np.asarray(self._asked("predict_interval", X, coverage=coverage))
