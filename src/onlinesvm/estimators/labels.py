"""What y means to a learner: labels, values or nothing.

Labels of a stream are numbered in the order they appear, and shown to users in sorted order. An
*encoder* is what a model knows of y: ``LabelBook`` for classes, ``Targets`` for values,
``NoTargets`` for novelty, ``Indicators`` for several labels per example, where y is a matrix that says,
1 or 0, which labels each of them has.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from copy import deepcopy
from datetime import date, timedelta
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets

EXACT = 2**53
"""Whole numbers beyond this are not all told apart by float64."""

LARGEST_TARGET = 1e60
"""The largest target: squares and products of targets and coefficients stay finite below it."""

TIMES = {
    "M": ("dates", "days since one of them", "(y - y.min()) / numpy.timedelta64(1, 'D')"),
    "m": ("durations", "hours or seconds", "y / numpy.timedelta64(1, 'h')"),
}
"""Values without a unit, by their kind of array: what they are called, and what to give instead."""

WARNED_ABOVE = 20
"""scikit-learn says nothing of the labels of fewer examples."""


def label_array(labels: Any) -> np.ndarray:
    """Labels as an array in which none of them is rounded.

    NumPy makes float64 of a list of whole numbers and floats, in which numbers beyond 2**53 that
    differ become equal.
    """
    array = np.asarray(labels)
    if array.dtype.kind != "f" or array.ndim != 1 or isinstance(labels, np.ndarray):
        return array
    values = [v.item() if isinstance(v, np.generic) else v for v in labels]
    if not any(isinstance(v, int) and abs(v) > EXACT for v in values):
        return array
    kind = _whole_kind(values)
    if kind is None:
        raise ValueError(NO_COMMON_KIND)
    return np.array([int(v) for v in values], kind)


def unrounded(y: Any) -> Any:
    """Labels as users give them; a list becomes an array in which none of them is rounded."""
    check_no_gaps(y)
    return label_array(y) if isinstance(y, list | tuple) else y


def check_no_gaps(y: Any) -> None:
    """Refuse gaps among labels or values that are objects, dates or durations.

    pandas' NA has no truth value, which would be a TypeError later on; NaT would be a class.
    """
    dtype = getattr(y, "dtype", None)
    if dtype is None or (isinstance(dtype, np.dtype) and dtype.kind not in "OmM"):
        return
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        flat = np.asarray(y).ravel()
        rows = np.flatnonzero(np.isnat(flat)).tolist()
    else:
        flat = np.asarray(y, object).ravel()
        rows = [row for row, value in enumerate(flat.tolist()) if _is_na(value)]
    if rows:
        raise ValueError(
            f"Input y contains NaN: {len(rows)} of {len(flat)} values are missing, the first in row "
            f"{rows[0]} (counted from 0): {flat[rows[0]]!r}; leave these rows out."
        )


def check_no_times(y: Any) -> None:
    """Refuse dates and durations as values: the unit of their numbers depends on how they are stored."""
    while isinstance(y, list | tuple) and len(y):
        y = y[0]
    array = np.asarray(y)
    kind = array.dtype.kind
    if kind == "O":
        first = array.ravel()[:1].tolist()
        kind = "M" if isinstance(first and first[0], date) else kind
        kind = "m" if isinstance(first and first[0], timedelta) else kind
    if kind in TIMES:
        what, words, how = TIMES[kind]
        raise ValueError(
            f"The targets are {what}, which have no unit as numbers: give {words}, such as {how}."
        )


def check_finite(y: np.ndarray) -> None:
    """Refuse values of which some are not finite: None and the text "nan" pass scikit-learn's check."""
    # Where they become numbers, there is an error of its own.
    with suppress(TypeError, ValueError, OverflowError):
        y = np.asarray(y, np.float64)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        assert_all_finite(y, input_name="y")


def _is_na(value: Any) -> bool:
    is_nan = isinstance(value, float) and value != value
    return is_nan or value is None or type(value).__name__ in ("NAType", "NaTType")


def joined_labels(*parts: np.ndarray) -> np.ndarray:
    """Labels of several arrays, one after the other, or one clear error if none may be rounded."""
    parts = tuple(part for part in parts if len(part)) or parts[:1]  # an empty one has no type
    kind = _common_kind(*parts)
    if kind is None:
        raise ValueError(NO_COMMON_KIND)
    return np.concatenate([part.astype(kind, copy=False) for part in parts])


NO_COMMON_KIND = (
    "Mix of label input types: whole numbers beyond 2**53 are not told apart from the other labels "
    "by any one type of number; give all labels as int64, or all as strings."
)


def _common_kind(*parts: np.ndarray) -> np.dtype | None:
    """The type in which labels of all parts keep their values; None if there is no such type."""
    kind = np.result_type(*parts)
    if kind.kind != "f" or all(part.dtype.kind == "f" for part in parts):
        return kind
    whole = [part for part in parts if part.dtype.kind in "iu"]
    if all(int(part.min()) >= -EXACT and int(part.max()) <= EXACT for part in whole):
        return kind
    return _whole_kind([value for part in parts for value in part.tolist()])


def _whole_kind(values: list[Any]) -> np.dtype | None:
    """The type of whole numbers that has these values; None if there is no such type."""
    if not all(isinstance(v, int) or v.is_integer() for v in values):
        return None
    low, high = int(min(values)), int(max(values))
    for kind in (np.int64, np.uint64):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return np.dtype(kind)
    return None


def unique_labels(y: np.ndarray, *, whole_set: bool = False) -> np.ndarray:
    """Sorted labels of y, or one clear error.

    scikit-learn warns where most labels of a data set differ. Of a list of classes or a piece of a
    stream that says nothing, so that only the labels of a `whole_set` are asked about it.
    """
    if y.dtype == object:
        _check_kinds(y)
    if y.dtype.kind in "mM":
        check_no_gaps(y)
    if whole_set or len(y) <= WARNED_ABOVE:
        check_classification_targets(y)
    else:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The number of unique classes")
            check_classification_targets(y)
    return np.unique(y)


def check_several(labels: np.ndarray) -> None:
    """Refuse the labels of a data set if there is only one."""
    if len(labels) < 2:
        raise ValueError(
            f"The number of classes has to be greater than one; got {len(labels)} class "
            f"({labels.tolist()[0]!r}). Use partial_fit for a stream that starts with one class."
        )


def stream_labels(y: np.ndarray, classes: Any) -> np.ndarray:
    """Sorted labels of y and of ``classes``, which may be None, or one clear error."""
    labels = unique_labels(y)
    if classes is None:
        return labels
    expected = unique_labels(label_array(classes))
    LabelBook(labels).check(expected)
    return np.unique(joined_labels(labels, expected))


def _check_kinds(y: np.ndarray) -> None:
    """Labels kept as Python objects must be all numbers or all strings."""
    kinds = {type(label) for label in y.ravel().tolist()}
    if not all(issubclass(kind, str | int | float | np.generic) for kind in kinds):
        raise ValueError("Unknown label type: labels must be numbers or strings.")
    if len({issubclass(kind, str) for kind in kinds}) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"Mix of label input types ({names}): labels must all be numbers or all be strings."
        )
    if kinds and not issubclass(next(iter(kinds)), str):
        to = "bool" if kinds <= {bool, np.bool_} else "float" if float in kinds else "int"
        raise ValueError(
            "Unknown label type: y is an array of Python objects, not of numbers; give "
            f"y.astype({to})."
        )


def by_appearance(labels: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The (unique) labels in the order of their first places in y; those that are not there, first."""
    place = dict(zip(*(part.tolist() for part in np.unique(y, return_index=True)), strict=True))
    return labels[np.argsort([place.get(label, -1) for label in labels.tolist()], kind="stable")]


def first_examples(label: np.ndarray, kept: np.ndarray, numbers: range) -> np.ndarray:
    """For each of the label numbers, how many examples that are kept come before its first one.

    A label that does not occur comes with the one before it.
    """
    present, first = np.unique(label, return_index=True)
    before = np.zeros(len(numbers), np.int64)
    new = present >= numbers.start
    before[present[new] - numbers.start] = (np.cumsum(kept) - kept)[first[new]]
    return np.maximum.accumulate(before)


class LabelBook:
    """Label -> number in order of appearance, and back to scikit-learn's sorted classes."""

    def __init__(self, labels: Any = ()):
        self.numbers: dict[Any, int] = {}
        self.classes = np.asarray(labels)
        self.add(self.classes)

    def __len__(self) -> int:
        return len(self.numbers)

    def missing(self, labels: np.ndarray) -> np.ndarray:
        """Those of the (unique) labels that are not in the book."""
        return np.array([v for v in labels.tolist() if v not in self.numbers], labels.dtype)

    def check(self, labels: np.ndarray) -> None:
        """Refuse labels of another kind than those known."""
        if len(self) and len(labels) and _is_text(labels) != _is_text(self.classes):
            raise ValueError(
                "Mix of label input types: the model knows "
                f"{'strings' if _is_text(self.classes) else 'numbers'}, the new labels are "
                f"{'strings' if _is_text(labels) else 'numbers'}."
            )
        units = {part.dtype for part in (self.classes, labels) if len(part)}
        if len(units) > 1 and any(unit.kind in "mM" for unit in units):
            raise ValueError(
                f"Mix of label input types: the model knows labels of type {self.classes.dtype}, "
                f"the new ones are of type {labels.dtype}; dates and durations must all be of one "
                "type."
            )
        joined_labels(self.classes, labels)

    def add(self, labels: np.ndarray) -> None:
        """New labels get the next numbers."""
        for label in labels.tolist():
            self.numbers.setdefault(label, len(self.numbers))
        self.classes = np.unique(joined_labels(self.classes, labels))

    def extended(self, labels: np.ndarray, y: np.ndarray | None = None) -> LabelBook:
        """A book that has these labels as well; this one stays as it is.

        New ones are sorted, or in the order of their appearance in y if they all are there.
        """
        self.check(labels)
        book = deepcopy(self)
        missing = book.missing(labels)
        if y is not None and np.isin(missing, y).all():
            missing = by_appearance(missing, y)
        book.add(missing)
        return book

    def number(self, label: Any) -> int | None:
        """The number of a label; None if it is not in the book."""
        try:
            return self.numbers.get(label)
        except TypeError:  # cannot be a label
            return None

    def first(self, count: int) -> LabelBook:
        """A book of the labels that were added first."""
        book = type(self)()
        book.numbers = {label: k for label, k in self.numbers.items() if k < count}
        book.classes = self.classes[self.order() < count]
        return book

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Numbers of the labels in y; all are in the book."""
        if len(y) == 1:
            return np.array([self.numbers[y[0].item() if hasattr(y[0], "item") else y[0]]])
        if self.classes.dtype.kind in "iuf":  # NumPy would compare different kinds as float64
            y = y.astype(self.classes.dtype, copy=False)
        return self.order()[np.searchsorted(self.classes, y)]

    def order(self) -> np.ndarray:
        """The number of each class, in the sorted order of ``classes``."""
        return np.array([self.numbers[label] for label in self.classes.tolist()], np.int64)

    def places(self) -> np.ndarray:
        """The place in ``classes`` of each number."""
        order = self.order()
        places = np.empty(len(order), np.int64)
        places[order] = np.arange(len(order))
        return places

    # -- from machines to classes: the values of a learner's machines, as users see them --

    def shown(self, values: np.ndarray) -> np.ndarray:
        """Machines (axis 0) in the order of the classes, a copy; two classes: the second is positive."""
        order = self.order()
        if len(order) > 2:
            return values[order]
        return -values if len(order) == 2 and order[1] == 0 else values.copy()

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Scores of the classes, (n, classes), from values of machines (n, machines); two: (n,)."""
        return one_column(self.shown(values.T))

    def shares(self, values: np.ndarray) -> np.ndarray:
        """Terms of decision functions, machines on axis 0, as terms of those of the classes."""
        return self.shown(values)

    def winners(self, values: np.ndarray, present: np.ndarray | None = None) -> np.ndarray:
        """Places in ``classes`` of what values of machines (n, machines) predict.

        ``present``: whether each label, by number, may be predicted; None: all may.
        """
        if len(self) == 1:
            return np.zeros(len(values), np.int64)
        scores = self.scores(values)
        if scores.ndim == 1:
            return (scores > 0).astype(np.int64)
        return self.highest(scores, present)

    def highest(self, scores: np.ndarray, present: np.ndarray | None) -> np.ndarray:
        """The first place of the highest score of each example, among the labels that are present."""
        if present is not None:
            scores = np.where(present[self.order()], scores, -np.inf)
        return np.asarray(scores.argmax(axis=1))

    def sorted_vectors(self, numbers: np.ndarray, label: np.ndarray) -> np.ndarray:
        """The order of support vectors in which users see them: by row."""
        return np.argsort(numbers, kind="stable")

    def compressed(self, coef: np.ndarray, label: np.ndarray) -> np.ndarray:
        """``dual_coef_`` from coefficients in the order of the classes: the same."""
        return coef


def one_column(shown: np.ndarray) -> np.ndarray:
    """Values (machines, n) as users see them: (n,) of one machine, else (n, machines)."""
    return shown[0] if len(shown) == 1 else shown.T


def _is_text(labels: np.ndarray) -> bool:
    if labels.dtype.kind == "O":
        return any(isinstance(label, str) for label in labels)
    return labels.dtype.kind in "US"


# -- values, and nothing ------------------------------------------------------------------


def _as_number(target: Any) -> float | None:
    """A number that can be learned; None for anything else."""
    is_number = isinstance(target, int | float | np.integer | np.floating)
    if not is_number or isinstance(target, np.timedelta64):  # which NumPy counts among the integers
        return None
    return float(target) if -LARGEST_TARGET <= target <= LARGEST_TARGET else None


class Targets:
    """One machine per column of y; the targets are their own numbers."""

    def __init__(self, columns: int, two_dimensional: bool):
        self.columns, self.two_dimensional = columns, two_dimensional
        self.classes: np.ndarray = np.empty(0)  # there are none

    def __len__(self) -> int:
        return self.columns

    def number(self, target: Any) -> float | None:
        """A single target as the learner takes it; None: use ``encode``, after all checks."""
        return None if self.two_dimensional else _as_number(target)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Targets as the learner takes them, (n, machines)."""
        return np.asarray(y, np.float64).reshape(len(y), self.columns)

    def first(self, count: int) -> Targets:
        """The same: there are as many columns as there were."""
        return self

    def decode(self, values: np.ndarray) -> np.ndarray:
        """Predictions in the shape of the y that was learned."""
        return values.reshape(len(values), self.columns) if self.two_dimensional else values

    def order(self) -> np.ndarray:
        """Machines in the order of the columns."""
        return np.arange(self.columns)

    def shown(self, values: np.ndarray) -> np.ndarray:
        """Machines (axis 0) in the order of the columns, a copy."""
        return values.copy()

    shares = shown

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Values of machines (n, machines) as they are; of one machine, (n,)."""
        return one_column(self.shown(values.T))

    def sorted_vectors(self, numbers: np.ndarray, label: np.ndarray) -> np.ndarray:
        """The order of support vectors in which users see them: by row."""
        return np.argsort(numbers, kind="stable")

    def compressed(self, coef: np.ndarray, label: np.ndarray) -> np.ndarray:
        """``dual_coef_`` from the coefficients of the machines: the same."""
        return coef


class QuantileTargets(Targets):
    """One machine per quantile of one target."""

    def __init__(self, quantiles: int):
        super().__init__(quantiles, True)

    def number(self, target: Any) -> float | None:
        """A single target as the learner takes it; None: use ``encode``, after all checks."""
        return _as_number(target)

    def encode(self, y: np.ndarray) -> np.ndarray:
        """The same target for every machine, (n, machines)."""
        return np.repeat(np.asarray(y, np.float64).reshape(-1, 1), self.columns, axis=1)

    def decode(self, values: np.ndarray) -> np.ndarray:
        """Quantiles in ascending order: each machine is learned by itself, and they may cross."""
        return np.sort(values.reshape(len(values), self.columns), axis=1)


class NoTargets(Targets):
    """One machine, and labels that say nothing."""

    def __init__(self) -> None:
        super().__init__(1, False)

    def number(self, target: Any) -> int:
        """Zero."""
        return 0

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Zeros, one for each example."""
        return np.zeros(len(y), np.int64)


def check_targets(
    y: Any, known: Targets | None, quantiles: int | None = None
) -> tuple[np.ndarray, Targets]:
    """Numbers, as many columns as before, and what they mean; or one clear error.

    ``quantiles``: how many of them are to be learned of one target, where it is more than one.
    """
    try:
        y = np.asarray(y, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"y must be numbers to predict, one per example: {error}.") from error
    check_target_size(y)
    found = Targets(y.shape[1] if y.ndim == 2 else 1, y.ndim == 2)
    if quantiles is not None:
        if y.ndim != 1:
            raise ValueError(
                "Several quantiles are learned of one target: give y one dimension, or one quantile."
            )
        found = QuantileTargets(quantiles)
    if known is not None and _asked(known) != _asked(found):
        raise ValueError(
            f"The model has learned {_asked(known)}, and its parameter quantile asks for {_asked(found)} now: "
            "set quantile back, or call fit, which starts anew."
        )
    if known is not None and _shape(known) != _shape(found):
        raise ValueError(
            f"y has {_shape(found)}, but the examples learned so far had {_shape(known)}."
        )
    return y, found


def check_target_size(y: np.ndarray) -> None:
    """Refuse targets whose squares and products leave the range of double precision."""
    largest = float(np.abs(y).max(initial=0.0))
    if largest > LARGEST_TARGET:
        raise ValueError(
            f"y has values as large as {largest:.3g}; up to {LARGEST_TARGET:g} can be learned. "
            "Divide y by a constant."
        )


def check_share(value: Any, name: str) -> None:
    """A number between 0 and 1, or one clear error."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1; got {value!r}.")


def check_quantiles(quantile: Any) -> np.ndarray:
    """One quantile (an array without dimensions), or several; or one clear error."""
    try:
        levels = np.asarray(quantile, np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"quantile must be numbers between 0 and 1; got {quantile!r}.") from error
    if levels.ndim > 1 or not levels.size or not ((levels > 0.0) & (levels < 1.0)).all():
        raise ValueError(
            f"quantile must be a number between 0 and 1, or a list of such; got {quantile!r}."
        )
    if levels.ndim and (np.diff(levels) <= 0.0).any():
        raise ValueError(f"quantile must be in ascending order, each once; got {quantile!r}.")
    return levels


def _asked(targets: Targets) -> str:
    several = isinstance(targets, QuantileTargets)
    return f"{targets.columns} quantiles" if several else "one value of each target"


def _shape(targets: Targets) -> str:
    if not targets.two_dimensional:
        return "one dimension"
    return f"two dimensions with {targets.columns} column(s)"


# -- several labels per example ------------------------------------------------------------


class Indicators(Targets):
    """One machine per column of y, which is 1 for the examples that have the label, else 0."""

    def __init__(self, columns: int):
        super().__init__(columns, True)
        self.classes = np.arange(columns)

    def number(self, labels: Any) -> Any:
        """The labels of one example as the learner takes them; None: use ``encode``, after all checks."""
        row = np.asarray(labels)
        if row.shape != (self.columns,) or row.dtype.kind not in "biuf":
            return None
        return tuple(row.astype(int).tolist()) if _are_indicators(row) else None

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Labels as the learner takes them, (n, machines)."""
        return np.asarray(y, np.int8)

    def decode(self, values: np.ndarray) -> np.ndarray:
        """Whether each example has each label, from decision values (n, machines)."""
        return (values > 0).astype(np.int64)


def is_indicator_matrix(y: Any) -> bool:
    """Whether y has a column for each of several labels: an array, a matrix or any data frame."""
    shape: tuple[int, ...] = getattr(y, "shape", ())  # data frames of Polars have no ndim
    return sparse.issparse(y) or (len(shape) == 2 and shape[1] > 1)


def check_indicators(y: Any, known: Any) -> np.ndarray:
    """The y given as a matrix of 0 and 1, one column per label; raises an error if invalid.

    ``known`` is what the model knows of y, None before the first examples.
    """
    y = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if y.dtype == object and all(isinstance(value, Real) for value in y.ravel().tolist()):
        y = y.astype(np.float64)
    if y.dtype.kind not in "biuf" or not _are_indicators(y):
        wrong = y[~np.isin(y, (0, 1))].tolist() if y.dtype.kind in "iuf" else y.ravel().tolist()
        raise ValueError(
            "y has a column for each label and must be 1 or 0 everywhere; got "
            f"the value {wrong[0]!r}."
        )
    if known is not None and not isinstance(known, Indicators):
        raise ValueError(
            f"y has {y.shape[1]} columns, but the examples learned so far had one label each."
        )
    if y.shape[1] < 2:
        raise ValueError("y has one column: give the labels as an array of one dimension.")
    if known is not None and len(known) != y.shape[1]:
        raise ValueError(
            f"y has {y.shape[1]} columns, but the examples learned so far had {len(known)} labels."
        )
    return y.astype(np.int8)


def _are_indicators(y: np.ndarray) -> bool:
    return y.dtype.kind == "b" or bool(((y == 0) | (y == 1)).all())


def check_both_signs(indicators: np.ndarray) -> None:
    """Refuse a data set in which all examples have a label, or none has it."""
    counts = np.count_nonzero(indicators, axis=0)
    for name, wrong in (("no example", counts == 0), ("every example", counts == len(indicators))):
        if wrong.any():
            raise ValueError(
                f"Column {np.flatnonzero(wrong)[0]} of y: {name} of positive weight has this "
                "label, so it cannot be learned. Leave the column out, or use partial_fit if "
                "other examples follow."
            )
