"""A way to keep compiled functions apart.

LLVM copies functions into those that call them and optimises every copy anew, at each level of a
chain of calls. Loops that take microseconds gain nothing from that and cost seconds to compile: a
function whose first statement is ``never_inline()`` is called, not copied. One that begins with
``keep_small()`` is besides not unrolled and turned into vector instructions where that needs more
code: for the many branches around the few loops that take the time.
"""

from __future__ import annotations

from ...runtime.numerics import JIT_DISABLED

if JIT_DISABLED:

    def never_inline():
        """Nothing to do."""

    keep_small = never_inline

else:
    from numba.core import types
    from numba.extending import intrinsic

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
