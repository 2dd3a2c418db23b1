"""Examples as dictionaries of named numbers, for the models for River.

There is a column for each name, in the order of appearance.

Names may come and go. A name that an example does not have is zero there; a name that is new gets
the next column when an example with it is learned.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from .base import widen

PLAIN = frozenset((float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_))
"""Types of numbers that need no further check."""


class NamedRows:
    """The column of each name, and one row buffer that is reused."""

    def __init__(self) -> None:
        self.columns: dict[Any, int] = {}
        self.buffer = np.zeros(0)

    def __getstate__(self) -> dict[str, Any]:
        return {"columns": self.columns, "width": self.width}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.columns, self.buffer = state["columns"], np.zeros(state["width"])

    @property
    def width(self) -> int:
        """Number of columns of a row: one per name, and spare ones for new names."""
        return len(self.buffer)

    def known(self, x: Mapping[Any, Any]) -> np.ndarray:
        """The row of an example; names that have no column are left out. Valid until the next."""
        values = self._numbers(x)
        try:
            return self._fill(x, values)
        except KeyError:
            known = {name: value for name, value in zip(x, values) if name in self.columns}
            return self._fill(known, known.values())

    def learned(self, x: Mapping[Any, Any]) -> tuple[np.ndarray, dict[Any, int] | None]:
        """The row of an example, and the columns as they were if some of its names are new."""
        values = self._numbers(x)
        try:
            return self._fill(x, values), None
        except KeyError:
            before = self.columns
            self.extend(x)
            return self._fill(x, values), before

    def _fill(self, names: Iterable[Any], values: Iterable[Any]) -> np.ndarray:
        """Fill the buffer with these values and zeros. A loop is faster than fancy indexing."""
        columns, row = self.columns, self.buffer
        row.fill(0.0)
        for name, value in zip(names, values):
            row[columns[name]] = value
        return row

    def extend(self, names: Iterable[Any]) -> None:
        """Add columns for new names, sorted: the order of a dictionary does not matter."""
        new = sorted(
            set(names) - self.columns.keys(), key=lambda name: (str(type(name)), str(name))
        )
        total = len(self.columns) + len(new)
        self.columns = self.columns | {
            name: k for k, name in enumerate(new, start=len(self.columns))
        }
        if total > self.width:
            # The first example fixes the width; if new names appear, more are likely to follow.
            self.buffer = np.zeros(max(total, 2 * self.width))

    def _numbers(self, x: Mapping[Any, Any]) -> list[Any]:
        """The values of an example; raises an error if invalid."""
        values = list(x.values()) if isinstance(x, dict) else [x[name] for name in _named(x)]
        try:
            if PLAIN.issuperset(map(type, values)) and isfinite(sum(values)) and values:
                return values
        except OverflowError:
            pass
        if not values:
            raise ValueError("The dictionary is empty: an example needs at least one feature.")
        return [self._number(name, value) for name, value in x.items()]

    def _number(self, name: Any, value: Any) -> float:
        """One value as a float, after all checks."""
        if not _is_number(value):
            before = " was a number before and" if name in self.columns else ""
            raise ValueError(
                f"Feature {name!r}{before} is {value!r} ({type(value).__name__}): features must be "
                "numbers. Encode text first, for instance with river.preprocessing.OneHotEncoder."
            )
        try:
            number = float(value)
        except OverflowError:
            number = np.inf
        if not isfinite(number):
            raise ValueError(
                f"Feature {name!r} is {str(value)[:40]}: features must be finite numbers. Leave it out, which "
                "means zero, or impute it, for instance with river.preprocessing.StatImputer."
            )
        return number

    # -- data frames ----------------------------------------------------------------------

    def check_frame(self, X: Any) -> np.ndarray:
        """The values of a data frame; raises an error if invalid."""
        if not (hasattr(X, "columns") and hasattr(X, "to_numpy")):
            raise TypeError(f"Pass many examples as a pandas.DataFrame, not as {type(X).__name__}.")
        if not len(X.columns):
            raise ValueError("The data frame has no columns: examples need at least one feature.")
        if X.columns.has_duplicates:
            twice = X.columns[X.columns.duplicated()][0]
            raise ValueError(
                f"The data frame has more than one column {twice!r}: names must be unique."
            )
        try:
            kinds = [dtype.kind in "fiub" for dtype in X.dtypes]
            values = X.to_numpy(dtype=np.float64) if all(kinds) else None
        except (TypeError, ValueError):
            values = None
        if values is None or not np.isfinite(values).all():
            rows = [[self._number(n, v) for n, v in zip(X.columns, r)] for r in X.to_numpy(object)]
            values = np.array(rows, np.float64).reshape(X.shape)
        return values

    def matrix(self, X: Any, values: np.ndarray) -> np.ndarray:
        """The rows of a frame; names that have no column are left out."""
        rows = np.zeros((len(values), self.width))
        places = [self.columns.get(name, -1) for name in X.columns]
        for k, place in enumerate(places):
            if place >= 0:
                rows[:, place] = values[:, k]
        return rows


class NamedModel:
    """Base class of River models: dictionaries of features around one estimator."""

    _kind: ClassVar[Any]
    _fixed: ClassVar[dict[str, Any]] = {"n_jobs": None}
    _sign: ClassVar[float] = 1.0  # of the decision value in what is predicted

    def __init__(self) -> None:
        self._rows = NamedRows()
        self._model: Any = None

    @property
    def estimator(self) -> Any:
        """The wrapped estimator, for its fitted attributes; None before the first example."""
        return self._model

    @property
    def feature_names(self) -> list[Any]:
        """Names of the features learned so far, in the order of the estimator's columns."""
        return list(self._rows.columns)

    def explain_one(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """Explain one prediction: the exact Shapley value of each feature, as ``explain`` does.

        The shares and a base value add up to the decision value, the prediction of a regressor, or
        the score of a detector. With several outputs (three labels or more, several quantiles)
        there is one such dictionary for each. Empty before the first example.

        Parameters
        ----------
        x
            Features. Names that were never learned are left out.
        """
        row, model = self._rows.known(x), self._model
        if model is None:
            return {}
        shares = self._sign * model.explain_one(row, n_examples=1).values[: len(self._rows.columns)]
        if shares.ndim == 1:
            return dict(zip(self._rows.columns, shares.tolist(), strict=True))
        return {
            answer: dict(zip(self._rows.columns, column.tolist(), strict=True))
            for answer, column in zip(self._answers(), shares.T, strict=True)
        }

    def _answers(self) -> list[Any]:
        """What the model tells apart, where it has several decision values: by default, it has one."""
        return []

    def _check_single(self, y: Any, what: str) -> None:
        """Refuse several labels or targets of one example."""
        if isinstance(y, Mapping | list | tuple) or (isinstance(y, np.ndarray) and y.ndim):
            raise ValueError(
                f"{type(self).__name__} takes one {what} for each example; got {y!r}. For several, wrap it "
                "with river.multioutput, or use the estimator of onlinesvm itself."
            )

    def _learn_named(self, x: dict[Any, Any], hand_over: Any) -> None:
        """Learn one example; ``hand_over`` gives a model the row."""
        row, before = self._rows.learned(x)
        if before is None and self._model is not None:
            hand_over(self._model, row)
        else:
            self._learn_new_names(before, lambda model: hand_over(model, row))

    def _learn_new_names(self, before: dict[Any, int] | None, learn: Any) -> None:
        """Learn examples that may have new names; after an error nothing has changed."""
        rows, model = self._rows, self._model
        if model is None:
            model = self._make()
        elif rows.width > model.n_features_in_ and not widen(model, rows.width, dense=True):
            rows.columns = rows.columns if before is None else before
            raise ValueError(
                f"{type(self).__name__} cannot accept new feature names with these settings."
            )
        try:
            learn(model)
        except Exception:
            if self._model is None:
                self._rows = NamedRows()
            elif before is not None:
                rows.columns = before
            raise
        self._model = model

    def _make(self) -> Any:
        """The estimator, with the parameters of this object."""
        names = inspect.signature(type(self)).parameters
        own = {name: getattr(self, name) for name in names}
        if own.get("kernel") == "precomputed":
            raise ValueError(
                "kernel='precomputed' does not work with named features; use another kernel."
            )
        return self._kind(**own, **self._fixed)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_) and not isinstance(
        value, complex | np.complexfloating
    )


def _named(x: Any) -> Mapping[Any, Any]:
    """An example that is not a ``dict``: any mapping will do."""
    if not isinstance(x, Mapping):
        raise TypeError(
            f"An example must be a dictionary of features, not {type(x).__name__}; for arrays "
            "use the estimators of onlinesvm itself."
        )
    return x
