"""Arrays as an intrinsic takes them: checked when the call is compiled.

An intrinsic reads through a bare pointer and knows neither strides nor dtype. A call with an array
of another kind must not compile: it would read or write memory that is not the array's.
"""

from __future__ import annotations

from numba.core import types
from numba.core.errors import TypingError

FLOAT32, FLOAT64 = (types.float32,), (types.float64,)
INT32, INT = (types.int32,), (types.int32, types.int64)


def require(where: str, **arrays: tuple) -> None:
    """Each array, given as (its type, dimensions, dtypes), must be C-contiguous and like that."""
    for name, (kind, dimensions, dtypes) in arrays.items():
        good = (
            isinstance(kind, types.Array)
            and (kind.ndim, kind.layout) == (dimensions, "C")
            and kind.dtype in dtypes
            and kind.aligned
        )
        if not good:
            raise TypingError(
                f"{where}: {name} must be a C-contiguous array of "
                f"{' or '.join(map(str, dtypes))} with {dimensions} "
                f"dimension(s), not {kind}."
            )
