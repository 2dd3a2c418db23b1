"""Input validation: users' data becomes examples that compiled loops can take.

Input is checked as scikit-learn checks that of an estimator, and nothing is written onto the
estimator: the number and the names of the features are a record, ``Features``.

Examples need not be rows of numbers: texts, sets, graphs are compared by a kernel function. Learners
work with rows, so each object is represented by a row with one value: i >= 0 stands for the i-th
example given to ``fit``, -1 - i for the i-th example of a prediction. ``ObjectKernel`` gives the
kernel function the objects themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from numbers import Integral, Number
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import Tags, TargetTags
from sklearn.utils.validation import check_consistent_length, validate_data

from ..core.kernel.csr import canonical_csr, check_structure
from ..core.kernel.kernel import GAMMA_NAMES

DTYPES = [np.float64, np.float32]

LARGEST_SCALE = 1e38
"""Largest 1 / variance of features whose squares are still distinguished in single precision."""

SAME = 1e-14
"""Features that deviate from their mean by no more than this share of their size are constant."""

UNCHECKED = "no_validation"
"""What scikit-learn takes for labels that are not there."""


class Features(NamedTuple):
    """Number and names of the features, and the class name of the estimator."""

    owner: str
    n_features: int | None = None
    names: np.ndarray | None = None


class Checked(NamedTuple):
    """Validated input."""

    X: Any
    y: Any
    features: Features
    objects: np.ndarray | None = None  # the examples, where they are not rows of numbers


class _Checker:
    """Stands in for an estimator in scikit-learn's checks, which read and write its features."""

    def __init__(self, features: Features, needs_y: bool):
        self.needs_y = needs_y
        if features.n_features is not None:
            self.n_features_in_ = features.n_features
        if features.names is not None:
            self.feature_names_in_ = features.names

    def __sklearn_tags__(self) -> Tags:
        return Tags(estimator_type=None, target_tags=TargetTags(required=self.needs_y))


_TIMES = ("m", "M")
_TIME_TYPES = ("Date", "Time", "Duration")  # of Polars
_NO_TIMES = (
    "{} dates or durations, which have no unit as numbers: leave them out, or give days, such as "
    "(x - x.min()) / numpy.timedelta64(1, 'D'). The AutoSVM classes and onlinesvm.tables.TableEncoder "
    "take them as they are."
)


@cache
def _checker(owner: str) -> type[_Checker]:
    """A class of that name, which appears in error messages."""
    return type(owner, (_Checker,), {})


def check_examples(
    features: Features, X: Any, y: Any = UNCHECKED, *, dtype: Any = DTYPES, reset: bool = False,
    **how: Any,
) -> Checked:  # fmt: skip
    """Examples, and labels or values unless ``UNCHECKED``; raises an error if invalid.

    X itself where nothing has to change; X is never changed. ``reset``: these are the first
    examples, whose features are those of the model. ``how`` is for ``validate_data``.
    """
    if sparse.issparse(X):  # before any code, SciPy's included, follows its indices
        check_structure(X)
    check_no_times(X)
    has_y = not (isinstance(y, str) and y == UNCHECKED)
    checker = _checker(features.owner)(features, has_y)
    try:
        checked = validate_data(checker, X, y, accept_sparse="csr", dtype=dtype, reset=reset, **how)
    except OverflowError as error:  # Python's whole numbers have no largest one
        raise ValueError(f"X and y must be numbers in double precision: {error}.") from error
    X, y = checked if has_y else (checked, None)
    found = vars(checker).get("n_features_in_"), vars(checker).get("feature_names_in_")
    return Checked(_plain(X), y, Features(features.owner, *found))


def check_no_times(X: Any) -> None:
    """Refuse features that are dates or durations: the unit of their numbers depends on how they are stored."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):  # a data frame of any library
        for name, dtype in zip(X.columns, X.dtypes, strict=False):
            if getattr(dtype, "kind", "") in _TIMES or str(dtype).startswith(_TIME_TYPES):
                raise ValueError(_NO_TIMES.format(f"Column {name!r} of X contains"))
    elif getattr(getattr(X, "dtype", None), "kind", "") in _TIMES:
        raise ValueError(_NO_TIMES.format("X contains"))


def check_rows(features: Features, X: Any, **how: Any) -> Any:
    """Rows with these features; raises an error if invalid; ``how`` as for ``check_examples``."""
    return check_examples(features, X, **how).X


def _plain(X: Any) -> Any:
    if sparse.issparse(X):
        return canonical_csr(X)
    if X.dtype == np.float32 and not X.flags.writeable:
        return X.copy()  # loops are compiled for arrays that can be written
    return X


def check_square(kernel: Any, X: Any) -> None:
    """Refuse a precomputed kernel matrix of training examples that is not square."""
    if isinstance(kernel, str) and kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            "Precomputed matrix must be a square matrix: the kernel value of every pair of "
            f"training examples. Input is a {X.shape[0]}x{X.shape[1]} matrix."
        )


def check_scale(kernel: Any, X: Any) -> None:
    """Refuse features that vary so little that their squares vanish in single precision.

    gamma is their scale. Features that are constant but for rounding tell nothing, and are learned.
    """
    size = kernel.gamma**2 if kernel.name == "matern12" else kernel.gamma
    if kernel.name not in GAMMA_NAMES or size <= LARGEST_SCALE:
        return
    largest = np.abs(X.data if sparse.issparse(X) else X).max(initial=0.0)
    if size * (SAME * largest) ** 2 < 1.0:
        raise ValueError(
            "The values are too small for kernel values in single precision; scale the features "
            "(for example with StandardScaler)."
        )


def check_number(value: Any, meaning: str, least: int, other: str = "") -> None:
    """A whole number that is large enough, or one clear error that says what it means."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{meaning}, {least} or more{other}; got {value!r}.")


def check_indices(indices: Any) -> np.ndarray:
    """Numbers of examples; raises an error if they are no numbers."""
    asked = np.atleast_1d(np.asarray(indices))
    if asked.ndim != 1 or (asked.size and asked.dtype.kind not in "iu"):
        raise ValueError("indices must be an integer or a list of integers.")
    return asked.astype(np.int64)  # also where there are none


def check_once(asked: np.ndarray) -> None:
    """Refuse a number given twice; after numbers that no example has, which are the graver mistake."""
    number, count = np.unique(asked, return_counts=True)
    if (count > 1).any():
        raise ValueError(f"indices contains example {number[count > 1][0]} twice.")


# -- objects ------------------------------------------------------------------------------


_MOST = 2**24
"""Whole numbers up to this are exact in single precision."""


class ObjectKernel:
    """A kernel function of objects as a function of the rows that stand for them."""

    def __init__(self, function: Callable[[Any, Any], Any], learned: np.ndarray, asked: Any = None):
        self.function = function
        self.learned = learned
        self.asked = learned[:0] if asked is None else asked

    def __call__(self, left: np.ndarray, right: np.ndarray) -> Any:
        """Kernel values of all pairs of objects."""
        return self.function(self.objects(left), self.objects(right))

    def objects(self, rows: np.ndarray) -> np.ndarray:
        """The objects that the rows stand for."""
        number = rows[:, 0].astype(np.int64)
        found = np.empty(len(number), object)
        found[number >= 0] = self.learned[number[number >= 0]]
        found[number < 0] = self.asked[-1 - number[number < 0]]
        return found

    def asking(self, objects: np.ndarray) -> ObjectKernel:
        """The same kernel, with the examples of a prediction."""
        return ObjectKernel(self.function, self.learned, objects)


def learned_rows(n: int) -> np.ndarray:
    """The rows that stand for n examples given to ``fit``; raises an error if invalid."""
    if n > _MOST:
        raise ValueError(
            f"With a kernel function of objects, at most {_MOST} examples are supported."
        )
    return np.arange(n, dtype=np.float64)[:, None]


def asked_rows(n: int) -> np.ndarray:
    """The rows that stand for n examples of a prediction."""
    return -1.0 - learned_rows(n)


def as_objects(X: Any) -> np.ndarray | None:
    """Examples as an array of objects; None where X is, or should be, rows of numbers."""
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__") or isinstance(X, str | bytes | dict):
        return None
    items = list(X)
    if not items or not all(map(_is_object, items)):
        return None
    objects = np.empty(len(items), object)
    objects[:] = items
    return objects


def _is_object(item: Any) -> bool:
    """Whether an example is an object rather than a row of numbers."""
    if isinstance(item, list | tuple | np.ndarray):
        return len(item) > 0 and all(isinstance(part, str) for part in item)
    return item is not None and not isinstance(item, Number)


def check_objects(owner: str, objects: np.ndarray, y: Any, **how: Any) -> Checked:
    """Objects to learn, and their labels or values unless ``UNCHECKED``; raises an error if invalid."""
    features = Features(owner)
    if not (isinstance(y, str) and y == UNCHECKED):
        y = validate_data(_checker(owner)(features, True), y=y, **how)
        check_consistent_length(objects, y)
    return Checked(learned_rows(len(objects)), y, features, objects)


def check_asked(owner: str, X: Any) -> np.ndarray:
    """Objects to predict; raises an error if invalid."""
    objects = as_objects(X)
    if objects is None:
        raise ValueError(
            f"This {owner} was fitted on a list of objects with a kernel function; pass a list "
            "of such objects."
        )
    return objects


def are_equal_as_floats(numbers: Iterable[int]) -> bool:
    """Whether half of these whole numbers or more are lost in double precision, as equal to others.

    Beyond 2**53 that is so where they were given one after the other, as names of things are. Times in
    nanoseconds are as large, and stay apart.
    """
    different = set(numbers)
    return len(different) > 1 and 2 * len({float(each) for each in different}) <= len(different)
