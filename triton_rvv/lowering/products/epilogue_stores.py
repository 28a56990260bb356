"""Stores of a product's result by the product itself, tile by tile as the result is complete.

    for ...:
        total = dot(a, b, total)
    store(c, f(total), mask)

The last turn of the loop computes the elements that are stored. Where the whole block is stored,
each tile goes from registers straight to memory then, instead of to an array that is read again. A
product may also do so where the mask lets only the leading part of the block through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.ttir import Operation
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.as_affine import as_addresses
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import Buffer, memory_type
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import guards_of_all
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, VectorIndex
from triton_rvv.lowering.llvm.builder import WRITE, Builder
from triton_rvv.lowering.llvm.values import FALSE, Val, integer
from triton_rvv.lowering.loops import loop_versioning, materialise
from triton_rvv.lowering.memory.loads import as_mask, optional_operands
from triton_rvv.lowering.memory.prefetches import ends_of_run, run_address
from triton_rvv.lowering.ttir.epilogues import STORED_IN_LAST_TURN

__all__ = ["EpilogueStore", "plan_epilogue_store"]


@dataclass(frozen=True)
class _Block:
    """What a store does: `value` goes to `addresses`, where `where` holds."""

    addresses: Affine
    value: Tensor
    where: Mask | None

    @property
    def sources(self) -> list[Tensor]:
        """The recipes that it reads."""
        return [self.value, self.addresses, *([] if self.where is None else [self.where])]


@dataclass(frozen=True)
class LeadingPart:
    """What a mask lets through, if it is the leading rows and columns of a block.

    Args:
        rows, columns: how many there are, as i64.
    """

    rows: Val
    columns: Val
    fits: Val


@dataclass
class EpilogueStore:
    """A store that a product may do in the last turn of the loop around it.

    Args:
        number: which carried block of the loop it stores.
        product: what computes that block.
        total: the carried block behind the loop.
        fits: whether the whole block is stored, each element to a place of its own, as i1.
        block: writes the elements.
        part: of the block that is stored; None where that is not known.
        is_last: whether this is the last turn, as i1; in the loop only.
        is_taken: whether the product has said that it does the store.
        takes_part: and that it does so for a part of the block as well.
    """

    number: int
    product: Operation
    store: Operation
    total: Buffer
    fits: Val
    block: _Block
    part: LeadingPart | None
    is_last: Val = FALSE
    is_taken: bool = False
    takes_part: bool = False

    def is_now(self, builder: Builder) -> Val:
        """Whether to store in this turn, as i1; in the loop only."""
        return builder.conjunction(self.is_done, self.is_last)

    @property
    def is_done(self) -> Val:
        """Whether the product does the store, as i1."""
        return self.part.fits if self.takes_part and self.part is not None else self.fits

    @property
    def is_plain(self) -> bool:
        """Whether it stores the total itself."""
        return self.block.value is self.total

    def place(self, builder: Builder, point: VectorIndex) -> tuple[Val, Val]:
        """Where a run goes, and the bytes from there to the same run of the next row."""
        addresses = self.block.addresses
        *_, rows, _ = addresses.components
        stride = builder.resize(rows.linear_stride(builder, addresses.index_type), "i64")
        start = run_address(builder, addresses, replace(point, version=PLAIN_VERSION))
        return start, builder.mul(stride, integer(addresses.pointee.size_bytes))

    def prefetch(self, builder: Builder, points: Sequence[VectorIndex]) -> None:
        """Ask for the cache lines where runs go."""
        addresses = self.block.addresses
        *_, rows, _ = addresses.components
        stride = rows.linear_stride(builder, addresses.index_type)
        for point, start in zip(points, self.addresses(builder, points), strict=True):
            for end in ends_of_run(builder, start, addresses.pointee, point.width, stride):
                builder.prefetch(end, WRITE)

    def write(self, builder: Builder, points: Sequence[VectorIndex], values: Sequence[Val]) -> None:
        """Store complete runs of the total, of one row after another."""
        addresses = self.addresses(builder, points)
        for point, value, address in zip(points, values, addresses, strict=True):
            key = (id(self.total), point.index, point.start, point.width)
            known: dict[object, Val] = {key: value}
            stored = self.block.value.at(builder, replace(point, version=PLAIN_VERSION, memo=known))
            builder.store(stored, address, self.block.addresses.pointee.size_bytes)

    def addresses(self, builder: Builder, points: Sequence[VectorIndex]) -> list[Val]:
        """Where runs go, of one row after another.

        Multiplying each row by its distance takes longer than to go on from the row above.
        """
        addresses, (first, *_) = self.block.addresses.on(PLAIN_VERSION), points
        *_, rows, _ = addresses.components
        stride = builder.resize(rows.linear_stride(builder, addresses.index_type), "i64")
        element = memory_type(addresses.pointee)
        start = run_address(builder, addresses, replace(first, version=PLAIN_VERSION))
        row, found = first.index, []
        for point in points:
            if point.index != row:
                start, row = builder.element_pointer(element, start, stride), point.index
            column = builder.binary("sub", point.start, first.start)
            found.append(builder.element_pointer(element, start, column))
        return found


def plan_epilogue_store(
    context: Context, loop: Operation, arrays: Mapping[int, Buffer]
) -> EpilogueStore | None:
    """Lower what follows a loop up to the store of a product's result, where that is possible.

    Args:
        context: where the code goes: before the loop.
        arrays: of carried blocks that a product writes, by their number.
    """
    pairs = loop.attributes.get(STORED_IN_LAST_TURN, [])
    assert isinstance(pairs, list)
    for pair in pairs:
        assert isinstance(pair, list)
        number, count = (each for each in pair if isinstance(each, int))
        *between, store = context.operations_behind(loop)[: count + 1]
        total = arrays[number].alias()
        context.bind(loop.results[number], total)
        for operation in between:
            context.lower_ahead(operation)
            if operation.name == "tt.load":  # the loop changes no memory
                materialise.materialise(context, context.tensor(operation.result))
        block = _block(context, store)
        fits = _fits(context, block)
        if fits is not None:
            for operation in loop.walk():
                if operation.name == "tt.load":
                    context.aliases.rely_on_apart(operation.operands[0], store.operands[0], False)
            product = _product(loop, number)
            return EpilogueStore(number, product, store, total, fits, block, _part(context, block))
    return None


def _product(loop: Operation, number: int) -> Operation:
    """What computes a carried block of a loop."""
    *operations, end = loop.regions[0].block.operations
    return next(op for op in operations if end.operands[number] in op.results)


def _block(context: Context, store: Operation) -> _Block:
    """What a store of a block does, its operands having been lowered."""
    pointers, value, mask = optional_operands(context, store, 3)
    assert isinstance(pointers, Tensor)
    assert isinstance(value, Tensor)
    return _Block(as_addresses(pointers), value, as_mask(mask))


def _fits(context: Context, block: _Block) -> Val | None:
    """Whether a block is stored whole, each element to a place of its own.

    None where that cannot be told from a few comparisons, and where its value is costly.
    """
    columns = integer(block.addresses.shape[-1])
    apart = _rows_are_apart(context, block.addresses, columns)
    is_known = block.where is None or block.where.is_guarded
    if apart is None or not is_known or block.value.cost >= EXPENSIVE:
        return None
    guards = [g for source in block.sources for g in source.plain_guards(context.builder)]
    return loop_versioning.all_of(context, [*guards, apart])


def _part(context: Context, block: _Block) -> LeadingPart | None:
    """The part of a block that is stored, where a few comparisons say which that is."""
    builder, where, shape = context.builder, block.where, block.addresses.shape
    if len(shape) != 2 or context.target.matrix_unit is None:  # other products store whole blocks
        return None
    ends = [None if where is None else where.false_from(builder, axis) for axis in range(2)]
    rows, columns = (
        integer(size) if end is None else end for end, size in zip(ends, shape, strict=True)
    )
    guards = guards_of_all(builder, block.sources, [rows, columns])
    apart = _rows_are_apart(context, block.addresses, columns)
    if guards is None or apart is None:
        return None
    return LeadingPart(rows, columns, loop_versioning.all_of(context, [*guards, apart]))


def _rows_are_apart(context: Context, addresses: Affine, size: Val) -> Val | None:
    """Whether rows, `size` elements in one piece each, neither overlap nor share one set of L1D.

    The lines of a tile's rows would evict each other from that set.
    """
    *_, rows, columns = addresses.components
    one_piece = columns.stride is not None and columns.stride.constant == 1
    if not (one_piece and rows.has_rule and columns.has_rule) or addresses.extra is not None:
        return None
    builder = context.builder
    stride = builder.resize(rows.linear_stride(builder, addresses.index_type), "i64")
    apart = builder.compare("sge", stride, size)
    stride_bytes = builder.mul(stride, integer(addresses.pointee.size_bytes))
    way_bytes = context.target.machine.way_bytes
    in_set = builder.compare("eq", builder.split(stride_bytes, way_bytes)[1], integer(0))
    return builder.conjunction(apart, builder.negation(in_set))
