"""The container: safetensors, read defensively.

    8 bytes      length of the header, little-endian
    header       JSON: {"__metadata__": {"onlinesvm": text}, name: {dtype, shape, data_offsets}, ...}
    data         the arrays, one after the other

``read_layout`` trusts nothing: the header must be short enough, every shape must match its bytes,
and the arrays must fill the rest of the file without gaps or overlaps. Only then is memory
allocated, never more than the size of the file. No code is run, whatever the file contains.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable
from typing import IO, Any, NamedTuple

import numpy as np

from .errors import InvalidState, ModelFileError

KEY = "onlinesvm"
"""The one entry of safetensors' ``__metadata__``."""

LARGEST_HEADER = 8 * 2**20
"""Bytes of a header; parsed JSON takes many times its length."""

DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
    "I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip

_MOST_DIMENSIONS = 4


class TensorInfo(NamedTuple):
    """An array that is in a file: its type, shape, and place among the data."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class Layout(NamedTuple):
    """What a header says, checked against the size of the file."""

    metadata: str
    tensors: dict[str, TensorInfo]
    data_start: int
    file_size: int


def to_bytes(metadata: str, tensors: dict[str, np.ndarray]) -> bytes:
    """A container with these arrays; the same arrays give the same bytes."""
    from safetensors.numpy import save

    made = save({name: _plain(array) for name, array in tensors.items()}, {KEY: metadata})
    length = int.from_bytes(made[:8], "little")
    if length > LARGEST_HEADER:  # it could not be read again
        raise ModelFileError(
            f"The model cannot be saved: what is not an array would take {length:,} bytes of the file's "
            f"header, and {LARGEST_HEADER:,} are the limit. Use pickle."
        )
    return made


def _plain(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))


def read_layout(file: IO[bytes]) -> Layout:
    """Parse and check the header of an open file."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    prefix = file.read(8)
    length = int.from_bytes(prefix, "little")
    if len(prefix) < 8 or length > size - 8:
        raise InvalidState("it is too short or not in safetensors format")
    if length > LARGEST_HEADER:
        raise InvalidState(f"its header has {length} bytes, more than {LARGEST_HEADER}")
    text = file.read(length)
    try:
        header = json.loads(text.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidState("its header is not JSON") from None
    if not isinstance(header, dict):
        raise InvalidState("its header is not a JSON object")
    metadata = header.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not isinstance(metadata.get(KEY), str):
        raise InvalidState("it is a safetensors file, but was not written by onlinesvm")
    tensors = {name: _tensor_info(name, entry) for name, entry in header.items()}
    _check_places(tensors.values(), size - 8 - length)
    return Layout(metadata[KEY], tensors, 8 + length, size)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**48


def _tensor_info(name: str, entry: Any) -> TensorInfo:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise InvalidState(f"the entry of array {name!r} is malformed")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise InvalidState(f"array {name!r} has the unknown type {str(dtype)[:20]!r}")
    lists = isinstance(shape, list) and isinstance(offsets, list)
    if not (lists and all(map(_is_count, [*shape, *offsets]))):
        raise InvalidState(f"array {name!r} has a malformed shape or place")
    if len(shape) > _MOST_DIMENSIONS or len(offsets) != 2:
        raise InvalidState(f"array {name!r} has a malformed shape or place")
    if math.prod(shape) * np.dtype(DTYPES[dtype]).itemsize != offsets[1] - offsets[0]:
        raise InvalidState(f"the shape of array {name!r} does not match its length in bytes")
    return TensorInfo(DTYPES[dtype], tuple(shape), *offsets)


def _check_places(tensors: Iterable[TensorInfo], available: int) -> None:
    """The arrays follow each other and fill the data exactly."""
    position = 0
    for begin, end in sorted((tensor.begin, tensor.end) for tensor in tensors):
        if begin != position:
            raise InvalidState("its arrays overlap or leave gaps")
        position = end
    if position != available:
        raise InvalidState(
            f"its arrays need {position} bytes, but {available} bytes follow the header"
        )


def read_tensors(file: IO[bytes], layout: Layout) -> dict[str, np.ndarray]:
    """All arrays, copied into memory."""
    tensors = {}
    for name, info in layout.tensors.items():
        file.seek(layout.data_start + info.begin)
        array = np.empty(info.shape, info.dtype)
        if info.end > info.begin and file.readinto(array.reshape(-1).view(np.uint8)) != (  # type: ignore[attr-defined]
            info.end - info.begin
        ):
            raise InvalidState("it ends before its arrays do")
        if info.dtype == "|b1" and (array.view(np.uint8) > 1).any():
            raise InvalidState(f"array {name!r} has truth values that are neither 0 nor 1")
        tensors[name] = array
    return tensors


def checksum(text: str, tensors: dict[str, np.ndarray]) -> str:
    """SHA-256 over a text and all arrays with their names, types and shapes."""
    digest = hashlib.sha256(text.encode("utf-8"))
    for name in sorted(tensors):
        array = _plain(tensors[name])
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        if array.size:
            digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
