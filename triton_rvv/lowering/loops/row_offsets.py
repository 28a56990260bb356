"""Offsets that differ along a dimension by no rule, such as those of a page table or sorted tokens.

Added to `columns[None, :]` they make addresses that are contiguous along each row. As values that
are listed by row they keep that in sight; as any other block they would be gathered one by one.
Those of a convolution, `(at // width)[:, None]`, are listed once in place of a division for each
element of the block.
"""

from __future__ import annotations

from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.addresses.affine import Affine
from triton_rvv.lowering.addresses.components import NO_COMPONENT, Component, Listed
from triton_rvv.lowering.blocks.buffer import Buffer
from triton_rvv.lowering.blocks.context import Context
from triton_rvv.lowering.blocks.recipes import Elementwise, Splat
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.blocks.views import Broadcast, ExpandDims
from triton_rvv.lowering.llvm.rules import nothing, rule
from triton_rvv.lowering.llvm.values import Val, integer, type_suffix
from triton_rvv.lowering.llvm.variable import Variable
from triton_rvv.lowering.loops import index_loops, materialise

__all__ = ["line_of", "listed_by_row", "listed_line", "varying"]

# A line of integers that takes so many instructions is listed before it becomes a block.
_MIN_LIST_COST = 2


@rule("list-rows", nothing)
def listed_by_row(context: Context, tensor: Tensor) -> Affine | None:
    """A block of i32 or i64 with its values listed, computed here.

    None unless it varies along one dimension only, which is not the last.
    """
    axes = varying(tensor)
    if tensor.element.bits not in (32, 64) or len(axes) != 1:
        return None
    axis = next(iter(axes))
    if axis == len(tensor.shape) - 1:
        return None
    line = line_of(tensor, axis) or _column(context, tensor, axis)
    if line is None:
        return None
    values = _computed(context, line)
    tensor.finish()
    one = integer(1, tensor.element.llvm)
    components = [NO_COMPONENT] * len(tensor.shape)
    components[axis] = Component(listed=((Listed(values, _bound(context, values)), one),))
    return Affine(tensor.type, integer(0, one.type), components)


def _column(context: Context, tensor: Tensor, axis: int) -> Buffer | None:
    """The elements along a dimension of a block that repeats a column, computed here."""
    column = tensor.operands[0] if isinstance(tensor, Broadcast) else tensor
    if column.type.elements > tensor.shape[axis]:
        return None
    array = materialise.row_major(context, column)
    type_ = TensorType((tensor.shape[axis],), tensor.element)
    return Buffer(type_, array.pointer, type_.shape[-1])


@rule("list-lines", nothing)
def listed_line(context: Context, tensor: Tensor) -> Affine | None:
    """A line of i32 or i64 that no rule explains with its values listed, computed here.

    None for other tensors, and in kernels without products, where a block has few rows.
    """
    is_known = tensor.materialised is not None or tensor.cost >= _MIN_LIST_COST
    if not (context.has_products and isinstance(tensor, Elementwise) and is_known):
        return None
    if len(tensor.shape) != 1 or tensor.element.bits not in (32, 64) or not _is_integer(tensor):
        return None
    values = _computed(context, tensor)
    one = integer(1, tensor.element.llvm)
    bound = context.once((values.pointer.ref, "bound"), lambda: _bound(context, values))
    component = Component(listed=((Listed(values, bound), one),))
    return Affine(tensor.type, integer(0, one.type), [component])


def _is_integer(tensor: Tensor) -> bool:
    return isinstance(tensor.element, ScalarType) and not tensor.element.is_float


def _computed(context: Context, line: Tensor) -> Buffer:
    """An array of the elements of a line, which others may use too.

    A line without uses was made here, of recipes that count no use by it.
    """
    if isinstance(line, Buffer):
        return line
    if line.uses:
        return materialise.materialise(context, line)
    values = context.buffer(line.type)
    materialise.copy(context, line, values)
    return values


def varying(tensor: Tensor) -> frozenset[int]:
    """The dimensions along which elements may differ."""
    tensor = tensor.materialised or tensor
    if isinstance(tensor, Splat):
        return frozenset()
    if isinstance(tensor, Affine) and tensor.extra is None and tensor.wrapped is None:
        return frozenset(axis for axis, part in enumerate(tensor.components) if not part.is_zero)
    if isinstance(tensor, ExpandDims):
        return frozenset(axis + (axis >= tensor.axis) for axis in varying(tensor.operands[0]))
    if isinstance(tensor, Broadcast | Elementwise):
        return frozenset().union(*map(varying, tensor.operands))
    return frozenset(axis for axis, size in enumerate(tensor.shape) if size > 1)


def line_of(tensor: Tensor, axis: int) -> Tensor | None:
    """The elements along a dimension, at position 0 of all others; None where that is not known."""
    type_ = TensorType((tensor.shape[axis],), tensor.element)
    if isinstance(tensor, Splat):
        return Splat(type_, tensor.value)
    if len(tensor.shape) == 1:
        return tensor
    if isinstance(tensor, Affine) and tensor.extra is None and tensor.wrapped is None:
        return Affine(type_, tensor.base, [tensor.components[axis]])
    if isinstance(tensor, ExpandDims) and axis != tensor.axis:
        return line_of(tensor.operands[0], axis - (axis > tensor.axis))
    if isinstance(tensor, Broadcast) and tensor.operands[0].shape[axis] == tensor.shape[axis]:
        return line_of(tensor.operands[0], axis)
    if isinstance(tensor, Elementwise):
        lines = [line_of(operand, axis) for operand in tensor.operands]
        known = [line for line in lines if line is not None]
        return tensor.on(type_, known) if len(known) == len(lines) else None
    return None


def _bound(context: Context, values: Buffer) -> Val:
    """What no value exceeds, with or without its sign, as i64."""
    if values.element.bits == 64:  # nothing is wider, so that nobody asks
        return integer((1 << 63) - 1)
    builder, size = context.builder, values.shape[0]
    width = min(size, context.run_lanes(values.element.bits))
    zeros = builder.splat(integer(0, "i32"), width)
    farthest = Variable(builder, zeros)
    for start in index_loops.steps(context, size, width, unrolled=False):
        run = values.at(builder, VectorIndex((), start, width))
        far = builder.smax(run, builder.binary("sub", zeros, run))
        farthest.write(builder.intrinsic("llvm.umax", [farthest.read(), far]))
    bound = farthest.read()
    if width > 1:
        bound = builder.call("i32", f"llvm.vector.reduce.umax.{type_suffix(bound)}", [bound])
    return builder.cast("zext", bound, "i64")
