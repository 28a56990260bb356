"""Cuts integers of 32 bits where few of their bits are left, so that what follows is narrow.

    red = (pixel >> 8) & 255                red = ((pixel >> 8) & 255).to(uint8).to(int32)
    dark = (255 - red) * (255 - green)      dark = (255 - red) * (255 - green)

`narrow_integers` begins at what is widened from fewer bits. Colours of a pixel, or weights of a few
bits, are taken out of 32 by masks and shifts instead, which are all that needs the whole integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from triton_rvv.frontend.ttir import Block, Operation, Value
from triton_rvv.frontend.types import ScalarType, TensorType
from triton_rvv.lowering.ttir.block_ranges import Range, ranges_of_blocks
from triton_rvv.lowering.ttir.constants import one_integer
from triton_rvv.lowering.ttir.kernel import Kernel
from triton_rvv.lowering.ttir.late_widening import users_of
from triton_rvv.lowering.ttir.narrow_integers import is_wide, may_belong
from triton_rvv.lowering.ttir.rewriter import Rewriter, blocks_inside

__all__ = ["cut_early"]

# Leave few bits of what may be anything.
_CUTTING = frozenset(["arith.andi", "arith.shrui"])
# What pays with fewer bits, where a mask alone is as soon taken with 32.
_COMPUTING = frozenset(["arith.divsi", "arith.muli", "arith.remsi"])
# What pays, but not with a constant if it is widened again at once, to become a float.
_SUMS = frozenset(["arith.addi", "arith.subi"])
_TO_FLOATS = frozenset(["arith.sitofp", "arith.uitofp"])
# What elements that are loaded may have gone through before.
_SHIFTS = frozenset(["arith.shrsi", "arith.shrui"])
_BEFORE = frozenset(["arith.addi", "arith.andi", "arith.xori"])
_WIDTHS = (8, 16)


def cut_early(kernel: Kernel) -> int:
    """Rewrite a kernel in place; how many blocks are cut to fewer bits."""
    if not any(each.name in _CUTTING and is_wide(each.result) for each in kernel.module.walk()):
        return 0
    fired = 0
    for function in kernel.functions.values():
        rewriter, users = Rewriter(kernel.module), users_of(function)
        ranges = ranges_of_blocks(function)
        for block in blocks_inside(function):
            for operation in [*block.operations]:
                bits = _bits_left(operation, ranges, rewriter.makers)
                # Addresses are followed by names of operations, so they stay as they are.
                readers = users.get(operation.result, []) if bits else []
                pays = any(_pays(each, users, rewriter.makers) for each in readers)
                if pays and all(may_belong(each) for each in readers):
                    _cut(block, operation, bits, readers, rewriter)
                    fired += 1
    return fired


def _pays(
    reader: Operation,
    users: Mapping[Value, Sequence[Operation]],
    makers: Mapping[Value, Operation],
) -> bool:
    """Whether a reader computes faster with fewer bits, widening behind it included."""
    if reader.name not in _SUMS:
        return reader.name in _COMPUTING
    has_constant = any(
        value in makers and makers[value].name == "arith.constant" for value in reader.operands
    )
    names = {each.name for each in users.get(reader.result, ())}
    return not (has_constant and names and names <= _TO_FLOATS)


def _bits_left(
    operation: Operation, ranges: Mapping[Value, Range], makers: Mapping[Value, Operation]
) -> int:
    """The bits that hold all elements of what is loaded and then cut; 0 where it is no such."""
    if operation.name not in _CUTTING or not is_wide(operation.result):
        return 0
    low, high = ranges.get(operation.result, (-1, 0))
    bits = next((width for width in _WIDTHS if low >= 0 and high < 1 << width), 0)
    return bits if bits and _is_loaded(operation.result, makers) else 0


def _is_loaded(value: Value, makers: Mapping[Value, Operation]) -> bool:
    """Whether elements are loaded, and have only been shifted, or met constants, since."""
    maker = makers.get(value)
    if maker is None or maker.name == "tt.load":
        return maker is not None
    if maker.name in _SHIFTS:
        return _is_loaded(maker.operands[0], makers)
    parts = [each for each in maker.operands if one_integer(makers.get(each)) is None]
    return maker.name in _BEFORE and len(parts) == 1 and _is_loaded(parts[0], makers)


def _cut(
    block: Block, maker: Operation, bits: int, readers: list[Operation], rewriter: Rewriter
) -> None:
    """Have what reads a result read it cut and widened again."""
    result = maker.result
    assert isinstance(result.type, TensorType)
    short = rewriter.value(result, TensorType(result.type.shape, ScalarType(f"i{bits}")))
    wide = rewriter.value(result)
    cut = rewriter.operation("arith.trunci", [result], [short], {}, maker.line)
    back = rewriter.operation("arith.extui", [short], [wide], {}, maker.line)
    for reader in readers:
        operands = [wide if each is result else each for each in reader.operands]
        rewriter.set_operands(reader, operands)
    at = block.operations.index(maker) + 1
    block.operations[at:at] = [cut, back]
