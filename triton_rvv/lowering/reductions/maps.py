"""`tl.map_elementwise`: a function of scalars on every element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.errors import CompileError
from triton_rvv.frontend.ttir import Operation
from triton_rvv.frontend.types import TensorType
from triton_rvv.lowering.blocks.buffer import Buffer, loaded, memory_type, stored
from triton_rvv.lowering.blocks.context import Context, Handler
from triton_rvv.lowering.blocks.tensors import EXPENSIVE, Tensor
from triton_rvv.lowering.blocks.vector_index import VectorIndex
from triton_rvv.lowering.llvm.builder import Builder
from triton_rvv.lowering.llvm.values import Val, integer, vector_type
from triton_rvv.lowering.llvm.vectors import in_turn
from triton_rvv.lowering.loops import index_loops, materialise
from triton_rvv.lowering.reductions.combine_region import CombineRegion

__all__ = ["HANDLERS"]


class _Mapped(Tensor):
    """One result of a function; LLVM drops what only the others need.

    Args:
        type_: of the result.
        number: which of its results this is.
    """

    def __init__(
        self, type_: TensorType, function: CombineRegion, operands: Sequence[Tensor], number: int
    ) -> None:
        super().__init__(type_, operands, cost=EXPENSIVE)
        self._function = function
        self._number = number

    def evaluate(self, builder: Builder, point: VectorIndex) -> Val:
        arguments = [operand.at(builder, point) for operand in self.operands]
        return self._function.emit(arguments)[self._number]


def _map(context: Context, operation: Operation) -> None:
    operands = [context.tensor(value) for value in operation.operands]
    function = CombineRegion(context, operation, checks=True)
    pack = operation.integer("pack")
    if pack > 1 or function.asserts:  # assertions hold for all elements, used or not
        _map_groups(context, operation, function, operands, pack)
        return
    for operand in operands:
        operand.uses += len(operation.results) - 1  # each result is made from it on its own
    for number, value in enumerate(operation.results):
        context.bind(value, _Mapped(value.block, function, operands, number))


def _map_groups(
    context: Context,
    operation: Operation,
    function: CombineRegion,
    operands: Sequence[Tensor],
    pack: int,
) -> None:
    """Each call takes `pack` neighbours of every operand, in row-major order."""
    groups, rest = divmod(operands[0].type.elements, pack)
    if rest:
        raise CompileError(
            f"tl.map_elementwise takes {pack} elements at a time, which do not divide the block's "
            f"{operands[0].type.elements}: choose another pack",
            operation.line,
        )
    materialise.prepare(context, operands)
    sources = [materialise.row_major(context, operand) for operand in operands]
    results = []
    for value in operation.results:
        results.append(materialise.row_major_array(context, value.block))
    widest = max(array.element.bits for array in (*sources, *results))
    width = min(groups, max(context.run_lanes(max(widest, 8)) // pack, 1))
    for first in index_loops.steps(context, groups, width, unrolled=False):
        number = context.builder.mul(first, integer(pack))
        parts = [_parts(context.builder, array, number, width, pack) for array in sources]
        values = function.emit(*parts)
        for place, result in enumerate(results):
            own = values[place * pack : (place + 1) * pack]
            _write_parts(context.builder, result, number, own)
    for value, result in zip(operation.results, results, strict=True):
        context.bind(value, result)


def _parts(builder: Builder, array: Buffer, number: Val, width: int, pack: int) -> list[Val]:
    """The first elements of `width` groups, the second ones, and so on."""
    element = memory_type(array.element)
    address = builder.element_pointer(element, array.pointer, number)
    type_ = vector_type(element, width * pack)
    groups = builder.load(type_, address, array.element.size_bytes)
    if width == 1:
        parts = [builder.lanes(groups, lane, 1) for lane in range(pack)]
    else:
        parts = [builder.shuffle(groups, range(lane, width * pack, pack)) for lane in range(pack)]
    return [loaded(builder, part, array.element) for part in parts]


def _write_parts(builder: Builder, array: Buffer, number: Val, parts: Sequence[Val]) -> None:
    """Store groups of which `parts` are the first elements, the second ones, and so on."""
    element, size_bytes = memory_type(array.element), array.element.size_bytes
    parts = [stored(builder, part) for part in parts]
    if parts[0].width > 1:
        parts = [in_turn(builder, parts)]
    for place, part in enumerate(parts):
        at = builder.add(number, integer(place))
        builder.store(part, builder.element_pointer(element, array.pointer, at), size_bytes)


HANDLERS: Mapping[str, Handler] = {"tt.map_elementwise": _map}
