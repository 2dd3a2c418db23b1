"""Functions that exist only as parts of compiled loops: optimised once, where they are linked in.

Numba optimises every function by itself and makes machine code of it, and once more within each
function that calls it, at every level of a chain of calls. What only other compiled functions call
needs no machine code of its own: it is lowered to LLVM's instructions, and optimised with the loop
that it is a part of.

For strict arithmetic alone: where sums may be reordered (``fastmath``), the order would depend on the
loop.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import (
    FindLiterallyCalls,
    InlineClosureLikes,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    RewriteDynamicRaises,
    WithLifting,
)

NOTHING_TO_DO = (
    WithLifting, InlineClosureLikes, MakeFunctionToJitFunction, RewriteDynamicRaises,
    FindLiterallyCalls, LiteralUnroll, LiteralPropagationSubPipelinePass, NopythonRewrites,
)  # fmt: skip
"""What Numba does about closures, ``with``, ``raise``, literals and whole arrays: loops over numbers
have none, and looking for them took 7 % of the first use of a stream."""


class _WithoutEnvironment:
    """Numba's code generator; the environment of a function without machine code is not set."""

    def __init__(self, codegen: Any):
        self._real = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing: there is no place for it."""


class LinkedCode(JITCodeLibrary):
    """The code of one function, to be linked into others."""

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironment(self._codegen)

    def _optimize_final_module(self) -> None:
        """Left to those who link it in."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """There is no machine code."""
        self._ensure_finalized()
        return 0

    def serialize_using_object_code(self) -> tuple[Any, ...]:
        """For the cache on disk."""
        found: tuple[Any, ...] = self.serialize_using_bitcode()
        return found


class LinkedCompiler(Compiler):
    """Numba's compiler, for a loop over numbers that is linked into others."""

    def define_pipelines(self) -> Any:
        state = self.state
        state.library = LinkedCode(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return [_without(passes, NOTHING_TO_DO) for passes in super().define_pipelines()]


def _without(passes: PassManager, unwanted: tuple[type, ...]) -> PassManager:
    """The same passes but for some."""
    fewer = PassManager(passes.pipeline_name)
    fewer.passes = [one for one in passes.passes if one[0] not in unwanted]
    fewer.finalize()
    return fewer
