"""Dot products in double precision, 32 at once, with their sums in registers.

- ``sparse_panel_dot``: a sparse row against the columns of a dense panel, (features, 32).
- ``dense_panel_dot``: a dense row against such a panel.

Numba keeps sums that are arrays in memory; these emit vectors instead. Each has a plain twin.
"""

from __future__ import annotations

from ...runtime.numerics import JIT_DISABLED

WIDTH = 32
"""Columns of a panel; eight 256-bit registers of float64."""

if JIT_DISABLED:

    def sparse_panel_dot(indices, data, begin, end, panel, out):
        out[:] = data[begin:end] @ panel[indices[begin:end]]

    def dense_panel_dot(row, panel, out):
        out[:] = row @ panel

else:
    from llvmlite import ir
    from numba.core import types
    from numba.core.cgutils import get_or_insert_function
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    from .layout import FLOAT64, INT, require

    _VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)

    def _data(context, builder, kind, value):
        return make_array(kind)(context, builder, value).data

    def _spread(builder, value):
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        word = ir.IntType(32)
        single = builder.insert_element(undefined, value, ir.Constant(word, 0))
        zeros = ir.Constant(ir.VectorType(word, WIDTH), [0] * WIDTH)
        return builder.shuffle_vector(single, undefined, zeros)

    def _sum(builder, begin, end, term):
        """The loop ``for p in range(begin, end): total += value * chunk``, ``term(p)`` both."""
        word = begin.type
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        multiply_add = get_or_insert_function(builder.module, kind, f"llvm.fmuladd.v{WIDTH}f64")
        entry = builder.block
        head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        position, total = builder.phi(word), builder.phi(_VECTOR)
        position.add_incoming(begin, entry)
        total.add_incoming(ir.Constant(_VECTOR, [0.0] * WIDTH), entry)
        builder.cbranch(builder.icmp_signed("<", position, end), body, done)
        builder.position_at_end(body)
        value, row, panel = term(position)
        address = builder.gep(panel, [builder.mul(row, ir.Constant(word, WIDTH))])
        chunk = builder.load(builder.bitcast(address, _VECTOR.as_pointer()), align=8)
        after = builder.call(multiply_add, [_spread(builder, value), chunk, total])
        position.add_incoming(builder.add(position, ir.Constant(word, 1)), body)
        total.add_incoming(after, body)
        builder.branch(head)
        builder.position_at_end(done)
        return total

    def _store(builder, total, out):
        builder.store(total, builder.bitcast(out, _VECTOR.as_pointer()), align=8)

    @intrinsic
    def sparse_panel_dot(typingctx, indices, data, begin, end, panel, out):
        require(
            "sparse_panel_dot", indices=(indices, 1, INT), data=(data, 1, FLOAT64),
            panel=(panel, 2, FLOAT64), out=(out, 1, FLOAT64),
        )  # fmt: skip

        def codegen(context, builder, signature, args):
            kinds = signature.args
            p_indices, p_data, p_panel, p_out = (
                _data(context, builder, kinds[i], args[i]) for i in (0, 1, 4, 5)
            )

            def term(position):
                value = builder.load(builder.gep(p_data, [position]))
                row = builder.load(builder.gep(p_indices, [position]))
                return value, builder.sext(row, position.type), p_panel

            _store(builder, _sum(builder, args[2], args[3], term), p_out)
            return context.get_dummy_value()

        return types.void(indices, data, types.intp, types.intp, panel, out), codegen

    @intrinsic
    def dense_panel_dot(typingctx, row, panel, out):
        require(
            "dense_panel_dot",
            row=(row, 1, FLOAT64), panel=(panel, 2, FLOAT64), out=(out, 1, FLOAT64),
        )  # fmt: skip

        def codegen(context, builder, signature, args):
            kinds = signature.args
            row_array = make_array(kinds[0])(context, builder, args[0])
            p_panel, p_out = (_data(context, builder, kinds[i], args[i]) for i in (1, 2))
            length = builder.extract_value(row_array.shape, 0)

            def term(position):
                value = builder.load(builder.gep(row_array.data, [position]))
                return value, position, p_panel

            total = _sum(builder, ir.Constant(length.type, 0), length, term)
            _store(builder, total, p_out)
            return context.get_dummy_value()

        return types.void(row, panel, out), codegen
