"""How many of an integer's lower bits are read, by what reads it.

Lower bits of a sum, a product or a shift to the left depend on lower bits alone. So what leads up
to `((a * share + b * (256 - share)) >> 8).to(uint8)` is the same modulo 2 ** 16.
"""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.lowering.ttir.block_ranges import Range
from triton_rvv.lowering.ttir.known_integers import integer_bits
from triton_rvv.lowering.ttir.rewriter import Carried, carried_by

__all__ = ["FROM_LOWER_BITS", "MOVES", "WIDENED", "bits_read", "demanded_bits"]

# Operations that compute nothing.
MOVES = frozenset(["tt.broadcast", "tt.expand_dims"])
# Operations of whose results the lower bits depend on no other bits of operands.
FROM_LOWER_BITS = MOVES | {
    *("arith.addi", "arith.subi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"),
    *("arith.select", "arith.shli", "arith.trunci"),
}
WIDENED = ("arith.extsi", "arith.extui")


def demanded_bits(function: Operation, ranges: Mapping[Value, Range]) -> dict[Value, int]:
    """The bits of integers and of elements of blocks that any operation of a function reads.

    Of what a loop carries, a turn asks for what later turns and the code behind it ask for.
    """
    demanded: dict[Value, int] = {}
    before, operations = -1, [*reversed([*function.walk()])]
    ends = {each.regions[0].block.operations[-1] for each in operations if each.name == "scf.for"}
    while before != (before := sum(demanded.values())):
        for operation in operations:
            if operation.name == "scf.for":
                _read_by_turns(operation, demanded)
            elif operation not in ends:
                _read(operation, ranges, demanded)
    return demanded


def bits_read(carried: Carried, demanded: Mapping[Value, int]) -> int:
    """In how many bits all is right that turns of a loop and the code behind it read of a block."""
    bits = integer_bits(carried.result)
    if bits is None:
        return carried.result.block.element.bits
    read = max(demanded.get(value, 0) for value in (carried.argument, carried.result))
    return next((few for few in (8, 16, 32) if read <= few < bits), bits)


def _read_by_turns(loop: Operation, demanded: dict[Value, int]) -> None:
    """Note what a loop reads of its bounds, and of what it carries."""
    for value in loop.operands[:3]:
        _note(demanded, value, None)
    for each in carried_by(loop):
        wanted = max(demanded.get(value, 0) for value in (each.argument, each.result))
        _note(demanded, each.start, wanted)
        _note(demanded, each.yielded, wanted)


def _read(operation: Operation, ranges: Mapping[Value, Range], demanded: dict[Value, int]) -> None:
    """Note what an operation reads."""
    asked = demanded.get(operation.results[0], 0) if len(operation.results) == 1 else 0
    for place, value in enumerate(operation.operands):
        _note(demanded, value, _wanted(operation, place, asked, ranges))


def _note(demanded: dict[Value, int], value: Value, wanted: int | None) -> None:
    """Note that so many bits of a value are read, or all."""
    if (bits := integer_bits(value)) is not None:
        wanted = bits if wanted is None else min(bits, wanted)
        demanded[value] = max(demanded.get(value, 0), wanted)


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
