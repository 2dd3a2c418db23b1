"""A table as rows of numbers for a kernel: see ``TableEncoder``."""

from __future__ import annotations

import warnings
from collections import Counter
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .callers import stacklevel_of_user
from .columns import (
    CATEGORY,
    EMPTY,
    MOMENT,
    NUMBER,
    Table,
    as_frame,
    as_kind,
    check_as_before,
    is_frame,
    kinds_of,
    read_columns,
    reading_in,
    told_equal,
    unread,
)
from .means import Means, fit_means, is_continuous, means_of, names_of_means, scale_of_means

MISSING = "(missing)"
"""The category of a gap."""

FEW_LEVELS = 30
"""Number of categories up to which a column gets one feature for each."""

FOLDS = 5
"""Number of folds in which mean targets are computed."""

RAREST = 4
"""Categories with fewer rows than this are merged into one."""

STRAIGHT, FARTHEST = 2.5, 5.0
"""Numbers up to the first number of robust standard deviations stay as they are, so that smooth functions of
them stay simple; larger ones are compressed, to at most the second."""

FAR = 1e100
"""Numbers are compressed from here at the latest: the square of a larger one may be infinite."""

FREQUENT = 0.25
"""Share of a column from which its most frequent value does not count for the spread."""

NORMAL = 1.349
"""Distance of the quartiles of a normal distribution, in standard deviations."""

UNIFORM = 3.4641
"""Width of a uniform distribution of standard deviation one."""

AT_ONCE = 2_000_000
"""Numbers that are scaled at a time: arrays that stay in memory are faster than new ones."""

DAY, YEAR = 86400.0, 365.2425 * 86400.0

CYCLES = {"hour": DAY, "weekday": 7 * DAY, "season": YEAR}
"""Cycles of which a date has a phase, in seconds. 1970 began on a Thursday."""


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table of numbers, categories and dates with missing values as rows for a kernel.

    Numbers are scaled by their quartiles, and outliers are compressed smoothly; or numbers are
    replaced by their ranks (``QuantileTransformer``). Columns with two values become 0 and 1.
    Missing values are replaced by the median, and an additional feature indicates them. Categories
    are one-hot encoded (``OneHotEncoder``), rare ones together; a column of more than 30 categories
    is replaced by the mean target of each (``TargetEncoder``, cross-fitted; that of a category of few
    rows is drawn to the mean of all). Dates become seconds,
    and the phase within the day, the week and the year. Texts that are numbers (1,234.50, 12.5 %,
    $3), dates (2021-03-31, 3/31/2021, 31.03.2021, 31 Mar 2021) or times (12:30) are converted, each
    column in the way that fits most of its texts; words such as "n/a" or "?" among them are missing
    values.

    Parameters
    ----------
    numbers : {"standard", "ranks"}, default="standard"
        How numbers are scaled.
    target_type : {"auto", "continuous"}, default="auto"
        Type of y for ``TargetEncoder``.
    random_state : int, default=0
        Seed for the folds of ``TargetEncoder``.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray
        Names of the columns; only if the table had some.
    kinds_ : list of str
        Type of each column: number, moment, category, or empty (left out).
    readings_ : list of str or None
        How the texts of each column are read as numbers or dates, also those that times and
        durations become in a text file; None for other columns.

    See Also
    --------
    onlinesvm.AutoSVMClassifier : Uses it as the first step.
    onlinesvm.AutoSVMRegressor : Uses it as the first step.

    Examples
    --------
    >>> import numpy as np
    >>> from onlinesvm.tables import TableEncoder
    >>> table = np.array([[1.5, "red"], [2.0, "blue"], [None, "red"], [4.0, "red"]] * 5, dtype=object)
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.kinds_
    ['number', 'category']
    >>> encoder.transform(table).shape  # the number, where it is missing, two colours
    (20, 4)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "numbers": [StrOptions({"standard", "ranks"})],
        "target_type": [StrOptions({"auto", "continuous"})],
        "random_state": [Integral],
    }

    means_: Means | None

    def __init__(
        self, *, numbers: str = "standard", target_type: str = "auto", random_state: int = 0
    ):
        self.numbers = numbers
        self.target_type = target_type
        self.random_state = random_state

    # -- fitting --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the types of the columns and how they are scaled.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,), default=None
            Labels or targets, for columns of many categories.

        Returns
        -------
        self : object
            The fitted encoder.
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> np.ndarray:
        """Fit the encoder to a table and return the encoded rows.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,), default=None
            Labels or targets. Mean targets are computed on other rows (cross-fitting).
        **params : dict
            Not used.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features_out)
            Numbers without gaps.
        """
        table = read_columns(X)
        words = self._words(table)
        kinds = kinds_of(table, words)
        empty = [word for word, kind in zip(words, kinds, strict=True) if kind == EMPTY]
        if len(empty) == len(kinds):
            raise ValueError("The table has no values: every column is empty.")
        if empty:
            warnings.warn(
                f"Columns without values are left out: {', '.join(empty)}.",
                stacklevel=stacklevel_of_user(),
            )
        told = told_equal(words, kinds, table.columns)
        if told is not None:
            warnings.warn(told, stacklevel=stacklevel_of_user())
        self._set_names(table)
        self.kinds_ = kinds
        self.readings_ = [reading_in(v, k) for v, k in zip(table.columns, kinds, strict=True)]
        numbers, labels = self._numbers(table), self._categories(table)
        parts = [self._fit_numbers(numbers), *self._fit_categories(labels, y)]
        return _side_by_side(parts)

    def _set_names(self, table: Table) -> None:
        self.n_features_in_ = len(table.columns)
        if table.names is not None:
            self.feature_names_in_ = np.array(table.names, object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _words(self, table: Table) -> list[str]:
        """Names of columns in messages."""
        if table.names is None:
            return [str(j) for j in range(len(table.columns))]
        return [repr(name) for name in table.names]

    # -- numbers and dates ----------------------------------------------------------------

    def _numbers(self, table: Table) -> np.ndarray:
        """Numbers and parts of dates, (n, columns), NaN for gaps."""
        words, parts = self._words(table), []
        readings = getattr(self, "readings_", [None] * len(words))  # older files have none
        for values, kind, reading, word in zip(
            table.columns, self.kinds_, readings, words, strict=True
        ):
            if kind in (NUMBER, MOMENT):
                number = as_kind(values, kind, reading)
                if np.isinf(number).any():
                    raise ValueError(
                        f"Input X contains infinity, in column {word}: replace it by a missing "
                        "value or a finite number."
                    )
                texts = unread(values, number)
                if texts:
                    told = _told_unread(texts, number, word, kind)
                    warnings.warn(told, stacklevel=stacklevel_of_user())
                parts.append(number)
                if kind == MOMENT:
                    for length in CYCLES.values():
                        phase = 2 * np.pi * number / length
                        parts += [np.sin(phase), np.cos(phase)]
        found = np.empty((len(parts), len(table)))  # each column in one piece of memory
        for place, values in zip(found, parts, strict=True):
            place[:] = values
        return found.T

    def _fit_numbers(self, numbers: np.ndarray) -> np.ndarray:
        facts = [_facts(column) for column in numbers.T]
        self.has_gaps_ = np.array([each.has_gaps for each in facts], bool)
        self.median_, low, high, self.spread_ = (
            np.array([each[k] for each in facts], np.float64) for k in range(4)
        )
        two = np.array([each.distinct <= 2 for each in facts], bool)
        self.varies_ = high > low
        self.centre_ = np.where(two, low, self.median_)
        self.spread_[two] = np.where(high > low, _distance(low, high), 1.0)[two]
        self.bent_, self.ranks_ = self.varies_ & ~two, None
        if self.numbers == "ranks" and self.bent_.any():
            filled = np.where(np.isnan(numbers), self.median_, numbers)
            self.ranks_ = QuantileTransformer(
                n_quantiles=min(1000, len(filled)), subsample=100_000,
                random_state=self.random_state,
            ).fit(filled[:, self.bent_])  # fmt: skip
        return self._scaled(numbers)

    def _scaled(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers filled and scaled, without columns that did not vary, and where the gaps were."""
        out = np.empty((len(numbers), int(self.varies_.sum() + self.has_gaps_.sum())))
        step = max(1, AT_ONCE // max(1, numbers.shape[1]))
        for first in range(0, len(numbers), step):
            part = slice(first, first + step)
            out[part] = self._scaled_part(numbers[part])
        return out

    @np.errstate(over="ignore")
    def _scaled_part(self, numbers: np.ndarray) -> np.ndarray:
        gaps = np.isnan(numbers)
        filled = np.where(gaps, self.median_, numbers) if gaps.any() else numbers
        scaled = filled - self.centre_
        scaled /= self.spread_
        np.clip(scaled, -FAR, FAR, out=scaled)
        if self.ranks_ is not None:
            scaled[:, self.bent_] = UNIFORM * (self.ranks_.transform(filled[:, self.bent_]) - 0.5)
        else:
            _compress(scaled)
        return _side_by_side([scaled[:, self.varies_], gaps[:, self.has_gaps_]])

    # -- categories -----------------------------------------------------------------------

    def _categories(self, table: Table) -> np.ndarray:
        """Texts, (n, columns); a gap is a category."""
        pairs = zip(table.columns, self.kinds_, strict=True)
        parts = [as_kind(values, kind) for values, kind in pairs if kind == CATEGORY]
        if not parts:
            return np.empty((len(table), 0), object)
        stacked = np.stack(parts, axis=1)
        stacked[stacked == None] = MISSING  # noqa: E711 - elementwise
        return stacked

    def _fit_categories(self, labels: np.ndarray, y: Any) -> list[np.ndarray]:
        levels = np.array([len(set(column)) for column in labels.T], int)
        many = levels > FEW_LEVELS
        folds = self._folds(y) if y is not None and many.any() else 0
        self.many_ = many & (folds > 1)
        self.one_hot_ = self.means_ = None
        parts = []
        if (~self.many_).any():
            self.one_hot_ = OneHotEncoder(
                min_frequency=min(RAREST, max(1, len(labels) // 10)), sparse_output=False,
                handle_unknown="infrequent_if_exist", drop=None,
            )  # fmt: skip
            parts.append(self.one_hot_.fit_transform(labels[:, ~self.many_]))
        if self.many_.any():
            self.means_, means = fit_means(
                labels[:, self.many_], y, folds, self.target_type, self.random_state
            )
            scale = scale_of_means(self.means_, labels[:, self.many_], means, y)
            self.means_centre_, self.means_spread_ = scale
            parts.append((means - self.means_centre_) / self.means_spread_)
        return parts

    def _folds(self, y: Any) -> int:
        """Number of folds for mean targets: some label must be in each of them."""
        if is_continuous(y, self.target_type):
            return FOLDS
        return min(FOLDS, max(Counter(np.asarray(y).tolist()).values()))

    def _encoded(self, labels: np.ndarray) -> list[np.ndarray]:
        parts = []
        if self.one_hot_ is not None:
            with warnings.catch_warnings():  # unknown categories are treated as rare ones
                warnings.simplefilter("ignore", UserWarning)
                parts.append(self.one_hot_.transform(labels[:, ~self.many_]))
        if self.means_ is not None:
            means = means_of(self.means_, labels[:, self.many_])
            parts.append((means - self.means_centre_) / self.means_spread_)
        return parts

    # -- transforming ---------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """Encode a table with the same columns.

        Parameters
        ----------
        X : data frame or array-like of shape (n_samples, n_features)
            The table; columns of a data frame may be in any order, and additional ones are ignored.

        Returns
        -------
        rows : ndarray of shape (n_samples, n_features_out)
            Numbers without gaps.
        """
        check_is_fitted(self)
        table = self._same_columns(X)
        columns = zip(table.columns, self.kinds_, self._words(table), strict=True)
        for j, (values, kind, word) in enumerate(columns):
            if kind != CATEGORY or j not in table.declared:
                check_as_before(values, kind, word)
        return _side_by_side(
            [self._scaled(self._numbers(table)), *self._encoded(self._categories(table))]
        )

    def _same_columns(self, X: Any) -> Table:
        """The columns that were there when the encoder was fitted, in that order."""
        X, names = as_frame(X), getattr(self, "feature_names_in_", None)
        if names is not None and is_frame(X):
            there = {str(name) for name in X.columns}
            lost = [str(name) for name in names if name not in there]
            if lost:
                raise ValueError(
                    f"The table lacks the column{'s' * (len(lost) > 1)} "
                    f"{', '.join(map(repr, lost))} of the training table."
                )
            table = read_columns(X)
            assert table.names is not None
            place = {name: j for j, name in enumerate(table.names)}
            order = [place[name] for name in names]
            declared = frozenset(j for j, k in enumerate(order) if k in table.declared)
            return Table(list(names), [table.columns[k] for k in order], declared)
        table = read_columns(X)
        if len(table.columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(table.columns)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return table

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        names : ndarray of str
            Names of the columns, followed by the kind of feature.
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(self.n_features_in_)] if known is None else list(known)
        numbers: list[str] = []
        for name, kind in zip(names, self.kinds_, strict=True):
            if kind in (NUMBER, MOMENT):
                numbers.append(name)
            if kind == MOMENT:
                numbers += [f"{name} {cycle} {part}" for cycle in CYCLES for part in ("sin", "cos")]
        labels = np.array(
            [n for n, k in zip(names, self.kinds_, strict=True) if k == CATEGORY], object
        )
        made = [n for n, varies in zip(numbers, self.varies_, strict=True) if varies]
        made += [f"{n} is missing" for n, gap in zip(numbers, self.has_gaps_, strict=True) if gap]
        if self.one_hot_ is not None:
            made += self.one_hot_.get_feature_names_out(labels[~self.many_]).tolist()
        if self.means_ is not None:
            made += names_of_means(self.means_, labels[self.many_])
        return np.array(made, object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _told_unread(texts: list[Any], read: np.ndarray, word: str, kind: str) -> str:
    """Message about texts that cannot be read."""
    such, known = repr(str(texts[0])[:40]), int((~np.isnan(read)).sum())
    if not known:
        return (
            f"No value of column {word} can be read as a {kind}, such as {such}: all of them are "
            "treated as missing."
        )
    return (
        f"{len(texts)} of {len(texts) + known} values of column {word} cannot be read as a {kind}, "
        f"such as {such}: they are treated as missing."
    )


def _side_by_side(parts: list[np.ndarray]) -> np.ndarray:
    """The columns of all parts; without a copy if only one has some."""
    some = [part for part in parts if part.shape[1]] or parts[:1]
    return np.concatenate(some, axis=1) if len(some) > 1 else some[0]


def _compress(z: np.ndarray) -> None:
    """Bring numbers in units of their spread to at most ``FARTHEST``, in place, in order and smoothly."""
    size = np.abs(z)
    beyond = np.maximum(size - STRAIGHT, 0.0)
    np.minimum(size, STRAIGHT, out=size)
    size += beyond / (1.0 + beyond / (FARTHEST - STRAIGHT))
    np.copysign(size, z, out=z)


class Facts(NamedTuple):
    """What is measured of a column of numbers. All but the first treat gaps as the median."""

    median: float
    low: float
    high: float
    spread: float
    distinct: int
    has_gaps: bool


def _facts(column: np.ndarray) -> Facts:
    """Median, range and spread of a column, which is sorted once for all of them."""
    known = np.sort(column)  # gaps are at the end
    gaps = int(np.isnan(known).sum())
    there = known[: len(known) - gaps]
    median = float(np.median(there)) if len(there) else 0.0
    if gaps:
        known = np.insert(there, np.searchsorted(there, median), np.full(gaps, median))
    if not len(known):
        return Facts(median, 0.0, 0.0, 1.0, 0, False)
    starts = np.flatnonzero(np.r_[True, known[1:] != known[:-1]])
    counts = np.diff(starts, append=len(known))
    spread = _spread(known, starts, counts)
    return Facts(median, float(known[0]), float(known[-1]), spread, len(starts), gaps > 0)


def _spread(known: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> float:
    """The distance of the quartiles of a sorted column, in standard deviations.

    Where one value is frequent (no sales, no rain), the quartiles say little of the others, which would
    all be compressed to the same number: then the quartiles are those of the others.
    """
    most = counts.argmax()
    frequent, others = known[starts[most]], known
    if counts[most] > FREQUENT * len(known):
        others = np.delete(known, slice(starts[most], starts[most] + counts[most]))
    if not len(others):
        return 1.0
    low, middle, high = np.percentile(others, [25, 50, 75])
    if high > low:
        return float(_distance(low, high)) / NORMAL
    return float(_distance(frequent, middle)) or float(known.std()) or 1.0


@np.errstate(over="ignore")
def _distance(low: Any, high: Any) -> Any:
    """The absolute difference, finite."""
    return np.minimum(np.abs(high - low), np.finfo(np.float64).max)
