"""Stores of a product's result by the product itself, tile by tile as the result is complete.

    for ...:
        total = dot(a, b, total)
    store(c, f(total), mask)

The last turn of the loop computes the elements that are stored. Where the whole block is stored,
each tile goes from registers straight to memory then, instead of to an array that is read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType, element_type
from triton_rvv.lowering.addresses.affine import Affine, as_addresses
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.memory_format import memory_type
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor
from triton_rvv.lowering.blocks.vector_index import PLAIN_VERSION, VectorIndex
from triton_rvv.lowering.llvm.builder import WRITE, Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import loop_versioning, materialise
from triton_rvv.lowering.memory.loads import as_mask, optional_operands
from triton_rvv.lowering.memory.prefetches import ends_of_run, run_address
from triton_rvv.lowering.ttir.interleaved_stores import WITHOUT_MEMORY

__all__ = ["EpilogueStore", "plan_epilogue_store"]

NEVER = Val("i1", "false")
_ELEMENTWISE = ("arith.", "tt.fp_to_fp")
_BETWEEN = (*WITHOUT_MEMORY, *_ELEMENTWISE)
_IN_LOOP = (*_BETWEEN, "tt.load", "tt.dot", "tt.reshape", "tt.trans", "scf.yield")


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


@dataclass
class EpilogueStore:
    """A store that a product may do in the last turn of the loop around it.

    Args:
        number: which carried block of the loop it stores.
        product: what computes that block.
        store: the operation.
        total: the carried block behind the loop.
        fits: whether the whole block is stored, each element to a place of its own, as i1.
        block: writes the elements.
        is_now: whether to store in this turn, as i1; in the loop only.
        is_taken: whether the product has said that it does the store.
    """

    number: int
    product: Operation
    store: Operation
    total: Buffer
    fits: Val
    block: _Block
    is_now: Val = NEVER
    is_taken: bool = False

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
        loop: the loop.
        arrays: of carried blocks that a product writes, by their number.
    """
    for number, array in arrays.items():
        found = _store_behind(context, loop, number)
        if found is not None:
            between, product, store = found
            total = array.alias()
            context.bind(loop.results[number], total)
            for operation in between:
                context.lower_ahead(operation)
                if operation.name == "tt.load":  # the loop changes no memory
                    materialise.materialise(context, context.tensor(operation.result))
            block = _block(context, store)
            fits = _fits(context, block)
            if fits is not None:
                for pointer in _loaded(loop):
                    context.aliases.rely_on_apart(pointer, store.operands[0], False)
                return EpilogueStore(number, product, store, total, fits, block)
    return None


def _store_behind(
    context: Context, loop: Operation, number: int
) -> tuple[list[Operation], Operation, Operation] | None:
    """What stands between a loop and the store of its result, the product, and the store."""
    result, body = loop.results[number], loop.regions[0].block
    yielded = body.operations[-1].operands[number]
    makers = [op for op in body.operations if yielded in op.results and op.name == "tt.dot"]
    if not isinstance(result.type, TensorType) or len(result.type.shape) != 2:
        return None
    if yielded.uses != 1 or not makers:
        return None
    if not all(op is loop or op.name.startswith(_IN_LOOP) for op in loop.walk()):
        return None
    between, value = list[Operation](), result
    for operation in context.operations_behind(loop):
        if value.uses != 1:
            return None
        if operation.name == "tt.store":
            is_it = operation.operands[1] is value and _is_stored_as_it_is(value)
            may = is_it and _is_apart(context, loop, operation)
            return (between, makers[0], operation) if may else None
        others = [each for each in operation.operands if each is not value]
        may_be_early = operation.name.startswith(_BETWEEN) or _loads_few(operation)
        if not may_be_early or any(each in loop.results for each in others):
            return None
        if value in operation.operands:
            if not operation.name.startswith(_ELEMENTWISE):
                return None
            value = operation.result
        between.append(operation)
    return None


def _loads_few(operation: Operation) -> bool:
    """Whether an operation loads a vector, such as a bias: one number for each row or column."""
    type_ = operation.results[0].type if operation.name == "tt.load" else None
    return isinstance(type_, TensorType) and len(type_.shape) == 1


def _is_stored_as_it_is(value: Value) -> bool:
    element = element_type(value.type)
    return isinstance(element, ScalarType) and element.bits > 1


def _is_apart(context: Context, loop: Operation, store: Operation) -> bool:
    """Whether nothing that the loop loads is stored to; one of two stores done as one is left."""
    aliases, target = context.aliases, store.operands[0]
    groups = context.interleaved_stores
    in_group = store in groups or any(store in earlier for earlier in groups.values())
    if not aliases.arguments_are_disjoint or in_group:
        return False
    return not any(aliases.may_overlap(pointer, target) for pointer in _loaded(loop))


def _loaded(loop: Operation) -> list[Value]:
    return [operation.operands[0] for operation in loop.walk() if operation.name == "tt.load"]


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
    apart = _rows_are_apart(context, block.addresses)
    is_known = block.where is None or block.where.is_guarded
    if apart is None or not is_known or block.value.cost >= EXPENSIVE:
        return None
    guards = [g for source in block.sources for g in source.plain_guards(context.builder)]
    return loop_versioning.all_of(context, [*guards, apart])


def _rows_are_apart(context: Context, addresses: Affine) -> Val | None:
    """Whether rows, in one piece each, neither overlap nor share one set of the L1 cache.

    The lines of a tile's rows would evict each other from that set.
    """
    *_, rows, columns = addresses.components
    one_piece = columns.stride is not None and columns.stride.constant == 1
    if not (one_piece and rows.has_rule and columns.has_rule) or addresses.extra is not None:
        return None
    builder = context.builder
    stride = builder.resize(rows.linear_stride(builder, addresses.index_type), "i64")
    apart = builder.compare("sge", stride, integer(addresses.shape[-1]))
    stride_bytes = builder.mul(stride, integer(addresses.pointee.size_bytes))
    way_bytes = context.target.machine.way_bytes
    in_set = builder.compare("eq", builder.split(stride_bytes, way_bytes)[1], integer(0))
    return builder.conjunction(apart, builder.binary("xor", in_set, Val("i1", "true")))
