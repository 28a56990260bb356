"""Tells loops over unsigned bounds apart, which Triton's front end makes without their sign.

`range` over uint32 becomes an `scf.for` of 32-bit integers, which compares with a sign unless its
attribute `unsignedCmp` says otherwise. The front end knows the sign when it casts the bounds to
one type right before it makes the loop, and says it to nobody else.
"""

from __future__ import annotations

import atexit
import functools
from collections import deque
from typing import Any

__all__ = ["mark_unsigned_loops"]

# More than a kernel has unsigned casts between the bounds of a loop and the loop.
_MOST_VALUES = 4096


@functools.cache
def mark_unsigned_loops() -> None:
    """From now on Triton's front end gives loops over unsigned bounds the attribute."""
    from triton._C.libtriton import ir

    cast, loop = ir.builder.create_int_cast, ir.builder.create_for_op
    # Values, by identity. Only those of the loops that are open matter, so old ones may go.
    unsigned: deque[Any] = deque(maxlen=_MOST_VALUES)
    atexit.register(unsigned.clear)  # before Triton looks for values that are left

    def create_int_cast(builder: Any, value: Any, target: Any, is_signed: bool) -> Any:
        result = cast(builder, value, target, is_signed)
        if not is_signed:
            unsigned.append(result)
        return result

    def create_for_op(builder: Any, *operands: Any) -> Any:
        operation = loop(builder, *operands)
        if any(operands[0] is value for value in unsigned):
            operation.set_attr("unsignedCmp", builder.get_unit_attr())
        return operation

    ir.builder.create_int_cast = create_int_cast
    ir.builder.create_for_op = create_for_op
