"""`tt.load`: what is known of a load where it stands."""

from __future__ import annotations

from collections.abc import Mapping

from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import PointerType, ScalarType, TensorType
from triton_rvv.lowering.addresses.affine import Affine, as_addresses
from triton_rvv.lowering.addresses.masks import Mask
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.loop_strides import InductionVariable, loop_stride
from triton_rvv.lowering.blocks.memory_format import loaded, memory_type, stored
from triton_rvv.lowering.blocks.recipes import Splat
from triton_rvv.lowering.blocks.registry import Handler
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import materialise
from triton_rvv.lowering.memory.listed import with_lists
from triton_rvv.lowering.memory.load_recipe import Load, load_scalar, zero

__all__ = ["HANDLERS", "as_mask", "optional_operands"]


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
        wanted = mask if isinstance(mask, Val) else Val("i1", "true")
        type_ = memory_type(result.type)
        fill = other if isinstance(other, Val) else Val(type_, zero(type_))
        fill = stored(context.builder, fill)
        value = load_scalar(context.builder, result.type, pointers, wanted, fill)
        context.bind(result, loaded(context.builder, value, result.type))
        return
    assert isinstance(pointers, Tensor)
    assert isinstance(result.type, TensorType)
    other_tensor = other if isinstance(other, Tensor) else None
    addresses = _moving(context, as_addresses(pointers))
    source = operation.operands[0]
    addresses, condition = with_lists(context, addresses, as_mask(mask))
    load = Load(result.type, addresses, condition, other_tensor, source)
    load.is_denser_by_column = _is_denser_by_column(context.builder, addresses)
    load.to_next_program = _to_next_program(context, load)
    load.join_streams(context.builder, context.loads_here)
    context.loads_here.append(load)
    context.bind(result, load)
    context.pending_loads.append(load)
    if operation.attributes.get("isVolatile"):
        materialise.materialise(context, load)


def _is_denser_by_column(builder: Builder, addresses: Affine) -> bool:
    """Whether neighbours in a column are known to be nearer than those in a row."""
    strides = [part.stride for part in addresses.components[-2:]]
    if len(strides) < 2 or not all(part.has_rule for part in addresses.components[-2:]):
        return False
    numbers = [None if each is None else builder.intervals.number(each) for each in strides]
    above, last = numbers
    return above is not None and last is not None and 0 < above < last


def _moving(context: Context, addresses: Affine) -> Affine:
    """Addresses that know how far the loop around them moves them in a turn."""
    if addresses.advance is not None or context.counter is None:
        return addresses
    advance = loop_stride(context.builder, addresses.base, context.counter)
    return addresses if advance is None or advance.constant == 0 else addresses.moving(advance)


def _to_next_program(context: Context, load: Load) -> Val | None:
    """How far the next program's block is from a load's, where its lines are few."""
    size_bytes = load.type.elements * load.element.size_bytes
    builder, address = context.builder, load.pointers.base
    if not builder.abilities.rvv_bits or size_bytes > context.target.machine.next_program_bytes:
        return None
    counter = InductionVariable(context.program_ids[0], integer(1))
    distance = None if context.counter is not None else loop_stride(builder, address, counter)
    return None if distance is None or distance.constant == 0 else distance


HANDLERS: Mapping[str, Handler] = {"tt.load": _load}
