"""Values as JSON and arrays: a closed set of types, each written in one way.

None, truth values, whole numbers, finite floats, text   as in JSON
list                                                     JSON list
dict whose keys are text (none starts with ``$``)        JSON object
tuple                                                    {"$tuple": [...]}
any other dict                                           {"$dict": [[key, value], ...]}
inf, -inf, nan                                           {"$float": "inf"}
a NumPy number                                           {"$numpy": ["float32", 0.5]}
an array of numbers                                      {"$array": name}
an array of text                                         {"$text": name, "width": 4}
an array of Python objects, all numbers or text          {"$objects": [...]}
a CSR matrix                                             {"$csr": {shape, data, indices, indptr}}
a random generator                                       {"$random": {...}}

``name`` is that of an array in the container. Each array is used exactly once. Nothing else can be
written, so reading a file makes nothing else: no classes, no functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from .container import TensorInfo
from .errors import InvalidState
from .generators import generator_fields, generator_of

DEEPEST = 100
"""Values may be nested this deep."""

WIDEST_TEXT = 2**18
"""Characters that an array of text may take beyond what its lines need."""

_NUMPY = {
    np.dtype(name).name: np.dtype(name).type
    for name in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}


class Unsupported(TypeError):  # noqa: N818
    """A value of a type that model files do not support."""


class Encoder:
    """Collects the arrays of the values that it writes."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}

    def encode(self, value: Any, name: str) -> Any:
        """The value as JSON; ``name`` says where it is, and names its arrays."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"$float": str(value)}
        if isinstance(value, np.generic):
            return self._scalar(value, name)
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if sparse.issparse(value):
            return {"$csr": self._csr(value, name)}
        if isinstance(value, np.random.RandomState | np.random.Generator):
            return {"$random": self.encode(generator_fields(value), name)}
        if type(value) is list:
            return [self.encode(part, f"{name}.{k}") for k, part in enumerate(value)]
        if isinstance(value, tuple):
            return {"$tuple": [self.encode(part, f"{name}.{k}") for k, part in enumerate(value)]}
        if type(value) is dict:
            return self._dict(value, name)
        raise Unsupported(f"{name} is of type {type(value).__name__}")

    def _scalar(self, value: np.generic, name: str) -> Any:
        if value.dtype.name in _NUMPY:
            return {"$numpy": [value.dtype.name, self.encode(value.item(), name)]}
        if isinstance(value, np.str_):
            return str(value)
        raise Unsupported(f"{name} is of type {value.dtype.name}")

    def _array(self, array: np.ndarray, name: str) -> Any:
        if array.dtype.kind == "O":
            if array.ndim != 1:
                raise Unsupported(f"{name} is an array of objects of {array.ndim} dimensions")
            return {"$objects": [self.encode(v, f"{name}.{k}") for k, v in enumerate(array)]}
        if array.dtype.kind == "U" and array.ndim == 1:
            lines = [text.encode("utf-8", "surrogatepass") for text in array.tolist()]
            self._add(name, np.frombuffer(b"".join(lines), np.uint8))
            self._add(f"{name}.length", np.array([len(line) for line in lines], np.int64))
            return {"$text": name, "width": _text_width(array)}
        if array.dtype.name not in _NUMPY:
            raise Unsupported(f"{name} is an array of type {array.dtype}")
        self._add(name, array)
        return {"$array": name}

    def _csr(self, matrix: Any, name: str) -> Any:
        parts = ("data", "indices", "indptr")
        made = {part: self._array(getattr(matrix, part), f"{name}.{part}") for part in parts}
        return {"shape": list(map(int, matrix.shape)), **made}

    def _dict(self, value: dict[Any, Any], name: str) -> Any:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.encode(part, f"{name}.{key}") for key, part in value.items()}
        return {
            "$dict": [
                [self.encode(key, f"{name}.{k}.key"), self.encode(part, f"{name}.{k}")]
                for k, (key, part) in enumerate(value.items())
            ]
        }

    def _add(self, name: str, array: np.ndarray) -> None:
        if name in self.tensors:
            raise Unsupported(f"there are two arrays of the name {name}")
        self.tensors[name] = array


class Decoder:
    """Restores values from what an ``Encoder`` wrote.

    Without arrays (``info`` reads only the header) each is represented by its ``TensorInfo``, and
    random generators by their names.
    """

    def __init__(
        self, tensors: dict[str, np.ndarray] | None, layout: dict[str, TensorInfo]
    ) -> None:
        self._tensors, self._layout = tensors, layout
        self._unused = set(layout)

    def decode(self, tree: Any, depth: int = 0) -> Any:
        """The value that ``tree`` stands for."""
        if depth > DEEPEST:
            raise InvalidState("its values are nested too deeply")
        if tree is None or type(tree) in (bool, int, str):
            return tree
        if type(tree) is float:
            if not math.isfinite(tree):
                raise InvalidState("a number in its header is not finite")
            return tree
        if isinstance(tree, list):
            return [self.decode(part, depth + 1) for part in tree]
        if not isinstance(tree, dict):
            raise InvalidState("its header has a value of an unknown type")
        tags = [key for key in tree if key.startswith("$")]
        if not tags:
            return {key: self.decode(part, depth + 1) for key, part in tree.items()}
        read = _TAGS.get(tags[0]) if len(tags) == 1 else None
        if read is None:
            raise InvalidState(f"its header has an unknown type of value, {tags[0][:20]!r}")
        return read(self, tree, depth + 1)

    def close(self) -> None:
        """Every array has been used."""
        if self._unused:
            raise InvalidState(f"array {min(self._unused)!r} is not used")

    def _take(self, name: Any) -> Any:
        if not isinstance(name, str) or name not in self._unused:
            raise InvalidState(f"array {str(name)[:80]!r} is missing, or used twice")
        self._unused.discard(name)
        return self._layout[name] if self._tensors is None else self._tensors[name]

    def _tuple(self, tree: dict[str, Any], depth: int) -> Any:
        return tuple(self.decode(_listed(tree["$tuple"]), depth))

    def _dict(self, tree: dict[str, Any], depth: int) -> Any:
        pairs = [_listed(pair) for pair in _listed(tree["$dict"])]
        if any(len(pair) != 2 for pair in pairs):
            raise InvalidState("its header has a malformed dictionary")
        made = {}
        for key, value in pairs:
            label = self.decode(key, depth)
            if not isinstance(label, str | int | float | bool | np.generic | None):
                raise InvalidState("its header has a malformed dictionary")
            made[label] = self.decode(value, depth)
        return made

    def _float(self, tree: dict[str, Any], depth: int) -> float:
        if tree["$float"] not in ("inf", "-inf", "nan"):
            raise InvalidState("its header has a malformed number")
        return float(tree["$float"])

    def _scalar(self, tree: dict[str, Any], depth: int) -> Any:
        pair = _listed(tree["$numpy"])
        if len(pair) != 2 or not isinstance(pair[0], str) or pair[0] not in _NUMPY:
            raise InvalidState("its header has a malformed number")
        value = self.decode(pair[1], depth)
        if type(value) not in (bool, int, float):
            raise InvalidState("its header has a malformed number")
        try:
            made = _NUMPY[pair[0]](value)
        except (OverflowError, ValueError):
            raise InvalidState("its header has a number beyond the range of its type") from None
        return made

    def _array(self, tree: dict[str, Any], depth: int) -> Any:
        return self._take(tree["$array"])

    def _text(self, tree: dict[str, Any], depth: int) -> Any:
        name, width = tree["$text"], tree.get("width")
        joined, length = self._take(name), self._take(f"{name}.length")
        if self._tensors is None:
            return length
        if joined.dtype != np.uint8 or joined.ndim != 1:
            raise InvalidState(f"the text {name!r} is malformed")
        if length.dtype != np.int64 or length.ndim != 1 or (length < 0).any():
            raise InvalidState(f"the text {name!r} is malformed")
        if length.max(initial=0) > len(joined) or length.sum() != len(joined):
            raise InvalidState(f"the text {name!r} is malformed")
        ends = np.cumsum(length)
        raw = joined.tobytes()
        try:
            lines = [
                raw[end - size : end].decode("utf-8", "surrogatepass")
                for end, size in zip(ends.tolist(), length.tolist())
            ]
        except UnicodeDecodeError:
            raise InvalidState(f"the text {name!r} is malformed") from None
        return text_array(lines, width)

    def _objects(self, tree: dict[str, Any], depth: int) -> Any:
        values = self.decode(_listed(tree["$objects"]), depth)
        made = np.empty(len(values), object)
        made[:] = values
        return made

    def _csr(self, tree: dict[str, Any], depth: int) -> Any:
        fields = tree["$csr"]
        if not isinstance(fields, dict) or set(fields) != {"shape", "data", "indices", "indptr"}:
            raise InvalidState("its header has a malformed sparse matrix")
        return csr_of(self.decode(fields, depth), self._tensors is not None)

    def _random(self, tree: dict[str, Any], depth: int) -> Any:
        fields = self.decode(tree["$random"], depth)
        return generator_of(fields, self._tensors is not None)


_TAGS: dict[str, Any] = {
    "$tuple": Decoder._tuple,
    "$dict": Decoder._dict,
    "$float": Decoder._float,
    "$numpy": Decoder._scalar,
    "$array": Decoder._array,
    "$text": Decoder._text,
    "$objects": Decoder._objects,
    "$csr": Decoder._csr,
    "$random": Decoder._random,
}


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidState("its header has a malformed list")
    return value


def _text_width(array: np.ndarray) -> int:
    """Characters of the type of an array of text; less where that would waste memory."""
    width = array.dtype.itemsize // 4
    return width if width * array.size <= WIDEST_TEXT else max(map(len, array.tolist()))


def text_array(lines: list[str], width: Any) -> np.ndarray:
    """An array of text of the given width."""
    needed = max(map(len, lines), default=0)
    if type(width) is not int or not max(1, needed) <= width:
        raise InvalidState("its header has a malformed type of text")
    if width > needed and width * len(lines) > WIDEST_TEXT:
        raise InvalidState("its header has a malformed type of text")
    return np.array(lines, f"=U{width}")


def csr_of(fields: dict[str, Any], present: bool) -> Any:
    """A CSR matrix whose structure is sound; without its arrays, the shape."""
    shape = fields["shape"]
    if not (isinstance(shape, list) and len(shape) == 2 and all(type(n) is int for n in shape)):
        raise InvalidState("its header has a malformed sparse matrix")
    if min(shape) < 0 or max(shape) >= 2**48:
        raise InvalidState("its header has a malformed sparse matrix")
    if not present:
        return tuple(shape)
    data, indices, pointer = (fields[name] for name in ("data", "indices", "indptr"))
    for array in (data, indices, pointer):
        if not isinstance(array, np.ndarray) or array.ndim != 1:
            raise InvalidState("a sparse matrix is malformed")
    if indices.dtype not in (np.int32, np.int64) or pointer.dtype not in (np.int32, np.int64):
        raise InvalidState("a sparse matrix is malformed")
    check_sparse(pointer, indices, data, shape[0], shape[1])
    return sparse.csr_matrix((data, indices, pointer), shape=tuple(shape))


def check_sparse(
    pointer: np.ndarray, indices: np.ndarray, data: np.ndarray, rows: int, columns: int
) -> None:
    """Rows begin and end within the data, and the columns of each row increase."""
    if len(pointer) != rows + 1 or pointer[0] != 0 or (pointer[1:] < pointer[:-1]).any():
        raise InvalidState("a sparse matrix is malformed")
    if not pointer[-1] == len(indices) == len(data):
        raise InvalidState("a sparse matrix is malformed")
    if not len(indices):
        return
    if indices.min() < 0 or indices.max() >= columns:
        raise InvalidState("a sparse matrix has an index beyond its columns")
    rising = indices[1:] > indices[:-1]
    first = pointer[1:-1]
    rising[first[(first > 0) & (first < len(indices))] - 1] = True
    if not rising.all():
        raise InvalidState("a sparse matrix has columns out of order")
