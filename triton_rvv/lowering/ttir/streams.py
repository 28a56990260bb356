"""Finds loads and stores that lie in turn, such as real and imaginary parts of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.lowering.ttir.operation_kinds import WITHOUT_MEMORY
from triton_rvv.lowering.ttir.polynomials import Polynomial

__all__ = ["StreamGroup", "block_rank", "mask_of", "stores_in_turn", "stream_groups"]

# From an element of a stream to its next one.
_STRIDES = (2, 3, 4)
# Between loads of a group may be what has no other effect than to load and store.
_BETWEEN = ("tt.load", "tt.store", *WITHOUT_MEMORY)


@dataclass
class StreamGroup:
    """Loads, or stores, of every so many elements of the same rows, under one mask.

    Args:
        stride: from an element of a stream to its next one.
        members: each with where it begins, in elements from the first one.
    """

    stride: int
    members: list[tuple[Operation, int]]


def stream_groups(block: Block, addresses: Mapping[Operation, Polynomial]) -> Sequence[StreamGroup]:
    """The groups of loads in a block of code, many of them of one.

    Args:
        block: the operations in order.
    """
    groups: list[StreamGroup] = []
    open_groups: list[StreamGroup] = []
    for operation in block.operations:
        stride = _stride(operation, addresses) if operation.name == "tt.load" else None
        if stride is not None and not any(_join(g, operation, addresses) for g in open_groups):
            open_groups.append(StreamGroup(stride, [(operation, 0)]))
            groups.append(open_groups[-1])
        if not operation.name.startswith(_BETWEEN):
            open_groups = []
    return groups


def stores_in_turn(
    stores: Sequence[Operation], addresses: Mapping[Operation, Polynomial]
) -> Sequence[StreamGroup]:
    """Of a group of stores, as many as possible that fill rows together, one behind another.

    Args:
        stores: those that may be written in one walk.
    """
    groups = []
    while stores:
        sizes = range(len(stores), 0, -1)
        size = next(size for size in sizes if size == 1 or _fill_rows(stores[:size], addresses))
        if size > 1:
            places = zip(stores[:size], range(size), strict=True)
            groups.append(StreamGroup(size, list(places)))
        stores = stores[size:]
    return groups


def _fill_rows(stores: Sequence[Operation], addresses: Mapping[Operation, Polynomial]) -> bool:
    first = addresses[stores[0]]
    along = first.stride(block_rank(stores[0]) - 1)
    places = [(addresses[store] - first).number for store in stores]
    is_full = along is not None and along.number == len(stores)
    is_alike = len({store.operands[1].type for store in stores}) == 1
    return is_full and is_alike and places == [*range(len(stores))]


def block_rank(operation: Operation) -> int:
    """The dimensions of what a load or store moves."""
    type_ = operation.operands[0].block
    return len(type_.shape)


def _stride(operation: Operation, addresses: Mapping[Operation, Polynomial]) -> int | None:
    if operation not in addresses:
        return None
    along = addresses[operation].stride(block_rank(operation) - 1)
    number = None if along is None else along.number
    return number if number in _STRIDES else None


def _join(
    group: StreamGroup, operation: Operation, addresses: Mapping[Operation, Polynomial]
) -> bool:
    """Have a load be one of the group, if it is."""
    first = group.members[0][0]
    if mask_of(first) is not mask_of(operation) or first.result.type != operation.result.type:
        return False
    place = (addresses[operation] - addresses[first]).number
    if place is None:
        return False
    places = [place, *(each for _, each in group.members)]
    if max(places) - min(places) >= group.stride:
        return False
    group.members.append((operation, place))
    return True


def mask_of(operation: Operation) -> Value | None:
    """The mask of a load or store; None where it has none."""
    others = operation.operands[1 if operation.name == "tt.load" else 2 :]
    sizes = operation.integers("operandSegmentSizes")
    return others[0] if others and (not sizes or sizes[1]) else None
