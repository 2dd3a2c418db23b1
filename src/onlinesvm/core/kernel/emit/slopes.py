"""One step of a direction search on all gradients, and the search for the next pair, in one pass.

    g_s  <-  g_s - step (k_s - l_s),      largest g_s + above_s,      smallest g_s + below_s

``shift_slopes`` returns the two slots, -1 where there is none, and their slopes. ``above`` and
``below`` are what the slopes to the right and to the left of a coefficient differ from the gradient,
-inf and inf where it cannot go there. Numba does not turn such a search into vector instructions;
this emits them, eight slots at a time. Of equal slopes the first slot is taken, as a plain loop would.

Arrays have space for the eight slots in which n lies, with ``above`` = -inf, ``below`` = inf beyond n.
"""

from __future__ import annotations

import numpy as np

from ...runtime.numerics import JIT_DISABLED

WIDTH = 8


def plain_shift(grad, above, below, k, l, step, n):  # noqa: E741
    """The same in NumPy."""
    grad[:n] -= step * (k[:n].astype(np.float64) - l[:n].astype(np.float64))
    up, down = grad[:n] + above[:n], grad[:n] + below[:n]
    top, bottom = (int(up.argmax()), int(down.argmin())) if n else (-1, -1)
    g_max, g_min = (up[top], down[bottom]) if n else (-np.inf, np.inf)
    top, bottom = top if g_max > -np.inf else -1, bottom if g_min < np.inf else -1
    return top, bottom, g_max, g_min


if JIT_DISABLED:
    shift_slopes = plain_shift
else:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    from .layout import FLOAT32, FLOAT64, require
    from .vector import array_data, load, spread, store

    _F64, _I64, _I32 = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
    _WIDE, _NARROW = ir.VectorType(_F64, WIDTH), ir.VectorType(ir.FloatType(), WIDTH)
    _SLOTS = ir.VectorType(_I64, WIDTH)

    def _constant(kind, value):
        return ir.Constant(kind, [value] * WIDTH)

    def _emit_best(builder, sign, values, slots):
        """The best of eight values, and its slot; of equal ones the smallest slot."""
        best = builder.extract_element(values, ir.Constant(_I32, 0))
        slot = builder.extract_element(slots, ir.Constant(_I32, 0))
        for lane in range(1, WIDTH):
            value = builder.extract_element(values, ir.Constant(_I32, lane))
            other = builder.extract_element(slots, ir.Constant(_I32, lane))
            equal = builder.fcmp_ordered("==", value, best)
            first = builder.and_(equal, builder.icmp_unsigned("<", other, slot))
            better = builder.or_(builder.fcmp_ordered(sign, value, best), first)
            best, slot = builder.select(better, value, best), builder.select(better, other, slot)
        return best, slot

    def _emit_loop(builder, pointers, step, n):
        """The pass over the slots; returns the best values and slots of each lane."""
        p_grad, p_above, p_below, p_k, p_l = pointers
        starts = (
            _constant(_WIDE, -np.inf), _constant(_SLOTS, -1),
            _constant(_WIDE, np.inf), _constant(_SLOTS, -1),
            ir.Constant(_SLOTS, list(range(WIDTH))),
        )  # fmt: skip
        steps = spread(builder, step, _WIDE)
        entry = builder.block
        head, body, done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        position, state = builder.phi(n.type), [builder.phi(start.type) for start in starts]
        position.add_incoming(ir.Constant(n.type, 0), entry)
        for value, start in zip(state, starts, strict=True):
            value.add_incoming(start, entry)
        builder.cbranch(builder.icmp_signed("<", position, n), body, done)
        builder.position_at_end(body)
        k, l = (  # noqa: E741
            builder.fpext(load(builder, p, position, _NARROW), _WIDE) for p in (p_k, p_l)
        )
        change = builder.fmul(steps, builder.fsub(k, l))
        grad = builder.fsub(load(builder, p_grad, position, _WIDE, 8), change)
        store(builder, p_grad, position, grad, 8)
        slots, after = state[4], []
        for pointer, sign, best, where in ((p_above, ">", *state[:2]), (p_below, "<", *state[2:4])):
            slope = builder.fadd(grad, load(builder, pointer, position, _WIDE, 8))
            better = builder.fcmp_ordered(sign, slope, best)
            after += [builder.select(better, slope, best), builder.select(better, slots, where)]
        after.append(builder.add(slots, _constant(_SLOTS, WIDTH)))
        position.add_incoming(builder.add(position, ir.Constant(n.type, WIDTH)), body)
        for value, new in zip(state, after, strict=True):
            value.add_incoming(new, body)
        builder.branch(head)
        builder.position_at_end(done)
        return state[:4]

    @intrinsic
    def shift_slopes(typingctx, grad, above, below, k, l, step, n):  # noqa: E741
        require(
            "shift_slopes", grad=(grad, 1, FLOAT64), above=(above, 1, FLOAT64),
            below=(below, 1, FLOAT64), k=(k, 1, FLOAT32), l=(l, 1, FLOAT32),
        )  # fmt: skip

        def codegen(context, builder, signature, args):
            pointers = [array_data(context, builder, signature.args[i], args[i]) for i in range(5)]
            highest, tops, lowest, bottoms = _emit_loop(builder, pointers, args[5], args[6])
            g_max, top = _emit_best(builder, ">", highest, tops)
            g_min, bottom = _emit_best(builder, "<", lowest, bottoms)
            return context.make_tuple(builder, signature.return_type, [top, bottom, g_max, g_min])

        kinds = types.int64, types.int64, types.float64, types.float64
        found = types.Tuple(kinds)  # type: ignore[attr-defined]
        return found(grad, above, below, k, l, types.float64, types.int64), codegen
