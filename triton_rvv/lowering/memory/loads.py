"""`tt.load`: what is known of a load where it stands."""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.frontend.ttir import Operation, Value
from triton_rvv.frontend.types import PointerType, ScalarType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.as_affine import as_addresses
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.buffer import loaded, memory_type, stored
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import TRUE, Val, integer
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.memory.accesses import load_scalar, zero
from triton_rvv.lowering.memory.every_other import every_other_of
from triton_rvv.lowering.memory.listed import with_lists
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.memory.prefetches import RowHints
from triton_rvv.lowering.memory.segment_loads import SegmentLoad
from triton_rvv.lowering.memory.small_tables import small_table
from triton_rvv.lowering.ttir.access import Access, RowsAhead
from triton_rvv.lowering.ttir.polynomials import Extended, Polynomial

__all__ = ["HANDLERS", "as_mask", "moving", "optional_operands", "written"]


def optional_operands(
    context: Context, operation: Operation, count: int
) -> list[Tensor | Val | None]:
    """The operands, with None for those that are left out."""
    present = operation.integers("operandSegmentSizes") or [
        int(index < len(operation.operands)) for index in range(count)
    ]
    values = iter(operation.operands)
    return [context.lowered(next(values)) if size else None for size in present]


def as_mask(mask: Tensor | Val | None) -> Mask | None:
    """The mask of a block, which may be left out or be any block of truth values."""
    if mask is None or isinstance(mask, Mask):
        return mask
    assert isinstance(mask, Tensor)
    if isinstance(mask, Splat):
        return Mask(mask.type, [], [], mask.value)
    return Mask(mask.type, [], [mask])


def _load(context: Context, operation: Operation) -> None:
    pointers, mask, other = optional_operands(context, operation, 3)
    result = operation.result
    if isinstance(pointers, Val):
        assert isinstance(result.type, ScalarType | PointerType)
        context.bind(result, _number(context, result.type, pointers, mask, other))
        return
    assert isinstance(pointers, Tensor)
    other_tensor = other if isinstance(other, Tensor) else None
    access = context.kernel.accesses.get(operation)
    addresses = moving(context, as_addresses(pointers), access)
    source = operation.operands[0]
    addresses, condition = with_lists(context, addresses, as_mask(mask))
    found = context.kernel.small_tables.get(operation)
    table = None if found is None else small_table(context, found, addresses, condition)
    load = Load(result.block, addresses, condition, other_tensor, source, table)
    halved = context.kernel.every_other.get(operation)
    if halved is not None and load.fills_with_zeros:
        load.every_other = every_other_of(context, context.tensor(halved))
    if access is not None:
        load.is_denser_by_column = access.is_denser_by_column
        load.rows = access.rows
        if access.streams is not None:
            load.streams = SegmentLoad(access.streams, context.lowered_block)
            load.place = access.place
        load.hints = RowHints(
            _to_next_program(context, load, access),
            _later_row(context, operation, load, access),
            _rows_ahead(context, load, access),
            _is_long(context, load),
        )
    if load.type.elements == 1:  # a number, which may be a part of other addresses
        only = VectorIndex((integer(0),) * (len(load.shape) - 1), integer(0), 1)
        context.bind(result, Splat(load.type, load.at(context.builder, only)))
        load.finish()
        return
    context.bind(result, load)
    context.pending_loads.append(load)
    if operation.attributes.get("isVolatile"):
        materialise.materialise(context, load)


def _number(
    context: Context,
    type_: ScalarType | PointerType,
    pointer: Val,
    mask: Tensor | Val | None,
    other: Tensor | Val | None,
) -> Val:
    """What a load outside of blocks gives."""
    wanted, memory = mask if isinstance(mask, Val) else TRUE, memory_type(type_)
    fill = other if isinstance(other, Val) else Val(memory, zero(memory))
    fill = stored(context.builder, fill)
    value = load_scalar(context.builder, type_, pointer, wanted, fill)
    return loaded(context.builder, value, type_)


@rule("prefetch-next-program", nothing)
def _to_next_program(context: Context, load: Load, access: Access) -> Val | None:
    """How far the next program's block is from a load's, where its lines are few."""
    size_bytes = load.type.elements * load.element.size_bytes
    machine = context.target.machine
    if not context.builder.abilities.rvv_bits or size_bytes > machine.next_program_bytes:
        return None
    return written(context, access.to_next_program)


@rule("prefetch-stream", nothing)
def _rows_ahead(context: Context, load: Load, access: Access) -> RowsAhead | None:
    """Which rows are asked for ahead beside a load's, where its own may be.

    Of bytes, a line is enough for so much arithmetic that it comes in time by itself.
    """
    is_row = load.shape[-1] == load.type.elements
    in_order = context.builder.abilities.rvv_bits and context.target.machine.issues_in_order
    is_worth_it = not _is_long(context, load) or load.element.bits > 8
    return access.ahead if in_order and is_row and is_worth_it else None


def _is_long(context: Context, load: Load) -> bool:
    size_bytes = load.type.elements * load.element.size_bytes
    return size_bytes > context.target.machine.stream_ahead_bytes


@rule("prefetch-next-turn", nothing)
def _later_row(context: Context, operation: Operation, load: Load, access: Access) -> Affine | None:
    """Where the row lies that some later turn of a loop reads in place of a load's."""
    machine, pointers = context.target.machine, load.pointers
    is_row = load.shape[-1] == load.type.elements
    if not (context.builder.abilities.rvv_bits and machine.issues_in_order and is_row):
        return None
    if (later := context.kernel.later_rows.get(operation)) is not None:
        addresses = context.lowered(later)
        assert isinstance(addresses, Tensor)
        return as_addresses(addresses)
    if pointers.advance is None:
        return None
    turns = _turns_ahead(context, load, pointers.advance, access)
    if turns == 0:
        return None
    further = context.builder.mul(pointers.advance, integer(turns))
    return pointers.moved(context.builder, further)


def _turns_ahead(context: Context, load: Load, advance: Val, access: Access) -> int:
    """How many turns of a loop ahead to ask for a row that is moved so far in each; 0 not to ask.

    Rows that follow one another are asked for where nothing else does (`prefetch_ahead`), where
    their loop waits for loads alone, and where no program before has read them, unless they are
    long. Of rows that lie apart and have many lines, hardware foresees the rest.
    """
    machine, distance = context.target.machine, context.builder.intervals.number(advance)
    size_bytes = load.type.elements * load.element.size_bytes
    distance_bytes = None if distance is None else abs(distance) * load.element.size_bytes
    if distance_bytes == size_bytes:
        is_line = len(load.shape) == 1 and 2 * size_bytes <= machine.next_program_bytes
        turns = max(machine.rows_ahead * machine.line_bytes // size_bytes, 1)
        return turns if is_line and access.streams_in else 0
    is_apart = distance_bytes is None or distance_bytes > size_bytes
    turns = machine.turns_ahead(size_bytes)
    return turns if is_apart and turns > 1 else 0


def moving(context: Context, addresses: Affine, access: Access | None) -> Affine:
    """Addresses that know how far the loop around them moves them in a turn.

    Of blocks of a few rows, how far the next program does.
    """
    if access is None:
        return addresses
    advance = written(context, access.moves_by)
    if advance is None and access.rows is None and len(addresses.shape) > 1:
        advance = _to_other_rows(context, addresses, access)
    return addresses if advance is None else addresses.moving(advance)


def _to_other_rows(context: Context, addresses: Affine, access: Access) -> Val | None:
    """How far the next program's block is, where it has other rows and not many."""
    *_, rows, columns = addresses.shape
    elements, most = addresses.type.elements, context.target.machine.rows_ahead
    if not (rows > 1 and elements <= most * columns):
        return None
    distance = written(context, access.to_next_program)
    number = None if distance is None else context.builder.intervals.number(distance)
    return None if number is not None and abs(number) < columns else distance


def written(context: Context, distance: Polynomial | None) -> Val | None:
    """A distance in elements, as i64; None where it is not known or 0."""
    if distance is None or not distance.terms:
        return None
    return _sum(context, distance)


def _sum(context: Context, distance: Polynomial) -> Val:
    builder, total = context.builder, integer(0)
    for product, factor in distance.terms:
        term = integer(factor)
        for atom in product:
            if isinstance(atom, Value):
                number = builder.resize(context.scalar(atom), "i64")
            else:
                assert isinstance(atom, Extended)
                number = _sum(context, atom.sum)
            term = builder.mul(number, term)
        total = builder.add(total, term)
    return total


HANDLERS: Mapping[str, Handler] = {"tt.load": _load}
