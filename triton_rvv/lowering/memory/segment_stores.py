"""Stores whose elements lie in turn, such as the real and the imaginary parts of numbers."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace

from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.llvm.vectors import in_turn as lanes_in_turn
from triton_rvv.lowering.llvm.vp_memory import masked_store
from triton_rvv.lowering.loops import loop_versioning
from triton_rvv.lowering.memory.segment_loads import segment_lanes
from triton_rvv.lowering.memory.store_order import StorePart

__all__ = ["are_in_turn", "rows_are_apart", "store_in_turn"]


def are_in_turn(parts: Sequence[StorePart]) -> bool:
    """Whether each of n parts goes to every n-th element of a row, one behind the part before."""
    streams = {None if part.access is None else part.access.streams for part in parts}
    first = next(iter(streams))
    return (
        len(streams) == 1
        and first is not None
        and first.stride == len(parts)
        and all(part.addresses.extra is None for part in parts)
        and all(part.addresses.components[-1].has_rule for part in parts)
    )


def rows_are_apart(context: Context, addresses: Affine, count: int) -> Val:
    """Whether no row meets another one, of `count` stores of which elements lie in turn.

    It is certain where rows are a multiple of the number of stores apart.
    """
    builder, guards = context.builder, []
    for part, size in zip(addresses.components[:-1], addresses.shape[:-1], strict=True):
        factors = [part.stride, *(scale for _, scale in part.looked_up)] if size > 1 else []
        for factor in factors:
            if factor is not None and builder.multiple(factor) % count:
                rest = builder.binary("srem", factor, integer(count))
                guards.append(builder.compare("eq", rest, integer(0)))
    return loop_versioning.all_of(context, guards)


def store_in_turn(
    context: Context, pointers: Affine, values: Sequence[Val], condition: Val, point: VectorIndex
) -> None:
    """Store an element of each of some runs, then the next one of each, to neighbours."""
    builder, count, size_bytes = context.builder, len(values), pointers.pointee.size_bytes
    start = pointers.on(point.version).at(builder, replace(point, width=1))
    piece = min(point.width, segment_lanes(count, context.target.lanes(8 * size_bytes)))
    for at in range(0, point.width, piece):
        together = lanes_in_turn(builder, [builder.lanes(value, at, piece) for value in values])
        address = builder.element_pointer(together.element, start, integer(count * at))
        if condition.width == 1:
            store = functools.partial(builder.store, together, address, size_bytes)
            builder.branches(condition, store)
            continue
        lanes = [lane for lane in range(piece) for _ in range(count)]
        wanted = builder.shuffle(builder.lanes(condition, at, piece), lanes)
        masked_store(builder, together, address, wanted, size_bytes)
