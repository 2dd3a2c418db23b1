"""Records of arrays and numbers that compiled loops take as one address.

A named tuple of arrays is passed by value: five to seven numbers per array in every call of every
function, which takes LLVM seconds to compile, and a fraction of a microsecond for each array of a call
from Python. A *layout* writes the same record into a table of 64-bit words,

    array     address of the data, then its shape; all are C-contiguous
    number    its value

and compiled code has the address of the table alone. ``layout.opened(address)`` makes a record of it,
of which ``record.alpha`` reads the few words of that field when it is asked for. Nothing writes to a
table while compiled code runs, so these reads are made once in a loop.

    class State(NamedTuple):
        alpha: Reals2
        n: int

    layout = Layout(State)
    table = layout.table(state)           # keep both while the address is in use
    loop(table.address)                   # compiled; begins with  a = layout.opened(address)

With ``NUMBA_DISABLE_JIT=1`` the "address" is the named tuple itself.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np

from ...runtime.numerics import JIT_DISABLED

Reals = Annotated[np.ndarray, np.float64, 1]
Reals2 = Annotated[np.ndarray, np.float64, 2]
Reals3 = Annotated[np.ndarray, np.float64, 3]
Numbers = Annotated[np.ndarray, np.int64, 1]
Numbers2 = Annotated[np.ndarray, np.int64, 2]
Places = Annotated[np.ndarray, np.int32, 1]
Places2 = Annotated[np.ndarray, np.int32, 2]
Flags = Annotated[np.ndarray, np.bool_, 1]
Flags2 = Annotated[np.ndarray, np.bool_, 2]
Flags3 = Annotated[np.ndarray, np.bool_, 3]
Values = Annotated[np.ndarray, np.float32, 1]
Values2 = Annotated[np.ndarray, np.float32, 2]


class Field(NamedTuple):
    """One field of a record: the dtype and dimensions of an array, or (-1) a number."""

    name: str
    dtype: Any
    dimensions: int
    place: int  # of its first word


def _fields_of(kind: type) -> tuple[Field, ...]:
    place, found = 0, []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        dtype, dimensions = getattr(hint, "__metadata__", None) or (np.dtype(hint).type, -1)
        found.append(Field(name, dtype, dimensions, place))
        place += 1 + max(dimensions, 0)
    return tuple(found)


class Table:
    """A record written down for compiled code; it keeps the arrays alive."""

    def __init__(self, record: Any, words: np.ndarray):
        self.record, self._words = record, words

    @property
    def address(self) -> Any:
        """What compiled code is given."""
        return self.record if JIT_DISABLED else self._words.ctypes.data


class Layout:
    """Where the fields of a kind of named tuple stand in a table."""

    def __init__(self, kind: type):
        self.name, self.fields = kind.__name__, _fields_of(kind)
        self.opened = _opener(self)

    def table(self, record: Any) -> Table:
        """The record, written down."""
        last = self.fields[-1]
        words = np.zeros(last.place + 1 + max(last.dimensions, 0), np.int64)
        for field, value in zip(self.fields, record, strict=True):
            if field.dimensions < 0:
                kind = np.float64 if issubclass(field.dtype, np.floating) else np.int64
                words[field.place : field.place + 1].view(kind)[0] = value
            else:
                self._check(field, value)
                words[field.place] = value.ctypes.data
                words[field.place + 1 : field.place + 1 + field.dimensions] = value.shape
        return Table(record, words)

    def _check(self, field: Field, array: np.ndarray) -> None:
        """A wrong array would be read as memory that is not its own."""
        good = (array.dtype, array.ndim) == (np.dtype(field.dtype), field.dimensions)
        if not good or not (array.flags.c_contiguous and array.flags.aligned):
            raise TypeError(
                f"{self.name}.{field.name} must be a C-contiguous array of {np.dtype(field.dtype)} with "
                f"{field.dimensions} dimension(s), not {array.dtype} of shape {array.shape}."
            )


if JIT_DISABLED:

    def _opener(layout: Layout) -> Any:
        return lambda address: address

else:
    from llvmlite import ir
    from numba.core import types
    from numba.core.typing.templates import AttributeTemplate
    from numba.extending import (
        infer_getattr,
        intrinsic,
        lower_getattr_generic,
        models,
        register_model,
    )
    from numba.np.numpy_support import from_dtype

    _WORD = ir.IntType(64)

    class RecordType(types.Type):
        """A record of this layout, by address."""

        def __init__(self, title: str, fields: tuple[Field, ...]):
            self.fields = {field.name: field for field in fields}
            self._kinds = {field.name: _kind_of(field) for field in fields}
            super().__init__(name=f"Record({title})")

        def kind_of(self, name: str) -> Any:
            """The type of a field, as compiled code has it; None: there is no such field."""
            return self._kinds.get(name)

    def _kind_of(field: Field) -> Any:
        scalar = from_dtype(np.dtype(field.dtype))
        return scalar if field.dimensions < 0 else types.Array(scalar, field.dimensions, "C")

    @register_model(RecordType)
    class _RecordModel(models.PrimitiveModel):
        def __init__(self, manager: Any, kind: Any):
            super().__init__(manager, kind, _WORD.as_pointer())

    @infer_getattr
    class _RecordFields(AttributeTemplate):
        key = RecordType

        def generic_resolve(self, kind: Any, name: str) -> Any:
            return kind.kind_of(name)

    def _word(builder, record, place, kind=_WORD):
        """A word of the table, which does not change while compiled code runs."""
        pointer = builder.gep(record, [ir.Constant(_WORD, place)])
        word = builder.load(builder.bitcast(pointer, kind.as_pointer()))
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
        return word

    @lower_getattr_generic(RecordType)
    def _read_field(context, builder, kind, record, name):
        _, _, dimensions, place = kind.fields[name]
        wanted = kind.kind_of(name)
        if dimensions < 0:
            return _number(builder, record, place, wanted)
        data = _word(builder, record, place, context.get_data_type(wanted.dtype).as_pointer())
        shape = [_word(builder, record, place + 1 + k) for k in range(dimensions)]
        return _array(context, builder, wanted, data, shape)

    def _array(context, builder, kind, data, shape):
        """An array as compiled code has it, put together in registers.

        Numba's own ``populate_array`` goes through memory, which takes three times as many instructions,
        and every field that is read is one of these.
        """
        itemsize = _WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        strides = [itemsize]
        for length in shape[:0:-1]:
            strides.insert(0, builder.mul(strides[0], length))
        items = shape[0]
        for length in shape[1:]:
            items = builder.mul(items, length)
        model = context.data_model_manager[kind]
        array = ir.Constant(model.get_value_type(), None)  # nothing counts references to it
        for field, values in (("shape", shape), ("strides", strides)):
            for axis, value in enumerate(values):
                array = builder.insert_value(array, value, (model.get_field_position(field), axis))
        for field, value in (("data", data), ("itemsize", itemsize), ("nitems", items)):
            array = builder.insert_value(array, value, model.get_field_position(field))
        return array

    def _number(builder, record, place, wanted):
        if isinstance(wanted, types.Float):
            value = _word(builder, record, place, ir.DoubleType())
            return value if wanted.bitwidth == 64 else builder.fptrunc(value, ir.FloatType())
        word = _word(builder, record, place)
        if isinstance(wanted, types.Boolean):
            return builder.icmp_signed("!=", word, ir.Constant(_WORD, 0))
        return word

    def _opener(layout: Layout) -> Any:
        record = RecordType(layout.name, layout.fields)

        def opened(typingctx, address):
            def codegen(context, builder, signature, args):
                return builder.inttoptr(args[0], _WORD.as_pointer())

            return record(types.int64), codegen

        return intrinsic(opened)
