"""Arrays as an intrinsic takes them: checked when the call is compiled.

An intrinsic reads through a bare pointer and knows neither strides nor dtype. A call with an array
of another kind must not compile: it would read or write memory that is not the array's.
"""

from __future__ import annotations

from numba.core import types
from numba.core.errors import TypingError

FLOAT32, FLOAT64, INT32 = types.float32, types.float64, types.int32


def require(where: str, **arrays: tuple) -> None:
    """Each array, given as (its type, dimensions, dtype), must be C-contiguous and be like that."""
    for name, (kind, dimensions, dtype) in arrays.items():
        good = (
            isinstance(kind, types.Array)
            and (kind.ndim, kind.dtype, kind.layout) == (dimensions, dtype, "C")
            and kind.aligned
        )
        if not good:
            raise TypingError(
                f"{where}: {name} must be a C-contiguous array of {dtype} with {dimensions} "
                f"dimension(s), not {kind}."
            )
