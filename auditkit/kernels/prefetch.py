"""Asking for memory before it is needed: look-ups in tables larger than the cache then wait at the same time."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

#: Arguments of llvm.prefetch (LLVM Language Reference): for reading, to be kept in all caches, of data.
_READ, _KEEP, _DATA = 0, 3, 1


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line that holds array[index], of a C-contiguous array and along its first axis; a hint only.

    Args:
        array: of any type and number of dimensions; nothing is read, so the index need not be valid.
        index: integer.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, arguments[0])
        stride = cgutils.unpack_tuple(builder, struct.strides)[0]
        base = builder.ptrtoint(struct.data, ir.IntType(64))
        address = builder.add(base, builder.mul(arguments[1], stride))
        pointer = builder.inttoptr(address, ir.IntType(8).as_pointer())
        hints = [ir.Constant(ir.IntType(32), value) for value in (_READ, _KEEP, _DATA)]
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, *(hint.type for hint in hints)])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(function, [pointer, *hints])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate
