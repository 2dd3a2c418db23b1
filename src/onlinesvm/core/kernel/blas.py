"""One BLAS thread for small matrices.

A BLAS splits even small products over its threads, which then wait for each other in a loop: on a
busy machine that costs many times the product itself.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """A context in which BLAS calls of this process run on one thread."""
    return _controller().limit(limits=1, user_api="blas")
