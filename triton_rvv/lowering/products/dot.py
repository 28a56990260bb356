"""`tl.dot` as register tiles.

The product of an M x K and a K x N block is computed tile by tile, in an order that keeps one
operand in the L1 cache. Small floats are multiplied and summed in float32, 8-bit integers in 32
bits: operands are converted once, when they are copied into panels.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from triton_rvv.errors import CompileError
from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import PointerType, ScalarType, TensorType
from triton_rvv.lowering.blocks.buffer import Buffer, memory_type
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.recipes import Elementwise
from triton_rvv.lowering.blocks.tensors import Tensor
from triton_rvv.lowering.llvm.values import Val, integer
from triton_rvv.lowering.loops import loop_versioning, materialise
from triton_rvv.lowering.math.casts import conversion
from triton_rvv.lowering.memory.in_lines import in_lines
from triton_rvv.lowering.memory.load_recipe import Load
from triton_rvv.lowering.products.dot_extents import (
    DotExtents,
    dot_extents,
    packed_columns,
    packed_rows,
    packed_steps,
)
from triton_rvv.lowering.products.lhs_tiles import Lhs, TransposedPackedLhs, UnpackedLhs
from triton_rvv.lowering.products.loop_updates import plan_loop_update
from triton_rvv.lowering.products.matrix_chains import products_behind
from triton_rvv.lowering.products.matrix_dot import fits_matrix_unit, multiply_int8
from triton_rvv.lowering.products.product import Product, write_packed, write_tiles
from triton_rvv.lowering.products.rhs_tiles import PackedRhs, Rhs
from triton_rvv.lowering.products.sums import sums_of
from triton_rvv.lowering.products.unpacked_rhs import UnpackedRhs, unpacked_rhs
from triton_rvv.lowering.products.word_products import multiply_words, takes_words

__all__ = ["HANDLERS", "converted", "multiply"]

# Sums of narrower elements, which some multiply-adds widen.
WIDE_BITS = 32
# Sums of bytes, which `narrow-products` has found to fit.
_BYTE_SUMS = ScalarType("i16")


class _Narrow(Elementwise):
    """A right operand for multiply-adds that widen it: panels are as wide as those of the sums."""

    def __init__(self, right: Tensor, target: ScalarType, sum_bits: int) -> None:
        assert isinstance(right.element, ScalarType)
        type_ = TensorType(right.shape, target)
        super().__init__(type_, conversion(right.element, target), [right], keeps_zero=True)
        self._sum_bits = sum_bits

    def own_bits(self) -> int:
        return self.panel_bits

    def on(self, type_: TensorType, operands: Sequence[Tensor]) -> _Narrow:
        assert isinstance(type_.element, ScalarType)
        return _Narrow(operands[0], type_.element, self._sum_bits)

    @property
    def panel_bits(self) -> int:
        return self._sum_bits


def _dot(context: Context, operation: Operation) -> None:
    left, right, start = (context.tensor(value) for value in operation.operands)
    multiply(context, operation, left, right, start)


def multiply(
    context: Context, operation: Operation, left: Tensor, right: Tensor, start: Tensor
) -> None:
    """Bind the operation's result to `start + left @ right`.

    Raises:
        CompileError: for a result in which nothing is summed.
    """
    sum_type = _sum_type(operation, start.element)
    result = _destination(context, operation, start)
    if fits_matrix_unit(context.target, left.type, right.type, sum_type):
        behind = products_behind(context, operation)
        values = [each.operands for each in behind]
        operands = [(left, right), *((context.tensor(a), context.tensor(b)) for a, b, _ in values)]
        last = (behind or [operation])[-1]
        context.bind(last.result, result)
        context.choices.note("tiles", "by the matrix unit")
        multiply_int8(context, last, operands, start, result)
        return
    context.bind(operation.result, result)
    start = converted(start, sum_type)
    if takes_words(context.target, left, right, sum_type):
        context.choices.note("tiles", "of words")
        multiply_words(context, operation, (left, right), start, result)
        return
    _multiply_in_tiles(context, operation, (left, right), start, result)


def _multiply_in_tiles(
    context: Context,
    operation: Operation,
    operands: tuple[Tensor, Tensor],
    start: Tensor,
    result: Buffer,
) -> None:
    """Write `start + left @ right` to `result`, by tiles of vector registers."""
    assert isinstance(start.element, ScalarType)
    sum_type, (left, right) = start.element, operands
    update = plan_loop_update(context, operation, result)
    narrow = _widened_by_product(context, left, right, sum_type)
    # The type of its elements, if multiply-adds widen them, is that of panels only.
    is_as_it_lies = isinstance(right.element, ScalarType) and narrow == right.element.name
    left, panelled = _operands(context, left, right, sum_type, narrow)
    read_once, right = (right if is_as_it_lies else panelled), panelled
    in_place = [_is_matrix_in_memory(context, operand) for operand in (left, read_once)]
    materialise.prepare(context, [left, right, start, *([update.value] if update else [])])
    for operand in (left, right):
        # What another product multiplies too is copied once, and not inside of one of two ways.
        if operand.uses > 1 and not operand.lies_by_column:
            materialise.materialise(context, operand)
    live = dot_extents(context, operation, left, right, sum_type)
    sums = sums_of(operation, start, result, update)

    def by(b: Rhs, live: DotExtents) -> None:
        rows, depth = left.shape[-2:]
        product = Product(live, rows, depth, b, sums)
        with context.region():
            _multiply_by(context, left, in_place[0], product)

    def by_one_of(ways: Sequence[UnpackedRhs]) -> None:
        if ways:
            once, *others = ways
            is_possible = loop_versioning.all_of(context, once.guards)
            context.builder.branches(
                is_possible, lambda: by(once.columns, once.live), lambda: by_one_of(others)
            )
            return
        with context.region():
            block = packed_columns(context, right, live)
            by(PackedRhs(block, block.panel, context.target.machine), live)

    by_one_of(unpacked_rhs(context, left, read_once, in_place[1], live))


def _widened_by_product(
    context: Context, left: Tensor, right: Tensor, sum_type: ScalarType
) -> str | None:
    """The type of operands that multiply-adds widen; None where they take that of the sums."""
    assert isinstance(right.element, ScalarType)
    if left.element != right.element or sum_type.bits != WIDE_BITS:
        return None
    return context.target.widened_by_product(right.element.name)


def _operands(
    context: Context, left: Tensor, right: Tensor, sum_type: ScalarType, narrow: str | None
) -> tuple[Tensor, Tensor]:
    """The operands in the types in which they are multiplied; see `_widened_by_product`."""
    assert isinstance(right.element, ScalarType)
    if sum_type == _BYTE_SUMS:
        return left, _Narrow(right, right.element, sum_type.bits)
    if narrow is None:
        return converted(left, sum_type), converted(right, sum_type)
    array = right.materialised or right
    run = context.run_lanes(sum_type.bits)
    if isinstance(array, Buffer) and str(array.element) == narrow and array.panel <= run:
        return left, array
    return left, _Narrow(right, ScalarType(narrow), sum_type.bits)


def _multiply_by(context: Context, left: Tensor, in_place: bool, product: Product) -> None:
    """Multiply by B, and by A where it lies or in panels too."""
    b, live, machine = product.b, product.live, context.target.machine

    def packed() -> None:
        steps = packed_steps(context, left, live)
        if steps is not None:
            write_packed(context, steps, product, TransposedPackedLhs)
        else:
            write_packed(context, packed_rows(context, left, live), product)

    if (
        isinstance(left, Load)
        and in_place
        and b.block.shape[-1] <= machine.max_panels_in_place * b.panel
    ):
        # Panels that stay in the cache leave fewer places there to rows that share a set.
        stays = b.size_bytes <= machine.resident_bytes
        conflict_bytes = machine.conflict_bytes // 2 if stays else machine.conflict_bytes
        lines = in_lines(context.builder, left)
        apart = lines.rows_are_apart(context.builder, conflict_bytes)
        guards = lines.guards_in_place(context.builder, [live.rows, live.depth])
        plain = loop_versioning.all_of(
            context, [*live.guards_in_place(context.builder), apart, *guards]
        )
        rows = functools.partial(_rows_in_place, context, lines, live.rows)
        where_it_lies = functools.partial(write_tiles, context, product, rows)
        context.builder.branches(plain, where_it_lies, packed)
    else:
        packed()


def _is_matrix_in_memory(context: Context, tensor: Tensor) -> bool:
    """Whether nobody has loaded the matrix yet, and nobody else will."""
    is_own = tensor.uses == 1 and tensor in context.pending_loads
    return is_own and isinstance(tensor, Load) and len(tensor.shape) == 2


def _sum_type(operation: Operation, result: ScalarType | PointerType) -> ScalarType:
    """The type in which products are summed."""
    assert isinstance(result, ScalarType)
    if result.name in ("f64", "i32", "i64") or result == _BYTE_SUMS:
        return result
    if not result.is_float:
        raise CompileError(f"tl.dot into {result.name} is not supported: use int32", operation.line)
    return ScalarType("f32")


def converted(tensor: Tensor, target: ScalarType) -> Tensor:
    """The tensor's numbers as another type, of which both have to be integers or floats."""
    if tensor.element == target:
        return tensor
    assert isinstance(tensor.element, ScalarType)
    emit = conversion(tensor.element, target)
    return Elementwise(TensorType(tensor.shape, target), emit, [tensor], keeps_zero=True)


def _destination(context: Context, operation: Operation, start: Tensor) -> Buffer:
    """Where the result goes: in place of an accumulator that nobody else reads."""
    type_ = operation.result.block
    array = _read_by_nobody_else(context, start, type_)
    return context.buffer(type_) if array is None else array.alias()


def _read_by_nobody_else(context: Context, start: Tensor, type_: TensorType) -> Buffer | None:
    """An array of this type, each element of which is read for this place of `start` alone."""
    if start.materialised is not None or start.uses > 1:
        return None
    if isinstance(start, Buffer):
        is_own = start.uses == 1 and start.type == type_ and context.is_local(start)
        return start if is_own else None
    parts = start.operands if isinstance(start, Elementwise) else ()
    found = (_read_by_nobody_else(context, part, type_) for part in parts)
    return next((array for array in found if array is not None), None)


def _rows_in_place(
    context: Context, left: Load, live_rows: Val | None, row: Val, count: int
) -> Lhs:
    """The rows of a tile that starts at `row`; behind the last one that counts, that one again."""
    builder = context.builder
    start, stride = left.rows_in_place(builder, row)
    starts = [start]
    while len(starts) < count:
        distance = stride
        if live_rows is not None:
            is_there = builder.compare("slt", builder.add(row, integer(len(starts))), live_rows)
            distance = builder.select(is_there, stride, integer(0, stride.type))
        starts.append(builder.element_pointer(memory_type(left.element), starts[-1], distance))
    run = min(left.shape[1], context.run_lanes(left.element.bits))
    return UnpackedLhs(builder, left.element, starts, stride, run)


HANDLERS: Mapping[str, Handler] = {"tt.dot": _dot}
