"""Compact pickles: only what was learned, with every number exact.

``compact`` writes an array in fewer bytes where that loses nothing: a constant once, whole numbers
in the smallest type that holds them, truth values as bits, zeros as bits, numbers of which there
are few different ones as places in a table, float64 values that are float32 values as those.
``restore`` returns exactly the same array, in writable memory: a model read with
``joblib.load(mmap_mode="r")`` can continue to learn.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

_SMALL = 64
"""Arrays of fewer values stay as they are."""

_TABLE = 256
_SAMPLE = 65536
_MOSTLY_ZERO = 0.6


class Packed(NamedTuple):
    """An array in another form."""

    form: str
    dtype: Any
    shape: tuple[int, ...]
    parts: tuple[Any, ...]


def compact(value: Any) -> Any:
    """The value with every array in it, also in tuples, lists and dictionaries, made small."""
    if isinstance(value, np.ndarray):
        return _pack(np.ascontiguousarray(value))
    return _within(value, compact)


def restore(value: Any) -> Any:
    """What ``compact`` was given; all arrays own their memory."""
    if isinstance(value, Packed):
        return np.ascontiguousarray(_unpack(value))
    if isinstance(value, np.ndarray):
        plain = type(value) is np.ndarray and value.flags.writeable
        return value if plain else np.array(value, subok=False)
    return _within(value, restore)


def _within(value: Any, change: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(change, value))
    if type(value) in (tuple, list):
        return type(value)(map(change, value))
    if type(value) is dict:
        return {name: change(part) for name, part in value.items()}
    return value


def _pack(array: np.ndarray) -> Any:
    kind = array.dtype.kind
    if array.size < _SMALL or kind not in "biuf" or not array.dtype.isnative:
        return array.copy()
    flat = array.ravel()
    if kind == "b":
        return _packed("bits", array, np.packbits(flat))
    bits = flat.view(f"u{array.itemsize}")  # -0.0 is not 0.0, and NaN equals itself
    if (bits == bits[0]).all():
        return _packed("constant", array, flat[:1].copy())
    if kind in "iu":
        small = np.result_type(np.min_scalar_type(flat.min()), np.min_scalar_type(flat.max()))
        return _packed("cast", array, flat.astype(small))
    return _pack_floats(array, flat, bits)


def _pack_floats(array: np.ndarray, flat: np.ndarray, bits: np.ndarray) -> Any:
    zero = bits == 0
    if zero.mean() > _MOSTLY_ZERO:
        return _packed("sparse", array, np.packbits(zero), _pack(flat[~zero]))
    table = np.unique(bits[:_SAMPLE])
    if len(table) <= _TABLE:
        place = np.minimum(np.searchsorted(table, bits), len(table) - 1).astype(np.uint8)
        if np.array_equal(table[place], bits):
            return _packed("table", array, table.view(array.dtype), place)
    if array.dtype == np.float64:
        with np.errstate(over="ignore"):
            narrow = flat.astype(np.float32)
        if np.array_equal(narrow.astype(np.float64).view(bits.dtype), bits):
            return _packed("cast", array, narrow)
    return array.copy()


def _packed(form: str, array: np.ndarray, *parts: Any) -> Packed:
    return Packed(form, array.dtype.str, array.shape, parts)


def _unpack(packed: Packed) -> np.ndarray:
    form, dtype, shape, parts = packed
    size = int(np.prod(shape))
    if form == "bits":
        flat = np.unpackbits(parts[0], count=size).astype(bool)
    elif form == "constant":
        flat = np.full(size, parts[0][0], dtype)
    elif form == "cast":
        flat = parts[0].astype(dtype)
    elif form == "sparse":
        flat = np.zeros(size, dtype)
        flat[~np.unpackbits(parts[0], count=size).astype(bool)] = restore(parts[1])
    else:
        flat = parts[0][parts[1]]
    return flat.reshape(shape)


class Compact:
    """Base of what is pickled: copies lack what can be computed again, pickles spare room too."""

    def _lasting(self) -> dict[str, Any]:
        """The attributes that a copy needs."""
        return dict(self.__dict__)

    def _in_use(self) -> dict[str, Any]:
        """Those that a pickle needs, arrays cut to the part in use."""
        return self._lasting()

    def in_use(self) -> dict[str, Any]:
        """What a file needs: the attributes of a pickle, arrays not yet made small."""
        return self._in_use()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        twin = type(self).__new__(type(self))
        memo[id(self)] = twin
        twin.__dict__.update(deepcopy(self._lasting(), memo))
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return compact(self._in_use())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(restore(state))
