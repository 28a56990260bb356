"""Loads once what neighbouring columns of a block share, such as the scale of a group of weights.

    columns = arange(0, 64)                         groups = arange(0, 2) * 32
    scale = load(p + rows + columns // 32)          few = load(p + rows + groups // 32)
                                                    scale = each of few 32 times

The whole block would be gathered, element by element.
"""

from __future__ import annotations

from triton_rvv.frontend.attributes import Attribute, DenseAttribute
from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.every_so_many import EverySoMany
from triton_rvv.lowering.ttir.granules import ALL_ALIKE, Granules
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["load_repeated"]

# Fewer neighbours than this are gathered as fast. On the emulated X60, kernels with groups of 24
# took 25 and 33% less with 8 neighbours at once, those with groups of 20 3% less and 8% more with 4
# (`benchmarks/compiler/common_groups.py`, rows of 960).
_FEWEST = 8


def load_repeated(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many loads became smaller.

    It leaves blocks of one dimension alone, since their walk finds runs of one address by itself,
    and kernels with products, which copy their operands anyway.
    """
    if kernel.has_product or not any(_divides(each) for each in kernel.module.walk()):
        return 0
    rewriter, fired = Rewriter(kernel.module), 0
    granules = Granules(kernel.module, kernel.integers_so_far())
    for block in blocks_inside(kernel.module):
        for load in [each for each in block.operations if each.name == "tt.load"]:
            size = _together(load, granules)
            if size >= _FEWEST:
                _shorten(block, load, size, rewriter)
                fired += 1
    return fired


def _divides(operation: Operation) -> bool:
    is_quotient = operation.name in ("arith.divsi", "arith.shrsi")
    return is_quotient and isinstance(operation.result.type, TensorType)


def _together(load: Operation, granules: Granules) -> int:
    """How many neighbours along the last dimension share an address, and whether it is read."""
    type_ = load.result.type
    if not isinstance(type_, TensorType) or not isinstance(type_.element, ScalarType):
        return 1
    if len(type_.shape) < 2 or load.attributes.get("isVolatile") or load.integers("boundaryCheck"):
        return 1
    pointer, *others = load.operands
    axis, columns = len(type_.shape) - 1, type_.shape[-1]
    own = granules.of(pointer, axis)
    masks = [granules.decided_by_first(mask, axis) for mask in others[:1]]
    return 1 if own >= ALL_ALIKE else min(own, columns, *masks)


def _shorten(block: Block, load: Operation, size: int, rewriter: Rewriter) -> None:
    """Put a load of every `size`-th column, repeated, in the place of a load."""
    type_, line = load.result.type, load.line
    assert isinstance(type_, TensorType)
    shorter = EverySoMany(len(type_.shape) - 1, size, rewriter, line)
    operands = [shorter.of(each) for each in load.operands[:2]]  # what masks leave out is below
    made = shorter.operations

    def add(name: str, operands: list[Value], type_: TensorType, **attributes: Attribute) -> Value:
        result = rewriter.value(load.result, type_)
        made.append(rewriter.operation(name, operands, [result], attributes, line))
        return result

    *outer, columns = type_.shape
    few = TensorType((*outer, columns // size), type_.element)
    given: dict[str, Attribute] = {"operandSegmentSizes": [1, len(operands) - 1, 0]}
    value = add("tt.load", operands, few, **{**load.attributes, **given})
    if few.shape[-1] > 1:
        value = add("tt.expand_dims", [value], _of(few, (*few.shape, 1)), axis=len(few.shape))
        value = add("tt.broadcast", [value], _of(few, (*few.shape, size)))
        value = add("tt.reshape", [value], type_)
    else:
        value = add("tt.broadcast", [value], type_)
    if len(load.operands) > 1:
        mask, *others = load.operands[1:]
        other = others[0] if others else add("arith.constant", [], type_, value=_zeros(type_))
        value = add("arith.select", [mask, value, other], type_)
    place = block.operations.index(load)
    block.operations[place:place] = made
    rewriter.replace({load.result: value})
    rewriter.erase(block, load)


def _zeros(type_: TensorType) -> DenseAttribute:
    """What elements are that a mask leaves out, where the load names no other."""
    assert isinstance(type_.element, ScalarType)
    return DenseAttribute(type_, (0.0 if type_.element.is_float else 0,))


def _of(type_: TensorType, shape: tuple[int, ...]) -> TensorType:
    return TensorType(shape, type_.element)
