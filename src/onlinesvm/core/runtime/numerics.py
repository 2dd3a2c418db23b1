"""Numerics policy, in one place: dtypes, tolerances, compilation.

Kernel values and rows are ``float32``; coefficients, gradients and sums are ``float64``.
Loops are compiled with the on-disk cache and release the interpreter lock. With
``NUMBA_DISABLE_JIT=1`` the same functions run as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.core import event, types
from numba.extending import intrinsic

from .compiling.announcing import Announcer, CollectorPause
from .compiling.caching import keep
from .compiling.linking import LinkedCompiler

JIT_DISABLED = bool(numba.config.DISABLE_JIT)

event.register("numba:compile", Announcer())
event.register("numba:compile", CollectorPause())

ALL_EXAMPLES = 2**53
"""More examples than will ever come: larger limits stand for this one."""

CURVATURE_FLOOR = 1e-12
"""Smallest K_ii + K_jj - 2 K_ij a direction search divides by (duplicates give zero), as a share of
the kernel values where these are smaller than 1."""

_SMALLEST_FLOOR = 1e-45

# No "reassoc": the exponential's rounding trick relies on the written order.
ORDERED_MATH = {"nnan", "ninf", "nsz", "contract"}
# Sums may be reordered, which is what lets them run in vector registers.
REORDERED_MATH = {"nnan", "ninf", "nsz", "contract", "reassoc"}
# The same where infinity is a number to compare with.
REORDERED_SUMS = {"nsz", "contract", "reassoc"}


def jit(
    function: Callable[..., Any] | None = None, *, fastmath: set[str] | bool = False, **options: Any
) -> Callable[..., Any]:
    """Compile a loop: cached on disk (``compiling/caching.py``), lock released."""

    def compile_(target: Callable[..., Any]) -> Callable[..., Any]:
        settings = {
            "nogil": True, "fastmath": fastmath, "error_model": "numpy",
            "no_cfunc_wrapper": True,  # no entry point for C: not used
            **options,
        }  # fmt: skip
        if JIT_DISABLED:
            return target
        compiled = numba.njit(**settings)(target)
        keep(compiled)
        return compiled

    if function is not None:
        return compile_(function)
    return compile_


def inner(function: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """``jit`` for what only compiled code calls: no way in from Python, so quicker to compile."""
    return jit(function, no_cpython_wrapper=True, **options)


def linked(function: Callable[..., Any]) -> Callable[..., Any]:
    """``inner`` without machine code of its own: optimised as a part of the loops that call it."""
    return inner(function, _nrt=False, pipeline_class=LinkedCompiler)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """``inner`` for what is called from one place: part of its caller before types are known.

    It is never compiled by itself, which takes a fraction of the time; its options are its caller's.
    """
    return inner(function, inline="always")


if JIT_DISABLED:

    def never_inline():
        """Nothing to do."""

    keep_small = never_inline

else:
    # LLVM copies functions into those that call them and optimises every copy again, at each level
    # of a chain of calls. Loops that take microseconds gain nothing from that and cost seconds to
    # compile: a function whose first statement is ``never_inline()`` is called, not copied. One
    # that begins with ``keep_small()`` is besides not unrolled and turned into vector instructions
    # where that needs more code: for the many branches around the few loops that take the time.

    def _marked(*attributes):
        def marker(typingctx):
            def codegen(context, builder, signature, args):
                builder.function.attributes.discard("alwaysinline")
                for attribute in attributes:
                    builder.function.attributes.add(attribute)
                return context.get_dummy_value()

            return types.void(), codegen

        return intrinsic(marker)

    never_inline = _marked("noinline")
    keep_small = _marked("noinline", "minsize", "optsize")


@inlined
def flat(size):
    """The curvature floor for kernel values k(x, x) of this size."""
    return max(CURVATURE_FLOOR * min(abs(size), 1.0), _SMALLEST_FLOOR)


@linked
def curvature_of(k_ii, k_jj, k_ij):
    """K_ii + K_jj - 2 K_ij in double precision, or the floor where that is less."""
    largest = max(abs(np.float64(k_ii)), abs(np.float64(k_jj)))
    return max(np.float64(k_ii) + np.float64(k_jj) - 2.0 * np.float64(k_ij), flat(largest))
