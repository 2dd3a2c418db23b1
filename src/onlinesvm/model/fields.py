"""Named values of a record, read one by one and checked.

A record says what it expects: ``fields.array("alpha", float, (machines, n))``. What is not as
expected, missing, or left over is an ``InvalidState`` that names the place.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from .errors import InvalidState


class Fields:
    """The values of one record."""

    def __init__(self, values: Any, where: str):
        if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
            raise InvalidState(f"{where} is not a record")
        self._values, self.where = dict(values), where

    def take(self, name: str) -> Any:
        """A value as it is."""
        if name not in self._values:
            raise InvalidState(f"{self.where}.{name} is missing")
        return self._values.pop(name)

    def has(self, name: str) -> bool:
        """Whether there is such a value."""
        return name in self._values

    def close(self) -> None:
        """Nothing is left over."""
        if self._values:
            raise InvalidState(f"{self.where}.{min(self._values)} is not known")

    def wrong(self, name: str, problem: str) -> InvalidState:
        """The error for one of the values."""
        return InvalidState(f"{self.where}.{name} {problem}")

    # -- single values --------------------------------------------------------------------

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.take(name)
        if type(value) is not bool:
            raise self.wrong(name, "is not true or false")
        return value

    def word(self, name: str, *choices: str) -> str:
        """One of some words."""
        value = self.take(name)
        if not isinstance(value, str) or value not in choices:
            raise self.wrong(name, f"is none of {', '.join(choices)}")
        return value

    def whole(self, name: str, low: int = 0, high: int = 2**53) -> int:
        """A whole number in ``low`` .. ``high``."""
        value = self.take(name)
        if type(value) is not int or not low <= value <= high:
            raise self.wrong(name, f"is not a whole number of {low} to {high}")
        return value

    def number(
        self, name: str, low: float = -math.inf, high: float = math.inf, infinite: bool = False
    ) -> float:
        """A float in ``low`` .. ``high``; infinite only where that is allowed."""
        value = self.take(name)
        if type(value) not in (int, float) or not low <= value <= high:
            raise self.wrong(name, f"is not a number of {low} to {high}")
        if not infinite and not math.isfinite(value):
            raise self.wrong(name, "is not finite")
        return float(value)

    def absent(self, name: str) -> bool:
        """Whether the value is None; it is then taken."""
        if name not in self._values:
            raise InvalidState(f"{self.where}.{name} is missing")
        if self._values[name] is None:
            self._values.pop(name)
            return True
        return False

    # -- parts ----------------------------------------------------------------------------

    def record(self, name: str) -> Fields:
        """The values of a record within this one."""
        return Fields(self.take(name), f"{self.where}.{name}")

    def records(self, name: str, count: int) -> list[Fields]:
        """``count`` records."""
        value = self.take(name)
        if not isinstance(value, list) or len(value) != count:
            raise self.wrong(name, f"is not a list of {count}")
        return [Fields(part, f"{self.where}.{name}.{k}") for k, part in enumerate(value)]

    # -- arrays ---------------------------------------------------------------------------

    def array(
        self,
        name: str,
        dtype: Any,
        shape: tuple[int | None, ...],
        low: float = -math.inf,
        high: float = math.inf,
        infinite: bool = False,
    ) -> np.ndarray:
        """An array of numbers in ``low`` .. ``high``. None in ``shape`` is any length.

        Whole numbers may be kept in a smaller type; they become ``dtype``.
        """
        value = self.take(name)
        dtype = np.dtype(dtype)
        if not isinstance(value, np.ndarray) or not _fits(value.dtype, dtype):
            raise self.wrong(name, f"is not an array of {dtype}")
        wanted = len(shape) == value.ndim and all(
            size is None or size == found for size, found in zip(shape, value.shape)
        )
        if not wanted:
            raise self.wrong(name, f"has the shape {value.shape} in place of {shape}")
        value = np.ascontiguousarray(value, dtype)
        if value.size and dtype.kind != "b":
            least, most = value.min(), value.max()  # NaN if there is one
            if not (low <= least and most <= high):
                raise self.wrong(name, f"has values outside of {low} to {high}")
            if dtype.kind == "f" and not infinite and not np.isfinite([least, most]).all():
                raise self.wrong(name, "has values that are not finite")
        return value

    def matrix(self, name: str, columns: int) -> Any:
        """Examples, dense or CSR, in float32 or float64."""
        value = self.take(name)
        if isinstance(value, np.ndarray):
            data, shape = value, value.shape
        elif sparse.issparse(value):
            data, shape = value.data, value.shape
        else:
            raise self.wrong(name, "is not a matrix")
        if data.dtype not in (np.float32, np.float64) or len(shape) != 2 or shape[1] != columns:
            raise self.wrong(name, f"is not a matrix of {columns} columns")
        if not np.isfinite(data).all():
            raise self.wrong(name, "has values that are not finite")
        return value


def _fits(found: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    return found == wanted or (
        wanted.kind == found.kind == "i" and found.itemsize <= wanted.itemsize
    )


def narrow(array: np.ndarray) -> np.ndarray:
    """Whole numbers in the smallest signed type that holds them."""
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return array.astype(kind)
    return np.array(array, np.int64)
