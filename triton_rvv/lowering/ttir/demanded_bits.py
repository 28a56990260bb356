"""How many of an integer's lower bits are read, by what reads it.

Lower bits of a sum, a product or a shift to the left depend on lower bits alone. So what leads up
to `((a * share + b * (256 - share)) >> 8).to(uint8)` is the same modulo 2 ** 16.
"""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.ttir.block_ranges import Range
from triton_rvv.lowering.ttir.known_integers import integer_bits

__all__ = ["FROM_LOWER_BITS", "MOVES", "WIDENED", "demanded_bits"]

# Operations that compute nothing.
MOVES = frozenset(["tt.broadcast", "tt.expand_dims"])
# Operations of whose results the lower bits depend on no other bits of operands.
FROM_LOWER_BITS = MOVES | {
    *("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"),
    *("arith.select", "arith.shli", "arith.trunci"),
}
WIDENED = ("arith.extsi", "arith.extui")


def demanded_bits(function: Operation, ranges: Mapping[Value, Range]) -> dict[Value, int]:
    """The bits of integers and of elements of blocks that any operation of a function reads."""
    demanded: dict[Value, int] = {}
    for operation in reversed([*function.walk()]):
        asked = demanded.get(operation.results[0], 0) if len(operation.results) == 1 else 0
        for place, value in enumerate(operation.operands):
            if (bits := integer_bits(value)) is not None:
                wanted = _wanted(operation, place, asked, ranges)
                wanted = bits if wanted is None else min(bits, wanted)
                demanded[value] = max(demanded.get(value, 0), wanted)
    return demanded


def _wanted(
    operation: Operation, place: int, asked: int, ranges: Mapping[Value, Range]
) -> int | None:
    """The bits that an operation reads of an operand if `asked` are read of its result; or all."""
    name = operation.name
    if name in ("arith.shli", "arith.shrsi", "arith.shrui"):
        least, most = ranges.get(operation.operands[1], (-1, 0))
        if place == 1 or least < 0:
            return None
        return max(0, asked - least) if name == "arith.shli" else asked + most
    if name == "arith.andi":
        # Of one side all that is asked is read, or bits that neither has to be right in would meet.
        mask = int(ranges.get(operation.operands[1], (-1, 0))[0] >= 0)
        low, high = ranges.get(operation.operands[mask], (-1, 0))
        return min(asked, high.bit_length()) if low >= 0 and place != mask else asked
    return asked if name in FROM_LOWER_BITS or name in (*WIDENED, "tt.splat") else None
