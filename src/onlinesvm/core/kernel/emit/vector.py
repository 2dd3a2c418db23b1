"""Vector instructions that Numba does not emit by itself, each with a plain Python twin.

- ``float_bits``, ``bits_float``: reinterpret a float32 as an int32 and back.
- ``chunk_max``, ``chunk_min``: largest, smallest of 64 consecutive float32 values.
- ``gather_dot``: 64 dot products at once, (part of) a sparse row against a dense tile of 64
  columns, added to what ``out`` holds; the sums stay in registers meanwhile.
- ``panel_dot``, ``panel_dots``: one dense row, or six, against such a tile.
- ``panel_squares``, ``panel_absolutes``: squared distances of one row to 64 others, or sums of absolute
  differences, all of them in two parts.
- ``panel_least``, ``panel_leasts``, ``gather_least``: the same as ``..._dot`` with min(|x|, |z|) where
  both have the same sign, else 0, in place of the product (``laplacian``). Their panels are split:
  max(z, 0) in the first half of the rows, max(-z, 0) in the second.

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

LEAST_GROUP, LEAST_LANES = 3, 32
"""The same of ``panel_leasts``: which half of the panel a row reads is found once for more lanes."""

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

    def panel_absolutes(x, x_low, panel, panel_low, out, width):
        total = np.zeros(LANES, np.float32)
        for c in range(width):
            total += np.abs((x[c] - panel[c]) + (x_low[c] - panel_low[c]))
        out[:] = total

    def gather_least(indices, data, begin, end, column_of, tile, out, offset):
        total, half = out.reshape(-1)[offset : offset + LANES], len(tile) // 2
        for p in range(begin, end):
            total += np.minimum(abs(data[p]), tile[column_of[indices[p]] + half * (data[p] < 0)])

    def _leasts(x, row, panel, first, last, width):
        total = np.zeros(last - first, np.float32)
        for c in range(width):
            value = x[row, c]
            total += np.minimum(abs(value), panel[c + width * (value < 0), first:last])
        return total

    def panel_least(x, row, panel, lane, out, out_row, width):
        out[out_row] = _leasts(x, row, panel, 0, LANES, width)

    def panel_leasts(x, row, panel, lane, out, out_row, width):
        last = lane + LEAST_LANES
        for r in range(LEAST_GROUP):
            out[out_row + r, lane:last] = _leasts(x, row + r, panel, lane, last, width)

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

    def _add_product(builder, term, total):
        """total + x z, fused where the processor can: ``llvm.fma`` may be a library call per number."""
        kind = total.type
        multiply_add = get_or_insert_function(
            builder.module, ir.FunctionType(kind, [kind] * 3), f"llvm.fmuladd.v{kind.count}f32"
        )
        return builder.call(multiply_add, [*term, total])

    def _add_least(builder, term, total):
        """total + the smaller of two vectors."""
        left, right = term
        is_less = builder.fcmp_ordered("<", left, right)
        return builder.fadd(builder.select(is_less, left, right), total)

    def _add_absolute(builder, term, total):
        """total + |difference|."""
        return builder.fadd(_absolute(builder, term), total)

    def _absolute(builder, value):
        kind = value.type
        count = getattr(kind, "count", None)
        name = "llvm.fabs.f32" if count is None else f"llvm.fabs.v{count}f32"
        function = get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), name)
        return builder.call(function, [value])

    def _accumulate(builder, begin, end, start, terms, add=_add_product):
        """The loop ``for p in range(begin, end): sums += terms(p)``, sums in registers.

        ``terms(p)`` returns for each sum what ``add`` adds to it.
        """
        kind, word = start[0].type, begin.type
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
        after = [add(builder, pair, s) for pair, s in zip(pairs, sums, strict=True)]
        position.add_incoming(builder.add(position, ir.Constant(word, 1)), body)
        for total, value in zip(sums, after, strict=True):
            total.add_incoming(value, body)
        builder.branch(head)
        builder.position_at_end(done)
        return sums

    def _below_zero(builder, value, word):
        """1 where the sign of a number is set, else 0."""
        bits = builder.zext(builder.bitcast(value, _I32), word)
        return builder.lshr(bits, ir.Constant(word, 31))

    def _gather(is_least):
        """A sparse row against 64 columns: products, or the smaller of the two."""

        def typer(typingctx, indices, data, begin, end, column_of, tile, out, offset):
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
                if is_least:
                    rows = builder.extract_value(
                        make_array(kinds[5])(context, builder, args[5]).shape, 0
                    )
                    half = builder.lshr(rows, ir.Constant(word, 1))

                def terms(position):
                    feature = builder.sext(builder.load(builder.gep(p_indices, [position])), word)
                    column = builder.sext(builder.load(builder.gep(p_column, [feature])), word)
                    value = builder.load(builder.gep(p_data, [position]))
                    if is_least:
                        below = builder.mul(_below_zero(builder, value, word), half)
                        column, value = builder.add(column, below), _absolute(builder, value)
                    start = builder.mul(column, ir.Constant(word, LANES))
                    chunk = load(builder, p_tile, start, _VECTOR)
                    return [(spread(builder, value, _VECTOR), chunk)]

                so_far = load(builder, p_out, args[7], _VECTOR)
                add = _add_least if is_least else _add_product
                (total,) = _accumulate(builder, args[2], args[3], [so_far], terms, add)
                store(builder, p_out, args[7], total)
                return context.get_dummy_value()

            signature = types.void(
                indices, data, types.intp, types.intp, column_of, tile, out, types.intp
            )
            return signature, codegen

        return intrinsic(typer)

    gather_dot, gather_least = _gather(False), _gather(True)

    def _panel_dot(n_rows, lanes, is_least=False):
        """``n_rows`` rows of x with ``lanes`` columns of a panel: dot products, or least values."""
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
                    values = [
                        builder.load(builder.gep(p_x, [builder.add(start, position)]))
                        for start in starts
                    ]
                    if is_least:
                        return [least(where, value) for value in values]
                    chunk = load(builder, p_panel, where, kind)
                    return [(spread(builder, value, kind), chunk) for value in values]

                def least(where, value):
                    below = builder.mul(_below_zero(builder, value, word), half)
                    chunk = load(builder, p_panel, builder.add(where, below), kind)
                    return spread(builder, _absolute(builder, value), kind), chunk

                half = builder.mul(width, full)
                zeros = [ir.Constant(kind, [0.0] * lanes)] * n_rows
                add = _add_least if is_least else _add_product
                sums = _accumulate(builder, ir.Constant(word, 0), width, zeros, terms, add)
                for r, total in enumerate(sums):
                    where = builder.add(builder.mul(nth(out_row, r), full), lane)
                    store(builder, p_out, where, total)
                return context.get_dummy_value()

            intp = types.intp
            return types.void(x, intp, panel, intp, out, intp, intp), codegen

        return intrinsic(typer)

    panel_dot = _panel_dot(1, LANES)
    panel_dots = _panel_dot(GROUP, GROUP_LANES)
    panel_least = _panel_dot(1, LANES, is_least=True)
    panel_leasts = _panel_dot(LEAST_GROUP, LEAST_LANES, is_least=True)

    def _panel_differences(is_absolute):
        def typer(typingctx, x, x_low, panel, panel_low, out, width):
            return types.void(x, x_low, panel, panel_low, out, types.intp), codegen

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
                return [difference if is_absolute else (difference, difference)]

            zero, nothing = ir.Constant(word, 0), ir.Constant(_VECTOR, [0.0] * LANES)
            add = _add_absolute if is_absolute else _add_product
            (total,) = _accumulate(builder, zero, args[5], [nothing], terms, add)
            store(builder, p_out, zero, total)
            return context.get_dummy_value()

        return intrinsic(typer)

    panel_squares, panel_absolutes = _panel_differences(False), _panel_differences(True)
