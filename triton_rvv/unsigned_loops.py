"""Tells loops over unsigned bounds apart, which Triton's front end makes without their sign.

`range` over uint32 becomes an `scf.for` of 32-bit integers, which compares with a sign unless its
attribute `unsignedCmp` says otherwise. The front end knows the sign when it casts the bounds to
one type right before it makes the loop, and says it to nobody else.
"""

from __future__ import annotations

import functools
import weakref
from typing import Any

__all__ = ["mark_unsigned_loops"]


@functools.cache
def mark_unsigned_loops() -> None:
    """From now on Triton's front end gives loops over unsigned bounds the attribute."""
    from triton._C.libtriton import ir

    cast, loop = ir.builder.create_int_cast, ir.builder.create_for_op
    unsigned: weakref.WeakSet[Any] = weakref.WeakSet()

    def create_int_cast(builder: Any, value: Any, target: Any, is_signed: bool) -> Any:
        result = cast(builder, value, target, is_signed)
        if is_signed:
            unsigned.discard(result)
        else:
            unsigned.add(result)
        return result

    def create_for_op(builder: Any, *operands: Any) -> Any:
        operation = loop(builder, *operands)
        if operands[0] in unsigned:
            operation.set_attr("unsignedCmp", builder.get_unit_attr())
        return operation

    ir.builder.create_int_cast = create_int_cast
    ir.builder.create_for_op = create_for_op
