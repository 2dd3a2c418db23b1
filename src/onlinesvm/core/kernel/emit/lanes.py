"""Work on the 64 values of one row of a tile, as vector instructions, each with a Python twin.

- ``lanes_rbf``: dot products become values of the RBF kernel.
- ``lanes_needed``: a bit for each pair that needs differences; ``lowest_bit``, ``count_bits``: which
  is the first of them, and how many there are.
- ``lanes_root``: dot products become values of the Matern kernel, and are kept in another row; a bit for
  each pair below a given squared distance. ``lanes_close``: a bit for each that needs differences.
- ``lanes_dot``: the sum of the values times weights, in float64; ``lanes_wide``: the values as float64.
- ``lanes_store``: the values into an array; ``lanes_transpose``: 16 values of 16 rows, as columns.

Loops over the lanes would do the same; LLVM takes much longer to compile them. Rows are numbered
within ``tile``, which is (rows, 64).
"""

from __future__ import annotations

import numpy as np

from ...runtime.numerics import JIT_DISABLED, ORDERED_MATH
from ..tiles.matern import BEYOND, BEYOND_SQUARED, LINE, SLOPE, SURE, close
from ..tiles.rbf import (
    EXP2_TERMS,
    LOG_BIAS,
    LOG_BITS,
    LOWEST_POWER,
    RATIO,
    ROUND,
    log2_error_threshold,
)
from .vector import LANES

PART_LANES = 32
"""Lanes that go through all instructions before the next ones do, so that registers suffice."""

TRANSPOSED = 16
"""Rows and lanes that ``lanes_transpose`` takes."""

if JIT_DISABLED:

    def _powers(tile, row, x_sq, z_row, scale):
        with np.errstate(over="ignore", invalid="ignore"):
            return scale * (np.float32(2.0) * tile[row] - (x_sq + tile[z_row]))

    def _apart(tile, row, x_sq, z_row):
        with np.errstate(over="ignore", invalid="ignore"):
            return (x_sq + tile[z_row]) - np.float32(2.0) * tile[row]

    def lanes_root(tile, row, x_sq, z_row, scale, bound, kept_row):
        square = _apart(tile, row, x_sq, z_row)
        tile[kept_row] = tile[row]
        with np.errstate(over="ignore"):
            tile[row] = _exp2(-(scale * np.sqrt(np.maximum(square, np.float32(0.0)))))
        return _bits(square < bound)

    def _bits(found):
        return np.uint64(sum(1 << lane for lane in range(LANES) if found[lane]))

    def lanes_close(tile, row, x_sq, z_row, error, steep, reach):
        with np.errstate(over="ignore"):
            bounds = [close(x_sq + z_sq, error, steep, reach) for z_sq in tile[z_row]]
        return _bits(_apart(tile, row, x_sq, z_row) < np.array(bounds))

    def lanes_rbf(tile, row, x_sq, z_row, scale):
        tile[row] = _exp2(_powers(tile, row, x_sq, z_row, scale))

    def _exp2(power):
        power = np.maximum(np.minimum(power, np.float32(0.0)), LOWEST_POWER)
        rounded = power + ROUND
        f = power - (rounded - ROUND)
        value = np.full(LANES, EXP2_TERMS[0])
        for term in EXP2_TERMS[1:]:
            value = value * f + term
        return value * ((rounded.view(np.int32) + 127) << 23).view(np.float32)

    def lanes_needed(tile, row, x_sq, z_row, scale, error_scale, limit):
        powers, squares = _powers(tile, row, x_sq, z_row, scale), x_sq + tile[z_row]
        needed = [
            bool(square > limit and power >= log2_error_threshold(square, error_scale))
            for power, square in zip(powers, squares, strict=True)
        ]
        return _bits(needed)

    def lowest_bit(bits):
        return (int(bits) & -int(bits)).bit_length() - 1

    def count_bits(bits):
        return int(bits).bit_count()

    def lanes_dot(values, row, weights, machine):
        return values[row].astype(np.float64) @ weights[machine]

    def lanes_wide(tile, row, out, out_row):
        out[out_row] = tile[row]

    def lanes_store(tile, row, out, out_row, column, width):
        out[out_row, column : column + LANES] = tile[row]

    def lanes_transpose(tile, row, lane, out, out_row, column, width):
        square = tile[row : row + TRANSPOSED, lane : lane + TRANSPOSED]
        out[out_row : out_row + TRANSPOSED, column : column + TRANSPOSED] = square.T

else:
    from llvmlite import ir
    from numba.core import types
    from numba.core.cgutils import get_or_insert_function
    from numba.extending import intrinsic

    from .layout import FLOAT32, FLOAT64, require
    from .vector import array_data, load, spread, store

    _FLAGS = tuple(sorted(ORDERED_MATH))
    _F32, _F64, _I32 = ir.FloatType(), ir.DoubleType(), ir.IntType(32)
    _ROW, _WIDE = (ir.VectorType(kind, LANES) for kind in (_F32, _F64))
    _PART, _BITS = (ir.VectorType(kind, PART_LANES) for kind in (_F32, _I32))

    def _all(value, kind=_PART):
        """A constant in every lane."""
        return ir.Constant(kind, [value] * kind.count)

    def _place(builder, row, lane=0):
        first = builder.mul(row, ir.Constant(row.type, LANES))
        return builder.add(first, ir.Constant(row.type, lane)) if lane else first

    def _emit_powers(context, builder, signature, args, lane, flags=_FLAGS):
        """scale (2 x.z - (|x|^2 + |z|^2)), the squares alone, and where this part of the row is."""
        data = array_data(context, builder, signature.args[0], args[0])
        where = _place(builder, args[1], lane)
        dots = load(builder, data, where, _PART)
        z_sq = load(builder, data, _place(builder, args[3], lane), _PART)
        squares = builder.fadd(spread(builder, args[2], _PART), z_sq, flags=flags)
        twice = builder.fmul(_all(2.0), dots, flags=flags)
        difference = builder.fsub(twice, squares, flags=flags)
        powers = builder.fmul(spread(builder, args[4], _PART), difference, flags=flags)
        return powers, squares, data, where

    def _emit_choice(builder, sign, left, right):
        """The smaller (<) or larger (>) of two vectors."""
        return builder.select(builder.fcmp_ordered(sign, left, right, flags=_FLAGS), left, right)

    def _emit_exp2(builder, power):
        """As ``rbf.exp2``."""
        power = _emit_choice(builder, "<", power, _all(0.0))
        power = _emit_choice(builder, ">", power, _all(float(LOWEST_POWER)))
        shift = _all(float(ROUND))
        rounded = builder.fadd(power, shift, flags=_FLAGS)
        whole = builder.fsub(rounded, shift, flags=_FLAGS)
        f = builder.fsub(power, whole, flags=_FLAGS)
        value = _all(float(EXP2_TERMS[0]))
        for term in EXP2_TERMS[1:]:
            product = builder.fmul(value, f, flags=_FLAGS)
            value = builder.fadd(product, _all(float(term)), flags=_FLAGS)
        bits = builder.add(builder.bitcast(rounded, _BITS), _all(127, _BITS))
        factor = builder.bitcast(builder.shl(bits, _all(23, _BITS)), _PART)
        return builder.fmul(value, factor, flags=_FLAGS)

    @intrinsic
    def lanes_rbf(typingctx, tile, row, x_sq, z_row, scale):
        require("lanes_rbf", tile=(tile, 2, FLOAT32))

        def codegen(context, builder, signature, args):
            for lane in range(0, LANES, PART_LANES):
                power, _, data, where = _emit_powers(context, builder, signature, args, lane)
                store(builder, data, where, _emit_exp2(builder, power))
            return context.get_dummy_value()

        return types.void(tile, types.intp, types.float32, types.intp, types.float32), codegen

    def _emit_apart(context, builder, signature, args, lane):
        """|x|^2 + |z|^2 - 2 x.z, the squares alone, and the dot products."""
        data = array_data(context, builder, signature.args[0], args[0])
        dots = load(builder, data, _place(builder, args[1], lane), _PART)
        z_sq = load(builder, data, _place(builder, args[3], lane), _PART)
        squares = builder.fadd(spread(builder, args[2], _PART), z_sq)
        return builder.fsub(squares, builder.fmul(_all(2.0), dots)), squares, dots

    def _emit_bits(builder, so_far, found, lane):
        """``so_far`` with a bit for each lane, from ``lane`` on, in which something was found."""
        bits = builder.zext(builder.bitcast(found, ir.IntType(PART_LANES)), so_far.type)
        return builder.or_(so_far, builder.shl(bits, ir.Constant(so_far.type, lane)))

    @intrinsic
    def lanes_root(typingctx, tile, row, x_sq, z_row, scale, bound, kept_row):
        require("lanes_root", tile=(tile, 2, FLOAT32))

        def codegen(context, builder, signature, args):
            kind = ir.FunctionType(_PART, [_PART])
            root = get_or_insert_function(builder.module, kind, f"llvm.sqrt.v{PART_LANES}f32")
            data = array_data(context, builder, signature.args[0], args[0])
            scale = spread(builder, builder.fneg(args[4]), _PART)
            bound, near = spread(builder, args[5], _PART), ir.Constant(ir.IntType(LANES), 0)
            for lane in range(0, LANES, PART_LANES):
                square, _, dots = _emit_apart(context, builder, signature, args, lane)
                store(builder, data, _place(builder, args[6], lane), dots)
                near = _emit_bits(builder, near, builder.fcmp_ordered("<", square, bound), lane)
                square = _emit_choice(builder, ">", square, _all(0.0))
                power = builder.fmul(scale, builder.call(root, [square]), flags=_FLAGS)
                store(builder, data, _place(builder, args[1], lane), _emit_exp2(builder, power))
            return near

        real, intp = types.float32, types.intp
        return types.uint64(tile, intp, real, intp, real, real, intp), codegen

    @intrinsic
    def lanes_close(typingctx, tile, row, x_sq, z_row, error, steep, reach):
        require("lanes_close", tile=(tile, 2, FLOAT32))

        def codegen(context, builder, signature, args):
            error, steep, reach = (spread(builder, arg, _PART) for arg in args[4:])

            def smaller(left, right):
                return builder.select(builder.fcmp_ordered("<", left, right), left, right)

            def larger(left, right):
                return builder.select(builder.fcmp_ordered(">", left, right), left, right)

            def bounds(squares):
                """``matern.close`` in every lane, rounded as there."""
                e, t = builder.fmul(error, squares), builder.fmul(steep, squares)
                line = builder.fadd(builder.fmul(_all(float(SLOPE)), t), _all(float(LINE)))
                w = smaller(smaller(t, line), _all(float(BEYOND)))
                wide = builder.fmul(reach, builder.fmul(w, w))
                near = larger(builder.fmul(_all(float(SURE)), e), wide)
                rest = builder.fadd(builder.fmul(_all(float(BEYOND_SQUARED)), reach), e)
                return smaller(near, rest)

            needed = ir.Constant(ir.IntType(LANES), 0)
            for lane in range(0, LANES, PART_LANES):
                square, squares, _ = _emit_apart(context, builder, signature, args, lane)
                found = builder.fcmp_ordered("<", square, bounds(squares))
                needed = _emit_bits(builder, needed, found, lane)
            return needed

        real = types.float32
        return types.uint64(tile, types.intp, real, types.intp, real, real, real), codegen

    def _emit_error_threshold(builder, squares, error_scale):
        """``rbf.log2_error_threshold`` in every lane, rounded as there."""
        error = builder.fmul(error_scale, squares)
        bits = builder.bitcast(builder.fmul(error, _all(float(RATIO))), _BITS)
        logarithm = builder.fmul(builder.sitofp(bits, _PART), _all(float(LOG_BITS)))
        total = builder.fadd(error, builder.fsub(logarithm, _all(float(LOG_BIAS))))
        return builder.fneg(total)

    @intrinsic
    def lanes_needed(typingctx, tile, row, x_sq, z_row, scale, error_scale, limit):
        require("lanes_needed", tile=(tile, 2, FLOAT32))

        def codegen(context, builder, signature, args):
            needed, limit = ir.Constant(ir.IntType(LANES), 0), spread(builder, args[6], _PART)
            for lane in range(0, LANES, PART_LANES):
                power, squares, _, _ = _emit_powers(context, builder, signature, args, lane, ())
                enough = _emit_error_threshold(builder, squares, spread(builder, args[5], _PART))
                beyond = builder.fcmp_ordered(">", squares, limit)
                found = builder.and_(beyond, builder.fcmp_ordered(">=", power, enough))
                needed = _emit_bits(builder, needed, found, lane)
            return needed

        real = types.float32
        return types.uint64(tile, types.intp, real, types.intp, real, real, real), codegen

    def _bit_function(name, *flags):
        """A function of 64 bits that LLVM knows."""

        def typer(typingctx, bits):
            def codegen(context, builder, signature, args):
                word, bit = ir.IntType(64), ir.IntType(1)
                kind = ir.FunctionType(word, [word, *[bit] * len(flags)])
                function = get_or_insert_function(builder.module, kind, f"llvm.{name}.i64")
                return builder.call(function, [args[0], *[ir.Constant(bit, f) for f in flags]])

            return types.int64(types.uint64), codegen

        return intrinsic(typer)

    lowest_bit = _bit_function("cttz", 0)
    count_bits = _bit_function("ctpop")

    @intrinsic
    def lanes_dot(typingctx, values, row, weights, machine):
        narrow = getattr(values, "dtype", None) == types.float32
        require(
            "lanes_dot", values=(values, 2, FLOAT32 if narrow else FLOAT64),
            weights=(weights, 2, FLOAT64),
        )  # fmt: skip

        def codegen(context, builder, signature, args):
            p_values, p_weights = (
                array_data(context, builder, signature.args[i], args[i]) for i in (0, 2)
            )
            kind, bytes_ = (_ROW, 4) if narrow else (_WIDE, 8)
            row = load(builder, p_values, _place(builder, args[1]), kind, bytes_)
            wide = builder.fpext(row, _WIDE) if narrow else row
            weights = load(builder, p_weights, _place(builder, args[3]), _WIDE, 8)
            products = builder.fmul(wide, weights, flags=("reassoc", "contract"))
            name = f"llvm.vector.reduce.fadd.v{LANES}f64"
            total = get_or_insert_function(
                builder.module, ir.FunctionType(_F64, [_F64, _WIDE]), name
            )
            start = ir.Constant(_F64, 0.0)
            return builder.call(total, [start, products], fastmath=("reassoc", "contract", "nsz"))

        return types.float64(values, types.intp, weights, types.intp), codegen

    @intrinsic
    def lanes_wide(typingctx, tile, row, out, out_row):
        require("lanes_wide", tile=(tile, 2, FLOAT32), out=(out, 2, FLOAT64))

        def codegen(context, builder, signature, args):
            p_tile, p_out = (
                array_data(context, builder, signature.args[i], args[i]) for i in (0, 2)
            )
            row = load(builder, p_tile, _place(builder, args[1]), _ROW)
            store(builder, p_out, _place(builder, args[3]), builder.fpext(row, _WIDE), 8)
            return context.get_dummy_value()

        return types.void(tile, types.intp, out, types.intp), codegen

    @intrinsic
    def lanes_store(typingctx, tile, row, out, out_row, column, width):
        require("lanes_store", tile=(tile, 2, FLOAT32), out=(out, 2, FLOAT32))

        def codegen(context, builder, signature, args):
            p_tile, p_out = (
                array_data(context, builder, signature.args[i], args[i]) for i in (0, 2)
            )
            values = load(builder, p_tile, _place(builder, args[1]), _ROW)
            store(builder, p_out, builder.add(builder.mul(args[3], args[5]), args[4]), values)
            return context.get_dummy_value()

        kinds = tile, types.intp, out, types.intp, types.intp, types.intp
        return types.void(*kinds), codegen

    def _emit_transposed(builder, rows):
        """Rows of a square as columns: blocks off the diagonal change places, size by size."""
        size, rows = len(rows), list(rows)
        for step in (1, 2, 4, 8):
            upper = [size + (k ^ step) if k & step else k for k in range(size)]
            lower = [size + k if k & step else k ^ step for k in range(size)]
            masks = [ir.Constant(ir.VectorType(_I32, size), mask) for mask in (upper, lower)]
            for i in range(size):
                if not i & step:
                    pair = rows[i], rows[i | step]
                    rows[i], rows[i | step] = (builder.shuffle_vector(*pair, m) for m in masks)
        return rows

    @intrinsic
    def lanes_transpose(typingctx, tile, row, lane, out, out_row, column, width):
        require("lanes_transpose", tile=(tile, 2, FLOAT32), out=(out, 2, FLOAT32))

        def codegen(context, builder, signature, args):
            p_tile, p_out = (
                array_data(context, builder, signature.args[i], args[i]) for i in (0, 3)
            )
            _, row, lane, _, out_row, column, width = args
            kind = ir.VectorType(_F32, TRANSPOSED)

            def nth(first, r):
                return builder.add(first, ir.Constant(first.type, r))

            rows = [
                load(builder, p_tile, builder.add(_place(builder, nth(row, r)), lane), kind)
                for r in range(TRANSPOSED)
            ]
            for r, values in enumerate(_emit_transposed(builder, rows)):
                where = builder.add(builder.mul(nth(out_row, r), width), column)
                store(builder, p_out, where, values)
            return context.get_dummy_value()

        intp = types.intp
        return types.void(tile, intp, intp, out, intp, intp, intp), codegen
