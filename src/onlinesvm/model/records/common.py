"""Parts that the learning states of all algorithms share: kernel, rows, labels, first rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ...core.kernel.cache import KeptRows
from ...core.kernel.kernel import KERNEL_NAMES, Kernel
from ...core.kernel.rows import Rows, RowStore, dense_sizes, pack, sparse_sizes
from ...core.kernel.tiles.dense import SparseRows
from ...core.keys import arrival_keys
from ...estimators.labels import LabelBook
from ...estimators.pair_labels import PairBook
from ...estimators.rows import ENOUGH_FOR_WEIGHTS, FirstRows
from ..encoding import check_sparse
from ..errors import InvalidState, ModelFileError
from ..fields import Fields, narrow

KERNELS = KERNEL_NAMES

LARGEST_CACHE = 2.0**20
"""Megabytes."""

_SPARE = 2**20
"""Slots of all machines that a small support set may have place for."""

_SQUARES = 1e-3
"""Squared norms may differ from those of the rows by this share: they are in single precision."""

_LARGEST_POOL = 2**27
"""Examples of a pool, at most: its numbers are the keys of a model that was never fitted."""


T = TypeVar("T")


def blank(kind: type[T]) -> T:
    """An object of a class without attributes, which are then set from a record.

    A constructor makes an untrained learner; a record contains a trained one. The round-trip test
    compares the attributes of both.
    """
    return object.__new__(kind)


@dataclass
class Context:
    """What the parts of a model have in common."""

    kernel: Kernel
    n_features: int
    n_labels: int
    n_keys: int
    """Examples given to ``fit``: keys are below."""
    n_streamed: int = 0
    """Examples of a stream that were counted: their keys are negative (``core.keys``)."""


# -- kernel -------------------------------------------------------------------------------


def kernel_fields(kernel: Kernel) -> dict[str, Any]:
    """A built-in kernel; a function is code, which files do not contain."""
    if kernel.name not in KERNELS:
        raise ModelFileError(
            "The kernel is a Python function, and model files contain no code: use a built-in "
            "kernel (kernel='precomputed' takes the values of any function), or pickle the "
            "estimator."
        )
    return {
        "name": kernel.name,
        "gamma": float(kernel.gamma),
        "degree": int(kernel.degree),
        "coef0": float(kernel.coef0),
        "n_jobs": None if kernel.n_jobs is None else int(kernel.n_jobs),
        "n_evaluations": int(kernel.n_evaluations),
    }


def kernel_of(fields: Fields) -> Kernel:
    """The kernel again."""
    made = Kernel(
        fields.word("name", *KERNELS),
        gamma=fields.number("gamma", infinite=True),
        degree=fields.whole("degree"),
        coef0=fields.number("coef0"),
        n_jobs=None if fields.absent("n_jobs") else fields.whole("n_jobs", -(2**31), 2**31),
        n_evaluations=fields.whole("n_evaluations", high=2**63),
    )
    fields.close()
    if math.isnan(made.gamma):
        raise InvalidState("the gamma of its kernel is not a number")
    return made


# -- rows ---------------------------------------------------------------------------------


def store_fields(store: RowStore) -> dict[str, Any]:
    """The rows in use."""
    rows, values = store.rows(), store.rows().values
    kept: dict[str, Any] = {
        "n": store.n,
        "n_features": store.n_features,
        "is_sparse": store.is_sparse,
        "whole": bool(store.whole),
        "squares": rows.squares,
        "key": None if rows.key is None else narrow(rows.key),
    }
    if isinstance(values, SparseRows):
        values = pack(values)
        kept |= {"length": narrow(values.end - values.begin), "indices": narrow(values.indices)}
        return kept | {"data": values.data, "low": values.low}
    return kept | {"dense": values, "low": rows.low}


def store_of(fields: Fields, context: Context) -> RowStore:
    """The rows again; their indices lead nowhere else."""
    n, d = fields.whole("n"), fields.whole("n_features", 1)
    is_sparse, whole = fields.flag("is_sparse"), fields.flag("whole")
    if d != context.n_features:
        raise fields.wrong("n_features", f"is {d} where the model has {context.n_features}")
    squares = fields.array("squares", np.float32, (n,), low=0.0)
    key = None
    if not fields.absent("key"):
        key = fields.array("key", np.int64, (n,), 0, d - 1)
    if (key is not None) != (context.kernel.name == "precomputed"):
        raise fields.wrong("key", "is for the precomputed kernel alone")
    absolute, low = context.kernel.absolute, None
    values: Any
    if is_sparse:
        values = _sparse_values(fields, n, d)
        true = sparse_sizes(values.begin, values.end, values.data, absolute)
        whole = whole and not (values.data % 1.0).any()
    else:
        values, low = _dense_values(fields, n, d)
        true = dense_sizes(values, absolute)
    if not np.allclose(squares, true, rtol=_SQUARES, atol=1e-30):
        raise fields.wrong("squares", "are not those of the rows")
    fields.close()
    rows = Rows(values, squares, d, key, low, whole, absolute)
    store = RowStore(rows, capacity=n)
    store.append(rows)
    return store


def _dense_values(fields: Fields, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and their second parts."""
    dense = fields.array("dense", np.float32, (n, d))
    low = fields.array("low", np.float32, (None, d))
    if len(low) not in (0, n):
        raise fields.wrong("low", f"has {len(low)} rows in place of {n}")
    return dense, low


def _sparse_values(fields: Fields, n: int, d: int) -> SparseRows:
    length = fields.array("length", np.int64, (n,), 0, d)
    data = fields.array("data", np.float32, (None,))
    indices = fields.array("indices", np.int32, (len(data),))
    low = fields.array("low", np.float32, (None,))
    if len(low) not in (0, len(data)):
        raise fields.wrong("low", f"has {len(low)} values in place of {len(data)}")
    pointer = np.append(0, np.cumsum(length))
    check_sparse(pointer, indices, data, n, d)
    return SparseRows(pointer[:-1], pointer[1:], indices, data, low)


# -- labels -------------------------------------------------------------------------------


def book_fields(book: LabelBook) -> dict[str, Any]:
    """Labels in the order of their appearance, and the type of ``classes_``."""
    labels = sorted(book.numbers, key=lambda label: book.numbers[label])
    dtype = book.classes.dtype
    kind = "object" if dtype.kind == "O" else dtype.newbyteorder("=").str.lstrip("<>|=")
    own = {"pairs": True} if isinstance(book, PairBook) else {}
    return {"labels": labels, "dtype": kind, **own}


def book_of(fields: Fields) -> LabelBook:
    """The labels again, numbered as they were."""
    labels, kind = fields.take("labels"), fields.take("dtype")
    pairs = fields.has("pairs") and fields.flag("pairs")
    fields.close()
    if not isinstance(labels, list) or not labels:
        raise fields.wrong("labels", "is not a list of labels")
    kinds = {type(label) for label in labels}
    if not (kinds == {str} or kinds <= {int, float, bool} or _are_numpy(kinds)):
        raise fields.wrong("labels", "are not all text or all numbers")
    book = PairBook() if pairs else LabelBook()
    book.numbers = {label: number for number, label in enumerate(labels)}
    book.classes = _classes(fields, labels, kind)
    if len(book.numbers) != len(labels) or len(book.classes) != len(labels):
        raise fields.wrong("labels", "has a label twice")
    try:
        book.order()
    except KeyError:
        raise fields.wrong("labels", "do not fit their type") from None
    return book


def _are_numpy(kinds: set[type]) -> bool:
    return all(issubclass(kind, np.generic | int | float) for kind in kinds)


def _classes(fields: Fields, labels: list[Any], kind: Any) -> np.ndarray:
    text = type(labels[0]) is str
    allowed = ["object"]
    allowed += [] if text else ["b1", *(f"{k}{s}" for k in "iu" for s in (1, 2, 4, 8))]
    allowed += [] if text else ["f2", "f4", "f8"]
    is_text = isinstance(kind, str) and kind[:1] == "U" and kind[1:].isdecimal() and text
    if is_text:
        width = max(map(len, labels))
        if not width <= int(kind[1:]) or int(kind[1:]) * len(labels) > max(2**18, width):
            raise fields.wrong("dtype", "does not fit the labels")
    elif kind not in allowed:
        raise fields.wrong("dtype", "is unknown")
    try:
        with np.errstate(over="ignore"):
            made = np.array(labels, np.dtype(kind))
        return np.unique(made)
    except (OverflowError, ValueError, TypeError):
        raise fields.wrong("labels", "do not fit their type") from None


def class_table_fields(table: dict[Any, float] | None) -> list[list[Any]]:
    """Weights of classes."""
    return [[label, float(weight)] for label, weight in (table or {}).items()]


def class_table_of(fields: Fields) -> dict[Any, float]:
    """Weights of classes by label."""
    pairs = fields.take("class_table")
    if not isinstance(pairs, list):
        raise fields.wrong("class_table", "is not a list")
    for pair in pairs:
        good = isinstance(pair, list) and len(pair) == 2 and type(pair[1]) is float
        if not (good and pair[1] >= 0.0 and isinstance(pair[0], str | int | float | np.generic)):
            raise fields.wrong("class_table", "has a malformed weight")
    return dict(pairs)


# -- first rows ---------------------------------------------------------------------------


def first_rows_fields(rows: FirstRows | None) -> dict[str, Any] | None:
    """The first rows of a stream, while gamma or feature weights are not yet fixed."""
    return None if rows is None else {"X": rows.X, "y": rows.y, "weight": rows.weight}


def first_rows_of(fields: Fields, n_features: int) -> FirstRows:
    """The rows again."""
    X = fields.matrix("X", n_features)
    n = X.shape[0]
    y = fields.take("y")
    weight = fields.array("weight", np.float64, (n,), low=0.0)
    fields.close()
    most = ENOUGH_FOR_WEIGHTS
    if not isinstance(y, np.ndarray) or len(y) != n or y.ndim > 2 or not 0 < n < most:
        raise fields.wrong("y", f"is not an array of {n} labels, fewer than {most}")
    return FirstRows(X, y, weight)


def centre_of(fields: Fields, kernel: Kernel, n_features: int) -> np.ndarray | None:
    """What is subtracted from every row."""
    if fields.absent("centre"):
        return None
    centre = fields.array("centre", np.float64, (n_features,))
    if not kernel.ignores_shift:
        raise fields.wrong("centre", "is for kernels that do not depend on the origin")
    return centre


# -- what refers to rows, labels and examples ---------------------------------------------


def positives(n_labels: int) -> np.ndarray:
    """The label that is +1 for each machine."""
    return np.array([1] if n_labels <= 2 else range(n_labels), np.int64)


def labels_of(fields: Fields, n: int, context: Context) -> np.ndarray:
    """Numbers of labels that exist."""
    return fields.array("label", np.int64, (n,), 0, context.n_labels - 1)


def keys_of(fields: Fields, n: int, context: Context) -> np.ndarray:
    """Numbers of examples that were given to ``fit``, or in a pool; or keys of a stream, or -1."""
    most = context.n_keys or _LARGEST_POOL
    least = arrival_keys(context.n_streamed - 1)  # -1 if there is none
    return fields.array("key", np.int64, (n,), least, most - 1)


def kept_fields(kept: KeptRows | None) -> dict[str, Any] | None:
    """Which kernel rows a cache keeps."""
    return None if kept is None else {"capacity": kept.capacity, "slots": narrow(kept.slots)}


def kept_of(fields: Fields, n: int, machines: int) -> KeptRows:
    """Read which kernel rows a cache keeps; the capacity is one that memory allows."""
    capacity = fields.whole("capacity", n, max(_SPARE // machines, 8 * n))
    slots = fields.array("slots", np.int64, (None,), 0, n - 1)
    fields.close()
    if len(np.unique(slots)) != len(slots):
        raise fields.wrong("slots", "has a slot twice")
    return KeptRows(capacity, slots)
