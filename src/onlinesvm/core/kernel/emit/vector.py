"""Vector instructions that Numba does not emit by itself, each with a plain Python twin.

- ``float_bits``, ``bits_float``: reinterpret a float32 as an int32 and back.
- ``chunk_max``, ``chunk_min``: largest, smallest of 64 consecutive float32 values.
- ``gather_dot``: 64 dot products at once, (part of) a sparse row against a dense tile of 64
  columns, added to what ``out`` holds; the sums stay in registers meanwhile.
- ``panel_dot``, ``panel_dots``: one dense row, or six, against such a tile.
- ``panel_squares``: squared distances of one row to 64 others, all of them in two parts.

Sums run over the features in order, whatever the shape of the call: a kernel value is the same
to the last bit however it was computed.
"""

from __future__ import annotations

import numpy as np

from ...runtime.numerics import JIT_DISABLED

LANES = 64
"""Width of a chunk; eight 256-bit registers of float32."""

GROUP, GROUP_LANES = 6, 16
"""Rows and lanes of ``panel_dots``: twelve 256-bit sums, as many as keep both units busy."""

if JIT_DISABLED:

    def float_bits(value):
        return np.float32(value).view(np.int32)

    def bits_float(value):
        return np.int32(value).view(np.float32)

    def chunk_max(values, start):
        return values[start : start + LANES].max()

    def chunk_min(values, start):
        return values[start : start + LANES].min()

    def gather_dot(indices, data, begin, end, column_of, tile, out, offset):
        total = out.reshape(-1)[offset : offset + LANES]
        for p in range(begin, end):
            total += data[p] * tile[column_of[indices[p]]]

    def panel_dot(x, row, panel, lane, out, out_row, width):
        total = np.zeros(LANES, np.float32)
        for c in range(width):
            total += x[row, c] * panel[c]
        out[out_row] = total

    def panel_dots(x, row, panel, lane, out, out_row, width):
        for r in range(GROUP):
            total = np.zeros(GROUP_LANES, np.float32)
            for c in range(width):
                total += x[row + r, c] * panel[c, lane : lane + GROUP_LANES]
            out[out_row + r, lane : lane + GROUP_LANES] = total

    def panel_squares(x, x_low, panel, panel_low, out, width):
        total = np.zeros(LANES, np.float32)
        for c in range(width):
            difference = (x[c] - panel[c]) + (x_low[c] - panel_low[c])
            total += difference * difference
        out[:] = total

else:
    from llvmlite import ir
    from numba.core import types
    from numba.core.cgutils import get_or_insert_function
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array

    from .layout import FLOAT32, INT32, require

    _F32 = ir.FloatType()
    _I32 = ir.IntType(32)
    _VECTOR = ir.VectorType(_F32, LANES)

    def array_data(context, builder, array_type, value):
        """Pointer to the first value of an array."""
        return make_array(array_type)(context, builder, value).data

    @intrinsic
    def float_bits(typingctx, value):
        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], _I32)

        return types.int32(types.float32), codegen

    @intrinsic
    def bits_float(typingctx, value):
        def codegen(context, builder, signature, args):
            return builder.bitcast(args[0], _F32)

        return types.float32(types.int32), codegen

    def load(builder, pointer, index, kind, align=4):
        """The vector that begins at pointer[index]."""
        address = builder.bitcast(builder.gep(pointer, [index]), kind.as_pointer())
        return builder.load(address, align=align)

    def store(builder, pointer, index, value, align=4):
        """Write a vector from pointer[index] on."""
        address = builder.bitcast(builder.gep(pointer, [index]), value.type.as_pointer())
        builder.store(value, address, align=align)

    def _reduction(name):
        def typer(typingctx, values, start):
            require(f"chunk_{name[1:]}", values=(values, 1, FLOAT32))

            def codegen(context, builder, signature, args):
                pointer = array_data(context, builder, signature.args[0], args[0])
                chunk = load(builder, pointer, args[1], _VECTOR)
                kind = ir.FunctionType(_F32, [_VECTOR])
                function = get_or_insert_function(
                    builder.module, kind, f"llvm.vector.reduce.{name}.v{LANES}f32"
                )
                return builder.call(function, [chunk], fastmath=("nnan", "nsz", "ninf"))

            return types.float32(values, types.intp), codegen

        return intrinsic(typer)

    chunk_max = _reduction("fmax")
    chunk_min = _reduction("fmin")

    def spread(builder, value, kind):
        """One number in every lane."""
        undefined = ir.Constant(kind, ir.Undefined)
        single = builder.insert_element(undefined, value, ir.Constant(_I32, 0))
        zeros = ir.Constant(ir.VectorType(_I32, kind.count), [0] * kind.count)
        return builder.shuffle_vector(single, undefined, zeros)

    def _accumulate(builder, begin, end, start, terms):
        """The loop ``for p in range(begin, end): sums += terms(p)``, sums in registers.

        ``terms(p)`` returns for each sum the two vectors whose product is added to it. Fused
        where the processor can: ``llvm.fma`` would be a library call per number elsewhere.
        """
        kind, word = start[0].type, begin.type
        multiply_add = get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.fmuladd.v{kind.count}f32"
        )
        entry = builder.block
        head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        position, sums = builder.phi(word), [builder.phi(kind) for _ in start]
        position.add_incoming(begin, entry)
        for total, first in zip(sums, start, strict=True):
            total.add_incoming(first, entry)
        builder.cbranch(builder.icmp_signed("<", position, end), body, done)
        builder.position_at_end(body)
        pairs = terms(position)
        after = [
            builder.call(multiply_add, [x, z, s]) for (x, z), s in zip(pairs, sums, strict=True)
        ]
        position.add_incoming(builder.add(position, ir.Constant(word, 1)), body)
        for total, value in zip(sums, after, strict=True):
            total.add_incoming(value, body)
        builder.branch(head)
        builder.position_at_end(done)
        return sums

    @intrinsic
    def gather_dot(typingctx, indices, data, begin, end, column_of, tile, out, offset):
        require(
            "gather_dot", indices=(indices, 1, INT32), data=(data, 1, FLOAT32),
            column_of=(column_of, 1, INT32), tile=(tile, 2, FLOAT32), out=(out, 2, FLOAT32),
        )  # fmt: skip

        def codegen(context, builder, signature, args):
            kinds = signature.args
            p_indices, p_data, p_column, p_tile, p_out = (
                array_data(context, builder, kinds[i], args[i]) for i in (0, 1, 4, 5, 6)
            )
            word = args[2].type

            def terms(position):
                feature = builder.sext(builder.load(builder.gep(p_indices, [position])), word)
                column = builder.sext(builder.load(builder.gep(p_column, [feature])), word)
                value = builder.load(builder.gep(p_data, [position]))
                start = builder.mul(column, ir.Constant(word, LANES))
                chunk = load(builder, p_tile, start, _VECTOR)
                return [(spread(builder, value, _VECTOR), chunk)]

            so_far = load(builder, p_out, args[7], _VECTOR)
            (total,) = _accumulate(builder, args[2], args[3], [so_far], terms)
            store(builder, p_out, args[7], total)
            return context.get_dummy_value()

        signature = types.void(
            indices, data, types.intp, types.intp, column_of, tile, out, types.intp
        )
        return signature, codegen

    def _panel_dot(n_rows, lanes):
        """Dot products of ``n_rows`` rows of x with ``lanes`` columns of a panel."""
        kind = ir.VectorType(_F32, lanes)

        def typer(typingctx, x, row, panel, lane, out, out_row, width):
            require(
                "panel_dot", x=(x, 2, FLOAT32), panel=(panel, 2, FLOAT32), out=(out, 2, FLOAT32)
            )

            def codegen(context, builder, signature, args):
                kinds = signature.args
                p_x, p_panel, p_out = (
                    array_data(context, builder, kinds[i], args[i]) for i in (0, 2, 4)
                )
                row, lane, out_row, width = args[1], args[3], args[5], args[6]
                word = row.type
                full = ir.Constant(word, LANES)

                def nth(first, r):
                    return builder.add(first, ir.Constant(word, r))

                starts = [builder.mul(nth(row, r), width) for r in range(n_rows)]

                def terms(position):
                    where = builder.add(builder.mul(position, full), lane)
                    chunk = load(builder, p_panel, where, kind)
                    values = [
                        builder.load(builder.gep(p_x, [builder.add(start, position)]))
                        for start in starts
                    ]
                    return [(spread(builder, value, kind), chunk) for value in values]

                zeros = [ir.Constant(kind, [0.0] * lanes)] * n_rows
                sums = _accumulate(builder, ir.Constant(word, 0), width, zeros, terms)
                for r, total in enumerate(sums):
                    where = builder.add(builder.mul(nth(out_row, r), full), lane)
                    store(builder, p_out, where, total)
                return context.get_dummy_value()

            intp = types.intp
            return types.void(x, intp, panel, intp, out, intp, intp), codegen

        return intrinsic(typer)

    panel_dot = _panel_dot(1, LANES)
    panel_dots = _panel_dot(GROUP, GROUP_LANES)

    @intrinsic
    def panel_squares(typingctx, x, x_low, panel, panel_low, out, width):
        def codegen(context, builder, signature, args):
            p_x, p_x_low, p_panel, p_panel_low, p_out = (
                array_data(context, builder, signature.args[i], args[i]) for i in range(5)
            )
            word = args[5].type

            def part(pointer, panel_pointer, position):
                value = builder.load(builder.gep(pointer, [position]))
                where = builder.mul(position, ir.Constant(word, LANES))
                chunk = load(builder, panel_pointer, where, _VECTOR)
                return builder.fsub(spread(builder, value, _VECTOR), chunk)

            def terms(position):
                high = part(p_x, p_panel, position)
                difference = builder.fadd(high, part(p_x_low, p_panel_low, position))
                return [(difference, difference)]

            zero = ir.Constant(word, 0)
            (total,) = _accumulate(
                builder, zero, args[5], [ir.Constant(_VECTOR, [0.0] * LANES)], terms
            )
            store(builder, p_out, zero, total)
            return context.get_dummy_value()

        return types.void(x, x_low, panel, panel_low, out, types.intp), codegen
