"""A way to keep compiled functions apart.

LLVM copies functions into those that call them and optimises every copy anew, at each level of a
chain of calls. Loops that take microseconds gain nothing from that and cost seconds to compile: a
function whose first statement is ``never_inline()`` is called, not copied.
"""

from __future__ import annotations

from ..numerics import JIT_DISABLED

if JIT_DISABLED:

    def never_inline():
        """Nothing to do."""

else:
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def never_inline(typingctx):
        def codegen(context, builder, signature, args):
            builder.function.attributes.discard("alwaysinline")
            builder.function.attributes.add("noinline")
            return context.get_dummy_value()

        return types.void(), codegen
