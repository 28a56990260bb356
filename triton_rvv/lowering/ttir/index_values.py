"""Which blocks are positions, or lead to addresses, which are followed by names of operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.ttir.known_integers import integer_bits, one_integer

__all__ = ["block_bits", "index_values", "is_one_number"]

# A block that comes out of these is no longer what went in.
_ENDS = frozenset(
    ["tt.load", "tt.reduce", "tt.scan", "tt.gather", "triton_rvv.pick", "tt.atomic_rmw"]
)


def block_bits(value: Value) -> int | None:
    """The bits of a block's integers; None for truth values and anything else."""
    bits = integer_bits(value) if isinstance(value.type, TensorType) else None
    return None if bits == 1 else bits


def is_one_number(maker: Operation | None) -> bool:
    """Whether a block is one number everywhere, which any number of bits may hold."""
    return one_integer(maker) is not None or (maker is not None and maker.name == "tt.splat")


def index_values(operations: Sequence[Operation], makers: Mapping[Value, Operation]) -> set[Value]:
    """Blocks that are computed of positions alone, and all that addresses are computed of."""
    found = set[Value]()
    for each in operations:
        blocks = [value for value in each.operands if block_bits(value)]
        if each.name == "tt.make_range" or (
            not found.isdisjoint(blocks)
            and all(value in found or is_one_number(makers.get(value)) for value in blocks)
        ):
            found.update(each.results)
    for each in reversed(operations):
        leads_there = not found.isdisjoint(each.results) and each.name not in _ENDS
        if leads_there or each.name == "tt.addptr":
            found.update(filter(block_bits, each.operands))
    return found
